//! A change of rows in SQLite: tried out, looked at, put in place.
//!
//! Which rows a statement touches is told by temporary triggers, which nobody else sees and
//! which end with the connection. They note keys alone; what was in the rows is read before
//! and after, so it does not matter in which order triggers run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use helve_kernel::{Place, RowChange, ToolError, Unapplied};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode};
use serde_json::{Map, Value};

use super::value::{self, Bound};
use super::{failed, may_call, prepare};
use crate::database::image::{self, Row, columns_of, damaged, key_of, quoted, shown};
use crate::database::{MOST_CHANGED, Tried};

/// A table whose rows can be told apart, or not.
#[derive(Debug)]
struct Known {
    name: String,
    /// What can be written: no column that is computed.
    columns: Vec<String>,
    key: Vec<String>,
}

/// The tables and views of a database.
#[derive(Debug, Default)]
struct All {
    tables: Vec<Known>,
    views: Vec<String>,
    triggers: i64,
}

type Image = Option<Map<String, Value>>;

/// The rows that were touched: the place of the table, and the key.
type Keys = BTreeSet<(usize, String)>;

/// A row that was touched, with what was in it before and after.
type Touched = ((usize, String), (Image, Image));

pub(super) fn try_out(
    mut conn: Connection,
    sql: &str,
    params: &[Value],
) -> Result<Tried, ToolError> {
    let all = Arc::new(known(&conn).map_err(failed)?);
    // A row that REPLACE puts away fires triggers only so; with triggers of others in the
    // database they would go in circles, and what was put away is counted instead.
    let recursive = all.triggers == 0;
    conn.pragma_update(None, "recursive_triggers", recursive)
        .map_err(failed)?;
    conn.pragma_update(None, "foreign_keys", true)
        .map_err(failed)?;
    watch(&conn, &all).map_err(failed)?;
    conn.execute_batch("BEGIN IMMEDIATE; SAVEPOINT helve")
        .map_err(failed)?;
    let counted = match recursive {
        true => Vec::new(),
        false => counts(&conn, &all).map_err(failed)?,
    };
    let judged = Arc::new(Judged::default());
    let (may, said) = (all.clone(), judged.clone());
    let judge = move |asked: AuthContext<'_>| said.of(&may, &asked);
    conn.authorizer(Some(judge)).map_err(failed)?;
    let done = run(&conn, sql, params, &judged);
    conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)
        .map_err(failed)?;
    let affected = done.map_err(|error| match judged.denied.load(Ordering::Relaxed) {
        true => image::not_a_change(),
        false => error,
    })?;
    let keys = touched(&conn, &all)?;
    let after = images(&conn, &all, &keys)?;
    let counted_after = match recursive {
        true => Vec::new(),
        false => counts(&conn, &all).map_err(failed)?,
    };
    conn.execute_batch("ROLLBACK TO helve").map_err(failed)?;
    let before = images(&conn, &all, &keys)?;
    conn.execute_batch("ROLLBACK").map_err(failed)?;
    let rows: Vec<_> = keys
        .into_iter()
        .zip(before.into_iter().zip(after))
        .collect();
    if !saw_all(&counted, &counted_after, &rows) {
        let problem = "it replaces rows, which cannot be seen in a database that has triggers";
        let hint = "nothing was changed; write it as INSERT … ON CONFLICT DO UPDATE";
        return Err(ToolError::validation(problem).with_hint(hint));
    }
    let rows = rows.into_iter().map(|((table, key), (before, after))| {
        Ok(Row {
            table: shown(&[&all.tables[table].name]),
            key: key_of(&key)?,
            before,
            after,
        })
    });
    Ok(Tried {
        affected,
        rows: rows.collect::<Result<_, ToolError>>()?,
    })
}

pub(super) fn now(conn: &Connection, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
    let all = known(conn).map_err(failed)?;
    conn.execute_batch("BEGIN").map_err(failed)?;
    let found = places.iter().map(|place| {
        let table = table_of(&all, &place.collection)?;
        let image = image(conn, table, &key_of(&place.key)?)?;
        Ok(image.map(Value::Object))
    });
    found.collect()
}

pub(super) fn apply(conn: &Connection, changes: &[RowChange]) -> Result<(), Unapplied> {
    let prepared = put_in_place(conn, changes);
    if let Err(error) = prepared {
        // The connection ends, and with it the transaction.
        return Err(Unapplied::Refused(error));
    }
    match conn.execute_batch("COMMIT") {
        Ok(()) => Ok(()),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => Err(Unapplied::Refused(image::not_exactly())),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Err(Unapplied::Refused(failed(error)))
            }
            _ => Err(Unapplied::Unsure(failed(error))),
        },
    }
}

