//! Runs that wait for people: told of, waited for, over without a decision.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::sync::{broadcast, oneshot};

use super::approve::broken;
use super::{Kernel, lock};
use crate::changes::Settled;
use crate::run::{Run, RunState};
use crate::store::{Move, Record, StoreError};
use crate::{
    Answer, Approval, ApprovalId, ApprovalState, Change, Meta, Notice, Permission, Principal,
    RunId, ToolError, Wait, panic_text,
};

/// How often a notice is tried.
const NOTICES: u32 = 3;

/// How long one try may take.
const NOTICE_LIMIT: Duration = Duration::from_secs(30);

/// How often a waiter looks by itself: what another node does is not told here.
const LOOK: Duration = Duration::from_secs(2);

/// The states of a run that has had no effect yet.
const NOT_BEGUN: &[RunState] = &[
    RunState::Queued,
    RunState::PendingApproval,
    RunState::Staged,
];

/// A caller who waits for people.
pub(super) struct Asker<'k> {
    kernel: &'k Kernel,
    run: RunId,
    answer: oneshot::Receiver<Answer>,
}

impl Drop for Asker<'_> {
    fn drop(&mut self) {
        lock(&self.kernel.inner.askers).remove(&self.run);
    }
}

impl<'k> Asker<'k> {
    pub(super) fn new(kernel: &'k Kernel, run: &RunId) -> Self {
        let (sender, answer) = oneshot::channel();
        lock(&kernel.inner.askers).insert(run.clone(), sender);
        let run = run.clone();
        Self {
            kernel,
            run,
            answer,
        }
    }

    /// The answer itself where the run ends here, otherwise what is kept of it.
    pub(super) async fn answer(mut self) -> Answer {
        let kernel = self.kernel;
        let kept = tokio::select! {
            biased;
            Ok(answer) = &mut self.answer => return answer,
            kept = kernel.answer_of(&self.run, Wait::Decision) => kept,
        };
        // It may have ended here just now: then it is handed over before it leaves the list.
        let here = lock(&kernel.inner.running).contains_key(&self.run);
        match here {
            true => (&mut self.answer).await.unwrap_or(kept),
            false => self.answer.try_recv().unwrap_or(kept),
        }
    }
}

impl Kernel {
    /// The answer of a run, once it is over: as it is kept. Where nobody's decision is
    /// waited for, or the hub stops, also that it waits for one.
    pub(super) async fn answer_of(&self, id: &RunId, wait: Wait) -> Answer {
        let mut changes = self.changes();
        loop {
            let answer = self.answer_so_far(id).await;
            let asks = matches!(
                answer.meta.state,
                Some(RunState::PendingApproval | RunState::Staged)
            );
            let closing = match asks {
                true => &self.inner.closing,
                false => &self.inner.stopping,
            };
            let enough = answer.meta.state.is_none_or(RunState::is_over)
                || (asks && wait != Wait::Decision)
                || closing.is_cancelled();
            if enough {
                return answer;
            }
            tokio::select! {
                () = closing.cancelled() => {}
                () = changed(&mut changes, id) => {}
            }
            if asks && let Some(approval) = &answer.meta.approval {
                // What cannot be looked at now is looked at again.
                let _ = self.expire_if_late(approval).await;
            }
        }
    }

    /// Waits until a run is over, and gives it as it was kept.
    pub async fn wait_for(&self, id: &RunId) -> Result<Run, ToolError> {
        let mut changes = self.changes();
        loop {
            let run = self.run(id).await?;
            if run.state.is_over() || self.inner.stopping.is_cancelled() {
                return Ok(run);
            }
            tokio::select! {
                () = self.inner.stopping.cancelled() => {}
                () = changed(&mut changes, id) => {}
            }
        }
    }

    /// Ends runs whose approvals nobody decided, or used, in time.
    pub async fn expire(&self) -> Result<(), StoreError> {
        for state in [ApprovalState::Pending, ApprovalState::Approved] {
            let mut before = None;
            loop {
                let store = &self.inner.store;
                let page = store.approvals(Some(state), before.clone(), 200).await?;
                for approval in page.iter().filter(|a| self.is_too_late(a)) {
                    self.expire_if_late(&approval.id).await?;
                }
                match page.last() {
                    Some(last) if page.len() == 200 => before = Some(last.id.clone()),
                    _ => break,
                }
            }
        }
        self.forget_secrets();
        Ok(())
    }

