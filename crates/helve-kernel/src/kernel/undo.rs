//! Undo: a run of its own, whose changeset takes those of others back.
//!
//! It goes through the same commit as any other run, so it is on the record, and it
//! can be undone in turn. Where somebody has changed a file since, nothing is done
//! unless that was asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use helve_changes::{Changeset, Later, Undone};
use helve_core::audit::Hash;
use helve_core::def::Reversible;
use serde_json::{Map, Value, json};

use super::Kernel;
use super::approve::broken;
use super::commit::{Effect, changes_of};
use super::pass::not_recorded;
use crate::changes::{Changes, ChangesFilter, ChangesState, RowChange, Turn};
use crate::keeper::refusal;
use crate::principal::PrincipalKind;
use crate::rows::Place;
use crate::run::RunState;
use crate::store::{Move, Opened};
use crate::{
    Answer, Call, Change, Meta, Permission, Principal, Run, RunId, Summary, TokenId, ToolError,
};

/// The name under which undos stand among the runs.
pub const UNDO: &str = "helve_undo";

/// What is to be taken back.
#[derive(Debug, Clone, Default)]
pub struct UndoCall {
    /// These runs.
    pub runs: Vec<RunId>,
    /// This run and all that were committed after it.
    pub since: Option<RunId>,
    /// Only these paths and what is beneath them; from the workspace, or absolute.
    pub paths: Vec<PathBuf>,
    /// Also what somebody has changed since.
    pub force: bool,
    /// Only to see what it would change.
    pub dry_run: bool,
}

/// A run with what it changed, if it changed files.
struct Target {
    run: Run,
    changes: Option<Changes>,
}

/// A record over several runs.
struct RowChain<'r> {
    /// What the last made of it.
    after: Option<&'r Value>,
    /// What it was before the first.
    before: Option<&'r Value>,
    /// Somebody came between.
    gap: bool,
}

impl Kernel {
    /// Takes back what runs have changed: all of it, or nothing.
    pub async fn undo(&self, who: &Arc<Principal>, call: UndoCall) -> Answer {
        let (kernel, who) = (self.clone(), who.clone());
        let done = self.through(async move {
            let targets = kernel.targets(&who, &call).await?;
            kernel.undo_now(&who, &call, &targets).await
        });
        done.await.unwrap_or_else(|error| Answer {
            result: Err(error),
            meta: Meta {
                tool: UNDO.to_owned(),
                ..Meta::default()
            },
            writes: Vec::new(),
        })
    }

    /// The runs, the last committed first.
    async fn targets(&self, who: &Principal, call: &UndoCall) -> Result<Vec<Target>, ToolError> {
        self.allowed(who, Permission::RunUndo)?;
        let mut targets = Vec::new();
        for id in &call.runs {
            let run = self.run(id).await?;
            may_undo(who, &run)?;
            let changes = self.inner.store.changes(id).await;
            let changes = changes.map_err(|e| broken(&e))?;
            self.undoable(&run, changes.as_ref())?;
            targets.push(Target { run, changes });
        }
        if let Some(since) = &call.since {
            let first = self.changes_of(since).await?;
            let from = first.order.ok_or_else(|| {
                ToolError::conflict(format!("the changes of `{since}` were never applied"))
            })?;
            let filter = ChangesFilter {
                from: Some(from),
                ..ChangesFilter::default()
            };
            let all = self.inner.store.all_changes(filter, usize::MAX).await;
            for changes in all.map_err(|e| broken(&e))? {
                if targets.iter().any(|t| t.run.id == changes.run) {
                    continue;
                }
                let run = self.run(&changes.run).await?;
                may_undo(who, &run)?;
                // What was undone meanwhile is part of how the files came to be.
                if changes.state != ChangesState::Undone {
                    self.undoable(&run, Some(&changes))?;
                }
                let changes = Some(changes);
                targets.push(Target { run, changes });
            }
        }
        if targets.is_empty() {
            return Err(ToolError::validation("no run was named"));
        }
        targets.sort_by_key(|t| std::cmp::Reverse(t.changes.as_ref().and_then(|c| c.order)));
        Ok(targets)
    }

