//! `[scripts]`: what runs tools in other languages, and what those in a folder may do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use helve_core::def::Risk;
use helve_exec::Runtime;
use schemars::JsonSchema;
use serde::Deserialize;

/// Tools in other languages.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scripts {
    /// What runs JavaScript: a program, or its path from the workspace [default: `node`].
    pub node: Option<String>,
    /// What runs Python, like `.venv/bin/python` [default: `python3`].
    pub python: Option<String>,
    /// What runs Erlang [default: `escript`].
    pub erlang: Option<String>,
    /// How many calls of one folder run at once [default: 4].
    pub pool: Option<usize>,
    /// What is said of single folders, by their paths from the workspace.
    pub folders: BTreeMap<String, ScriptFolder>,
}

/// A folder of scripts. What a tool says of itself goes before.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ScriptFolder {
    /// The risk of tools that name none [default: `write` where they may write, `exec_high` with the network, else `exec_low`].
    pub risk: Option<String>,
    /// What its tools may write, from the workspace [default: nothing].
    pub allowed_paths: Vec<String>,
    /// Whether its tools may use the network [default: false].
    pub network: bool,
    /// Variables that its tools see.
    pub env: BTreeMap<String, String>,
    /// Variables that are secrets: the name of each in `[secrets]`.
    pub secrets: BTreeMap<String, String>,
    /// How much memory a process of it may use, like `512MB` [default: `2GB`].
    pub memory: Option<String>,
    /// How long a call may take, like `90s` [default: `30s`].
    pub timeout: Option<String>,
    /// How many of its calls run at once.
    pub pool: Option<usize>,
}

/// How many calls of a folder run at once if nothing is said.
const POOL: usize = 4;

impl Scripts {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let pools = self.folders.iter().map(|(name, f)| (Some(name), f.pool));
        let mut pools = pools.chain([(None, self.pool)]);
        if let Some((name, _)) = pools.find(|(_, pool)| *pool == Some(0)) {
            let place = name.map(|name| format!("folders.\"{name}\"."));
            let place = place.unwrap_or_default();
            return Some(format!("`scripts.{place}pool` must be at least 1"));
        }
        self.folders.iter().find_map(|(name, folder)| {
            let risk = folder.risk.as_deref()?;
            let known = Risk::ALL.iter().any(|r| r.as_str() == risk);
            (!known).then(|| {
                format!("`scripts.folders.\"{name}\".risk`: `{risk}` is none of read, exec_low, exec_high, write")
            })
        })
    }

    /// Interpreters that are named.
    pub(crate) fn interpreters(&self) -> Vec<(Runtime, String)> {
        let named = [
            (Runtime::Node, &self.node),
            (Runtime::Python, &self.python),
            (Runtime::Erlang, &self.erlang),
        ];
        let named = named.into_iter();
        named
            .filter_map(|(runtime, word)| Some((runtime, word.clone()?)))
            .collect()
    }

    pub(crate) fn pool(&self) -> usize {
        self.pool.unwrap_or(POOL)
    }

    /// What is said of a folder: the nearest word for it, or a folder above.
    pub(crate) fn of(&self, root: &Path, folder: &Path) -> ScriptFolder {
        let named = self.folders.iter().map(|(name, f)| (real(root, name), f));
        let around = named.filter(|(path, _)| folder.starts_with(path));
        let nearest = around.max_by_key(|(path, _)| path.components().count());
        nearest.map(|(_, f)| f.clone()).unwrap_or_default()
    }
}

/// A folder as it really is, where it is there.
pub(crate) fn real(root: &Path, name: &str) -> PathBuf {
    let path = root.join(name);
    path.canonicalize().unwrap_or(path)
}
