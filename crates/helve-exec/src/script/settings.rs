//! What a definition says about a function of a script.

use std::path::Path;

use helve_core::ToolDef;
use helve_core::def::ExecutorKind;
use helve_kernel::ToolError;
use helve_sandbox::Limits;
use serde_json::Value;

use super::runtime::Runtime;
use crate::environment;
use crate::settings::{size, wrong};

/// The settings of a script tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// The file, from the workspace.
    pub(crate) path: String,
    /// The tool in it, by the name that the file gives it.
    pub(crate) function: Option<String>,
    pub(crate) runtime: Runtime,
    pub(crate) cwd: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) network: bool,
    pub(crate) limits: Limits,
}

impl Settings {
    pub(crate) fn of(def: &ToolDef) -> Result<Self, ToolError> {
        let Some(executor) = &def.executor else {
            return Err(ToolError::validation("the definition has no `executor`"));
        };
        if executor.kind != ExecutorKind::Script {
            let kind = executor.kind.as_str();
            let problem = format!("the executor `script` cannot run a tool of type `{kind}`");
            return Err(ToolError::validation(problem));
        }
        let text = |name: &str| executor.settings.get(name).and_then(Value::as_str);
        let Some(path) = text("path").map(str::to_owned) else {
            return Err(wrong("path"));
        };
        let word = text("runtime");
        let runtime = match word {
            Some(word) => Runtime::parse(word),
            None => Runtime::of_file(Path::new(&path)),
        };
        let Some(runtime) = runtime else {
            let problem = match word {
                Some(word) => format!("there is no runtime `{word}`"),
                None => format!("what runs `{path}` cannot be told from its ending"),
            };
            return Err(
                ToolError::validation(problem).with_hint("say `runtime`: node, python or erlang")
            );
        };
        let mut settings = Self {
            path,
            function: text("function").map(str::to_owned),
            runtime,
            cwd: text("cwd").map(str::to_owned),
            env: Vec::new(),
            network: false,
            limits: Limits::default(),
        };
        for (name, value) in &executor.settings {
            match (name.as_str(), value) {
                ("path" | "function" | "runtime" | "cwd", Value::String(_)) => {}
                ("env", Value::Object(table)) => {
                    for (name, value) in table {
                        let Value::String(value) = value else {
                            return Err(wrong(&format!("env.{name}")));
                        };
                        settings.env.push((name.clone(), value.clone()));
                    }
                }
                ("network", Value::Bool(granted)) => settings.network = *granted,
                ("memory", Value::String(text)) => {
                    settings.limits.memory = Some(size(name, text)?);
                }
                ("pids", Value::Number(count)) => {
                    let count = count.as_u64().and_then(|n| u32::try_from(n).ok());
                    let count = count.filter(|n| *n > 0).ok_or_else(|| wrong(name))?;
                    settings.limits.processes = Some(count);
                }
                _ => return Err(wrong(name)),
            }
        }
        environment::check(&settings.env, &[])?;
        Ok(settings)
    }
}
