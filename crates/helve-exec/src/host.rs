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
use helve_kernel::{Executor, Permit, Reply, ToolError};
use helve_sandbox::{Limits, Sandbox};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::cage::Cage;
use crate::call::{Call, STATE, blocking};
use crate::ground::Ground;
use crate::hashes::Hashes;
use crate::place;
use crate::process::{self, Sink};
use crate::program::{self, Pinned};
use crate::running::{Place, Plain, Unstarted, Walls};
use crate::settings::Settings;

/// How long a program may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs programs on this machine.
#[derive(Debug, Clone)]
pub struct HostExecutor {
    pub(crate) root: PathBuf,
    grace: Duration,
    pub(crate) hashes: Arc<Hashes>,
    sandbox: Arc<OnceLock<Sandbox>>,
    ground: Arc<OnceLock<Ground>>,
    require_sandbox: bool,
    pub(crate) room: u64,
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
    pub(crate) fn ground(&self, folder: &Path) -> Ground {
        let find = || Ground::find(folder);
        *self.ground.get_or_init(find)
    }

    /// Finds what a tool runs and where, and hashes it.
    async fn look(&self, def: &ToolDef, settings: &Settings) -> Result<Found, ToolError> {
        let (root, hashes) = (self.root.clone(), Arc::clone(&self.hashes));
        let (settings, allowed) = (settings.clone(), def.allowed_paths.clone());
        blocking(move || {
            let root = place::root(&root)?;
            let cwd = place::cwd(settings.common.cwd.as_deref(), &allowed, &root)?;
            let pinned = program::pin(&settings.common.command, &root, &cwd, &hashes)?;
            Ok(Found { cwd, pinned })
        })
        .await?
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
                let found = blocking(move || this.ground(&folder)).await?;
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
        self.content_with(ground)?;
        let cage = call.cage(ground.kind).await?;
        // The last thing before the start.
        let found = self.look(call.def, settings).await?;
        program::compare(call.fingerprint, &found.pinned)?;
        let mut visible = vec![found.cwd.clone()];
        visible.extend(found.pinned.iter().map(|file| file.path.clone()));
        let grants = (settings.common.network, settings.limits.clone());
        let walls = ground
            .sandboxed
            .then(|| self.walls(call, visible, grants, cage.as_ref()));
        let place: &dyn Place = match &walls {
            Some(walls) => walls,
            None => &Plain,
        };
        let what = (found.program()?.to_owned(), found.cwd);
        let bounds = (self.grace, self.room);
        let spec = call.spec(&settings.common, what, cage.as_ref(), bounds)?;
        let finished = process::run(spec, place, sink, stop).await;
        let books = match &walls {
            Some(walls) if walls.sandbox.is_privileged() => Books::Trusted,
            _ => Books::User,
        };
        call.conclude(cage, books, finished).await
    }

    /// Refuses a machine that gives less than the configuration requires.
    pub(crate) fn content_with(&self, ground: Ground) -> Result<(), ToolError> {
        if !self.require_sandbox || ground == Ground::WHOLE {
            return Ok(());
        }
        let why = "this machine does not give the sandbox that the configuration requires";
        Err(ToolError::dependency(format!("not run: {why}"))
            .with_hint("`helve doctor` tells what is missing"))
    }

    /// What a program may see beside the workspace, and use.
    pub(crate) fn walls(
        &self,
        call: &Call<'_>,
        mut visible: Vec<PathBuf>,
        (network, limits): (bool, Limits),
        cage: Option<&Cage>,
    ) -> Walls {
        visible.extend(call.readable.iter().cloned());
        let bare = self.bare_walls(visible, limits);
        Walls {
            layers: cage.map(Cage::layers).unwrap_or_default(),
            hidden: call.hidden(&self.real_root()),
            network,
            ..bare
        }
    }

    /// What is around code that is only to be looked at: it reaches nothing.
    pub(crate) fn bare_walls(&self, mut visible: Vec<PathBuf>, limits: Limits) -> Walls {
        let root = self.real_root();
        let hidden = vec![root.join(STATE)];
        visible.push(root);
        Walls {
            sandbox: self.sandbox.get_or_init(Sandbox::probe).clone(),
            layers: Vec::new(),
            hidden,
            visible,
            network: false,
            limits,
        }
    }

    fn real_root(&self) -> PathBuf {
        let real = self.root.canonicalize();
        real.unwrap_or_else(|_| self.root.clone())
    }

    /// Whether programs run in a sandbox here; why not, where they do not.
    pub(crate) fn has_sandbox(&self) -> Result<(), String> {
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
            Err(error) => Err(error.message),
            Ok(settings) if settings.common.network => Err("it may use the network".to_owned()),
            Ok(_) => self.has_sandbox(),
        }
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        self.perform(permit.into(), permit, permit.stop()).await
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
