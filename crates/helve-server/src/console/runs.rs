//! Runs: which there were, and all of one.

use std::collections::VecDeque;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect};
use helve_kernel::store::RunFilter;
use helve_kernel::{At, Diff, DiffForm, Permission, Run, RunId, RunState, run_answer};
use maud::{Markup, html};
use serde_json::Value;

use super::diff::{Shape, Sides};
use super::inbox::{of, who};
use super::layout::{Page, said, state};
use super::text::{LONGEST, json, line, shown, time, took, visible};
use super::words::Word;
use super::{Given, Params, Sent, Visit};
use crate::api::{kept, runs};
use crate::problem::Problem;
use crate::stream::{self, Text};
use crate::{Hub, view};

/// Runs on a page, lines of a diff, chunks of output.
const PAGE: usize = 50;
const LINES: usize = 2_000;
const CHUNKS: usize = 500;

pub(super) async fn list(State(hub): State<Hub>, visit: Visit, params: Params) -> Given {
    let all = visit.may(Permission::AuditRead);
    let filter = RunFilter {
        tool: params.get("tool").map(|name| {
            let entry = hub.kernel().find(name);
            entry.map_or_else(|| name.to_owned(), |e| e.def.name.to_string())
        }),
        state: read(&params, "state", RunState::parse)?,
        owner: (!all).then(|| visit.who.owner.clone()),
        who: params.get("who").map(str::to_owned),
        since: read(&params, "since", moment)?,
        until: read(&params, "until", moment)?,
        before: read(&params, "before", RunId::parse)?,
    };
    let found = hub.kernel().store().runs(filter, PAGE + 1).await;
    let mut found = found.map_err(|e| kept(&e))?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found
        .last()
        .filter(|_| more)
        .map(|r| older(&params, r.id.as_str()));
    let body = html! {
        h1 { (visit.t(Word::Runs)) }
        (filters(&visit, &params))
        div.scroll data-part="runs" tabindex="0" role="region" aria-label=(visit.t(Word::Runs)) {
            table.list data-list="runs" {
                thead { tr {
                    @for word in [Word::Time, Word::Tool, Word::State, Word::Who, Word::Duration] { th scope="col" { (visit.t(word)) } }
                } }
                tbody {
                    @for run in &found { (row(run)) }
                    @if found.is_empty() { tr { td colspan="5" { (visit.t(Word::NoRuns)) } } }
                }
            }
        }
        @if let Some(next) = next { p.more { a href=(next) rel="next" { (visit.t(Word::Next)) } } }
    };
    let title = visit.t(Word::Runs).to_owned();
    // An older page does not change by itself.
    let live = if params.get("before").is_some() {
        ""
    } else {
        "runs"
    };
    Ok(Page { title, live, body }.shown(&visit))
}

/// A parameter that must be understood if it is there.
pub(super) fn read<T>(
    params: &Params,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Problem> {
    let Some(text) = params.get(name) else {
        return Ok(None);
    };
    let wrong = || {
        Problem::bad_request(format!(
            "`{name}` cannot be `{}`",
            crate::problem::shown(text)
        ))
    };
    read(text).map(Some).ok_or_else(wrong)
}

/// A moment as people and date fields write it; UTC where nothing else is said.
pub(super) fn moment(text: &str) -> Option<At> {
    let tries = [
        text.to_owned(),
        format!("{text}Z"),
        format!("{text}:00Z"),
        format!("{text}T00:00:00Z"),
    ];
    tries.iter().find_map(|t| At::parse(t))
}

/// The same page, further back.
pub(super) fn older(params: &Params, before: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::from("?"));
    for (name, value) in params
        .0
        .iter()
        .filter(|(n, v)| n != "before" && !v.is_empty())
    {
        query.append_pair(name, value);
    }
    query.append_pair("before", before);
    query.finish()
}

