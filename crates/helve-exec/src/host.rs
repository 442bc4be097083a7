//! Programs on this machine.
//!
//! ```toml
//! [executor]
//! type = "host"
//! command = ["grep", "-rn", "--", "{pattern}", "{path}"]
//! cwd = "docs"
//! env = { TZ = "UTC" }
//! ```
//!
//! The arguments reach the program in three ways: all of them as one JSON object on
//! standard input; those that the schema names as variables (`ARG_PATTERN`); and
//! where `command` has a placeholder, as that one element of the command line.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_kernel::helve_changes::Books;
use helve_kernel::{Captured, Executor, Keeper, Permit, Reply, RunId, Stream, ToolError};
use helve_sandbox::Sandbox;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::cage::{self, Cage};
use crate::ground::Ground;
use crate::hashes::Hashes;
use crate::process::{self, Finished, Sink, Spec};
use crate::program::{self, Pinned};
use crate::running::{Unstarted, Walls};
use crate::settings::{Settings, properties};
use crate::{environment, outcome, place};

/// The folder of the hub's own state, which no program sees.
const STATE: &str = ".helve";

/// How long a program may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs programs on this machine.
#[derive(Debug, Clone)]
pub struct HostExecutor {
    root: PathBuf,
    grace: Duration,
    hashes: Arc<Hashes>,
    sandbox: Arc<OnceLock<Sandbox>>,
    ground: Arc<OnceLock<Ground>>,
    require_sandbox: bool,
    room: u64,
}

