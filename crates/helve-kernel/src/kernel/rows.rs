//! Rows, wherever they are kept: looked at, compared, and those elsewhere applied.
//!
//! Records of the store are committed in the transaction that ends a run. Rows elsewhere have
//! one of their own, between the intent and the outcome; what a crash leaves there is told by
//! looking at them. Where that cannot tell, they count as applied: an undo looks again, and
//! takes back what it finds.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Kernel;
use super::approve::broken;
use super::commit::Effect;
use crate::ToolError;
use crate::changes::RowChange;
use crate::rows::{Place, Rows, Standing, Unapplied, home};

impl Kernel {
    /// What rows are now, in the order in which they are asked for.
    pub(super) async fn rows_now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        let mut now = vec![None; places.len()];
        let mut elsewhere: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, place) in places.iter().enumerate() {
            match home(&place.collection) {
                Some((source, _)) => elsewhere.entry(source).or_default().push(index),
                None => {
                    let row = self.inner.store.row(&place.collection, &place.key);
                    now[index] = row.await.map_err(|e| broken(&e))?;
                }
            }
        }
        for (source, indexes) in elsewhere {
            let asked: Vec<Place> = indexes.iter().map(|i| places[*i].clone()).collect();
            let found = self.source(source)?.now(&asked).await?;
            if found.len() != indexes.len() {
                let problem = format!("`{source}` does not tell all rows that it was asked for");
                return Err(ToolError::internal(problem));
            }
            for (index, row) in indexes.into_iter().zip(found) {
                now[index] = row;
            }
        }
        Ok(now)
    }

    /// Nobody has changed the rows meanwhile.
    pub(super) async fn rows_are_as_before(&self, rows: &[RowChange]) -> Result<(), ToolError> {
        let places: Vec<Place> = rows.iter().map(RowChange::place).collect();
        let now = self.rows_now(&places).await?;
        let pairs = rows.iter().zip(now);
        let changed: Vec<String> = pairs
            .filter(|(row, now)| *now != row.before)
            .map(|(row, _)| format!("`{}`", row.name()))
            .collect();
        match changed.is_empty() {
            true => Ok(()),
            false => Err(ToolError::conflict(format!(
                "changed by somebody else: {}",
                changed.join(", ")
            ))
            .with_hint("nothing was changed; look at those records, then call it again")),
        }
    }

    /// Applies the rows that are kept elsewhere, all or none.
    pub(super) async fn apply_rows(&self, rows: &[RowChange]) -> Result<(), Unapplied> {
        let rows: Vec<RowChange> = rows.iter().filter(|r| r.is_foreign()).cloned().collect();
        let Some((source, _)) = rows.first().and_then(|row| home(&row.collection)) else {
            return Ok(());
        };
        let source = self.source(source).map_err(Unapplied::Refused)?;
        match source.apply(&rows).await {
            // The last word was said, and no answer came: the rows themselves tell.
            Err(Unapplied::Unsure(error)) => match self.standing(&rows).await {
                Standing::Applied => Ok(()),
                Standing::NotApplied => Err(Unapplied::Refused(error)),
                Standing::Unsure => Err(Unapplied::Unsure(error)),
            },
            done => done,
        }
    }

    /// How rows stand that are kept elsewhere and were to be applied.
    pub(super) async fn standing(&self, rows: &[RowChange]) -> Standing {
        let rows: Vec<RowChange> = rows.iter().filter(|r| r.is_foreign()).cloned().collect();
        let places: Vec<Place> = rows.iter().map(RowChange::place).collect();
        match self.rows_now(&places).await {
            Ok(now) => Standing::of(&rows, &now),
            Err(_) => Standing::Unsure,
        }
    }

    fn source(&self, name: &str) -> Result<Arc<dyn Rows>, ToolError> {
        let source = self.inner.sources.get(name).cloned();
        source.ok_or_else(|| {
            ToolError::dependency(format!(
                "this hub has nobody who keeps the rows of `{name}`"
            ))
        })
    }
}

impl Effect {
    /// What is kept elsewhere is in one place and beside no file: only then is it applied as
    /// a whole or not at all.
    pub(super) fn is_one_commit(&self) -> Result<(), ToolError> {
        let mut homes: Vec<(&str, &str)> = self
            .rows
            .iter()
            .filter_map(|row| home(&row.collection))
            .collect();
        homes.sort_unstable();
        homes.dedup();
        let files = !self.staged.changeset.is_empty();
        if homes.len() > 1 || (files && !homes.is_empty()) {
            let mut places: Vec<String> = homes
                .iter()
                .map(|(source, place)| format!("`{source}:{place}`"))
                .collect();
            places.extend(files.then(|| "files".to_owned()));
            let problem = format!("{} cannot be changed as one", places.join(" and "));
            return Err(ToolError::validation(problem)
                .with_hint("nothing was changed; do it, or undo it, one run after the other"));
        }
        Ok(())
    }
}

/// What is said where nobody can tell what became of a commit.
pub(super) fn unsure(error: ToolError) -> ToolError {
    error.with_hint(
        "whether it took effect is unknown: look at the rows; an undo takes back what is there",
    )
}
