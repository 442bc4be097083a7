//! What is kept of schedules, in rows.
//!
//! Three collections, so that what people decide is apart from what the hub notes:
//!
//! - [`SCHEDULES`]: what somebody has scheduled. Only tools change it, so it can be shown
//!   before and undone after, also when the schedule has run meanwhile.
//! - [`STATES`]: where each stands: what is due next, what is under way. Only the ticker
//!   writes it.
//! - [`runs`]: a row for each time that one was due.

use helve_kernel::{At, Principal, RowChange, Store, StoreError, TokenId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::trigger::{Moment, Trigger};

pub(super) const SCHEDULES: &str = "schedules";
pub(super) const STATES: &str = "schedule_states";

/// The collection of the times that a schedule was due.
pub(super) fn runs(id: &str) -> String {
    format!("schedule_runs:{id}")
}

/// What happens when it is due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TaskType {
    /// A tool is called.
    #[default]
    Tool,
    /// The description is noted as something to be done.
    Reminder,
    /// The one if a tool is named, the other if not.
    Task,
}

/// What becomes of runs that were due while the hub was down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Missed {
    /// Nothing.
    Skip,
    /// One run stands for all of them.
    #[default]
    Once,
    /// Each runs, one after the other; at most 100.
    All,
}

/// Who has scheduled something, and so answers for what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct By {
    pub(super) owner: String,
    pub(super) under: Option<String>,
    pub(super) kind: String,
    pub(super) token: Option<String>,
}

impl By {
    pub(super) fn of(who: &Principal) -> Self {
        Self {
            owner: who.owner.clone(),
            under: who.under.clone(),
            kind: who.kind.as_str().to_owned(),
            token: who.token.as_ref().map(ToString::to_string),
        }
    }

    pub(super) fn person(&self) -> &str {
        self.under.as_deref().unwrap_or(&self.owner)
    }

    pub(super) fn token(&self) -> Option<TokenId> {
        self.token.as_deref().and_then(TokenId::parse)
    }
}

/// What somebody has scheduled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Schedule {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) task_type: TaskType,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) trigger: Trigger,
    pub(super) time_zone: String,
    pub(super) missed: Missed,
    pub(super) enabled: bool,
    pub(super) by: By,
    pub(super) created_at: Moment,
    pub(super) changed_at: Moment,
    /// When it is due first, seen from when it was changed last.
    pub(super) next_at: Option<Moment>,
    /// The run that wrote this: what is noted about another is not about this.
    pub(super) revision: String,
}

/// Where a schedule stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) revision: String,
    pub(super) next_at: Option<Moment>,
    pub(super) last_at: Option<Moment>,
    /// What was due and is not over: there is never more than one.
    pub(super) open: Option<Moment>,
    /// How many missed runs may still be made up for, while that is under way.
    pub(super) left: Option<u32>,
}

/// One time that a schedule was due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Due {
    pub(super) due: Moment,
    pub(super) fired_at: Moment,
    /// The run that it is, or would have been.
    pub(super) run_id: String,
    /// Whether it makes up for runs that were missed.
    pub(super) missed: bool,
    /// `fired`, the state of the run, `refused` or `skipped`.
    pub(super) state: String,
    pub(super) error: Option<String>,
    pub(super) ended_at: Option<Moment>,
    pub(super) revision: String,
}

impl Schedule {
    /// When it is due next, which may be past.
    pub(super) fn due(&self, state: Option<&State>) -> Option<At> {
        if !self.enabled {
            return None;
        }
        let first = self.next_at.map(|next| next.0);
        match state {
            Some(state) if state.revision == self.revision => state.next_at.map(|next| next.0),
            // It is another since, or again what it was: nothing is due twice.
            Some(State {
                last_at: Some(last),
                ..
            }) if first.is_some_and(|first| first <= last.0) => self.trigger.after(last.0),
            _ => first,
        }
    }
}

/// A row as what it is.
pub(super) fn read<T: serde::de::DeserializeOwned>(
    name: &str,
    row: Value,
) -> Result<T, StoreError> {
    serde_json::from_value(row).map_err(|e| StoreError::Damaged(format!("`{name}`: {e}")))
}

/// A row of something.
pub(super) fn written(of: &impl Serialize) -> Result<Value, StoreError> {
    serde_json::to_value(of).map_err(|e| StoreError::Unwritable(e.to_string()))
}

/// How a row is to change.
pub(super) fn change(
    collection: &str,
    key: &str,
    before: Option<Value>,
    after: Option<Value>,
) -> RowChange {
    RowChange {
        collection: collection.to_owned(),
        key: key.to_owned(),
        before,
        after,
    }
}

/// All rows of a collection.
pub(super) async fn all(
    store: &dyn Store,
    collection: &str,
) -> Result<Vec<(String, Value)>, StoreError> {
    const PAGE: usize = 500;
    let mut rows: Vec<(String, Value)> = Vec::new();
    loop {
        let after = rows.last().map(|(key, _)| key.clone());
        let page = store.rows(collection, after.as_deref(), PAGE).await?;
        let is_last = page.len() < PAGE;
        rows.extend(page);
        if is_last {
            return Ok(rows);
        }
    }
}