/// All but the last word.
fn put_in_place(conn: &Connection, changes: &[RowChange]) -> Result<(), ToolError> {
    let all = known(conn).map_err(failed)?;
    conn.pragma_update(None, "recursive_triggers", true)
        .map_err(failed)?;
    conn.pragma_update(None, "foreign_keys", true)
        .map_err(failed)?;
    // What the triggers of the database do to rows is among the changes already. Temporary
    // ones stay.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .map_err(failed)?;
    watch(conn, &all).map_err(failed)?;
    conn.execute_batch("BEGIN IMMEDIATE; PRAGMA defer_foreign_keys = ON")
        .map_err(failed)?;
    let mut others = Vec::new();
    for change in changes {
        if now_of(conn, &all, change)? != change.before {
            others.push(change.name());
        }
    }
    if !others.is_empty() {
        return Err(image::changed_since(&others));
    }
    let mut problem = None;
    for order in image::orders(changes) {
        conn.execute_batch("SAVEPOINT helve").map_err(failed)?;
        match put_all(conn, &all, order) {
            Ok(()) if is_exactly(conn, &all, changes)? => return Ok(()),
            Ok(()) => problem = problem.or(Some(image::not_exactly())),
            Err(error) => problem = problem.or(Some(error)),
        }
        conn.execute_batch("ROLLBACK TO helve; RELEASE helve")
            .map_err(failed)?;
    }
    Err(problem.unwrap_or_else(image::not_exactly))
}

/// Puts changes in place one by one; what another one stands in the way of comes later.
fn put_all(conn: &Connection, all: &All, mut left: Vec<&RowChange>) -> Result<(), ToolError> {
    loop {
        let (mut again, mut why) = (Vec::new(), None);
        let before = left.len();
        for change in left {
            match put(conn, all, change)? {
                Ok(()) => {}
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                    why = Some(error);
                    again.push(change);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        match why {
            None => return Ok(()),
            Some(error) if again.len() == before => {
                let said = super::told(&error);
                return Err(ToolError::conflict(format!(
                    "the rows cannot be put in place: {said}"
                ))
                .with_hint("nothing was changed; rows of others stand in the way"));
            }
            Some(_) => left = again,
        }
    }
}

fn put(
    conn: &Connection,
    all: &All,
    change: &RowChange,
) -> Result<rusqlite::Result<()>, ToolError> {
    let table = table_of(all, &change.collection)?;
    let name = format!("main.{}", quoted(&table.name));
    let bound = |value: &Value| Bound::of_kept(value).ok_or_else(damaged);
    let key = key_of(&change.key)?;
    let key: Vec<Bound> = key.iter().map(bound).collect::<Result<_, _>>()?;
    let here = condition(table);
    let (sql, values) = match (&change.before, &change.after) {
        (_, None) => (format!("DELETE FROM {name} WHERE {here}"), key),
        (None, Some(after)) => {
            let after = columns_of(after)?;
            let names: Vec<String> = after.keys().map(|name| quoted(name)).collect();
            let marks = vec!["?"; names.len()].join(", ");
            let sql = format!("INSERT INTO {name} ({}) VALUES ({marks})", names.join(", "));
            (sql, after.values().map(bound).collect::<Result<_, _>>()?)
        }
        (Some(before), Some(after)) => {
            let differing = image::differing(columns_of(before)?, columns_of(after)?);
            let sets: Vec<String> = differing
                .iter()
                .map(|(name, _)| format!("{} = ?", quoted(name)))
                .collect();
            let values = differing.iter().map(|(_, value)| bound(value));
            let mut values = values.collect::<Result<Vec<_>, _>>()?;
            values.extend(key);
            (
                format!("UPDATE {name} SET {} WHERE {here}", sets.join(", ")),
                values,
            )
        }
    };
    let done = conn.prepare_cached(&sql).and_then(|mut statement| {
        statement
            .execute(rusqlite::params_from_iter(values))
            .map(drop)
    });
    Ok(done)
}

/// Whether exactly these rows were touched, and are as they should be.
fn is_exactly(conn: &Connection, all: &All, changes: &[RowChange]) -> Result<bool, ToolError> {
    let mut wanted = Keys::new();
    for change in changes {
        if now_of(conn, all, change)? != change.after {
            return Ok(false);
        }
        let index = all
            .tables
            .iter()
            .position(|t| shown(&[&t.name]) == image::table_of(&change.collection));
        wanted.extend(index.map(|index| (index, change.key.clone())));
    }
    Ok(touched(conn, all)?.is_subset(&wanted))
}

fn now_of(conn: &Connection, all: &All, change: &RowChange) -> Result<Option<Value>, ToolError> {
    let table = table_of(all, &change.collection)?;
    Ok(image(conn, table, &key_of(&change.key)?)?.map(Value::Object))
}

fn run(conn: &Connection, sql: &str, params: &[Value], judged: &Judged) -> Result<u64, ToolError> {
    let mut statement = prepare(conn, sql, params)?;
    // Not all that changes something asks whether it may: VACUUM does not.
    if statement.is_explain() != 0 || !judged.changes_rows.load(Ordering::Relaxed) {
        return Err(image::not_a_change());
    }
    let mut rows = statement.raw_query();
    while rows.next().map_err(failed)?.is_some() {}
    drop(rows);
    Ok(conn.changes())
}

/// What was asked while a statement was prepared.
#[derive(Default)]
struct Judged {
    denied: AtomicBool,
    changes_rows: AtomicBool,
}

impl Judged {
    fn of(&self, all: &All, asked: &AuthContext<'_>) -> Authorization {
        let answer = may_change(all, asked);
        let changes = matches!(
            asked.action,
            AuthAction::Insert { .. } | AuthAction::Update { .. } | AuthAction::Delete { .. }
        );
        if changes && asked.accessor.is_none() {
            self.changes_rows.store(true, Ordering::Relaxed);
        }
        if answer == Authorization::Deny {
            self.denied.store(true, Ordering::Relaxed);
        }
        answer
    }
}

/// What an update may touch: rows of ordinary tables, and by itself nothing of ours.
fn may_change(all: &All, asked: &AuthContext<'_>) -> Authorization {
    let table = |name: &str| {
        let known = |known: &str| known == name;
        all.tables.iter().any(|t| known(&t.name)) || all.views.iter().any(|v| known(v))
    };
    let ours = asked.accessor.is_some_and(|name| name.starts_with(WATCHER));
    let allowed = match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Function { function_name } => return may_call(function_name),
        AuthAction::Insert { table_name } if table_name == KEYS => ours,
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. } => {
            asked.database_name == Some("main") && table(table_name)
        }
        _ => false,
    };
    match allowed {
        true => Authorization::Allow,
        false => Authorization::Deny,
    }
}

