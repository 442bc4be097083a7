//! Running the command in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder that goes away with the test.
pub(crate) struct Folder(tempfile::TempDir);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// All files below the folder, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => found.push(
                        path.strip_prefix(self.path())
                            .unwrap()
                            .display()
                            .to_string(),
                    ),
                }
            }
        }
        found.sort();
        found
    }

    pub(crate) fn helve(&self, args: &[&str]) -> Ran {
        self.helve_with(args, b"")
    }

    pub(crate) fn helve_with(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut child = command(self.path())
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may end before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The command in a folder, the same for whoever runs the tests.
pub(crate) fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_helve"));
    command
        .current_dir(folder)
        .env("COLUMNS", "100")
        .env("USER", "ada")
        .env("XDG_CONFIG_HOME", folder.join(".config"))
        .env_remove("CLICOLOR_FORCE");
    for variable in [
        "HELVE_URL",
        "HELVE_TOKEN",
        "HELVE_LISTEN",
        "HELVE_LOG",
        "DOCKER_HOST",
        "XDG_RUNTIME_DIR",
    ] {
        command.env_remove(variable);
    }
    command
}

impl Ran {
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "\n{}\n{}", self.out, self.err);
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {}", self.out))
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

pub(crate) fn seeds() -> PathBuf {
    root().join("crates/helve-core/testdata/seeds")
}
