//! A change of one small file: in place, done again, left alone.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::files::{Access, Files, Root};
use crate::testing::*;
use crate::undo::Later;

mod harden;
mod redo;

/// One file that is written, held in memory.
fn quick(bench: &Bench, name: &str, bytes: &str) -> Staged {
    let files = bench.files();
    files.write(Path::new(name), bytes.as_bytes()).unwrap();
    assert!(files.is_staged());
    let staged = files.finish_quick(&bench.allowed()).unwrap();
    staged.expect("it is one small file")
}

fn place(bench: &Bench, staged: &Staged) -> Result<Ended, Error> {
    bench.journal.place(staged, &bench.allowed(), &bench.blobs)
}

fn read_back(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.real.join(name)).unwrap()
}

#[test]
fn a_file_keeps_all_but_its_content_and_can_be_had_back() {
    let bench = Bench::new();
    bench.put("d/a", "old");
    let path = bench.real.join("d/a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    let file = fs::File::open(&path).unwrap();
    sys::fsetxattr(&file, "user.origin", b"here", sys::XattrFlags::empty()).unwrap();
    let before = snapshot(&bench.real);

    let staged = quick(&bench, "d/a", "new");
    assert_eq!(snapshot(&bench.real), before, "nothing is touched yet");
    place(&bench, &staged).unwrap();
    assert_eq!(read_back(&bench, "d/a"), "new");
    let names: Vec<_> = fs::read_dir(bench.real.join("d")).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left beside it");
    let placed = std::slice::from_ref(&staged.changeset);
    assert!(bench.journal.harden(placed, &bench.blobs).is_empty());

    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn a_new_file_appears_whole() {
    let bench = Bench::new();
    bench.put("d/other", "x");
    std::os::unix::fs::chown(bench.real.join("d"), Some(12), Some(34)).unwrap();
    let before = snapshot(&bench.real);
    // As the stage would have made it.
    let laid = bench.staged(|f| {
        f.write(Path::new("d/new"), b"text").unwrap();
        assert_eq!(f.read(Path::new("d/new")).unwrap(), b"text");
    });
    let staged = quick(&bench, "d/new", "text");
    let state = |staged: &Staged| staged.changeset.changes[0].after.clone();
    assert!(state(&staged).same(&state(&laid)), "{staged:?}\n{laid:?}");
    place(&bench, &staged).unwrap();
    assert_eq!(read_back(&bench, "d/new"), "text");
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn what_is_laid_down_is_the_same_change() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    let stage = bench.at("stage").join("one");
    let laid = staged.laid(&stage, &bench.blobs).unwrap();
    assert_eq!(laid.changeset.id(), staged.changeset.id());
    assert!(!laid.is_quick() && laid.redo().is_none());
    let kept = Staged::from_json(&laid.to_json()).unwrap();
    bench.commit(&kept).unwrap();
    assert_eq!(read_back(&bench, "a"), "new");
    // Only once is there anything to be laid down.
    assert!(laid.laid(&stage, &bench.blobs).is_err());
}

#[test]
fn only_a_single_small_file_is_held_in_memory() {
    let bench = Bench::new();
    bench.put("a", "old");
    bench.put("b", "old");
    bench.put("linked", "old");
    fs::hard_link(bench.real.join("linked"), bench.real.join("too")).unwrap();
    symlink("a", bench.real.join("link")).unwrap();
    bench.put("as_owner", "old");
    let mode = fs::Permissions::from_mode(0o4755);
    fs::set_permissions(bench.real.join("as_owner"), mode).unwrap();
    bench.put("able", "old");
    let able = fs::File::open(bench.real.join("able")).unwrap();
    let rights = [&0x0200_0001u32.to_le_bytes()[..], &[0; 16]].concat();
    let name = "security.capability";
    sys::fsetxattr(&able, name, &rights, sys::XattrFlags::empty()).unwrap();
    let large = "x".repeat(100_000);
    let cases: &[&[(&str, &str)]] = &[
        &[("a", "new"), ("b", "new")],
        &[("a", "new"), ("a", "newer")],
        &[("linked", "new")],
        &[("link", "new")],
        &[("as_owner", "new")],
        &[("able", "new")],
        &[("a", &large)],
    ];
    for writes in cases {
        let files = bench.files();
        for (name, text) in *writes {
            files.write(Path::new(name), text.as_bytes()).unwrap();
        }
        assert!(files.finish_quick(&bench.allowed()).unwrap().is_none());
        let staged = files.finish(&bench.allowed(), &bench.blobs).unwrap();
        assert!(!staged.changeset.is_empty(), "{writes:?}");
        assert!(staged.redo().is_none());
    }
    // What stays as it is, is no change.
    let same = bench.files();
    same.write(Path::new("a"), b"old").unwrap();
    let staged = same.finish_quick(&bench.allowed()).unwrap().unwrap();
    assert!(staged.changeset.is_empty() && !staged.is_quick());
    // An addition to a small file is one.
    let added = bench.files();
    added.append(Path::new("a"), b" and new").unwrap();
    let staged = added.finish_quick(&bench.allowed()).unwrap().unwrap();
    place(&bench, &staged).unwrap();
    assert_eq!(read_back(&bench, "a"), "old and new");
}

/// What was acknowledged is not lost where the stage cannot be made.
#[test]
fn what_cannot_be_laid_down_is_still_held() {
    let bench = Bench::new();
    bench.put("a", "old");
    let stage = bench.at("stage").join("one");
    let (path, access) = (bench.real.clone(), Access::Write);
    let files = Files::new(&[Root { path, access }], &stage).unwrap();
    files.write(Path::new("a"), b"new").unwrap();
    fs::write(&stage, "in the way").unwrap();
    for _ in 0..2 {
        files.read(Path::new("a")).unwrap_err();
        assert!(files.is_staged());
    }
    fs::remove_file(&stage).unwrap();
    assert_eq!(files.read(Path::new("a")).unwrap(), b"new");
    assert!(files.finish_quick(&bench.allowed()).unwrap().is_none());
    let staged = files.finish(&bench.allowed(), &bench.blobs).unwrap();
    assert_eq!(staged.changeset.changes.len(), 1);
}

#[test]
fn a_file_is_changed_only_if_it_is_what_was_seen() {
    let bench = Bench::new();
    bench.put("a", "old");
    let files = bench.files();
    assert!(!files.jot(Path::new("a"), b"other", b"new"));
    assert!(!files.jot(Path::new("missing"), b"", b"new"));
    assert!(!files.is_staged());
    assert!(files.jot(Path::new("a"), b"old", b"new"));
    assert!(files.glance(Path::new("a"), 100).is_none());
    assert_eq!(files.read(Path::new("a")).unwrap(), b"new");
}

#[test]
fn a_file_that_was_changed_meanwhile_is_a_conflict() {
    let bench = Bench::new();
    for text in [Some("theirs"), None] {
        bench.put("a", "old");
        let staged = quick(&bench, "a", "mine");
        match text {
            Some(text) => bench.put("a", text),
            None => fs::remove_file(bench.real.join("a")).unwrap(),
        }
        let before = snapshot(&bench.real);
        let error = place(&bench, &staged).unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
        assert_eq!(snapshot(&bench.real), before);
    }
    let staged = quick(&bench, "new", "mine");
    bench.put("new", "theirs");
    let error = place(&bench, &staged).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    assert_eq!(read_back(&bench, "new"), "theirs");
}

/// Somebody who saves the file at the last moment.
struct Saves<'b> {
    bench: &'b Bench,
    how: fn(&Bench),
    seen: AtomicUsize,
}

impl Probe for Saves<'_> {
    fn step(&self, what: &'static str) -> io::Result<()> {
        if what == "put in place" && self.seen.fetch_add(1, Ordering::SeqCst) == 0 {
            (self.how)(self.bench);
        }
        Ok(())
    }
}

