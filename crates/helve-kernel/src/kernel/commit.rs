//! The effect of a run: held back, shown, applied or dropped.
//!
//! What a run changed is captured before anybody decides about it. Where policy asks,
//! the run stops as `staged`, and what people approve is that changeset, by its hash.
//! Otherwise it is applied at once. Either way the intent is on the record before
//! the first file is touched, and the outcome after.

use std::sync::Arc;

use helve_changes::{Allowed, Came, Changeset, Error, Kind, Staged};
use helve_core::ToolDef;
use helve_core::audit::Hash;
use helve_core::policy;
use serde_json::{Value, json};

use super::approve::{broken, waits};
use super::execute::{Claim, Execution};
use super::pass::{Ready, not_recorded};
use super::rows::unsure;
use super::{Kernel, lock};
use crate::changes::{Changes, ChangesState, RowChange, Settled, Touched, Turn};
use crate::keeper::{Keeper, refusal};
use crate::registry::{Behind, Held};
use crate::rows::{Standing, Unapplied};
use crate::run::RunState;
use crate::store::{Move, StoreError};
use crate::{
    Answer, Approval, ApprovalState, Change, ErrorKind, Files, Reply, Run, RunId, Summary,
    ToolError, Wait,
};

/// How often a function is done again because others were first.
const REDONE: u32 = 100;

/// What a run would change.
#[derive(Debug, Clone)]
pub(super) struct Effect {
    pub(super) staged: Arc<Staged>,
    pub(super) rows: Vec<RowChange>,
}

/// What became of what a run changed.
pub(super) enum Fate {
    /// It changed nothing.
    Nothing,
    /// It was not applied.
    Dropped,
    /// It was applied.
    Committed(Effect),
    /// Nobody knows whether it was applied, so it counts as that.
    Unsure(Effect),
    /// It was shown, and is not to be applied.
    Shown(Effect),
    /// It waits for people.
    Staged(Box<Answer>),
}

