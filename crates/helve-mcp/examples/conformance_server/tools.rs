//! The tools that answer by themselves, and the way to those that do not.

// Logging is of the older era only, and marked so.
#![expect(deprecated)]

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::SessionId;
use serde_json::json;

use crate::catalog::{Answer, PIXEL, SILENCE};
use crate::changes::Change;
use crate::server::Shared;
use crate::{asking, rounds, tasks};

/// Long enough for a client to see that messages come one by one.
const A_MOMENT: Duration = Duration::from_millis(50);

/// Calls a tool.
pub(crate) async fn call(
    shared: &Shared,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Answer<CallToolResponse> {
    let text = |text: &str| Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into());
    let contents = |list: Vec<ContentBlock>| Ok(CallToolResult::success(list).into());
    match &*request.name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => contents(vec![ContentBlock::image(PIXEL, "image/png")]),
        "test_audio_content" => contents(vec![ContentBlock::audio(SILENCE, "audio/wav")]),
        "test_embedded_resource" => contents(vec![embedded(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => contents(vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PIXEL, "image/png"),
            embedded(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]),
        "test_error_handling" => Ok(CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )])
        .into()),
        "json_schema_2020_12_tool" | "test_custom_header" => {
            text(&format!("Called with {}", json!(request.arguments)))
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            log_three_times(&context).await;
            text("Logged three times.")
        }
        "test_tool_with_progress" => {
            progress(&context, &[0.0, 50.0, 100.0]).await;
            text("Reported progress three times.")
        }
        "test_reconnection" => {
            close_stream(shared, &context).await?;
            text("Still here after the stream was closed.")
        }
        "test_trigger_tool_change" => {
            shared.changes.happened(Change::Tools).await;
            text("Everybody knows.")
        }
        "test_trigger_prompt_change" => {
            shared.changes.happened(Change::Prompts).await;
            text("Everybody knows.")
        }
        "test_missing_capability" => {
            let able = context
                .client_capabilities()
                .is_some_and(|c| c.sampling.is_some());
            let needed = ClientCapabilities::builder().enable_sampling().build();
            match able {
                true => text("This client can sample."),
                false => Err(ErrorData::missing_required_client_capability(needed)),
            }
        }
        name if asking::knows(name) => asking::call(&request, &context).await,
        name if rounds::knows(name) => rounds::call(shared, &request, &context).await,
        name if tasks::knows(name) => tasks::call(shared, &request, &context).await,
        name => Err(ErrorData::invalid_params(
            format!("there is no tool `{name}`"),
            None,
        )),
    }
}

fn embedded(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(text, uri).with_mime_type(kind))
}

/// In the newer era only to who asked for it with the request.
async fn log_three_times(context: &RequestContext<RoleServer>) {
    let wanted = context.meta.protocol_version().is_none() || context.meta.log_level().is_some();
    for message in [
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ] {
        if wanted {
            let entry = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(message));
            // A client that went away misses it.
            let _ = context.peer.notify_logging_message(entry).await;
        }
        tokio::time::sleep(A_MOMENT).await;
    }
}

/// Reports progress to who gave a token for it.
pub(crate) async fn progress(context: &RequestContext<RoleServer>, steps: &[f64]) {
    for step in steps {
        if let Some(token) = context.meta.get_progress_token() {
            let note = ProgressNotificationParam::new(token, *step).with_total(100.0);
            let _ = context.peer.notify_progress(note).await;
        }
        tokio::time::sleep(A_MOMENT).await;
    }
}

/// Closes the streams of the session while the call goes on. Which of them carries
/// this call, rmcp does not say; its numbers count up from zero.
async fn close_stream(shared: &Shared, context: &RequestContext<RoleServer>) -> Answer<()> {
    let parts = context.extensions.get::<axum::http::request::Parts>();
    let session = parts.and_then(|p| p.headers.get("mcp-session-id")?.to_str().ok());
    if let (Some(sessions), Some(id)) = (&shared.sessions, session) {
        let handle = sessions
            .sessions
            .read()
            .await
            .get(&SessionId::from(id))
            .cloned();
        if let Some(handle) = handle {
            for stream in 0..8 {
                // Most of them are not there.
                let _ = handle
                    .close_sse_stream(stream, Some(Duration::from_millis(200)))
                    .await;
            }
        }
    }
    tokio::time::sleep(A_MOMENT).await;
    Ok(())
}
