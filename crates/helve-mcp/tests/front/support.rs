//! A hub in memory, with tools to try a door on, and people and agents before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use helve_core::def::Risk;
use helve_core::policy::Pattern;
use helve_kernel::store::AuditFilter;
use helve_kernel::{
    Approval, Builder, Keeper, Kernel, NewToken, Permission, Principal, PrincipalKind, Reply, Run,
    RunId, RunState, Tool, ToolDef, ToolError, Verdict, Wire,
};
use helve_mcp::front::View;
use helve_mcp::{Front, Options};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// A hub, its door, and what its tools tell of themselves.
pub struct Hub {
    pub kernel: Kernel,
    pub front: Front,
    pub root: TempDir,
    /// How often `note_save` ran.
    pub saved: Arc<AtomicUsize>,
    /// Told when `gate_wait` has begun.
    pub begun: Arc<Semaphore>,
    /// Opened, it lets `gate_wait` end.
    pub gate: Arc<Semaphore>,
    pub closing: CancellationToken,
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Hub {
    pub async fn new() -> Self {
        Self::with(Options::default()).await
    }

    /// With one view for everybody.
    pub async fn seen(view: View) -> Self {
        Self::with(Options {
            default: view,
            ..Options::default()
        })
        .await
    }

    pub async fn with(options: Options) -> Self {
        Self::built(options, |builder| builder).await
    }

    pub async fn built(options: Options, more: impl FnOnce(Builder) -> Builder) -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("data")).unwrap();
        let keeper = Keeper::open(&root.path().join(".helve/changes"), None).unwrap();
        let builder = Kernel::builder()
            .root(root.path())
            .keeper(Arc::new(keeper))
            .secret_key([7; 32]);
        let kernel = more(builder).open().await.unwrap();
        let front = Front::new(kernel.clone(), None, options);
        let hub = Self {
            kernel,
            front,
            root,
            saved: Arc::default(),
            begun: Arc::new(Semaphore::new(0)),
            gate: Arc::new(Semaphore::new(0)),
            closing: CancellationToken::new(),
        };
        hub.fill();
        hub
    }

    fn fill(&self) {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let read = echo("note_read", json!({"input_schema": text}));
        let count = Tool::of_args(
            def("note_count", json!({"output_schema": {"type": "integer"}})),
            |_| async { Ok(json!(3)) },
        );
        let list = json!({"output_schema": {
            "type": "array", "items": {"$ref": "#/$defs/line"}, "$defs": {"line": {"type": "string"}},
        }});
        let list = Tool::of_args(def("note_list", list), |_| async { Ok(json!(["a", "b"])) });
        let fail = Tool::of_args(def("note_fail", json!({})), |_| async {
            Err::<Value, _>(ToolError::transient("the shelf is locked").with_hint("ask for a key"))
        });
        let saved = self.saved.clone();
        let save = Tool::of_args(
            def("note_save", json!({"risk": "write", "reversible": "no"})),
            move |args| {
                saved.fetch_add(1, Ordering::SeqCst);
                async move { Ok(args) }
            },
        );
        let (begun, gate) = (self.begun.clone(), self.gate.clone());
        let wait = Tool::of_args(def("gate_wait", json!({})), move |_| {
            let (begun, gate) = (begun.clone(), gate.clone());
            async move {
                begun.add_permits(1);
                gate.acquire().await.unwrap().forget();
                Ok(json!("through"))
            }
        });
        let more = json!({"risk": "write", "reversible": "yes", "allowed_paths": ["data"]});
        let write = Tool::new(def("file_write", more), |ctx, args: Value| async move {
            let text = args["text"].as_str().unwrap_or_default().to_owned();
            ctx.files().write("data/note.md", text).await?;
            Ok(Reply::new("written"))
        });
        let about = helve_mcp::about::tools(&self.kernel).unwrap();
        let own = [read, count, list, fail, save, wait, write.held()];
        self.kernel.add_tools(own.into_iter().chain(about)).unwrap();
    }

    /// Tells clients of changes, as a hub does.
    pub fn watch(&self) {
        let (front, closing) = (self.front.clone(), self.closing.clone());
        tokio::spawn(async move { front.watch(closing).await });
    }

    /// The bearer of a new token, as somebody else made it.
    pub async fn bearer(&self, by: &Principal, new: NewToken) -> Arc<Principal> {
        let (_, secret) = self.kernel.create_token(by, new).await.unwrap();
        self.kernel.authenticate(secret.reveal()).unwrap()
    }

    /// A person with every right, who has shown a token.
    pub async fn person(&self, owner: &str) -> Arc<Principal> {
        let new = NewToken {
            kind: PrincipalKind::Person,
            owner: owner.to_owned(),
            permissions: Permission::ALL.to_vec(),
            ..NewToken::agent(owner)
        };
        self.bearer(&Principal::person(owner), new).await
    }

    /// An agent under a person who may decide.
    pub async fn agent(&self, name: &str, person: &str) -> Arc<Principal> {
        let person = self.person(person).await;
        self.bearer(&person, NewToken::agent(name)).await
    }

    /// An agent that reaches those tools only.
    pub async fn scoped(&self, name: &str, scopes: &[&str]) -> Arc<Principal> {
        let new = NewToken {
            scopes: scopes.iter().map(|s| (*s).to_owned()).collect(),
            ..NewToken::agent(name)
        };
        self.bearer(&Principal::person("ann"), new).await
    }

    pub async fn run(&self, id: &str) -> Run {
        self.kernel.run(&RunId::parse(id).unwrap()).await.unwrap()
    }

    /// Runs of a tool, once none of them is under way.
    pub async fn ended(&self, tool: &str) -> Vec<(RunState, String)> {
        let runs = self.kernel.store().runs(Default::default(), 100).await;
        let mut ended = Vec::new();
        for run in runs.unwrap().into_iter().filter(|r| r.tool == tool) {
            let end = tokio::time::timeout(Duration::from_secs(600), self.kernel.wait_for(&run.id));
            let run = end.await.expect("an end in time").unwrap();
            ended.push((run.state, run.owner));
        }
        ended
    }

    /// The only approval that there is.
    pub async fn approval(&self) -> Approval {
        let all = self.kernel.store().approvals(None, None, 10).await.unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.into_iter().next().unwrap()
    }

    /// Lets somebody else say yes.
    pub async fn approve(&self) {
        let (bob, approval) = (Principal::person("bob"), self.approval().await);
        let decided = self
            .kernel
            .decide(&bob, &approval.id, Verdict::Approve, None);
        decided.await.unwrap();
    }

    /// Who decided what, and why, on the record.
    pub async fn decisions(&self) -> Vec<(String, String)> {
        let events = self.record().await;
        let decided = events.iter().filter(|e| e["event"] == "approval.decided");
        decided
            .map(|e| (text(&e["actor"]), e.to_string()))
            .collect()
    }

    pub async fn record(&self) -> Vec<Value> {
        let all = self.kernel.store().audit(AuditFilter::default(), 10_000);
        all.await.unwrap().into_iter().map(|e| e.record).collect()
    }

    pub fn saves(&self) -> usize {
        self.saved.load(Ordering::SeqCst)
    }
}

