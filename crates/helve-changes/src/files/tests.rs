//! The view, its paths, and what it must not touch.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicBool;

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
    let names = files.list(at("e")).unwrap().into_iter();
    let names: Vec<_> = names.map(|(name, looked)| (name, looked.what)).collect();
    assert_eq!(names, [("x".into(), What::File), ("y".into(), What::File)]);
    assert_eq!(snapshot(&bench.real), before);
}

/// An editor that saves puts another file in the place of the old one.
#[test]
fn a_file_that_is_saved_again_and_again_can_be_read_all_the_time() {
    let bench = Bench::new();
    bench.put("a", "text");
    let files = bench.files();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fs::write(bench.at("new"), "text").unwrap();
                fs::rename(bench.at("new"), bench.real.join("a")).unwrap();
            }
        });
        let read: Vec<_> = (0..2_000).map(|_| files.read_to_string(at("a"))).collect();
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for text in read {
            assert_eq!(text.unwrap(), "text");
        }
    });
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

#[test]
fn whoever_only_looks_needs_no_stage() {
    let bench = Bench::new();
    bench.put("d/x", "x");
    symlink("d", bench.real.join("link")).unwrap();
    let stage = bench.at("stage/never");
    let root = |access| Root {
        path: bench.real.clone(),
        access,
    };
    let files = Files::new(&[root(Access::Write)], &stage).unwrap();
    assert_eq!(files.read(at("d/x")).unwrap(), b"x");
    assert_eq!(files.read(at("link/x")).unwrap(), b"x");
    assert_eq!(files.list(at("link")).unwrap().len(), 1);
    assert!(files.look(at("d/none")).unwrap().is_none());
    assert!(!files.is_staged() && !stage.exists());
    files.write(at("link/y"), b"y").unwrap();
    assert_eq!(files.read(at("d/x")).unwrap(), b"x");
    assert_eq!(files.list(at("link")).unwrap().len(), 2);
    assert!(files.is_staged() && stage.exists());
}

#[test]
fn a_copy_has_all_that_was_there() {
    let bench = Bench::new();
    bench.put("d/e/x", "x");
    bench.put("d/run", "#!");
    fs::create_dir(bench.real.join("d/empty")).unwrap();
    symlink("e/x", bench.real.join("d/link")).unwrap();
    let mode = |path: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(bench.real.join(path), mode).unwrap();
    };
    mode("d/run", 0o4755);
    mode("d/e", 0o555);
    let before = snapshot(&bench.real);
    let files = bench.files();
    let going = AtomicBool::new(false);
    files.copy(at("d"), at("f"), &going).unwrap();
    assert_eq!(files.read(at("f/e/x")).unwrap(), b"x");
    assert_eq!(files.read(at("f/link")).unwrap(), b"x");
    assert_eq!(
        files.look(at("f/link")).unwrap().unwrap().what,
        What::Symlink
    );
    assert_eq!(files.look(at("f/run")).unwrap().unwrap().mode, 0o755);
    assert_eq!(files.look(at("f/e")).unwrap().unwrap().mode, 0o555);
    assert_eq!(files.list(at("f/empty")).unwrap(), []);
    assert!(files.copy(at("d"), at("f"), &going).is_err(), "it is there");
    assert!(
        files.copy(at("d"), at("d/e/d"), &going).is_err(),
        "into itself"
    );
    let stopped = AtomicBool::new(true);
    assert!(matches!(
        files.copy(at("d"), at("g"), &stopped),
        Err(Error::Stopped)
    ));
    assert_eq!(snapshot(&bench.real), before);
}

struct Ends<'d>(&'d AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A link is swapped in again and again; what is opened is the file, or nothing.
#[test]
fn what_is_beneath_stays_beneath() {
    let bench = Bench::new();
    fs::create_dir(bench.at("out")).unwrap();
    fs::write(bench.at("out/x"), "secret").unwrap();
    bench.put("d/x", "mine");
    bench.put("state/x", "hidden");
    let files = bench.files().hiding([bench.real.join("state")]);
    let (real, beneath) = files.beneath(at("d")).unwrap();
    assert_eq!(real, bench.real.join("d"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let (d, aside) = (bench.real.join("d"), bench.real.join("aside"));
                fs::rename(&d, &aside).unwrap();
                symlink(bench.at("out"), &d).unwrap();
                fs::remove_file(&d).unwrap();
                fs::rename(&aside, &d).unwrap();
            }
        });
        // Also if this one fails: nobody waits for the other for ever.
        let _ends = Ends(&done);
        for _ in 0..5_000 {
            for file in [
                beneath.open(&real.join("x")).ok(),
                files.open(at("d/x")).ok(),
            ] {
                let Some(mut file) = file else { continue };
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "mine");
            }
        }
    });
    let mut still = String::new();
    let mut file = beneath.open(&real.join("x")).unwrap();
    file.read_to_string(&mut still).unwrap();
    assert_eq!(still, "mine", "it is opened where nobody swaps it");
    assert!(beneath.open(&bench.real.join("state/x")).is_err());
    assert!(beneath.open(&bench.at("out/x")).is_err());
    assert!(beneath.open(&bench.real).is_err(), "a folder is no file");
}

/// All that is not a small file in plain sight is left to whoever may wait.
#[test]
fn a_glance_is_at_small_files_in_memory() {
    let bench = Bench::new();
    bench.put("a", "text");
    bench.put("none", "");
    bench.put("d/x", "x");
    bench.put("state/x", "hid");
    fs::create_dir(bench.at("out")).unwrap();
    fs::write(bench.at("out/x"), "out").unwrap();
    symlink("a", bench.real.join("link")).unwrap();
    symlink(bench.at("out"), bench.real.join("away")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.real.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let files = bench.files().hiding([bench.real.join("state")]);
    let text = |name: &str| {
        let (bytes, looked) = files.glance(at(name), 4)?;
        assert_eq!((looked.what, looked.size), (What::File, bytes.len() as u64));
        Some(String::from_utf8(bytes).unwrap())
    };
    for (name, wanted) in [
        ("a", Some("text")),
        ("none", Some("")),
        ("d/x", Some("x")),
        ("d/../a", None),
        ("d", None),
        ("link", None),
        ("away/x", None),
        ("pipe", None),
        ("state/x", None),
        ("gone", None),
        ("a/b", None),
    ] {
        assert_eq!(text(name).as_deref(), wanted, "{name}");
    }
    assert!(files.glance(at("a"), 3).is_none(), "it is larger");
    files.write(at("d/x"), b"staged").unwrap();
    assert!(files.glance(at("d/x"), 100).is_none(), "it is staged");
}

#[test]
fn a_root_behind_a_link_is_where_it_really_is() {
    let bench = Bench::new();
    bench.put("d/x", "x");
    symlink(&bench.real, bench.at("link")).unwrap();
    for path in [
        bench.real.join("d"),
        bench.real.join("./d/"),
        bench.real.join("d/../d"),
        bench.at("link").join("d"),
    ] {
        let tree = Tree::at(&path).unwrap();
        assert_eq!(tree.path, bench.real.join("d"), "{}", path.display());
    }
    for path in [bench.real.join("d/x"), bench.real.join("gone")] {
        assert!(Tree::at(&path).is_err(), "{}", path.display());
    }
}
