//! Where tools run: what an executor is, and the permit without which it runs nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use helve_core::ToolDef;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::logs::Logs;
use crate::{Ctx, Keeper, Reply, RunId, Stream, ToolError};

/// Runs tools of one kind.
#[async_trait]
pub trait Executor: Send + Sync {
    /// Looks at a definition before it is registered: an error if it could never
    /// run here. What comes back is kept with the version and handed to every run,
    /// which must refuse if it is no longer true (a program that was replaced).
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError>;

    /// Whether all that a tool of this definition does to the world is held back until
    /// it is committed; why not, where it is not. Only then can people be shown the
    /// effect before they decide.
    fn holds(&self, def: &ToolDef) -> Result<(), String> {
        let _ = def;
        Err("what it does is not held back".to_owned())
    }

    /// Runs a tool. When [`Permit::stop`] is cancelled (a time limit, a person),
    /// all that it started must be gone before it returns.
    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError>;
}

/// Leave to run one tool once. Only the kernel makes one, after the record of the
/// start is durable; an executor cannot be called without.
#[derive(Debug)]
pub struct Permit {
    pub(crate) run: RunId,
    pub(crate) def: Arc<ToolDef>,
    pub(crate) args: Map<String, Value>,
    pub(crate) ctx: Ctx,
    pub(crate) fingerprint: Option<Value>,
    pub(crate) stop: CancellationToken,
    pub(crate) logs: Logs,
    pub(crate) artifacts: Option<PathBuf>,
    pub(crate) root: PathBuf,
    pub(crate) keeper: Option<Arc<Keeper>>,
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) dry_run: bool,
    pub(crate) undecided: bool,
}

impl Permit {
    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.run
    }

    /// The tool.
    pub fn def(&self) -> &ToolDef {
        &self.def
    }

    /// The arguments: checked, defaults filled in, paths resolved.
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// What the call knows beside its arguments.
    pub fn ctx(&self) -> &Ctx {
        &self.ctx
    }

    /// What [`Executor::inspect`] said when this version was registered.
    pub fn fingerprint(&self) -> Option<&Value> {
        self.fingerprint.as_ref()
    }

    /// Cancelled when the run must stop.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The workspace: the root of every relative path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where file changes are held back, if this hub does so.
    pub fn keeper(&self) -> Option<&Arc<Keeper>> {
        self.keeper.as_ref()
    }

    /// The paths that the tool may change, real and absolute; some may not be there.
    pub fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// The paths that the tool may look at, real and absolute.
    pub fn readable(&self) -> &[PathBuf] {
        &self.readable
    }

    /// Whether it is only to be seen what it would change.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Whether it runs before people have decided, so that they see what it would change.
    pub fn is_undecided(&self) -> bool {
        self.undecided
    }

    /// The folder for files that this run leaves; whoever needs it makes it.
    pub fn artifacts(&self) -> Option<&Path> {
        self.artifacts.as_deref()
    }

    /// Keeps output of the run, in order, and shows it to whoever watches. Waits
    /// while the store is behind.
    pub async fn log(&self, stream: Stream, bytes: Vec<u8>) {
        self.logs.push(stream, bytes).await;
    }
}
