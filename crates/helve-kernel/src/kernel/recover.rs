//! What is kept, loaded again: tools, tokens, and what a crash left open.

use serde_json::Value;

use super::approve::broken;
use super::{Kernel, OpenError, SWITCHED, lock, write};
use crate::answer::content_of;
use crate::registry::{Behind, version_hash};
use crate::run::{Run, RunState};
use crate::store::{Move, Registered, RunFilter, StoreError};
use crate::{
    Answer, ApprovalState, Artifact, Entry, Meta, Notice, RunId, ToolDef, ToolError, error_value,
};

impl Kernel {
    pub(super) async fn load(&self) -> Result<(), OpenError> {
        for kept in self.inner.store.tools().await? {
            let name = kept.current.tool.clone();
            let entry = entry(kept).map_err(|e| OpenError::Tool(format!("`{name}`: {e}")))?;
            let put = write(&self.inner.registry).put(std::sync::Arc::new(entry));
            put.map_err(|e| OpenError::Tool(e.to_string()))?;
        }
        let switched = self.inner.store.rows(SWITCHED, None, usize::MAX).await?;
        let switched = switched.into_iter();
        let on = switched.filter_map(|(tool, on)| Some((tool, on.as_bool()?)));
        lock(&self.inner.switched).extend(on);
        let tokens = self.inner.store.tokens().await?;
        let mut known = write(&self.inner.tokens);
        tokens.into_iter().for_each(|t| known.put(t));
        Ok(())
    }

    /// Runs that were at work when the hub went down are over, and nobody knows what
    /// they did. Those whose denial was not carried out are denied.
    pub(super) async fn settle(&self) -> Result<(), StoreError> {
        self.settle_commits().await?;
        for state in [RunState::Running, RunState::Queued] {
            for run in self.all_in(state).await? {
                self.lose(&run).await?;
            }
        }
        self.expire().await?;
        let staged = self.all_in(RunState::Staged).await?;
        let asked = self.all_in(RunState::PendingApproval).await?;
        for run in asked.into_iter().chain(staged) {
            let approval = match &run.approval {
                Some(id) => self.inner.store.approval(id).await?,
                None => None,
            };
            if let Some(approval) = approval.filter(|a| a.state == ApprovalState::Denied) {
                let by = approval.decisions.last().map_or("hub", |d| d.by.as_str());
                self.denied(&approval, by).await;
            }
        }
        self.sweep_stages().await
    }

    /// What runs that are over left in the stage.
    async fn sweep_stages(&self) -> Result<(), StoreError> {
        let Some(keeper) = self.inner.keeper.clone() else {
            return Ok(());
        };
        let open = self.all_in(RunState::Staged).await?;
        let open: Vec<RunId> = open.into_iter().map(|run| run.id).collect();
        let swept = keeper.sweep_stages(&open);
        swept.map_err(|e| StoreError::Unwritable(format!("the stage cannot be cleared: {e}")))
    }

    async fn all_in(&self, state: RunState) -> Result<Vec<Run>, StoreError> {
        let mut filter = RunFilter {
            state: Some(state),
            ..RunFilter::default()
        };
        let mut all = Vec::new();
        loop {
            let page = self.inner.store.runs(filter.clone(), 200).await?;
            filter.before = page.last().map(|run| run.id.clone());
            let last = page.len() < 200;
            all.extend(page);
            if last {
                return Ok(all);
            }
        }
    }

