//! `/runs`: calls, what came of them, what they write.

use std::fs::{File, Metadata};
use std::io::{Read as _, Take};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use axum::body::{Body as Sent, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use helve_kernel::store::RunFilter;
use helve_kernel::{Answer, At, Call, Ctx, ErrorKind, Principal, Run, RunId, RunState, Wait};
use serde_json::{Value, json};

use super::tools::unknown;
use super::{Given, kept, may_see, ok};
use crate::guard::{Caller, unauthorized};
use crate::input::{Body, Id, Query, number};
use crate::problem::{Problem, crashed, json_response};
use crate::stream::{self, Text};
use crate::{Hub, view};

pub(crate) async fn create_for(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    headers: HeaderMap,
    body: Body,
) -> Given {
    body.only(&[
        "args",
        "arguments",
        "wait",
        "agent_id",
        "context",
        "dry_run",
    ])?;
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
        "dry_run",
    ])?;
    let tool = match (body.0.get("tool_id"), body.0.get("tool")) {
        (Some(Value::String(tool)), None) | (None, Some(Value::String(tool))) => tool.clone(),
        (None, None) => return Err(Problem::invalid("`tool_id` is missing")),
        (Some(_), Some(_)) => {
            return Err(Problem::invalid(
                "`tool_id` and `tool` are the same; give one",
            ));
        }
        _ => return Err(Problem::invalid("`tool_id` must be text")),
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
    if let Some(agent) = body.line("agent_id", 128)? {
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
        tool: tool.clone(),
        args,
        principal: who.clone(),
        ctx: ctx.build(),
        key: idempotency_key(headers)?,
        wait,
        dry_run: body.flag("dry_run")?,
        run: None,
        through: None,
    };
    let answer = match wait {
        Wait::Nothing | Wait::Run => hub.call(call).await,
        // People may take longer than the hub is open, and than a token counts.
        Wait::Decision => tokio::select! {
            answer = hub.call(call) => answer,
            () = hub.closing().cancelled() => return Err(stopping()),
        },
    };
    if wait == Wait::Decision && !hub.admits(&who) {
        return Err(unauthorized("the token no longer counts"));
    }
    match (&answer.meta.run_id, answer.meta.state) {
        (Some(run), Some(state)) => Ok(answered(run, state, &answer)),
        _ => Err(refused(hub, &who, &tool, answer)),
    }
}

fn stopping() -> Problem {
    let detail = "the hub is stopping, and nobody has decided yet";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "transient", detail)
        .hint("the run still waits: `GET /runs?state=pending_approval` has it")
}

/// A call that did not become a run. A tool outside the caller's scopes is not there.
fn refused(hub: &Hub, who: &Principal, tool: &str, answer: Answer) -> Problem {
    let entry = hub.kernel().find(tool);
    let there = entry.is_some_and(|e| who.reaches(e.def.name.as_str()));
    match answer.result {
        Err(e) if matches!(e.kind, ErrorKind::NotFound | ErrorKind::Permission) && !there => {
            unknown(hub, who, tool)
        }
        Err(error) => error.into(),
        Ok(_) => crashed(),
    }
}

pub(super) fn answered(run: &RunId, state: RunState, answer: &Answer) -> Response {
    let status = match state.is_over() {
        true => StatusCode::OK,
        false => StatusCode::ACCEPTED,
    };
    let mut response = json_response(status, &answer.to_value());
    if let Ok(place) = format!("/runs/{run}").parse() {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let Some(value) = keys.next() else {
        return Ok(None);
    };
    let visible =
        |t: &&str| (1..=255).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_graphic());
    let text = value.to_str().ok().filter(visible);
    match (text, keys.next()) {
        (Some(text), None) => Ok(Some(text.to_owned())),
        _ => Err(Problem::bad_request(
            "`Idempotency-Key` must be one, of 1 to 255 visible characters",
        )),
    }
}