impl Effect {
    /// Files, where there are any, and records.
    pub(super) fn new(staged: Option<Arc<Staged>>, rows: Vec<RowChange>) -> Self {
        let none = || Arc::new(Staged::past(Changeset::empty()));
        Self {
            staged: staged.unwrap_or_else(none),
            rows,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.staged.changeset.is_empty() && self.rows.is_empty()
    }

    /// What an approval is bound to: the manifest of the files, and the records with it
    /// where there are any.
    pub(super) fn id(&self) -> Hash {
        id_of(&self.staged.changeset.manifest(), &self.rows)
    }

    pub(super) fn summary(&self) -> Summary {
        Summary::of(&self.staged.changeset).with_rows(&self.rows)
    }

    pub(super) fn touched(&self) -> Vec<Touched> {
        touched(&self.staged.changeset, &self.rows)
    }
}

/// The id of changes as they are kept.
pub(super) fn id_of(manifest: &[u8], rows: &[RowChange]) -> Hash {
    if rows.is_empty() {
        return Hash::of(manifest);
    }
    let rows: Value = rows.iter().map(RowChange::to_value).collect();
    let rows = helve_core::audit::canonical(&rows).unwrap_or_else(|_| rows.to_string().into());
    Hash::of(&[manifest, b"\n", &rows].concat())
}

impl Fate {
    pub(super) fn settled(&self) -> Option<Settled> {
        match self {
            Fate::Committed(effect) | Fate::Unsure(effect) => {
                Some(Settled::Committed(effect.touched()))
            }
            Fate::Dropped => Some(Settled::Dropped),
            Fate::Nothing | Fate::Shown(_) | Fate::Staged(_) => None,
        }
    }
}

/// Whether what a tool changed is shown even where its call was approved: its definition says
/// nothing of what it does, as with a command line.
fn stages(def: &ToolDef) -> bool {
    let executor = def.executor.as_ref();
    executor.is_some_and(|e| e.settings.get("stage") == Some(&Value::Bool(true)))
}

impl Execution {
    /// Decides what becomes of what a run changed that went well.
    pub(super) async fn settle(
        &self,
        ready: &Ready,
        reply: Reply,
        effect: Effect,
        secrets: &[String],
    ) -> (Result<Reply, ToolError>, Fate) {
        if effect.is_empty() {
            return (Ok(reply), Fate::Nothing);
        }
        if let Err(error) = effect.is_one_commit() {
            return (Err(error), Fate::Dropped);
        }
        // A yes to what nobody knows the effect of is no yes to the effect.
        let unseen = stages(&ready.entry.def);
        let asks = ready.decision.effect == policy::Effect::Ask && (unseen || !self.is_approved());
        let effect = match ready.dry_run || asks {
            false => effect,
            // Somebody looks at it.
            true => match self.kernel.laid(&ready.run, effect).await {
                Ok(effect) => effect,
                Err(error) => return (Err(error), Fate::Dropped),
            },
        };
        if ready.dry_run {
            return (Ok(reply), Fate::Shown(effect));
        }
        if let Err(error) = self.unless_stopped() {
            return (Err(error), Fate::Dropped);
        }
        if asks {
            return self.stage(ready, reply, effect, secrets).await;
        }
        let (reply, effect) = match self.turn_with(ready, reply, effect).await {
            Ok(turn) => turn,
            Err(error) => return (Err(error), Fate::Dropped),
        };
        if effect.is_empty() {
            return (Ok(reply), Fate::Nothing);
        }
        let redo = effect.staged.redo().filter(|_| effect.rows.is_empty());
        let effect = match &redo {
            Some(_) => effect,
            // Everything else finds its contents on the disk, and clears up there afterwards.
            None => match self.kernel.laid(&ready.run, effect).await {
                Ok(effect) => effect,
                Err(error) => return (Err(error), Fate::Dropped),
            },
        };
        match self.commit_now(ready, &effect, redo).await {
            Ok(()) => (Ok(reply), Fate::Committed(effect)),
            Err(Unapplied::Refused(error)) => (Err(error), Fate::Dropped),
            Err(Unapplied::Unsure(error)) => (Err(unsure(error)), Fate::Unsure(effect)),
        }
    }

    /// Takes the turn to commit, with rows that are as the run found them. Of several who change
    /// the same at once, one is first; a function that only notes rows is done again on what
    /// that one left, as if it had been called after it. Each who is not first finds that
    /// somebody was, so all come to their turn.
    async fn turn_with(
        &self,
        ready: &Ready,
        mut reply: Reply,
        mut effect: Effect,
    ) -> Result<(Reply, Effect), ToolError> {
        let kernel = &self.kernel;
        for again in 0.. {
            let turn = kernel.inner.committing.clone().lock_owned().await;
            let conflict = match kernel.rows_are_as_before(&effect.rows).await {
                Ok(()) => {
                    // Records change with the end of the run, and nobody may come in between.
                    *lock(&self.turn) = Some(turn);
                    break;
                }
                Err(conflict) => conflict,
            };
            drop(turn);
            let own = effect.staged.changeset.is_empty()
                && !effect.rows.iter().any(RowChange::is_foreign);
            // What filters made of its reply cannot be made again.
            let plain = own && kernel.inner.filters.is_empty();
            match &ready.entry.behind {
                Behind::Handler(handler, Held::Yes)
                    if conflict.kind == ErrorKind::Conflict && plain && again < REDONE =>
                {
                    self.unless_stopped()?;
                    let (now, changed) = self.handled(ready, handler).await?;
                    reply = now;
                    effect = changed.unwrap_or_else(|| Effect::new(None, Vec::new()));
                    effect.is_one_commit()?;
                }
                _ => return Err(conflict),
            }
        }
        Ok((reply, effect))
    }

