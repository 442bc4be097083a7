//! What was put in place, on the disk.
//!
//! Path by path, so that one that cannot be brought there holds up no other. Without the lock of
//! the journal: a file that is put in place meanwhile has a redo of its own, and whichever of the
//! two is synced, the folder leads to one that is on the disk or can be done again.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use rustix::fs::{self as sys, FileType};
use rustix::io::Errno;

use super::super::{FEW, Journal, Probe, step};
use crate::blobs::Blobs;
use crate::changeset::Changeset;
use crate::error::{At, Error};
use crate::tree::{Tree, is_gone};

/// Paths that could not be brought to the disk.
#[derive(Debug)]
pub struct Trouble {
    /// Those.
    pub paths: Vec<PathBuf>,
    /// What went wrong. Where [`Error::is_failed_sync`], a sync that succeeds later says nothing:
    /// the system has given up what it could not write, and takes what is in memory for what
    /// is on the disk. Only [`Journal::redo`], which writes it anew, mends that.
    pub error: Error,
}

impl Journal {
    /// Makes what was put in place durable, and what was there before; tells of which it could
    /// not. All others need not be done again.
    pub fn harden(&self, placed: &[Changeset], blobs: &Blobs) -> Vec<Trouble> {
        self.harden_with(placed, blobs, &())
    }

    /// The same, for tests that make a step fail.
    pub fn harden_with(
        &self,
        placed: &[Changeset],
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Vec<Trouble> {
        harden(placed, blobs, probe)
    }
}

pub(super) fn harden(placed: &[Changeset], blobs: &Blobs, probe: &dyn Probe) -> Vec<Trouble> {
    let mut paths: HashMap<&Path, &Changeset> = HashMap::new();
    for changeset in placed {
        paths.extend(changeset.entries().map(|(path, _)| (path, changeset)));
    }
    if let Err(error) = sync_images(placed, blobs) {
        let paths = paths.into_keys().map(Path::to_owned).collect();
        return vec![Trouble { paths, error }];
    }
    let (few, mut troubles) = (paths.len() <= FEW, Vec::new());
    let mut folders: BTreeMap<_, (OwnedFd, Vec<PathBuf>)> = BTreeMap::new();
    for (path, changeset) in paths {
        let reached = reach(path, changeset).and_then(|found| match found {
            Some((tree, rel, folder)) => {
                let device = sys::fstat(&folder).at("look at", path)?.st_dev;
                if few {
                    sync_file(&tree, rel, path, probe)?;
                }
                Ok(Some((device, folder)))
            }
            None => Ok(None),
        });
        match reached {
            Ok(Some((device, folder))) => {
                let key = (device, path.parent().filter(|_| few));
                let (_, paths) = folders.entry(key).or_insert((folder, Vec::new()));
                paths.push(path.to_owned());
            }
            // Somebody has removed it since.
            Ok(None) => {}
            Err(error) => troubles.push(Trouble {
                paths: vec![path.to_owned()],
                error,
            }),
        }
    }
    for (folder, paths) in folders.into_values() {
        // Each once: what failed for one path must not seem to go well for the next.
        let synced = match few {
            true => step(probe, "sync", || Ok(sys::fsync(&folder)?)).at("sync", &paths[0]),
            false => step(probe, "sync", || Ok(sys::syncfs(&folder)?))
                .at("sync the file system of", &paths[0]),
        };
        if let Err(error) = synced {
            troubles.push(Trouble { paths, error });
        }
    }
    troubles
}

fn sync_images(placed: &[Changeset], blobs: &Blobs) -> Result<(), Error> {
    let mut images: Vec<Hash> = placed.iter().flat_map(Changeset::images).collect();
    if images.is_empty() {
        return Ok(());
    }
    let _lease = blobs.lease()?;
    images.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    images.dedup();
    // What was let go of meanwhile is not wanted back.
    images.retain(|image| blobs.has(image));
    blobs.sync(&images)
}

type Reached<'p> = (Tree, &'p Path, OwnedFd);

/// The root of a path and its folder; nothing if one of them is gone.
pub(super) fn reach<'p>(
    path: &'p Path,
    changeset: &Changeset,
) -> Result<Option<Reached<'p>>, Error> {
    let Some((root, rel)) = changeset.root_of(path) else {
        return Ok(None);
    };
    let opened = Tree::open(&changeset.roots[root]);
    match opened.and_then(|tree| Ok((tree.parent(rel)?.0, tree))) {
        Err(e) if is_gone(&e) => Ok(None),
        opened => {
            let (folder, tree) = opened.at("open", path)?;
            Ok(Some((tree, rel, folder)))
        }
    }
}

/// What is no regular file by now has no content to sync.
fn sync_file(tree: &Tree, rel: &Path, path: &Path, probe: &dyn Probe) -> Result<(), Error> {
    let stat = tree.stat(rel).at("look at", path)?;
    let kind = stat.map(|stat| FileType::from_raw_mode(stat.st_mode));
    if kind != Some(FileType::RegularFile) {
        return Ok(());
    }
    match step(probe, "open to sync", || tree.file(rel)) {
        Err(e) if is_no_file(&e) => Ok(()),
        file => {
            let file = file.at("open", path)?;
            step(probe, "sync", || file.sync_all()).at("sync", path)
        }
    }
}

fn is_no_file(error: &io::Error) -> bool {
    is_gone(error) || Errno::from_io_error(error) == Some(Errno::INVAL)
}
