//! Approvals: asked, decided, used once, or over.
//!
//! An approval is bound to the hash of all that was asked. Before it is used the
//! hash is made anew from what would run *now*; if a definition, a program or a
//! rule changed in between, nothing runs.

use std::sync::Arc;
use std::time::Duration;

use helve_core::audit::{Hash, hash_of};
use helve_core::marked::{Mark, marked};
use serde_json::{Value, json};

use super::execute::Start;
use super::pass::{Ready, key_taken, not_recorded};
use super::{Kernel, authorize, lock, read};
use crate::run::{Run, RunState};
use crate::store::{Decided, Move, Opened, StoreError};
use crate::{
    Answer, Approval, ApprovalId, ApprovalState, Change, Ctx, Decision, ErrorKind, Notice,
    Permission, Principal, RunId, ToolError, Verdict, Wait,
};

/// How often a notice is tried.
const NOTICES: u32 = 3;

impl Kernel {
    /// Opens a run that waits for people.
    pub(super) async fn ask(&self, ready: Ready, wait: Wait) -> Answer {
        let approval = self.approval_of(&ready);
        let id = approval.id.clone();
        let mut run = self.run_of(&ready, RunState::PendingApproval);
        run.approval = Some(id.clone());
        let record = self
            .run_record(&ready, "run.asked")
            .with("approval", id.as_str());
        lock(&self.inner.waiting).insert(ready.run.clone(), ready.clone());
        let key = ready.idempotency();
        let opened = self
            .inner
            .store
            .open_run(run, Some(approval.clone()), key, record)
            .await;
        if !matches!(opened, Ok(Opened::New)) {
            lock(&self.inner.waiting).remove(&ready.run);
        }
        match opened {
            Err(e) => return ready.answer(Err(not_recorded(&e)), RunState::Failed),
            Ok(Opened::KeyTaken) => return ready.answer(Err(key_taken()), RunState::Failed),
            Ok(Opened::Same(run)) if wait == Wait::Decision => return self.answer_of(&run).await,
            Ok(Opened::Same(run)) => return self.answer_so_far(&run).await,
            Ok(Opened::New) => {}
        }
        self.told(Change::Approval(id.clone()));
        self.notify(approval.clone());
        if wait != Wait::Decision {
            return pending(&ready, &approval);
        }
        let mut answer = self.answer_within(&ready.run, &approval).await;
        answer.meta.coerced = ready.coerced;
        answer
    }

    fn approval_of(&self, ready: &Ready) -> Approval {
        Approval {
            id: ApprovalId::fresh(),
            run: ready.run.clone(),
            bound: self.bound(ready),
            tool: ready.entry.def.name.to_string(),
            version: ready.entry.version.to_string(),
            args: Value::Object(self.hidden(ready)),
            requester: ready.principal.owner.clone(),
            under: ready.principal.under.clone(),
            reason: ready.decision.reason.clone(),
            needed: ready.decision.approvals,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
            created: ready.created,
            expires: ready.created.after(self.inner.approvals.ask_for),
            notice: match self.inner.notifier {
                Some(_) => Notice::Waiting,
                None => Notice::None,
            },
        }
    }

    /// The hash of all that a person says yes to.
    fn bound(&self, ready: &Ready) -> Hash {
        let def = &ready.entry.def;
        let asked = json!({
            "run": ready.run.as_str(),
            "tool": def.name.as_str(),
            "version": ready.entry.hash.to_string(),
            "args": self.hidden(ready),
            "root": self.inner.root.display().to_string(),
            "executor": def.executor.as_ref().map(|e| e.kind.as_str()),
            "requester": ready.principal.owner,
        });
        hash_of(&asked).unwrap_or_else(|_| Hash::of(asked.to_string().as_bytes()))
    }

    /// Whether somebody may decide an approval: the one place that says so.
    pub fn can_decide(&self, who: &Principal, approval: &Approval) -> Result<(), ToolError> {
        who.require(Permission::ApprovalDecide)?;
        if who.owner == approval.requester {
            let error = ToolError::permission("whoever asked cannot be the one who decides");
            return Err(error.with_hint("somebody else with `approval:decide` must do it"));
        }
        if self
            .maker_of(who)
            .is_some_and(|maker| maker == approval.requester)
        {
            return Err(ToolError::permission(format!(
                "`{}`, who asked, made the token of `{}`; it cannot decide",
                approval.requester, who.owner
            )));
        }
        let listed = self.inner.approvals.approvers.as_ref();
        if listed.is_some_and(|list| !list.iter().any(|p| p.matches(&who.owner))) {
            return Err(ToolError::permission(format!(
                "`{}` is not among the approvers of the configuration",
                who.owner
            )));
        }
        if !who.reaches(&approval.tool) {
            return Err(ToolError::permission(format!(
                "`{}` is outside the scopes of the token",
                approval.tool
            )));
        }
        Ok(())
    }

