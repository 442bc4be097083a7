//! What runs changed, in which order, and which paths.

use helve_core::audit::Hash;
use helve_kernel::store::Record;
use helve_kernel::{
    Approval, At, Changes, ChangesFilter, ChangesState, HistoryFilter, Past, Place, RowChange,
    RunId, RunState, Settled, StoreError, Touched, Turn,
};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approvals::{self, NewApproval};
use super::chain::Line;
use super::failure::Failure;
use super::row::{self, Query, at, change, count, hash, json, maybe_value, number, word};
use super::tools::noted;
use super::writer::Tx;
use super::{SqliteStore, runs};

/// Changes, ready to be written.
struct NewChanges {
    changes: Changes,
    rows: String,
    reply: Option<String>,
    approval: Option<NewApproval>,
}

impl SqliteStore {
    pub(super) async fn put_changes(
        &self,
        changes: Changes,
        approval: Option<Approval>,
        record: Record,
    ) -> Result<bool, StoreError> {
        let line = Line::new(record)?;
        let new = NewChanges {
            rows: json(&changes.rows.iter().map(RowChange::to_value).collect())?,
            reply: changes.reply.as_ref().map(json).transpose()?,
            approval: approval.map(NewApproval::new).transpose()?,
            changes,
        };
        self.write(move |tx| keep(tx, &new, &line)).await
    }
}

fn keep(tx: &mut Tx<'_>, new: &NewChanges, line: &Line) -> Result<bool, Failure> {
    let changes = &new.changes;
    if runs::state(tx.conn, changes.run.as_str())? != Some(RunState::Running) {
        return Ok(false);
    }
    let sql = "INSERT OR IGNORE INTO changes
                   (run, id, state, at, count, pinned, manifest, rows, staged, reply, redo)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let kept = change(
        tx.conn,
        sql,
        params![
            changes.run.as_str(),
            changes.id.as_bytes(),
            changes.state.as_str(),
            changes.at.0,
            number(changes.count),
            changes.pinned,
            changes.manifest,
            new.rows,
            changes.staged,
            new.reply,
            changes.redo
        ],
    )?;
    if kept == 0 {
        return Ok(false);
    }
    if let Some(approval) = &new.approval {
        approvals::insert(tx.conn, approval)?;
        let sql = "UPDATE runs SET state = ?2, approval = ?3 WHERE id = ?1";
        let (staged, id) = (RunState::Staged.as_str(), approval.id());
        change(tx.conn, sql, params![changes.run.as_str(), staged, id])?;
    }
    tx.append(line)?;
    Ok(true)
}

/// Gives open changes of a run their end.
pub(super) fn settle(conn: &Connection, run: &str, settled: &Settled) -> Result<(), Failure> {
    let paths = match settled {
        Settled::Dropped => {
            let sql =
                "UPDATE changes SET state = 'dropped', staged = NULL, reply = NULL, redo = NULL
                       WHERE run = ?1 AND state IN ('staged', 'committing')";
            change(conn, sql, params![run])?;
            return Ok(());
        }
        Settled::Committed(paths) => paths,
    };
    let sql = "UPDATE changes SET state = 'committed', staged = NULL, reply = NULL,
                   ord = 1 + (SELECT coalesce(max(ord), 0) FROM changes)
               WHERE run = ?1 AND state IN ('staged', 'committing')";
    if change(conn, sql, params![run])? == 0 {
        return Ok(());
    }
    for row in rows_of(conn, run)?.iter().filter(|row| !row.is_foreign()) {
        put_row(conn, row)?;
    }
    let mut insert = conn.prepare_cached(
        "INSERT INTO changed_paths (path, ord, kind)
         VALUES (?1, (SELECT ord FROM changes WHERE run = ?2), ?3)",
    )?;
    for Touched { path, kind } in paths {
        insert.execute(params![path, run, kind])?;
    }
    Ok(())
}

fn rows_of(conn: &Connection, run: &str) -> Result<Vec<RowChange>, Failure> {
    let sql = "SELECT rows FROM changes WHERE run = ?1";
    let found = row::row(conn, sql, params![run], to_rows)?;
    Ok(found.unwrap_or_default())
}

fn to_rows(row: &Row<'_>) -> Result<Vec<RowChange>, Failure> {
    let list = row::value(row, "rows")?;
    let rows = list.as_array().into_iter().flatten();
    let rows: Option<Vec<RowChange>> = rows.map(RowChange::from_value).collect();
    rows.ok_or_else(|| row::broken("rows", &"no list of changes"))
}

fn put_row(conn: &Connection, row: &RowChange) -> Result<(), Failure> {
    let place = params![row.collection, row.key];
    match &row.after {
        None => change(
            conn,
            "DELETE FROM records WHERE collection = ?1 AND key = ?2",
            place,
        )?,
        Some(value) => change(
            conn,
            "INSERT OR REPLACE INTO records (collection, key, value) VALUES (?1, ?2, ?3)",
            params![row.collection, row.key, json(value)?],
        )?,
    };
    Ok(())
}

