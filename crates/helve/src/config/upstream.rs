//! `[mcp.servers.<name>]`: what holds for a server of `.mcp.json`, and for its tools.

use std::collections::BTreeMap;

use helve_core::def::{Reversible, Risk};
use helve_core::policy::Pattern;
use helve_mcp::upstream::settings::{NewTools, OAuth, Rules, ToolRules};
use schemars::JsonSchema;
use serde::Deserialize;

use super::changes::size;
use super::duration;

/// What holds for a server of `.mcp.json`, and for its tools.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerTable {
    /// The risk of its tools; what a tool says of itself can raise it and never lowers it [default: `write`].
    pub risk: Option<RiskWord>,
    /// How long a call may take, like `90s` [default: `60s`].
    pub timeout: Option<String>,
    /// How long it may take to begin [default: `30s`].
    pub start_timeout: Option<String>,
    /// How many calls may be under way at once [default: 16].
    pub concurrency: Option<usize>,
    /// A connection for every client, so that it knows whom its questions are for [default: false].
    pub isolate: Option<bool>,
    /// After how long without a call it is ended, like `10m` [default: never].
    pub idle: Option<String>,
    /// The most that one of its messages may hold, like `32MiB` [default: `32MiB`].
    pub message_limit: Option<String>,
    /// Tools that are not taken over, as patterns of their names there.
    pub hide: Vec<String>,
    /// What becomes of tools that it did not have before: `accept` or `ask` [default: `accept`].
    pub new_tools: Option<NewToolsWord>,
    /// How it is logged in to.
    pub oauth: Option<OAuthTable>,
    /// What holds for single tools, by their names there.
    pub tools: BTreeMap<String, ToolTable>,
}

/// What holds for one tool of a server.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToolTable {
    /// Another name, as ours are written.
    pub name: Option<String>,
    /// Another title.
    pub title: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// Its risk; it stands as it is.
    pub risk: Option<RiskWord>,
    /// Whether it is left out [default: false].
    pub hide: bool,
    /// How long a call may take, like `5m`.
    pub timeout: Option<String>,
    /// Whether what it does can be undone by calling it or another tool [default: false].
    pub reversible: Option<bool>,
}

/// How a server is logged in to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OAuthTable {
    /// The client's id there, where it was registered by hand.
    pub client_id: Option<String>,
    /// The name of its secret, as in `secrets`.
    pub client_secret: Option<String>,
    /// What to ask for.
    pub scopes: Vec<String>,
    /// Whether the hub logs in as itself, with id and secret [default: false].
    pub client_credentials: bool,
}

/// How much a call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RiskWord {
    Read,
    ExecLow,
    ExecHigh,
    Write,
}

impl From<RiskWord> for Risk {
    fn from(word: RiskWord) -> Self {
        match word {
            RiskWord::Read => Risk::Read,
            RiskWord::ExecLow => Risk::ExecLow,
            RiskWord::ExecHigh => Risk::ExecHigh,
            RiskWord::Write => Risk::Write,
        }
    }
}

/// What becomes of tools that a server did not have before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NewToolsWord {
    Accept,
    Ask,
}

impl ServerTable {
    /// What is wrong with it.
    pub(super) fn problem(&self, name: &str) -> Option<String> {
        let wrong = |key: &str, text: &str, like: &str| {
            Some(format!(
                "`mcp.servers.{name}.{key}` cannot be `{text}`; write it like {like}"
            ))
        };
        for (key, text) in [
            ("timeout", &self.timeout),
            ("start_timeout", &self.start_timeout),
            ("idle", &self.idle),
        ] {
            if let Some(text) = text.as_ref().filter(|t| duration(t).is_none()) {
                return wrong(key, text, "`90s` or `10m`");
            }
        }
        if let Some(text) = self.message_limit.as_ref().filter(|t| size(t).is_none()) {
            return wrong("message_limit", text, "`32MiB`");
        }
        if self.concurrency == Some(0) {
            return wrong("concurrency", "0", "`16`");
        }
        for (tool, table) in &self.tools {
            if let Some(text) = table.timeout.as_ref().filter(|t| duration(t).is_none()) {
                return wrong(&format!("tools.{tool}.timeout"), text, "`90s` or `10m`");
            }
            let bad = |n: &&String| helve_core::ToolName::new(n.as_str()).is_err();
            if let Some(text) = table.name.as_ref().filter(bad) {
                return wrong(&format!("tools.{tool}.name"), text, "`group_action`");
            }
        }
        None
    }

    /// Puts what it says over what holds otherwise; secrets come from elsewhere.
    pub(crate) fn apply(&self, rules: &mut Rules) {
        // Checked when it was read.
        let time = |text: &Option<String>| text.as_deref().and_then(duration);
        rules.risk = self.risk.map_or(rules.risk, Risk::from);
        rules.timeout = time(&self.timeout).unwrap_or(rules.timeout);
        rules.start_timeout = time(&self.start_timeout).unwrap_or(rules.start_timeout);
        rules.concurrency = self.concurrency.unwrap_or(rules.concurrency);
        rules.isolate = self.isolate.unwrap_or(rules.isolate);
        rules.idle = time(&self.idle).or(rules.idle);
        if let Some(limit) = self.message_limit.as_deref().and_then(size) {
            rules.message_limit = usize::try_from(limit).unwrap_or(usize::MAX);
        }
        rules.hide = self.hide.iter().map(Pattern::new).collect();
        rules.new_tools = match self.new_tools {
            Some(NewToolsWord::Ask) => NewTools::Ask,
            _ => NewTools::Accept,
        };
        if let Some(table) = &self.oauth {
            rules.oauth = Some(OAuth {
                client_id: table.client_id.clone(),
                client_secret: None,
                scopes: table.scopes.clone(),
                client_credentials: table.client_credentials,
            });
        }
        for (tool, table) in &self.tools {
            let reversible = table.reversible.map(|yes| match yes {
                true => Reversible::Yes,
                false => Reversible::No,
            });
            let own = ToolRules {
                name: table.name.clone(),
                title: table.title.clone(),
                description: table.description.clone(),
                risk: table.risk.map(Risk::from),
                hide: table.hide,
                timeout: time(&table.timeout),
                reversible,
            };
            rules.tools.insert(tool.clone(), own);
        }
    }
}
