//! What a tool gave back, made fit to leave: checked, shortened, kept without secrets.

use std::path::Path;
use std::time::Duration;

use helve_core::audit::hash_of;
use helve_core::marked::{Mark, Marked, marked};
use helve_core::secret::{hmac_of, redact, redact_value};
use serde_json::{Map, Value, json};

use super::Kernel;
use super::pass::Ready;
use crate::changes::Settled;
use crate::registry::Behind;
use crate::run::RunState;
use crate::store::{Move, Opening, Record};
use crate::{
    Answer, ApprovalState, Artifact, Change, Entry, ErrorKind, Reply, StoreError, Summary,
    ToolError,
};

/// How long to wait before the end of a run is recorded once more.
const RETRY_RECORD: Duration = Duration::from_secs(1);

/// The texts of the secrets in arguments.
pub(super) fn secrets_in(entry: &Entry, args: &Map<String, Value>) -> Vec<String> {
    if !entry.has_secrets {
        return Vec::new();
    }
    let secrets = marked(&entry.def.input_schema, args, Mark::Secret);
    secrets.iter().flat_map(Marked::texts).collect()
}

impl Kernel {
    /// Refuses a result that does not fit its schema.
    pub(super) fn fits(&self, ready: &Ready, reply: &Reply) -> Result<(), ToolError> {
        let depth = helve_core::schema::walk::depth(&reply.data);
        if depth > helve_core::args::MAX_DEPTH {
            return Err(ToolError::internal(format!(
                "`{}` gave a result that nests {depth} levels deep, too deep to be kept",
                ready.entry.def.name
            ))
            .with_hint("it ran; whether it took effect is unknown"));
        }
        let Some(schema) = &ready.entry.output else {
            return Ok(());
        };
        match schema.misfits(&reply.data).first() {
            None => Ok(()),
            Some(misfit) => Err(ToolError::internal(format!(
                "`{}` gave a result that does not fit its `output_schema`: {} {}",
                ready.entry.def.name, misfit.pointer, misfit.problem
            ))
            .with_hint("it ran; whether it took effect is unknown")),
        }
    }

    /// A reply that is no longer than the limit: head and tail, and the whole in an
    /// artifact, without its secrets.
    pub(super) fn shortened(&self, ready: &Ready, mut reply: Reply, secrets: &[String]) -> Reply {
        let limit = self.inner.output_limit;
        let long = |data: &Value| match data {
            Value::String(text) => text.len() > limit,
            Value::Array(_) | Value::Object(_) => is_longer(data, limit),
            _ => false,
        };
        if !long(&reply.data) {
            return reply;
        }
        if !secrets.is_empty() {
            // Before it is written or cut: half a secret is not found any more.
            redact_value(&mut reply.data, secrets);
            if !long(&reply.data) {
                return reply;
            }
        }
        let text = match std::mem::take(&mut reply.data) {
            Value::String(text) => text,
            data => data.to_string(),
        };
        let folder = self
            .artifacts(&ready.run)
            .filter(|_| !ready.entry.def.sensitive);
        let spilled = folder.map(|folder| spill(&folder, &text));
        let place = match spilled.transpose() {
            Ok(Some(artifact)) => {
                let place = format!("the whole is in the artifact `{}`", artifact.name);
                reply.artifacts.push(artifact);
                place
            }
            Ok(None) => "the rest is lost".to_owned(),
            Err(e) => format!("the rest is lost, because it cannot be kept: {e}"),
        };
        reply.data = Value::String(head_and_tail(&text, limit, &place));
        reply
    }

