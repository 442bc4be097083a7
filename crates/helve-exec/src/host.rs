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
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_core::def::Risk;
use helve_kernel::{Executor, Permit, Reply, Stream, ToolError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::hashes::Hashes;
use crate::process::{self, Sink, Spec};
use crate::program::{self, Pinned};
use crate::settings::{Settings, properties};
use crate::{environment, outcome, place};

/// How long a program may take to end when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs programs on this machine.
#[derive(Debug, Clone)]
pub struct HostExecutor {
    root: PathBuf,
    grace: Duration,
    hashes: Arc<Hashes>,
}

impl HostExecutor {
    /// An executor whose relative paths begin at that folder, the workspace.
    ///
    /// Each start marks all descriptors of this process but the standard ones as
    /// not to be inherited.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            grace: GRACE,
            hashes: Arc::default(),
        }
    }

    /// The same, with another time between telling a program to end and killing it.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
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
        let def = call.def;
        refuse_writes(def)?;
        let settings = Settings::of(def)?;
        let args = settings.command.fill(call.args)?;
        let env = environment::variables(
            &settings.env,
            &properties(def),
            call.args,
            call.run,
            def.name.as_str(),
        );
        let input = serde_json::to_vec(call.args)?;
        // The last thing before the start.
        let found = self.look(def, &settings).await?;
        program::compare(call.fingerprint, &found.pinned)?;
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
        };
        let finished = process::run(spec, sink, stop).await?;
        outcome::reply(def, &finished)
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

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let call = Call {
            def: permit.def(),
            args: permit.args(),
            run: permit.run_id().as_str(),
            fingerprint: permit.fingerprint(),
            artifacts: permit.artifacts(),
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
    run: &'c str,
    fingerprint: Option<&'c Value>,
    artifacts: Option<&'c Path>,
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

/// What a program writes here could not be undone.
fn refuse_writes(def: &ToolDef) -> Result<(), ToolError> {
    let problem = match def.risk {
        Some(Risk::Read | Risk::ExecLow | Risk::ExecHigh) => return Ok(()),
        Some(Risk::Write) => "its risk is `write`",
        None => "it has no `risk`, so it counts as `write`",
    };
    Err(ToolError::dependency(format!(
        "not run: {problem}, and this build cannot undo what a program writes"
    ))
    .with_hint("programs that write need the sandbox with undo, which is not there yet"))
}

#[cfg(test)]
mod tests;
