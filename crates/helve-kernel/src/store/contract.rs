//! What every store must do, as tests: each sentence of the [`Store`] trait, tried.
//!
//! A store is held to it with one line in its tests, which makes a test of every
//! case, so that each is shown by its name:
//!
//! ```ignore
//! helve_kernel::store_contract!((Arc::new(MemoryStore::new()), ()));
//! ```
//!
//! After every case the chain is exported and verified, and must end at its head.

#![allow(clippy::unwrap_used, missing_docs)]

pub mod approvals;
pub mod audit;
pub mod changes;
pub mod chunks;
pub mod keys;
pub mod runs;
pub mod spending;
pub mod tokens;
pub mod tools;

use std::sync::Arc;

use helve_core::audit::{Entry, Hash, Head, verify};
use serde_json::json;
use tokio::task::JoinSet;

use super::{AuditFilter, Move, Opened, Record, Store, StoreError};
use crate::approval::{Approval, ApprovalState, Decision, Notice, Verdict};
use crate::run::{Run, RunState};
use crate::{ApprovalId, At, RunId};

/// A store under test.
pub type Kept = Arc<dyn Store>;

/// Makes a test of every case. The expression gives an empty store in an `Arc`, and
/// whatever must live as long as it.
#[macro_export]
macro_rules! store_contract {
    ($open:expr) => {
        $crate::store_contract! { $open;
            tools: [
                versions_are_added_once, a_removed_tool_comes_back, an_old_version_is_selected,
                tools_are_enabled_and_disabled, tools_are_listed_by_name
            ]
            runs: [
                a_run_opens_as_it_is, an_id_is_used_once,
                a_run_that_is_handed_over_keeps_its_place, a_run_moves_from_where_it_may_be,
                a_run_begins_and_ends_once, one_of_many_moves_counts,
                a_move_closes_an_open_approval, runs_are_listed_newest_first, runs_are_filtered,
                runs_are_found_by_whom_and_when
            ]
            keys: [a_key_opens_one_run, one_of_many_opens_is_new]
            approvals: [
                as_many_as_needed_grant_it, one_denial_denies_it, what_is_closed_stays_closed,
                nobody_decides_twice, two_at_once_give_one_outcome,
                approvals_are_listed_newest_first, a_notice_is_kept
            ]
            spending: [only_what_was_granted_is_spent, one_of_many_spends, a_run_that_is_over_stays_so]
            changes: [
                changes_are_kept_with_their_run, changes_wait_for_an_approval,
                commits_have_an_order, a_redo_is_kept_until_it_is_forgotten,
                what_is_dropped_is_not_done_again, changes_are_undone_and_redone, the_past_of_a_path,
                what_was_before_expires, what_was_noted_is_purged, records_change_with_their_commit,
                the_hub_changes_records_all_or_none
            ]
            chunks: [what_a_run_wrote_is_kept_in_order, chunks_need_a_run_and_a_new_number]
            tokens: [tokens_are_kept, a_token_is_revoked_once]
            audit: [
                an_entry_holds_the_whole_record, entries_are_filtered,
                a_time_is_found_wherever_it_stands, many_writers_make_one_chain
            ]
        }
    };
    ($open:expr; $($part:ident: [$($case:ident),* $(,)?])*) => {$(
        mod $part {
            #[allow(unused_imports)]
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let (store, _guard) = $open;
                    let store: $crate::store::contract::Kept = store;
                    $crate::store::contract::$part::$case(store.clone()).await;
                    $crate::store::contract::whole(&store).await;
                }
            )*
        }
    )*};
}

/// Whether the exported chain holds, up to its head; and all of it.
pub async fn whole(store: &Kept) -> Vec<Entry> {
    let head = store.audit_head().await.unwrap();
    let entries = store.audit(AuditFilter::default(), usize::MAX).await;
    let entries = entries.unwrap();
    let lines: Vec<String> = entries.iter().map(Entry::to_line).collect();
    let lines = lines.iter().map(String::as_str);
    assert_eq!(verify(lines, Head::START, Some(head)), Ok(head));
    entries
}