    /// Why a run cannot be undone, where it cannot.
    fn undoable(&self, run: &Run, changes: Option<&Changes>) -> Result<(), ToolError> {
        let (id, tool) = (&run.id, &run.tool);
        let conflict = |why: String| Err(ToolError::conflict(why));
        match changes.map(|c| c.state) {
            Some(ChangesState::Committed) => Ok(()),
            Some(ChangesState::Undone) => conflict(format!("`{id}` was undone before")),
            Some(ChangesState::Expired) => conflict(format!(
                "undo expired: what was there before `{id}` is no longer kept"
            )),
            Some(ChangesState::Staged) => Err(ToolError::conflict(format!(
                "`{id}` has changed nothing yet; its changes wait for approval"
            ))
            .with_hint("`helve deny` drops them")),
            Some(ChangesState::Dropped) => conflict(format!(
                "`{id}` has changed nothing: its changes were dropped"
            )),
            Some(ChangesState::Committing) => conflict(format!("`{id}` is still at it")),
            None if run.state == RunState::Undone => conflict(format!("`{id}` was undone before")),
            None if self.compensation(run).is_some() && run.state == RunState::Succeeded => Ok(()),
            None => match self.find(tool).map(|e| e.def.reversible.clone()) {
                Some(Reversible::No) => Err(ToolError::validation(format!(
                    "`{tool}` says that what it does cannot be undone"
                ))),
                _ => conflict(format!("`{id}` changed no files; there is nothing to undo")),
            },
        }
    }

    /// The tool that makes good what a run did.
    fn compensation(&self, run: &Run) -> Option<String> {
        match &self.find(&run.tool)?.def.reversible {
            Reversible::Compensate(tool) => Some(tool.clone()),
            Reversible::Yes | Reversible::No => None,
        }
    }

    async fn undo_now(
        &self,
        who: &Arc<Principal>,
        call: &UndoCall,
        targets: &[Target],
    ) -> Result<Answer, ToolError> {
        let run = self.open_undo(who, call, targets).await?;
        if !call.dry_run {
            for target in targets {
                if let Err(error) = self.compensate(who, target).await {
                    return Ok(self.end_undo(&run, Err(error), None, &[]).await);
                }
            }
        }
        // From here to the end nothing else is committed: what is looked at stays true.
        let turn = self.inner.committing.clone().lock_owned().await;
        let undone = match self.plan_undo(call, targets).await {
            Ok(undone) => undone,
            Err(error) => return Ok(self.end_undo(&run, Err(error), None, &[]).await),
        };
        let rows = match self.plan_rows(call, targets).await {
            Ok(rows) => rows,
            Err(error) => return Ok(self.end_undo(&run, Err(error), None, &[]).await),
        };
        let data = json!({
            "undone": targets.iter().map(|t| t.run.id.as_str()).collect::<Vec<_>>(),
            "already": shown(&undone.already),
            "kept": shown(&undone.kept),
        });
        let effect = Effect::new(Some(Arc::new(undone.staged)), rows);
        if let Err(error) = effect.is_one_commit() {
            return Ok(self.end_undo(&run, Err(error), None, &[]).await);
        }
        if call.dry_run {
            drop(turn);
            let diff = self.shown(&effect).await;
            let mut answer = self.end_undo(&run, Ok(data), None, &[]).await;
            answer.meta.changes = Some(effect.summary());
            answer.meta.diff = Some(diff);
            return Ok(answer);
        }
        // Also where nothing is to be done: a start would do again what counts as taken back.
        if let Err(error) = self.harden_targets(targets).await {
            return Ok(self.end_undo(&run, Err(error), None, &[]).await);
        }
        let turns = turns(call, targets);
        if effect.is_empty() {
            return Ok(self.end_undo(&run, Ok(data), None, &turns).await);
        }
        let changes = match self.intend_undo(&run, &effect, &data, &turns).await {
            Ok(changes) => changes,
            Err(error) => return Ok(self.end_undo(&run, Err(error), None, &[]).await),
        };
        let changeset = &effect.staged.changeset;
        let allowed = helve_changes::Allowed::just(changeset);
        let done = self.apply(&effect.staged, &effect.rows, allowed).await;
        Ok(self.conclude(&run, &changes, changeset, done).await)
    }

    async fn harden_targets(&self, targets: &[Target]) -> Result<(), ToolError> {
        let read = |changes: &Changes| Changeset::read(&changes.manifest).map_err(|e| refusal(&e));
        let changes = targets.iter().filter_map(|t| t.changes.as_ref());
        let changesets = changes.map(read).collect::<Result<Vec<_>, _>>()?;
        let changesets: Vec<&Changeset> = changesets.iter().collect();
        self.harden(&changesets).await
    }

