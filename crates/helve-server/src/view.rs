//! What is kept, as it is shown.

use helve_core::audit::Entry as AuditEntry;
use helve_kernel::store::Version;
use helve_kernel::{
    Approval, Changes, Chunk, Entry, Notice, Outcome, Past, Principal, Question, Report, Run,
    RunState, Token, run_answer,
};
use serde_json::{Value, json};

use crate::paths;

pub(crate) fn tool(entry: &Entry) -> Value {
    json!({
        "id": entry.def.name.as_str(),
        "version": entry.version.to_string(),
        "hash": entry.hash.to_string(),
        "enabled": entry.enabled,
        "source": entry.source,
        "definition": entry.def.to_value(),
    })
}

pub(crate) fn registered(outcome: &Outcome) -> Value {
    json!({
        "tool": tool(&outcome.entry),
        "changed": outcome.changed,
        "warnings": outcome.warnings,
    })
}

pub(crate) fn version(version: &Version, current: &Entry) -> Value {
    json!({
        "version": version.version.to_string(),
        "hash": version.hash.to_string(),
        "by": version.by,
        "at": version.at.to_string(),
        "why": version.why,
        "current": version.hash == current.hash && version.version == current.version,
        "definition": version.definition,
    })
}

pub(crate) fn question(question: &Question) -> Value {
    json!({
        "id": question.id.as_str(),
        "run_id": question.run.as_ref().map(helve_kernel::RunId::as_str),
        "owner": question.owner,
        "under": question.under,
        "question": question.text,
        "context": question.context,
        "form": question.form,
        "asked": question.asked.to_string(),
        "until": question.until.to_string(),
    })
}

pub(crate) fn run(run: &Run) -> Value {
    json!({
        "id": run.id.as_str(),
        "tool": run.tool,
        "version": run.version,
        "owner": run.owner,
        "under": run.under,
        "agent": run.agent,
        "state": run.state.as_str(),
        "args": run.args,
        "created": run.created.to_string(),
        "started": run.started.map(|at| at.to_string()),
        "ended": run.ended.map(|at| at.to_string()),
        "approval_id": run.approval.as_ref().map(helve_kernel::ApprovalId::as_str),
        "exit_code": run.exit_code,
    })
}

pub(crate) fn run_with_answer(
    kept: &Run,
    changed: Option<&Changes>,
    report: Option<&Report>,
) -> Value {
    let mut value = run(kept);
    value["progress"] = report.map_or(Value::Null, Report::to_value);
    let over = kept.state.is_over() || kept.answer.is_some();
    let staged = kept.state == RunState::Staged;
    value["answer"] = match over || staged {
        true => run_answer(kept),
        false => Value::Null,
    };
    if let Some(changed) = changed.filter(|_| staged) {
        value["answer"]["meta"]["changes"] = summary(changed);
    }
    value["changes"] = changed.map_or(Value::Null, changes);
    value
}

fn changes(changes: &Changes) -> Value {
    json!({
        "id": changes.id.to_string(),
        "state": changes.state.as_str(),
        "paths": changes.count,
        "order": changes.order,
        "pinned": changes.pinned,
    })
}

/// How much a run changed, in the words of its answer.
fn summary(changes: &Changes) -> Value {
    let told = changes
        .reply
        .as_ref()
        .map(|r| &r["answer"]["meta"]["changes"]);
    let told = told.filter(|summary| summary.is_object());
    told.cloned()
        .unwrap_or_else(|| json!({"paths": changes.count}))
}

/// A line of the history of a path, with the run that changed it.
pub(crate) fn past(past: &Past, run: &Run) -> Value {
    let at = run.ended.or(run.started).unwrap_or(run.created);
    let mut value = json!({
        "run": past.run.as_str(),
        "kind": past.touched.kind,
        "order": past.order,
        "tool": run.tool,
        "owner": run.owner,
        "under": run.under,
        "at": at.to_string(),
        "state": run.state.as_str(),
    });
    paths::put(&mut value, "path", &past.touched.path);
    value
}

/// A diff for programs, with its paths as they are everywhere else.
pub(crate) fn diff(mut diff: Value) -> Value {
    let all = diff["changes"].as_array_mut();
    for change in all.into_iter().flatten() {
        for name in ["path", "renamed_from"] {
            let bytes = change[name]["hex"].as_str().and_then(paths::bytes);
            if let Some(bytes) = bytes {
                paths::put(change, name, &bytes);
            }
        }
    }
    diff
}

pub(crate) fn approval(approval: &Approval, changed: Option<&Changes>) -> Value {
    let decisions = approval.decisions.iter().map(|d| {
        json!({
            "by": d.by,
            "verdict": d.verdict.as_str(),
            "reason": d.reason,
            "at": d.at.to_string(),
        })
    });
    let (notice, why) = match &approval.notice {
        Notice::None => ("none", None),
        Notice::Waiting => ("waiting", None),
        Notice::Sent => ("sent", None),
        Notice::Failed(why) => ("failed", Some(why)),
    };
    json!({
        "id": approval.id.as_str(),
        "run_id": approval.run.as_str(),
        "state": approval.state.as_str(),
        "tool": approval.tool,
        "version": approval.version,
        "args": approval.args,
        "requester": approval.requester,
        "under": approval.under,
        "reason": approval.reason,
        "needed": approval.needed,
        "decisions": decisions.collect::<Vec<_>>(),
        "created": approval.created.to_string(),
        "expires": approval.expires.to_string(),
        "bound": approval.bound.to_string(),
        "notice": {"state": notice, "why": why},
        "changes": changed.map(summary),
        "diff": changed.map(|_| format!("/runs/{}/diff", approval.run)),
    })
}

pub(crate) fn token(token: &Token) -> Value {
    json!({
        "id": token.id.as_str(),
        "name": token.name,
        "kind": token.kind.as_str(),
        "owner": token.owner,
        "under": token.under,
        "permissions": token.permissions.iter().map(|p| p.as_str()).collect::<Vec<_>>(),
        "scopes": token.scopes,
        "max_risk": token.max_risk.as_str(),
        "created": token.created.to_string(),
        "created_by": token.created_by,
        "expires": token.expires.map(|at| at.to_string()),
        "revoked": token.revoked.map(|at| at.to_string()),
    })
}

pub(crate) fn principal(who: &Principal) -> Value {
    json!({
        "owner": who.owner,
        "kind": who.kind.as_str(),
        "under": who.under,
        "token_id": who.token.as_ref().map(helve_kernel::TokenId::as_str),
        "permissions": who.permissions.iter().map(|p| p.as_str()).collect::<Vec<_>>(),
        "scopes": who.scopes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "max_risk": who.max_risk.as_str(),
    })
}

pub(crate) fn entry(entry: &AuditEntry) -> Value {
    json!({
        "seq": entry.seq,
        "hash": entry.hash.to_string(),
        "record": entry.record,
    })
}

pub(crate) fn chunk(chunk: &Chunk, text: &str) -> Value {
    json!({
        "seq": chunk.seq,
        "stream": chunk.stream.as_str(),
        "at": chunk.at.to_string(),
        "text": text,
    })
}

/// A page: its items, and where the next begins.
pub(crate) fn page(items: Vec<Value>, next: Option<String>) -> Value {
    let next = next.map_or(Value::Null, Value::String);
    let page = [
        ("items".to_owned(), Value::Array(items)),
        ("next".to_owned(), next),
    ];
    Value::Object(page.into_iter().collect())
}
