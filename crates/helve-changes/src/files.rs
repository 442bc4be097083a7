//! Files for code that writes without an overlay.
//!
//! A view of the real folders with the changes over them: what was written is read
//! back, and nothing touches the real folders before the changeset is committed. The
//! changes are kept in the kernel overlay's own format, in `stage`, so that the same
//! capture reads them.
//!
//! Paths are relative to the first root. Symlinks are followed as long as they stay
//! within the roots; pipes, sockets and devices are never opened.

mod resolve;
mod stage;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use rustix::fs::{self as sys, FileType};
use rustix::io::Errno;

use crate::blobs::Blobs;
use crate::capture::{Index, Layer, Merged, Seen, Staged, finish, walk_merged};
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::state::{Meta, Time};
use crate::tree::{Books, Found, Thing, Tree};
use resolve::Last;

/// A folder that may be seen.
#[derive(Debug, Clone)]
pub struct Root {
    /// Where it is.
    pub path: PathBuf,
    /// What may be done there.
    pub access: Access,
}

/// What may be done beneath a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Look.
    Read,
    /// Look and change.
    Write,
}

/// The real folders with changes over them.
#[derive(Debug)]
pub struct Files {
    roots: Vec<Open>,
    /// Where new files are written before they take their place in the stage.
    aside: Tree,
    next: AtomicU64,
}

#[derive(Debug)]
struct Open {
    lower: Tree,
    upper: Tree,
    access: Access,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// Which kind of thing.
    pub what: What,
    /// Bytes, of a file.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// When it was last written.
    pub mtime: Time,
}

/// A kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symlink.
    Symlink,
    /// A pipe, a socket, a device.
    Other,
}

/// A place beneath a root, free of symlinks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: usize,
    rel: PathBuf,
}

impl Files {
    /// A view of `roots`, whose changes are kept in `stage`.
    pub fn new(roots: &[Root], stage: &Path) -> Result<Self, Error> {
        let stage = std::fs::canonicalize(stage).at("open", stage)?;
        let mut open = Vec::new();
        for (at, root) in roots.iter().enumerate() {
            let path = std::fs::canonicalize(&root.path).at("open", &root.path)?;
            let lower = Tree::open(&path).at("open", &path)?;
            let upper = stage.join(at.to_string());
            if !upper.is_dir() {
                std::fs::create_dir(&upper).at("make the folder", &upper)?;
                stage::like(
                    &Tree::open(&upper).at("open", &upper)?,
                    &lower,
                    Path::new(""),
                )?;
            }
            open.push(Open {
                lower,
                upper: Tree::open(&upper).at("open", &upper)?,
                access: root.access,
            });
        }
        let aside = stage.join("aside");
        std::fs::create_dir_all(&aside).at("make the folder", &aside)?;
        Ok(Self {
            roots: open,
            aside: Tree::open(&aside).at("open", &aside)?,
            next: AtomicU64::new(0),
        })
    }

    /// The changes so far, as a changeset. Its new contents stay in the stage.
    pub fn finish(&self, allowed: &Allowed, blobs: &Blobs) -> Result<Staged, Error> {
        let mut candidates = Vec::new();
        let writable: Vec<&Open> = self
            .roots
            .iter()
            .filter(|r| r.access == Access::Write)
            .collect();
        for root in &writable {
            let walked = walk_merged(&root.merged(), &Index::default(), &mut candidates);
            walked.at("read the stage of", &root.lower.path)?;
        }
        let real: Vec<&Tree> = writable.iter().map(|r| &r.lower).collect();
        finish(&real, candidates, allowed, blobs)
    }

