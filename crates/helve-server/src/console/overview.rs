//! How the hub does: the last hour, what waits, what disclosure saves.

use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use helve_core::ToolDef;
use helve_core::catalog::catalog_of;
use helve_core::tokens::estimate;
use helve_kernel::store::{Done, RunFilter};
use helve_kernel::{At, Permission, RunState};
use maud::{Markup, html};

use super::charts::{bars, short};
use super::layout::Page;
use super::runs::row;
use super::words::Word;
use super::{Given, Visit};
use crate::Hub;
use crate::api::{kept, may_see};

const MINUTES: usize = 60;
const HOUR: i64 = 60 * 60 * 1000;

/// The most runs that the charts are drawn from.
const MOST: usize = 50_000;
const RECENT: usize = 10;

/// The catalog that agents are shown first, in tokens.
const BUDGET: usize = 4000;

/// What a minute was like.
#[derive(Debug, Clone, Default)]
struct Minute {
    calls: usize,
    errors: usize,
    took: Vec<f64>,
}

pub(super) async fn show(State(hub): State<Hub>, visit: Visit) -> Given {
    let now = hub.kernel().now();
    let store = hub.kernel().store();
    let since = At(now.0 - HOUR);
    let done = store.activity(since, MOST).await;
    let done = done.map_err(|e| kept(&e))?;
    let theirs = |d: &&Done| may_see(&visit.who, &d.owner, d.under.as_deref());
    let minutes = by_minute(done.iter().filter(theirs), now);
    let all = visit.may(Permission::AuditRead);
    let filter = RunFilter {
        owner: (!all).then(|| visit.who.owner.clone()),
        ..RunFilter::default()
    };
    let recent = store.runs(filter, RECENT).await.map_err(|e| kept(&e))?;
    let tools = hub.kernel().tools();
    let tools = tools
        .iter()
        .filter(|e| e.enabled && !e.open && visit.who.reaches(e.def.name.as_str()));
    let series = |value: fn(&Minute) -> f64| minutes.iter().map(value).collect::<Vec<_>>();
    let body = html! {
        h1 { (visit.t(Word::Overview)) }
        div data-part="overview" {
            div.numbers {
                (number("waiting", visit.t(Word::Waiting), &visit.waiting.to_string(), Some("/console/inbox")))
                (number("tools", visit.t(Word::Tools), &tools.count().to_string(), Some("/console/tools")))
                (number("saved", visit.t(Word::Saved), &short(saved(&hub, &visit) as f64), None))
            }
            div.charts {
                (bars("calls", visit.t(Word::Calls), &series(|m| m.calls as f64), ""))
                (bars("latency", visit.t(Word::Latency), &series(median), "ms"))
                (bars("errors", visit.t(Word::Errors), &series(|m| m.errors as f64), ""))
            }
            h2 { (visit.t(Word::Runs)) }
            div.scroll tabindex="0" role="region" aria-label=(visit.t(Word::Runs)) {
                table.list data-list="runs" { tbody { @for run in &recent { (row(run)) } } }
            }
        }
    };
    let title = visit.t(Word::Overview).to_owned();
    Ok(Page {
        title,
        live: "runs inbox",
        body,
    }
    .shown(&visit))
}

fn number(name: &str, label: &str, value: &str, link: Option<&str>) -> Markup {
    html! {
        div.number data-number=(name) {
            b { @match link { Some(link) => a href=(link) aria-label=(format!("{label}: {value}")) { (value) }, None => (value) } }
            span { (label) }
        }
    }
}

/// The last hour, minute by minute, the oldest first.
fn by_minute<'d>(done: impl Iterator<Item = &'d Done>, now: At) -> Vec<Minute> {
    let mut minutes = vec![Minute::default(); MINUTES];
    for run in done {
        let ago = usize::try_from(now.since(run.created).as_secs() / 60).unwrap_or(MINUTES);
        let Some(minute) = MINUTES
            .checked_sub(ago + 1)
            .and_then(|i| minutes.get_mut(i))
        else {
            continue;
        };
        minute.calls += 1;
        minute.errors += usize::from(matches!(run.state, RunState::Failed | RunState::TimedOut));
        if let Some(ended) = run.ended {
            minute
                .took
                .push(ended.since(run.created).as_secs_f64() * 1000.0);
        }
    }
    minutes
}

fn median(minute: &Minute) -> f64 {
    let mut took = minute.took.clone();
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(0.0)
}

/// What all definitions would cost an agent, less what it is shown instead; counted
/// again when the tools have changed.
#[derive(Default)]
pub(crate) struct Saved(Mutex<Option<(u64, usize)>>);

fn saved(hub: &Hub, visit: &Visit) -> usize {
    let kept = || hub.saved().0.lock().unwrap_or_else(PoisonError::into_inner);
    let changes = hub.kernel().tool_changes();
    let whole = visit.who.scopes.iter().any(|s| s.as_str() == "*");
    if let Some((_, saved)) = (*kept()).filter(|(at, _)| *at == changes && whole) {
        return saved;
    }
    let tools = hub.kernel().tools();
    let tools: Vec<_> = tools
        .iter()
        .filter(|e| e.enabled && !e.open && visit.who.reaches(e.def.name.as_str()))
        .collect();
    let full: usize = tools
        .iter()
        .map(|e| estimate(&e.def.to_value().to_string()))
        .sum();
    let defs: Vec<&ToolDef> = tools.iter().map(|e| &*e.def).collect();
    let shown = catalog_of(&defs, BUDGET).map_or(BUDGET, |catalog| estimate(&catalog.text));
    let saved = full.saturating_sub(shown);
    if whole {
        *kept() = Some((changes, saved));
    }
    saved
}
