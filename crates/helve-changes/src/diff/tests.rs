//! What people see, and what git takes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs;
use std::process::Command;

use super::*;
use crate::testing::*;

fn at(name: &str) -> &Path {
    Path::new(name)
}

#[test]
fn git_applies_the_patch() {
    let bench = Bench::new();
    for (name, text) in [
        (
            "changed",
            "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n",
        ),
        ("no newline", "last"),
        ("deleted", "gone\n"),
        ("old name", "moved\n"),
        ("script", "#!/bin/sh\n"),
        ("t\tab \"q\"\n\u{e9}", "odd\n"),
        ("becomes link", "x\n"),
        ("folder/inner", "x\n"),
        ("empty", ""),
    ] {
        bench.put(name, text);
    }
    fs::write(
        bench.real.join(std::ffi::OsStr::from_bytes(b"inv\xff")),
        "bytes\n",
    )
    .unwrap();
    let git = |args: &[&str]| {
        let done = Command::new("git")
            .args(args)
            .current_dir(&bench.real)
            .output()
            .unwrap();
        assert!(
            done.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    git(&["init", "-q"]);
    let staged = bench.staged(|f| {
        f.write(
            at("changed"),
            b"one\n2\nthree\nfour\nfive\nsix\nseven\neight\n9\nten",
        )
        .unwrap();
        f.write(at("no newline"), b"last\n").unwrap();
        f.remove(at("deleted")).unwrap();
        f.rename(at("old name"), at("new name")).unwrap();
        f.set_mode(at("script"), 0o755).unwrap();
        f.append(at("t\tab \"q\"\n\u{e9}"), b"more\n").unwrap();
        f.append(
            Path::new(std::ffi::OsStr::from_bytes(b"inv\xff")),
            b"more\n",
        )
        .unwrap();
        f.remove(at("becomes link")).unwrap();
        f.symlink(at("changed"), at("becomes link")).unwrap();
        f.remove_dir_all(at("folder")).unwrap();
        f.write(at("folder"), b"a file\n").unwrap();
        f.remove(at("empty")).unwrap();
        f.create_dir_all(at("new")).unwrap();
        f.write(at("new/file"), b"").unwrap();
    });
    let path = bench.at("patch");
    fs::write(&path, patch(&staged, &bench.blobs, None).unwrap()).unwrap();
    git(&["apply", "--check", path.to_str().unwrap()]);
    // Applied by git, it is what a commit makes of it.
    let copy = bench.at("copy");
    crate::copy_tree(&bench.real, &copy).unwrap();
    bench.commit(&staged).unwrap();
    let done = Command::new("git")
        .args(["apply", path.to_str().unwrap()])
        .current_dir(&copy)
        .output()
        .unwrap();
    assert!(done.status.success());
    let contents = |root| {
        let all = snapshot(root).0.into_iter();
        all.filter(|(n, e)| !n.0.starts_with(b".git") && e.kind != "dir")
            .map(|(n, e)| (n, e.kind, e.content))
            .collect::<Vec<_>>()
    };
    assert_eq!(contents(&bench.real), contents(&copy));
}

#[test]
fn nothing_is_hidden_from_people() {
    let bench = Bench::new();
    let text = "safe\u{202e}evil\u{200b}\u{1b}[2J\rX\u{2066}\n";
    let staged = bench.staged(|f| {
        f.write(at("a"), text.as_bytes()).unwrap();
        f.write(at("n\n+fake"), b"x\n").unwrap();
        f.write(at("binary"), b"\0\x01").unwrap();
    });
    let shown = unified(&staged, &bench.blobs, &Limits::default(), None).unwrap();
    assert!(
        shown.contains("+safe\\u{202e}evil\\u{200b}\\u{1b}[2J\\u{d}X\\u{2066}"),
        "{shown}"
    );
    assert!(
        shown.contains("Binary files differ: nothing -> 2 bytes sha256:"),
        "{shown}"
    );
    assert!(!shown.contains("\n+fake"), "{shown}");
    let json = to_json(&staged, &bench.blobs, &Limits::default()).unwrap();
    assert_eq!(json["changes"][0]["hunks"][0]["lines"][0]["text"], text);
    assert_eq!(json["changes"][1]["binary"], true);
    assert_eq!(json["totals"]["created"], 3);
}

#[test]
fn what_is_left_out_is_said() {
    let bench = Bench::new();
    let staged = bench.staged(|f| {
        for name in ["a", "b", "c"] {
            f.write(at(name), b"1\n2\n3\n").unwrap();
        }
        f.write(at("large"), &[b'x'; 200]).unwrap();
    });
    let shown = |files, bytes, lines| {
        unified(
            &staged,
            &bench.blobs,
            &Limits {
                files,
                bytes,
                lines,
            },
            None,
        )
        .unwrap()
    };
    assert!(shown(9, 100, 99).contains("(left out: too large; nothing -> 200 bytes"));
    assert_eq!(
        shown(2, 999, 99)
            .matches("(left out: too many files")
            .count(),
        2
    );
    assert_eq!(
        shown(9, 999, 5)
            .matches("(left out: too many lines")
            .count(),
        3
    );
}
