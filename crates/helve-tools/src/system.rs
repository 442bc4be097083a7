//! The machine and the hub, as far as an agent needs to know them, and the commands that an
//! operator has registered.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use helve_kernel::helve_core::def::ExecutorKind;
use helve_kernel::helve_core::name::nearest;
use helve_kernel::{
    Ctx, DefineTool, Entry, Kernel, Led, Principal, ToolError, Toolset, ToolsetError, tool,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    let execute = <execute as DefineTool>::tool().leading(led);
    let tools = vec![
        execute,
        <info as DefineTool>::tool(),
        <env as DefineTool>::tool(),
    ];
    let says = "The machine, the hub, and registered commands".to_owned();
    let tags = vec!["system".to_owned()];
    Toolset::new("system", Some(says), tags, tools)
}

/// What the hub knows of where it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The workspace.
    pub workspace: String,
    /// The version of the hub.
    pub version: String,
    /// Bytes of memory of the machine; 0 if it is not known.
    pub memory: u64,
    /// The variables of its environment; a value only where an operator has granted it.
    pub variables: BTreeMap<String, Option<String>>,
}

/// The machine and the hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Info {
    /// The operating system.
    pub os: String,
    /// The processor's architecture.
    pub arch: String,
    /// How many processors there are.
    pub cpus: usize,
    /// Bytes of memory; 0 if it is not known.
    pub memory_bytes: u64,
    /// The folder in which relative paths begin.
    pub workspace: String,
    /// The version of the hub.
    pub helve: String,
}

/// Variables of the environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Variables {
    /// Those that there are.
    pub names: Vec<String>,
    /// The values that may be shown.
    pub values: BTreeMap<String, String>,
}

/// Runs a registered command by its name. Use it when a test, a build or a script of the project is to run.
///
/// Only what an operator has registered as a tool runs; a command line is never taken.
///
/// - `command` is the name of the tool, `arguments` what it takes (`get_tool_info` tells).
/// - The call becomes one of that tool: with its policy, its approval and its record.
#[tool(
    group = "system",
    title = "Run a registered command",
    category = "System",
    risk = "write",
    aliases = ["execute_command", "run_command"],
    triggers = ["When a test, a build or a script of the project is to run"],
    warnings = ["It takes no command line; an unknown name is refused with the nearest ones"],
    related = [("system_info", "tells about the machine")],
    example(scenario = "The project's tests", params = {"command": "project_test"}, expected = "What the tests wrote, and how they ended")
)]
#[expect(
    clippy::unused_async,
    reason = "a tool that leads to others has no work of its own"
)]
async fn execute(
    /// The name of a registered tool that is a program.
    #[schemars(length(min = 1, max = 128), extend("pattern" = "^[A-Za-z][A-Za-z0-9_.:/-]*$"))]
    command: String,
    /// Its arguments, by name.
    #[default(Map::new())]
    arguments: Map<String, Value>,
) -> Result<Value, ToolError> {
    drop((command, arguments));
    Err(ToolError::internal("it leads to no tool"))
}

/// Where a call of `system_execute` goes: to a registered program.
async fn led(kernel: Kernel, who: Arc<Principal>, args: Map<String, Value>) -> Led {
    let command = args
        .get("command")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let is_program = |entry: &Entry| {
        let kind = entry.def.executor.as_ref().map(|executor| executor.kind);
        use ExecutorKind::{Docker, Host, K8sJob, Script};
        matches!(kind, Some(Host | Script | Docker | K8sJob))
    };
    let found = kernel
        .find(command)
        .filter(|e| who.reaches(e.def.name.as_str()));
    match found {
        Some(entry) if is_program(&entry) => {
            let arguments = args.get("arguments").cloned().unwrap_or_default();
            Ok((entry.def.name.to_string(), arguments))
        }
        _ => {
            let tools = kernel.tools();
            let programs = tools.iter().filter(|e| is_program(e) && e.enabled);
            let names: Vec<&str> = programs
                .map(|e| e.def.name.as_str())
                .filter(|name| who.reaches(name))
                .collect();
            let near = nearest(command, names.iter().copied(), 5);
            let hint = match (names.is_empty(), near.is_empty()) {
                (true, _) => "none is registered; an operator puts one into `tools/`".to_owned(),
                (false, true) => format!("there are {}", names.join(", ")),
                (false, false) => format!("the nearest are {}", near.join(", ")),
            };
            let shown: String = command.chars().take(128).collect();
            Err(ToolError::not_found(format!(
                "`{}` is no registered command; a command line is never taken",
                shown.escape_debug()
            ))
            .with_hint(hint))
        }
    }
}

/// Tells about the machine and the hub. Use it when a decision depends on the system or the workspace.
///
/// Operating system, architecture, processors, memory, the workspace's folder, and the
/// version of the hub.
#[tool(
    group = "system",
    title = "About the machine",
    category = "System",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_system_info"],
    triggers = ["When a command differs between systems", "When the workspace's folder is needed"],
    related = [("system_env", "tells the variables of the environment")],
    example(scenario = "Which system is it", params = {}, expected = "linux, x86_64, and the workspace")
)]
#[expect(clippy::unused_async, reason = "every tool is")]
async fn info(ctx: &Ctx) -> Result<Info, ToolError> {
    let around = ctx.service::<Surroundings>()?;
    Ok(Info {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, Into::into),
        memory_bytes: around.memory,
        workspace: around.workspace.clone(),
        helve: around.version.clone(),
    })
}

/// Lists the variables of the hub's environment. Use it to see whether something is configured.
///
/// Names only; a value is shown where an operator has granted it (`[toolsets]` `env`), and
/// never where the name sounds like a secret.
#[tool(
    group = "system",
    title = "Variables of the environment",
    category = "System",
    risk = "read",
    idempotent,
    output,
    aliases = ["get_env"],
    triggers = ["When a variable is expected to be set"],
    related = [("system_info", "tells about the machine")],
    example(scenario = "Is a proxy set", params = {"name": "HTTP*_PROXY"}, expected = "The names that fit")
)]
#[expect(clippy::unused_async, reason = "every tool is")]
async fn env(
    ctx: &Ctx,
    /// Only variables of this name; `*` stands for any letters.
    #[default("*")]
    name: String,
) -> Result<Variables, ToolError> {
    let around = ctx.service::<Surroundings>()?;
    let wanted = helve_kernel::helve_core::policy::Pattern::new(&name);
    let found = || {
        around
            .variables
            .iter()
            .filter(|(name, _)| wanted.matches(name))
    };
    let shown = found().filter(|(name, _)| !is_secret(name));
    Ok(Variables {
        names: found().map(|(name, _)| name.clone()).collect(),
        values: shown
            .filter_map(|(name, value)| Some((name.clone(), value.clone()?)))
            .collect(),
    })
}

/// Whether a name sounds like a secret, whatever was granted.
fn is_secret(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "SECRET",
        "TOKEN",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "PRIVATE",
        "APIKEY",
        "API_KEY",
        "ACCESS_KEY",
        "AUTH",
        "COOKIE",
        "SESSION",
        "DATABASE_URL",
        "DSN",
    ];
    let name = name.to_uppercase();
    WORDS.iter().any(|word| name.contains(word)) || name.ends_with("_KEY") || name.ends_with("_PW")
}
