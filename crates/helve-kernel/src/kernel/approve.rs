//! Approvals: how one is asked for, and who may decide it.
//!
//! An approval is bound to the hash of all that was asked. What becomes of a decision
//! stands in `resume`, and what becomes of a question without one in `waiting`.

use helve_core::audit::{Hash, hash_of};
use helve_core::def::Risk;
use serde_json::{Value, json};

use super::pass::{Ready, not_recorded};
use super::waiting::Asker;
use super::{Kernel, lock, read};
use crate::run::RunState;
use crate::store::{Decided, Opened, StoreError};
use crate::{
    Answer, Approval, ApprovalId, ApprovalState, Change, Decision, Notice, Permission, Principal,
    RunId, Token, TokenId, ToolError, Verdict, Wait,
};

impl Kernel {
    /// Opens a run that waits for people.
    pub(super) async fn ask(&self, ready: Ready) -> Answer {
        let approval = self.approval_of(&ready);
        let asker = (ready.wait == Wait::Decision).then(|| Asker::new(self, &ready.run));
        let (kernel, asked, question) = (self.clone(), ready.clone(), approval.clone());
        let opened = self
            .through(async move { kernel.open_asked(asked, question).await })
            .await;
        match opened {
            Err(error) => return self.unopened(&ready, error),
            Ok(Opened::KeyTaken) => return self.key_taken(&ready).await,
            Ok(Opened::Same(run)) if ready.wait == Wait::Nothing => {
                return self.answer_so_far(&run).await;
            }
            Ok(Opened::Same(run)) => return self.answer_of(&run, ready.wait).await,
            Ok(Opened::New) => {}
        }
        match asker {
            None => pending(&ready, &approval),
            Some(asker) => {
                let mut answer = asker.answer().await;
                answer.meta.coerced = ready.coerced;
                answer
            }
        }
    }

    async fn open_asked(&self, ready: Ready, approval: Approval) -> Result<Opened, ToolError> {
        let mut run = self.run_of(&ready, RunState::PendingApproval);
        run.approval = Some(approval.id.clone());
        let record = self
            .run_record(&ready, "run.asked")
            .with("approval", approval.id.as_str())
            .with("bound", approval.bound.to_string())
            .with("needed", approval.needed);
        let (id, key) = (ready.run.clone(), ready.idempotency());
        let caller = ready.ctx.caller().cloned();
        // Before it is open: it can be decided from then on.
        lock(&self.inner.waiting).insert(id.clone(), ready);
        let opened = self
            .inner
            .store
            .open_run(run, Some(approval.clone()), key, record)
            .await;
        if !matches!(opened, Ok(Opened::New)) {
            lock(&self.inner.waiting).remove(&id);
        }
        let opened = opened.map_err(|e| not_recorded(&e))?;
        if opened == Opened::New {
            self.told(Change::Run(id));
            self.told(Change::Approval(approval.id.clone()));
            if let Some(caller) = caller {
                caller.waits(&approval);
            }
            self.notify(approval);
        }
        Ok(opened)
    }

