//! All of a changeset, or none of it.
//!
//! Prepare, journal, apply. New contents are first written, checked against the
//! manifest and given their mode and owner in a folder of our own in each root; what
//! then remains are renames. Once the journal says `open`, a crash is taken back from
//! the before-images at the next [`Journal::recover`].
//!
//! - *Exactly those bytes.* A content that is not the one in the manifest stops the
//!   commit before anything is applied.
//! - *Nobody's change is lost.* What is not as the changeset says it was is a conflict,
//!   and nothing is applied; what changes meanwhile is left as found, and named.
//! - *No link is followed.* Every step starts from an open folder, see [`Tree`].
//!
//! A change of one small file has a shorter way, see [`quick`].

mod apply;
mod back;
mod now;
mod prepare;
mod quick;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::blobs::{Blobs, sync_folder};
use crate::capture::Staged;
use crate::changeset::Changeset;
use crate::error::{At, Conflict, Error, Why};
use crate::guard::Allowed;
use crate::state::State;
use crate::tree::{Stamp, Tree};
use apply::Op;
pub(crate) use now::{Now, scan};
use prepare::Prepared;
pub(crate) use quick::Quick;
pub use quick::{Came, Placed, Redone, Trouble};

/// Where commits are written down before they happen. One commit at a time.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
}

/// Called before and after every step that changes a file system. For tests, which
/// stop at each; it does nothing otherwise.
pub trait Probe: Sync {
    /// An error fails the step.
    fn step(&self, what: &'static str) -> io::Result<()>;
}

/// No test.
impl Probe for () {
    fn step(&self, _: &'static str) -> io::Result<()> {
        Ok(())
    }
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The changeset.
    pub id: Hash,
    /// Whether it was applied.
    pub outcome: Outcome,
    /// What somebody else changed meanwhile, and was left as found.
    pub left: Vec<Conflict>,
}

/// Whether a commit was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it.
    Committed,
    /// None of it.
    RolledBack,
}

/// What is written down.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// The name of our folder in each root.
    aside: String,
    changeset: Changeset,
}

const PREPARING: &str = "preparing";
const OPEN: &str = "open";
const DONE: &str = "done";
const BACK: &str = "back";

/// Above how many paths one sync of the file system is cheaper than one of each.
const FEW: usize = 8;

/// Runs a step between two calls of the probe.
pub(crate) fn step<T>(
    probe: &dyn Probe,
    what: &'static str,
    run: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    probe.step(what)?;
    let done = run()?;
    probe.step(what)?;
    Ok(done)
}

