//! What holds for programs wherever they run: one suite for every executor, through the
//! real kernel.
//!
//! Scripts are for any POSIX shell, with coreutils or with busybox.

#![allow(clippy::unwrap_used)]

pub(crate) mod programs;
pub(crate) mod writes;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use helve_core::ToolDef;
use helve_core::def::{AllowedPath, ExecutorKind, Risk};
use helve_core::policy::Policy;
use helve_kernel::{
    Answer, Call, Executor, Keeper, Kernel, Principal, Registration, RunId, RunState, Stream,
    ToolError, UndoCall,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// An executor, and how tools say that they want it.
pub(crate) trait Subject: Sync {
    fn kind(&self) -> ExecutorKind;

    /// One for that workspace, which gives programs little time to end.
    fn executor(&self, root: &Path) -> Arc<dyn Executor>;

    /// Settings that every tool of it needs.
    fn settings(&self) -> Value {
        json!({})
    }

    /// What a reply notes of a run that may write, if anything.
    fn notes(&self) -> &'static [&'static str] {
        &[]
    }
}

/// Everything, for an executor that holds programs as well as it can.
macro_rules! whole_contract {
    ($subject:expr) => {
        $crate::contract::suite!($subject, programs:
            ends_are_told
            a_result_by_its_schema
            any_code_can_be_an_answer
            arguments_come_in_three_ways
            bad_arguments_do_not_run
            secrets_are_not_on_a_command_line
            the_environment_is_clean
            it_runs_where_it_says
            only_what_was_registered_runs
            streams_are_kept_apart_and_in_order
            input_may_stay_unread
            output_may_be_closed_early
            long_output_is_an_artifact
            a_line_of_ten_megabytes
            endless_output_is_stopped
            a_child_in_the_background_holds_nothing_up
            a_time_limit_ends_all_of_it
            whoever_calls_it_off_ends_all_of_it
            memory_is_limited
            processes_are_limited
            there_is_no_network
            two_at_once
        );
        $crate::contract::suite!($subject, writes:
            nothing_is_written_where_it_may_not_be
            a_path_by_its_own_name_is_allowed
            people_are_shown_the_effect_and_get_exactly_that
            what_is_denied_is_dropped
            a_stage_that_was_touched_is_not_committed
            a_dry_run_shows_and_drops
            what_cannot_be_held_is_asked_before
            files_keep_their_owner
        );
        $crate::contract::writing_contract!($subject);
    };
}

/// What holds as well where there are no overlays, or no sandbox.
macro_rules! writing_contract {
    ($subject:expr) => {
        $crate::contract::suite!($subject, writes:
            what_is_written_is_committed_and_undone
            modes_and_links_are_written_too
            a_program_that_fails_has_changed_nothing
        );
    };
}

macro_rules! suite {
    ($subject:expr, $module:ident: $($name:ident)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                $crate::contract::$module::$name(&$subject).await;
            }
        )*
    };
}

pub(crate) use {suite, whole_contract, writing_contract};

/// A workspace with some files, and a kernel with only that executor.
pub(crate) struct Place<'s> {
    subject: &'s dyn Subject,
    folder: TempDir,
    pub(crate) kernel: Kernel,
}

impl<'s> Place<'s> {
    /// Where all runs without being asked.
    pub(crate) async fn open(subject: &'s dyn Subject) -> Self {
        Self::new(subject, json!([{"effect": "allow", "tool": "*"}])).await
    }

    /// Where people are asked before anything is written.
    pub(crate) async fn asking(subject: &'s dyn Subject) -> Self {
        Self::new(subject, json!([])).await
    }

    async fn new(subject: &'s dyn Subject, rules: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("data")).unwrap();
        fs::write(root.join("data/old.txt"), "one\ntwo\n").unwrap();
        fs::write(root.join("data/same.txt"), "same\n").unwrap();
        fs::write(root.join("beside.txt"), "beside\n").unwrap();
        let executor = subject.executor(&root);
        let kernel = Self::kernel(&root, ".helve/changes", subject.kind(), executor, &rules).await;
        fs::write(root.join(".helve/secret"), "secret").unwrap();
        Self {
            subject,
            folder,
            kernel,
        }
    }

    /// The same workspace, with another executor.
    pub(crate) async fn with_executor(mut self, executor: Arc<dyn Executor>) -> Self {
        let rules = json!([{"effect": "allow", "tool": "*"}]);
        let kind = self.subject.kind();
        self.kernel = Self::kernel(&self.root(), ".helve/again", kind, executor, &rules).await;
        self
    }

