//! One change of what the program will see, done by the first process of a sandbox.
//!
//! The list of them is made before that process exists, by [`crate::plan`]; here is
//! what each does, in raw system calls: between `clone` and `exec` nothing may
//! allocate or panic.

use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{self, AtFlags, CWD, Dev, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};
use rustix::mount::{
    self, FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags,
    MoveMountFlags, OpenTreeFlags,
};

use crate::message::notes;
use crate::sys;

/// A change.
#[derive(Debug)]
pub(crate) enum Op {
    /// Nothing that is mounted from here on is seen outside.
    Private,
    /// Takes a mount, with those inside it, from where it is now.
    Take { slot: usize, path: CString },
    /// Puts an overlay together.
    Overlay {
        slot: usize,
        lower: CString,
        upper: CString,
        work: CString,
        privileged: bool,
    },
    /// A file system in memory.
    Scratch { path: CString, options: CString },
    /// A folder in it, with just this mode.
    Folder { path: CString, mode: u32 },
    /// An empty file in it.
    File { path: CString },
    /// A character device in it.
    Device { path: CString, number: Dev },
    /// A symbolic link in it.
    Link { path: CString, to: &'static CStr },
    /// A fresh `/proc`, or else an empty one.
    Proc { options: CString, empty: CString },
    /// Binds one path over another.
    Bind { from: CString, to: CString },
    /// Writes a few bytes to a file.
    Write { path: CString, text: CString },
    /// Opens a path for [`Op::Hide`].
    Open { slot: usize, path: CString },
    /// All that is mounted now becomes read-only, without devices and set-uid programs.
    Lock,
    /// Puts what was taken to its place.
    Place {
        slot: usize,
        path: CString,
        attributes: u64,
    },
    /// Covers a path, if it is there, with an empty folder or an empty file.
    Hide {
        path: CString,
        folder: usize,
        file: usize,
    },
}

/// Descriptors that one change leaves for a later one.
#[derive(Debug)]
pub(crate) struct Slots(Vec<Cell<RawFd>>);

impl Slots {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Cell::new(-1)).collect())
    }

    fn put(&self, slot: usize, fd: OwnedFd) -> Result<()> {
        self.0.get(slot).ok_or(Errno::BADF)?.set(fd.into_raw_fd());
        Ok(())
    }

    fn get(&self, slot: usize) -> Result<BorrowedFd<'_>> {
        let fd = self.0.get(slot).ok_or(Errno::BADF)?.get();
        if fd < 0 {
            return Err(Errno::BADF);
        }
        // SAFETY: it was put there open, and is closed by the end of the process only.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }
}

impl Op {
    /// Does it, and returns what could not be had.
    pub(crate) fn perform(&self, slots: &Slots) -> Result<i32> {
        match self {
            Self::Private => {
                let all = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
                mount::mount_change(c"/", all)?;
            }
            Self::Take { slot, path } => {
                let at = real(path)?;
                slots.put(*slot, clone_mount(at.as_fd())?)?;
            }
            Self::Overlay {
                slot,
                lower,
                upper,
                work,
                privileged,
            } => {
                let folders = [lower, upper, work].map(|path| real(path));
                let [lower, upper, work] = folders;
                let (mount, lost) = overlay(&lower?, &upper?, &work?, *privileged)?;
                slots.put(*slot, mount)?;
                return Ok(lost);
            }
            Self::Scratch { path, options } => {
                let flags = MountFlags::NOSUID;
                mount::mount(
                    c"tmpfs",
                    path.as_c_str(),
                    c"tmpfs",
                    flags,
                    options.as_c_str(),
                )?;
            }
            Self::Folder { path, mode } => {
                // The umask is zero by now.
                match fs::mkdir(path.as_c_str(), Mode::from_raw_mode(*mode)) {
                    Err(Errno::EXIST) => {}
                    done => done?,
                }
            }
            Self::File { path } => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
                fs::open(path.as_c_str(), flags, Mode::from_raw_mode(0o444))?;
            }
            Self::Device { path, number } => {
                let mode = Mode::from_raw_mode(0o666);
                fs::mknodat(
                    CWD,
                    path.as_c_str(),
                    FileType::CharacterDevice,
                    mode,
                    *number,
                )?;
            }
            Self::Link { path, to } => fs::symlink(*to, path.as_c_str())?,
            Self::Proc { options, empty } => {
                let flags = MountFlags::RDONLY
                    | MountFlags::NOSUID
                    | MountFlags::NODEV
                    | MountFlags::NOEXEC;
                let fresh = mount::mount(c"proc", c"/proc", c"proc", flags, options.as_c_str());
                if fresh.is_err() {
                    mount::mount_bind(empty.as_c_str(), c"/proc")?;
                    return Ok(notes::NO_PROC);
                }
            }
            Self::Bind { from, to } => match mount::mount_bind(from.as_c_str(), to.as_c_str()) {
                Err(Errno::NOENT) => {}
                done => done?,
            },
            Self::Write { path, text } => {
                let file = fs::open(
                    path.as_c_str(),
                    OFlags::WRONLY | OFlags::CLOEXEC,
                    Mode::empty(),
                )?;
                rustix::io::write(file, text.to_bytes())?;
            }
            Self::Open { slot, path } => slots.put(*slot, real(path)?)?,
            Self::Lock => {
                let attributes = sys::READ_ONLY | sys::NO_SUID | sys::NO_DEV;
                sys::set_mount(CWD, c"/", attributes, 0, true)?;
            }
            Self::Place {
                slot,
                path,
                attributes,
            } => {
                let mount = slots.get(*slot)?;
                sys::set_mount(mount, c"", *attributes, 0, true)?;
                attach(mount, real(path)?.as_fd())?;
            }
            Self::Hide { path, folder, file } => return hide(slots, path, *folder, *file),
        }
        Ok(0)
    }

    /// What it does, for people.
    pub(crate) fn what(&self) -> String {
        let shown = |path: &CString| path.to_string_lossy().into_owned();
        match self {
            Self::Private => "making the mounts private".to_owned(),
            Self::Take { path, .. } | Self::Open { path, .. } => {
                format!("opening `{}`", shown(path))
            }
            Self::Overlay { lower, upper, .. } => {
                format!("laying `{}` over `{}`", shown(upper), shown(lower))
            }
            Self::Scratch { path, .. } => format!("mounting a tmpfs at `{}`", shown(path)),
            Self::Folder { path, .. }
            | Self::File { path }
            | Self::Device { path, .. }
            | Self::Link { path, .. } => format!("making `{}`", shown(path)),
            Self::Proc { .. } => "mounting `/proc`".to_owned(),
            Self::Bind { to, .. } => format!("covering `{}`", shown(to)),
            Self::Write { path, .. } => format!("writing `{}`", shown(path)),
            Self::Lock => "making all mounts read-only".to_owned(),
            Self::Place { path, .. } => format!("mounting at `{}`", shown(path)),
            Self::Hide { path, .. } => format!("hiding `{}`", shown(path)),
        }
    }
}

