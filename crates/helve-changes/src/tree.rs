//! A folder held open, and what lies beneath it.
//!
//! Every path is resolved by the kernel beneath the held folder, and no symlink on the
//! way is followed: a link that is swapped in while we work makes a look fail, and
//! never leads outside.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::raw::Raw;
use crate::state::{Meta, State, Symlink, Time, Xattr};

/// A folder held open.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Where it was when it was opened; absolute.
    pub(crate) path: PathBuf,
    fd: OwnedFd,
}

/// What was found at a path.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) kind: Thing,
    pub(crate) stamp: Stamp,
    pub(crate) links: u64,
    /// The extended attributes by which an overlay keeps its books.
    pub(crate) marks: Vec<Xattr>,
}

/// What it is; a file's content is not yet read.
#[derive(Debug)]
pub(crate) enum Thing {
    File(File, Meta),
    Dir(OwnedFd, Meta),
    Symlink(Symlink),
    Fifo(Meta),
    /// A character device 0:0: how an overlay says that something was deleted.
    Whiteout,
    Other(&'static str),
}

/// Where an overlay keeps its books. What a program wrote into the other place is
/// forged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Books {
    /// In `trusted.overlay.*`: mounted by root.
    Trusted,
    /// In `user.overlay.*`: mounted with `userxattr`.
    User,
}

impl Books {
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Trusted => b"trusted.overlay.",
            Self::User => b"user.overlay.",
        }
    }
}

/// What differs when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW);

