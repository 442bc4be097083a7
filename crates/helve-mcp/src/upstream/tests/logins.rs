//! Logging in: a server that wants it, and an authorization server beside it.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use helve_core::def::Risk;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::support::{Hub, failure, tool, until};
use crate::upstream::settings::OAuth;
use crate::upstream::{LoginState, Reach, Rules, State, Upstream};

#[derive(Clone, Default)]
struct Office {
    base: String,
    /// The token that counts now.
    good: Arc<Mutex<String>>,
    /// Bodies of requests for a token.
    asked: Arc<Mutex<Vec<HashMap<String, String>>>>,
    shown: Arc<Mutex<Vec<String>>>,
    /// The scope that a call lacks.
    lacks: Arc<Mutex<Option<String>>>,
}

async fn office() -> (Office, Upstream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let office = Office {
        base: base.clone(),
        ..Office::default()
    };
    let app = Router::new().fallback(handle).with_state(office.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let upstream = Upstream {
        name: "w".to_owned(),
        reach: Reach::Http {
            url: format!("{base}/mcp"),
            headers: Vec::new(),
        },
        place: base,
        rules: Rules {
            risk: Risk::Read,
            ..Rules::default()
        },
    };
    (office, upstream)
}

fn form(body: &[u8]) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&format!("http://x/?{}", String::from_utf8_lossy(body))).unwrap();
    url.query_pairs().into_owned().collect()
}