fn filters(visit: &Visit, params: &Params) -> Markup {
    let value = |name: &str| params.get(name).unwrap_or_default().to_owned();
    html! {
        form.filters method="get" {
            label { (visit.t(Word::Tool)) input name="tool" value=(value("tool")); }
            label { (visit.t(Word::State))
                select name="state" {
                    option value="" { (visit.t(Word::All)) }
                    @for state in RunState::ALL {
                        option value=(state.as_str()) selected[value("state") == state.as_str()] { (state.as_str()) }
                    }
                }
            }
            label { (visit.t(Word::Who)) input name="who" value=(value("who")); }
            label { (visit.t(Word::Since)) input name="since" placeholder="2026-01-31" value=(value("since")); }
            label { (visit.t(Word::Until)) input name="until" placeholder="2026-01-31" value=(value("until")); }
            button { (visit.t(Word::Filter)) }
        }
    }
}

pub(super) fn row(run: &Run) -> Markup {
    html! {
        tr data-run=(run.id) data-state=(run.state.as_str()) {
            td { a href={ "/console/runs/" (run.id) } { (time(run.created)) } }
            td { (line(&run.tool)) }
            td { (state(run.state.as_str())) }
            td { (who(&run.owner, run.under.as_deref())) }
            td { @if let (Some(from), Some(to)) = (run.started, run.ended) { (took(from, to)) } }
        }
    }
}

/// What went wrong, where something did.
pub(super) fn error_of(run: &Run) -> Option<String> {
    let answer = run.answer.as_ref()?;
    let error = answer.get("error").filter(|e| !e.is_null())?;
    let message = error["message"].as_str().map(str::to_owned);
    Some(message.unwrap_or_else(|| error.to_string()))
}

pub(super) async fn show(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    params: Params,
) -> Given {
    let run = crate::api::changes::shown_to(&hub, &visit.who, &id).await?;
    let changes = hub.kernel().changes_kept(&run.id).await?;
    let diff = match &changes {
        Some(_) => hub.kernel().diff(&run.id, DiffForm::Json).await.ok(),
        None => None,
    };
    let logs = written(&hub, &run).await?;
    let undoable = visit.may(Permission::RunUndo)
        && changes
            .as_ref()
            .is_some_and(|c| c.state.as_str() == "committed");
    let here = format!("/console/runs/{id}?");
    let body = html! {
        h1 { (visit.t(Word::Run)) " " code { (id) } }
        @if params.get("done") == Some("undone") { (said(visit.t(Word::Undone), None)) }
        @if params.get("done") == Some("cancelled") { (said(visit.t(Word::Cancelled), None)) }
        div data-part="run" data-run=(run.id) data-state=(run.state.as_str()) {
            (head(&visit, &run, undoable, hub.kernel().find(&run.tool).is_some()))
            (answer(&visit, &run))
        }
        h2 { (visit.t(Word::Arguments)) }
        pre data-args="" tabindex="0" { (json(&visit, &run.args)) }
        div hidden[logs.pieces.is_empty() && run.state.is_over()] {
            h2 { (visit.t(Word::Logs)) }
            pre data-logs="" tabindex="0" data-after=(logs.last)
                data-from=[(!run.state.is_over()).then(|| format!("/console/runs/{id}/logs"))] { (logs_shown(&visit, &logs)) }
        }
        div data-part="changes" data-changes="" {
            @if let Some(Diff::Json(value)) = diff {
                h2 { (visit.t(Word::Changes)) }
                (super::diff::diff(&visit, &of(&hub, run.id.as_str(), here), &view::diff(value),
                    Shape { sides: Sides::of(&params), most: LINES, only: None }))
            }
        }
    };
    let title = format!("{} {}", run.tool, run.state.as_str());
    let live = if run.state.is_over() { "" } else { "runs" };
    Ok(Page { title, live, body }.shown(&visit))
}

