//! A hub to try things on, with a clock that is turned by hand, a store that can be
//! made to fail, and an executor that does what a test tells it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a test writes `json!(…)` where it needs one"
)]

use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use helve_core::audit::{Entry, Head, verify};
use helve_core::def::{Executor as ExecutorDef, ExecutorKind, Risk};
use helve_core::policy::{Pattern, Policy};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::failing::FailingStore;
use crate::kernel::{ApprovalRules, Builder, Kernel, Registration, lock};
use crate::store::AuditFilter;
use crate::{
    Answer, Approval, At, Call, Clock, Ctx, Executor, Permission, Permit, Principal, Reply, Run,
    RunState, Store, Tool, ToolDef, ToolError, ToolName, Verdict, Wait,
};

/// The moment at which every hub begins.
pub(super) const START: i64 = 1_700_000_000_000;

/// A clock that goes with tokio's, which tests can pause, and can be turned besides.
#[derive(Debug)]
pub(super) struct Hand {
    begun: tokio::time::Instant,
    turned: AtomicI64,
}

impl Hand {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: tokio::time::Instant::now(),
            turned: AtomicI64::new(0),
        })
    }

    /// Forwards, or with a negative number back.
    pub(super) fn turn(&self, seconds: i64) {
        self.turned.fetch_add(seconds * 1000, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> At {
        let gone = i64::try_from(self.begun.elapsed().as_millis()).unwrap();
        At(START + gone + self.turned.load(Ordering::SeqCst))
    }
}

/// A kernel and all that is around it.
pub(super) struct Hub {
    pub(super) kernel: Kernel,
    pub(super) store: Arc<FailingStore>,
    pub(super) clock: Arc<Hand>,
    pub(super) executor: Arc<Toy>,
    pub(super) root: TempDir,
}

impl Hub {
    pub(super) async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    pub(super) async fn with(more: impl FnOnce(Builder) -> Builder) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (store, clock) = (FailingStore::new(), Hand::new());
        let executor = Arc::new(Toy::default());
        let builder = builder(&store, &clock, &executor, &root);
        let kernel = more(builder).open().await.unwrap();
        Self {
            kernel,
            store,
            clock,
            executor,
            root,
        }
    }

    /// The same after the hub went down and came up again, with nothing but what is kept.
    pub(super) async fn restarted(&self, more: impl FnOnce(Builder) -> Builder) -> Kernel {
        let builder = builder(&self.store, &self.clock, &self.executor, &self.root);
        more(builder).open().await.unwrap()
    }

    pub(super) fn add(&self, tool: Tool) {
        self.kernel.add_tool(tool).unwrap();
    }

    /// Calls as a person with every right.
    pub(super) async fn call(&self, tool: &str, args: Value) -> Answer {
        self.kernel.call(Call::new(ann(), tool, args)).await
    }

    /// Calls something that asks first, and gives the approval.
    pub(super) async fn ask(&self, who: &Principal, tool: &str, args: Value) -> Approval {
        let answer = self.kernel.call(Call::new(who.clone(), tool, args)).await;
        assert_eq!(
            answer.meta.state,
            Some(RunState::PendingApproval),
            "{answer:?}"
        );
        let id = answer.meta.approval.unwrap();
        self.kernel.approval(&id).await.unwrap()
    }

    pub(super) async fn approve(
        &self,
        who: &Principal,
        approval: &Approval,
    ) -> Result<Approval, ToolError> {
        let yes = Verdict::Approve;
        self.kernel.decide(who, &approval.id, yes, None).await
    }

    /// The run of an approval, once it is over.
    pub(super) async fn end_of(&self, approval: &Approval) -> Run {
        self.kernel.wait_for(&approval.run).await.unwrap()
    }

    pub(super) async fn run_of(&self, answer: &Answer) -> Run {
        let id = answer.meta.run_id.as_ref().unwrap();
        self.kernel.run(id).await.unwrap()
    }

    /// The events on the record, oldest first.
    pub(super) async fn events(&self) -> Vec<String> {
        let entries = self.record().await;
        let event = |e: &Value| e["event"].as_str().unwrap().to_owned();
        entries.iter().map(event).collect()
    }

    /// All records, oldest first; the chain must hold.
    pub(super) async fn record(&self) -> Vec<Value> {
        let entries = self.store.audit(AuditFilter::default(), 100_000).await;
        let entries = entries.unwrap();
        let lines: Vec<String> = entries.iter().map(Entry::to_line).collect();
        let lines = lines.iter().map(String::as_str);
        let head = self.store.audit_head().await.unwrap();
        verify(lines, Head::START, Some(head)).unwrap();
        entries.into_iter().map(|e| e.record).collect()
    }

    /// Whether a text stands anywhere in what is kept.
    pub(super) async fn keeps(&self, text: &str) -> bool {
        let runs = self.store.runs(Default::default(), 10_000).await.unwrap();
        let mut all = format!("{:?}", self.record().await);
        all += &format!(
            "{:?}",
            self.store.approvals(None, None, 1000).await.unwrap()
        );
        for run in runs {
            all += &format!("{run:?}");
            let mut output = Vec::new();
            for chunk in self.store.chunks(&run.id, 0, 10_000).await.unwrap() {
                output.extend(chunk.bytes);
            }
            all += &String::from_utf8_lossy(&output);
            if let Some(folder) = self.kernel.artifacts(&run.id)
                && let Ok(files) = std::fs::read_dir(folder)
            {
                for file in files {
                    all += &std::fs::read_to_string(file.unwrap().path()).unwrap();
                }
            }
        }
        all.contains(text)
    }

    pub(super) async fn register(&self, def: ToolDef) -> Result<(), ToolError> {
        let new = registration(def);
        self.kernel.register(&ann(), new).await.map(drop)
    }
}

