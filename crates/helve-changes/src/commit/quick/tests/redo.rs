//! What a start does again, and what it leaves.

use std::os::unix::fs::MetadataExt as _;

use super::*;
use crate::state::Time;
use Came::{Again, Missing, There, Unclear};

struct Kept {
    changeset: Changeset,
    redo: Vec<u8>,
    ended: bool,
}

/// As it is kept when the system goes down.
fn kept(staged: &Staged, ended: bool) -> Kept {
    let (mut redo, text) = (staged.redo().unwrap(), boot().unwrap());
    let at = redo.windows(text.len()).position(|w| w == text.as_bytes());
    redo[at.unwrap()..][..8].copy_from_slice(b"00000000");
    let changeset = staged.changeset.clone();
    Kept {
        changeset,
        redo,
        ended,
    }
}

/// As it is kept when only the hub goes down.
fn kept_in_this_boot(staged: &Staged, ended: bool) -> Kept {
    Kept {
        redo: staged.redo().unwrap(),
        ..kept(staged, ended)
    }
}

fn redo_with(bench: &Bench, kept: &[Kept], probe: &dyn Probe) -> Vec<Redone> {
    let placed: Vec<Placed<'_>> = kept
        .iter()
        .map(|k| Placed {
            changeset: k.changeset.clone(),
            redo: &k.redo,
            ended: k.ended,
        })
        .collect();
    let redone = bench.journal.redo_with(&placed, &bench.blobs, probe);
    redone.unwrap()
}

#[track_caller]
fn redo(bench: &Bench, kept: &[Kept]) -> Vec<Came> {
    let redone = redo_with(bench, kept, &());
    assert!(
        redone.iter().all(|r| !r.keep && r.error.is_none()),
        "{redone:?}"
    );
    redone.into_iter().map(|r| r.came).collect()
}

/// What a crash leaves of a file, with the time that it has then.
fn leave(bench: &Bench, name: &str, bytes: &[u8], time: Option<Time>) {
    let path = bench.real.join(name);
    fs::write(&path, bytes).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    if let Some(time) = time {
        meta::set_time(fs::File::open(path).unwrap(), time).unwrap();
    }
}

fn time_of(state: &State) -> Option<Time> {
    state.file().map(|file| file.mtime)
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
            for ended in [false, true] {
                // What is put aside and not cleared.
                fs::write(bench.real.join(aside(&staged.changeset)), "mi").unwrap();
                let came = redo(&bench, &[kept(&staged, ended)]);
                assert!(matches!(came[..], [There | Again]), "{name} {at} {came:?}");
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
            let change = &staged.changeset.changes[0];
            let time = match left {
                b"old" => &change.before,
                _ => &change.after,
            };
            leave(&bench, "a", left, time_of(time));
            assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Again]);
            assert_eq!(read_back(&bench, "a"), "the new text", "{left:?} {ended}");
        }
    }
    for ended in [false, true] {
        let staged = quick(&bench, "new", "new");
        assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Again]);
        assert_eq!(read_back(&bench, "new"), "new");
        fs::remove_file(bench.real.join("new")).unwrap();
    }
}

#[test]
fn what_others_wrote_is_left() {
    let bench = Bench::new();
    for theirs in [
        "theirs",
        "the new text and more",
        "the mew",
        "",
        "the ne",
        "old",
    ] {
        for time in [None, Some(Time { s: 1, ns: 0 })] {
            bench.put("a", "old");
            let staged = quick(&bench, "a", "the new text");
            place(&bench, &staged).unwrap();
            leave(&bench, "a", theirs.as_bytes(), time);
            for ended in [false, true] {
                let came = match theirs {
                    // Which says no more than that nothing of it is there.
                    "old" => Missing,
                    _ => Unclear,
                };
                assert_eq!(redo(&bench, &[kept(&staged, ended)]), [came]);
                assert_eq!(read_back(&bench, "a"), theirs);
            }
        }
    }
}

#[test]
fn what_others_removed_stays_away() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    place(&bench, &staged).unwrap();
    fs::remove_file(bench.real.join("a")).unwrap();
    for ended in [false, true] {
        assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Unclear]);
    }
    for (gone, name) in [("d", "d/new"), ("", "d/new")] {
        bench.put("d/other", "x");
        let staged = quick(&bench, name, "new");
        fs::remove_dir_all(bench.real.join(gone)).unwrap();
        for ended in [false, true] {
            assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Missing]);
        }
        assert!(!bench.real.join("d").exists());
    }
}

