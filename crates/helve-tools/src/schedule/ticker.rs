//! What makes schedules run: a task of the hub, which sleeps until something is due.
//!
//! That something was due is written first, with what is due next and the id of the run, in
//! one transaction; then the tool is called as whoever scheduled it, with that id. So nothing
//! is due twice, and what a crash cut off in between is called at the next start.
//!
//! - *A scheduled run is a run like any other*: policy, approval and record are the kernel's.
//! - *Never two at once*: what is due while the run before it is not over is skipped, and told.
//! - *Time is the kernel's*, which never goes back: where the machine's clock does, schedules
//!   stand still until it has caught up.

mod plan;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helve_kernel::store::Record;
use helve_kernel::{At, Call, Change, ErrorKind, Kernel, RowChange, RunId, StoreError};
use serde_json::Value;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::kept::{self, Due, SCHEDULES, STATES, Schedule, State, change, read, runs, written};
use super::trigger::Moment;
use plan::{Plan, plan};

/// How a hub deals with what is due.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How late something may be and still be in time; what is later was missed.
    pub late: Duration,
    /// How many missed runs of one schedule are made up for.
    pub most_missed: u32,
    /// How many times that it was due are kept of each schedule.
    pub kept: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            late: Duration::from_secs(60),
            most_missed: 100,
            kept: 200,
        }
    }
}

/// However long nothing is due, the clock is looked at: a machine that slept has lost time.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// A busy hub changes all the time, and is not looked at for each change.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs what is due until the hub closes.
pub async fn tick(kernel: Kernel, settings: Settings, closing: CancellationToken) {
    let mut changes = kernel.changes();
    let ticker = Ticker::new(kernel.clone(), settings);
    loop {
        let now = kernel.now();
        let wait = match ticker.step(now).await {
            Ok(Some(next)) => next.since(now).min(LONGEST_SLEEP),
            Ok(None) => Duration::MAX,
            // A store that cannot be written now may be later.
            Err(_) => LONGEST_SLEEP,
        };
        let woken = async {
            tokio::select! {
                () = changed(&mut changes) => {}
                () = ticker.inner.ended.notified() => {}
            }
            tokio::time::sleep(PAUSE).await;
        };
        tokio::select! {
            () = closing.cancelled() => break,
            () = tokio::time::sleep(wait) => {}
            () = woken => {}
        }
    }
    ticker.settled().await;
}

