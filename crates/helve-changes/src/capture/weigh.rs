//! One candidate, read: what it was, what it is, and whether that differs.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use sha2::{Digest, Sha256};

use super::{Candidate, Node};
use crate::blobs::{Blobs, PIECE, SMALL};
use crate::error::{At, Conflict, Error, Why};
use crate::state::{FileState, Meta, State};
use crate::tree::{Found, Stamp, Thing, Tree};

/// A candidate, read.
#[derive(Debug)]
pub(super) struct Weighed {
    pub(super) path: PathBuf,
    pub(super) before: State,
    pub(super) after: State,
    /// The real file when it was read, if it had been left alone for a while.
    pub(super) stamp: Option<Stamp>,
    /// The new content, if it lies in the stage.
    pub(super) source: Option<PathBuf>,
    pub(super) from: Option<PathBuf>,
    /// Device and inode of a file with more names, before and after.
    pub(super) before_id: Option<(u64, u64)>,
    pub(super) after_id: Option<(u64, u64)>,
}

/// Reads a candidate; `None` if it is no change, nor has other names that may be one.
pub(super) fn weigh(
    candidate: Candidate<'_>,
    real: &[&Tree],
    blobs: &Blobs,
) -> Result<Option<Weighed>, Error> {
    let Candidate {
        path,
        before,
        after,
        from,
    } = candidate;
    if let (Some(a), Some(b)) = (&before, &after)
        && a.is(b)
    {
        return Ok(None);
    }
    let new = after
        .as_ref()
        .map(|node| look(node, &path))
        .transpose()?
        .flatten();
    let old = before
        .as_ref()
        .map(|node| look(node, &path))
        .transpose()?
        .flatten();
    // A device that is there and stays is no change.
    if let (Some(Thing::Other(a)), Some(Thing::Other(b))) =
        (old.as_ref().map(|f| &f.kind), new.as_ref().map(|f| &f.kind))
        && a == b
    {
        return Ok(None);
    }
    let after_id = new.as_ref().and_then(id);
    let before_id = old.as_ref().and_then(id);

    let mut source = None;
    let after_state = match (new, &after) {
        (Some(found), Some(node)) => {
            let home = node
                .content
                .as_ref()
                .map_or((node.tree, &node.rel), |(t, r)| (*t, r));
            let stays = real.iter().any(|tree| std::ptr::eq(*tree, home.0));
            let content = content_of(node, &path)?;
            if matches!(found.kind, Thing::File(..)) && !stays {
                source = Some(home.0.path.join(home.1));
            }
            let mut state = read(found, content, &path, stays.then_some(blobs), None)?;
            if let Some(meta) = borrowed(node, &path)?
                && let State::Dir(own) = &mut state
            {
                *own = meta;
            }
            state
        }
        _ => State::Absent,
    };
    let mut stamp = None;
    let before_state = match old {
        Some(found) => {
            let is_file = matches!(found.kind, Thing::File(..));
            stamp = Some(found.stamp).filter(|s| is_file && s.settled());
            read(found, None, &path, Some(blobs), Some(&after_state))?
        }
        None => State::Absent,
    };
    let linked = before_id.is_some() || after_id.is_some();
    if before_state.same(&after_state) && !linked {
        return Ok(None);
    }
    Ok(Some(Weighed {
        path,
        before: before_state,
        after: after_state,
        stamp,
        source,
        from,
        before_id,
        after_id,
    }))
}

fn look(node: &Node<'_>, path: &Path) -> Result<Option<Found>, Error> {
    node.tree.look(&node.rel).at("read", path)
}

fn id(found: &Found) -> Option<(u64, u64)> {
    let linked = matches!(found.kind, Thing::File(..)) && found.links > 1;
    linked.then_some((found.stamp.dev, found.stamp.ino))
}

