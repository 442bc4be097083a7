//! Why a program was not started.

use std::io;
use std::path::PathBuf;

/// Why a program was not started. Nothing of it has run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A path or a text cannot be given to the kernel.
    #[error("{what} `{value}` {problem}")]
    Invalid {
        /// What of the specification it is.
        what: &'static str,
        /// As it was given.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The program's file cannot be run.
    #[error("`{path}` could not be started: {source}")]
    Program {
        /// The program.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The folder to run in is not there.
    #[error("`{path}`, where the program should run, cannot be entered in the sandbox: {source}")]
    Cwd {
        /// The folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A mount inside a folder that would be an overlay, which takes root.
    #[error(
        "`{target}` has another file system mounted inside it, at `{inside}`, and cannot be an \
         overlay; name a folder without one, or run as root"
    )]
    NestedMount {
        /// The folder of the layer.
        target: PathBuf,
        /// The mount inside it.
        inside: PathBuf,
    },
    /// A part of the sandbox could not be set up.
    #[error("the sandbox could not be set up: {what}: {source}")]
    Setup {
        /// What was tried.
        what: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The process ended while it was being set up.
    #[error("the sandbox ended before the program started; the machine may be short of memory")]
    Vanished,
}

impl Error {
    /// A part of the set-up that failed.
    pub(crate) fn setup(what: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self::Setup {
            what: what.into(),
            source: source.into(),
        }
    }
}
