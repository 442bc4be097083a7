//! Changes of one small file: applied at once, on the disk a moment later.
//!
//! What such a change needs to be done again is kept with its intent, which is durable before
//! the file is touched. So nobody waits for the file itself: it is synced beside the calls,
//! and what was kept is let go of then. After a crash the next start does again what is kept.
//!
//! Every other change goes by what is on the disk, and waits until nothing is kept any more
//! ([`Kernel::harden`]): what came before it must never be done again after it. What cannot be
//! brought to the disk stays kept, and only changes of the same paths are refused then.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helve_changes::{Changeset, Staged, Trouble};

use super::commit::Effect;
use super::execute::Execution;
use super::pass::Ready;
use super::{Kernel, lock};
use crate::keeper::{refusal, with_source};
use crate::rows::Unapplied;
use crate::{RunId, ToolError};

/// How long a change may be only where a crash of the system would look for it.
const SOON: Duration = Duration::from_millis(500);

/// What is applied and not known to be on the disk.
#[derive(Default)]
pub(super) struct Hardening {
    /// Each stays here until nothing is kept to do it again.
    placed: std::sync::Mutex<Vec<Item>>,
    /// Somebody will see to it.
    due: AtomicBool,
    /// One at a time.
    turn: tokio::sync::Mutex<()>,
}

struct Item {
    run: RunId,
    changeset: Changeset,
    /// Whether its end is on the record.
    ended: bool,
    /// Why it could not be brought to the disk.
    trouble: Option<Why>,
}

#[derive(Clone)]
struct Why {
    text: String,
    /// Whether only a start can mend it.
    lasts: bool,
}

impl Item {
    /// Whether one of these paths is one of its own, or above or beneath one.
    fn meets(&self, changeset: &Changeset) -> Option<&Path> {
        let mut own = self.changeset.entries().map(|(path, _)| path);
        own.find(|own| {
            let mut paths = changeset.entries().map(|(path, _)| path);
            paths.any(|path| path.starts_with(own) || own.starts_with(path))
        })
    }

    /// Whether nothing can be done about it before the next start.
    fn is_left(&self) -> bool {
        self.trouble.as_ref().is_some_and(|why| why.lasts)
    }

    fn is_met_by(&self, trouble: &Trouble) -> bool {
        let mut paths = self.changeset.entries().map(|(path, _)| path);
        paths.any(|path| trouble.paths.iter().any(|other| other == path))
    }
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
        let may = kernel.may_place(&effect.staged.changeset);
        may.map_err(Unapplied::Refused)?;
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
        lock(&hardening.placed).push(Item {
            run: run.clone(),
            changeset: changeset.clone(),
            ended: false,
            trouble: None,
        });
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
                let _ = kernel.harden(&[]).await;
                let hardening = &kernel.inner.hardening;
                let placed = lock(&hardening.placed);
                if placed.iter().all(Item::is_left) {
                    hardening.due.store(false, Ordering::Release);
                    return;
                }
            }
        });
    }

    /// Its end is on the record.
    pub(super) fn placed_has_ended(&self, run: &RunId) {
        let mut placed = lock(&self.inner.hardening.placed);
        if let Some(item) = placed.iter_mut().rev().find(|item| item.run == *run) {
            item.ended = true;
        }
    }

    /// Of two changes of a file, the later one is done again after the earlier one. So that their
    /// order is known, the earlier one has its end on the record.
    fn may_place(&self, changeset: &Changeset) -> Result<(), ToolError> {
        self.unless_stuck(&[changeset])?;
        let placed = lock(&self.inner.hardening.placed);
        let mut open = placed.iter().filter(|item| !item.ended);
        match open.find_map(|item| item.meets(changeset)) {
            Some(path) => Err(ToolError::transient(format!(
                "the change of `{}` before this one is not on the record yet",
                path.display()
            ))
            .with_hint("nothing was changed; call it again in a moment")),
            None => Ok(()),
        }
    }

    /// Waits until all that was applied is on the disk, and nothing is kept to do it again. An
    /// error if that cannot be, but of single files only if one of `touched` meets them.
    pub(super) async fn harden(&self, touched: &[&Changeset]) -> Result<(), ToolError> {
        let hardening = &self.inner.hardening;
        if lock(&hardening.placed).is_empty() {
            return Ok(());
        }
        let _turn = hardening.turn.lock().await;
        self.harden_placed().await?;
        self.unless_stuck(touched)
    }

    fn unless_stuck(&self, touched: &[&Changeset]) -> Result<(), ToolError> {
        for item in lock(&self.inner.hardening.placed).iter() {
            let Some(why) = &item.trouble else {
                continue;
            };
            let met = touched.iter().find_map(|changeset| item.meets(changeset));
            let Some(path) = met else {
                continue;
            };
            let problem = format!(
                "a change of `{}` before this one ({}) cannot be brought to the disk: {}",
                path.display(),
                item.run,
                why.text
            );
            return Err(ToolError::dependency(problem).with_hint(match why.lasts {
                true => "nothing was changed; see to the disk, then start the hub again",
                false => "nothing was changed; see to that path, then call it again",
            }));
        }
        Ok(())
    }

    async fn harden_placed(&self) -> Result<(), ToolError> {
        let hardening = &self.inner.hardening;
        let (runs, changesets): (Vec<RunId>, Vec<Changeset>) = lock(&hardening.placed)
            .iter()
            .filter(|item| !item.is_left())
            .map(|item| (item.run.clone(), item.changeset.clone()))
            .unzip();
        if runs.is_empty() {
            return Ok(());
        }
        let keeper = self.keeper()?;
        let hardened = keeper.blocking(move |keeper| Ok(keeper.harden(&changesets)));
        let troubles = hardened.await.map_err(|e| refusal(&e))?;
        let durable: Vec<RunId> = lock(&hardening.placed)
            .iter_mut()
            .filter(|item| runs.contains(&item.run))
            .filter_map(|item| {
                let mut met = troubles.iter().filter(|trouble| item.is_met_by(trouble));
                item.trouble = met.next().map(|trouble| Why {
                    text: with_source(&trouble.error),
                    lasts: trouble.error.is_failed_sync(),
                });
                item.trouble.is_none().then(|| item.run.clone())
            })
            .collect();
        let forgotten = self.inner.store.forget_redo(durable.clone()).await;
        match forgotten.map_err(|e| super::approve::broken(&e))? {
            true => {
                lock(&hardening.placed).retain(|item| !durable.contains(&item.run));
                Ok(())
            }
            false => Err(ToolError::transient(
                "a change before this one is not on the record yet; nothing was changed",
            )),
        }
    }

    /// What a start could not do again is for the next one.
    pub(super) fn put_off(&self, run: RunId, changeset: Changeset, why: String) {
        let (text, lasts) = (why, true);
        lock(&self.inner.hardening.placed).push(Item {
            run,
            changeset,
            ended: true,
            trouble: Some(Why { text, lasts }),
        });
    }

    /// Whether the next start has to do it again.
    pub(super) fn is_put_off(&self, run: &RunId) -> bool {
        let placed = lock(&self.inner.hardening.placed);
        placed.iter().any(|item| item.run == *run)
    }
}
