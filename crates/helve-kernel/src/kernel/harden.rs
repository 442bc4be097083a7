//! Changes of one small file: applied at once, on the disk a moment later.
//!
//! What such a change needs to be done again is kept with its intent, which is durable before
//! the file is touched. So nobody waits for the file itself: it is synced beside the calls,
//! and what was kept is let go of then. After a crash the next start does again what is kept.
//!
//! Every other change goes by what is on the disk, and waits until nothing is kept any more
//! ([`Kernel::harden`]): what came before it must never be done again after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helve_changes::{Changeset, Placed, Staged};

use super::commit::Effect;
use super::execute::Execution;
use super::pass::Ready;
use super::{Kernel, lock};
use crate::changes::{Changes, ChangesFilter, ChangesState};
use crate::keeper::refusal;
use crate::rows::Unapplied;
use crate::{RunId, StoreError, ToolError};

/// How long a change may be only where a crash of the system would look for it.
const SOON: Duration = Duration::from_millis(500);

/// What is applied and not known to be on the disk.
#[derive(Default)]
pub(super) struct Hardening {
    /// Each stays here until nothing is kept to do it again.
    placed: std::sync::Mutex<Vec<(RunId, Changeset)>>,
    /// Somebody will see to it.
    due: AtomicBool,
    /// One at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Execution {
    /// Applies a change of one small file, whose redo is kept with its intent.
    pub(super) async fn place_now(
        &self,
        ready: &Ready,
        effect: &Effect,
        redo: Vec<u8>,
    ) -> Result<(), Unapplied> {
        let kernel = &self.kernel;
        let keeper = kernel.keeper().map_err(Unapplied::Refused)?;
        let intended = self.intend(ready, effect, Some(redo)).await;
        intended.map_err(Unapplied::Refused)?;
        let allowed = kernel.writable(&ready.entry.def);
        let placed = keeper.place(effect.staged.clone(), allowed).await;
        placed.map_err(|e| Unapplied::Refused(refusal(&e)))?;
        kernel.harden_soon(&ready.run, &effect.staged.changeset);
        Ok(())
    }
}

impl Kernel {
    /// What a run would change with all of it on the disk, for whoever looks at it or keeps it.
    pub(super) async fn laid(&self, run: &RunId, effect: Effect) -> Result<Effect, ToolError> {
        if !effect.staged.is_quick() {
            return Ok(effect);
        }
        let (keeper, staged) = (self.keeper()?, effect.staged.clone());
        let stage = keeper.stage_of(run);
        let laid = keeper.blocking(move |keeper| staged.laid(&stage, keeper.blobs()));
        let laid: Staged = laid.await.map_err(|e| refusal(&e))?;
        Ok(Effect {
            staged: Arc::new(laid),
            rows: effect.rows,
        })
    }

    fn harden_soon(&self, run: &RunId, changeset: &Changeset) {
        let hardening = &self.inner.hardening;
        lock(&hardening.placed).push((run.clone(), changeset.clone()));
        if hardening.due.swap(true, Ordering::AcqRel) {
            return;
        }
        let kernel = self.clone();
        self.inner.tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(SOON) => {}
                    // Whoever closes the kernel does it.
                    () = kernel.inner.closing.cancelled() => return,
                }
                // Where it cannot be done now, it is tried again, or by the next start.
                let _ = kernel.harden().await;
                let hardening = &kernel.inner.hardening;
                let placed = lock(&hardening.placed);
                if placed.is_empty() {
                    hardening.due.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }

    /// Waits until all that was applied is on the disk, and nothing is kept to do it again.
    pub(super) async fn harden(&self) -> Result<(), ToolError> {
        let hardening = &self.inner.hardening;
        if lock(&hardening.placed).is_empty() {
            return Ok(());
        }
        let _turn = hardening.turn.lock().await;
        let placed = lock(&hardening.placed).clone();
        if placed.is_empty() {
            return Ok(());
        }
        self.hardened(&placed).await?;
        let done = |run: &RunId| placed.iter().any(|(other, _)| other == run);
        lock(&hardening.placed).retain(|(run, _)| !done(run));
        Ok(())
    }

    async fn hardened(&self, placed: &[(RunId, Changeset)]) -> Result<(), ToolError> {
        let keeper = self.keeper()?;
        let (runs, changesets): (Vec<RunId>, Vec<Changeset>) = placed.iter().cloned().unzip();
        keeper
            .blocking(move |keeper| keeper.journal().harden(&changesets, keeper.blobs()))
            .await
            .map_err(|e| refusal(&e))?;
        let forgotten = self.inner.store.forget_redo(runs).await;
        match forgotten.map_err(|e| super::approve::broken(&e))? {
            true => Ok(()),
            false => Err(ToolError::transient(
                "a change before this one is not on the record yet; nothing was changed",
            )),
        }
    }

    /// Does again what a crash may have lost. Tells of each whether it is there now.
    pub(super) async fn redo(&self) -> Result<Vec<helve_changes::Ended>, StoreError> {
        let Some(keeper) = self.inner.keeper.clone() else {
            return Ok(Vec::new());
        };
        let filter = ChangesFilter {
            redo: true,
            ..ChangesFilter::default()
        };
        let mut kept = self.inner.store.all_changes(filter, usize::MAX).await?;
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        // In their order; what has no place in it yet is the last.
        kept.sort_by_key(|changes| (changes.order.is_none(), changes.order));
        let runs: Vec<RunId> = ended(&kept).map(|changes| changes.run.clone()).collect();
        let damaged = |e: &helve_changes::Error| StoreError::Damaged(e.to_string());
        let redone = keeper.blocking(move |keeper| {
            let placed = kept.iter().map(|changes| {
                Ok(Placed {
                    changeset: Changeset::read(&changes.manifest)?,
                    redo: changes.redo.as_deref().unwrap_or_default(),
                    ended: changes.state != ChangesState::Committing,
                })
            });
            let placed = placed.collect::<Result<Vec<_>, helve_changes::Error>>()?;
            keeper.journal().redo(&placed, keeper.blobs())
        });
        let redone = redone.await.map_err(|e| damaged(&e))?;
        // Of those that have no end yet it is kept until they have.
        self.inner.store.forget_redo(runs).await?;
        Ok(redone)
    }
}

fn ended(kept: &[Changes]) -> impl Iterator<Item = &Changes> {
    let open = |changes: &&Changes| changes.state != ChangesState::Committing;
    kept.iter().filter(open)
}
