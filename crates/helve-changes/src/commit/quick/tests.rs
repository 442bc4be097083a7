//! A change of one small file: in place, done again, left alone.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::*;
use crate::undo::Later;

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

/// The redo as another boot would have written it.
fn of_another_boot(redo: &[u8]) -> Vec<u8> {
    let text = boot().unwrap();
    let at = redo.windows(text.len()).position(|w| w == text.as_bytes());
    let mut redo = redo.to_vec();
    let at = at.unwrap();
    redo[at..at + 8].copy_from_slice(b"00000000");
    redo
}

struct Kept {
    changeset: Changeset,
    redo: Vec<u8>,
    ended: bool,
}

fn kept(staged: &Staged, ended: bool) -> Kept {
    Kept {
        changeset: staged.changeset.clone(),
        redo: of_another_boot(&staged.redo().unwrap()),
        ended,
    }
}

fn redo(bench: &Bench, kept: &[Kept]) -> Vec<Outcome> {
    let placed: Vec<Placed<'_>> = kept
        .iter()
        .map(|k| Placed {
            changeset: k.changeset.clone(),
            redo: &k.redo,
            ended: k.ended,
        })
        .collect();
    let ended = bench.journal.redo(&placed, &bench.blobs).unwrap();
    ended.into_iter().map(|e| e.outcome).collect()
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
    bench
        .journal
        .harden(std::slice::from_ref(&staged.changeset), &bench.blobs)
        .unwrap();

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
    let large = "x".repeat(100_000);
    let cases: &[&[(&str, &str)]] = &[
        &[("a", "new"), ("b", "new")],
        &[("a", "new"), ("a", "newer")],
        &[("linked", "new")],
        &[("link", "new")],
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
    assert!(staged.changeset.is_empty());
    // An addition to a small file is one.
    let added = bench.files();
    added.append(Path::new("a"), b" and new").unwrap();
    let staged = added.finish_quick(&bench.allowed()).unwrap().unwrap();
    place(&bench, &staged).unwrap();
    assert_eq!(read_back(&bench, "a"), "old and new");
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

/// As if it had been killed there: what lies around is what a crash leaves.
#[test]
fn cut_at_any_step_it_is_all_there_after_a_start() {
    for name in ["a", "new"] {
        for at in 1.. {
            let bench = Bench::new();
            bench.put("a", "old");
            let staged = quick(&bench, name, "mine");
            let stop = Fails(at, AtomicUsize::new(0));
            let (allowed, blobs) = (bench.allowed(), &bench.blobs);
            let placed = bench.journal.place_with(&staged, &allowed, blobs, &stop);
            // What is put aside and not cleared.
            fs::write(bench.real.join(aside(&staged.changeset)), "half").unwrap();
            for ended in [false, true] {
                let outcomes = redo(&bench, &[kept(&staged, ended)]);
                assert_eq!(outcomes, [Outcome::Committed], "{name} {at}");
                assert_eq!(read_back(&bench, name), "mine");
            }
            let count = fs::read_dir(&bench.real).unwrap().count();
            assert_eq!(count, 1 + usize::from(name == "new"));
            if placed.is_ok() && stop.1.into_inner() < at {
                assert!(at > 3, "there are more steps than that");
                break;
            }
        }
    }
}

#[test]
fn what_a_system_that_went_down_left_is_made_whole() {
    let bench = Bench::new();
    let leaves: [&[u8]; 5] = [b"old", b"", b"\0\0\0\0", b"the ne", b"the\0new\0"];
    for left in leaves {
        for ended in [false, true] {
            bench.put("a", "old");
            let staged = quick(&bench, "a", "the new text");
            place(&bench, &staged).unwrap();
            fs::write(bench.real.join("a"), left).unwrap();
            let meta = &staged.changeset.changes[0].before.meta().unwrap();
            let mode = fs::Permissions::from_mode(meta.mode);
            fs::set_permissions(bench.real.join("a"), mode).unwrap();
            assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Outcome::Committed]);
            assert_eq!(read_back(&bench, "a"), "the new text", "{left:?} {ended}");
        }
    }
}

#[test]
fn what_others_wrote_is_left() {
    let bench = Bench::new();
    for theirs in ["theirs", "the new text and more", "the mew"] {
        bench.put("a", "old");
        let staged = quick(&bench, "a", "the new text");
        bench.put("a", theirs);
        let placed = [Placed {
            changeset: staged.changeset.clone(),
            redo: &of_another_boot(&staged.redo().unwrap()),
            ended: false,
        }];
        let ended = bench.journal.redo(&placed, &bench.blobs).unwrap();
        assert_eq!(ended[0].outcome, Outcome::RolledBack);
        assert_eq!(ended[0].left[0].path, bench.real.join("a"));
        assert_eq!(read_back(&bench, "a"), theirs);
        // Of what is known to have happened it came later.
        assert_eq!(redo(&bench, &[kept(&staged, true)]), [Outcome::Committed]);
        assert_eq!(read_back(&bench, "a"), theirs);
    }
}

