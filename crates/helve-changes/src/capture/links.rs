//! Which names share one file, before and after, and who of them changed by that.
//!
//! A name whose file is as it was is no change only because another name came or went:
//! the other one's change says so, and can link to this one. For that, one of the
//! groups that a file's names end up in keeps the file; names in any other group are
//! changes even if their content is the same.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use super::weigh::Weighed;
use crate::error::{At, Error};
use crate::state::State;
use crate::tree::{Stamp, Tree};

type Id = (u64, u64);

/// Fills in the links of every state, and makes the names that stay as they were equal
/// on both sides.
pub(super) fn settle(
    weighed: &mut [Weighed],
    seen: &HashSet<PathBuf>,
    real: &[&Tree],
) -> Result<(), Error> {
    let old: HashSet<Id> = weighed
        .iter()
        .flat_map(|w| [w.before_id, w.after_id])
        .flatten()
        .collect();
    if old.is_empty() {
        return Ok(());
    }
    let before = names_of(&old, real)?;
    let mut after: BTreeMap<Id, Vec<PathBuf>> = BTreeMap::new();
    for weighed in weighed.iter() {
        if let Some(id) = weighed.after_id {
            after.entry(id).or_default().push(weighed.path.clone());
        }
    }
    // Names that nobody touched still belong to the real file.
    for (id, names) in &mut after {
        let left = before
            .get(id)
            .into_iter()
            .flatten()
            .filter(|p| !seen.contains(*p));
        names.extend(left.cloned());
        names.sort();
        names.dedup();
    }
    for weighed in weighed.iter_mut() {
        fill(
            &mut weighed.before,
            weighed.before_id.and_then(|id| before.get(&id)),
        );
        fill(
            &mut weighed.after,
            weighed.after_id.and_then(|id| after.get(&id)),
        );
    }
    keep_stayers(weighed, seen, &before);
    Ok(())
}

fn fill(state: &mut State, names: Option<&Vec<PathBuf>>) {
    if let (State::File(file), Some(names)) = (state, names)
        && names.len() > 1
    {
        file.links = names.clone();
    }
}

fn keep_stayers(
    weighed: &mut [Weighed],
    seen: &HashSet<PathBuf>,
    before: &HashMap<Id, Vec<PathBuf>>,
) {
    let mut held: HashSet<Id> = before
        .iter()
        .filter(|(_, names)| names.iter().any(|p| !seen.contains(p)))
        .map(|(id, _)| *id)
        .collect();
    // A file that stays in a real inode of its own keeps that one.
    let mut groups: BTreeMap<(Option<Id>, PathBuf), Vec<usize>> = BTreeMap::new();
    for (at, weighed) in weighed.iter().enumerate() {
        let alone = match weighed.after_id {
            Some(_) => PathBuf::new(),
            None => weighed.path.clone(),
        };
        groups
            .entry((weighed.after_id, alone))
            .or_default()
            .push(at);
    }
    for ((after, _), members) in groups {
        let unchanged: Vec<usize> = members
            .into_iter()
            .filter(|at| weighed[*at].before.same(&weighed[*at].after))
            .collect();
        let own = unchanged
            .iter()
            .map(|at| holder(&weighed[*at]))
            .find(|id| after == *id && after.is_some() || id.is_none_or(|id| !held.contains(&id)));
        let Some(own) = own else {
            continue;
        };
        held.extend(own);
        let mut first = true;
        for at in unchanged {
            // Files without other names are each their own holder: only one stays.
            let stays = holder(&weighed[at]) == own && (own.is_some() || first);
            if stays {
                first = false;
                let state = weighed[at].before.clone();
                weighed[at].after = state;
            }
        }
    }
}

fn holder(weighed: &Weighed) -> Option<Id> {
    weighed.before_id
}

/// Every name of these files beneath the roots, sorted.
fn names_of(ids: &HashSet<Id>, real: &[&Tree]) -> Result<HashMap<Id, Vec<PathBuf>>, Error> {
    let mut names: HashMap<Id, Vec<PathBuf>> = HashMap::new();
    for tree in real {
        let found = tree.walk(PathBuf::new().as_path(), &mut |rel, stat| {
            let stamp = Stamp::of(stat);
            let id = (stamp.dev, stamp.ino);
            if stat.st_nlink > 1 && ids.contains(&id) {
                names.entry(id).or_default().push(tree.path.join(rel));
            }
            Ok(())
        });
        found.at("read", &tree.path)?;
    }
    for names in names.values_mut() {
        names.sort();
        names.dedup();
    }
    Ok(names)
}