/// The content of a file of which the overlay copied only the rest.
fn content_of(node: &Node<'_>, path: &Path) -> Result<Option<File>, Error> {
    let Some((tree, rel)) = &node.content else {
        return Ok(None);
    };
    match tree.look(rel).at("read", path)?.map(|f| f.kind) {
        Some(Thing::File(file, _)) => Ok(Some(file)),
        _ => Err(Error::Conflict {
            paths: vec![Conflict {
                path: tree.path.join(rel),
                why: Why::Gone,
            }],
        }),
    }
}

fn borrowed(node: &Node<'_>, path: &Path) -> Result<Option<Meta>, Error> {
    let Some((tree, rel)) = &node.meta else {
        return Ok(None);
    };
    Ok(match tree.look(rel).at("read", path)?.map(|f| f.kind) {
        Some(Thing::Dir(_, meta)) => Some(meta),
        _ => None,
    })
}

/// The state of what was found. A file's content goes to `keep`, unless the file is
/// the same as `other`.
fn read(
    found: Found,
    content: Option<File>,
    path: &Path,
    keep: Option<&Blobs>,
    other: Option<&State>,
) -> Result<State, Error> {
    if let Some(state) = found.plain() {
        return Ok(state);
    }
    let (own, meta) = match found.kind {
        Thing::File(file, meta) => (file, meta),
        Thing::Other(kind) => return Err(special(path, kind)),
        _ => return Err(special(path, "device")),
    };
    let mut file = content.unwrap_or(own);
    let start = stamp_of(&file, path)?;
    let state = |sha256, size| {
        State::File(FileState {
            size,
            sha256,
            mtime: found.stamp.mtime,
            meta: meta.clone(),
            links: Vec::new(),
        })
    };
    let unlike = |state: &State| other.is_none_or(|other| !state.same(other));
    let result = if start.size <= SMALL {
        let mut bytes = Vec::with_capacity(start.size as usize + 1);
        (&mut file)
            .take(SMALL + 1)
            .read_to_end(&mut bytes)
            .at("read", path)?;
        let read = state(Hash::of(&bytes), bytes.len() as u64);
        if let Some(blobs) = keep.filter(|_| unlike(&read)) {
            blobs.put(&Hash::of(&bytes), &bytes)?;
        }
        read
    } else {
        let may_equal = other
            .and_then(State::file)
            .is_some_and(|f| f.size == start.size);
        let mut read = None;
        if keep.is_none() || may_equal {
            let (hash, size) = sum(&mut file, path)?;
            read = Some(state(hash, size));
        }
        match (keep, read) {
            (Some(blobs), read) if read.as_ref().is_none_or(unlike) => {
                file.rewind().at("read", path)?;
                let (hash, size) = blobs.put_stream(&mut file)?;
                state(hash, size)
            }
            (_, read) => read.expect("read, or kept, above"),
        }
    };
    // A content that changed while it was read is of no moment.
    if stamp_of(&file, path)? != start {
        let why = Why::Changed;
        let path = path.to_owned();
        return Err(Error::Conflict {
            paths: vec![Conflict { path, why }],
        });
    }
    Ok(result)
}

fn special(path: &Path, kind: &'static str) -> Error {
    let path = path.to_owned();
    Error::Special { path, kind }
}

fn stamp_of(file: &File, path: &Path) -> Result<Stamp, Error> {
    Ok(Stamp::of(&rustix::fs::fstat(file).at("read", path)?))
}

/// The hash and size of a content that is read in pieces.
pub(crate) fn sum(file: &mut File, path: &Path) -> Result<(Hash, u64), Error> {
    let mut sum = Sha256::new();
    let mut piece = vec![0; PIECE];
    let mut size = 0;
    loop {
        let length = file.read(&mut piece).at("read", path)?;
        if length == 0 {
            return Ok((Hash::from_bytes(sum.finalize().into()), size));
        }
        sum.update(&piece[..length]);
        size += length as u64;
    }
}
