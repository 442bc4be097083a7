//! Where no overlay can be had: the tool works on a copy, and the copy is compared.
//!
//! Everything is read and hashed. A tool that sets a file's times back after writing it
//! is seen all the same.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use std::collections::HashMap;

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::overlay::deleted;
use super::{Candidate, Node, Staged, finish};
use crate::blobs::{Blobs, PIECE};
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::meta;
use crate::state::Meta;
use crate::tree::{Stamp, Thing, Tree, look_at};

/// A real folder and the copy on which a tool worked.
#[derive(Debug, Clone)]
pub struct Copied {
    /// The real folder.
    pub real: PathBuf,
    /// Its copy.
    pub copy: PathBuf,
}

/// What was changed in copies. The before-images are kept in `blobs`.
pub fn capture_copy(copies: &[Copied], allowed: &Allowed, blobs: &Blobs) -> Result<Staged, Error> {
    let mut open = Vec::new();
    for copied in copies {
        let tree = |path: &Path| Tree::open(path).at("open", path);
        open.push((tree(&copied.real)?, tree(&copied.copy)?));
    }
    let mut candidates = Vec::new();
    for (real, copy) in &open {
        let empty = PathBuf::new();
        pair(real, copy, &empty, &mut candidates).at("compare the copy of", &real.path)?;
    }
    let real: Vec<&Tree> = open.iter().map(|(real, _)| real).collect();
    finish(&real, candidates, allowed, blobs)
}

fn pair<'t>(
    real: &'t Tree,
    copy: &'t Tree,
    rel: &Path,
    out: &mut Vec<Candidate<'t>>,
) -> io::Result<()> {
    let (before, after) = (real.stat(rel)?, copy.stat(rel)?);
    let is_dir = |s: &rustix::fs::Stat| FileType::from_raw_mode(s.st_mode) == FileType::Directory;
    let dirs = (
        before.as_ref().is_some_and(is_dir),
        after.as_ref().is_some_and(is_dir),
    );
    out.push(Candidate {
        path: if rel.as_os_str().is_empty() {
            real.path.clone()
        } else {
            real.path.join(rel)
        },
        before: before.map(|_| Node::new(real, rel)),
        after: after.map(|_| Node::new(copy, rel)),
        from: None,
    });
    match dirs {
        (true, false) => deleted(real, rel, out),
        (false, false) => Ok(()),
        (was, true) => {
            let mut names = copy.names(rel)?;
            if was {
                names.extend(real.names(rel)?);
            }
            names.sort();
            names.dedup();
            names
                .iter()
                .try_for_each(|name| pair(real, copy, &rel.join(name), out))
        }
    }
}

/// Copies a folder to a place that is not there yet, with modes, owners, attributes,
/// links and times; contents are shared where the file system can. Pipes are made
/// anew, sockets and devices left out.
pub fn copy_tree(from: &Path, to: &Path) -> Result<(), Error> {
    let tree = Tree::open(from).at("open", from)?;
    std::fs::create_dir(to).at("make the folder", to)?;
    let target = Tree::open(to).at("open", to)?;
    let mut copy = Copy {
        linked: HashMap::new(),
        target: &target,
    };
    let source = tree.folder(Path::new("")).at("open", from)?;
    let target_fd = target.folder(Path::new("")).at("open", to)?;
    copy.folder(&source, &target_fd, Path::new(""))
        .at("copy", from)?;
    match tree.look(Path::new("")).at("read", from)?.map(|f| f.kind) {
        Some(Thing::Dir(_, own)) => meta::set(&target_fd, &own, &Meta::none()).at("copy", from),
        _ => Ok(()),
    }
}

struct Copy<'t> {
    linked: HashMap<(u64, u64), PathBuf>,
    target: &'t Tree,
}

impl Copy<'_> {
    fn folder(&mut self, from: &OwnedFd, to: &OwnedFd, rel: &Path) -> io::Result<()> {
        for name in crate::tree::names(from)? {
            self.one(from, to, &name, &rel.join(&name))?;
        }
        Ok(())
    }

    fn one(&mut self, from: &OwnedFd, to: &OwnedFd, name: &OsStr, rel: &Path) -> io::Result<()> {
        let Some(found) = look_at(from, name)? else {
            return Ok(());
        };
        match found.kind {
            Thing::File(file, own) => {
                let id = (found.stamp.dev, found.stamp.ino);
                if let Some(other) = self.linked.get(&id) {
                    let (parent, other) = self.target.parent(other)?;
                    return Ok(sys::linkat(&parent, other, to, name, AtFlags::empty())?);
                }
                if found.links > 1 {
                    self.linked.insert(id, rel.to_owned());
                }
                let new = create(to, name)?;
                content(&file, &new)?;
                meta::set(&new, &own, &Meta::none())?;
                meta::set_time(&new, found.stamp.mtime)
            }
            Thing::Dir(source, own) => {
                sys::mkdirat(to, name, Mode::RWXU)?;
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let target = sys::openat(to, name, flags, Mode::empty())?;
                self.folder(&source, &target, rel)?;
                meta::set(&target, &own, &Meta::none())
            }
            Thing::Symlink(link) => meta::symlink(to, name, &link),
            Thing::Fifo(own) => meta::fifo(to, name, &own),
            Thing::Whiteout | Thing::Other(_) => Ok(()),
        }
    }
}

/// A new file of that name; never one that is there.
pub(crate) fn create(folder: impl AsFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(File::from(sys::openat(
        folder,
        name,
        flags,
        Mode::RUSR | Mode::WUSR,
    )?))
}

/// Copies a content in the cheapest way that the file systems offer.
pub(crate) fn content(from: &File, to: &File) -> io::Result<()> {
    if sys::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let size = Stamp::of(&sys::fstat(from)?).size;
    let mut left = size;
    while left > 0 {
        match sys::copy_file_range(from, None, to, None, left.min(1 << 30) as usize) {
            Ok(0) => return Ok(()),
            Ok(copied) => left -= copied as u64,
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) if left == size => {
                return by_hand(from, to);
            }
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

fn by_hand(mut from: &File, mut to: &File) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece)? {
            0 => return Ok(()),
            length => to.write_all(&piece[..length])?,
        }
    }
}
