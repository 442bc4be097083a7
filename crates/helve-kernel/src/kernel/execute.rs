//! From a decision to an answer: filters, the record of the start, the work, the
//! record of the end.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use helve_core::args;
use helve_core::audit::Hash;
use helve_core::def::Risk;
use helve_core::policy::Effect;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::pass::{Ready, key_taken, not_recorded};
use super::{Kernel, Stop, lock};
use crate::logs::Logs;
use crate::registry::Behind;
use crate::run::RunState;
use crate::store::{Move, Opened};
use crate::{
    Answer, ApprovalId, Change, ErrorKind, Next, Passing, Permit, Reply, RunId, ToolError,
    panic_text,
};

/// What the start of a run is on the record.
#[derive(Debug, Clone)]
pub(super) enum Start {
    /// The run is opened, already running.
    Open,
    /// It was opened before, and waited for its turn.
    Queued,
    /// It waited for people, and this is what they said.
    Approved(ApprovalId, Hash),
}

/// How long an executor may take to clear up after it was stopped.
const CLEARING: Duration = Duration::from_secs(10);

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// One execution: what it needs, and how far it got.
struct Execution {
    kernel: Kernel,
    ready: Ready,
    start: Start,
    stop: Stop,
    attempts: AtomicU32,
    /// The run that the idempotency key led to.
    instead: Mutex<Option<RunId>>,
    begun: Mutex<Option<Instant>>,
}

impl Kernel {
    /// Runs a call and waits for it. It goes on if the caller does not.
    pub(super) async fn begin(&self, ready: Ready, start: Start) -> Answer {
        let fallback = ready.answer(
            Err(ToolError::internal("the run crashed outside of its tool")),
            RunState::Failed,
        );
        self.launch(ready, start).await.unwrap_or(fallback)
    }

    /// Runs a call beside the caller.
    pub(super) fn launch(&self, ready: Ready, start: Start) -> JoinHandle<Answer> {
        let stop = Stop {
            token: CancellationToken::new(),
            by: Arc::default(),
        };
        let run = ready.run.clone();
        lock(&self.inner.running).insert(run.clone(), stop.clone());
        let execution = Execution {
            kernel: self.clone(),
            ready,
            start,
            stop,
            attempts: AtomicU32::new(0),
            instead: Mutex::default(),
            begun: Mutex::default(),
        };
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            let answer = execution.whole().await;
            lock(&kernel.inner.running).remove(&run);
            kernel.told(Change::Run(run));
            answer
        })
    }
}

impl Execution {
    async fn whole(&self) -> Answer {
        let filters = &self.kernel.inner.filters;
        let result = match filters.is_empty() {
            true => self.work(self.ready.args.clone()).await,
            false => {
                let passing = Passing {
                    def: self.ready.entry.def.clone(),
                    principal: self.ready.principal.clone(),
                    ctx: self.ready.ctx.clone(),
                    args: self.ready.args.clone(),
                };
                let tool = |passing: Passing| self.work(passing.args).boxed();
                let next = Next {
                    rest: filters,
                    tool: &tool,
                };
                next.run(passing).await
            }
        };
        let instead = lock(&self.instead).take();
        match instead {
            Some(run) => self.kernel.answer_of(&run).await,
            None => self.finish(result).await,
        }
    }

    /// The innermost of the onion: the record of the start, then the tool.
    async fn work(&self, args: Map<String, Value>) -> Result<Reply, ToolError> {
        let changed;
        let ready = match args == self.ready.args {
            true => &self.ready,
            false => {
                changed = self.again(args)?;
                &changed
            }
        };
        self.record_start(ready).await?;
        *lock(&self.begun) = Some(Instant::now());
        self.kernel.told(Change::Run(ready.run.clone()));

        let inner = &self.kernel.inner;
        let (logs, keep) = Logs::open(
            ready.run.clone(),
            inner.store.clone(),
            inner.clock.clone(),
            inner.changes.clone(),
            self.kernel.secrets(ready),
        );
        let permit = Permit {
            run: ready.run.clone(),
            def: ready.entry.def.clone(),
            args: ready.resolved.clone(),
            ctx: ready.ctx.clone(),
            fingerprint: ready.entry.fingerprint.clone(),
            stop: self.stop.token.clone(),
            logs,
            artifacts: self.kernel.artifacts(&ready.run),
            root: inner.root.clone(),
        };
        let tool = async {
            let result = self.attempts(ready, &permit).await;
            drop(permit);
            result
        };
        // Both in this task: what was written is kept before the end is recorded.
        let (result, ()) = tokio::join!(tool, keep);
        self.kernel.shaped(ready, result?)
    }

