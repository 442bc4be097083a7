//! What a handler gave back, or threw, in the shape of every other answer.
//!
//! Handlers answer in the ways of the systems that they were written for: content of the
//! Model Context Protocol, an envelope with `ok`, `{error: true, message}`, or just a value.

use helve_core::ToolDef;
use helve_kernel::{ErrorKind, Reply, ToolError};
use serde_json::{Map, Value};

use super::wire::{Outcome, Thrown};

/// The most of a stack that an error repeats, in characters.
const STACK: usize = 1500;

/// What came of a call.
pub(crate) fn reply(def: &ToolDef, outcome: Outcome) -> Result<Reply, ToolError> {
    if !outcome.ok {
        return Err(thrown(outcome.error.unwrap_or_default()));
    }
    let mut reply = match outcome.value {
        Value::Object(map) => object(def, map)?,
        value => Reply::new(value),
    };
    reply.writes = outcome.writes.into_iter().collect();
    Ok(reply)
}

fn object(def: &ToolDef, mut map: Map<String, Value>) -> Result<Reply, ToolError> {
    let said = |name: &str| map.get(name).and_then(Value::as_bool);
    let wrong = said("isError").or(said("is_error")).unwrap_or(false);
    match said("ok") {
        Some(false) if map.contains_key("error") => return Err(refused(&map["error"])),
        Some(true) if map.contains_key("data") => {
            let mut reply = Reply::new(map.remove("data").unwrap_or_default());
            if let Some(Value::Object(about)) = map.remove("meta") {
                reply.about = about;
            }
            reply.content = shown(map.get("content"));
            return Ok(reply);
        }
        _ => {}
    }
    if said("error") == Some(true) && map.get("message").is_some_and(Value::is_string) {
        return Err(refused(&map["message"]));
    }
    let Some(content) = map.get("content").and_then(blocks) else {
        return Ok(Reply::new(map));
    };
    let text = text(content);
    if wrong {
        let message = text.unwrap_or_else(|| "the tool failed and did not say why".to_owned());
        return Err(ToolError::internal(message));
    }
    let content = shown(map.get("content"));
    let structured = ["structuredContent", "structured_content"];
    let structured = structured.iter().find_map(|name| map.remove(*name));
    let data = match (structured.filter(|s| !s.is_null()), text) {
        (Some(structured), _) => structured,
        (None, Some(text)) => match &def.output_schema {
            // What has a schema was written as JSON.
            Some(_) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            None => Value::String(text),
        },
        (None, None) => Value::Null,
    };
    let mut reply = Reply::new(data);
    reply.content = content;
    Ok(reply)
}

/// Content of the Model Context Protocol; anything else that is called so is not.
fn blocks(content: &Value) -> Option<&Vec<Value>> {
    let content = content.as_array()?;
    let block = |block: &Value| block.get("type").is_some_and(Value::is_string);
    content.iter().all(block).then_some(content)
}

fn text(content: &[Value]) -> Option<String> {
    let text = |block: &Value| {
        (block["type"] == "text").then(|| block["text"].as_str().map(str::to_owned))
    };
    let texts: Vec<String> = content.iter().filter_map(text).flatten().collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// What is not text: pictures, sounds, resources.
fn shown(content: Option<&Value>) -> Vec<Value> {
    let blocks = content
        .and_then(blocks)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let shown = blocks.iter().filter(|block| block["type"] != "text");
    shown.cloned().collect()
}

/// What an envelope says about a failure: a text, or our own shape.
fn refused(error: &Value) -> ToolError {
    let kind = error["type"].as_str().and_then(kind);
    let message = match error {
        Value::String(text) => text.clone(),
        Value::Object(map) => match map.get("message").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => error.to_string(),
        },
        other => other.to_string(),
    };
    let mut refused = ToolError::new(kind.unwrap_or(ErrorKind::Internal), message);
    refused.hint = error["hint"].as_str().map(str::to_owned);
    refused
}

fn thrown(thrown: Thrown) -> ToolError {
    let kind = thrown.kind.as_deref().and_then(kind);
    let plain = thrown.name.filter(|name| name != "Error" && kind.is_none());
    let mut message = match plain {
        Some(name) if !thrown.message.starts_with(&name) => format!("{name}: {}", thrown.message),
        _ => thrown.message,
    };
    if message.trim().is_empty() {
        message = "the tool threw an error without a message".to_owned();
    }
    let mut error = ToolError::new(kind.unwrap_or(ErrorKind::Internal), message);
    let stack = thrown.stack.filter(|stack| !stack.trim().is_empty());
    let stack = stack.map(|stack| stack.chars().take(STACK).collect::<String>());
    error.hint = thrown
        .hint
        .or(stack.map(|stack| format!("it was thrown here:\n{stack}")));
    error
}

fn kind(word: &str) -> Option<ErrorKind> {
    ErrorKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == word)
}

#[cfg(test)]
mod tests;