fn builder(
    store: &Arc<FailingStore>,
    clock: &Arc<Hand>,
    executor: &Arc<Toy>,
    root: &TempDir,
) -> Builder {
    Kernel::builder()
        .store(store.clone())
        .clock(clock.clone())
        .executor(ExecutorKind::Host, executor.clone())
        .root(root.path())
        .artifacts(root.path().join("artifacts"))
        .secret_key([7; 32])
        .approvals(ApprovalRules {
            ask_for: Duration::from_secs(3600),
            grant_for: Duration::from_secs(600),
            approvers: None,
        })
}

pub(super) fn registration(def: ToolDef) -> Registration {
    Registration {
        def,
        source: "api".to_owned(),
        why: None,
        replace: true,
    }
}

/// People with every right.
pub(super) fn ann() -> Principal {
    Principal::person("ann")
}

pub(super) fn bob() -> Principal {
    Principal::person("bob")
}

pub(super) fn cleo() -> Principal {
    Principal::person("cleo")
}

/// A person with just these rights.
pub(super) fn with_only(owner: &str, permissions: &[Permission]) -> Principal {
    Principal {
        permissions: permissions.to_vec(),
        ..Principal::person(owner)
    }
}

pub(super) fn scoped(owner: &str, scopes: &[&str]) -> Principal {
    Principal {
        scopes: scopes.iter().map(|s| Pattern::new(*s)).collect(),
        ..Principal::person(owner)
    }
}

pub(super) fn rules(rules: Value) -> Policy {
    Policy::from_value(&rules).unwrap()
}

/// A definition with the fields of `more`.
pub(super) fn def(name: &str, more: Value) -> ToolDef {
    let mut value = json!({
        "name": name,
        "description": "Does what a test wants. Use it in tests.",
        "risk": "read",
        "input_schema": {"type": "object"},
    });
    for (key, field) in more.as_object().unwrap() {
        value[key] = field.clone();
    }
    ToolDef::from_value(&value).unwrap_or_else(|issues| panic!("{issues:?}"))
}

/// A definition that the toy runs.
pub(super) fn host(name: &str, risk: Risk, command: &str) -> ToolDef {
    let mut def = ToolDef::new(
        ToolName::new(name).unwrap(),
        "Does what a test wants. Use it in tests.",
    );
    def.risk = Some(risk);
    def.input_schema = json!({"type": "object", "properties": {
        "say": {"type": "string", "description": "What to say.", "default": ""},
        "key": {"type": "string", "description": "A key.", "x-secret": true}
    }});
    let mut executor = ExecutorDef::of(ExecutorKind::Host);
    executor
        .settings
        .insert("command".to_owned(), json!([command]));
    def.executor = Some(executor);
    def
}

/// A tool that gives back its arguments.
pub(super) fn echo(name: &str, more: Value) -> Tool {
    Tool::of_args(def(name, more), |args| async move { Ok(args) })
}

