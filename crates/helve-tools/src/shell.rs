//! A command line in the sandbox: the one tool that takes code as an argument.
//!
//! It is a program of the hub like any registered one, so the walls are the same: it writes
//! into layers, has no network, and ends with all that it started. It is off until a person
//! turns it on, and what it changed waits for a person.

use helve_kernel::helve_core::def::{
    AllowedPath, Example, Executor, ExecutorKind, RelatedTool, Risk,
};
use helve_kernel::{ToolDef, ToolError, ToolName};
use serde_json::{Map, json};
use std::time::Duration;

/// `shell_exec`.
pub fn exec() -> Result<ToolDef, ToolError> {
    let name = ToolName::new("shell_exec").map_err(|e| ToolError::internal(e.to_string()))?;
    let mut def = ToolDef::new(
        name,
        "Runs a command line in a sandbox. Use it when no registered tool does the job. Off by \
         default: a call should name a tool, not carry a command.",
    );
    def.title = Some("Run a command line".to_owned());
    def.detail = Some(
        "Helve's first law is that only registered tools run: what is registered was looked at, \
         can be told apart by policy, and takes arguments as data. A command line is none of \
         that, which is why this tool is disabled until an operator turns it on (`[toolsets]` \
         `on = [\"shell_exec\"]`, or `helve enable shell_exec`).\n\n\
         - It runs in the workspace, in a sandbox: no network, nothing writable but the \
         workspace, and that only as a copy.\n\
         - What it changed is shown to a person as a diff, and applied when they say yes.\n\
         - An exit code other than 0 is an answer, not an error."
            .to_owned(),
    );
    def.category = Some("Shell".to_owned());
    def.tags = vec!["shell".to_owned()];
    def.aliases = ["run_shell", "shell_execute", "bash", "execute_shell"]
        .map(str::to_owned)
        .to_vec();
    def.triggers = vec!["When no registered tool does the job".to_owned()];
    def.warnings = vec![
        "It can read what the hub's user can read on this machine; a person is asked before"
            .to_owned(),
    ];
    def.related_tools = vec![RelatedTool {
        name: "system_execute".to_owned(),
        relation: Some("runs what is registered".to_owned()),
    }];
    def.examples = vec![Example {
        scenario: Some("Which files are large".to_owned()),
        params: json!({"command": "du -a . | sort -n | tail -5"}),
        expected: Some("What it wrote, and its exit code".to_owned()),
    }];
    def.risk = Some(Risk::ExecHigh);
    def.enabled = false;
    def.timeout = Some(Duration::from_mins(2));
    def.allowed_paths = vec![AllowedPath {
        path: ".".to_owned(),
        access: Some(helve_kernel::helve_core::def::Access::Write),
    }];
    def.input_schema = json!({
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "description": "The command line, for sh",
                "minLength": 1,
                "maxLength": 65536,
            },
        },
        "required": ["command"],
        "additionalProperties": false,
    });
    def.output_schema = Some(json!({
        "type": "object",
        "properties": {
            "exit_code": {"type": "integer", "description": "How it ended; 0 is well"},
            "stdout": {"type": "string", "description": "What it wrote"},
            "stderr": {"type": "string", "description": "What it complained about"},
        },
        "required": ["exit_code", "stdout", "stderr"],
    }));
    let mut settings = Map::new();
    // The program and its words are fixed; the command line is data in a variable.
    let command = json!(["/bin/sh", "-c", "eval \"$ARG_COMMAND\""]);
    settings.insert("command".to_owned(), command);
    settings.insert("any_exit".to_owned(), json!(true));
    settings.insert("stage".to_owned(), json!(true));
    def.executor = Some(Executor {
        kind: ExecutorKind::Host,
        settings,
    });
    Ok(def)
}
