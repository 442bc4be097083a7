//! Tools: the catalog, and all of one with a form to call it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use helve_core::search;
use helve_kernel::store::Version;
use helve_kernel::{Call, Entry, Permission, Wait};
use maud::{Markup, html};

use super::inbox::{reversible, risk};
use super::layout::{Page, said};
use super::text::{json, line, shown, time};
use super::words::Word;
use super::{Given, Params, Sent, Visit, form};
use crate::Hub;
use crate::api::tools::seen;
use crate::problem::Problem;

/// How many are found.
const FOUND: usize = 30;

pub(super) async fn list(State(hub): State<Hub>, visit: Visit, params: Params) -> Given {
    let query = params.get("q").unwrap_or_default();
    let groups = match query.is_empty() {
        true => by_category(&hub, &visit),
        false => vec![(String::new(), found(&hub, &visit, query))],
    };
    let body = html! {
        h1 { (visit.t(Word::Tools)) }
        form.filters role="search" method="get" {
            label { (visit.t(Word::Search)) input name="q" type="search" value=(query); }
            button { (visit.t(Word::Search)) }
        }
        div data-part="tools" {
            @for (category, tools) in &groups {
                section.category {
                    @if !category.is_empty() { h2 { (line(category)) " " span.quiet { (tools.len()) } } }
                    ul.tools { @for entry in tools { (item(&visit, entry)) } }
                    @if tools.is_empty() { p { (visit.t(Word::NoTools)) } }
                }
            }
        }
    };
    let title = visit.t(Word::Tools).to_owned();
    Ok(Page {
        title,
        live: "tools",
        body,
    }
    .shown(&visit))
}

/// All, by what they are for.
fn by_category(hub: &Hub, visit: &Visit) -> Vec<(String, Vec<Arc<Entry>>)> {
    let mut groups: BTreeMap<String, Vec<Arc<Entry>>> = BTreeMap::new();
    for entry in hub.kernel().tools() {
        // The tools about tools are no part of what they tell about.
        if !entry.open && visit.who.reaches(entry.def.name.as_str()) {
            let category = entry.def.category.clone();
            let category = category.or_else(|| entry.def.name.group().map(str::to_owned));
            groups
                .entry(category.unwrap_or_else(|| "…".to_owned()))
                .or_default()
                .push(entry);
        }
    }
    groups.into_iter().collect()
}

fn found(hub: &Hub, visit: &Visit, query: &str) -> Vec<Arc<Entry>> {
    let allow = |name: &str| visit.who.reaches(name);
    let found = hub.kernel().search(&search::Query {
        limit: FOUND,
        allow: Some(&allow),
        ..search::Query::several(vec![query.chars().take(500).collect()])
    });
    let mut tools: Vec<Arc<Entry>> = Vec::new();
    // A name that was typed stands first.
    tools.extend(
        hub.kernel()
            .find(query)
            .filter(|e| allow(e.def.name.as_str())),
    );
    for hit in &found.hits {
        let entry = hub.kernel().find(&hit.key);
        tools.extend(entry.filter(|e| !tools.iter().any(|t| t.def.name == e.def.name)));
    }
    tools
}

fn item(visit: &Visit, entry: &Entry) -> Markup {
    let def = &entry.def;
    html! {
        li {
            a data-tool=(def.name) href={ "/console/tools/" (def.name) } { (line(def.name.as_str())) }
            " " (risk(def.risk))
            @if !entry.enabled { " " span.state.disabled { (visit.t(Word::Disabled)) } }
            p { (shown(visit, &def.description, 300)) }
        }
    }
}

pub(super) async fn show(
    State(hub): State<Hub>,
    visit: Visit,
    Path(name): Path<String>,
    params: Params,
) -> Given {
    let entry = seen(&hub, &visit.who, &name)?;
    let done = params.get("done").is_some();
    let said = done.then(|| said(visit.t(Word::ToolChanged), None));
    Ok(page(&hub, &visit, &entry, None, said).await)
}

/// All of a tool, with what was written into its form, and what is to be said of it.
async fn page(
    hub: &Hub,
    visit: &Visit,
    entry: &Entry,
    typed: Option<&Sent>,
    said: Option<Markup>,
) -> Response {
    // A tool in code has no versions of its own.
    let name = entry.def.name.as_str();
    let versions = hub.kernel().versions(&visit.who, name).await;
    let versions = versions.unwrap_or_default();
    let def = &entry.def;
    let calls = visit.may(Permission::ToolExecute) && entry.enabled;
    let title = def.title.clone().unwrap_or_else(|| def.name.to_string());
    let body = html! {
        h1 { (line(&title)) " " code { (line(def.name.as_str())) } }
        @if let Some(said) = said { (said) }
        p {
            (risk(def.risk)) " " (reversible(visit, Some(&def.reversible))) " "
            span.quiet { (visit.t(Word::Version)) " " (entry.version) " · " (line(&entry.source)) }
            @if !entry.enabled { " " span.state.disabled { (visit.t(Word::Disabled)) } }
        }
        (shape(visit, entry))
        p.lead { (shown(visit, &def.description, 4000)) }
        (guidance(visit, entry))
        @if calls {
            section {
                h2 { (visit.t(Word::CallIt)) }
                form data-form="call" method="post" action={ "/console/tools/" (def.name) "/call" } {
                    (visit.csrf())
                    (form::fields(visit, "call", &def.input_schema, typed))
                    button.main data-act="call" { (visit.t(Word::Call)) }
                }
            }
        }
        (level_two(visit, entry))
        (history(visit, entry, &versions))
    };
    Page {
        title,
        live: "",
        body,
    }
    .shown(visit)
}

