//! How long it takes to start `/bin/true` and see it end: plainly, in the sandbox, and
//! by `bwrap` where it is installed. Interleaved; medians.

#![allow(clippy::print_stdout, clippy::disallowed_methods, clippy::unwrap_used)]

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helve_sandbox::{Layer, Sandbox, Spec};

const BWRAP: &[&str] = &[
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/run",
    "--tmpfs",
    "/var/tmp",
    "--unshare-net",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "/bin/true",
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(300, |n| n.parse().unwrap());
    let ballast: usize = arguments.next().map_or(0, |n| n.parse().unwrap());
    let ballast = vec![1_u8; ballast << 20];
    let sandbox = Sandbox::probe();
    let spec = Spec {
        program: "/bin/true".into(),
        name: "true".into(),
        cwd: "/".into(),
        ..Spec::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let has_bwrap = Command::new("bwrap").arg("--version").output().is_ok();
    let mut times: Vec<(&str, Vec<Duration>)> = ["plain", "read", "overlay", "network", "bwrap"]
        .map(|name| (name, Vec::new()))
        .to_vec();
    let mut begun: HashMap<&str, Vec<Duration>> = HashMap::new();
    for round in 0..rounds {
        for (name, taken) in &mut times {
            let spec = match *name {
                "overlay" => {
                    let at = |part: &str| {
                        let path = folder.path().join(format!("{part}{round}"));
                        std::fs::create_dir(&path).unwrap();
                        path
                    };
                    let target = folder.path().join("target");
                    std::fs::create_dir_all(&target).unwrap();
                    let layer = Layer::Overlay {
                        target,
                        upper: at("u"),
                        work: at("w"),
                    };
                    Spec {
                        layers: vec![layer],
                        ..spec.clone()
                    }
                }
                "network" => Spec {
                    network: true,
                    ..spec.clone()
                },
                _ => spec.clone(),
            };
            if *name == "bwrap" && !has_bwrap {
                continue;
            }
            let begin = Instant::now();
            match *name {
                "plain" => plain(Command::new("/bin/true")),
                "bwrap" => {
                    let mut bwrap = Command::new("bwrap");
                    bwrap.args(BWRAP);
                    plain(bwrap);
                }
                _ => {
                    let mut started = sandbox.start(&spec).unwrap();
                    begun.entry(*name).or_default().push(begin.elapsed());
                    assert!(started.wait().unwrap().status.success());
                }
            }
            taken.push(begin.elapsed());
        }
    }
    let median = |times: &mut Vec<Duration>| {
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    let base = median(&mut times[0].1).as_secs_f64();
    for (name, mut taken) in times {
        let median = median(&mut taken);
        let p90 = taken.get(taken.len() * 9 / 10).copied().unwrap_or_default();
        println!(
            "{name:8} p50 {median:>10.1?}  p90 {p90:>10.1?}  x{:.2}",
            median.as_secs_f64() / base
        );
    }
    for (name, mut taken) in begun {
        println!("{name:8} until it runs {:.1?}", median(&mut taken));
    }
    std::hint::black_box(ballast);
}

fn plain(mut command: Command) {
    command.env_clear();
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    assert!(child.wait().unwrap().success());
}