    /// Records how a run ended. If that cannot be done, the caller is told, and it
    /// is tried again until it can: the effect has happened. An error where its start could
    /// not be recorded: then there is no run.
    pub(super) async fn record_end(
        &self,
        ready: &Ready,
        answer: &mut Answer,
        secrets: &[String],
        settled: Option<Settled>,
        opening: Option<Opening>,
    ) -> Result<bool, StoreError> {
        // Made once more where it fails: the store takes what it keeps, and a copy for each
        // call would cost as much as the rest.
        let end = |answer: &Answer| {
            let (kept, record) = self.ended(ready, answer, secrets, "run.ended");
            let step = Move {
                exit_code: answer.meta.exit_code,
                answer: Some(kept),
                // What was not applied after all must not be done again by a start.
                soon: !self.inner.sync_ends && settled != Some(Settled::Dropped),
                changes: settled.clone(),
                ..Move::new(
                    &ready.run,
                    &[RunState::Running],
                    answer.meta.state.unwrap_or(RunState::Failed),
                    record.at,
                )
            };
            (step, record)
        };
        let (step, record) = end(answer);
        let (at, soon) = (record.at, step.soon);
        let ended = self.inner.store.move_run(step, record).await;
        if let Some(mut opening) = opening
            && !(soon && matches!(ended, Ok(true)))
        {
            // After the end, with which it is durable. What has an end has a start.
            opening.wait().await?;
        }
        if let Err(e) = ended {
            let (mut step, mut record) = end(answer);
            (step.at, record.at) = (at, at);
            let problem = format!("it ran, but its end could not be recorded: {e}");
            let hint = "do not repeat it before you know what it did";
            answer.result = Err(ToolError::dependency(problem).with_hint(hint));
            answer.meta.state = Some(RunState::Running);
            answer.meta.return_direct = false;
            answer.writes.clear();
            self.record_later(step, record);
            return Ok(false);
        }
        Ok(true)
    }

    /// A run that was open, and ends without having begun: `false` if somebody else
    /// has ended or begun it.
    pub(super) async fn record_not_begun(
        &self,
        ready: &Ready,
        answer: &Answer,
        secrets: &[String],
    ) -> Result<bool, StoreError> {
        let (kept, record) = self.ended(ready, answer, secrets, "run.stopped");
        let step = Move {
            exit_code: answer.meta.exit_code,
            answer: Some(kept),
            approval: Some(ApprovalState::Withdrawn),
            ..Move::new(
                &ready.run,
                &[RunState::Queued, RunState::PendingApproval],
                answer.meta.state.unwrap_or(RunState::Failed),
                record.at,
            )
        };
        let store = &self.inner.store;
        let ended = store.move_run(step.clone(), record.clone()).await;
        if ended.is_err() {
            self.record_later(step, record);
        }
        ended
    }

    /// A call that a filter stopped before it was a run, or that could not be recorded.
    pub(super) async fn record_unopened(
        &self,
        ready: &Ready,
        answer: &mut Answer,
        secrets: &[String],
    ) {
        let (kept, record) = self.ended(ready, answer, secrets, "run.stopped");
        let args = Value::Object(ready.kept().clone());
        let record = record
            .with("tool", ready.entry.def.name.as_str())
            .with("args", args);
        let mut run = self.run_of(ready, answer.meta.state.unwrap_or(RunState::Failed));
        run.ended = Some(record.at);
        run.exit_code = answer.meta.exit_code;
        run.answer = Some(kept);
        if let Err(e) = self.inner.store.open_run(run, None, None, record).await {
            answer.result = Err(super::pass::not_recorded(&e));
            answer.meta.run_id = None;
            answer.meta.state = None;
            answer.meta.return_direct = false;
            answer.writes.clear();
        }
    }

    /// What is kept of an answer, and the record of it.
    pub(super) fn ended(
        &self,
        ready: &Ready,
        answer: &Answer,
        secrets: &[String],
        event: &'static str,
    ) -> (Value, Record) {
        let mut kept = match secrets.is_empty() {
            true => answer.to_kept(),
            false => without(answer, secrets),
        };
        let record = self
            .entry_of(&ready.principal.owner, event, ready.run.as_str())
            .with("state", answer.meta.state.map(RunState::as_str))
            .with("timing_ms", answer.meta.timing_ms.round() as u64)
            .with("exit_code", answer.meta.exit_code)
            .with("dry_run", answer.meta.dry_run.then_some(true))
            .with(
                "changes",
                answer.meta.changes.as_ref().map(Summary::to_value),
            );
        let sensitive = ready.entry.def.sensitive;
        let record = match &answer.result {
            // A plain hash of something short can be guessed.
            Ok(data) if sensitive => {
                record.with("result_hmac", hmac_of(&self.inner.secret_key, data))
            }
            Ok(_) => {
                let hash = hash_of(&kept["data"]).ok();
                record.with("result_hash", hash.map(|h| h.to_string()))
            }
            Err(error) => {
                let record = record.with("error", error.kind.as_str());
                let failed = matches!(error.kind, ErrorKind::Internal | ErrorKind::Transient);
                match failed && matches!(ready.entry.behind, Behind::Executor(_)) {
                    // It is what the program wrote; the run has it, the record is for ever.
                    true => record,
                    false => record.with("message", kept["error"]["message"].clone()),
                }
            }
        };
        if sensitive && answer.is_ok() {
            kept["data"] = json!({"withheld": "the tool is sensitive; its result is not kept"});
            kept["content"] = json!([]);
        }
        (kept, record)
    }

