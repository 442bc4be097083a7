//! Files for code that writes without an overlay.
//!
//! A view of the real folders with the changes over them: what was written is read
//! back, and nothing touches the real folders before the changeset is committed. The
//! changes are kept in the kernel overlay's own format, in `stage`, so that the same
//! capture reads them.
//!
//! Paths are relative to the first root. Symlinks are followed as long as they stay
//! within the roots; pipes, sockets and devices are never opened. What is hidden is not
//! there, whichever way leads to it. The stage is made by the first change: whoever only
//! looks leaves nothing on the disk. Neither does a single small file that is written: see
//! [`note`].

mod beneath;
mod copy;
mod looked;
mod note;
mod resolve;
mod stage;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{IoSliceMut, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, OnceLock};

use rustix::fs as sys;
use rustix::io::{Errno, ReadWriteFlags};

use crate::blobs::Blobs;
use crate::capture::{Index, Layer, Merged, Seen, Staged, finish, walk_merged};
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::state::Meta;
use crate::tree::{Books, Found, Thing, Tree};
pub use beneath::Beneath;
pub use looked::{Looked, What};
use note::Note;
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
    /// Where changes are kept, once there are some.
    stage: PathBuf,
    making: Mutex<()>,
    /// Where new files are written before they take their place in the stage.
    aside: OnceLock<Tree>,
    next: AtomicU64,
    /// Real paths of what is not to be seen.
    hidden: Vec<PathBuf>,
    /// The first change, while it is the only one and small.
    note: Mutex<Option<Note>>,
}

#[derive(Debug)]
struct Open {
    lower: Tree,
    /// Changes, once there are some.
    upper: OnceLock<Tree>,
    access: Access,
}

/// A place beneath a root, free of symlinks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: usize,
    rel: PathBuf,
}

impl Files {
    /// A view of `roots`, whose changes are kept in `stage`: a folder that the first
    /// change makes.
    pub fn new(roots: &[Root], stage: &Path) -> Result<Self, Error> {
        let open = roots.iter().map(|root| {
            Ok(Open {
                lower: Tree::at(&root.path).at("open", &root.path)?,
                upper: OnceLock::new(),
                access: root.access,
            })
        });
        Ok(Self {
            roots: open.collect::<Result<_, Error>>()?,
            stage: stage.to_owned(),
            making: Mutex::default(),
            aside: OnceLock::new(),
            next: AtomicU64::new(0),
            hidden: Vec::new(),
            note: Mutex::default(),
        })
    }

    /// The same, in which these paths and all beneath them are not to be seen, nor what
    /// they lead to if they are links.
    #[must_use]
    pub fn hiding(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        for path in paths {
            // Where its folder really is; that of a root is known.
            let real = |folder: &Path| {
                let mut roots = self.roots.iter().map(|r| &r.lower.path);
                let known = roots.find(|root| root.as_path() == folder).cloned();
                known.or_else(|| std::fs::canonicalize(folder).ok())
            };
            let path = match (path.parent().and_then(real), path.file_name()) {
                (Some(folder), Some(name)) => folder.join(name),
                _ => path,
            };
            if path.is_symlink() {
                self.hidden.extend(std::fs::canonicalize(&path).ok());
            }
            // The link itself as well.
            self.hidden.push(path);
        }
        self.hidden.dedup();
        self
    }

    /// Whether anything was changed, or tried to be.
    pub fn is_staged(&self) -> bool {
        self.aside.get().is_some() || self.is_noted()
    }