    async fn commit_now(
        &self,
        ready: &Ready,
        effect: &Effect,
        redo: Option<Vec<u8>>,
    ) -> Result<(), Unapplied> {
        if let Some(redo) = redo {
            return self.place_now(ready, effect, redo).await;
        }
        let intended = self.intend(ready, effect, None).await;
        intended.map_err(Unapplied::Refused)?;
        let allowed = self.kernel.writable(&ready.entry.def);
        let kernel = &self.kernel;
        kernel.apply(&effect.staged, &effect.rows, allowed).await
    }

    /// The intent, durable before the first file is touched.
    pub(super) async fn intend(
        &self,
        ready: &Ready,
        effect: &Effect,
        redo: Option<Vec<u8>>,
    ) -> Result<(), ToolError> {
        let now = self.kernel.now();
        let changes = Changes {
            redo,
            ..changes_of(&ready.run, effect, ChangesState::Committing, now)
        };
        let record = self
            .kernel
            .entry_of(&ready.principal.owner, "run.committing", ready.run.as_str())
            .with("changes", changes.id.to_string())
            .with("paths", changes.count);
        let kept = self.kernel.inner.store.keep_changes(changes, None, record);
        match kept.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ToolError::conflict("the run is over; nothing was changed")),
            Err(e) => Err(not_recorded(&e)),
        }
    }

    /// Holds the changes back until somebody has said yes to them.
    async fn stage(
        &self,
        ready: &Ready,
        reply: Reply,
        effect: Effect,
        secrets: &[String],
    ) -> (Result<Reply, ToolError>, Fate) {
        let kernel = &self.kernel;
        let mut changes = changes_of(&ready.run, &effect, ChangesState::Staged, kernel.now());
        let mut answer = self.answer_of(Ok(reply.clone()), RunState::Succeeded, secrets);
        answer.meta.changes = Some(effect.summary());
        let (kept, _) = kernel.ended(ready, &answer, secrets, "run.ended");
        let writes: Vec<Value> = answer.writes.iter().map(|(k, v)| json!([k, v])).collect();
        changes.reply = Some(json!({"answer": kept, "writes": writes}));
        changes.staged = Some(effect.staged.to_json());
        let approval = Approval {
            bound: kernel.bound(ready, Some(&changes.id)),
            ..kernel.approval_of(ready)
        };
        let record = kernel
            .run_record(ready, "run.staged")
            .with("approval", approval.id.as_str())
            .with("bound", approval.bound.to_string())
            .with("needed", approval.needed)
            .with("changes", changes.id.to_string())
            .with("paths", changes.count);
        // Before it is staged: it can be decided from then on.
        lock(&kernel.inner.waiting).insert(ready.run.clone(), ready.clone());
        let store = &kernel.inner.store;
        let kept = store.keep_changes(changes, Some(approval.clone()), record);
        let refused = match kept.await {
            Ok(true) => None,
            Ok(false) => Some(ToolError::conflict("the run is over; nothing was changed")),
            Err(e) => Some(not_recorded(&e)),
        };
        if let Some(error) = refused {
            lock(&kernel.inner.waiting).remove(&ready.run);
            return (Err(error), Fate::Dropped);
        }
        kernel.told(Change::Run(ready.run.clone()));
        kernel.told(Change::Approval(approval.id.clone()));
        if let Some(caller) = ready.ctx.caller() {
            caller.waits(&approval);
        }
        kernel.notify(approval.clone());
        let summary = answer.meta.changes.take();
        let error = held(&approval, summary.as_ref());
        let mut answer = ready.answer(Err(error), RunState::Staged);
        answer.meta.approval = Some(approval.id);
        answer.meta.changes = summary;
        (Ok(reply), Fate::Staged(Box::new(answer)))
    }
}

impl Kernel {
    /// Where a tool may write.
    pub(super) fn writable(&self, def: &helve_core::ToolDef) -> Allowed {
        Allowed::new(super::paths::writable(&self.inner.root, def))
    }

