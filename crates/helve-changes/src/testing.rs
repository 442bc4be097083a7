//! What the tests share: trees built from random operations, exact snapshots, and
//! helper processes (an overlay in a mount namespace of its own, a commit that dies).

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proptest::prelude::*;
use rustix::fs::XattrFlags;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::*;

/// A real folder, a stage and a state folder.
pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) real: PathBuf,
    pub(crate) blobs: Blobs,
    pub(crate) journal: Journal,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_quota(None)
    }

    pub(crate) fn with_quota(quota: Option<u64>) -> Self {
        Self::within(&std::env::temp_dir(), quota)
    }

    /// In memory: where many files are written, and a disk would be measured.
    pub(crate) fn in_memory() -> Self {
        Self::within(Path::new("/dev/shm"), None)
    }

    fn within(folder: &Path, quota: Option<u64>) -> Self {
        let dir = tempfile::tempdir_in(folder).unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["real", "upper", "work", "merged", "stage"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        Self {
            real: base.join("real"),
            blobs: Blobs::open(&base.join("objects"), quota).unwrap(),
            journal: Journal::open(&base.join("journal")).unwrap(),
            dir,
        }
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn allowed(&self) -> Allowed {
        Allowed::new([self.real.clone()])
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.real.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn files(&self) -> Files {
        let access = Access::Write;
        let path = self.real.clone();
        let stage = tempfile::Builder::new()
            .tempdir_in(self.at("stage"))
            .unwrap()
            .keep();
        Files::new(&[Root { path, access }], &stage).unwrap()
    }

    /// Changes made through [`Files`], captured.
    pub(crate) fn staged(&self, change: impl FnOnce(&Files)) -> Staged {
        let files = self.files();
        change(&files);
        files.finish(&self.allowed(), &self.blobs).unwrap()
    }

    pub(crate) fn commit(&self, staged: &Staged) -> Result<Ended, Error> {
        let allowed = Allowed::just(&staged.changeset);
        let ended = self.journal.commit(staged, &allowed, &self.blobs)?;
        self.journal.settle(&ended.id).unwrap();
        Ok(ended)
    }

    pub(crate) fn undo(&self, changesets: &[&Changeset], later: Later) -> Result<Undone, Error> {
        let only = None;
        let what = Undo {
            changesets,
            only,
            later,
        };
        undo(&what, &self.blobs)
    }

    pub(crate) fn overlay(&self, books: Books, indexed: bool) -> Overlay {
        Overlay {
            lower: self.real.clone(),
            upper: self.at("upper"),
            work: indexed.then(|| self.at("work")),
            books,
        }
    }

    /// Runs operations in an overlay of the real folder; what it showed at the end.
    pub(crate) fn in_overlay(&self, mount: Mount, ops: &[Op]) -> Snapshot {
        let like = fs::metadata(&self.real).unwrap();
        fs::set_permissions(self.at("upper"), like.permissions()).unwrap();
        std::os::unix::fs::chown(self.at("upper"), Some(like.uid()), Some(like.gid())).unwrap();
        fs::write(self.at("ops"), serde_json::to_vec(ops).unwrap()).unwrap();
        let (unshare, options) = match mount {
            Mount::Root => (&["-m"][..], "redirect_dir=on,metacopy=on,index=on,volatile"),
            Mount::Plain => (
                &["-m"][..],
                "redirect_dir=off,metacopy=off,index=off,volatile",
            ),
            Mount::User => (&["-U", "-r", "-m"][..], "userxattr,volatile"),
        };
        let script = format!(
            "mount -t overlay overlay -o lowerdir=real,upperdir=upper,workdir=work,{options} merged && exec \"$0\" \"$@\""
        );
        let mut command = Command::new("unshare");
        command
            .args(unshare)
            .args(["sh", "-c", &script])
            .arg(std::env::current_exe().unwrap());
        let output = helper(&mut command, "ops", self.dir.path());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&fs::read(self.at("snapshot")).unwrap()).unwrap()
    }
}

/// How an overlay is mounted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mount {
    Root,
    Plain,
    User,
}

