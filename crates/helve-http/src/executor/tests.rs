//! Through the kernel, as every call goes.

#![allow(clippy::needless_pass_by_value)]

use std::collections::HashMap;

use axum::Router;
use axum::extract::Request;
use helve_core::def::{ExecutorKind, Risk};
use helve_kernel::{Answer, Call, ErrorKind, Kernel, Principal, Registration};
use serde_json::json;

use super::*;
use crate::SecretError;
use crate::settings::tests::def;

const SECRET: &str = "s3cr3t-value/+=";

struct Known(HashMap<&'static str, &'static str>);

#[async_trait]
impl Secrets for Known {
    async fn secret(&self, name: &str, _: &Place) -> Result<String, SecretError> {
        let found = self.0.get(name).map(|v| (*v).to_owned());
        found.ok_or_else(|| SecretError::Unknown(name.to_owned()))
    }
}

/// A server that says what it was asked; `/hang` never answers.
async fn server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().fallback(|request: Request| async move {
        if request.uri().path() == "/hang" {
            std::future::pending::<()>().await;
        }
        let header = |name: &str| {
            let value = request.headers().get(name);
            value.map(|v| v.to_str().unwrap().to_owned())
        };
        let (auth, cookie, key) = (header("authorization"), header("cookie"), header("x-key"));
        let uri = request.uri().to_string();
        let known = auth.is_some() || cookie.is_some() || key.is_some() || uri.contains("key=");
        let body = json!({"uri": uri, "auth": auth, "cookie": cookie, "key": key, "known": known,
            "message": format!("{auth:?} {cookie:?} {key:?} {uri}")});
        let status = if uri.starts_with("/fail") {
            "403"
        } else {
            "200"
        };
        axum::http::Response::builder()
            .status(status.parse::<u16>().unwrap())
            .header("content-type", "application/json")
            .body(axum::body::Body::from(body.to_string()))
            .unwrap()
    });
    tokio::spawn(async move { axum::serve(listener, app).await });
    address.to_string()
}

async fn call(grants: &[&str], settings: Value, args: Value) -> Answer {
    let secrets = Known(HashMap::from([
        ("token", SECRET),
        ("login", "ann:s3cr3t-value"),
        ("plain", "s3cr3t-value"),
        ("newline", "s3cr3t-value\n"),
        ("bad", "s3cr3t\nvalue"),
    ]));
    let http = HttpExecutor::new(Guard::parse(grants).unwrap()).with_secrets(Arc::new(secrets));
    let kernel = Kernel::builder()
        .executor(ExecutorKind::Http, Arc::new(http))
        .open()
        .await
        .unwrap();
    let mut def = def(settings);
    def.risk = Some(Risk::Read);
    let me = Principal::person("ann");
    let new = Registration {
        def,
        source: "api".to_owned(),
        why: None,
        replace: false,
    };
    kernel.register(&me, new).await.unwrap();
    kernel.call(Call::new(me, "pet_get", args)).await
}

#[tokio::test]
async fn a_call_is_a_request() {
    let server = server().await;
    let settings = json!({"url": format!("http://{server}/v1"), "path": "/pets/{id}"});
    let answer = call(&[&server], settings, json!({"id": "a/b", "q": "x y"})).await;
    assert_eq!(answer.result.unwrap()["uri"], "/v1/pets/a%2Fb?q=x%20y");
}

#[tokio::test]
async fn what_is_not_granted_is_refused_with_what_to_do() {
    let server = server().await;
    let settings = json!({"url": format!("http://{server}")});
    let error = call(&[], settings, json!({})).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.hint.unwrap().contains(&server));
}

#[tokio::test]
async fn every_way_to_say_who_asks() {
    let server = server().await;
    for (auth, field) in [
        (json!({"scheme": "bearer", "secret": "token"}), "auth"),
        (json!({"scheme": "bearer", "secret": "newline"}), "auth"),
        (json!({"scheme": "basic", "secret": "login"}), "auth"),
        (
            json!({"scheme": "header", "name": "X-Key", "secret": "token"}),
            "key",
        ),
        (
            json!({"scheme": "cookie", "name": "sid", "secret": "plain"}),
            "cookie",
        ),
        (
            json!({"scheme": "query", "name": "key", "secret": "token"}),
            "uri",
        ),
    ] {
        for path in ["/ok", "/fail"] {
            let settings = json!({"url": format!("http://{server}"), "path": path, "auth": auth});
            let answer = call(&[&server], settings, json!({})).await;
            let text = answer.to_value().to_string();
            // It arrived, and it is nowhere in what came back.
            match &answer.result {
                Ok(data) => {
                    assert_eq!(data["known"], true, "{auth}");
                    assert!(
                        data[field].as_str().unwrap().contains("[secret]"),
                        "{auth}: {text}"
                    );
                }
                Err(error) => assert_eq!(error.kind, ErrorKind::Permission, "{auth}"),
            }
            for form in ["s3cr3t", "czNjcjN0", "YW5u"] {
                assert!(!text.contains(form), "{auth}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_secret_that_is_missing_or_unfit_is_told_without_it() {
    let server = server().await;
    let with = |auth: Value| json!({"url": format!("http://{server}"), "auth": auth});
    let missing = with(json!({"scheme": "bearer", "secret": "nobody"}));
    let error = call(&[&server], missing, json!({}))
        .await
        .result
        .unwrap_err();
    assert_eq!(error.message, "the secret `nobody` is not configured");
    assert!(error.hint.unwrap().contains("[secrets]"));
    let optional = with(json!({"scheme": "bearer", "secret": "nobody", "optional": true}));
    assert!(call(&[&server], optional, json!({})).await.is_ok());
    let bad = with(json!({"scheme": "bearer", "secret": "bad"}));
    let answer = call(&[&server], bad, json!({})).await;
    assert!(!answer.is_ok() && !answer.to_value().to_string().contains("s3cr3t"));
}

#[tokio::test]
async fn a_secret_does_not_go_in_the_open() {
    // Not granted, so it would be a stranger's; refused before anything is looked up.
    let settings =
        json!({"url": "http://api.example.com", "auth": {"scheme": "bearer", "secret": "token"}});
    let error = call(&[], settings, json!({})).await.result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(error.message.contains("for everybody to read"), "{error}");
}

#[tokio::test]
async fn it_can_be_stopped() {
    let server = server().await;
    let http = HttpExecutor::new(Guard::parse(&[&server]).unwrap());
    let kernel = Kernel::builder()
        .executor(ExecutorKind::Http, Arc::new(http))
        .open()
        .await
        .unwrap();
    let mut def = def(json!({"url": format!("http://{server}"), "path": "/hang"}));
    def.risk = Some(Risk::Read);
    def.timeout = Some(std::time::Duration::from_millis(50));
    let me = Principal::person("ann");
    let new = Registration {
        def,
        source: "api".to_owned(),
        why: None,
        replace: false,
    };
    kernel.register(&me, new).await.unwrap();
    let answer = kernel.call(Call::new(me, "pet_get", json!({}))).await;
    assert_eq!(answer.result.unwrap_err().kind, ErrorKind::Timeout);
}
