//! Databases that the operator names: asked, described, and changed so that it can be undone.
//!
//! - *A connection is a name.* No address, file or password ever comes in an argument.
//! - *Reading is enforced by the database*, not by looking at the text: a connection that
//!   cannot write, a transaction that may not, one statement, always rolled back.
//! - *A change is tried out and taken back.* What it would do to which rows is what people see
//!   and what is applied later: row by row, in one transaction, only if each row is as it was.
//!   An undo is the same in the other direction. See [`Rows`](helve_kernel::Rows).
//!
//! What row images do not show stays as it is: sequences advance and do not go back, and
//! functions with effects beside rows (files, mail, other servers) are for the operator to
//! grant or not. Triggers of the database run while a change is tried out, and what they do to
//! rows is part of it; when it is applied or undone they are off.

mod image;
#[cfg(feature = "postgres")]
mod postgres;
mod settings;
mod sqlite;

#[cfg(test)]
mod tests;

use helve_kernel::{Ctx, ToolError, Toolset, ToolsetError, tool, toolset};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub use settings::{Access, Connection, Databases, Password, SettingsError, Spoken};

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "database",
        description: "Databases that the operator has named",
        tags: ["database", "sql"],
        tools: [query, update, schema],
    }
}

/// No more rows come back at once.
const MOST_ROWS: usize = 10_000;

/// No more bytes of rows come back at once: beyond it an answer would be cut to a text.
const MOST_BYTES: usize = 96 * 1024;

/// No more rows are changed by one call.
const MOST_CHANGED: usize = 10_000;

/// A column of what was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as the database calls it; empty where it has none.
    pub r#type: String,
}

/// What a query found.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The rows: lists in the order of the columns, or objects.
    pub rows: Vec<Value>,
    /// How many rows there are here.
    pub count: usize,
    /// Whether there are more.
    pub truncated: bool,
    /// The `offset` that goes on from here; 0 where there is no more.
    pub next_offset: usize,
}

/// What an update changes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// How many rows the database counts.
    pub affected: u64,
    /// How many rows are new, in all tables.
    pub inserted: usize,
    /// How many rows are different.
    pub updated: usize,
    /// How many rows are gone.
    pub deleted: usize,
    /// The first of them.
    pub first: Vec<ChangedRow>,
}

/// A row that an update changes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangedRow {
    /// Its table.
    pub table: String,
    /// Its primary key.
    pub key: Vec<Value>,
    /// In which way: `created`, `changed` or `deleted`.
    pub how: String,
}

/// What is in a database.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Schema {
    /// The connection.
    pub connection: String,
    /// `sqlite` or `postgres`.
    pub engine: String,
    /// Whether it may be changed: `read` or `write`.
    pub access: String,
    /// Tables and views.
    pub tables: Vec<Table>,
    /// Whether some stand there by their name alone, because there are so many.
    pub truncated: bool,
}

/// A table or a view.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Table {
    /// Its name, as it is written in SQL.
    pub name: String,
    /// `table`, `view`, or what else the database calls it.
    pub kind: String,
    /// Its columns, in order.
    pub columns: Vec<TableColumn>,
    /// The columns of its primary key.
    pub primary_key: Vec<String>,
    /// Its foreign keys, in SQL.
    pub foreign_keys: Vec<String>,
    /// Its indexes, in SQL or by their names and columns.
    pub indexes: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub r#type: String,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// What it is where nothing is said, in SQL; empty for NULL.
    pub default: String,
}

