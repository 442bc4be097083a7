//! What somebody else did to the file.

use super::*;

/// Writes that many entries and a run, closes the store, and does that to the file.
async fn after(entries: usize, harm: &str) -> (TempDir, Run) {
    let (store, folder) = fresh();
    let run = a_run();
    let note = record("run.opened", &run.id);
    let opened = store.open_run(run.clone(), None, None, note);
    opened.await.unwrap();
    let mut set = tokio::task::JoinSet::new();
    for _ in 1..entries {
        let store = store.clone();
        set.spawn(async move { store.record(record("hub.noted", "hub")).await });
    }
    for written in set.join_all().await {
        written.unwrap();
    }
    store.close().await;
    let conn = Connection::open(file(&folder)).unwrap();
    conn.execute_batch(harm).unwrap();
    (folder, run)
}

#[tokio::test]
async fn a_store_that_is_not_whole_does_not_open() {
    let changed = "the store is damaged: entry 3 of the audit was changed, or one before it";
    for (harm, wanted) in [
        (
            "UPDATE audit SET record = replace(record, 'ann', 'eve') WHERE seq = 3",
            changed,
        ),
        (
            "UPDATE audit SET hash = zeroblob(32) WHERE seq = 3",
            changed,
        ),
        ("DELETE FROM audit WHERE seq = 3", changed),
        (
            "DELETE FROM audit WHERE seq = 3; UPDATE audit SET seq = seq - 1 WHERE seq > 3",
            changed,
        ),
        (
            "UPDATE audit SET hash = x'00' WHERE seq = 3",
            "the store is damaged: column `hash`: no hash",
        ),
        (
            "UPDATE audit SET seq = -seq; DELETE FROM audit WHERE seq < -1",
            "the store is damaged: column `seq`: out of range integral type conversion attempted",
        ),
        (
            "PRAGMA user_version = 99",
            "the store was made by a newer helve (schema 99, this one knows 5); start that one",
        ),
        (
            "PRAGMA user_version = -1",
            "the store is damaged: its schema has the number -1",
        ),
    ] {
        let (folder, _) = after(5, harm).await;
        let error = SqliteStore::open(&file(&folder)).unwrap_err();
        assert_eq!(error.to_string(), wanted, "{harm}");
        // And it is not kept from whoever can mend it.
        let error = SqliteStore::open(&file(&folder)).unwrap_err();
        assert!(!matches!(error, StoreError::Locked(_)), "{harm}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(file(&folder), "no database at all, ".repeat(1_000)).unwrap();
    let error = SqliteStore::open(&file(&folder)).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    let error = SqliteStore::open(&folder.path().join("no/such/folder.db")).unwrap_err();
    assert!(matches!(error, StoreError::Unwritable(_)), "{error}");
}

/// A start looks at the last 1,000, however many there are.
#[tokio::test]
async fn the_end_of_the_chain_is_verified() {
    for (seq, opens) in [(5, true), (6, false), (1_005, false)] {
        let harm = format!("UPDATE audit SET record = record || ' ' WHERE seq = {seq}");
        let (folder, _) = after(1_005, &harm).await;
        let opened = SqliteStore::open(&file(&folder));
        assert_eq!(opened.is_ok(), opens, "{seq}");
    }
}

#[tokio::test]
async fn what_cannot_be_understood_is_told() {
    for (harm, wanted) in [
        ("state = 'lost'", "column `state`: `lost`"),
        ("id = 'run_1'", ""),
        (
            "args = '{'",
            "column `args`: EOF while parsing an object at line 1 column 1",
        ),
        (
            "answer = ''",
            "column `answer`: EOF while parsing a value at line 1 column 0",
        ),
        ("version_hash = x'00'", "column `version_hash`: no hash"),
        (
            "approval = 'apr_\u{1b}'",
            "column `approval`: `apr_\\u{1b}`",
        ),
        (
            "exit_code = 1 << 40",
            "Integer 1099511627776 out of range at index 13",
        ),
        (
            "owner = CAST(x'ff' AS TEXT)",
            "invalid utf-8 sequence of 1 bytes from index 0 at index 4",
        ),
    ] {
        let (folder, run) = after(2, &format!("UPDATE runs SET {harm}")).await;
        let store = SqliteStore::open(&file(&folder)).unwrap();
        let found = store.run(&run.id).await;
        let listed = store.runs(RunFilter::default(), 9).await;
        assert!(matches!(listed, Err(StoreError::Damaged(_))), "{harm}");
        if wanted.is_empty() {
            assert_eq!(found.unwrap(), None);
            continue;
        }
        let wanted = format!("the store is damaged: {wanted}");
        assert_eq!(found.unwrap_err().to_string(), wanted, "{harm}");
        // What is not touched by it goes on.
        store.record(record("hub.noted", "hub")).await.unwrap();
    }
}