    pub(super) fn record_later(&self, step: Move, record: Record) {
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            loop {
                let closing = tokio::select! {
                    () = tokio::time::sleep(RETRY_RECORD) => false,
                    () = kernel.inner.closing.cancelled() => true,
                };
                let store = &kernel.inner.store;
                let recorded = store.move_run(step.clone(), record.clone()).await.is_ok();
                if recorded {
                    kernel.told(Change::Run(step.run));
                    return;
                }
                if closing {
                    // The next start finds the run open and settles it.
                    return;
                }
            }
        });
    }
}

/// An answer as it may be kept. Whoever reads it gets a text that is made of what has no secrets
/// any more: in the old one they may be escaped once more than anybody looks for.
fn without(answer: &Answer, secrets: &[String]) -> Value {
    let mut clean = answer.clone();
    match &mut clean.result {
        Ok(data) => redact_value(data, secrets),
        Err(error) => {
            error.message = redact(&error.message, secrets).into_owned();
            let hint = error.hint.take();
            error.hint = hint.map(|hint| redact(&hint, secrets).into_owned());
        }
    }
    let mut kept = clean.to_kept();
    redact_value(&mut kept, secrets);
    kept
}

/// Whether a value is longer than that as JSON; no more of it is written than tells, and nothing
/// of one that is far from it.
fn is_longer(value: &Value, limit: usize) -> bool {
    if most(value, limit) <= limit {
        return false;
    }
    struct Room(usize);
    impl std::io::Write for Room {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let left = self.0.checked_sub(bytes.len());
            self.0 = left.ok_or(std::io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(Room(limit), value).is_err()
}

/// No less than the length of a value as JSON, or more than the limit.
fn most(value: &Value, limit: usize) -> usize {
    // A letter may become six, and around anything are quotes, a colon, a comma.
    let text = |text: &str| 6 * text.len() + 4;
    let mut sum = 0;
    match value {
        Value::Null | Value::Bool(_) => sum = 8,
        Value::Number(_) => sum = 32,
        Value::String(said) => sum = text(said),
        Value::Array(items) => {
            for item in items {
                sum += most(item, limit) + 1;
                if sum > limit {
                    break;
                }
            }
            sum += 2;
        }
        Value::Object(map) => {
            for (key, value) in map {
                sum += text(key) + most(value, limit);
                if sum > limit {
                    break;
                }
            }
            sum += 2;
        }
    }
    sum
}

fn spill(folder: &Path, text: &str) -> std::io::Result<Artifact> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    // The tool may have left a file of that name.
    let mut name = "result".to_owned();
    let mut file = options.open(folder.join(&name));
    for number in 2..100 {
        match &file {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            _ => break,
        }
        name = format!("result-{number}");
        file = options.open(folder.join(&name));
    }
    std::io::Write::write_all(&mut file?, text.as_bytes())?;
    let bytes = text.len() as u64;
    Ok(Artifact { name, bytes })
}

/// Head and tail of a text, with a note between them.
fn head_and_tail(text: &str, limit: usize, place: &str) -> String {
    let half = limit / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let out = tail - head;
    format!(
        "{}\n… {out} bytes left out; {place} …\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is guessed never says of a value that it is shorter than it is.
    #[test]
    fn longer_is_longer_to_the_byte() {
        let values = [
            json!(null),
            json!(true),
            json!(-1.797_693_134_862_315_7e308),
            json!(u64::MAX),
            json!(i64::MIN),
            json!("\u{1}\u{7f}\"\\é汉"),
            json!(["\u{1f}", [], {}, [[[]]]]),
            json!({"\u{1}": "\u{1}\u{1}", "": {"a": [null, false, 1.5e-300]}}),
            json!(vec!["\u{1}"; 100]),
        ];
        for value in values {
            let length = value.to_string().len();
            assert!(most(&value, usize::MAX / 2) >= length, "{value}");
            assert!(!is_longer(&value, length), "{value}");
            assert!(is_longer(&value, length - 1), "{value}");
        }
    }
}
