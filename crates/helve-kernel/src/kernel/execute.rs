//! From a decision to an answer: filters, the record of the start, the work, the
//! record of the end.
//!
//! A run is in the list of what runs from its launch to its end, whatever happens in
//! between: a [`Claim`] takes it out again, also when something panics.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use futures_util::FutureExt as _;
use helve_core::args;
use helve_core::audit::Hash;
use helve_core::def::Risk;
use helve_core::policy;
use serde_json::{Map, Value};
use tokio::task::JoinHandle;

use super::attempt::Doer;
use super::commit::{Effect, Fate};
use super::pass::{Ready, key_taken, not_recorded};
use super::{Kernel, Stop, lock};
use crate::logs::{self, Logs};
use crate::registry::Behind;
use crate::run::RunState;
use crate::store::{Move, Opened, Opening};
use crate::{
    Answer, ApprovalId, Change, ErrorKind, Filter, Handler, Meta, Next, Passing, Permit, Records,
    Reply, RunId, ToolError, panic_text,
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

/// A place in the list of what runs.
pub(super) struct Claim {
    kernel: Kernel,
    run: RunId,
    pub(super) stop: Stop,
    /// The run is not over: it waits for people.
    keeps_asker: AtomicBool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        lock(&self.kernel.inner.running).remove(&self.run);
        if !self.keeps_asker.load(Ordering::Relaxed) {
            // Whoever waits for an answer that never came looks at what is kept.
            lock(&self.kernel.inner.askers).remove(&self.run);
        }
        self.kernel.told(Change::Run(self.run.clone()));
    }
}

/// One execution: what it needs, and how far it got.
pub(super) struct Execution {
    pub(super) kernel: Kernel,
    pub(super) ready: Ready,
    pub(super) start: Start,
    pub(super) claim: Claim,
    pub(super) attempts: AtomicU32,
    /// What the call comes to instead of a run of its own.
    instead: Mutex<Option<Instead>>,
    pub(super) begun: Mutex<Option<Instant>>,
    /// The record of the start, where it is handed over and not known to be durable.
    pub(super) opening: Mutex<Option<Opening>>,
    /// Held from before the record of the start until the tool is done: nothing may be
    /// dropped in between.
    at_work: tokio::sync::Mutex<()>,
    /// The secrets of the arguments that a filter put in.
    more_secrets: Mutex<Vec<String>>,
    /// The call as a filter changed it.
    changed: Mutex<Option<Box<Ready>>>,
    /// Held from before its changes are compared with what is there until its end is on record.
    pub(super) turn: Mutex<Option<tokio::sync::OwnedMutexGuard<()>>>,
    /// What the tool would change. Apart from its reply, which filters may replace.
    captured: Mutex<Option<Effect>>,
}

enum Instead {
    /// The key leads to this run.
    Run(RunId),
    /// The key is taken.
    Refusal,
}

impl Kernel {
    /// Claims a run; `None` if it is under way here.
    pub(super) fn claim(&self, run: &RunId) -> Option<Claim> {
        let stop = Stop {
            token: self.inner.stopping.child_token(),
            by: Arc::default(),
        };
        let mut running = lock(&self.inner.running);
        if running.contains_key(run) {
            return None;
        }
        running.insert(run.clone(), stop.clone());
        drop(running);
        Some(Claim {
            kernel: self.clone(),
            run: run.clone(),
            stop,
            keeps_asker: AtomicBool::new(false),
        })
    }

    /// Runs a call and waits for it. It goes on if the caller does not. All that it needs is
    /// put aside before anybody waits, so that whoever does has little to carry.
    pub(super) fn begin(&self, ready: Ready, start: Start) -> impl Future<Output = Answer> + Send {
        let (run, tool) = (ready.run.clone(), ready.entry.def.name.to_string());
        let claim = self.claim(&ready.run);
        let whole = claim.map(|claim| Box::pin(Execution::new(self, ready, start, claim).whole()));
        async move {
            let answer = match whole {
                Some(whole) => self.to_the_end(whole).await,
                None => None,
            };
            answer.unwrap_or_else(|| Answer {
                result: Err(ToolError::internal("the run crashed outside of its tool")
                    .with_hint("whether it took effect is unknown; look before you call it again")),
                meta: Meta {
                    run_id: Some(run),
                    tool,
                    ..Meta::default()
                },
                writes: Vec::new(),
            })
        }
    }

