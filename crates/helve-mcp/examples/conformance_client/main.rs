//! The client that the conformance suite starts for each of its scenarios.
//!
//! The suite appends the address of a server and says in the environment what the
//! scenario is. What it wants to see is nearly always the same, so there is one
//! visit for all: connect, list, call what is there, log in when asked to.
//!
//! [`upstream`] is all that it knows of a client library: the hub's own client can
//! take that place.

mod login;
mod made_up;
mod upstream;

use std::error::Error;

use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ReadResourceRequestParams};
use serde_json::{Value, json};

use login::Login;
use upstream::{Upstream, challenge};

/// Anything that ends a visit.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// As often as a server may ask for another login before it is given up.
const LOGINS: usize = 3;

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
    let mut login = None;
    for logins in 0.. {
        let Err(error) = visit(&url, &version, &context, login.as_ref()).await else {
            return Ok(());
        };
        let Some(asked) = challenge(&*error) else {
            return Err(error);
        };
        if logins == LOGINS {
            break;
        }
        login = Some(Login::after(login, &url, &asked, &context).await?);
    }
    Err("the server asks for a login again and again".into())
}

/// Sees everything that a server has.
async fn visit(url: &str, version: &str, context: &Value, login: Option<&Login>) -> Outcome<()> {
    let upstream = upstream::connect(url, version, login).await?;
    let offers = upstream
        .peer_info()
        .map(|info| info.capabilities.clone())
        .unwrap_or_default();
    if offers.tools.is_some() || offers.resources.is_none() && offers.prompts.is_none() {
        call_tools(&upstream, context).await?;
    }
    if offers.resources.is_some() {
        for resource in upstream.list_all_resources().await? {
            upstream
                .read_resource(ReadResourceRequestParams::new(resource.uri))
                .await?;
        }
    }
    if offers.prompts.is_some() {
        for prompt in upstream.list_all_prompts().await? {
            upstream
                .get_prompt(GetPromptRequestParams::new(prompt.name))
                .await?;
        }
    }
    upstream.cancel().await?;
    Ok(())
}

/// Calls what the scenario names, or else everything with arguments made up for it.
async fn call_tools(upstream: &Upstream, context: &Value) -> Outcome<()> {
    let tools = upstream.list_all_tools().await?;
    let mut calls = Vec::new();
    match context["toolCalls"].as_array() {
        Some(named) => {
            for call in named {
                let name = call["name"].as_str().unwrap_or_default().to_owned();
                calls.push((name, call["arguments"].clone()));
            }
        }
        None => {
            for tool in &tools {
                let arguments = match &*tool.name {
                    // It wants to see what became of another tool's schema.
                    "json_schema_echo" => json!({"schema": tools[0].input_schema}),
                    _ => made_up::value(&Value::Object((*tool.input_schema).clone())),
                };
                calls.push((tool.name.to_string(), arguments));
            }
        }
    }
    for (name, arguments) in calls {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let request = CallToolRequestParams::new(name).with_arguments(arguments);
        upstream.call_tool(request).await?;
    }
    Ok(())
}
