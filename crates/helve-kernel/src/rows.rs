//! Rows that are kept elsewhere, and changed like records all the same.
//!
//! A tool that changes them tries it out, takes it back, and says here what it came to
//! ([`Records::foreign`](crate::Records::foreign)). So a run has its exact effect before anybody
//! has seen it: it can be shown, approved, applied and undone as with files. Whoever keeps
//! the rows only has to tell what they are, and to put others in their place.
//!
//! Such a row stands in a collection `@<source>:<place>:<rest>`. What a run changes is in one
//! place and beside no file, because only one transaction is all or nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use crate::ToolError;
use crate::changes::RowChange;

/// How collections begin that are kept elsewhere.
pub(crate) const ELSEWHERE: char = '@';

/// Whoever keeps rows elsewhere.
#[async_trait]
pub trait Rows: Send + Sync {
    /// What rows are now, in the order in which they are asked for: nothing for one that is
    /// not there. A change that is being applied is waited for.
    async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError>;

    /// Puts other rows in the place of those that were there: all in one transaction, each
    /// only if it is as it was before, and nothing besides.
    async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied>;
}

/// Where a row is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The collection that it is in.
    pub collection: String,
    /// Its key there.
    pub key: String,
}

/// Why rows were not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unapplied {
    /// Nothing was changed.
    Refused(ToolError),
    /// Nobody knows: the answer to the last word was lost.
    Unsure(ToolError),
}

/// Everybody who keeps rows elsewhere, by the name of the source.
pub(crate) type Sources = BTreeMap<String, Arc<dyn Rows>>;

/// How rows stand that were to be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Applied,
    NotApplied,
    /// Somebody has changed them since, or they cannot be looked at.
    Unsure,
}

impl Standing {
    /// One transaction has changed all of them or none, so one row tells; unless somebody
    /// else came after it.
    pub(crate) fn of(changes: &[RowChange], now: &[Option<Value>]) -> Self {
        let pairs = || changes.iter().zip(now);
        let applied = pairs().any(|(row, now)| *now == row.after);
        let untouched = pairs().any(|(row, now)| *now == row.before);
        match (applied, untouched) {
            (true, false) => Standing::Applied,
            (false, true) => Standing::NotApplied,
            _ => Standing::Unsure,
        }
    }
}

impl RowChange {
    /// Whether it is kept elsewhere, and not in the store of the hub.
    pub fn is_foreign(&self) -> bool {
        self.collection.starts_with(ELSEWHERE)
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        Place {
            collection: self.collection.clone(),
            key: self.key.clone(),
        }
    }
}

/// The source of a collection that is kept elsewhere, and its place with it.
pub(crate) fn home(collection: &str) -> Option<(&str, &str)> {
    let rest = collection.strip_prefix(ELSEWHERE)?;
    let (source, rest) = rest.split_once(':')?;
    let (place, _) = rest.split_once(':')?;
    Some((source, place))
}
