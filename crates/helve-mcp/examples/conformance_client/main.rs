//! The client that the conformance suite starts for each of its scenarios.
//!
//! The suite appends the address of a server and says in the environment what the
//! scenario is. What it wants to see is nearly always the same, so there is one
//! visit for all: connect, list, call what is there, log in when asked to.
//!
//! It goes the way that every call through the hub goes: the kernel, the gateway, the
//! server. Nothing here speaks the protocol by itself.

mod browser;
mod gateway;
mod made_up;

use std::error::Error;

use helve_mcp::upstream::List;
use serde_json::{Value, json};

use gateway::Gateway;

/// Anything that ends a visit.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Outcome<()> {
    let url = std::env::args()
        .nth(1)
        .ok_or("usage: conformance_client URL")?;
    let told = |name| {
        #[expect(
            clippy::disallowed_methods,
            reason = "the suite speaks through the environment"
        )]
        std::env::var(name).unwrap_or_default()
    };
    let context = told("MCP_CONFORMANCE_CONTEXT");
    let context = serde_json::from_str(&context).unwrap_or(Value::Null);
    let version = told("MCP_CONFORMANCE_PROTOCOL_VERSION");
    let mut gateway = Gateway::open(&url, &version, &context).await?;
    let visited = visit(&mut gateway, &context).await;
    gateway.close().await;
    visited
}

/// Sees everything that a server has.
async fn visit(gateway: &mut Gateway, context: &Value) -> Outcome<()> {
    gateway.connect().await?;
    call_tools(gateway, context).await?;
    for resource in gateway.list(List::Resources).await {
        let named = json!({"uri": resource["uri"]});
        gateway.request("resources/read", named).await?;
    }
    for prompt in gateway.list(List::Prompts).await {
        let named = json!({"name": prompt["name"]});
        gateway.request("prompts/get", named).await?;
    }
    Ok(())
}

/// Calls what the scenario names, or else everything with arguments made up for it.
async fn call_tools(gateway: &mut Gateway, context: &Value) -> Outcome<()> {
    let tools = gateway.tools();
    let mut calls = Vec::new();
    let echo = tools.iter().find(|tool| tool.there == "json_schema_echo");
    match (context["toolCalls"].as_array(), echo) {
        (Some(named), _) => {
            for call in named {
                let there = call["name"].as_str().unwrap_or_default();
                let tool = tools.iter().find(|tool| tool.there == there);
                let tool = tool.ok_or_else(|| format!("there is no tool `{there}`"))?;
                calls.push((&tool.name, call["arguments"].clone()));
            }
        }
        // It wants to see what became of the schemas of the others, and no more.
        (None, Some(echo)) => {
            for tool in tools.iter().filter(|tool| tool.there != echo.there) {
                calls.push((&echo.name, json!({"schema": tool.schema})));
            }
        }
        (None, None) => {
            for tool in &tools {
                calls.push((&tool.name, made_up::value(&tool.schema)));
            }
        }
    }
    for (name, arguments) in calls {
        gateway.call(name, &arguments).await?;
    }
    Ok(())
}
