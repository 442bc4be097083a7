//! What a store that was not closed left in its journal.

use std::path::Path;

use helve_core::audit::Head;
use rusqlite::{Connection, params};

use super::failure::Failure;
use super::file;
use super::journal::{Entry, Journal};
use super::op::{self, Op};
use super::row::{self, change, count, number};
use super::writer::Tx;

/// Brings what is only in the journal into the tables, and begins a new epoch of it.
/// Where the chain stands then.
pub(super) fn take_up(
    path: &Path,
    conn: &Connection,
    head: Head,
) -> Result<(Journal, Head), Failure> {
    let beside = file::beside(path, "-calls");
    let (mut journal, entries) = Journal::open(&beside)?;
    let sql = "SELECT epoch, done FROM journal";
    let stands = row::row(conn, sql, params![], |row| {
        Ok((count(row, "epoch")?, count(row, "done")?))
    })?;
    let (epoch, done) =
        stands.ok_or_else(|| Failure::Broken("nothing is said of its journal".to_owned()))?;
    if entries.iter().any(|entry| entry.epoch > epoch) {
        return Err(Failure::Broken(format!(
            "`{}` goes on where a later state of it ended; if you have put an older copy back \
             on purpose, delete that file",
            beside.display()
        )));
    }
    let ops = left(entries, epoch, done)?;
    let transaction = conn.unchecked_transaction()?;
    let mut tx = Tx {
        conn,
        head,
        minute: None,
    };
    op::fold(&mut tx, ops.iter())?;
    let head = tx.head;
    let sql = "UPDATE journal SET epoch = ?1, done = 0";
    change(conn, sql, params![number(epoch + 1)])?;
    transaction.commit()?;
    journal.begin(epoch + 1);
    Ok((journal, head))
}

/// Those of this epoch that are not in the tables, as far as they follow from each other: of
/// what nobody was told that it is durable, a system that went down may have kept any part.
fn left(entries: Vec<Entry>, epoch: u64, done: u64) -> Result<Vec<Op>, Failure> {
    let new = entries
        .into_iter()
        .filter(|entry| entry.epoch == epoch && entry.number > done);
    let mut ops = Vec::new();
    for (entry, wanted) in new.zip(done + 1..) {
        if entry.number != wanted {
            break;
        }
        let op = Op::read(&entry.text).map_err(|e| {
            Failure::Broken(format!("entry {wanted} of its journal cannot be read: {e}"))
        })?;
        ops.push(op);
    }
    Ok(ops)
}