    /// Says yes or no to an approval. With the last yes that is needed, the run begins.
    pub async fn decide(
        &self,
        who: &Principal,
        id: &ApprovalId,
        verdict: Verdict,
        reason: Option<String>,
    ) -> Result<Approval, ToolError> {
        who.require(Permission::ApprovalDecide)?;
        let approval = self.approval(id).await?;
        self.can_decide(who, &approval)?;
        if self.now() >= approval.expires && approval.state == ApprovalState::Pending {
            self.expire_one(&approval).await.map_err(|e| broken(&e))?;
        }
        let decision = Decision {
            by: who.owner.clone(),
            verdict,
            reason: reason.clone(),
            at: self.now(),
        };
        let until = decision.at.after(self.inner.approvals.grant_for);
        let record = self
            .entry_of(&who.owner, "approval.decided", approval.run.as_str())
            .with("approval", id.as_str())
            .with("verdict", verdict.as_str())
            .with("reason", reason)
            .with("bound", approval.bound.to_string())
            .with("token", who.token.as_ref().map(|t| t.as_str()));
        let decided = self.inner.store.decide(id, decision, until, record).await;
        let approval = match decided.map_err(|e| broken(&e))? {
            Decided::Counted(approval) => approval,
            Decided::Unknown => return Err(unknown(id.as_str())),
            Decided::Twice(_) => {
                let error = ToolError::conflict(format!("`{}` has decided this before", who.owner));
                return Err(error.with_hint("another person must decide as well"));
            }
            Decided::Closed(approval) => return Err(closed(&approval)),
        };
        self.told(Change::Approval(id.clone()));
        match approval.state {
            ApprovalState::Approved => self.resume(approval.clone()),
            ApprovalState::Denied => self.denied(&approval, &who.owner).await,
            _ => {}
        }
        Ok(approval)
    }

    /// An approval.
    pub async fn approval(&self, id: &ApprovalId) -> Result<Approval, ToolError> {
        let found = self
            .inner
            .store
            .approval(id)
            .await
            .map_err(|e| broken(&e))?;
        found.ok_or_else(|| unknown(id.as_str()))
    }

