//! The work itself: under its time limit, stopped when somebody says so, tried again
//! where that is harmless.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use helve_core::def::Risk;
use serde_json::Value;

use super::Kernel;
use super::execute::Execution;
use super::pass::Ready;
use crate::registry::Behind;
use crate::{Ctx, Entry, ErrorKind, Executor, Handler, Permit, Reply, ToolError, panic_text};

/// How long an executor may take to clear up after it was stopped.
const CLEARING: Duration = Duration::from_secs(10);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Who does the work.
pub(super) enum Doer<'d> {
    /// A function; all that it needs is the call.
    Handler(&'d Handler, &'d Ctx),
    /// An executor, with leave to run.
    Executor(&'d dyn Executor, &'d Permit),
}

impl Kernel {
    pub(super) fn executor_of(&self, entry: &Entry) -> Result<&dyn Executor, ToolError> {
        if let Behind::Executor(kind) = &entry.behind {
            let executor = self.inner.executors.get(kind);
            return executor.map(|e| &**e).ok_or_else(|| {
                let kind = kind.as_str();
                ToolError::dependency(format!("this hub cannot run tools with executor `{kind}`"))
            });
        }
        let error = ToolError::dependency(format!("`{}` has no executor", entry.def.name));
        Err(error.with_hint("give it one, for example `host`, and register it again"))
    }
}

impl Execution {
    pub(super) async fn attempts(
        &self,
        ready: &Ready,
        doer: &Doer<'_>,
    ) -> Result<Reply, ToolError> {
        let def = &ready.entry.def;
        let harmless = matches!(def.risk, Some(Risk::Read | Risk::ExecLow | Risk::ExecHigh));
        let retry = def.retry.filter(|_| harmless || def.idempotent);
        let mut wait = retry.map(|r| r.delay).unwrap_or_default();
        loop {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
            let result = self.attempt(ready, doer).await;
            let again = retry.is_some_and(|r| attempt <= r.max);
            match result {
                Err(error) if error.kind.retryable() && again => {}
                result => return result,
            }
            tokio::select! {
                biased;
                () = self.claim.stop.token.cancelled() => return Err(self.stopped()),
                () = tokio::time::sleep(wait) => {}
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn attempt(&self, ready: &Ready, doer: &Doer<'_>) -> Result<Reply, ToolError> {
        let work = async {
            match doer {
                Doer::Executor(executor, permit) => executor.run(permit).await,
                Doer::Handler(handler, ctx) => {
                    let args = Value::Object(ready.given().clone());
                    handler((*ctx).clone(), args).await
                }
            }
        };
        let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
        let limit = ready.entry.def.time_limit();
        let why = tokio::select! {
            biased;
            done = &mut work => {
                let done = done.unwrap_or_else(|p| Err(crashed(&ready.entry.def.name, &*p)));
                let called_off = self.claim.stop.token.is_cancelled();
                return match done {
                    // An executor that was stopped cannot tell by whom.
                    Err(e) if called_off && e.kind == ErrorKind::Timeout => Err(self.stopped()),
                    done => done,
                };
            }
            () = self.claim.stop.token.cancelled() => self.stopped(),
            () = tokio::time::sleep(limit) => {
                if let Doer::Executor(_, permit) = doer {
                    permit.stop.cancel();
                }
                timed_out(&ready.entry.def, limit, self.kernel.is_held(&ready.entry))
            }
        };
        if let Doer::Executor(..) = doer {
            // It has processes to end; a handler's future ends by being dropped.
            let _ = tokio::time::timeout(CLEARING, work).await;
        }
        Err(why)
    }
}

fn crashed(tool: &helve_core::ToolName, panic: &(dyn std::any::Any + Send)) -> ToolError {
    ToolError::internal(format!("`{tool}` crashed: {}", panic_text(panic)))
}

fn timed_out(def: &helve_core::ToolDef, limit: Duration, held: bool) -> ToolError {
    let effect = match def.risk == Some(Risk::Read) || def.idempotent {
        true => "it can be called again",
        false if held => "nothing was changed",
        false => "whether it took effect is unknown",
    };
    let error = ToolError::timeout(format!("`{}` ran past its limit of {limit:?}", def.name));
    error.with_hint(effect)
}