/// Starts this test program as the helper of that name.
pub(crate) fn helper(command: &mut Command, name: &str, folder: &Path) -> Output {
    command
        .args([
            "--exact",
            "testing::helper_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("HELVE_CHANGES_HELPER", name)
        .current_dir(folder)
        .output()
        .unwrap()
}

pub(crate) fn myself() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// What a helper process does. In the suite itself nobody asks for one.
#[test]
fn helper_process() {
    let Some(name) = std::env::var_os("HELVE_CHANGES_HELPER") else {
        return;
    };
    match name.to_str().unwrap() {
        "ops" => {
            let ops: Vec<Op> = serde_json::from_slice(&fs::read("ops").unwrap()).unwrap();
            let merged = Path::new("merged");
            run(merged, &ops);
            let snapshot = serde_json::to_vec(&snapshot(merged)).unwrap();
            fs::write("snapshot", snapshot).unwrap();
        }
        name => crate::commit::helper(name),
    }
}

/// What a path is, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Exact {
    pub(crate) kind: String,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) content: Raw,
    pub(crate) mtime: Option<(i64, i64)>,
    pub(crate) xattrs: Vec<(Raw, Raw)>,
    pub(crate) links: Vec<Raw>,
}

/// A whole tree, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot(pub(crate) Vec<(Raw, Exact)>);

pub(crate) fn snapshot(root: &Path) -> Snapshot {
    let (mut all, mut groups) = (BTreeMap::new(), BTreeMap::<(u64, u64), Vec<Raw>>::new());
    fn visit(
        root: &Path,
        path: &Path,
        all: &mut BTreeMap<Raw, (Exact, (u64, u64))>,
        groups: &mut BTreeMap<(u64, u64), Vec<Raw>>,
    ) {
        let meta = fs::symlink_metadata(path).unwrap();
        let name = Raw(path
            .strip_prefix(root)
            .unwrap()
            .as_os_str()
            .as_bytes()
            .to_vec());
        let (kind, content) = match meta.file_type() {
            t if t.is_dir() => ("dir", Vec::new()),
            t if t.is_symlink() => (
                "link",
                fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec(),
            ),
            t if t.is_file() => ("file", fs::read(path).unwrap()),
            _ => ("other", Vec::new()),
        };
        let mut xattrs = Vec::new();
        if kind == "file" || kind == "dir" {
            let mut list = vec![0; 4096];
            let length = rustix::fs::llistxattr(path, &mut list[..]).unwrap();
            for xattr in list[..length]
                .split(|b| *b == 0)
                .filter(|n| n.starts_with(b"user."))
            {
                let mut value = vec![0; 4096];
                let length =
                    rustix::fs::lgetxattr(path, OsStr::from_bytes(xattr), &mut value[..]).unwrap();
                xattrs.push((Raw(xattr.to_vec()), Raw(value[..length].to_vec())));
            }
            xattrs.sort();
        }
        let exact = Exact {
            kind: kind.to_owned(),
            mode: meta.mode() & 0o7777,
            owner: (meta.uid(), meta.gid()),
            content: Raw(content),
            mtime: (kind == "file").then(|| (meta.mtime(), meta.mtime_nsec())),
            xattrs,
            links: Vec::new(),
        };
        let id = (meta.dev(), meta.ino());
        if kind == "file" {
            groups.entry(id).or_default().push(name.clone());
        }
        all.insert(name, (exact, id));
        if kind == "dir" {
            for entry in fs::read_dir(path).unwrap() {
                visit(root, &entry.unwrap().path(), all, groups);
            }
        }
    }
    visit(root, root, &mut all, &mut groups);
    let all = all.into_iter().map(|(name, (mut exact, id))| {
        if let Some(names) = groups.get_mut(&id).filter(|n| n.len() > 1) {
            names.sort();
            exact.links.clone_from(names);
        }
        (name, exact)
    });
    Snapshot(all.collect())
}

impl Snapshot {
    /// Without the times of files that are as they were in `before`: a time alone is no
    /// change.
    pub(crate) fn unless_same(mut self, before: &Snapshot) -> Self {
        let old: BTreeMap<&Raw, &Exact> = before.0.iter().map(|(n, e)| (n, e)).collect();
        let timeless = |e: &Exact| Exact {
            mtime: None,
            links: Vec::new(),
            ..e.clone()
        };
        let same =
            |name: &Raw, e: &Exact| old.get(name).is_some_and(|o| timeless(o) == timeless(e));
        let unchanged: Vec<Raw> = self
            .0
            .iter()
            .filter(|(n, e)| same(n, e))
            .map(|(n, _)| n.clone())
            .collect();
        for (name, exact) in &mut self.0 {
            // Who is linked to a file that stays has that file's time.
            if unchanged.contains(name) || exact.links.iter().any(|l| unchanged.contains(l)) {
                exact.mtime = None;
            }
        }
        self
    }
}

