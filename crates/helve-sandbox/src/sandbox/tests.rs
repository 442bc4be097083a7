//! Each wall alone: the others are taken away, and it still holds.

use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::Path;

use super::*;
use crate::spec::Layer;

/// What a script wrote, after the plan was changed.
fn run(spec: &Spec, flags: Option<i32>, change: impl FnOnce(&mut Plan)) -> String {
    let sandbox = Sandbox::probe();
    let flags = flags.unwrap_or_else(|| namespaces(spec, &sandbox.machine));
    run_in(&sandbox, spec, flags, change)
}

fn run_in(sandbox: &Sandbox, spec: &Spec, flags: i32, change: impl FnOnce(&mut Plan)) -> String {
    let mut started = sandbox.start_as(spec, flags, change).unwrap();
    let mut text = String::new();
    let mut out = File::from(started.stdout.take().unwrap());
    out.read_to_string(&mut text).unwrap();
    started.wait().unwrap();
    text
}

fn script(script: &str, visible: &Path) -> Spec {
    Spec {
        program: "/bin/sh".into(),
        name: "sh".into(),
        args: vec!["-c".into(), format!("exec 2>&1; {script}").into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: "/".into(),
        visible: vec![visible.to_owned()],
        ..Spec::default()
    }
}

fn no_filter(plan: &mut Plan) {
    plan.filter = vec![filter_that_allows()].into();
}

fn filter_that_allows() -> libc::sock_filter {
    libc::sock_filter {
        code: 0x06,
        jt: 0,
        jf: 0,
        k: 0x7fff_0000,
    }
}

#[test]
fn mounts_alone_keep_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "old").unwrap();
    let spec = script(&format!("echo new > {}", file.display()), folder.path());
    let told = run(&spec, None, |plan| {
        no_filter(plan);
        plan.program.rules = None;
    });
    assert!(told.contains("Read-only file system"), "{told}");
    assert_eq!(fs::read_to_string(file).unwrap(), "old");
}

#[test]
fn landlock_alone_keeps_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "old").unwrap();
    let (file, tmp) = (file.display(), folder.path().display());
    let script_text =
        format!("echo new > {file}; mkdir {tmp}/x; rm {file}; ln {file} {tmp}/y; ls {tmp}");
    let spec = script(&script_text, folder.path());
    let told = run(&spec, None, |plan| {
        no_filter(plan);
        for op in &mut plan.ops {
            if let Op::Place { attributes, .. } = op {
                *attributes = 0;
            }
        }
        plan.ops.retain(|op| !matches!(op, Op::Lock));
        // What is shown in `/tmp` counts as its part, which may be written.
        let rules = plan.program.rules.as_mut().unwrap();
        rules.allowed.clear();
    });
    assert_eq!(told.matches("ermission denied").count(), 4, "{told}");
    assert!(told.ends_with("file\n"), "{told}");
    assert_eq!(
        fs::read_to_string(folder.path().join("file")).unwrap(),
        "old"
    );
}

#[test]
fn missing_capabilities_alone_keep_the_overlay() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ws", "upper", "work"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let ws = folder.path().join("ws");
    let attempt = format!(
        "perl -e '$p = \"{1}\"; print syscall({0}, $p, 2) == 0 ? \"off\" : \"held\"'",
        libc::SYS_umount2,
        ws.display()
    );
    let spec = Spec {
        layers: vec![Layer::Overlay {
            target: ws.clone(),
            upper: folder.path().join("upper"),
            work: folder.path().join("work"),
        }],
        ..script(&attempt, folder.path())
    };
    let told = run(&spec, None, |plan| {
        no_filter(plan);
        plan.program.rules = None;
    });
    assert_eq!(told, "held");
}

#[test]
fn the_memory_of_the_first_process_is_closed_by_itself() {
    let spec = script("cat /proc/1/environ /proc/1/maps | wc -c", Path::new("/"));
    let told = run(&spec, None, |plan| {
        no_filter(plan);
        plan.program.rules = None;
    });
    assert!(told.ends_with("\n0\n"), "{told}");
}

/// Tries to connect to a port of the machine.
fn connect(port: u16) -> String {
    format!(
        "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or die \"socket: $!\\n\";
         connect(S, sockaddr_in({port}, INADDR_LOOPBACK)) or die \"connect: $!\\n\"; print \"through\\n\"'"
    )
}

#[test]
fn the_network_namespace_alone_keeps_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = script(
        &connect(listener.local_addr().unwrap().port()),
        Path::new("/"),
    );
    let told = run(&spec, None, |plan| {
        no_filter(plan);
        plan.program.rules = None;
    });
    assert_eq!(told, "connect: Network is unreachable\n");

    // The same where each run makes its own, as for an ordinary user.
    let mut machine = Machine::probe();
    machine.nowhere = None;
    let sandbox = Sandbox {
        machine: Arc::new(machine),
    };
    let flags = namespaces(&spec, &sandbox.machine);
    let told = run_in(&sandbox, &spec, flags, |plan| {
        no_filter(plan);
        plan.program.rules = None;
    });
    assert_eq!(told, "connect: Network is unreachable\n");
}

#[test]
fn landlock_alone_keeps_the_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let spec = script(
        &connect(listener.local_addr().unwrap().port()),
        Path::new("/"),
    );
    let sandbox = Sandbox::probe();
    let flags = namespaces(
        &Spec {
            network: true,
            ..Spec::default()
        },
        &sandbox.machine,
    );
    let told = run(&spec, Some(flags), |plan| {
        no_filter(plan);
        plan.network = None;
    });
    assert_eq!(told, "connect: Permission denied\n");
    let open = run(&spec, Some(flags), |plan| {
        no_filter(plan);
        plan.network = None;
        plan.program.rules = None;
    });
    assert_eq!(open, "through\n", "with no wall at all it works");
}

#[test]
fn processes_are_bounded_without_control_groups() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut machine = Machine::probe();
    machine.groups = None;
    machine.bounds_ids = true;
    let sandbox = Sandbox {
        machine: Arc::new(machine),
    };
    let before = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap();
    let spec = Spec {
        limits: crate::Limits {
            processes: Some(1),
            ..crate::Limits::default()
        },
        ..script("cat /proc/sys/kernel/pid_max", Path::new("/"))
    };
    let text = run_in(&sandbox, &spec, namespaces(&spec, &sandbox.machine), |_| {});
    assert_eq!(text, "301\n");
    assert_eq!(
        fs::read_to_string("/proc/sys/kernel/pid_max").unwrap(),
        before
    );
}
