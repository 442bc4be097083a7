//! A change of rows in PostgreSQL: tried out, looked at, put in place.
//!
//! Which rows a statement touches is told by triggers that are made in the transaction and gone
//! before it ends. On which tables they are needed is told by the server's own count of what the
//! transaction has done, so cascades and triggers of the database are seen as well. The
//! role needs TRIGGER on those tables (their owner has it); while a change is tried out and
//! while it is applied, others cannot write to them.

use std::collections::{BTreeMap, BTreeSet};

use helve_kernel::{Place, RowChange, ToolError};
use serde_json::{Map, Value};
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Row as DbRow};

use super::value::{self, Bound};
use super::{bound, failed};
use crate::database::image::{self, Row, columns_of, damaged, key_of, quoted, shown};
use crate::database::{MOST_CHANGED, Tried};

/// The columns of the primary key, in its order.
pub(super) const KEY_COLUMNS: &str = "SELECT a.attname FROM pg_index i \
    CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(num, nth) \
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num \
    WHERE i.indrelid = $1 AND i.indisprimary ORDER BY k.nth";

/// So often the tables to watch are found anew.
const ROUNDS: usize = 6;

/// What all who apply changes, and all who look whether they did, take in turn.
const TURN: i64 = 0x68_65_6c_76_65;

/// A table whose rows can be told apart.
#[derive(Debug, Clone)]
struct Known {
    schema: String,
    name: String,
    /// What can be written: no column that is computed.
    columns: Vec<(String, Type)>,
    key: Vec<String>,
}

type Tables = BTreeMap<u32, Known>;
type Image = Option<Map<String, Value>>;
type Keys = BTreeSet<(u32, String)>;

/// Bytes of any type that the server sends as text.
struct Raw(String);

