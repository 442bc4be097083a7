//! What runs changed: kept, applied in an order, taken back, forgotten.

use super::*;
use crate::changes::{
    Changes, ChangesFilter, ChangesState, HistoryFilter, Past, RowChange, Settled, Touched, Turn,
};
use crate::rows::Place;
use RunState::{PendingApproval, Running, Staged, Succeeded, Undone};
use serde_json::Value;

/// A run that is at work.
async fn at_work(store: &Kept) -> Run {
    let run = Run {
        state: Running,
        started: Some(At(1_001)),
        ..a_run()
    };
    open(store, &run, None).await;
    run
}

fn changes_of(run: &RunId, state: ChangesState) -> Changes {
    Changes {
        run: run.clone(),
        id: Hash::of(run.as_str().as_bytes()),
        state,
        at: At(1_500),
        count: 2,
        order: None,
        pinned: false,
        manifest: b"{\"changes\": \xff}".to_vec(),
        rows: Vec::new(),
        staged: Some(b"where".to_vec()),
        reply: Some(json!({"ok": true, "data": [1, "\u{4e2d}"]})),
        redo: None,
    }
}

fn touched(path: &[u8]) -> Touched {
    Touched {
        path: path.to_vec(),
        kind: "created".to_owned(),
    }
}

/// A run with changes that were committed, to these paths.
async fn committed(store: &Kept, paths: &[&[u8]]) -> Changes {
    let run = at_work(store).await;
    let changes = changes_of(&run.id, ChangesState::Committing);
    let kept = store.keep_changes(changes, None, record("run.committing", &run.id));
    assert!(adds(store, 1, kept).await);
    let paths = paths.iter().map(|p| touched(p)).collect();
    let step = Move {
        changes: Some(Settled::Committed(paths)),
        ..step(&run.id, &[Running], Succeeded, 2_000)
    };
    let moved = store.move_run(step, record("run.ended", &run.id));
    assert!(adds(store, 1, moved).await);
    store.changes(&run.id).await.unwrap().unwrap()
}

pub async fn changes_are_kept_with_their_run(store: Kept) {
    let run = at_work(&store).await;
    assert_eq!(store.changes(&run.id).await.unwrap(), None);
    let changes = changes_of(&run.id, ChangesState::Committing);
    let keep = || store.keep_changes(changes.clone(), None, record("run.committing", &run.id));
    assert!(adds(&store, 1, keep()).await);
    assert_eq!(store.changes(&run.id).await.unwrap(), Some(changes.clone()));
    assert_eq!(get(&store, &run.id).await, run);
    assert!(!adds(&store, 0, keep()).await, "a run has one changeset");

    let dropped = Move {
        changes: Some(Settled::Dropped),
        ..step(&run.id, &[Running], RunState::Failed, 2_000)
    };
    let moved = store.move_run(dropped, record("run.ended", &run.id));
    assert!(adds(&store, 1, moved).await);
    let now = Changes {
        state: ChangesState::Dropped,
        staged: None,
        reply: None,
        ..changes
    };
    assert_eq!(store.changes(&run.id).await.unwrap(), Some(now));
    assert_eq!(
        store.history(HistoryFilter::default(), 9).await.unwrap(),
        []
    );

    // Only what is at work changes anything.
    for state in RunState::ALL {
        let other = Run { state, ..a_run() };
        open(&store, &other, None).await;
        let changes = changes_of(&other.id, ChangesState::Committing);
        let kept = store.keep_changes(changes, None, record("run.committing", &other.id));
        let may = state == Running;
        assert_eq!(adds(&store, u64::from(may), kept).await, may, "{state:?}");
    }
    let nobody = changes_of(&RunId::fresh(), ChangesState::Committing);
    let kept = store.keep_changes(nobody, None, record("run.committing", "nobody"));
    assert!(!adds(&store, 0, kept).await);
}

