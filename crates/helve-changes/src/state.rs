//! What a path is at one moment, as far as a changeset restores it.
//!
//! Times of folders and of symlinks are not part of it: they change with every entry.
//! A file's time is kept to be restored, but is alone no change.

use std::path::PathBuf;

use helve_core::audit::Hash;
use serde::{Deserialize, Serialize};

use crate::raw::{self, Raw};

/// What a path is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nothing.
    Absent,
    /// A regular file.
    File(FileState),
    /// A folder.
    Dir(Meta),
    /// A symbolic link.
    Symlink(Symlink),
    /// A named pipe.
    Fifo(Meta),
}

/// A regular file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// How many bytes.
    pub size: u64,
    /// SHA-256 of the content.
    #[serde(with = "raw::hash")]
    pub sha256: Hash,
    /// When it was last written.
    pub mtime: Time,
    /// Mode, owner, attributes.
    #[serde(flatten)]
    pub meta: Meta,
    /// Every name of the same file beneath the roots, its own included; empty where
    /// it has only this one.
    #[serde(with = "raw::paths", default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<PathBuf>,
}

/// Mode, owner, and extended attributes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Permission bits, with set-uid, set-gid and sticky.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Extended attributes, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xattrs: Vec<Xattr>,
}

/// One extended attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Xattr {
    /// With its namespace, as `user.origin`.
    pub name: Raw,
    /// Its value.
    pub value: Raw,
}

/// A symbolic link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symlink {
    /// What stands in it.
    #[serde(with = "raw::path")]
    pub target: PathBuf,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// Seconds and nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Time {
    /// Whole seconds.
    pub s: i64,
    /// The rest.
    pub ns: u32,
}

impl State {
    /// Whether two states are one, times and links aside.
    pub fn same(&self, other: &State) -> bool {
        match (self, other) {
            (Self::File(a), Self::File(b)) => a.sha256 == b.sha256 && a.meta == b.meta,
            (a, b) => a == b,
        }
    }

    /// The same, with the links.
    pub fn same_linked(&self, other: &State) -> bool {
        self.same(other) && self.links() == other.links()
    }

    /// Every name of this file, where it has several.
    pub fn links(&self) -> &[PathBuf] {
        match self {
            Self::File(file) => &file.links,
            _ => &[],
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&FileState> {
        match self {
            Self::File(file) => Some(file),
            _ => None,
        }
    }

    /// Whether nothing is there.
    pub fn is_absent(&self) -> bool {
        *self == Self::Absent
    }

    /// Whether it is a folder.
    pub fn is_dir(&self) -> bool {
        matches!(self, Self::Dir(_))
    }

    /// Whether one can take the other's place without being removed first.
    pub(crate) fn same_kind(&self, other: &State) -> bool {
        self.is_dir() == other.is_dir() && !self.is_absent() && !other.is_absent()
    }

    /// Owner and group.
    pub(crate) fn owner(&self) -> Option<(u32, u32)> {
        match self {
            Self::Absent => None,
            Self::File(FileState { meta, .. }) | Self::Dir(meta) | Self::Fifo(meta) => {
                Some((meta.uid, meta.gid))
            }
            Self::Symlink(link) => Some((link.uid, link.gid)),
        }
    }

    /// Mode, owner and attributes, where it has its own.
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::File(FileState { meta, .. }) | Self::Dir(meta) | Self::Fifo(meta) => Some(meta),
            Self::Absent | Self::Symlink(_) => None,
        }
    }
}
