//! What waits for people: approvals with what they would change, and questions.

mod remember;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect};
use helve_core::def::{Reversible, Risk};
use helve_kernel::{Approval, ApprovalState, At, Diff, DiffForm, Question, QuestionId, Verdict};
use helve_kernel::{Permission, Principal};
use maud::{Markup, html};
use std::time::Duration;

use super::diff::{self, Shape, Shown, Sides};
use super::layout::{Page, alert, said, state};
use super::text::{json, line, shown, time};
use super::words::Word;
use super::{Given, Params, Sent, Visit, form};
use crate::api::{approvals, kept};
use crate::problem::Problem;
use crate::{Hub, view};

pub(super) use remember::{remember, rule};

/// The most that are shown at once, and of each the most lines of its diff.
const MOST: usize = 20;
const LINES: usize = 400;

/// The most that are counted.
const COUNTED: usize = 500;

/// How long a page waits for what an approval sets off, so that it can tell of it.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What waits, the newest first.
enum Item {
    Approval(Box<Approval>),
    Question(Box<Question>),
}

impl Item {
    fn at(&self) -> At {
        match self {
            Item::Approval(approval) => approval.created,
            Item::Question(question) => question.asked,
        }
    }
}

/// How many wait, as far as somebody may see them.
pub(super) async fn waiting(hub: &Hub, who: &Principal) -> usize {
    items(hub, who).await.map_or(0, |items| items.len())
}

async fn items(hub: &Hub, who: &Principal) -> Result<Vec<Item>, Problem> {
    if !who.may(Permission::RunRead) {
        return Ok(Vec::new());
    }
    let store = hub.kernel().store();
    let pending = store.approvals(Some(ApprovalState::Pending), None, COUNTED);
    let pending = pending.await.map_err(|e| kept(&e))?;
    let now = hub.kernel().now();
    let pending = pending
        .into_iter()
        .filter(|a| a.expires > now && approvals::visible(who, a));
    let questions = hub.kernel().questions(who).into_iter();
    let mut items: Vec<Item> = pending
        .map(|a| Item::Approval(Box::new(a)))
        .chain(questions.map(|q| Item::Question(Box::new(q))))
        .collect();
    items.sort_by_key(|item| std::cmp::Reverse(item.at()));
    Ok(items)
}

pub(super) async fn list(State(hub): State<Hub>, visit: Visit, params: Params) -> Given {
    let all = items(&hub, &visit.who).await?;
    let sides = Sides::of(&params);
    let mut drawn = Vec::new();
    for item in all.iter().take(MOST) {
        drawn.push(match item {
            Item::Approval(approval) => {
                let here = "/console/inbox?".to_owned();
                approval_article(&hub, &visit, approval, sides, LINES, here).await?
            }
            Item::Question(question) => question_article(&hub, &visit, question),
        });
    }
    let body = html! {
        h1 { (visit.t(Word::Inbox)) }
        (outcome(&hub, &visit, &params).await?)
        p.hint.keys { (visit.t(Word::Keys)) }
        div data-part="inbox" data-keyed="" data-keys="" {
            @if drawn.is_empty() { p.empty data-id="none" { (visit.t(Word::InboxEmpty)) } }
            @for article in &drawn { (article) }
            @if all.len() > MOST { p.hint data-id="more" { "+" (all.len() - MOST) } }
        }
    };
    let title = visit.t(Word::Inbox).to_owned();
    Ok(Page {
        title,
        live: "inbox",
        body,
    }
    .shown(&visit))
}

/// What came of the last click.
async fn outcome(hub: &Hub, visit: &Visit, params: &Params) -> Result<Markup, Problem> {
    let word = match params.get("done") {
        Some("approved") => Word::Approved,
        Some("remembered") => Word::Remembered,
        Some("denied") => Word::Denied,
        Some("answered") => Word::Answered,
        _ => return Ok(html! {}),
    };
    let run = match params.get("run") {
        Some(id) => crate::api::runs::seen(hub, &visit.who, id).await.ok(),
        None => None,
    };
    let failed = run.as_ref().and_then(super::runs::error_of);
    Ok(html! {
        (said(visit.t(word), run.as_ref().map(|r| r.id.as_str())))
        @if let Some(error) = failed {
            div.alert role="alert" { p { (shown(visit, &error, 2000)) } }
        }
    })
}