/// Until a run is in another state, or too much happened to tell.
async fn changed(changes: &mut broadcast::Receiver<Change>) {
    loop {
        match changes.recv().await {
            Ok(Change::Run(_)) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            Ok(_) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

/// What [`tick`] does each time. A clone is the same.
#[derive(Clone)]
pub struct Ticker {
    inner: Arc<Inner>,
}

struct Inner {
    kernel: Kernel,
    settings: Settings,
    /// Schedules whose tool is being called from here.
    calling: Mutex<BTreeSet<String>>,
    /// A call has come to its end.
    ended: Notify,
    tasks: TaskTracker,
}

/// What came of a call.
struct Outcome {
    state: String,
    error: Option<String>,
    is_over: bool,
}

impl Outcome {
    fn over(state: &str, why: impl Into<String>) -> Self {
        Self {
            state: state.to_owned(),
            error: Some(why.into()),
            is_over: true,
        }
    }
}

/// Where a schedule stands, with the row that says so.
#[derive(Default)]
struct Kept {
    row: Option<Value>,
    state: State,
}

impl Kept {
    fn get(&self) -> Option<&State> {
        self.row.as_ref().map(|_| &self.state)
    }
}

/// Whether the run before is over.
enum Before {
    Over(Kept),
    Under,
}

impl Ticker {
    /// For a kernel whose tools are registered.
    pub fn new(kernel: Kernel, settings: Settings) -> Self {
        Self {
            inner: Arc::new(Inner {
                kernel,
                settings,
                calling: Mutex::default(),
                ended: Notify::new(),
                tasks: TaskTracker::new(),
            }),
        }
    }

    /// Begins what is due, and notes what is over; when something is due next.
    pub async fn step(&self, now: At) -> Result<Option<At>, StoreError> {
        let store = self.inner.kernel.store();
        let mut states = BTreeMap::new();
        for (id, row) in kept::all(&**store, STATES).await? {
            let state = read(&id, row.clone());
            let row = Some(row);
            states.insert(id, state.map(|state| Kept { row, state }));
        }
        let mut next: Option<At> = None;
        for (id, row) in kept::all(&**store, SCHEDULES).await? {
            let kept = states.remove(&id).unwrap_or_else(|| Ok(Kept::default()));
            match self.look(&id, row, kept, now).await {
                Ok(due) => next = next.into_iter().chain(due).min(),
                // One that cannot be understood does not keep the others from running.
                Err(StoreError::Damaged(_)) => {}
                Err(error) => return Err(error),
            }
        }
        // The schedules of these are gone; what they began is not.
        for (id, kept) in states {
            if let Ok(kept) = kept
                && kept.state.open.is_some()
            {
                self.before(None, &id, kept, now).await?;
            }
        }
        Ok(next)
    }

    /// Waits until every call that was begun here has come to its end.
    pub async fn settled(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.tasks.reopen();
    }

    /// Deals with one schedule; when it is due next.
    async fn look(
        &self,
        id: &str,
        row: Value,
        kept: Result<Kept, StoreError>,
        now: At,
    ) -> Result<Option<At>, StoreError> {
        let (schedule, kept) = (&read::<Schedule>(id, row.clone())?, kept?);
        let (kept, is_busy) = match kept.state.open {
            None => (kept, false),
            Some(_) => match self.before(Some(schedule), &schedule.id, kept, now).await? {
                Before::Over(kept) => (kept, false),
                Before::Under => (self.kept(&schedule.id).await?, true),
            },
        };
        let Some(due) = schedule.due(kept.get()) else {
            return Ok(None);
        };
        if due > now {
            return Ok(Some(due));
        }
        let settings = &self.inner.settings;
        let plan = plan(schedule, kept.state.left, due, now, settings);
        if is_busy && plan.waits {
            // Woken when the run is over.
            return Ok(None);
        }
        let next = plan.next;
        let done = self
            .carry_out(schedule, row, kept, plan, is_busy, now)
            .await?;
        match done {
            true => Ok(next.filter(|next| *next > now)),
            // Somebody was first; it is looked at anew.
            false => Ok(Some(now.after(PAUSE))),
        }
    }

    /// Writes down what is due, and calls it.
    async fn carry_out(
        &self,
        schedule: &Schedule,
        row: Value,
        kept: Kept,
        plan: Plan,
        is_busy: bool,
        now: At,
    ) -> Result<bool, StoreError> {
        let id = schedule.id.as_str();
        let collection = runs(id);
        let due = plan
            .fire
            .map(|due| self.due(schedule, due, plan.missed, is_busy, now));
        // After an undo, a time may come back that was there before.
        let due = match due {
            Some(due) => {
                let known = self
                    .inner
                    .kernel
                    .store()
                    .row(&collection, &due.due.to_string())
                    .await?;
                Some(due).filter(|_| known.is_none())
            }
            None => None,
        };
        let fires = due.as_ref().is_some_and(|due| due.state == "fired");
        let state = State {
            revision: schedule.revision.clone(),
            next_at: plan.next.map(Moment),
            last_at: plan.fire.map(Moment).or(kept.state.last_at),
            open: match (&due, fires) {
                (Some(due), true) => Some(due.due),
                _ => kept.state.open,
            },
            left: plan.left,
        };
        let mut rows = vec![
            // Only if it is still what it was.
            change(SCHEDULES, id, Some(row.clone()), Some(row)),
            change(STATES, id, kept.row, Some(written(&state)?)),
        ];
        let event = match fires {
            true => "schedule.fired",
            false => "schedule.skipped",
        };
        let mut record = Record::new(now, event, &schedule.by.owner, id)
            .with("tool", schedule.tool.as_str())
            .with("next", plan.next.map(|next| next.to_string()));
        if let Some(due) = &due {
            let (key, value) = (due.due.to_string(), written(due)?);
            rows.push(change(&collection, &key, None, Some(value)));
            rows.extend(self.too_old(&collection, state.open).await?);
            record = record
                .with("due", key)
                .with("missed", due.missed)
                .with("run", fires.then_some(due.run_id.as_str()));
        }
        if !self.inner.kernel.put_rows(rows, record).await? {
            return Ok(false);
        }
        if let Some(due) = due.filter(|_| fires) {
            self.call(schedule.clone(), due);
        }
        Ok(true)
    }

    fn due(&self, schedule: &Schedule, due: At, missed: bool, is_busy: bool, now: At) -> Due {
        let fired = Due {
            due: Moment(due),
            fired_at: Moment(now),
            run_id: RunId::fresh().to_string(),
            missed,
            state: "fired".to_owned(),
            error: None,
            ended_at: None,
            revision: schedule.revision.clone(),
        };
        match is_busy {
            false => fired,
            true => Due {
                state: "skipped".to_owned(),
                error: Some("the run before it was not over".to_owned()),
                ended_at: Some(Moment(now)),
                ..fired
            },
        }
    }

    /// What makes room for one more.
    async fn too_old(
        &self,
        collection: &str,
        open: Option<Moment>,
    ) -> Result<Vec<RowChange>, StoreError> {
        let most = self.inner.settings.kept.max(1);
        let rows = self
            .inner
            .kernel
            .store()
            .rows(collection, None, most + 1)
            .await?;
        let many = (rows.len() + 1).saturating_sub(most);
        let open = open.map(|open| open.to_string());
        let old = rows
            .into_iter()
            .filter(|(key, _)| Some(key) != open.as_ref());
        let old = old
            .take(many)
            .map(|(key, row)| change(collection, &key, Some(row), None));
        Ok(old.collect())
    }

    /// Looks at what is not over: calls what a crash kept from being called, notes what has
    /// ended.
    async fn before(
        &self,
        schedule: Option<&Schedule>,
        id: &str,
        kept: Kept,
        now: At,
    ) -> Result<Before, StoreError> {
        let Some(open) = kept.state.open else {
            return Ok(Before::Over(kept));
        };
        if self.calling().contains(id) {
            return Ok(Before::Under);
        }
        let store = self.inner.kernel.store();
        let row = store.row(&runs(id), &open.to_string()).await?;
        let due: Option<Due> = row.map(|row| read(id, row)).transpose()?;
        let run = due.as_ref().and_then(|due| RunId::parse(&due.run_id));
        let run = match run {
            Some(run) => store.run(&run).await?,
            None => None,
        };
        let outcome = match (due, run) {
            (_, Some(run)) => Outcome {
                state: run.state.as_str().to_owned(),
                error: None,
                is_over: run.state.is_over(),
            },
            (Some(due), None) => match schedule {
                Some(schedule) if schedule.enabled && schedule.revision == due.revision => {
                    self.call(schedule.clone(), due);
                    return Ok(Before::Under);
                }
                _ => Outcome::over("skipped", "the schedule was changed before it ran"),
            },
            (None, None) => Outcome::over("skipped", "nothing is known of it"),
        };
        let is_over = outcome.is_over;
        self.note(id, open, outcome, now).await?;
        match is_over {
            true => Ok(Before::Over(self.kept(id).await?)),
            false => Ok(Before::Under),
        }
    }

    /// Calls the tool beside everything else, and notes what came of it.
    fn call(&self, schedule: Schedule, due: Due) {
        if !self.calling().insert(schedule.id.clone()) {
            return;
        }
        let ticker = self.clone();
        self.inner.tasks.spawn(async move {
            let Some(outcome) = ticker.outcome(&schedule, &due).await else {
                // The hub is stopping: the next start calls it, and this one not again.
                return;
            };
            let now = ticker.inner.kernel.now();
            // What cannot be noted now is found in the run at the next look.
            let _ = ticker.note(&schedule.id, due.due, outcome, now).await;
            ticker.calling().remove(&schedule.id);
            ticker.inner.ended.notify_one();
        });
    }

    async fn outcome(&self, schedule: &Schedule, due: &Due) -> Option<Outcome> {
        let (kernel, by) = (&self.inner.kernel, &schedule.by);
        let token = by.token();
        let who = kernel.principal_again(&by.owner, token.as_ref(), &schedule.tool);
        let who = match who {
            Ok(who) => who,
            Err(error) => return Some(Outcome::over("refused", error.message)),
        };
        let args = Value::Object(schedule.arguments.clone());
        let key = format!("schedule:{}:{}", schedule.id, due.due);
        let mut call = Call::new(who, schedule.tool.as_str(), args).key(key);
        call.run = RunId::parse(&due.run_id);
        call.through = Some(format!("schedule:{}", schedule.id));
        let answer = kernel.call(call).await;
        let error = answer.result.err();
        match (answer.meta.state, error) {
            (Some(state), error) => Some(Outcome {
                state: state.as_str().to_owned(),
                error: error.map(|e| e.message),
                is_over: state.is_over(),
            }),
            (None, Some(error)) if error.kind == ErrorKind::Transient => None,
            (None, Some(error)) => Some(Outcome::over("refused", error.message)),
            (None, None) => Some(Outcome::over("refused", "the run has no state")),
        }
    }

    /// Notes what became of something that was due.
    async fn note(
        &self,
        id: &str,
        open: Moment,
        outcome: Outcome,
        now: At,
    ) -> Result<(), StoreError> {
        let (store, collection, key) = (self.inner.kernel.store(), runs(id), open.to_string());
        // The step may write the same row at the same time; it does so once.
        for _ in 0..8 {
            let kept = self.kept(id).await?;
            let row = store.row(&collection, &key).await?;
            let mut rows = Vec::new();
            if let Some(row) = row {
                let mut due: Due = read(id, row.clone())?;
                due.state.clone_from(&outcome.state);
                if outcome.error.is_some() || outcome.is_over {
                    due.error = outcome.error.as_deref().map(short).or(due.error);
                }
                if outcome.is_over {
                    due.ended_at = Some(Moment(now));
                }
                let after = written(&due)?;
                if after != row {
                    rows.push(change(&collection, &key, Some(row), Some(after)));
                }
            }
            if outcome.is_over && kept.state.open == Some(open) {
                let state = State {
                    open: None,
                    ..kept.state
                };
                rows.push(change(STATES, id, kept.row, Some(written(&state)?)));
            }
            if rows.is_empty() {
                return Ok(());
            }
            let event = match outcome.is_over {
                true => "schedule.ended",
                false => "schedule.waits",
            };
            let record = Record::new(now, event, "hub", id)
                .with("due", key.as_str())
                .with("state", outcome.state.as_str())
                .with("error", outcome.error.as_deref().map(short));
            if self.inner.kernel.put_rows(rows, record).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn kept(&self, id: &str) -> Result<Kept, StoreError> {
        let row = self.inner.kernel.store().row(STATES, id).await?;
        let state = row.clone().map(|row| read(id, row)).transpose()?;
        Ok(Kept {
            row,
            state: state.unwrap_or_default(),
        })
    }

    fn calling(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        let calling = &self.inner.calling;
        calling.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn short(why: &str) -> String {
    why.chars().take(500).collect()
}

#[cfg(test)]
mod tests;