pub(super) fn put_rows(tx: &mut Tx<'_>, rows: &[RowChange], line: &Line) -> Result<bool, Failure> {
    for row in rows {
        if record(tx.conn, &row.collection, &row.key)? != row.before {
            return Ok(false);
        }
    }
    for row in rows.iter().filter(|row| row.before != row.after) {
        put_row(tx.conn, row)?;
    }
    tx.append(line)?;
    Ok(true)
}

pub(super) fn record(
    conn: &Connection,
    collection: &str,
    key: &str,
) -> Result<Option<Value>, Failure> {
    let sql = "SELECT value FROM records WHERE collection = ?1 AND key = ?2";
    row::row(conn, sql, params![collection, key], |row| {
        row::value(row, "value")
    })
}

pub(super) fn records(
    conn: &Connection,
    collection: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<(String, Value)>, Failure> {
    Query::new("SELECT key, value FROM records")
        .and("collection = ?", Some(collection.to_owned()))
        .and("key > ?", after.map(str::to_owned))
        .rows(conn, "key", limit, |row| {
            Ok((row.get("key")?, row::value(row, "value")?))
        })
}

/// Staged changes are about to be applied.
pub(super) fn begin(conn: &Connection, run: &str) -> Result<(), Failure> {
    let sql = "UPDATE changes SET state = 'committing' WHERE run = ?1 AND state = 'staged'";
    change(conn, sql, params![run])?;
    Ok(())
}

pub(super) fn turn(conn: &Connection, turn: &Turn) -> Result<(), Failure> {
    let (run, undone) = (turn.run.as_str(), turn.undone);
    let of_run = match undone {
        true => [RunState::Succeeded, RunState::Undone],
        false => [RunState::Undone, RunState::Succeeded],
    };
    let [from, to] = of_run.map(RunState::as_str);
    let sql = "UPDATE runs SET state = ?3 WHERE id = ?1 AND state = ?2";
    change(conn, sql, params![run, from, to])?;
    let of_changes = match undone {
        true => [ChangesState::Committed, ChangesState::Undone],
        false => [ChangesState::Undone, ChangesState::Committed],
    };
    let [from, to] = of_changes.map(ChangesState::as_str);
    let sql = "UPDATE changes SET state = ?3 WHERE run = ?1 AND state = ?2";
    change(conn, sql, params![run, from, to])?;
    Ok(())
}

pub(super) fn pin(
    tx: &mut Tx<'_>,
    run: &RunId,
    pinned: bool,
    line: &Line,
) -> Result<bool, Failure> {
    let sql = "UPDATE changes SET pinned = ?2 WHERE run = ?1 AND pinned <> ?2";
    let changed = change(tx.conn, sql, params![run.as_str(), pinned])?;
    noted(tx, changed, line)
}

pub(super) fn expire(tx: &mut Tx<'_>, run: &RunId, line: &Line) -> Result<bool, Failure> {
    let sql = "UPDATE changes SET state = 'expired', rows = '[]'
               WHERE run = ?1 AND state IN ('committed', 'undone') AND NOT pinned";
    let changed = change(tx.conn, sql, params![run.as_str()])?;
    noted(tx, changed, line)
}

pub(super) fn forget_redo(tx: &mut Tx<'_>, runs: &[RunId]) -> Result<bool, Failure> {
    let mut none = true;
    for run in runs {
        let sql = "UPDATE changes SET redo = NULL
                   WHERE run = ?1 AND redo IS NOT NULL AND state <> 'committing'";
        change(tx.conn, sql, params![run.as_str()])?;
        let sql = "SELECT 1 FROM changes WHERE run = ?1 AND redo IS NOT NULL";
        none &= row::row(tx.conn, sql, params![run.as_str()], |_| Ok(()))?.is_none();
    }
    Ok(none)
}

/// Changes on their way into the tables: of one that is under way, with a redo and nothing else
/// beside its manifest.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    run: String,
    id: String,
    at: i64,
    count: u64,
    #[serde(default, skip_serializing)]
    pub(super) manifest: Vec<u8>,
    #[serde(default, skip_serializing)]
    pub(super) redo: Vec<u8>,
}

impl Kept {
    pub(super) fn run(&self) -> &str {
        &self.run
    }

    /// Changes that may go by way of the journal; others come back.
    pub(super) fn new(changes: Changes) -> Result<Self, Box<Changes>> {
        let plain = changes.state == ChangesState::Committing
            && !changes.pinned
            && changes.order.is_none()
            && changes.rows.is_empty()
            && changes.staged.is_none()
            && changes.reply.is_none();
        match changes.redo {
            Some(redo) if plain => Ok(Self {
                run: changes.run.as_str().to_owned(),
                id: changes.id.to_string(),
                at: changes.at.0,
                count: changes.count,
                manifest: changes.manifest,
                redo,
            }),
            redo => Err(Box::new(Changes { redo, ..changes })),
        }
    }

