//! SQLite: a file, opened anew for every call.
//!
//! A query has a connection that cannot write, and is asked at every step of its
//! preparation what it may touch: no other file, no extension, no setting. Work goes on in a
//! thread that may wait; when the call is over, so is the statement.

mod update;
pub(super) mod value;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helve_kernel::{Place, RowChange, ToolError, Unapplied};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::image::{quoted, shown};
use super::{Asked, Column, Found, Table, TableColumn, Tried};
use value::Bound;

/// For how long somebody else's lock is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// No value, row or text of SQL is longer.
const LONGEST: i32 = 32 * 1024 * 1024;

/// No more calls work on one file at the same time.
const AT_ONCE: usize = 8;

/// A database in a file.
#[derive(Debug, Clone)]
pub(super) struct Db {
    path: PathBuf,
    turns: Arc<Semaphore>,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Look,
    Change,
}

/// Says to the work that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
struct Over(Arc<AtomicBool>);

/// Says so when it is dropped.
struct WhenDropped(Over);

impl Drop for WhenDropped {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl Db {
    pub(super) fn new(path: PathBuf) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self { path, turns }
    }

    pub(super) async fn query(&self, asked: Asked) -> Result<Found, ToolError> {
        self.work(move |db, over| {
            let mut conn = db.open(Purpose::Look, over)?;
            conn.authorizer(Some(may_look)).map_err(failed)?;
            read(&conn, &asked)
        })
        .await
    }

    pub(super) async fn schema(&self) -> Result<Vec<Table>, ToolError> {
        self.work(|db, over| {
            let conn = db.open(Purpose::Look, over)?;
            tables(&conn).map_err(failed)
        })
        .await
    }

    pub(super) async fn try_out(
        &self,
        sql: String,
        params: Vec<Value>,
    ) -> Result<Tried, ToolError> {
        self.work(move |db, over| update::try_out(db.open(Purpose::Change, over)?, &sql, &params))
            .await
    }

    pub(super) async fn now(&self, places: Vec<Place>) -> Result<Vec<Option<Value>>, ToolError> {
        self.work(move |db, over| update::now(&db.open(Purpose::Look, over)?, &places))
            .await
    }

    pub(super) async fn apply(&self, changes: Vec<RowChange>) -> Result<(), Unapplied> {
        let done = self.work(move |db, over| {
            let conn = db.open(Purpose::Change, over)?;
            Ok(update::apply(&conn, &changes))
        });
        done.await.map_err(Unapplied::Refused)?
    }

    /// In a thread that may wait, which ends soon after nobody waits for it.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db, &Over) -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let closed = |_| ToolError::internal("the database is closed");
        let turn = self.turns.clone().acquire_owned().await.map_err(closed)?;
        let (db, over) = (self.clone(), Over::default());
        let guard = WhenDropped(over.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&db, &over)
        });
        let done = done.await;
        drop(guard);
        done.unwrap_or_else(|e| Err(ToolError::internal(format!("the database crashed: {e}"))))
    }

    fn open(&self, purpose: Purpose, over: &Over) -> Result<Connection, ToolError> {
        // Neither made where it is missing, nor read as an address with options.
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
            | match purpose {
                Purpose::Look => OpenFlags::SQLITE_OPEN_READ_ONLY,
                Purpose::Change => OpenFlags::SQLITE_OPEN_READ_WRITE,
            };
        let unopened = |e: rusqlite::Error| {
            let file = self.path.display();
            ToolError::dependency(format!("`{file}` cannot be opened: {}", told(&e)))
                .with_hint("the file is named in the configuration of the hub")
        };
        let mut conn = Connection::open_with_flags(&self.path, flags).map_err(unopened)?;
        conn.busy_timeout(BUSY).map_err(unopened)?;
        let over = over.clone();
        let stop = move || over.0.load(Ordering::Relaxed);
        conn.progress_handler(1000, Some(stop)).map_err(unopened)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)
            .map_err(unopened)?;
        conn.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
            .map_err(unopened)?;
        for (limit, most) in [
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_LENGTH, LONGEST),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            conn.set_limit(limit, most).map_err(unopened)?;
        }
        if purpose == Purpose::Look {
            conn.pragma_update(None, "query_only", true)
                .map_err(unopened)?;
        }
        // The file is looked at only now: one that is no database is told here.
        conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
            .map_err(unopened)?;
        Ok(conn)
    }
}

/// What a query may touch.
fn may_look(asked: AuthContext<'_>) -> Authorization {
    const PRAGMAS: [&str; 10] = [
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "user_version",
        "schema_version",
        // Full-text search asks for it.
        "data_version",
    ];
    let set = ["user_version", "schema_version"];
    match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Function { function_name } => may_call(function_name),
        AuthAction::Pragma {
            pragma_name,
            pragma_value,
        } if PRAGMAS.contains(&pragma_name) => {
            match pragma_value.is_some() && set.contains(&pragma_name) {
                true => Authorization::Deny,
                false => Authorization::Allow,
            }
        }
        _ => Authorization::Deny,
    }
}

fn may_call(function: &str) -> Authorization {
    match function.eq_ignore_ascii_case("load_extension") {
        true => Authorization::Deny,
        false => Authorization::Allow,
    }
}

