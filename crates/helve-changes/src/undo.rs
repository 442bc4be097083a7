//! Takes changesets back, by making the one that does.
//!
//! Three states for each path: what it was before the runs, what they made of it, and
//! what it is now. As they made it → restored. As it was → nothing to do. Anything
//! else → somebody's later work: the whole undo is refused, unless it is forced. What
//! an undo replaces is kept like what a run replaces, so that an undo can be undone.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::blobs::Blobs;
use crate::capture::Staged;
use crate::changeset::{Change, Changeset};
use crate::commit::{Now, scan, trees};
use crate::each::each;
use crate::error::{At, Conflict, Error, Why};
use crate::state::{FileState, Meta, State};
use crate::tree::{Thing, Tree};

/// What to take back.
#[derive(Debug, Clone, Copy)]
pub struct Undo<'a> {
    /// The changesets, the newest first.
    pub changesets: &'a [&'a Changeset],
    /// Only these paths and what lies beneath them; `None` for all.
    pub only: Option<&'a [PathBuf]>,
    /// What about paths that were changed since.
    pub later: Later,
}

/// What about paths that somebody changed after the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// Refuse the undo, and name them.
    Refuse,
    /// Restore them too. What others put into a folder still stays, and the folder
    /// with it.
    Replace,
}

/// The changeset that takes others back.
#[derive(Debug)]
pub struct Undone {
    /// To be committed like any other.
    pub staged: Staged,
    /// Paths that already are as they were.
    pub already: Vec<PathBuf>,
    /// Folders that stay because others put something into them.
    pub kept: Vec<PathBuf>,
}

impl Undone {
    /// There is nothing to take back.
    pub fn nothing() -> Self {
        Self {
            staged: Staged::past(Changeset::empty()),
            already: Vec::new(),
            kept: Vec::new(),
        }
    }
}

/// One path over several changesets.
#[derive(Debug)]
struct Chain {
    before: State,
    after: State,
    gap: bool,
}

/// Makes the changeset that takes others back.
pub fn undo(undo: &Undo<'_>, blobs: &Blobs) -> Result<Undone, Error> {
    let wanted = wanted(undo);
    let lease = blobs.lease()?;
    let trees = trees(&wanted)?;
    let now = scan(&trees, &wanted, &BTreeMap::new())?;
    let gaps = gaps(undo);
    let mut plan = Plan {
        now: &now,
        trees: &trees,
        later: undo.later,
        conflicts: Vec::new(),
        already: Vec::new(),
        kept: Vec::new(),
    };
    let mut changes: Vec<Change> = wanted
        .changes
        .iter()
        .filter_map(|change| plan.one(change, gaps.contains(&change.path)))
        .collect();
    plan.folders(&wanted, &mut changes)?;
    plan.links(&mut changes);
    let Plan {
        mut conflicts,
        already,
        kept,
        ..
    } = plan;
    if !conflicts.is_empty() {
        conflicts.sort_by(|a, b| a.path.cmp(&b.path));
        return Err(Error::Conflict { paths: conflicts });
    }
    let mut changeset = Changeset::new(wanted.roots.clone(), changes);
    changeset.find_renames();
    let needed: Vec<_> = changeset
        .changes
        .iter()
        .filter_map(|c| c.after.file().map(|f| f.sha256))
        .collect();
    blobs.check(&needed)?;
    keep(&changeset, &trees, blobs)?;
    Ok(Undone {
        staged: Staged::from_images(changeset, lease),
        already,
        kept,
    })
}

fn chains(undo: &Undo<'_>) -> BTreeMap<PathBuf, Chain> {
    let mut chains: BTreeMap<PathBuf, Chain> = BTreeMap::new();
    for change in undo.changesets.iter().flat_map(|c| &c.changes) {
        let fresh = || Chain {
            before: change.before.clone(),
            after: change.after.clone(),
            gap: false,
        };
        chains
            .entry(change.path.clone())
            .and_modify(|chain| {
                chain.gap |= !chain.before.same(&change.after);
                chain.before = change.before.clone();
            })
            .or_insert_with(fresh);
    }
    chains
}

