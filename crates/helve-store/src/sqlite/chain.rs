//! The record: how entries are written, read and checked.

use std::borrow::Cow;

use helve_core::audit::{Entry, Hash, Head};
use helve_kernel::store::{AuditFilter, Order, Record};
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::row::{self, Query, change, count, number, shallow};
use super::writer::Tx;

/// How many entries are verified at every start. The whole chain is for `audit
/// verify`: a start must not take longer the longer a hub has lived.
const TAIL: u64 = 1_000;

/// A record, ready to be written: what costs time is done by whoever asks, not by
/// the writer for whom all wait.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    at: i64,
    event: Cow<'static, str>,
    actor: String,
    resource: String,
    /// The entry, as it is hashed. In the journal it stands apart, as do other texts.
    #[serde(default, skip_serializing)]
    pub(super) text: String,
}

impl Line {
    pub(super) fn new(record: Record) -> Result<Self, Failure> {
        for (_, value) in record.details() {
            shallow(value)?;
        }
        Ok(Self {
            at: record.at.0,
            event: Cow::Borrowed(record.event),
            text: record.canonical()?,
            actor: record.actor,
            resource: record.resource,
        })
    }
}

impl Tx<'_> {
    /// Adds an entry to the record.
    pub(super) fn append(&mut self, line: &Line) -> Result<(), Failure> {
        let head = self.head.after(line.text.as_bytes());
        change(
            self.conn,
            "INSERT INTO audit (seq, at, event, actor, resource, hash, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                number(head.seq),
                line.at,
                line.event,
                line.actor,
                line.resource,
                head.hash.as_bytes(),
                line.text
            ],
        )?;
        self.begin_minute(line.at.div_euclid(MINUTE), head.seq)?;
        self.head = head;
        Ok(())
    }

    /// Remembers where a minute begins; the first to say so is right.
    fn begin_minute(&mut self, minute: i64, seq: u64) -> Result<(), Failure> {
        if self.minute == Some(minute) {
            return Ok(());
        }
        let sql = "INSERT OR IGNORE INTO audit_minutes (minute, first) VALUES (?1, ?2)";
        let mut statement = self.conn.prepare_cached(sql)?;
        statement.execute(params![minute, number(seq)])?;
        self.minute = Some(minute);
        Ok(())
    }
}

/// In milliseconds.
const MINUTE: i64 = 60_000;

/// The number before the first entry that can be of that time or later; `None` if
/// there is none.
fn before(conn: &Connection, since: i64) -> Result<Option<i64>, Failure> {
    let sql = "SELECT min(first) AS first FROM audit_minutes WHERE minute >= ?1";
    let first = row::row(conn, sql, params![since.div_euclid(MINUTE)], |row| {
        let first: Option<i64> = row.get("first")?;
        Ok(first)
    })?;
    Ok(first.flatten().map(|first| first - 1))
}

pub(super) fn entries(
    conn: &Connection,
    filter: AuditFilter,
    limit: usize,
) -> Result<Vec<Entry>, Failure> {
    let mut after = number(filter.after);
    if let Some(since) = filter.since {
        match before(conn, since.0)? {
            Some(before) => after = after.max(before),
            None => return Ok(Vec::new()),
        }
    }
    let order = match filter.order {
        Order::OldestFirst => "seq",
        Order::NewestFirst => "seq DESC",
    };
    Query::new("SELECT seq, hash, record FROM audit")
        .and("seq > ?", Some(after))
        .and("seq < ?", filter.before.map(number))
        .and("resource = ?", filter.resource)
        .and("actor = ?", filter.actor)
        .and("event = ?", filter.event)
        .and("at >= ?", filter.since.map(|at| at.0))
        .and("at < ?", filter.until.map(|at| at.0))
        .rows(conn, order, limit, |row| {
            Ok(Entry {
                seq: count(row, "seq")?,
                record: row::value(row, "record")?,
                hash: row::hash(row, "hash")?,
            })
        })
}

/// Where the chain stands.
pub(super) fn head(conn: &Connection) -> Result<Head, Failure> {
    let sql = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    Ok(row::row(conn, sql, params![], to_head)?.unwrap_or(Head::START))
}

/// Where the chain stands, where its last entries follow from each other.
pub(super) fn verified_head(conn: &Connection) -> Result<Head, Failure> {
    let last = head(conn)?;
    let before = last.seq.saturating_sub(TAIL);
    let sql = "SELECT seq, hash FROM audit WHERE seq = ?1";
    let mut found = match before {
        0 => Head::START,
        seq => row::row(conn, sql, params![number(seq)], to_head)?
            .ok_or_else(|| Failure::Broken(format!("entry {seq} of the audit is missing")))?,
    };
    let mut statement =
        conn.prepare("SELECT seq, hash, record FROM audit WHERE seq > ?1 ORDER BY seq")?;
    let mut rows = statement.query([number(before)])?;
    while let Some(row) = rows.next()? {
        let text = row.get_ref("record")?.as_str();
        let text = text.map_err(|e| row::broken("record", &e))?;
        let next = found.after(text.as_bytes());
        if to_head(row)? != next {
            let seq = next.seq;
            let why = format!("entry {seq} of the audit was changed, or one before it");
            return Err(Failure::Broken(why));
        }
        found = next;
    }
    Ok(found)
}

fn to_head(row: &Row<'_>) -> Result<Head, Failure> {
    let hash: Hash = row::hash(row, "hash")?;
    let seq = count(row, "seq")?;
    Ok(Head { seq, hash })
}
