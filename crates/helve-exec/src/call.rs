//! One call of a program, from its permit to its reply, wherever the program runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_kernel::helve_changes::Books;
use helve_kernel::{Captured, Keeper, Permit, Reply, RunId, Stream, ToolError};
use serde_json::{Map, Value};

use crate::cage::{Cage, Kind};
use crate::process::{Finished, Sink, Spec};
use crate::running::Unstarted;
use crate::settings::{Common, properties};
use crate::{environment, outcome};

/// The folder of the hub's own state, which no program sees.
pub(crate) const STATE: &str = ".helve";

/// What of a permit is needed to run a program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) def: &'c ToolDef,
    pub(crate) args: &'c Map<String, Value>,
    pub(crate) id: &'c RunId,
    pub(crate) run: &'c str,
    pub(crate) fingerprint: Option<&'c Value>,
    pub(crate) artifacts: Option<&'c Path>,
    pub(crate) keeper: Option<&'c Arc<Keeper>>,
    pub(crate) writable: &'c [PathBuf],
    pub(crate) readable: &'c [PathBuf],
}

impl<'c> From<&'c Permit> for Call<'c> {
    fn from(permit: &'c Permit) -> Self {
        Self {
            def: permit.def(),
            args: permit.args(),
            id: permit.run_id(),
            run: permit.run_id().as_str(),
            fingerprint: permit.fingerprint(),
            artifacts: permit.artifacts(),
            keeper: permit.keeper(),
            writable: permit.writable(),
            readable: permit.readable(),
        }
    }
}

impl<'c> Call<'c> {
    /// Where what it changes is held back.
    pub(crate) fn place(&self) -> Option<&'c Path> {
        self.keeper.map(|keeper| keeper.folder())
    }

    /// The hub's own state, below the real path of the workspace, and wherever else it
    /// lies.
    pub(crate) fn hidden(&self, root: &Path) -> Vec<PathBuf> {
        let mut hidden = vec![root.join(STATE)];
        hidden.extend(hidden[0].canonicalize());
        hidden.extend(self.place().map(Path::to_owned));
        hidden
    }

    /// The folders that the tool may write, held back.
    pub(crate) async fn cage(&self, kind: Kind) -> Result<Option<Cage>, ToolError> {
        if self.writable.is_empty() {
            return Ok(None);
        }
        let Some(keeper) = self.keeper.cloned() else {
            return Err(ToolError::dependency(
                "not run: it may change files, and this hub cannot hold that back",
            )
            .with_hint("give the kernel a keeper"));
        };
        let (stage, writable) = (keeper.stage_of(self.id), self.writable.to_vec());
        let build = move || Cage::build(kind, keeper, &stage, &writable);
        blocking(build).await?.map(Some)
    }

    /// What is started: that program in that folder, told what the definition says.
    pub(crate) fn spec(
        &self,
        common: &Common,
        (program, cwd): (PathBuf, PathBuf),
        cage: Option<&Cage>,
        (grace, room): (Duration, u64),
    ) -> Result<Spec, ToolError> {
        let env = environment::variables(
            &common.env,
            &properties(self.def),
            self.args,
            self.run,
            self.def.name.as_str(),
        );
        Ok(Spec {
            program,
            name: common.command.program().to_owned(),
            args: common.command.fill(self.args)?,
            env,
            cwd,
            input: serde_json::to_vec(self.args)?,
            keep: outcome::needed(self.def),
            artifacts: self.artifacts.map(Path::to_owned),
            grace,
            stage: cage.and(self.place()).map(Path::to_owned),
            room,
        })
    }

    /// What the program's end means, and what it would change.
    pub(crate) async fn conclude(
        &self,
        cage: Option<Cage>,
        books: Books,
        finished: Result<Finished, Unstarted>,
    ) -> Result<Reply, Unstarted> {
        let reply = match &finished {
            Ok(finished) => outcome::reply(self.def, finished),
            // Told below.
            Err(_) => Err(ToolError::internal("")),
        };
        let kind = cage.as_ref().map(Cage::kind);
        let index = finished.as_ref().is_ok_and(|f| f.index);
        let settled = settle(cage, books, index, reply.is_ok()).await;
        let finished = finished?;
        let mut reply = reply?;
        reply.changes = settled?;
        reply.notes = notes(kind, &finished.missing);
        Ok(reply)
    }
}

/// What a program that ended well would change; one that did not, changes nothing.
pub(crate) async fn settle(
    cage: Option<Cage>,
    books: Books,
    index: bool,
    good: bool,
) -> Result<Option<Captured>, ToolError> {
    let settle = move || match (cage, good) {
        (Some(cage), true) => cage.capture(books, index).map(Some),
        (Some(cage), false) => cage.restore().map(|()| None),
        (None, _) => Ok(None),
    };
    let settled = blocking(settle).await??;
    Ok(settled.map(|staged| Captured(Arc::new(staged))))
}

/// Runs what blocks on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ToolError::internal("Helve stopped in the middle of it"))
}

/// What whoever called should know about how it ran.
pub(crate) fn notes(kind: Option<Kind>, missing: &[&'static str]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    if kind == Some(Kind::Copies) {
        notes.push("no overlays on this machine: it ran on a copy of its folders".to_owned());
    }
    if kind.is_some() || missing.iter().any(|m| m.starts_with("no sandbox")) {
        notes.extend(missing.iter().map(|&m| m.to_owned()));
    }
    notes
}

#[async_trait]
impl Sink for Permit {
    async fn log(&self, stream: Stream, bytes: Vec<u8>) {
        Permit::log(self, stream, bytes).await;
    }
}
