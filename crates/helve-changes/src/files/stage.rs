//! Writing the stage in the overlay's own format.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use rustix::fs::{self as sys, AtFlags, FileType, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::{Files, Place, special};
use crate::capture::{BORROWED, Layer, content, create};
use crate::error::{At, Error};
use crate::meta;
use crate::state::Meta;
use crate::tree::{Found, Thing, Tree};

const OPAQUE: &str = "user.overlay.opaque";
const REDIRECT: &str = "user.overlay.redirect";

impl Files {
    /// Makes the stage, once.
    pub(super) fn ensure_stage(&self) -> Result<(), Error> {
        let _turn = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if self.aside.get().is_some() {
            return Ok(());
        }
        let stage = &self.stage;
        std::fs::create_dir_all(stage).at("make the folder", stage)?;
        // The roots have numbers here, and what is written aside has other names.
        let aside = Tree::at(stage).at("open", stage)?;
        for (at, root) in self.roots.iter().enumerate() {
            let path = aside.path.join(at.to_string());
            let is_new = !path.is_dir();
            if is_new {
                std::fs::create_dir(&path).at("make the folder", &path)?;
            }
            let upper = Tree::open(&path).at("open", &path)?;
            if is_new {
                like(&upper, &root.lower, Path::new(""))?;
            }
            root.upper.get_or_init(|| upper);
        }
        self.aside.get_or_init(|| aside);
        Ok(())
    }

    /// The folder of a place in the stage, made like the real one if it is not there.
    pub(super) fn upper_parent(
        &self,
        place: &Place,
        path: &Path,
    ) -> Result<(OwnedFd, OsString), Error> {
        let parent = place.rel.parent().unwrap_or(Path::new(""));
        self.copy_up_dirs(place, parent, path)?;
        let name = place.rel.file_name().unwrap_or(OsStr::new(".")).to_owned();
        let upper = self.roots[place.root].upper();
        let fd = upper.folder(parent).at("open", path)?;
        Ok((fd, name))
    }

    /// Makes every folder on the way to `rel`, and itself, be in the stage.
    pub(super) fn copy_up_dirs(&self, place: &Place, rel: &Path, path: &Path) -> Result<(), Error> {
        let root = &self.roots[place.root];
        let mut at = Place {
            root: place.root,
            rel: Default::default(),
        };
        for part in rel.components() {
            at.rel.push(part);
            let seen = self.seen(&at).at("look at", path)?;
            let seen = seen.ok_or(Errno::NOENT).at("look at", path)?;
            if seen.folder.is_none() {
                return Err(Errno::NOTDIR).at("look at", path);
            }
            if seen.layer == Layer::Upper {
                continue;
            }
            let upper = root.upper();
            let (parent, name) = upper.parent(&at.rel).at("open", path)?;
            sys::mkdirat(&parent, name, Mode::RWXU).at("stage", path)?;
            let made = Tree::open(&upper.path.join(&at.rel)).at("stage", path)?;
            like(&made, &root.lower, &seen.rel)?;
        }
        Ok(())
    }

    /// An empty file at a place, with the mode, owner and attributes of the one that is
    /// there.
    pub(super) fn fresh(&self, place: &Place, path: &Path) -> Result<File, Error> {
        self.fresh_with(place, path, None)
    }

    /// The same, with a content to begin with.
    pub(super) fn fresh_with(
        &self,
        place: &Place,
        path: &Path,
        old: Option<&mut File>,
    ) -> Result<File, Error> {
        let there = match self.seen(place).at("look at", path)? {
            Some(_) => Some(self.found(place, path)?.kind),
            None => None,
        };
        match &there {
            Some(Thing::Dir(..)) => return Err(Errno::ISDIR).at("write", path),
            Some(Thing::File(..)) | None => {}
            Some(_) => return Err(special(path)),
        }
        let (parent, name) = self.upper_parent(place, path)?;
        let (aside, mut file) = self.aside().at("stage", path)?;
        if let Some(old) = old {
            content(old, &file).at("stage", path)?;
        }
        match there {
            Some(Thing::File(_, own)) => meta::set(&file, &own, &Meta::none()).at("stage", path)?,
            _ => {
                sys::fchmod(&file, Mode::from_raw_mode(0o644)).at("stage", path)?;
                adopt(&parent, self.aside_folder().fd(), &aside).at("stage", path)?;
            }
        }
        let (from, to) = (aside.as_os_str(), name.as_os_str());
        sys::renameat(self.aside_folder().fd(), from, &parent, to).at("stage", path)?;
        file.seek(io::SeekFrom::End(0)).at("stage", path)?;
        Ok(file)
    }

    fn aside_folder(&self) -> &Tree {
        let aside = self.aside.get();
        aside.expect("`writable` makes the stage before anything is changed")
    }

