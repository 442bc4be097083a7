//! Runs: how they open, move and are found again.

use super::*;
use crate::store::RunFilter;
use RunState::{Cancelled, PendingApproval, Queued, Running, Staged, Succeeded, TimedOut, Undone};

pub async fn a_run_opens_as_it_is(store: Kept) {
    assert_eq!(store.run(&RunId::fresh()).await.unwrap(), None);
    for state in RunState::ALL {
        let full = Run {
            state,
            under: Some("carl".to_owned()),
            agent: Some("coder".to_owned()),
            started: Some(At(1_100)),
            ended: Some(At(1_200)),
            exit_code: Some(-1),
            answer: Some(json!({"ok": false, "error": {"type": "denied"}})),
            ..a_run()
        };
        let bare = Run { state, ..a_run() };
        for run in [full, bare] {
            open(&store, &run, None).await;
            assert_eq!(get(&store, &run.id).await, run);
        }
    }
    let (run, approval) = a_waiting_run(2);
    open(&store, &run, Some(&approval)).await;
    assert_eq!(get(&store, &run.id).await, run);
    let kept = store.approval(&approval.id).await.unwrap();
    assert_eq!(kept, Some(approval));
}

pub async fn an_id_is_used_once(store: Kept) {
    let (run, approval) = a_waiting_run(1);
    open(&store, &run, Some(&approval)).await;
    let other = Run {
        owner: "eve".to_owned(),
        approval: None,
        ..run.clone()
    };
    let again = store.open_run(other, None, None, record("run.opened", &run.id));
    fails(&store, again).await;
    assert_eq!(get(&store, &run.id).await, run);

    // With the approval of another, the run is not opened either.
    let thief = a_run();
    let record = record("run.opened", &thief.id);
    let theft = store.open_run(thief.clone(), Some(approval.clone()), None, record);
    fails(&store, theft).await;
    assert_eq!(store.run(&thief.id).await.unwrap(), None);
    assert_eq!(store.runs(RunFilter::default(), 9).await.unwrap(), [run]);
    let kept = store.approval(&approval.id).await.unwrap();
    assert_eq!(kept, Some(approval));
}

pub async fn a_run_that_is_handed_over_keeps_its_place(store: Kept) {
    let begun = || Run {
        state: Running,
        ..a_run()
    };
    // What is asked later finds it, whether or not somebody waited for it.
    for (waits, soon) in [(false, false), (true, false), (false, true), (true, true)] {
        let run = begun();
        let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
        let mut opening = opening.await.unwrap();
        if waits {
            opening.wait().await.unwrap();
            assert_eq!(get(&store, &run.id).await, run);
        }
        let end = || Move {
            soon,
            ..step(&run.id, &[Running], Succeeded, 2_000)
        };
        for first in [true, false] {
            let ended = store.move_run(end(), record("run.ended", &run.id)).await;
            assert_eq!(ended.unwrap(), first, "{waits} {soon}");
        }
        opening.wait().await.unwrap();
        assert_eq!(get(&store, &run.id).await.state, Succeeded);
    }
    // An id that was used before is an error, now or when somebody waits.
    let run = begun();
    open(&store, &run, None).await;
    let again = async {
        let note = record("run.started", &run.id);
        store.open_run_soon(run.clone(), note).await?.wait().await
    };
    fails(&store, again).await;
}

pub async fn a_run_moves_from_where_it_may_be(store: Kept) {
    for state in RunState::ALL {
        let run = Run { state, ..a_run() };
        open(&store, &run, None).await;
        let refused = step(&run.id, &[], Running, 2_000);
        let note = record("run.moved", &run.id);
        assert!(!adds(&store, 0, store.move_run(refused, note.clone())).await);
        let from: &[RunState] = &[Queued, PendingApproval, Succeeded];
        let wanted = from.contains(&state);
        let moved = store.move_run(step(&run.id, from, Staged, 2_000), note);
        assert_eq!(adds(&store, u64::from(wanted), moved).await, wanted);
        let now = Run {
            state: if wanted { Staged } else { state },
            ..run
        };
        assert_eq!(get(&store, &now.id).await, now);
    }
    let nobody = RunId::fresh();
    let moved = store.move_run(
        step(&nobody, &RunState::ALL, Running, 1),
        record("run.moved", &nobody),
    );
    assert!(!adds(&store, 0, moved).await);
    assert_eq!(store.run(&nobody).await.unwrap(), None);
}