    /// Goes on with what was decided before the last stop: begins what was approved,
    /// and tells of what nobody was told of. Called once everything that runs can need
    /// is registered.
    pub async fn resume_approved(&self) -> Result<(), StoreError> {
        self.expire().await?;
        for state in [ApprovalState::Approved, ApprovalState::Pending] {
            let mut before = None;
            loop {
                let store = &self.inner.store;
                let page = store.approvals(Some(state), before.clone(), 200).await?;
                before = page.last().map(|a| a.id.clone());
                let last = page.len() < 200;
                for approval in page {
                    match state {
                        ApprovalState::Approved => self.resume(approval),
                        _ if approval.notice == Notice::Waiting => self.notify(approval),
                        _ => {}
                    }
                }
                if last {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn lose(&self, run: &Run) -> Result<(), StoreError> {
        let error = match run.state {
            RunState::Queued => ToolError::transient("the hub stopped before the run began"),
            _ if self.find(&run.tool).is_some_and(|e| self.is_held(&e)) => {
                ToolError::transient("the hub stopped while the tool ran")
                    .with_hint("nothing was changed; it can be called again")
            }
            _ => ToolError::internal("the hub stopped while the tool ran")
                .with_hint("whether it took effect is unknown; look before you call it again"),
        };
        let record = self
            .entry_of("hub", "run.lost", run.id.as_str())
            .with("tool", run.tool.as_str())
            .with("state", RunState::Failed.as_str())
            .with("message", error.message.as_str());
        let step = Move {
            answer: Some(over(run, error, RunState::Failed).to_kept()),
            ..Move::new(
                &run.id,
                &[RunState::Running, RunState::Queued],
                RunState::Failed,
                record.at,
            )
        };
        self.inner.store.move_run(step, record).await?;
        Ok(())
    }

    /// A run.
    pub async fn run(&self, id: &RunId) -> Result<Run, ToolError> {
        let found = self.inner.store.run(id).await.map_err(|e| broken(&e))?;
        found.ok_or_else(|| ToolError::not_found(format!("there is no run `{id}`")))
    }

    /// The answer of a run as it is kept, or where it stands.
    pub(super) async fn answer_so_far(&self, id: &RunId) -> Answer {
        match self.run(id).await {
            Ok(run) => answer_from(&run),
            Err(error) => Answer {
                result: Err(error),
                meta: Meta {
                    run_id: Some(id.clone()),
                    ..Meta::default()
                },
                writes: Vec::new(),
            },
        }
    }
}

/// The one shape for a run, also for one that is not over.
pub fn run_answer(run: &Run) -> Value {
    let Some(kept) = &run.answer else {
        return answer_from(run).to_value();
    };
    let mut answer = kept.clone();
    if answer.get("content").is_none() {
        answer["content"] = content_of(&answer_from(run).text());
    }
    answer
}

pub(super) fn answer_from(run: &Run) -> Answer {
    let kept = run.answer.as_ref();
    let error = kept.and_then(|a| a.get("error"));
    let result = match (kept, error) {
        (_, Some(error)) => Err(read_error(error)),
        (Some(answer), None) => Ok(answer["data"].clone()),
        (None, None) => match run.state {
            RunState::PendingApproval | RunState::Staged => Err(super::approve::waits(
                &run.tool,
                run.approval.as_ref(),
                &run.id,
            )),
            _ => Ok(Value::Null),
        },
    };
    let mut answer = over(run, ToolError::internal(""), run.state);
    answer.result = result;
    answer.meta.exit_code = run.exit_code;
    if let Some(meta) = kept.and_then(|a| a.get("meta")) {
        answer.meta.return_direct = meta["return_direct"] == true;
        answer.meta.dry_run = meta["dry_run"] == true;
        answer.meta.diff = meta["diff"].as_str().map(str::to_owned);
        answer.meta.changes = meta.get("changes").and_then(crate::Summary::from_value);
        let notes = meta["notes"].as_array().into_iter().flatten();
        answer.meta.notes = notes
            .filter_map(|n| n.as_str().map(str::to_owned))
            .collect();
        let attempts = meta["attempts"].as_u64().unwrap_or(1);
        answer.meta.attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
        answer.meta.timing_ms = meta["timing_ms"].as_f64().unwrap_or_default();
        let artifacts = meta["artifacts"].as_array().into_iter().flatten();
        answer.meta.artifacts = artifacts
            .filter_map(|a| {
                let (name, bytes) = (a["name"].as_str()?.to_owned(), a["bytes"].as_u64()?);
                Some(Artifact { name, bytes })
            })
            .collect();
    }
    answer
}

pub(super) fn over(run: &Run, error: ToolError, state: RunState) -> Answer {
    Answer {
        result: Err(error),
        meta: Meta {
            run_id: Some(run.id.clone()),
            tool: run.tool.clone(),
            version: Some(run.version.clone()),
            state: Some(state),
            approval: run.approval.clone(),
            ..Meta::default()
        },
        writes: Vec::new(),
    }
}

fn read_error(value: &Value) -> ToolError {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let kinds = crate::ErrorKind::ALL;
    let kind = kinds
        .into_iter()
        .find(|k| Some(k.as_str()) == value["type"].as_str());
    let mut error = ToolError::new(
        kind.unwrap_or(crate::ErrorKind::Internal),
        text("message").unwrap_or_else(|| error_value(&ToolError::internal("")).to_string()),
    );
    error.hint = text("hint");
    error
}

/// A tool out of the store.
pub(super) fn entry(kept: Registered) -> Result<Entry, String> {
    let current = &kept.current;
    // What approvals are bound to must be what was kept.
    if version_hash(&current.definition, current.fingerprint.as_ref()) != current.hash {
        return Err("its definition is not the one that was registered".to_owned());
    }
    let def = ToolDef::from_value(&kept.current.definition).map_err(|issues| {
        let first = issues.first().map(|i| i.message.clone());
        first.unwrap_or_default()
    })?;
    let behind = match &def.executor {
        Some(executor) => Behind::Executor(executor.kind),
        None => Behind::Nothing,
    };
    let mut entry = Entry::new(
        std::sync::Arc::new(def),
        kept.current.version,
        kept.source,
        kept.current.fingerprint,
        behind,
    )
    .map_err(|e| e.to_string())?;
    entry.enabled = kept.enabled;
    entry.hash = kept.current.hash;
    Ok(entry)
}
