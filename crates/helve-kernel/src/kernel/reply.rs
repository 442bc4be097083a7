//! What a tool gave back, made fit to leave: checked, shortened, kept without secrets.

use std::path::Path;
use std::time::Duration;

use helve_core::audit::hash_of;
use helve_core::marked::{Mark, marked};
use helve_core::secret::redact_value;
use serde_json::{Value, json};

use super::Kernel;
use super::execute::Start;
use super::pass::Ready;
use crate::run::RunState;
use crate::store::{Move, Record};
use crate::{Answer, Artifact, Reply, RunId, ToolError};

/// How long to wait before the end of a run is recorded once more.
const RETRY_RECORD: Duration = Duration::from_secs(1);

impl Kernel {
    /// A reply that fits its schema, and is no longer than the limit.
    pub(super) fn shaped(&self, ready: &Ready, mut reply: Reply) -> Result<Reply, ToolError> {
        let def = &ready.entry.def;
        if let Some(schema) = &ready.entry.output
            && let Some(misfit) = schema.misfits(&reply.data).first()
        {
            return Err(ToolError::internal(format!(
                "`{}` gave a result that does not fit its `output_schema`: {} {}",
                def.name, misfit.pointer, misfit.problem
            )));
        }
        let limit = self.inner.output_limit;
        let text = match &reply.data {
            Value::String(text) if text.len() > limit => text.clone(),
            Value::Array(_) | Value::Object(_) => {
                let text = reply.data.to_string();
                if text.len() <= limit {
                    return Ok(reply);
                }
                text
            }
            _ => return Ok(reply),
        };
        let spilled = self
            .artifacts(&ready.run)
            .map(|folder| spill(&folder, &text));
        let place = match spilled.transpose() {
            Ok(Some(artifact)) => {
                let place = format!("the whole is in the artifact `{}`", artifact.name);
                reply.artifacts.push(artifact);
                place
            }
            Ok(None) => "the rest is lost".to_owned(),
            Err(e) => format!("the rest is lost, because it cannot be kept: {e}"),
        };
        reply.data = Value::String(shortened(&text, limit, &place));
        Ok(reply)
    }

    /// The texts of the secrets that a call was given.
    pub(super) fn secrets(&self, ready: &Ready) -> Vec<String> {
        if !ready.entry.has_secrets {
            return Vec::new();
        }
        let mut found = Vec::new();
        for secret in marked(&ready.entry.def.input_schema, &ready.args, Mark::Secret) {
            found.extend(secret.texts());
        }
        found
    }

    /// Records how a run ended. If that cannot be done, the caller is told, and it
    /// is tried again until it can: the effect has happened.
    pub(super) async fn record_end(
        &self,
        ready: &Ready,
        start: &Start,
        begun: bool,
        answer: &mut Answer,
    ) {
        let state = answer.meta.state.unwrap_or(RunState::Failed);
        let mut kept = answer.to_value();
        redact_value(&mut kept, &self.secrets(ready));
        let record = self.end_record(ready, begun, state, answer, &kept);
        if ready.entry.def.sensitive && answer.is_ok() {
            kept["data"] = json!({"withheld": "the tool is sensitive; its result is not kept"});
            kept["content"] = json!([]);
        }
        let opened = begun || !matches!(start, Start::Open);
        if !opened {
            // Stopped by a filter before it was a run, or never recordable.
            let mut run = self.run_of(ready, state);
            run.ended = Some(record.at);
            run.answer = Some(kept);
            let _ = self.inner.store.open_run(run, None, None, record).await;
            return;
        }
        let step = Move {
            run: ready.run.clone(),
            from: match begun {
                true => &[RunState::Running],
                false => &[RunState::Queued, RunState::PendingApproval],
            },
            to: state,
            at: record.at,
            exit_code: answer.meta.exit_code,
            answer: Some(kept),
            approval: (!begun).then_some(crate::ApprovalState::Withdrawn),
        };
        if let Err(e) = self
            .inner
            .store
            .move_run(step.clone(), record.clone())
            .await
            && begun
        {
            let problem = format!("it ran, but its end could not be recorded: {e}");
            let hint = "do not repeat it before you know what it did";
            answer.result = Err(ToolError::dependency(problem).with_hint(hint));
            answer.writes.clear();
            self.record_later(step, record);
        }
    }

    fn end_record(
        &self,
        ready: &Ready,
        begun: bool,
        state: RunState,
        answer: &Answer,
        kept: &Value,
    ) -> Record {
        let event = if begun { "run.ended" } else { "run.stopped" };
        let record = self
            .entry_of(&ready.principal.owner, event, ready.run.as_str())
            .with("state", state.as_str())
            .with("timing_ms", answer.meta.timing_ms.round())
            .with("exit_code", answer.meta.exit_code);
        match &answer.result {
            Ok(_) => {
                let hash = hash_of(&kept["data"]).ok();
                record.with("result_hash", hash.map(|h| h.to_string()))
            }
            Err(error) => record
                .with("error", error.kind.as_str())
                .with("message", kept["error"]["message"].clone()),
        }
    }

    fn record_later(&self, step: Move, record: Record) {
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(RETRY_RECORD) => {}
                    // The next start finds the run open and settles it.
                    () = kernel.inner.closing.cancelled() => return,
                }
                let store = &kernel.inner.store;
                if store.move_run(step.clone(), record.clone()).await.is_ok() {
                    return;
                }
            }
        });
    }

    /// The answer of a run, once it is over.
    pub(super) async fn answer_of(&self, run: &RunId) -> Answer {
        let mut changes = self.changes();
        loop {
            let answer = self.answer_so_far(run).await;
            if answer.meta.state.is_none_or(RunState::is_over) {
                return answer;
            }
            // A lag means that much happened: look again.
            if let Err(tokio::sync::broadcast::error::RecvError::Closed) = changes.recv().await {
                return answer;
            }
        }
    }
}

fn spill(folder: &Path, text: &str) -> std::io::Result<Artifact> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    let name = "result".to_owned();
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let mut options = std::fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.join(&name))?;
    std::io::Write::write_all(&mut file, text.as_bytes())?;
    let bytes = text.len() as u64;
    Ok(Artifact { name, bytes })
}

/// Head and tail of a text, with a note between them.
fn shortened(text: &str, limit: usize, place: &str) -> String {
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