    async fn open_undo(
        &self,
        who: &Principal,
        call: &UndoCall,
        targets: &[Target],
    ) -> Result<Run, ToolError> {
        let mut args = Map::new();
        let ids = targets.iter().map(|t| t.run.id.as_str());
        args.insert("runs".to_owned(), ids.collect::<Vec<_>>().into());
        if !call.paths.is_empty() {
            args.insert("paths".to_owned(), shown(&call.paths));
        }
        if call.force {
            args.insert("force".to_owned(), true.into());
        }
        if call.dry_run {
            args.insert("dry_run".to_owned(), true.into());
        }
        let id = RunId::fresh();
        let record = self
            .entry_of(&who.owner, "run.started", id.as_str())
            .with("tool", UNDO)
            .with("args", args.clone())
            .with("token", who.token.as_ref().map(TokenId::as_str));
        let run = Run {
            id,
            tool: UNDO.to_owned(),
            version: "1.0.0".to_owned(),
            version_hash: Hash::of(UNDO.as_bytes()),
            owner: who.owner.clone(),
            under: who.under.clone(),
            agent: None,
            state: RunState::Running,
            args: Value::Object(args),
            created: record.at,
            started: Some(record.at),
            ended: None,
            approval: None,
            exit_code: None,
            answer: None,
        };
        let opened = self.inner.store.open_run(run.clone(), None, None, record);
        match opened.await.map_err(|e| not_recorded(&e))? {
            Opened::New => Ok(run),
            Opened::Same(_) | Opened::KeyTaken => {
                Err(ToolError::internal("a fresh run is not new"))
            }
        }
    }

    /// The records as they were before the runs. The same three states as with files.
    async fn plan_rows(
        &self,
        call: &UndoCall,
        targets: &[Target],
    ) -> Result<Vec<RowChange>, ToolError> {
        if !call.paths.is_empty() {
            return Ok(Vec::new());
        }
        let mut chains: BTreeMap<(&str, &str), RowChain<'_>> = BTreeMap::new();
        let changes = targets.iter().filter_map(|t| t.changes.as_ref());
        for row in changes.flat_map(|c| &c.rows) {
            chains
                .entry((&row.collection, &row.key))
                .and_modify(|chain| {
                    chain.gap |= chain.before != row.after.as_ref();
                    chain.before = row.before.as_ref();
                })
                .or_insert(RowChain {
                    after: row.after.as_ref(),
                    before: row.before.as_ref(),
                    gap: false,
                });
        }
        let (mut rows, mut conflicts) = (Vec::new(), Vec::new());
        let places: Vec<Place> = chains
            .keys()
            .map(|(collection, key)| Place {
                collection: (*collection).to_owned(),
                key: (*key).to_owned(),
            })
            .collect();
        let now = self.rows_now(&places).await?;
        for (((collection, key), chain), now) in chains.into_iter().zip(now) {
            let row = RowChange {
                collection: collection.to_owned(),
                key: key.to_owned(),
                before: now,
                after: chain.before.cloned(),
            };
            if row.before == row.after {
                continue;
            }
            if (chain.gap || row.before.as_ref() != chain.after) && !call.force {
                conflicts.push(format!("`{}` was changed since", row.name()));
            }
            rows.push(row);
        }
        match conflicts.is_empty() {
            true => Ok(rows),
            false => Err(ToolError::conflict(conflicts.join(", "))
                .with_hint("nothing was changed; `--force` takes them back all the same")),
        }
    }

    async fn plan_undo(&self, call: &UndoCall, targets: &[Target]) -> Result<Undone, ToolError> {
        if self.inner.keeper.is_none() {
            // There are no files then.
            return Ok(Undone::nothing());
        }
        let manifests = targets.iter().filter_map(|t| t.changes.as_ref());
        let changesets: Result<Vec<Changeset>, _> = manifests
            .map(|c| Changeset::read(&c.manifest).map_err(|e| refusal(&e)))
            .collect();
        let changesets = changesets?;
        let root = &self.inner.root;
        let only: Vec<PathBuf> = call.paths.iter().map(|path| root.join(path)).collect();
        let later = match call.force {
            true => Later::Replace,
            false => Later::Refuse,
        };
        let keeper = self.keeper()?;
        let planned = keeper.blocking(move |keeper| {
            let changesets: Vec<&Changeset> = changesets.iter().collect();
            let undo = helve_changes::Undo {
                changesets: &changesets,
                only: (!only.is_empty()).then_some(only.as_slice()),
                later,
            };
            helve_changes::undo(&undo, keeper.blobs())
        });
        planned.await.map_err(|e| {
            let error = refusal(&e);
            match e {
                helve_changes::Error::Conflict { .. } => error.with_hint(
                    "nothing was changed; `--force` takes them back all the same, `--path` only some",
                ),
                _ => error,
            }
        })
    }

    /// The intent, durable before the first file is touched.
    async fn intend_undo(
        &self,
        run: &Run,
        effect: &Effect,
        data: &Value,
        turns: &[Turn],
    ) -> Result<Changes, ToolError> {
        let mut answer = super::recover::over(run, ToolError::internal(""), RunState::Succeeded);
        answer.result = Ok(data.clone());
        answer.meta.changes = Some(effect.summary());
        let turns = turns
            .iter()
            .map(|t| json!({"run": t.run.as_str(), "undone": t.undone}));
        let reply = json!({"answer": answer.to_kept(), "turns": turns.collect::<Vec<_>>()});
        let changes = Changes {
            reply: Some(reply),
            ..changes_of(&run.id, effect, ChangesState::Committing, self.now())
        };
        let record = self
            .entry_of(&run.owner, "run.committing", run.id.as_str())
            .with("changes", changes.id.to_string())
            .with("paths", changes.count);
        let store = &self.inner.store;
        match store.keep_changes(changes.clone(), None, record).await {
            Ok(true) => Ok(changes),
            Ok(false) => Err(ToolError::internal("the undo was ended by somebody else")),
            Err(e) => Err(not_recorded(&e)),
        }
    }

