//! A store that fails when it is told to, and can be looked into at any time.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use helve_core::audit::{Entry, Hash, Head};
use serde_json::Value;

use crate::changes::{Changes, ChangesFilter, HistoryFilter, Past, RowChange};
use crate::kernel::lock;
use crate::store::{
    AuditFilter, Decided, Done, IdempotencyKey, MemoryStore, Move, Opened, Opening, Record,
    Registered, RunFilter, Store, StoreError, Version,
};
use crate::{
    Approval, ApprovalId, ApprovalState, At, Chunk, Decision, Notice, Place, Run, RunId, Token,
    TokenId,
};

#[derive(Default)]
pub(super) struct FailingStore {
    store: MemoryStore,
    failing: Mutex<HashSet<&'static str>>,
    /// What a test puts in place of what is kept.
    pub(super) tampered: Mutex<Option<Vec<Registered>>>,
    /// Of every move, whether it may be on the disk later.
    pub(super) soon: Mutex<Vec<bool>>,
    /// Verbs that wait until they are let go on.
    pub(super) held: Mutex<Option<(&'static str, super::harness::Gate)>>,
}

impl FailingStore {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// From now on the verb fails.
    pub(super) fn fail(&self, verb: &'static str) {
        lock(&self.failing).insert(verb);
    }

    pub(super) fn mend(&self) {
        lock(&self.failing).clear();
    }

    /// Puts another redo in the place of the one that is kept.
    pub(super) fn put_redo(&self, run: &RunId, redo: Vec<u8>) {
        self.store.put_redo(run, redo);
    }

    /// The verb waits at the gate once it has done its work.
    pub(super) fn hold(&self, verb: &'static str) -> super::harness::Gate {
        let gate = super::harness::Gate::default();
        *lock(&self.held) = Some((verb, gate.clone()));
        gate
    }

    fn ask(&self, verb: &'static str) -> Result<(), StoreError> {
        match lock(&self.failing).contains(verb) {
            true => Err(StoreError::Unwritable("the disk is full".to_owned())),
            false => Ok(()),
        }
    }

    async fn after(&self, verb: &'static str) {
        let gate = lock(&self.held)
            .take_if(|(held, _)| *held == verb)
            .map(|(_, gate)| gate);
        if let Some(gate) = gate {
            gate.pass().await;
        }
    }
}

macro_rules! pass {
    ($self:ident, $verb:ident($($arg:expr),*)) => {{
        $self.ask(stringify!($verb))?;
        let done = $self.store.$verb($($arg),*).await;
        $self.after(stringify!($verb)).await;
        done
    }};
}

#[async_trait]
impl Store for FailingStore {
    async fn tools(&self) -> Result<Vec<Registered>, StoreError> {
        if let Some(tampered) = lock(&self.tampered).clone() {
            return Ok(tampered);
        }
        pass!(self, tools())
    }

    async fn add_version(
        &self,
        version: Version,
        source: String,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, add_version(version, source, enabled, record))
    }

    async fn versions(&self, tool: &str) -> Result<Vec<Version>, StoreError> {
        pass!(self, versions(tool))
    }