impl Snapshot {
    /// The links as a changeset has them, where it has any.
    pub(crate) fn with_links_of(mut self, staged: &Staged) -> Self {
        let root = &staged.changeset.roots[0];
        let raw = |p: &Path| {
            Raw(p
                .strip_prefix(root)
                .unwrap()
                .as_os_str()
                .as_bytes()
                .to_vec())
        };
        for change in &staged.changeset.changes {
            let links: Vec<Raw> = change.after.links().iter().map(|p| raw(p)).collect();
            let names = if links.is_empty() {
                vec![raw(&change.path)]
            } else {
                links.clone()
            };
            for (_, exact) in self.0.iter_mut().filter(|(name, _)| names.contains(name)) {
                exact.links.clone_from(&links);
            }
        }
        self
    }
}

/// One thing that a program may do to files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Op {
    Write(Raw, String),
    Append(Raw, String),
    Truncate(Raw),
    Mkdir(Raw),
    Rename(Raw, Raw),
    Link(Raw, Raw),
    Symlink(Raw, Raw),
    Chmod(Raw, u32),
    Chown(Raw, u32),
    Remove(Raw),
    RemoveAll(Raw),
    Xattr(Raw, String),
    Fifo(Raw),
}

/// Runs operations; those that cannot be done are left out.
pub(crate) fn run(root: &Path, ops: &[Op]) {
    let at = |raw: &Raw| root.join(OsStr::from_bytes(&raw.0));
    // A write through a symlink could lead anywhere.
    let plain = |p: &Path| {
        !fs::symlink_metadata(p).is_ok_and(|m| m.is_symlink() || !m.is_file() && !m.is_dir())
    };
    let direct = |raw: &Raw| {
        let path = at(raw);
        let parents = path.ancestors().take_while(|p| *p != root);
        parents.into_iter().all(plain)
    };
    for op in ops {
        let _ = match op {
            Op::Write(p, text) if direct(p) => fs::write(at(p), text),
            Op::Append(p, text) if direct(p) => {
                let file = File::options().append(true).open(at(p));
                file.and_then(|mut f| f.write_all(text.as_bytes()))
            }
            Op::Truncate(p) if direct(p) => File::options()
                .write(true)
                .open(at(p))
                .and_then(|f| f.set_len(2)),
            Op::Mkdir(p) => fs::create_dir(at(p)),
            Op::Rename(a, b) => fs::rename(at(a), at(b)),
            Op::Link(a, b) => fs::hard_link(at(a), at(b)),
            Op::Symlink(a, b) => symlink(OsStr::from_bytes(&a.0), at(b)),
            Op::Chmod(p, mode) if direct(p) => {
                fs::set_permissions(at(p), PermissionsExt::from_mode(*mode))
            }
            Op::Chown(p, uid) => std::os::unix::fs::lchown(at(p), Some(*uid), Some(*uid)),
            Op::Remove(p) => fs::remove_file(at(p)),
            Op::RemoveAll(p) => fs::remove_dir_all(at(p)),
            Op::Xattr(p, value) if direct(p) => {
                rustix::fs::setxattr(at(p), "user.test", value.as_bytes(), XattrFlags::empty())
                    .map_err(Into::into)
            }
            Op::Fifo(p) => {
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                rustix::fs::mkfifoat(rustix::fs::CWD, at(p), mode).map_err(Into::into)
            }
            _ => Ok(()),
        };
    }
}