pub(super) async fn show(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    params: Params,
) -> Given {
    let approval = approvals::seen(&hub, &visit.who, &id).await?;
    let here = format!("/console/inbox/{id}?");
    let sides = Sides::of(&params);
    let article = approval_article(&hub, &visit, &approval, sides, 5 * LINES, here).await?;
    let body = html! {
        h1 { (visit.t(Word::Inbox)) " " code { (id) } }
        div data-part="inbox" data-keyed="" data-keys="" { (article) }
    };
    let title = format!("{} {}", visit.t(Word::Approve), approval.tool);
    Ok(Page {
        title,
        live: "inbox",
        body,
    }
    .shown(&visit))
}

/// An approval, whole: who, what, why, and what it would change.
async fn approval_article(
    hub: &Hub,
    visit: &Visit,
    approval: &Approval,
    sides: Sides,
    most: usize,
    here: String,
) -> Result<Markup, Problem> {
    let pending = approval.state == ApprovalState::Pending;
    let changes = hub.kernel().changes_kept(&approval.run).await?;
    // One whose changes cannot be read must not keep the others from being decided.
    let diff = match changes.is_some() {
        true => Some(hub.kernel().diff(&approval.run, DiffForm::Json).await),
        false => None,
    };
    let seen = !matches!(diff, Some(Err(_)));
    let entry = hub.kernel().find(&approval.tool);
    let def = entry.as_ref().map(|e| &e.def);
    let may = hub.kernel().can_decide(&visit.who, approval);
    let place = format!("/console/inbox/{}", approval.id);
    let run = approval.run.as_str();
    Ok(html! {
        article.item data-item="approval" data-id=(approval.id) data-state=(approval.state.as_str()) tabindex="-1"
            aria-label=(format!("{} {}", visit.t(Word::Approve), approval.tool)) {
            header {
                h2 {
                    a href=(place) data-tool=(approval.tool) { (line(&approval.tool)) }
                    " " (risk(def.and_then(|d| d.risk)))
                    " " (reversible(visit, def.map(|d| &d.reversible)))
                    @if !pending { " " (state(approval.state.as_str())) }
                }
                p data-who="" { (who(&approval.requester, approval.under.as_deref())) " · " (time(approval.created)) }
            }
            dl {
                dt { (visit.t(Word::Why)) } dd data-why="" { (shown(visit, &approval.reason, 1000)) }
                dt { (visit.t(Word::Expires)) } dd { (time(approval.expires)) }
                @if approval.needed > 1 {
                    dt { (visit.t(Word::Approvals)) }
                    dd { (approval.decisions.iter().filter(|d| d.verdict == Verdict::Approve).count()) " / " (approval.needed) }
                }
                dt { (visit.t(Word::Run)) } dd { a href={ "/console/runs/" (run) } { code { (run) } } }
            }
            (decisions(visit, approval))
            details open[!matches!(diff, Some(Ok(_)))] {
                summary { (visit.t(Word::Arguments)) }
                pre data-args="" tabindex="0" { (json(visit, &approval.args)) }
            }
            @match diff {
                Some(Ok(Diff::Json(value))) => {
                    (diff::diff(visit, &of(hub, run, here), &view::diff(value), Shape { sides, most, only: None }))
                },
                Some(Err(error)) => (alert(&error.into())),
                _ => {},
            }
            @if pending {
                @match may {
                    Ok(()) => (buttons(visit, &place, seen)),
                    Err(error) => p.hint { (shown(visit, &error.message, 500)) },
                }
            }
        }
    })
}

fn decisions(visit: &Visit, approval: &Approval) -> Markup {
    html! {
        @if !approval.decisions.is_empty() {
            ul.decisions aria-label=(visit.t(Word::Decisions)) {
                @for said in &approval.decisions {
                    li {
                        (state(said.verdict.as_str())) " " (line(&said.by)) " · " (time(said.at))
                        @if let Some(reason) = &said.reason { ": " (shown(visit, reason, 1000)) }
                    }
                }
            }
        }
    }
}

/// Yes only to what was seen; no is always possible.
fn buttons(visit: &Visit, place: &str, seen: bool) -> Markup {
    html! {
        div.acts {
            @if seen {
                form method="post" action={ (place) "/approve" } {
                    (visit.csrf())
                    button.main data-act="approve" { (visit.t(Word::Approve)) }
                }
                @if visit.may(Permission::ToolRegister) {
                    a.button data-act="remember" href={ (place) "/remember" } { (visit.t(Word::ApproveRemember)) }
                }
            }
            details.deny data-deny="" {
                summary.button { (visit.t(Word::DenyWhy)) }
                form method="post" action={ (place) "/deny" } {
                    (visit.csrf())
                    label {
                        (visit.t(Word::Reason))
                        textarea name="reason" rows="2" maxlength="1000" {}
                    }
                    button.danger data-act="deny" { (visit.t(Word::Deny)) }
                }
            }
        }
    }
}