    /// A file's content.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.open(path)?.read_to_end(&mut bytes).at("read", path)?;
        Ok(bytes)
    }

    /// A file's content, if it is text.
    pub fn read_to_string(&self, path: &Path) -> Result<String, Error> {
        let text = String::from_utf8(self.read(path)?);
        text.map_err(|e| std::io::Error::new(std::io::ErrorKind::InvalidData, e))
            .at("read", path)
    }

    /// A file, to be read in pieces.
    pub fn open(&self, path: &Path) -> Result<File, Error> {
        let place = self.resolve(path, Last::Followed)?;
        match self.found(&place, path)?.kind {
            Thing::File(file, _) => Ok(file),
            Thing::Dir(..) => Err(Errno::ISDIR).at("read", path),
            _ => Err(special(path)),
        }
    }

    /// What a path is; a symlink is not followed. `None` if nothing is there.
    pub fn look(&self, path: &Path) -> Result<Option<Looked>, Error> {
        let place = match self.resolve(path, Last::Kept) {
            Err(Error::Io { source, .. }) if crate::tree::is_gone(&source) => return Ok(None),
            place => place?,
        };
        let Some(seen) = self.seen(&place).at("look at", path)? else {
            return Ok(None);
        };
        let stat = self.roots[place.root]
            .tree(&seen)
            .stat(&seen.rel)
            .at("look at", path)?;
        Ok(stat.map(|stat| Looked {
            what: what(stat.st_mode),
            size: crate::tree::Stamp::of(&stat).size,
            mode: stat.st_mode & 0o7777,
            mtime: crate::tree::Stamp::of(&stat).mtime,
        }))
    }

    /// Whether anything is there.
    pub fn exists(&self, path: &Path) -> Result<bool, Error> {
        Ok(self.look(path)?.is_some())
    }

    /// What is in a folder, sorted by name.
    pub fn list(&self, path: &Path) -> Result<Vec<(OsString, What)>, Error> {
        let place = self.resolve(path, Last::Followed)?;
        let root = &self.roots[place.root];
        let merged = root.merged();
        let seen = self.seen(&place).at("read", path)?;
        let folder = seen
            .and_then(|s| s.folder)
            .ok_or(Errno::NOTDIR)
            .at("read", path)?;
        let mut names = Vec::new();
        for name in merged.names(&folder).at("read", path)? {
            let Some(seen) = merged.child(&folder, &name).at("read", path)? else {
                continue;
            };
            if let Some(stat) = root.tree(&seen).stat(&seen.rel).at("read", path)? {
                names.push((name, what(stat.st_mode)));
            }
        }
        Ok(names)
    }

    /// Writes a file. One that is there keeps its mode, owner and attributes.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let place = self.writable(path, Last::Followed)?;
        let mut file = self.fresh(&place, path)?;
        file.write_all(bytes).at("write", path)
    }

    /// Adds to a file, and makes it if it is not there.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let place = self.writable(path, Last::Followed)?;
        if self.seen(&place).at("write", path)?.is_none() {
            return self.write(path, bytes);
        }
        let mut old = self.open(path)?;
        let mut file = self.fresh_with(&place, path, Some(&mut old))?;
        file.write_all(bytes).at("write", path)
    }

    /// Makes a folder, and those around it.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), Error> {
        let place = self.writable(path, Last::Followed)?;
        let mut rel = PathBuf::new();
        for part in place.rel.components() {
            rel.push(part);
            let at = Place {
                root: place.root,
                rel: rel.clone(),
            };
            match self.seen(&at).at("look at", path)? {
                Some(seen) if seen.folder.is_some() => {}
                Some(_) => return Err(Errno::NOTDIR).at("make the folder", path),
                None => self.make_dir(&at, path)?,
            }
        }
        Ok(())
    }

    /// Removes a file, a symlink, a pipe, or an empty folder.
    pub fn remove(&self, path: &Path) -> Result<(), Error> {
        let place = self.writable(path, Last::Kept)?;
        if self.found(&place, path)?.is_dir() && !self.list(path)?.is_empty() {
            return Err(Errno::NOTEMPTY).at("remove", path);
        }
        self.white_out(&place, path)
    }

    /// Removes a folder with all that is in it.
    pub fn remove_dir_all(&self, path: &Path) -> Result<(), Error> {
        let place = self.writable(path, Last::Kept)?;
        match self.found(&place, path)?.is_dir() {
            true => self.white_out(&place, path),
            false => Err(Errno::NOTDIR).at("remove", path),
        }
    }

    /// Gives a file or a folder another path. A file there is replaced.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), Error> {
        let (old, new) = (
            self.writable(from, Last::Kept)?,
            self.writable(to, Last::Kept)?,
        );
        let moved = self.found(&old, from)?;
        if old == new {
            return Ok(());
        }
        if new.root == old.root && new.rel.starts_with(&old.rel) {
            return Err(Errno::INVAL).at("rename", from);
        }
        if let Some(seen) = self.seen(&new).at("rename", to)? {
            let why = match (moved.is_dir(), seen.folder.is_some()) {
                (false, true) => Some(Errno::ISDIR),
                (true, false) => Some(Errno::NOTDIR),
                (true, true) if !self.list(to)?.is_empty() => Some(Errno::NOTEMPTY),
                _ => None,
            };
            if let Some(why) = why {
                return Err(why).at("rename", to);
            }
            self.white_out(&new, to)?;
        }
        match moved.is_dir() {
            true => self.move_dir(&old, &new, from),
            false => self.move_file(&old, &new, moved, from),
        }
    }

    /// Makes a symlink. It may point anywhere; it is followed only within the roots.
    pub fn symlink(&self, target: &Path, path: &Path) -> Result<(), Error> {
        let place = self.writable(path, Last::Kept)?;
        if self.seen(&place).at("link", path)?.is_some() {
            return Err(Errno::EXIST).at("link", path);
        }
        let (parent, name) = self.upper_parent(&place, path)?;
        stage::uncover(&parent, &name).at("link", path)?;
        sys::symlinkat(target, &parent, name.as_os_str()).at("link", path)?;
        stage::adopt(&parent, parent.as_fd(), &name).at("link", path)
    }

    /// Sets the permission bits of a file or a folder.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), Error> {
        let place = self.writable(path, Last::Followed)?;
        match self.found(&place, path)?.kind {
            Thing::File(mut old, meta) => {
                let file = self.fresh_with(&place, path, Some(&mut old))?;
                let to = Meta { mode, ..meta };
                crate::meta::set(&file, &to, &Meta::none()).at("change the mode of", path)
            }
            Thing::Dir(_, meta) => {
                let tree = &self.roots[place.root].upper;
                self.copy_up_dirs(&place, &place.rel, path)?;
                let fd = tree.folder(&place.rel).at("open", path)?;
                let to = Meta { mode, ..meta };
                crate::meta::set(&fd, &to, &Meta::none()).at("change the mode of", path)?;
                stage::unborrow(&fd).at("change the mode of", path)
            }
            _ => Err(special(path)),
        }
    }

    fn seen(&self, place: &Place) -> std::io::Result<Option<Seen>> {
        self.roots[place.root].merged().find(&place.rel)
    }

    fn found(&self, place: &Place, path: &Path) -> Result<Found, Error> {
        let seen = self.seen(place).at("look at", path)?;
        let seen = seen.ok_or(Errno::NOENT).at("look at", path)?;
        let found = self.roots[place.root]
            .tree(&seen)
            .look(&seen.rel)
            .at("look at", path)?;
        found.ok_or(Errno::NOENT).at("look at", path)
    }

    fn writable(&self, path: &Path, last: Last) -> Result<Place, Error> {
        let place = self.resolve(path, last)?;
        match self.roots[place.root].access {
            Access::Write if !place.rel.as_os_str().is_empty() => Ok(place),
            Access::Write => Err(Errno::BUSY).at("change the root", path),
            Access::Read => Err(Error::ReadOnly {
                path: path.to_owned(),
            }),
        }
    }
}

impl Open {
    fn merged(&self) -> Merged<'_> {
        Merged {
            lower: &self.lower,
            upper: &self.upper,
            books: Books::User,
        }
    }

    fn tree(&self, seen: &Seen) -> &Tree {
        match seen.layer {
            Layer::Upper => &self.upper,
            Layer::Lower => &self.lower,
        }
    }
}

fn special(path: &Path) -> Error {
    Error::Special {
        path: path.to_owned(),
        kind: "pipe, socket or device",
    }
}

fn what(mode: u32) -> What {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => What::File,
        FileType::Directory => What::Dir,
        FileType::Symlink => What::Symlink,
        _ => What::Other,
    }
}
