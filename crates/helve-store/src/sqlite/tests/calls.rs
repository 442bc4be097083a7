//! Calls in the journal: what is told of them, and what is left of them.

use std::path::Path;

use helve_core::audit::Hash;
use helve_kernel::store::Move;
use helve_kernel::store::contract::step;
use helve_kernel::{Changes, ChangesState, HistoryFilter, RowChange, RunState, Settled, Touched};
use proptest::prelude::*;

use super::sharing::hold;
use super::*;

fn running() -> Run {
    Run {
        state: RunState::Running,
        ..a_run()
    }
}

fn end_of(run: &Run, soon: bool) -> Move {
    Move {
        soon,
        answer: Some(json!({"data": run.id.as_str()})),
        ..step(
            &run.id,
            &[RunState::Running],
            RunState::Succeeded,
            run.created.0 + 5,
        )
    }
}

/// A call from its start to its end, as one that only looks.
async fn call(store: &SqliteStore) -> Run {
    let run = running();
    let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
    opening.await.unwrap();
    let ended = store.move_run(end_of(&run, true), record("run.ended", &run.id));
    assert!(ended.await.unwrap());
    run
}

/// The files as they are now: what is left when the process is killed.
fn killed(folder: &TempDir) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for end in ["", "-wal", "-calls"] {
        let name = format!("helve.db{end}");
        std::fs::copy(folder.path().join(&name), copy.path().join(&name)).unwrap();
    }
    copy
}

/// A call that changes one file: a start, what it is about to change, and an end if it comes to
/// that.
async fn change(store: &SqliteStore, settled: Option<Settled>) -> (Run, Changes) {
    let run = running();
    let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
    opening.await.unwrap();
    let changes = Changes {
        run: run.id.clone(),
        id: Hash::of(b"manifest"),
        state: ChangesState::Committing,
        at: run.created,
        count: 1,
        order: None,
        pinned: false,
        manifest: b"manifest \xff".to_vec(),
        rows: Vec::new(),
        staged: None,
        reply: None,
        redo: Some(b"redo\n\xfe".to_vec()),
    };
    let note = record("run.committing", &run.id);
    assert!(
        store
            .keep_changes(changes.clone(), None, note)
            .await
            .unwrap()
    );
    if let Some(settled) = settled {
        let end = Move {
            changes: Some(settled),
            ..end_of(&run, true)
        };
        let ended = store.move_run(end, record("run.ended", &run.id));
        assert!(ended.await.unwrap());
    }
    (run, changes)
}

fn committed() -> Settled {
    Settled::Committed(vec![Touched {
        path: b"/a \xff".to_vec(),
        kind: "changed".to_owned(),
    }])
}

/// What is about to change is on the disk before anybody is told, and by way of the journal.
#[tokio::test]
async fn changes_of_one_file_are_in_the_journal() {
    let (store, folder) = fresh();
    call(&store).await;
    store.audit_head().await.unwrap();
    let release = hold(&store).await;
    let calls = store.writer.calls().clone();
    let (_, open) = change(&store, None).await;
    assert_eq!((calls.written(), calls.is_durable()), (4, 4));
    let (_, done) = change(&store, Some(committed())).await;
    assert_eq!((calls.written(), calls.is_durable()), (7, 6));
    let (_, dropped) = change(&store, Some(Settled::Dropped)).await;
    // In its order it is all there after a kill.
    let left = killed(&folder);
    drop(release);
    for store in [
        SqliteStore::open(&file(&left)).unwrap(),
        SqliteStore::open(&file(&killed(&left))).unwrap(),
    ] {
        let get = async |changes: &Changes| store.changes(&changes.run).await.unwrap().unwrap();
        assert_eq!(get(&open).await, open);
        let now = get(&done).await;
        let wanted = Changes {
            state: ChangesState::Committed,
            order: Some(1),
            ..done.clone()
        };
        assert_eq!(now, wanted);
        let wanted = Changes {
            state: ChangesState::Dropped,
            redo: None,
            ..dropped.clone()
        };
        assert_eq!(get(&dropped).await, wanted);
        let states = [
            (&open, RunState::Running),
            (&done, RunState::Succeeded),
            (&dropped, RunState::Succeeded),
        ];
        for (changes, state) in states {
            let run = store.run(&changes.run).await.unwrap().unwrap();
            assert_eq!(run.state, state);
        }
        let history = store.history(HistoryFilter::default(), 9).await.unwrap();
        let paths: Vec<_> = history.into_iter().map(|past| past.touched.path).collect();
        assert_eq!(paths, [b"/a \xff".to_vec()]);
        store.close().await;
    }
}

