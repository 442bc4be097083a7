//! The file and those beside it: who may open them, and how.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use helve_kernel::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::failure::Failure;

/// How many pages the log has room for from the start.
const LOG_PAGES: usize = 1_000;

/// How many it holds before it is copied into the database and begun again from its
/// start: 32 MB, which only a busy hub ever fills.
const CHECKPOINT_PAGES: i64 = 8_000;

/// A page and its header in the log.
const FRAME: usize = 4_096 + 24;

/// How many statements a connection keeps compiled: more than there are.
const STATEMENTS: usize = 64;

/// Takes the lock beside the file. It is let go when the file that it gives back is
/// dropped, and by the system when the process dies.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    let beside = beside(path, ".lock");
    let failed = |e: std::io::Error| {
        StoreError::Unwritable(format!("`{}` cannot be locked: {e}", beside.display()))
    };
    let file = private(&beside).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(format!(
            "another helve has this store open: `{}`; stop it first",
            path.display()
        ))),
        Err(TryLockError::Error(e)) => Err(failed(e)),
    }
}

/// Whether somebody holds that lock now.
pub(super) fn is_locked(path: &Path) -> bool {
    let file = File::open(beside(path, ".lock"));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The connection that writes.
pub(super) fn open_writer(path: &Path) -> Result<Connection, Failure> {
    // SQLite gives the log the mode of the database.
    private(path)?;
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    // Said, and not left to how SQLite was built: what a start brings home from the journal is
    // on the disk before that is written over.
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    // What is deleted is gone from the file, and not only from its lists.
    conn.pragma_update(None, "secure_delete", true)?;
    // Every commit of many callers writes some hundred pages, most of them the same
    // ones again: to bring them home after each thousand would be most of the work.
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(conn)
}

/// A connection that reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, Failure> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn open(path: &Path, mode: OpenFlags) -> Result<Connection, Failure> {
    let conn = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // The log would be deleted, and a file that grows again syncs at half the speed.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(conn)
}

/// Gives the log its working size at once: to write over blocks that are there
/// needs no news of the file system in each sync.
pub(super) fn grow_wal(path: &Path, conn: &Connection) -> Result<(), Failure> {
    let length = std::fs::metadata(beside(path, "-wal")).map_or(0, |m| m.len());
    if length >= (LOG_PAGES * FRAME) as u64 {
        return Ok(());
    }
    // Pages that a small cache cannot hold go to the log before anything is decided;
    // what is rolled back then leaves the log empty and long.
    conn.execute_batch(&format!(
        "PRAGMA cache_size = 10;
         BEGIN IMMEDIATE;
         CREATE TABLE room (bytes BLOB);
         INSERT INTO room VALUES (zeroblob({}));
         ROLLBACK;
         PRAGMA cache_size = -2048;",
        LOG_PAGES * 4_096
    ))?;
    Ok(())
}

/// Empties the log of a store that is open. Waits for whoever reads what is still in it.
pub(super) fn empty_log(path: &Path) -> Result<(), Failure> {
    let conn = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy {
        // As SQLite says it where it does not wait.
        let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
        return Err(rusqlite::Error::SqliteFailure(busy, None).into());
    }
    grow_wal(path, &conn)
}

/// Opens or makes a file that only its owner may read.
pub(super) fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
