//! PostgreSQL: a session of its own for every call.
//!
//! A query is a cursor in a transaction that is read-only and always rolled back. Only what
//! can be a cursor can be asked, so there is no COMMIT, no COPY, no SET, no second statement;
//! the server sees to that, not a look at the text. What functions may do is up to what the
//! role was granted.

mod tls;
mod update;
mod value;

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use helve_kernel::{ErrorKind, Place, RowChange, ToolError, Unapplied};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{CancelToken, Client, Config, SimpleQueryMessage, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::image::shown;
use super::settings::{Connection, Password};
use super::{Asked, Column, Found, Table, TableColumn, Tried};
use value::Bound;

/// How long the server is waited for.
const CONNECTING: Duration = Duration::from_secs(10);

/// How long a commit may take before nobody knows what became of it.
const APPLYING: Duration = Duration::from_secs(60);

/// So many rows are fetched at once.
const PAGE: usize = 50;

/// What every transaction begins with: limits, and one way to write values.
const SETTINGS: &str = "SET LOCAL statement_timeout = '60s'; SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '60s'; SET LOCAL DateStyle = 'ISO, YMD'; \
    SET LOCAL IntervalStyle = 'postgres'; SET LOCAL TimeZone = 'UTC'; \
    SET LOCAL extra_float_digits = 3; SET LOCAL bytea_output = 'hex'; SET LOCAL xmloption = 'content'";

/// A database on a server.
#[derive(Clone)]
pub(super) struct Db {
    config: Config,
    security: tls::Security,
    password: Option<Password>,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres")
    }
}

/// A session; when it is dropped, what it was at is stopped.
struct Session {
    client: Client,
    cancel: CancelToken,
    tls: MakeRustlsConnect,
    at_work: bool,
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.at_work {
            return;
        }
        // The server would go on with a statement whose client is gone.
        if let Ok(runtime) = Handle::try_current() {
            let (cancel, tls) = (self.cancel.clone(), self.tls.clone());
            runtime.spawn(async move { cancel.cancel_query(tls).await });
        }
    }
}

impl Session {
    async fn batch(&self, sql: &str) -> Result<(), ToolError> {
        self.client.batch_execute(sql).await.map_err(failed)
    }

    /// Ends what it was at, with nothing changed.
    async fn leave(mut self) {
        // The session ends in any case.
        let _ = self.client.batch_execute("ROLLBACK").await;
        self.at_work = false;
    }
}