/// Does one thing in a view, and the same in a copy if the view did it. What the view
/// has no word for is left out.
pub(crate) fn run_in_view(files: &Files, copy: &Path, op: &Op) {
    let name = |raw: &Raw| PathBuf::from(OsStr::from_bytes(&raw.0));
    let at = |raw: &Raw| copy.join(name(raw));
    // Through a symlink the copy would lead elsewhere than the view.
    let paths: Vec<&Raw> = match op {
        Op::Rename(a, b) => vec![a, b],
        Op::Symlink(_, p) | Op::Write(p, _) | Op::Append(p, _) | Op::Chmod(p, _) => vec![p],
        Op::Mkdir(p) | Op::Remove(p) | Op::RemoveAll(p) => vec![p],
        _ => return,
    };
    for path in paths {
        let plain = |p: &Path| fs::symlink_metadata(p).is_ok_and(|m| m.is_dir() || m.is_file());
        let full = at(path);
        let strict = !matches!(op, Op::Remove(_) | Op::Rename(..) | Op::Symlink(..));
        let odd = full
            .ancestors()
            .skip(1)
            .take_while(|p| *p != copy)
            .any(|p| !plain(p) && p.symlink_metadata().is_ok());
        // A write in the view gives a name its own file, as an overlay without index does.
        let linked = full
            .symlink_metadata()
            .is_ok_and(|m| m.is_file() && m.nlink() > 1);
        if odd || strict && linked || strict && full.symlink_metadata().is_ok() && !plain(&full) {
            return;
        }
    }
    match op {
        Op::Write(p, text) => {
            let wrote = files.write(&name(p), text.as_bytes());
            assert_eq!(
                wrote.is_ok(),
                fs::write(at(p), text).is_ok(),
                "{op:?} {wrote:?}"
            );
        }
        Op::Append(p, text) => {
            let wrote = files.append(&name(p), text.as_bytes());
            let file = File::options().append(true).create(true).open(at(p));
            assert_eq!(
                wrote.is_ok(),
                file.and_then(|mut f| f.write_all(text.as_bytes())).is_ok(),
                "{op:?} {wrote:?}"
            );
        }
        Op::Mkdir(p) => {
            let made = files.create_dir_all(&name(p));
            assert_eq!(
                made.is_ok(),
                fs::create_dir_all(at(p)).is_ok(),
                "{op:?} {made:?}"
            );
        }
        Op::Chmod(p, mode) => {
            let set = files.set_mode(&name(p), *mode);
            let theirs = fs::set_permissions(at(p), PermissionsExt::from_mode(*mode));
            assert_eq!(set.is_ok(), theirs.is_ok(), "{op:?} {set:?}");
        }
        Op::Symlink(target, p) => {
            let made = files.symlink(&name(target), &name(p));
            let theirs = symlink(name(target), at(p));
            assert_eq!(made.is_ok(), theirs.is_ok(), "{op:?} {made:?}");
        }
        Op::Remove(p) => {
            let folder = at(p).is_dir() && !at(p).is_symlink();
            let gone = files.remove(&name(p));
            let theirs = if folder {
                fs::remove_dir(at(p))
            } else {
                fs::remove_file(at(p))
            };
            assert_eq!(gone.is_ok(), theirs.is_ok(), "{op:?} {gone:?}");
        }
        Op::RemoveAll(p) => {
            let gone = files.remove_dir_all(&name(p));
            assert_eq!(
                gone.is_ok(),
                fs::remove_dir_all(at(p)).is_ok(),
                "{op:?} {gone:?}"
            );
        }
        Op::Rename(a, b) => {
            // A pipe is not moved, nor are links of a file kept: both are the view's limits.
            let odd = at(a)
                .symlink_metadata()
                .is_ok_and(|m| !m.is_dir() && !m.is_file() && !m.is_symlink());
            let linked = |p: &Raw| {
                at(p)
                    .symlink_metadata()
                    .is_ok_and(|m| m.is_file() && m.nlink() > 1)
            };
            if odd || linked(a) || linked(b) {
                return;
            }
            let moved = files.rename(&name(a), &name(b));
            assert_eq!(
                moved.is_ok(),
                fs::rename(at(a), at(b)).is_ok(),
                "{op:?} {moved:?}"
            );
        }
        _ => {}
    }
}

impl Snapshot {
    /// Kinds, contents, modes and owners: what a view and a copy have in common.
    pub(crate) fn contents(mut self) -> Self {
        for (_, exact) in &mut self.0 {
            exact.mtime = None;
            exact.links.clear();
            exact.xattrs.clear();
        }
        self
    }
}

/// Paths in a small tree, so that operations meet; some names are odd.
pub(crate) fn path() -> impl Strategy<Value = Raw> {
    let name = prop::sample::select(vec![&b"a"[..], b"b", b"c", b"d e", b"n\nl", b"\xff\xfe"]);
    prop::collection::vec(name, 1..4).prop_map(|names| Raw(names.join(&b'/')))
}

pub(crate) fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let text = || {
        prop::sample::select(vec!["", "one\n", "two\nlines\n", "three", "\0binary"])
            .prop_map(str::to_owned)
    };
    let mode = prop::sample::select(vec![0o644u32, 0o600, 0o755, 0o4755, 0o444]);
    let op = prop_oneof![
        5 => (path(), text()).prop_map(|(p, t)| Op::Write(p, t)),
        2 => (path(), text()).prop_map(|(p, t)| Op::Append(p, t)),
        1 => path().prop_map(Op::Truncate),
        5 => path().prop_map(Op::Mkdir),
        4 => (path(), path()).prop_map(|(a, b)| Op::Rename(a, b)),
        3 => (path(), path()).prop_map(|(a, b)| Op::Link(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Op::Symlink(a, b)),
        2 => (path(), mode).prop_map(|(p, m)| Op::Chmod(p, m)),
        1 => (path(), 0u32..3).prop_map(|(p, u)| Op::Chown(p, u)),
        2 => path().prop_map(Op::Remove),
        2 => path().prop_map(Op::RemoveAll),
        1 => (path(), text()).prop_map(|(p, t)| Op::Xattr(p, t)),
        1 => path().prop_map(Op::Fifo),
    ];
    prop::collection::vec(op, 0..most)
}
