//! Attacks on other processes, on the kernel, and on the sandbox itself.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use helve_sandbox::Spec;

use crate::support::{World, both, is_root};

both! {
    fn the_overlay_cannot_be_taken_off() {
        let world = World::new();
        let ws = world.path("ws");
        let ws = ws.to_str().unwrap();
        for attempt in ["umount", "mount", "remount"] {
            for place in [ws, "/tmp", "/proc", "/run", "/"] {
                assert_eq!(world.try_to(&[attempt, place]), "EPERM", "{attempt} {place}");
            }
        }
    }
}

both! {
    fn dangerous_calls_are_refused() {
        let world = World::new();
        let refused = [
            "open_tree", "unshare", "clone", "setns", "chroot", "pivot_root", "ptrace", "process_vm",
            "io_uring", "bpf", "perf", "userfaultfd", "keyctl", "handle", "sti", "console", "settime",
            "hostname",
        ];
        for call in refused {
            assert_eq!(world.try_to(&[call]), "EPERM", "{call}");
        }
        assert_eq!(world.try_to(&["clone3"]), "ENOSYS");
        if cfg!(target_arch = "x86_64") {
            assert_eq!(world.try_to(&["i386"]), "EPERM");
            assert_eq!(world.try_to(&["x32"]), "EPERM");
        }
    }
}

both! {
    fn there_is_no_privilege_left() {
        let world = World::new();
        let status = world.sh("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status | tr -d '\\t'");
        let none = "0000000000000000";
        assert_eq!(
            status,
            format!(
                "CapInh:{none}\nCapPrm:{none}\nCapEff:{none}\nCapBnd:{none}\nCapAmb:{none}\n\
                 NoNewPrivs:1\nSeccomp:2\n"
            ),
        );
    }
}

#[test]
fn set_uid_programs_gain_nothing() {
    if !is_root() {
        // Who runs as root already gains nothing by it, and a user cannot make one.
        return;
    }
    // The file is root's and set-uid, the program that starts it a user's.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("id");
    std::fs::copy("/usr/bin/id", &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    crate::support::as_user_with(
        "process::set_uid_from_a_user",
        &[("SET_UID", program.to_str().unwrap())],
    );
}

#[test]
fn set_uid_from_a_user() {
    let Some(program) = std::env::var_os("SET_UID") else {
        // The second half of the test above.
        return;
    };
    let plain = std::process::Command::new(&program)
        .arg("-u")
        .output()
        .unwrap();
    assert_eq!(plain.stdout, b"0\n", "the file is not set-uid");
    let world = World::new();
    let spec = Spec {
        program: program.clone().into(),
        args: vec!["-u".into()],
        visible: vec![program.into(), world.path("ws")],
        ..world.script("")
    };
    assert_eq!(world.run(&spec).out, "65534\n");
}

both! {
    fn every_namespace_is_its_own() {
        let world = World::new();
        for name in ["ipc", "mnt", "net", "pid", "uts"] {
            let link = format!("/proc/self/ns/{name}");
            let ours = std::fs::read_link(&link).unwrap();
            let theirs = world.sh(&format!("readlink {link}"));
            assert!(theirs.starts_with(name), "{theirs}");
            assert_ne!(theirs.trim(), ours.to_str().unwrap());
        }
    }
}

both! {
    fn nothing_is_inherited() {
        let world = World::new();
        let file = File::open(world.path("state/secret")).unwrap();
        // As a careless library would leave it.
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
        let high = rustix::io::fcntl_dupfd_cloexec(&file, 900).unwrap();
        rustix::io::fcntl_setfd(&high, rustix::io::FdFlags::empty()).unwrap();
        assert_eq!((high.as_raw_fd() >= 900, world.try_to(&["descriptors"])), (true, "0 1 2 .".to_owned()));
        assert_eq!(world.sh("/usr/bin/env"), "PATH=/usr/bin:/bin\nPWD=".to_owned() + world.path("ws").to_str().unwrap() + "\n");
        let ran = world.run(&world.script("umask; ulimit -c; cat /proc/self/stat | cut -d' ' -f7; grep SigBlk /proc/self/status; grep SigIgn /proc/self/status; hostname; cut -d' ' -f5,6 /proc/$$/stat; echo $$"));
        let none = "0000000000000000";
        assert_eq!(ran.out, format!("0022\n0\n0\nSigBlk:\t{none}\nSigIgn:\t{none}\nsandbox\n2 2\n2\n"), "{ran:?}");
    }
}

both! {
    fn other_processes_are_out_of_sight() {
        let world = World::new();
        let mut outside = Outside::start();
        let id = outside.0.id().to_string();
        let seen = world.sh(&format!("echo /proc/[0-9]*; ls -d /proc/{id} /proc/1 || true"));
        assert_eq!(seen, "/proc/2\n");
        assert_eq!(world.try_to(&["kill", &id]), "ESRCH");
        assert!(outside.0.try_wait().unwrap().is_none());
    }
}

/// A process of the machine.
struct Outside(std::process::Child);

impl Outside {
    fn start() -> Self {
        let mut sleep = std::process::Command::new("/bin/sleep");
        let quiet = std::process::Stdio::null;
        Self(
            sleep
                .arg("60")
                .stdout(quiet())
                .stderr(quiet())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

both! {
    fn the_first_process_keeps_its_secrets() {
        // Its memory is a copy of the hub's.
        let world = World::new();
        for file in ["mem", "environ", "maps", "root/etc/passwd", "fd/0", "cwd/x", "exe", "auxv"] {
            for id in ["1", "self/../1"] {
                let told = world.try_to(&["read", &format!("/proc/{id}/{file}")]);
                assert!(["ENOENT", "EACCES", "EPERM"].contains(&told.as_str()), "{file}: {told}");
            }
        }
        let told = world.try_to(&["kill", "1"]);
        assert!(["EPERM", "done"].contains(&told.as_str()), "{told}");
    }
}

both! {
    fn the_kernel_is_not_told_anything() {
        let world = World::new();
        for file in [
            "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sys/vm/overcommit_memory",
            "/proc/self/oom_score_adj", "/sys/kernel/mm/transparent_hugepage/enabled",
            "/sys/fs/cgroup/pids/tasks",
        ] {
            if std::path::Path::new(file).exists() {
                let told = world.try_to(&["write", file]);
                assert!(["EROFS", "EACCES"].contains(&told.as_str()), "{file}: {told}");
            }
        }
        assert_eq!(world.sh("cat /proc/keys /proc/timer_list /proc/kmsg 2>/dev/null | wc -c"), "0\n");
    }
}