/// Opens a path in which nothing is a symbolic link, so that nobody can turn it
/// elsewhere between the check and the use.
fn real(path: &CStr) -> Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    fs::openat2(CWD, path, flags, Mode::empty(), resolve)
}

fn clone_mount(at: BorrowedFd<'_>) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    mount::open_tree(at, c"", flags)
}

fn attach(mount: BorrowedFd<'_>, place: BorrowedFd<'_>) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    mount::move_mount(mount, c"", place, c"", flags)
}

fn hide(slots: &Slots, path: &CStr, folder: usize, file: usize) -> Result<i32> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let place = match fs::open(path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(0),
        place => place?,
    };
    let kind = FileType::from_raw_mode(fs::fstat(&place)?.st_mode);
    let cover = if kind.is_dir() { folder } else { file };
    let cover = clone_mount(slots.get(cover)?)?;
    attach(cover.as_fd(), place.as_fd())?;
    Ok(0)
}

/// What is asked of an overlay, from all to least, and what each is without.
type Wishes = (&'static [&'static CStr], i32);
const AS_ROOT: [Wishes; 3] = [
    (&[c"redirect_dir", c"index", c"metacopy"], 0),
    (&[c"redirect_dir"], notes::NO_INDEX),
    (&[], notes::NO_INDEX | notes::NO_REDIRECT),
];
const AS_USER: [Wishes; 1] = [(&[], notes::NO_INDEX | notes::NO_REDIRECT)];

fn overlay(
    lower: &OwnedFd,
    upper: &OwnedFd,
    work: &OwnedFd,
    privileged: bool,
) -> Result<(OwnedFd, i32)> {
    let wishes: &[Wishes] = if privileged { &AS_ROOT } else { &AS_USER };
    let mut last = Errno::INVAL;
    for (wishes, lost) in wishes {
        match try_overlay([lower, upper, work], wishes, privileged) {
            Ok(mount) => return Ok((mount, *lost)),
            Err(errno) => last = errno,
        }
    }
    Err(last)
}

fn try_overlay(folders: [&OwnedFd; 3], wishes: &[&CStr], privileged: bool) -> Result<OwnedFd> {
    let context = mount::fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let context = context.as_fd();
    for (key, folder) in [c"lowerdir", c"upperdir", c"workdir"].iter().zip(folders) {
        // By number, so that no character of a path can mean anything.
        let mut buffer = [0; 32];
        let path = descriptor_path(folder.as_raw_fd(), &mut buffer)?;
        mount::fsconfig_set_string(context, *key, path)?;
    }
    mount::fsconfig_set_flag(context, c"volatile")?;
    if !privileged {
        mount::fsconfig_set_flag(context, c"userxattr")?;
    }
    for wish in wishes {
        mount::fsconfig_set_string(context, *wish, c"on")?;
    }
    mount::fsconfig_create(context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    mount::fsmount(context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// `/proc/self/fd/<number>`, written without allocating.
fn descriptor_path(fd: RawFd, buffer: &mut [u8; 32]) -> Result<&CStr> {
    const FOLDER: &[u8] = b"/proc/self/fd/";
    let mut digits = [0; 10];
    let mut rest = fd.unsigned_abs();
    let mut length = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
        length += 1;
        if rest == 0 {
            break;
        }
    }
    let digits = digits.iter().skip(10 - length);
    for (place, byte) in buffer.iter_mut().zip(FOLDER.iter().chain(digits)) {
        *place = *byte;
    }
    CStr::from_bytes_until_nul(buffer).map_err(|_| Errno::NAMETOOLONG)
}

/// The type of what a path names, for whoever plans.
pub(crate) fn is_folder(path: &std::path::Path) -> Result<bool> {
    let stat = fs::statat(CWD, path, AtFlags::empty())?;
    Ok(FileType::from_raw_mode(stat.st_mode).is_dir())
}
