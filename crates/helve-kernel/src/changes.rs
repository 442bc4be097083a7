//! What a run changed, as it is kept with the run.
//!
//! The changeset itself is a manifest that only `helve-changes` reads; here it is
//! bytes with an id, a state and a place in the order of commits.

use helve_core::audit::Hash;
use serde_json::Value;

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
    /// Where the new contents are; nothing once they are applied or dropped.
    pub staged: Option<Vec<u8>>,
    /// What the caller gets when they are applied.
    pub reply: Option<Value>,
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
}