/// Other folders that its tool may write to are no matter.
#[test]
fn one_root_is_enough() {
    let bench = Bench::new();
    bench.put("a", "old");
    let gone = bench.at("gone");
    fs::create_dir(&gone).unwrap();
    let access = Access::Write;
    let roots = [bench.real.clone(), gone.clone()].map(|path| Root { path, access });
    let files = Files::new(&roots, &bench.at("stage").join("one")).unwrap();
    files.write(Path::new("a"), b"new").unwrap();
    let staged = files.finish_quick(&bench.allowed()).unwrap().unwrap();
    assert_eq!(staged.changeset.roots.len(), 2);
    fs::remove_dir_all(gone).unwrap();
    assert_eq!(redo(&bench, &[kept(&staged, true)]), [Again]);
    assert_eq!(read_back(&bench, "a"), "new");
}

#[test]
fn in_the_same_boot_what_is_there_tells() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    let again = |ended| {
        let came = redo(&bench, &[kept_in_this_boot(&staged, ended)]);
        (came[0], read_back(&bench, "a"))
    };
    assert_eq!(again(false), (Missing, "old".to_owned()));
    place(&bench, &staged).unwrap();
    for ended in [false, true] {
        assert_eq!(again(ended), (There, "new".to_owned()));
    }
    // Somebody took it back by hand, or went on.
    bench.put("a", "old");
    assert_eq!(again(true), (There, "old".to_owned()));
    bench.put("a", "theirs");
    assert_eq!(again(true), (There, "theirs".to_owned()));
    assert_eq!(again(false), (Unclear, "theirs".to_owned()));
    // A disk that was taken away, or could not be written, and was looked after.
    let change = &staged.changeset.changes[0];
    leave(&bench, "a", b"ne", time_of(&change.after));
    assert_eq!(again(true), (Again, "new".to_owned()));
    leave(&bench, "a", b"old", time_of(&change.before));
    assert_eq!(again(true), (Missing, "old".to_owned()));
}

/// Whoever wrote what was there before may not have waited for the disk.
#[test]
fn what_went_with_what_was_there_before_is_made_whole() {
    let bench = Bench::new();
    let leaves: [&[u8]; 3] = [b"", b"the o", b"\0\0\0\0old text"];
    for left in leaves {
        for ended in [false, true] {
            bench.put("a", "the old text");
            let staged = quick(&bench, "a", "another");
            let time = time_of(&staged.changeset.changes[0].before);
            leave(&bench, "a", left, time);
            assert_eq!(redo(&bench, &[kept(&staged, ended)]), [Again], "{left:?}");
            assert_eq!(read_back(&bench, "a"), "another");
            leave(&bench, "a", left, None);
            assert_ne!(redo(&bench, &[kept(&staged, ended)]), [Again]);
        }
    }
}

/// An earlier sync may have failed, and what is in memory be nowhere else.
#[test]
fn what_is_there_is_written_anew_before_it_is_synced() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "new");
    place(&bench, &staged).unwrap();
    let image = {
        let name = staged.changeset.images()[0].to_string();
        bench.at("objects").join(&name[..2]).join(&name[2..])
    };
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    // Held open, so that its number is not given to another.
    let files = [bench.real.join("a"), image];
    let held = files.each_ref().map(|path| fs::File::open(path).unwrap());
    let before = snapshot(&bench.real);
    let [this, other] = [kept_in_this_boot, kept].map(|kept| kept(&staged, true));
    let mut held = held;
    for kept in [this, other] {
        let came = redo(&bench, &[kept]);
        assert_eq!((came, snapshot(&bench.real)), (vec![There], before.clone()));
        for (path, held) in files.iter().zip(&held) {
            assert_ne!(inode(path), held.metadata().unwrap().ino(), "{path:?}");
        }
        held = files.each_ref().map(|path| fs::File::open(path).unwrap());
    }
}

#[test]
fn one_after_the_other_wherever_it_was_cut() {
    let texts = [["1", "2", "1", "3"], ["1", "2", "3", "2"]];
    for (texts, known) in texts.into_iter().flat_map(|t| [(t, 3), (t, 0)]) {
        for now in 0..4 {
            let bench = Bench::new();
            bench.put("a", texts[0]);
            let (mut all, mut times) = (Vec::new(), Vec::new());
            for (at, text) in texts.iter().enumerate().skip(1) {
                let staged = quick(&bench, "a", text);
                place(&bench, &staged).unwrap();
                all.push(kept(&staged, at < known));
                times.push(time_of(&staged.changeset.changes[0].before));
                if at == 3 {
                    times.push(time_of(&staged.changeset.changes[0].after));
                }
            }
            leave(&bench, "a", texts[now].as_bytes(), times[now]);
            let came = redo(&bench, &all);
            let wanted: Vec<Came> = (0..3)
                .map(|at| if at < now { There } else { Again })
                .collect();
            assert_eq!(came, wanted, "{texts:?} {now}");
            assert_eq!(read_back(&bench, "a"), texts[3], "{texts:?} {now}");
        }
    }
}

