//! Tokens: made, shown, revoked.
//!
//! Nobody hands out more than they have.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use helve_core::audit::Hash;
use helve_core::def::Risk;
use helve_core::policy::Pattern;

use super::approve::broken;
use super::{Kernel, read, write};
use crate::{At, Change, Permission, Principal, PrincipalKind, Secret, Token, TokenId, ToolError};

/// Who does what the hub does by itself.
const HUB: &str = "hub";

/// All tokens, found by their secrets or by their ids.
#[derive(Default)]
pub(super) struct Known {
    by_id: HashMap<TokenId, Token>,
    ids: HashMap<Hash, (TokenId, Arc<Principal>)>,
}

impl Known {
    pub(super) fn put(&mut self, token: Token) {
        let who = Arc::new(token.principal());
        self.ids.insert(token.hash, (token.id.clone(), who));
        self.by_id.insert(token.id.clone(), token);
    }

    pub(super) fn by_id(&self, id: &TokenId) -> Option<&Token> {
        self.by_id.get(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Token> {
        self.by_id.values()
    }

    /// The token, and who shows it.
    fn by_hash(&self, hash: &Hash) -> Option<(&Token, &Arc<Principal>)> {
        let (id, who) = self.ids.get(hash)?;
        Some((self.by_id.get(id)?, who))
    }

    /// Whether a token comes from somebody: they made it, or made one for whoever did.
    fn comes_from(&self, token: &Token, owner: &str) -> bool {
        let mut makers = vec![token.created_by.as_str()];
        let mut seen = HashSet::new();
        while let Some(maker) = makers.pop() {
            if maker == owner {
                return true;
            }
            if seen.insert(maker) {
                let theirs = self.all().filter(|t| t.owner == maker);
                makers.extend(theirs.map(|t| t.created_by.as_str()));
            }
        }
        false
    }
}

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
        let (kernel, who) = (self.clone(), who.clone());
        self.through(async move { kernel.create_token_now(&who, new).await })
            .await
    }

    async fn create_token_now(
        &self,
        who: &Principal,
        new: NewToken,
    ) -> Result<(Token, Secret), ToolError> {
        self.allowed(who, Permission::TokenManage)?;
        within(who, &new)?;
        self.one_kind(who, &new)?;
        self.not_longer(who, &new)?;
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
        write(&self.inner.tokens).put(token.clone());
        Ok((token, secret))
    }

    /// Who shows this secret. A secret that is unknown, expired or revoked is nobody.
    pub fn authenticate(&self, secret: &str) -> Option<Arc<Principal>> {
        let hash = Secret::parse(secret)?.hash();
        let tokens = read(&self.inner.tokens);
        let (token, who) = tokens.by_hash(&hash)?;
        token.is_live(self.now()).then(|| who.clone())
    }

    /// The person that an agent acts under, with the right to decide: for a question that
    /// reaches them through the agent's own client. `None` where nobody stands above it, or
    /// whoever does has no token that may decide.
    pub fn person_above(&self, agent: &Principal) -> Option<Principal> {
        let person = agent.under.as_deref()?;
        let now = self.now();
        let tokens = read(&self.inner.tokens);
        let theirs = tokens
            .all()
            .filter(|t| t.owner == person && t.kind == PrincipalKind::Person && t.is_live(now));
        let deciding = theirs.filter(|t| t.permissions.contains(&Permission::ApprovalDecide));
        deciding.max_by_key(|t| t.created).map(Token::principal)
    }

    /// Until when a token counts: `None` if it does not; otherwise its end, if it has one.
    pub fn token_end(&self, id: &TokenId) -> Option<Option<At>> {
        let tokens = read(&self.inner.tokens);
        let token = tokens.by_id(id)?;
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
        let (kernel, who, id) = (self.clone(), who.clone(), id.clone());
        self.through(async move { kernel.revoke_token_now(&who, &id).await })
            .await
    }

