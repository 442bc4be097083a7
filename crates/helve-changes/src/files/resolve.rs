//! From what a caller wrote to a place beneath a root.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self as sys, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Files, Place};
use crate::error::{At, Error};
use crate::tree::Thing;

/// What about a symlink at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Followed,
    Kept,
}

/// How many symlinks are followed; the kernel's own limit.
const MOST: usize = 40;

enum Part {
    Name(OsString),
    Up,
}

/// A place in the real folders, and what was there when it was looked at.
pub(super) struct Spot {
    pub(super) place: Place,
    pub(super) parent: OwnedFd,
    /// Nothing where nothing was.
    pub(super) stat: Option<Stat>,
}

impl Spot {
    /// The file that is there; nothing if it is no file, or another one by now. Never opened
    /// before it is known to be no pipe and no device.
    pub(super) fn open(&self) -> io::Result<Option<(File, Stat)>> {
        let kind = self.stat.map(|s| FileType::from_raw_mode(s.st_mode));
        let (Some(then), Some(FileType::RegularFile)) = (self.stat, kind) else {
            return Ok(None);
        };
        let name = self.place.rel.file_name().unwrap_or(OsStr::new("."));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match sys::openat(&self.parent, name, flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            file => File::from(file?),
        };
        let now = sys::fstat(&file)?;
        let same = (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino);
        Ok(same.then_some((file, now)))
    }
}

impl Files {
    /// The place of a path. `..` and symlinks are followed in the view, not in the
    /// real folders, and never out of the roots, nor to what is hidden.
    pub(super) fn resolve(&self, path: &Path, last: Last) -> Result<Place, Error> {
        match self.spot(path, last)? {
            Some(spot) => Ok(spot.place),
            None => self.unless_hidden(self.follow(path, last)?, path),
        }
    }

    /// The place of a path that is one already: nothing is staged, no link and no `..` is
    /// on the way. Most are, and two calls tell.
    pub(super) fn spot(&self, path: &Path, last: Last) -> Result<Option<Spot>, Error> {
        self.lay()?;
        let Some(spot) = self.direct(path, last) else {
            return Ok(None);
        };
        let place = self.unless_hidden(spot.place, path)?;
        Ok(Some(Spot { place, ..spot }))
    }

    fn unless_hidden(&self, place: Place, path: &Path) -> Result<Place, Error> {
        match self.is_hidden(&self.real(&place)) {
            false => Ok(place),
            true => Err(Error::Hidden {
                path: path.to_owned(),
            }),
        }
    }

    /// Where a place really is.
    pub(super) fn real(&self, place: &Place) -> PathBuf {
        self.roots[place.root].lower.path.join(&place.rel)
    }

    /// Whether a real path, free of links, is not to be seen.
    pub(super) fn is_hidden(&self, real: &Path) -> bool {
        self.hidden.iter().any(|hidden| real.starts_with(hidden))
    }

    /// What would take a hidden thing along must not be moved, copied or removed.
    pub(super) fn holds_nothing_hidden(&self, place: &Place, path: &Path) -> Result<(), Error> {
        let real = self.real(place);
        match self.hidden.iter().any(|hidden| hidden.starts_with(&real)) {
            false => Ok(()),
            true => Err(Error::Hidden {
                path: path.to_owned(),
            }),
        }
    }

    fn direct(&self, path: &Path, last: Last) -> Option<Spot> {
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return None;
        }
        let (mut place, parts) = match path.is_absolute() {
            true => self.enter(path)?,
            false => (self.start()?, split(path)),
        };
        let root = &self.roots[place.root];
        if root.upper.get().is_some() {
            return None;
        }
        for part in parts {
            match part {
                Part::Name(name) => place.rel.push(name),
                Part::Up => return None,
            }
        }
        let (parent, name) = root.lower.parent(&place.rel).ok()?;
        let stat = match sys::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Some(stat),
            Err(Errno::NOENT) => None,
            Err(_) => return None,
        };
        let kind = stat.map(|s| FileType::from_raw_mode(s.st_mode));
        let stays = kind != Some(FileType::Symlink) || last == Last::Kept;
        stays.then_some(Spot {
            place,
            parent,
            stat,
        })
    }

    fn follow(&self, path: &Path, last: Last) -> Result<Place, Error> {
        let outside = || Error::Outside {
            paths: vec![path.to_owned()],
        };
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(Errno::INVAL).at("use", path);
        }
        let (mut place, mut parts) = match path.is_absolute() {
            true => self.enter(path).ok_or_else(outside)?,
            false => (self.start().ok_or_else(outside)?, split(path)),
        };
        let mut followed = 0;
        while let Some(part) = parts.pop_front() {
            let name = match part {
                Part::Up if place.rel.as_os_str().is_empty() => return Err(outside()),
                Part::Up => {
                    place.rel.pop();
                    continue;
                }
                Part::Name(name) => name,
            };
            place.rel.push(&name);
            let Some(target) = self.link_at(&place).at("look at", path)? else {
                // What comes after something that is not there is not there either.
                let is_there = self.seen(&place).at("look at", path)?.is_some();
                if !is_there && parts.iter().any(|p| matches!(p, Part::Up)) {
                    return Err(Errno::NOENT).at("look at", path);
                }
                continue;
            };
            if parts.is_empty() && last == Last::Kept {
                break;
            }
            followed += 1;
            if followed > MOST {
                return Err(Errno::LOOP).at("look at", path);
            }
            let mut way = match target.is_absolute() {
                true => {
                    let (start, way) = self.enter(&target).ok_or_else(outside)?;
                    place = start;
                    way
                }
                false => {
                    place.rel.pop();
                    split(&target)
                }
            };
            way.append(&mut parts);
            parts = way;
        }
        Ok(place)
    }

    fn start(&self) -> Option<Place> {
        (!self.roots.is_empty()).then(|| Place {
            root: 0,
            rel: PathBuf::new(),
        })
    }

    /// The root that an absolute path names, and the way from there.
    fn enter(&self, path: &Path) -> Option<(Place, VecDeque<Part>)> {
        let roots = self.roots.iter().enumerate();
        let (root, rest) = roots
            .filter_map(|(at, root)| Some((at, path.strip_prefix(&root.lower.path).ok()?)))
            .min_by_key(|(_, rest)| rest.as_os_str().len())?;
        let rel = PathBuf::new();
        Some((Place { root, rel }, split(rest)))
    }

    fn link_at(&self, place: &Place) -> std::io::Result<Option<PathBuf>> {
        let Some(seen) = self.seen(place)? else {
            return Ok(None);
        };
        if seen.folder.is_some() {
            return Ok(None);
        }
        let found = self.roots[place.root].tree(&seen).look(&seen.rel)?;
        Ok(match found.map(|f| f.kind) {
            Some(Thing::Symlink(link)) => Some(link.target),
            _ => None,
        })
    }
}

fn split(path: &Path) -> VecDeque<Part> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(Part::Name(name.to_owned())),
            Component::ParentDir => Some(Part::Up),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        })
        .collect()
}