/// Whether it can be called, and the button that changes it.
fn shape(visit: &Visit, entry: &Entry) -> Markup {
    let (act, word) = match entry.enabled {
        true => ("disable", Word::Disable),
        false => ("enable", Word::Enable),
    };
    html! {
        @if visit.may(Permission::ToolRegister) {
            form method="post" action={ "/console/tools/" (entry.def.name) "/" (act) } {
                (visit.csrf())
                button data-act=(act) { (visit.t(word)) }
            }
        }
    }
}

/// What one should know before calling it.
fn guidance(visit: &Visit, entry: &Entry) -> Markup {
    let def = &entry.def;
    html! {
        @if let Some(detail) = &def.detail { p.detail { (shown(visit, detail, 20_000)) } }
        @if !def.warnings.is_empty() {
            h2 { (visit.t(Word::Warnings)) }
            ul { @for text in &def.warnings { li { (shown(visit, text, 2000)) } } }
        }
        @if !def.triggers.is_empty() {
            h2 { (visit.t(Word::Triggers)) }
            ul { @for text in &def.triggers { li { (shown(visit, text, 2000)) } } }
        }
    }
}

/// The rest of what a definition says beyond its first line.
fn level_two(visit: &Visit, entry: &Entry) -> Markup {
    let def = &entry.def;
    html! {
        @if !def.examples.is_empty() {
            h2 { (visit.t(Word::Examples)) }
            @for example in &def.examples {
                @if let Some(scenario) = &example.scenario { p { (shown(visit, scenario, 500)) } }
                pre tabindex="0" { (json(visit, &example.params)) }
                @if let Some(expected) = &example.expected { p.quiet { "→ " (shown(visit, expected, 1000)) } }
            }
        }
        @if !def.related_tools.is_empty() {
            h2 { (visit.t(Word::RelatedTools)) }
            ul {
                @for related in &def.related_tools {
                    li {
                        a href={ "/console/tools/" (super::runs::encoded(&related.name)) } { (line(&related.name)) }
                        @if let Some(how) = &related.relation { " · " (shown(visit, how, 500)) }
                    }
                }
            }
        }
        @if !def.aliases.is_empty() {
            p.quiet { (visit.t(Word::Aliases)) ": " (line(&def.aliases.join(", "))) }
        }
        details {
            summary { "JSON Schema" }
            pre tabindex="0" { (json(visit, &def.input_schema)) }
        }
    }
}

fn history(visit: &Visit, entry: &Entry, versions: &[Version]) -> Markup {
    let text =
        |version: &Version| serde_json::to_string_pretty(&version.definition).unwrap_or_default();
    html! {
        @if !versions.is_empty() {
            section {
                h2 { (visit.t(Word::Versions)) }
                ol.versions reversed {
                    @for (i, version) in versions.iter().enumerate().rev() {
                        @let current = version.hash == entry.hash && version.version == entry.version;
                        li data-version=(version.version) {
                            b { (version.version) } " · " (line(&version.by)) " · " (time(version.at))
                            @if let Some(why) = &version.why { " · " (shown(visit, why, 500)) }
                            @if current { " " span.state { (visit.t(Word::Current)) } }
                            @if let Some(before) = i.checked_sub(1).and_then(|i| versions.get(i)) {
                                details {
                                    summary { (visit.t(Word::Differences)) }
                                    (super::diff::of_texts(visit, &text(before), &text(version)))
                                }
                            }
                            @if !current && visit.may(Permission::ToolRegister) {
                                form method="post" action={ "/console/tools/" (entry.def.name) "/roll-back" } {
                                    (visit.csrf())
                                    input type="hidden" name="version" value=(version.version);
                                    button data-act="roll-back" { (visit.t(Word::RollBack)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Calls it as whoever is signed in: the same path as any call. What was typed stays where
/// it does not fit.
pub(super) async fn call(
    State(hub): State<Hub>,
    visit: Visit,
    Path(name): Path<String>,
    sent: Sent,
) -> Given {
    let entry = seen(&hub, &visit.who, &name)?;
    let args = form::arguments(&sent, &entry.def.input_schema);
    let problem = match args {
        Ok(args) => {
            let call = Call::new(visit.who.clone(), entry.def.name.as_str(), args);
            let answer = hub.call(call.wait(Wait::Nothing)).await;
            match (answer.meta.run_id, answer.result) {
                (Some(run), _) => {
                    return Ok(Redirect::to(&format!("/console/runs/{run}")).into_response());
                }
                (None, Err(error)) => Problem::from(error),
                (None, Ok(_)) => crate::problem::crashed(),
            }
        }
        Err(problem) => problem,
    };
    let alert = super::layout::alert(&problem);
    let mut response = page(&hub, &visit, &entry, Some(&sent), Some(alert)).await;
    *response.status_mut() = problem.status;
    Ok(response)
}

/// Enables, disables, rolls back.
pub(super) async fn act(
    State(hub): State<Hub>,
    visit: Visit,
    Path((name, act)): Path<(String, String)>,
    sent: Sent,
) -> Given {
    let entry = seen(&hub, &visit.who, &name)?;
    let name = entry.def.name.as_str();
    let (kernel, who) = (hub.kernel(), &visit.who);
    match act.as_str() {
        "enable" => drop(kernel.set_enabled(who, name, true).await?),
        "disable" => drop(kernel.set_enabled(who, name, false).await?),
        "roll-back" => {
            let version = sent
                .get("version")
                .and_then(|v| semver::Version::parse(v).ok());
            let version = version.ok_or_else(|| Problem::invalid("`version` is missing"))?;
            kernel.roll_back(who, name, &version, None).await?;
        }
        other => return Err(Problem::not_found(other)),
    }
    Ok(Redirect::to(&format!("/console/tools/{name}?done={act}")).into_response())
}
