//! The one small file that most runs change, put in place without a sync of its own.
//!
//! Whoever calls has made the [`Staged::redo`] of it durable before, together with the intent: what
//! was there and what is to be there. From then on the change is certain. A rename puts
//! it in place, and [`Journal::harden`] makes that durable some time later; where a crash comes
//! first, [`Journal::redo`] does it again. So one sync is waited for, and not one for every
//! step.
//!
//! - *A rename is all or nothing*, and it is the only step that anybody sees.
//! - *Nobody's change is lost.* What is neither as it was nor as it was to be has been changed by
//!   somebody else since, and is left.
//! - *Only a system that went down loses what was written.* In the same boot, what is there tells
//!   whether it happened, and nothing is done again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::OnceLock;

use helve_core::audit::Hash;
use rustix::fs::{self as sys, AtFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::apply::{Op, Tolerance};
use super::prepare::Prepared;
use super::{
    Ended, FEW, Journal, Outcome, PREFIX, Probe, Work, base_check, ops, owners, scan, step, trees,
};
use crate::blobs::Blobs;
use crate::capture::{Staged, create};
use crate::changeset::{Change, Changeset};
use crate::error::{At, Conflict, Error, Why};
use crate::guard::Allowed;
use crate::meta;
use crate::state::{FileState, Meta, State};
use crate::tree::{Stamp, Tree};

/// Contents that are nowhere but here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quick {
    /// What is there; nothing for a file that is new.
    pub(crate) before: Option<Vec<u8>>,
    /// What is to be there.
    pub(crate) after: Vec<u8>,
}

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

/// What a redo begins with, in one line.
#[derive(Serialize, Deserialize)]
struct Head {
    boot: String,
    before: Option<usize>,
    after: usize,
}

impl Staged {
    /// Whether its contents are nowhere but in memory.
    pub fn is_quick(&self) -> bool {
        self.quick.is_some()
    }

    /// What has to be durable before [`Journal::place`]; nothing where it is no change of that
    /// kind, or where this system does not tell one boot from another.
    pub fn redo(&self) -> Option<Vec<u8>> {
        let quick = self.quick.as_ref()?;
        let head = Head {
            boot: boot()?.to_owned(),
            before: quick.before.as_ref().map(Vec::len),
            after: quick.after.len(),
        };
        let mut redo = serde_json::to_vec(&head).expect("every field can be written as JSON");
        redo.push(b'\n');
        redo.extend_from_slice(quick.before.as_deref().unwrap_or_default());
        redo.extend_from_slice(&quick.after);
        Some(redo)
    }

    /// The same changes with their contents on the disk, as every other way of a change wants
    /// them: the new one in the folder `stage`, what was there before among the images.
    pub fn laid(&self, stage: &Path, blobs: &Blobs) -> Result<Self, Error> {
        let (Some(quick), [change]) = (&self.quick, &self.changeset.changes[..]) else {
            return Err(Error::Manifest("there is nothing to lay down".to_owned()));
        };
        let lease = blobs.lease()?;
        if let (Some(file), Some(bytes)) = (change.before.file(), &quick.before) {
            blobs.put(&file.sha256, bytes)?;
        }
        std::fs::create_dir_all(stage).at("make the folder", stage)?;
        let file = stage.join("content");
        std::fs::write(&file, &quick.after).at("stage", &change.path)?;
        Ok(self.with_source(&change.path, file, lease))
    }
}

/// Contents as they were made durable, held against the manifest.
fn read(redo: &[u8], changeset: &Changeset) -> Result<(String, Quick), Error> {
    let bad = || Error::Manifest("what was kept to do it again is damaged".to_owned());
    let end = redo.iter().position(|b| *b == b'\n').ok_or_else(bad)?;
    let head: Head = serde_json::from_slice(&redo[..end]).map_err(|_| bad())?;
    let rest = &redo[end + 1..];
    let (before, after) = rest
        .split_at_checked(head.before.unwrap_or(0))
        .ok_or_else(bad)?;
    let [change] = &changeset.changes[..] else {
        return Err(bad());
    };
    let fits = |state: &State, bytes: &[u8]| {
        let file = state.file();
        file.is_some_and(|f| f.sha256 == Hash::of(bytes) && f.size == bytes.len() as u64)
    };
    let was = match head.before {
        Some(_) => fits(&change.before, before),
        None => change.before.is_absent(),
    };
    if !was || after.len() != head.after || !fits(&change.after, after) {
        return Err(bad());
    }
    let quick = Quick {
        before: head.before.map(|_| before.to_vec()),
        after: after.to_vec(),
    };
    Ok((head.boot, quick))
}

