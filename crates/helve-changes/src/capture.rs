//! From two trees to a changeset: what was, what is to be, and the before-images.
//!
//! However the new tree came about (an overlay, a copy, [`crate::Files`]), it ends here
//! as a list of [`Candidate`]s. Each is read once; what turns out to be no change is
//! dropped; what lies outside the allowed paths, or needs a permission of its own, is
//! an error before anything else happens.

mod copy;
mod links;
mod merged;
mod overlay;
#[cfg(test)]
mod tests;
mod weigh;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::blobs::{Blobs, Lease};
use crate::changeset::{Change, Changeset};
use crate::commit::Quick;
use crate::each::each;
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::raw;
use crate::tree::{Stamp, Tree};
pub use copy::{Copied, capture_copy, copy_tree};
pub(crate) use copy::{content, create};
pub(crate) use merged::{BORROWED, Layer, Merged, Seen};
pub(crate) use overlay::{Index, walk_merged};
pub use overlay::{Overlay, capture_overlay};
pub(crate) use weigh::sum;
use weigh::{Weighed, weigh};

/// A changeset that was captured and not yet committed, with where its new contents
/// are.
#[derive(Debug, Serialize, Deserialize)]
pub struct Staged {
    /// What it would change.
    pub changeset: Changeset,
    /// New contents that lie in the stage; any other is a before-image.
    pub(crate) sources: Vec<Source>,
    /// Real files as they were when they were read, so that a commit can tell without
    /// reading them again.
    stamps: Vec<Stamped>,
    /// Keeps the before-images from being swept.
    #[serde(skip)]
    pub(crate) lease: Option<Lease>,
    /// It was committed before: new contents are where they were put, if they still are.
    #[serde(skip)]
    pub(crate) past: bool,
    /// Contents that are not on the disk yet, of a change of one file.
    #[serde(skip)]
    pub(crate) quick: Option<Quick>,
}

/// Where a new content is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Source {
    #[serde(with = "raw::path")]
    pub(crate) path: PathBuf,
    #[serde(with = "raw::path")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stamped {
    #[serde(with = "raw::path")]
    path: PathBuf,
    stamp: Stamp,
}

impl Staged {
    /// To be kept while somebody is asked.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("every field can be written as JSON")
    }

    /// What was kept. The changeset in it counts as read from outside: compare its id
    /// with the one that was approved.
    pub fn from_json(json: &[u8]) -> Result<Self, Error> {
        let staged: Self =
            serde_json::from_slice(json).map_err(|e| Error::Manifest(e.to_string()))?;
        Changeset::read(&staged.changeset.manifest())?;
        Ok(staged)
    }

    /// Gives the hold on the before-images back. Call it when the manifest is recorded
    /// where [`crate::Gc::plan`]'s caller finds it.
    pub fn recorded(&mut self) {
        self.lease = None;
    }

    /// A changeset whose new contents are all before-images of others.
    pub(crate) fn from_images(changeset: Changeset, lease: Lease) -> Self {
        Self {
            changeset,
            sources: Vec::new(),
            stamps: Vec::new(),
            lease: Some(lease),
            past: false,
            quick: None,
        }
    }

    /// A changeset that is no longer staged, only to be shown: what has gone of its
    /// contents meanwhile is left out.
    pub fn past(changeset: Changeset) -> Self {
        Self {
            changeset,
            sources: Vec::new(),
            stamps: Vec::new(),
            lease: None,
            past: true,
            quick: None,
        }
    }

    /// At most one file that changes, whose contents are held in memory.
    pub(crate) fn of_one(changeset: Changeset, stamp: Option<Stamp>, quick: Option<Quick>) -> Self {
        let path = changeset.changes.first().map(|c| c.path.clone());
        let stamps = path.zip(stamp).map(|(path, stamp)| Stamped { path, stamp });
        Self {
            changeset,
            sources: Vec::new(),
            stamps: stamps.into_iter().collect(),
            lease: None,
            past: false,
            quick,
        }
    }

    /// The same, with the new content of a path in a file.
    pub(crate) fn with_source(&self, path: &Path, file: PathBuf, lease: Lease) -> Self {
        let path = path.to_owned();
        Self {
            changeset: self.changeset.clone(),
            sources: vec![Source { path, file }],
            stamps: self.stamps.clone(),
            lease: Some(lease),
            past: self.past,
            quick: None,
        }
    }

    pub(crate) fn stamps(&self) -> BTreeMap<&Path, Stamp> {
        self.stamps
            .iter()
            .map(|s| (s.path.as_path(), s.stamp))
            .collect()
    }
}