async fn handle(
    Shared(office): Shared<Office>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let base = &office.base;
    let json =
        |value: Value| ([("content-type", "application/json")], value.to_string()).into_response();
    match (method.as_str(), uri.path()) {
        (
            "GET",
            "/.well-known/oauth-protected-resource/mcp" | "/.well-known/oauth-protected-resource",
        ) => json(json!({"resource": format!("{base}/mcp"), "authorization_servers": [base]})),
        ("GET", "/.well-known/oauth-authorization-server") => json(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
        })),
        ("POST", "/register") => {
            let mut asked: Value = serde_json::from_slice(&body).unwrap();
            asked["client_id"] = "registered-1".into();
            (StatusCode::CREATED, json(asked)).into_response()
        }
        ("POST", "/token") => {
            let form = form(&body);
            let count = office.asked.lock().unwrap().len() + 1;
            office.asked.lock().unwrap().push(form);
            let token = format!("token-{count}");
            *office.good.lock().unwrap() = token.clone();
            json(
                json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": format!("refresh-{count}")}),
            )
        }
        ("POST", "/mcp") => {
            let shown = headers
                .get("authorization")
                .map(|h| h.to_str().unwrap().to_owned());
            office.shown.lock().unwrap().extend(shown.clone());
            let good = office.good.lock().unwrap().clone();
            if good.is_empty() || shown != Some(format!("Bearer {good}")) {
                let challenge = format!(
                    "Bearer scope=\"read\", resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\""
                );
                return (
                    StatusCode::UNAUTHORIZED,
                    [("www-authenticate", challenge)],
                    "",
                )
                    .into_response();
            }
            let body: Value = serde_json::from_slice(&body).unwrap();
            if let Some(scope) = &*office.lacks.lock().unwrap()
                && body["method"] == "tools/call"
            {
                let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
                return (StatusCode::FORBIDDEN, [("www-authenticate", challenge)], "")
                    .into_response();
            }
            let result = match body["method"].as_str().unwrap() {
                "server/discover" => {
                    json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"})
                }
                "tools/list" => json!({"resultType": "complete", "tools": [tool("echo")]}),
                _ => json!({"resultType": "complete", "content": [{"type": "text", "text": "in"}]}),
            };
            json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

#[tokio::test]
async fn somebody_logs_in_and_the_token_is_renewed() {
    let (office, server) = office().await;
    let hub = Hub::open(vec![server.clone()]).await;
    let error = hub.gate.refresh("w").await.unwrap_err().to_string();
    assert!(error.contains("wants a login"), "{error}");
    let State::Failed { wants_login, .. } = hub.gate.status("w").unwrap().state else {
        panic!("it should fail");
    };
    assert!(wants_login);

    let url = hub.gate.login("w").await.unwrap();
    assert_eq!(
        hub.gate.status("w").unwrap().login,
        Some(LoginState::Waiting)
    );
    let url = reqwest::Url::parse(&url).unwrap();
    let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
    assert_eq!(asked["client_id"], "registered-1");
    assert_eq!(asked["code_challenge_method"], "S256");
    assert!(
        asked["resource"].ends_with("/mcp"),
        "the token is for this server: {asked:?}"
    );
    // The browser comes back.
    let back = format!(
        "{}?code=c1&state={}&iss={}",
        asked["redirect_uri"], asked["state"], office.base
    );
    assert!(asked["redirect_uri"].starts_with("http://127.0.0.1:"));
    let page = reqwest::get(back).await.unwrap();
    assert_eq!(page.status(), 200);
    until("the login is done", || {
        hub.gate.status("w").unwrap().login == Some(LoginState::Done)
    })
    .await;
    hub.gate.refresh("w").await.unwrap();
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    let kept = hub.file("mcp/oauth/w.json");
    assert_eq!(
        std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );

    // A token that counts no more is renewed, and the call goes through.
    *office.good.lock().unwrap() = "another".to_owned();
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    let grants: Vec<String> = office
        .asked
        .lock()
        .unwrap()
        .iter()
        .map(|f| f["grant_type"].clone())
        .collect();
    assert_eq!(grants, ["authorization_code", "refresh_token"]);

    // It is there after a restart.
    let hub = hub.again(vec![server]).await;
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    hub.gate.logout("w").await.unwrap();
    assert!(!kept.exists());
    hub.close().await;
}

/// The browser goes where it is sent, and comes back.
async fn agree(office: &Office, hub: &Hub) -> HashMap<String, String> {
    let url = reqwest::Url::parse(&hub.gate.login("w").await.unwrap()).unwrap();
    let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
    let back = format!(
        "{}?code=c1&state={}&iss={}",
        asked["redirect_uri"], asked["state"], office.base
    );
    reqwest::get(back).await.unwrap();
    until("the login is done", || {
        hub.gate.status("w").unwrap().login == Some(LoginState::Done)
    })
    .await;
    asked
}

/// What the server asks for is asked for; what it lacks later, beside what there was.
#[tokio::test]
async fn a_login_that_is_not_enough_is_widened() {
    let (office, server) = office().await;
    let hub = Hub::open(vec![server]).await;
    hub.gate.refresh("w").await.unwrap_err();
    assert_eq!(agree(&office, &hub).await["scope"], "read");
    hub.gate.refresh("w").await.unwrap();

    *office.lacks.lock().unwrap() = Some("write".to_owned());
    let answer = hub.call("w_echo", json!({})).await;
    let hint = failure(&answer).hint.clone().unwrap();
    assert!(hint.contains("helve mcp login w"), "{hint}");
    let tokens = office.asked.lock().unwrap().len();
    assert_eq!(
        tokens, 1,
        "the same again would not do, and is not asked for"
    );
    assert_eq!(agree(&office, &hub).await["scope"], "read write");

    *office.lacks.lock().unwrap() = None;
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    hub.close().await;
}

/// A client that describes itself is known by the address, where the server reads that;
/// this one does not, and lets it register.
#[tokio::test]
async fn a_described_client_registers_where_it_must() {
    let (office, mut server) = office().await;
    server.rules.oauth = Some(OAuth {
        client_id: Some("https://hub.example/client.json".to_owned()),
        ..OAuth::default()
    });
    let hub = Hub::open(vec![server]).await;
    assert_eq!(agree(&office, &hub).await["client_id"], "registered-1");
    hub.close().await;
}

/// An answer that nobody asked for logs nobody in.
#[tokio::test]
async fn a_forged_answer_is_refused() {
    let (office, server) = office().await;
    let hub = Hub::open(vec![server]).await;
    let url = reqwest::Url::parse(&hub.gate.login("w").await.unwrap()).unwrap();
    let asked: HashMap<String, String> = url.query_pairs().into_owned().collect();
    let page = reqwest::get(format!("{}?code=c1&state=forged", asked["redirect_uri"]))
        .await
        .unwrap();
    assert_eq!(page.status(), 400);
    until("it has failed", || {
        matches!(
            hub.gate.status("w").unwrap().login,
            Some(LoginState::Failed(_))
        )
    })
    .await;
    assert!(office.asked.lock().unwrap().is_empty());
    assert!(!hub.gate.status("w").unwrap().logged_in);
    hub.close().await;
}

#[tokio::test]
async fn the_hub_logs_in_as_itself() {
    let (office, mut server) = office().await;
    server.rules.oauth = Some(OAuth {
        client_id: Some("hub".to_owned()),
        client_secret: Some("s3cret".to_owned()),
        scopes: vec!["read".to_owned()],
        client_credentials: true,
    });
    let hub = Hub::with(server).await;
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    let asked = office.asked.lock().unwrap()[0].clone();
    assert_eq!(
        (
            asked["grant_type"].as_str(),
            asked["client_secret"].as_str()
        ),
        ("client_credentials", "s3cret")
    );
    hub.close().await;
}

/// One thing is shown: the login, as long as it counts, and not what is configured beside it.
#[tokio::test]
async fn a_login_goes_before_what_is_configured() {
    let (office, mut server) = office().await;
    let own = ("Authorization".to_owned(), "Bearer configured".to_owned());
    if let Reach::Http { headers, .. } = &mut server.reach {
        headers.push(own);
    }
    server.rules.oauth = Some(OAuth {
        client_id: Some("hub".to_owned()),
        client_secret: Some("s3cret".to_owned()),
        scopes: Vec::new(),
        client_credentials: true,
    });
    let hub = Hub::with(server).await;
    office.shown.lock().unwrap().clear();
    assert_eq!(hub.call("w_echo", json!({})).await.result, Ok(json!("in")));
    let login = format!("Bearer {}", office.good.lock().unwrap());
    assert_eq!(*office.shown.lock().unwrap(), [login]);
    hub.close().await;
}

/// Without a login nothing of ours is shown to the server.
#[tokio::test]
async fn nothing_of_ours_is_shown() {
    let (office, server) = office().await;
    let hub = Hub::open(vec![server]).await;
    hub.gate.refresh("w").await.unwrap_err();
    let answer = hub.call("w_echo", json!({})).await;
    assert!(failure(&answer).message.contains("no tool named"));
    assert!(office.shown.lock().unwrap().is_empty());
    hub.close().await;
}
