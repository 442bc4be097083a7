//! Tokens: how a caller shows who it is.
//!
//! The secret exists once, in the hands of whoever asked for it; only its hash is
//! kept. It has 256 bits of chance, so a plain hash cannot be turned back, and to
//! look it up by that hash tells a stop-watch nothing about the secret.

use helve_core::audit::Hash;
use helve_core::def::Risk;
use helve_core::policy::Pattern;

use crate::{At, Permission, Principal, PrincipalKind, TokenId};

/// What is kept of a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its id, which is no secret.
    pub id: TokenId,
    /// What it is for, in the words of whoever made it.
    pub name: String,
    /// The hash of its secret.
    pub hash: Hash,
    /// For a person or an agent.
    pub kind: PrincipalKind,
    /// Whose it is.
    pub owner: String,
    /// Under whom an agent acts.
    pub under: Option<String>,
    /// What it allows.
    pub permissions: Vec<Permission>,
    /// Patterns of the tools that it reaches; empty means none.
    pub scopes: Vec<String>,
    /// The highest risk that it may call.
    pub max_risk: Risk,
    /// When it was made.
    pub created: At,
    /// Who made it.
    pub created_by: String,
    /// Until when it counts.
    pub expires: Option<At>,
    /// When it was revoked.
    pub revoked: Option<At>,
}

impl Token {
    /// Whether it counts at that moment.
    pub fn is_live(&self, now: At) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }

    /// Who shows it.
    pub fn principal(&self) -> Principal {
        Principal {
            owner: self.owner.clone(),
            kind: self.kind,
            under: self.under.clone(),
            token: Some(self.id.clone()),
            permissions: self.permissions.clone(),
            scopes: self.scopes.iter().map(Pattern::new).collect(),
            max_risk: self.max_risk,
        }
    }
}

/// The secret of a token. It is shown once; its `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

const PREFIX: &str = "hlv_";

impl Secret {
    /// A new one.
    pub fn fresh() -> Result<Self, getrandom::Error> {
        use std::fmt::Write as _;
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        let mut text = PREFIX.to_owned();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// The one that somebody shows; nothing of another shape is taken.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let hex = digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        hex.then(|| Self(text.to_owned()))
    }

    /// What is kept of it.
    pub fn hash(&self) -> Hash {
        Hash::of(self.0.as_bytes())
    }

    /// The text, for the one who asked.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}