/// The temporary table of the keys.
const KEYS: &str = "helve_keys";

/// How the names of our triggers begin.
const WATCHER: &str = "helve_watch_";

/// Notes the keys of every row that is touched from now on.
fn watch(conn: &Connection, all: &All) -> rusqlite::Result<()> {
    let widest = all
        .tables
        .iter()
        .map(|t| t.key.len())
        .max()
        .unwrap_or_default();
    let columns: String = (0..widest).map(|n| format!(", k{n}")).collect();
    conn.execute_batch(&format!("CREATE TEMP TABLE {KEYS} (t{columns})"))?;
    for (index, table) in all.tables.iter().enumerate() {
        let columns: String = (0..table.key.len()).map(|n| format!(", k{n}")).collect();
        let note = |side: &str| {
            let key: String = table
                .key
                .iter()
                .map(|c| format!(", {side}.{}", quoted(c)))
                .collect();
            format!("INSERT INTO {KEYS} (t{columns}) VALUES ({index}{key});")
        };
        for (event, sides) in [
            ("INSERT", vec!["NEW"]),
            ("UPDATE", vec!["OLD", "NEW"]),
            ("DELETE", vec!["OLD"]),
        ] {
            let notes: String = sides.into_iter().map(note).collect();
            conn.execute_batch(&format!(
                "CREATE TEMP TRIGGER {WATCHER}{event}_{index} AFTER {event} ON main.{} BEGIN {notes} END",
                quoted(&table.name)
            ))?;
        }
    }
    Ok(())
}

/// The rows that were touched since.
fn touched(conn: &Connection, all: &All) -> Result<Keys, ToolError> {
    let mut keys = Keys::new();
    let sql = format!("SELECT DISTINCT * FROM temp.{KEYS}");
    let mut statement = conn.prepare(&sql).map_err(failed)?;
    let mut rows = statement.query([]).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        let index: u32 = row.get(0).map_err(failed)?;
        let index = index as usize;
        let table = &all.tables[index];
        if table.key.is_empty() {
            return Err(image::no_key(&shown(&[&table.name])));
        }
        let key = (1..=table.key.len()).map(|n| Ok(value::kept(row.get_ref(n)?)));
        let key: Vec<Value> = key.collect::<Result<_, _>>().map_err(failed)?;
        if key.iter().any(Value::is_null) {
            return Err(ToolError::validation(format!(
                "a row of `{}` has NULL in its primary key, so it cannot be told apart",
                shown(&[&table.name])
            )));
        }
        keys.insert((index, Value::Array(key).to_string()));
        if keys.len() > MOST_CHANGED {
            return Err(image::too_many());
        }
    }
    Ok(keys)
}

