//! `[mcp]`: what MCP clients see, and how they wait for people.

use std::collections::BTreeMap;
use std::time::Duration;

use helve_core::policy::Pattern;
use helve_mcp::Options;
use helve_mcp::front::{Disclose, Names, View};
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration;
use super::upstream::ServerTable;

/// What MCP clients see.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Mcp {
    /// How tools are called: `helve` (`file_read`), `internal` (`internal_file_read`), `mcp` (`mcp__file__read`) or `plain` (the name that a server elsewhere gave it) [default: `helve`].
    pub names: Option<NamesWord>,
    /// How much is shown before anybody asks: `full`, `lean` or `auto` [default: `auto`].
    pub disclose: Option<DiscloseWord>,
    /// Above how many tokens of definitions `auto` becomes lean [default: 10000].
    pub threshold: Option<usize>,
    /// How many tokens the catalog in the instructions may cost [default: 2000].
    pub budget: Option<usize>,
    /// Tools that are listed however little is shown, as patterns.
    pub pinned: Vec<String>,
    /// Tools that are not shown, as patterns.
    pub hide: Vec<String>,
    /// How many of the tools that a search found are put on the client's list [default: 0].
    pub promote: Option<usize>,
    /// What a client is told at the beginning.
    pub instructions: Option<String>,
    /// How long a call waits for people before it comes back as pending, like `50s` [default: `50s`].
    pub wait: Option<String>,
    /// Whether the person behind an agent may decide in the agent's own client [default: true].
    pub elicit: Option<bool>,
    /// Virtual servers: `/mcp/<name>` shows only these tools.
    pub views: BTreeMap<String, ViewTable>,
    /// What holds for the servers of `.mcp.json`, by their names.
    pub servers: BTreeMap<String, ServerTable>,
}

/// A virtual server. What it does not say is as for all.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ViewTable {
    /// Its tools, as patterns.
    pub tools: Vec<String>,
    /// How they are called.
    pub names: Option<NamesWord>,
    /// How much is shown before anybody asks.
    pub disclose: Option<DiscloseWord>,
    /// Tools that are listed however little is shown, as patterns.
    pub pinned: Option<Vec<String>>,
    /// What a client is told at the beginning.
    pub instructions: Option<String>,
}

/// How tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NamesWord {
    Helve,
    Internal,
    Mcp,
    Plain,
}

impl From<NamesWord> for Names {
    fn from(word: NamesWord) -> Self {
        match word {
            NamesWord::Helve => Names::Helve,
            NamesWord::Internal => Names::Internal,
            NamesWord::Mcp => Names::Mcp,
            NamesWord::Plain => Names::Plain,
        }
    }
}

/// How much is shown before anybody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DiscloseWord {
    /// Every tool with its whole definition.
    Full,
    /// Three tools by which the others are found, and those that are pinned.
    Lean,
    /// Full, as long as that costs no more than `mcp.threshold`.
    Auto,
}

impl From<DiscloseWord> for Disclose {
    fn from(word: DiscloseWord) -> Self {
        match word {
            DiscloseWord::Full => Disclose::Full,
            DiscloseWord::Lean => Disclose::Lean,
            DiscloseWord::Auto => Disclose::Auto,
        }
    }
}

impl Mcp {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        if let Some(text) = self.wait.as_ref().filter(|t| duration(t).is_none()) {
            return Some(format!(
                "`mcp.wait` cannot be `{text}`; write it like `50s` or `10m`"
            ));
        }
        let wrong = self.servers.iter().find_map(|(name, s)| s.problem(name));
        if wrong.is_some() {
            return wrong;
        }
        let bad = |name: &&String| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            name.is_empty() || !name.chars().all(allowed)
        };
        let name = self.views.keys().find(bad)?;
        Some(format!(
            "`mcp.views.{name}` is no name for an address; use letters, digits, `-` and `_`"
        ))
    }

    /// What the door for MCP clients is told.
    pub(crate) fn options(&self, disclose: Option<DiscloseWord>) -> Options {
        let base = View::default();
        let default = View {
            hide: patterns(&self.hide),
            names: self.names.map_or(base.names, Names::from),
            disclose: disclose
                .or(self.disclose)
                .map_or(base.disclose, Disclose::from),
            pinned: patterns(&self.pinned),
            threshold: self.threshold.unwrap_or(base.threshold),
            budget: self.budget.unwrap_or(base.budget),
            promote: self.promote.unwrap_or(base.promote),
            instructions: self.instructions.clone(),
            ..base
        };
        let views = self.views.iter().map(|(name, table)| {
            let view = View {
                tools: patterns(&table.tools),
                names: table.names.map_or(default.names, Names::from),
                disclose: table.disclose.map_or(default.disclose, Disclose::from),
                pinned: match &table.pinned {
                    Some(pinned) => patterns(pinned),
                    None => default.pinned.clone(),
                },
                instructions: table.instructions.clone().or(default.instructions.clone()),
                ..default.clone()
            };
            (name.clone(), view)
        });
        let options = Options::default();
        Options {
            views: views.collect(),
            // Checked when it was read.
            wait: self
                .wait
                .as_deref()
                .and_then(duration)
                .unwrap_or(Duration::from_secs(50)),
            elicit: self.elicit.unwrap_or(options.elicit),
            default,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..options
        }
    }
}

fn patterns(list: &[String]) -> Vec<Pattern> {
    list.iter().map(Pattern::new).collect()
}
