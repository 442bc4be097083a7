//! Runs that begin before the record of their start is durable.
//!
//! A tool that only reads has no effect that a record would have to come before, and neither
//! has a function whose changes are all held back: if the hub dies in the middle, nothing has
//! happened. What the record is for is that nobody *learns* anything without it, and that
//! nothing is applied without it. So its start is handed to the store, which keeps the order
//! and loses nothing with the process; changes are applied when start and intent are durable,
//! in one commit. If the start cannot be written, there is no answer but that, and what was
//! held back is dropped.
//!
//! Everything else waits until the record of its start is durable: what can have an effect, and
//! calls with an idempotency key, whose start says whether there is anything to run.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use helve_core::def::Risk;

use super::execute::{Execution, Start};
use super::lock;
use super::pass::{Ready, not_recorded};
use crate::registry::Behind;
use crate::run::RunState;
use crate::{Answer, Change, Reply, StoreError, ToolError};

fn is_function(ready: &Ready) -> bool {
    matches!(ready.entry.behind, Behind::Handler(..))
}

/// How long a run may be under way before it is on the record for all to see.
const SOON: Duration = Duration::from_millis(5);

impl Execution {
    pub(super) fn may_begin_at_once(&self, ready: &Ready) -> bool {
        let entry = &ready.entry;
        matches!(self.start, Start::Open)
            && self.ready.key.is_none()
            && (entry.def.risk == Some(Risk::Read)
                || is_function(ready) && self.kernel.holds(entry).is_ok())
    }

    /// Whether all may hear now that it runs. Most functions are over before anybody could
    /// look: of those it is told when they take longer.
    pub(super) fn is_told_at_once(&self, ready: &Ready) -> bool {
        lock(&self.opening).is_none() || !is_function(ready)
    }

    pub(super) async fn hand_over_start(&self, ready: &Ready) -> Result<(), ToolError> {
        let record = self.kernel.run_record(ready, "run.started");
        let mut run = self.kernel.run_of(ready, RunState::Running);
        run.started = Some(record.at);
        let store = &self.kernel.inner.store;
        let opening = store.open_run_soon(run, record).await;
        *lock(&self.opening) = Some(opening.map_err(|e| not_recorded(&e))?);
        Ok(())
    }

    /// The work; where it takes longer, the record of its start beside it.
    pub(super) async fn beside_start(
        &self,
        work: impl Future<Output = Result<Reply, ToolError>>,
    ) -> Result<Reply, ToolError> {
        let mut work = pin!(work);
        if lock(&self.opening).is_some() {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = tokio::time::sleep(SOON) => {}
            }
            self.start_is_durable().await?;
        }
        work.await
    }

    /// Waits until the record of the start is durable. Where it cannot be written, the run
    /// has not begun, whatever it has looked at so far.
    pub(super) async fn start_is_durable(&self) -> Result<(), ToolError> {
        let Some(mut opening) = lock(&self.opening).take() else {
            return Ok(());
        };
        if let Err(e) = opening.wait().await {
            *lock(&self.begun) = None;
            return Err(not_recorded(&e));
        }
        self.kernel.told(Change::Run(self.ready.run.clone()));
        Ok(())
    }

    /// The answer of a run whose start could not be written after all.
    pub(super) async fn never_opened(&self, error: &StoreError, secrets: &[String]) -> Answer {
        let error = not_recorded(error);
        let mut answer = self.answer_of(Err(error), RunState::Failed, secrets);
        answer.meta.dry_run = self.ready.dry_run;
        let unopened = self
            .kernel
            .record_unopened(&self.ready, &mut answer, secrets);
        unopened.await;
        answer
    }
}