    /// Runs a call beside the caller; not if it is under way already.
    pub(super) fn launch(&self, ready: Ready, start: Start) -> Option<JoinHandle<Answer>> {
        let claim = self.claim(&ready.run)?;
        let execution = Execution::new(self, ready, start, claim);
        // In a box: it is large, and is moved more than once on its way into a task.
        Some(self.inner.tasks.spawn(Box::pin(execution.whole())))
    }
}

impl Execution {
    pub(super) fn new(kernel: &Kernel, ready: Ready, start: Start, claim: Claim) -> Self {
        Self {
            kernel: kernel.clone(),
            ready,
            start,
            claim,
            attempts: AtomicU32::new(0),
            instead: Mutex::default(),
            begun: Mutex::default(),
            opening: Mutex::default(),
            at_work: tokio::sync::Mutex::default(),
            more_secrets: Mutex::default(),
            changed: Mutex::default(),
            turn: Mutex::default(),
            captured: Mutex::default(),
        }
    }

    /// All of it, to the answer.
    pub(super) async fn whole(self) -> Answer {
        let result = AssertUnwindSafe(self.stoppable()).catch_unwind().await;
        let result = result.unwrap_or_else(|panic| {
            let what = panic_text(&*panic);
            Err(ToolError::internal(format!("the run crashed: {what}")))
        });
        let instead = lock(&self.instead).take();
        let answer = match instead {
            Some(Instead::Run(run)) => Box::pin(self.kernel.answer_of(&run, self.ready.wait)).await,
            Some(Instead::Refusal) => {
                let tool = self.ready.entry.def.name.as_str();
                let principal = &self.ready.principal;
                Box::pin(self.kernel.refuse(tool, principal, key_taken())).await
            }
            None => self.finish(result).await,
        };
        if answer.meta.state == Some(RunState::Staged) {
            // Whoever waits goes on waiting. Somebody may have decided by now, and found
            // the run still under way.
            let (kernel, approval) = (self.kernel.clone(), answer.meta.approval.clone());
            self.claim.keeps_asker.store(true, Ordering::Relaxed);
            drop(self);
            Box::pin(kernel.resume_granted(approval)).await;
            return answer;
        }
        if let Some(asker) = lock(&self.kernel.inner.askers).remove(&self.ready.run) {
            // They may have gone.
            let _ = asker.send(answer.clone());
        }
        answer
    }

    async fn stoppable(&self) -> Result<Reply, ToolError> {
        let filters = &self.kernel.inner.filters;
        match filters.is_empty() {
            true => self.work(None).await,
            false => Box::pin(self.filtered(filters)).await,
        }
    }

    /// The onion, and the tool inside.
    async fn filtered(&self, filters: &[Arc<dyn Filter>]) -> Result<Reply, ToolError> {
        let passing = Passing {
            def: self.ready.entry.def.clone(),
            principal: self.ready.principal.clone(),
            ctx: self.ready.ctx.clone(),
            args: self.ready.args.clone(),
        };
        let tool = |passing: Passing| self.work(Some(passing.args)).boxed();
        let next = Next {
            rest: filters,
            tool: &tool,
        };
        // A filter that waits for something is dropped; a tool clears up by itself.
        let idle = async {
            self.claim.stop.token.cancelled().await;
            drop(self.at_work.lock().await);
        };
        let result = tokio::select! {
            biased;
            result = next.run(passing) => result?,
            () = idle => return Err(self.stopped()),
        };
        self.kernel.fits(&self.ready, &result)?;
        Ok(result)
    }

    /// The innermost of the onion: the record of the start, then the tool. The arguments are
    /// those that came out of the filters, where there are any.
    async fn work(&self, args: Option<Map<String, Value>>) -> Result<Reply, ToolError> {
        let _at_work = self.at_work.lock().await;
        let changed;
        let ready = match args.filter(|args| *args != self.ready.args) {
            None => &self.ready,
            Some(args) => {
                changed = self.again(args)?;
                *lock(&self.changed) = Some(Box::new(changed.clone()));
                &changed
            }
        };
        self.unless_stopped()?;
        match self.may_begin_at_once(ready) {
            true => self.hand_over_start(ready).await?,
            false => self.record_start(ready).await?,
        }
        *lock(&self.begun) = Some(Instant::now());
        self.unless_stopped()?;
        if self.is_told_at_once(ready) {
            self.kernel.told(Change::Run(ready.run.clone()));
        }

        if let Behind::Handler(handler, _) = &ready.entry.behind {
            let (reply, effect) = self.handled(ready, handler).await?;
            *lock(&self.captured) = effect;
            return Ok(reply);
        }
        // Apart: what a program needs would make the future of every call larger.
        Box::pin(self.run_program(ready)).await
    }

