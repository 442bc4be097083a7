//! Rows as they are kept beside the database: where they are, and what was in them.
//!
//! A row is known by its table and the values of its primary key. In which order rows are put
//! in place matters to unique and foreign keys, and is found by trying.

use helve_kernel::{RowChange, ToolError};
use serde_json::{Map, Value};

use super::MOST_CHANGED;

/// The name of this source among those who keep rows.
pub(super) const SOURCE: &str = "db";

/// A row before and after a change; nothing where it is not there.
pub(super) struct Row {
    /// The table, as it is written in SQL.
    pub(super) table: String,
    pub(super) key: Vec<Value>,
    pub(super) before: Option<Map<String, Value>>,
    pub(super) after: Option<Map<String, Value>>,
}

impl Row {
    pub(super) fn into_change(self, connection: &str) -> RowChange {
        RowChange {
            collection: format!("@{SOURCE}:{connection}:{}", self.table),
            key: Value::Array(self.key).to_string(),
            before: self.before.map(Value::Object),
            after: self.after.map(Value::Object),
        }
    }
}

/// The connection of a collection.
pub(super) fn connection_of(collection: &str) -> &str {
    collection.split(':').nth(1).unwrap_or_default()
}

/// The table of a collection.
pub(super) fn table_of(collection: &str) -> &str {
    collection.splitn(3, ':').nth(2).unwrap_or_default()
}

/// The values of a key.
pub(super) fn key_of(key: &str) -> Result<Vec<Value>, ToolError> {
    serde_json::from_str(key).map_err(|_| damaged())
}

/// What a side of a change says is in the row.
pub(super) fn columns_of(side: &Value) -> Result<&Map<String, Value>, ToolError> {
    side.as_object().ok_or_else(damaged)
}

pub(super) fn damaged() -> ToolError {
    ToolError::internal("what is kept of a row is damaged")
}

/// A name in SQL, quoted where it must be.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name as people write it: parts with dots between them, quoted only where it must be.
pub(super) fn shown(parts: &[&str]) -> String {
    let plain = |part: &str| {
        let mut letters = part.bytes();
        letters
            .next()
            .is_some_and(|c| c.is_ascii_lowercase() || c == b'_')
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
    };
    let parts = parts.iter().map(|part| match plain(part) {
        true => (*part).to_owned(),
        false => quoted(part),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// The two orders in which changes are put in place. Mostly the first one does it; the other
/// is for keys that others refer to.
pub(super) fn orders(changes: &[RowChange]) -> [Vec<&RowChange>; 2] {
    let of = |kind| changes.iter().filter(move |change| change.kind() == kind);
    let gone_first = of("deleted").chain(of("changed")).chain(of("created"));
    let new_first = of("created").chain(of("changed")).chain(of("deleted"));
    [gone_first.collect(), new_first.collect()]
}

/// The columns that a change gives another value.
pub(super) fn differing<'c>(
    before: &'c Map<String, Value>,
    after: &'c Map<String, Value>,
) -> Vec<(&'c String, &'c Value)> {
    let after = after.iter();
    after
        .filter(|(name, value)| before.get(*name) != Some(value))
        .collect()
}

/// Somebody has changed rows since they were looked at.
pub(super) fn changed_since(names: &[String]) -> ToolError {
    let more = names.len().saturating_sub(20);
    let mut names = names
        .iter()
        .take(20)
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        names.push_str(&format!(" and {more} more"));
    }
    ToolError::conflict(format!("changed by somebody else: {names}"))
        .with_hint("nothing was changed; look at those rows, then call it again")
}

/// What was put in place did more, or less, than was wanted.
pub(super) fn not_exactly() -> ToolError {
    ToolError::conflict("the database would not change exactly the rows that were shown").with_hint(
        "nothing was changed; other rows refer to them, or rules of the database changed",
    )
}

pub(super) fn too_many() -> ToolError {
    ToolError::validation(format!("it changes more than {MOST_CHANGED} rows"))
        .with_hint("nothing was changed; do it in parts, each with a condition of its own")
}

pub(super) fn no_key(table: &str) -> ToolError {
    ToolError::validation(format!(
        "`{table}` has no primary key, so its rows cannot be told apart"
    ))
    .with_hint("nothing was changed; give the table a primary key, or use a registered program")
}

pub(super) fn not_a_change() -> ToolError {
    ToolError::validation("it is no INSERT, UPDATE or DELETE of rows in ordinary tables").with_hint(
        "`database_query` reads; for CREATE, ALTER, DROP and other statements use a registered program",
    )
}
