//! Puts what was prepared in place.
//!
//! Remove what goes, deepest first; make folders, from the top; rename files in; give
//! folders their mode. Each step is one system call on an open folder, so that a crash
//! leaves every path as it was, as it will be, or absent.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::prepare::Prepared;
use super::{Work, step};
use crate::changeset::Change;
use crate::error::{At, Conflict, Error, Why};
use crate::meta;
use crate::state::{Meta, State};
use crate::tree::{Stamp, Thing, look_at};

/// A path that is to become something else.
#[derive(Debug)]
pub(crate) struct Op<'c> {
    pub(super) change: &'c Change,
    pub(super) root: usize,
    pub(super) rel: &'c Path,
    pub(super) now: State,
    pub(super) to: &'c State,
}

/// What to do about a path that somebody else got at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tolerance {
    /// Stop: it will all be taken back.
    None,
    /// Leave it, and go on.
    Leave,
}

impl Op<'_> {
    /// Whether something is renamed to its path.
    pub(super) fn is_placed(&self) -> bool {
        matches!(self.to, State::File(_) | State::Symlink(_) | State::Fifo(_))
    }

    fn is_removed_first(&self) -> bool {
        !self.now.is_absent() && !self.now.same_kind(self.to)
    }
}

impl Work<'_> {
    /// Puts what was prepared in place. Tells what was left.
    pub(super) fn apply(
        &self,
        ops: &[Op<'_>],
        prepared: &Prepared,
        tolerance: Tolerance,
    ) -> Result<Vec<Conflict>, Error> {
        let mut run = Run {
            work: self,
            prepared,
            folders: HashMap::new(),
        };
        let mut left = Vec::new();
        let mut note = |op: &Op<'_>, result: io::Result<()>| -> Result<(), Error> {
            let Err(error) = result else {
                return Ok(());
            };
            let Some(why) = foreign(&error) else {
                return Err(error).at("change", &op.change.path);
            };
            let path = op.change.path.clone();
            let conflict = Conflict { path, why };
            match tolerance {
                Tolerance::Leave => left.push(conflict),
                Tolerance::None => {
                    return Err(Error::Conflict {
                        paths: vec![conflict],
                    });
                }
            }
            Ok(())
        };
        // A folder that must not be written to by its owner is opened up first.
        if !rustix::process::geteuid().is_root() {
            for op in ops.iter().filter(|op| op.now.is_dir()) {
                note(op, run.unlock(op))?;
            }
        }
        for op in ops.iter().rev().filter(|op| op.is_removed_first()) {
            note(op, run.remove(op))?;
        }
        run.folders.clear();
        for op in ops.iter().filter(|op| op.to.is_dir() && !op.now.is_dir()) {
            note(op, run.make_folder(op))?;
        }
        for op in ops.iter().filter(|op| op.is_placed()) {
            note(op, run.place(op))?;
        }
        for op in ops.iter().rev().filter(|op| op.to.is_dir()) {
            note(op, run.folder_meta(op))?;
        }
        Ok(left)
    }
}

/// What an error says about others; `None` if it is only an error.
fn foreign(error: &io::Error) -> Option<Why> {
    match Errno::from_io_error(error)? {
        Errno::NOTEMPTY => Some(Why::NotEmpty),
        Errno::EXIST => Some(Why::Appeared),
        Errno::NOENT => Some(Why::Gone),
        Errno::NOTDIR | Errno::LOOP => Some(Why::NoFolder),
        Errno::ISDIR | Errno::STALE => Some(Why::Changed),
        _ => None,
    }
}

struct Run<'a, 'w> {
    work: &'a Work<'w>,
    prepared: &'a Prepared,
    /// The folder that was opened last in each root: the ops are sorted, so that the
    /// next one is often in it too.
    folders: HashMap<usize, (PathBuf, OwnedFd)>,
}

impl Run<'_, '_> {
    fn parent<'p>(&mut self, op: &'p Op<'_>) -> io::Result<(&OwnedFd, &'p OsStr)> {
        let rel = op.rel.parent().unwrap_or(Path::new(""));
        let known = self.folders.get(&op.root).is_some_and(|(at, _)| at == rel);
        if !known {
            let fd = self.work.trees[op.root].folder(rel)?;
            self.folders.insert(op.root, (rel.to_owned(), fd));
        }
        let (_, fd) = &self.folders[&op.root];
        Ok((fd, op.rel.file_name().unwrap_or(OsStr::new("."))))
    }

    /// Fails if the path is not what it was when it was looked at.
    fn check(&mut self, op: &Op<'_>) -> io::Result<()> {
        let Some(then) = self.work.now.stamp(&op.change.path) else {
            return Ok(());
        };
        let (parent, name) = self.parent(op)?;
        let now = Stamp::of(&sys::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?);
        let key = |s: Stamp| (s.dev, s.ino, s.size, s.mtime);
        match op.now.is_dir() || key(now) == key(then) {
            true => Ok(()),
            false => Err(Errno::STALE.into()),
        }
    }

    fn unlock(&mut self, op: &Op<'_>) -> io::Result<()> {
        let State::Dir(own) = &op.now else {
            return Ok(());
        };
        if own.mode & 0o700 == 0o700 {
            return Ok(());
        }
        let probe = self.work.probe;
        let (parent, name) = self.parent(op)?;
        let mode = Mode::from_raw_mode(own.mode | 0o700);
        step(probe, "open a folder up", || {
            Ok(sys::chmodat(parent, name, mode, AtFlags::empty())?)
        })
    }

    fn remove(&mut self, op: &Op<'_>) -> io::Result<()> {
        let probe = self.work.probe;
        self.check(op)?;
        let (parent, name) = self.parent(op)?;
        let flags = match op.now.is_dir() {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        step(probe, "remove", || Ok(sys::unlinkat(parent, name, flags)?))
    }

    fn make_folder(&mut self, op: &Op<'_>) -> io::Result<()> {
        let probe = self.work.probe;
        let (parent, name) = self.parent(op)?;
        step(probe, "make a folder", || {
            Ok(sys::mkdirat(parent, name, Mode::RWXU)?)
        })
    }

    fn place(&mut self, op: &Op<'_>) -> io::Result<()> {
        let (work, prepared) = (self.work, self.prepared);
        let Some(ready) = prepared.names.get(&op.change.path) else {
            return Err(Errno::NOENT.into());
        };
        let replaces = op.now.same_kind(op.to);
        if replaces {
            self.check(op)?;
        }
        let (parent, name) = self.parent(op)?;
        let from = &prepared.folders[&op.root];
        let flags = match replaces {
            true => RenameFlags::empty(),
            false => RenameFlags::NOREPLACE,
        };
        step(work.probe, "put in place", || {
            Ok(sys::renameat_with(from, ready, parent, name, flags)?)
        })
    }

    fn folder_meta(&mut self, op: &Op<'_>) -> io::Result<()> {
        let State::Dir(to) = op.to else {
            return Ok(());
        };
        let probe = self.work.probe;
        let (parent, name) = self.parent(op)?;
        let found = look_at(parent, name)?.map(|f| f.kind);
        let Some(Thing::Dir(_, now)) = found else {
            return Err(Errno::NOTDIR.into());
        };
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = sys::openat(parent, name, flags, Mode::empty())?;
        let known = Meta { ..now };
        step(probe, "give a folder its mode", || {
            meta::set(&fd, to, &known)
        })
    }
}