/// How a time is written.
const TIME: &str = "a time like 2026-01-31T12:00:00Z";

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller, query: Query) -> Given {
    let limit = query.limit()?;
    let filter = RunFilter {
        tool: query.get("tool").map(|name| {
            let entry = hub.kernel().find(name);
            entry.map_or_else(|| name.to_owned(), |e| e.def.name.to_string())
        }),
        state: query.read("state", "a state of a run", RunState::parse)?,
        owner: (!who.may(helve_kernel::Permission::AuditRead)).then(|| who.owner.clone()),
        who: query.get("who").map(str::to_owned),
        since: query.read("since", TIME, At::parse)?,
        until: query.read("until", TIME, At::parse)?,
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
pub(crate) async fn seen(hub: &Hub, who: &Principal, id: &str) -> Result<Run, Problem> {
    let parsed = RunId::parse(id).ok_or_else(|| Problem::not_found(id))?;
    let found = hub.kernel().store().run(&parsed).await;
    let found = found.map_err(|e| kept(&e))?;
    let found = found.filter(|r| may_see(who, &r.owner, r.under.as_deref()));
    found.ok_or_else(|| Problem::not_found(id))
}

pub(crate) async fn show(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    let run = seen(&hub, &who, &id).await?;
    let changes = hub.kernel().changes_kept(&run.id).await?;
    let report = hub.kernel().report(&run.id);
    ok(&view::run_with_answer(
        &run,
        changes.as_ref(),
        report.as_ref(),
    ))
}

pub(crate) async fn logs(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    headers: HeaderMap,
    query: Query,
) -> Given {
    let run = seen(&hub, &who, &id).await?;
    let after = query.number("after")?;
    // A browser that lost its connection says where it was, at the same address as before.
    let last = headers
        .get("last-event-id")
        .and_then(|v| number(v.to_str().ok()?));
    let after = last.or(after).unwrap_or(0);
    let limit = query.limit()?;
    let follow = query.flag("follow")?.unwrap_or(true);
    let accepted = headers
        .get(header::ACCEPT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    if accepted.contains("application/json") && !accepted.contains("text/event-stream") {
        let store = hub.kernel().store();
        let text = Text::after(&**store, &run.id, after).await;
        let chunks = store.chunks(&run.id, after, limit + 1).await;
        let (mut text, mut chunks) = (text.map_err(|e| kept(&e))?, chunks.map_err(|e| kept(&e))?);
        let more = chunks.len() > limit;
        chunks.truncate(limit);
        let next = chunks.last().filter(|_| more).map(|c| c.seq.to_string());
        let mut items: Vec<Value> = chunks.iter().filter_map(|c| text.of(c)).collect();
        if run.state.is_over() && !more {
            items.extend(text.rest());
        }
        return ok(&view::page(items, next));
    }
    let most = query.get("limit").map(|_| limit);
    Ok(stream::logs(hub, who, run.id, after, follow, most))
}

pub(crate) async fn artifact(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id((id, name)): Id<(String, String)>,
) -> Given {
    let run = seen(&hub, &who, &id).await?;
    // Only what the run says it left: a name is never made into a path otherwise.
    let listed = run
        .answer
        .as_ref()
        .and_then(|a| a["meta"]["artifacts"].as_array());
    let known = listed.is_some_and(|list| list.iter().any(|a| a["name"] == name.as_str()));
    let plain = Path::new(&name).file_name() == Some(name.as_ref());
    let folder = hub.kernel().artifacts(&run.id).filter(|_| known && plain);
    let folder = folder.ok_or_else(|| Problem::not_found(&name))?;
    let opened = tokio::task::spawn_blocking(move || open_file(&folder.join(&name))).await;
    let (file, bytes) = opened.ok().flatten().ok_or_else(|| {
        let detail = "the artifact is no longer there";
        Problem::new(StatusCode::NOT_FOUND, "not_found", detail)
    })?;
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::CONTENT_LENGTH, bytes)
        .header(header::CONTENT_DISPOSITION, "attachment");
    response
        .body(Sent::from_stream(pieces(file)))
        .map_err(|_| Problem::bad_request("the artifact cannot be sent"))
}

/// A plain file, and nothing that a run put there to lead elsewhere.
fn open_file(path: &Path) -> Option<(Take<File>, u64)> {
    let there = std::fs::symlink_metadata(path)
        .ok()
        .filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let opened = file.metadata().ok()?;
    // The file that was opened is the one that was looked at, not what a link led to.
    let same = (there.dev(), there.ino()) == (opened.dev(), opened.ino());
    same.then(|| (file.take(opened.len()), opened.len()))
}

/// A file, piece by piece: it may be longer than the memory.
fn pieces(file: Take<File>) -> impl futures_util::Stream<Item = std::io::Result<Bytes>> {
    futures_util::stream::try_unfold(file, |mut file| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; 64 * 1024];
            let n = file.read(&mut piece)?;
            piece.truncate(n);
            Ok::<_, std::io::Error>((piece, file))
        });
        let (piece, file) = read.await.map_err(std::io::Error::other)??;
        Ok((!piece.is_empty()).then(|| (Bytes::from(piece), file)))
    })
}

pub(crate) async fn cancel(State(hub): State<Hub>, Caller(who): Caller, Id(id): Id) -> Given {
    let run = seen(&hub, &who, &id).await?;
    let state = hub.kernel().cancel(&who, &run.id).await?;
    let value = json!({"run_id": run.id.as_str(), "state": state.as_str()});
    Ok(json_response(StatusCode::ACCEPTED, &value))
}
