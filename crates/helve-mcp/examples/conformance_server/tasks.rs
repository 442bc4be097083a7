//! Tools that become tasks, for clients that know the extension.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskOptions};
use serde_json::{Value, json};

use crate::catalog::{Answer, of, one_field};
use crate::rounds::{accepted, name_question, question};
use crate::server::Shared;

/// Whether a tool is here.
pub(crate) fn knows(name: &str) -> bool {
    matches!(
        name,
        "greet"
            | "slow_compute"
            | "failing_job"
            | "protocol_error_job"
            | "confirm_delete"
            | "multi_input"
            | "test_tool_with_task"
    )
}

/// Calls one of them.
pub(crate) async fn call(
    shared: &Shared,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Answer<CallToolResponse> {
    let arguments = request.arguments.clone().unwrap_or_default();
    let able = context
        .client_capabilities()
        .is_some_and(|c| c.supports_tasks());
    match &*request.name {
        "greet" => {
            let name = arguments
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or("you");
            return Ok(said(format!("Hello, {name}!")).into());
        }
        // The only ones that can do without a task.
        "slow_compute" if !able => {
            tokio::time::sleep(seconds(&arguments)).await;
            return Ok(said("Computed.".to_owned()).into());
        }
        _ if !able => {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Err(ErrorData::missing_required_client_capability(needed));
        }
        _ => {}
    }
    let work: Box<dyn FnOnce(TaskContext) -> TaskFuture + Send> = match &*request.name {
        "slow_compute" => {
            let time = seconds(&arguments);
            Box::new(move |task| Box::pin(compute(task, time)))
        }
        "failing_job" => Box::new(|_| {
            let failed = CallToolResult::error(vec![ContentBlock::text("The job failed.")]);
            Box::pin(async { Ok(failed) })
        }),
        "protocol_error_job" => Box::new(|_| {
            let error = ErrorData::internal_error("the job broke down", None);
            Box::pin(async { Err(TaskExit::Error(error)) })
        }),
        "confirm_delete" => Box::new(|task| Box::pin(confirm(task))),
        "multi_input" => Box::new(|task| Box::pin(ask_twice(task))),
        _ => {
            let Some(name) = accepted(request.input_responses.as_ref(), "user_name", "name") else {
                let questions = json!({"user_name": name_question("What is your name?")});
                return Ok(InputRequiredResult::from_input_requests(of(questions)).into());
            };
            let result = said(format!("Hello, {}!", name.as_str().unwrap_or("you")));
            Box::new(|_| Box::pin(async { Ok(result) }))
        }
    };
    let options = TaskOptions::new().with_poll_interval_ms(100);
    Ok(CreateTaskResult::new(shared.tasks.spawn(options, work)).into())
}

async fn compute(task: TaskContext, time: Duration) -> Result<CallToolResult, TaskExit> {
    tokio::select! {
        () = task.cancelled() => Err(TaskExit::Cancelled),
        () = tokio::time::sleep(time) => Ok(said("Computed.".to_owned())),
    }
}

async fn confirm(task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let request = of(question("Delete it?", &one_field("confirm", "boolean")));
    let reply = task.request_input("confirm", request).await?;
    let yes = reply["action"] == "accept" && reply["content"]["confirm"] == true;
    Ok(said(if yes { "Deleted." } else { "Kept." }.to_owned()))
}

async fn ask_twice(task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let first = task.request_input("first", of(name_question("Who is first?")));
    let second = task.request_input("second", of(name_question("Who is second?")));
    let (first, second) = tokio::join!(first, second);
    let names = [first?, second?].map(|reply| reply["content"]["name"].clone());
    Ok(said(format!("First {}, then {}.", names[0], names[1])))
}

fn seconds(arguments: &JsonObject) -> Duration {
    let seconds = arguments
        .get("seconds")
        .and_then(Value::as_f64)
        .unwrap_or(0.0);
    Duration::from_secs_f64(seconds.clamp(0.0, 120.0))
}

fn said(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
