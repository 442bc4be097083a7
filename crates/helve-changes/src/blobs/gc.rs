//! Which before-images may go, and their going.
//!
//! Two steps, so that no run ever loses its undo unannounced: [`Gc::plan`] says whose
//! undo ends, the caller records that, [`Gc::sweep`] removes. While a [`Gc`] lives no
//! capture runs, so that an image that no manifest names is one that none will name.

use std::collections::HashSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use helve_core::audit::Hash;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{Blobs, sync_all};
use crate::error::{At, Error};

/// The right to remove images; no capture runs while it lives.
#[derive(Debug)]
pub struct Gc<'b> {
    blobs: &'b Blobs,
    _lock: File,
}

/// A changeset whose undo is still offered.
#[derive(Debug, Clone)]
pub struct Kept {
    /// Its id.
    pub id: Hash,
    /// When it was made.
    pub at: SystemTime,
    /// Whether it stays whatever its age: pinned by a person, or staged and waiting.
    pub pinned: bool,
    /// What it needs: [`crate::Changeset::images`].
    pub images: Vec<Hash>,
}

/// What may stay.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// The time now.
    pub now: SystemTime,
    /// How old an undo may get.
    pub age: Option<Duration>,
    /// How many bytes the images may take; the oldest go first.
    pub bytes: Option<u64>,
}

/// What a sweep will remove.
#[derive(Debug)]
pub struct Plan {
    /// The changesets that cannot be undone afterwards. Record this before the sweep.
    pub expire: Vec<Hash>,
    /// How many bytes become free.
    pub frees: u64,
    remove: Vec<Hash>,
}

impl Blobs {
    /// Starts a collection; an error if a capture or another collection is under way.
    pub fn gc(&self) -> Result<Gc<'_>, Error> {
        let lock = self.lock_file()?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(Error::Busy { what: "a capture" }),
            locked => {
                locked.at("lock", &self.folder)?;
                Ok(Gc {
                    blobs: self,
                    _lock: lock,
                })
            }
        }
    }
}

impl Gc<'_> {
    /// Whose undo ends, and which images go. List `kept` after the collection started.
    pub fn plan(&self, kept: &[Kept], retention: &Retention) -> Result<Plan, Error> {
        let images = self.blobs.list()?;
        let mut oldest: Vec<&Kept> = kept.iter().collect();
        oldest.sort_by_key(|k| k.at);
        let (mut expire, mut stay) = (Vec::new(), Vec::new());
        for kept in oldest {
            // A clock that went backwards makes nothing old.
            let age = retention.now.duration_since(kept.at).unwrap_or_default();
            match !kept.pinned && retention.age.is_some_and(|most| age > most) {
                true => expire.push(kept.id),
                false => stay.push(kept),
            }
        }
        let total = |stay: &[&Kept]| -> u64 {
            let needed: HashSet<&Hash> = stay.iter().flat_map(|k| &k.images).collect();
            images
                .iter()
                .filter(|(h, _)| needed.contains(h))
                .map(|(_, size)| size)
                .sum()
        };
        while retention.bytes.is_some_and(|most| total(&stay) > most) {
            let Some(first) = stay.iter().position(|k| !k.pinned) else {
                break;
            };
            expire.push(stay.remove(first).id);
        }
        let needed: HashSet<&Hash> = stay.iter().flat_map(|k| &k.images).collect();
        let gone = images.iter().filter(|(h, _)| !needed.contains(h));
        let (mut remove, mut frees) = (Vec::new(), 0);
        for (hash, size) in gone {
            remove.push(*hash);
            frees += size;
        }
        Ok(Plan {
            expire,
            frees,
            remove,
        })
    }

    /// Removes what the plan says, and what crashed captures left.
    pub fn sweep(self, plan: &Plan) -> Result<(), Error> {
        for hash in &plan.remove {
            let path = self.blobs.place(hash);
            match fs::remove_file(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                done => done.at("remove", &path)?,
            }
        }
        let aside = self.blobs.folder.join("tmp");
        if fs::symlink_metadata(&aside)
            .at("look at", &aside)?
            .is_symlink()
        {
            return Err(Error::Io {
                what: "clear",
                path: aside,
                source: std::io::Error::other("it is a link, and no folder"),
            });
        }
        for left in fs::read_dir(&aside).at("read", &aside)?.flatten() {
            fs::remove_file(left.path()).at("remove", &left.path())?;
        }
        let mut used = self
            .blobs
            .used
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *used = None;
        sync_all(&self.blobs.folder)
    }
}