/// A path that may have changed.
#[derive(Debug)]
pub(crate) struct Candidate<'t> {
    /// Absolute, in the real tree.
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Node<'t>>,
    pub(crate) after: Option<Node<'t>>,
    /// Where the overlay says that it came from.
    pub(crate) from: Option<PathBuf>,
}

/// Something in one of the trees.
#[derive(Debug, Clone)]
pub(crate) struct Node<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) rel: PathBuf,
    /// Where its content is, if an overlay copied only the rest of it.
    pub(crate) content: Option<(&'t Tree, PathBuf)>,
    /// Whose mode and owner count, if the stage could not hold them.
    pub(crate) meta: Option<(&'t Tree, PathBuf)>,
}

impl<'t> Node<'t> {
    pub(crate) fn new(tree: &'t Tree, rel: &Path) -> Self {
        Self {
            tree,
            rel: rel.to_owned(),
            content: None,
            meta: None,
        }
    }

    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.tree, other.tree) && self.rel == other.rel && self.content.is_none()
    }
}

/// Reads the candidates, keeps the before-images, and makes the changeset. `real` are
/// the trees that stay; contents of any other are in the stage.
pub(crate) fn finish(
    real: &[&Tree],
    candidates: Vec<Candidate<'_>>,
    allowed: &Allowed,
    blobs: &Blobs,
) -> Result<Staged, Error> {
    let lease = blobs.lease()?;
    let seen: HashSet<PathBuf> = candidates.iter().map(|c| c.path.clone()).collect();
    let weighed = each(candidates, |candidate| weigh(candidate, real, blobs))?;
    let mut weighed: Vec<Weighed> = weighed.into_iter().flatten().collect();
    weighed.sort_by(|a, b| a.path.cmp(&b.path));
    links::settle(&mut weighed, &seen, real)?;
    weighed.retain(|w| !w.before.same_linked(&w.after));

    let roots = real.iter().map(|t| t.path.clone()).collect();
    let (mut changes, mut sources, mut stamps) = (Vec::new(), Vec::new(), Vec::new());
    for weighed in weighed {
        let path = weighed.path;
        if let Some(file) = weighed.before.file()
            && !blobs.has(&file.sha256)
        {
            keep(real, &path, blobs)?;
        }
        if let Some(file) = weighed.source {
            let path = path.clone();
            sources.push(Source { path, file });
        }
        if let Some(stamp) = weighed.stamp {
            let path = path.clone();
            stamps.push(Stamped { path, stamp });
        }
        changes.push(Change {
            path,
            before: weighed.before,
            after: weighed.after,
            renamed_from: weighed.from,
        });
    }
    let mut changeset = Changeset::new(roots, changes);
    forget_stayers(&mut changeset);
    changeset.find_renames();
    allowed.check(&changeset)?;
    Ok(Staged {
        changeset,
        sources,
        stamps,
        lease: Some(lease),
        past: false,
        quick: None,
    })
}

/// Keeps the image of a file whose content did not change, though something else did.
fn keep(real: &[&Tree], path: &Path, blobs: &Blobs) -> Result<(), Error> {
    for tree in real {
        if let Ok(rel) = path.strip_prefix(&tree.path)
            && let Some(found) = tree.look(rel).at("read", path)?
            && let crate::tree::Thing::File(mut file, _) = found.kind
        {
            blobs.put_stream(&mut file)?;
            return Ok(());
        }
    }
    Ok(())
}

/// An overlay's word on where something came from holds only if it is gone from there.
fn forget_stayers(changeset: &mut Changeset) {
    let gone: HashSet<PathBuf> = changeset
        .changes
        .iter()
        .filter(|c| c.after.is_absent())
        .map(|c| c.path.clone())
        .collect();
    let mut used = HashSet::new();
    for change in &mut changeset.changes {
        let holds = |from: &PathBuf| {
            change.before.is_absent() && gone.contains(from) && used.insert(from.clone())
        };
        change.renamed_from = change.renamed_from.take().filter(holds);
    }
}
