//! Tokens: made, shown, revoked.
//!
//! Nobody hands out more than they have.

use std::time::Duration;

use helve_core::def::Risk;
use helve_core::policy::Pattern;

use super::approve::broken;
use super::{Kernel, read, write};
use crate::{At, Change, Permission, Principal, PrincipalKind, Secret, Token, TokenId, ToolError};

/// What a new token shall be.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What it is for.
    pub name: String,
    /// For a person or an agent.
    pub kind: PrincipalKind,
    /// Whose it is.
    pub owner: String,
    /// What it allows.
    pub permissions: Vec<Permission>,
    /// Patterns of the tools that it reaches.
    pub scopes: Vec<String>,
    /// The highest risk that it may call.
    pub max_risk: Risk,
    /// How long it counts; without it, until it is revoked.
    pub lasts: Option<Duration>,
}

impl NewToken {
    /// For an agent: it sees and calls every tool, as far as policy lets it.
    pub fn agent(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            owner: format!("agent:{name}"),
            name,
            kind: PrincipalKind::Agent,
            permissions: Permission::AGENT.to_vec(),
            scopes: vec!["*".to_owned()],
            max_risk: Risk::Write,
            lasts: None,
        }
    }
}

impl Kernel {
    /// Makes a token. The secret is given once.
    pub async fn create_token(
        &self,
        who: &Principal,
        new: NewToken,
    ) -> Result<(Token, Secret), ToolError> {
        who.require(Permission::TokenManage)?;
        within(who, &new)?;
        let secret = Secret::fresh()
            .map_err(|e| ToolError::dependency(format!("no random numbers: {e}")))?;
        let now = self.now();
        let token = Token {
            id: TokenId::fresh(),
            hash: secret.hash(),
            under: (new.kind == PrincipalKind::Agent && new.owner != who.owner)
                .then(|| who.owner.clone()),
            name: new.name,
            kind: new.kind,
            owner: new.owner,
            permissions: new.permissions,
            scopes: new.scopes,
            max_risk: new.max_risk,
            created: now,
            created_by: who.owner.clone(),
            expires: new.lasts.map(|d| now.after(d)),
            revoked: None,
        };
        let rights: Vec<&str> = token.permissions.iter().map(|p| p.as_str()).collect();
        let record = self
            .entry_of(&who.owner, "token.created", token.id.as_str())
            .with("owner", token.owner.as_str())
            .with("kind", token.kind.as_str())
            .with("permissions", rights)
            .with("scopes", token.scopes.clone())
            .with("max_risk", token.max_risk.as_str())
            .with("expires", token.expires.map(|at| at.to_string()));
        let kept = self.inner.store.add_token(token.clone(), record).await;
        kept.map_err(|e| broken(&e))?;
        write(&self.inner.tokens).insert(token.hash, token.clone());
        Ok((token, secret))
    }

    /// Who shows this secret. A secret that is unknown, expired or revoked is nobody.
    pub fn authenticate(&self, secret: &str) -> Option<Principal> {
        let hash = Secret::parse(secret)?.hash();
        let tokens = read(&self.inner.tokens);
        let token = tokens.get(&hash)?;
        token.is_live(self.now()).then(|| token.principal())
    }

    /// Until when a token counts: `None` if it does not; otherwise its end, if it has one.
    pub fn token_end(&self, id: &TokenId) -> Option<Option<At>> {
        let tokens = read(&self.inner.tokens);
        let token = tokens.values().find(|t| t.id == *id)?;
        token.is_live(self.now()).then_some(token.expires)
    }

    /// Tokens, oldest first: all for whoever manages them, their own for others.
    pub async fn tokens(&self, who: &Principal) -> Result<Vec<Token>, ToolError> {
        let mut tokens = self.inner.store.tokens().await.map_err(|e| broken(&e))?;
        if !who.may(Permission::TokenManage) {
            tokens.retain(|t| t.owner == who.owner);
        }
        Ok(tokens)
    }

    /// Revokes a token, for every stream that is open with it, too.
    pub async fn revoke_token(&self, who: &Principal, id: &TokenId) -> Result<(), ToolError> {
        let known = read(&self.inner.tokens)
            .values()
            .find(|t| t.id == *id)
            .cloned();
        let unknown = || ToolError::not_found(format!("there is no token `{id}`"));
        let token = known.ok_or_else(unknown)?;
        if token.owner != who.owner {
            who.require(Permission::TokenManage)?;
        }
        let record = self
            .entry_of(&who.owner, "token.revoked", id.as_str())
            .with("owner", token.owner.as_str());
        let at = record.at;
        let revoked = self.inner.store.revoke_token(id, at, record).await;
        if !revoked.map_err(|e| broken(&e))? {
            return Err(ToolError::conflict("the token was revoked before"));
        }
        if let Some(token) = write(&self.inner.tokens).get_mut(&token.hash) {
            token.revoked = Some(at);
        }
        self.told(Change::Token(id.clone()));
        Ok(())
    }

    /// Who made the token that somebody shows.
    pub(super) fn maker_of(&self, who: &Principal) -> Option<String> {
        let id = who.token.as_ref()?;
        let tokens = read(&self.inner.tokens);
        let token = tokens.values().find(|t| t.id == *id)?;
        Some(token.created_by.clone())
    }
}

/// Refuses a token that allows more than its maker may.
fn within(who: &Principal, new: &NewToken) -> Result<(), ToolError> {
    let named = |text: &str| {
        !text.trim().is_empty() && text.len() <= 128 && !text.contains(char::is_control)
    };
    if !named(&new.name) || !named(&new.owner) {
        return Err(ToolError::validation(
            "a token needs a `name` and an `owner` of 1 to 128 characters",
        ));
    }
    let decide = Permission::ApprovalDecide;
    if new.kind == PrincipalKind::Agent && new.permissions.contains(&decide) {
        let error = ToolError::validation(format!("an agent's token cannot have `{decide}`"));
        return Err(error.with_hint("only people decide; make a token of kind `person`"));
    }
    if let Some(more) = new
        .permissions
        .iter()
        .find(|p| !who.permissions.contains(p))
    {
        let message = format!(
            "`{}` cannot give `{more}`, which it does not have",
            who.owner
        );
        return Err(ToolError::permission(message));
    }
    if new.max_risk > who.max_risk {
        let most = who.max_risk.as_str();
        return Err(ToolError::permission(format!(
            "`{}` may give at most risk `{most}`",
            who.owner
        )));
    }
    let covers = |wide: &Pattern, scope: &str| {
        let plain = !scope.contains(['*', '?']);
        wide.as_str() == "*" || wide.as_str() == scope || (plain && wide.matches(scope))
    };
    match new
        .scopes
        .iter()
        .find(|s| !who.scopes.iter().any(|w| covers(w, s)))
    {
        Some(scope) => Err(ToolError::permission(format!(
            "`{}` cannot give the scope `{scope}`, which is wider than its own",
            who.owner
        ))),
        None => Ok(()),
    }
}
