//! The tables, and how an old file gets them.
//!
//! What a call writes is kept to few pages: runs and entries go to the end of their
//! table, ids sort by time, and their indexes grow at the end as well. Fat columns
//! stand last, so that a walk over runs does not read them.

use rusqlite::{Connection, TransactionBehavior};

use super::failure::Failure;

/// Each brings a file from its place in the list to the next; never changed once
/// released.
const MIGRATIONS: &[&str] = &[FIRST, CHANGES, CALLS, TEXTS, REDO];

/// Brings a file up to date.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), Failure> {
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > known {
        return Err(Failure::TooNew { found, known });
    }
    let done = usize::try_from(found)
        .map_err(|_| Failure::Broken(format!("its schema has the number {found}")))?;
    for (i, step) in MIGRATIONS.iter().enumerate().skip(done) {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", i64::try_from(i + 1).unwrap_or(known))?;
        tx.commit()?;
    }
    Ok(())
}

const FIRST: &str = "
    CREATE TABLE versions (
        n INTEGER PRIMARY KEY,
        tool TEXT NOT NULL,
        version TEXT NOT NULL,
        hash BLOB NOT NULL,
        made_by TEXT NOT NULL,
        at INTEGER NOT NULL,
        why TEXT,
        fingerprint TEXT,
        definition TEXT NOT NULL,
        UNIQUE (tool, version)
    ) STRICT;

    CREATE TABLE tools (
        name TEXT PRIMARY KEY,
        version TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        removed INTEGER NOT NULL,
        source TEXT NOT NULL,
        FOREIGN KEY (name, version) REFERENCES versions (tool, version)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE runs (
        id TEXT PRIMARY KEY,
        tool TEXT NOT NULL,
        version TEXT NOT NULL,
        version_hash BLOB NOT NULL,
        owner TEXT NOT NULL,
        under TEXT,
        agent TEXT,
        state TEXT NOT NULL,
        open INTEGER NOT NULL,
        created INTEGER NOT NULL,
        started INTEGER,
        ended INTEGER,
        approval TEXT,
        exit_code INTEGER,
        args TEXT NOT NULL,
        answer TEXT
    ) STRICT, WITHOUT ROWID;
    -- Small, however many runs there were: what a hub looks for when it starts.
    -- A list of states in its condition would be built anew for every row.
    CREATE INDEX runs_open ON runs (state) WHERE open;

    CREATE TABLE keys (
        owner TEXT NOT NULL,
        key TEXT NOT NULL,
        body BLOB NOT NULL,
        run TEXT NOT NULL REFERENCES runs (id),
        PRIMARY KEY (owner, key)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE chunks (
        n INTEGER PRIMARY KEY,
        run TEXT NOT NULL REFERENCES runs (id),
        seq INTEGER NOT NULL,
        stream TEXT NOT NULL,
        at INTEGER NOT NULL,
        bytes BLOB NOT NULL,
        UNIQUE (run, seq)
    ) STRICT;

    CREATE TABLE approvals (
        n INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        run TEXT NOT NULL REFERENCES runs (id),
        bound BLOB NOT NULL,
        tool TEXT NOT NULL,
        version TEXT NOT NULL,
        requester TEXT NOT NULL,
        under TEXT,
        reason TEXT NOT NULL,
        needed INTEGER NOT NULL,
        state TEXT NOT NULL,
        created INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        notice TEXT NOT NULL,
        notice_failure TEXT,
        decisions TEXT NOT NULL,
        args TEXT NOT NULL
    ) STRICT;
    CREATE INDEX approvals_state ON approvals (state, id);

    CREATE TABLE tokens (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        hash BLOB NOT NULL,
        kind TEXT NOT NULL,
        owner TEXT NOT NULL,
        under TEXT,
        permissions TEXT NOT NULL,
        scopes TEXT NOT NULL,
        max_risk TEXT NOT NULL,
        created INTEGER NOT NULL,
        created_by TEXT NOT NULL,
        expires INTEGER,
        revoked INTEGER
    ) STRICT, WITHOUT ROWID;

    -- `record` is the canonical text that was hashed; the columns before it are
    -- copies out of it, to find it by.
    CREATE TABLE audit (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        event TEXT NOT NULL,
        actor TEXT NOT NULL,
        resource TEXT NOT NULL,
        hash BLOB NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE INDEX audit_resource ON audit (resource, seq);

    -- Where the entries of each minute begin: an index over all times would be
    -- written with every entry, and is asked for rarely.
    CREATE TABLE audit_minutes (
        minute INTEGER PRIMARY KEY,
        first INTEGER NOT NULL
    ) STRICT;
";

const CHANGES: &str = "
    CREATE TABLE changes (
        run TEXT PRIMARY KEY REFERENCES runs (id),
        id BLOB NOT NULL,
        state TEXT NOT NULL,
        at INTEGER NOT NULL,
        count INTEGER NOT NULL,
        ord INTEGER UNIQUE,
        pinned INTEGER NOT NULL,
        manifest BLOB NOT NULL,
        rows TEXT NOT NULL,
        staged BLOB,
        reply TEXT
    ) STRICT;

    -- What tools remember: memories, notes, plans.
    CREATE TABLE records (
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (collection, key)
    ) STRICT, WITHOUT ROWID;

    -- Which commit touched which path: the history of a path across runs.
    CREATE TABLE changed_paths (
        path BLOB NOT NULL,
        ord INTEGER NOT NULL,
        kind TEXT NOT NULL,
        PRIMARY KEY (path, ord)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX changed_paths_ord ON changed_paths (ord, path);
";

const CALLS: &str = "
    -- Which calls of the journal are in the tables: those of this epoch, up to that number.
    -- `commits` is there to be changed: a commit that changes nothing syncs nothing.
    CREATE TABLE journal (
        epoch INTEGER NOT NULL,
        done INTEGER NOT NULL,
        commits INTEGER NOT NULL
    ) STRICT;
    INSERT INTO journal (epoch, done, commits) VALUES (0, 0, 0);
";

/// The tables are the same. The journal beside them holds texts as they are, which whoever
/// knows only the tables before would take for nothing.
const TEXTS: &str = "";

/// What it takes to apply changes once more, until they are known to be on the disk: few have it
/// at a time. The journal beside the tables holds such changes from now on.
const REDO: &str = "
    ALTER TABLE changes ADD COLUMN redo BLOB;
    CREATE INDEX changes_redo ON changes (run) WHERE redo IS NOT NULL;
";
