//! How an approval is used: for exactly what was asked, in time, and once.

use super::*;
use crate::store::Decided;

/// An approval that was granted until 20,000.
async fn granted(store: &Kept) -> Approval {
    let asked = open_waiting(store, 1).await;
    let decision = decision("ann", Verdict::Approve, 2_000);
    let record = record("approval.decided", &asked.id);
    let decided = store.decide(&asked.id, decision, At(20_000), record).await;
    match decided.unwrap() {
        Decided::Counted(approval) => approval,
        other => panic!("{other:?}"),
    }
}

async fn spend(store: &Kept, approval: &Approval, bound: Hash, at: i64) -> bool {
    let spent = store.spend_approval(
        &approval.id,
        bound,
        At(at),
        record("run.started", &approval.run),
    );
    spent.await.unwrap()
}

/// Nothing is spent, nothing begins, nothing is on the record.
async fn refused(store: &Kept, approval: &Approval, bound: Hash, at: i64) {
    let run = store.run(&approval.run).await.unwrap();
    let before = store.approval(&approval.id).await.unwrap();
    let spent = adds(store, 0, async {
        Ok(spend(store, approval, bound, at).await)
    });
    assert!(!spent.await);
    assert_eq!(store.run(&approval.run).await.unwrap(), run);
    assert_eq!(store.approval(&approval.id).await.unwrap(), before);
}

pub async fn only_what_was_granted_is_spent(store: Kept) {
    let (_, unknown) = a_waiting_run(1);
    refused(&store, &unknown, unknown.bound, 3_000).await;
    let pending = open_waiting(&store, 1).await;
    refused(&store, &pending, pending.bound, 3_000).await;
    for state in ApprovalState::ALL {
        if state != ApprovalState::Approved {
            let (run, approval) = a_waiting_run(1);
            let approval = Approval { state, ..approval };
            open(&store, &run, Some(&approval)).await;
            refused(&store, &approval, approval.bound, 3_000).await;
        }
    }
    let approval = granted(&store).await;
    refused(&store, &approval, Hash::of(b"something else"), 3_000).await;
    refused(&store, &approval, approval.bound, 20_000).await;
    refused(&store, &approval, approval.bound, 20_001).await;

    // What was tried in vain has used nothing up.
    let spent = adds(&store, 1, async {
        Ok(spend(&store, &approval, approval.bound, 19_999).await)
    });
    assert!(spent.await);
    let run = get(&store, &approval.run).await;
    assert_eq!(
        (run.state, run.started),
        (RunState::Running, Some(At(19_999)))
    );
    let now = store.approval(&approval.id).await.unwrap();
    let spent = Approval {
        state: ApprovalState::Spent,
        ..approval.clone()
    };
    assert_eq!(now, Some(spent));
    refused(&store, &approval, approval.bound, 3_000).await;
}

pub async fn one_of_many_spends(store: Kept) {
    let approval = granted(&store).await;
    let spends = at_once(|_| {
        let (store, approval) = (store.clone(), approval.clone());
        async move { Ok(spend(&store, &approval, approval.bound, 3_000).await) }
    });
    let spends = adds(&store, 1, async { Ok(spends.await) }).await;
    assert_eq!(spends.iter().filter(|spent| **spent).count(), 1);
    assert_eq!(get(&store, &approval.run).await.state, RunState::Running);
}

pub async fn a_run_that_is_over_stays_so(store: Kept) {
    let approval = granted(&store).await;
    let over = step(
        &approval.run,
        &[RunState::PendingApproval],
        RunState::Cancelled,
        2_500,
    );
    let record = record("run.cancelled", &approval.run);
    assert!(store.move_run(over, record).await.unwrap());
    refused(&store, &approval, approval.bound, 3_000).await;
}