    /// A tool that is a function, and what it would change.
    pub(super) async fn handled(
        &self,
        ready: &Ready,
        handler: &Handler,
    ) -> Result<(Reply, Option<Effect>), ToolError> {
        let files = self.kernel.files_for(ready);
        let may_change = ready.entry.def.risk != Some(Risk::Read);
        let records = Records::new(self.kernel.inner.store.clone(), may_change);
        let services = self.kernel.inner.services.clone();
        let ctx = ready.ctx.with(files.clone(), records.clone(), services);
        let doer = Doer::Handler(handler, &ctx);
        let reply = self.beside_start(self.attempts(ready, &doer)).await?;
        self.kernel.fits(ready, &reply)?;
        let (staged, rows) = (files.finish().await?, records.finish().await?);
        if staged.is_none() && rows.is_empty() {
            return Ok((reply, None));
        }
        Ok((reply, Some(Effect::new(staged, rows))))
    }

    /// A tool that an executor runs, with its output kept.
    async fn run_program(&self, ready: &Ready) -> Result<Reply, ToolError> {
        let inner = &self.kernel.inner;
        let (logs, keep) = Logs::open(
            ready.run.clone(),
            inner.store.clone(),
            inner.clock.clone(),
            inner.changes.clone(),
            match ready.entry.def.sensitive {
                true => logs::Keep::Nothing,
                false => logs::Keep::Without(self.secrets()),
            },
        );
        let permit = Permit {
            run: ready.run.clone(),
            def: ready.entry.def.clone(),
            args: ready.given().clone(),
            ctx: ready.ctx.clone(),
            fingerprint: ready.entry.fingerprint.clone(),
            stop: self.claim.stop.token.child_token(),
            logs,
            artifacts: self.kernel.artifacts(&ready.run),
            root: inner.root.clone(),
            keeper: inner.keeper.clone(),
            writable: super::paths::writable(&inner.root, &ready.entry.def),
            readable: super::paths::readable(&inner.root, &ready.entry.def),
            dry_run: ready.dry_run,
            undecided: ready.decision.effect == policy::Effect::Ask && !self.is_approved(),
        };
        let tool = async {
            // With the permit goes the last writer, and the keeper of the output ends.
            let permit = permit;
            let executor = self.kernel.executor_of(&ready.entry)?;
            self.attempts(ready, &Doer::Executor(executor, &permit))
                .await
        };
        // Both in this task: what was written is kept before the end is recorded.
        let (result, ()) = tokio::join!(tool, keep);
        let mut reply = result?;
        let captured = reply.changes.take();
        *lock(&self.captured) = captured.map(|c| Effect::new(Some(c.0), Vec::new()));
        self.kernel.fits(ready, &reply)?;
        Ok(reply)
    }