pub async fn changes_wait_for_an_approval(store: Kept) {
    let run = at_work(&store).await;
    let (_, approval) = a_waiting_run(1);
    let approval = Approval {
        run: run.id.clone(),
        ..approval
    };
    let changes = changes_of(&run.id, ChangesState::Staged);
    let note = record("run.staged", &run.id);
    let kept = store.keep_changes(changes, Some(approval.clone()), note);
    assert!(adds(&store, 1, kept).await);
    let now = get(&store, &run.id).await;
    assert_eq!(
        (now.state, &now.approval),
        (Staged, &Some(approval.id.clone()))
    );
    let asked = store.approval(&approval.id).await.unwrap();
    assert_eq!(asked, Some(approval.clone()));

    let yes = decision("bob", Verdict::Approve, 2_000);
    let note = record("approval.decided", &run.id);
    let decided = store.decide(&approval.id, yes, At(20_000), note);
    adds(&store, 1, decided).await;
    let note = record("run.committing", &run.id);
    let spent = store.spend_approval(&approval.id, approval.bound, At(3_000), note);
    assert!(adds(&store, 1, spent).await);
    let state = store.changes(&run.id).await.unwrap().unwrap().state;
    assert_eq!(state, ChangesState::Committing);
    let now = get(&store, &run.id).await;
    assert_eq!((now.state, now.started), (Running, Some(At(1_001))));

    // One that is refused drops them, and the run has not moved before that.
    let refused = Move {
        changes: Some(Settled::Dropped),
        ..step(&run.id, &[PendingApproval], RunState::Denied, 4_000)
    };
    let moved = store.move_run(refused, record("run.denied", &run.id));
    assert!(!adds(&store, 0, moved).await);
    let state = store.changes(&run.id).await.unwrap().unwrap().state;
    assert_eq!(state, ChangesState::Committing);
}

pub async fn commits_have_an_order(store: Kept) {
    let first = committed(&store, &[b"/a"]).await;
    // Begun before the second, committed after it.
    let late = at_work(&store).await;
    let second = committed(&store, &[b"/b"]).await;
    let changes = changes_of(&late.id, ChangesState::Committing);
    let kept = store.keep_changes(changes, None, record("run.committing", &late.id));
    adds(&store, 1, kept).await;
    let end = || Move {
        changes: Some(Settled::Committed(vec![touched(b"/c")])),
        ..step(&late.id, &[Running, Succeeded], Succeeded, 2_000)
    };
    let moved = store.move_run(end(), record("run.ended", &late.id));
    adds(&store, 1, moved).await;
    let third = store.changes(&late.id).await.unwrap().unwrap();
    let orders: Vec<_> = [&first, &second, &third].map(|c| c.order.unwrap()).to_vec();
    assert!(orders.is_sorted() && orders[0] < orders[1] && orders[1] < orders[2]);
    for changes in [&first, &second, &third] {
        assert_eq!(changes.state, ChangesState::Committed);
        assert_eq!((&changes.staged, &changes.reply), (&None, &None));
    }
    // What is settled stays so.
    let moved = store.move_run(end(), record("run.ended", &late.id));
    adds(&store, 1, moved).await;
    assert_eq!(store.changes(&late.id).await.unwrap(), Some(third.clone()));

    let list = |state, from| {
        let filter = ChangesFilter {
            state,
            from,
            ..ChangesFilter::default()
        };
        let store = store.clone();
        async move { store.all_changes(filter, 9).await.unwrap() }
    };
    let all = [third.clone(), second.clone(), first.clone()];
    assert_eq!(list(None, None).await, all);
    assert_eq!(list(None, second.order).await, all[..2]);
    assert_eq!(list(Some(ChangesState::Staged), None).await, []);
    assert_eq!(
        list(Some(ChangesState::Committed), third.order).await,
        all[..1]
    );
    let some = store
        .all_changes(ChangesFilter::default(), 1)
        .await
        .unwrap();
    assert_eq!(some, all[..1]);
}