pub async fn a_run_begins_and_ends_once(store: Kept) {
    let mut run = a_run();
    open(&store, &run, None).await;
    let answer = Some(json!({"ok": true, "data": "中"}));
    let end = Move {
        exit_code: Some(3),
        answer: answer.clone(),
        ..step(&run.id, &[Staged], Succeeded, 2_003)
    };
    // The step, and what the run has then: start, end, code, answer.
    let steps = [
        (step(&run.id, &[Queued], Running, 2_000), Some(2_000), None),
        (step(&run.id, &[Running], Queued, 2_001), Some(2_000), None),
        (step(&run.id, &[Queued], Running, 2_001), Some(2_000), None),
        (step(&run.id, &[Running], Staged, 2_002), Some(2_000), None),
        (end, Some(2_000), Some(2_003)),
        (
            step(&run.id, &[Succeeded], Undone, 9_000),
            Some(2_000),
            Some(2_003),
        ),
    ];
    for (step, started, ended) in steps {
        let to = step.to;
        let moved = store.move_run(step, record("run.moved", &run.id));
        assert!(adds(&store, 1, moved).await);
        run.state = to;
        run.started = started.map(At);
        run.ended = ended.map(At);
        run.exit_code = ended.map(|_| 3);
        run.answer = ended.and(answer.clone());
        assert_eq!(get(&store, &run.id).await, run);
    }
    // What never began has an end all the same.
    let run = a_run();
    open(&store, &run, None).await;
    let moved = step(&run.id, &[Queued], TimedOut, 5_000);
    let moved = store.move_run(moved, record("run.moved", &run.id));
    assert!(adds(&store, 1, moved).await);
    let now = get(&store, &run.id).await;
    assert_eq!((now.started, now.ended), (None, Some(At(5_000))));
}

pub async fn one_of_many_moves_counts(store: Kept) {
    let run = a_run();
    open(&store, &run, None).await;
    let moves = at_once(|_| {
        let (store, id) = (store.clone(), run.id.clone());
        async move {
            let record = record("run.moved", &id);
            store
                .move_run(step(&id, &[Queued], Running, 2_000), record)
                .await
        }
    });
    let moves = adds(&store, 1, async { Ok(moves.await) }).await;
    assert_eq!(moves.iter().filter(|moved| **moved).count(), 1);
}

pub async fn a_move_closes_an_open_approval(store: Kept) {
    for state in ApprovalState::ALL {
        let (run, approval) = a_waiting_run(1);
        let approval = Approval { state, ..approval };
        open(&store, &run, Some(&approval)).await;
        let step = Move {
            approval: Some(ApprovalState::Withdrawn),
            ..step(&run.id, &[PendingApproval], Cancelled, 2_000)
        };
        let moved = store.move_run(step, record("run.cancelled", &run.id));
        assert!(adds(&store, 1, moved).await);
        let open = matches!(state, ApprovalState::Pending | ApprovalState::Approved);
        let now = store.approval(&approval.id).await.unwrap().unwrap().state;
        let wanted = if open {
            ApprovalState::Withdrawn
        } else {
            state
        };
        assert_eq!(now, wanted, "{state:?}");
    }
    // Where the run does not move, or nothing is said of it, it stays open.
    let approval = open_waiting(&store, 1).await;
    let refused = Move {
        approval: Some(ApprovalState::Withdrawn),
        ..step(&approval.run, &[Staged], Cancelled, 2_000)
    };
    let silent = step(&approval.run, &[PendingApproval], Cancelled, 2_000);
    for (step, moves) in [(refused, false), (silent, true)] {
        let moved = store.move_run(step, record("run.cancelled", &approval.run));
        assert_eq!(adds(&store, u64::from(moves), moved).await, moves);
        let now = store.approval(&approval.id).await.unwrap();
        assert_eq!(now, Some(approval.clone()));
    }
}

pub async fn runs_are_listed_newest_first(store: Kept) {
    let mut ids = Vec::new();
    for _ in 0..7 {
        let run = a_run();
        open(&store, &run, None).await;
        ids.push(run.id);
    }
    ids.reverse();
    let mut before = None;
    let mut found = Vec::new();
    for length in [3, 3, 1, 0] {
        let filter = RunFilter {
            before: before.clone(),
            ..RunFilter::default()
        };
        let page = store.runs(filter, 3).await.unwrap();
        assert_eq!(page.len(), length);
        found.extend(page.into_iter().map(|run| run.id));
        before = found.last().cloned();
    }
    assert_eq!(found, ids);
    assert_eq!(store.runs(RunFilter::default(), 0).await.unwrap(), []);
}

