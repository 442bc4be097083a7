//! The record: the newest first, whether the chain is whole, and all of one entry.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use helve_core::audit::{Entry, Head};
use helve_kernel::store::{AuditFilter, Order};
use helve_kernel::{At, StoreError};
use maud::{Markup, html};

use super::layout::Page;
use super::runs::{moment, older, read};
use super::text::{json, line, time};
use super::words::Word;
use super::{Given, Params, Visit};
use crate::Hub;
use crate::api::kept;
use crate::problem::Problem;

const PAGE: usize = 50;
const RELATED: usize = 200;

/// How long one page may go on with the check, and how many entries at once.
const BUDGET: Duration = Duration::from_millis(50);
const BATCH: usize = 1000;

/// How far the chain has been followed. It goes on where it was with each look.
#[derive(Default)]
pub(crate) struct Followed(Mutex<Option<Head>>);

/// What following it has shown.
enum Chain {
    Whole(u64),
    /// So far, of so many.
    Part(u64, u64),
    /// At this entry.
    Broken(u64),
}

impl Followed {
    async fn go_on(&self, hub: &Hub, again: bool) -> Result<Chain, StoreError> {
        let begun = Instant::now();
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut head = (*kept()).filter(|_| !again).unwrap_or(Head::START);
        let store = hub.kernel().store();
        let end = store.audit_head().await?;
        while head.seq < end.seq && begun.elapsed() < BUDGET {
            let filter = AuditFilter {
                after: head.seq,
                ..AuditFilter::default()
            };
            let entries = store.audit(filter, BATCH).await?;
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                let at = head.seq + 1;
                match head.append(entry.record) {
                    Ok((made, next)) if made.seq == entry.seq && made.hash == entry.hash => {
                        head = next;
                    }
                    _ => return Ok(Chain::Broken(at)),
                }
            }
        }
        *kept() = Some(head);
        Ok(match head.seq >= end.seq {
            true => Chain::Whole(head.seq),
            false => Chain::Part(head.seq, end.seq),
        })
    }
}

pub(super) async fn list(State(hub): State<Hub>, visit: Visit, params: Params) -> Given {
    let chain = hub
        .followed()
        .go_on(&hub, params.get("verify") == Some("again"))
        .await;
    let filter = AuditFilter {
        resource: params.get("about").map(str::to_owned),
        actor: params.get("actor").map(str::to_owned),
        event: params.get("event").map(str::to_owned),
        since: read(&params, "since", moment)?,
        until: read(&params, "until", moment)?,
        before: read(&params, "before", crate::input::number)?,
        order: Order::NewestFirst,
        ..AuditFilter::default()
    };
    let found = hub.kernel().store().audit(filter, PAGE + 1).await;
    let mut found = found.map_err(|e| kept(&e))?;
    let more = found.len() > PAGE;
    found.truncate(PAGE);
    let next = found
        .last()
        .filter(|_| more)
        .map(|e| older(&params, &e.seq.to_string()));
    let body = html! {
        h1 { (visit.t(Word::Audit)) }
        div data-part="chain" { (verified(&visit, &chain.map_err(|e| kept(&e))?)) }
        (filters(&visit, &params))
        div data-part="audit" { (table(&visit, &found)) }
        @if let Some(next) = next { p.more { a href=(next) rel="next" { (visit.t(Word::Next)) } } }
    };
    let title = visit.t(Word::Audit).to_owned();
    let live = if params.get("before").is_some() {
        ""
    } else {
        "runs inbox tools"
    };
    Ok(Page { title, live, body }.shown(&visit))
}

fn verified(visit: &Visit, chain: &Chain) -> Markup {
    html! {
        p.acts {
            @match chain {
                Chain::Whole(n) => span.ok data-verified="yes" { "✓ " (visit.t(Word::Verified)) " (" (n) ")" },
                Chain::Part(n, all) => span data-verified="part" { (n) " / " (all) " ✓ " a href="?" { "…" } },
                Chain::Broken(at) => span.alert role="alert" data-verified="no" { (visit.t(Word::VerifiedNot)) ": " (at) },
            }
            " " a.button href="?verify=again" { (visit.t(Word::VerifyAgain)) }
            " " a.button data-act="export" href="/console/audit/export" download="audit.jsonl" { (visit.t(Word::Export)) }
        }
    }
}

