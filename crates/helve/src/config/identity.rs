//! `[identity]`: an identity provider whose tokens count beside the hub's own.

use helve_core::def::Risk;
use helve_core::policy::Pattern;
use helve_kernel::{Permission, PrincipalKind};
use helve_server::IdentitySettings;
use schemars::JsonSchema;
use serde::Deserialize;

/// An identity provider whose tokens (JWTs) count beside the hub's own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IdentityTable {
    /// Who makes the tokens: their `iss`.
    pub issuer: String,
    /// For whom they must be: one of their `aud`.
    pub audience: String,
    /// The provider's keys: an address that begins with https:// (or with http:// on this machine), or a file of the workspace.
    pub jwks: String,
    /// The claim that says whose a token is [default: `sub`].
    pub owner: Option<String>,
    /// Whether owners are an `agent` or a `person`; agents never decide approvals [default: `agent`].
    pub kind: Option<String>,
    /// What they may do at most [default: `tool:read`, `tool:execute`, `run:read`].
    pub permissions: Option<Vec<String>>,
    /// The tools that they reach, as patterns [default: all].
    pub scopes: Option<Vec<String>>,
    /// The highest risk that they may call [default: `write`].
    pub max_risk: Option<String>,
}

impl IdentityTable {
    /// What the server is told; what is wrong, if it cannot be.
    pub(crate) fn settings(&self) -> Result<IdentitySettings, String> {
        let wrong = |key: &str, word: &str| format!("`identity.{key}` cannot be `{word}`");
        let kind = match self.kind.as_deref() {
            None => PrincipalKind::Agent,
            Some(word) => PrincipalKind::parse(word)
                .ok_or_else(|| format!("{}; write `agent` or `person`", wrong("kind", word)))?,
        };
        let permissions = match &self.permissions {
            None => Permission::AGENT.to_vec(),
            Some(words) => {
                let parse = |word: &String| {
                    let all = Permission::ALL.map(Permission::as_str).join(", ");
                    let hint = || format!("{}; there are {all}", wrong("permissions", word));
                    Permission::parse(word).ok_or_else(hint)
                };
                words.iter().map(parse).collect::<Result<_, _>>()?
            }
        };
        let max_risk = match self.max_risk.as_deref() {
            None => Risk::Write,
            Some(word) => Risk::parse(word).ok_or_else(|| {
                let words = "read, exec_low, exec_high or write";
                format!("{}; write {words}", wrong("max_risk", word))
            })?,
        };
        let scopes = match &self.scopes {
            None => vec![Pattern::new("*")],
            Some(list) => list.iter().map(Pattern::new).collect(),
        };
        Ok(IdentitySettings {
            issuer: self.issuer.clone(),
            audience: self.audience.clone(),
            owner: self.owner.clone().unwrap_or_else(|| "sub".to_owned()),
            kind,
            permissions,
            scopes,
            max_risk,
        })
    }

    pub(super) fn problem(&self) -> Option<String> {
        let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        let open = self.jwks.starts_with("http://");
        if open && !local.iter().any(|l| self.jwks.starts_with(l)) {
            let why = "keys that anybody on the way can replace are no keys";
            return Some(format!("`identity.jwks` must begin with https://: {why}"));
        }
        self.settings().err()
    }
}