/// A tool that counts how often it ran.
pub(super) fn counting(name: &str, more: Value) -> (Tool, Count) {
    let count = Count::default();
    let counted = count.clone();
    let tool = Tool::of_args(def(name, more), move |args| {
        counted.add();
        async move { Ok(args) }
    });
    (tool, count)
}

#[derive(Clone, Default)]
pub(super) struct Count(Arc<AtomicI64>);

impl Count {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn get(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A tool that waits until a test lets it go on.
pub(super) fn gated(name: &str, more: Value) -> (Tool, Gate) {
    let gate = Gate::default();
    let inside = gate.clone();
    let tool = Tool::of_args(def(name, more), move |args| {
        let gate = inside.clone();
        async move {
            gate.pass().await;
            Ok(args)
        }
    });
    (tool, gate)
}

/// Holds whoever comes until it is opened; tells when somebody has come.
#[derive(Clone)]
pub(super) struct Gate {
    arrived: Arc<tokio::sync::Semaphore>,
    open: Arc<tokio::sync::Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            arrived: Arc::new(tokio::sync::Semaphore::new(0)),
            open: Arc::new(tokio::sync::Semaphore::new(0)),
        }
    }
}

impl Gate {
    pub(super) async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    pub(super) async fn arrival(&self) {
        self.arrived.acquire().await.unwrap().forget();
    }

    pub(super) fn open(&self) {
        self.open.add_permits(1);
    }
}

/// An executor whose programs are words: `ok`, `echo`, `wait`, `leak`, ….
#[derive(Default)]
pub(super) struct Toy {
    pub(super) runs: Mutex<Vec<Value>>,
    pub(super) cleared: Count,
    pub(super) gate: Gate,
    /// Programs that somebody has replaced since.
    pub(super) replaced: Mutex<HashSet<String>>,
}

impl Toy {
    pub(super) fn runs(&self) -> Vec<Value> {
        lock(&self.runs).clone()
    }
}

fn command(def: &ToolDef) -> String {
    let executor = def.executor.as_ref().unwrap();
    executor.settings["command"][0].as_str().unwrap().to_owned()
}

#[async_trait]
impl Executor for Toy {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        let command = command(def);
        if command == "missing" {
            return Err(ToolError::dependency("there is no program `missing`"));
        }
        let replaced = lock(&self.replaced).contains(&command);
        Ok(Some(json!({"program": command, "replaced": replaced})))
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let args = Value::Object(permit.args().clone());
        lock(&self.runs).push(args.clone());
        let key = args["key"].as_str().unwrap_or_default().to_owned();
        match command(permit.def()).as_str() {
            "echo" => Ok(Reply::new(args)),
            "nest" => {
                let once = args.to_string();
                let twice = json!({"in": once}).to_string();
                Ok(Reply::new(json!({"once": once, "twice": twice})))
            }
            "wait" => {
                tokio::select! {
                    () = self.gate.pass() => Ok(Reply::new("done")),
                    () = permit.stop().cancelled() => {
                        self.cleared.add();
                        Err(ToolError::internal("killed"))
                    }
                }
            }
            "deaf" => std::future::pending().await,
            "leak" => {
                use crate::Stream::{Stderr, Stdout};
                let (one, two) = key.split_at(key.len() / 2);
                permit.log(Stdout, key.clone().into_bytes()).await;
                permit.log(Stdout, format!("half {one}").into_bytes()).await;
                permit.log(Stderr, b"between".to_vec()).await;
                permit.log(Stdout, two.as_bytes().to_vec()).await;
                Ok(Reply::new(
                    json!({"key": key.clone(), "in": format!("<{key}>"), key: 1}),
                ))
            }
            "complain" => Err(ToolError::internal(format!("`{key}` is wrong"))
                .with_hint(format!("not {key}"))
                .with_exit_code(3)),
            _ => Ok(Reply::new("done")),
        }
    }
}

/// A context with an agent in it.
pub(super) fn ctx_of(agent: &str) -> Ctx {
    Ctx::builder().agent_id(agent).build()
}

/// A call that waits for people.
pub(super) fn waiting(who: &Principal, tool: &str, args: Value) -> Call {
    Call::new(who.clone(), tool, args).wait(Wait::Decision)
}

/// The error of an answer as `type: message`.
pub(super) fn told(answer: &Answer) -> String {
    match &answer.result {
        Ok(data) => format!("ok: {data}"),
        Err(error) => format!("{}: {}", error.kind, error.message),
    }
}