impl HostExecutor {
    /// An executor whose relative paths begin at that folder, the workspace.
    ///
    /// Without a sandbox, each start marks all descriptors of this process but the
    /// standard ones as not to be inherited.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            grace: GRACE,
            hashes: Arc::default(),
            sandbox: Arc::default(),
            ground: Arc::default(),
            require_sandbox: false,
            room: process::ROOM,
        }
    }

    /// The same, with another time between telling a program to end and killing it.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// The same; where the machine does not give a whole sandbox, with overlays for
    /// what is written, nothing runs.
    #[must_use]
    pub fn require_sandbox(mut self, required: bool) -> Self {
        self.require_sandbox = required;
        self
    }

    /// What this machine gives, where that is not yet known: found out by trying.
    fn ground(&self, folder: &Path) -> Ground {
        let find = || Ground::find(folder);
        *self.ground.get_or_init(find)
    }

    /// Finds what a tool runs and where, and hashes it.
    async fn look(&self, def: &ToolDef, settings: &Settings) -> Result<Found, ToolError> {
        let (root, hashes) = (self.root.clone(), Arc::clone(&self.hashes));
        let (settings, allowed) = (settings.clone(), def.allowed_paths.clone());
        let look = tokio::task::spawn_blocking(move || {
            let root = place::root(&root)?;
            let cwd = place::cwd(settings.cwd.as_deref(), &allowed, &root)?;
            let pinned = program::pin(&settings.command, &root, &cwd, &hashes)?;
            Ok(Found { cwd, pinned })
        });
        let stopped = |_| ToolError::internal("Helve stopped while it looked at the program");
        look.await.map_err(stopped)?
    }

    /// Runs a tool, for whoever holds a permit.
    async fn perform(
        &self,
        call: Call<'_>,
        sink: &dyn Sink,
        stop: &CancellationToken,
    ) -> Result<Reply, ToolError> {
        let settings = Settings::of(call.def)?;
        let ground = self.ground.get().copied();
        let hoped = ground.unwrap_or(Ground::WHOLE);
        match self.attempt(&call, &settings, hoped, sink, stop).await {
            // Nothing has run yet: look what the machine gives, and be content with it.
            Err(Unstarted::Sandbox(error)) if ground.is_none() => {
                let folder = call.place().unwrap_or(&self.root).to_owned();
                let this = self.clone();
                let found = tokio::task::spawn_blocking(move || this.ground(&folder)).await;
                let found =
                    found.map_err(|_| ToolError::internal("Helve stopped while it looked"))?;
                if found == Ground::WHOLE {
                    return Err(error);
                }
                let again = self.attempt(&call, &settings, found, sink, stop).await;
                again.map_err(Unstarted::error)
            }
            done => done.map_err(Unstarted::error),
        }
    }

    async fn attempt(
        &self,
        call: &Call<'_>,
        settings: &Settings,
        ground: Ground,
        sink: &dyn Sink,
        stop: &CancellationToken,
    ) -> Result<Reply, Unstarted> {
        let def = call.def;
        if self.require_sandbox && ground != Ground::WHOLE {
            let why = "this machine does not give the sandbox that the configuration requires";
            return Err(ToolError::dependency(format!("not run: {why}"))
                .with_hint("`helve doctor` tells what is missing")
                .into());
        }
        let cage = self.cage(call, ground).await?;
        let stage = cage.as_ref().and(call.place()).map(Path::to_owned);
        let args = settings.command.fill(call.args)?;
        let env = environment::variables(
            &settings.env,
            &properties(def),
            call.args,
            call.run,
            def.name.as_str(),
        );
        let input = serde_json::to_vec(call.args).map_err(ToolError::from)?;
        // The last thing before the start.
        let found = self.look(def, settings).await?;
        program::compare(call.fingerprint, &found.pinned)?;
        let walls = match ground.sandboxed {
            true => Some(self.walls(call, settings, &found, cage.as_ref())),
            false => None,
        };
        let spec = Spec {
            program: found.program()?.to_owned(),
            name: settings.command.program().to_owned(),
            args,
            env,
            cwd: found.cwd,
            input,
            keep: outcome::needed(def),
            artifacts: call.artifacts.map(Path::to_owned),
            grace: self.grace,
            stage,
            room: self.room,
        };
        let finished = process::run(spec, walls.as_ref(), sink, stop).await;
        let books = match &walls {
            Some(walls) if walls.sandbox.is_privileged() => Books::Trusted,
            _ => Books::User,
        };
        self.conclude(def, cage, books, finished).await
    }

    /// The folders that the tool may write, held back.
    async fn cage(&self, call: &Call<'_>, ground: Ground) -> Result<Option<Cage>, ToolError> {
        if call.writable.is_empty() {
            return Ok(None);
        }
        let Some(keeper) = call.keeper.cloned() else {
            return Err(ToolError::dependency(
                "not run: it may change files, and this hub cannot hold that back",
            )
            .with_hint("give the kernel a keeper"));
        };
        let (stage, writable) = (keeper.stage_of(call.id), call.writable.to_vec());
        let build = move || Cage::build(ground.kind, keeper, &stage, &writable);
        let built = tokio::task::spawn_blocking(build).await;
        built
            .map_err(|_| ToolError::internal("Helve stopped while it made the stage"))?
            .map(Some)
    }

    fn walls(
        &self,
        call: &Call<'_>,
        settings: &Settings,
        found: &Found,
        cage: Option<&Cage>,
    ) -> Walls {
        let root = self
            .root
            .canonicalize()
            .unwrap_or_else(|_| self.root.clone());
        let mut hidden = vec![root.join(STATE)];
        hidden.extend(hidden[0].canonicalize());
        hidden.extend(call.keeper.map(|keeper| keeper.folder().to_owned()));
        let mut visible = vec![root, found.cwd.clone()];
        visible.extend(found.pinned.iter().map(|file| file.path.clone()));
        visible.extend(call.readable.iter().cloned());
        Walls {
            sandbox: self.sandbox.get_or_init(Sandbox::probe).clone(),
            layers: cage.map(Cage::layers).unwrap_or_default(),
            hidden,
            visible,
            network: settings.network,
            limits: settings.limits.clone(),
        }
    }

    /// What the program's end means, and what it would change.
    async fn conclude(
        &self,
        def: &ToolDef,
        cage: Option<Cage>,
        books: Books,
        finished: Result<Finished, Unstarted>,
    ) -> Result<Reply, Unstarted> {
        let reply = match &finished {
            Ok(finished) => outcome::reply(def, finished),
            // Told below.
            Err(_) => Err(ToolError::internal("")),
        };
        let kind = cage.as_ref().map(Cage::kind);
        let index = finished.as_ref().is_ok_and(|f| f.index);
        let good = reply.is_ok();
        let settle = move || match (cage, good) {
            (Some(cage), true) => cage.capture(books, index).map(Some),
            (Some(cage), false) => cage.restore().map(|()| None),
            (None, _) => Ok(None),
        };
        let settled = tokio::task::spawn_blocking(settle).await;
        let settled = settled.map_err(|_| ToolError::internal("Helve stopped while it looked"))?;
        let finished = finished?;
        let mut reply = reply?;
        reply.changes = settled?.map(|staged| Captured(Arc::new(staged)));
        reply.notes = notes(kind, &finished);
        Ok(reply)
    }
}

