//! A workspace with a kernel over it, for the tests of this crate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use helve_core::policy::Policy;
use helve_kernel::{
    Answer, Builder, Call, Executor, Keeper, Kernel, Permit, Principal, Registration, Reply,
    ToolDef, ToolError, Toolset, UndoCall,
};
use serde_json::{Value, json};

/// Runs programs by saying what they were given.
pub(crate) struct Echo;

#[async_trait]
impl Executor for Echo {
    async fn inspect(&self, _: &ToolDef) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let ran = permit.def().name.as_str();
        Ok(Reply::new(json!({"ran": ran, "with": permit.args()})))
    }
}

/// A workspace, its kernel, and a person who may do everything.
pub(crate) struct Rig {
    pub(crate) kernel: Kernel,
    /// The workspace: canonical.
    pub(crate) root: PathBuf,
    pub(crate) me: Principal,
    _outer: tempfile::TempDir,
}

impl Rig {
    /// With a set of tools, in a hub that allows everything.
    pub(crate) async fn new(toolset: Toolset) -> Self {
        Self::with(toolset, |_, builder| builder).await
    }

    /// The same, with what else the hub has; the workspace is there already.
    pub(crate) async fn with(
        toolset: Toolset,
        more: impl FnOnce(&Path, Builder) -> Builder,
    ) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().canonicalize().unwrap().join("ws");
        std::fs::create_dir_all(root.join(".helve")).unwrap();
        std::fs::write(root.join(".helve/key"), "state").unwrap();
        let keeper = Keeper::open(&root.join(".helve/changes"), None).unwrap();
        let allow = json!([{"effect": "allow", "tool": "*"}]);
        let builder = Kernel::builder()
            .root(&root)
            .policy(Policy::from_value(&allow).unwrap())
            .artifacts(root.join(".helve/artifacts"))
            .keeper(Arc::new(keeper));
        let kernel = more(&root, builder).open().await.unwrap();
        kernel.add_toolset(toolset).unwrap();
        Self {
            kernel,
            root,
            me: Principal::person("ann"),
            _outer: outer,
        }
    }

    /// Registers a tool that is a program.
    pub(crate) async fn register(&self, def: ToolDef, source: &str) {
        let registration = Registration {
            def,
            source: source.to_owned(),
            why: None,
            replace: true,
        };
        self.kernel.register(&self.me, registration).await.unwrap();
    }

    /// Calls a tool.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Answer {
        self.call_as(self.me.clone(), tool, args).await
    }

    pub(crate) async fn call_as(&self, who: Principal, tool: &str, args: Value) -> Answer {
        self.kernel.call(Call::new(who, tool, args)).await
    }

    /// What a call gives back, which must go well.
    pub(crate) async fn data(&self, tool: &str, args: Value) -> Value {
        let answer = self.call(tool, args.clone()).await;
        match answer.result {
            Ok(data) => data,
            Err(error) => panic!("{tool} {args}: {error:?}"),
        }
    }

    /// What a call is refused with: `kind: message`, as a model reads it.
    pub(crate) async fn refused(&self, tool: &str, args: Value) -> String {
        let answer = self.call(tool, args.clone()).await;
        assert!(!answer.is_ok(), "{tool} {args}: {:?}", answer.result);
        answer.text()
    }

    /// A table of bad calls: the arguments, and what is said.
    pub(crate) async fn refuses(&self, tool: &str, table: &[(Value, &str)]) {
        for (args, wanted) in table {
            let said = self.refused(tool, args.clone()).await;
            assert!(
                said.contains(wanted),
                "{tool} {args}\n said: {said}\n wanted: {wanted}"
            );
        }
    }

    /// Takes back what a call did.
    pub(crate) async fn undo(&self, done: &Answer) -> Answer {
        let call = UndoCall {
            runs: vec![done.meta.run_id.clone().unwrap()],
            ..UndoCall::default()
        };
        self.kernel.undo(&Arc::new(self.me.clone()), call).await
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap()
    }
}