impl Tree {
    /// Opens a folder; no part of its path may be a symlink.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = FOLDER | OFlags::RDONLY;
        let fd = resolve(CWD, path, flags, ResolveFlags::NO_SYMLINKS)?;
        let path = path.to_owned();
        Ok(Self { path, fd })
    }

    /// Opens a folder by where it really is: links in its path are followed first.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        // What has no link and no `..` in it is where it says.
        if path.is_absolute() && path.components().all(plain) {
            match Self::open(&path.components().collect::<PathBuf>()) {
                Err(e) if is_gone(&e) => {}
                opened => return opened,
            }
        }
        Self::open(&std::fs::canonicalize(path)?)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The folder of a path beneath, and its name there; `.` for the root itself.
    pub(crate) fn parent<'p>(&self, rel: &'p Path) -> io::Result<(OwnedFd, &'p OsStr)> {
        match (rel.parent(), rel.file_name()) {
            (Some(parent), Some(name)) => Ok((self.folder(parent)?, name)),
            _ if rel.as_os_str().is_empty() => Ok((self.folder(rel)?, OsStr::new("."))),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// A folder beneath.
    pub(crate) fn folder(&self, rel: &Path) -> io::Result<OwnedFd> {
        let rel = if rel.as_os_str().is_empty() {
            Path::new(".")
        } else {
            rel
        };
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        resolve(self.fd(), rel, FOLDER | OFlags::RDONLY, how)
    }

    /// What is at a path beneath; `None` if nothing, or if a folder on the way is no
    /// folder.
    pub(crate) fn look(&self, rel: &Path) -> io::Result<Option<Found>> {
        match self.parent(rel) {
            Ok((parent, name)) => look_at(&parent, name),
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Its device, inode, times; `None` if nothing is there.
    pub(crate) fn stat(&self, rel: &Path) -> io::Result<Option<Stat>> {
        let found = self
            .parent(rel)
            .and_then(|(parent, name)| Ok(fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW)?));
        match found {
            Ok(stat) => Ok(Some(stat)),
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The names in a folder beneath, sorted.
    pub(crate) fn names(&self, rel: &Path) -> io::Result<Vec<OsString>> {
        names(&self.folder(rel)?)
    }

    /// What is in a folder beneath, sorted by name.
    pub(crate) fn entries(&self, rel: &Path) -> io::Result<Vec<(OsString, Stat)>> {
        let folder = self.folder(rel)?;
        let mut found = Vec::new();
        for name in names(&folder)? {
            match fs::statat(&folder, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                stat => found.push((name, stat?)),
            }
        }
        Ok(found)
    }

    /// A regular file beneath, and nothing else: no link on the way, no pipe, no device.
    pub(crate) fn file(&self, rel: &Path) -> io::Result<File> {
        // A pipe that took the file's place does not hold us up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let fd = loop {
            match fs::openat2(self.fd(), rel, flags, Mode::empty(), how) {
                Err(Errno::AGAIN) => {}
                Err(Errno::NOSYS | Errno::PERM) => {
                    let (parent, name) = self.parent(rel)?;
                    break fs::openat(&parent, name, flags, Mode::empty())?;
                }
                fd => break fd?,
            }
        };
        match FileType::from_raw_mode(fs::fstat(&fd)?.st_mode) {
            FileType::RegularFile => Ok(File::from(fd)),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// Calls with every path beneath `rel`, parents first, `rel` itself not.
    pub(crate) fn walk(
        &self,
        rel: &Path,
        each: &mut dyn FnMut(&Path, &Stat) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = self.folder(rel)?;
        for name in names(&folder)? {
            let stat = match fs::statat(&folder, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let path = rel.join(&name);
            each(&path, &stat)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                self.walk(&path, each)?;
            }
        }
        Ok(())
    }
}

/// The names in an open folder, sorted.
pub(crate) fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in fs::Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort();
    Ok(names)
}

/// Whether an error only says that nothing is there. A symlink on the way counts: the
/// path beneath is not ours to follow, and so is not there.
pub(crate) fn is_gone(e: &io::Error) -> bool {
    let errno = Errno::from_io_error(e);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// Opens with `openat2`, or step by step where a container's filter refuses that.
fn resolve(
    at: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    how: ResolveFlags,
) -> io::Result<OwnedFd> {
    loop {
        match fs::openat2(at, path, flags, Mode::empty(), how) {
            Ok(fd) => return Ok(fd),
            // A rename elsewhere in the tree got in the way of the check.
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return step_by_step(at, path, flags),
            Err(e) => return Err(e.into()),
        }
    }
}

fn step_by_step(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut fd = fs::openat(at, start, flags, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::Normal(name) => fd = fs::openat(&fd, name, flags, Mode::empty())?,
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::XDEV.into()),
        }
    }
    Ok(fd)
}

/// How often is looked at what is another thing each time.
const LOOKS: usize = 8;

/// What a name in an open folder is. Whoever saves a file puts another in its place: that one
/// is meant then.
pub(crate) fn look_at(parent: &OwnedFd, name: &OsStr) -> io::Result<Option<Found>> {
    for _ in 1..LOOKS {
        match look_once(parent, name) {
            Err(e) if e.raw_os_error() == Some(Errno::STALE.raw_os_error()) => {}
            found => return found,
        }
    }
    look_once(parent, name)
}

fn look_once(parent: &OwnedFd, name: &OsStr) -> io::Result<Option<Found>> {
    let stat = match fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        stat => stat?,
    };
    // Never opened before it is known to be no pipe and no device.
    let read = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut marks = Vec::new();
    let meta = |xattrs| Meta {
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        xattrs,
    };
    let mut stamp = Stamp::of(&stat);
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        kind @ (FileType::RegularFile | FileType::Directory) => {
            let flags = match kind {
                FileType::Directory => read | OFlags::DIRECTORY,
                _ => read,
            };
            let fd = fs::openat(parent, name, flags, Mode::empty())?;
            let opened = Stamp::of(&fs::fstat(&fd)?);
            if (opened.dev, opened.ino) != (stamp.dev, stamp.ino) {
                // Swapped between the two calls: whatever it was, it is not that now.
                return Err(Errno::STALE.into());
            }
            stamp = opened;
            let (kept, books) = xattrs(fd.as_fd())?;
            marks = books;
            match kind {
                FileType::Directory => Thing::Dir(fd, meta(kept)),
                _ => Thing::File(File::from(fd), meta(kept)),
            }
        }
        FileType::Symlink => {
            let target = fs::readlinkat(parent, name, Vec::new())?.into_bytes();
            let target = OsString::from_vec(target).into();
            let (uid, gid) = (stat.st_uid, stat.st_gid);
            Thing::Symlink(Symlink { target, uid, gid })
        }
        FileType::Fifo => Thing::Fifo(meta(Vec::new())),
        FileType::CharacterDevice if stat.st_rdev == 0 => Thing::Whiteout,
        FileType::CharacterDevice | FileType::BlockDevice => Thing::Other("device"),
        FileType::Socket => Thing::Other("socket"),
        _ => Thing::Other("special file"),
    };
    Ok(Some(Found {
        kind,
        stamp,
        links: stat.st_nlink,
        marks,
    }))
}

/// Attributes that belong to a file, and those by which an overlay keeps its books.
pub(crate) fn xattrs(fd: BorrowedFd<'_>) -> io::Result<(Vec<Xattr>, Vec<Xattr>)> {
    let mut space = [0u8; 1024];
    let listed = match fs::flistxattr(fd, &mut space[..]) {
        Ok(0) | Err(Errno::NOTSUP) => return Ok(Default::default()),
        Ok(length) => space[..length].to_vec(),
        Err(Errno::RANGE) => grown(|space| fs::flistxattr(fd, space))?,
        Err(e) => return Err(e.into()),
    };
    let (mut kept, mut marks) = (Vec::new(), Vec::new());
    for name in listed.split(|b| *b == 0).filter(|n| !n.is_empty()) {
        let mark = is_mark(name);
        if !mark && !is_kept(name) {
            continue;
        }
        let value = match grown(|space| fs::fgetxattr(fd, OsStr::from_bytes(name), space)) {
            Err(e) if Errno::from_io_error(&e) == Some(Errno::NODATA) => continue,
            value => value?,
        };
        let xattr = Xattr {
            name: Raw(name.to_vec()),
            value: Raw(value),
        };
        if mark { &mut marks } else { &mut kept }.push(xattr);
    }
    kept.sort();
    Ok((kept, marks))
}

fn grown(mut get: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> io::Result<Vec<u8>> {
    // The most that the kernel lets an attribute, or their list, be.
    let mut space = vec![0; 64 * 1024];
    let length = get(&mut space)?;
    space.truncate(length);
    Ok(space)
}

fn is_mark(name: &[u8]) -> bool {
    [&b"trusted.overlay."[..], b"user.overlay.", b"user.helve."]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Labels such as SELinux's are the system's to give, not a changeset's.
fn is_kept(name: &[u8]) -> bool {
    name.starts_with(b"user.")
        || name == b"security.capability"
        || name.starts_with(b"system.posix_acl_")
}

impl Stamp {
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    pub(crate) fn of(stat: &Stat) -> Self {
        let time = |s: i64, ns| Time { s, ns: ns as u32 };
        Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            size: stat.st_size as u64,
            mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec),
            ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec),
        }
    }
}