#[test]
fn whoever_saves_at_the_last_moment_loses_nothing() {
    let ways: [fn(&Bench); 3] = [
        |bench| bench.put("a", "theirs, written"),
        |bench| {
            bench.put("new", "theirs, renamed");
            fs::rename(bench.real.join("new"), bench.real.join("a")).unwrap();
        },
        |bench| fs::remove_file(bench.real.join("a")).unwrap(),
    ];
    for how in ways {
        let bench = Bench::new();
        bench.put("a", "old");
        let staged = quick(&bench, "a", "mine");
        let saves = Saves {
            bench: &bench,
            how,
            seen: AtomicUsize::new(0),
        };
        let (allowed, blobs) = (bench.allowed(), &bench.blobs);
        let error = bench
            .journal
            .place_with(&staged, &allowed, blobs, &saves)
            .unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
        let names = fs::read_dir(&bench.real).unwrap();
        let names: Vec<_> = names.map(|e| e.unwrap().file_name()).collect();
        match fs::read_to_string(bench.real.join("a")) {
            Ok(text) => {
                assert!(text.starts_with("theirs"), "{text}");
                assert_eq!(names, ["a"]);
            }
            Err(_) => assert!(names.is_empty(), "{names:?}"),
        }
    }
}

/// Fails at one step.
struct Fails(usize, AtomicUsize);