/// Runs one SQL query and gives its rows. Use it when you need data from a database of the user.
///
/// One SELECT (or WITH … SELECT, VALUES) at a time, in a transaction that cannot write and is
/// always rolled back. Values go into `params`, never into the text: `?1` in SQLite, `$1` in
/// PostgreSQL. Rows come page by page: when `truncated` is true, call again with
/// `offset` = `next_offset` and an ORDER BY that makes the order certain. Binary values are
/// `{"$blob": "<base64>"}`; numbers that JSON cannot hold exactly are texts. What functions
/// of the database may do beside reading is up to what its role was granted.
#[tool(
    group = "database",
    title = "Query a database",
    category = "Database",
    risk = "read",
    idempotent,
    output,
    aliases = ["query_database", "db_query"],
    triggers = ["When the answer is in a database", "Before a change, to see what it would meet"],
    prerequisites = ["A connection in the configuration of the hub (`[databases.<name>]`)"],
    related = [("database_schema", "tells tables and columns"), ("database_update", "changes rows")],
    example(
        scenario = "The newest orders of a customer",
        params = {"sql": "SELECT id, total FROM orders WHERE customer = ?1 ORDER BY id DESC", "params": [7], "max_rows": 20},
        expected = "Columns, and up to 20 rows"
    )
)]
async fn query(
    ctx: &Ctx,
    /// One SQL statement that reads.
    #[schemars(length(min = 1, max = 100_000))]
    sql: String,
    /// The values of its placeholders, in order: texts, numbers, booleans, null, `{"$blob": "<base64>"}`.
    #[default(Vec::new())]
    #[schemars(length(max = 1000))]
    params: Vec<Value>,
    /// The name of the connection; empty for the only one.
    #[default("")]
    #[schemars(length(max = 64))]
    connection: String,
    /// The most rows that come back.
    #[default(100)]
    #[schemars(range(min = 1, max = 10_000))]
    max_rows: usize,
    /// How many rows to leave out before the first.
    #[default(0)]
    #[schemars(range(max = 1_000_000_000))]
    offset: usize,
    /// What a row is: `list` of values in the order of the columns, or `object` by their names.
    #[default("list")]
    #[schemars(extend("enum" = ["list", "object"]))]
    rows_as: String,
) -> Result<Answer, ToolError> {
    let databases = ctx.service::<Databases>().map_err(|_| settings::none())?;
    let asked = Asked {
        sql,
        params,
        offset,
        max_rows: max_rows.min(MOST_ROWS),
    };
    let found = databases.find(&connection)?.query(asked).await?;
    let count = found.rows.len();
    let rows = found.rows.into_iter().map(|row| match rows_as.as_str() {
        "object" => {
            let names = found.columns.iter().map(|column| column.name.clone());
            Value::Object(names.zip(row).collect::<Map<_, _>>())
        }
        _ => Value::Array(row),
    });
    Ok(Answer {
        rows: rows.collect(),
        columns: found.columns,
        count,
        truncated: found.more,
        next_offset: match found.more {
            true => offset + count,
            false => 0,
        },
    })
}

/// Changes rows with one INSERT, UPDATE or DELETE. Use it when data in a database must change.
///
/// The statement is tried out and rolled back; the rows that it touched, also by cascades and
/// triggers, are what is shown, approved and then applied in one transaction. If one of them was
/// changed by somebody else meanwhile, nothing is applied. An undo puts the old rows back.
/// Values go into `params`: `?1` in SQLite, `$1` in PostgreSQL. Every table it touches needs a
/// primary key; at most 10,000 rows at once. DDL is refused: a migration is a registered program.
#[tool(
    group = "database",
    title = "Change rows of a database",
    category = "Database",
    risk = "write",
    held,
    output,
    aliases = ["update_database", "db_update", "db_execute"],
    triggers = ["When rows are to be inserted, changed or deleted"],
    prerequisites = ["A connection with `access = \"write\"` in the configuration of the hub"],
    warnings = [
        "Sequences advance even if the change is not approved or is undone",
        "Triggers run while the change is tried out; what they do beside rows is not undone"
    ],
    related = [("database_query", "shows which rows a condition meets"), ("database_schema", "tells tables and keys")],
    example(
        scenario = "An order is paid",
        params = {"sql": "UPDATE orders SET paid = 1 WHERE id = ?1", "params": [7]},
        expected = "How many rows change, and their keys"
    )
)]
async fn update(
    ctx: &Ctx,
    /// One INSERT, UPDATE or DELETE statement.
    #[schemars(length(min = 1, max = 100_000))]
    sql: String,
    /// The values of its placeholders, in order: texts, numbers, booleans, null, `{"$blob": "<base64>"}`.
    #[default(Vec::new())]
    #[schemars(length(max = 1000))]
    params: Vec<Value>,
    /// The name of the connection; empty for the only one.
    #[default("")]
    #[schemars(length(max = 64))]
    connection: String,
) -> Result<Changed, ToolError> {
    let databases = ctx.service::<Databases>().map_err(|_| settings::none())?;
    let database = databases.find(&connection)?;
    database.may_write()?;
    let tried = database.try_out(sql, params).await?;
    let mut changed = Changed {
        affected: tried.affected,
        inserted: 0,
        updated: 0,
        deleted: 0,
        first: Vec::new(),
    };
    for row in tried.rows {
        let row = row.into_change(&database.name);
        if row.before == row.after {
            continue;
        }
        *match row.kind() {
            "created" => &mut changed.inserted,
            "deleted" => &mut changed.deleted,
            _ => &mut changed.updated,
        } += 1;
        if changed.first.len() < 20 {
            changed.first.push(ChangedRow {
                table: image::table_of(&row.collection).to_owned(),
                key: serde_json::from_str(&row.key).unwrap_or_default(),
                how: row.kind().to_owned(),
            });
        }
        ctx.records().foreign(row)?;
    }
    Ok(changed)
}

