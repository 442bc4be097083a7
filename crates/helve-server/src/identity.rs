//! Tokens of an identity provider: JWTs, held against the keys that it publishes.
//!
//! Only signatures with a public key count, so that nobody who can read the keys can make a
//! token. Issuer, audience and end are checked every time; a token without one of them is
//! refused. What it may do here is said by the configuration, and a token can only have less.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use helve_core::def::Risk;
use helve_core::policy::Pattern;
use helve_kernel::{Permission, Principal, PrincipalKind};
use jsonwebtoken::jwk::{JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// What is said of an identity provider.
#[derive(Debug, Clone)]
pub struct IdentitySettings {
    /// Who must have made a token: its `iss`.
    pub issuer: String,
    /// For whom it must be: one of its `aud`.
    pub audience: String,
    /// The claim that says whose it is.
    pub owner: String,
    /// What its owners are: agents never decide an approval.
    pub kind: PrincipalKind,
    /// What they may do at most. A token whose `scope` names any of our permissions has only
    /// those of them.
    pub permissions: Vec<Permission>,
    /// The tools that they reach.
    pub scopes: Vec<Pattern>,
    /// The highest risk that they may call.
    pub max_risk: Risk,
}

/// An identity provider whose tokens count.
pub struct Identity {
    settings: IdentitySettings,
    keys: RwLock<HashMap<String, DecodingKey>>,
    wanted: Notify,
}

/// The signatures that count.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

/// How far clocks may be apart.
const LEEWAY: u64 = 30;

/// The longest token that is looked at.
const LONGEST: usize = 16 * 1024;

impl Identity {
    /// A provider whose keys are not known yet: until then, no token of it counts.
    pub fn new(settings: IdentitySettings) -> Self {
        Self {
            settings,
            keys: RwLock::default(),
            wanted: Notify::new(),
        }
    }

    /// What is said of it.
    pub fn settings(&self) -> &IdentitySettings {
        &self.settings
    }

    /// Takes the keys of a JWKS document: how many can be used, or why it is none.
    pub fn set_keys(&self, document: &str) -> Result<usize, String> {
        let set: JwkSet = serde_json::from_str(document).map_err(|e| e.to_string())?;
        let mut keys = HashMap::new();
        for jwk in &set.keys {
            let signs = !matches!(jwk.common.public_key_use, Some(PublicKeyUse::Encryption));
            let secret = matches!(
                jwk.algorithm,
                jsonwebtoken::jwk::AlgorithmParameters::OctetKey(_)
            );
            if let (true, false, Some(id), Ok(key)) = (
                signs,
                secret,
                &jwk.common.key_id,
                DecodingKey::from_jwk(jwk),
            ) {
                keys.insert(id.clone(), key);
            }
        }
        let count = keys.len();
        if count == 0 {
            return Err("it has no public key with a `kid` that signs".to_owned());
        }
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
        Ok(count)
    }

    /// Waits until a token came whose key is not known: the provider may have new ones.
    pub async fn keys_wanted(&self) {
        self.wanted.notified().await;
    }

    /// Whose token this is; `None` if it does not count.
    pub(crate) fn principal(&self, token: &str) -> Option<Principal> {
        if token.len() > LONGEST {
            return None;
        }
        let header = decode_header(token).ok()?;
        if !ALGORITHMS.contains(&header.alg) {
            return None;
        }
        let key = header.kid?;
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(key) = keys.get(&key) else {
            self.wanted.notify_one();
            return None;
        };
        let mut rules = Validation::new(header.alg);
        rules.set_issuer(&[&self.settings.issuer]);
        rules.set_audience(&[&self.settings.audience]);
        rules.set_required_spec_claims(&["exp", "iss", "aud"]);
        rules.validate_nbf = true;
        rules.leeway = LEEWAY;
        let claims: Map<String, Value> = decode(token, key, &rules).ok()?.claims;
        self.of_claims(&claims)
    }

    fn of_claims(&self, claims: &Map<String, Value>) -> Option<Principal> {
        let settings = &self.settings;
        let owner = claims.get(&settings.owner)?.as_str()?;
        let plain = |c: char| !c.is_control() && !helve_core::lint::is_hidden(c);
        if owner.is_empty() || owner.len() > 256 || !owner.chars().all(plain) {
            return None;
        }
        let named: Vec<Permission> = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(words)) => words.split(' ').filter_map(Permission::parse).collect(),
            Some(Value::Array(words)) => {
                let words = words.iter().filter_map(Value::as_str);
                words.filter_map(Permission::parse).collect()
            }
            _ => Vec::new(),
        };
        let mut permissions = settings.permissions.clone();
        if !named.is_empty() {
            permissions.retain(|p| named.contains(p));
        }
        Some(Principal {
            // Never the name of somebody who has a token of ours.
            owner: format!("jwt:{owner}"),
            kind: settings.kind,
            under: None,
            token: None,
            permissions,
            scopes: settings.scopes.clone(),
            max_risk: settings.max_risk,
        })
    }
}

#[cfg(test)]
mod tests;