pub async fn changes_are_undone_and_redone(store: Kept) {
    let one = committed(&store, &[b"/a"]).await;
    let other = committed(&store, &[b"/b"]).await;
    let turn = |undone| Turn {
        run: one.run.clone(),
        undone,
    };
    let steps = [
        (false, Succeeded, ChangesState::Committed),
        (true, Undone, ChangesState::Undone),
        (true, Undone, ChangesState::Undone),
        (false, Succeeded, ChangesState::Committed),
    ];
    for (undone, state, changes) in steps {
        let undo = at_work(&store).await;
        let step = Move {
            turns: vec![turn(undone)],
            ..step(&undo.id, &[Running], Succeeded, 5_000)
        };
        let moved = store.move_run(step, record("run.ended", &undo.id));
        assert!(adds(&store, 1, moved).await);
        let run = get(&store, &one.run).await;
        assert_eq!((run.state, run.ended), (state, Some(At(2_000))));
        let now = store.changes(&one.run).await.unwrap().unwrap();
        assert_eq!((now.state, now.order), (changes, one.order));
        assert_eq!(
            store.changes(&other.run).await.unwrap(),
            Some(other.clone())
        );
    }
}

pub async fn the_past_of_a_path(store: Kept) {
    let odd: &[u8] = b"/w/\xff\n";
    let one = committed(&store, &[b"/w/a", b"/w/a/b", b"/w/ab", odd]).await;
    let two = committed(&store, &[b"/w/a", b"/x"]).await;
    let past = |changes: &Changes, path: &[u8]| Past {
        order: changes.order.unwrap(),
        run: changes.run.clone(),
        touched: touched(path),
    };
    let check = |filter: HistoryFilter, wanted: Vec<Past>| {
        let store = store.clone();
        async move {
            assert_eq!(
                store.history(filter.clone(), 9).await.unwrap(),
                wanted,
                "{filter:?}"
            );
        }
    };
    let beneath = |path: &[u8]| HistoryFilter {
        path: Some(path.to_vec()),
        ..HistoryFilter::default()
    };
    let all = vec![
        past(&two, b"/w/a"),
        past(&two, b"/x"),
        past(&one, b"/w/a"),
        past(&one, b"/w/a/b"),
        past(&one, b"/w/ab"),
        past(&one, odd),
    ];
    check(HistoryFilter::default(), all.clone()).await;
    check(beneath(b"/"), all.clone()).await;
    let of_a = vec![all[0].clone(), all[2].clone(), all[3].clone()];
    check(beneath(b"/w/a"), of_a.clone()).await;
    check(beneath(b"/w/a/b"), vec![all[3].clone()]).await;
    check(beneath(odd), vec![all[5].clone()]).await;
    check(beneath(b"/w/"), Vec::new()).await;
    let older = HistoryFilter {
        before: two.order,
        ..beneath(b"/w/a")
    };
    check(older, of_a[1..].to_vec()).await;
    let of_run = HistoryFilter {
        run: Some(two.run.clone()),
        ..HistoryFilter::default()
    };
    check(of_run, all[..2].to_vec()).await;
    let some = store.history(HistoryFilter::default(), 2).await.unwrap();
    assert_eq!(some, all[..2]);
}

