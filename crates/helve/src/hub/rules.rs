//! Rules that people decide on while they approve: kept beside the hub's state, after
//! those of the configuration. The strictest still wins, wherever it stands.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use helve_core::policy::Policy;
use helve_kernel::{Kernel, Permission, Principal, PrincipalKind, ToolError};
use helve_server::Rules;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use super::watch::count_rules;
use crate::config::Config;
use crate::state::State;
use crate::{load, save};

/// What the file begins with.
const HEAD: &str = "\
# Rules that people remembered when they approved something in the console.
# They hold beside those of helve.toml; delete what should be asked again.
";

/// The most bytes of the file.
const MOST: usize = 256 * 1024;

/// The file of a workspace.
pub(crate) struct Remembered {
    kernel: Kernel,
    root: PathBuf,
    /// One writes at a time.
    turn: Mutex<()>,
}

impl Remembered {
    pub(crate) fn new(kernel: Kernel, root: PathBuf) -> Self {
        Self {
            kernel,
            root,
            turn: Mutex::default(),
        }
    }
}

#[async_trait]
impl Rules for Remembered {
    fn shown(&self, rule: &Value) -> Result<String, ToolError> {
        let rules = Value::Array(vec![rule.clone()]);
        Policy::from_value(&rules).map_err(|e| ToolError::validation(e.to_string()))?;
        let map = rule.as_object();
        Ok(written(map.unwrap_or(&Map::new())))
    }

    async fn remember(&self, who: &Principal, rule: &Value) -> Result<(), ToolError> {
        may(who)?;
        let text = self.shown(rule)?;
        let _turn = self.turn.lock().await;
        let path = State::of(&self.root).rules();
        let broken = |e: crate::exit::Failure| ToolError::conflict(format!("{:#}", e.error));
        let before = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => HEAD.to_owned(),
            Err(e) => return Err(ToolError::conflict(format!("`{}`: {e}", path.display()))),
        };
        if before.contains(&text) {
            return Ok(());
        }
        let by = who.owner.escape_default();
        let whole = format!("{before}\n# {by}, {}\n{text}", self.kernel.now());
        if whole.len() > MOST {
            return Err(ToolError::conflict(format!(
                "`{}` has grown too long; delete what is no longer needed",
                load::shown(&path)
            )));
        }
        save::file(&path, &whole).map_err(broken)?;
        let counted = match Config::load(&self.root) {
            Ok(config) => count_rules(&self.kernel, &config, &who.owner).await,
            Err(failure) => Err(format!("{:#}", failure.error)),
        };
        if let Err(problem) = counted {
            // A rule that does not count is not left behind to count some day.
            save::file(&path, &before).map_err(broken)?;
            return Err(ToolError::conflict(problem));
        }
        Ok(())
    }
}

/// Makes an empty file where there is none, so that it can be found, and watched.
pub(super) fn prepare(path: &Path) {
    if !path.exists() {
        // Where it cannot be made, nothing can be remembered, which is told then.
        let _ = save::file(path, HEAD);
    }
}

/// Only people who may decide and may change what tools do.
fn may(who: &Principal) -> Result<(), ToolError> {
    if who.kind != PrincipalKind::Person {
        return Err(ToolError::permission("only people make rules"));
    }
    who.require(Permission::ApprovalDecide)?;
    who.require(Permission::ToolRegister)
}

/// A rule as a table of TOML.
fn written(rule: &Map<String, Value>) -> String {
    let mut out = "[[policy]]\n".to_owned();
    for (key, value) in rule {
        let value = match value {
            Value::Object(patterns) => {
                let pairs = patterns
                    .iter()
                    .map(|(name, pattern)| format!("{} = {}", quoted(name), literal(pattern)));
                format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
            }
            other => literal(other),
        };
        // To write into memory does not fail.
        let _ = writeln!(out, "{key} = {value}");
    }
    out
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// JSON's way to write text is TOML's, but for one character.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned())
        .to_string()
        .replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests;
