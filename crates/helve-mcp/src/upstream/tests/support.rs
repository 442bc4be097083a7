//! A hub in memory with a gateway, servers for it, and a client that can be asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use helve_core::def::{ExecutorKind, Risk};
use helve_kernel::{
    Answer, Call, Caller, Ctx, Kernel, MemoryStore, Principal, Store, ToolError, Wire,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::upstream::{Reach, Rules, Upstream, Upstreams};

/// A hub with a gateway.
pub(super) struct Hub {
    pub(super) kernel: Kernel,
    pub(super) gate: Upstreams,
    pub(super) state: Arc<TempDir>,
    store: Arc<dyn Store>,
}

impl Hub {
    pub(super) async fn open(servers: Vec<Upstream>) -> Self {
        Self::on(
            servers,
            Arc::new(MemoryStore::default()),
            Arc::new(TempDir::new().unwrap()),
        )
        .await
    }

    async fn on(servers: Vec<Upstream>, store: Arc<dyn Store>, state: Arc<TempDir>) -> Self {
        let gate = Upstreams::open(servers, &state.path().join("mcp")).unwrap();
        let kernel = Kernel::builder()
            .store(store.clone())
            .executor(ExecutorKind::Mcp, gate.executor())
            .open()
            .await
            .unwrap();
        let problems = gate.attach(&kernel).await;
        assert_eq!(problems, Vec::<String>::new());
        Self {
            kernel,
            gate,
            state,
            store,
        }
    }

    /// The same state with other settings, as after a restart.
    pub(super) async fn again(self, servers: Vec<Upstream>) -> Self {
        let (store, state) = (self.store.clone(), self.state.clone());
        self.gate.close().await;
        self.kernel.close(Duration::from_secs(5)).await;
        Self::on(servers, store, state).await
    }

    /// One server, looked at.
    pub(super) async fn with(server: Upstream) -> Self {
        let name = server.name.clone();
        let hub = Self::open(vec![server]).await;
        hub.gate.refresh(&name).await.unwrap();
        hub
    }

    pub(super) async fn call(&self, tool: &str, args: Value) -> Answer {
        self.kernel
            .call(Call::new(Principal::person("ann"), tool, args))
            .await
    }

    pub(super) async fn call_as(&self, caller: &Arc<Client>, tool: &str, args: Value) -> Answer {
        let ctx = Ctx::builder().caller(caller.clone()).build();
        let call = Call::new(Principal::person("ann"), tool, args).ctx(ctx);
        self.kernel.call(call).await
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }

    pub(super) async fn close(&self) {
        self.gate.close().await;
        self.kernel.close(Duration::from_secs(5)).await;
    }
}

/// The test server, with what it shall be.
pub(super) fn python(name: &str, settings: &Value) -> Upstream {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/upstream/tests/server.py");
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    Upstream {
        name: name.to_owned(),
        reach: Reach::Stdio {
            command: "python3".to_owned(),
            args: vec![script.display().to_string(), settings.to_string()],
            env: BTreeMap::from([("PATH".to_owned(), path.to_owned())]),
            cwd: None,
        },
        place: "server.py".to_owned(),
        rules: Rules {
            risk: Risk::Read,
            ..Rules::default()
        },
    }
}

/// A tool that takes anything.
pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

pub(super) fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| tool(name)).collect()
}

/// What was answered, word for word.
pub(super) fn wire(answer: &Answer) -> Value {
    match answer.meta.wire.as_deref() {
        Some(Wire::Result(map) | Wire::Error(map)) => Value::Object(map.clone()),
        None => Value::Null,
    }
}

/// The text of an answer that is JSON.
pub(super) fn said(answer: &Answer) -> Value {
    let text = answer
        .result
        .as_ref()
        .expect("it worked")
        .as_str()
        .expect("a text");
    serde_json::from_str(text).expect("JSON")
}

pub(super) fn failure(answer: &Answer) -> &ToolError {
    answer.result.as_ref().expect_err("it should not work")
}

/// Whether a process is at work.
pub(super) fn is_alive(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())) else {
        return false;
    };
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
    !matches!(state, Some(Some('Z' | 'X')))
}

/// Waits until something is so.
pub(super) async fn until(what: &str, so: impl Fn() -> bool) {
    let enough = tokio::time::Instant::now() + Duration::from_secs(20);
    while !so() {
        assert!(tokio::time::Instant::now() < enough, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A client that remembers what it was told and asked.
#[derive(Debug)]
pub(super) struct Client {
    session: String,
    protocol: &'static str,
    capabilities: Value,
    extras: Map<String, Value>,
    answer: Value,
    pub(super) told: Mutex<Vec<(String, Value)>>,
    pub(super) asked: Mutex<Vec<Map<String, Value>>>,
    pub(super) tasks: Mutex<Vec<Value>>,
}

impl Client {
    pub(super) fn new(session: &str, protocol: &'static str) -> Arc<Self> {
        let Value::Object(extras) = json!({
            "_meta": {"progressToken": "theirs", "trace": "t-1",
                      "io.modelcontextprotocol/clientInfo": {"name": "theirs"}},
            "custom": {"b": 1, "a": 2},
        }) else {
            unreachable!()
        };
        Arc::new(Self {
            session: session.to_owned(),
            protocol,
            capabilities: json!({"elicitation": {"form": {}}, "odd": 1}),
            extras,
            answer: json!({"action": "accept", "content": {"name": session}, "odd": true}),
            told: Mutex::default(),
            asked: Mutex::default(),
            tasks: Mutex::default(),
        })
    }

    pub(super) fn session_name(&self) -> &str {
        &self.session
    }

    pub(super) fn legacy(session: &str) -> Arc<Self> {
        Self::new(session, "2025-11-25")
    }

    pub(super) fn modern(session: &str) -> Arc<Self> {
        Self::new(session, "2026-07-28")
    }
}

#[async_trait]
impl Caller for Client {
    fn session(&self) -> &str {
        &self.session
    }

    fn protocol(&self) -> &str {
        self.protocol
    }

    fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    fn extras(&self) -> &Map<String, Value> {
        &self.extras
    }

    async fn tell(&self, method: &str, params: Value) {
        self.told.lock().unwrap().push((method.to_owned(), params));
    }

    async fn ask(&self, questions: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let answers = questions
            .keys()
            .map(|name| (name.clone(), self.answer.clone()))
            .collect();
        self.asked.lock().unwrap().push(questions);
        Ok(answers)
    }

    fn takes_long(&self, task: &Value) {
        self.tasks.lock().unwrap().push(task.clone());
    }
}