    /// The changes again.
    pub(super) fn into_changes(self) -> Result<Changes, Failure> {
        let id = Hash::parse(&self.id).ok_or_else(|| row::broken("id", &self.id))?;
        let run = RunId::parse(&self.run).ok_or_else(|| row::broken("run", &self.run))?;
        Ok(Changes {
            run,
            id,
            state: ChangesState::Committing,
            at: At(self.at),
            count: self.count,
            order: None,
            pinned: false,
            manifest: self.manifest,
            rows: Vec::new(),
            staged: None,
            reply: None,
            redo: Some(self.redo),
        })
    }

    /// Brings them into the table. That the run was at work is known.
    pub(super) fn insert(&self, conn: &Connection) -> Result<(), Failure> {
        let id = Hash::parse(&self.id).ok_or_else(|| row::broken("id", &self.id))?;
        let sql = "INSERT OR IGNORE INTO changes
                       (run, id, state, at, count, pinned, manifest, rows, redo)
                   VALUES (?1, ?2, 'committing', ?3, ?4, 0, ?5, '[]', ?6)";
        let (at, count) = (self.at, number(self.count));
        let values = params![self.run, id.as_bytes(), at, count, self.manifest, self.redo];
        change(conn, sql, values)?;
        Ok(())
    }
}

/// Goes through all of them: it is done rarely, and nothing may be missed.
pub(super) fn purge(tx: &mut Tx<'_>, places: &[Place], line: &Line) -> Result<Vec<RunId>, Failure> {
    let all = Query::new("SELECT * FROM changes")
        .given("rows <> '[]'")
        .rows(tx.conn, "run", usize::MAX, to_changes)?;
    let mut purged = Vec::new();
    for mut changes in all {
        if !changes.purge(places) {
            continue;
        }
        let rows = json(&changes.rows.iter().map(RowChange::to_value).collect())?;
        let sql = "UPDATE changes SET state = ?2, rows = ?3 WHERE run = ?1";
        let (run, state) = (changes.run.as_str(), changes.state.as_str());
        change(tx.conn, sql, params![run, state, rows])?;
        purged.push(changes.run);
    }
    tx.append(line)?;
    Ok(purged)
}

pub(super) fn get(conn: &Connection, run: &RunId) -> Result<Option<Changes>, Failure> {
    let sql = "SELECT * FROM changes WHERE run = ?1";
    row::row(conn, sql, params![run.as_str()], to_changes)
}

pub(super) fn list(
    conn: &Connection,
    filter: &ChangesFilter,
    limit: usize,
) -> Result<Vec<Changes>, Failure> {
    Query::new("SELECT * FROM changes")
        .and("state = ?", filter.state.map(|s| s.as_str().to_owned()))
        .and("ord >= ?", filter.from.map(number))
        .given(if filter.redo { "redo IS NOT NULL" } else { "1" })
        .rows(conn, "ord DESC, run DESC", limit, to_changes)
}

pub(super) fn history(
    conn: &Connection,
    filter: HistoryFilter,
    limit: usize,
) -> Result<Vec<Past>, Failure> {
    let mut query = Query::new(
        "SELECT p.path, p.ord, p.kind, c.run FROM changed_paths p JOIN changes c ON c.ord = p.ord",
    );
    if let Some(path) = filter.path.filter(|path| path != b"/") {
        // Beneath a folder is what lies between `folder/` and the byte after `/`.
        let between = |end: u8| Sql::Blob([path.as_slice(), &[end]].concat());
        let (from, to) = (between(b'/'), between(b'/' + 1));
        query = query
            .bind(Sql::Blob(path.clone()))
            .bind(from)
            .bind(to)
            .given("(p.path = ?1 OR (p.path > ?2 AND p.path < ?3))");
    }
    query
        .and("c.run = ?", filter.run.map(|r| r.as_str().to_owned()))
        .and("p.ord < ?", filter.before.map(number))
        .rows(conn, "p.ord DESC, p.path", limit, |row| {
            Ok(Past {
                order: count(row, "ord")?,
                run: word(row, "run", RunId::parse)?,
                touched: Touched {
                    path: row.get("path")?,
                    kind: row.get("kind")?,
                },
            })
        })
}

fn to_changes(row: &Row<'_>) -> Result<Changes, Failure> {
    let order: Option<i64> = row.get("ord")?;
    Ok(Changes {
        run: word(row, "run", RunId::parse)?,
        id: hash(row, "id")?,
        state: word(row, "state", ChangesState::parse)?,
        at: at(row, "at")?,
        count: count(row, "count")?,
        order: order.map(|_| count(row, "ord")).transpose()?,
        pinned: row.get("pinned")?,
        manifest: row.get("manifest")?,
        rows: to_rows(row)?,
        staged: row.get("staged")?,
        reply: maybe_value(row, "reply")?,
        redo: row.get("redo")?,
    })
}
