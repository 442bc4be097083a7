//! Work on the files of a run, all of it in one thread beside the runtime.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use helve_changes::{Beneath, Error, Files as View, Looked};

use super::Opened;
use crate::ToolError;
use crate::keeper::refusal;

/// The files of a run, for a piece of work. Relative paths begin at the workspace.
#[derive(Clone, Copy)]
pub struct Desk<'d> {
    view: &'d View,
    opened: &'d Opened,
    path: &'d Path,
    stopped: &'d AtomicBool,
}

impl std::fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Desk").field(&self.path).finish()
    }
}

impl<'d> Desk<'d> {
    pub(super) fn new(
        view: &'d View,
        opened: &'d Opened,
        path: &'d Path,
        stopped: &'d AtomicBool,
    ) -> Self {
        Self {
            view,
            opened,
            path,
            stopped,
        }
    }

    /// Where the work begins.
    pub fn path(&self) -> &'d Path {
        self.path
    }

    /// Whether nobody waits for the work any more.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// A path as it is shown: from the workspace, where it is inside.
    pub fn shown(&self, path: &Path) -> String {
        self.opened.shown(path)
    }

    /// A file, to be read in pieces.
    pub fn open(&self, path: &Path) -> Result<File, ToolError> {
        let path = self.seen(path)?;
        self.view.open(&path).map_err(|e| self.told(&e))
    }

    /// A file, to be read in pieces, and what it is.
    pub fn open_looked(&self, path: &Path) -> Result<(File, Looked), ToolError> {
        let path = self.seen(path)?;
        self.view.open_looked(&path).map_err(|e| self.told(&e))
    }

    /// The bytes of a file.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, ToolError> {
        let mut bytes = Vec::new();
        self.open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What a path is, if it is there; a link is not followed.
    pub fn look(&self, path: &Path) -> Result<Option<Looked>, ToolError> {
        let path = self.seen(path)?;
        self.view.look(&path).map_err(|e| self.told(&e))
    }

    /// What is in a folder, by name.
    pub fn list(&self, path: &Path) -> Result<Vec<(OsString, Looked)>, ToolError> {
        let path = self.seen(path)?;
        self.view.list(&path).map_err(|e| self.told(&e))
    }

    /// The real path of a folder or file, and how to open what is beneath, from several
    /// threads. Not once something was changed.
    pub fn beneath(&self, path: &Path) -> Result<(PathBuf, Beneath<'d>), ToolError> {
        let path = self.seen(path)?;
        self.view.beneath(&path).map_err(|e| self.told(&e))
    }

    /// Makes a file, or gives it another content. Its folder must be there.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.write(&path, bytes).map_err(|e| self.told(&e))
    }

    /// Adds to a file, which is made if it is not there.
    pub fn append(&self, path: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.append(&path, bytes).map_err(|e| self.told(&e))
    }

    /// Makes a folder, and those above it.
    pub fn create_dir_all(&self, path: &Path) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.create_dir_all(&path).map_err(|e| self.told(&e))
    }

    /// Removes a file, a link or an empty folder.
    pub fn remove(&self, path: &Path) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.remove(&path).map_err(|e| self.told(&e))
    }

    /// Removes a folder with all that is in it.
    pub fn remove_dir_all(&self, path: &Path) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.remove_dir_all(&path).map_err(|e| self.told(&e))
    }

    /// Puts a file or a folder elsewhere.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<(), ToolError> {
        let (from, to) = (self.seen(from)?, self.seen(to)?);
        self.view.rename(&from, &to).map_err(|e| self.told(&e))
    }

    /// Copies a file, a link, or a folder with all in it, to where nothing is.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<(), ToolError> {
        let (from, to) = (self.seen(from)?, self.seen(to)?);
        let copied = self.view.copy(&from, &to, self.stopped);
        copied.map_err(|e| self.told(&e))
    }

    /// Makes a link that leads to `target`.
    pub fn symlink(&self, target: &Path, path: &Path) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.symlink(target, &path).map_err(|e| self.told(&e))
    }

    /// Sets the permission bits.
    pub fn set_mode(&self, path: &Path, mode: u32) -> Result<(), ToolError> {
        let path = self.seen(path)?;
        self.view.set_mode(&path, mode).map_err(|e| self.told(&e))
    }

    fn seen(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let path = self.opened.start.join(path);
        self.opened.may_see(&path)?;
        Ok(path)
    }

    /// What went wrong, for whoever called.
    fn told(&self, error: &Error) -> ToolError {
        let one = |paths: &[PathBuf]| paths.first().map_or_else(String::new, |p| self.shown(p));
        match error {
            Error::Io { path, source, .. } => match io_error(source, &self.shown(path)) {
                Some(told) => told,
                None => refusal(error),
            },
            Error::Hidden { path } => ToolError::permission(format!(
                "`{}` is, or holds, the hub's own state, which is not for tools",
                self.shown(path)
            )),
            Error::Outside { paths } => ToolError::permission(format!(
                "`{}` leads outside of what the tool may touch",
                one(paths)
            )),
            Error::ReadOnly { path } => {
                ToolError::permission(format!("`{}` may only be read", self.shown(path)))
            }
            Error::Special { path, kind } => ToolError::permission(format!(
                "`{}` is a {kind}, and neither a file nor a folder",
                self.shown(path)
            )),
            Error::Stopped => ToolError::timeout("it was stopped before it was done"),
            _ => refusal(error),
        }
    }
}

fn io_error(source: &io::Error, path: &str) -> Option<ToolError> {
    Some(match source.kind() {
        io::ErrorKind::NotFound => ToolError::not_found(format!("there is no `{path}`")),
        io::ErrorKind::IsADirectory => ToolError::validation(format!("`{path}` is a folder")),
        io::ErrorKind::NotADirectory => ToolError::validation(format!(
            "`{path}` is no folder, or goes through something that is none"
        )),
        io::ErrorKind::AlreadyExists => ToolError::conflict(format!("`{path}` is there already")),
        io::ErrorKind::DirectoryNotEmpty => {
            ToolError::conflict(format!("the folder `{path}` is not empty"))
        }
        io::ErrorKind::PermissionDenied => {
            ToolError::permission(format!("the system does not let the hub touch `{path}`"))
        }
        io::ErrorKind::InvalidFilename => {
            ToolError::validation(format!("`{path}` has a name that is too long"))
        }
        io::ErrorKind::StaleNetworkFileHandle => {
            ToolError::conflict(format!("`{path}` changed while it was looked at"))
                .with_hint("call it again")
        }
        io::ErrorKind::ResourceBusy => ToolError::validation(format!(
            "`{path}` is the root, which cannot be changed itself"
        )),
        _ => return None,
    })
}