pub async fn what_was_before_expires(store: Kept) {
    let changes = committed(&store, &[b"/a"]).await;
    let run = &changes.run;
    let pin = |pinned| store.set_pinned(run, pinned, record("run.pinned", run));
    let expire = || store.expire_changes(run, record("run.undo_expired", run));
    let state = || async { store.changes(run).await.unwrap().unwrap().state };
    for (pinned, changed) in [(false, false), (true, true), (true, false)] {
        assert_eq!(adds(&store, u64::from(changed), pin(pinned)).await, changed);
    }
    assert!(!adds(&store, 0, expire()).await);
    assert_eq!(state().await, ChangesState::Committed);
    assert!(adds(&store, 1, pin(false)).await);
    assert!(adds(&store, 1, expire()).await);
    assert_eq!(state().await, ChangesState::Expired);
    assert!(!adds(&store, 0, expire()).await);

    // What expired is not turned back into what can be undone.
    let undo = at_work(&store).await;
    let turn = |undone| Turn {
        run: run.clone(),
        undone,
    };
    let step = Move {
        turns: vec![turn(true), turn(false)],
        ..step(&undo.id, &[Running], Succeeded, 5_000)
    };
    let moved = store.move_run(step, record("run.ended", &undo.id));
    assert!(adds(&store, 1, moved).await);
    assert_eq!(state().await, ChangesState::Expired);

    let open = at_work(&store).await;
    let staged = changes_of(&open.id, ChangesState::Committing);
    let kept = store.keep_changes(staged, None, record("run.committing", &open.id));
    adds(&store, 1, kept).await;
    let expired = store.expire_changes(&open.id, record("run.undo_expired", &open.id));
    assert!(!adds(&store, 0, expired).await, "it is not committed yet");
}

pub async fn what_was_noted_is_purged(store: Kept) {
    let row = |key: &str, before: Option<Value>, after: Option<Value>| RowChange {
        collection: "memory".to_owned(),
        key: key.to_owned(),
        before,
        after,
    };
    let commit = async |rows: Vec<RowChange>, settled: Option<Settled>| {
        let run = at_work(&store).await;
        let changes = Changes {
            rows,
            ..changes_of(&run.id, ChangesState::Committing)
        };
        let note = record("run.committing", &run.id);
        let kept = store.keep_changes(changes, None, note);
        assert!(adds(&store, 1, kept).await);
        if settled.is_some() {
            let step = Move {
                changes: settled,
                ..step(&run.id, &[Running], Succeeded, 2_000)
            };
            let moved = store.move_run(step, record("run.ended", &run.id));
            assert!(adds(&store, 1, moved).await);
        }
        run.id
    };
    let done = || Some(Settled::Committed(Vec::new()));
    let (one, two) = (Some(json!("one")), Some(json!("two")));
    let made = vec![row("a", None, one.clone()), row("b", None, one.clone())];
    let made = commit(made, done()).await;
    let gone = commit(vec![row("a", one.clone(), None)], done()).await;
    let denied = commit(vec![row("a", None, two.clone())], Some(Settled::Dropped)).await;
    let beside = commit(vec![row("b", one.clone(), two.clone())], done()).await;
    let open = commit(vec![row("a", None, two.clone())], None).await;
    let pinned = store.set_pinned(&gone, true, record("run.pinned", &gone));
    assert!(adds(&store, 1, pinned).await);
    let places = || {
        vec![Place {
            collection: "memory".to_owned(),
            key: "a".to_owned(),
        }]
    };
    let purge = || store.purge_rows(places(), record("run.purged", &gone));
    let mut purged = adds(&store, 1, purge()).await;
    let mut wanted = vec![made.clone(), gone.clone(), denied.clone()];
    purged.sort();
    wanted.sort();
    assert_eq!(purged, wanted);
    let kept = async |run: &RunId| {
        let changes = store.changes(run).await.unwrap().unwrap();
        (changes.state, changes.rows)
    };
    let left = vec![row("b", None, one.clone())];
    assert_eq!(kept(&made).await, (ChangesState::Expired, left));
    assert_eq!(kept(&gone).await, (ChangesState::Expired, Vec::new()));
    assert_eq!(kept(&denied).await, (ChangesState::Dropped, Vec::new()));
    let untouched = vec![row("b", one, two.clone())];
    assert_eq!(kept(&beside).await, (ChangesState::Committed, untouched));
    let under_way = vec![row("a", None, two)];
    assert_eq!(kept(&open).await, (ChangesState::Committing, under_way));
    assert_eq!(adds(&store, 1, purge()).await, []);
}

