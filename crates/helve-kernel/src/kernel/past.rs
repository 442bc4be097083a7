//! What runs changed, for those who look: diffs, the history of a path, and for how
//! long what was there before is kept.

use std::path::Path;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use helve_changes::{Changeset, Kept, Retention, Staged, diff};
use serde_json::Value;
use tokio::runtime::Handle;

use super::Kernel;
use super::approve::broken;
use crate::changes::{Changes, ChangesFilter, ChangesState, HistoryFilter, Past, RowChange};
use crate::keeper::refusal;
use crate::report::{Report, Reports};
use crate::rows::Place;
use crate::{At, Keeper, Permission, Principal, RunId, StoreError, ToolError};

/// In which form a diff is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffForm {
    /// For people: nothing in it is hidden.
    Text,
    /// For programs.
    Json,
    /// For `git apply`.
    Patch,
}

/// What a run changed, or would change.
#[derive(Debug, Clone, PartialEq)]
pub enum Diff {
    /// For people.
    Text(String),
    /// For programs.
    Json(Value),
    /// For `git apply`.
    Patch(Vec<u8>),
}

/// For how long what was there before is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keeping {
    /// No longer than this; for ever if nothing is said.
    pub age: Option<Duration>,
    /// No more than this many bytes.
    pub bytes: Option<u64>,
}

/// What was let go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected {
    /// The runs that can no longer be undone.
    pub expired: Vec<RunId>,
    /// How many bytes were freed.
    pub bytes: u64,
}

/// What was purged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purged {
    /// How many records.
    pub records: usize,
    /// The runs that can no longer be undone.
    pub expired: Vec<RunId>,
}

impl Kernel {
    /// What a run changed, or would change.
    pub async fn diff(&self, run: &RunId, form: DiffForm) -> Result<Diff, ToolError> {
        self.run(run).await?;
        let changes = self.changes_of(run).await?;
        let rows = changes.rows.clone();
        let (keeper, root) = (self.keeper()?, self.inner.root.clone());
        let shown = keeper.blocking(move |keeper| {
            let staged = match &changes.staged {
                Some(json) if changes.state.is_open() => Staged::from_json(json)?,
                _ => Staged::past(Changeset::read(&changes.manifest)?),
            };
            let (blobs, limits) = (keeper.blobs(), diff::Limits::default());
            Ok(match form {
                DiffForm::Text => Diff::Text(diff::unified(&staged, blobs, &limits, Some(&root))?),
                DiffForm::Json => Diff::Json(diff::to_json(&staged, blobs, &limits)?),
                DiffForm::Patch => Diff::Patch(diff::patch(&staged, blobs, Some(&root))?),
            })
        });
        let mut shown = shown.await.map_err(|e| refusal(&e))?;
        match &mut shown {
            Diff::Text(text) => text.push_str(&rows_text(&rows)),
            Diff::Json(value) if !rows.is_empty() => {
                value["records"] = rows.iter().map(RowChange::to_value).collect();
            }
            Diff::Json(_) | Diff::Patch(_) => {}
        }
        Ok(shown)
    }

    /// What a run changed, as it is kept.
    pub async fn changes_kept(&self, run: &RunId) -> Result<Option<Changes>, ToolError> {
        self.inner.store.changes(run).await.map_err(|e| broken(&e))
    }

