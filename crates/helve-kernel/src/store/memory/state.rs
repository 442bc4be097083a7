//! What a [`MemoryStore`](super::MemoryStore) keeps: the chain, tools, approvals
//! and tokens; runs stand in `runs`.
//!
//! Every verb checks, then appends to the chain, which can fail, and then changes,
//! which cannot. So a verb that fails has changed nothing.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use helve_core::audit::{Entry, Head};

use super::changes::AllChanges;
use super::runs::Runs;
use crate::approval::{Approval, ApprovalState, Decision, Notice, Verdict};
use crate::store::{AuditFilter, Decided, Order, Record, Registered, StoreError, Version};
use crate::token::Token;
use crate::{ApprovalId, At, TokenId};

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) chain: Chain,
    tools: BTreeMap<String, Tool>,
    versions: HashMap<String, Vec<Version>>,
    pub(super) runs: Runs,
    pub(super) changes: AllChanges,
    pub(super) approvals: BTreeMap<ApprovalId, Approval>,
    tokens: BTreeMap<TokenId, Token>,
}

/// The record.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) head: Head,
    /// Nothing where entries are not kept.
    entries: Option<Vec<(At, Entry)>>,
}

impl Default for Chain {
    fn default() -> Self {
        Self {
            head: Head::START,
            entries: Some(Vec::new()),
        }
    }
}

impl Chain {
    pub(super) fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let (entry, head) = self.head.append(record.clone().into_value()).map_err(|e| {
            StoreError::Unwritable(format!("the record of `{}`: {e}", record.event))
        })?;
        if let Some(entries) = &mut self.entries {
            entries.push((record.at, entry));
        }
        self.head = head;
        Ok(())
    }

    pub(super) fn entries(&self, filter: &AuditFilter, limit: usize) -> Vec<Entry> {
        let is = |entry: &Entry, field: &str, wanted: &Option<String>| {
            wanted
                .as_ref()
                .is_none_or(|w| entry.record[field].as_str() == Some(w))
        };
        // Numbers have no gap: the one after `n` stands at `n`.
        let skipped = usize::try_from(filter.after).unwrap_or(usize::MAX);
        let entries = self.entries.as_deref().unwrap_or_default();
        let end = filter.before.map_or(entries.len(), |before| {
            usize::try_from(before.saturating_sub(1))
                .map_or(entries.len(), |n| n.min(entries.len()))
        });
        let entries = entries.get(skipped..end).unwrap_or_default().iter();
        let matching = entries.filter(|(at, entry)| {
            is(entry, "resource", &filter.resource)
                && is(entry, "actor", &filter.actor)
                && is(entry, "event", &filter.event)
                && filter.since.is_none_or(|since| *at >= since)
                && filter.until.is_none_or(|until| *at < until)
        });
        let cloned = |(_, entry): &(At, Entry)| entry.clone();
        match filter.order {
            Order::OldestFirst => matching.take(limit).map(cloned).collect(),
            Order::NewestFirst => matching.rev().take(limit).map(cloned).collect(),
        }
    }
}

/// A tool, removed or not.
#[derive(Debug)]
struct Tool {
    current: semver::Version,
    enabled: bool,
    removed: bool,
    source: String,
}

impl State {
    pub(super) fn forgetful() -> Self {
        let chain = Chain {
            entries: None,
            ..Chain::default()
        };
        Self {
            chain,
            ..Self::default()
        }
    }

    pub(super) fn tools(&self) -> Vec<Registered> {
        let live = self.tools.iter().filter(|(_, tool)| !tool.removed);
        live.filter_map(|(name, tool)| {
            Some(Registered {
                current: self.version(name, &tool.current)?.clone(),
                enabled: tool.enabled,
                source: tool.source.clone(),
            })
        })
        .collect()
    }

    fn version(&self, tool: &str, number: &semver::Version) -> Option<&Version> {
        let mut versions = self.versions.get(tool)?.iter();
        versions.find(|v| v.version == *number)
    }

    pub(super) fn add_version(
        &mut self,
        version: Version,
        source: String,
        enabled: bool,
        record: &Record,
    ) -> Result<bool, StoreError> {
        if self.version(&version.tool, &version.version).is_some() {
            return Ok(false);
        }
        self.chain.append(record)?;
        let enabled = self.tools.get(&version.tool).map_or(enabled, |t| t.enabled);
        let tool = Tool {
            current: version.version.clone(),
            enabled,
            removed: false,
            source,
        };
        self.tools.insert(version.tool.clone(), tool);
        let versions = self.versions.entry(version.tool.clone()).or_default();
        versions.push(version);
        Ok(true)
    }