pub async fn records_change_with_their_commit(store: Kept) {
    let row = |collection: &str, key: &str, before, after| RowChange {
        collection: collection.to_owned(),
        key: key.to_owned(),
        before,
        after,
    };
    let commit = async |rows: Vec<RowChange>, settled: Settled| {
        let run = at_work(&store).await;
        let changes = Changes {
            rows,
            ..changes_of(&run.id, ChangesState::Committing)
        };
        let note = record("run.committing", &run.id);
        let kept = store.keep_changes(changes.clone(), None, note);
        assert!(adds(&store, 1, kept).await);
        assert_eq!(store.changes(&run.id).await.unwrap(), Some(changes));
        let step = Move {
            changes: Some(settled),
            ..step(&run.id, &[Running], Succeeded, 2_000)
        };
        let moved = store.move_run(step, record("run.ended", &run.id));
        assert!(adds(&store, 1, moved).await);
    };
    let all = async |collection| store.rows(collection, None, 9).await.unwrap();
    let value = json!({"text": "\u{4e2d}", "n": [1, null]});
    let new = vec![
        row("memory", "b", None, Some(value.clone())),
        row("memory", "a", None, Some(json!(null))),
        row("memory2", "a", None, Some(json!(2))),
        // Kept elsewhere: known here, and no record of this store.
        row("@db:main:t", "[1]", None, Some(json!({"id": 1}))),
    ];
    commit(new.clone(), Settled::Dropped).await;
    assert_eq!(all("memory").await, []);
    commit(new, Settled::Committed(Vec::new())).await;
    let pair = |key: &str, value: Value| (key.to_owned(), value);
    let both = [pair("a", json!(null)), pair("b", value.clone())];
    assert_eq!(all("memory").await, both);
    assert_eq!(all("memory2").await, [pair("a", json!(2))]);
    assert_eq!(all("@db:main:t").await, []);
    assert_eq!(store.rows("memory", Some("a"), 9).await.unwrap(), both[1..]);
    assert_eq!(store.rows("memory", None, 1).await.unwrap(), both[..1]);
    assert_eq!(store.row("memory", "b").await.unwrap(), Some(value));
    assert_eq!(store.row("memory", "c").await.unwrap(), None);
    assert_eq!(store.row("memory", "a").await.unwrap(), Some(json!(null)));
    let gone = vec![
        row("memory", "a", Some(json!(null)), None),
        row("memory", "b", Some(json!(0)), Some(json!(1))),
    ];
    commit(gone, Settled::Committed(Vec::new())).await;
    assert_eq!(all("memory").await, [pair("b", json!(1))]);
}

pub async fn the_hub_changes_records_all_or_none(store: Kept) {
    let row = |key: &str, before: Option<Value>, after: Option<Value>| RowChange {
        collection: "clock".to_owned(),
        key: key.to_owned(),
        before,
        after,
    };
    let put = |rows: Vec<RowChange>| store.put_rows(rows, record("schedule.fired", "sch"));
    let all = async || store.rows("clock", None, 9).await.unwrap();
    let pair = |key: &str, value: Value| (key.to_owned(), value);
    let (one, two) = (Some(json!({"n": 1})), Some(json!({"n": 2})));
    let new = vec![
        row("a", None, one.clone()),
        row("b", None, Some(json!(null))),
    ];
    assert!(adds(&store, 1, put(new.clone())).await);
    assert!(!adds(&store, 0, put(new)).await, "they are there by now");
    let half = vec![
        row("a", one.clone(), two.clone()),
        row("b", None, two.clone()),
    ];
    assert!(!adds(&store, 0, put(half)).await, "one is not as before");
    let still = [pair("a", json!({"n": 1})), pair("b", json!(null))];
    assert_eq!(all().await, still);
    let gone = vec![
        row("b", one.clone(), one.clone()),
        row("a", one.clone(), None),
    ];
    assert!(
        !adds(&store, 0, put(gone)).await,
        "what is looked at is not so"
    );
    let guarded = vec![
        row("b", Some(json!(null)), Some(json!(null))),
        row("a", one, None),
        row("c", None, two),
    ];
    assert!(adds(&store, 1, put(guarded)).await);
    assert_eq!(
        all().await,
        [pair("b", json!(null)), pair("c", json!({"n": 2}))]
    );
    let firsts = at_once(|n| {
        let (store, rows) = (store.clone(), vec![row("d", None, Some(json!(n)))]);
        async move { store.put_rows(rows, record("schedule.fired", "sch")).await }
    });
    let firsts = firsts.await.into_iter().filter(|first| *first).count();
    assert_eq!(firsts, 1, "only one is first");
}