impl<'r> FromSql<'r> for Raw {
    fn from_sql(_: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(std::str::from_utf8(raw)?.to_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(*ty, Type::JSON | Type::TEXT)
    }
}

pub(super) async fn try_out(
    client: &Client,
    sql: &str,
    params: &[Value],
) -> Result<Tried, ToolError> {
    let statement = client.prepare(sql).await.map_err(failed)?;
    let params = bound(&statement, params)?;
    let mut tables = Tables::new();
    if let Some(first) = planned(client, sql, statement.params(), &params).await? {
        tables.insert(first, known(client, first).await?);
    }
    for _ in 0..ROUNDS {
        batch(client, "SAVEPOINT helve").await?;
        watch(client, &tables).await?;
        let counted = counts(client).await?;
        let affected = client
            .execute_raw(&statement, &params)
            .await
            .map_err(failed)?;
        // What is put off to the commit happens, or fails, now.
        batch(client, "SET CONSTRAINTS ALL IMMEDIATE").await?;
        let unwatched: Vec<u32> = touched_tables(client, &counted)
            .await?
            .into_iter()
            .filter(|oid| !tables.contains_key(oid))
            .collect();
        if !unwatched.is_empty() {
            batch(client, "ROLLBACK TO SAVEPOINT helve").await?;
            for oid in unwatched {
                tables.insert(oid, known(client, oid).await?);
            }
            continue;
        }
        let keys = touched(client).await?;
        if affected > 0 && keys.is_empty() {
            return Err(image::not_a_change());
        }
        let after = images(client, &tables, &keys).await?;
        batch(client, "ROLLBACK TO SAVEPOINT helve").await?;
        let before = images(client, &tables, &keys).await?;
        for oid in keys.iter().map(|(oid, _)| oid).collect::<BTreeSet<_>>() {
            may_apply(client, *oid).await?;
        }
        let rows = keys.into_iter().zip(before.into_iter().zip(after));
        let rows = rows.map(|((oid, key), (before, after))| {
            let table = tables.get(&oid).ok_or_else(damaged)?;
            Ok(Row {
                table: table.shown(),
                key: key_of(&key)?,
                before,
                after,
            })
        });
        let rows = rows.collect::<Result<_, ToolError>>()?;
        return Ok(Tried { affected, rows });
    }
    Err(ToolError::validation(
        "it touches other tables each time it is tried out",
    ))
}

/// The table that a statement changes, which must be one that changes rows.
async fn planned(
    client: &Client,
    sql: &str,
    types: &[Type],
    params: &[Bound],
) -> Result<Option<u32>, ToolError> {
    let explain = format!("EXPLAIN (FORMAT JSON, VERBOSE) {sql}");
    // It takes nothing but queries and changes of rows: no DDL, no COMMIT.
    let explained = client.prepare_typed(&explain, types).await;
    let explained = explained.map_err(|_| image::not_a_change())?;
    let plan = {
        use futures_util::TryStreamExt as _;
        let rows = client.query_raw(&explained, params).await.map_err(failed)?;
        let rows: Vec<DbRow> = rows.try_collect().await.map_err(failed)?;
        let row = rows.first().ok_or_else(image::not_a_change)?;
        serde_json::from_str::<Value>(&row.try_get::<_, Raw>(0).map_err(failed)?.0)?
    };
    let top = &plan[0]["Plan"];
    if top["Node Type"] != "ModifyTable" {
        return Err(image::not_a_change());
    }
    let (Some(schema), Some(name)) = (top["Schema"].as_str(), top["Relation Name"].as_str()) else {
        return Ok(None);
    };
    let sql = "SELECT c.oid, c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE n.nspname = $1 AND c.relname = $2";
    let row = client
        .query_one(sql, &[&schema, &name])
        .await
        .map_err(failed)?;
    let system = schema.starts_with("pg_") || schema == "information_schema";
    match row.get::<_, &str>(1) {
        "r" if !system => Ok(Some(row.get(0))),
        // The parts of it, or what is behind it, are found when it is tried out.
        "p" | "v" if !system => Ok(None),
        _ => Err(image::not_a_change()),
    }
}

pub(super) async fn now(
    client: &Client,
    places: &[Place],
) -> Result<Vec<Option<Value>>, ToolError> {
    // Somebody may just be at the commit that is asked about. In this isolation the rows are
    // seen as they are after the first statement, so the turn comes in one of its own before.
    batch(client, &format!("SELECT pg_advisory_lock_shared({TURN})")).await?;
    batch(
        client,
        &format!(
            "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {}",
            super::SETTINGS
        ),
    )
    .await?;
    let mut tables = Named::default();
    let mut now = Vec::new();
    for place in places {
        let table = tables.get(client, &place.collection).await?.1;
        let found = image(client, &table, &key_of(&place.key)?, "").await?;
        now.push(found.map(Value::Object));
    }
    Ok(now)
}

/// All but the last word.
pub(super) async fn put_in_place(client: &Client, changes: &[RowChange]) -> Result<(), ToolError> {
    batch(client, &format!("SELECT pg_advisory_xact_lock({TURN})")).await?;
    let mut named = Named::default();
    for change in changes {
        named.get(client, &change.collection).await?;
    }
    let tables: Tables = named.0.values().cloned().collect();
    let silenced = silence(client, &tables).await?;
    watch(client, &tables).await?;
    let mut others = Vec::new();
    for change in changes {
        if now_of(client, &mut named, change, " FOR UPDATE").await? != change.before {
            others.push(change.name());
        }
    }
    if !others.is_empty() {
        return Err(image::changed_since(&others));
    }
    put_in_some_order(client, &mut named, changes).await?;
    for (oid, table) in &tables {
        let name = table.quoted();
        batch(
            client,
            &format!(
                "DROP TRIGGER helve_watch ON {name}; DROP FUNCTION pg_temp.helve_watch_{oid}()"
            ),
        )
        .await?;
    }
    batch(client, &silenced).await
}

async fn put_in_some_order(
    client: &Client,
    named: &mut Named,
    changes: &[RowChange],
) -> Result<(), ToolError> {
    let mut problem = None;
    for order in image::orders(changes) {
        let counted = counts(client).await?;
        batch(client, "SAVEPOINT helve").await?;
        match put_all(client, named, order).await {
            Ok(()) if is_exactly(client, named, changes, &counted).await? => {
                return batch(client, "RELEASE SAVEPOINT helve").await;
            }
            Ok(()) => problem = problem.or(Some(image::not_exactly())),
            Err(error) => problem = problem.or(Some(error)),
        }
        batch(
            client,
            "ROLLBACK TO SAVEPOINT helve; RELEASE SAVEPOINT helve",
        )
        .await?;
    }
    Err(problem.unwrap_or_else(image::not_exactly))
}

/// Puts changes in place one by one; what another one stands in the way of comes later.
async fn put_all(
    client: &Client,
    named: &mut Named,
    mut left: Vec<&RowChange>,
) -> Result<(), ToolError> {
    loop {
        let (mut again, mut why) = (Vec::new(), None);
        let before = left.len();
        for change in left {
            let (_, table) = named.get(client, &change.collection).await?;
            let (sql, values) = step(&table, change)?;
            batch(client, "SAVEPOINT helve_step").await?;
            let done = match client.prepare(&sql).await {
                Ok(statement) => client.execute_raw(&statement, &values).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(_) => batch(client, "RELEASE SAVEPOINT helve_step").await?,
                Err(error) if error.code().is_some_and(|c| c.code().starts_with("23")) => {
                    batch(
                        client,
                        "ROLLBACK TO SAVEPOINT helve_step; RELEASE SAVEPOINT helve_step",
                    )
                    .await?;
                    why = Some(super::told(&error));
                    again.push(change);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        match why {
            None => return Ok(()),
            Some(said) if again.len() == before => {
                return Err(ToolError::conflict(format!(
                    "the rows cannot be put in place: {said}"
                ))
                .with_hint("nothing was changed; rows of others stand in the way"));
            }
            Some(_) => left = again,
        }
    }
}

fn step(table: &Known, change: &RowChange) -> Result<(String, Vec<Bound>), ToolError> {
    let name = table.quoted();
    let bound = |value: &Value| Bound::of_kept(value).ok_or_else(damaged);
    let key = key_of(&change.key)?;
    let key: Vec<Bound> = key.iter().map(bound).collect::<Result<_, _>>()?;
    Ok(match (&change.before, &change.after) {
        (_, None) => (
            format!("DELETE FROM ONLY {name} WHERE {}", table.condition(1)),
            key,
        ),
        (None, Some(after)) => {
            let after = columns_of(after)?;
            let names: Vec<String> = after.keys().map(|name| quoted(name)).collect();
            let marks: Vec<String> = (1..=names.len()).map(|n| format!("${n}")).collect();
            let sql = format!(
                "INSERT INTO {name} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
                names.join(", "),
                marks.join(", ")
            );
            (sql, after.values().map(bound).collect::<Result<_, _>>()?)
        }
        (Some(before), Some(after)) => {
            let differing = image::differing(columns_of(before)?, columns_of(after)?);
            let sets = differing.iter().enumerate();
            let sets: Vec<String> = sets
                .map(|(n, (name, _))| format!("{} = ${}", quoted(name), n + 1))
                .collect();
            let values = differing.iter().map(|(_, value)| bound(value));
            let mut values = values.collect::<Result<Vec<_>, _>>()?;
            let here = table.condition(values.len() + 1);
            values.extend(key);
            (
                format!("UPDATE ONLY {name} SET {} WHERE {here}", sets.join(", ")),
                values,
            )
        }
    })
}

/// Whether exactly these rows were touched, and are as they should be.
async fn is_exactly(
    client: &Client,
    named: &mut Named,
    changes: &[RowChange],
    counted: &BTreeMap<u32, i64>,
) -> Result<bool, ToolError> {
    if batch(client, "SET CONSTRAINTS ALL IMMEDIATE")
        .await
        .is_err()
    {
        return Ok(false);
    }
    let mut wanted = Keys::new();
    for change in changes {
        if now_of(client, named, change, "").await? != change.after {
            return Ok(false);
        }
        let (oid, _) = named.get(client, &change.collection).await?;
        wanted.insert((oid, change.key.clone()));
    }
    let tables: BTreeSet<u32> = named.0.values().map(|(oid, _)| *oid).collect();
    let beside = touched_tables(client, counted).await?;
    Ok(beside.iter().all(|oid| tables.contains(oid)) && touched(client).await?.is_subset(&wanted))
}

async fn now_of(
    client: &Client,
    named: &mut Named,
    change: &RowChange,
    lock: &str,
) -> Result<Option<Value>, ToolError> {
    let (_, table) = named.get(client, &change.collection).await?;
    let found = image(client, &table, &key_of(&change.key)?, lock).await?;
    Ok(found.map(Value::Object))
}

/// Notes the keys of every row of these tables that is touched from now on.
async fn watch(client: &Client, tables: &Tables) -> Result<(), ToolError> {
    let mut sql = "CREATE TEMP TABLE helve_keys (t oid, k text) ON COMMIT DROP".to_owned();
    for (oid, table) in tables {
        let types: BTreeMap<&str, &Type> =
            table.columns.iter().map(|(n, t)| (n.as_str(), t)).collect();
        let note = |side: &str| {
            let key = table.key.iter().map(|name| {
                // As the values of an image are written.
                match types.get(name.as_str()) {
                    Some(&&(Type::INT2 | Type::INT4 | Type::INT8 | Type::BOOL)) => {
                        format!("{side}.{}", quoted(name))
                    }
                    _ => format!("{side}.{}::text", quoted(name)),
                }
            });
            let key = key.collect::<Vec<_>>().join(", ");
            format!(
                "INSERT INTO pg_temp.helve_keys VALUES ({oid}, jsonb_build_array({key})::text);"
            )
        };
        let (old, new, name) = (note("OLD"), note("NEW"), table.quoted());
        let body = format!(
            "BEGIN IF TG_OP <> 'INSERT' THEN {old} END IF; IF TG_OP <> 'DELETE' THEN {new} END IF; RETURN NULL; END"
        );
        sql.push_str(&format!(
            "; CREATE FUNCTION pg_temp.helve_watch_{oid}() RETURNS trigger LANGUAGE plpgsql AS {}; \
             CREATE TRIGGER helve_watch AFTER INSERT OR UPDATE OR DELETE ON {name} \
             FOR EACH ROW EXECUTE FUNCTION pg_temp.helve_watch_{oid}()",
            literal(&body)
        ));
    }
    batch(client, &sql).await
}

/// The rows that were touched since.
async fn touched(client: &Client) -> Result<Keys, ToolError> {
    let sql = format!(
        "SELECT DISTINCT t, k FROM pg_temp.helve_keys LIMIT {}",
        MOST_CHANGED + 1
    );
    let rows = client.query(&sql, &[]).await.map_err(failed)?;
    if rows.len() > MOST_CHANGED {
        return Err(image::too_many());
    }
    // The same text as everywhere else.
    let key = |row: &DbRow| Ok((row.get(0), Value::Array(key_of(row.get(1))?).to_string()));
    rows.iter().map(key).collect()
}

/// How many rows this session has touched, by table.
async fn counts(client: &Client) -> Result<BTreeMap<u32, i64>, ToolError> {
    let sql = "SELECT current_setting('track_counts') = 'on', s.relid, s.n_tup_ins + s.n_tup_upd + s.n_tup_del \
        FROM (SELECT 1) one LEFT JOIN pg_stat_xact_user_tables s \
            ON s.relid <> coalesce(to_regclass('pg_temp.helve_keys'), 0::regclass)";
    let rows = client.query(sql, &[]).await.map_err(failed)?;
    let mut counts = BTreeMap::new();
    for row in rows {
        if !row.get::<_, bool>(0) {
            return Err(
                ToolError::dependency("the server does not count what is changed")
                    .with_hint("`track_counts` must be on, as it is by default"),
            );
        }
        if let (Some(oid), Some(count)) = (row.get(1), row.get(2)) {
            counts.insert(oid, count);
        }
    }
    Ok(counts)
}

/// The tables of which rows were touched since they were counted.
async fn touched_tables(
    client: &Client,
    counted: &BTreeMap<u32, i64>,
) -> Result<Vec<u32>, ToolError> {
    let now = counts(client).await?;
    let more = |(oid, count): &(u32, i64)| *count > counted.get(oid).copied().unwrap_or_default();
    Ok(now.into_iter().filter(more).map(|(oid, _)| oid).collect())
}

/// Triggers that would do again what is among the changes already.
const TRIGGERS: &str = "SELECT tgname, tgenabled::text FROM pg_trigger \
    WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgname <> 'helve_watch'";

/// Whether what a change came to can be put in place later.
async fn may_apply(client: &Client, oid: u32) -> Result<(), ToolError> {
    if client
        .query(TRIGGERS, &[&oid])
        .await
        .map_err(failed)?
        .is_empty()
    {
        return Ok(());
    }
    let sql = "SELECT pg_has_role(relowner, 'USAGE'), relname FROM pg_class WHERE oid = $1";
    let row = client.query_one(sql, &[&oid]).await.map_err(failed)?;
    match row.get(0) {
        true => Ok(()),
        false => Err(ToolError::permission(format!(
            "`{}` has triggers, and the role of the connection cannot switch them off",
            row.get::<_, &str>(1)
        ))
        .with_hint(
            "nothing was changed; the role must own the table, or be a member of its owner",
        )),
    }
}

/// Switches the triggers of these tables off for the transaction; what switches them on again.
async fn silence(client: &Client, tables: &Tables) -> Result<String, ToolError> {
    let mut again = String::new();
    for (oid, table) in tables {
        for row in client.query(TRIGGERS, &[oid]).await.map_err(failed)? {
            let (table, trigger) = (table.quoted(), quoted(row.get(0)));
            let how = match row.get(1) {
                "A" => "ENABLE ALWAYS",
                _ => "ENABLE",
            };
            again.push_str(&format!("ALTER TABLE {table} {how} TRIGGER {trigger};"));
            batch(
                client,
                &format!("ALTER TABLE {table} DISABLE TRIGGER {trigger}"),
            )
            .await?;
        }
    }
    Ok(again)
}

async fn images(client: &Client, tables: &Tables, keys: &Keys) -> Result<Vec<Image>, ToolError> {
    let mut images = Vec::new();
    for (oid, key) in keys {
        let table = tables.get(oid).ok_or_else(damaged)?;
        images.push(image(client, table, &key_of(key)?, "").await?);
    }
    Ok(images)
}

/// What is in a row.
async fn image(
    client: &Client,
    table: &Known,
    key: &[Value],
    lock: &str,
) -> Result<Image, ToolError> {
    if key.len() != table.key.len() {
        return Err(ToolError::conflict(format!(
            "`{}` has another primary key now",
            table.shown()
        )));
    }
    let key = key
        .iter()
        .map(|value| Bound::of_kept(value).ok_or_else(damaged));
    let key: Vec<Bound> = key.collect::<Result<_, _>>()?;
    let columns = table
        .columns
        .iter()
        .map(|(name, _)| format!("{}::text", quoted(name)));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT {columns} FROM ONLY {} WHERE {}{lock}",
        table.quoted(),
        table.condition(1)
    );
    let statement = client.prepare(&sql).await.map_err(failed)?;
    let rows = {
        use futures_util::TryStreamExt as _;
        let rows = client.query_raw(&statement, &key).await.map_err(failed)?;
        rows.try_collect::<Vec<DbRow>>().await.map_err(failed)?
    };
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let mut image = Map::new();
    for (index, (name, ty)) in table.columns.iter().enumerate() {
        let text: Option<&str> = row.try_get(index).map_err(failed)?;
        image.insert(name.clone(), value::kept(ty, text));
    }
    Ok(Some(image))
}

impl Known {
    fn shown(&self) -> String {
        shown(&[&self.schema, &self.name])
    }

    fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    fn condition(&self, first: usize) -> String {
        let same = self.key.iter().enumerate();
        let same = same.map(|(n, name)| format!("{} = ${}", quoted(name), first + n));
        same.collect::<Vec<_>>().join(" AND ")
    }
}

/// Tables by the collections of their rows, looked up once.
#[derive(Default)]
struct Named(BTreeMap<String, (u32, Known)>);

impl Named {
    async fn get(&mut self, client: &Client, collection: &str) -> Result<(u32, Known), ToolError> {
        if let Some(found) = self.0.get(collection) {
            return Ok(found.clone());
        }
        let name = image::table_of(collection);
        let gone = || ToolError::conflict(format!("there is no table `{name}` any more"));
        let row = client
            .query_one("SELECT to_regclass($1)::oid", &[&name])
            .await
            .map_err(failed)?;
        let oid = row.get::<_, Option<u32>>(0).ok_or_else(gone)?;
        let found = (oid, known(client, oid).await?);
        self.0.insert(collection.to_owned(), found.clone());
        Ok(found)
    }
}

async fn known(client: &Client, oid: u32) -> Result<Known, ToolError> {
    let sql = "SELECT n.nspname, c.relname, row_security_active(c.oid) \
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1";
    let row = client.query_one(sql, &[&oid]).await.map_err(failed)?;
    let (schema, name): (String, String) = (row.get(0), row.get(1));
    if row.get(2) {
        // A row that it may not see would look as if it were gone.
        let problem = format!("row security hides rows of `{}`", shown(&[&schema, &name]));
        return Err(ToolError::permission(problem).with_hint(
            "nothing was changed; it takes a role for which row security is not active",
        ));
    }
    let sql = "SELECT attname, atttypid FROM pg_attribute \
        WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";
    let columns = client.query(sql, &[&oid]).await.map_err(failed)?;
    let columns = columns.iter().map(|row| {
        // Of the others only the text counts.
        (row.get(0), Type::from_oid(row.get(1)).unwrap_or(Type::TEXT))
    });
    let key = client.query(KEY_COLUMNS, &[&oid]).await.map_err(failed)?;
    let table = Known {
        schema,
        name,
        columns: columns.collect(),
        key: key.iter().map(|row| row.get(0)).collect(),
    };
    match table.key.is_empty() {
        true => Err(image::no_key(&table.shown())),
        false => Ok(table),
    }
}

fn literal(text: &str) -> String {
    // With a backslash in it a plain one would be read otherwise by old settings.
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

async fn batch(client: &Client, sql: &str) -> Result<(), ToolError> {
    client.batch_execute(sql).await.map_err(failed)
}