/// What is too long for the journal goes to the tables, and so does its end.
#[tokio::test]
async fn long_changes_go_to_the_tables() {
    let (store, _folder) = fresh();
    let run = running();
    let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
    opening.await.unwrap();
    let (_, short) = change(&store, Some(committed())).await;
    let long = Changes {
        run: run.id.clone(),
        redo: Some(vec![7; 300_000]),
        ..short
    };
    let kept = store.keep_changes(long.clone(), None, record("run.committing", &run.id));
    assert!(kept.await.unwrap());
    assert_eq!(store.changes(&run.id).await.unwrap(), Some(long));
    let end = Move {
        changes: Some(committed()),
        ..end_of(&run, true)
    };
    let ended = store.move_run(end, record("run.ended", &run.id));
    assert!(ended.await.unwrap());
    let now = store.changes(&run.id).await.unwrap().unwrap();
    assert_eq!((now.state, now.order), (ChangesState::Committed, Some(2)));
}

/// The runs that are over, oldest first, and how many entries there are.
async fn seen(folder: &TempDir) -> (Vec<String>, usize) {
    let store = Arc::new(SqliteStore::open(&file(folder)).unwrap());
    let kept: Kept = store.clone();
    let entries = whole(&kept).await.len();
    let mut runs = store.runs(RunFilter::default(), 10_000).await.unwrap();
    runs.retain(|run| run.state == RunState::Succeeded);
    for run in &runs {
        assert_eq!(run.answer, Some(json!({"data": run.id.as_str()})));
        assert!(run.ended.is_some());
    }
    runs.reverse();
    (ids(&runs), entries)
}

fn ids(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| run.id.to_string()).collect()
}

/// Calls while the writer is held up, so that they are in the journal alone.
async fn calls(count: usize) -> (TempDir, Vec<Run>) {
    let (store, folder) = fresh();
    call(&store).await;
    store.audit_head().await.unwrap();
    let release = hold(&store).await;
    let mut runs = Vec::new();
    for _ in 0..count {
        runs.push(call(&store).await);
    }
    let left = killed(&folder);
    drop(release);
    (left, runs)
}

#[tokio::test]
async fn a_hub_that_is_killed_has_lost_no_call() {
    let (left, runs) = calls(20).await;
    let (found, entries) = seen(&left).await;
    assert_eq!((&found[1..], entries), (&ids(&runs)[..], 42));
    // Neither more nor less, however often it is opened, and killed.
    for _ in 0..2 {
        assert_eq!(seen(&left).await, (found.clone(), entries));
        let again = killed(&left);
        assert_eq!(seen(&again).await, (found.clone(), entries));
    }
}

#[tokio::test]
async fn who_looks_finds_all_that_was_called() {
    let (store, _folder) = fresh();
    for soon in [true, false] {
        let run = running();
        let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
        let mut opening = opening.await.unwrap();
        assert_eq!(store.run(&run.id).await.unwrap(), Some(run.clone()));
        let ended = store.move_run(end_of(&run, soon), record("run.ended", &run.id));
        assert!(ended.await.unwrap());
        let found = store.run(&run.id).await.unwrap().unwrap();
        assert_eq!(found.state, RunState::Succeeded);
        opening.wait().await.unwrap();
    }
    assert_eq!(store.audit_head().await.unwrap().seq, 4);
    assert!(!store.writer.calls().any());
}