fn filters(visit: &Visit, params: &Params) -> Markup {
    let fields = [
        ("event", Word::Event, "run.started"),
        ("actor", Word::Actor, ""),
        ("about", Word::About, "run_…"),
        ("since", Word::Since, "2026-01-31"),
        ("until", Word::Until, "2026-01-31"),
    ];
    html! {
        form.filters method="get" {
            @for (name, word, like) in fields {
                label { (visit.t(word)) input name=(name) placeholder=(like) value=(params.get(name).unwrap_or_default()); }
            }
            button { (visit.t(Word::Filter)) }
        }
    }
}

fn table(visit: &Visit, entries: &[Entry]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(visit.t(Word::Audit)) {
            table.list data-list="audit" {
                thead { tr {
                    th scope="col" { "#" }
                    @for word in [Word::Time, Word::Event, Word::Actor, Word::About] { th scope="col" { (visit.t(word)) } }
                } }
                tbody { @for entry in entries { (row(entry)) } }
            }
        }
    }
}

fn text<'e>(entry: &'e Entry, key: &str) -> &'e str {
    entry.record[key].as_str().unwrap_or_default()
}

fn row(entry: &Entry) -> Markup {
    let at = At::parse(text(entry, "at"));
    html! {
        tr data-seq=(entry.seq) {
            td { a href={ "/console/audit/" (entry.seq) } { (entry.seq) } }
            td { @if let Some(at) = at { (time(at)) } }
            td { (line(text(entry, "event"))) }
            td { (line(text(entry, "actor"))) }
            td { (line(text(entry, "resource"))) }
        }
    }
}

/// One entry, and all that belongs to the same thing.
pub(super) async fn show(State(hub): State<Hub>, visit: Visit, Path(seq): Path<String>) -> Given {
    let number = crate::input::number(&seq).filter(|n| *n > 0);
    let number = number.ok_or_else(|| Problem::not_found(&seq))?;
    let store = hub.kernel().store();
    let filter = AuditFilter {
        after: number - 1,
        ..AuditFilter::default()
    };
    let found = store.audit(filter, 1).await.map_err(|e| kept(&e))?;
    let entry = found.into_iter().next().filter(|e| e.seq == number);
    let entry = entry.ok_or_else(|| Problem::not_found(&seq))?;
    let about = text(&entry, "resource").to_owned();
    let filter = AuditFilter {
        resource: Some(about.clone()),
        ..AuditFilter::default()
    };
    let related = store.audit(filter, RELATED).await.map_err(|e| kept(&e))?;
    let body = html! {
        h1 { (visit.t(Word::Record)) " " (seq) }
        dl {
            dt { (visit.t(Word::Event)) } dd { (line(text(&entry, "event"))) }
            dt { (visit.t(Word::About)) } dd { (place(&about)) }
            dt { "SHA-256" } dd { code.wrap { (entry.hash) } }
        }
        pre data-record="" tabindex="0" { (json(&visit, &entry.record)) }
        h2 { (visit.t(Word::Related)) }
        (table(&visit, &related))
    };
    let title = format!("{} {seq}", visit.t(Word::Record));
    Ok(Page {
        title,
        live: "",
        body,
    }
    .shown(&visit))
}

/// What an entry is about, with where it is found.
fn place(about: &str) -> Markup {
    let page = match about.split_once('_').map(|(kind, _)| kind) {
        Some("run") => Some(format!("/console/runs/{about}")),
        _ => None,
    };
    html! {
        @match page {
            Some(page) => a href=(page) { (line(about)) },
            None => (line(about)),
        }
    }
}