#[test]
fn in_the_same_boot_what_is_there_tells() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    let bytes = staged.redo().unwrap();
    let again = |ended| {
        let changeset = staged.changeset.clone();
        let redo = &bytes;
        let placed = Placed {
            changeset,
            redo,
            ended,
        };
        let mut done = bench.journal.redo(&[placed], &bench.blobs).unwrap();
        let done = done.remove(0);
        (done.outcome, done.left.len(), read_back(&bench, "a"))
    };
    use Outcome::{Committed, RolledBack};
    assert_eq!(again(false), (RolledBack, 0, "old".to_owned()));
    place(&bench, &staged).unwrap();
    for ended in [false, true] {
        assert_eq!(again(ended), (Committed, 0, "new".to_owned()));
    }
    // Somebody took it back by hand, or went on.
    bench.put("a", "old");
    assert_eq!(again(true), (Committed, 0, "old".to_owned()));
    bench.put("a", "theirs");
    assert_eq!(again(true), (Committed, 0, "theirs".to_owned()));
    assert_eq!(again(false), (RolledBack, 1, "theirs".to_owned()));
}

#[test]
fn one_after_the_other_wherever_it_was_cut() {
    let texts = [["1", "2", "1", "3"], ["1", "2", "3", "2"]];
    for (texts, known) in texts.into_iter().flat_map(|t| [(t, 3), (t, 0)]) {
        for now in texts {
            let bench = Bench::new();
            bench.put("a", texts[0]);
            let mut all = Vec::new();
            for (at, text) in texts.iter().enumerate().skip(1) {
                let staged = quick(&bench, "a", text);
                place(&bench, &staged).unwrap();
                all.push(kept(&staged, at < known));
            }
            fs::write(bench.real.join("a"), now).unwrap();
            let outcomes = redo(&bench, &all);
            assert_eq!(outcomes, [Outcome::Committed; 3], "{texts:?} {now}");
            assert_eq!(read_back(&bench, "a"), texts[3], "{texts:?} {now}");
        }
    }
}

#[test]
fn an_image_that_was_lost_is_kept_again() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    place(&bench, &staged).unwrap();
    let hash = staged.changeset.images()[0];
    let name = hash.to_string();
    let image = bench.at("objects").join(&name[..2]).join(&name[2..]);
    for lost in [Some(&b""[..]), Some(b"half"), None] {
        match lost {
            Some(bytes) => fs::write(&image, bytes).unwrap(),
            None => fs::remove_file(&image).unwrap(),
        }
        redo(&bench, &[kept(&staged, true)]);
        assert_eq!(bench.blobs.read_small(&hash).unwrap(), b"old", "{lost:?}");
    }
}

#[test]
fn a_redo_that_is_not_of_the_change_is_refused() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    let whole = of_another_boot(&staged.redo().unwrap());
    let mut all: Vec<Vec<u8>> = (0..whole.len()).map(|cut| whole[..cut].to_vec()).collect();
    all.push([&whole[..], b"x"].concat());
    for at in whole.len() - 6..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        all.push(changed);
    }
    for redo in all {
        let placed = Placed {
            changeset: staged.changeset.clone(),
            redo: &redo,
            ended: false,
        };
        let error = bench.journal.redo(&[placed], &bench.blobs).unwrap_err();
        assert!(matches!(error, Error::Manifest(_)), "{error:?}");
        assert_eq!(read_back(&bench, "a"), "old");
    }
}

#[test]
fn many_are_hardened_at_once_and_what_is_gone_is_no_matter() {
    let bench = Bench::new();
    let mut all = Vec::new();
    for n in 0..20 {
        let staged = quick(&bench, &format!("f{n}"), "text");
        place(&bench, &staged).unwrap();
        all.push(staged.changeset.clone());
    }
    bench.journal.harden(&all, &bench.blobs).unwrap();
    fs::remove_file(bench.real.join("f0")).unwrap();
    fs::remove_file(bench.real.join("f1")).unwrap();
    fs::create_dir(bench.real.join("f1")).unwrap();
    bench.journal.harden(&all[..3], &bench.blobs).unwrap();
    fs::remove_dir_all(&bench.real).unwrap();
    bench.journal.harden(&all, &bench.blobs).unwrap();
    bench.journal.harden(&all[..3], &bench.blobs).unwrap();
}
