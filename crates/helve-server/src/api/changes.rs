//! What runs changed: diffs, undo, the past of a path, and for how long it is kept.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Body as Sent;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use helve_kernel::{
    Diff, DiffForm, Past, Principal, PrincipalKind, Run, RunId, RunState, UndoCall,
};
use serde_json::{Value, json};

use super::approvals::visible;
use super::runs::{answered, seen};
use super::{Given, kept, may_see, ok};
use crate::guard::Caller;
use crate::input::{Body, Id, MOST, Query};
use crate::problem::{Problem, crashed};
use crate::{Hub, view};

pub(crate) async fn diff(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    headers: HeaderMap,
    query: Query,
) -> Given {
    let form = query.read("format", "`json`, `text` or `patch`", form)?;
    let (form, kind) = match form {
        Some(form) => (form, content(form)),
        None => accepted(&headers),
    };
    let run = shown_to(&hub, &who, &id).await?;
    match hub.kernel().diff(&run.id, form).await? {
        Diff::Json(value) => ok(&view::diff(value)),
        Diff::Text(text) => sent(kind, text.into()),
        Diff::Patch(bytes) => sent(kind, bytes.into()),
    }
}

/// The words for the forms of a diff.
pub(crate) const FORMS: [&str; 3] = ["json", "text", "patch"];

fn form(word: &str) -> Option<DiffForm> {
    match word {
        "json" => Some(DiffForm::Json),
        "text" => Some(DiffForm::Text),
        "patch" => Some(DiffForm::Patch),
        _ => None,
    }
}

fn content(form: DiffForm) -> &'static str {
    match form {
        DiffForm::Json => "application/json",
        DiffForm::Text => PLAIN,
        DiffForm::Patch => DIFF,
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const DIFF: &str = "text/x-diff";

/// Whoever asks for text gets the one for people; a patch has to be asked for by name.
fn accepted(headers: &HeaderMap) -> (DiffForm, &'static str) {
    let accept = headers.get(header::ACCEPT).and_then(|v| v.to_str().ok());
    let accept = accept.unwrap_or_default();
    match accept {
        _ if accept.contains("application/json") => (DiffForm::Json, content(DiffForm::Json)),
        _ if accept.contains(DIFF) => (DiffForm::Text, DIFF),
        _ if accept.contains("text/plain") => (DiffForm::Text, PLAIN),
        _ => (DiffForm::Json, content(DiffForm::Json)),
    }
}

fn sent(kind: &'static str, body: Sent) -> Given {
    let response = Response::builder().header(header::CONTENT_TYPE, kind);
    response.body(body).map_err(|_| crashed())
}

/// A run whose changes the caller may look at: one that they may see, or one that they
/// are asked about.
pub(crate) async fn shown_to(hub: &Hub, who: &Principal, id: &str) -> Result<Run, Problem> {
    let hidden = match seen(hub, who, id).await {
        Err(hidden) if hidden.status == StatusCode::NOT_FOUND => hidden,
        found => return found,
    };
    let Some(id) = RunId::parse(id) else {
        return Err(hidden);
    };
    let store = hub.kernel().store();
    let run = store.run(&id).await.map_err(|e| kept(&e))?;
    let Some(run) = run.filter(|run| run.state == RunState::Staged) else {
        return Err(hidden);
    };
    let approval = match &run.approval {
        Some(approval) => store.approval(approval).await.map_err(|e| kept(&e))?,
        None => None,
    };
    match approval.is_some_and(|approval| visible(who, &approval)) {
        true => Ok(run),
        false => Err(hidden),
    }
}

pub(crate) async fn undo_run(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    body: Body,
) -> Given {
    body.only(&["paths", "force", "dry_run"])?;
    let run = seen(&hub, &who, &id).await?;
    let call = UndoCall {
        runs: vec![run.id],
        ..how(&body)?
    };
    taken_back(&hub, &who, call).await
}

pub(crate) async fn undo(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    body.only(&["runs", "since", "paths", "force", "dry_run"])?;
    let mut call = how(&body)?;
    let named = body.texts("runs")?.unwrap_or_default();
    if named.len() > MOST {
        return Err(Problem::invalid(format!("`runs` has more than {MOST}")));
    }
    let since = body.text("since")?;
    if named.is_empty() && since.is_none() {
        return Err(Problem::invalid("`runs` or `since` must name a run"));
    }
    for id in &named {
        let run = seen(&hub, &who, id).await?.id;
        if !call.runs.contains(&run) {
            call.runs.push(run);
        }
    }
    if let Some(id) = since {
        call.since = Some(seen(&hub, &who, &id).await?.id);
    }
    taken_back(&hub, &who, call).await
}

/// The part of an undo that all have.
fn how(body: &Body) -> Result<UndoCall, Problem> {
    let paths = body.texts("paths")?.unwrap_or_default();
    if paths.len() > PATHS {
        return Err(Problem::invalid(format!("`paths` has more than {PATHS}")));
    }
    if paths.iter().any(|p| p.is_empty() || p.contains('\0')) {
        return Err(Problem::invalid("`paths` has one that is no path"));
    }
    Ok(UndoCall {
        paths: paths.into_iter().map(PathBuf::from).collect(),
        force: body.flag("force")?,
        dry_run: body.flag("dry_run")?,
        ..UndoCall::default()
    })
}

/// The most paths that one undo may name.
pub(crate) const PATHS: usize = 1000;

/// An undo that was done; one that was not is a problem, for it has changed nothing.
async fn taken_back(hub: &Hub, who: &Arc<Principal>, call: UndoCall) -> Given {
    let answer = hub.kernel().undo(who, call).await;
    hub.metrics().called(&answer);
    match (&answer.result, &answer.meta.run_id, answer.meta.state) {
        (Ok(_), Some(run), Some(state)) => Ok(answered(run, state, &answer)),
        (Ok(_), _, _) => Err(crashed()),
        (Err(error), _, _) => Err(error.clone().into()),
    }
}

pub(crate) async fn pin(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    set_pinned(&hub, &who, &id, true).await
}

pub(crate) async fn unpin(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    set_pinned(&hub, &who, &id, false).await
}

async fn set_pinned(hub: &Hub, who: &Principal, id: &str, pinned: bool) -> Given {
    let run = seen(hub, who, id).await?;
    let changed = hub.kernel().pin(who, &run.id, pinned).await?;
    ok(&json!({"run_id": run.id.as_str(), "pinned": pinned, "changed": changed}))
}

pub(crate) async fn purge(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    for_people(&who)?;
    let run = seen(&hub, &who, &id).await?;
    let done = hub.kernel().purge(&who, &run.id).await?;
    let expired = done.expired.iter().map(RunId::as_str);
    ok(
        &json!({"run_id": run.id.as_str(), "records": done.records, "expired": expired.collect::<Vec<_>>()}),
    )
}

/// What is let go is gone for good, and no program decides that.
fn for_people(who: &Principal) -> Result<(), Problem> {
    if who.kind != PrincipalKind::Person {
        let detail = "only people let go of what could be wanted back";
        return Err(Problem::new(StatusCode::FORBIDDEN, "permission", detail));
    }
    Ok(())
}

pub(crate) async fn collect(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    body.only(&[])?;
    for_people(&who)?;
    let done = hub.kernel().collect(hub.settings().keeping).await?;
    let expired = done.expired.iter().map(RunId::as_str);
    ok(&json!({"expired": expired.collect::<Vec<_>>(), "bytes": done.bytes}))
}

/// A place in the history: of the commit `order`, the first `skip` lines are behind.
/// A commit may have more lines than a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor {
    order: u64,
    skip: usize,
}

