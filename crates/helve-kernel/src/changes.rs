//! What a run changed, as it is kept with the run.
//!
//! The changeset itself is a manifest that only `helve-changes` reads; here it is
//! bytes with an id, a state and a place in the order of commits.

use helve_core::audit::Hash;
use serde_json::{Value, json};

use crate::rows::Place;
use crate::{At, RunId};

/// Where the changes of a run stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangesState {
    /// Held back: somebody has to say yes.
    Staged,
    /// About to be applied, or applied and not yet recorded.
    Committing,
    /// Applied.
    Committed,
    /// Never applied, and gone.
    Dropped,
    /// Applied, and taken back.
    Undone,
    /// Applied; what was there before is no longer kept.
    Expired,
}

impl ChangesState {
    /// All states.
    pub const ALL: [ChangesState; 6] = [
        ChangesState::Staged,
        ChangesState::Committing,
        ChangesState::Committed,
        ChangesState::Dropped,
        ChangesState::Undone,
        ChangesState::Expired,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ChangesState::Staged => "staged",
            ChangesState::Committing => "committing",
            ChangesState::Committed => "committed",
            ChangesState::Dropped => "dropped",
            ChangesState::Undone => "undone",
            ChangesState::Expired => "expired",
        }
    }

    /// The state of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// Whether they are neither applied nor dropped yet.
    pub fn is_open(self) -> bool {
        matches!(self, ChangesState::Staged | ChangesState::Committing)
    }
}

/// The changes of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The run.
    pub run: RunId,
    /// The hash of the manifest: what an approval is bound to.
    pub id: Hash,
    /// Where they stand.
    pub state: ChangesState,
    /// When they were captured.
    pub at: At,
    /// How many paths they touch.
    pub count: u64,
    /// Their place in the order of commits, from 1.
    pub order: Option<u64>,
    /// Whether what was there before is kept for as long as this is set.
    pub pinned: bool,
    /// What changed, as `helve-changes` writes it.
    pub manifest: Vec<u8>,
    /// Which records changed, and how.
    pub rows: Vec<RowChange>,
    /// Where the new contents are; nothing once they are applied or dropped.
    pub staged: Option<Vec<u8>>,
    /// What the caller gets when they are applied.
    pub reply: Option<Value>,
    /// What it takes to apply them once more, until they are known to be on the disk.
    pub redo: Option<Vec<u8>>,
}

impl Changes {
    /// Lets go of what is noted of these records, if it is settled: without it, the rest can
    /// no longer be taken back. Whether there was anything.
    pub fn purge(&mut self, places: &[Place]) -> bool {
        if self.state.is_open() {
            return false;
        }
        let noted = self.rows.len();
        self.rows.retain(|row| !places.contains(&row.place()));
        let purged = self.rows.len() < noted;
        if purged && self.state != ChangesState::Dropped {
            self.state = ChangesState::Expired;
        }
        purged
    }
}

/// A record that a run changed.
#[derive(Debug, Clone, PartialEq)]
pub struct RowChange {
    /// The collection that it is in.
    pub collection: String,
    /// Its key there.
    pub key: String,
    /// What it was; nothing where there was none.
    pub before: Option<Value>,
    /// What it is to be; nothing where it is removed.
    pub after: Option<Value>,
}

impl RowChange {
    /// The same as JSON.
    pub fn to_value(&self) -> Value {
        json!({
            "collection": self.collection,
            "key": self.key,
            "before": self.before.as_ref().map(|v| json!([v])),
            "after": self.after.as_ref().map(|v| json!([v])),
        })
    }

    /// What was written so.
    pub fn from_value(value: &Value) -> Option<Self> {
        // A record may be null, so what is there stands in a list.
        let side = |name: &str| match &value[name] {
            Value::Null => Some(None),
            list => list.get(0).map(|v| Some(v.clone())),
        };
        Some(Self {
            collection: value["collection"].as_str()?.to_owned(),
            key: value["key"].as_str()?.to_owned(),
            before: side("before")?,
            after: side("after")?,
        })
    }

    /// In which way it changed.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "changed",
        }
    }

    /// The name under which it stands among paths.
    pub fn name(&self) -> String {
        match self.collection.strip_prefix(crate::rows::ELSEWHERE) {
            Some(elsewhere) => format!("{elsewhere}/{}", self.key),
            None => format!("record:{}/{}", self.collection, self.key),
        }
    }
}

/// A path that a run changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// The path's bytes, from the root of the file system.
    pub path: Vec<u8>,
    /// In which way.
    pub kind: String,
}

/// What became of changes that were open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Nothing was applied.
    Dropped,
    /// All was applied, to these paths.
    Committed(Vec<Touched>),
}

/// A run whose changes were taken back, or put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The run.
    pub run: RunId,
    /// Whether they are taken back now.
    pub undone: bool,
}

/// One line of the history of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    /// The place in the order of commits.
    pub order: u64,
    /// The run.
    pub run: RunId,
    /// The path, and in which way it changed.
    pub touched: Touched,
}

/// Which lines of the history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Of this path and what is beneath it.
    pub path: Option<Vec<u8>>,
    /// Of this run.
    pub run: Option<RunId>,
    /// Committed before this place in the order.
    pub before: Option<u64>,
}

/// Which changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangesFilter {
    /// In this state.
    pub state: Option<ChangesState>,
    /// At this place in the order of commits or later.
    pub from: Option<u64>,
    /// Only those that have a redo.
    pub redo: bool,
}
