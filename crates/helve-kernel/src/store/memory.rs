//! A store that forgets: for those who embed the kernel, and for tests.
//!
//! Plain collections behind one lock, which is never held across an `await` and
//! never while anything is waited for, so that a verb costs what its arithmetic
//! costs. What it promises is the [`Store`] contract up to "survives a crash".
//!
//! - *Runs are bounded*: of those that are over, the last 100,000 are kept, with
//!   what they wrote, their approvals and their keys.
//! - *The record is not*: a chain with a hole is no chain. It grows by some hundred
//!   bytes an entry; [`MemoryStore::forgetful`] keeps only where it stands.

mod changes;
mod runs;
mod state;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use helve_core::audit::{Entry, Hash, Head};
use serde_json::Value;

use self::state::State;
use super::{
    AuditFilter, Decided, Done, IdempotencyKey, Move, Opened, Record, Registered, RunFilter, Store,
    StoreError, Version,
};
use crate::approval::{Approval, ApprovalState, Decision, Notice};
use crate::changes::{Changes, ChangesFilter, HistoryFilter, Past, RowChange};
use crate::rows::Place;
use crate::run::{Chunk, Run};
use crate::token::Token;
use crate::{ApprovalId, At, RunId, TokenId};

/// A store that forgets.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty one, which keeps every entry of the record for as long as it lives.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one that keeps the head of the chain and none of its entries, for
    /// those who run long and never ask what happened.
    pub fn forgetful() -> Self {
        Self {
            state: Mutex::new(State::forgetful()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Verbs check first and change last, and no change can panic: a poisoned
        // lock guards a state that is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl MemoryStore {
    /// What a test puts in place of what is kept.
    pub(crate) fn put_redo(&self, run: &RunId, redo: Vec<u8>) {
        self.state().changes.put_redo(run, redo);
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn tools(&self) -> Result<Vec<Registered>, StoreError> {
        Ok(self.state().tools())
    }

    async fn add_version(
        &self,
        version: Version,
        source: String,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().add_version(version, source, enabled, &record)
    }

    async fn versions(&self, tool: &str) -> Result<Vec<Version>, StoreError> {
        Ok(self.state().versions(tool))
    }

    async fn select_version(
        &self,
        tool: &str,
        version: &semver::Version,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().select_version(tool, version, &record)
    }

    async fn set_enabled(
        &self,
        tool: &str,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().set_enabled(tool, enabled, &record)
    }

    async fn remove_tool(&self, tool: &str, record: Record) -> Result<bool, StoreError> {
        self.state().remove_tool(tool, &record)
    }

    async fn open_run(
        &self,
        run: Run,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
        record: Record,
    ) -> Result<Opened, StoreError> {
        self.state().open_run(run, approval, key, &record)
    }

    async fn move_run(&self, step: Move, record: Record) -> Result<bool, StoreError> {
        self.state().move_run(step, &record)
    }

    async fn spend_approval(
        &self,
        id: &ApprovalId,
        bound: Hash,
        at: At,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().spend_approval(id, bound, at, &record)
    }

    async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        Ok(self.state().run(id))
    }

    async fn runs(&self, filter: RunFilter, limit: usize) -> Result<Vec<Run>, StoreError> {
        Ok(self.state().runs(&filter, limit))
    }

    async fn append_chunks(&self, run: &RunId, chunks: Vec<Chunk>) -> Result<(), StoreError> {
        self.state().append_chunks(run, chunks)
    }

    async fn chunks(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Chunk>, StoreError> {
        Ok(self.state().chunks(run, after, limit))
    }

    async fn decide(
        &self,
        id: &ApprovalId,
        decision: Decision,
        granted_until: At,
        record: Record,
    ) -> Result<Decided, StoreError> {
        self.state().decide(id, decision, granted_until, &record)
    }

    async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        Ok(self.state().approval(id))
    }

    async fn approvals(
        &self,
        state: Option<ApprovalState>,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<Approval>, StoreError> {
        Ok(self.state().approvals(state, before.as_ref(), limit))
    }

    async fn set_notice(
        &self,
        id: &ApprovalId,
        notice: Notice,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().set_notice(id, notice, &record)
    }

    async fn keep_changes(
        &self,
        changes: Changes,
        approval: Option<Approval>,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().keep_changes(changes, approval, &record)
    }

    async fn changes(&self, run: &RunId) -> Result<Option<Changes>, StoreError> {
        Ok(self.state().changes.get(run))
    }

    async fn row(&self, collection: &str, key: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.state().changes.row(collection, key))
    }

    async fn rows(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        Ok(self.state().changes.rows(collection, after, limit))
    }

    async fn put_rows(&self, rows: Vec<RowChange>, record: Record) -> Result<bool, StoreError> {
        self.state().put_rows(&rows, &record)
    }

    async fn all_changes(
        &self,
        filter: ChangesFilter,
        limit: usize,
    ) -> Result<Vec<Changes>, StoreError> {
        Ok(self.state().changes.list(&filter, limit))
    }

    async fn history(&self, filter: HistoryFilter, limit: usize) -> Result<Vec<Past>, StoreError> {
        Ok(self.state().changes.history(&filter, limit))
    }

    async fn set_pinned(
        &self,
        run: &RunId,
        pinned: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        self.state().set_pinned(run, pinned, &record)
    }

    async fn forget_redo(&self, runs: Vec<RunId>) -> Result<bool, StoreError> {
        Ok(self.state().changes.forget_redo(&runs))
    }

    async fn expire_changes(&self, run: &RunId, record: Record) -> Result<bool, StoreError> {
        self.state().expire_changes(run, &record)
    }

    async fn purge_rows(
        &self,
        places: Vec<Place>,
        record: Record,
    ) -> Result<Vec<RunId>, StoreError> {
        self.state().purge_rows(&places, &record)
    }

    async fn add_token(&self, token: Token, record: Record) -> Result<(), StoreError> {
        self.state().add_token(token, &record)
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        Ok(self.state().tokens())
    }

    async fn revoke_token(&self, id: &TokenId, at: At, record: Record) -> Result<bool, StoreError> {
        self.state().revoke_token(id, at, &record)
    }

    async fn record(&self, record: Record) -> Result<(), StoreError> {
        self.state().chain.append(&record)
    }

    async fn activity(&self, since: At, limit: usize) -> Result<Vec<Done>, StoreError> {
        Ok(self.state().activity(since, limit))
    }

    async fn audit(&self, filter: AuditFilter, limit: usize) -> Result<Vec<Entry>, StoreError> {
        Ok(self.state().chain.entries(&filter, limit))
    }

    async fn audit_head(&self) -> Result<Head, StoreError> {
        Ok(self.state().chain.head)
    }
}
