//! The REST door, asked as a client asks it. Every answer of every test is held
//! against what the OpenAPI document says of it.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]

mod approvals;
mod audit;
mod changes;
mod console;
mod door;
mod flaky;
mod logs;
mod meta;
mod runs;
mod seed;
mod table;
mod tokens;
mod tools;
mod toy;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request};
use helve_core::def::{ExecutorKind, Risk};
use helve_core::policy::Policy;
use helve_core::schema::Schema;
use helve_kernel::{
    At, Clock, Keeper, Kernel, NewToken, Permission, Principal, PrincipalKind, TokenId, ToolDef,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::routes::{ROUTES, Route};
use crate::{Hub, Settings};
use flaky::Flaky;
use toy::Toy;

const HOST: &str = "127.0.0.1:7717";

/// A clock that goes when it is told to.
struct Hand(AtomicI64);

impl Hand {
    fn go(&self, wait: Duration) {
        let wait = i64::try_from(wait.as_millis()).unwrap();
        self.0.fetch_add(wait, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> At {
        At(self.0.load(Ordering::SeqCst))
    }
}

/// A hub with toys in it.
struct Bench {
    hub: Hub,
    router: Router,
    toy: Arc<Toy>,
    clock: Arc<Hand>,
    store: Arc<Flaky>,
    /// Ann's: a person with every right.
    ann: String,
    /// Bob's: another.
    bob: String,
    /// An agent's, under Ann.
    bot: String,
    folder: TempDir,
}

impl Bench {
    async fn new() -> Self {
        Self::with(Settings::default(), json!([])).await
    }

    async fn with(settings: Settings, rules: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let toy = Arc::new(Toy::default());
        let clock = Arc::new(Hand(AtomicI64::new(1_790_000_000_000)));
        let store = Arc::new(Flaky::default());
        let keeper = Keeper::open(&folder.path().join(".helve/changes"), None).unwrap();
        let kernel = Kernel::builder()
            .store(store.clone())
            .clock(clock.clone())
            .policy(Policy::from_value(&rules).unwrap())
            .executor(ExecutorKind::Host, toy.clone())
            .root(folder.path())
            .artifacts(folder.path().join("artifacts"))
            .keeper(Arc::new(keeper))
            .output_limit(1000)
            .open()
            .await
            .unwrap();
        for def in toy::tools() {
            let new = helve_kernel::Registration {
                def: ToolDef::from_value(&def).unwrap(),
                source: "api".to_owned(),
                why: None,
                replace: false,
            };
            let root = Principal::person("root");
            kernel.register(&root, new).await.unwrap();
        }
        let settings = Settings {
            hosts: vec![HOST.to_owned()],
            ..settings
        };
        let hub = Hub::new(kernel, settings);
        let mut bench = Self {
            router: hub.router(),
            hub,
            toy,
            clock,
            store,
            ann: String::new(),
            bob: String::new(),
            bot: String::new(),
            folder,
        };
        bench.ann = bench.person("ann", &Permission::ALL).await;
        bench.bob = bench.person("bob", &Permission::ALL).await;
        let new = NewToken::agent("bot");
        bench.bot = bench.token_of(&Principal::person("ann"), new).await.0;
        bench
    }

    async fn token_of(&self, maker: &Principal, new: NewToken) -> (String, TokenId) {
        let made = self.hub.kernel().create_token(maker, new).await.unwrap();
        (made.1.reveal().to_owned(), made.0.id)
    }

    async fn person(&self, owner: &str, permissions: &[Permission]) -> String {
        let new = NewToken {
            name: format!("{owner}'s"),
            kind: PrincipalKind::Person,
            owner: owner.to_owned(),
            permissions: permissions.to_vec(),
            scopes: vec!["*".to_owned()],
            max_risk: Risk::Write,
            lasts: None,
        };
        self.token_of(&Principal::person("root"), new).await.0
    }

    /// A token that reaches only some tools.
    async fn scoped(&self, owner: &str, scopes: &[&str]) -> String {
        let new = NewToken {
            name: owner.to_owned(),
            kind: PrincipalKind::Person,
            owner: owner.to_owned(),
            permissions: Permission::ALL.to_vec(),
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            max_risk: Risk::Write,
            lasts: None,
        };
        self.token_of(&Principal::person("root"), new).await.0
    }

    /// Sends a request and holds the answer against its description.
    async fn send(&self, ask: Ask) -> Reply {
        let (method, path) = (ask.method.to_owned(), ask.path.clone());
        let response = self.router.clone().oneshot(ask.request()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let reply = Reply {
            status: parts.status.as_u16(),
            headers: parts.headers,
            bytes,
        };
        conforms(&method, &path, &reply);
        reply
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(get(path).by(&self.ann)).await
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(post(path).by(&self.ann).json(body)).await
    }

    /// The audit of one thing: its events.
    async fn events(&self, resource: &str) -> Vec<String> {
        let reply = self
            .get(&format!("/audit?limit=200&resource_id={resource}"))
            .await;
        let items = reply.json()["items"].as_array().unwrap().clone();
        let event = |item: &Value| item["record"]["event"].as_str().unwrap().to_owned();
        items.iter().map(event).collect()
    }
}

/// A request to be.
#[derive(Clone)]
struct Ask {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    host: Option<&'static str>,
}

fn ask(method: &'static str, path: &str) -> Ask {
    Ask {
        method,
        path: path.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        host: Some(HOST),
    }
}

fn get(path: &str) -> Ask {
    ask("GET", path)
}

fn post(path: &str) -> Ask {
    ask("POST", path)
}

impl Ask {
    fn by(self, secret: &str) -> Self {
        let value = format!("Bearer {secret}");
        self.header("authorization", value)
    }

    fn header(mut self, name: &'static str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn json(self, body: Value) -> Self {
        self.raw(body.to_string(), "application/json")
    }

    fn raw(mut self, body: impl Into<Vec<u8>>, kind: &'static str) -> Self {
        self.body = body.into();
        self.header("content-type", kind)
    }

    fn host(mut self, host: Option<&'static str>) -> Self {
        self.host = host;
        self
    }

    fn request(self) -> Request<Body> {
        let mut request = Request::builder().method(self.method).uri(&self.path);
        if let Some(host) = self.host {
            request = request.header("host", host);
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(Body::from(self.body)).unwrap()
    }
}

/// What came back.
struct Reply {
    status: u16,
    headers: HeaderMap,
    bytes: Bytes,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.text())
    }
}

impl Reply {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|v| v.to_str().unwrap())
    }

    /// The value, where the status is the one that was wanted.
    #[track_caller]
    fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        match self.bytes.is_empty() {
            true => Value::Null,
            false => self.json(),
        }
    }

    /// The detail and the hint of a problem.
    #[track_caller]
    fn problem(self, status: u16) -> String {
        let value = self.is(status);
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        format!("{} ({})", text("detail"), text("hint"))
    }
}

