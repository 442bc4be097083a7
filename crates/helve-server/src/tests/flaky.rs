//! A store that fails when it is told to.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use helve_core::audit::{Entry, Hash, Head};
use helve_kernel::store::{
    AuditFilter, Decided, Done, IdempotencyKey, Move, Opened, Record, Registered, RunFilter,
    Version,
};
use helve_kernel::{
    Approval, ApprovalId, ApprovalState, At, Changes, ChangesFilter, Chunk, Decision,
    HistoryFilter, MemoryStore, Notice, Past, Place, RowChange, Run, RunId, Store, StoreError,
    Token, TokenId,
};

#[derive(Default)]
pub(super) struct Flaky {
    inner: MemoryStore,
    broken: AtomicBool,
}

impl Flaky {
    pub(super) fn fail(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.broken.load(Ordering::SeqCst) {
            true => Err(StoreError::Unwritable(
                "disk full: /secret/place".to_owned(),
            )),
            false => Ok(()),
        }
    }
}

macro_rules! verbs {
    ($($name:ident($($arg:ident: $kind:ty),*) $out:ty;)*) => {
        #[async_trait]
        impl Store for Flaky {
            $(async fn $name(&self, $($arg: $kind),*) -> Result<$out, StoreError> {
                self.check()?;
                self.inner.$name($($arg),*).await
            })*
        }
    };
}

verbs! {
    tools() Vec<Registered>;
    add_version(version: Version, source: String, enabled: bool, record: Record) bool;
    versions(tool: &str) Vec<Version>;
    select_version(tool: &str, version: &semver::Version, record: Record) bool;
    set_enabled(tool: &str, enabled: bool, record: Record) bool;
    remove_tool(tool: &str, record: Record) bool;
    open_run(run: Run, approval: Option<Approval>, key: Option<IdempotencyKey>, record: Record) Opened;
    move_run(step: Move, record: Record) bool;
    spend_approval(id: &ApprovalId, bound: Hash, at: At, record: Record) bool;
    run(id: &RunId) Option<Run>;
    runs(filter: RunFilter, limit: usize) Vec<Run>;
    activity(since: At, limit: usize) Vec<Done>;
    append_chunks(run: &RunId, chunks: Vec<Chunk>) ();
    chunks(run: &RunId, after: u64, limit: usize) Vec<Chunk>;
    decide(id: &ApprovalId, decision: Decision, granted_until: At, record: Record) Decided;
    approval(id: &ApprovalId) Option<Approval>;
    approvals(state: Option<ApprovalState>, before: Option<ApprovalId>, limit: usize) Vec<Approval>;
    keep_changes(changes: Changes, approval: Option<Approval>, record: Record) bool;
    changes(run: &RunId) Option<Changes>;
    row(collection: &str, key: &str) Option<serde_json::Value>;
    rows(collection: &str, after: Option<&str>, limit: usize) Vec<(String, serde_json::Value)>;
    put_rows(rows: Vec<RowChange>, record: Record) bool;
    all_changes(filter: ChangesFilter, limit: usize) Vec<Changes>;
    history(filter: HistoryFilter, limit: usize) Vec<Past>;
    set_pinned(run: &RunId, pinned: bool, record: Record) bool;
    expire_changes(run: &RunId, record: Record) bool;
    forget_redo(runs: Vec<RunId>) bool;
    purge_rows(places: Vec<Place>, record: Record) Vec<RunId>;
    set_notice(id: &ApprovalId, notice: Notice, record: Record) bool;
    add_token(token: Token, record: Record) ();
    tokens() Vec<Token>;
    revoke_token(id: &TokenId, at: At, record: Record) bool;
    record(record: Record) ();
    audit(filter: AuditFilter, limit: usize) Vec<Entry>;
    audit_head() Head;
}
