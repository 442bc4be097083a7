//! How a run begins and ends.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use helve_sandbox::{Error, Spec};

use crate::support::{World, both, finish, line, read};

both! {
    fn the_end_comes_back_exactly() {
        let world = World::new();
        for code in [0, 1, 2, 3, 63, 64, 125, 126, 127, 128, 129, 137, 143, 254, 255] {
            let ran = world.run(&world.reading(&format!("exit {code}")));
            assert_eq!(ran.ended.status.code(), Some(code));
        }
        for signal in [1, 2, 6, 9, 10, 11, 13, 14, 15, 24, 31, 34, 64] {
            let ran = world.run(&Spec { layers: vec![], ..world.attack(&["raise", &signal.to_string()]) });
            assert_eq!(ran.ended.status.into_raw() & 0x7f, signal, "{signal}");
        }
    }
}

both! {
    fn streams_and_arguments_come_through() {
        let world = World::new();
        let mut spec = world.reading("cat; printf '%s.' \"$0\" \"$@\"; echo err >&2");
        spec.args.extend(["name", "a b", "", "$(x)\n", "-c", "ä"].map(OsString::from));
        let mut started = world.start(&spec).unwrap();
        let mut input = std::fs::File::from(started.stdin.take().unwrap());
        input.write_all(b"in ").unwrap();
        drop(input);
        let out = read(started.stdout.take());
        let err = read(started.stderr.take());
        assert_eq!((out.as_str(), err.as_str()), ("in name.a b..$(x)\n.-c.ä.", "err\n"));
        assert_eq!(started.wait().unwrap().status.code(), Some(0));

        let big = "x".repeat(100_000);
        let mut spec = world.reading("echo $# ${#1}");
        spec.args.push("sh".into());
        spec.args.extend(std::iter::repeat_n(OsString::from(&big), 10));
        assert_eq!(world.run(&spec).out, "10 100000\n");
        spec.args.extend(std::iter::repeat_n(OsString::from(&big), 100));
        let error = world.start(&spec).unwrap_err();
        assert!(error.to_string().contains("`/bin/sh` could not be started: Argument list too long"), "{error}");
    }
}

both! {
    fn a_stream_that_is_closed_is_at_its_end() {
        let world = World::new();
        let mut started = world.start(&world.reading("echo x; exec >&- 2>&-; read x; exit 4")).unwrap();
        // Returns although the program is still there.
        assert_eq!(read(started.stdout.take()), "x\n");
        assert_eq!(read(started.stderr.take()), "");
        drop(started.stdin.take());
        assert_eq!(started.wait().unwrap().status.code(), Some(4));
    }
}

both! {
    fn what_is_missing_is_named() {
        let world = World::new();
        let spec = Spec { program: world.path("none"), ..world.script("") };
        let error = world.start(&spec).unwrap_err();
        assert!(matches!(&error, Error::Program { path, .. } if *path == spec.program), "{error}");
        assert!(error.to_string().ends_with("could not be started: No such file or directory (os error 2)"), "{error}");
        let spec = Spec { program: world.path("ws/old"), ..world.script("") };
        assert!(matches!(world.start(&spec), Err(Error::Program { .. })));
        let spec = Spec { cwd: world.path("none"), ..world.script("") };
        let error = world.start(&spec).unwrap_err();
        assert!(matches!(&error, Error::Cwd { path, .. } if *path == spec.cwd), "{error}");
        let spec = Spec { cwd: "relative".into(), ..world.script("") };
        assert!(matches!(world.start(&spec), Err(Error::Invalid { .. })));
        let spec = Spec { args: vec!["a\0b".into()], ..world.script("") };
        assert_eq!(world.start(&spec).unwrap_err().to_string(), "argument `a\0b` has a NUL character in it");
        let spec = Spec { visible: vec![Path::new("/tmp").join("none-at-all")], ..world.script("") };
        assert!(matches!(world.start(&spec), Err(Error::Setup { .. })));
    }
}

/// Whether a process of a sandbox, found by a word of its command line, is there.
fn at_work(word: &str) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        panic!("no /proc");
    };
    processes.flatten().any(|process| {
        let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        let own = process.file_name().to_str() == Some(&std::process::id().to_string());
        !own && String::from_utf8_lossy(&command).contains(word)
    })
}