pub async fn runs_are_filtered(store: Kept) {
    let rows = [
        ("file_read", Queued, "bob", None),
        ("file_write", Queued, "agent-7", Some("bob")),
        ("file_read", Succeeded, "eve", Some("ann")),
        ("file_read", Succeeded, "bob", None),
    ];
    let mut ids = Vec::new();
    for (tool, state, owner, under) in rows {
        let run = Run {
            tool: tool.to_owned(),
            state,
            owner: owner.to_owned(),
            under: under.map(str::to_owned),
            ..a_run()
        };
        open(&store, &run, None).await;
        ids.push(run.id);
    }
    for (tool, state, owner, before, wanted) in [
        (None, None, None, None, vec![3, 2, 1, 0]),
        (Some("file_read"), None, None, None, vec![3, 2, 0]),
        (None, Some(Queued), None, None, vec![1, 0]),
        (None, Some(Undone), None, None, vec![]),
        (None, None, Some("bob"), None, vec![3, 1, 0]),
        (None, None, Some("ann"), None, vec![2]),
        (None, None, Some("agent"), None, vec![]),
        (
            Some("file_read"),
            Some(Succeeded),
            Some("bob"),
            None,
            vec![3],
        ),
        (Some("file_read"), None, Some("bob"), Some(3), vec![0]),
        (None, None, None, Some(0), vec![]),
    ] {
        let filter = RunFilter {
            tool: tool.map(str::to_owned),
            state,
            owner: owner.map(str::to_owned),
            before: before.map(|i: usize| ids[i].clone()),
            ..RunFilter::default()
        };
        let shown = format!("{filter:?}");
        let found = store.runs(filter, 9).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|run| run.id).collect();
        let wanted: Vec<_> = wanted.into_iter().map(|i: usize| ids[i].clone()).collect();
        assert_eq!(found, wanted, "{shown}");
    }
}

pub async fn runs_are_found_by_whom_and_when(store: Kept) {
    let rows = [
        ("bob", None, 1_000),
        ("agent-7", Some("bob"), 2_000),
        ("eve", Some("ann"), 2_000),
        ("bob", Some("ann"), 3_000),
    ];
    let mut ids = Vec::new();
    for (owner, under, created) in rows {
        let run = Run {
            owner: owner.to_owned(),
            under: under.map(str::to_owned),
            created: At(created),
            ..a_run()
        };
        open(&store, &run, None).await;
        ids.push(run.id);
    }
    for (owner, who, since, until, wanted) in [
        (None, Some("bob"), None, None, vec![3, 1, 0]),
        (Some("ann"), Some("bob"), None, None, vec![3]),
        (Some("ann"), Some("nobody"), None, None, vec![]),
        (None, None, Some(2_000), None, vec![3, 2, 1]),
        (None, None, None, Some(2_000), vec![0]),
        (None, None, Some(1_001), Some(3_000), vec![2, 1]),
        (None, Some("ann"), Some(2_001), None, vec![3]),
    ] {
        let filter = RunFilter {
            owner: owner.map(str::to_owned),
            who: who.map(str::to_owned),
            since: since.map(At),
            until: until.map(At),
            ..RunFilter::default()
        };
        let shown = format!("{filter:?}");
        let found = store.runs(filter, 9).await.unwrap();
        let found: Vec<_> = found.into_iter().map(|run| run.id).collect();
        let wanted: Vec<_> = wanted.into_iter().map(|i: usize| ids[i].clone()).collect();
        assert_eq!(found, wanted, "{shown}");
    }
    // The clock was set back: the newest id is not of the latest moment.
    let late = Run {
        created: At(1_500),
        ..a_run()
    };
    open(&store, &late, None).await;
    let times = async |since, limit| -> Vec<i64> {
        let found = store.activity(At(since), limit).await.unwrap();
        found.into_iter().map(|done| done.created.0).collect()
    };
    assert_eq!(times(0, 9).await, [1_500, 3_000, 2_000, 2_000, 1_000]);
    assert_eq!(times(2_000, 9).await, [3_000, 2_000, 2_000]);
    assert_eq!(times(0, 2).await, [1_500, 3_000]);
    assert_eq!(times(3_001, 9).await, [0; 0]);
    let last = store.activity(At(3_000), 9).await.unwrap();
    assert_eq!(last[0].owner, "bob");
    assert_eq!(last[0].under.as_deref(), Some("ann"));
}