/// What a diff on a page needs of the hub.
pub(super) fn of<'h>(hub: &'h Hub, run: &'h str, here: String) -> Shown<'h> {
    Shown {
        run,
        root: hub.kernel().root(),
        painter: hub.painter().map(|p| &**p),
        here,
    }
}

/// Who asks, and for whom.
pub(super) fn who(owner: &str, under: Option<&str>) -> Markup {
    html! {
        (line(owner))
        @if let Some(under) = under { " ← " (line(under)) }
    }
}

pub(super) fn risk(risk: Option<Risk>) -> Markup {
    let word = risk.map_or("write", Risk::as_str);
    html! { span.risk.(word) data-risk=(word) { (word) } }
}

pub(super) fn reversible(visit: &Visit, how: Option<&Reversible>) -> Markup {
    let (name, word) = match how {
        Some(Reversible::Yes) => ("yes", Word::ReversibleYes),
        Some(Reversible::Compensate(_)) => ("compensate", Word::ReversiblePartly),
        Some(Reversible::No) | None => ("no", Word::ReversibleNo),
    };
    html! {
        span.reversible data-reversible=(name) {
            (visit.t(word))
            @if let Some(Reversible::Compensate(tool)) = how { ": " (line(tool)) }
        }
    }
}

fn question_article(hub: &Hub, visit: &Visit, question: &Question) -> Markup {
    let answers = hub.kernel().can_answer(&visit.who, question);
    html! {
        article.item data-item="question" data-id=(question.id) tabindex="-1" aria-label=(visit.t(Word::Question)) {
            header {
                h2 { (visit.t(Word::Question)) }
                p data-who="" { (who(&question.owner, question.under.as_deref())) " · " (time(question.asked)) }
            }
            p.question data-question="" { (shown(visit, &question.text, 4000)) }
            @if !question.context.is_empty() { pre tabindex="0" { (shown(visit, &question.context, 20_000)) } }
            @if let Some(run) = &question.run {
                p { a href={ "/console/runs/" (run) } { code { (run) } } }
            }
            @if answers {
                form method="post" action={ "/console/questions/" (question.id) } {
                    (visit.csrf())
                    (form::fields(visit, question.id.as_str(), &question.form, None))
                    button.main data-act="answer" { (visit.t(Word::Answer)) }
                }
            }
        }
    }
}

pub(super) async fn approve(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    _: Sent,
) -> Given {
    let approval = decide(&hub, &visit, &id, Verdict::Approve, None).await?;
    Ok(back("approved", &approval))
}

pub(super) async fn deny(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    sent: Sent,
) -> Given {
    let reason = sent.text("reason");
    let approval = decide(&hub, &visit, &id, Verdict::Deny, reason).await?;
    Ok(back("denied", &approval))
}

fn back(done: &str, approval: &Approval) -> axum::response::Response {
    let place = format!("/console/inbox?done={done}&run={}", approval.run);
    Redirect::to(&place).into_response()
}

/// Says yes or no, and gives what that sets off a moment, so that the page can tell of it.
async fn decide(
    hub: &Hub,
    visit: &Visit,
    id: &str,
    verdict: Verdict,
    reason: Option<String>,
) -> Result<Approval, Problem> {
    if reason.as_ref().is_some_and(|r| r.chars().count() > 1000) {
        return Err(Problem::invalid(
            "the reason has more than 1,000 characters",
        ));
    }
    let approval = approvals::seen(hub, &visit.who, id).await?;
    let decided = hub
        .kernel()
        .decide(&visit.who, &approval.id, verdict, reason);
    let approval = decided.await?;
    let run = hub.kernel().wait_for(&approval.run);
    let _ = tokio::time::timeout(PATIENCE, run).await;
    Ok(approval)
}

pub(super) async fn answer(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    sent: Sent,
) -> Given {
    let parsed = QuestionId::parse(&id).ok_or_else(|| Problem::not_found(&id))?;
    let open = hub.kernel().questions(&visit.who);
    let question = open.into_iter().find(|question| question.id == parsed);
    let question = question.ok_or_else(|| {
        Problem::not_found(&id).hint("somebody has answered it, or it is no longer asked")
    })?;
    let value = form::arguments(&sent, &question.form)?;
    let answered = hub.kernel().answer_question(&visit.who, &parsed, value);
    answered.await?;
    Ok(Redirect::to("/console/inbox?done=answered").into_response())
}