    /// Applies files, or the rows that are kept elsewhere: all or none.
    pub(super) async fn apply(
        &self,
        staged: &Arc<Staged>,
        rows: &[RowChange],
        allowed: Allowed,
    ) -> Result<(), Unapplied> {
        if staged.changeset.is_empty() {
            return self.apply_rows(rows).await;
        }
        let keeper = self.keeper().map_err(Unapplied::Refused)?;
        let hardened = self.harden(&[&staged.changeset]).await;
        hardened.map_err(Unapplied::Refused)?;
        let done = keeper.commit(staged.clone(), allowed).await;
        done.map(drop).map_err(|e| Unapplied::Refused(refusal(&e)))
    }

    /// The files of a run that is a function.
    pub(super) fn files_for(&self, ready: &Ready) -> Files {
        let def = &ready.entry.def;
        let Some(keeper) = self.inner.keeper.clone() else {
            return Files::default();
        };
        if def.allowed_paths.is_empty() {
            return Files::default();
        }
        let root = self.inner.root.clone();
        let seen = super::paths::roots(&root, def);
        let allowed = Allowed::new(super::paths::writable_of(&seen));
        Files::new(keeper, ready.run.clone(), root, &seen, allowed)
    }

    /// Applies what was staged and approved: exactly that.
    pub(super) async fn commit_approved(&self, ready: Ready, approval: Approval, claim: Claim) {
        let done = self.commit_staged(&ready, &approval).await;
        let answer = match done {
            Ok(answer) => answer,
            Err(error) if self.is_too_late(&approval) => {
                // If it cannot be recorded now, the sweep does it.
                let _ = self.expire_one(&approval).await;
                drop(error);
                self.answer_so_far(&approval.run).await
            }
            Err(error) => {
                let over = ApprovalState::Withdrawn;
                let state = RunState::Failed;
                self.end_waiting(&approval, "run.stopped", "hub", state, over, error)
                    .await;
                self.answer_so_far(&approval.run).await
            }
        };
        if let Some(asker) = lock(&self.inner.askers).remove(&approval.run) {
            // They may have gone.
            let _ = asker.send(answer);
        }
        drop(claim);
    }

    /// An error where nothing has begun; otherwise the run has come to its end.
    async fn commit_staged(&self, ready: &Ready, approval: &Approval) -> Result<Answer, ToolError> {
        let _turn = self.inner.committing.clone().lock_owned().await;
        let (changes, staged) = self.staged(&approval.run).await?;
        self.rows_are_as_before(&changes.rows).await?;
        // Whatever can fail comes before the approval is used.
        let run = self.run(&ready.run).await?;
        let store = &self.inner.store;
        let record = self
            .entry_of(&ready.principal.owner, "run.committing", ready.run.as_str())
            .with("approval", approval.id.as_str())
            .with("changes", changes.id.to_string())
            .with("paths", changes.count);
        let at = record.at;
        let spent = store.spend_approval(&approval.id, approval.bound, at, record);
        match spent.await {
            Ok(true) => {}
            Ok(false) => {
                let why = "the approval was used, expired or withdrawn";
                return Err(ToolError::conflict(why));
            }
            Err(e) => return Err(not_recorded(&e)),
        }
        self.told(Change::Run(ready.run.clone()));
        let staged = Arc::new(staged);
        let allowed = self.writable(&ready.entry.def);
        let done = self.apply(&staged, &changes.rows, allowed).await;
        Ok(self.conclude(&run, &changes, &staged.changeset, done).await)
    }

    /// What a run that waits would change.
    async fn staged(&self, run: &RunId) -> Result<(Changes, Staged), ToolError> {
        let changes = self.changes_of(run).await?;
        let staged = changes
            .staged
            .as_deref()
            .ok_or_else(|| ToolError::conflict("the changes of the run are gone"))
            .and_then(|json| Staged::from_json(json).map_err(|e| refusal(&e)))?;
        if id_of(&staged.changeset.manifest(), &changes.rows) != changes.id {
            return Err(ToolError::internal(
                "what is kept of the changes is damaged",
            ));
        }
        Ok((changes, staged))
    }

