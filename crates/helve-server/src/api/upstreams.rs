//! `/upstreams` and `/quarantine`: the MCP servers behind the hub.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use helve_kernel::store::Record;
use helve_kernel::{Permission, Principal};
use serde_json::{Value, json};

use super::{Given, kept, ok};
use crate::guard::Caller;
use crate::input::{Body, Id, Query};
use crate::problem::Problem;
use crate::{Gateway, Hub, view};

/// A hub without a gateway has no servers.
pub(crate) fn gateway(hub: &Hub) -> Result<&Arc<dyn Gateway>, Problem> {
    hub.gateway().ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "this hub has no MCP servers behind it",
        )
    })
}

/// Where a server is and what it writes is for those who may change it: it may hold more
/// than was meant to be seen.
pub(crate) fn shown(who: &Principal, mut server: Value) -> Value {
    if !who.may(Permission::ToolRegister)
        && let Value::Object(server) = &mut server
    {
        for key in ["place", "stderr", "problems", "why"] {
            server.shift_remove(key);
        }
    }
    if let Some(Value::Array(tools)) = server.get_mut("tools") {
        tools.retain(|tool| tool.as_str().is_some_and(|name| who.reaches(name)));
    }
    server
}

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller) -> Given {
    let servers = hub.gateway().map(|g| g.servers()).unwrap_or_default();
    let items = servers.into_iter().map(|server| shown(&who, server));
    ok(&view::page(items.collect(), None))
}

pub(crate) async fn show(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    ok(&shown(&who, gateway(&hub)?.server(&id)?))
}

pub(crate) async fn test(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    ok(&tested(&hub, &who, &id).await?)
}

/// Tests a server, which may start it: on record as whoever asked, before it happens.
pub(crate) async fn tested(hub: &Hub, who: &Principal, name: &str) -> Result<Value, Problem> {
    let gateway = gateway(hub)?;
    gateway.server(name)?;
    let record = Record::new(hub.kernel().now(), "server.tested", &who.owner, name);
    let recorded = hub.kernel().store().record(record).await;
    recorded.map_err(|e| kept(&e))?;
    Ok(gateway.test(name).await?)
}

pub(crate) async fn login(State(hub): State<Hub>, Caller(_): Caller, Id(id): Id) -> Given {
    ok(&json!({"url": gateway(&hub)?.login(&id).await?}))
}

pub(crate) async fn reload(State(hub): State<Hub>, Caller(_): Caller) -> Given {
    ok(&json!({"problems": gateway(&hub)?.reload().await?}))
}

pub(crate) async fn waiting(State(hub): State<Hub>, Caller(_): Caller, query: Query) -> Given {
    let items = match hub.gateway() {
        Some(gateway) => gateway.waiting(query.get("server"))?,
        None => Vec::new(),
    };
    ok(&view::page(items, None))
}

pub(crate) async fn accept(State(hub): State<Hub>, Caller(who): Caller, body: Body) -> Given {
    body.only(&["server", "tool", "seen"])?;
    let server = body.text("server")?;
    let server = server.ok_or_else(|| Problem::invalid("`server` is missing"))?;
    let (tool, seen) = (body.text("tool")?, body.text("seen")?);
    let done = gateway(&hub)?
        .accept(&who, &server, tool.as_deref(), seen.as_deref())
        .await?;
    ok(&json!({"accepted": done}))
}
