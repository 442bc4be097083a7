//! The one small file that most runs change, put in place without a sync of its own.
//!
//! Whoever calls has made the [`Staged::redo`] of it durable before, together with the intent: what
//! was there and what is to be there. From then on the change is certain. A rename puts
//! it in place, and [`Journal::harden`] makes that durable some time later; where a crash comes
//! first, [`Journal::redo`] does it again. So one sync is waited for, and not one for every
//! step.
//!
//! - *A rename is all or nothing*, and it is the only step that anybody sees.
//! - *Nobody's change is lost.* What had to go to make room is looked at before it is removed.

mod harden;
mod redo;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write as _};
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
    Ended, Journal, Outcome, PREFIX, Probe, Work, base_check, ops, owners, scan, step, trees,
};
use crate::blobs::Blobs;
use crate::capture::{Staged, create};
use crate::changeset::Changeset;
use crate::error::{At, Conflict, Error, Why};
use crate::guard::Allowed;
use crate::meta;
use crate::state::{FileState, State};
use crate::tree::Stamp;
pub use harden::Trouble;
pub use redo::{Came, Placed, Redone};

/// Contents that are nowhere but here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quick {
    /// What is there; nothing for a file that is new.
    pub(crate) before: Option<Vec<u8>>,
    /// What is to be there.
    pub(crate) after: Vec<u8>,
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
    /// nothing was changed, unless it is [`Error::Half`].
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
        if let (Some(file), Some(bytes)) = (change.before.file(), &quick.before) {
            blobs.put(&file.sha256, bytes)?;
        }
        let work = Work {
            trees: &trees,
            now: &now,
            blobs,
            probe,
            aside: &aside(changeset),
        };
        let ops = ops(changeset, &now, |change| &change.after)?;
        work.put(&ops, &quick.after)?;
        Ok(Ended {
            id: changeset.id(),
            outcome: Outcome::Committed,
            left: Vec::new(),
        })
    }
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
    fn put(&self, ops: &[Op<'_>], bytes: &[u8]) -> Result<(), Error> {
        let Some((op, file)) = ops.first().and_then(|op| Some((op, op.to.file()?))) else {
            return Ok(());
        };
        let path = &op.change.path;
        let (folder, _) = self.trees[op.root].parent(op.rel).at("open", path)?;
        let made = create(&folder, OsStr::new(self.aside)).at("prepare", path)?;
        let ours = sys::fstat(&made).at("prepare", path)?.st_ino;
        let put = self.fill(made, file, bytes).at("prepare", path);
        let put = put.and_then(|()| match self.swap(op, &folder)? {
            Swap::Done => Ok(()),
            Swap::No => {
                let folder = folder.try_clone().at("open", path)?;
                let name = self.aside.to_owned();
                let prepared = Prepared::of(op.root, folder, path.clone(), name);
                self.apply(ops, &prepared, Tolerance::None).map(drop)
            }
        });
        // What somebody else saved may lie there by now; what cannot be looked at is left.
        let is_ours = || {
            self.lies_aside(&folder)
                .is_ok_and(|stat| stat.st_ino == ours)
        };
        if put.is_err() && is_ours() {
            let _ = sys::unlinkat(&folder, self.aside, AtFlags::empty());
        }
        put
    }

    /// Lets a file and the one that lies aside change places, and removes that one then. To
    /// rename over a file makes some file systems bring the new one to the disk first, which
    /// is not needed here. And it shows which file it was that had to go: where that is another
    /// than was looked at, or cannot be told, it gets its place back.
    fn swap(&self, op: &Op<'_>, folder: &OwnedFd) -> Result<Swap, Error> {
        let path = &op.change.path;
        let (Some(name), Some(then)) = (op.rel.file_name(), self.now.stamp(path)) else {
            return Ok(Swap::No);
        };
        if !op.now.same_kind(op.to) {
            return Ok(Swap::No);
        }
        let flags = RenameFlags::EXCHANGE;
        let exchange = || sys::renameat_with(folder, self.aside, folder, name, flags);
        let swapped = step(self.probe, "put in place", || Ok(exchange()?));
        match swapped {
            Err(e) if is_unable(&e) => return Ok(Swap::No),
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NOENT) => {
                return Err(conflict(path, Why::Gone));
            }
            swapped => swapped.at("change", path)?,
        }
        let key = |s: Stamp| (s.dev, s.ino, s.size, s.mtime);
        let gone = step(self.probe, "look at what went", || self.lies_aside(folder));
        let error = match gone {
            Ok(gone) if key(Stamp::of(&gone)) == key(then) => {
                // It is done; whoever comes after may find what is left of it.
                let _ = sys::unlinkat(folder, self.aside, AtFlags::empty());
                return Ok(Swap::Done);
            }
            Ok(_) => conflict(path, Why::Changed),
            Err(source) => Error::Io {
                what: "look at",
                path: path.clone(),
                source,
            },
        };
        match exchange() {
            Ok(()) => Err(error),
            Err(_) => Err(Error::Half {
                cause: Box::new(error),
                left: vec![Conflict {
                    path: path.with_file_name(self.aside),
                    why: Why::Appeared,
                }],
            }),
        }
    }

    fn lies_aside(&self, folder: &OwnedFd) -> io::Result<sys::Stat> {
        Ok(sys::statat(folder, self.aside, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn fill(&self, mut to: File, file: &FileState, bytes: &[u8]) -> io::Result<()> {
        step(self.probe, "write a file", || {
            to.write_all(bytes)?;
            meta::set_new(&to, &file.meta)?;
            meta::set_time(&to, file.mtime)
        })
    }
}

#[cfg(test)]
mod tests;