    /// Records the end of a run whose answer was kept with its changes.
    pub(super) async fn conclude(
        &self,
        run: &Run,
        changes: &Changes,
        changeset: &Changeset,
        done: Result<(), Unapplied>,
    ) -> Answer {
        let applied = done.is_ok();
        let dropped = matches!(done, Err(Unapplied::Refused(_)));
        let state = match applied {
            true => RunState::Succeeded,
            false => RunState::Failed,
        };
        let mut answer = match done {
            Ok(()) => kept_answer(run, changes),
            Err(Unapplied::Refused(error)) => super::recover::over(run, error, state),
            Err(Unapplied::Unsure(error)) => super::recover::over(run, unsure(error), state),
        };
        answer.meta.state = Some(state);
        answer.meta.approval = run.approval.clone();
        let record = self
            .entry_of(&run.owner, "run.ended", run.id.as_str())
            .with("state", state.as_str())
            .with("changes", changes.id.to_string())
            .with(
                "message",
                answer.result.as_ref().err().map(|e| e.message.clone()),
            );
        let mut kept = answer.to_kept();
        if let Some(reply) = changes.reply.as_ref().filter(|_| applied) {
            // As it may be kept, which is not always all of it.
            kept["data"] = reply["answer"]["data"].clone();
            if let Some(content) = reply["answer"].get("content") {
                kept["content"] = content.clone();
            }
        }
        let step = Move {
            exit_code: answer.meta.exit_code,
            answer: Some(kept),
            turns: match applied {
                true => turns_of(changes),
                false => Vec::new(),
            },
            changes: Some(match dropped {
                true => Settled::Dropped,
                false => Settled::Committed(touched(changeset, &changes.rows)),
            }),
            ..Move::new(&run.id, &[RunState::Running], state, record.at)
        };
        let moved = self
            .inner
            .store
            .move_run(step.clone(), record.clone())
            .await;
        match moved {
            Ok(_) => self.settled(&run.id, &changeset.id()).await,
            Err(e) => {
                let problem = format!("it took effect, but its end could not be recorded: {e}");
                answer.result = Err(ToolError::dependency(problem));
                answer.writes.clear();
                self.record_later(step, record);
            }
        }
        self.told(Change::Run(run.id.clone()));
        for turn in turns_of(changes) {
            self.told(Change::Run(turn.run));
        }
        answer
    }

    /// What a commit leaves is no longer needed once its end is on the record.
    pub(super) async fn settled(&self, run: &RunId, id: &Hash) {
        let Some(keeper) = &self.inner.keeper else {
            return;
        };
        keeper.settle(run, *id).await;
    }

    /// The diff of what a run would change, for people.
    pub(super) async fn shown(&self, effect: &Effect) -> String {
        let rows = super::past::rows_text(&effect.rows);
        let Some(keeper) = &self.inner.keeper else {
            return rows;
        };
        let (staged, root) = (effect.staged.clone(), self.inner.root.clone());
        let limits = helve_changes::diff::Limits::default();
        let shown = keeper
            .blocking(move |keeper| {
                helve_changes::diff::unified(&staged, keeper.blobs(), &limits, Some(&root))
            })
            .await;
        let shown = shown.unwrap_or_else(|e| format!("the diff cannot be shown: {e}"));
        shown + &rows
    }

    pub(super) fn keeper(&self) -> Result<Arc<Keeper>, ToolError> {
        let keeper = self.inner.keeper.clone();
        keeper.ok_or_else(|| ToolError::dependency("this hub does not keep changes"))
    }

