//! Values on their way into columns and back.
//!
//! What comes back is never taken on trust: a word, a hash or a text that is not
//! what it should be is [`Failure::Broken`].

use helve_core::audit::Hash;
use helve_kernel::At;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row, ToSql, params_from_iter};
use serde_json::Value;

use super::failure::Failure;

/// How deep a value may be nested. Readers of JSON stop at 128 levels, and what is
/// kept must be readable within what it is shown in.
const LEVELS: usize = 100;

/// The JSON of a value, where it can be read back.
pub(super) fn json(value: &Value) -> Result<String, Failure> {
    shallow(value)?;
    serde_json::to_string(value).map_err(|e| Failure::Refused(e.to_string()))
}

/// Refuses a value that could be written and not be read again.
pub(super) fn shallow(value: &Value) -> Result<(), Failure> {
    if fits(value, LEVELS) {
        return Ok(());
    }
    let why = format!("a value is nested deeper than {LEVELS} levels");
    Err(Failure::Refused(why))
}

fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|v| fits(v, levels - 1)),
        Value::Object(fields) => levels > 0 && fields.values().all(|v| fits(v, levels - 1)),
        _ => true,
    }
}

/// A number for a column; past its end, the last one that fits.
pub(super) fn number(n: impl TryInto<i64>) -> i64 {
    n.try_into().unwrap_or(i64::MAX)
}

/// A column that holds JSON.
pub(super) fn value(row: &Row<'_>, column: &str) -> Result<Value, Failure> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(|e| broken(column, &e))?;
    serde_json::from_str(text).map_err(|e| broken(column, &e))
}

/// A column that holds JSON or nothing.
pub(super) fn maybe_value(row: &Row<'_>, column: &str) -> Result<Option<Value>, Failure> {
    let text: Option<String> = row.get(column)?;
    text.map(|t| serde_json::from_str(&t).map_err(|e| broken(column, &e)))
        .transpose()
}

/// A column that holds a word, an id or a number in words.
pub(super) fn word<T>(
    row: &Row<'_>,
    column: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Failure> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(|e| broken(column, &e))?;
    parse(text).ok_or_else(|| broken(column, &format!("`{}`", text.escape_debug())))
}

/// A column that holds a hash.
pub(super) fn hash(row: &Row<'_>, column: &str) -> Result<Hash, Failure> {
    let bytes = row
        .get_ref(column)?
        .as_blob()
        .map_err(|e| broken(column, &e))?;
    let bytes = bytes.try_into().map_err(|_| broken(column, &"no hash"))?;
    Ok(Hash::from_bytes(bytes))
}

/// A column that holds a moment.
pub(super) fn at(row: &Row<'_>, column: &str) -> Result<At, Failure> {
    Ok(At(row.get(column)?))
}

/// A column that holds a moment or nothing.
pub(super) fn maybe_at(row: &Row<'_>, column: &str) -> Result<Option<At>, Failure> {
    let ms: Option<i64> = row.get(column)?;
    Ok(ms.map(At))
}

/// A column that holds a number from 0.
pub(super) fn count(row: &Row<'_>, column: &str) -> Result<u64, Failure> {
    let n: i64 = row.get(column)?;
    u64::try_from(n).map_err(|e| broken(column, &e))
}

pub(super) fn broken(column: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::Broken(format!("column `{column}`: {why}"))
}

/// A query whose conditions are known only when it is asked.
pub(super) struct Query {
    sql: String,
    values: Vec<Sql>,
}

impl Query {
    /// All rows of `SELECT … FROM …`.
    pub(super) fn new(select: &str) -> Self {
        Self {
            sql: format!("{select} WHERE 1"),
            values: Vec::new(),
        }
    }

    /// Those only for which it holds; `?` stands for the value.
    #[must_use]
    pub(super) fn and(mut self, condition: &str, value: Option<impl Into<Sql>>) -> Self {
        if let Some(value) = value {
            self.values.push(value.into());
            let place = format!("?{}", self.values.len());
            self.sql.push_str(" AND ");
            self.sql.push_str(&condition.replace('?', &place));
        }
        self
    }

    /// A value for a condition that names its place itself.
    #[must_use]
    pub(super) fn bind(mut self, value: Sql) -> Self {
        self.values.push(value);
        self
    }

    /// Those only for which it holds, of values that were bound before.
    #[must_use]
    pub(super) fn given(mut self, condition: &str) -> Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self
    }

    /// The first of them in that order.
    pub(super) fn rows<T>(
        mut self,
        conn: &Connection,
        order: &str,
        limit: usize,
        read: impl Fn(&Row<'_>) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        self.values.push(Sql::Integer(number(limit)));
        let place = self.values.len();
        let sql = format!("{} ORDER BY {order} LIMIT ?{place}", self.sql);
        rows(conn, &sql, params_from_iter(self.values), read)
    }
}

/// All rows of a query.
pub(super) fn rows<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    read: impl Fn(&Row<'_>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        out.push(read(row)?);
    }
    Ok(out)
}

/// The row of a query that has one or none.
pub(super) fn row<T>(
    conn: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
    read: impl Fn(&Row<'_>) -> Result<T, Failure>,
) -> Result<Option<T>, Failure> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(read).transpose()
}

/// Changes rows, and tells how many.
pub(super) fn change(
    conn: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
) -> Result<usize, Failure> {
    Ok(conn.prepare_cached(sql)?.execute(params)?)
}
