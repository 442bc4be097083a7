//! `[web]`: who searches the web, and how its pages are read.

use std::time::Duration;

use helve_tools::web::{Manners, Provider, Settings};
use reqwest::Url;
use reqwest::header::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;

use super::duration;

/// Searching the web, and reading its pages.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Web {
    /// Who searches: `tavily`, `searxng` or `brave` [default: nobody].
    pub search: Option<ProviderWord>,
    /// Where that is; SearXNG needs it [default: the provider's own].
    pub search_url: Option<String>,
    /// The name of the secret in `[secrets]` that is the provider's key [default: none].
    pub key: Option<String>,
    /// A proxy for what is public, like `http://127.0.0.1:3128`; what `[network]` grants is reached directly [default: none].
    pub proxy: Option<String>,
    /// Whether sites may forbid programs to fetch their pages: `ignore` or `obey` [default: `ignore`, since a page is fetched because somebody asked for it].
    pub robots: Option<RobotsWord>,
    /// The longest that a call may take, up to `4m` [default: `30s`].
    pub timeout: Option<String>,
    /// The most bytes that are read of a page, up to 20000000 [default: 5000000].
    pub max_bytes: Option<u64>,
    /// The name under which pages are fetched [default: `helve/` and its version].
    pub user_agent: Option<String>,
}

/// Who searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ProviderWord {
    Tavily,
    Searxng,
    Brave,
}

/// Whether `robots.txt` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RobotsWord {
    Ignore,
    Obey,
}

/// The longest that a call may take; the tools themselves end a little later.
const LONGEST: Duration = Duration::from_secs(240);

/// The most bytes of a page.
const MOST: u64 = 20_000_000;

impl Web {
    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<String> {
        let mut problems = [
            self.address("search_url", self.search_url.as_deref()),
            self.address("proxy", self.proxy.as_deref()),
            self.wrong_numbers(),
            self.wrong_texts(),
        ]
        .into_iter();
        problems.find_map(|problem| problem)
    }

    /// What the tools are told.
    pub(crate) fn settings(&self) -> Settings {
        let usual = Settings::default();
        // Checked when it was read.
        let url = |text: &Option<String>| text.as_deref().and_then(|t| Url::parse(t).ok());
        Settings {
            search: self.search.map(|word| match word {
                ProviderWord::Tavily => Provider::Tavily,
                ProviderWord::Searxng => Provider::Searxng,
                ProviderWord::Brave => Provider::Brave,
            }),
            search_url: url(&self.search_url),
            key: self.key.clone(),
            proxy: url(&self.proxy),
            robots: match self.robots {
                Some(RobotsWord::Obey) => Manners::Obey,
                Some(RobotsWord::Ignore) | None => Manners::Ignore,
            },
            timeout: self
                .timeout
                .as_deref()
                .and_then(duration)
                .unwrap_or(usual.timeout),
            max_bytes: self.max_bytes.unwrap_or(usual.max_bytes),
            user_agent: self.user_agent.clone(),
        }
    }

    fn address(&self, name: &str, text: Option<&str>) -> Option<String> {
        let text = text?;
        let Ok(url) = Url::parse(text) else {
            return Some(format!("`web.{name}` is no address"));
        };
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Some(format!(
                "`web.{name}` must be an address that begins with http:// or https://"
            ));
        }
        // It would be shown wherever the configuration is.
        let secret = !url.username().is_empty() || url.password().is_some();
        secret.then(|| format!("`web.{name}` has a user or a password in it"))
    }

    fn wrong_numbers(&self) -> Option<String> {
        if let Some(text) = &self.timeout
            && duration(text).is_none_or(|time| time > LONGEST)
        {
            return Some(format!(
                "`web.timeout` cannot be `{text}`; write it like `30s`, up to `4m`"
            ));
        }
        let most = self.max_bytes?;
        (!(1..=MOST).contains(&most))
            .then(|| format!("`web.max_bytes` cannot be {most}; it is 1 to {MOST}"))
    }

    fn wrong_texts(&self) -> Option<String> {
        if self.search == Some(ProviderWord::Searxng) && self.search_url.is_none() {
            return Some(
                "`web.search` is `searxng`, which needs `search_url`: where it is".to_owned(),
            );
        }
        let agent = self.user_agent.as_deref()?;
        let bad = agent.trim().is_empty() || HeaderValue::from_str(agent).is_err();
        bad.then(|| "`web.user_agent` is nothing that can be sent".to_owned())
    }
}
