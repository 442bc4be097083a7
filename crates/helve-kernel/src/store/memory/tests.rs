//! The contract, and what only this store does.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::RunState;
use crate::store::contract::{a_run, a_waiting_run, record, step};

crate::store_contract!((Arc::new(MemoryStore::new()), ()));

#[tokio::test]
async fn the_forgetful_one_keeps_the_head_alone() {
    let (whole, forgetful) = (MemoryStore::new(), MemoryStore::forgetful());
    for store in [&whole, &forgetful] {
        for event in ["hub.started", "hub.stopped"] {
            store.record(record(event, "hub")).await.unwrap();
        }
    }
    let head = forgetful.audit_head().await.unwrap();
    assert_eq!(head, whole.audit_head().await.unwrap());
    assert_eq!(head.seq, 2);
    let entries = forgetful.audit(AuditFilter::default(), 9).await.unwrap();
    assert_eq!(entries, []);
}

#[tokio::test]
async fn runs_that_are_over_are_bounded() {
    let store = MemoryStore::new();
    assert_eq!(store.state().runs.bound, 100_000);
    store.state().runs.bound = 4;
    let open = async |run: Run, approval| {
        let key = IdempotencyKey {
            owner: "bob".to_owned(),
            key: run.id.to_string(),
            body: Hash::ZERO,
        };
        let note = record("run.opened", &run.id);
        store
            .open_run(run, approval, Some(key), note)
            .await
            .unwrap()
    };
    let (mut first, approval) = a_waiting_run(1);
    let approved = approval.id.clone();
    first.state = RunState::Denied;
    let waiting = a_run();
    open(first.clone(), Some(approval)).await;
    open(waiting.clone(), None).await;
    for _ in 0..3 {
        let run = a_run();
        open(run.clone(), None).await;
        let over = step(&run.id, &[RunState::Queued], RunState::Failed, 2_000);
        let note = record("run.ended", &run.id);
        assert!(store.move_run(over, note).await.unwrap());
    }
    // It is over all the same, and not one more of those that are.
    let undone = step(&first.id, &[RunState::Denied], RunState::Undone, 3_000);
    let note = record("run.undone", &first.id);
    assert!(store.move_run(undone, note).await.unwrap());
    assert!(store.run(&first.id).await.unwrap().is_some());

    let over = Run {
        state: RunState::Succeeded,
        ..a_run()
    };
    open(over, None).await;
    assert_eq!(store.run(&first.id).await.unwrap(), None);
    assert_eq!(store.approval(&approved).await.unwrap(), None);
    assert_eq!(store.run(&waiting.id).await.unwrap(), Some(waiting));
    // With the run its key is gone.
    assert_eq!(open(first, None).await, Opened::New);
    let runs = store.runs(RunFilter::default(), 99).await.unwrap();
    assert_eq!(runs.len(), 5);
}
