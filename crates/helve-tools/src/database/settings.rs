//! Which databases there are, as the operator says.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use helve_kernel::{Place, RowChange, Rows, ToolError, Unapplied};
use serde_json::Value;

use super::{Asked, Found, Table, Tried, image, sqlite};

/// How the password of a connection is got: when it is needed, and not before.
pub type Password = Arc<dyn Fn() -> Spoken + Send + Sync>;

/// A password, or why there is none.
pub type Spoken = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// What may be done over a connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// Only to look.
    #[default]
    Read,
    /// Also to change rows.
    Write,
}

impl Access {
    /// The word for it in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
        }
    }

    /// The access of that name; there is none for any other word.
    pub fn parse(word: &str) -> Option<Self> {
        [Access::Read, Access::Write]
            .into_iter()
            .find(|a| a.as_str() == word)
    }
}

/// A connection, as `[databases.<name>]` says it.
#[derive(Clone)]
pub struct Connection {
    /// The name that a call gives: small letters, digits, `_` and `-`.
    pub name: String,
    /// `sqlite:data/app.db`, from the workspace, or `postgres://user@host/database`; a folder
    /// of Unix sockets goes as `?host=/run/postgresql`. Without a password in it. TLS is used
    /// as `?sslmode=` says, with the authority in `sslrootcert=`, a file.
    pub url: String,
    /// Where the password comes from, if there is one.
    pub password: Option<Password>,
    /// What may be done.
    pub access: Access,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name, url, access, ..
        } = self;
        write!(f, "Connection({name}, {url}, {})", access.as_str())
    }
}

/// Why a connection cannot be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The name is not one that a call can give.
    #[error("`{0}` is no name for a database: small letters, digits, `_` and `-`, at most 64")]
    Name(String),
    /// Two have one name.
    #[error("there are two databases `{0}`")]
    Twice(String),
    /// The address is of no kind that is known.
    #[error("the url of database `{name}` {problem}")]
    Url {
        /// The database.
        name: String,
        /// What is wrong.
        problem: String,
    },
}

/// The databases of a hub. It is a service, for the tools, and it keeps the rows of the
/// source `db`: a hub has it as `builder.service(dbs.clone()).rows(Databases::SOURCE, dbs)`.
#[derive(Debug)]
pub struct Databases(Vec<Database>);

#[derive(Debug)]
pub(super) struct Database {
    pub(super) name: String,
    pub(super) access: Access,
    engine: Engine,
}

#[derive(Debug)]
enum Engine {
    Sqlite(sqlite::Db),
    #[cfg(feature = "postgres")]
    Postgres(Box<super::postgres::Db>),
}

impl Databases {
    /// The source of rows that this keeps.
    pub const SOURCE: &str = image::SOURCE;

