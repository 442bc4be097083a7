//! From an overlay's upper folder to candidates.
//!
//! Run it when nothing is mounted on the upper folder any more. With `index=on` a
//! write to one name of a file shows at all of its names, though only one is in the
//! upper folder: the index in the work folder tells.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use super::merged::Folder;
use super::{Candidate, Layer, Merged, Node, Seen, Staged, finish};
use crate::blobs::Blobs;
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::tree::{Books, Found, Stamp, Thing, Tree};

/// One overlay of a run.
#[derive(Debug, Clone)]
pub struct Overlay {
    /// The real folder.
    pub lower: PathBuf,
    /// Where the changes are.
    pub upper: PathBuf,
    /// The work folder, if it was mounted with `index=on`.
    pub work: Option<PathBuf>,
    /// Where the overlay kept its books.
    pub books: Books,
}

struct Open {
    lower: Tree,
    upper: Tree,
    index: Option<Tree>,
    books: Books,
}

/// What was changed through overlays. The before-images are kept in `blobs`.
pub fn capture_overlay(
    overlays: &[Overlay],
    allowed: &Allowed,
    blobs: &Blobs,
) -> Result<Staged, Error> {
    let mut open = Vec::new();
    for overlay in overlays {
        let tree = |path: &Path| Tree::open(path).at("open", path);
        let index = overlay.work.as_ref().map(|work| work.join("index"));
        open.push(Open {
            lower: tree(&overlay.lower)?,
            upper: tree(&overlay.upper)?,
            index: index.filter(|i| i.is_dir()).map(|i| tree(&i)).transpose()?,
            books: overlay.books,
        });
    }
    let mut candidates = Vec::new();
    for open in &open {
        let found = walk_overlay(open, &mut candidates);
        found.at("read the overlay on", &open.lower.path)?;
    }
    let real: Vec<&Tree> = open.iter().map(|o| &o.lower).collect();
    finish(&real, candidates, allowed, blobs)
}

fn walk_overlay<'t>(open: &'t Open, out: &mut Vec<Candidate<'t>>) -> io::Result<()> {
    let merged = Merged {
        lower: &open.lower,
        upper: &open.upper,
        books: open.books,
    };
    let index = Index::read(open)?;
    walk_merged(&merged, &index, out)?;
    index.untouched_names(&merged, out)
}

/// Every path of a merged view that may differ from the lower folder.
pub(crate) fn walk_merged<'t>(
    merged: &Merged<'t>,
    index: &Index<'t>,
    out: &mut Vec<Candidate<'t>>,
) -> io::Result<()> {
    let empty = Path::new("");
    let mut root = Node::new(merged.upper, empty);
    if let Some(found) = merged.upper.look(empty)?
        && found
            .marks
            .iter()
            .any(|m| m.name.0 == super::merged::BORROWED.as_bytes())
    {
        root.meta = Some((merged.lower, PathBuf::new()));
    }
    out.push(Candidate {
        path: merged.lower.path.clone(),
        before: Some(Node::new(merged.lower, empty)),
        after: Some(root),
        from: None,
    });
    let walk = Walk { merged, index };
    walk.folder(empty, &Merged::root(), out)
}

struct Walk<'a, 't> {
    merged: &'a Merged<'t>,
    index: &'a Index<'t>,
}

impl<'t> Walk<'_, 't> {
    fn folder(&self, rel: &Path, folder: &Folder, out: &mut Vec<Candidate<'t>>) -> io::Result<()> {
        let in_place = folder.lower.as_deref() == Some(rel);
        let mut names = match (&folder.upper, in_place) {
            (None, true) => return Ok(()),
            (Some(upper), true) => self.merged.upper.names(upper)?.into_iter().collect(),
            (_, false) => self.merged.names(folder)?,
        };
        if !in_place && let Ok(old) = self.merged.lower.names(rel) {
            names.extend(old);
        }
        for name in names {
            let path = rel.join(&name);
            let seen = self.merged.child(folder, &name)?;
            self.one(&path, seen, out)?;
        }
        Ok(())
    }

    fn one(&self, rel: &Path, seen: Option<Seen>, out: &mut Vec<Candidate<'t>>) -> io::Result<()> {
        let lower = self.merged.lower;
        let before = lower.stat(rel)?;
        let was_dir = before.as_ref().is_some_and(|s| {
            rustix::fs::FileType::from_raw_mode(s.st_mode) == rustix::fs::FileType::Directory
        });
        let after = seen.as_ref().map(|seen| self.node(seen)).transpose()?;
        let from = seen.as_ref().and_then(|seen| match seen.layer {
            Layer::Upper => seen.from.as_ref(),
            Layer::Lower => Some(&seen.rel),
        });
        out.push(Candidate {
            path: lower.path.join(rel),
            before: before.map(|_| Node::new(lower, rel)),
            after,
            from: from.map(|from| lower.path.join(from)),
        });
        match seen.and_then(|s| s.folder) {
            Some(folder) => self.folder(rel, &folder, out),
            None if was_dir => deleted(lower, rel, out),
            None => Ok(()),
        }
    }

    fn node(&self, seen: &Seen) -> io::Result<Node<'t>> {
        let lower = self.merged.lower;
        if seen.layer == Layer::Lower
            && let Some(node) = self.index.node(lower, &seen.rel)?
        {
            return Ok(node);
        }
        let mut node = Node::new(self.merged.tree(seen.layer), &seen.rel);
        node.content = seen.content.clone().map(|rel| (lower, rel));
        node.meta = seen.meta.clone().map(|rel| (lower, rel));
        Ok(node)
    }
}

