//! The MCP servers behind the hub, and what of theirs waits for somebody to look at it.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Redirect};
use helve_kernel::Permission;
use maud::{Markup, html};
use serde_json::Value;

use super::layout::{Page, said, state};
use super::text::{line, shown};
use super::words::Word;
use super::{Given, Params, Sent, Visit};
use crate::Hub;
use crate::api::upstreams::{gateway, shown as allowed, tested};
use crate::problem::Problem;

pub(super) async fn list(State(hub): State<Hub>, visit: Visit, params: Params) -> Given {
    let servers = hub.gateway().map(|g| g.servers()).unwrap_or_default();
    let servers: Vec<Value> = servers
        .into_iter()
        .map(|s| allowed(&visit.who, s))
        .collect();
    let looks = visit.may(Permission::ToolRegister);
    let waiting = match hub.gateway().filter(|_| looks) {
        Some(gateway) => gateway.waiting(None)?,
        None => Vec::new(),
    };
    let body = html! {
        h1 { (visit.t(Word::Servers)) }
        @if params.get("done").is_some() { (said(visit.t(Word::ToolChanged), None)) }
        div data-part="servers" {
            @if servers.is_empty() { p.empty { (visit.t(Word::NoServers)) " " code { "helve mcp add" } } }
            @for server in &servers { (article(&visit, server, looks)) }
            @if !waiting.is_empty() {
                h2 { (visit.t(Word::Quarantined)) }
                @for change in &waiting { (quarantined(&visit, change)) }
            }
        }
    };
    let title = visit.t(Word::Servers).to_owned();
    Ok(Page {
        title,
        live: "tools",
        body,
    }
    .shown(&visit))
}

fn article(visit: &Visit, server: &Value, looks: bool) -> Markup {
    let text = |key: &str| server[key].as_str().unwrap_or_default();
    let tools = server["tools"].as_array().map_or(&[][..], Vec::as_slice);
    html! {
        article.item data-server=(text("name")) data-state=(text("state")) {
            h2 { (line(text("name"))) " " (state(text("state"))) " " span.quiet { (text("type")) } }
            @if let Some(why) = server["why"].as_str() { div.alert { p { (shown(visit, why, 2000)) } } }
            @if let Some(place) = server["place"].as_str() { p { code { (line(place)) } } }
            @if !tools.is_empty() {
                details {
                    summary { (visit.t(Word::Tools)) ": " (tools.len()) }
                    ul.tools {
                        @for tool in tools.iter().filter_map(Value::as_str) {
                            li { a href={ "/console/tools/" (super::runs::encoded(tool)) } { (line(tool)) } }
                        }
                    }
                }
            }
            @if looks {
                form method="post" action={ "/console/servers/" (super::runs::encoded(text("name"))) "/test" } {
                    (visit.csrf())
                    button data-act="test" { (visit.t(Word::Test)) }
                }
            }
        }
    }
}

/// A definition that is not what it was, with what is new in it.
fn quarantined(visit: &Visit, change: &Value) -> Markup {
    let text = |key: &str| change[key].as_str().unwrap_or_default();
    let pretty = |value: &Value| match value {
        Value::Null => String::new(),
        value => serde_json::to_string_pretty(value).unwrap_or_default() + "\n",
    };
    html! {
        article.item data-quarantined=(text("tool")) {
            h3 { (line(text("server"))) " · " (line(text("tool"))) }
            @for flag in change["flags"].as_array().into_iter().flatten() {
                div.alert { p { (shown(visit, flag["says"].as_str().unwrap_or_default(), 1000)) } }
            }
            (super::diff::of_texts(visit, &pretty(&change["before"]), &pretty(&change["after"])))
            form method="post" action="/console/servers/accept" {
                (visit.csrf())
                input type="hidden" name="server" value=(text("server"));
                input type="hidden" name="tool" value=(text("tool"));
                input type="hidden" name="seen" value=(text("seen"));
                button.main data-act="accept" { (visit.t(Word::Accept)) }
            }
        }
    }
}

/// Takes over what was looked at, and nothing else.
pub(super) async fn accept(State(hub): State<Hub>, visit: Visit, sent: Sent) -> Given {
    let missing = || Problem::invalid("the form does not say what was looked at");
    let server = sent.get("server").ok_or_else(missing)?;
    let seen = sent.get("seen").ok_or_else(missing)?;
    let gateway = gateway(&hub)?;
    gateway
        .accept(&visit.who, server, sent.get("tool"), Some(seen))
        .await?;
    Ok(Redirect::to("/console/servers?done=accepted").into_response())
}

pub(super) async fn test(
    State(hub): State<Hub>,
    visit: Visit,
    Path(name): Path<String>,
    _: Sent,
) -> Given {
    tested(&hub, &visit.who, &name).await?;
    Ok(Redirect::to("/console/servers?done=tested").into_response())
}
