//! The door over HTTP: who may use which session, and what a request without anybody gets.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::Response;
use helve_kernel::Principal;
use helve_mcp::front::{HttpOptions, HttpService};
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::{LEGACY, MODERN};
use super::support::{Hub, text};

/// A door on a port of this machine. Whoever knocks says by name who they are.
pub struct Door {
    pub url: String,
    http: reqwest::Client,
}

impl Hub {
    pub async fn door(&self, people: &[(&'static str, &Arc<Principal>)]) -> Door {
        let options = HttpOptions::default();
        let closing = self.closing.clone();
        let service = HttpService::new(&self.front, None, &options, closing.clone()).unwrap();
        let people = people.iter().map(|(name, who)| (*name, (*who).clone()));
        let people: Arc<HashMap<&str, Arc<Principal>>> = Arc::new(people.collect());
        let router = axum::Router::new().fallback(move |mut request: Request| {
            let (service, people) = (service.clone(), people.clone());
            async move {
                let name = request.headers().get("x-who").and_then(|n| n.to_str().ok());
                if let Some(who) = name.and_then(|name| people.get(name)).cloned() {
                    request.extensions_mut().insert(who);
                }
                let (parts, body) = service.handle(request).await.into_parts();
                Response::from_parts(parts, axum::body::Body::new(body))
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let serving =
            axum::serve(listener, router).with_graceful_shutdown(closing.cancelled_owned());
        tokio::spawn(serving.into_future());
        Door {
            url,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }
}

/// What came back: status, session, and the body as it came.
pub struct Came {
    pub status: StatusCode,
    pub session: Option<String>,
    pub kind: String,
    pub body: String,
}

impl Came {
    /// The one message with an answer in it, as it was written.
    pub fn message(&self) -> String {
        if self.kind.starts_with("application/json") {
            return self.body.clone();
        }
        let data = self.body.lines().filter_map(|l| l.strip_prefix("data:"));
        let data = data
            .map(str::trim)
            .find(|d| d.contains(r#""result""#) || d.contains(r#""error""#));
        data.unwrap_or_else(|| panic!("no answer: {}", self.body))
            .to_owned()
    }

    pub fn result(&self) -> Value {
        let mut answer: Value = serde_json::from_str(&self.message()).unwrap();
        assert_eq!(answer.get("error"), None, "{answer}");
        answer["result"].take()
    }
}

impl Door {
    /// Sends something as somebody, in a session, and waits for all of the answer.
    pub async fn send(
        &self,
        method: Method,
        who: Option<&str>,
        session: Option<&str>,
        body: Option<Value>,
    ) -> Came {
        let response = self.answer(method, who, session, body).await;
        let header = |name: &str| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        Came {
            status: response.status(),
            session: header("mcp-session-id"),
            kind: header("content-type").unwrap_or_default(),
            body: response.text().await.unwrap(),
        }
    }

    /// The same, up to where an answer begins.
    pub async fn answer(
        &self,
        method: Method,
        who: Option<&str>,
        session: Option<&str>,
        body: Option<Value>,
    ) -> reqwest::Response {
        let mut request = self.http.request(method, &self.url);
        request = request.header(ACCEPT, "application/json, text/event-stream");
        if let Some(who) = who {
            request = request.header("x-who", who);
        }
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(body) = body {
            let modern = body["params"]["_meta"].get("io.modelcontextprotocol/protocolVersion");
            let version = modern.and_then(Value::as_str).unwrap_or(LEGACY);
            request = request.header("mcp-protocol-version", version);
            if version == MODERN {
                request = request.header("mcp-method", text(&body["method"]));
                if let Some(name) = body["params"]["name"].as_str() {
                    request = request.header("mcp-name", name);
                }
            }
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string());
        }
        request.send().await.unwrap()
    }

    /// Begins a session of the older revisions.
    pub async fn open(&self, who: &str) -> String {
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "tester", "version": "1"},
        }});
        let came = self.send(Method::POST, Some(who), None, Some(hello)).await;
        assert_eq!(came.result()["protocolVersion"], LEGACY);
        let session = came.session.unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let came = self
            .send(Method::POST, Some(who), Some(&session), Some(ready))
            .await;
        assert_eq!(came.status, StatusCode::ACCEPTED);
        session
    }

    pub async fn in_session(&self, who: &str, session: &str, method: &str, params: Value) -> Came {
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        self.send(Method::POST, Some(who), Some(session), Some(body))
            .await
    }

    /// One request of the newer revisions.
    pub async fn once(&self, who: &str, method: &str, params: Value, capabilities: Value) -> Came {
        let body = modern(method, params, capabilities);
        self.send(Method::POST, Some(who), None, Some(body)).await
    }
}

pub fn modern(method: &str, mut params: Value, capabilities: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    });
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

#[tokio::test]
async fn nobody_is_let_in_without_a_name() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let session = door.open("a").await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for (method, session, body) in [
        (
            Method::POST,
            None,
            Some(modern("tools/list", json!({}), json!({}))),
        ),
        (Method::POST, Some(session.as_str()), Some(list)),
        (Method::GET, Some(session.as_str()), None),
        (Method::DELETE, Some(session.as_str()), None),
    ] {
        let came = door.send(method.clone(), None, session, body).await;
        assert_eq!(came.status, StatusCode::UNAUTHORIZED, "{method}");
        assert!(!came.body.contains("note_"), "{}", came.body);
    }
    // And the session is still whose it was.
    let came = door
        .in_session("a", &session, "tools/list", json!({}))
        .await;
    assert!(came.message().contains("note_read"));
}

#[tokio::test]
async fn a_session_is_nobody_elses() {
    let hub = Hub::new().await;
    let (a, b) = (hub.agent("a", "ann").await, hub.agent("b", "bob").await);
    let ann = hub.person("ann").await;
    let same = hub.agent("a", "bob").await;
    let people = [("a", &a), ("b", &b), ("ann", &ann), ("a of bob", &same)];
    let door = hub.door(&people).await;
    let session = door.open("a").await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "note_read", "arguments": {"text": "x"},
    }});
    let note =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    for other in ["b", "ann", "a of bob"] {
        for (method, body) in [
            (Method::POST, Some(call.clone())),
            (Method::POST, Some(note.clone())),
            (Method::GET, None),
            (Method::DELETE, None),
        ] {
            let came = door
                .send(method.clone(), Some(other), Some(&session), body)
                .await;
            assert_eq!(came.status, StatusCode::NOT_FOUND, "{other} {method}");
            assert_eq!(came.body, "there is no such session");
        }
    }
    assert_eq!(hub.ended("note_read").await, []);
    let params = json!({"name": "note_read", "arguments": {"text": "x"}});
    let came = door
        .in_session("a", &session, "tools/call", params.clone())
        .await;
    assert_eq!(came.result()["structuredContent"], json!({"text": "x"}));
    let came = door
        .send(Method::DELETE, Some("a"), Some(&session), None)
        .await;
    assert!(came.status.is_success(), "{}", came.status);
    let came = door.in_session("a", &session, "tools/call", params).await;
    assert_eq!(came.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn each_request_is_whose_token_it_has() {
    let hub = Hub::new().await;
    let (a, b) = (
        hub.scoped("a", &["note_read"]).await,
        hub.scoped("b", &["gate_*"]).await,
    );
    let door = hub.door(&[("a", &a), ("b", &b)]).await;
    for (who, tool) in [("a", "note_read"), ("b", "gate_wait"), ("a", "note_read")] {
        let list = door
            .once(who, "tools/list", json!({}), json!({}))
            .await
            .result();
        let names: Vec<String> = list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| text(&t["name"]))
            .collect();
        assert_eq!(names, [tool], "{who}");
    }
}