    async fn select_version(
        &self,
        tool: &str,
        version: &semver::Version,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, select_version(tool, version, record))
    }

    async fn set_enabled(
        &self,
        tool: &str,
        enabled: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, set_enabled(tool, enabled, record))
    }

    async fn remove_tool(&self, tool: &str, record: Record) -> Result<bool, StoreError> {
        pass!(self, remove_tool(tool, record))
    }

    async fn open_run(
        &self,
        run: Run,
        approval: Option<Approval>,
        key: Option<IdempotencyKey>,
        record: Record,
    ) -> Result<Opened, StoreError> {
        pass!(self, open_run(run, approval, key, record))
    }

    async fn open_run_soon(&self, run: Run, record: Record) -> Result<Opening, StoreError> {
        if lock(&self.failing).contains("opening") {
            let full = async { Err(StoreError::Unwritable("the disk is full".to_owned())) };
            return Ok(Opening::pending(full));
        }
        self.open_run(run, None, None, record).await?;
        Ok(Opening::durable())
    }

    async fn move_run(&self, step: Move, record: Record) -> Result<bool, StoreError> {
        lock(&self.soon).push(step.soon);
        pass!(self, move_run(step, record))
    }

    async fn spend_approval(
        &self,
        id: &ApprovalId,
        bound: Hash,
        at: At,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, spend_approval(id, bound, at, record))
    }

    async fn run(&self, id: &RunId) -> Result<Option<Run>, StoreError> {
        pass!(self, run(id))
    }

    async fn runs(&self, filter: RunFilter, limit: usize) -> Result<Vec<Run>, StoreError> {
        pass!(self, runs(filter, limit))
    }

    async fn append_chunks(&self, run: &RunId, chunks: Vec<Chunk>) -> Result<(), StoreError> {
        if lock(&self.failing).contains("panic_append_chunks") {
            panic!("the store is on fire");
        }
        pass!(self, append_chunks(run, chunks))
    }

    async fn chunks(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Chunk>, StoreError> {
        pass!(self, chunks(run, after, limit))
    }

    async fn decide(
        &self,
        id: &ApprovalId,
        decision: Decision,
        granted_until: At,
        record: Record,
    ) -> Result<Decided, StoreError> {
        pass!(self, decide(id, decision, granted_until, record))
    }

    async fn approval(&self, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
        pass!(self, approval(id))
    }

    async fn approvals(
        &self,
        state: Option<ApprovalState>,
        before: Option<ApprovalId>,
        limit: usize,
    ) -> Result<Vec<Approval>, StoreError> {
        pass!(self, approvals(state, before, limit))
    }

    async fn set_notice(
        &self,
        id: &ApprovalId,
        notice: Notice,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, set_notice(id, notice, record))
    }

    async fn keep_changes(
        &self,
        changes: Changes,
        approval: Option<Approval>,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, keep_changes(changes, approval, record))
    }

    async fn changes(&self, run: &RunId) -> Result<Option<Changes>, StoreError> {
        pass!(self, changes(run))
    }

    async fn row(&self, collection: &str, key: &str) -> Result<Option<Value>, StoreError> {
        pass!(self, row(collection, key))
    }

    async fn rows(
        &self,
        collection: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        pass!(self, rows(collection, after, limit))
    }

    async fn put_rows(&self, rows: Vec<RowChange>, record: Record) -> Result<bool, StoreError> {
        pass!(self, put_rows(rows, record))
    }

    async fn all_changes(
        &self,
        filter: ChangesFilter,
        limit: usize,
    ) -> Result<Vec<Changes>, StoreError> {
        pass!(self, all_changes(filter, limit))
    }

    async fn history(&self, filter: HistoryFilter, limit: usize) -> Result<Vec<Past>, StoreError> {
        pass!(self, history(filter, limit))
    }

    async fn set_pinned(
        &self,
        run: &RunId,
        pinned: bool,
        record: Record,
    ) -> Result<bool, StoreError> {
        pass!(self, set_pinned(run, pinned, record))
    }

    async fn expire_changes(&self, run: &RunId, record: Record) -> Result<bool, StoreError> {
        pass!(self, expire_changes(run, record))
    }

    async fn forget_redo(&self, runs: Vec<RunId>) -> Result<bool, StoreError> {
        pass!(self, forget_redo(runs))
    }

    async fn purge_rows(
        &self,
        places: Vec<Place>,
        record: Record,
    ) -> Result<Vec<RunId>, StoreError> {
        pass!(self, purge_rows(places, record))
    }

    async fn add_token(&self, token: Token, record: Record) -> Result<(), StoreError> {
        pass!(self, add_token(token, record))
    }

    async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        pass!(self, tokens())
    }

    async fn revoke_token(&self, id: &TokenId, at: At, record: Record) -> Result<bool, StoreError> {
        pass!(self, revoke_token(id, at, record))
    }

    async fn record(&self, record: Record) -> Result<(), StoreError> {
        pass!(self, record(record))
    }

    async fn activity(&self, since: At, limit: usize) -> Result<Vec<Done>, StoreError> {
        pass!(self, activity(since, limit))
    }

    async fn audit(&self, filter: AuditFilter, limit: usize) -> Result<Vec<Entry>, StoreError> {
        pass!(self, audit(filter, limit))
    }

    async fn audit_head(&self) -> Result<Head, StoreError> {
        pass!(self, audit_head())
    }
}