fn head(visit: &Visit, run: &Run, undoable: bool, known: bool) -> Markup {
    html! {
        p.acts {
            @if undoable { a.button data-act="undo" href={ "/console/runs/" (run.id) "/undo" } { (visit.t(Word::Undo)) } }
            @if let Some(approval) = run.approval.as_ref().filter(|_| !run.state.is_over()) {
                a.button href={ "/console/inbox/" (approval) } { (visit.t(Word::Inbox)) }
            }
        }
        @if !run.state.is_over() && visit.may(Permission::ToolExecute) {
            form method="post" action={ "/console/runs/" (run.id) "/cancel" } {
                (visit.csrf())
                button data-act="cancel" { (visit.t(Word::Cancel)) }
            }
        }
        dl data-timing="" {
            dt { (visit.t(Word::State)) } dd { (state(run.state.as_str())) }
            dt { (visit.t(Word::Tool)) } dd { @if known { a href={ "/console/tools/" (run.tool) } { (line(&run.tool)) } } @else { (line(&run.tool)) } " " (run.version) }
            dt { (visit.t(Word::Who)) } dd { (who(&run.owner, run.under.as_deref())) @if let Some(agent) = &run.agent { " (" (line(agent)) ")" } }
            dt { (visit.t(Word::Created)) } dd { (time(run.created)) }
            @if let Some(at) = run.started { dt { (visit.t(Word::Started)) } dd { (time(at)) } }
            @if let Some(at) = run.ended { dt { (visit.t(Word::Ended)) } dd { (time(at)) } }
            @if let (Some(from), Some(to)) = (run.started, run.ended) { dt { (visit.t(Word::Duration)) } dd { (took(from, to)) } }
            @if let Some(code) = run.exit_code { dt { "exit" } dd { (code) } }
            @if visit.may(Permission::AuditRead) {
                dt { (visit.t(Word::Audit)) } dd { a href={ "/console/audit?about=" (run.id) } { (visit.t(Word::Record)) } }
            }
        }
    }
}

/// What it answered, and the files that it left.
fn answer(visit: &Visit, run: &Run) -> Markup {
    let over = run.state.is_over() || run.answer.is_some();
    let answer = if over { run_answer(run) } else { Value::Null };
    let files = answer["meta"]["artifacts"].as_array();
    html! {
        @if let Some(error) = error_of(run) {
            div.alert role="alert" {
                p { (shown(visit, &error, 4000)) }
                @if let Some(hint) = answer["error"]["hint"].as_str() { p.hint { (shown(visit, hint, 1000)) } }
            }
        }
        @if let Some(data) = answer.get("data").filter(|d| !d.is_null()) {
            h2 { (visit.t(Word::Output)) }
            pre data-output="" tabindex="0" { (json(visit, data)) }
        }
        @if let Some(files) = files.filter(|f| !f.is_empty()) {
            h2 { (visit.t(Word::Artifacts)) }
            ul data-artifacts="" {
                @for file in files {
                    @let name = file["name"].as_str().unwrap_or_default();
                    li { a href={ "/console/runs/" (run.id) "/artifacts/" (encoded(name)) } { (line(name)) } " " (file["bytes"]) }
                }
            }
        }
    }
}

/// A name as a part of an address.
pub(super) fn encoded(name: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    encoded.replace('+', "%20")
}

/// What a run has written so far, as far as a page shows it: the end of it.
struct Written {
    /// Pieces, each with whether it is of the error stream.
    pieces: VecDeque<(bool, String)>,
    /// How many characters stand before them.
    before: usize,
    /// The number of the last piece.
    last: u64,
}

