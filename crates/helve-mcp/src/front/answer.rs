//! What came of a call, as the protocol says it.

use std::sync::Arc;

use helve_kernel::{Answer, ErrorKind, RunState, Wire, error_value};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};

use super::views::needs_object;

/// The first revision in which every result says of what type it is.
pub(crate) const MODERN: &str = "2026-07-28";

/// A result for a client of that revision.
pub(crate) fn finish(mut result: Map<String, Value>, protocol: &str) -> Map<String, Value> {
    match protocol >= MODERN {
        true => {
            result
                .entry("resultType")
                .or_insert_with(|| "complete".into());
        }
        false if result.get("resultType").is_some_and(|t| t == "complete") => {
            result.shift_remove("resultType");
        }
        false => {}
    }
    result
}

/// A list for a client of that revision: how long it may be kept, and by whom.
pub(crate) fn finish_list(result: Map<String, Value>, protocol: &str) -> Map<String, Value> {
    let mut result = finish(result, protocol);
    if protocol >= MODERN {
        result.entry("ttlMs").or_insert_with(|| 0.into());
        // What is listed depends on who asks.
        result
            .entry("cacheScope")
            .or_insert_with(|| "private".into());
    }
    result
}

/// The `result` of `tools/call`, or its JSON-RPC error.
pub(crate) fn call_result(
    mut answer: Answer,
    output: Option<&Value>,
    known: bool,
) -> Result<Map<String, Value>, ErrorData> {
    match answer.meta.wire.take().map(Arc::unwrap_or_clone) {
        Some(Wire::Result(result)) => return Ok(result),
        Some(Wire::Error(error)) => return Err(error_of(&error)),
        None => {}
    }
    if let Err(error) = &answer.result
        && error.kind == ErrorKind::NotFound
        && !known
    {
        // The protocol's own words for a tool that is not there.
        return Err(ErrorData::invalid_params(answer.text(), None));
    }
    let mut result = Map::new();
    let mut content = vec![json!({"type": "text", "text": answer.text()})];
    content.append(&mut answer.meta.content);
    result.insert("content".to_owned(), content.into());
    let meta = meta(&answer);
    match answer.result {
        Ok(data) => {
            if let Some(structured) = structured(data, output) {
                result.insert("structuredContent".to_owned(), structured);
            }
        }
        Err(_) => drop(result.insert("isError".to_owned(), true.into())),
    }
    result.insert("_meta".to_owned(), meta);
    Ok(result)
}

fn structured(data: Value, output: Option<&Value>) -> Option<Value> {
    let within = |data| Some(Value::Object(Map::from_iter([("result".to_owned(), data)])));
    match (data, output) {
        (data, Some(schema)) if needs_object(schema) => within(data),
        (data @ Value::Object(_), _) => Some(data),
        // A list, which older clients take only in an object.
        (data @ Value::Array(_), None) => within(data),
        _ => None,
    }
}

/// What is worth knowing beside a result.
fn meta(answer: &Answer) -> Value {
    let mut meta = Map::new();
    meta.insert("helve/run".to_owned(), answer.meta.to_value());
    if let Err(error) = &answer.result {
        meta.insert("helve/error".to_owned(), error_value(error));
    }
    Value::Object(meta)
}

/// A result that says that people must decide first, and how to ask again.
pub(crate) fn pending(
    tool: &str,
    run: &str,
    approval: &str,
    ask_again: &str,
) -> Map<String, Value> {
    let text = format!(
        "`{tool}` waits for a person to approve it; it has not taken effect. Its run is `{run}`. \
         Call `{ask_again}` with that run_id to learn what came of it."
    );
    let mut result = Map::new();
    result.insert(
        "content".to_owned(),
        json!([{"type": "text", "text": text}]),
    );
    // A tool may promise a structure that there is nothing to fill with yet.
    result.insert("isError".to_owned(), true.into());
    let state = RunState::PendingApproval.as_str();
    let run = json!({"run_id": run, "state": state, "approval_id": approval, "tool": tool});
    result.insert("_meta".to_owned(), json!({"helve/run": run}));
    result
}

/// An error as it came from a server elsewhere.
pub(crate) fn error_of(error: &Map<String, Value>) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64);
    let code = code.and_then(|c| i32::try_from(c).ok());
    let message = error.get("message").and_then(Value::as_str);
    ErrorData::new(
        code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
        message.unwrap_or("the server gave no reason").to_owned(),
        error.get("data").cloned(),
    )
}