impl Db {
    pub(super) fn new(root: &Path, connection: &Connection) -> Result<Self, String> {
        let (url, wanted) = tls::split(&connection.url)?;
        let config = Config::from_str(&url);
        let mut config = config.map_err(|e| format!("is none: {e}"))?;
        if config.get_password().is_some() {
            return Err("has a password in it; name a secret as `password` instead".to_owned());
        }
        if config.get_ssl_mode() != SslMode::Prefer {
            return Err("says its `sslmode` where it is not read".to_owned());
        }
        if config.get_hosts().is_empty() {
            // A certificate must be for the address, then.
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        let security = wanted.settle(root, &config)?;
        config
            .ssl_mode(security.mode)
            .connect_timeout(CONNECTING)
            .application_name("helve");
        let password = connection.password.clone();
        Ok(Self {
            config,
            security,
            password,
        })
    }

    async fn session(&self, begin: &str) -> Result<Session, ToolError> {
        let mut config = self.config.clone();
        if let Some(password) = &self.password {
            let said = password()
                .await
                .map_err(|e| ToolError::dependency(format!("its password: {e}")))?;
            config.password(said);
        }
        let unreached = |why: String| {
            let host = match self.config.get_hosts().first() {
                Some(Host::Tcp(name)) => name.clone(),
                Some(Host::Unix(folder)) => folder.display().to_string(),
                None => String::new(),
            };
            ToolError::dependency(format!("PostgreSQL at `{host}` cannot be reached: {why}"))
                .with_hint("the connection is named in the configuration of the hub")
        };
        let tls = self.security.connector().map_err(unreached)?;
        let connecting = config.connect(tls.clone());
        let connecting = tokio::time::timeout(CONNECTING, connecting).await;
        let connected = connecting.map_err(|_| unreached("it does not answer".to_owned()))?;
        let (client, connection) = connected.map_err(|e| {
            let error = unreached(told(&e));
            match tls::is_refused(&e) {
                true => error.with_hint(tls::HINT),
                false => error,
            }
        })?;
        // It ends with the client, which is ours.
        tokio::spawn(connection);
        let cancel = client.cancel_token();
        let session = Session {
            client,
            cancel,
            tls,
            at_work: true,
        };
        session.batch(&format!("{begin}; {SETTINGS}")).await?;
        Ok(session)
    }

    pub(super) async fn query(&self, asked: &Asked) -> Result<Found, ToolError> {
        let session = self.session("BEGIN READ ONLY").await?;
        let found = fetch(&session.client, asked).await?;
        session.leave().await;
        Ok(found)
    }

    pub(super) async fn schema(&self) -> Result<Vec<Table>, ToolError> {
        let session = self.session("BEGIN READ ONLY").await?;
        let tables = tables(&session.client).await.map_err(failed)?;
        session.leave().await;
        Ok(tables)
    }

    pub(super) async fn try_out(&self, sql: &str, params: &[Value]) -> Result<Tried, ToolError> {
        let session = self
            .session("BEGIN ISOLATION LEVEL REPEATABLE READ")
            .await?;
        let tried = update::try_out(&session.client, sql, params).await?;
        session.leave().await;
        Ok(tried)
    }

    pub(super) async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        let session = self
            .session("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await?;
        let looking = tokio::time::timeout(APPLYING, update::now(&session.client, places)).await;
        let now = looking.map_err(|_| ToolError::timeout("the database does not answer"))??;
        session.leave().await;
        Ok(now)
    }

    pub(super) async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied> {
        let session = self.session("BEGIN").await.map_err(Unapplied::Refused)?;
        let putting = update::put_in_place(&session.client, changes);
        let put = match tokio::time::timeout(APPLYING, putting).await {
            Ok(put) => put,
            Err(_) => Err(ToolError::timeout(
                "the database does not answer; nothing was changed",
            )),
        };
        put.map_err(Unapplied::Refused)?;
        let committing = session.client.batch_execute("COMMIT");
        let committed = tokio::time::timeout(APPLYING, committing).await;
        let mut session = session;
        session.at_work = false;
        match committed {
            Ok(Ok(())) => Ok(()),
            // The server has said no.
            Ok(Err(error)) if error.code().is_some() => Err(Unapplied::Refused(failed(error))),
            Ok(Err(error)) => Err(Unapplied::Unsure(failed(error))),
            Err(_) => Err(Unapplied::Unsure(ToolError::timeout(
                "the commit was not answered",
            ))),
        }
    }
}

async fn fetch(client: &Client, asked: &Asked) -> Result<Found, ToolError> {
    let statement = client.prepare(&asked.sql).await.map_err(failed)?;
    let params = bound(&statement, &asked.params)?;
    let cursor = format!("DECLARE helve_rows NO SCROLL CURSOR FOR {}", asked.sql);
    let declared = client.prepare_typed(&cursor, statement.params()).await;
    let declared = declared.map_err(not_a_query)?;
    client
        .execute_raw(&declared, &params)
        .await
        .map_err(not_a_query)?;
    let columns = statement.columns().iter().map(|column| Column {
        name: column.name().to_owned(),
        r#type: column.type_().name().to_owned(),
    });
    let mut found = Found {
        columns: columns.collect(),
        rows: Vec::new(),
        more: false,
    };
    if asked.offset > 0 {
        let skip = format!("MOVE FORWARD {} FROM helve_rows", asked.offset);
        client.batch_execute(&skip).await.map_err(failed)?;
    }
    let mut bytes = 0;
    loop {
        // One more than wanted, to know whether there is more.
        let wanted = PAGE.min(asked.max_rows + 1 - found.rows.len());
        let page = format!("FETCH FORWARD {wanted} FROM helve_rows");
        let page = client.simple_query(&page).await.map_err(failed)?;
        let mut count = 0;
        for message in page {
            let SimpleQueryMessage::Row(row) = message else {
                continue;
            };
            count += 1;
            let types = statement
                .columns()
                .iter()
                .map(tokio_postgres::Column::type_);
            let values = types.enumerate().map(|(i, ty)| value::told(ty, row.get(i)));
            if !found.push(values.collect(), &mut bytes, asked) {
                return Ok(found);
            }
        }
        if count < wanted {
            return Ok(found);
        }
    }
}

/// The values of the placeholders, as the server understands them.
fn bound(statement: &Statement, params: &[Value]) -> Result<Vec<Bound>, ToolError> {
    let types = statement.params();
    if types.len() != params.len() {
        return Err(ToolError::validation(format!(
            "the statement has {} placeholders, and `params` has {} values",
            types.len(),
            params.len()
        )));
    }
    let pairs = params.iter().zip(types).enumerate();
    pairs
        .map(|(index, (param, ty))| {
            Bound::of_param(param, ty).ok_or_else(|| {
                ToolError::validation(format!("`params[{index}]` is no value for `{}`", ty.name()))
            })
        })
        .collect()
}

/// What cannot be a cursor is not asked.
fn not_a_query(error: tokio_postgres::Error) -> ToolError {
    let mut error = failed(error);
    if error.kind == ErrorKind::Validation {
        error.hint = Some("only one SELECT, VALUES or WITH … SELECT is run here, and it changes nothing; `database_update` changes rows".to_owned());
    }
    error
}

/// What went wrong, in the words of a tool.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failed(error: tokio_postgres::Error) -> ToolError {
    let said = told(&error);
    let Some(code) = error.code().map(|code| code.code().to_owned()) else {
        return ToolError::dependency(format!("the connection is lost: {said}"));
    };
    match code.as_str() {
        "25006" => ToolError::permission(format!("a query changes nothing: {said}"))
            .with_hint("`database_update` changes rows"),
        "42501" => ToolError::permission(format!("the role of the connection may not: {said}")),
        "57014" => ToolError::timeout(format!("the statement was stopped: {said}")),
        "55P03" | "40001" | "40P01" | "53300" => {
            ToolError::transient(format!("somebody else is at work there: {said}"))
        }
        code if code.starts_with("08") || code.starts_with("57P") => {
            ToolError::dependency(format!("the connection is lost: {said}"))
        }
        code if code.starts_with("53") || code.starts_with("58") || code.starts_with("XX") => {
            ToolError::dependency(format!("the server fails: {said}"))
        }
        _ => ToolError::validation(format!("PostgreSQL says: {said}")),
    }
}

