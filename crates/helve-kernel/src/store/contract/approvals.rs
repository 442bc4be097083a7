//! What people say about a run that waits.

use super::*;
use crate::store::Decided;
use ApprovalState::{Approved, Denied, Pending};
use Verdict::{Approve, Deny};

async fn say(store: &Kept, to: &Approval, by: &str, verdict: Verdict, at: i64) -> Decided {
    let record = record("approval.decided", &to.id);
    let decision = decision(by, verdict, at);
    let decided = store.decide(&to.id, decision, At(20_000), record);
    decided.await.unwrap()
}

/// The decision is answered so, is on the record where it counts, and the approval
/// that is told is the one that is kept.
async fn check(
    store: &Kept,
    to: &Approval,
    (by, verdict, at): (&str, Verdict, i64),
    (answer, state, expires): (&str, ApprovalState, i64),
) {
    let counts = u64::from(answer == "counted");
    let decided = adds(store, counts, async {
        Ok(say(store, to, by, verdict, at).await)
    })
    .await;
    let (word, told) = match decided {
        Decided::Counted(told) => ("counted", told),
        Decided::Closed(told) => ("closed", told),
        Decided::Twice(told) => ("twice", told),
        Decided::Unknown => panic!("it should be known"),
    };
    assert_eq!(
        (word, told.state, told.expires),
        (answer, state, At(expires))
    );
    assert_eq!(store.approval(&to.id).await.unwrap(), Some(told));
}

pub async fn as_many_as_needed_grant_it(store: Kept) {
    let asked = open_waiting(&store, 3).await;
    for (by, answer, state, expires) in [
        ("ann", "counted", Pending, 10_000),
        ("carl", "counted", Pending, 10_000),
        ("dora", "counted", Approved, 20_000),
        ("emil", "closed", Approved, 20_000),
    ] {
        check(
            &store,
            &asked,
            (by, Approve, 9_999),
            (answer, state, expires),
        )
        .await;
    }
    let wanted = Approval {
        state: Approved,
        expires: At(20_000),
        decisions: ["ann", "carl", "dora"]
            .map(|by| decision(by, Approve, 9_999))
            .into(),
        ..asked
    };
    let now = store.approval(&wanted.id).await.unwrap();
    assert_eq!(now, Some(wanted.clone()));
    // The run stays where it is until the approval is spent.
    let run = get(&store, &wanted.run).await;
    assert_eq!(run.state, RunState::PendingApproval);
}