impl Found {
    /// The value of an overlay's mark.
    pub(crate) fn mark(&self, books: Books, name: &str) -> Option<&[u8]> {
        let is = |x: &&Xattr| {
            let full = x.name.0.strip_prefix(books.prefix());
            full == Some(name.as_bytes())
        };
        self.marks.iter().find(is).map(|x| &x.value.0[..])
    }

    pub(crate) fn is_dir(&self) -> bool {
        matches!(self.kind, Thing::Dir(..))
    }

    /// Its state, unless it is a file, whose content must be read for it.
    pub(crate) fn plain(&self) -> Option<State> {
        match &self.kind {
            Thing::Dir(_, meta) => Some(State::Dir(meta.clone())),
            Thing::Symlink(link) => Some(State::Symlink(link.clone())),
            Thing::Fifo(meta) => Some(State::Fifo(meta.clone())),
            _ => None,
        }
    }
}

impl Stamp {
    /// Whether a later change would show: within one tick of the file system's clock
    /// it would not.
    pub(crate) fn settled(&self) -> bool {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let then = std::time::Duration::new(self.ctime.s.try_into().unwrap_or(0), self.ctime.ns);
        now.is_ok_and(|now| now.saturating_sub(then) > TICK)
    }
}

/// Longer than any tick of a file system's clock that is in use.
const TICK: std::time::Duration = std::time::Duration::from_millis(100);