    async fn kernel(
        root: &Path,
        changes: &str,
        kind: ExecutorKind,
        executor: Arc<dyn Executor>,
        rules: &Value,
    ) -> Kernel {
        let keeper = Keeper::open(&root.join(changes), None).unwrap();
        let builder = Kernel::builder()
            .root(root)
            .artifacts(root.join(".helve/artifacts"))
            .output_limit(4 << 20)
            .policy(Policy::from_value(rules).unwrap())
            .keeper(Arc::new(keeper))
            .executor(kind, executor);
        builder.open().await.unwrap()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A tool with these settings and the arguments `x` and `y`, which only looks.
    pub(crate) fn tool(&self, settings: &Value) -> ToolDef {
        let mut executor = json!({"type": self.subject.kind().as_str()});
        let fields = executor.as_object_mut().unwrap();
        fields.extend(self.subject.settings().as_object().unwrap().clone());
        fields.extend(settings.as_object().unwrap().clone());
        definition(&executor)
    }

    pub(crate) fn command(&self, command: &[&str]) -> ToolDef {
        self.tool(&json!({"command": command}))
    }

    pub(crate) fn sh(&self, script: &str) -> ToolDef {
        // Braces are for arguments.
        let script = script.replace('{', "{{").replace('}', "}}");
        self.command(&["sh", "-c", &script])
    }

    /// A tool that may write there.
    pub(crate) fn writer(&self, script: &str, allowed: &[&str]) -> ToolDef {
        let mut def = self.sh(script);
        def.risk = Some(Risk::Write);
        let path = |path: &&str| AllowedPath {
            path: (*path).to_owned(),
            access: None,
        };
        def.allowed_paths = allowed.iter().map(path).collect();
        def
    }

    /// A program in the workspace.
    pub(crate) fn script(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(crate) async fn register(&self, def: &ToolDef) -> Result<(), ToolError> {
        let new = Registration {
            def: def.clone(),
            source: "api".to_owned(),
            why: None,
            replace: true,
        };
        let registered = self.kernel.register(&ann(), new).await;
        registered.map(drop)
    }

    /// Registers a tool and calls it.
    pub(crate) async fn call(&self, def: &ToolDef, args: Value) -> Answer {
        self.register(def).await.unwrap();
        self.again(def, args).await
    }

    /// Calls a tool that is registered.
    pub(crate) async fn again(&self, def: &ToolDef, args: Value) -> Answer {
        let call = Call::new(ann(), def.name.as_str(), args);
        self.kernel.call(call).await
    }

    /// What a tool that succeeds writes to standard output.
    pub(crate) async fn said(&self, def: &ToolDef, args: Value) -> String {
        let data = self.call(def, args).await.result.unwrap();
        data["stdout"].as_str().unwrap().to_owned()
    }

    /// What was kept of a stream of a run.
    pub(crate) async fn log(&self, run: &RunId, stream: Stream) -> Vec<u8> {
        let chunks = self.kernel.store().chunks(run, 0, 100_000).await.unwrap();
        let chunks = chunks.into_iter().filter(|chunk| chunk.stream == stream);
        chunks.flat_map(|chunk| chunk.bytes).collect()
    }

    /// Waits until a run has said that.
    pub(crate) async fn says(&self, run: &RunId, word: &str) {
        let wait = async {
            loop {
                let said = self.log(run, Stream::Stdout).await;
                if String::from_utf8_lossy(&said).contains(word) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait)
            .await
            .unwrap();
    }

    /// All files, with what is in them.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let root = self.root();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                if name == ".helve" {
                    continue;
                }
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((name, fs::read_to_string(path).unwrap())),
                }
            }
        }
        files.sort();
        files
    }

    /// Whether anything is held back for a run.
    pub(crate) fn has_stages(&self) -> bool {
        let stages = fs::read_dir(self.root().join(".helve/changes/stage"));
        stages.is_ok_and(|mut stages| stages.next().is_some())
    }

    pub(crate) async fn undo(&self, answer: &Answer) -> Answer {
        let run = answer.meta.run_id.clone().unwrap();
        let call = UndoCall {
            runs: vec![run],
            ..UndoCall::default()
        };
        self.kernel.undo(&Arc::new(ann()), call).await
    }
}

/// A tool with that executor and the arguments `x` and `y`, which only looks.
pub(crate) fn definition(executor: &Value) -> ToolDef {
    ToolDef::from_value(&json!({
        "name": "a_tool",
        "description": "Does it.",
        "input_schema": {"type": "object", "properties": {"x": {}, "y": {}}},
        "risk": "read",
        "executor": executor,
    }))
    .unwrap()
}

pub(crate) fn ann() -> Principal {
    Principal::person("ann")
}

/// The command lines on this machine with that word in them, but that of this test.
pub(crate) fn processes_with(word: &str) -> Vec<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|p| fs::read(p.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(word)).collect()
}

pub(crate) fn succeeded(answer: &Answer) -> bool {
    answer.meta.state == Some(RunState::Succeeded)
}