/// Runs a verb, which must add that many entries to the record.
pub async fn adds<T>(
    store: &Kept,
    entries: u64,
    verb: impl Future<Output = Result<T, StoreError>>,
) -> T {
    let before = store.audit_head().await.unwrap().seq;
    let out = verb.await.unwrap();
    let after = store.audit_head().await.unwrap().seq;
    assert_eq!(after - before, entries, "entries on the record");
    out
}

/// Runs a verb, which must fail and leave the record as it is.
pub async fn fails<T>(store: &Kept, verb: impl Future<Output = Result<T, StoreError>>) {
    let before = store.audit_head().await.unwrap();
    assert!(verb.await.is_err(), "it should have failed");
    assert_eq!(store.audit_head().await.unwrap(), before);
}

/// Runs the same verb 32 times at once, each with its number.
pub async fn at_once<T, Fut>(verb: impl Fn(usize) -> Fut) -> Vec<T>
where
    T: Send + 'static,
    Fut: Future<Output = Result<T, StoreError>> + Send + 'static,
{
    let mut set: JoinSet<_> = (0..32).map(verb).collect();
    let mut out = Vec::new();
    while let Some(answer) = set.join_next().await {
        out.push(answer.unwrap().unwrap());
    }
    out
}

pub fn record(event: &'static str, resource: &(impl ToString + ?Sized)) -> Record {
    Record::new(At(1_000), event, "ann", &resource.to_string())
}

/// A run that waits to begin.
pub fn a_run() -> Run {
    Run {
        id: RunId::fresh(),
        tool: "file_read".to_owned(),
        version: "1.0.0".to_owned(),
        version_hash: Hash::of(b"file_read 1.0.0"),
        owner: "bob".to_owned(),
        under: None,
        agent: None,
        state: RunState::Queued,
        args: json!({"path": "中.md", "count": [1, -2, null, true]}),
        created: At(1_000),
        started: None,
        ended: None,
        approval: None,
        exit_code: None,
        answer: None,
    }
}

/// A run that waits for people, and its approval, which expires at 10,000.
pub fn a_waiting_run(needed: u32) -> (Run, Approval) {
    let id = ApprovalId::fresh();
    let run = Run {
        state: RunState::PendingApproval,
        approval: Some(id.clone()),
        ..a_run()
    };
    let approval = Approval {
        id,
        run: run.id.clone(),
        bound: Hash::of(b"exactly this"),
        tool: run.tool.clone(),
        version: run.version.clone(),
        args: run.args.clone(),
        requester: run.owner.clone(),
        under: Some("carl".to_owned()),
        reason: "rule 2 asks".to_owned(),
        needed,
        state: ApprovalState::Pending,
        decisions: Vec::new(),
        created: At(1_000),
        expires: At(10_000),
        notice: Notice::Waiting,
    };
    (run, approval)
}

pub fn decision(by: &str, verdict: Verdict, at: i64) -> Decision {
    Decision {
        by: by.to_owned(),
        verdict,
        reason: Some(format!("{by} says so")),
        at: At(at),
    }
}

pub fn step(run: &RunId, from: &'static [RunState], to: RunState, at: i64) -> Move {
    Move::new(run, from, to, At(at))
}

/// Opens a run, which must be new.
pub async fn open(store: &Kept, run: &Run, approval: Option<&Approval>) {
    let record = record("run.opened", &run.id);
    let opened = store.open_run(run.clone(), approval.cloned(), None, record);
    assert_eq!(adds(store, 1, opened).await, Opened::New);
}

/// Opens a run that waits for people, and gives its approval.
pub async fn open_waiting(store: &Kept, needed: u32) -> Approval {
    let (run, approval) = a_waiting_run(needed);
    open(store, &run, Some(&approval)).await;
    approval
}

pub async fn get(store: &Kept, id: &RunId) -> Run {
    store.run(id).await.unwrap().unwrap()
}