impl Probe for Fails {
    fn step(&self, _: &'static str) -> io::Result<()> {
        match self.1.fetch_add(1, Ordering::SeqCst) + 1 == self.0 {
            true => Err(io::Error::from_raw_os_error(28)),
            false => Ok(()),
        }
    }
}

/// Fails at the first step of a name.
pub(super) struct FailsAt(pub(super) &'static str, pub(super) AtomicUsize);

impl FailsAt {
    pub(super) fn once(what: &'static str) -> Self {
        Self(what, AtomicUsize::new(0))
    }
}

impl Probe for FailsAt {
    fn step(&self, what: &'static str) -> io::Result<()> {
        match what == self.0 && self.1.fetch_add(1, Ordering::SeqCst) == 0 {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }
}

/// The file that had to go gets its place back where nobody can say which it was.
#[test]
fn what_cannot_be_looked_at_is_not_removed() {
    let bench = Bench::new();
    bench.put("a", "old");
    let before = snapshot(&bench.real);
    let staged = quick(&bench, "a", "mine");
    let stop = FailsAt::once("look at what went");
    let (allowed, blobs) = (bench.allowed(), &bench.blobs);
    let placed = bench.journal.place_with(&staged, &allowed, blobs, &stop);
    placed.unwrap_err();
    assert_eq!(snapshot(&bench.real), before);
}

/// A folder can give what is made in it more than the manifest says.
#[test]
fn a_file_has_the_attributes_of_the_manifest_and_no_others() {
    let bench = Bench::new();
    bench.put("d/a", "old");
    let entry = |tag: u16, may: u16, id: u32| {
        let (tag, may, id) = (tag.to_le_bytes(), may.to_le_bytes(), id.to_le_bytes());
        [&tag[..], &may, &id].concat()
    };
    let none = u32::MAX;
    // For its user, user 12, its group, the mask, others.
    let acl = [
        2u32.to_le_bytes().to_vec(),
        entry(0x01, 7, none),
        entry(0x02, 7, 12),
        entry(0x04, 5, none),
        entry(0x10, 7, none),
        entry(0x20, 5, none),
    ];
    let name = "system.posix_acl_default";
    for folder in ["", "d"] {
        let folder = fs::File::open(bench.real.join(folder)).unwrap();
        match sys::fsetxattr(&folder, name, &acl.concat(), sys::XattrFlags::empty()) {
            Err(Errno::OPNOTSUPP) => return,
            set => set.unwrap(),
        }
    }
    for name in ["d/a", "d/new"] {
        let before = snapshot(&bench.real);
        let staged = quick(&bench, name, "mine");
        place(&bench, &staged).unwrap();
        let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
        bench.commit(&back.staged).unwrap();
        assert_eq!(snapshot(&bench.real), before, "{name}");
    }
    let before = snapshot(&bench.real);
    let staged = bench.staged(|files| {
        files.write(Path::new("b"), b"b").unwrap();
        files.write(Path::new("d/b"), b"b").unwrap();
    });
    bench.commit(&staged).unwrap();
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(snapshot(&bench.real), before);
}