/// What came after somebody else's work cannot be done without it.
#[test]
fn between_two_somebody_else_may_have_written() {
    let bench = Bench::new();
    bench.put("a", "1");
    let first = quick(&bench, "a", "2");
    place(&bench, &first).unwrap();
    bench.put("a", "theirs");
    let second = quick(&bench, "a", "their 3");
    place(&bench, &second).unwrap();
    let all = [kept(&first, true), kept(&second, true)];
    // Theirs was lost too.
    leave(
        &bench,
        "a",
        b"1",
        time_of(&first.changeset.changes[0].before),
    );
    assert_eq!(redo(&bench, &all), [Again, Unclear]);
    assert_eq!(read_back(&bench, "a"), "2");
    // Theirs was not.
    leave(
        &bench,
        "a",
        b"theirs",
        time_of(&second.changeset.changes[0].before),
    );
    assert_eq!(redo(&bench, &all), [There, Again]);
    assert_eq!(read_back(&bench, "a"), "their 3");
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
    let whole = kept(&staged, false).redo;
    let mut all: Vec<Vec<u8>> = (0..whole.len()).map(|cut| whole[..cut].to_vec()).collect();
    all.push([&whole[..], b"x"].concat());
    for at in whole.len() - 6..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        all.push(changed);
    }
    for redo in all {
        let kept = Kept {
            redo,
            ..kept(&staged, false)
        };
        let redone = redo_with(&bench, &[kept], &()).remove(0);
        let damaged = matches!(redone.error, Some(Error::Manifest(_)));
        assert!(damaged && !redone.keep, "{redone:?}");
        assert_eq!(
            (redone.came, read_back(&bench, "a")),
            (Unclear, "old".to_owned())
        );
    }
}

/// The next start does it, and what came after it in the same file.
#[test]
fn one_that_cannot_be_done_holds_up_no_other() {
    let bench = Bench::new();
    bench.put("a", "1");
    bench.put("b", "old");
    let (first, other) = (quick(&bench, "a", "2"), quick(&bench, "b", "new"));
    place(&bench, &first).unwrap();
    let second = quick(&bench, "a", "3");
    leave(
        &bench,
        "a",
        b"1",
        time_of(&first.changeset.changes[0].before),
    );
    let all = || [kept(&first, true), kept(&second, true), kept(&other, true)];
    for step in ["write a file", "open to sync"] {
        let redone = redo_with(&bench, &all()[..1], &FailsAt::once(step));
        assert!(redone[0].keep && redone[0].error.is_some(), "{redone:?}");
        leave(
            &bench,
            "a",
            b"1",
            time_of(&first.changeset.changes[0].before),
        );
    }
    let redone = redo_with(&bench, &all(), &FailsAt::once("write a file"));
    let kept: Vec<bool> = redone.iter().map(|r| r.keep).collect();
    assert_eq!(kept, [true, true, false], "{redone:?}");
    let texts = || (read_back(&bench, "a"), read_back(&bench, "b"));
    assert_eq!(texts(), ("1".to_owned(), "new".to_owned()));
    assert_eq!(redo(&bench, &all()), [Again, Again, There]);
    assert_eq!(texts().0, "3");
}

/// Whoever saves at the last moment, and the hub is killed before it has seen that.
#[test]
fn what_lies_aside_is_looked_at() {
    let bench = Bench::new();
    bench.put("a", "old");
    let staged = quick(&bench, "a", "mine");
    place(&bench, &staged).unwrap();
    let lies = bench.real.join(aside(&staged.changeset));
    for boot in [kept, kept_in_this_boot] {
        leave(
            &bench,
            "a",
            b"mine",
            time_of(&staged.changeset.changes[0].after),
        );
        fs::write(&lies, "theirs").unwrap();
        assert_eq!(redo(&bench, &[boot(&staged, false)]), [Missing]);
        assert_eq!(read_back(&bench, "a"), "theirs");
        assert!(!lies.exists());
    }
    // Where there is no telling whose place it is, it stays.
    fs::write(&lies, "more").unwrap();
    let redone = redo_with(&bench, &[kept(&staged, false)], &()).remove(0);
    assert!(redone.keep && redone.came == Unclear, "{redone:?}");
    assert_eq!(fs::read_to_string(&lies).unwrap(), "more");
}