/// The most lines of one commit that are gone through, as many as six digits hold.
const SKIP: usize = 999_999;

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let (order, skip) = text.split_once('.')?;
        let digits = |t: &str, most| t.len() <= most && t.bytes().all(|b| b.is_ascii_digit());
        let plain = digits(order, 18) && digits(skip, 6);
        let cursor = || {
            Some(Self {
                order: order.parse().ok()?,
                skip: skip.parse().ok()?,
            })
        };
        plain.then(cursor).flatten()
    }

    /// The place behind this line.
    fn after(at: Option<Self>, line: &Past) -> Self {
        let order = line.order;
        match at {
            Some(at) if at.order == order && at.skip < SKIP => Self {
                order,
                skip: at.skip + 1,
            },
            Some(at) if at.order == order => Self {
                order: order.saturating_sub(1),
                skip: 0,
            },
            _ => Self { order, skip: 1 },
        }
    }
}

/// How many lines are read at once: more than a page, because not all are for the caller.
const BATCH: usize = 500;

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let mut at = query.read("cursor", "what `next` said", Cursor::parse)?;
    let path = query.get("path").map(Path::new);
    let mut runs: HashMap<RunId, Option<Run>> = HashMap::new();
    let mut items: Vec<Value> = Vec::new();
    loop {
        let (before, skip) = (at.map(|at| at.order + 1), at.map_or(0, |at| at.skip));
        let read = hub.kernel().past(path, before, skip + BATCH).await?;
        let whole = read.len() == skip + BATCH;
        for line in read.iter().skip(skip) {
            let run = run_of(&hub, &who, &mut runs, &line.run).await?;
            if let Some(run) = run {
                if items.len() == limit {
                    let next = at.map(|at| format!("{}.{}", at.order, at.skip));
                    return ok(&view::page(items, next));
                }
                items.push(view::past(line, run));
            }
            at = Some(Cursor::after(at, line));
        }
        if !whole {
            return ok(&view::page(items, None));
        }
    }
}

/// The run of a line, if it is for the caller; each is looked up once.
async fn run_of<'r>(
    hub: &Hub,
    who: &Principal,
    runs: &'r mut HashMap<RunId, Option<Run>>,
    id: &RunId,
) -> Result<Option<&'r Run>, Problem> {
    if !runs.contains_key(id) {
        let found = hub.kernel().store().run(id).await;
        let found = found.map_err(|e| kept(&e))?;
        let found = found.filter(|run| may_see(who, &run.owner, run.under.as_deref()));
        runs.insert(id.clone(), found);
    }
    Ok(runs.get(id).and_then(Option::as_ref))
}

#[cfg(test)]
mod tests {
    use helve_kernel::Touched;

    use super::*;

    #[test]
    fn a_cursor_goes_through_a_commit_line_by_line() {
        let line = |order| Past {
            order,
            run: RunId::fresh(),
            touched: Touched {
                path: b"/a".to_vec(),
                kind: "created".to_owned(),
            },
        };
        let at = |order, skip| Some(Cursor { order, skip });
        for (from, order, to) in [
            (None, 7, at(7, 1)),
            (at(7, 1), 7, at(7, 2)),
            (at(7, 2), 5, at(5, 1)),
            (at(7, SKIP), 7, at(6, 0)),
        ] {
            assert_eq!(Some(Cursor::after(from, &line(order))), to, "{from:?}");
        }
    }

    #[test]
    fn only_what_was_said_is_a_cursor() {
        assert_eq!(Cursor::parse("7.12"), Some(Cursor { order: 7, skip: 12 }));
        for text in [
            "",
            "7",
            ".",
            "7.",
            ".1",
            "+7.1",
            "7.-1",
            "7.1000000",
            "7.1.1",
        ] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
        let long = format!("{}.0", "9".repeat(19));
        assert_eq!(Cursor::parse(&long), None);
    }
}