    /// Begins the run of an approval that was granted.
    pub(super) fn resume(&self, approval: Approval) {
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            match kernel.ready_again(&approval).await {
                Ok(ready) => {
                    let start = Start::Approved(approval.id.clone(), approval.bound);
                    drop(kernel.launch(ready, start));
                }
                Err(error) => {
                    let state = match error.kind {
                        ErrorKind::Denied => RunState::Denied,
                        _ => RunState::Failed,
                    };
                    let over = ApprovalState::Withdrawn;
                    kernel
                        .end_waiting(&approval, "run.stopped", "hub", state, over, error)
                        .await;
                }
            }
        });
    }

    /// The call as it was asked, checked against what is true now.
    async fn ready_again(&self, approval: &Approval) -> Result<Ready, ToolError> {
        let kept = lock(&self.inner.waiting).remove(&approval.run);
        let old = match kept {
            Some(ready) => ready,
            None => self.remembered(approval).await?,
        };
        let entry = self.resolve(&approval.tool)?;
        let principal = match &old.principal.token {
            Some(_) => self.still_permitted(&old.principal, &entry)?,
            None => old.principal.clone(),
        };
        authorize::permitted(&principal, &entry)?;
        if !entry.enabled {
            return Err(ToolError::not_found(format!(
                "`{}` was disabled",
                approval.tool
            )));
        }
        let resolved = self.resolve_paths(&entry, &old.args)?;
        let decision = self.decide_call(&entry, &principal, &old.args, &resolved);
        authorize::still_open(&decision)?;
        let ready = Ready {
            entry,
            principal,
            resolved,
            ..old
        };
        if self.bound(&ready) != approval.bound {
            let error = ToolError::conflict("what was approved is not what would run now");
            return Err(error.with_hint("the tool has changed since; call it again"));
        }
        Ok(ready)
    }

    /// The call out of the store, after a restart.
    async fn remembered(&self, approval: &Approval) -> Result<Ready, ToolError> {
        let run = self.run(&approval.run).await?;
        let entry = self.resolve(&run.tool)?;
        let Value::Object(args) = run.args.clone() else {
            return Err(ToolError::internal("the arguments of the run are damaged"));
        };
        if entry.has_secrets && !marked(&entry.def.input_schema, &args, Mark::Secret).is_empty() {
            let error =
                ToolError::dependency("the hub was restarted, and it does not keep secrets");
            return Err(error.with_hint("call the tool again"));
        }
        let principal = self.principal_of(&run, &entry)?;
        let ctx = Ctx::builder()
            .run_id(run.id.as_str())
            .principal(run.owner.as_str());
        let ctx = match &run.agent {
            Some(agent) => ctx.agent_id(agent.as_str()),
            None => ctx,
        };
        Ok(Ready {
            ctx: ctx.build(),
            decision: self.decide_call(&entry, &principal, &args, &args),
            resolved: args.clone(),
            args,
            entry,
            principal,
            coerced: Vec::new(),
            key: None,
            created: run.created,
            run: run.id,
        })
    }

    /// A live token of the one who asked, that still reaches the tool.
    fn principal_of(&self, run: &Run, entry: &crate::Entry) -> Result<Arc<Principal>, ToolError> {
        let now = self.now();
        let tokens = read(&self.inner.tokens);
        let mut able = tokens
            .values()
            .filter(|t| t.owner == run.owner && t.is_live(now))
            .map(|t| Arc::new(t.principal()))
            .filter(|p| authorize::permitted(p, entry).is_ok());
        able.next().ok_or_else(|| {
            let owner = &run.owner;
            ToolError::permission(format!("`{owner}`, who asked, may no longer call the tool"))
        })
    }

    fn still_permitted(
        &self,
        asked: &Principal,
        entry: &crate::Entry,
    ) -> Result<Arc<Principal>, ToolError> {
        let now = self.now();
        let tokens = read(&self.inner.tokens);
        let token = tokens
            .values()
            .find(|t| Some(&t.id) == asked.token.as_ref());
        let live = token
            .filter(|t| t.is_live(now))
            .map(|t| Arc::new(t.principal()));
        let gone = || ToolError::permission("the token that asked no longer counts");
        let principal = live.ok_or_else(gone)?;
        authorize::permitted(&principal, entry)?;
        Ok(principal)
    }

    async fn denied(&self, approval: &Approval, by: &str) {
        let reason = approval.decisions.last().and_then(|d| d.reason.as_deref());
        let why = reason.map(|r| format!(": {r}")).unwrap_or_default();
        let error = ToolError::denied(format!("`{}` was denied by {by}{why}", approval.tool));
        let over = ApprovalState::Denied;
        self.end_waiting(approval, "run.denied", by, RunState::Denied, over, error)
            .await;
    }

    /// Ends runs whose approvals nobody decided, or used, in time.
    pub async fn expire(&self) -> Result<(), StoreError> {
        let now = self.now();
        for state in [ApprovalState::Pending, ApprovalState::Approved] {
            let mut before = None;
            loop {
                let page = self
                    .inner
                    .store
                    .approvals(Some(state), before.clone(), 200)
                    .await?;
                for approval in page.iter().filter(|a| now >= a.expires) {
                    self.expire_one(approval).await?;
                }
                match page.last() {
                    Some(last) if page.len() == 200 => before = Some(last.id.clone()),
                    _ => break,
                }
            }
        }
        Ok(())
    }

    async fn expire_one(&self, approval: &Approval) -> Result<(), StoreError> {
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
        self.try_end_waiting(approval, "run.expired", "hub", state, over, error)
            .await?;
        Ok(())
    }

    /// Calls a run off.
    pub async fn cancel(&self, who: &Principal, id: &RunId) -> Result<RunState, ToolError> {
        let run = self.run(id).await?;
        if run.state.is_over() {
            let state = run.state.as_str();
            return Err(ToolError::conflict(format!("the run is over: {state}")));
        }
        let error = ToolError::denied(format!("the run was called off by {}", who.owner));
        if let Some(approval) = &run.approval
            && run.state == RunState::PendingApproval
        {
            let approval = self.approval(approval).await?;
            let (state, over) = (RunState::Cancelled, ApprovalState::Withdrawn);
            let ended = self
                .try_end_waiting(&approval, "run.cancelled", &who.owner, state, over, error)
                .await;
            if ended.map_err(|e| broken(&e))? {
                return Ok(RunState::Cancelled);
            }
        }
        let record = self.entry_of(&who.owner, "run.cancelling", id.as_str());
        self.inner
            .store
            .record(record)
            .await
            .map_err(|e| broken(&e))?;
        let stop = lock(&self.inner.running).get(id).cloned();
        match stop {
            Some(stop) => {
                lock(&stop.by).get_or_insert_with(|| who.owner.clone());
                stop.token.cancel();
                Ok(RunState::Running)
            }
            None => Ok(self.run(id).await?.state),
        }
    }

    async fn end_waiting(
        &self,
        approval: &Approval,
        event: &'static str,
        actor: &str,
        state: RunState,
        over: ApprovalState,
        error: ToolError,
    ) {
        // Where it cannot be recorded now, the sweep or the next start does it.
        let _ = self
            .try_end_waiting(approval, event, actor, state, over, error)
            .await;
    }

    async fn try_end_waiting(
        &self,
        approval: &Approval,
        event: &'static str,
        actor: &str,
        state: RunState,
        over: ApprovalState,
        error: ToolError,
    ) -> Result<bool, StoreError> {
        let record = self
            .entry_of(actor, event, approval.run.as_str())
            .with("approval", approval.id.as_str())
            .with("state", state.as_str())
            .with("message", error.message.as_str());
        let answer = waiting_answer(approval, error, state);
        let step = Move {
            run: approval.run.clone(),
            from: &[RunState::PendingApproval],
            to: state,
            at: record.at,
            exit_code: None,
            answer: Some(answer.to_value()),
            approval: Some(over),
        };
        let moved = self.inner.store.move_run(step, record).await?;
        if moved {
            lock(&self.inner.waiting).remove(&approval.run);
            self.told(Change::Approval(approval.id.clone()));
            self.told(Change::Run(approval.run.clone()));
        }
        Ok(moved)
    }

    /// Waits for a run that waits for people, at most until its approval expires.
    async fn answer_within(&self, run: &RunId, approval: &Approval) -> Answer {
        let waiting = self.answer_of(run);
        tokio::pin!(waiting);
        loop {
            let left = approval
                .expires
                .since(self.now())
                .max(Duration::from_millis(10));
            tokio::select! {
                answer = &mut waiting => return answer,
                () = tokio::time::sleep(left) => {
                    // It may have been granted; then it runs, and there is an end to wait for.
                    let _ = self.expire().await;
                }
            }
        }
    }

    fn notify(&self, approval: Approval) {
        let Some(notifier) = self.inner.notifier.clone() else {
            return;
        };
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            let mut told = Err(String::new());
            for attempt in 0..NOTICES {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_secs(u64::from(attempt))) => {}
                    () = kernel.inner.closing.cancelled() => break,
                }
                told = notifier.asked(&approval).await;
                if told.is_ok() {
                    break;
                }
            }
            let (notice, event) = match told {
                Ok(()) => (Notice::Sent, "approval.notified"),
                Err(why) => (Notice::Failed(why), "approval.notice_failed"),
            };
            let why = match &notice {
                Notice::Failed(why) => Some(why.clone()),
                _ => None,
            };
            let record = kernel
                .entry_of("hub", event, approval.run.as_str())
                .with("approval", approval.id.as_str())
                .with("why", why);
            let _ = kernel
                .inner
                .store
                .set_notice(&approval.id, notice, record)
                .await;
            kernel.told(Change::Approval(approval.id));
        });
    }
}

