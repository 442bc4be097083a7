//! Calls of tools that a server behind the gateway has.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use helve_core::ToolDef;
use helve_kernel::{Caller, ErrorKind, Executor, Permit, Reply, ToolError, Wire};
use serde_json::{Map, Value, json};

use super::Inner;
use super::converse::{Talk, Trouble};
use super::link::{Broken, Message, Reached};
use super::server::Server;

/// Runs tools with `executor = "mcp"`.
pub(crate) struct McpExecutor(pub(crate) Weak<Inner>);

impl McpExecutor {
    fn gateway(&self) -> Result<Arc<Inner>, ToolError> {
        self.0
            .upgrade()
            .ok_or_else(|| ToolError::dependency("the gateway is closed"))
    }
}

/// The server and the tool there.
fn named(def: &ToolDef) -> Result<(&str, &str), ToolError> {
    let settings = def.executor.as_ref().map(|e| &e.settings);
    let text = |key: &str| settings.and_then(|s| s.get(key)).and_then(Value::as_str);
    let server = text("server").ok_or_else(|| ToolError::validation("`server` is missing"))?;
    Ok((server, text("tool").unwrap_or(def.name.as_str())))
}

#[async_trait]
impl Executor for McpExecutor {
    async fn inspect(&self, def: &ToolDef) -> Result<Option<Value>, ToolError> {
        let (server, _) = named(def)?;
        self.gateway()?.server(server)?;
        Ok(None)
    }

    fn holds(&self, _: &ToolDef) -> Result<(), String> {
        Err("what a server elsewhere does is not held back".to_owned())
    }

    async fn run(&self, permit: &Permit) -> Result<Reply, ToolError> {
        let gateway = self.gateway()?;
        let (name, tool) = named(permit.def())?;
        let server = gateway.server(name)?;
        gateway.callable(name, tool)?;
        let stopped = || {
            ToolError::timeout(format!(
                "`{tool}` of `{name}` was called off before it began"
            ))
        };
        let _room = tokio::select! {
            biased;
            () = permit.stop().cancelled() => return Err(stopped()),
            room = server.room.acquire() => room.map_err(|_| ToolError::dependency("the gateway is closed"))?,
        };
        let caller = permit.ctx().caller();
        let watch = gateway.watch();
        for last in [false, true] {
            let peer = tokio::select! {
                biased;
                () = permit.stop().cancelled() => return Err(stopped()),
                peer = server.connect(caller, &watch) => peer.map_err(|b| unavailable(&server, &b))?,
            };
            // A start looks at the tools: this one may wait for somebody now.
            gateway.callable(name, tool)?;
            let session = caller.map(|c| c.session());
            let level = server.level(session);
            let talk = Talk {
                peer: &peer,
                caller,
                stop: permit.stop(),
                level,
            };
            match talk
                .hold("tools/call", params(tool, permit.args(), caller))
                .await
            {
                Ok(result) => return reply(result),
                Err(Trouble::Broken(broken)) if broken.reached == Reached::No && !last => {
                    let lost = broken.lost || peer.broken().is_some();
                    if broken.lost {
                        server.drop_peer(&peer);
                    }
                    if !lost {
                        return Err(broke(&server, tool, &broken));
                    }
                }
                Err(Trouble::Broken(broken)) => return Err(broke(&server, tool, &broken)),
                Err(Trouble::Error(error)) => return Err(refused(error)),
                Err(Trouble::Failed(error)) => return Err(error),
                Err(Trouble::Stopped) => {
                    let why = format!(
                        "`{tool}` of `{name}` was called off; whether it took effect is unknown"
                    );
                    return Err(ToolError::timeout(why));
                }
            }
        }
        Err(ToolError::internal(
            "a call was tried twice and neither worked nor failed",
        ))
    }
}

/// The call as the server gets it: what came with it goes with it, but for what is ours.
fn params(
    tool: &str,
    args: &Map<String, Value>,
    caller: Option<&Arc<dyn Caller>>,
) -> Map<String, Value> {
    let mut params = Map::new();
    params.insert("name".to_owned(), tool.into());
    params.insert("arguments".to_owned(), Value::Object(args.clone()));
    let ours = [
        "name",
        "arguments",
        "inputResponses",
        "requestState",
        "task",
    ];
    if let Some(caller) = caller {
        for (key, value) in caller.extras() {
            if !ours.contains(&key.as_str()) {
                params.insert(key.clone(), value.clone());
            }
        }
    }
    params
}