    /// What another node has ended needs no secrets here any more.
    fn forget_secrets(&self) {
        let rules = &self.inner.approvals;
        let longest = rules.ask_for.saturating_add(rules.grant_for);
        let now = self.now();
        lock(&self.inner.waiting).retain(|_, ready| now < ready.created.after(longest));
    }

    pub(super) fn is_too_late(&self, approval: &Approval) -> bool {
        let open = [ApprovalState::Pending, ApprovalState::Approved];
        open.contains(&approval.state) && self.now() >= approval.expires
    }

    /// Looked at once more: it may have been granted since, and lasts longer then.
    async fn expire_if_late(&self, id: &ApprovalId) -> Result<(), StoreError> {
        match self.inner.store.approval(id).await? {
            Some(approval) if self.is_too_late(&approval) => self.expire_one(&approval).await,
            _ => Ok(()),
        }
    }

    pub(super) async fn expire_one(&self, approval: &Approval) -> Result<(), StoreError> {
        let what = match approval.state {
            ApprovalState::Pending => "nobody decided it in time",
            _ => "it was approved, but not begun in time",
        };
        let error = ToolError::denied(format!(
            "the approval of `{}` expired: {what}",
            approval.tool
        ))
        .with_hint("call the tool again to ask anew");
        let (state, over) = (RunState::Expired, ApprovalState::Expired);
        let (step, record) = self.ending(approval, "run.expired", "hub", state, over, error);
        self.end(step, record, Some(&approval.id)).await?;
        Ok(())
    }

    pub(super) async fn denied(&self, approval: &Approval, by: &str) {
        let reason = approval.decisions.last().and_then(|d| d.reason.as_deref());
        let why = reason.map(|r| format!(": {r}")).unwrap_or_default();
        let error = ToolError::denied(format!("`{}` was denied by {by}{why}", approval.tool));
        let over = ApprovalState::Denied;
        self.end_waiting(approval, "run.denied", by, RunState::Denied, over, error)
            .await;
    }

    /// Calls a run off: for whoever called, the one an agent acts under, and people who
    /// may decide.
    pub async fn cancel(&self, who: &Principal, id: &RunId) -> Result<RunState, ToolError> {
        let (kernel, who, id) = (self.clone(), who.clone(), id.clone());
        self.through(async move { kernel.cancel_now(&who, &id).await })
            .await
    }

    async fn cancel_now(&self, who: &Principal, id: &RunId) -> Result<RunState, ToolError> {
        self.counts(who)?;
        let run = self.run(id).await?;
        let theirs = run.owner == who.owner || run.under.as_ref() == Some(&who.owner);
        if !theirs && !who.may(Permission::ApprovalDecide) {
            return Err(ToolError::permission("the run is somebody else's"));
        }
        if run.state.is_over() {
            let state = run.state.as_str();
            return Err(ToolError::conflict(format!("the run is over: {state}")));
        }
        if self.call_off(who, &run).await.map_err(|e| broken(&e))? {
            // It may be on its way, in a filter.
            self.stop(&who.owner, id);
            return Ok(RunState::Cancelled);
        }
        let record = self.entry_of(&who.owner, "run.cancelling", id.as_str());
        let store = &self.inner.store;
        store.record(record).await.map_err(|e| broken(&e))?;
        match self.stop(&who.owner, id) {
            true => Ok(RunState::Running),
            false => Ok(self.run(id).await?.state),
        }
    }

    /// Ends a run that has not begun; `false` if it has.
    async fn call_off(&self, who: &Principal, run: &Run) -> Result<bool, StoreError> {
        if !NOT_BEGUN.contains(&run.state) {
            return Ok(false);
        }
        let error = ToolError::denied(format!("the run was called off by {}", who.owner));
        let record = self
            .entry_of(&who.owner, "run.cancelled", run.id.as_str())
            .with("state", RunState::Cancelled.as_str())
            .with("approval", run.approval.as_ref().map(ApprovalId::as_str));
        let answer = super::recover::over(run, error, RunState::Cancelled);
        let step = Move {
            answer: Some(answer.to_kept()),
            approval: Some(ApprovalState::Withdrawn),
            changes: Some(Settled::Dropped),
            ..Move::new(&run.id, NOT_BEGUN, RunState::Cancelled, record.at)
        };
        self.end(step, record, run.approval.as_ref()).await
    }