    /// A filter changed the arguments: every check once more.
    fn again(&self, args: Map<String, Value>) -> Result<Ready, ToolError> {
        let entry = &self.ready.entry;
        // Before anything can fail and quote them.
        *lock(&self.more_secrets) = super::reply::secrets_in(entry, &args);
        let prepared =
            args::prepare(&Value::Object(args), &entry.def.input_schema, &entry.input)
                .map_err(|e| ToolError::validation(format!("a filter broke the arguments: {e}")))?;
        let resolved = self.kernel.resolve_paths(entry, &prepared.args)?;
        let principal = &self.ready.principal;
        let decision = self
            .kernel
            .decide_call(entry, principal, &prepared.args, resolved.as_ref());
        let ready = Ready {
            hidden: self.kernel.hide(entry, &prepared.args),
            args: prepared.args,
            resolved,
            decision,
            ..self.ready.clone()
        };
        match (&self.start, ready.decision.effect) {
            (Start::Open | Start::Queued, policy::Effect::Allow) => Ok(ready),
            (Start::Open | Start::Queued, policy::Effect::Ask)
                if ready.dry_run || self.kernel.shows_first(&ready.entry) =>
            {
                Ok(ready)
            }
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
                // The key is for what was asked, whatever a filter made of it.
                let key = self.ready.idempotency();
                match store.open_run(run, None, key, record).await {
                    Ok(Opened::New) => Ok(true),
                    Ok(Opened::KeyTaken) => {
                        *lock(&self.instead) = Some(Instead::Refusal);
                        return Err(key_taken());
                    }
                    Ok(Opened::Same(run)) => {
                        *lock(&self.instead) = Some(Instead::Run(run));
                        return Err(ToolError::conflict("the same call was made before"));
                    }
                    Err(e) => Err(e),
                }
            }
            Start::Queued => {
                let step = Move::new(
                    &ready.run,
                    &[RunState::Queued],
                    RunState::Running,
                    record.at,
                );
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

    /// Whether people have said yes before it began.
    pub(super) fn is_approved(&self) -> bool {
        matches!(self.start, Start::Approved(..))
    }

    pub(super) fn unless_stopped(&self) -> Result<(), ToolError> {
        match self.claim.stop.token.is_cancelled() {
            true => Err(self.stopped()),
            false => Ok(()),
        }
    }

    /// What is said of a run that somebody stopped.
    pub(super) fn stopped(&self) -> ToolError {
        let by = lock(&self.claim.stop.by).clone();
        let by = by.unwrap_or_else(|| "the hub, which is stopping".to_owned());
        let error = ToolError::denied(format!("the run was stopped by {by}"));
        error.with_hint(match self.attempts.load(Ordering::Relaxed) {
            0 => "it had not begun",
            _ if self.kernel.is_held(&self.ready.entry) => "nothing was changed",
            _ => "whether it took effect is unknown",
        })
    }

    /// What must not be kept of this call.
    fn secrets(&self) -> Vec<String> {
        let mut secrets = super::reply::secrets_in(&self.ready.entry, &self.ready.args);
        if let Some(resolved) = &self.ready.resolved {
            secrets.extend(super::reply::secrets_in(&self.ready.entry, resolved));
        }
        secrets.extend(lock(&self.more_secrets).iter().cloned());
        secrets
    }

    /// What becomes of the changes, the record of the end, then the answer.
    async fn finish(&self, result: Result<Reply, ToolError>) -> Answer {
        let begun = *lock(&self.begun);
        let secrets = self.secrets();
        let (result, fate) = self.settle_changes(result, &secrets).await;
        if let Fate::Staged(mut answer) = fate {
            answer.meta.timing_ms = millis(begun);
            return *answer;
        }
        let stopped = self.claim.stop.token.is_cancelled();
        let state = match &result {
            Ok(_) => RunState::Succeeded,
            Err(e) if e.kind == ErrorKind::Timeout => RunState::TimedOut,
            Err(_) if stopped => RunState::Cancelled,
            Err(e) if e.kind == ErrorKind::Denied => RunState::Denied,
            Err(_) => RunState::Failed,
        };
        let mut answer = self.answer_of(result, state, &secrets);
        if let Fate::Committed(effect) | Fate::Unsure(effect) | Fate::Shown(effect) = &fate {
            answer.meta.changes = Some(effect.summary());
        }
        if let Fate::Shown(effect) = &fate {
            answer.meta.diff = Some(self.kernel.shown(effect).await);
        }
        answer.meta.dry_run = self.ready.dry_run;
        answer.meta.timing_ms = millis(begun);
        match (begun, &self.start) {
            (Some(_), _) => {
                let (settled, opening) = (fate.settled(), lock(&self.opening).take());
                let recorded = self
                    .kernel
                    .record_end(&self.ready, &mut answer, &secrets, settled, opening)
                    .await;
                if let (Ok(true), Fate::Committed(effect)) = (&recorded, &fate)
                    && effect.staged.is_quick()
                {
                    self.kernel.placed_has_ended(&self.ready.run);
                }
                drop(lock(&self.turn).take());
                match recorded {
                    Ok(true) => self.tidy(&fate).await,
                    Ok(false) => {}
                    Err(e) => {
                        self.tidy(&fate).await;
                        return Box::pin(self.never_opened(&e, &secrets)).await;
                    }
                }
                answer
            }
            (None, Start::Open) => {
                // It may have run before it was known that its start is lost.
                self.tidy(&fate).await;
                let unopened = self
                    .kernel
                    .record_unopened(&self.ready, &mut answer, &secrets);
                Box::pin(unopened).await;
                answer
            }
            (None, _) => Box::pin(self.not_begun(answer, &secrets)).await,
        }
    }

    /// A tool that failed has changed nothing.
    async fn settle_changes(
        &self,
        result: Result<Reply, ToolError>,
        secrets: &[String],
    ) -> (Result<Reply, ToolError>, Fate) {
        let captured = lock(&self.captured).take();
        let changed = lock(&self.changed).take();
        match (result, captured) {
            (Ok(reply), Some(effect)) => {
                let ready = changed.as_deref().unwrap_or(&self.ready);
                Box::pin(self.settle(ready, reply, effect, secrets)).await
            }
            (result, Some(_)) => (result, Fate::Dropped),
            (result, None) => (result, Fate::Nothing),
        }
    }

    /// What the run left in the stage is needed no more.
    async fn tidy(&self, fate: &Fate) {
        let Some(keeper) = &self.kernel.inner.keeper else {
            return;
        };
        match fate {
            // It left nothing.
            Fate::Committed(effect) if effect.staged.is_quick() => {}
            Fate::Committed(effect) => {
                let id = effect.staged.changeset.id();
                self.kernel.settled(&self.ready.run, &id).await;
            }
            // Where it changed nothing, there may be a stage nevertheless.
            Fate::Nothing if self.ready.entry.def.allowed_paths.is_empty() => {}
            // A function that only looks has none.
            Fate::Nothing
                if matches!(self.ready.entry.behind, Behind::Handler(..))
                    && self.ready.entry.def.risk == Some(Risk::Read) => {}
            _ => keeper.drop_stage(&self.ready.run).await,
        }
    }

    /// The answer of a run that has come to its end.
    pub(super) fn answer_of(
        &self,
        result: Result<Reply, ToolError>,
        state: RunState,
        secrets: &[String],
    ) -> Answer {
        let (result, reply) = match result {
            Ok(reply) => {
                let mut reply = self.kernel.shortened(&self.ready, reply, secrets);
                (Ok(std::mem::take(&mut reply.data)), reply)
            }
            Err(mut error) => {
                let wire = error.wire.take();
                let reply = Reply {
                    wire,
                    ..Reply::default()
                };
                (Err(error), reply)
            }
        };
        let mut answer = self.ready.answer(result, state);
        answer.meta.return_direct = self.ready.entry.def.return_direct && answer.is_ok();
        answer.meta.attempts = self.attempts.load(Ordering::Relaxed);
        answer.meta.exit_code = reply.exit_code.or_else(|| exit_code(&answer));
        answer.meta.artifacts = reply.artifacts;
        answer.meta.notes = reply.notes;
        answer.meta.about = reply.about;
        answer.meta.wire = reply.wire;
        answer.meta.content = reply.content;
        answer.writes = reply.writes;
        if let Start::Approved(id, _) = &self.start {
            answer.meta.approval = Some(id.clone());
        }
        answer
    }

    /// A run that was open before it could begin, and did not.
    async fn not_begun(&self, answer: Answer, secrets: &[String]) -> Answer {
        if let Start::Approved(id, _) = &self.start
            && let Ok(Some(approval)) = self.kernel.inner.store.approval(id).await
            && self.kernel.is_too_late(&approval)
            && self.kernel.expire_one(&approval).await.is_ok()
        {
            return self
                .kernel
                .answer_of(&self.ready.run, self.ready.wait)
                .await;
        }
        let ended = self
            .kernel
            .record_not_begun(&self.ready, &answer, secrets)
            .await;
        match ended {
            // Somebody else ended it, or runs it: what came of that is the answer.
            Ok(false) => {
                self.kernel
                    .answer_of(&self.ready.run, self.ready.wait)
                    .await
            }
            Ok(true) | Err(_) => answer,
        }
    }
}

fn millis(begun: Option<Instant>) -> f64 {
    begun.map_or(0.0, |b| b.elapsed().as_secs_f64() * 1000.0)
}

fn exit_code(answer: &Answer) -> Option<i32> {
    match &answer.result {
        Ok(_) => None,
        Err(e) if e.kind == ErrorKind::Timeout => Some(124),
        Err(e) => e.exit_code,
    }
}
