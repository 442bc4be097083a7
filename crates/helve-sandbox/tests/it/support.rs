//! A small world for hostile programs: a workspace with an overlay, the hidden state
//! that holds its upper folder, and a neighbour that must stay as it is.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use helve_sandbox::{Ended, Error, Layer, Sandbox, Spec, Started};
use tempfile::TempDir;

/// Runs a test as whoever runs the tests, and again as an ordinary user.
macro_rules! both {
    ($(#[doc = $doc:expr])* fn $name:ident() $body:block) => {
        $(#[doc = $doc])*
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            #[test]
            fn as_started() $body
            #[test]
            fn as_user() {
                let module = module_path!().split_once("::").expect("a module of this crate").1;
                $crate::support::as_user(&format!("{module}::as_started"), || $body);
            }
        }
    };
}
pub(crate) use both;

/// Runs a test of this binary under an ordinary user's number.
pub(crate) fn as_user(test: &str, body: impl FnOnce()) {
    match is_root() {
        true => as_user_with(test, &[]),
        false => body(),
    }
}

/// The same, as root only, with variables.
pub(crate) fn as_user_with(test: &str, variables: &[(&str, &str)]) {
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let user = 65534;
    std::os::unix::fs::chown(folder.path(), Some(user), Some(user)).unwrap();
    let program = folder.path().join("tests");
    // The build's folder may be closed to others.
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", folder.path())
        .envs(variables.iter().copied())
        .current_dir("/")
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(out.contains("1 passed"), "as a user:\n{out}\n{err}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The folders of a test.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) sandbox: Sandbox,
    layers: Cell<u32>,
}

impl World {
    /// One for root lies where nothing is covered; one for a user in `/tmp`, which is.
    pub(crate) fn new() -> Self {
        match is_root() {
            true => Self::at(Path::new(env!("CARGO_TARGET_TMPDIR"))),
            false => Self::at(&std::env::temp_dir()),
        }
    }

    pub(crate) fn at(parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        for name in ["ws", "ws/sub", "state", "out"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["ws/old", "out/file", "state/secret"] {
            fs::write(folder.path().join(name), "old\n").unwrap();
        }
        Self {
            folder,
            sandbox: Sandbox::probe(),
            layers: Cell::new(0),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The overlay over the workspace, with an upper folder of its own each time.
    pub(crate) fn layer(&self) -> Layer {
        let number = self.layers.replace(self.layers.get() + 1);
        for name in ["state/upper", "state/work"] {
            if number > 0 {
                fs::rename(self.path(name), self.path(&format!("{name}{number}"))).unwrap();
            }
            fs::create_dir(self.path(name)).unwrap();
        }
        Layer::Overlay {
            target: self.path("ws"),
            upper: self.path("state/upper"),
            work: self.path("state/work"),
        }
    }

    /// A script over the workspace.
    pub(crate) fn script(&self, script: &str) -> Spec {
        Spec {
            program: "/bin/sh".into(),
            name: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: self.path("ws"),
            layers: vec![self.layer()],
            hidden: vec![self.path("state")],
            visible: vec![self.path("out"), self.path("ws")],
            ..Spec::default()
        }
    }

    /// The same without a layer.
    pub(crate) fn reading(&self, script: &str) -> Spec {
        Spec {
            layers: Vec::new(),
            ..self.script(script)
        }
    }

    /// The hostile program, built, and seen by what runs it.
    pub(crate) fn attack(&self, args: &[&str]) -> Spec {
        let program = self.path("out/attack");
        if !program.exists() {
            let source = self.path("out/attack.c");
            fs::write(&source, include_str!("attack.c")).unwrap();
            let built = Command::new("gcc")
                .args(["-O0", "-o"])
                .args([&program, &source])
                .output()
                .unwrap();
            assert!(built.status.success(), "{built:?}");
        }
        Spec {
            program,
            name: "attack".into(),
            args: args.iter().map(OsString::from).collect(),
            ..self.script("")
        }
    }

    pub(crate) fn start(&self, spec: &Spec) -> Result<Started, Error> {
        self.sandbox.start(spec)
    }

    /// Runs to the end.
    pub(crate) fn run(&self, spec: &Spec) -> Ran {
        finish(self.start(spec).unwrap())
    }

    /// What the hostile program was told.
    pub(crate) fn try_to(&self, args: &[&str]) -> String {
        let ran = self.run(&self.attack(args));
        assert!(ran.ended.status.success(), "{args:?} {ran:?}");
        ran.out.trim().to_owned()
    }

    /// Runs a script, which must succeed, and returns what it wrote.
    pub(crate) fn sh(&self, script: &str) -> String {
        let ran = self.run(&self.script(script));
        assert!(ran.ended.status.success(), "{ran:?}");
        ran.out
    }
}

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) ended: Ended,
    pub(crate) out: String,
    /// For who reads why a test failed.
    #[allow(dead_code)]
    pub(crate) err: String,
}

pub(crate) fn finish(mut started: Started) -> Ran {
    drop(started.stdin.take());
    let out = read(started.stdout.take());
    let err = read(started.stderr.take());
    let ended = started.wait().unwrap();
    Ran { ended, out, err }
}

pub(crate) fn read(stream: Option<OwnedFd>) -> String {
    let mut bytes = Vec::new();
    File::from(stream.unwrap()).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// One line of a program that is still at work.
pub(crate) fn line(stream: &mut Option<OwnedFd>) -> String {
    let file = File::from(stream.take().unwrap());
    let mut text = String::new();
    let mut byte = [0];
    while (&file).read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        text.push(char::from(byte[0]));
    }
    *stream = Some(OwnedFd::from(file));
    text
}