    pub(super) fn versions(&self, tool: &str) -> Vec<Version> {
        self.versions.get(tool).cloned().unwrap_or_default()
    }

    pub(super) fn select_version(
        &mut self,
        tool: &str,
        version: &semver::Version,
        record: &Record,
    ) -> Result<bool, StoreError> {
        if self.version(tool, version).is_none() {
            return Ok(false);
        }
        self.change_tool(tool, record, |_| true, |t| t.current = version.clone())
    }

    pub(super) fn set_enabled(
        &mut self,
        tool: &str,
        enabled: bool,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let differs = |t: &Tool| t.enabled != enabled;
        self.change_tool(tool, record, differs, |t| t.enabled = enabled)
    }

    pub(super) fn remove_tool(&mut self, tool: &str, record: &Record) -> Result<bool, StoreError> {
        self.change_tool(tool, record, |_| true, |t| t.removed = true)
    }

    fn change_tool(
        &mut self,
        name: &str,
        record: &Record,
        wanted: impl FnOnce(&Tool) -> bool,
        change: impl FnOnce(&mut Tool),
    ) -> Result<bool, StoreError> {
        let tool = self.tools.get_mut(name).filter(|t| !t.removed);
        let Some(tool) = tool.filter(|t| wanted(t)) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        change(tool);
        Ok(true)
    }

    pub(super) fn decide(
        &mut self,
        id: &ApprovalId,
        decision: Decision,
        granted_until: At,
        record: &Record,
    ) -> Result<Decided, StoreError> {
        let Some(approval) = self.approvals.get_mut(id) else {
            return Ok(Decided::Unknown);
        };
        if approval.state != ApprovalState::Pending || decision.at >= approval.expires {
            return Ok(Decided::Closed(approval.clone()));
        }
        if approval.decisions.iter().any(|d| d.by == decision.by) {
            return Ok(Decided::Twice(approval.clone()));
        }
        self.chain.append(record)?;
        let verdict = decision.verdict;
        approval.decisions.push(decision);
        // A pending approval has no denial: whatever stands in it is a yes.
        if verdict == Verdict::Deny {
            approval.state = ApprovalState::Denied;
        } else if approval.decisions.len() >= approval.needed as usize {
            approval.state = ApprovalState::Approved;
            approval.expires = granted_until;
        }
        Ok(Decided::Counted(approval.clone()))
    }

    pub(super) fn approval(&self, id: &ApprovalId) -> Option<Approval> {
        self.approvals.get(id).cloned()
    }

    pub(super) fn approvals(
        &self,
        state: Option<ApprovalState>,
        before: Option<&ApprovalId>,
        limit: usize,
    ) -> Vec<Approval> {
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        let older = self.approvals.range((Bound::Unbounded, end)).rev();
        older
            .map(|(_, approval)| approval)
            .filter(|a| state.is_none_or(|s| a.state == s))
            .take(limit)
            .cloned()
            .collect()
    }

    pub(super) fn set_notice(
        &mut self,
        id: &ApprovalId,
        notice: Notice,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let approval = self.approvals.get_mut(id);
        let Some(approval) = approval.filter(|a| a.notice != notice) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        approval.notice = notice;
        Ok(true)
    }

    pub(super) fn add_token(&mut self, token: Token, record: &Record) -> Result<(), StoreError> {
        if self.tokens.contains_key(&token.id) {
            return Err(taken("token", token.id.as_str()));
        }
        self.chain.append(record)?;
        self.tokens.insert(token.id.clone(), token);
        Ok(())
    }

    pub(super) fn tokens(&self) -> Vec<Token> {
        self.tokens.values().cloned().collect()
    }

    pub(super) fn revoke_token(
        &mut self,
        id: &TokenId,
        at: At,
        record: &Record,
    ) -> Result<bool, StoreError> {
        let token = self.tokens.get_mut(id);
        let Some(token) = token.filter(|t| t.revoked.is_none()) else {
            return Ok(false);
        };
        self.chain.append(record)?;
        token.revoked = Some(at);
        Ok(true)
    }
}

/// Ids are made by chance; one that comes twice is a mistake of the caller.
pub(super) fn taken(what: &str, id: &str) -> StoreError {
    StoreError::Unwritable(format!("there is a {what} `{id}` already"))
}
