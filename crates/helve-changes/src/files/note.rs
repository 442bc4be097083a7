//! The one small file that most runs change, held in memory.
//!
//! To make a stage for it, and to remove that again, takes longer than all the rest of the
//! change. Whoever looks at anything after it, or changes more, has it laid into the stage
//! first: nobody sees a difference.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use helve_core::audit::Hash;
use rustix::fs as sys;

use super::resolve::{Last, Spot};
use super::{Access, Files, Place};
use crate::capture::Staged;
use crate::changeset::{Change, Changeset};
use crate::commit::Quick;
use crate::error::{At, Error};
use crate::guard::Allowed;
use crate::state::{FileState, Meta, State, Time};
use crate::tree::{Stamp, Thing, look_at};

/// Larger contents go into the stage.
pub(super) const MOST: usize = 64 << 10;

/// What is to stand at a place.
#[derive(Debug)]
pub(super) struct Note {
    place: Place,
    bytes: Vec<u8>,
    at: Time,
    /// Mode, owner and attributes that it is to have.
    meta: Meta,
    /// What is there; nothing for a file that is new.
    there: Option<There>,
}

#[derive(Debug)]
struct There {
    bytes: Vec<u8>,
    meta: Meta,
    stamp: Stamp,
}

impl Files {
    /// Whether there is a change that is held in memory.
    pub(super) fn is_noted(&self) -> bool {
        let note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        note.is_some()
    }

    /// Holds what is to be written in memory, where it is the first change and small, and where
    /// `seen` is what the file holds now, if anything is said of that; whether all this is so.
    /// What cannot be written is for the other way to tell.
    pub(super) fn noted(
        &self,
        path: &Path,
        bytes: &[u8],
        seen: Option<&[u8]>,
    ) -> Result<bool, Error> {
        if bytes.len() > MOST || self.is_staged() {
            return Ok(false);
        }
        let Some(spot) = self.spot(path, Last::Followed)? else {
            return Ok(false);
        };
        let open = &self.roots[spot.place.root];
        if open.access != Access::Write || spot.place.rel.as_os_str().is_empty() {
            return Ok(false);
        }
        let Some(there) = there(&spot).at("look at", path)? else {
            return Ok(false);
        };
        let found = there.as_ref().map(|there| &there.bytes[..]);
        if seen.is_some() && seen != found {
            return Ok(false);
        }
        let meta = match &there {
            Some(there) => there.meta.clone(),
            None => new_meta(&spot).at("look at", path)?,
        };
        let note = Note {
            place: spot.place,
            bytes: bytes.to_vec(),
            at: now(),
            meta,
            there,
        };
        *self.note.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
        Ok(true)
    }

    /// Gives a small file, whose content is `seen`, another content, where that is the first
    /// change and no disk has to be waited for. `false` in every other case, whatever it is.
    pub fn jot(&self, path: &Path, seen: &[u8], bytes: &[u8]) -> bool {
        self.noted(path, bytes, Some(seen)).unwrap_or(false)
    }

    /// Brings what is held in memory into the stage. Held until it is there: whoever comes
    /// meanwhile waits for it, and where it fails it is not lost.
    pub(super) fn lay(&self) -> Result<(), Error> {
        let mut held = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(note) = held.as_ref() else {
            return Ok(());
        };
        let path = self.real(&note.place);
        self.ensure_stage()?;
        let mut file = self.fresh(&note.place, &path)?;
        file.write_all(&note.bytes).at("write", &path)?;
        *held = None;
        Ok(())
    }

    /// Not where it was tried to be laid into the stage: there may be a part of it.
    fn take_note(&self) -> Option<Note> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        note.take_if(|_| self.aside.get().is_none())
    }

    /// The changes so far, where they are one small file and nothing is in the stage; its
    /// contents stay in memory. Otherwise there is nothing, and [`Files::finish`] has them.
    pub fn finish_quick(&self, allowed: &Allowed) -> Result<Option<Staged>, Error> {
        let Some(note) = self.take_note() else {
            return Ok(None);
        };
        let path = self.real(&note.place);
        let file = |bytes: &[u8], mtime, meta| {
            State::File(FileState {
                size: bytes.len() as u64,
                sha256: Hash::of(bytes),
                mtime,
                meta,
                links: Vec::new(),
            })
        };
        let after = file(&note.bytes, note.at, note.meta);
        let (mut before, mut stamp, mut old) = (State::Absent, None, None);
        if let Some(there) = note.there {
            before = file(&there.bytes, there.stamp.mtime, there.meta);
            stamp = Some(there.stamp).filter(Stamp::settled);
            old = Some(there.bytes);
        }
        let changes = match before.same(&after) {
            true => Vec::new(),
            false => vec![Change {
                path,
                before,
                after,
                renamed_from: None,
            }],
        };
        let writable = self.roots.iter().filter(|r| r.access == Access::Write);
        let roots = writable.map(|r| r.lower.path.clone()).collect();
        let changeset = Changeset::new(roots, changes);
        allowed.check(&changeset)?;
        let quick = (!changeset.is_empty()).then_some(Quick {
            before: old,
            after: note.bytes,
        });
        Ok(Some(Staged::of_one(changeset, stamp, quick)))
    }
}

/// What is at a spot: a small file of one name, or nothing. `None` if it is something else.
fn there(spot: &Spot) -> std::io::Result<Option<Option<There>>> {
    let Some(stat) = &spot.stat else {
        return Ok(Some(None));
    };
    let name = spot.place.rel.file_name().unwrap_or_default();
    if stat.st_nlink != 1 || stat.st_size as u64 > MOST as u64 {
        return Ok(None);
    }
    let Some(found) = look_at(&spot.parent, name)? else {
        return Ok(None);
    };
    let (stamp, links, marked) = (found.stamp, found.links, !found.marks.is_empty());
    let Thing::File(mut file, meta) = found.kind else {
        return Ok(None);
    };
    if links != 1 || marked || stamp.size > MOST as u64 || is_privileged(&meta) {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(stamp.size as usize + 1);
    (&mut file).take(MOST as u64 + 1).read_to_end(&mut bytes)?;
    // A content that changed while it was read is of no moment.
    let same = Stamp::of(&sys::fstat(&file)?) == stamp && bytes.len() as u64 == stamp.size;
    Ok(same.then_some(Some(There { bytes, meta, stamp })))
}

/// Whether whoever runs it gets rights by that.
fn is_privileged(meta: &Meta) -> bool {
    let mut names = meta.xattrs.iter().map(|xattr| &xattr.name.0[..]);
    meta.mode & 0o6000 != 0 || names.any(|name| name == b"security.capability")
}

/// What a new file gets: what root writes for somebody should be theirs.
fn new_meta(spot: &Spot) -> std::io::Result<Meta> {
    let (mut uid, mut gid) = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    if rustix::process::geteuid().is_root() {
        let folder = sys::fstat(&spot.parent)?;
        (uid, gid) = (folder.st_uid, folder.st_gid);
    }
    Ok(Meta {
        mode: 0o644,
        uid,
        gid,
        xattrs: Vec::new(),
    })
}

fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    Time {
        s: now.as_secs().cast_signed(),
        ns: now.subsec_nanos(),
    }
}