fn counts(conn: &Connection, all: &All) -> rusqlite::Result<Vec<i64>> {
    let count = |table: &Known| {
        let sql = format!("SELECT count(*) FROM main.{}", quoted(&table.name));
        conn.query_row(&sql, [], |row| row.get(0))
    };
    all.tables.iter().map(count).collect()
}

/// Whether as many rows have come and gone as were seen.
fn saw_all(before: &[i64], after: &[i64], rows: &[Touched]) -> bool {
    let mut seen: BTreeMap<usize, i64> = BTreeMap::new();
    for ((table, _), (was, is)) in rows {
        *seen.entry(*table).or_default() += i64::from(is.is_some()) - i64::from(was.is_some());
    }
    let mut counted = before.iter().zip(after).enumerate();
    counted.all(|(index, (before, after))| {
        after - before == seen.get(&index).copied().unwrap_or_default()
    })
}

fn images(conn: &Connection, all: &All, keys: &Keys) -> Result<Vec<Image>, ToolError> {
    keys.iter()
        .map(|(table, key)| image(conn, &all.tables[*table], &key_of(key)?))
        .collect()
}

/// What is in a row.
fn image(conn: &Connection, table: &Known, key: &[Value]) -> Result<Image, ToolError> {
    let columns: Vec<String> = table.columns.iter().map(|name| quoted(name)).collect();
    let sql = format!(
        "SELECT {} FROM main.{} WHERE {}",
        columns.join(", "),
        quoted(&table.name),
        condition(table)
    );
    let key = key
        .iter()
        .map(|value| Bound::of_kept(value).ok_or_else(damaged));
    let key: Vec<Bound> = key.collect::<Result<_, _>>()?;
    let mut statement = conn.prepare_cached(&sql).map_err(failed)?;
    if statement.parameter_count() != key.len() {
        return Err(ToolError::conflict(format!(
            "`{}` has another primary key now",
            table.name
        )));
    }
    let mut rows = statement
        .query(rusqlite::params_from_iter(key))
        .map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else {
        return Ok(None);
    };
    let mut image = Map::new();
    for (index, name) in table.columns.iter().enumerate() {
        image.insert(
            name.clone(),
            value::kept(row.get_ref(index).map_err(failed)?),
        );
    }
    Ok(Some(image))
}

fn condition(table: &Known) -> String {
    let same = table.key.iter().map(|name| format!("{} = ?", quoted(name)));
    same.collect::<Vec<_>>().join(" AND ")
}

fn table_of<'a>(all: &'a All, collection: &str) -> Result<&'a Known, ToolError> {
    let name = image::table_of(collection);
    let found = all
        .tables
        .iter()
        .find(|table| shown(&[&table.name]) == name);
    let found =
        found.ok_or_else(|| ToolError::conflict(format!("there is no table `{name}` any more")))?;
    match found.key.is_empty() {
        true => Err(image::no_key(name)),
        false => Ok(found),
    }
}

fn known(conn: &Connection) -> rusqlite::Result<All> {
    let mut all = All::default();
    let sql = "SELECT name, type FROM pragma_table_list
               WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let mut list = conn.prepare(sql)?;
    let list = list.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let list: Vec<(String, String)> = list.collect::<Result<_, _>>()?;
    for (name, kind) in list {
        match kind.as_str() {
            "view" => all.views.push(name),
            "table" => all.tables.push(known_table(conn, name)?),
            // Virtual tables, and what is behind them, keep rows in ways of their own.
            _ => {}
        }
    }
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'";
    all.triggers = conn.query_row(sql, [], |row| row.get(0))?;
    Ok(all)
}

fn known_table(conn: &Connection, name: String) -> rusqlite::Result<Known> {
    let sql = "SELECT name, pk, hidden FROM pragma_table_xinfo(?1)";
    let mut statement = conn.prepare(sql)?;
    let mut rows = statement.query([&name])?;
    let (mut columns, mut key) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next()? {
        let (column, nth, hidden): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if nth > 0 {
            key.push((nth, column.clone()));
        }
        if hidden == 0 {
            columns.push(column);
        }
    }
    key.sort();
    let key = key.into_iter().map(|(_, column)| column).collect();
    Ok(Known { name, columns, key })
}