/// Which boot of the system this is.
fn boot() -> Option<&'static str> {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let boot = BOOT.get_or_init(|| read().map(|id| id.trim().to_owned()));
    boot.as_deref().filter(|id| !id.is_empty())
}

impl Journal {
    /// Puts the content of a change in place whose [`Staged::redo`] is durable. Whatever goes wrong,
    /// nothing was changed.
    pub fn place(&self, staged: &Staged, allowed: &Allowed, blobs: &Blobs) -> Result<Ended, Error> {
        self.place_with(staged, allowed, blobs, &())
    }

    /// The same, for tests that stop it at a step.
    pub fn place_with(
        &self,
        staged: &Staged,
        allowed: &Allowed,
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Result<Ended, Error> {
        let changeset = &staged.changeset;
        let (Some(quick), [change]) = (&staged.quick, &changeset.changes[..]) else {
            return Err(Error::Manifest("it is no change of one file".to_owned()));
        };
        allowed.check(changeset)?;
        owners(changeset)?;
        let _lock = self.lock()?;
        self.none_unfinished()?;
        let trees = trees(changeset)?;
        let now = scan(&trees, changeset, &staged.stamps())?;
        base_check(changeset, &now)?;
        let _lease = blobs.lease()?;
        keep(blobs, change, quick)?;
        let work = Work {
            trees: &trees,
            now: &now,
            blobs,
            probe,
            aside: "",
        };
        work.put(changeset, &quick.after)?;
        Ok(Ended {
            id: changeset.id(),
            outcome: Outcome::Committed,
            left: Vec::new(),
        })
    }

    /// Makes what was put in place durable, and what was there before. After it nothing has to
    /// be done again.
    pub fn harden(&self, placed: &[Changeset], blobs: &Blobs) -> Result<(), Error> {
        let _lock = self.lock()?;
        harden(placed, blobs)
    }

    /// Does again what a system that went down may have lost, in the order in which it was put
    /// in place, and makes it durable. Call it at the start, after [`Journal::recover`].
    pub fn redo(&self, placed: &[Placed<'_>], blobs: &Blobs) -> Result<Vec<Ended>, Error> {
        self.redo_with(placed, blobs, &())
    }

    /// The same, for tests that stop it at a step.
    pub fn redo_with(
        &self,
        placed: &[Placed<'_>],
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Result<Vec<Ended>, Error> {
        let _lock = self.lock()?;
        let mut ended = Vec::new();
        for (at, one) in placed.iter().enumerate() {
            let done = again(one, &placed[at + 1..], blobs, probe)?;
            ended.push(done);
        }
        let changesets: Vec<Changeset> = placed.iter().map(|p| p.changeset.clone()).collect();
        harden(&changesets, blobs)?;
        Ok(ended)
    }
}

/// Keeps what is there now.
fn keep(blobs: &Blobs, change: &Change, quick: &Quick) -> Result<(), Error> {
    match (change.before.file(), &quick.before) {
        (Some(file), Some(bytes)) => blobs.put(&file.sha256, bytes),
        _ => Ok(()),
    }
}

fn again(
    one: &Placed<'_>,
    later: &[Placed<'_>],
    blobs: &Blobs,
    probe: &dyn Probe,
) -> Result<Ended, Error> {
    let changeset = &one.changeset;
    let (then, quick) = read(one.redo, changeset)?;
    let change = &changeset.changes[0];
    let trees = trees(changeset)?;
    let same_boot = boot() == Some(then.as_str());
    if let (Some(file), Some(bytes)) = (change.before.file(), &quick.before) {
        match same_boot {
            true => blobs.put(&file.sha256, bytes)?,
            false => blobs.mend(&file.sha256, bytes)?,
        }
    }
    let now = scan(&trees, changeset, &BTreeMap::new())?;
    let work = Work {
        trees: &trees,
        now: &now,
        blobs,
        probe,
        aside: "",
    };
    work.clear_aside(changeset)?;
    let state = now.state(&change.path);
    let is = |other: &State| state.is_some_and(|now| now.same_linked(other));
    let goes_on = || {
        let of_path = later.iter().filter_map(|p| p.changeset.get(&change.path));
        of_path.into_iter().any(|c| is(&c.before) || is(&c.after))
    };
    let torn = |now| is_torn(&trees, changeset, now, &quick.after);
    let mut ended = Ended {
        id: changeset.id(),
        outcome: Outcome::Committed,
        left: Vec::new(),
    };
    if is(&change.after) || (one.ended && same_boot) {
        return Ok(ended);
    }
    if !same_boot && (is(&change.before) || state.is_some_and(torn)) {
        work.put(changeset, &quick.after)?;
    } else if !one.ended && !goes_on() {
        ended.outcome = Outcome::RolledBack;
        if !is(&change.before) {
            let (path, why) = (change.path.clone(), Why::Changed);
            ended.left.push(Conflict { path, why });
        }
    }
    Ok(ended)
}

/// Whether a file is what file systems leave of one that was put in place when the system went
/// down: the beginning of it, or zeros in places.
fn is_torn(trees: &[Tree], changeset: &Changeset, now: &State, after: &[u8]) -> bool {
    let change = &changeset.changes[0];
    let (Some(found), Some((root, rel))) = (now.file(), changeset.root_of(&change.path)) else {
        return false;
    };
    if found.size > after.len() as u64 || !found.links.is_empty() {
        return false;
    }
    let mut bytes = Vec::new();
    let read = trees[root].file(rel);
    let read = read.and_then(|file| file.take(after.len() as u64 + 1).read_to_end(&mut bytes));
    let fits = |(byte, meant): (&u8, &u8)| *byte == 0 || byte == meant;
    read.is_ok() && bytes.len() <= after.len() && bytes.iter().zip(after).all(fits)
}

#[derive(Debug, PartialEq, Eq)]
enum Swap {
    Done,
    /// There is nothing to change places with, or the file system cannot do it.
    No,
}

fn is_unable(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}

fn conflict(path: &Path, why: Why) -> Error {
    let path = path.to_owned();
    Error::Conflict {
        paths: vec![Conflict { path, why }],
    }
}

/// The name of what is to be put in place, beside it.
fn aside(changeset: &Changeset) -> String {
    format!("{PREFIX}{}", &changeset.id().to_string()[..16])
}

impl Work<'_> {
    /// Writes the content aside, and renames it into place.
    fn put(&self, changeset: &Changeset, bytes: &[u8]) -> Result<(), Error> {
        let ops = ops(changeset, self.now, |change| &change.after)?;
        let Some((op, file)) = ops.first().and_then(|op| Some((op, op.to.file()?))) else {
            return Ok(());
        };
        let path = &op.change.path;
        let (folder, _) = self.trees[op.root].parent(op.rel).at("open", path)?;
        let name = aside(changeset);
        let written = self.write_aside(&folder, &name, file, bytes);
        let put = written.at("prepare", path).and_then(|()| {
            if self.swap(op, &folder, &name)? == Swap::Done {
                return Ok(());
            }
            let prepared = Prepared::of(op.root, folder, path.clone(), name.clone());
            let put = self.apply(&ops, &prepared, Tolerance::None);
            put.map(drop)
        });
        if put.is_err() {
            self.clear_aside(changeset)?;
        }
        put
    }

    /// Lets a file and the one that lies aside change places, and removes that one then. To
    /// rename over a file makes some file systems bring the new one to the disk first, which
    /// is not needed here. And it shows which file it was that had to go: where that is another
    /// than was looked at, it gets its place back.
    fn swap(&self, op: &Op<'_>, folder: &OwnedFd, aside: &str) -> Result<Swap, Error> {
        let path = &op.change.path;
        let (Some(name), Some(then)) = (op.rel.file_name(), self.now.stamp(path)) else {
            return Ok(Swap::No);
        };
        if !op.now.same_kind(op.to) {
            return Ok(Swap::No);
        }
        let exchange = || sys::renameat_with(folder, aside, folder, name, RenameFlags::EXCHANGE);
        let swapped = step(self.probe, "put in place", || Ok(exchange()?));
        match swapped {
            Err(e) if is_unable(&e) => return Ok(Swap::No),
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NOENT) => {
                return Err(conflict(path, Why::Gone));
            }
            swapped => swapped.at("change", path)?,
        }
        let gone = sys::statat(folder, aside, AtFlags::SYMLINK_NOFOLLOW).at("change", path)?;
        let key = |s: Stamp| (s.dev, s.ino, s.size, s.mtime);
        if key(Stamp::of(&gone)) != key(then) {
            exchange().at("put back", path)?;
            return Err(conflict(path, Why::Changed));
        }
        // It is done; whoever comes after may find what is left of it.
        let _ = sys::unlinkat(folder, aside, AtFlags::empty());
        Ok(Swap::Done)
    }

    fn write_aside(
        &self,
        folder: &OwnedFd,
        name: &str,
        file: &FileState,
        bytes: &[u8],
    ) -> io::Result<()> {
        let made = match create(folder, OsStr::new(name)) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                // Of a run that was cut short: nobody else has the lock.
                sys::unlinkat(folder, name, AtFlags::empty())?;
                create(folder, OsStr::new(name))
            }
            made => made,
        };
        let mut to = made?;
        step(self.probe, "write a file", || {
            to.write_all(bytes)?;
            meta::set(&to, &file.meta, &Meta::none())?;
            meta::set_time(&to, file.mtime)
        })
    }

    /// Removes what lies aside.
    fn clear_aside(&self, changeset: &Changeset) -> Result<(), Error> {
        let change = &changeset.changes[0];
        let Some((root, rel)) = changeset.root_of(&change.path) else {
            return Ok(());
        };
        let gone = self.trees[root].parent(rel).and_then(|(folder, _)| {
            let name = aside(changeset);
            Ok(sys::unlinkat(&folder, name, AtFlags::empty())?)
        });
        match gone {
            Err(e) if crate::tree::is_gone(&e) => Ok(()),
            gone => gone.at("clear", &change.path),
        }
    }
}

fn harden(placed: &[Changeset], blobs: &Blobs) -> Result<(), Error> {
    let mut images: Vec<Hash> = placed.iter().flat_map(Changeset::images).collect();
    images.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    images.dedup();
    // What was let go of meanwhile is not wanted back.
    images.retain(|image| blobs.has(image));
    blobs.sync(&images)?;
    let mut paths: HashMap<&Path, &Changeset> = HashMap::new();
    for changeset in placed {
        for change in &changeset.changes {
            paths.insert(&change.path, changeset);
        }
    }
    let few = paths.len() <= FEW;
    let (mut folders, mut systems) = (HashSet::new(), HashSet::new());
    for (path, changeset) in paths {
        let Some((root, rel)) = changeset.root_of(path) else {
            continue;
        };
        let opened = Tree::open(&changeset.roots[root]);
        let opened = opened.and_then(|tree| Ok((tree.parent(rel)?.0, tree)));
        let (folder, tree) = match opened {
            // Somebody has removed it since.
            Err(e) if crate::tree::is_gone(&e) => continue,
            opened => opened.at("open", path)?,
        };
        if !few {
            let device = sys::fstat(&folder).at("look at", path)?.st_dev;
            if systems.insert(device) {
                sys::syncfs(&folder).at("sync the file system of", path)?;
            }
            continue;
        }
        match tree.file(rel) {
            Err(e) if crate::tree::is_gone(&e) => {}
            // Something else is there by now.
            Err(e) if Errno::from_io_error(&e) == Some(Errno::INVAL) => {}
            file => file.and_then(|f| f.sync_all()).at("sync", path)?,
        }
        if folders.insert(path.parent()) {
            sys::fsync(&folder).at("sync", path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