    /// These databases; relative files are in the workspace. Nothing is opened yet.
    pub fn new(root: &Path, connections: Vec<Connection>) -> Result<Self, SettingsError> {
        let mut databases: Vec<Database> = Vec::new();
        for connection in connections {
            let name = connection.name.clone();
            if !is_name(&name) {
                return Err(SettingsError::Name(name));
            }
            if databases.iter().any(|known| known.name == name) {
                return Err(SettingsError::Twice(name));
            }
            let access = connection.access;
            let engine = engine(root, &connection).map_err(|problem| SettingsError::Url {
                name: name.clone(),
                problem,
            })?;
            databases.push(Database {
                name,
                access,
                engine,
            });
        }
        databases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self(databases))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|database| database.name.as_str())
    }

    /// The one of a name, or the only one.
    pub(super) fn find(&self, name: &str) -> Result<&Database, ToolError> {
        let names = || {
            self.names()
                .map(|n| format!("`{n}`"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        match (self.0.as_slice(), name) {
            ([], _) => Err(none()),
            ([only], "") => Ok(only),
            (_, "") => Err(ToolError::validation(format!(
                "there are several databases; say which: {}",
                names()
            ))),
            (all, name) => all
                .iter()
                .find(|database| database.name == name)
                .ok_or_else(|| {
                    ToolError::not_found(format!(
                        "there is no database `{name}`; there are {}",
                        names()
                    ))
                    .with_hint(
                        "a connection is the name of one in the configuration, never an address",
                    )
                }),
        }
    }
}

/// No database is named.
pub(super) fn none() -> ToolError {
    ToolError::dependency("this hub has no database").with_hint(
        "name one in `helve.toml`: `[databases.main]` with `url = \"sqlite:data/app.db\"` or \
         `url = \"postgres://user@host/database\"`, and `access = \"write\"` where rows may change",
    )
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

fn engine(root: &Path, connection: &Connection) -> Result<Engine, String> {
    if let Some(path) = connection.url.strip_prefix("sqlite:") {
        if connection.password.is_some() {
            return Err("names a file, which has no password".to_owned());
        }
        return Ok(Engine::Sqlite(sqlite::Db::new(file(root, path)?)));
    }
    if connection.url.starts_with("postgres://") || connection.url.starts_with("postgresql://") {
        #[cfg(feature = "postgres")]
        return super::postgres::Db::new(root, connection).map(|db| Engine::Postgres(Box::new(db)));
        #[cfg(not(feature = "postgres"))]
        return Err("needs PostgreSQL, which this build has not".to_owned());
    }
    Err("begins neither with `sqlite:` nor with `postgres://`".to_owned())
}

/// The file of a database: not in the state of the hub, which is nobody's to query.
fn file(root: &Path, path: &str) -> Result<PathBuf, String> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.contains(['?', '\0']) {
        return Err("names no file: `sqlite:data/app.db`, without options".to_owned());
    }
    let whole = root.join(path);
    let up = |c: Component<'_>| c == Component::ParentDir;
    if Path::new(path).components().any(up) {
        return Err("leads upwards; write the whole path".to_owned());
    }
    let seen = whole.canonicalize().unwrap_or(whole);
    let state = root
        .canonicalize()
        .unwrap_or_else(|_| root.to_owned())
        .join(".helve");
    if seen.starts_with(&state) || seen.starts_with(root.join(".helve")) {
        return Err("leads into `.helve`, which is the hub's own".to_owned());
    }
    Ok(seen)
}

impl Database {
    pub(super) fn engine(&self) -> &'static str {
        match &self.engine {
            Engine::Sqlite(_) => "sqlite",
            #[cfg(feature = "postgres")]
            Engine::Postgres(_) => "postgres",
        }
    }

    /// Whether rows may be changed.
    pub(super) fn may_write(&self) -> Result<(), ToolError> {
        match self.access {
            Access::Write => Ok(()),
            Access::Read => Err(
                ToolError::permission(format!("`{}` may only be read", self.name))
                    .with_hint("the operator may say `access = \"write\"` in the configuration"),
            ),
        }
    }

    pub(super) async fn query(&self, asked: Asked) -> Result<Found, ToolError> {
        match &self.engine {
            Engine::Sqlite(db) => db.query(asked).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(db) => db.query(&asked).await,
        }
    }

    pub(super) async fn try_out(
        &self,
        sql: String,
        params: Vec<Value>,
    ) -> Result<Tried, ToolError> {
        match &self.engine {
            Engine::Sqlite(db) => db.try_out(sql, params).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(db) => db.try_out(&sql, &params).await,
        }
    }

    pub(super) async fn schema(&self) -> Result<Vec<Table>, ToolError> {
        match &self.engine {
            Engine::Sqlite(db) => db.schema().await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(db) => db.schema().await,
        }
    }

    async fn now(&self, places: Vec<Place>) -> Result<Vec<Option<Value>>, ToolError> {
        match &self.engine {
            Engine::Sqlite(db) => db.now(places).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(db) => db.now(&places).await,
        }
    }
}

#[async_trait]
impl Rows for Databases {
    async fn now(&self, places: &[Place]) -> Result<Vec<Option<Value>>, ToolError> {
        let mut now = vec![None; places.len()];
        for database in &self.0 {
            let ours = |place: &Place| image::connection_of(&place.collection) == database.name;
            let (indexes, asked): (Vec<usize>, Vec<Place>) = places
                .iter()
                .cloned()
                .enumerate()
                .filter(|(_, place)| ours(place))
                .unzip();
            if asked.is_empty() {
                continue;
            }
            for (index, row) in indexes.into_iter().zip(database.now(asked).await?) {
                now[index] = row;
            }
        }
        for place in places {
            self.find(known(image::connection_of(&place.collection))?)?;
        }
        Ok(now)
    }

    async fn apply(&self, changes: &[RowChange]) -> Result<(), Unapplied> {
        let Some(first) = changes.first() else {
            return Ok(());
        };
        let name = known(image::connection_of(&first.collection)).map_err(Unapplied::Refused)?;
        let database = self.find(name).map_err(Unapplied::Refused)?;
        database.may_write().map_err(Unapplied::Refused)?;
        let elsewhere = |row: &RowChange| image::connection_of(&row.collection) != name;
        if changes.iter().any(elsewhere) {
            let problem = "rows of two databases are not one change";
            return Err(Unapplied::Refused(ToolError::internal(problem)));
        }
        match &database.engine {
            Engine::Sqlite(db) => db.apply(changes.to_vec()).await,
            #[cfg(feature = "postgres")]
            Engine::Postgres(db) => db.apply(changes).await,
        }
    }
}

/// An empty name would be the only one.
fn known(name: &str) -> Result<&str, ToolError> {
    match name.is_empty() {
        true => Err(image::damaged()),
        false => Ok(name),
    }
}