/// A program that starts a grandchild in a session of its own, which says its line
/// when all are there.
fn family(world: &World, word: &str) -> Spec {
    let script = format!(
        "trap '' TERM; setsid sh -c 'trap \"\" TERM HUP INT; echo up; sleep 6{word} & wait; wait' & wait; wait; sleep 6{word}"
    );
    world.reading(&script)
}

/// A number that no other command line has.
fn word() -> String {
    format!(
        "0{}",
        std::process::id() * 10 + u32::from(crate::support::is_root())
    )
}

both! {
    fn nothing_is_left_after_a_kill() {
        let (world, word) = (World::new(), word());
        let mut started = world.start(&family(&world, &word)).unwrap();
        assert_eq!(line(&mut started.stdout), "up");
        assert!(at_work(&word));
        started.terminate();
        started.kill();
        assert_eq!(started.wait().unwrap().status.signal(), Some(9));
        assert!(!at_work(&word));
    }
}

both! {
    fn nothing_is_left_after_a_drop() {
        let (world, word) = (World::new(), word());
        let mut started = world.start(&family(&world, &word)).unwrap();
        assert_eq!(line(&mut started.stdout), "up");
        drop(started);
        assert!(!at_work(&word));
    }
}

both! {
    fn nothing_is_left_when_the_program_ends() {
        let (world, word) = (World::new(), word());
        let script = format!("setsid sh -c 'trap \"\" TERM HUP; echo up; exec sleep 6{word}' & read x; exit 7");
        let mut started = world.start(&world.reading(&script)).unwrap();
        assert_eq!(line(&mut started.stdout), "up");
        drop(started.stdin.take());
        assert_eq!(started.wait().unwrap().status.code(), Some(7));
        assert!(!at_work(&word));
    }
}

both! {
    fn all_are_asked_to_end() {
        let world = World::new();
        let script = "setsid sh -c 'trap \"echo asked; exit\" TERM; echo up; while :; do sleep 1; done' &
                      trap 'wait; exit 5' TERM; wait; wait";
        let mut started = world.start(&world.reading(script)).unwrap();
        assert_eq!(line(&mut started.stdout), "up");
        started.terminate();
        let ran = finish(started);
        assert_eq!((ran.ended.status.code(), ran.out.as_str()), (Some(5), "asked\n"), "{ran:?}");
    }
}

both! {
    fn the_end_can_be_waited_for_by_descriptor() {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let world = World::new();
        let mut started = world.start(&world.reading("read x")).unwrap();
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let readable = |started: &helve_sandbox::Started, wait: Option<&Timespec>| {
            let mut fds = [PollFd::from_borrowed_fd(started.pidfd(), PollFlags::IN)];
            poll(&mut fds, wait).unwrap()
        };
        assert_eq!(readable(&started, Some(&now)), 0);
        drop(started.stdin.take());
        assert_eq!(readable(&started, None), 1);
        assert_eq!(started.wait().unwrap().status.code(), Some(1));
        assert_eq!(started.wait().unwrap().status.code(), Some(1), "the second time the same");
    }
}

both! {
    fn the_thread_that_started_it_may_end() {
        let world = World::new();
        let spec = world.reading("read x; exit 3");
        let sandbox = world.sandbox.clone();
        let mut started = std::thread::spawn(move || sandbox.start(&spec).unwrap()).join().unwrap();
        drop(started.stdin.take());
        assert_eq!(started.wait().unwrap().status.code(), Some(3));
    }
}

both! {
    fn many_at_once_do_not_disturb_each_other() {
        let world = World::new();
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8).map(|n| {
                let (sandbox, spec) = (world.sandbox.clone(), world.reading(&format!("cat; exit {n}")));
                scope.spawn(move || (0..5).all(|_| {
                    finish(sandbox.start(&spec).unwrap()).ended.status.code() == Some(n)
                }))
            }).collect();
            assert!(runs.into_iter().all(|run| run.join().unwrap()));
        });
    }
}

/// The hub of the test below: starts a family and is killed.
#[test]
fn hub_to_be_killed() {
    let Some(word) = std::env::var("HELVE_TEST_WORD").ok() else {
        return;
    };
    let world = World::new();
    let mut started = world.start(&family(&world, &word)).unwrap();
    assert_eq!(line(&mut started.stdout), "up");
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

both! {
    fn nothing_is_left_when_the_hub_is_killed() {
        let word = word();
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "life::hub_to_be_killed"])
            .env("HELVE_TEST_WORD", &word)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.signal(), Some(9));
        // The kernel ends them; there is nobody left to wait for.
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while at_work(&word) && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(!at_work(&word));
    }
}
