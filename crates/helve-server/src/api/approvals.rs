//! `/approvals`: what waits for people, and what they say.

use axum::extract::State;
use helve_kernel::{Approval, ApprovalId, ApprovalState, Permission, Principal, Verdict};
use serde_json::Value;

use super::{Given, kept, may_see, ok};
use crate::guard::Caller;
use crate::input::{Body, Id, Query};
use crate::problem::Problem;
use crate::{Hub, view};

/// How many are read at once: more than a page, because not all are for the caller.
const BATCH: usize = 500;

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let state = query.read("state", "a state of an approval", ApprovalState::parse)?;
    let mut before = query.read("cursor", "what `next` said", ApprovalId::parse)?;
    let store = hub.kernel().store();
    let mut found: Vec<Approval> = Vec::new();
    // Those that the caller may not see leave no gaps in a page.
    loop {
        let page = store.approvals(state, before.clone(), BATCH).await;
        let page = page.map_err(|e| kept(&e))?;
        let whole = page.len() == BATCH;
        before = page.last().map(|a| a.id.clone());
        found.extend(page.into_iter().filter(|a| visible(&who, a)));
        if !whole || found.len() > limit {
            break;
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|a| a.id.to_string());
    let mut items = Vec::with_capacity(found.len());
    for approval in &found {
        items.push(with_changes(&hub, approval).await?);
    }
    ok(&view::page(items, next))
}

/// An approval with how much the run would change, where it ran as far as that.
async fn with_changes(hub: &Hub, approval: &Approval) -> Result<Value, Problem> {
    let changes = hub.kernel().changes_kept(&approval.run).await?;
    Ok(view::approval(approval, changes.as_ref()))
}

pub(crate) fn visible(who: &Principal, approval: &Approval) -> bool {
    let decides = who.may(Permission::ApprovalDecide) && who.reaches(&approval.tool);
    decides || may_see(who, &approval.requester, approval.under.as_deref())
}

pub(crate) async fn seen(hub: &Hub, who: &Principal, id: &str) -> Result<Approval, Problem> {
    let parsed = ApprovalId::parse(id).ok_or_else(|| Problem::not_found(id))?;
    let found = hub.kernel().store().approval(&parsed).await;
    let found = found.map_err(|e| kept(&e))?;
    let found = found.filter(|a| visible(who, a));
    found.ok_or_else(|| Problem::not_found(id))
}

pub(crate) async fn show(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    let approval = seen(&hub, &who, &id).await?;
    ok(&with_changes(&hub, &approval).await?)
}

pub(crate) async fn approve(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    body: Body,
) -> Given {
    decide(&hub, &who, &id, Verdict::Approve, &body).await
}

pub(crate) async fn deny(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    body: Body,
) -> Given {
    decide(&hub, &who, &id, Verdict::Deny, &body).await
}

async fn decide(hub: &Hub, who: &Principal, id: &str, verdict: Verdict, body: &Body) -> Given {
    body.only(&["reason"])?;
    let reason = body.text("reason")?;
    if reason.as_ref().is_some_and(|r| r.chars().count() > 1000) {
        return Err(Problem::invalid("`reason` has more than 1,000 characters"));
    }
    let approval = seen(hub, who, id).await?;
    let decided = hub.kernel().decide(who, &approval.id, verdict, reason);
    ok(&with_changes(hub, &decided.await?).await?)
}