/// Lets everything happen that is under way: the clock of a test that calls this stands
/// still until nothing else is left to do.
pub async fn settle() {
    tokio::time::sleep(Duration::from_secs(20)).await;
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A definition with the fields of `more`.
pub fn def(name: &str, more: Value) -> ToolDef {
    let mut value = json!({
        "name": name,
        "description": format!("Does {name} for a test. Use it in tests."),
        "risk": "read",
        "input_schema": {"type": "object"},
    });
    for (key, field) in more.as_object().unwrap() {
        value[key] = field.clone();
    }
    ToolDef::from_value(&value).unwrap_or_else(|issues| panic!("{issues:?}"))
}

/// A tool that gives back its arguments.
pub fn echo(name: &str, more: Value) -> Tool {
    Tool::of_args(def(name, more), |args| async move { Ok(args) })
}

/// A tool that answers as a server elsewhere did.
pub fn wired(name: &str, result: Map<String, Value>) -> Tool {
    let wire = Arc::new(Wire::Result(result));
    Tool::of_args(def(name, json!({})), move |_| {
        let wire = Some(wire.clone());
        async move {
            Ok(Reply {
                wire,
                ..Reply::new("passed on")
            })
        }
    })
}

pub fn patterns(list: &[&str]) -> Vec<Pattern> {
    list.iter().map(|p| Pattern::new(*p)).collect()
}

/// A token for a person with less than every right.
pub fn person(owner: &str, permissions: &[Permission]) -> NewToken {
    NewToken {
        kind: PrincipalKind::Person,
        owner: owner.to_owned(),
        permissions: permissions.to_vec(),
        max_risk: Risk::Write,
        ..NewToken::agent(owner)
    }
}
