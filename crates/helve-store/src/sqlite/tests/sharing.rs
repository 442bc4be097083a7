//! Many at once: who shares a sync, who fails with whom, who waits for whom.

use std::sync::mpsc;

use helve_kernel::RunId;
use helve_kernel::store::Record;
use tokio::task::JoinSet;

use super::*;

/// Holds the writer up until what it gives is dropped: who asks meanwhile waits
/// together.
pub(super) async fn hold(store: &Arc<SqliteStore>) -> mpsc::Sender<()> {
    let (release, held) = mpsc::channel();
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let store = store.clone();
    tokio::spawn(async move {
        let wait = move |_: &mut Tx<'_>| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        };
        store.write(wait).await
    });
    begins.recv().await.unwrap();
    release
}

/// On one thread: when this returns, every task that was spawned has asked. A turn
/// of the runtime takes up some sixty of them.
async fn all_have_asked() {
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn those_who_wait_share_a_sync() {
    let (store, _folder) = fresh();
    let mut set = JoinSet::new();
    let release = hold(&store).await;
    let before = store.writer.commits();
    for _ in 0..64 {
        let store = store.clone();
        set.spawn(async move { store.record(record("hub.noted", "hub")).await });
    }
    all_have_asked().await;
    drop(release);
    for noted in set.join_all().await {
        noted.unwrap();
    }
    // The one that held them up, and all of them.
    assert_eq!(store.writer.commits() - before, 2);
    let kept: Kept = store;
    assert_eq!(whole(&kept).await.len(), 64);
}

#[tokio::test]
async fn who_asks_for_the_impossible_fails_alone() {
    let (store, _folder) = fresh();
    let kept: Kept = store.clone();
    let first = a_run();
    open(&kept, &first, None).await;
    let release = hold(&store).await;
    let mut set = JoinSet::new();
    let good = [a_run(), a_run(), a_run()];
    let runs = [&good[0], &first, &good[1], &good[0], &good[2]];
    for (i, run) in runs.into_iter().cloned().enumerate() {
        let store = store.clone();
        set.spawn(async move {
            let note = record("run.opened", &run.id);
            (i, store.open_run(run, None, None, note).await.is_ok())
        });
    }
    all_have_asked().await;
    drop(release);
    let mut answers = set.join_all().await;
    answers.sort_unstable();
    let answers: Vec<bool> = answers.into_iter().map(|(_, ok)| ok).collect();
    assert_eq!(answers, [true, false, true, false, true]);
    assert_eq!(whole(&kept).await.len(), 4);
    assert_eq!(store.runs(RunFilter::default(), 9).await.unwrap().len(), 4);
}

async fn limit_pages(store: &SqliteStore, pages: i64) -> i64 {
    let set = move |tx: &mut Tx<'_>| {
        let sql = format!("PRAGMA max_page_count = {pages}");
        Ok(tx.conn.query_row(&sql, [], |row| row.get(0))?)
    };
    store.write(set).await.unwrap()
}

fn large() -> Record {
    record("hub.noted", "hub").with("text", "x".repeat(100_000))
}

#[tokio::test]
async fn a_full_disk_stops_it_until_there_is_space() {
    let (store, folder) = fresh();
    let kept: Kept = store.clone();
    let run = a_run();
    open(&kept, &run, None).await;
    // Less than there are: it stays at what there are.
    limit_pages(&store, 1).await;
    let before = store.audit_head().await.unwrap();

    let mut set = JoinSet::new();
    let release = hold(&store).await;
    for _ in 0..3 {
        let store = store.clone();
        set.spawn(async move { store.record(large()).await });
    }
    all_have_asked().await;
    drop(release);
    for answer in set.join_all().await {
        let full = matches!(&answer, Err(StoreError::Unwritable(why)) if why.contains("full"));
        assert!(full, "{answer:?}");
    }
    // Nothing is there that nobody was told of, and what was there still is.
    assert_eq!(store.audit_head().await.unwrap(), before);
    assert_eq!(store.run(&run.id).await.unwrap(), Some(run));
    assert!(store.run(&RunId::fresh()).await.unwrap().is_none());

    limit_pages(&store, 1_000_000).await;
    store.record(large()).await.unwrap();
    assert_eq!(whole(&kept).await.len(), 2);
    drop((kept, store));
    let kept: Kept = Arc::new(SqliteStore::open(&file(&folder)).unwrap());
    assert_eq!(whole(&kept).await.len(), 2);
}

#[tokio::test]
async fn a_slow_reader_holds_no_writer_up() {
    let (store, _folder) = fresh();
    let mut set = JoinSet::new();
    let mut releases = Vec::new();
    for _ in 0..2 {
        let (release, held) = mpsc::channel::<()>();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let store = store.clone();
        set.spawn(async move {
            let read = move |conn: &Connection| {
                let seen = chain::head(conn)?;
                let _ = begun.send(());
                let _ = held.recv();
                Ok(seen)
            };
            store.read(read).await
        });
        begins.await.unwrap();
        releases.push(release);
    }
    store.record(record("hub.started", "hub")).await.unwrap();
    drop(releases);
    for seen in set.join_all().await {
        assert_eq!(seen.unwrap().seq, 0);
    }
    assert_eq!(store.audit_head().await.unwrap().seq, 1);
}