/// The changes of all the runs turned round, as if nothing had happened since.
fn wanted(undo: &Undo<'_>) -> Changeset {
    let chains = chains(undo);
    let chosen = |path: &Path| {
        undo.only
            .is_none_or(|only| only.iter().any(|o| path.starts_with(o)))
    };
    let mut paths: BTreeSet<&Path> = chains
        .keys()
        .map(PathBuf::as_path)
        .filter(|p| chosen(p))
        .collect();
    // What lies in a folder that the runs took away needs that folder.
    let restored = |p: &Path| !chains[p].before.is_absent();
    let parents: Vec<&Path> = paths
        .iter()
        .filter(|p| restored(p))
        .flat_map(|p| p.ancestors().skip(1))
        .filter(|p| {
            chains
                .get(*p)
                .is_some_and(|c| c.before.is_dir() && !c.after.is_dir())
        })
        .collect();
    paths.extend(parents);
    let changes = paths
        .into_iter()
        .map(|path| Change {
            path: path.to_owned(),
            before: chains[path].after.clone(),
            after: chains[path].before.clone(),
            renamed_from: None,
        })
        .collect();
    let roots = undo
        .changesets
        .iter()
        .flat_map(|c| c.roots.clone())
        .collect();
    Changeset::new(roots, changes)
}

fn gaps(undo: &Undo<'_>) -> BTreeSet<PathBuf> {
    let gaps = chains(undo).into_iter().filter(|(_, chain)| chain.gap);
    gaps.map(|(path, _)| path).collect()
}

struct Plan<'a> {
    now: &'a Now,
    trees: &'a [Tree],
    later: Later,
    conflicts: Vec<Conflict>,
    already: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