    fn stop(&self, by: &str, id: &RunId) -> bool {
        let stop = lock(&self.inner.running).get(id).cloned();
        if let Some(stop) = &stop {
            lock(&stop.by).get_or_insert_with(|| by.to_owned());
            stop.token.cancel();
        }
        stop.is_some()
    }

    /// Ends a run that waits; where that cannot be recorded now, as soon as it can.
    pub(super) async fn end_waiting(
        &self,
        approval: &Approval,
        event: &'static str,
        actor: &str,
        state: RunState,
        over: ApprovalState,
        error: ToolError,
    ) {
        let (step, record) = self.ending(approval, event, actor, state, over, error);
        let ended = self.end(step.clone(), record.clone(), Some(&approval.id));
        if ended.await.is_err() {
            self.record_later(step, record);
        }
    }

    fn ending(
        &self,
        approval: &Approval,
        event: &'static str,
        actor: &str,
        state: RunState,
        over: ApprovalState,
        error: ToolError,
    ) -> (Move, Record) {
        let record = self
            .entry_of(actor, event, approval.run.as_str())
            .with("approval", approval.id.as_str())
            .with("state", state.as_str())
            .with("message", error.message.as_str());
        let answer = Answer {
            result: Err(error),
            meta: Meta {
                run_id: Some(approval.run.clone()),
                tool: approval.tool.clone(),
                version: Some(approval.version.clone()),
                state: Some(state),
                approval: Some(approval.id.clone()),
                ..Meta::default()
            },
            writes: Vec::new(),
        };
        let step = Move {
            answer: Some(answer.to_kept()),
            approval: Some(over),
            changes: Some(Settled::Dropped),
            ..Move::new(
                &approval.run,
                &[RunState::PendingApproval, RunState::Staged],
                state,
                record.at,
            )
        };
        (step, record)
    }

    async fn end(
        &self,
        step: Move,
        record: Record,
        approval: Option<&ApprovalId>,
    ) -> Result<bool, StoreError> {
        let run = step.run.clone();
        let moved = self.inner.store.move_run(step, record).await?;
        if moved {
            lock(&self.inner.waiting).remove(&run);
            if let Some(keeper) = &self.inner.keeper {
                keeper.drop_stage(&run).await;
            }
            if let Some(approval) = approval {
                self.told(Change::Approval(approval.clone()));
            }
            self.told(Change::Run(run));
        }
        Ok(moved)
    }

    pub(super) fn notify(&self, approval: Approval) {
        let Some(notifier) = self.inner.notifier.clone() else {
            return;
        };
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            let mut told = Err(String::new());
            for attempt in 0..NOTICES {
                let wait = Duration::from_secs(u64::from(attempt));
                let telling = async {
                    tokio::time::sleep(wait).await;
                    let telling = AssertUnwindSafe(notifier.asked(&approval)).catch_unwind();
                    match tokio::time::timeout(NOTICE_LIMIT, telling).await {
                        Ok(Ok(told)) => told,
                        Ok(Err(panic)) => Err(format!("it crashed: {}", panic_text(&*panic))),
                        Err(_) => Err(format!("it took longer than {NOTICE_LIMIT:?}")),
                    }
                };
                told = tokio::select! {
                    biased;
                    told = telling => told,
                    () = kernel.inner.closing.cancelled() => {
                        // The next start tells.
                        return;
                    }
                };
                if told.is_ok() {
                    break;
                }
            }
            let (notice, event, why) = match told {
                Ok(()) => (Notice::Sent, "approval.notified", None),
                Err(why) => (
                    Notice::Failed(why.clone()),
                    "approval.notice_failed",
                    Some(why),
                ),
            };
            let record = kernel
                .entry_of("hub", event, approval.run.as_str())
                .with("approval", approval.id.as_str())
                .with("why", why);
            let store = &kernel.inner.store;
            // What is not kept stays `waiting`, and is told once more at the next start.
            let _ = store.set_notice(&approval.id, notice, record).await;
            kernel.told(Change::Approval(approval.id));
        });
    }
}

/// Until a run may be in another state.
async fn changed(changes: &mut broadcast::Receiver<Change>, id: &RunId) {
    let told = async {
        loop {
            match changes.recv().await {
                Ok(Change::Run(run)) if run == *id => return,
                Ok(_) => {}
                // Much has happened: look.
                Err(broadcast::error::RecvError::Lagged(_)) => return,
                // The kernel of these changes is held by whoever waits.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    let _ = tokio::time::timeout(LOOK, told).await;
}
