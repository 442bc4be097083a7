//! Tools from their definition to their reply.

#![allow(clippy::needless_pass_by_value, clippy::unwrap_used)]

mod held;
mod real;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Mutex;

use helve_kernel::{ErrorKind, Keeper, RunId, Stream};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::contract::definition;

#[derive(Default)]
struct Nowhere(Mutex<usize>);

#[async_trait]
impl Sink for Nowhere {
    async fn log(&self, _: Stream, bytes: Vec<u8>) {
        *self.0.lock().unwrap() += bytes.len();
    }
}

struct Hub {
    folder: TempDir,
    executor: HostExecutor,
}

impl Hub {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let executor = HostExecutor::new(folder.path()).with_grace(Duration::from_millis(100));
        Self { folder, executor }
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    async fn inspect(&self, def: &ToolDef) -> Result<Value, ToolError> {
        Ok(self.executor.inspect(def).await?.unwrap())
    }

    async fn call(&self, def: &ToolDef, print: &Value, args: Value) -> Result<Reply, ToolError> {
        let call = Call {
            def,
            args: args.as_object().unwrap(),
            id: &RunId::fresh(),
            run: "run_1",
            fingerprint: Some(print),
            artifacts: None,
            keeper: None,
            writable: &[],
            readable: &[],
        };
        let (sink, never) = (Nowhere::default(), CancellationToken::new());
        self.executor.perform(call, &sink, &never).await
    }

    /// Registers a tool and calls it: its standard output.
    async fn said(&self, def: &ToolDef, args: Value) -> String {
        let print = self.inspect(def).await.unwrap();
        let reply = self.call(def, &print, args).await.unwrap();
        reply.data["stdout"].as_str().unwrap().to_owned()
    }
}

/// A tool with these settings and the arguments `x` and `y`.
fn tool(settings: Value) -> ToolDef {
    let mut executor = json!({"type": "host"});
    let fields = settings.as_object().unwrap().clone();
    executor.as_object_mut().unwrap().extend(fields);
    definition(&executor)
}

fn command(command: &[&str]) -> ToolDef {
    tool(json!({"command": command}))
}

#[tokio::test]
async fn what_cannot_be_registered() {
    let hub = Hub::new();
    hub.script("run.sh", "");
    fs::write(hub.folder.path().join("text"), "echo hi\n").unwrap();
    fs::set_permissions(
        hub.folder.path().join("text"),
        PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let collide = |mut def: ToolDef| {
        def.input_schema["properties"] = json!({"a-b": {}, "a_b": {}});
        def
    };
    let secret = |mut def: ToolDef| {
        def.input_schema["properties"]["x"] = json!({"type": "string", "x-secret": true});
        def
    };
    let table = [
        (
            secret(command(&["env", "--x={x}"])),
            ErrorKind::Validation,
            "secret",
        ),
        (command(&["{x}"]), ErrorKind::Validation, "placeholder"),
        (command(&["echo", "{z}"]), ErrorKind::Validation, "`{z}`"),
        (
            command(&["sh", "-c", "echo {x}"]),
            ErrorKind::Validation,
            "into code",
        ),
        (
            tool(json!({"command": ["env"], "memory": "much"})),
            ErrorKind::Validation,
            "must be a size",
        ),
        (
            tool(json!({"command": ["env"], "pids": 0})),
            ErrorKind::Validation,
            "`pids`",
        ),
        (
            tool(json!({"command": ["env"], "user": "nobody"})),
            ErrorKind::Validation,
            "not supported by this build yet",
        ),
        (
            tool(json!({"command": ["env"], "env": {"LD_PRELOAD": "x"}})),
            ErrorKind::Validation,
            "LD_PRELOAD",
        ),
        (
            tool(json!({"command": ["env"], "cwd": ".."})),
            ErrorKind::Validation,
            "outside",
        ),
        (collide(command(&["env"])), ErrorKind::Validation, "ARG_A_B"),
        (command(&["run.sh"]), ErrorKind::Dependency, "was not found"),
        (command(&["./text"]), ErrorKind::Dependency, "neither"),
    ];
    for (def, kind, says) in table {
        let error = hub.inspect(&def).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    let fine = tool(json!({"command": ["env", "{y}"], "network": true}));
    assert!(hub.inspect(&secret(fine)).await.is_ok());
}

#[tokio::test]
async fn only_what_was_registered_runs() {
    let hub = Hub::new();
    hub.script("run.sh", "echo one");
    hub.script("two.sh", "echo two");
    symlink("run.sh", hub.folder.path().join("link")).unwrap();
    let script = command(&["./run.sh"]);
    let link = command(&["./link"]);
    let prints = [
        hub.inspect(&script).await.unwrap(),
        hub.inspect(&link).await.unwrap(),
    ];
    assert!(hub.call(&script, &prints[0], json!({})).await.is_ok());
    assert!(hub.call(&link, &prints[1], json!({})).await.is_ok());

    fs::remove_file(hub.folder.path().join("link")).unwrap();
    symlink("two.sh", hub.folder.path().join("link")).unwrap();
    hub.script("run.sh", "echo two");
    for (def, print) in [(&script, &prints[0]), (&link, &prints[1])] {
        let error = hub.call(def, print, json!({})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        assert!(error.message.contains("run.sh` has changed"), "{error}");
    }
    // Registered again, it runs again.
    assert_eq!(hub.said(&script, json!({})).await, "two\n");
    // And one that is gone is told as such.
    fs::remove_file(hub.folder.path().join("run.sh")).unwrap();
    let error = hub.call(&script, &prints[0], json!({})).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Dependency);
}

#[tokio::test]
async fn the_name_of_a_program_is_as_written() {
    let hub = Hub::new();
    // `sh` is a link to another program on most systems.
    let def = command(&["sh", "-c", "echo $0"]);
    assert_eq!(hub.said(&def, json!({})).await, "sh\n");
}
