//! A hub with one database of either engine, and a side door to look into it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use helve_core::policy::Policy;
use helve_kernel::{
    Answer, Builder, Diff, DiffForm, Principal, Rows, Run, RunState, UndoCall, Verdict,
};
use serde_json::{Value, json};
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::database::{Access, Connection, Databases, toolset};
use crate::testing::Rig;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

pub(super) struct World {
    pub(super) rig: Rig,
    pub(super) databases: Arc<Databases>,
    side: Side,
}

enum Side {
    Sqlite(std::path::PathBuf),
    Postgres(Client),
}

/// Whether the hub asks before it writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    Allow,
    Ask,
}

/// The address of the server, which must be there.
#[expect(
    clippy::disallowed_methods,
    reason = "a test is told where its server is"
)]
pub(super) fn server() -> String {
    std::env::var("HELVE_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "these tests need a PostgreSQL: `export HELVE_TEST_POSTGRES=$(tests/postgres.sh start)`, \
             or run ./test, which does it"
        )
    })
}

/// The same server, as somebody else and in another database.
pub(super) fn address(user: &str, database: &str) -> String {
    let server = server();
    let server = server.replace("user=postgres", &format!("user={user}"));
    server.replace(":///postgres?", &format!(":///{database}?"))
}

pub(super) async fn client(address: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(address, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A new database on the server.
pub(super) async fn fresh() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("t{}_{count}", std::process::id());
    let all = client(&server()).await;
    // One that ran before may have had the same number.
    all.batch_execute(&format!("DROP DATABASE IF EXISTS {name}"))
        .await
        .unwrap();
    all.batch_execute(&format!("CREATE DATABASE {name} OWNER app"))
        .await
        .unwrap();
    let own = client(&address("postgres", &name)).await;
    own.batch_execute("GRANT ALL ON SCHEMA public TO app")
        .await
        .unwrap();
    name
}

pub(super) fn named(name: &str, url: &str, access: Access) -> Connection {
    Connection {
        name: name.to_owned(),
        url: url.to_owned(),
        password: None,
        access,
    }
}

impl World {
    pub(super) async fn new(engine: Engine, rules: Rules, schema: &str) -> Self {
        Self::with(engine, rules, schema, |_, databases, builder| {
            builder.rows(Databases::SOURCE, databases)
        })
        .await
    }

    /// The same, with rows kept by whoever the test puts there.
    pub(super) async fn with(
        engine: Engine,
        rules: Rules,
        schema: &str,
        more: impl FnOnce(&Path, Arc<Databases>, Builder) -> Builder,
    ) -> Self {
        let base = match engine {
            Engine::Sqlite => String::new(),
            Engine::Postgres => fresh().await,
        };
        let mut made = None;
        let rig = Rig::with(toolset().unwrap(), |root, builder| {
            let url = match engine {
                Engine::Sqlite => {
                    std::fs::create_dir_all(root.join("data")).unwrap();
                    rusqlite::Connection::open(root.join("data/app.db")).unwrap();
                    "sqlite:data/app.db".to_owned()
                }
                Engine::Postgres => address("app", &base),
            };
            let all = vec![named("main", &url, Access::Write)];
            let databases = Arc::new(Databases::new(root, all).unwrap());
            made = Some(databases.clone());
            let builder = builder.service(databases.clone());
            let builder = match rules {
                Rules::Allow => builder,
                Rules::Ask => builder.policy(Policy::from_value(&json!([])).unwrap()),
            };
            more(root, databases, builder)
        })
        .await;
        let side = match engine {
            Engine::Sqlite => Side::Sqlite(rig.root.join("data/app.db")),
            Engine::Postgres => Side::Postgres(client(&address("app", &base)).await),
        };
        let world = Self {
            rig,
            databases: made.unwrap(),
            side,
        };
        world.exec(schema).await;
        world
    }

    /// Does something past the hub.
    pub(super) async fn exec(&self, sql: &str) {
        match &self.side {
            Side::Sqlite(path) => {
                let conn = rusqlite::Connection::open(path).unwrap();
                conn.execute_batch(sql).unwrap();
            }
            Side::Postgres(client) => client.batch_execute(sql).await.unwrap(),
        }
    }

    /// Looks past the hub: rows as texts, with `|` between the values.
    pub(super) async fn look(&self, sql: &str) -> Vec<String> {
        match &self.side {
            Side::Sqlite(path) => {
                let conn = rusqlite::Connection::open(path).unwrap();
                let mut statement = conn.prepare(sql).unwrap();
                let width = statement.column_count();
                let rows = statement.query_map([], |row| {
                    let value = |i| match row.get_ref_unwrap(i) {
                        rusqlite::types::ValueRef::Text(t) => String::from_utf8_lossy(t).into(),
                        other => match rusqlite::types::Value::try_from(other).unwrap() {
                            rusqlite::types::Value::Null => String::new(),
                            rusqlite::types::Value::Integer(n) => n.to_string(),
                            rusqlite::types::Value::Real(n) => n.to_string(),
                            other => format!("{other:?}"),
                        },
                    };
                    let values: Vec<String> = (0..width).map(value).collect();
                    Ok(values.join("|"))
                });
                rows.unwrap().map(Result::unwrap).collect()
            }
            Side::Postgres(client) => {
                let rows = client.simple_query(sql).await.unwrap();
                let rows = rows.iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => {
                        let values = (0..row.len()).map(|i| row.get(i).unwrap_or_default());
                        Some(values.collect::<Vec<_>>().join("|"))
                    }
                    _ => None,
                });
                rows.collect()
            }
        }
    }

    pub(super) async fn update(&self, sql: &str, params: Value) -> Answer {
        let args = json!({"sql": sql, "params": params});
        self.rig.call("database_update", args).await
    }

    /// A change that goes through at once.
    pub(super) async fn done(&self, sql: &str) -> Answer {
        let answer = self.update(sql, json!([])).await;
        assert!(answer.is_ok(), "{sql}: {:?}", answer.result);
        answer
    }

    /// A change that waits for people.
    pub(super) async fn staged(&self, sql: &str) -> Answer {
        let answer = self.update(sql, json!([])).await;
        assert_eq!(
            answer.meta.state,
            Some(RunState::Staged),
            "{sql}: {answer:?}"
        );
        answer
    }

    /// Somebody says yes; the run once it is over.
    pub(super) async fn approve(&self, staged: &Answer) -> Run {
        let bob = Principal::person("bob");
        let id = staged.meta.approval.clone().unwrap();
        let yes = Verdict::Approve;
        self.rig.kernel.decide(&bob, &id, yes, None).await.unwrap();
        let run = staged.meta.run_id.clone().unwrap();
        self.rig.kernel.wait_for(&run).await.unwrap()
    }

    pub(super) async fn diff(&self, of: &Answer) -> String {
        let run = of.meta.run_id.clone().unwrap();
        match self.rig.kernel.diff(&run, DiffForm::Text).await.unwrap() {
            Diff::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn force(&self, done: &Answer) -> Answer {
        let call = UndoCall {
            runs: vec![done.meta.run_id.clone().unwrap()],
            force: true,
            ..UndoCall::default()
        };
        self.rig
            .kernel
            .undo(&Arc::new(self.rig.me.clone()), call)
            .await
    }

    /// A change and its undo leave everything as it was, and the change is seen between.
    pub(super) async fn there_and_back(&self, sql: &str, tables: &[&str]) {
        let before = self.all(tables).await;
        let done = self.done(sql).await;
        let after = self.all(tables).await;
        assert_ne!(before, after, "{sql}");
        let undone = self.rig.undo(&done).await;
        assert!(undone.is_ok(), "{sql}: {:?}", undone.result);
        assert_eq!(before, self.all(tables).await, "{sql}");
        // And there again.
        let again = self.rig.undo(&undone).await;
        assert!(again.is_ok(), "{sql}: {:?}", again.result);
        assert_eq!(after, self.all(tables).await, "{sql}");
        assert!(self.rig.undo(&again).await.is_ok());
    }

    pub(super) async fn all(&self, tables: &[&str]) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        for table in tables {
            all.push(
                self.look(&format!("SELECT * FROM {table} ORDER BY 1"))
                    .await,
            );
        }
        all
    }
}

pub(super) fn error_of(answer: &Answer) -> String {
    match &answer.result {
        Ok(data) => panic!("it went well: {data}"),
        Err(error) => format!("{}: {}", error.kind, error.message),
    }
}

/// A name for the trait object, so that tests need not spell it.
pub(super) type Keeper = Arc<dyn Rows>;

/// The same test for each engine.
macro_rules! each {
    ($($name:ident)*) => {
        mod sqlite {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::database::tests::world::Engine::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test] async fn $name() {
                super::$name(crate::database::tests::world::Engine::Postgres).await;
            })*
        }
    };
}
pub(super) use each;