/// Nobody is told before it is on the disk, unless that may be later.
#[tokio::test]
async fn what_must_be_durable_is() {
    let (store, _folder) = fresh();
    let _release = hold(&store).await;
    let calls = store.writer.calls().clone();
    let run = running();
    let opened = store.open_run(run.clone(), None, None, record("run.started", &run.id));
    assert_eq!(opened.await.unwrap(), Opened::New);
    assert_eq!((calls.written(), calls.is_durable()), (1, 1));
    let ended = store.move_run(end_of(&run, false), record("run.ended", &run.id));
    assert!(ended.await.unwrap());
    assert_eq!((calls.written(), calls.is_durable()), (2, 2));
    call(&store).await;
    assert_eq!((calls.written(), calls.is_durable()), (4, 2));
}

/// Without anybody who asks: the writer comes for it by itself.
#[tokio::test]
async fn what_may_be_durable_later_is_so_soon() {
    let (store, folder) = fresh();
    let run = call(&store).await;
    let calls = store.writer.calls();
    while calls.is_durable() < 2 {
        tokio::task::yield_now().await;
    }
    assert!(!calls.any());
    let left = killed(&folder);
    std::fs::remove_file(left.path().join("helve.db-calls")).unwrap();
    assert_eq!(seen(&left).await, (ids(&[run]), 2));
}

/// Also what comes while the writer is at work.
#[tokio::test]
async fn calls_that_come_all_the_time_are_durable_soon() {
    let (store, _folder) = fresh();
    for _ in 0..500 {
        call(&store).await;
    }
    let calls = store.writer.calls();
    while calls.is_durable() < 1_000 {
        tokio::task::yield_now().await;
    }
    assert!(!calls.any());
}

