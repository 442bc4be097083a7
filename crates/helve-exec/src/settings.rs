//! What a definition says about a program: on this machine, and wherever it runs.
//!
//! Everything that can be known to be wrong without looking at the disk is found
//! here, and nothing that a definition asks for is passed over in silence: what
//! this build cannot do yet is refused.

use helve_core::ToolDef;
use helve_core::def::ExecutorKind;
use helve_core::marked::{Mark, marked};
use helve_kernel::ToolError;
use helve_sandbox::Limits;
use serde_json::{Map, Value};

use crate::argv::Template;
use crate::environment;

/// The settings of a host tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// What every program is told.
    pub(crate) common: Common,
    /// How much it may use.
    pub(crate) limits: Limits,
}

impl Settings {
    /// Reads and checks the settings of a definition.
    pub(crate) fn of(def: &ToolDef) -> Result<Self, ToolError> {
        let mut limits = Limits::default();
        let common = Common::read(def, ExecutorKind::Host, |name, value| {
            match (name, value) {
                ("memory", Value::String(text)) => limits.memory = Some(size(name, text)?),
                ("file_size", Value::String(text)) => limits.file_size = Some(size(name, text)?),
                ("pids", Value::Number(_)) => limits.processes = Some(count(name, value)?),
                ("user", _) => {
                    return Err(unsupported(
                        "`user`",
                        "leave it out: the program runs as the user of Helve",
                    ));
                }
                _ => return Err(wrong(name)),
            }
            Ok(())
        })?;
        Ok(Self { common, limits })
    }
}

/// What a definition says of every program, wherever it runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Common {
    /// What is started.
    pub(crate) command: Template,
    /// Where, from the workspace; without it, the workspace itself.
    pub(crate) cwd: Option<String>,
    /// The variables that it sets.
    pub(crate) env: Vec<(String, String)>,
    /// Whether it may use the network.
    pub(crate) network: bool,
}

impl Common {
    /// Reads and checks the settings of a definition of that kind; `own` takes those that
    /// only this kind has.
    pub(crate) fn read(
        def: &ToolDef,
        kind: ExecutorKind,
        mut own: impl FnMut(&str, &Value) -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
        let Some(executor) = &def.executor else {
            return Err(ToolError::validation("the definition has no `executor`"));
        };
        if executor.kind != kind {
            let (kind, other) = (kind.as_str(), executor.kind.as_str());
            let problem = format!("the executor `{kind}` cannot run a tool of type `{other}`");
            return Err(ToolError::validation(problem));
        }
        let mut command = None;
        let mut cwd = None;
        let mut env = Vec::new();
        let mut network = false;
        let mut options = false;
        for (name, value) in &executor.settings {
            match (name.as_str(), value) {
                ("command", Value::Array(list)) => command = Some(words(list)?),
                ("cwd", Value::String(path)) => cwd = Some(path.clone()),
                ("env", Value::Object(table)) => {
                    for (name, value) in table {
                        let Value::String(value) = value else {
                            return Err(wrong(&format!("env.{name}")));
                        };
                        env.push((name.clone(), value.clone()));
                    }
                }
                ("network", Value::Bool(granted)) => network = *granted,
                ("options", Value::Bool(may)) => options = *may,
                // Looked at when it ends, and by the kernel.
                ("any_exit" | "stage", Value::Bool(_)) => {}
                (name, value) => own(name, value)?,
            }
        }
        let command = Template::parse(command.unwrap_or_default())?;
        let common = Self {
            command: match options {
                true => command.with_options(),
                false => command,
            },
            cwd,
            env,
            network,
        };
        let properties = properties(def);
        common.command.check(&properties)?;
        refuse_secrets(def, &common.command)?;
        environment::check(&common.env, &properties)?;
        Ok(common)
    }
}

/// The arguments that a definition names.
pub(crate) fn properties(def: &ToolDef) -> Vec<&str> {
    let table = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    let names = table.into_iter().flat_map(|table| table.keys());
    names.map(String::as_str).collect()
}

/// Every user of the machine can read a command line.
fn refuse_secrets(def: &ToolDef, command: &Template) -> Result<(), ToolError> {
    let args: Map<String, Value> = command
        .placeholders()
        .map(|name| (name.to_owned(), Value::from("")))
        .collect();
    let Some(secret) = marked(&def.input_schema, &args, Mark::Secret)
        .into_iter()
        .next()
    else {
        return Ok(());
    };
    let name = secret.pointer.trim_start_matches('/');
    Err(ToolError::validation(format!(
        "`command` has `{{{name}}}`, which is secret: everybody on the machine could read it"
    ))
    .with_hint("let the program read it from its `ARG_…` variable or from standard input"))
}

/// A number of bytes with a unit: `512MB`, `2GiB`.
pub(crate) fn size(setting: &str, text: &str) -> Result<u64, ToolError> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "" | "B" => 1,
        "K" | "KB" | "KiB" => 1 << 10,
        "M" | "MB" | "MiB" => 1 << 20,
        "G" | "GB" | "GiB" => 1 << 30,
        _ => 0,
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| {
        ToolError::validation(format!("`{setting}` must be a size, not `{text}`"))
            .with_hint("a whole number and a unit, for example `512MB` or `2GB`")
    })
}

/// A whole number of at least one.
pub(crate) fn count(setting: &str, value: &Value) -> Result<u32, ToolError> {
    let count = value.as_u64().and_then(|n| u32::try_from(n).ok());
    count.filter(|n| *n > 0).ok_or_else(|| wrong(setting))
}

fn words(list: &[Value]) -> Result<Vec<&str>, ToolError> {
    let words = list.iter().map(|word| word.as_str());
    words
        .map(|word| word.ok_or_else(|| wrong("command")))
        .collect()
}

pub(crate) fn wrong(setting: &str) -> ToolError {
    ToolError::validation(format!(
        "the setting `{setting}` of the executor is unknown or of the wrong type"
    ))
    .with_hint("`helve check` tells what it can be")
}

fn unsupported(what: &str, hint: &str) -> ToolError {
    ToolError::validation(format!("{what} is not supported by this build yet")).with_hint(hint)
}