fn read(conn: &Connection, asked: &Asked) -> Result<Found, ToolError> {
    let mut statement = prepare(conn, &asked.sql, &asked.params)?;
    if statement.column_count() == 0 {
        return Err(
            ToolError::validation("it gives no rows: only what reads is run here")
                .with_hint("`database_update` changes rows"),
        );
    }
    let columns = statement.columns().map(|column| Column {
        name: column.name().to_owned(),
        r#type: column.decl_type().unwrap_or_default().to_lowercase(),
    });
    let mut found = Found {
        columns: columns.collect(),
        rows: Vec::new(),
        more: false,
    };
    let width = found.columns.len();
    let (mut bytes, mut left_out) = (0, 0);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(failed)? {
        if left_out < asked.offset {
            left_out += 1;
            continue;
        }
        let values = (0..width).map(|i| Ok(value::told(row.get_ref(i)?)));
        let values = values.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        if !found.push(values, &mut bytes, asked) {
            break;
        }
    }
    Ok(found)
}

/// One statement, with its values bound.
fn prepare<'c>(
    conn: &'c Connection,
    sql: &str,
    params: &[Value],
) -> Result<Statement<'c>, ToolError> {
    let mut statement = conn.prepare(sql).map_err(failed)?;
    let wanted = statement.parameter_count();
    if wanted != params.len() {
        return Err(ToolError::validation(format!(
            "the statement has {wanted} placeholders, and `params` has {} values",
            params.len()
        )));
    }
    for (index, param) in params.iter().enumerate() {
        let bound = Bound::of_param(param).ok_or_else(|| {
            ToolError::validation(format!("`params[{index}]` fits no value of SQLite"))
        })?;
        statement
            .raw_bind_parameter(index + 1, bound)
            .map_err(failed)?;
    }
    Ok(statement)
}

fn tables(conn: &Connection) -> rusqlite::Result<Vec<Table>> {
    let sql = "SELECT name, type FROM pragma_table_list
               WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name";
    let mut list = conn.prepare(sql)?;
    let list = list.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let list: Vec<(String, String)> = list.collect::<Result<_, _>>()?;
    list.into_iter()
        .filter(|(_, kind)| kind != "shadow")
        .map(|(name, kind)| table(conn, &name, kind))
        .collect()
}

fn table(conn: &Connection, name: &str, kind: String) -> rusqlite::Result<Table> {
    let mut table = Table {
        name: shown(&[name]),
        kind,
        ..Table::default()
    };
    let mut keys: Vec<(i64, String)> = Vec::new();
    let sql = "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_xinfo(?1) WHERE hidden <> 1";
    let mut columns = conn.prepare(sql)?;
    let mut columns = columns.query([name])?;
    while let Some(row) = columns.next()? {
        let (name, nth): (String, i64) = (row.get(0)?, row.get(4)?);
        if nth > 0 {
            keys.push((nth, name.clone()));
        }
        table.columns.push(TableColumn {
            name,
            r#type: row.get::<_, String>(1)?.to_lowercase(),
            nullable: !row.get::<_, bool>(2)? && nth == 0,
            default: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        });
    }
    keys.sort();
    table.primary_key = keys.into_iter().map(|(_, name)| name).collect();
    let sql = "SELECT group_concat(\"from\", ', '), \"table\", group_concat(coalesce(\"to\", ''), ', '), on_delete
               FROM (SELECT * FROM pragma_foreign_key_list(?1) ORDER BY id, seq) GROUP BY id";
    let mut references = conn.prepare(sql)?;
    let references = references.query_map([name], |row| {
        let (from, to, columns, deleted): (String, String, String, String) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok(format!(
            "({from}) REFERENCES {}({columns}) ON DELETE {deleted}",
            shown(&[&to])
        ))
    })?;
    table.foreign_keys = references.collect::<Result<_, _>>()?;
    let sql =
        "SELECT i.name, i.\"unique\", (SELECT group_concat(coalesce(name, '<expression>'), ', ')
                   FROM pragma_index_info(i.name)) FROM pragma_index_list(?1) i ORDER BY i.name";
    let mut indexes = conn.prepare(sql)?;
    let indexes = indexes.query_map([name], |row| {
        let (index, unique, columns): (String, bool, Option<String>) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let unique = if unique { "UNIQUE " } else { "" };
        Ok(format!(
            "{unique}{} ({})",
            quoted(&index),
            columns.unwrap_or_default()
        ))
    })?;
    table.indexes = indexes.collect::<Result<_, _>>()?;
    Ok(table)
}

/// What went wrong, in the words of a tool.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: rusqlite::Error) -> ToolError {
    let said = told(&error);
    if matches!(error, rusqlite::Error::MultipleStatement) {
        return ToolError::validation("there is more than one statement; only one is run");
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => ToolError::timeout("the statement was stopped"),
        Some(ErrorCode::ReadOnly) => {
            ToolError::permission(format!("a query changes nothing: {said}"))
                .with_hint("`database_update` changes rows")
        }
        Some(ErrorCode::AuthorizationForStatementDenied) => ToolError::permission(format!(
            "the statement may not do that: {said}"
        ))
        .with_hint(
            "queries read tables, and updates change rows of ordinary tables; nothing else is run",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ToolError::transient(format!("somebody else is at work on the database: {said}"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            ToolError::dependency(format!("the database cannot be read: {said}"))
        }
        Some(ErrorCode::SystemIoFailure | ErrorCode::DiskFull) => {
            ToolError::dependency(format!("the disk fails: {said}"))
        }
        _ => ToolError::validation(format!("SQLite says: {said}")),
    }
}

fn told(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(said)) => said.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