    /// A filter changed the arguments: every check once more.
    fn again(&self, args: Map<String, Value>) -> Result<Ready, ToolError> {
        let entry = &self.ready.entry;
        let prepared =
            args::prepare(&Value::Object(args), &entry.def.input_schema, &entry.input)
                .map_err(|e| ToolError::validation(format!("a filter broke the arguments: {e}")))?;
        let resolved = self.kernel.resolve_paths(entry, &prepared.args)?;
        let principal = &self.ready.principal;
        let decision = self
            .kernel
            .decide_call(entry, principal, &prepared.args, &resolved);
        let ready = Ready {
            args: prepared.args,
            resolved,
            decision,
            ..self.ready.clone()
        };
        match (&self.start, ready.decision.effect) {
            (Start::Open | Start::Queued, Effect::Allow) => Ok(ready),
            _ => Err(ToolError::denied(
                "a filter changed the arguments into something that nobody has approved",
            )),
        }
    }

    /// Durable before anything happens. Without it there is no permit.
    async fn record_start(&self, ready: &Ready) -> Result<(), ToolError> {
        let store = &self.kernel.inner.store;
        let record = self.kernel.run_record(ready, "run.started");
        let started = match &self.start {
            Start::Open => {
                let mut run = self.kernel.run_of(ready, RunState::Running);
                run.started = Some(record.at);
                match store.open_run(run, None, ready.idempotency(), record).await {
                    Ok(Opened::New) => Ok(true),
                    Ok(Opened::KeyTaken) => return Err(key_taken()),
                    Ok(Opened::Same(run)) => {
                        *lock(&self.instead) = Some(run);
                        return Err(ToolError::conflict("the same call was made before"));
                    }
                    Err(e) => Err(e),
                }
            }
            Start::Queued => {
                let step = Move {
                    run: ready.run.clone(),
                    from: &[RunState::Queued],
                    to: RunState::Running,
                    at: record.at,
                    exit_code: None,
                    answer: None,
                    approval: None,
                };
                store.move_run(step, record).await
            }
            Start::Approved(id, bound) => {
                let record = record.with("approval", id.as_str());
                let at = record.at;
                store.spend_approval(id, *bound, at, record).await
            }
        };
        match started {
            Ok(true) => Ok(()),
            Ok(false) => Err(ToolError::conflict(match self.start {
                Start::Approved(..) => "the approval was used, expired or withdrawn",
                _ => "the run was called off before it began",
            })),
            Err(e) => Err(not_recorded(&e)),
        }
    }