/// A result, word for word beside what it means here.
pub(crate) fn reply(result: Message) -> Result<Reply, ToolError> {
    if result.get("isError") == Some(&Value::Bool(true)) {
        let said = result.get("structuredContent").map(|s| &s["error"]);
        let kind = said.and_then(|e| e["type"].as_str());
        let kind = kind.and_then(|k| ErrorKind::ALL.into_iter().find(|e| e.as_str() == k));
        let message =
            text(&result).unwrap_or_else(|| "the tool failed and did not say why".to_owned());
        let mut error = ToolError::new(kind.unwrap_or(ErrorKind::Internal), message);
        // In our own shape the message and the hint stand apart.
        if kind.is_some()
            && let Some(message) = said.and_then(|e| e["message"].as_str())
        {
            error.message = message.to_owned();
            error.hint = said.and_then(|e| e["hint"].as_str()).map(str::to_owned);
        }
        return Err(error.with_wire(Wire::Result(result)));
    }
    let data = match result.get("structuredContent") {
        Some(structured) if !structured.is_null() => structured.clone(),
        _ => match text(&result) {
            Some(text) => Value::String(text),
            None => json!({"content": result.get("content").cloned().unwrap_or_else(|| json!([]))}),
        },
    };
    Ok(Reply {
        wire: Some(Arc::new(Wire::Result(result))),
        ..Reply::new(data)
    })
}

/// The text of a result that is nothing but text.
fn text(result: &Message) -> Option<String> {
    let content = result
        .get("content")?
        .as_array()
        .filter(|c| !c.is_empty())?;
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| part["text"].as_str().filter(|_| part["type"] == "text"))
        .collect();
    texts.map(|texts| texts.join("\n"))
}

/// A refusal in the words of the protocol.
pub(crate) fn refused(error: Message) -> ToolError {
    let message = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("the server refused");
    let kind = match error.get("code").and_then(Value::as_i64) {
        Some(-32602) => ErrorKind::Validation,
        Some(-32601 | -32002) => ErrorKind::NotFound,
        Some(-32001) => ErrorKind::Timeout,
        Some(-32022..=-32020) => ErrorKind::Dependency,
        _ => ErrorKind::Internal,
    };
    ToolError::new(kind, message.to_owned()).with_wire(Wire::Error(error))
}

pub(crate) fn unavailable(server: &Server, broken: &Broken) -> ToolError {
    let error = ToolError::dependency(format!(
        "the server `{}` is not available: {}",
        server.name(),
        broken.why
    ));
    error.with_hint(match broken.challenge {
        Some(_) => format!("`helve mcp login {}` logs in to it", server.name()),
        None => format!("`helve mcp test {}` shows more", server.name()),
    })
}

fn broke(server: &Server, tool: &str, broken: &Broken) -> ToolError {
    match broken.reached {
        Reached::No => unavailable(server, broken),
        Reached::Maybe => {
            let name = server.name();
            let why = format!(
                "`{tool}` of `{name}` was cut off: {}; whether it took effect is unknown",
                broken.why
            );
            ToolError::internal(why).with_hint(format!("`helve mcp test {name}` shows more"))
        }
    }
}

/// An error in the words of the protocol.
pub(crate) fn as_error(trouble: Trouble, server: &Server) -> Message {
    let (code, message) = match trouble {
        Trouble::Error(error) => return error,
        Trouble::Failed(e) => match e.wire.as_deref() {
            Some(Wire::Error(error)) => return error.clone(),
            _ => (-32603, e.message),
        },
        Trouble::Stopped => (
            -32001,
            format!("`{}` did not answer in time", server.name()),
        ),
        Trouble::Broken(broken) => (-32603, unavailable(server, &broken).message),
    };
    let mut error = Map::new();
    error.insert("code".to_owned(), code.into());
    error.insert("message".to_owned(), message.into());
    error
}

impl Inner {
    /// Refuses a tool that waits for somebody to look at it.
    pub(crate) fn callable(&self, server: &str, tool: &str) -> Result<(), ToolError> {
        match self.book.of(server, tool) {
            None => Ok(()),
            Some(waiting) if waiting.after.is_none() => {
                let error =
                    ToolError::not_found(format!("the server `{server}` no longer has `{tool}`"));
                Err(error.with_hint(format!(
                    "`helve mcp accept {server} {tool}` removes it here too"
                )))
            }
            Some(_) => {
                let why = format!(
                    "the definition of `{tool}` on `{server}` waits for somebody to look at it"
                );
                let hint = format!(
                    "a person sees what is different with `helve mcp diff {server} {tool}`, and takes it over with `helve mcp accept`"
                );
                Err(ToolError::denied(why).with_hint(hint))
            }
        }
    }
}