    /// A new file that nobody sees yet.
    fn aside(&self) -> io::Result<(OsString, File)> {
        loop {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!("{}-{next}", std::process::id()));
            match create(self.aside_folder().fd(), &name) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                file => return Ok((name, file?)),
            }
        }
    }

    pub(super) fn make_dir(&self, place: &Place, path: &Path) -> Result<(), Error> {
        let (parent, name) = self.upper_parent(place, path)?;
        let hidden = sys::unlinkat(&parent, name.as_os_str(), AtFlags::empty()).is_ok();
        let mode = Mode::from_raw_mode(0o755);
        sys::mkdirat(&parent, name.as_os_str(), mode).at("stage", path)?;
        sys::chmodat(&parent, name.as_os_str(), mode, AtFlags::empty()).at("stage", path)?;
        adopt(&parent, parent.as_fd(), &name).at("stage", path)?;
        if hidden {
            let upper = self.roots[place.root].upper();
            let fd = upper.folder(&place.rel).at("stage", path)?;
            sys::fsetxattr(&fd, OPAQUE, b"y", XattrFlags::empty()).at("stage", path)?;
        }
        Ok(())
    }

    /// Makes nothing be at a place.
    pub(super) fn white_out(&self, place: &Place, path: &Path) -> Result<(), Error> {
        let root = &self.roots[place.root];
        let (parent, name) = self.upper_parent(place, path)?;
        remove_all(&parent, &name).at("stage", path)?;
        let above = Place {
            root: place.root,
            rel: place.rel.parent().unwrap_or(Path::new("")).to_owned(),
        };
        let folder = self.seen(&above).at("stage", path)?.and_then(|s| s.folder);
        let below = folder.and_then(|f| f.lower).map(|lower| lower.join(&name));
        let shows = match below {
            Some(below) => root.lower.stat(&below).at("stage", path)?.is_some(),
            None => false,
        };
        if shows {
            let made = sys::mknodat(
                &parent,
                name.as_os_str(),
                FileType::CharacterDevice,
                Mode::empty(),
                0,
            );
            made.at("stage", path)?;
        }
        Ok(())
    }

    pub(super) fn move_file(
        &self,
        old: &Place,
        new: &Place,
        moved: Found,
        path: &Path,
    ) -> Result<(), Error> {
        let (parent, name) = self.upper_parent(new, path)?;
        uncover(&parent, &name).at("stage", path)?;
        match moved.kind {
            Thing::File(from, own) => {
                let file = create(&parent, &name).at("stage", path)?;
                content(&from, &file).at("stage", path)?;
                meta::set(&file, &own, &Meta::none()).at("stage", path)?;
                meta::set_time(&file, moved.stamp.mtime).at("stage", path)?;
            }
            Thing::Symlink(link) => meta::symlink(&parent, &name, &link).at("stage", path)?,
            _ => return Err(special(path)),
        }
        self.white_out(old, path)
    }

    pub(super) fn move_dir(&self, old: &Place, new: &Place, path: &Path) -> Result<(), Error> {
        if old.root != new.root {
            return Err(Errno::XDEV).at("rename", path);
        }
        self.copy_up_dirs(old, &old.rel, path)?;
        let folder = self.seen(old).at("rename", path)?.and_then(|s| s.folder);
        let lower = folder.and_then(|f| f.lower);
        let root = &self.roots[old.root];
        let fd = root.upper().folder(&old.rel).at("rename", path)?;
        let set = |name, value: &[u8]| sys::fsetxattr(&fd, name, value, XattrFlags::empty());
        match lower {
            Some(lower) => {
                let mut redirect = b"/".to_vec();
                redirect.extend_from_slice(lower.as_os_str().as_encoded_bytes());
                set(REDIRECT, &redirect).at("rename", path)?;
            }
            None => set(OPAQUE, b"y").at("rename", path)?,
        }
        let (to, to_name) = self.upper_parent(new, path)?;
        uncover(&to, &to_name).at("rename", path)?;
        let (from, from_name) = self.upper_parent(old, path)?;
        sys::renameat(&from, from_name.as_os_str(), &to, to_name.as_os_str()).at("rename", path)?;
        self.white_out(old, path)
    }
}

/// Gives a folder in the stage the mode, owner and attributes of the real one; where
/// that takes root, a mark that says whose they are.
pub(super) fn like(made: &Tree, lower: &Tree, rel: &Path) -> Result<(), Error> {
    let found = lower.look(rel).at("read", &lower.path)?;
    let Some(Thing::Dir(_, own)) = found.map(|f| f.kind) else {
        return Ok(());
    };
    match meta::set(made.fd(), &own, &Meta::none()) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            let set = sys::fsetxattr(made.fd(), BORROWED, b"y", XattrFlags::empty());
            set.at("stage", &made.path)
        }
        set => set.at("stage", &made.path),
    }
}

/// Gives something new the owner of the folder that it will be in: what root writes for
/// somebody should be theirs.
pub(super) fn adopt(like: &OwnedFd, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let own = sys::fstat(like)?;
    let (uid, gid) = (Uid::from_raw(own.st_uid), Gid::from_raw(own.st_gid));
    let kept = AtFlags::SYMLINK_NOFOLLOW;
    Ok(sys::chownat(folder, name, Some(uid), Some(gid), kept)?)
}

/// Takes a whiteout away, to make room for something new.
pub(super) fn uncover(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match sys::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        done => Ok(done?),
    }
}

/// The folder has its own mode now.
pub(super) fn unborrow(fd: &OwnedFd) -> io::Result<()> {
    match sys::fremovexattr(fd, BORROWED) {
        Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
        done => Ok(done?),
    }
}

fn remove_all(parent: &OwnedFd, name: &OsStr) -> io::Result<()> {
    match sys::unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR) => {}
        done => return Ok(done?),
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = sys::openat(parent, name, flags, Mode::empty())?;
    for entry in crate::tree::names(&folder)? {
        remove_all(&folder, &entry)?;
    }
    Ok(sys::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}