/// Tells the tables, columns, keys and indexes of a database. Use it when you do not know them yet.
///
/// Without a table, all tables and views come back, the later ones by their names alone where
/// there are very many.
#[tool(
    group = "database",
    title = "Describe a database",
    category = "Database",
    risk = "read",
    idempotent,
    output,
    aliases = ["db_schema", "describe_database", "list_tables"],
    triggers = ["Before the first query of a database", "When a column or table is not known"],
    prerequisites = ["A connection in the configuration of the hub (`[databases.<name>]`)"],
    related = [("database_query", "reads rows"), ("database_update", "changes rows")],
    example(scenario = "What is in the only database", params = {}, expected = "Tables with columns, keys and indexes")
)]
async fn schema(
    ctx: &Ctx,
    /// The name of the connection; empty for the only one.
    #[default("")]
    #[schemars(length(max = 64))]
    connection: String,
    /// Only this table or view; empty for all.
    #[default("")]
    #[schemars(length(max = 200))]
    table: String,
) -> Result<Schema, ToolError> {
    let databases = ctx.service::<Databases>().map_err(|_| settings::none())?;
    let database = databases.find(&connection)?;
    let mut tables = database.schema().await?;
    if !table.is_empty() {
        let known: Vec<String> = tables.iter().map(|t| t.name.clone()).collect();
        let same = |name: &str| name == table || name.rsplit('.').next() == Some(&table);
        tables.retain(|t| same(&t.name));
        if tables.is_empty() {
            let known = known.iter().take(50).map(|n| format!("`{n}`"));
            let hint = format!("there are {}", known.collect::<Vec<_>>().join(", "));
            let problem = format!("there is no table or view `{table}` in `{}`", database.name);
            return Err(ToolError::not_found(problem).with_hint(hint));
        }
    }
    let (mut bytes, mut truncated) = (0, false);
    for table in &mut tables {
        bytes += serde_json::to_string(table)?.len();
        if bytes > MOST_BYTES {
            truncated = true;
            *table = Table {
                name: std::mem::take(&mut table.name),
                kind: std::mem::take(&mut table.kind),
                ..Table::default()
            };
        }
    }
    Ok(Schema {
        connection: database.name.clone(),
        engine: database.engine().to_owned(),
        access: database.access.as_str().to_owned(),
        tables,
        truncated,
    })
}

/// A query as an engine gets it.
struct Asked {
    sql: String,
    params: Vec<Value>,
    offset: usize,
    max_rows: usize,
}

/// What an engine found.
struct Found {
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    more: bool,
}

impl Found {
    /// Takes a row in; `false` where it is full, and the row is not in it.
    fn push(&mut self, row: Vec<Value>, bytes: &mut usize, asked: &Asked) -> bool {
        let size: usize = row.iter().map(|value| value.to_string().len() + 1).sum();
        // One row always comes back, or nobody would get on.
        let full = *bytes + size > MOST_BYTES && !self.rows.is_empty();
        if self.rows.len() >= asked.max_rows || full {
            self.more = true;
            return false;
        }
        *bytes += size;
        self.rows.push(row);
        true
    }
}

/// What a change came to that was tried out.
struct Tried {
    affected: u64,
    rows: Vec<image::Row>,
}
