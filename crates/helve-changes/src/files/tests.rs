//! The view, its paths, and what it must not touch.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::testing::*;

fn at(name: &str) -> &Path {
    Path::new(name)
}

#[test]
fn what_was_written_is_read_back_and_nothing_is_touched() {
    let bench = Bench::new();
    bench.put("a", "real");
    bench.put("d/x", "x");
    let before = snapshot(&bench.real);
    let files = bench.files();
    files.write(at("a"), b"mine").unwrap();
    files.append(at("a"), b" too").unwrap();
    files.rename(at("d"), at("e")).unwrap();
    files.write(at("e/y"), b"y").unwrap();
    assert_eq!(files.read_to_string(at("a")).unwrap(), "mine too");
    assert_eq!(files.read_to_string(at("e/x")).unwrap(), "x");
    assert!(!files.exists(at("d/x")).unwrap());
    let names: Vec<_> = files.list(at("e")).unwrap();
    assert_eq!(names, [("x".into(), What::File), ("y".into(), What::File)]);
    assert_eq!(snapshot(&bench.real), before);
}

#[test]
fn no_path_leads_outside() {
    let bench = Bench::new();
    fs::write(bench.at("secret"), "s").unwrap();
    bench.put("d/x", "x");
    symlink(bench.at("secret"), bench.real.join("absolute")).unwrap();
    symlink("../secret", bench.real.join("relative")).unwrap();
    symlink("..", bench.real.join("up")).unwrap();
    symlink("/proc/self/root", bench.real.join("proc")).unwrap();
    symlink("loop", bench.real.join("loop")).unwrap();
    let files = bench.files();
    let secret = bench.at("secret");
    for path in [
        at("../secret"),
        at("d/../../secret"),
        at("absolute"),
        at("relative"),
        at("up/secret"),
        at("proc/etc/passwd"),
        at("/etc/passwd"),
        at("/proc/self/root/etc/passwd"),
        secret.as_path(),
        &bench.at("real2"),
    ] {
        let outside = |e: Error| matches!(e, Error::Outside { .. });
        assert!(outside(files.read(path).unwrap_err()), "{}", path.display());
        assert!(
            outside(files.write(path, b"x").unwrap_err()),
            "{}",
            path.display()
        );
    }
    assert!(files.read(at("loop")).is_err());
    assert!(files.read(at("a\0b")).is_err());
    assert!(files.read(at("missing/../d/x")).is_err());
    assert_eq!(fs::read(&secret).unwrap(), b"s");
    assert_eq!(files.read(at("d/../d/x")).unwrap(), b"x");
    assert_eq!(files.read(&bench.real.join("d/x")).unwrap(), b"x");
}

#[test]
fn a_link_made_in_the_view_leads_no_further() {
    let bench = Bench::new();
    let files = bench.files();
    files.symlink(at("/etc"), at("out")).unwrap();
    assert!(matches!(
        files.read(at("out/passwd")),
        Err(Error::Outside { .. })
    ));
    files.create_dir_all(at("d")).unwrap();
    files.symlink(at("d"), at("in")).unwrap();
    files.write(at("in/x"), b"x").unwrap();
    assert_eq!(files.read(at("d/x")).unwrap(), b"x");
}

#[test]
fn pipes_and_sockets_are_never_opened() {
    let bench = Bench::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.real.join("pipe"), mode).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(bench.real.join("socket")).unwrap();
    let files = bench.files();
    for name in ["pipe", "socket"] {
        assert!(matches!(files.read(at(name)), Err(Error::Special { .. })));
        assert!(matches!(
            files.write(at(name), b"x"),
            Err(Error::Special { .. })
        ));
    }
    files.remove(at("socket")).unwrap();
    let error = files.finish(&bench.allowed(), &bench.blobs).unwrap_err();
    assert!(
        matches!(error, Error::Special { kind: "socket", .. }),
        "{error:?}"
    );
}

#[test]
fn what_may_only_be_read_is_not_written() {
    let bench = Bench::new();
    fs::create_dir(bench.at("other")).unwrap();
    fs::write(bench.at("other/x"), "x").unwrap();
    let root = |path, access| Root { path, access };
    let roots = [
        root(bench.real.clone(), Access::Write),
        root(bench.at("other"), Access::Read),
    ];
    let files = Files::new(&roots, &bench.at("stage")).unwrap();
    let path = bench.at("other/x");
    assert_eq!(files.read(&path).unwrap(), b"x");
    assert!(matches!(
        files.write(&path, b"y"),
        Err(Error::ReadOnly { .. })
    ));
}
