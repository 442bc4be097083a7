//! The manifest, its spelling, and what it says.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::*;
use crate::testing::*;

#[test]
fn names_that_are_no_text_survive() {
    let bench = Bench::new();
    let names = [&b"line\nbreak"[..], b"\xff\xfe", b"{\"hex\": \"00\"}"];
    let staged = bench.staged(|f| {
        for name in names {
            f.write(Path::new(OsStr::from_bytes(name)), b"x").unwrap();
        }
    });
    let read = Changeset::read(&staged.changeset.manifest()).unwrap();
    assert_eq!(read, staged.changeset);
    for name in names {
        assert!(
            read.get(&bench.real.join(OsStr::from_bytes(name)))
                .is_some()
        );
    }
    bench.commit(&staged).unwrap();
    for name in names {
        assert!(bench.real.join(OsStr::from_bytes(name)).exists());
    }
}

#[test]
fn there_is_one_spelling() {
    let bench = Bench::new();
    let staged = bench.staged(|f| f.write(Path::new("a"), b"x").unwrap());
    let manifest = String::from_utf8(staged.changeset.manifest()).unwrap();
    for other in [
        format!(" {manifest}"),
        manifest.replace("\"version\":1", "\"version\":2"),
        manifest.replace("/a\"", "/../a\""),
        manifest.replace("real/a\"", "other/a\""),
        manifest.replace("/a\"", "//a\""),
    ] {
        assert!(Changeset::read(other.as_bytes()).is_err(), "{other}");
    }
}

#[test]
fn what_is_the_same_is_no_change() {
    let bench = Bench::new();
    bench.put("a", "x");
    bench.put("d/b", "y");
    let staged = bench.staged(|f| {
        f.write(Path::new("a"), b"x").unwrap();
        f.rename(Path::new("d"), Path::new("e")).unwrap();
        f.rename(Path::new("e"), Path::new("d")).unwrap();
        f.write(Path::new("new"), b"").unwrap();
        f.remove(Path::new("new")).unwrap();
    });
    assert_eq!(staged.changeset.changes, []);
}

#[test]
fn a_rename_is_told_as_one() {
    let bench = Bench::new();
    bench.put("d/a", "some text");
    let staged = bench.staged(|f| f.rename(Path::new("d"), Path::new("e")).unwrap());
    let told: Vec<(String, Kind)> = staged
        .changeset
        .entries()
        .map(|(p, k)| {
            (
                p.strip_prefix(&bench.real).unwrap().display().to_string(),
                k,
            )
        })
        .collect();
    let is = |n: &str, k| (n.to_owned(), k);
    assert_eq!(
        told,
        [
            is("d", Kind::Deleted),
            is("d/a", Kind::Deleted),
            is("e", Kind::Renamed),
            is("e/a", Kind::Renamed)
        ]
    );
    let totals = staged.changeset.totals();
    assert_eq!((totals.renamed, totals.deleted, totals.created), (2, 0, 0));
}