    async fn attempts(&self, ready: &Ready, permit: &Permit) -> Result<Reply, ToolError> {
        let def = &ready.entry.def;
        let harmless = matches!(def.risk, Some(Risk::Read | Risk::ExecLow | Risk::ExecHigh));
        let retry = def.retry.filter(|_| harmless || def.idempotent);
        let mut wait = retry.map(|r| r.delay).unwrap_or_default();
        loop {
            let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
            let result = self.attempt(ready, permit).await;
            let again = retry.is_some_and(|r| attempt <= r.max);
            match result {
                Err(error) if error.kind.retryable() && again => {}
                result => return result,
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.stop.token.cancelled() => return Err(self.cancelled()),
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn attempt(&self, ready: &Ready, permit: &Permit) -> Result<Reply, ToolError> {
        let inner = &self.kernel.inner;
        let executor = match &ready.entry.behind {
            Behind::Handler(handler) => Err(handler),
            Behind::Executor(kind) => Ok(inner.executors.get(kind).ok_or_else(|| {
                let kind = kind.as_str();
                ToolError::dependency(format!("this hub cannot run tools with executor `{kind}`"))
            })?),
            Behind::Nothing => {
                let name = &ready.entry.def.name;
                let error = ToolError::dependency(format!("`{name}` has no executor"));
                return Err(
                    error.with_hint("give it one, for example `host`, and register it again")
                );
            }
        };
        let work = async {
            match executor {
                Ok(executor) => executor.run(permit).await,
                Err(handler) => {
                    let args = Value::Object(ready.resolved.clone());
                    handler(ready.ctx.clone(), args).await
                }
            }
        };
        let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
        let limit = ready.entry.def.time_limit();
        let why = tokio::select! {
            biased;
            done = &mut work => return done.unwrap_or_else(|p| Err(crashed(&ready.entry.def.name, &*p))),
            () = self.stop.token.cancelled() => self.cancelled(),
            () = tokio::time::sleep(limit) => {
                self.stop.token.cancel();
                timed_out(&ready.entry.def, limit)
            }
        };
        if executor.is_ok() {
            // It has processes to end; a handler's future ends by being dropped.
            let _ = tokio::time::timeout(CLEARING, work).await;
        }
        Err(why)
    }

    fn cancelled(&self) -> ToolError {
        let by = lock(&self.stop.by).clone();
        let by = by.unwrap_or_else(|| "its time limit".to_owned());
        ToolError::denied(format!("the run was stopped by {by}"))
            .with_hint("whether it took effect is unknown")
    }

    /// The record of the end, then the answer.
    async fn finish(&self, result: Result<Reply, ToolError>) -> Answer {
        let begun = *lock(&self.begun);
        let by_person = lock(&self.stop.by).is_some() && self.stop.token.is_cancelled();
        let state = match &result {
            Ok(_) => RunState::Succeeded,
            Err(_) if by_person => RunState::Cancelled,
            Err(e) if e.kind == ErrorKind::Timeout => RunState::TimedOut,
            Err(e) if e.kind == ErrorKind::Denied => RunState::Denied,
            Err(_) => RunState::Failed,
        };
        let (result, reply) = match result {
            Ok(mut reply) => (Ok(std::mem::take(&mut reply.data)), reply),
            Err(error) => (Err(error), Reply::default()),
        };
        let mut answer = self.ready.answer(result, state);
        answer.meta.return_direct = self.ready.entry.def.return_direct && answer.is_ok();
        answer.meta.attempts = self.attempts.load(Ordering::Relaxed);
        answer.meta.exit_code = reply.exit_code.or_else(|| exit_code(&answer));
        answer.meta.artifacts = reply.artifacts;
        answer.writes = reply.writes;
        if let Start::Approved(id, _) = &self.start {
            answer.meta.approval = Some(id.clone());
        }
        answer.meta.timing_ms = begun.map_or(0.0, |b| b.elapsed().as_secs_f64() * 1000.0);
        self.kernel
            .record_end(&self.ready, &self.start, begun.is_some(), &mut answer)
            .await;
        answer
    }
}

fn exit_code(answer: &Answer) -> Option<i32> {
    match &answer.result {
        Ok(_) => None,
        Err(e) if e.kind == ErrorKind::Timeout => Some(124),
        Err(e) => e.exit_code,
    }
}

fn crashed(tool: &helve_core::ToolName, panic: &(dyn std::any::Any + Send)) -> ToolError {
    ToolError::internal(format!("`{tool}` crashed: {}", panic_text(panic)))
}

fn timed_out(def: &helve_core::ToolDef, limit: Duration) -> ToolError {
    let effect = match def.risk == Some(Risk::Read) || def.idempotent {
        true => "it can be called again",
        false => "whether it took effect is unknown",
    };
    let error = ToolError::timeout(format!("`{}` ran past its limit of {limit:?}", def.name));
    error.with_hint(effect)
}