    async fn revoke_token_now(&self, who: &Principal, id: &TokenId) -> Result<(), ToolError> {
        self.counts(who)?;
        let owner = read(&self.inner.tokens).by_id(id).map(|t| t.owner.clone());
        let unknown = || ToolError::not_found(format!("there is no token `{id}`"));
        let owner = owner.ok_or_else(unknown)?;
        if owner != who.owner {
            who.require(Permission::TokenManage)?;
        }
        let record = self
            .entry_of(&who.owner, "token.revoked", id.as_str())
            .with("owner", owner);
        let at = record.at;
        let revoked = self.inner.store.revoke_token(id, at, record).await;
        let revoked = revoked.map_err(|e| broken(&e))?;
        // Also where another node was first: then this one had not heard.
        if let Some(token) = write(&self.inner.tokens).by_id.get_mut(id) {
            token.revoked.get_or_insert(at);
        }
        self.told(Change::Token(id.clone()));
        match revoked {
            true => Ok(()),
            false => Err(ToolError::conflict("the token was revoked before")),
        }
    }

    /// Refuses whoever has not the right, or shows a token that no longer counts.
    pub(super) fn allowed(&self, who: &Principal, permission: Permission) -> Result<(), ToolError> {
        who.require(permission)?;
        self.counts(who)
    }

    /// Refuses a token that no longer counts: it may have been shown long ago, on a
    /// stream that is still open.
    pub(super) fn counts(&self, who: &Principal) -> Result<(), ToolError> {
        let Some(id) = &who.token else { return Ok(()) };
        match self.token_end(id) {
            Some(_) => Ok(()),
            None => Err(ToolError::permission(
                "the token was revoked, has expired, or is not known",
            )),
        }
    }

    /// Whether the token that somebody shows comes from `owner`.
    pub(super) fn owes_its_token_to(&self, who: &Principal, owner: &str) -> bool {
        let Some(id) = &who.token else { return false };
        let tokens = read(&self.inner.tokens);
        tokens
            .by_id(id)
            .is_some_and(|token| tokens.comes_from(token, owner))
    }

    /// Refuses an owner who is an agent here and a person there: rules and approvals
    /// know them by that name alone.
    fn one_kind(&self, who: &Principal, new: &NewToken) -> Result<(), ToolError> {
        let tokens = read(&self.inner.tokens);
        let mut others = tokens.all().map(|t| (t.owner.as_str(), t.kind));
        let is_other =
            |(owner, kind): (&str, PrincipalKind)| owner == new.owner && kind != new.kind;
        match others.any(is_other) || is_other((&who.owner, who.kind)) {
            false => Ok(()),
            true => Err(ToolError::conflict(format!(
                "`{}` is not the owner of a token of kind `{}`: there is one of the other kind",
                new.owner,
                new.kind.as_str()
            ))
            .with_hint("choose another `owner`; that of an agent begins with `agent:`")),
        }
    }

    /// Refuses a token that would count longer than its maker's own.
    fn not_longer(&self, who: &Principal, new: &NewToken) -> Result<(), ToolError> {
        let own = who.token.as_ref().and_then(|id| self.token_end(id));
        let Some(Some(end)) = own else { return Ok(()) };
        match new.lasts {
            Some(lasts) if self.now().after(lasts) <= end => Ok(()),
            _ => Err(ToolError::permission(format!(
                "`{}` cannot give a token that lasts longer than its own, until {end}",
                who.owner
            ))),
        }
    }
}

/// Refuses a token that allows more than its maker may.
fn within(who: &Principal, new: &NewToken) -> Result<(), ToolError> {
    let named = |text: &str| {
        !text.trim().is_empty() && text.len() <= 128 && !text.contains(char::is_control)
    };
    if !named(&new.name) {
        return Err(ToolError::validation(
            "a token needs a `name` of 1 to 128 characters",
        ));
    }
    // Two owners that look alike are a way around a rule.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
    let length = 1..=128;
    if !length.contains(&new.owner.len()) || !new.owner.chars().all(plain) {
        let error = ToolError::validation(
            "a token needs an `owner` of 1 to 128 ASCII letters, digits and `._-:@`",
        );
        return Err(error.with_hint("without one, an agent's is `agent:` and its `name`"));
    }
    if new.owner == HUB {
        return Err(ToolError::validation("`hub` is the hub itself"));
    }
    if new.kind == PrincipalKind::Person && new.owner.starts_with("agent:") {
        return Err(ToolError::validation(
            "the owner of a person's token cannot begin with `agent:`",
        ));
    }
    let decide = Permission::ApprovalDecide;
    if new.kind == PrincipalKind::Agent && new.permissions.contains(&decide) {
        let error = ToolError::validation(format!("an agent's token cannot have `{decide}`"));
        return Err(error.with_hint("only people decide; make a token of kind `person`"));
    }
    if let Some(more) = new.permissions.iter().find(|p| !who.may(**p)) {
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
