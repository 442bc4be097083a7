//! Giving a file the mode, owner, attributes and time that it should have.
//!
//! In the order in which the kernel does not take anything back: a change of the owner
//! clears set-uid and capabilities, so it comes first.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{self, AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};

use crate::state::{Meta, Symlink, Time};

impl Meta {
    /// What a new file has: nothing that would have to be taken away.
    pub(crate) fn none() -> Self {
        Self {
            mode: u32::MAX,
            uid: u32::MAX,
            gid: u32::MAX,
            xattrs: Vec::new(),
        }
    }
}

/// Makes an open file or folder have `to`; `now` is what it has, or [`Meta::none`] for
/// a new one.
pub(crate) fn set(fd: impl AsFd, to: &Meta, now: &Meta) -> io::Result<()> {
    let fd = fd.as_fd();
    let mut chowned = false;
    if (to.uid, to.gid) != (now.uid, now.gid) {
        // A new file is often already ours; who is not root must not even try.
        let stat = fs::fstat(fd)?;
        if (stat.st_uid, stat.st_gid) != (to.uid, to.gid) {
            let (uid, gid) = (Uid::from_raw(to.uid), Gid::from_raw(to.gid));
            fs::fchown(fd, Some(uid), Some(gid))?;
            chowned = true;
        }
    }
    let gone = now
        .xattrs
        .iter()
        .filter(|x| !to.xattrs.iter().any(|y| y.name == x.name));
    for xattr in gone {
        fs::fremovexattr(fd, OsStr::from_bytes(&xattr.name.0))?;
    }
    for xattr in &to.xattrs {
        if chowned || !now.xattrs.contains(xattr) {
            let name = OsStr::from_bytes(&xattr.name.0);
            fs::fsetxattr(fd, name, &xattr.value.0, XattrFlags::empty())?;
        }
    }
    if chowned || to.mode != now.mode || to.xattrs != now.xattrs {
        fs::fchmod(fd, Mode::from_raw_mode(to.mode))?;
    }
    Ok(())
}

/// Makes a file that was just made have `to` and nothing else: the folder that it was made in
/// may have given it an access list.
pub(crate) fn set_new(fd: impl AsFd, to: &Meta) -> io::Result<()> {
    let (xattrs, _) = crate::tree::xattrs(fd.as_fd())?;
    let now = Meta {
        xattrs,
        ..Meta::none()
    };
    set(fd, to, &now)
}

/// Sets when a file was last written.
pub(crate) fn set_time(fd: impl AsFd, time: Time) -> io::Result<()> {
    Ok(fs::futimens(fd, &stamps(time))?)
}

fn stamps(time: Time) -> Timestamps {
    let time = Timespec {
        tv_sec: time.s,
        tv_nsec: time.ns.into(),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

/// Makes a symlink.
pub(crate) fn symlink(folder: &OwnedFd, name: &OsStr, link: &Symlink) -> io::Result<()> {
    fs::symlinkat(link.target.as_path(), folder, name)?;
    own(folder, name, link.uid, link.gid)
}

/// Makes a named pipe.
pub(crate) fn fifo(folder: &OwnedFd, name: &OsStr, meta: &Meta) -> io::Result<()> {
    fs::mkfifoat(folder, name, Mode::RUSR | Mode::WUSR)?;
    own(folder, name, meta.uid, meta.gid)?;
    Ok(fs::chmodat(
        folder,
        name,
        Mode::from_raw_mode(meta.mode),
        AtFlags::empty(),
    )?)
}

fn own(folder: &OwnedFd, name: &OsStr, uid: u32, gid: u32) -> io::Result<()> {
    let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (stat.st_uid, stat.st_gid) == (uid, gid) {
        return Ok(());
    }
    let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    Ok(fs::chownat(
        folder,
        name,
        uid,
        gid,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}
