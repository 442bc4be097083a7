//! What a start does about changes of one small file that a crash may have lost.
//!
//! Whatever it does again, or finds that it cannot, is an entry on the record. None of them holds
//! up the start: what cannot be done now is kept for the next one, and until then changes of the
//! same paths are refused.

use std::collections::HashMap;

use helve_changes::{Came, Changeset, Placed, Redone};

use super::Kernel;
use crate::changes::{Changes, ChangesFilter, ChangesState};
use crate::keeper::with_source;
use crate::{RunId, StoreError};

impl Kernel {
    /// Does again what a crash may have lost. Tells of each what came of it. What was done, and
    /// what could not be, is on the record then.
    pub(super) async fn redo(&self) -> Result<HashMap<RunId, Came>, StoreError> {
        let Some(keeper) = self.inner.keeper.clone() else {
            return Ok(HashMap::new());
        };
        let filter = ChangesFilter {
            redo: true,
            ..ChangesFilter::default()
        };
        let kept = self.inner.store.all_changes(filter, usize::MAX).await?;
        if kept.is_empty() {
            return Ok(HashMap::new());
        }
        let (mut kept, over): (Vec<Changes>, Vec<Changes>) = kept.into_iter().partition(|c| {
            // What was taken back meanwhile must not come back.
            c.state.is_open() || c.state == ChangesState::Committed
        });
        let mut done: Vec<RunId> = over.into_iter().map(|c| c.run).collect();
        // In their order; what has no place in it yet is the last.
        kept.sort_by_key(|c| (c.order.is_none(), c.order, c.run.clone()));
        let mut readable = Vec::new();
        let mut came = HashMap::new();
        for changes in kept {
            match Changeset::read(&changes.manifest) {
                Ok(changeset) => readable.push((changes, changeset)),
                Err(e) => {
                    self.note_redone(&changes, "run.not_redone", &with_source(&e))
                        .await?;
                    came.insert(changes.run.clone(), Came::Unclear);
                    done.push(changes.run);
                }
            }
        }
        let redone = keeper.blocking(move |keeper| {
            let placed: Vec<Placed<'_>> = readable
                .iter()
                .map(|(changes, changeset)| Placed {
                    changeset: changeset.clone(),
                    redo: changes.redo.as_deref().unwrap_or_default(),
                    ended: !changes.state.is_open(),
                })
                .collect();
            let redone = keeper.redo(&placed)?;
            Ok(readable.into_iter().zip(redone).collect::<Vec<_>>())
        });
        let redone = redone
            .await
            .map_err(|e| StoreError::Unwritable(with_source(&e)))?;
        for ((changes, changeset), redone) in redone {
            let ended = !changes.state.is_open();
            if let Some((event, why)) = told(&redone, ended) {
                self.note_redone(&changes, event, &why).await?;
            }
            came.insert(changes.run.clone(), redone.came);
            if redone.keep {
                let why = redone.error.as_ref().map(with_source);
                let why = why.unwrap_or_else(|| "it waits for another".to_owned());
                self.put_off(changes.run, changeset, why);
            } else if ended {
                done.push(changes.run);
            }
        }
        // Of those that have no end yet it is kept until they have.
        if !done.is_empty() {
            self.inner.store.forget_redo(done).await?;
        }
        Ok(came)
    }

    async fn note_redone(
        &self,
        changes: &Changes,
        event: &'static str,
        why: &str,
    ) -> Result<(), StoreError> {
        let record = self
            .entry_of("hub", event, changes.run.as_str())
            .with("changes", changes.id.to_string())
            .with("message", why);
        self.inner.store.record(record).await
    }
}

/// What the record says of a change that a start looked at.
fn told(redone: &Redone, ended: bool) -> Option<(&'static str, String)> {
    let said = match (&redone.error, redone.came) {
        (Some(error), _) => return Some(("run.not_redone", with_source(error))),
        (None, Came::Again) => return Some(("run.redone", "the file was lost".to_owned())),
        (None, Came::There) => return None,
        (None, Came::Missing) => "nothing of it is there, and nothing was done",
        (None, Came::Unclear) => "the file was changed by somebody else, and was left",
    };
    // Of one without an end the record says so with its end.
    ended.then(|| ("run.not_redone", said.to_owned()))
}