    pub(super) fn approval_of(&self, ready: &Ready) -> Approval {
        Approval {
            id: ApprovalId::fresh(),
            run: ready.run.clone(),
            bound: self.bound(ready, None),
            tool: ready.entry.def.name.to_string(),
            version: ready.entry.numbered.clone(),
            args: Value::Object(ready.kept().clone()),
            requester: ready.principal.owner.clone(),
            under: ready.principal.under.clone(),
            reason: self.reason_of(ready),
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

    /// Why people are asked; and before it runs, where what it does cannot be shown.
    fn reason_of(&self, ready: &Ready) -> String {
        let reason = &ready.decision.reason;
        let writes = matches!(ready.entry.def.risk, Some(Risk::Write) | None);
        match self.holds(&ready.entry) {
            Err(why) if writes => format!("{reason}; its effect cannot be shown before: {why}"),
            _ => reason.clone(),
        }
    }

    /// The hash of all that a person says yes to.
    pub(super) fn bound(&self, ready: &Ready, changes: Option<&Hash>) -> Hash {
        let def = &ready.entry.def;
        let resolved = ready.resolved.as_ref();
        // Where the paths lead is part of it: a link may be turned around afterwards.
        let places = resolved.map(|args| self.hide(&ready.entry, args).unwrap_or(args.clone()));
        let asked = json!({
            "run": ready.run.as_str(),
            "tool": def.name.as_str(),
            "version": ready.entry.hash.to_string(),
            "args": ready.kept(),
            "resolved": places,
            "root": self.inner.root.display().to_string(),
            "executor": def.executor.as_ref().map(|e| e.kind.as_str()),
            "requester": ready.principal.owner,
            "changes": changes.map(Hash::to_string),
        });
        hash_of(&asked).unwrap_or_else(|_| Hash::of(asked.to_string().as_bytes()))
    }

    /// Whether somebody may decide an approval: the one place that says so.
    pub fn can_decide(&self, who: &Principal, approval: &Approval) -> Result<(), ToolError> {
        self.allowed(who, Permission::ApprovalDecide)?;
        if who.owner == approval.requester {
            let error = ToolError::permission("whoever asked cannot be the one who decides");
            return Err(error.with_hint("somebody else with `approval:decide` must do it"));
        }
        if self.owes_its_token_to(who, &approval.requester) {
            return Err(ToolError::permission(format!(
                "`{}` has its token from `{}`, who asked; it cannot decide",
                who.owner, approval.requester
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

    /// Refuses a yes beside that of somebody who gave, or has, the token behind it: the
    /// two may be one.
    pub(super) fn independent<'o>(
        &self,
        mut others: impl Iterator<Item = &'o str>,
        owner: &str,
    ) -> Result<(), ToolError> {
        let tokens = read(&self.inner.tokens);
        let now = self.now();
        let gave = |maker: &str, owner: &str| {
            let decides = |t: &Token| t.permissions.contains(&Permission::ApprovalDecide);
            let mut theirs = tokens.all().filter(|t| t.owner == owner && t.is_live(now));
            maker != owner && theirs.any(|t| decides(t) && t.created_by == maker)
        };
        match others.find(|other| gave(other, owner) || gave(owner, other)) {
            None => Ok(()),
            Some(other) => Err(ToolError::permission(format!(
                "`{owner}` and `{other}`, who has approved it, count as one: one of them has \
                 a token from the other"
            ))
            .with_hint("somebody else with `approval:decide` must decide as well")),
        }
    }

    /// Says yes or no to an approval. With the last yes that is needed, the run begins.
    pub async fn decide(
        &self,
        who: &Principal,
        id: &ApprovalId,
        verdict: Verdict,
        reason: Option<String>,
    ) -> Result<Approval, ToolError> {
        let (kernel, who, id) = (self.clone(), who.clone(), id.clone());
        self.through(async move { kernel.decide_now(&who, &id, verdict, reason).await })
            .await
    }

    async fn decide_now(
        &self,
        who: &Principal,
        id: &ApprovalId,
        verdict: Verdict,
        reason: Option<String>,
    ) -> Result<Approval, ToolError> {
        self.allowed(who, Permission::ApprovalDecide)?;
        let approval = self.approval(id).await?;
        self.can_decide(who, &approval)?;
        if verdict == Verdict::Approve {
            let earlier = approval.decisions.iter().map(|d| d.by.as_str());
            self.independent(earlier, &who.owner)?;
        }
        if approval.state == ApprovalState::Pending && self.is_too_late(&approval) {
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
            .with("token", who.token.as_ref().map(TokenId::as_str));
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
}

fn pending(ready: &Ready, approval: &Approval) -> Answer {
    let error = waits(&approval.tool, Some(&approval.id), &approval.run);
    let mut answer = ready.answer(Err(error), RunState::PendingApproval);
    answer.meta.approval = Some(approval.id.clone());
    answer
}

/// What is said of a run that waits for people.
pub(super) fn waits(tool: &str, approval: Option<&ApprovalId>, run: &RunId) -> ToolError {
    let id = approval.map(|id| format!(" `{id}`")).unwrap_or_default();
    let decide = approval.map(|id| format!(". To decide: `helve approve {id}`"));
    ToolError::permission(format!("`{tool}` waits for approval{id}")).with_hint(format!(
        "it has not run; once somebody approves, its result is in run `{run}`{}",
        decide.unwrap_or_default()
    ))
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
