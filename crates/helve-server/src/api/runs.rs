//! `/runs`: calls, what came of them, what they write.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use helve_kernel::store::RunFilter;
use helve_kernel::{Answer, Call, Ctx, Principal, Run, RunId, RunState, Wait};
use serde_json::{Value, json};

use super::{Given, kept, may_see, ok};
use crate::guard::Caller;
use crate::input::{Body, Query};
use crate::problem::{Problem, json_response};
use crate::{Hub, stream, view};

pub(crate) async fn create_for(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Given {
    body.only(&["args", "arguments", "wait", "agent_id", "context"])?;
    call(&hub, who, id, &headers, &body).await
}

pub(crate) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    headers: HeaderMap,
    body: Body,
) -> Given {
    body.only(&[
        "tool_id",
        "tool",
        "args",
        "arguments",
        "wait",
        "agent_id",
        "context",
    ])?;
    let tool = match (body.text("tool_id")?, body.text("tool")?) {
        (Some(tool), None) | (None, Some(tool)) => tool,
        (None, None) => return Err(Problem::invalid("`tool_id` is missing")),
        _ => {
            return Err(Problem::invalid(
                "`tool_id` and `tool` are the same; give one",
            ));
        }
    };
    call(&hub, who, tool, &headers, &body).await
}

async fn call(
    hub: &Hub,
    who: Arc<Principal>,
    tool: String,
    headers: &HeaderMap,
    body: &Body,
) -> Given {
    let args = match (body.0.get("args"), body.0.get("arguments")) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid(
                "`args` and `arguments` are the same; give one",
            ));
        }
        (args, arguments) => args.or(arguments).cloned().unwrap_or(Value::Null),
    };
    let wait = match body.text("wait")?.as_deref() {
        None | Some("run") => Wait::Run,
        Some("nothing") => Wait::Nothing,
        Some("decision") => Wait::Decision,
        Some(_) => {
            return Err(Problem::invalid("`wait` is `nothing`, `run` or `decision`"));
        }
    };
    let mut ctx = Ctx::builder();
    if let Some(agent) = body.text("agent_id")? {
        ctx = ctx.agent_id(agent);
    }
    match body.0.get("context") {
        None | Some(Value::Null) => {}
        Some(Value::Object(keys)) => {
            for (key, value) in keys {
                ctx = ctx.set(key, value.clone());
            }
        }
        Some(_) => return Err(Problem::invalid("`context` must be an object")),
    }
    let call = Call {
        tool,
        args,
        principal: who,
        ctx: ctx.build(),
        key: idempotency_key(headers)?,
        wait,
    };
    answered(hub.call(call).await)
}

/// A call that became a run has an answer; one that did not is a problem.
fn answered(answer: Answer) -> Given {
    let started = answer.meta.run_id.is_some() && answer.meta.state.is_some();
    match &answer.result {
        Err(error) if !started || refused_by_store(&answer) => Err(error.clone().into()),
        _ => {
            let over = answer.meta.state.is_some_and(RunState::is_over);
            let status = if over {
                StatusCode::OK
            } else {
                StatusCode::ACCEPTED
            };
            let mut response = json_response(status, &answer.to_value());
            if let Some(id) = &answer.meta.run_id
                && let Ok(place) = format!("/runs/{id}").parse()
            {
                response.headers_mut().insert(header::LOCATION, place);
            }
            Ok(response)
        }
    }
}

/// Whether there is no run after all: its key was taken, or it could not be recorded.
fn refused_by_store(answer: &Answer) -> bool {
    let Err(error) = &answer.result else {
        return false;
    };
    error.message.starts_with("not run:") || error.message.starts_with("the idempotency key")
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|t| (1..=255).contains(&t.len()));
    let wrong = || Problem::bad_request("`Idempotency-Key` must be 1 to 255 visible characters");
    text.map(|t| Some(t.to_owned())).ok_or_else(wrong)
}

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let filter = RunFilter {
        tool: query.get("tool").map(|name| {
            let entry = hub.kernel().find(name);
            entry.map_or_else(|| name.to_owned(), |e| e.def.name.to_string())
        }),
        state: query.read("state", "a state of a run", RunState::parse)?,
        owner: (!who.may(helve_kernel::Permission::AuditRead)).then(|| who.owner.clone()),
        before: query.read("cursor", "what `next` said", RunId::parse)?,
    };
    let mut runs = hub
        .kernel()
        .store()
        .runs(filter, limit + 1)
        .await
        .map_err(|e| kept(&e))?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let next = runs.last().filter(|_| more).map(|r| r.id.to_string());
    ok(&view::page(runs.iter().map(view::run).collect(), next))
}

/// A run that the caller may see; others do not exist for them.
async fn seen(hub: &Hub, who: &Principal, id: &str) -> Result<Run, Problem> {
    let parsed = RunId::parse(id).ok_or_else(|| Problem::not_found(id))?;
    let run = hub.kernel().run(&parsed).await?;
    match may_see(who, &run.owner, run.under.as_deref()) {
        true => Ok(run),
        false => Err(Problem::not_found(id)),
    }
}

pub(crate) async fn show(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    ok(&view::run_with_answer(&seen(&hub, &who, &id).await?))
}

pub(crate) async fn logs(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    query: Query,
) -> Given {
    let run = seen(&hub, &who, &id).await?;
    let number = |text: &str| {
        text.parse::<u64>()
            .ok()
            .filter(|n| i64::try_from(*n).is_ok())
    };
    let after = query.read("after", "a number", number)?;
    // A browser that lost its connection says where it was.
    let last = headers
        .get("last-event-id")
        .and_then(|v| number(v.to_str().ok()?));
    let after = after.or(last).unwrap_or(0);
    let limit = query.limit()?;
    let follow = query.flag("follow")?.unwrap_or(true);
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    if accepted.contains("application/json") && !accepted.contains("text/event-stream") {
        let chunks = hub.kernel().store().chunks(&run.id, after, limit + 1).await;
        let mut chunks = chunks.map_err(|e| kept(&e))?;
        let more = chunks.len() > limit;
        chunks.truncate(limit);
        let next = chunks.last().filter(|_| more).map(|c| c.seq.to_string());
        let items = chunks
            .iter()
            .map(|c| view::chunk(c, &String::from_utf8_lossy(&c.bytes)));
        return ok(&view::page(items.collect(), next));
    }
    Ok(stream::logs(hub, who, run.id, after, follow))
}

pub(crate) async fn artifact(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path((id, name)): Path<(String, String)>,
) -> Given {
    let run = seen(&hub, &who, &id).await?;
    // Only what the run says it left: a name is never made into a path otherwise.
    let listed = run
        .answer
        .as_ref()
        .and_then(|a| a["meta"]["artifacts"].as_array());
    let known = listed.is_some_and(|list| list.iter().any(|a| a["name"] == name.as_str()));
    let folder = hub.kernel().artifacts(&run.id).filter(|_| known);
    let folder = folder.ok_or_else(|| Problem::not_found(&name))?;
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(folder.join(&name)))
        .await
        .ok()
        .and_then(Result::ok);
    let bytes = bytes.ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "the artifact is no longer there",
        )
    })?;
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::CONTENT_DISPOSITION, "attachment");
    response
        .body(bytes.into())
        .map_err(|_| Problem::bad_request("the artifact cannot be sent"))
}

pub(crate) async fn cancel(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Given {
    let run = seen(&hub, &who, &id).await?;
    let state = hub.kernel().cancel(&who, &run.id).await?;
    let value = json!({"run_id": run.id.as_str(), "state": state.as_str()});
    Ok(json_response(StatusCode::ACCEPTED, &value))
}
