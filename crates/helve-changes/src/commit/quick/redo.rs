//! What a start does about changes that may not have reached the disk.
//!
//! - *Nobody's change is lost.* A change is done again only where its file is exactly as a
//!   system that went down leaves it: as it was before, down to its time; or with the time of
//!   the new one and a part of its content; or absent, where it was absent before. Anything else is
//!   somebody's later work.
//! - *Only a system that went down loses what was written.* In the same boot, what is there tells
//!   whether it happened. It is written anew all the same before it is synced: an earlier
//!   sync may have failed, and the next one would say nothing of that.
//! - *One that cannot be done now holds up no start*, and those of the same file that came after
//!   it wait with it.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, RenameFlags};

use super::super::{Journal, Probe, Work, scan};
use super::harden::{harden, reach};
use super::{Op, Quick, aside, boot, conflict, read};
use crate::blobs::Blobs;
use crate::changeset::{Change, Changeset};
use crate::error::{At, Error, Why};
use crate::state::State;
use crate::tree::{Thing, Tree, look_at};

/// A change that was put in place, or was about to be, and is not known to be on the disk.
#[derive(Debug)]
pub struct Placed<'p> {
    /// What changed.
    pub changeset: Changeset,
    /// What was made durable with its intent.
    pub redo: &'p [u8],
    /// Whether it is on record that it happened.
    pub ended: bool,
}

/// What a start found, and did.
#[derive(Debug)]
pub struct Redone {
    /// What came of the change.
    pub came: Came,
    /// What went wrong.
    pub error: Option<Error>,
    /// Whether the next start has to try again, so that its redo must be kept.
    pub keep: bool,
}

/// What came of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It is there.
    There,
    /// It was lost, and is there again.
    Again,
    /// Nothing of it is there.
    Missing,
    /// Somebody has changed the file since, or it cannot be told; it was left.
    Unclear,
}