/// Everything beneath a folder that is gone.
pub(super) fn deleted<'t>(
    tree: &'t Tree,
    rel: &Path,
    out: &mut Vec<Candidate<'t>>,
) -> io::Result<()> {
    tree.walk(rel, &mut |path, _| {
        out.push(Candidate {
            path: tree.path.join(path),
            before: Some(Node::new(tree, path)),
            after: None,
            from: None,
        });
        Ok(())
    })
}

/// The files with several names that were copied up, by the inode that they had.
#[derive(Debug, Default)]
pub(crate) struct Index<'t>(HashMap<u64, Copied<'t>>);

#[derive(Debug)]
struct Copied<'t> {
    tree: &'t Tree,
    name: PathBuf,
    metacopy: bool,
}

impl<'t> Index<'t> {
    fn read(open: &'t Open) -> io::Result<Self> {
        let mut copied = HashMap::new();
        let Some(tree) = &open.index else {
            return Ok(Self(copied));
        };
        for name in tree.names(Path::new(""))? {
            let inode = name.to_str().and_then(handle_inode);
            let found: Option<Found> = tree.look(Path::new(&name))?;
            if let (Some(inode), Some(found)) = (inode, found)
                && matches!(found.kind, Thing::File(..))
            {
                let metacopy = found.mark(open.books, "metacopy").is_some();
                let name = name.into();
                copied.insert(
                    inode,
                    Copied {
                        tree,
                        name,
                        metacopy,
                    },
                );
            }
        }
        Ok(Self(copied))
    }

    /// The copy that a lower name shows.
    fn node(&self, lower: &'t Tree, rel: &Path) -> io::Result<Option<Node<'t>>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let stat = lower.stat(rel)?.filter(|s| s.st_nlink > 1);
        let copied = stat.and_then(|s| self.0.get(&Stamp::of(&s).ino));
        Ok(copied.map(|copied| {
            let mut node = Node::new(copied.tree, &copied.name);
            node.content = copied.metacopy.then(|| (lower, rel.to_owned()));
            node
        }))
    }

    /// Names that are not in the upper folder, of files that are in the index.
    fn untouched_names(&self, merged: &Merged<'t>, out: &mut Vec<Candidate<'t>>) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut names = Vec::new();
        merged.lower.walk(Path::new(""), &mut |rel, stat| {
            if stat.st_nlink > 1 && self.0.contains_key(&Stamp::of(stat).ino) {
                names.push(rel.to_owned());
            }
            Ok(())
        })?;
        for rel in names {
            let shown = merged.find(&rel)?;
            let untouched = shown.is_some_and(|s| s.layer == Layer::Lower && s.rel == rel);
            if let Some(after) = self.node(merged.lower, &rel)?.filter(|_| untouched) {
                out.push(Candidate {
                    path: merged.lower.path.join(&rel),
                    before: Some(Node::new(merged.lower, &rel)),
                    after: Some(after),
                    from: None,
                });
            }
        }
        Ok(())
    }
}

/// The inode in the name of an index entry: the hexadecimal of a file handle, whose
/// layout is the file system's own.
fn handle_inode(name: &str) -> Option<u64> {
    const TYPE: usize = 4;
    const HANDLE: usize = 21;
    let bytes: Option<Vec<u8>> = name
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let bytes = bytes?;
    let handle = bytes.get(HANDLE..)?;
    let word = |at: usize| -> Option<u64> {
        let bytes = handle.get(4 * at..4 * at + 4)?;
        Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    match (bytes.get(TYPE)?, handle.len()) {
        // ext4 and most others: inode, generation.
        (1, 8) => word(0),
        // tmpfs: generation, then the inode in two words.
        (1, 12) => Some(word(1)? | word(2)? << 32),
        // XFS and Btrfs: the inode in two words, then the rest.
        _ => Some(word(0)? | word(1)? << 32),
    }
}
