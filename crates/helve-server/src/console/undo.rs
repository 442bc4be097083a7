//! Undo: what it will put back is shown first, and any conflict.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect};
use helve_kernel::UndoCall;
use maud::html;

use super::layout::Page;
use super::text::{line, shown};
use super::words::Word;
use super::{Given, Params, Sent, Visit};
use crate::Hub;
use crate::api::runs;
use crate::problem::{Problem, crashed};

/// Lines of the preview.
const LINES: usize = 2_000;

pub(super) async fn ask(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    params: Params,
) -> Given {
    let run = runs::seen(&hub, &visit.who, &id).await?;
    let force = params.get("force") == Some("yes");
    let call = UndoCall {
        runs: vec![run.id.clone()],
        force,
        dry_run: true,
        ..UndoCall::default()
    };
    let tried = hub.kernel().undo(&visit.who, call).await;
    let body = html! {
        h1 { (visit.t(Word::Undo)) " " a href={ "/console/runs/" (id) } { code { (id) } } }
        p { (line(&run.tool)) }
        @match &tried.result {
            Ok(_) => {
                h2 { (visit.t(Word::UndoWhat)) }
                (super::diff::plain(&visit, tried.meta.diff.as_deref().unwrap_or_default(), LINES))
                form method="post" {
                    (visit.csrf())
                    @if force { input type="hidden" name="force" value="yes"; }
                    button.danger data-act="undo-now" { (visit.t(Word::UndoNow)) }
                }
            },
            Err(error) => {
                div.alert role="alert" {
                    p { (visit.t(Word::Conflict)) }
                    p { (shown(&visit, &error.message, 4000)) }
                    @if let Some(hint) = &error.hint { p.hint { (shown(&visit, hint, 1000)) } }
                }
                @if !force && error.kind == helve_kernel::ErrorKind::Conflict {
                    p { a href="?force=yes" { (visit.t(Word::ForceUndo)) } }
                }
            },
        }
    };
    let title = format!("{} {}", visit.t(Word::UndoNow), run.tool);
    Ok(Page {
        title,
        live: "",
        body,
    }
    .shown(&visit))
}

pub(super) async fn now(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    sent: Sent,
) -> Given {
    let run = runs::seen(&hub, &visit.who, &id).await?;
    let call = UndoCall {
        runs: vec![run.id],
        force: sent.get("force") == Some("yes"),
        ..UndoCall::default()
    };
    let answer = hub.kernel().undo(&visit.who, call).await;
    hub.metrics().called(&answer);
    answer.result.map_err(Problem::from)?;
    let undid = answer.meta.run_id.ok_or_else(crashed)?;
    Ok(Redirect::to(&format!("/console/runs/{undid}?done=undone")).into_response())
}
