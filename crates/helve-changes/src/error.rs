//! What can go wrong with a changeset, in the words of whoever has to mend it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;

/// Why a capture, a commit or an undo was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system said no.
    #[error("cannot {what} `{}`", shown(path))]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Changes at places that were not allowed.
    #[error("changed outside the allowed paths: {}", list(paths))]
    Outside {
        /// Those places.
        paths: Vec<PathBuf>,
    },
    /// A place that may only be read.
    #[error("`{}` may only be read", shown(path))]
    ReadOnly {
        /// That place.
        path: PathBuf,
    },
    /// A place that is not to be seen, or holds one.
    #[error("`{}` is, or holds, what is not to be seen", shown(path))]
    Hidden {
        /// That place.
        path: PathBuf,
    },
    /// Whoever wanted it does not wait any more.
    #[error("stopped before it was done")]
    Stopped,
    /// Changes at places that need a permission of their own.
    #[error("protected, allow it by its own name to change it: {}", list(paths))]
    Protected {
        /// Those places.
        paths: Vec<PathBuf>,
    },
    /// A device, a socket or the like was made, changed or deleted.
    #[error(
        "`{}` is a {kind}, which could not be restored; only files, folders, links and pipes can be changed",
        shown(path)
    )]
    Special {
        /// Where.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// The before-images do not fit.
    #[error(
        "the before-images need {needed} bytes and {free} are left of the quota; raise it or let old ones go"
    )]
    Quota {
        /// How many bytes they need, at least.
        needed: u64,
        /// How many are left.
        free: u64,
    },
    /// Paths that are not as they were expected to be. Nothing was applied.
    #[error("changed by somebody else: {}", conflicts(paths))]
    Conflict {
        /// Each with the reason.
        paths: Vec<Conflict>,
    },
    /// A staged file is not what was captured. Nothing was applied.
    #[error("`{}` was changed in the stage after it was captured", shown(path))]
    StageChanged {
        /// The path that it would have become.
        path: PathBuf,
    },
    /// A before-image cannot be used.
    #[error("the before-image `{hash}` is {why}")]
    Image {
        /// Its content's hash.
        hash: Hash,
        /// What is wrong with it.
        why: ImageFault,
    },
    /// Only another user could give a file this owner.
    #[error("only root can make `{}` belong to {uid}:{gid}", shown(path))]
    Owner {
        /// Which file.
        path: PathBuf,
        /// The owner that it would need.
        uid: u32,
        /// The group that it would need.
        gid: u32,
    },
    /// Somebody else holds the lock.
    #[error("{what} is under way; try again when it is done")]
    Busy {
        /// What the other one does.
        what: &'static str,
    },
    /// A manifest that is none, or that is not spelled as it would be written.
    #[error("not a changeset manifest: {0}")]
    Manifest(String),
    /// A commit failed, and what it had done could not all be taken back.
    #[error(
        "the commit failed ({cause}) and could not be taken back wholly; left as found: {}",
        conflicts(left)
    )]
    Half {
        /// Why the commit failed.
        cause: Box<Error>,
        /// What somebody else changed meanwhile.
        left: Vec<Conflict>,
    },
}

impl Error {
    /// Whether something could not be brought to the disk that was in memory.
    pub fn is_failed_sync(&self) -> bool {
        matches!(self, Self::Io { what, .. } if what.starts_with("sync"))
    }
}

/// What is wrong with a before-image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFault {
    /// It is not in the store.
    Missing,
    /// Its content has another hash.
    Tampered,
}

impl fmt::Display for ImageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Tampered => "not what was stored",
        })
    }
}

/// A path that is not as expected, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The path.
    pub path: PathBuf,
    /// How it differs.
    pub why: Why,
}

/// How a path differs from what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was changed since.
    Changed,
    /// It is there, though nothing was expected.
    Appeared,
    /// It is gone.
    Gone,
    /// Its folder is gone, or no folder any more.
    NoFolder,
    /// The folder holds what somebody else put there.
    NotEmpty,
    /// Between two of the runs somebody else changed it.
    Gap,
    /// It was linked to a file that has changed.
    Link,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed => "was changed since",
            Self::Appeared => "has appeared",
            Self::Gone => "is gone",
            Self::NoFolder => "has no folder to be in",
            Self::NotEmpty => "holds files of others",
            Self::Gap => "was changed between the runs",
            Self::Link => "was linked to a file that has changed",
        })
    }
}

/// Adds what was tried, and where, to what the system said.
pub(crate) trait At<T> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, what: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|e| Error::Io {
            what,
            path: path.to_owned(),
            source: e.into(),
        })
    }
}

/// A path on one line, whatever is in it.
fn shown(path: &Path) -> String {
    crate::visible::line(path.as_os_str().as_encoded_bytes())
}

/// How many are named before the rest is only counted.
const NAMED: usize = 20;

fn list(paths: &[PathBuf]) -> String {
    some(paths, |p| format!("`{}`", shown(p)))
}

fn conflicts(paths: &[Conflict]) -> String {
    some(paths, |c| format!("`{}` {}", shown(&c.path), c.why))
}

fn some<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    let mut text = items.iter().take(NAMED).map(show).collect::<Vec<_>>();
    if items.len() > NAMED {
        text.push(format!("and {} more", items.len() - NAMED));
    }
    text.join(", ")
}
