//! Undo, against what others did meanwhile.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use super::*;
use crate::testing::*;

fn at(name: &str) -> &Path {
    Path::new(name)
}

/// What a refused undo names.
fn refused(bench: &Bench, changesets: &[&Changeset]) -> Vec<(String, Why)> {
    let before = snapshot(&bench.real);
    let Err(Error::Conflict { paths }) = bench.undo(changesets, Later::Refuse) else {
        panic!("not refused");
    };
    assert_eq!(snapshot(&bench.real), before);
    let name = |c: &Conflict| {
        c.path
            .strip_prefix(&bench.real)
            .unwrap()
            .display()
            .to_string()
    };
    paths.iter().map(|c| (name(c), c.why)).collect()
}

#[test]
fn a_later_edit_is_a_conflict_and_force_keeps_it_for_the_next_undo() {
    let bench = Bench::new();
    bench.put("a", "one");
    let run = bench.staged(|f| f.write(at("a"), b"two").unwrap());
    bench.commit(&run).unwrap();
    bench.put("a", "three, by hand");
    assert_eq!(
        refused(&bench, &[&run.changeset]),
        [("a".to_owned(), Why::Changed)]
    );

    let forced = bench.undo(&[&run.changeset], Later::Replace).unwrap();
    bench.commit(&forced.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("a")).unwrap(), b"one");
    let back = bench
        .undo(&[&forced.staged.changeset], Later::Refuse)
        .unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("a")).unwrap(), b"three, by hand");
}

#[test]
fn a_second_undo_has_nothing_to_do() {
    let bench = Bench::new();
    bench.put("a", "one");
    let run = bench.staged(|f| f.write(at("a"), b"two").unwrap());
    bench.commit(&run).unwrap();
    let first = bench.undo(&[&run.changeset], Later::Refuse).unwrap();
    bench.commit(&first.staged).unwrap();
    let second = bench.undo(&[&run.changeset], Later::Refuse).unwrap();
    assert!(second.staged.changeset.is_empty());
    assert_eq!(second.already, [bench.real.join("a")]);
}

#[test]
fn several_runs_go_back_at_once() {
    let bench = Bench::new();
    bench.put("a", "0");
    let before = snapshot(&bench.real);
    let mut runs = Vec::new();
    for round in 1..4 {
        let run = bench.staged(|f| {
            f.write(at("a"), round.to_string().as_bytes()).unwrap();
            f.create_dir_all(at(&format!("d{round}"))).unwrap();
            f.write(at(&format!("d{round}/x")), b"x").unwrap();
        });
        bench.commit(&run).unwrap();
        runs.insert(0, run);
    }
    let newest_first: Vec<&Changeset> = runs.iter().map(|r| &r.changeset).collect();
    let back = bench.undo(&newest_first, Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn a_change_between_two_runs_is_a_gap() {
    let bench = Bench::new();
    bench.put("a", "0");
    let first = bench.staged(|f| f.write(at("a"), b"1").unwrap());
    bench.commit(&first).unwrap();
    bench.put("a", "by hand");
    let second = bench.staged(|f| f.write(at("a"), b"2").unwrap());
    bench.commit(&second).unwrap();
    let both = [&second.changeset, &first.changeset];
    assert_eq!(refused(&bench, &both), [("a".to_owned(), Why::Gap)]);
    // The second alone goes back.
    let back = bench.undo(&both[..1], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("a")).unwrap(), b"by hand");
}

#[test]
fn files_of_others_keep_a_folder() {
    let bench = Bench::new();
    let run = bench.staged(|f| {
        f.create_dir_all(at("new/deep")).unwrap();
        f.write(at("new/deep/x"), b"x").unwrap();
    });
    bench.commit(&run).unwrap();
    bench.put("new/deep/theirs", "t");
    let named = refused(&bench, &[&run.changeset]);
    assert!(
        named.contains(&("new/deep".to_owned(), Why::NotEmpty)),
        "{named:?}"
    );

    let forced = bench.undo(&[&run.changeset], Later::Replace).unwrap();
    assert_eq!(
        forced.kept,
        [bench.real.join("new"), bench.real.join("new/deep")]
    );
    bench.commit(&forced.staged).unwrap();
    assert!(bench.real.join("new/deep/theirs").exists());
    assert!(!bench.real.join("new/deep/x").exists());
}

#[test]
fn a_folder_that_is_gone_or_taken_is_a_conflict() {
    let bench = Bench::new();
    bench.put("d/x", "x");
    bench.put("e/x", "x");
    let run = bench.staged(|f| {
        f.remove(at("d/x")).unwrap();
        f.remove(at("e/x")).unwrap();
    });
    bench.commit(&run).unwrap();
    fs::remove_dir(bench.real.join("d")).unwrap();
    fs::remove_dir(bench.real.join("e")).unwrap();
    bench.put("e", "a file now");
    let no_folder = |n: &str| (n.to_owned(), Why::NoFolder);
    assert_eq!(
        refused(&bench, &[&run.changeset]),
        [no_folder("d/x"), no_folder("e/x")]
    );

    fs::remove_file(bench.real.join("e")).unwrap();
    let forced = bench.undo(&[&run.changeset], Later::Replace).unwrap();
    bench.commit(&forced.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("d/x")).unwrap(), b"x");
}

#[test]
fn some_paths_alone_bring_their_folders() {
    let bench = Bench::new();
    bench.put("d/e/x", "x");
    bench.put("d/e/y", "y");
    let run = bench.staged(|f| f.remove_dir_all(at("d")).unwrap());
    bench.commit(&run).unwrap();
    let only = [bench.real.join("d/e/x")];
    let what = Undo {
        changesets: &[&run.changeset],
        only: Some(&only),
        later: Later::Refuse,
    };
    let back = undo(&what, &bench.blobs).unwrap();
    bench.commit(&back.staged).unwrap();
    assert!(bench.real.join("d/e/x").exists());
    assert!(!bench.real.join("d/e/y").exists());
}

#[test]
fn a_link_comes_back_as_a_link_or_not_at_all() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    bench.put("a", "linked");
    fs::hard_link(bench.real.join("a"), bench.real.join("b")).unwrap();
    let run = bench.staged(|f| f.remove(at("a")).unwrap());
    bench.commit(&run).unwrap();
    let back = bench.undo(&[&run.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    let ino = |n| fs::metadata(bench.real.join(n)).unwrap().ino();
    assert_eq!(ino("a"), ino("b"));

    let run = bench.staged(|f| f.remove(at("a")).unwrap());
    bench.commit(&run).unwrap();
    bench.put("b", "its own way");
    assert_eq!(
        refused(&bench, &[&run.changeset]),
        [("a".to_owned(), Why::Link)]
    );
    let forced = bench.undo(&[&run.changeset], Later::Replace).unwrap();
    bench.commit(&forced.staged).unwrap();
    assert_eq!(fs::read(bench.real.join("a")).unwrap(), b"linked");
    assert_eq!(fs::read(bench.real.join("b")).unwrap(), b"its own way");
}
