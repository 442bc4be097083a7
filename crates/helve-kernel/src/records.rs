//! What tools remember: records in collections, changed like files are.
//!
//! What a run puts here is held back until it has ended well and is committed with it;
//! what was there before is kept, and an undo brings it back.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::changes::RowChange;
use crate::rows::{ELSEWHERE, home};
use crate::{Store, StoreError, ToolError};

/// No name or key is longer.
const LONGEST: usize = 512;

/// The records that a run may see and change. A clone is the same view.
#[derive(Clone, Default)]
pub struct Records(Option<Arc<View>>);

struct View {
    store: Arc<dyn Store>,
    may_change: bool,
    changed: Mutex<BTreeMap<(String, String), Option<Value>>>,
    /// What the run has looked at, as it was then: its changes stand on that.
    seen: Mutex<Seen>,
    /// Rows that are kept elsewhere, as somebody who has tried it out says.
    foreign: Mutex<BTreeMap<(String, String), RowChange>>,
}

/// What a run has looked at.
#[derive(Default)]
struct Seen {
    rows: BTreeMap<(String, String), Option<Value>>,
    /// Stretches of collections: after a key, up to another, of which all rows were seen.
    stretches: Vec<(String, Option<String>, Option<String>)>,
}

impl Seen {
    /// How a record was when it was looked at first, if it was.
    fn before(&self, collection: &str, key: &str) -> Option<Option<Value>> {
        let place = (collection.to_owned(), key.to_owned());
        if let Some(row) = self.rows.get(&place) {
            return Some(row.clone());
        }
        let within = |(of, after, to): &(String, Option<String>, Option<String>)| {
            of == collection
                && after.as_deref().is_none_or(|after| key > after)
                && to.as_deref().is_none_or(|to| key <= to)
        };
        self.stretches.iter().any(within).then_some(None)
    }

    fn row(&mut self, collection: &str, key: &str, row: Option<&Value>) {
        if self.before(collection, key).is_none() {
            let place = (collection.to_owned(), key.to_owned());
            self.rows.insert(place, row.cloned());
        }
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Records")
    }
}

impl View {
    fn changed(&self, collection: &str, key: &str) -> Option<Option<Value>> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (collection.to_owned(), key.to_owned());
        changed.get(&place).cloned()
    }
}

impl View {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records {
    pub(crate) fn new(store: Arc<dyn Store>, may_change: bool) -> Self {
        Self(Some(Arc::new(View {
            store,
            may_change,
            changed: Mutex::default(),
            seen: Mutex::default(),
            foreign: Mutex::default(),
        })))
    }

    /// A record, if it is there.
    pub async fn get(&self, collection: &str, key: &str) -> Result<Option<Value>, ToolError> {
        let view = self.view()?;
        kept_here(collection)?;
        match view.changed(collection, key) {
            Some(changed) => Ok(changed),
            None => {
                let row = view.store.row(collection, key).await.map_err(unread)?;
                view.seen().row(collection, key, row.as_ref());
                Ok(row)
            }
        }
    }