fn told(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => {
            let detail = said.detail().map(|d| format!(" ({d})")).unwrap_or_default();
            format!("{}{detail}", said.message())
        }
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

async fn tables(client: &Client) -> Result<Vec<Table>, tokio_postgres::Error> {
    let sql = "SELECT c.oid, n.nspname, c.relname, CASE c.relkind WHEN 'v' THEN 'view' \
            WHEN 'm' THEN 'materialized view' WHEN 'f' THEN 'foreign table' ELSE 'table' END \
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
        WHERE c.relkind IN ('r','p','v','m','f') AND NOT c.relispartition \
            AND n.nspname NOT IN ('pg_catalog','information_schema') AND n.nspname !~ '^pg_' \
            AND has_table_privilege(c.oid, 'SELECT') ORDER BY 2, 3 LIMIT 5000";
    let columns = client
        .prepare(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, \
                coalesce(pg_get_expr(d.adbin, d.adrelid), '') \
             FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
             WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        )
        .await?;
    let key = client.prepare(update::KEY_COLUMNS).await?;
    let foreign = client
        .prepare("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1 AND contype = 'f' ORDER BY conname")
        .await?;
    let indexes = client
        .prepare("SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = $1 ORDER BY indexrelid")
        .await?;
    let mut tables = Vec::new();
    for row in client.query(sql, &[]).await? {
        let oid: u32 = row.get(0);
        let texts = |rows: Vec<tokio_postgres::Row>| rows.iter().map(|row| row.get(0)).collect();
        let columns = client.query(&columns, &[&oid]).await?;
        let columns = columns.iter().map(|row| TableColumn {
            name: row.get(0),
            r#type: row.get(1),
            nullable: row.get(2),
            default: row.get(3),
        });
        tables.push(Table {
            name: shown(&[row.get(1), row.get(2)]),
            kind: row.get(3),
            columns: columns.collect(),
            primary_key: texts(client.query(&key, &[&oid]).await?),
            foreign_keys: texts(client.query(&foreign, &[&oid]).await?),
            indexes: texts(client.query(&indexes, &[&oid]).await?),
        });
    }
    Ok(tables)
}
