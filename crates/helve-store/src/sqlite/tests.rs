//! The contract, and what only a store in a file can do.

#![allow(clippy::unwrap_used)]

mod calls;
mod damage;
mod sharing;

use std::path::PathBuf;
use std::sync::Arc;

use helve_core::audit::Hash;
use helve_kernel::store::contract::{Kept, a_run, a_waiting_run, open, record, whole};
use helve_kernel::store::{IdempotencyKey, Opened, RunFilter};
use helve_kernel::{At, Chunk, Run, Store, Stream, store_contract};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn fresh() -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&file(&folder)).unwrap();
    (Arc::new(store), folder)
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("helve.db")
}

store_contract!(fresh());

#[tokio::test]
async fn all_of_it_is_there_again() {
    let (store, folder) = fresh();
    let kept: Kept = store.clone();
    let (run, approval) = a_waiting_run(2);
    open(&kept, &run, Some(&approval)).await;
    let key = IdempotencyKey {
        owner: "bob".to_owned(),
        key: "k".to_owned(),
        body: Hash::of(b"body"),
    };
    let keyed = a_run();
    let note = record("run.opened", &keyed.id);
    let opened = store.open_run(keyed.clone(), None, Some(key.clone()), note.clone());
    assert_eq!(opened.await.unwrap(), Opened::New);
    let chunk = Chunk {
        seq: 1,
        stream: Stream::Stderr,
        at: At(2_000),
        bytes: vec![0, 255, 10],
    };
    let written = store.append_chunks(&run.id, vec![chunk.clone()]);
    written.await.unwrap();
    let entries = whole(&kept).await;
    drop(kept);

    // Once by `close`, and once by letting go of it.
    store.close().await;
    drop(store);
    for _ in 0..2 {
        let store = Arc::new(SqliteStore::open(&file(&folder)).unwrap());
        let kept: Kept = store.clone();
        assert_eq!(whole(&kept).await, entries);
        let runs = store.runs(RunFilter::default(), 9).await.unwrap();
        assert_eq!(runs, [keyed.clone(), run.clone()]);
        let found = store.approval(&approval.id).await.unwrap();
        assert_eq!(found, Some(approval.clone()));
        let found = store.chunks(&run.id, 0, 9).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&chunk));
        let again = store.open_run(a_run(), None, Some(key.clone()), note.clone());
        assert_eq!(again.await.unwrap(), Opened::Same(keyed.id.clone()));
    }
}

#[tokio::test]
async fn one_process_at_a_time() {
    let (store, folder) = fresh();
    let second = SqliteStore::open(&file(&folder)).unwrap_err().to_string();
    let wanted = format!(
        "another helve has this store open: `{}`; stop it first",
        file(&folder).display()
    );
    assert_eq!(second, wanted);
    store.close().await;
    store.close().await;
    let other = SqliteStore::open(&file(&folder)).unwrap();
    for error in [
        store
            .record(record("hub.started", "hub"))
            .await
            .unwrap_err(),
        store.audit_head().await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Closed), "{error}");
    }
    drop(other);
    SqliteStore::open(&file(&folder)).unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let (store, folder) = fresh();
    store.record(record("hub.started", "hub")).await.unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
        found.push(entry.file_name().into_string().unwrap());
    }
    found.sort();
    let wanted = ["", "-calls", "-shm", "-wal", ".lock"].map(|end| format!("helve.db{end}"));
    assert_eq!(found, wanted);
}

/// The log has its size from the beginning, and keeps it.
#[tokio::test]
async fn the_log_is_written_over() {
    let (store, folder) = fresh();
    let log = folder.path().join("helve.db-wal");
    let length = || std::fs::metadata(&log).unwrap().len();
    let first = length();
    assert!(first > 4_000_000, "{first}");
    store.record(record("hub.started", "hub")).await.unwrap();
    store.close().await;
    drop(store);
    assert_eq!(length(), first);
    let store = SqliteStore::open(&file(&folder)).unwrap();
    store.record(record("hub.started", "hub")).await.unwrap();
    assert_eq!(length(), first);
}

/// What could be written and not be read again would hide all that is listed with it.
#[tokio::test]
async fn what_is_too_deep_is_refused() {
    let (store, _folder) = fresh();
    let nested = |levels| (1..levels).fold(json!([]), |inner, _| Value::Array(vec![inner]));
    for (levels, fits) in [(100, true), (101, false), (200, false)] {
        let run = Run {
            args: nested(levels),
            ..a_run()
        };
        let note = record("run.opened", &run.id);
        let opened = store.open_run(run.clone(), None, None, note).await;
        assert_eq!(opened.is_ok(), fits, "{levels}");
        let kept = store.run(&run.id).await.unwrap();
        assert_eq!(kept, fits.then_some(run), "{levels}");
    }
    let deep = record("hub.started", "hub").with("why", nested(101));
    let error = store.record(deep).await.unwrap_err().to_string();
    let wanted = "the store cannot be written: a value is nested deeper than 100 levels";
    assert_eq!(error, wanted);
}