    /// What a run changed.
    pub(super) async fn changes_of(&self, run: &RunId) -> Result<Changes, ToolError> {
        let found = self.inner.store.changes(run).await;
        let found = found.map_err(|e| broken(&e))?;
        found.ok_or_else(|| ToolError::not_found(format!("`{run}` changed no files")))
    }

    /// Settles what a crash left between the intent and the outcome.
    pub(super) async fn settle_commits(&self) -> Result<(), StoreError> {
        let keeper = self.inner.keeper.clone();
        let unwritable = |e: &Error| StoreError::Unwritable(format!("a commit was cut short: {e}"));
        let ended = match &keeper {
            Some(keeper) => keeper
                .blocking(|keeper| keeper.journal().recover(keeper.blobs()))
                .await
                .map_err(|e| unwritable(&e))?,
            None => Vec::new(),
        };
        let redone = self.redo().await?;
        let filter = crate::changes::ChangesFilter {
            state: Some(ChangesState::Committing),
            ..Default::default()
        };
        let mut settled = Vec::new();
        for changes in self.inner.store.all_changes(filter, usize::MAX).await? {
            let Some(run) = self.inner.store.run(&changes.run).await? else {
                continue;
            };
            // Its own id has the records in it, that of the journal has not.
            let id = Hash::of(&changes.manifest);
            let mut of_run = ended.iter().filter(|e| e.id == id);
            let stands = match redone.get(&changes.run) {
                Some(Came::There | Came::Again) => Standing::Applied,
                Some(Came::Missing) => Standing::NotApplied,
                Some(Came::Unclear) => Standing::Unsure,
                _ if changes.rows.iter().any(RowChange::is_foreign) => {
                    self.standing(&changes.rows).await
                }
                _ if of_run.any(|e| e.outcome == helve_changes::Outcome::Committed) => {
                    Standing::Applied
                }
                _ => Standing::NotApplied,
            };
            self.settle_commit(&run, &changes, stands).await?;
            if changes.redo.is_some() && !self.is_put_off(&changes.run) {
                settled.push(changes.run);
            }
        }
        if !settled.is_empty() {
            self.inner.store.forget_redo(settled).await?;
        }
        for (keeper, one) in keeper
            .iter()
            .flat_map(|k| ended.iter().map(move |e| (k, e)))
        {
            let id = one.id;
            keeper
                .blocking(move |keeper| keeper.journal().settle(&id))
                .await
                .map_err(|e| unwritable(&e))?;
        }
        Ok(())
    }

    async fn settle_commit(
        &self,
        run: &Run,
        changes: &Changes,
        stands: Standing,
    ) -> Result<(), StoreError> {
        let mut changeset = Changeset::read(&changes.manifest);
        let is_file = changes.redo.is_some();
        if is_file && stands == Standing::Unsure {
            // Damage of one file holds up no start.
            changeset = changeset.or_else(|_| Ok(Changeset::empty()));
        }
        let (state, answer, settled) = match (stands, changeset) {
            (Standing::Applied, Ok(changeset)) => (
                RunState::Succeeded,
                kept_answer(run, changes),
                Settled::Committed(touched(&changeset, &changes.rows)),
            ),
            (Standing::Unsure, Ok(changeset)) => {
                let error = match is_file {
                    true => ToolError::internal("the hub stopped while a file was changed")
                        .with_hint("whether it took effect is unknown: look at the file"),
                    false => unsure(ToolError::internal(
                        "the hub stopped while rows were changed",
                    )),
                };
                (
                    RunState::Failed,
                    super::recover::over(run, error, RunState::Failed),
                    Settled::Committed(touched(&changeset, &changes.rows)),
                )
            }
            (Standing::Applied | Standing::Unsure, Err(e)) => {
                return Err(StoreError::Damaged(e.to_string()));
            }
            (Standing::NotApplied, _) => {
                let error = ToolError::transient("the hub stopped before the changes were applied")
                    .with_hint("nothing was changed; it can be called again");
                let over = super::recover::over(run, error, RunState::Failed);
                (RunState::Failed, over, Settled::Dropped)
            }
        };
        let record = self
            .entry_of("hub", "run.recovered", run.id.as_str())
            .with("state", state.as_str())
            .with("changes", changes.id.to_string());
        let mut answer = answer;
        answer.meta.state = Some(state);
        let turns = match stands {
            Standing::Applied => turns_of(changes),
            Standing::NotApplied | Standing::Unsure => Vec::new(),
        };
        let step = Move {
            answer: Some(answer.to_kept()),
            changes: Some(settled),
            turns,
            ..Move::new(&run.id, &[RunState::Running], state, record.at)
        };
        self.inner.store.move_run(step, record).await.map(drop)
    }
}