impl Journal {
    /// Does again what a system that went down may have lost, in the order in which it was put
    /// in place, and makes it durable. Call it at the start, after [`Journal::recover`].
    pub fn redo(&self, placed: &[Placed<'_>], blobs: &Blobs) -> Result<Vec<Redone>, Error> {
        self.redo_with(placed, blobs, &())
    }

    /// The same, for tests that stop it at a step.
    pub fn redo_with(
        &self,
        placed: &[Placed<'_>],
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Result<Vec<Redone>, Error> {
        let _lock = self.lock()?;
        let mut waiting: HashSet<&Path> = HashSet::new();
        let mut all = Vec::new();
        for (at, one) in placed.iter().enumerate() {
            let paths = || one.changeset.entries().map(|(path, _)| path);
            let redone = match paths().any(|path| waiting.contains(path)) {
                true => Redone::failed(Error::Busy {
                    what: "an earlier change of the same file",
                }),
                false => one.again(&placed[at + 1..], blobs, probe),
            };
            if redone.keep {
                waiting.extend(paths());
            }
            all.push(redone);
        }
        let changesets: Vec<Changeset> = placed.iter().map(|p| p.changeset.clone()).collect();
        for trouble in harden(&changesets, blobs, probe) {
            let mut error = Some(trouble.error);
            for (one, redone) in placed.iter().zip(&mut all) {
                let mut paths = one.changeset.entries();
                if paths.any(|(path, _)| trouble.paths.iter().any(|other| other == path)) {
                    redone.keep = true;
                    redone.error = redone.error.take().or_else(|| error.take());
                }
            }
        }
        Ok(all)
    }
}

impl Redone {
    fn failed(error: Error) -> Self {
        Self {
            came: Came::Unclear,
            // What is damaged will be so the next time.
            keep: !matches!(error, Error::Manifest(_)),
            error: Some(error),
        }
    }
}

impl Placed<'_> {
    fn again(&self, later: &[Placed<'_>], blobs: &Blobs, probe: &dyn Probe) -> Redone {
        let done = read(self.redo, &self.changeset).and_then(|(then, quick)| {
            let came = self.put_again(&quick, boot() == Some(&then), later, blobs, probe)?;
            let before = self.changeset.changes[0].before.file();
            let kept = match (before, &quick.before) {
                (Some(file), Some(bytes)) => blobs.put_anew(&file.sha256, bytes),
                _ => Ok(()),
            };
            Ok((came, kept.err()))
        });
        match done {
            Ok((came, error)) => Redone {
                came,
                keep: error.is_some(),
                error,
            },
            Err(error) => Redone::failed(error),
        }
    }

    fn put_again(
        &self,
        quick: &Quick,
        same_boot: bool,
        later: &[Placed<'_>],
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Result<Came, Error> {
        let change = &self.changeset.changes[0];
        let Some((tree, rel, _)) = reach(&change.path, &self.changeset)? else {
            return Ok(Came::Missing);
        };
        // Other roots of its tool may be gone by now.
        let changeset = Changeset::new(vec![tree.path.clone()], vec![change.clone()]);
        let trees = [tree];
        let now = scan(&trees, &changeset, &BTreeMap::new())?;
        let work = Work {
            trees: &trees,
            now: &now,
            blobs,
            probe,
            aside: &aside(&self.changeset),
        };
        let found = Found {
            tree: &trees[0],
            rel,
            state: now.state(&change.path),
        };
        if !self.clear_aside(&work, &found, quick)? {
            return Ok(Came::Missing);
        }
        let put = |came| {
            let op = Op {
                change,
                root: 0,
                rel,
                now: found.state.cloned().unwrap_or(State::Absent),
                to: &change.after,
            };
            work.put(&[op], &quick.after).map(|()| came)
        };
        let goes_on = || {
            let mut of_path = later
                .iter()
                .filter(|p| p.changeset.get(&change.path).is_some());
            of_path.any(|later| later.is_seen_in(&found))
        };
        let done = match same_boot {
            // With a time that only the change has given it: whether it is on the disk is not known.
            _ if found.is(&change.after) && found.has_time_of(&change.after) => put(Came::There),
            _ if found.is(&change.after) => Ok(Came::There),
            // A disk that was taken away, or could not be written.
            true if self.ended && found.is_torn(change, &quick.after) => put(Came::Again),
            true if self.ended && found.is_untouched(change) => Ok(Came::Missing),
            true if self.ended => Ok(Came::There),
            false if found.is_as_left(change, quick) => put(Came::Again),
            _ if goes_on() => Ok(Came::There),
            _ if found.is(&change.before) => Ok(Came::Missing),
            _ => Ok(Came::Unclear),
        };
        match done {
            // Somebody saved it at this moment.
            Err(Error::Conflict { .. }) => Ok(Came::Unclear),
            done => done,
        }
    }

    /// Whether what is there belongs to this change.
    fn is_seen_in(&self, found: &Found<'_>) -> bool {
        let (Ok((_, quick)), [change]) = (
            read(self.redo, &self.changeset),
            &self.changeset.changes[..],
        ) else {
            return false;
        };
        found.is(&change.before) || found.is(&change.after) || found.is_torn(change, &quick.after)
    }

    /// Removes what lies aside, if it is of this change. Where it is what somebody saved at the
    /// very moment in which the change took its place, and nothing says that it
    /// happened, that gets its place back; `false` then.
    fn clear_aside(
        &self,
        work: &Work<'_>,
        found: &Found<'_>,
        quick: &Quick,
    ) -> Result<bool, Error> {
        let change = &self.changeset.changes[0];
        let path = &change.path.with_file_name(work.aside);
        let (folder, name) = found.tree.parent(found.rel).at("open", path)?;
        let Some(lies) = look_at(&folder, work.aside.as_ref()).at("look at", path)? else {
            return Ok(true);
        };
        let is_ours = match lies.kind {
            Thing::File(file, _) => {
                let most = quick
                    .after
                    .len()
                    .max(quick.before.as_ref().map_or(0, Vec::len));
                let bytes = beginning(file, most).at("read", path)?;
                quick.before.as_deref() == Some(&bytes[..]) || is_part(&bytes, &quick.after)
            }
            _ => false,
        };
        let gets_back = !is_ours && !self.ended && found.is(&change.after);
        if !is_ours && !gets_back {
            return Err(conflict(path, Why::Appeared));
        }
        if gets_back {
            let back = RenameFlags::EXCHANGE;
            sys::renameat_with(&folder, work.aside, &folder, name, back).at("put back", path)?;
        }
        sys::unlinkat(&folder, work.aside, AtFlags::empty()).at("clear", path)?;
        Ok(!gets_back)
    }
}

/// What is at the path of a change.
struct Found<'f> {
    tree: &'f Tree,
    rel: &'f Path,
    /// Nothing if it is a socket or the like.
    state: Option<&'f State>,
}

impl Found<'_> {
    fn is(&self, other: &State) -> bool {
        self.state.is_some_and(|now| now.same_linked(other))
    }

    fn has_time_of(&self, other: &State) -> bool {
        let time = |state: &State| state.file().map(|file| file.mtime);
        self.state.and_then(time) == time(other)
    }

    /// Whether it is what a system that went down leaves of a change: what was there before may
    /// not have been on the disk either.
    fn is_as_left(&self, change: &Change, quick: &Quick) -> bool {
        let before = quick.before.as_deref();
        self.is_untouched(change)
            || self.is_torn(change, &quick.after)
            || before.is_some_and(|before| self.is_torn_to(&change.before, before))
    }

    fn is_untouched(&self, change: &Change) -> bool {
        self.is(&change.before) && self.has_time_of(&change.before)
    }

    /// Whether the new file is in place, and a part of its content is not.
    fn is_torn(&self, change: &Change, after: &[u8]) -> bool {
        self.is_torn_to(&change.after, after)
    }

    fn is_torn_to(&self, state: &State, bytes: &[u8]) -> bool {
        let Some(State::File(file)) = self.state else {
            return false;
        };
        let ours = self.has_time_of(state) && file.links.is_empty();
        let read = || {
            self.tree
                .file(self.rel)
                .and_then(|f| beginning(f, bytes.len()))
        };
        ours && read().is_ok_and(|found| is_part(&found, bytes))
    }
}

/// What file systems leave of a content: the beginning of it, or zeros in places.
fn is_part(bytes: &[u8], after: &[u8]) -> bool {
    let fits = |(byte, meant): (&u8, &u8)| *byte == 0 || byte == meant;
    bytes.len() <= after.len() && bytes.iter().zip(after).all(fits)
}

/// So many bytes, and one more if there are more.
fn beginning(file: std::fs::File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