fn pending(ready: &Ready, approval: &Approval) -> Answer {
    let name = &ready.entry.def.name;
    let error = ToolError::permission(format!("`{name}` waits for approval `{}`", approval.id))
        .with_hint(format!(
            "it has not run; once somebody approves, its result is in run `{}`. To decide: `helve \
             approve {}`",
            approval.run, approval.id
        ));
    let mut answer = ready.answer(Err(error), RunState::PendingApproval);
    answer.meta.approval = Some(approval.id.clone());
    answer
}

fn waiting_answer(approval: &Approval, error: ToolError, state: RunState) -> Answer {
    Answer {
        result: Err(error),
        meta: crate::Meta {
            run_id: Some(approval.run.clone()),
            tool: approval.tool.clone(),
            version: Some(approval.version.clone()),
            state: Some(state),
            approval: Some(approval.id.clone()),
            ..crate::Meta::default()
        },
        writes: Vec::new(),
    }
}

fn unknown(id: &str) -> ToolError {
    ToolError::not_found(format!("there is no `{}`", id.escape_debug()))
}

fn closed(approval: &Approval) -> ToolError {
    let state = approval.state.as_str();
    ToolError::conflict(format!("the approval is not open any more: {state}"))
}

pub(super) fn broken(error: &StoreError) -> ToolError {
    ToolError::dependency(error.to_string())
}