async fn written(hub: &Hub, run: &Run) -> Result<Written, Problem> {
    let mut all = Written {
        pieces: VecDeque::new(),
        before: 0,
        last: 0,
    };
    let (mut text, mut length) = (Text::default(), 0);
    loop {
        let chunks = hub.kernel().store().chunks(&run.id, all.last, CHUNKS).await;
        let chunks = chunks.map_err(|e| kept(&e))?;
        let Some(last) = chunks.last().map(|c| c.seq) else {
            break;
        };
        all.last = last;
        let mut shown: Vec<Value> = chunks.iter().filter_map(|c| text.of(c)).collect();
        if run.state.is_over() && chunks.len() < CHUNKS {
            shown.extend(text.rest());
        }
        for chunk in shown {
            let piece = chunk["text"].as_str().unwrap_or_default().to_owned();
            length += piece.chars().count();
            all.pieces.push_back((chunk["stream"] == "stderr", piece));
            // What is too much goes from the front.
            while length > LONGEST
                && let Some((_, first)) = all.pieces.front_mut()
            {
                let surplus = length - LONGEST;
                let cut = first.char_indices().nth(surplus).map(|(at, _)| at);
                let gone = match cut {
                    Some(at) => {
                        first.drain(..at);
                        surplus
                    }
                    None => {
                        let gone = first.chars().count();
                        all.pieces.pop_front();
                        gone
                    }
                };
                length -= gone;
                all.before += gone;
            }
        }
        if chunks.len() < CHUNKS {
            break;
        }
    }
    Ok(all)
}

fn logs_shown(visit: &Visit, logs: &Written) -> Markup {
    html! {
        @if logs.before > 0 { span.cut { (logs.before) " " (visit.t(Word::EarlierChars)) "\n" } }
        @for (error, text) in &logs.pieces {
            span class=[error.then_some("err")] { (visible(text)) }
        }
    }
}

/// What it writes from now on.
pub(super) async fn logs(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Given {
    let run = runs::seen(&hub, &visit.who, &id).await?;
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let last = last.or(params.get("after"));
    let after = last.and_then(crate::input::number).unwrap_or(0);
    Ok(stream::logs(hub, visit.who, run.id, after, true, None))
}

/// More of a diff.
pub(super) async fn diff(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    params: Params,
) -> Given {
    let run = crate::api::changes::shown_to(&hub, &visit.who, &id).await?;
    let number = |name| {
        let text = params.get(name)?;
        usize::try_from(crate::input::number(text)?).ok()
    };
    let only = number("file").map(|file| (file, number("from").unwrap_or(0)));
    let here = format!(
        "/console/runs/{id}/diff?{}",
        only.map(|(file, from)| format!("file={file}&from={from}&"))
            .unwrap_or_default()
    );
    let Diff::Json(value) = hub.kernel().diff(&run.id, DiffForm::Json).await? else {
        return Err(crate::problem::crashed());
    };
    let shape = Shape {
        sides: Sides::of(&params),
        most: LINES,
        only,
    };
    let body = html! {
        h1 { (visit.t(Word::Changes)) " " a href={ "/console/runs/" (id) } { code { (id) } } }
        (super::diff::diff(&visit, &of(&hub, run.id.as_str(), here), &view::diff(value), shape))
    };
    let title = visit.t(Word::Changes).to_owned();
    Ok(Page {
        title,
        live: "",
        body,
    }
    .shown(&visit))
}

pub(super) async fn cancel(
    State(hub): State<Hub>,
    visit: Visit,
    Path(id): Path<String>,
    _: Sent,
) -> Given {
    let run = runs::seen(&hub, &visit.who, &id).await?;
    hub.kernel().cancel(&visit.who, &run.id).await?;
    Ok(Redirect::to(&format!("/console/runs/{id}?done=cancelled")).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_may_be_a_day() {
        for (text, wanted) in [
            ("2026-01-31", Some("2026-01-31T00:00:00")),
            ("2026-01-31T12:30", Some("2026-01-31T12:30:00")),
            ("2026-01-31T12:30:05Z", Some("2026-01-31T12:30:05")),
            ("yesterday", None),
        ] {
            let found = moment(text).map(|at| at.to_string());
            let found = found.as_deref().and_then(|at| at.get(..19));
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn a_name_stays_one_part_of_an_address() {
        assert_eq!(encoded("a b/../c?"), "a%20b%2F..%2Fc%3F");
    }
}
