//! Whether a principal may call a tool at all, and what the rules say.

use helve_core::args;
use helve_core::def::Risk;
use helve_core::policy::{Call, Decision, Effect, Explanation};
use serde_json::{Map, Value};

use super::{Kernel, paths};
use crate::registry::Behind;
use crate::{Entry, Permission, Principal, ToolError};

/// Permission, scope and ceiling: what a token allows before any rule is asked.
pub(super) fn permitted(principal: &Principal, entry: &Entry) -> Result<(), ToolError> {
    principal.require(Permission::ToolExecute)?;
    let name = entry.def.name.as_str();
    if !entry.open && !principal.reaches(name) {
        let error = ToolError::permission(format!("`{name}` is outside the scopes of the token"));
        return Err(error.with_hint("use a token whose scopes match it"));
    }
    // A tool that does not say counts as the most dangerous. One that leads to others is
    // measured by where it leads.
    let risk = entry.def.risk.unwrap_or(Risk::Write);
    let leads = matches!(entry.behind, Behind::Tools(_));
    if !leads && risk > principal.max_risk {
        let (risk, most) = (risk.as_str(), principal.max_risk.as_str());
        return Err(ToolError::permission(format!(
            "`{name}` has risk `{risk}`, and the token allows at most `{most}`"
        )));
    }
    Ok(())
}

impl Kernel {
    /// What the rules say. Rules about paths are held against the resolved ones, in
    /// both spellings that an operator may have used: from the root, and absolute.
    pub(super) fn decide_call(
        &self,
        entry: &Entry,
        principal: &Principal,
        args: &Map<String, Value>,
        resolved: Option<&Map<String, Value>>,
    ) -> Decision {
        let policy = self.policy();
        let decide_for = |principal: &str, args: &Map<String, Value>| {
            policy.decide(&Call {
                tool: entry.def.name.as_str(),
                risk: entry.def.risk,
                principal,
                args,
            })
        };
        let decide = |args: &Map<String, Value>| {
            let own = decide_for(&principal.owner, args);
            let Some(under) = &principal.under else {
                return own;
            };
            // What stops a person stops their agents; what lets them through does not.
            let theirs = decide_for(under, args);
            match theirs.rule.is_some() && theirs.effect != Effect::Allow {
                true => strictest(own, theirs),
                false => own,
            }
        };
        let Some(resolved) = resolved else {
            return decide(args);
        };
        let relative = paths::from_root(&self.inner.root, &entry.def, &entry.paths, resolved);
        strictest(decide(&relative), decide(resolved))
    }
}

impl Kernel {
    /// What the rules say of a call, and which of them do not match it and why. The
    /// arguments are made ready as those of a call are, as far as they go: an operator
    /// may ask about a part of them.
    pub fn explain(
        &self,
        principal: &str,
        tool: &str,
        args: &Map<String, Value>,
    ) -> Result<Explanation, ToolError> {
        let entry = self.resolve(tool)?;
        let raw = Value::Object(args.clone());
        let prepared = args::prepare(&raw, &entry.def.input_schema, &entry.input);
        let args = prepared.map_or_else(|_| args.clone(), |p| p.args);
        let policy = self.policy();
        let explain = |args: &Map<String, Value>| {
            policy.explain(&Call {
                tool: entry.def.name.as_str(),
                risk: entry.def.risk,
                principal,
                args,
            })
        };
        let Ok(Some(resolved)) = self.resolve_paths(&entry, &args) else {
            return Ok(explain(&args));
        };
        let (root, marks) = (&self.inner.root, &entry.paths);
        let relative = explain(&paths::from_root(root, &entry.def, marks, &resolved));
        let absolute = explain(&resolved);
        let decided = strictest(relative.decision.clone(), absolute.decision.clone());
        Ok(match decided == relative.decision {
            true => relative,
            false => absolute,
        })
    }
}

/// The strictest of two that a rule decided; a default only if both are. As many must
/// agree as the one or the other wants.
fn strictest(one: Decision, other: Decision) -> Decision {
    let approvals = one.approvals.max(other.approvals);
    let weight = |d: &Decision| (d.rule.is_some(), d.effect);
    let decision = match weight(&other) > weight(&one) {
        true => other,
        false => one,
    };
    Decision {
        approvals,
        ..decision
    }
}

/// Whether a decision lets a call run that `agreed` people have approved.
pub(super) fn still_open(decision: &Decision, agreed: u32) -> Result<(), ToolError> {
    match decision.effect {
        Effect::Deny => Err(ToolError::denied(format!(
            "the policy denies it now: {}",
            decision.reason
        ))),
        Effect::Ask if decision.approvals > agreed => Err(ToolError::denied(format!(
            "the policy wants {} approvals now, and it has {agreed}",
            decision.approvals
        ))
        .with_hint("call the tool again to ask anew")),
        Effect::Allow | Effect::Ask => Ok(()),
    }
}
