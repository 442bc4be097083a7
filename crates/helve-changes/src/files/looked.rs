//! What a path is.

use rustix::fs::{FileType, Stat};

use crate::state::Time;
use crate::tree::Stamp;

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
    /// How many names it has.
    pub links: u64,
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

impl Looked {
    pub(super) fn of(stat: &Stat) -> Self {
        let stamp = Stamp::of(stat);
        Self {
            what: what(stat.st_mode),
            size: stamp.size,
            mode: stat.st_mode & 0o7777,
            mtime: stamp.mtime,
            links: stat.st_nlink,
        }
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