/// What whoever called should know about how it ran.
fn notes(kind: Option<cage::Kind>, finished: &Finished) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if kind == Some(cage::Kind::Copies) {
        notes.push("no overlays on this machine: it ran on a copy of its folders".to_owned());
    }
    if kind.is_some() || finished.missing.iter().any(|m| m.starts_with("no sandbox")) {
        notes.extend(finished.missing.iter().map(|&m| m.to_owned()));
    }
    notes
}

#[async_trait]
impl Executor for HostExecutor {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        let settings = Settings::of(def)?;
        let found = self.look(def, &settings).await?;
        program::check_format(found.program()?)?;
        Ok(Some(program::fingerprint(&found.pinned)))
    }

    fn holds(&self, def: &ToolDef) -> Result<(), String> {
        match Settings::of(def) {
            Err(error) => return Err(error.message),
            Ok(settings) if settings.network => return Err("it may use the network".to_owned()),
            Ok(_) => {}
        }
        // Tried where the hub keeps its state: nothing is made among people's files.
        let state = self.root.join(STATE);
        let folder = match state.is_dir() {
            true => state,
            false => std::env::temp_dir(),
        };
        match self.ground(&folder).sandboxed {
            true => Ok(()),
            false => Err("this machine gives no sandbox".to_owned()),
        }
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let call = Call {
            def: permit.def(),
            args: permit.args(),
            id: permit.run_id(),
            run: permit.run_id().as_str(),
            fingerprint: permit.fingerprint(),
            artifacts: permit.artifacts(),
            keeper: permit.keeper(),
            writable: permit.writable(),
            readable: permit.readable(),
        };
        self.perform(call, permit, permit.stop()).await
    }
}

#[async_trait]
impl Sink for Permit {
    async fn log(&self, stream: Stream, bytes: Vec<u8>) {
        Permit::log(self, stream, bytes).await;
    }
}

/// What of a permit is needed to run a program.
#[derive(Debug, Clone, Copy)]
struct Call<'c> {
    def: &'c ToolDef,
    args: &'c Map<String, Value>,
    id: &'c RunId,
    run: &'c str,
    fingerprint: Option<&'c Value>,
    artifacts: Option<&'c Path>,
    keeper: Option<&'c Arc<Keeper>>,
    writable: &'c [PathBuf],
    readable: &'c [PathBuf],
}

impl<'c> Call<'c> {
    /// Where what it changes is held back.
    fn place(&self) -> Option<&'c Path> {
        self.keeper.map(|keeper| keeper.folder())
    }
}

/// What a tool runs, and where.
#[derive(Debug)]
struct Found {
    cwd: PathBuf,
    pinned: Vec<Pinned>,
}

impl Found {
    fn program(&self) -> Result<&Path, ToolError> {
        let first = self.pinned.first().map(|file| file.path.as_path());
        first.ok_or_else(|| ToolError::internal("a command without a program"))
    }
}

#[cfg(test)]
mod tests;
