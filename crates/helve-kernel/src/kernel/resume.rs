//! What was approved, begun.
//!
//! Before an approval is used, the hash that it is bound to is made anew from what
//! would run *now*: if a definition, a program, a link or a rule changed in between,
//! nothing runs.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use helve_core::marked::{Mark, marked};
use serde_json::Value;

use super::approve::broken;
use super::execute::{Execution, Start};
use super::pass::Ready;
use super::{Kernel, authorize, lock, read};
use crate::run::{Run, RunState};
use crate::store::AuditFilter;
use crate::{
    Approval, ApprovalId, ApprovalState, Ctx, Entry, ErrorKind, Principal, Token, TokenId,
    ToolError, Verdict, Wait, panic_text,
};

/// How far a run got that waited for people.
enum State {
    /// It was asked for.
    Asked,
    /// It has run, and its changes are held back.
    Staged,
}

impl Kernel {
    /// Begins the run of an approval that was granted, unless it is under way here.
    /// While the hub stops it stays as it is, and the next start begins it.
    pub(super) fn resume(&self, approval: Approval) {
        if self.inner.closing.is_cancelled() {
            return;
        }
        let Some(claim) = self.claim(&approval.run) else {
            return;
        };
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            let ready = AssertUnwindSafe(kernel.ready_again(&approval)).catch_unwind();
            let ready = ready.await.unwrap_or_else(|panic| {
                let what = panic_text(&*panic);
                Err(ToolError::internal(format!("a check crashed: {what}")))
            });
            match ready {
                Ok((ready, State::Staged)) => kernel.commit_approved(ready, approval, claim).await,
                Ok((ready, State::Asked)) => {
                    let start = Start::Approved(approval.id.clone(), approval.bound);
                    Execution::new(&kernel, ready, start, claim).whole().await;
                }
                Err(_) if kernel.is_too_late(&approval) => {
                    // If it cannot be recorded now, the sweep does it.
                    let _ = kernel.expire_one(&approval).await;
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

    /// Begins a run whose approval was granted before it could be claimed.
    pub(super) async fn resume_granted(&self, approval: Option<ApprovalId>) {
        let Some(id) = approval else {
            return;
        };
        // What cannot be looked at now is begun at the next start.
        if let Ok(Some(approval)) = self.inner.store.approval(&id).await
            && approval.state == ApprovalState::Approved
        {
            self.resume(approval);
        }
    }

    /// The call as it was asked, checked against what is true now.
    async fn ready_again(&self, approval: &Approval) -> Result<(Ready, State), ToolError> {
        let kept = lock(&self.inner.waiting).remove(&approval.run);
        let changes = self.inner.store.changes(&approval.run).await;
        let changes = changes.map_err(|e| broken(&e))?.map(|c| c.id);
        let old = match kept {
            Some(ready) => ready,
            None => self.remembered(approval, changes.is_some()).await?,
        };
        let entry = self.resolve(&approval.tool)?;
        let principal = match &old.principal.token {
            Some(token) => self.bearer(token)?,
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
        let decision = self.decide_call(&entry, &principal, &old.args, resolved.as_ref());
        let yes = |d: &&crate::Decision| d.verdict == Verdict::Approve;
        let agreed = approval.decisions.iter().filter(yes).count();
        authorize::still_open(&decision, u32::try_from(agreed).unwrap_or(u32::MAX))?;
        self.still_approved(approval).await?;
        let ready = Ready {
            hidden: old.hidden.clone().or_else(|| self.hide(&entry, &old.args)),
            entry,
            principal,
            resolved,
            decision,
            ..old
        };
        if self.bound(&ready, changes.as_ref()) != approval.bound {
            let error = ToolError::conflict("what was approved is not what would run now");
            return Err(error.with_hint("the tool has changed since; call it again"));
        }
        let state = match changes {
            Some(_) => State::Staged,
            None => State::Asked,
        };
        Ok((ready, state))
    }

    /// Every yes must still be one: from somebody who could say it now, and who is not
    /// the same as another. Whoever decided without a token is taken at their word.
    async fn still_approved(&self, approval: &Approval) -> Result<(), ToolError> {
        let decided = AuditFilter {
            resource: Some(approval.run.to_string()),
            event: Some("approval.decided".to_owned()),
            ..AuditFilter::default()
        };
        let decided = self.inner.store.audit(decided, 1000).await;
        let decided = decided.map_err(|e| broken(&e))?;
        let showed_one = |owner: &str| {
            let mut theirs = decided.iter().filter(|e| e.record["actor"] == owner);
            theirs.any(|e| e.record["details"]["token"].is_string())
        };
        let yes = approval.decisions.iter();
        let yes = yes.filter(|d| d.verdict == Verdict::Approve);
        let yes: Vec<&str> = yes.map(|d| d.by.as_str()).collect();
        for (i, owner) in yes.iter().copied().enumerate() {
            let counts = self.independent(yes[..i].iter().copied(), owner);
            counts.map_err(|e| ToolError::denied(e.message))?;
            if showed_one(owner) && !self.could_decide(owner, approval) {
                let error = ToolError::denied(format!(
                    "`{owner}`, who approved it, may not decide any more"
                ));
                return Err(error.with_hint("call the tool again to ask anew"));
            }
        }
        Ok(())
    }

    /// Whether somebody has a token with which they could decide now.
    fn could_decide(&self, owner: &str, approval: &Approval) -> bool {
        let now = self.now();
        let tokens = read(&self.inner.tokens);
        let theirs = tokens.all().filter(|t| t.owner == owner && t.is_live(now));
        let theirs: Vec<Principal> = theirs.map(Token::principal).collect();
        drop(tokens);
        theirs.iter().any(|p| self.can_decide(p, approval).is_ok())
    }

    /// The call out of the store, after a restart.
    async fn remembered(&self, approval: &Approval, ran: bool) -> Result<Ready, ToolError> {
        let run = self.run(&approval.run).await?;
        let entry = self.resolve(&run.tool)?;
        let Value::Object(args) = run.args.clone() else {
            return Err(ToolError::internal("the arguments of the run are damaged"));
        };
        if !ran
            && entry.has_secrets
            && !marked(&entry.def.input_schema, &args, Mark::Secret).is_empty()
        {
            let error =
                ToolError::dependency("the hub was restarted, and it does not keep secrets");
            return Err(error.with_hint("call the tool again"));
        }
        let principal = self.asker_of(&run, &entry).await?;
        let ctx = Ctx::builder()
            .run_id(run.id.as_str())
            .principal(run.owner.as_str());
        let ctx = match &run.agent {
            Some(agent) => ctx.agent_id(agent.as_str()),
            None => ctx,
        };
        Ok(Ready {
            ctx: ctx.build(),
            // Decided anew once all that it depends on is there.
            decision: self.decide_call(&entry, &principal, &args, None),
            resolved: None,
            // Of what has run already, no secret is needed any more.
            hidden: ran.then(|| args.clone()),
            args,
            entry,
            principal,
            coerced: Vec::new(),
            key: None,
            wait: Wait::Nothing,
            created: run.created,
            dry_run: false,
            run: run.id,
            through: None,
        })
    }

    /// Who asked: the bearer of the token that is on the record. Somebody who asked
    /// without one is known again by a live token of theirs that reaches the tool.
    async fn asker_of(&self, run: &Run, entry: &Entry) -> Result<Arc<Principal>, ToolError> {
        let asked = AuditFilter {
            resource: Some(run.id.to_string()),
            ..AuditFilter::default()
        };
        let asked = self.inner.store.audit(asked, 100).await;
        let asked = asked.map_err(|e| broken(&e))?;
        let token = asked
            .iter()
            .find(|e| {
                ["run.asked", "run.staged"]
                    .contains(&e.record["event"].as_str().unwrap_or_default())
            })
            .and_then(|e| e.record["details"]["token"].as_str());
        if let Some(token) = token {
            let damaged = || ToolError::internal("the record of the question is damaged");
            return self.bearer(&TokenId::parse(token).ok_or_else(damaged)?);
        }
        self.known_again(&run.owner, entry)
    }

    /// Somebody of whom only the name is known, by a live token of theirs that reaches
    /// the tool.
    pub(super) fn known_again(
        &self,
        owner: &str,
        entry: &Entry,
    ) -> Result<Arc<Principal>, ToolError> {
        let now = self.now();
        let tokens = read(&self.inner.tokens);
        let mut able = tokens
            .all()
            .filter(|t| t.owner == owner && t.is_live(now))
            .map(|t| Arc::new(t.principal()))
            .filter(|p| authorize::permitted(p, entry).is_ok());
        able.next().ok_or_else(|| {
            ToolError::permission(format!(
                "`{owner}`, who asked, has no token that may call the tool"
            ))
        })
    }

    /// Whoever shows a token that still counts.
    pub(super) fn bearer(&self, token: &TokenId) -> Result<Arc<Principal>, ToolError> {
        let tokens = read(&self.inner.tokens);
        let live = tokens.by_id(token).filter(|t| t.is_live(self.now()));
        live.map(|t| Arc::new(t.principal()))
            .ok_or_else(|| ToolError::permission("the token that asked no longer counts"))
    }
}
