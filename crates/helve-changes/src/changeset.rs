//! What a run changed: every path with what it was and what it is to be.
//!
//! Its id is the hash of its manifest, and an approval is bound to that id. The
//! manifest is spelled in one way only: [`Changeset::read`] refuses any other.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use helve_core::audit::Hash;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::raw;
use crate::state::State;

/// What a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changeset {
    /// The spelling of the manifest.
    pub version: u32,
    /// The folders that it lies beneath.
    #[serde(with = "raw::paths")]
    pub roots: Vec<PathBuf>,
    /// Sorted by path, each path once.
    pub changes: Vec<Change>,
}

/// One path that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Which, from the root of the file system.
    #[serde(with = "raw::path")]
    pub path: PathBuf,
    /// What it was.
    pub before: State,
    /// What it is to be.
    pub after: State,
    /// The path that was given up for this one.
    #[serde(
        with = "raw::maybe_path",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub renamed_from: Option<PathBuf>,
}

/// In which way a path changed, for those who read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It was not there.
    Created,
    /// It is another content, or another kind of thing.
    Changed,
    /// It is gone.
    Deleted,
    /// It was at another path.
    Renamed,
    /// Permission bits.
    Mode,
    /// Owner or group.
    Owner,
    /// A symlink points elsewhere.
    Symlink,
    /// It shares its content with other names than before.
    Links,
    /// Extended attributes.
    Xattr,
}

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Paths that were not there.
    pub created: usize,
    /// Paths that are something else.
    pub changed: usize,
    /// Paths that are gone.
    pub deleted: usize,
    /// Paths that were elsewhere; they count as neither created nor deleted.
    pub renamed: usize,
    /// Bytes of all files before.
    pub bytes_before: u64,
    /// Bytes of all files after.
    pub bytes_after: u64,
}

const VERSION: u32 = 1;

impl Changeset {
    /// Changes in order, each path once.
    /// One that changes nothing.
    pub fn empty() -> Self {
        Self::new(Vec::new(), Vec::new())
    }

    pub(crate) fn new(mut roots: Vec<PathBuf>, mut changes: Vec<Change>) -> Self {
        roots.sort();
        roots.dedup();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes.dedup_by(|a, b| a.path == b.path);
        Self {
            version: VERSION,
            roots,
            changes,
        }
    }

    /// The manifest.
    pub fn manifest(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("every field can be written as JSON")
    }

    /// The hash of the manifest.
    pub fn id(&self) -> Hash {
        Hash::of(&self.manifest())
    }

    /// Reads a manifest.
    pub fn read(manifest: &[u8]) -> Result<Self, Error> {
        let read: Self =
            serde_json::from_slice(manifest).map_err(|e| Error::Manifest(e.to_string()))?;
        let sorted = read.changes.is_sorted_by(|a, b| a.path < b.path);
        let clean = |p: &PathBuf| {
            let plain = |c| matches!(c, Component::RootDir | Component::Normal(_));
            let spelled = p.components().collect::<PathBuf>();
            p.is_absolute() && p.components().all(plain) && spelled.as_os_str() == p.as_os_str()
        };
        let rooted = read
            .changes
            .iter()
            .all(|c| clean(&c.path) && read.root_of(&c.path).is_some());
        if read.version != VERSION || !sorted || !rooted || read.manifest() != manifest {
            return Err(Error::Manifest(
                "it is not spelled as Helve writes it".to_owned(),
            ));
        }
        Ok(read)
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What its undo needs, each once.
    pub fn images(&self) -> Vec<Hash> {
        let mut images: Vec<Hash> = self
            .changes
            .iter()
            .filter_map(|c| c.before.file().map(|f| f.sha256))
            .collect();
        images.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        images.dedup();
        images
    }

    /// Each path with how it changed: what an index of the history needs.
    pub fn entries(&self) -> impl Iterator<Item = (&Path, Kind)> {
        self.changes.iter().map(|c| (c.path.as_path(), c.kind()))
    }

    /// How much changed.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for change in &self.changes {
            match change.kind() {
                Kind::Created => totals.created += 1,
                Kind::Deleted => totals.deleted += 1,
                Kind::Renamed => totals.renamed += 1,
                _ => totals.changed += 1,
            }
            totals.bytes_before += change.before.file().map_or(0, |f| f.size);
            totals.bytes_after += change.after.file().map_or(0, |f| f.size);
        }
        // The old name of a rename is no deletion of its own.
        totals.deleted -= totals.renamed.min(totals.deleted);
        totals
    }

    /// The change of a path.
    pub fn get(&self, path: &Path) -> Option<&Change> {
        let at = self
            .changes
            .binary_search_by(|c| c.path.as_path().cmp(path));
        at.ok().map(|i| &self.changes[i])
    }

    /// The root that a path lies beneath, and its way from there.
    pub(crate) fn root_of<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        let beneath = self.roots.iter().enumerate();
        beneath
            .filter_map(|(i, root)| Some((i, path.strip_prefix(root).ok()?)))
            .min_by_key(|(_, rel)| rel.as_os_str().len())
    }

    /// Pairs what was deleted with what was created of the same content.
    pub(crate) fn find_renames(&mut self) {
        let mut given_up: HashMap<Hash, Vec<PathBuf>> = HashMap::new();
        let taken: HashSet<PathBuf> = self
            .changes
            .iter()
            .filter_map(|c| c.renamed_from.clone())
            .collect();
        for change in self.changes.iter().rev() {
            let file = change.before.file().filter(|f| f.size > 0);
            if let Some(file) = file.filter(|_| change.after.is_absent())
                && !taken.contains(&change.path)
            {
                given_up
                    .entry(file.sha256)
                    .or_default()
                    .push(change.path.clone());
            }
        }
        for change in &mut self.changes {
            let created = change.before.is_absent() && change.renamed_from.is_none();
            if let Some(file) = change.after.file().filter(|_| created) {
                change.renamed_from = given_up.get_mut(&file.sha256).and_then(Vec::pop);
            }
        }
    }
}

impl Change {
    /// The most telling way in which it changed.
    pub fn kind(&self) -> Kind {
        self.kinds().first().copied().unwrap_or(Kind::Changed)
    }

    /// Every way in which it changed, the most telling first.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        match (&self.before, &self.after) {
            (_, State::Absent) => return vec![Kind::Deleted],
            (State::Absent, _) if self.renamed_from.is_some() => return vec![Kind::Renamed],
            (State::Absent, _) => return vec![Kind::Created],
            (State::File(before), State::File(after)) => {
                if before.sha256 != after.sha256 {
                    kinds.push(Kind::Changed);
                }
            }
            (State::Symlink(before), State::Symlink(after)) => {
                if before.target != after.target {
                    kinds.push(Kind::Symlink);
                }
            }
            (State::Dir(_), State::Dir(_)) | (State::Fifo(_), State::Fifo(_)) => {}
            _ => kinds.push(Kind::Changed),
        }
        if let (Some(before), Some(after)) = (self.before.meta(), self.after.meta()) {
            if before.mode != after.mode {
                kinds.push(Kind::Mode);
            }
            if before.xattrs != after.xattrs {
                kinds.push(Kind::Xattr);
            }
        }
        if self.before.owner() != self.after.owner() {
            kinds.push(Kind::Owner);
        }
        if self.before.links() != self.after.links() {
            kinds.push(Kind::Links);
        }
        kinds
    }
}
