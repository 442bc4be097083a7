//! What the paths of a changeset are at this moment.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;

use crate::blobs::SMALL;
use crate::capture::sum;
use crate::changeset::Changeset;
use crate::each::each;
use crate::error::{At, Error};
use crate::state::{FileState, State};
use crate::tree::{Found, Stamp, Thing, Tree};

/// What the paths of a changeset are, and those that they are linked with.
#[derive(Debug, Default)]
pub(crate) struct Now(HashMap<PathBuf, Current>);

#[derive(Debug)]
struct Current {
    /// `None`: something that is never restored, such as a socket.
    state: Option<State>,
    stamp: Option<Stamp>,
}

impl Now {
    /// What a path is; `None` if it is a socket or the like, or was not looked at.
    pub(crate) fn state(&self, path: &Path) -> Option<&State> {
        self.0.get(path)?.state.as_ref()
    }

    /// Device, inode and times when it was looked at.
    pub(crate) fn stamp(&self, path: &Path) -> Option<Stamp> {
        self.0.get(path)?.stamp
    }
}

/// Looks at every path that a changeset names. Files whose stamp is one of `known` are
/// not read again.
pub(crate) fn scan(
    trees: &[Tree],
    changeset: &Changeset,
    known: &BTreeMap<&Path, Stamp>,
) -> Result<Now, Error> {
    let mut paths: BTreeSet<&Path> = BTreeSet::new();
    for change in &changeset.changes {
        paths.insert(&change.path);
        let links = change.before.links().iter().chain(change.after.links());
        paths.extend(links.map(PathBuf::as_path));
    }
    let looked = each(paths.into_iter().collect(), |path: &Path| {
        let known = known
            .get(path)
            .copied()
            .zip(changeset.get(path).and_then(|c| c.before.file()));
        let current = match changeset.root_of(path) {
            Some((root, rel)) => look(&trees[root], rel, path, known)?,
            None => (
                Current {
                    state: None,
                    stamp: None,
                },
                false,
            ),
        };
        Ok((path.to_path_buf(), current))
    })?;

    let mut groups: HashMap<(u64, u64), Vec<PathBuf>> = HashMap::new();
    for (path, (current, linked)) in &looked {
        if let Some(stamp) = current.stamp.filter(|_| *linked) {
            groups
                .entry((stamp.dev, stamp.ino))
                .or_default()
                .push(path.clone());
        }
    }
    let mut now = HashMap::with_capacity(looked.len());
    for (path, (mut current, _)) in looked {
        if let (Some(State::File(file)), Some(stamp)) = (&mut current.state, current.stamp)
            && let Some(names) = groups.get(&(stamp.dev, stamp.ino))
            && names.len() > 1
        {
            file.links.clone_from(names);
        }
        now.insert(path, current);
    }
    Ok(Now(now))
}

fn look(
    tree: &Tree,
    rel: &Path,
    path: &Path,
    known: Option<(Stamp, &FileState)>,
) -> Result<(Current, bool), Error> {
    let Some(found) = tree.look(rel).at("read", path)? else {
        let state = Some(State::Absent);
        return Ok((Current { state, stamp: None }, false));
    };
    let stamp = Some(found.stamp);
    let linked = found.links > 1;
    let state = read(found, path, known)?;
    Ok((Current { state, stamp }, linked))
}

fn read(
    found: Found,
    path: &Path,
    known: Option<(Stamp, &FileState)>,
) -> Result<Option<State>, Error> {
    let plain = found.plain();
    let Thing::File(mut file, meta) = found.kind else {
        return Ok(plain);
    };
    let (sha256, size) = match known {
        Some((stamp, state)) if stamp == found.stamp => (state.sha256, state.size),
        _ if found.stamp.size <= SMALL => {
            let mut bytes = Vec::with_capacity(found.stamp.size as usize + 1);
            file.read_to_end(&mut bytes).at("read", path)?;
            (Hash::of(&bytes), bytes.len() as u64)
        }
        _ => sum(&mut file, path)?,
    };
    Ok(Some(State::File(FileState {
        size,
        sha256,
        mtime: found.stamp.mtime,
        meta,
        links: Vec::new(),
    })))
}

impl Now {
    /// How many paths were looked at.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}