    /// Which paths were changed by which runs, the last first. A path may be given from
    /// the workspace.
    pub async fn past(
        &self,
        path: Option<&Path>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Past>, ToolError> {
        use std::os::unix::ffi::OsStrExt as _;
        let path = path.map(|path| {
            let whole = self.inner.root.join(path);
            let plain: std::path::PathBuf = whole.components().collect();
            plain.as_os_str().as_bytes().to_vec()
        });
        let filter = HistoryFilter {
            path,
            run: None,
            before,
        };
        let found = self.inner.store.history(filter, limit).await;
        found.map_err(|e| broken(&e))
    }

    /// How far a run has come that is under way, where its tool says so.
    pub fn report(&self, run: &RunId) -> Option<Report> {
        let reports = self.inner.services.get::<Reports>()?;
        reports.of(run.as_str())
    }

    /// Keeps what was there before a run for good, or no longer.
    pub async fn pin(&self, who: &Principal, run: &RunId, pinned: bool) -> Result<bool, ToolError> {
        self.allowed(who, Permission::RunUndo)?;
        self.changes_of(run).await?;
        let event = match pinned {
            true => "run.pinned",
            false => "run.unpinned",
        };
        let record = self.entry_of(&who.owner, event, run.as_str());
        let changed = self.inner.store.set_pinned(run, pinned, record).await;
        changed.map_err(|e| broken(&e))
    }

    /// Lets go of what was there before, as far as it need not be kept: first it is on
    /// the record that those runs can no longer be undone, then it is removed.
    pub async fn collect(&self, keeping: Keeping) -> Result<Collected, ToolError> {
        let keeper = self.keeper()?;
        let _turn = self.inner.committing.clone().lock_owned().await;
        let (kernel, runtime) = (self.clone(), Handle::current());
        let held = keeper.clone();
        let done = tokio::task::spawn_blocking(move || {
            kernel.collect_now(&held, keeping, |work| runtime.block_on(work))
        });
        let crashed = |e| ToolError::internal(format!("the hub crashed at it: {e}"));
        done.await.map_err(crashed)?
    }

    /// Lets go for good of the records that a run removed: of all that any run has noted of
    /// them. Neither it nor those runs can be taken back any more.
    pub async fn purge(&self, who: &Principal, run: &RunId) -> Result<Purged, ToolError> {
        self.allowed(who, Permission::RunUndo)?;
        let changes = self.changes_of(run).await?;
        // Once more, where the bytes could not be let go of the first time.
        let again = changes.state == ChangesState::Expired && changes.rows.is_empty();
        if changes.state != ChangesState::Committed && !again {
            let problem = format!("the changes of `{run}` are {}", changes.state.as_str());
            let hint = "only what a run has removed, and nobody has brought back, is purged";
            return Err(ToolError::conflict(problem).with_hint(hint));
        }
        if changes.rows.iter().any(RowChange::is_foreign) {
            return Err(ToolError::validation(
                "what it changed is kept elsewhere; purge it there",
            ));
        }
        let removed = changes.rows.iter().filter(|row| row.after.is_none());
        let places: Vec<Place> = removed.map(RowChange::place).collect();
        if places.is_empty() && !again {
            return Err(ToolError::validation(format!("`{run}` removed no record")));
        }
        let _turn = self.inner.committing.clone().lock_owned().await;
        for place in &places {
            let now = self.inner.store.row(&place.collection, &place.key).await;
            if now.map_err(|e| broken(&e))?.is_some() {
                let problem = format!("`{}` is there again", place.key);
                return Err(ToolError::conflict(problem).with_hint("remove it first"));
            }
        }
        let keys: Vec<&str> = places.iter().map(|p| p.key.as_str()).collect();
        let record = self
            .entry_of(&who.owner, "run.purged", run.as_str())
            .with("records", keys);
        let store = &self.inner.store;
        let records = places.len();
        let expired = store.purge_rows(places, record).await;
        let expired = expired.map_err(|e| broken(&e))?;
        Ok(Purged { records, expired })
    }

    /// In a thread that may wait: from the listing to the end no capture may begin.
    fn collect_now(
        &self,
        keeper: &Keeper,
        keeping: Keeping,
        wait: impl Fn(BoxFuture<'_, Result<Vec<RunId>, StoreError>>) -> Result<Vec<RunId>, StoreError>,
    ) -> Result<Collected, ToolError> {
        let gc = keeper.blobs().gc().map_err(|e| refusal(&e))?;
        let mut all = Vec::new();
        wait(Box::pin(async {
            all = self
                .inner
                .store
                .all_changes(ChangesFilter::default(), usize::MAX)
                .await?;
            Ok(Vec::new())
        }))
        .map_err(|e| broken(&e))?;
        let retention = Retention {
            now: system_time(self.now()),
            age: keeping.age,
            bytes: keeping.bytes,
        };
        let kept = live(&all).map_err(|e| refusal(&e))?;
        let plan = gc.plan(&kept, &retention).map_err(|e| refusal(&e))?;
        let expired = wait(Box::pin(async {
            let mut expired = Vec::new();
            for changes in all.iter().filter(|c| plan.expire.contains(&c.id)) {
                let record = self
                    .entry_of("hub", "run.undo_expired", changes.run.as_str())
                    .with("changes", changes.id.to_string());
                let store = &self.inner.store;
                if store.expire_changes(&changes.run, record).await? {
                    expired.push(changes.run.clone());
                }
            }
            Ok(expired)
        }))
        .map_err(|e| broken(&e))?;
        gc.sweep(&plan).map_err(|e| refusal(&e))?;
        let bytes = plan.frees;
        Ok(Collected { expired, bytes })
    }
}

/// Records in the form of a diff, with nothing hidden.
pub(super) fn rows_text(rows: &[RowChange]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!("{} {}\n", row.kind(), row.name()));
        for (mark, side) in [('-', &row.before), ('+', &row.after)] {
            let lines = side.as_ref().map(|v| format!("{v:#}")).unwrap_or_default();
            for line in lines.lines() {
                let shown = helve_changes::visible::line(line.as_bytes());
                text.push_str(&format!("{mark}{shown}\n"));
            }
        }
    }
    text
}

/// The changes whose before-images count.
fn live(all: &[Changes]) -> Result<Vec<Kept>, helve_changes::Error> {
    let counts = |state| !matches!(state, ChangesState::Dropped | ChangesState::Expired);
    let mut live = Vec::new();
    for changes in all.iter().filter(|c| counts(c.state)) {
        live.push(Kept {
            id: changes.id,
            at: system_time(changes.at),
            // What is under way is not let go of.
            pinned: changes.pinned || changes.state.is_open(),
            images: Changeset::read(&changes.manifest)?.images(),
        });
    }
    Ok(live)
}

fn system_time(at: At) -> SystemTime {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or_default());
    SystemTime::UNIX_EPOCH + since
}