#[tokio::test]
async fn a_question_is_answered_by_whoever_was_asked() {
    let hub = Hub::new().await;
    let (a, b) = (hub.agent("a", "ann").await, hub.agent("b", "bob").await);
    let door = hub.door(&[("a", &a), ("b", &b)]).await;
    let mut params = json!({"name": "note_save", "arguments": {"x": 1}});
    let asks = super::approval::asks();
    let asked = door
        .once("a", "tools/call", params.clone(), asks.clone())
        .await
        .result();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"approval": super::approval::says("approve")});
    let theirs = door
        .once("b", "tools/call", params.clone(), asks.clone())
        .await;
    assert!(
        theirs.message().contains("not known here"),
        "{}",
        theirs.body
    );
    assert_eq!(hub.saves(), 0);
    let result = door.once("a", "tools/call", params, asks).await.result();
    assert_eq!(result["structuredContent"], json!({"x": 1}));
    assert_eq!(hub.approval().await.decisions[0].by, "ann");
}

#[tokio::test]
async fn a_request_that_hangs_up_ends_its_run() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let params = json!({"name": "gate_wait", "arguments": {}});
    tokio::select! {
        came = door.once("a", "tools/call", params, json!({})) => panic!("{}", came.body),
        begun = hub.begun.acquire() => begun.unwrap().forget(),
    }
    super::cancel::is_called_off(&hub, "gate_wait", "agent:a").await;
}

#[tokio::test]
async fn a_request_of_a_session_is_cancelled_by_its_owner() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let session = door.open("a").await;
    let params = json!({"name": "gate_wait", "arguments": {}});
    // How its stream ends is the library's affair.
    let calls = async {
        door.in_session("a", &session, "tools/call", params).await;
        std::future::pending::<()>().await;
    };
    let cancels = async {
        hub.begun.acquire().await.unwrap().forget();
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
        door.send(Method::POST, Some("a"), Some(&session), Some(note))
            .await;
        super::cancel::is_called_off(&hub, "gate_wait", "agent:a").await;
    };
    tokio::select! {
        () = calls => {}
        () = cancels => {}
    }
}