/// A change of one file, which can be applied once more.
fn with_redo(run: &RunId) -> Changes {
    Changes {
        redo: Some(b"again\xff\n".to_vec()),
        staged: None,
        reply: None,
        ..changes_of(run, ChangesState::Committing)
    }
}

pub async fn a_redo_is_kept_until_it_is_forgotten(store: Kept) {
    let run = at_work(&store).await;
    let changes = with_redo(&run.id);
    let keep = || store.keep_changes(changes.clone(), None, record("run.committing", &run.id));
    assert!(adds(&store, 1, keep()).await);
    assert!(!adds(&store, 0, keep()).await, "a run has one changeset");
    assert_eq!(store.changes(&run.id).await.unwrap(), Some(changes.clone()));
    let with = ChangesFilter {
        redo: true,
        ..ChangesFilter::default()
    };
    let kept = || async { store.all_changes(with.clone(), 9).await.unwrap() };
    assert_eq!(kept().await, std::slice::from_ref(&changes));
    // What has no end yet may have to be done again.
    let forgotten = store.forget_redo(vec![run.id.clone()]).await.unwrap();
    assert!(!forgotten);
    assert_eq!(kept().await, std::slice::from_ref(&changes));

    let end = Move {
        changes: Some(Settled::Committed(vec![touched(b"/a")])),
        soon: true,
        ..step(&run.id, &[Running], Succeeded, 2_000)
    };
    let moved = store.move_run(end, record("run.ended", &run.id));
    assert!(adds(&store, 1, moved).await);
    assert_eq!(get(&store, &run.id).await.state, Succeeded);
    let now = store.changes(&run.id).await.unwrap().unwrap();
    assert_eq!(
        (now.state, &now.redo, now.order.is_some()),
        (ChangesState::Committed, &changes.redo, true)
    );
    let history = store.history(HistoryFilter::default(), 9).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].touched, touched(b"/a"));

    let other = committed(&store, &[b"/b"]).await;
    let runs = vec![run.id.clone(), other.run, RunId::fresh()];
    assert!(store.forget_redo(runs).await.unwrap());
    assert_eq!(kept().await, []);
    let after = store.changes(&run.id).await.unwrap().unwrap();
    assert_eq!(after, Changes { redo: None, ..now });
}

pub async fn what_is_dropped_is_not_done_again(store: Kept) {
    let run = at_work(&store).await;
    let keep = store.keep_changes(with_redo(&run.id), None, record("run.committing", &run.id));
    assert!(adds(&store, 1, keep).await);
    let end = Move {
        changes: Some(Settled::Dropped),
        ..step(&run.id, &[Running], RunState::Failed, 2_000)
    };
    let moved = store.move_run(end, record("run.ended", &run.id));
    assert!(adds(&store, 1, moved).await);
    let now = store.changes(&run.id).await.unwrap().unwrap();
    assert_eq!((now.state, &now.redo), (ChangesState::Dropped, &None));
    let history = store.history(HistoryFilter::default(), 9).await.unwrap();
    assert_eq!(history, []);
}