    /// Ends an undo that changes no file.
    async fn end_undo(
        &self,
        run: &Run,
        result: Result<Value, ToolError>,
        changes: Option<Summary>,
        turns: &[Turn],
    ) -> Answer {
        let state = match &result {
            Ok(_) => RunState::Succeeded,
            Err(_) => RunState::Failed,
        };
        let message = result.as_ref().err().map(|e| e.message.clone());
        let mut answer = super::recover::over(run, ToolError::internal(""), state);
        answer.result = result;
        answer.meta.changes = changes;
        answer.meta.dry_run = run.args["dry_run"] == true;
        let record = self
            .entry_of(&run.owner, "run.ended", run.id.as_str())
            .with("state", state.as_str())
            .with("message", message);
        let step = Move {
            answer: Some(answer.to_kept()),
            turns: turns.to_vec(),
            ..Move::new(&run.id, &[RunState::Running], state, record.at)
        };
        let store = &self.inner.store;
        if let Err(e) = store.move_run(step.clone(), record.clone()).await {
            answer.result = Err(ToolError::dependency(format!(
                "its end could not be recorded: {e}"
            )));
            self.record_later(step, record);
        }
        self.told(Change::Run(run.id.clone()));
        for turn in turns {
            self.told(Change::Run(turn.run.clone()));
        }
        answer
    }

    /// Calls the tool that makes good what a run did, where its definition names one.
    async fn compensate(&self, who: &Arc<Principal>, target: &Target) -> Result<(), ToolError> {
        let Some(tool) = self.compensation(&target.run) else {
            return Ok(());
        };
        let entry = self.resolve(&tool)?;
        let known = entry.def.input_schema.get("properties");
        let takes = |name: &str| known.is_some_and(|known| known.get(name).is_some());
        let mut args = Map::new();
        let given = target.run.args.as_object().into_iter().flatten();
        for (name, value) in given.filter(|(name, _)| takes(name)) {
            args.insert(name.clone(), value.clone());
        }
        if takes("run_id") {
            args.insert("run_id".to_owned(), target.run.id.as_str().into());
        }
        if takes("result")
            && let Some(data) = target.run.answer.as_ref().and_then(|a| a.get("data"))
        {
            args.insert("result".to_owned(), data.clone());
        }
        let call = Call::new(who.clone(), tool.as_str(), Value::Object(args));
        let answer = Box::pin(self.call(call)).await;
        answer.result.map(drop).map_err(|mut error| {
            let (run, of) = (&target.run.id, &target.run.tool);
            error.message = format!("`{tool}`, which undoes `{of}` ({run}): {}", error.message);
            error
        })
    }
}

/// Agents take back what they did; people what anybody did.
fn may_undo(who: &Principal, run: &Run) -> Result<(), ToolError> {
    let theirs = run.owner == who.owner || run.under.as_ref() == Some(&who.owner);
    if !theirs && who.kind != PrincipalKind::Person {
        return Err(ToolError::permission(format!(
            "`{}` is somebody else's run",
            run.id
        )));
    }
    if run.tool != UNDO && !who.reaches(&run.tool) {
        return Err(ToolError::permission(format!(
            "`{}` is outside the scopes of the token",
            run.tool
        )));
    }
    Ok(())
}

/// Which runs count as undone afterwards, and which no longer: to undo an undo puts
/// back what it took. A part of a run leaves it as it was.
fn turns(call: &UndoCall, targets: &[Target]) -> Vec<Turn> {
    if !call.paths.is_empty() {
        return Vec::new();
    }
    let mut turns = Vec::new();
    for Target { run, .. } in targets {
        turns.push(Turn {
            run: run.id.clone(),
            undone: true,
        });
        if run.tool == UNDO && run.args.get("paths").is_none() {
            let again = run.args["runs"].as_array().into_iter().flatten();
            let again = again.filter_map(|id| RunId::parse(id.as_str()?));
            turns.extend(again.map(|run| Turn { run, undone: false }));
        }
    }
    turns
}

fn shown(paths: &[PathBuf]) -> Value {
    let paths = paths.iter().map(|p| p.to_string_lossy().into_owned());
    paths.collect::<Vec<_>>().into()
}