pub async fn one_denial_denies_it(store: Kept) {
    let asked = open_waiting(&store, 2).await;
    check(
        &store,
        &asked,
        ("ann", Approve, 2_000),
        ("counted", Pending, 10_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("carl", Deny, 2_001),
        ("counted", Denied, 10_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("dora", Approve, 2_002),
        ("closed", Denied, 10_000),
    )
    .await;
    let run = get(&store, &asked.run).await;
    assert_eq!(run.state, RunState::PendingApproval);
    let said = store.approval(&asked.id).await.unwrap().unwrap().decisions;
    assert_eq!(
        said,
        [
            decision("ann", Approve, 2_000),
            decision("carl", Deny, 2_001)
        ]
    );
}

pub async fn what_is_closed_stays_closed(store: Kept) {
    // Too late is too late, even where nobody has said so yet.
    let asked = open_waiting(&store, 1).await;
    for at in [10_000, 10_001] {
        check(
            &store,
            &asked,
            ("ann", Approve, at),
            ("closed", Pending, 10_000),
        )
        .await;
        check(
            &store,
            &asked,
            ("ann", Deny, at),
            ("closed", Pending, 10_000),
        )
        .await;
    }
    for state in ApprovalState::ALL {
        if state == Pending {
            continue;
        }
        let (run, approval) = a_waiting_run(1);
        let approval = Approval { state, ..approval };
        open(&store, &run, Some(&approval)).await;
        check(
            &store,
            &approval,
            ("ann", Approve, 2_000),
            ("closed", state, 10_000),
        )
        .await;
        check(
            &store,
            &approval,
            ("ann", Deny, 2_000),
            ("closed", state, 10_000),
        )
        .await;
    }
    let (_, nobodys) = a_waiting_run(1);
    let said = adds(&store, 0, async {
        Ok(say(&store, &nobodys, "ann", Approve, 2_000).await)
    });
    assert_eq!(said.await, Decided::Unknown);
    assert_eq!(store.approval(&nobodys.id).await.unwrap(), None);
}

pub async fn nobody_decides_twice(store: Kept) {
    let asked = open_waiting(&store, 2).await;
    check(
        &store,
        &asked,
        ("ann", Approve, 2_000),
        ("counted", Pending, 10_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("ann", Approve, 2_001),
        ("twice", Pending, 10_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("ann", Deny, 2_002),
        ("twice", Pending, 10_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("carl", Approve, 2_003),
        ("counted", Approved, 20_000),
    )
    .await;
    check(
        &store,
        &asked,
        ("ann", Approve, 2_004),
        ("closed", Approved, 20_000),
    )
    .await;
}

pub async fn two_at_once_give_one_outcome(store: Kept) {
    for _ in 0..8 {
        let asked = open_waiting(&store, 1).await;
        let said = at_once(|i| {
            let (store, asked) = (store.clone(), asked.clone());
            async move {
                let verdict = if i % 2 == 0 { Approve } else { Deny };
                Ok(say(&store, &asked, &format!("person {i}"), verdict, 2_000).await)
            }
        });
        let said = adds(&store, 1, async { Ok(said.await) }).await;
        let now = store.approval(&asked.id).await.unwrap().unwrap();
        let mut counted = 0;
        for decided in said {
            match decided {
                Decided::Counted(told) => {
                    counted += 1;
                    assert_eq!(told, now);
                }
                Decided::Closed(told) => assert_eq!(told, now),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(counted, 1);
        let wanted = match now.decisions[..] {
            [
                Decision {
                    verdict: Approve, ..
                },
            ] => Approved,
            [Decision { verdict: Deny, .. }] => Denied,
            _ => panic!("one decision, not {:?}", now.decisions),
        };
        assert_eq!(now.state, wanted);
    }
}

pub async fn approvals_are_listed_newest_first(store: Kept) {
    let mut all = Vec::new();
    for i in 0..5 {
        let asked = open_waiting(&store, 1).await;
        if i % 2 == 0 {
            say(&store, &asked, "ann", Deny, 2_000).await;
        }
        all.push(asked.id);
    }
    for (state, before, limit, wanted) in [
        (None, None, 9, vec![4, 3, 2, 1, 0]),
        (None, None, 2, vec![4, 3]),
        (None, Some(3), 2, vec![2, 1]),
        (None, Some(0), 2, vec![]),
        (Some(Pending), None, 9, vec![3, 1]),
        (Some(Denied), Some(4), 9, vec![2, 0]),
        (Some(Denied), None, 1, vec![4]),
        (Some(Approved), None, 9, vec![]),
    ] {
        let before = before.map(|i: usize| all[i].clone());
        let found = store.approvals(state, before, limit).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|a| a.id).collect();
        let wanted: Vec<_> = wanted.into_iter().map(|i: usize| all[i].clone()).collect();
        assert_eq!(found, wanted, "{state:?}");
    }
}

pub async fn a_notice_is_kept(store: Kept) {
    let asked = open_waiting(&store, 1).await;
    let failed = |why: &str| Notice::Failed(why.to_owned());
    for (notice, changes) in [
        (Notice::Waiting, false),
        (failed("no route to host"), true),
        (failed("no route to host"), false),
        (failed("403"), true),
        (Notice::Sent, true),
        (Notice::None, true),
    ] {
        let record = record("approval.notified", &asked.id);
        let set = store.set_notice(&asked.id, notice.clone(), record);
        assert_eq!(adds(&store, u64::from(changes), set).await, changes);
        let now = store.approval(&asked.id).await.unwrap().unwrap();
        assert_eq!(
            now,
            Approval {
                notice,
                ..asked.clone()
            }
        );
    }
    let nobodys = ApprovalId::fresh();
    let set = store.set_notice(
        &nobodys,
        Notice::Sent,
        record("approval.notified", &nobodys),
    );
    assert!(!adds(&store, 0, set).await);
}