    /// The records of a collection by key: those after a key, at most so many.
    pub async fn list(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, ToolError> {
        let view = self.view()?;
        kept_here(collection)?;
        let changed: BTreeMap<String, Option<Value>> = {
            let changed = view.changed.lock().unwrap_or_else(PoisonError::into_inner);
            let ours = changed.iter().filter(|((c, _), _)| c == collection);
            ours.map(|((_, key), value)| (key.clone(), value.clone()))
                .collect()
        };
        // Of what is kept, as many as may be hidden by what was removed here.
        let wanted = limit.saturating_add(changed.len());
        let kept = view.store.rows(collection, after, wanted).await;
        let kept = kept.map_err(unread)?;
        let whole = kept.len() < wanted;
        let last = kept.last().map(|(key, _)| key.clone());
        if view.may_change {
            let mut seen = view.seen();
            for (key, row) in &kept {
                seen.row(collection, key, Some(row));
            }
            let to = if whole { None } else { last.clone() };
            let stretch = (collection.to_owned(), after.map(str::to_owned), to);
            seen.stretches.push(stretch);
        }
        let mut all: BTreeMap<String, Value> = kept.into_iter().collect();
        for (key, value) in changed {
            // Beyond what was looked at, others may come first.
            let seen = whole || last.as_ref().is_some_and(|last| key <= *last);
            match value {
                Some(value) if seen && after.is_none_or(|after| key.as_str() > after) => {
                    all.insert(key, value);
                }
                Some(_) => {}
                None => drop(all.remove(&key)),
            }
        }
        Ok(all.into_iter().take(limit).collect())
    }

    /// Makes a record, or gives it another value.
    pub fn put(&self, collection: &str, key: &str, value: Value) -> Result<(), ToolError> {
        self.change(collection, key, Some(value))
    }

    /// Removes a record, if it is there.
    pub fn remove(&self, collection: &str, key: &str) -> Result<(), ToolError> {
        self.change(collection, key, None)
    }

    /// Says that a row would change that is kept elsewhere; see [`Rows`](crate::Rows).
    /// The last word for a row stays.
    pub fn foreign(&self, row: RowChange) -> Result<(), ToolError> {
        let view = self.changeable()?;
        if home(&row.collection).is_none() {
            let problem = format!("`{}` is no collection kept elsewhere", row.collection);
            return Err(ToolError::internal(problem));
        }
        let mut foreign = view.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        foreign.insert((row.collection.clone(), row.key.clone()), row);
        Ok(())
    }

    fn change(&self, collection: &str, key: &str, to: Option<Value>) -> Result<(), ToolError> {
        let view = self.changeable()?;
        kept_here(collection)?;
        for name in [collection, key] {
            if name.is_empty() || name.len() > LONGEST || name.contains('\0') {
                let problem = "the name of a record is empty, too long or holds a NUL";
                return Err(ToolError::validation(problem));
            }
        }
        let mut changed = view.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.insert((collection.to_owned(), key.to_owned()), to);
        Ok(())
    }

    fn changeable(&self) -> Result<&Arc<View>, ToolError> {
        let view = self.view()?;
        match view.may_change {
            true => Ok(view),
            false => Err(ToolError::permission(
                "a tool whose risk is `read` changes no records",
            )),
        }
    }

    fn view(&self) -> Result<&Arc<View>, ToolError> {
        let view = self.0.as_ref();
        view.ok_or_else(|| ToolError::dependency("this run has no records"))
    }

    /// What was changed, once the run has ended well.
    pub(crate) async fn finish(&self) -> Result<Vec<RowChange>, ToolError> {
        let Some(view) = &self.0 else {
            return Ok(Vec::new());
        };
        let changed = {
            let mut changed = view.changed.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *changed)
        };
        let mut rows = Vec::new();
        for ((collection, key), after) in changed {
            let seen = view.seen().before(&collection, &key);
            let before = match seen {
                Some(before) => before,
                None => view.store.row(&collection, &key).await.map_err(unread)?,
            };
            if before != after {
                rows.push(RowChange {
                    collection,
                    key,
                    before,
                    after,
                });
            }
        }
        let foreign = {
            let mut foreign = view.foreign.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *foreign)
        };
        let foreign = foreign.into_values();
        rows.extend(foreign.filter(|row| row.before != row.after));
        Ok(rows)
    }
}

/// What is kept elsewhere is not written as if it were here.
fn kept_here(collection: &str) -> Result<(), ToolError> {
    match collection.starts_with(ELSEWHERE) {
        true => Err(ToolError::validation(format!(
            "`{collection}` is not kept in this hub"
        ))),
        false => Ok(()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unread(error: StoreError) -> ToolError {
    ToolError::dependency(error.to_string())
}
