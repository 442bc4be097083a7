//! An upper folder over a lower one, read as the kernel's overlay would show them.
//!
//! Knows whiteouts (a device 0:0, or a mark on an empty file), opaque folders, renamed
//! folders (`redirect`) and files of which only the rest was copied (`metacopy`). Only
//! marks in the books that the mount used count.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use crate::tree::{Books, Found, Thing, Tree, is_gone};

/// An upper folder over a lower one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Merged<'t> {
    pub(crate) lower: &'t Tree,
    pub(crate) upper: &'t Tree,
    pub(crate) books: Books,
}

/// In which of the two something lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Upper,
    Lower,
}

/// Something in the merged view.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) layer: Layer,
    /// Its path in that layer.
    pub(crate) rel: PathBuf,
    /// If it is a folder: what it is merged from.
    pub(crate) folder: Option<Folder>,
    /// Its content's path in the lower layer, if only the rest was copied.
    pub(crate) content: Option<PathBuf>,
    /// The path in the lower layer whose mode and owner it has.
    pub(crate) meta: Option<PathBuf>,
    /// Where it was renamed from.
    pub(crate) from: Option<PathBuf>,
}

/// A folder of the merged view: its path in each layer that has part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    pub(crate) upper: Option<PathBuf>,
    pub(crate) lower: Option<PathBuf>,
}

/// The mark by which [`crate::Files`] says that a folder's mode and owner are the lower
/// one's, where it may not give them away.
pub(crate) const BORROWED: &str = "user.helve.borrowed";

impl Seen {
    /// What is at a path of the lower layer, where that is all there is.
    pub(crate) fn in_lower(lower: &Tree, rel: PathBuf) -> io::Result<Option<Self>> {
        let Some(found) = lower.stat(&rel)? else {
            return Ok(None);
        };
        let is_dir =
            rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::Directory;
        let folder = is_dir.then(|| Folder {
            upper: None,
            lower: Some(rel.clone()),
        });
        Ok(Some(Self {
            layer: Layer::Lower,
            rel,
            folder,
            content: None,
            meta: None,
            from: None,
        }))
    }
}

impl<'t> Merged<'t> {
    /// The root.
    pub(crate) fn root() -> Folder {
        Folder {
            upper: Some(PathBuf::new()),
            lower: Some(PathBuf::new()),
        }
    }

    /// What a name in a folder is; `None` if nothing.
    pub(crate) fn child(&self, folder: &Folder, name: &OsStr) -> io::Result<Option<Seen>> {
        let below = folder.lower.as_ref().map(|lower| lower.join(name));
        if let Some(upper) = &folder.upper {
            let rel = upper.join(name);
            if let Some(found) = self.upper.look(&rel)? {
                return self.in_upper(&found, rel, below);
            }
        }
        let Some(rel) = below else {
            return Ok(None);
        };
        Seen::in_lower(self.lower, rel)
    }

    fn in_upper(
        &self,
        found: &Found,
        rel: PathBuf,
        below: Option<PathBuf>,
    ) -> io::Result<Option<Seen>> {
        if self.is_whiteout(found) {
            return Ok(None);
        }
        let redirect = found.mark(self.books, "redirect");
        let from = redirect
            .map(|to| redirected(to, below.as_deref()))
            .transpose()?;
        let mut seen = Seen {
            layer: Layer::Upper,
            rel: rel.clone(),
            folder: None,
            content: None,
            meta: None,
            from: from.clone(),
        };
        if found.is_dir() {
            let opaque = found.mark(self.books, "opaque") == Some(b"y");
            let lower = from.or(below).filter(|_| !opaque);
            let lower = match lower {
                Some(lower) if self.is_folder(&lower)? => Some(lower),
                _ => None,
            };
            if found.marks.iter().any(|m| m.name.0 == BORROWED.as_bytes()) {
                seen.meta.clone_from(&lower);
            }
            let upper = Some(rel);
            seen.folder = Some(Folder { upper, lower });
        } else if found.mark(self.books, "metacopy").is_some() {
            seen.content = from.or(below);
        }
        Ok(Some(seen))
    }

    fn is_whiteout(&self, found: &Found) -> bool {
        match &found.kind {
            Thing::Whiteout => true,
            Thing::File(..) => {
                found.stamp.size == 0 && found.mark(self.books, "whiteout").is_some()
            }
            _ => false,
        }
    }

    fn is_folder(&self, lower: &Path) -> io::Result<bool> {
        let stat = self.lower.stat(lower)?;
        Ok(stat.is_some_and(|s| {
            rustix::fs::FileType::from_raw_mode(s.st_mode) == rustix::fs::FileType::Directory
        }))
    }

    /// What is at a path; symlinks are not followed.
    pub(crate) fn find(&self, rel: &Path) -> io::Result<Option<Seen>> {
        let mut seen = Seen {
            layer: Layer::Upper,
            rel: PathBuf::new(),
            folder: Some(Self::root()),
            content: None,
            meta: None,
            from: None,
        };
        for part in rel.components() {
            let (Component::Normal(name), Some(folder)) = (part, &seen.folder) else {
                return Ok(None);
            };
            match self.child(folder, name)? {
                Some(next) => seen = next,
                None => return Ok(None),
            }
        }
        Ok(Some(seen))
    }

    /// The names in a folder, whiteouts among them.
    pub(crate) fn names(&self, folder: &Folder) -> io::Result<BTreeSet<OsString>> {
        let mut names = BTreeSet::new();
        for (tree, rel) in [(self.upper, &folder.upper), (self.lower, &folder.lower)] {
            if let Some(rel) = rel {
                match tree.names(rel) {
                    Err(e) if is_gone(&e) => {}
                    found => names.extend(found?),
                }
            }
        }
        Ok(names)
    }

    pub(crate) fn tree(&self, layer: Layer) -> &'t Tree {
        match layer {
            Layer::Upper => self.upper,
            Layer::Lower => self.lower,
        }
    }
}

/// Where a redirect leads: from the overlay's root, or beside where it would have been.
fn redirected(to: &[u8], below: Option<&Path>) -> io::Result<PathBuf> {
    let to = Path::new(OsStr::from_bytes(to));
    let clean = |p: &Path| p.components().all(|c| matches!(c, Component::Normal(_)));
    let path = match to.strip_prefix("/") {
        Ok(rel) => rel.to_owned(),
        Err(_) => below
            .and_then(Path::parent)
            .unwrap_or(Path::new(""))
            .join(to),
    };
    match clean(&path) {
        true => Ok(path),
        false => Err(Errno::XDEV.into()),
    }
}
