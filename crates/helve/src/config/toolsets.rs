//! `[toolsets]`: which of the built-in tools are there, and what they may touch.

use helve_core::policy::Pattern;
use helve_http::guard::Hosts;
use schemars::JsonSchema;
use serde::Deserialize;

/// The built-in tools.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Toolsets {
    /// Sets and tools that are not there, like `network` or `file_delete`; `*` stands for any letters [default: none].
    pub off: Vec<String>,
    /// Tools that are there and disabled if nothing is said, and that can be called here, like `shell_exec` [default: none].
    pub on: Vec<String>,
    /// What the tools for files and code may touch, from the workspace [default: `.`, all of it].
    pub paths: Option<Vec<String>>,
    /// Hosts that the network tools may reach, like `api.example.com` or `*.example.com` [default: none].
    pub hosts: Vec<String>,
    /// The language in which built-in tools describe themselves: `en`, or `zh` for those that speak it [default: `en`].
    pub language: Language,
    /// Variables of the environment whose values may be shown [default: none].
    pub env: Vec<String>,
}

/// A language of descriptions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    #[default]
    En,
    Zh,
}

impl Toolsets {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let wrong = Hosts::parse(&self.hosts).err()?;
        Some(format!("`toolsets.hosts`: {wrong}"))
    }

    /// Whether a tool of a set is left out.
    pub(crate) fn leaves_out(&self, set: &str, tool: &str) -> bool {
        let named = |off: &String| off == set || Pattern::new(off).matches(tool);
        self.off.iter().any(named)
    }

    /// Whether a tool that is disabled by itself can be called.
    pub(crate) fn turns_on(&self, set: &str, tool: &str) -> bool {
        let named = |on: &String| on == set || Pattern::new(on).matches(tool);
        self.on.iter().any(named)
    }
}