    /// The changes so far, as a changeset. Its new contents stay in the stage.
    pub fn finish(&self, allowed: &Allowed, blobs: &Blobs) -> Result<Staged, Error> {
        self.lay()?;
        let mut candidates = Vec::new();
        let writable: Vec<&Open> = self
            .roots
            .iter()
            .filter(|r| r.access == Access::Write)
            .collect();
        for root in &writable {
            let Some(merged) = root.merged() else {
                continue;
            };
            let walked = walk_merged(&merged, &Index::default(), &mut candidates);
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
        self.open_looked(path).map(|(file, _)| file)
    }

    /// A file, and what it is.
    pub fn open_looked(&self, path: &Path) -> Result<(File, Looked), Error> {
        if let Some(spot) = self.spot(path, Last::Followed)?
            && let Some((file, stat)) = spot.open().at("look at", path)?
        {
            return Ok((file, Looked::of(&stat)));
        }
        let place = self.resolve(path, Last::Followed)?;
        match self.found(&place, path)?.kind {
            Thing::File(file, _) => {
                let stat = sys::fstat(&file).at("look at", path)?;
                Ok((file, Looked::of(&stat)))
            }
            Thing::Dir(..) => Err(Errno::ISDIR).at("read", path),
            _ => Err(special(path)),
        }
    }

    /// The content of a file of at most so many bytes, and what it is, where no disk has to be
    /// waited for: it is in memory already. `None` in every other case, whatever it is.
    pub fn glance(&self, path: &Path, most: usize) -> Option<(Vec<u8>, Looked)> {
        if self.is_staged() {
            return None;
        }
        let spot = self.spot(path, Last::Followed).ok()??;
        let (file, stat) = spot.open().ok()??;
        let size = usize::try_from(stat.st_size).ok()?;
        if size > most {
            return None;
        }
        // One more, to see that it has not grown.
        let mut bytes = vec![0; size + 1];
        let space = &mut [IoSliceMut::new(&mut bytes)];
        let read = rustix::io::preadv2(&file, space, 0, ReadWriteFlags::NOWAIT);
        bytes.truncate(size);
        (read == Ok(size)).then(|| (bytes, Looked::of(&stat)))
    }

    /// What a path is; a symlink is not followed. `None` if nothing is there.
    pub fn look(&self, path: &Path) -> Result<Option<Looked>, Error> {
        if let Some(spot) = self.spot(path, Last::Kept)? {
            return Ok(spot.stat.as_ref().map(Looked::of));
        }
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
        Ok(stat.as_ref().map(Looked::of))
    }

    /// Whether anything is there.
    pub fn exists(&self, path: &Path) -> Result<bool, Error> {
        Ok(self.look(path)?.is_some())
    }

    /// What is in a folder, sorted by name; what is hidden is not.
    pub fn list(&self, path: &Path) -> Result<Vec<(OsString, Looked)>, Error> {
        let place = self.resolve(path, Last::Followed)?;
        let root = &self.roots[place.root];
        let mut found = match root.merged() {
            None => root.lower.entries(&place.rel).at("read", path)?,
            Some(merged) => {
                let seen = merged.find(&place.rel).at("read", path)?;
                let seen = seen.ok_or(Errno::NOENT).at("read", path)?;
                let folder = seen.folder.ok_or(Errno::NOTDIR).at("read", path)?;
                let mut found = Vec::new();
                for name in merged.names(&folder).at("read", path)? {
                    let Some(seen) = merged.child(&folder, &name).at("read", path)? else {
                        continue;
                    };
                    let stat = root.tree(&seen).stat(&seen.rel).at("read", path)?;
                    found.extend(stat.map(|stat| (name, stat)));
                }
                found
            }
        };
        // The folder itself is not hidden, so what is stands in it by its name.
        let around = self.real(&place);
        let mut hidden = self.hidden.iter();
        if hidden.any(|hidden| hidden.parent() == Some(&around)) {
            found.retain(|(name, _)| !self.is_hidden(&around.join(name)));
        }
        let looked = found
            .into_iter()
            .map(|(name, stat)| (name, Looked::of(&stat)));
        Ok(looked.collect())
    }

    /// Writes a file. One that is there keeps its mode, owner and attributes.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        if self.noted(path, bytes, None)? {
            return Ok(());
        }
        let place = self.writable(path, Last::Followed)?;
        let mut file = self.fresh(&place, path)?;
        file.write_all(bytes).at("write", path)
    }

    /// Adds to a file, and makes it if it is not there.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        if let Some((old, _)) = self.glance(path, note::MOST)
            && self.jot(path, &old, &[&old, bytes].concat())
        {
            return Ok(());
        }
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
        self.holds_nothing_hidden(&place, path)?;
        if self.found(&place, path)?.is_dir() && !self.list(path)?.is_empty() {
            return Err(Errno::NOTEMPTY).at("remove", path);
        }
        self.white_out(&place, path)
    }

    /// Removes a folder with all that is in it.
    pub fn remove_dir_all(&self, path: &Path) -> Result<(), Error> {
        let place = self.writable(path, Last::Kept)?;
        self.holds_nothing_hidden(&place, path)?;
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
        self.holds_nothing_hidden(&old, from)?;
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
                let tree = self.roots[place.root].upper();
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
        let root = &self.roots[place.root];
        match root.merged() {
            Some(merged) => merged.find(&place.rel),
            None => Seen::in_lower(&root.lower, place.rel.clone()),
        }
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
            Access::Write if !place.rel.as_os_str().is_empty() => {
                self.ensure_stage()?;
                Ok(place)
            }
            Access::Write => Err(Errno::BUSY).at("change the root", path),
            Access::Read => Err(Error::ReadOnly {
                path: path.to_owned(),
            }),
        }
    }
}

impl Open {
    /// With its changes; `None` while there are none.
    fn merged(&self) -> Option<Merged<'_>> {
        Some(Merged {
            lower: &self.lower,
            upper: self.upper.get()?,
            books: Books::User,
        })
    }

    fn upper(&self) -> &Tree {
        let upper = self.upper.get();
        upper.expect("`writable` makes the stage before anything is changed")
    }

    fn tree(&self, seen: &Seen) -> &Tree {
        match seen.layer {
            Layer::Upper => self.upper(),
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