/// What a reader has brought into the tables is not on the disk for that.
#[tokio::test]
async fn what_was_only_read_is_synced_afterwards() {
    let (store, folder) = fresh();
    let other = Connection::open(file(&folder)).unwrap();
    let version = || -> i64 {
        let sql = "PRAGMA data_version";
        other.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    call(&store).await;
    assert_eq!(store.audit_head().await.unwrap().seq, 2);
    let calls = store.writer.calls();
    let before = version();
    if calls.is_durable() < 2 {
        // A commit in which something is written, or it would sync nothing.
        while calls.is_durable() < 2 {
            tokio::task::yield_now().await;
        }
        assert_ne!(version(), before);
    }
    // And so by whoever asks for it.
    call(&store).await;
    store.writer.requests().settle(Sync::Later).await.unwrap();
    let before = version();
    // The writer may have come by itself.
    let already = calls.is_durable() >= 4;
    store.writer.requests().settle(Sync::Full).await.unwrap();
    assert!(calls.is_durable() >= 4);
    assert!(already || version() != before);
}

#[tokio::test]
async fn a_run_that_somebody_else_ended_does_not_end_again() {
    let (store, _folder) = fresh();
    let run = running();
    let opening = store.open_run_soon(run.clone(), record("run.started", &run.id));
    opening.await.unwrap();
    // A step that does more than to end it goes to the tables.
    let stopped = Move {
        approval: Some(helve_kernel::ApprovalState::Withdrawn),
        ..step(
            &run.id,
            &[RunState::Running],
            RunState::Cancelled,
            run.created.0,
        )
    };
    let first = store.move_run(stopped, record("run.stopped", &run.id));
    let then = store.move_run(end_of(&run, true), record("run.ended", &run.id));
    let (first, then) = tokio::join!(biased; first, then);
    assert!(first.unwrap() && !then.unwrap());
    let found = store.run(&run.id).await.unwrap().unwrap();
    assert_eq!(found.state, RunState::Cancelled);
    assert_eq!(store.audit_head().await.unwrap().seq, 2);
}

/// What is too long for the journal, and what comes when it is full, waits for the tables.
#[tokio::test]
async fn what_does_not_fit_goes_to_the_tables() {
    let (store, folder) = fresh();
    let release = hold(&store).await;
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..40 {
        let run = Run {
            // Sixteen fill it, and the last of all is too long for it.
            args: json!("x".repeat(if i == 39 { 300_000 } else { 250_000 })),
            ..running()
        };
        let store = store.clone();
        tasks.spawn(async move {
            let note = record("run.started", &run.id);
            store.open_run_soon(run.clone(), note).await.unwrap();
            let ended = store.move_run(end_of(&run, true), record("run.ended", &run.id));
            assert!(ended.await.unwrap());
            run
        });
    }
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    let written = store.writer.calls().written();
    drop(release);
    let mut runs = tasks.join_all().await;
    runs.sort_by(|a, b| a.id.cmp(&b.id));
    assert!((16..40).contains(&written), "{written}");
    store.close().await;
    drop(store);
    assert_eq!(seen(&folder).await, (ids(&runs), 80));
}

/// As many as go through both halves several times.
#[tokio::test]
async fn the_halves_take_turns() {
    let (store, folder) = fresh();
    let mut runs = Vec::new();
    for _ in 0..60 {
        let run = Run {
            args: json!("x".repeat(200_000)),
            ..running()
        };
        let note = record("run.started", &run.id);
        store.open_run_soon(run.clone(), note).await.unwrap();
        let ended = store.move_run(end_of(&run, false), record("run.ended", &run.id));
        assert!(ended.await.unwrap());
        runs.push(run);
    }
    let left = killed(&folder);
    assert_eq!(seen(&left).await, (ids(&runs), 120));
    store.close().await;
    drop(store);
    let journal = std::fs::read(folder.path().join("helve.db-calls")).unwrap();
    assert_eq!(journal.len(), 4 << 20);
    assert_eq!(seen(&folder).await, (ids(&runs), 120));
}

/// Lets the tables take no run, until they may again.
fn jam(folder: &TempDir, jammed: bool) {
    let conn = Connection::open(file(folder)).unwrap();
    conn.execute_batch(match jammed {
        true => {
            "CREATE TRIGGER jam BEFORE INSERT ON runs
             BEGIN SELECT raise(FAIL, 'it is jammed'); END"
        }
        false => "DROP TRIGGER jam",
    })
    .unwrap();
}

#[tokio::test]
async fn tables_that_cannot_be_written_close_the_journal_until_they_can() {
    let (store, folder) = fresh();
    jam(&folder, true);
    let mut runs = Vec::new();
    let release = hold(&store).await;
    for _ in 0..50 {
        runs.push(call(&store).await);
    }
    drop(release);
    let jammed = |error: StoreError| {
        assert!(error.to_string().contains("it is jammed"), "{error}");
    };
    jammed(store.audit_head().await.unwrap_err());
    // Nothing is taken any more that nobody may ever be able to read.
    let late = running();
    let opening = store.open_run_soon(late.clone(), record("run.started", &late.id));
    jammed(opening.await.map(drop).unwrap_err());
    let opened = store.open_run(late.clone(), None, None, record("run.started", &late.id));
    jammed(opened.await.map(drop).unwrap_err());
    // What was answered is in the journal, even if the hub is killed now.
    let left = killed(&folder);
    jam(&left, false);
    assert_eq!(seen(&left).await, (ids(&runs), 100));

    jam(&folder, false);
    assert_eq!(store.audit_head().await.unwrap().seq, 100);
    runs.push(call(&store).await);
    store.close().await;
    drop(store);
    assert_eq!(seen(&folder).await, (ids(&runs), 102));
}

#[tokio::test]
async fn a_store_that_closes_on_jammed_tables_keeps_its_journal() {
    let (store, folder) = fresh();
    jam(&folder, true);
    let run = call(&store).await;
    store.close().await;
    drop(store);
    assert!(SqliteStore::open(&file(&folder)).is_err());
    jam(&folder, false);
    assert_eq!(seen(&folder).await, (ids(&[run]), 2));
}

#[tokio::test]
async fn a_purge_leaves_nothing_in_the_journal() {
    let (store, folder) = fresh();
    let journal = || std::fs::read(folder.path().join("helve.db-calls")).unwrap();
    let has = |word: &str| {
        let bytes = journal();
        bytes
            .windows(word.len())
            .any(|part| part == word.as_bytes())
    };
    let run = call(&store).await;
    assert!(has(run.id.as_str()));
    let row = RowChange {
        collection: "notes".to_owned(),
        key: "a".to_owned(),
        before: None,
        after: Some(json!(1)),
    };
    let put = store.put_rows(vec![row], record("hub.noted", "hub"));
    assert!(put.await.unwrap());
    let purged = store.purge_rows(Vec::new(), record("hub.purged", "hub"));
    purged.await.unwrap();
    assert!(!has(run.id.as_str()));
    let run = call(&store).await;
    assert!(has(run.id.as_str()));
    store.close().await;
    drop(store);
    assert_eq!(seen(&folder).await.1, 6);
}

#[tokio::test]
async fn an_older_copy_beside_a_newer_journal_is_told() {
    let (store, folder) = fresh();
    call(&store).await;
    store.close().await;
    drop(store);
    let old = killed(&folder);
    let store = Arc::new(SqliteStore::open(&file(&folder)).unwrap());
    let release = hold(&store).await;
    call(&store).await;
    let new = killed(&folder);
    drop(release);
    let beside = |folder: &Path| folder.join("helve.db-calls");
    std::fs::copy(beside(new.path()), beside(old.path())).unwrap();
    let error = SqliteStore::open(&file(&old)).unwrap_err().to_string();
    let wanted = format!(
        "the store is damaged: `{}` goes on where a later state of it ended; if you have put \
         an older copy back on purpose, delete that file",
        beside(old.path()).display()
    );
    assert_eq!(error, wanted);
    std::fs::remove_file(beside(old.path())).unwrap();
    assert_eq!(seen(&old).await.1, 2);
    // One that was closed leaves nothing to go on with.
    store.close().await;
    let closed = killed(&folder);
    let older = killed(&old);
    std::fs::copy(beside(closed.path()), beside(older.path())).unwrap();
    assert_eq!(seen(&older).await.1, 2);
}

#[tokio::test]
async fn a_journal_that_was_cut_is_read_as_far_as_it_goes() {
    let (left, runs) = calls(12).await;
    let path = left.path().join("helve.db-calls");
    let journal = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    journal.set_len(8_000).unwrap();
    let (found, _) = seen(&left).await;
    let found = &found[1..];
    assert!((1..12).contains(&found.len()), "{}", found.len());
    assert_eq!(found, &ids(&runs)[..found.len()]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4 << 20);
}

/// Whoever asked for a purge may be gone before it is done.
#[tokio::test]
async fn a_purge_that_nobody_waits_for_leaves_the_journal_open() {
    let (store, _folder) = fresh();
    let release = hold(&store).await;
    let emptying = store.empty_journal();
    // It has begun, and waits for the writer, when it is let go.
    tokio::select! {
        biased;
        _ = emptying => unreachable!("the writer is held"),
        () = async { while store.emptying.try_lock().is_ok() { tokio::task::yield_now().await } } => {}
    }
    drop(release);
    drop(store.emptying.lock().await);
    let before = store.writer.calls().written();
    call(&store).await;
    assert_eq!(store.writer.calls().written(), before + 2);
}

fn harmed() -> impl Strategy<Value = Vec<(usize, Option<u8>)>> {
    // From that byte on nothing is left, or that byte is another.
    let harm = (0..16_000_usize, proptest::option::of(1..=255_u8));
    proptest::collection::vec(harm, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever a system that went down has left of the journal: the calls up to some point
    /// are there, as they were, and nothing else.
    #[test]
    fn what_is_left_of_a_journal_is_its_beginning(harms in harmed()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (left, runs) = calls(12).await;
            let path = left.path().join("helve.db-calls");
            let mut bytes = std::fs::read(&path).unwrap();
            for (at, with) in harms {
                match with {
                    Some(with) => bytes[at] ^= with,
                    None => bytes[at..].fill(0),
                }
            }
            std::fs::write(&path, bytes).unwrap();
            let (found, entries) = seen(&left).await;
            let found = &found[1..];
            prop_assert_eq!(found, &ids(&runs)[..found.len()]);
            // A start may be there without its end.
            let wanted = 2 * found.len() + 2;
            prop_assert!(entries == wanted || entries == wanted + 1, "{}", entries);
            Ok(())
        })?;
    }
}