impl Journal {
    /// Opens the journal in `folder`, and makes it if it is not there.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).at("make the folder", folder)?;
        let folder = folder.to_owned();
        Ok(Self { folder })
    }

    /// Applies a changeset, all of it or none. Afterwards record that it happened, and
    /// then [`Journal::settle`] it.
    pub fn commit(
        &self,
        staged: &Staged,
        allowed: &Allowed,
        blobs: &Blobs,
    ) -> Result<Ended, Error> {
        self.commit_with(staged, allowed, blobs, &())
    }

    /// The same, for tests that stop it at a step.
    pub fn commit_with(
        &self,
        staged: &Staged,
        allowed: &Allowed,
        blobs: &Blobs,
        probe: &dyn Probe,
    ) -> Result<Ended, Error> {
        let changeset = &staged.changeset;
        let id = changeset.id();
        allowed.check(changeset)?;
        owners(changeset)?;
        let _lock = self.lock()?;
        let images = changeset.images();
        blobs.check(&images)?;
        self.none_unfinished()?;
        let trees = trees(changeset)?;
        let now = scan(&trees, changeset, &staged.stamps())?;
        base_check(changeset, &now)?;
        let ops = ops(changeset, &now, |change| &change.after)?;

        let entry = Entry {
            aside: nonce(),
            changeset: changeset.clone(),
        };
        self.write(&id, &entry, probe)?;
        let work = Work {
            trees: &trees,
            now: &now,
            blobs,
            probe,
            aside: &entry.aside,
        };
        let ready = work.prepare(&ops, &staged.sources).and_then(|prepared| {
            work.sync_prepared(&ops, &images)?;
            self.turn(&id, PREPARING, OPEN, probe)?;
            Ok(prepared)
        });
        let prepared = match ready {
            Ok(prepared) => prepared,
            Err(error) => {
                work.clear()?;
                self.turn(&id, PREPARING, BACK, &())?;
                self.settle(&id)?;
                return Err(error);
            }
        };
        if let Err(error) = work.finish(&ops, &prepared) {
            return Err(self.take_back(&id, &work, changeset, error));
        }
        // Synced: found open later, when somebody has gone on with the files, it would be taken back.
        self.turn(&id, OPEN, DONE, probe)?;
        prepared.drop_moved();
        Ok(Ended {
            id,
            outcome: Outcome::Committed,
            left: Vec::new(),
        })
    }

    fn take_back(&self, id: &Hash, work: &Work<'_>, changeset: &Changeset, error: Error) -> Error {
        // The probe is for the commit; taking it back has its own run in recovery.
        let back = Work {
            probe: &(),
            ..*work
        };
        let left = match back::roll_back(&back, changeset) {
            Ok(left) => left,
            // The journal stays open, and recovery tries again.
            Err(more) => return more,
        };
        let noted = self
            .turn(id, OPEN, BACK, &())
            .and_then(|()| self.settle(id));
        match (noted, left.is_empty()) {
            (Err(more), _) => more,
            (Ok(()), true) => error,
            (Ok(()), false) => Error::Half {
                cause: Box::new(error),
                left,
            },
        }
    }

    /// Ends what a crash cut short, and tells of every commit that was not settled.
    /// Call it at the start, before anything else.
    pub fn recover(&self, blobs: &Blobs) -> Result<Vec<Ended>, Error> {
        self.recover_with(blobs, &())
    }

    /// The same, for tests that stop it at a step.
    pub fn recover_with(&self, blobs: &Blobs, probe: &dyn Probe) -> Result<Vec<Ended>, Error> {
        let _lock = self.lock()?;
        let mut ended = Vec::new();
        for found in self.entries()? {
            let (mut outcome, mut left) = (Outcome::RolledBack, Vec::new());
            match found.phase.as_str() {
                DONE => outcome = Outcome::Committed,
                BACK => {}
                PREPARING => {
                    // Cut short while it was written: then nothing was made either.
                    if let Ok(entry) = self.read(&found) {
                        back::clear_all(&entry, probe)?;
                    }
                    self.turn(&found.id, PREPARING, BACK, probe)?;
                }
                _ => {
                    let entry = self.read(&found)?;
                    (outcome, left) = back::end(&entry, blobs, probe)?;
                    let phase = match outcome {
                        Outcome::Committed => DONE,
                        Outcome::RolledBack => BACK,
                    };
                    self.turn(&found.id, OPEN, phase, probe)?;
                }
            }
            ended.push(Ended {
                id: found.id,
                outcome,
                left,
            });
        }
        Ok(ended)
    }

    /// Forgets a commit whose end is recorded elsewhere.
    pub fn settle(&self, id: &Hash) -> Result<(), Error> {
        for phase in [DONE, BACK] {
            let path = self.entry_of(id, phase);
            match fs::remove_file(&path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                done => done.at("remove", &path)?,
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<File, Error> {
        let path = self.folder.join("lock");
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.at("open", &path)?;
        flock(&file, FlockOperation::LockExclusive).at("lock", &path)?;
        Ok(file)
    }

    /// One that was cut short is ended before the next begins.
    fn none_unfinished(&self) -> Result<(), Error> {
        match self.entries()?.iter().any(FoundEntry::is_unfinished) {
            false => Ok(()),
            true => Err(Error::Busy {
                what: "recovery of a commit that was cut short",
            }),
        }
    }

    fn entry_of(&self, id: &Hash, phase: &str) -> PathBuf {
        self.folder.join(format!("{id}.{phase}"))
    }

    fn write(&self, id: &Hash, entry: &Entry, probe: &dyn Probe) -> Result<(), Error> {
        let path = self.entry_of(id, PREPARING);
        let json = serde_json::to_vec(entry).expect("every field can be written as JSON");
        let written = step(probe, "write the journal", || {
            let mut file = File::create(&path)?;
            file.write_all(&json)?;
            file.sync_all()
        });
        let written = written
            .at("write", &path)
            .and_then(|()| sync_folder(&self.folder));
        if written.is_err() {
            let _ = fs::remove_file(&path);
        }
        written
    }

    fn turn(&self, id: &Hash, from: &str, to: &str, probe: &dyn Probe) -> Result<(), Error> {
        let (from, to) = (self.entry_of(id, from), self.entry_of(id, to));
        let done = step(probe, "turn the journal", || fs::rename(&from, &to));
        done.at("rename", &from)?;
        sync_folder(&self.folder)
    }

    fn entries(&self) -> Result<Vec<FoundEntry>, Error> {
        let mut found = Vec::new();
        for file in fs::read_dir(&self.folder).at("read", &self.folder)? {
            let file = file.at("read", &self.folder)?.path();
            let phase = file.extension().and_then(|e| e.to_str());
            let id = file
                .file_stem()
                .and_then(|s| s.to_str())
                .and_then(Hash::parse);
            if let (Some(phase), Some(id)) = (phase, id) {
                let phase = phase.to_owned();
                found.push(FoundEntry { id, phase, file });
            }
        }
        found.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(found)
    }

    fn read(&self, found: &FoundEntry) -> Result<Entry, Error> {
        let bytes = fs::read(&found.file).at("read", &found.file)?;
        let entry: Entry =
            serde_json::from_slice(&bytes).map_err(|e| Error::Manifest(e.to_string()))?;
        match entry.changeset.id() == found.id && is_nonce(&entry.aside) {
            true => Ok(entry),
            false => Err(Error::Manifest("the journal was changed".to_owned())),
        }
    }
}

struct FoundEntry {
    id: Hash,
    phase: String,
    file: PathBuf,
}

impl FoundEntry {
    fn is_unfinished(&self) -> bool {
        self.phase == PREPARING || self.phase == OPEN
    }
}

/// What the steps of one commit share.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    trees: &'a [Tree],
    now: &'a Now,
    blobs: &'a Blobs,
    probe: &'a dyn Probe,
    aside: &'a str,
}

impl Work<'_> {
    /// Makes the images and what was prepared durable, before anything is applied.
    fn sync_prepared(&self, ops: &[Op<'_>], images: &[Hash]) -> Result<(), Error> {
        if ops.len() <= FEW {
            // What was prepared is synced one by one as it is written.
            return self.blobs.sync(images);
        }
        self.blobs.sync(images)?;
        self.sync_trees()
    }

    fn sync_trees(&self) -> Result<(), Error> {
        let mut done = HashSet::new();
        for tree in self.trees {
            let stat = rustix::fs::fstat(tree.fd()).at("look at", &tree.path)?;
            if done.insert(Stamp::of(&stat).dev) {
                rustix::fs::syncfs(tree.fd()).at("sync the file system of", &tree.path)?;
            }
        }
        Ok(())
    }

    /// Puts everything in place, and makes it durable.
    fn finish(&self, ops: &[Op<'_>], prepared: &Prepared) -> Result<(), Error> {
        self.apply(ops, prepared, apply::Tolerance::None)?;
        self.clear()?;
        match ops.len() <= FEW {
            true => self.sync_folders(ops),
            false => self.sync_trees(),
        }
    }

    fn sync_folders(&self, ops: &[Op<'_>]) -> Result<(), Error> {
        let mut done = HashSet::new();
        for op in ops {
            let parent = op.rel.parent().unwrap_or(Path::new(""));
            if !done.insert((op.root, parent)) {
                continue;
            }
            if let Ok(folder) = self.trees[op.root].folder(parent) {
                rustix::fs::fsync(&folder).at("sync", &op.change.path)?;
            }
        }
        Ok(())
    }
}

/// The roots of a changeset, opened.
pub(crate) fn trees(changeset: &Changeset) -> Result<Vec<Tree>, Error> {
    changeset
        .roots
        .iter()
        .map(|root| Tree::open(root).at("open", root))
        .collect()
}

/// What is to be done so that every path becomes what `to` says.
fn ops<'c>(
    changeset: &'c Changeset,
    now: &Now,
    to: impl Fn(&'c crate::Change) -> &'c State,
) -> Result<Vec<Op<'c>>, Error> {
    let mut ops = Vec::new();
    for change in &changeset.changes {
        let Some((root, rel)) = changeset.root_of(&change.path) else {
            let path = change.path.clone();
            return Err(Error::Outside { paths: vec![path] });
        };
        let state = now.state(&change.path).cloned().unwrap_or(State::Absent);
        let to = to(change);
        if state.same_linked(to) {
            continue;
        }
        ops.push(Op {
            change,
            root,
            rel,
            now: state,
            to,
        });
    }
    Ok(ops)
}

/// Every path must be what the changeset says that it was.
fn base_check(changeset: &Changeset, now: &Now) -> Result<(), Error> {
    let mut paths = Vec::new();
    for change in &changeset.changes {
        let state = now.state(&change.path);
        let why = match state {
            Some(state) if state.same_linked(&change.before) => continue,
            Some(State::Absent) => Why::Gone,
            _ if change.before.is_absent() => Why::Appeared,
            _ => Why::Changed,
        };
        let path = change.path.clone();
        paths.push(Conflict { path, why });
    }
    match paths.is_empty() {
        true => Ok(()),
        false => Err(Error::Conflict { paths }),
    }
}

/// Who is not root cannot give files away: better said before than half-way.
fn owners(changeset: &Changeset) -> Result<(), Error> {
    let me = rustix::process::geteuid();
    if me.is_root() {
        return Ok(());
    }
    let mut groups = rustix::process::getgroups().unwrap_or_default();
    groups.push(rustix::process::getegid());
    for change in &changeset.changes {
        let Some((uid, gid)) = change.after.owner() else {
            continue;
        };
        let stays = change.before.is_dir() && change.after.is_dir();
        if stays && change.before.owner() == Some((uid, gid)) {
            continue;
        }
        if uid != me.as_raw() || !groups.iter().any(|g| g.as_raw() == gid) {
            let path = change.path.clone();
            return Err(Error::Owner { path, uid, gid });
        }
    }
    Ok(())
}

fn nonce() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.map_or(0, |n| n.as_nanos());
    let hash = Hash::of(format!("{now} {}", std::process::id()).as_bytes());
    format!("{PREFIX}{}", &hash.to_string()[..16])
}

const PREFIX: &str = ".helve-commit-";

fn is_nonce(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .is_some_and(|n| n.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
pub(crate) use tests::helper;
