//! Everything that is to be put in place, made beforehand in a folder of our own.
//!
//! It lies in the root itself, so that what remains is a rename; nobody but us can
//! look into it. Contents are checked while they are written.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::apply::Op;
use super::{FEW, Work, step};
use crate::blobs::PIECE;
use crate::capture::{Source, create, sum};
use crate::each::each;
use crate::error::{At, Conflict, Error, Why};
use crate::meta;
use crate::state::{FileState, State};
use crate::tree::{Thing, look_at};

/// What is ready to be renamed into place.
#[derive(Debug, Default)]
pub(super) struct Prepared {
    /// Our folder in each root, where it was needed.
    pub(super) folders: HashMap<usize, OwnedFd>,
    /// The name in it of what a path is to become.
    pub(super) names: HashMap<PathBuf, String>,
    /// Files in the stage that were not copied but linked.
    moved: Vec<PathBuf>,
}

/// From this size on a staged file is moved, if it lies on the same file system.
const LARGE: u64 = 16 << 20;

impl Work<'_> {
    /// Makes everything that the ops put in place.
    pub(super) fn prepare(&self, ops: &[Op<'_>], sources: &[Source]) -> Result<Prepared, Error> {
        let sources: HashMap<&Path, &Path> = sources
            .iter()
            .map(|s| (s.path.as_path(), s.file.as_path()))
            .collect();
        let mut prepared = Prepared::default();
        let placed: Vec<(usize, &Op<'_>)> = ops
            .iter()
            .enumerate()
            .filter(|(_, op)| op.is_placed())
            .collect();
        for (_, op) in &placed {
            if let Slot::Vacant(slot) = prepared.folders.entry(op.root) {
                slot.insert(self.make_folder(op.root)?);
            }
        }
        let (linked, single): (Vec<_>, Vec<_>) = placed
            .into_iter()
            .partition(|(_, op)| !op.to.links().is_empty());
        let folders = &prepared.folders;
        let made = each(single, |(at, op)| {
            let source = sources.get(op.change.path.as_path()).copied();
            let moved = self.make(op, at, &folders[&op.root], source)?;
            Ok((op.change.path.clone(), at.to_string(), moved))
        })?;
        for (path, name, moved) in made {
            prepared.names.insert(path, name);
            prepared.moved.extend(moved);
        }
        let touched: HashMap<&Path, usize> = ops
            .iter()
            .map(|op| (op.change.path.as_path(), op.root))
            .collect();
        for (at, op) in linked {
            if !self.link(op, at, &touched, &prepared)? {
                let source = sources.get(op.change.path.as_path()).copied();
                let moved = self.make(op, at, &prepared.folders[&op.root], source)?;
                prepared.moved.extend(moved);
            }
            prepared
                .names
                .insert(op.change.path.clone(), at.to_string());
        }
        Ok(prepared)
    }

    fn make_folder(&self, root: usize) -> Result<OwnedFd, Error> {
        let tree = &self.trees[root];
        let path = tree.path.join(self.aside);
        let made = step(self.probe, "make our folder", || {
            Ok(sys::mkdirat(tree.fd(), self.aside, Mode::RWXU)?)
        });
        made.at("make the folder", &path)?;
        tree.folder(Path::new(self.aside)).at("open", &path)
    }

    /// Links to a name of the same file that is ready, or that stays. Whether there was
    /// one.
    fn link(
        &self,
        op: &Op<'_>,
        at: usize,
        touched: &HashMap<&Path, usize>,
        prepared: &Prepared,
    ) -> Result<bool, Error> {
        let (path, folder) = (&op.change.path, &prepared.folders[&op.root]);
        let name = at.to_string();
        for other in op.to.links() {
            let Some(ready) = prepared.names.get(other) else {
                continue;
            };
            if touched.get(other.as_path()) == Some(&op.root) {
                let linked = step(self.probe, "link", || {
                    Ok(sys::linkat(folder, ready, folder, &name, AtFlags::empty())?)
                });
                linked.at("link", path)?;
                return Ok(true);
            }
        }
        for other in op.to.links() {
            let touched = touched.contains_key(other.as_path());
            let beneath = self
                .trees
                .iter()
                .find_map(|t| Some((t, other.strip_prefix(&t.path).ok()?)));
            let Some((tree, rel)) = beneath.filter(|_| !touched && other != path) else {
                continue;
            };
            if !self.now.state(other).is_some_and(|now| now.same(op.to)) {
                let path = path.clone();
                let why = Why::Link;
                return Err(Error::Conflict {
                    paths: vec![Conflict { path, why }],
                });
            }
            let linked = step(self.probe, "link", || {
                let (parent, other) = tree.parent(rel)?;
                Ok(sys::linkat(
                    &parent,
                    other,
                    folder,
                    &name,
                    AtFlags::empty(),
                )?)
            });
            match linked {
                Err(e) if Errno::from_io_error(&e) == Some(Errno::XDEV) => return Ok(false),
                linked => linked.at("link", path)?,
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Makes what a path is to become. Tells of a staged file that was moved.
    fn make(
        &self,
        op: &Op<'_>,
        at: usize,
        folder: &OwnedFd,
        source: Option<&Path>,
    ) -> Result<Option<PathBuf>, Error> {
        let (path, name) = (&op.change.path, at.to_string());
        let name = OsStr::new(&name);
        let made = match op.to {
            State::File(file) => {
                if let Some(source) = source.filter(|_| file.size >= LARGE)
                    && self.take(source, file, folder, name, path)?
                {
                    return Ok(Some(source.to_owned()));
                }
                return self.write(op, file, folder, name, source).map(|()| None);
            }
            State::Symlink(link) => step(self.probe, "make a symlink", || {
                meta::symlink(folder, name, link)
            }),
            State::Fifo(own) => step(self.probe, "make a pipe", || meta::fifo(folder, name, own)),
            State::Absent | State::Dir(_) => Ok(()),
        };
        made.at("prepare", path)?;
        Ok(None)
    }

    fn write(
        &self,
        op: &Op<'_>,
        file: &FileState,
        folder: &OwnedFd,
        name: &OsStr,
        source: Option<&Path>,
    ) -> Result<(), Error> {
        let path = &op.change.path;
        self.probe.step("write a file").at("prepare", path)?;
        let to = create(folder, name).at("prepare", path)?;
        let mut sparse = Sparse { file: to, hole: 0 };
        match source {
            Some(source) => copy_checked(source, file, &mut sparse, path)?,
            None => {
                self.blobs.read(&file.sha256, &mut sparse)?;
            }
        }
        let to = sparse.finish().at("prepare", path)?;
        meta::set_new(&to, &file.meta).at("prepare", path)?;
        meta::set_time(&to, file.mtime).at("prepare", path)?;
        if self.now.few() {
            to.sync_all().at("prepare", path)?;
        }
        self.probe.step("write a file").at("prepare", path)
    }

    /// Takes a large staged file instead of copying it, if it can be; it is read to be
    /// checked all the same.
    fn take(
        &self,
        source: &Path,
        file: &FileState,
        folder: &OwnedFd,
        name: &OsStr,
        path: &Path,
    ) -> Result<bool, Error> {
        let linked = step(self.probe, "take a file", || {
            Ok(sys::linkat(
                sys::CWD,
                source,
                folder,
                name,
                AtFlags::empty(),
            )?)
        });
        match linked {
            Err(e)
                if matches!(
                    Errno::from_io_error(&e),
                    Some(Errno::XDEV | Errno::PERM | Errno::MLINK)
                ) =>
            {
                return Ok(false);
            }
            linked => linked.at("prepare", path)?,
        }
        let found = look_at(folder, name).at("prepare", path)?;
        let changed = || Error::StageChanged {
            path: path.to_owned(),
        };
        let Some((Thing::File(mut content, own), marks)) = found.map(|f| (f.kind, f.marks)) else {
            return Err(changed());
        };
        if sum(&mut content, path)? != (file.sha256, file.size) {
            return Err(changed());
        }
        for mark in marks {
            let name = OsStr::from_bytes(&mark.name.0);
            sys::fremovexattr(&content, name).at("prepare", path)?;
        }
        meta::set(&content, &file.meta, &own).at("prepare", path)?;
        meta::set_time(&content, file.mtime).at("prepare", path)?;
        if self.now.few() {
            content.sync_all().at("prepare", path)?;
        }
        Ok(true)
    }

    /// Removes our folders.
    pub(super) fn clear(&self) -> Result<(), Error> {
        for tree in self.trees {
            super::back::clear_folder(tree, self.aside, self.probe)?;
        }
        Ok(())
    }
}

impl super::Now {
    /// Whether so few paths are named that each is synced by itself.
    fn few(&self) -> bool {
        self.len() <= FEW
    }
}

impl Prepared {
    /// One thing that lies ready in the folder `folder`.
    pub(super) fn of(root: usize, folder: OwnedFd, path: PathBuf, name: String) -> Self {
        Self {
            folders: HashMap::from([(root, folder)]),
            names: HashMap::from([(path, name)]),
            moved: Vec::new(),
        }
    }

    /// Gives up the stage's names of files that were moved.
    pub(super) fn drop_moved(&self) {
        for path in &self.moved {
            // The stage is dropped as a whole anyway.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Copies a staged content, and fails if it is not the one in the manifest.
fn copy_checked(
    source: &Path,
    file: &FileState,
    to: &mut dyn Write,
    path: &Path,
) -> Result<(), Error> {
    let changed = || Error::StageChanged {
        path: path.to_owned(),
    };
    let mut options = File::options();
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    options.read(true).custom_flags(flags.bits().cast_signed());
    let mut from = match options.open(source) {
        Err(e) if crate::tree::is_gone(&e) => return Err(changed()),
        from => from.at("read", source)?,
    };
    let is_file = from.metadata().at("read", source)?;
    if !is_file.is_file() || is_file.size() != file.size {
        return Err(changed());
    }
    let mut sum = Sha256::new();
    let mut piece = vec![0; PIECE.min(file.size as usize + 1)];
    loop {
        let length = from.read(&mut piece).at("read", source)?;
        if length == 0 {
            break;
        }
        sum.update(&piece[..length]);
        to.write_all(&piece[..length]).at("prepare", path)?;
    }
    match sum.finalize()[..] == file.sha256.as_bytes()[..] {
        true => Ok(()),
        false => Err(changed()),
    }
}

/// Writes a file, and leaves holes where there are only zeros.
struct Sparse {
    file: File,
    /// Zeros that were not written yet.
    hole: u64,
}

/// The size of a hole that is worth leaving.
const HOLE: usize = 4096;

impl Write for Sparse {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for block in bytes.chunks(HOLE) {
            if block == [0; HOLE] {
                self.hole += HOLE as u64;
                continue;
            }
            if self.hole > 0 {
                self.file.seek(SeekFrom::Current(self.hole.cast_signed()))?;
                self.hole = 0;
            }
            self.file.write_all(block)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sparse {
    fn finish(mut self) -> io::Result<File> {
        if self.hole > 0 {
            let end = self.file.stream_position()? + self.hole;
            self.file.set_len(end)?;
        }
        Ok(self.file)
    }
}
