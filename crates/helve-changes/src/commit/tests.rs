//! Commits that are stopped, attacked, and taken back.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod attacks;
mod crash;
mod large;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::trees;
use crate::testing::*;
use crate::*;

pub(crate) use crash::helper;

#[test]
fn two_commits_on_one_path_are_a_conflict() {
    let bench = Bench::new();
    bench.put("a", "one");
    let first = bench.staged(|f| f.write(Path::new("a"), b"first").unwrap());
    let second = bench.staged(|f| f.write(Path::new("a"), b"second").unwrap());
    bench.commit(&first).unwrap();
    let before = snapshot(&bench.real);
    let error = bench.commit(&second).unwrap_err();
    let expected = Conflict {
        path: bench.real.join("a"),
        why: Why::Changed,
    };
    assert!(matches!(error, Error::Conflict { paths } if paths == [expected]));
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn every_path_of_a_conflict_is_named_and_nothing_is_applied() {
    let bench = Bench::new();
    for name in ["changed", "gone", "fine"] {
        bench.put(name, "x");
    }
    let staged = bench.staged(|f| {
        for name in ["changed", "gone", "fine", "appeared"] {
            f.write(Path::new(name), b"new").unwrap();
        }
    });
    bench.put("changed", "y");
    fs::remove_file(bench.real.join("gone")).unwrap();
    bench.put("appeared", "z");
    let before = snapshot(&bench.real);
    let Err(Error::Conflict { paths }) = bench.commit(&staged) else {
        panic!("no conflict");
    };
    let named: Vec<_> = paths
        .iter()
        .map(|c| (c.path.file_name().unwrap().to_str().unwrap(), c.why))
        .collect();
    assert_eq!(
        named,
        [
            ("appeared", Why::Appeared),
            ("changed", Why::Changed),
            ("gone", Why::Gone)
        ]
    );
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn a_stage_that_changed_is_refused() {
    for large in [false, true] {
        let bench = Bench::new();
        bench.put("a", "x");
        let size = if large { 17 << 20 } else { 10 };
        let staged = bench.staged(|f| {
            f.write(Path::new("a"), &vec![b'n'; size]).unwrap();
            f.write(Path::new("b"), b"b").unwrap();
        });
        let source = &staged
            .sources
            .iter()
            .find(|s| s.path.ends_with("a"))
            .unwrap()
            .file;
        let mut bytes = fs::read(source).unwrap();
        bytes[5] = b'!';
        fs::write(source, bytes).unwrap();
        let before = snapshot(&bench.real);
        let error = bench.commit(&staged).unwrap_err();
        assert!(matches!(error, Error::StageChanged { path } if path.ends_with("a")));
        assert_eq!(snapshot(&bench.real), before);
        assert_eq!(bench.journal.recover(&bench.blobs).unwrap(), []);
    }
}

#[test]
fn a_missing_before_image_stops_a_commit() {
    let bench = Bench::new();
    bench.put("a", "x");
    let staged = bench.staged(|f| f.write(Path::new("a"), b"new").unwrap());
    fs::remove_dir_all(bench.at("objects")).unwrap();
    let error = bench.commit(&staged).unwrap_err();
    assert!(matches!(
        error,
        Error::Image {
            why: ImageFault::Missing,
            ..
        }
    ));
    assert_eq!(fs::read(bench.real.join("a")).unwrap(), b"x");
}

#[test]
fn a_commit_is_told_of_until_it_is_settled() {
    let bench = Bench::new();
    let staged = bench.staged(|f| f.write(Path::new("a"), b"new").unwrap());
    let ended = bench
        .journal
        .commit(&staged, &bench.allowed(), &bench.blobs)
        .unwrap();
    let told = bench.journal.recover(&bench.blobs).unwrap();
    assert_eq!(told.as_slice(), std::slice::from_ref(&ended));
    bench.journal.settle(&ended.id).unwrap();
    assert_eq!(bench.journal.recover(&bench.blobs).unwrap(), []);
}

#[test]
fn a_name_outside_keeps_its_content_and_mode() {
    let bench = Bench::new();
    let outside = bench.at("outside");
    fs::write(&outside, "kept").unwrap();
    fs::hard_link(&outside, bench.real.join("a")).unwrap();
    let staged = bench.staged(|f| f.set_mode(Path::new("a"), 0o777).unwrap());
    bench.commit(&staged).unwrap();
    let staged = bench.staged(|f| f.write(Path::new("a"), b"mine").unwrap());
    bench.commit(&staged).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), b"kept");
    assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o777, 0o644);
}

#[test]
fn owners_stay() {
    let bench = Bench::new();
    bench.put("a", "x");
    std::os::unix::fs::chown(bench.real.join("a"), Some(1234), Some(99)).unwrap();
    let staged = bench.staged(|f| f.write(Path::new("a"), b"new").unwrap());
    bench.commit(&staged).unwrap();
    let meta = fs::metadata(bench.real.join("a")).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (1234, 99));
}

#[test]
fn symlinks_folders_and_modes_are_committed() {
    let bench = Bench::new();
    bench.put("d/x", "x");
    symlink("d", bench.real.join("l")).unwrap();
    let staged = bench.staged(|f| {
        f.remove_dir_all(Path::new("d")).unwrap();
        f.write(Path::new("d"), b"now a file").unwrap();
        f.remove(Path::new("l")).unwrap();
        f.create_dir_all(Path::new("l/deep/er")).unwrap();
        f.set_mode(Path::new("l/deep"), 0o500).unwrap();
        f.symlink(Path::new("../d"), Path::new("l/back")).unwrap();
    });
    bench.commit(&staged).unwrap();
    assert_eq!(fs::read(bench.real.join("l/back")).unwrap(), b"now a file");
    let mode = fs::metadata(bench.real.join("l/deep"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o500);
}
