//! A folder with all beneath it, for whoever goes through many files at once.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::resolve::Last;
use super::{Files, Looked, Place};
use crate::error::{At, Error};

/// A real folder of a view in which nothing was changed. It can be used from several
/// threads.
///
/// Whoever walks it does so by path, and may be led astray by a link that is swapped in
/// meanwhile. What is opened or looked at here is beneath the root in any case, with no
/// link on the way, and not hidden.
#[derive(Debug, Clone, Copy)]
pub struct Beneath<'f> {
    files: &'f Files,
    root: usize,
}

impl Files {
    /// The real path of a folder or a file, and how to open what is beneath its root.
    pub fn beneath(&self, path: &Path) -> Result<(PathBuf, Beneath<'_>), Error> {
        let Place { root, rel } = self.resolve(path, Last::Followed)?;
        let open = &self.roots[root];
        if open.upper.get().is_some() {
            return Err(Errno::BUSY).at("go through", path);
        }
        let beneath = Beneath { files: self, root };
        Ok((open.lower.path.join(rel), beneath))
    }
}

impl Beneath<'_> {
    /// A regular file.
    pub fn open(&self, real: &Path) -> io::Result<File> {
        let tree = &self.files.roots[self.root].lower;
        tree.file(self.rel(real)?)
    }

    /// What a path is; `None` if nothing is there, or a link is on the way.
    pub fn look(&self, real: &Path) -> io::Result<Option<Looked>> {
        let tree = &self.files.roots[self.root].lower;
        Ok(tree.stat(self.rel(real)?)?.as_ref().map(Looked::of))
    }

    /// Whether it is not to be seen.
    pub fn is_hidden(&self, real: &Path) -> bool {
        self.files.is_hidden(real)
    }

    fn rel<'p>(&self, real: &'p Path) -> io::Result<&'p Path> {
        if self.is_hidden(real) {
            return Err(Errno::NOENT.into());
        }
        let root = &self.files.roots[self.root].lower.path;
        real.strip_prefix(root).map_err(|_| Errno::XDEV.into())
    }
}