/// The answer that was kept with the changes.
fn kept_answer(run: &Run, changes: &Changes) -> Answer {
    let reply = changes.reply.as_ref();
    let with = Run {
        answer: reply.map(|reply| reply["answer"].clone()),
        state: RunState::Succeeded,
        ..run.clone()
    };
    let mut answer = super::recover::answer_from(&with);
    let writes = reply.and_then(|reply| reply["writes"].as_array());
    let writes = writes.into_iter().flatten();
    answer.writes = writes
        .filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].clone())))
        .collect();
    answer
}

/// The runs that are undone with these changes, or no longer.
fn turns_of(changes: &Changes) -> Vec<Turn> {
    let turns = changes.reply.as_ref().and_then(|r| r["turns"].as_array());
    let turns = turns.into_iter().flatten().filter_map(|turn| {
        Some(Turn {
            run: RunId::parse(turn["run"].as_str()?)?,
            undone: turn["undone"].as_bool()?,
        })
    });
    turns.collect()
}

pub(super) fn changes_of(
    run: &RunId,
    effect: &Effect,
    state: ChangesState,
    at: crate::At,
) -> Changes {
    Changes {
        run: run.clone(),
        id: effect.id(),
        state,
        at,
        count: (effect.staged.changeset.changes.len() + effect.rows.len()) as u64,
        order: None,
        pinned: false,
        manifest: effect.staged.changeset.manifest(),
        rows: effect.rows.clone(),
        staged: None,
        reply: None,
        redo: None,
    }
}

fn touched(changeset: &Changeset, rows: &[RowChange]) -> Vec<Touched> {
    use std::os::unix::ffi::OsStrExt as _;
    let entries = changeset.entries().map(|(path, kind)| Touched {
        path: path.as_os_str().as_bytes().to_vec(),
        kind: word(kind).to_owned(),
    });
    let rows = rows.iter().map(|row| Touched {
        path: row.name().into_bytes(),
        kind: row.kind().to_owned(),
    });
    entries.chain(rows).collect()
}

/// In which way a path changed.
pub(super) fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Created => "created",
        Kind::Changed => "changed",
        Kind::Deleted => "deleted",
        Kind::Renamed => "renamed",
        Kind::Mode => "mode",
        Kind::Owner => "owner",
        Kind::Symlink => "symlink",
        Kind::Links => "links",
        Kind::Xattr => "xattr",
    }
}

/// What is said of a run whose changes wait for people.
fn held(approval: &Approval, summary: Option<&Summary>) -> ToolError {
    let what = summary.map(Summary::to_string).unwrap_or_default();
    let mut error = waits(&approval.tool, Some(&approval.id), &approval.run);
    error.hint = Some(format!(
        "it ran, and nothing is changed yet; it would change {what}. To see it: `helve diff {run}`. \
         To decide: `helve approve {id}`. Its result will be in run `{run}`",
        run = approval.run,
        id = approval.id,
    ));
    error
}

/// Whether a caller is to be kept waiting for what people say of a staged run.
pub(super) fn waits_on(answer: &Answer, wait: Wait) -> bool {
    wait == Wait::Decision && answer.meta.state == Some(RunState::Staged)
}