static DOCUMENT: LazyLock<Value> = LazyLock::new(crate::openapi::document);
static SCHEMAS: LazyLock<Mutex<HashMap<String, Arc<Schema>>>> = LazyLock::new(Mutex::default);

fn schema(reference: &str) -> Arc<Schema> {
    let mut known = SCHEMAS.lock().unwrap();
    let compiled = known.entry(reference.to_owned()).or_insert_with(|| {
        let schemas = &DOCUMENT["components"]["schemas"];
        let whole = json!({"$ref": reference, "components": {"schemas": schemas}});
        Arc::new(Schema::compile(&whole).unwrap())
    });
    compiled.clone()
}

/// The route of a request.
fn route_of(method: &str, path: &str) -> Option<&'static Route> {
    let path = path.split('?').next().unwrap();
    ROUTES.iter().find(|route| {
        let parts: Vec<&str> = route.path.split('/').collect();
        let given: Vec<&str> = path.split('/').collect();
        let same = |(a, b): (&&str, &&str)| a == b || (a.starts_with('{') && !b.is_empty());
        route.method.eq_ignore_ascii_case(method)
            && parts.len() == given.len()
            && parts.iter().zip(&given).all(same)
    })
}

/// Panics where an answer is not what the document says.
#[track_caller]
fn conforms(method: &str, path: &str, reply: &Reply) {
    let about = format!("{method} {path}: {reply:?}");
    for name in [
        "x-content-type-options",
        "cache-control",
        "referrer-policy",
        "x-frame-options",
        "content-security-policy",
    ] {
        assert!(reply.headers.contains_key(name), "{name} of {about}");
    }
    let kind = reply.header("content-type").unwrap_or_default();
    let kind = kind.split(';').next().unwrap().to_owned();
    let method = if method == "HEAD" { "GET" } else { method };
    let content = match route_of(method, path) {
        None => {
            assert!([403, 404, 405, 421].contains(&reply.status), "{about}");
            json!({"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}})
        }
        Some(route) => {
            let answers = &DOCUMENT["paths"][route.path][route.method]["responses"];
            let answer = &answers[reply.status.to_string()];
            assert!(answer.is_object(), "not documented: {about}");
            let headers = answer["headers"].as_object();
            for name in headers.into_iter().flat_map(|h| h.keys()) {
                assert!(reply.headers.contains_key(name), "no {name}: {about}");
            }
            answer["content"].clone()
        }
    };
    if reply.bytes.is_empty() {
        return;
    }
    let described = &content[&kind];
    assert!(described.is_object(), "`{kind}` is not documented: {about}");
    if kind == "application/json" || kind == "application/problem+json" {
        let reference = described["schema"]["$ref"].as_str().unwrap();
        let misfits = schema(reference).misfits(&reply.json());
        assert!(misfits.is_empty(), "{about}\n{misfits:?}");
    }
    if reply.status >= 400 && !(path == "/healthz" && reply.status == 503) {
        let problem = reply.json();
        assert_eq!(kind, "application/problem+json", "{about}");
        assert_eq!(problem["status"], reply.status, "{about}");
        for key in ["type", "title", "detail"] {
            assert!(
                problem[key].as_str().is_some_and(|t| !t.is_empty()),
                "{about}"
            );
        }
        assert!(
            !problem["detail"]
                .as_str()
                .unwrap()
                .contains(char::is_control),
            "{about}"
        );
    }
}
