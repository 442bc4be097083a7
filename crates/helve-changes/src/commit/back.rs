//! Ends a commit that was cut short: on if nothing is missing, back otherwise.
//!
//! Going back is a commit too, from whatever is there now to what was before. A path
//! that is neither as it was, nor as it was to be, nor in between, was changed by
//! somebody else: it is left, and named.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rustix::fs::{self as sys, AtFlags, FileType};
use rustix::io::Errno;

use super::apply::Tolerance;
use super::{Entry, Now, Outcome, Probe, Work, ops, scan, step, trees};
use crate::blobs::Blobs;
use crate::changeset::{Change, Changeset};
use crate::error::{At, Conflict, Error, Why};
use crate::state::State;
use crate::tree::Tree;

/// Ends a commit that was cut short.
pub(super) fn end(
    entry: &Entry,
    blobs: &Blobs,
    probe: &dyn Probe,
) -> Result<(Outcome, Vec<Conflict>), Error> {
    let trees = trees(&entry.changeset)?;
    let now = scan(&trees, &entry.changeset, &BTreeMap::new())?;
    let work = Work {
        trees: &trees,
        now: &now,
        blobs,
        probe,
        aside: &entry.aside,
    };
    let changes = &entry.changeset.changes;
    let applied = changes
        .iter()
        .all(|c| now.state(&c.path).is_some_and(|s| s.same_linked(&c.after)));
    if applied {
        work.clear()?;
        work.sync_trees()?;
        return Ok((Outcome::Committed, Vec::new()));
    }
    let left = roll_back(&work, &entry.changeset)?;
    Ok((Outcome::RolledBack, left))
}

/// Makes every path what it was before, except for those that somebody else changed.
pub(super) fn roll_back(work: &Work<'_>, changeset: &Changeset) -> Result<Vec<Conflict>, Error> {
    work.clear()?;
    let now = scan(work.trees, changeset, &BTreeMap::new())?;
    let work = Work { now: &now, ..*work };
    let (mut left, mut ours) = (Vec::new(), changeset.clone());
    ours.changes.retain(|change| {
        let is_ours = is_ours(change, &now);
        if !is_ours {
            let path = change.path.clone();
            let why = Why::Changed;
            left.push(Conflict { path, why });
        }
        is_ours
    });
    let ops = ops(&ours, &now, |change| &change.before)?;
    let prepared = work.prepare(&ops, &[])?;
    left.extend(work.apply(&ops, &prepared, Tolerance::Leave)?);
    work.clear()?;
    work.sync_trees()?;
    Ok(left)
}

/// Whether a path is as we left it at some step.
fn is_ours(change: &Change, now: &Now) -> bool {
    let (before, after) = (&change.before, &change.after);
    match now.state(&change.path) {
        None => false,
        Some(now) if now.same(before) || now.same(after) => true,
        Some(State::Absent) => !before.same_kind(after),
        // Mode, owner and attributes of a folder are set one after the other.
        Some(State::Dir(_)) => before.is_dir() || after.is_dir(),
        Some(_) => false,
    }
}

/// Removes our folders of a commit that applied nothing.
pub(super) fn clear_all(entry: &Entry, probe: &dyn Probe) -> Result<(), Error> {
    for tree in trees(&entry.changeset)? {
        clear_folder(&tree, &entry.aside, probe)?;
    }
    Ok(())
}

/// Removes our folder in a root, if it is there.
pub(super) fn clear_folder(tree: &Tree, name: &str, probe: &dyn Probe) -> Result<(), Error> {
    let path = tree.path.join(name);
    let cleared = tree.folder(Path::new(name)).and_then(|folder| {
        for entry in crate::tree::names(&folder)? {
            let stat = sys::statat(&folder, entry.as_os_str(), AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                return Err(Errno::NOTEMPTY.into());
            }
            step(probe, "clear", || {
                Ok(sys::unlinkat(&folder, entry.as_os_str(), AtFlags::empty())?)
            })?;
        }
        step(probe, "clear", || {
            Ok(sys::unlinkat(tree.fd(), name, AtFlags::REMOVEDIR)?)
        })
    });
    match cleared {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        cleared => cleared.at("clear", &path),
    }
}