impl Plan<'_> {
    fn refuse(&mut self, path: &Path, why: Why) {
        let path = path.to_owned();
        self.conflicts.push(Conflict { path, why });
    }

    /// What is to become of one path.
    fn one(&mut self, wanted: &Change, gap: bool) -> Option<Change> {
        let Some(now) = self.now.state(&wanted.path) else {
            self.refuse(&wanted.path, Why::Changed);
            return None;
        };
        if now.same(&wanted.after) && !now.same_linked(&wanted.before) {
            self.already.push(wanted.path.clone());
            return None;
        }
        let why = match now {
            _ if gap => Some(Why::Gap),
            now if now.same(&wanted.before) => None,
            State::Absent => Some(Why::Gone),
            _ if wanted.before.is_absent() => Some(Why::Appeared),
            _ => Some(Why::Changed),
        };
        if let Some(why) = why.filter(|_| self.later == Later::Refuse) {
            self.refuse(&wanted.path, why);
            return None;
        }
        Some(Change {
            path: wanted.path.clone(),
            before: now.clone(),
            after: wanted.after.clone(),
            renamed_from: None,
        })
    }

    /// Folders that cannot go because of what is in them, and folders that are missing.
    fn folders(&mut self, wanted: &Changeset, changes: &mut Vec<Change>) -> Result<(), Error> {
        // From the deepest up: a folder that stays keeps the one around it.
        let mut stay: BTreeSet<PathBuf> = BTreeSet::new();
        for change in changes
            .iter()
            .rev()
            .filter(|c| c.before.is_dir() && !c.after.is_dir())
        {
            let foreign = self.foreign(wanted, change, changes)?;
            let around = stay.iter().any(|s| s.starts_with(&change.path));
            if !foreign && !around {
                continue;
            }
            if self.later == Later::Replace && change.after.is_absent() {
                stay.insert(change.path.clone());
            } else {
                self.refuse(&change.path, Why::NotEmpty);
            }
        }
        changes.retain(|c| !stay.contains(&c.path));
        self.kept = stay.into_iter().collect();

        let mut made: BTreeMap<PathBuf, Change> = BTreeMap::new();
        for change in changes.iter().filter(|c| !c.after.is_absent()) {
            for parent in change.path.ancestors().skip(1) {
                if let Some(planned) = find(changes, parent).or_else(|| made.get(parent)) {
                    match planned.after.is_dir() {
                        true => continue,
                        false => self.refuse(&change.path, Why::NoFolder),
                    }
                    break;
                }
                let Some((tree, rel)) = self.beneath(parent) else {
                    break;
                };
                match tree.look(rel).at("read", parent)?.map(|f| f.kind) {
                    Some(Thing::Dir(..)) => break,
                    None if self.later == Later::Replace => {
                        made.insert(parent.to_owned(), folder(parent));
                    }
                    _ => {
                        self.refuse(&change.path, Why::NoFolder);
                        break;
                    }
                }
            }
        }
        changes.extend(made.into_values());
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    fn beneath<'p>(&self, path: &'p Path) -> Option<(&Tree, &'p Path)> {
        self.trees
            .iter()
            .find_map(|t| Some((t, path.strip_prefix(&t.path).ok()?)))
    }

    /// Whether a folder holds what this undo does not take away.
    fn foreign(
        &self,
        wanted: &Changeset,
        change: &Change,
        changes: &[Change],
    ) -> Result<bool, Error> {
        let Some((tree, rel)) = self.beneath(&change.path) else {
            return Ok(false);
        };
        let names = tree.names(rel).at("read", &change.path)?;
        Ok(names.iter().any(|name| {
            let path = change.path.join(name);
            let goes = find(changes, &path).is_some_and(|c| c.after.is_absent());
            // What is in conflict is named for itself.
            let named = self.later == Later::Refuse
                && wanted.get(&path).is_some_and(|c| c.after.is_absent());
            !goes && !named
        }))
    }

    /// Names that a restored file was linked with, and that have gone their own way.
    fn links(&mut self, changes: &mut [Change]) {
        let planned: BTreeSet<PathBuf> = changes.iter().map(|c| c.path.clone()).collect();
        for change in changes {
            let State::File(file) = &mut change.after else {
                continue;
            };
            let alike = State::File(FileState {
                links: Vec::new(),
                ..file.clone()
            });
            let mut apart = false;
            file.links.retain(|other| {
                let now = self.now.state(other);
                let fits = planned.contains(other) || now.is_some_and(|n| n.same(&alike));
                apart |= !fits && now.is_some_and(|n| !n.is_absent());
                fits
            });
            if file.links.len() < 2 {
                file.links.clear();
            }
            if apart && self.later == Later::Refuse {
                let (path, why) = (change.path.clone(), Why::Link);
                self.conflicts.push(Conflict { path, why });
            }
        }
    }
}

/// The change of a path, in a sorted list.
fn find<'c>(changes: &'c [Change], path: &Path) -> Option<&'c Change> {
    let at = changes
        .binary_search_by(|c| c.path.as_path().cmp(path))
        .ok()?;
    Some(&changes[at])
}

/// A folder that has to be made so that something can be restored into it.
fn folder(path: &Path) -> Change {
    let meta = Meta {
        mode: 0o755,
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        xattrs: Vec::new(),
    };
    Change {
        path: path.to_owned(),
        before: State::Absent,
        after: State::Dir(meta),
        renamed_from: None,
    }
}

/// Keeps what the undo will replace.
fn keep(changeset: &Changeset, trees: &[Tree], blobs: &Blobs) -> Result<(), Error> {
    let changes: Vec<&Change> = changeset.changes.iter().collect();
    each(changes, |change| {
        let (Some(file), Some((root, rel))) =
            (change.before.file(), changeset.root_of(&change.path))
        else {
            return Ok(());
        };
        if blobs.has(&file.sha256) {
            return Ok(());
        }
        let found = trees[root].look(rel).at("read", &change.path)?;
        let kept = match found.map(|f| f.kind) {
            Some(Thing::File(mut content, _)) => blobs.put_file(&mut content, file.size)?,
            _ => return Err(changed(&change.path)),
        };
        match kept == file.sha256 {
            true => Ok(()),
            false => Err(changed(&change.path)),
        }
    })?;
    Ok(())
}

fn changed(path: &Path) -> Error {
    let path = path.to_owned();
    let why = Why::Changed;
    Error::Conflict {
        paths: vec![Conflict { path, why }],
    }
}
