//! Tools of the older era that ask the client in the middle of a call.

// Sampling is of the older era only, and marked so.
#![expect(deprecated)]

use rmcp::ErrorData;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::catalog::{Answer, of};
use crate::tools;

/// Whether a tool is here.
pub(crate) fn knows(name: &str) -> bool {
    matches!(
        name,
        "test_sampling"
            | "test_elicitation"
            | "test_elicitation_sep1034_defaults"
            | "test_elicitation_sep1330_enums"
            | "test_streaming_elicitation"
    )
}

/// Calls one of them.
pub(crate) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Answer<CallToolResponse> {
    let argument = |name: &str| {
        let found = request
            .arguments
            .as_ref()
            .and_then(|all| all.get(name)?.as_str());
        found.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
    };
    match &*request.name {
        "test_sampling" => sample(context, argument("prompt")?).await,
        "test_elicitation" => ask(context, argument("message")?, person()).await,
        "test_elicitation_sep1034_defaults" => {
            ask(context, "Look at the defaults", defaults()).await
        }
        "test_elicitation_sep1330_enums" => ask(context, "Choose", choices()).await,
        _ => streaming(request, context).await,
    }
}

async fn sample(context: &RequestContext<RoleServer>, prompt: &str) -> Answer<CallToolResponse> {
    let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
    let request = of(json!({"messages": [message], "maxTokens": 100}));
    let reply = context.peer.create_message(request).await.map_err(failed)?;
    let said = format!("LLM response: {}", json!(reply.message.content));
    Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
}

async fn ask(
    context: &RequestContext<RoleServer>,
    message: &str,
    schema: Value,
) -> Answer<CallToolResponse> {
    let request = of(json!({"message": message, "requestedSchema": schema}));
    let reply = context
        .peer
        .create_elicitation(request)
        .await
        .map_err(failed)?;
    let said = format!(
        "User response: action={}, content={}",
        json!(reply.action).as_str().unwrap_or_default(),
        json!(reply.content)
    );
    Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
}

/// Progress first, so that there is a stream; then the question, which in the newer
/// era may only be the result.
async fn streaming(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Answer<CallToolResponse> {
    tools::progress(context, &[10.0]).await;
    if context.meta.protocol_version().is_none() {
        return ask(context, "Who are you?", person()).await;
    }
    if request.input_responses.is_some() {
        return Ok(CallToolResult::success(vec![ContentBlock::text("Thank you.")]).into());
    }
    let question = json!({
        "method": "elicitation/create",
        "params": {"message": "Who are you?", "requestedSchema": person()},
    });
    Ok(InputRequiredResult::from_input_requests(of(json!({"person": question}))).into())
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: rmcp::ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client could not be asked: {error}"), None)
}

fn person() -> Value {
    json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    })
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            "verified": {"type": "boolean", "default": true},
        },
    })
}

fn choices() -> Value {
    let plain = json!(["option1", "option2", "option3"]);
    let titled = json!([
        {"const": "value1", "title": "First Option"},
        {"const": "value2", "title": "Second Option"},
        {"const": "value3", "title": "Third Option"},
    ]);
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    })
}
