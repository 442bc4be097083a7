//! What is asked for now and called later: looked at now, and whoever asked found again then.

use std::sync::Arc;

use helve_core::args;
use helve_core::marked::{Mark, marked};
use helve_core::policy::Effect;
use serde_json::Value;

use super::Kernel;
use crate::changes::RowChange;
use crate::registry::Behind;
use crate::store::Record;
use crate::{Entry, Principal, StoreError, TokenId, ToolError};

impl Kernel {
    /// The tool of a call that is to be made later: as far as can be told without running
    /// it, the call would be made now. Policy decides when it is.
    ///
    /// What cannot be kept until then is refused: secrets, and calls that only lead to others.
    pub fn check_call(
        &self,
        who: &Principal,
        tool: &str,
        args: &Value,
    ) -> Result<Arc<Entry>, ToolError> {
        self.counts(who)?;
        let entry = self.callable(who, tool)?;
        let name = &entry.def.name;
        if matches!(entry.behind, Behind::Tools(_)) {
            let problem = format!("`{name}` only leads to other tools");
            return Err(ToolError::validation(problem).with_hint("name the tool itself"));
        }
        let prepared = args::prepare(args, &entry.def.input_schema, &entry.input)
            .map_err(|e| ToolError::validation(e.to_string()))?;
        if entry.has_secrets
            && !marked(&entry.def.input_schema, &prepared.args, Mark::Secret).is_empty()
        {
            let problem = format!("`{name}` is given a secret, and secrets are not kept");
            return Err(ToolError::validation(problem)
                .with_hint("name a tool that finds its secret in the configuration"));
        }
        let resolved = self.resolve_paths(&entry, &prepared.args)?;
        let decision = self.decide_call(&entry, who, &prepared.args, resolved.as_ref());
        match decision.effect {
            Effect::Deny => Err(ToolError::denied(format!(
                "`{name}` is denied: {}",
                decision.reason
            ))),
            Effect::Ask | Effect::Allow => Ok(entry),
        }
    }

    /// Whoever asked for something that is to be called now: the bearer of the token that
    /// they showed, if it still counts. Somebody who showed none is known again by a live
    /// token of theirs that reaches the tool.
    pub fn principal_again(
        &self,
        owner: &str,
        token: Option<&TokenId>,
        tool: &str,
    ) -> Result<Arc<Principal>, ToolError> {
        match token {
            Some(token) => self.bearer(token),
            None => self.known_again(owner, &*self.resolve(tool)?),
        }
    }

    /// Changes records as the hub itself does, without a run, and while no run commits:
    /// all of them, or none where one is not as `before` says.
    pub async fn put_rows(&self, rows: Vec<RowChange>, record: Record) -> Result<bool, StoreError> {
        let _alone = self.inner.committing.lock().await;
        self.inner.store.put_rows(rows, record).await
    }
}
