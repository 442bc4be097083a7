//! What is to be run, and what it may reach.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One program, and the world it runs in.
///
/// All paths are absolute and real: without symbolic links, `.` and `..`.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// The program's file.
    pub program: PathBuf,
    /// What it is told that its name is.
    pub name: OsString,
    /// The elements after the name.
    pub args: Vec<OsString>,
    /// All variables that it sees.
    pub env: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// The folders that it may write. None: it writes nowhere but its own `/tmp`.
    pub layers: Vec<Layer>,
    /// What it must not see, whatever else is said here. What is not there is not hidden.
    pub hidden: Vec<PathBuf>,
    /// What it sees, read-only, although it lies in a folder that is otherwise
    /// replaced: `/tmp`, `/var/tmp`, `/run`. Elsewhere all is visible anyhow.
    pub visible: Vec<PathBuf>,
    /// Whether it has the network of the machine, or none at all.
    pub network: bool,
    /// How much of everything it may use.
    pub limits: Limits,
}

/// A folder that the program may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// What is written lands in `upper`; `target` itself stays as it is.
    ///
    /// Both folders have to be empty, of this run alone, on one file system, and
    /// inside something `hidden`.
    Overlay {
        /// The folder that is seen, and over which the program writes.
        target: PathBuf,
        /// Where the changes are found afterwards.
        upper: PathBuf,
        /// What the kernel needs for itself.
        work: PathBuf,
    },
    /// `source` is seen and written at the place of `target`.
    Bind {
        /// The place.
        target: PathBuf,
        /// What is there instead; a copy, where overlays cannot be had.
        source: PathBuf,
    },
}

impl Layer {
    pub(crate) fn target(&self) -> &PathBuf {
        match self {
            Self::Overlay { target, .. } | Self::Bind { target, .. } => target,
        }
    }
}

/// Gives the top of an overlay the owner and mode of what lies under it, or the
/// program would see its folder change hands.
pub fn dress_upper(upper: &Path, lower: &Path) -> io::Result<()> {
    let (from, to) = (fs::metadata(lower)?, fs::metadata(upper)?);
    if (from.uid(), from.gid()) != (to.uid(), to.gid()) {
        match chown(upper, Some(from.uid()), Some(from.gid())) {
            // A folder of somebody else: the program sees it as its own.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {}
            done => done?,
        }
    }
    let mode = from.permissions().mode();
    if mode != to.permissions().mode() {
        fs::set_permissions(upper, fs::Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}

/// Removes the work folder of an overlay after its run.
///
/// The kernel leaves folders in it that even their owner cannot open as they are.
pub fn remove_work(work: &Path) -> io::Result<()> {
    open_up(work)?;
    fs::remove_dir_all(work)
}

/// The same, but what an overlay with an index keeps there of files with several names
/// stays: it is part of what the run changed.
pub fn remove_work_but_index(work: &Path) -> io::Result<()> {
    open_up(work)?;
    fs::remove_dir_all(work.join("work"))
}

fn open_up(work: &Path) -> io::Result<()> {
    for closed in ["index", "work", "work/incompat", "work/incompat/volatile"] {
        match fs::set_permissions(work.join(closed), fs::Permissions::from_mode(0o700)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// How much a program and all that it starts may use together, where the machine
/// can count that; else how much each of its processes may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory, its own `/tmp` included.
    pub memory: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u32>,
    /// Bytes of a file that it writes.
    pub file_size: Option<u64>,
    /// Descriptors of a process.
    pub open_files: Option<u64>,
    /// Processor time of a process.
    pub cpu_time: Option<Duration>,
    /// Bytes of its own `/tmp`.
    pub tmp_size: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: Some(2 << 30),
            processes: Some(512),
            file_size: Some(1 << 30),
            open_files: Some(1024),
            cpu_time: None,
            tmp_size: 256 << 20,
        }
    }
}

/// A limit that a program ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::memory`]: something was killed for it.
    Memory,
    /// [`Limits::processes`]: something could not be started.
    Processes,
    /// [`Limits::file_size`]: the program was ended for it.
    FileSize,
    /// [`Limits::cpu_time`]: the program was ended for it.
    CpuTime,
}
