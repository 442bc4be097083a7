//! Every trick to write through a query, or to reach what is beside the database.

use serde_json::json;

use super::world::{Engine, Rules, World, address, each, fresh, named};
use crate::database::{Access, Databases, toolset};
use crate::testing::Rig;

each! {
    a_query_writes_nothing
    a_connection_to_read_is_not_written
}

async fn a_query_writes_nothing(engine: Engine) {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'x')";
    let world = World::new(engine, Rules::Allow, schema).await;
    let mut tricks = vec![
        "INSERT INTO t VALUES (2, 'y')",
        "UPDATE t SET v = 'y'",
        "UPDATE t SET v = 'y' RETURNING v",
        "DELETE FROM t RETURNING id",
        "DROP TABLE t",
        "CREATE TABLE u (id INTEGER)",
        "CREATE TEMP TABLE u (id INTEGER)",
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "COMMIT; DELETE FROM t",
        "SELECT 1; DELETE FROM t",
        "SELECT 1; COMMIT; DELETE FROM t",
        "/* */ DELETE FROM t --",
        "SAVEPOINT x",
    ];
    let outside = world.rig.root.join("outside.db");
    let attach = format!("ATTACH '{}' AS o", outside.display());
    let vacuum = format!("VACUUM INTO '{}'", outside.display());
    tricks.extend(match engine {
        Engine::Sqlite => vec![
            attach.as_str(),
            vacuum.as_str(),
            "PRAGMA query_only = OFF",
            "PRAGMA writable_schema = ON",
            "PRAGMA user_version = 7",
            "PRAGMA journal_mode = DELETE",
            "PRAGMA journal_mode",
            "PRAGMA wal_checkpoint",
            "SELECT load_extension('/tmp/x.so')",
            "SELECT * FROM pragma_query_only",
            "WITH d AS (SELECT 1) DELETE FROM t",
            "SELECT writefile('/tmp/x', 'y')",
            "SELECT zeroblob(100000000)",
            "REINDEX",
            "ANALYZE",
        ],
        Engine::Postgres => vec![
            "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d",
            "SELECT * INTO u FROM t",
            "CREATE TABLE u AS SELECT 1",
            "SELECT * FROM t FOR UPDATE",
            "SELECT nextval('s')",
            "COPY t TO STDOUT",
            "COPY t TO PROGRAM 'cat'",
            "COPY t TO '/tmp/x'",
            "SET TRANSACTION READ WRITE",
            "SET default_transaction_read_only = off",
            "SET ROLE postgres",
            "DO $$ BEGIN DELETE FROM t; END $$",
            "CALL nothing()",
            "EXPLAIN ANALYZE DELETE FROM t",
            "PREPARE x AS DELETE FROM t",
            "DECLARE c CURSOR FOR SELECT 1",
            "LISTEN x",
            "LOCK t",
            "VACUUM",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT pg_ls_dir('/')",
            "SELECT lo_import('/etc/passwd')",
            "SELECT lo_export(1, '/tmp/x')",
            "SELECT set_config('role', 'postgres', false)",
        ],
    });
    let before = world.all(&["t"]).await;
    for sql in tricks {
        let answer = world.rig.call("database_query", json!({"sql": sql})).await;
        assert!(!answer.is_ok(), "{sql}: {:?}", answer.result);
        let kind = answer.result.unwrap_err().kind.as_str();
        assert!(
            ["validation", "permission"].contains(&kind),
            "{sql}: {kind}"
        );
        assert_eq!(world.all(&["t"]).await, before, "{sql}");
    }
    assert!(!outside.exists());
    if engine == Engine::Postgres {
        // What goes through is taken back.
        for sql in [
            "SELECT set_config('transaction_read_only', 'on', false)",
            "SELECT lo_create(4711)",
            "SELECT pg_notify('x', 'y')",
        ] {
            world.rig.call("database_query", json!({"sql": sql})).await;
        }
        let left = "SELECT count(*) FROM pg_largeobject_metadata";
        assert_eq!(world.look(left).await, ["0"]);
        let sql = "SELECT current_setting('statement_timeout'), current_user";
        let data = world.rig.data("database_query", json!({"sql": sql})).await;
        assert_eq!(data["rows"], json!([["1min", "app"]]));
    }
}

async fn a_connection_to_read_is_not_written(engine: Engine) {
    let base = match engine {
        Engine::Sqlite => String::new(),
        Engine::Postgres => fresh().await,
    };
    let rig = Rig::with(toolset().unwrap(), |root, builder| {
        let url = match engine {
            Engine::Sqlite => {
                let conn = rusqlite::Connection::open(root.join("a.db")).unwrap();
                conn.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY)")
                    .unwrap();
                "sqlite:a.db".to_owned()
            }
            Engine::Postgres => address("app", &base),
        };
        let all = vec![
            named("reading", &url, Access::Read),
            named("writing", &url, Access::Write),
        ];
        let databases = std::sync::Arc::new(Databases::new(root, all).unwrap());
        builder
            .service(databases.clone())
            .rows(Databases::SOURCE, databases)
    })
    .await;
    let args =
        |connection: &str| json!({"sql": "INSERT INTO t VALUES (1)", "connection": connection});
    let table = [
        (args("reading"), "`reading` may only be read"),
        (
            args(""),
            "there are several databases; say which: `reading`, `writing`",
        ),
    ];
    rig.refuses("database_update", &table).await;
    let data = rig
        .data("database_schema", json!({"connection": "reading"}))
        .await;
    assert_eq!(data["access"], "read");
}

/// The role decides what is seen: somebody else's table is not.
#[tokio::test]
async fn grants_hold() {
    let world = World::new(
        Engine::Postgres,
        Rules::Allow,
        "CREATE TABLE secret (id INTEGER PRIMARY KEY); CREATE TABLE open (id INTEGER PRIMARY KEY);
         CREATE TABLE half (id INTEGER PRIMARY KEY);
         GRANT SELECT ON open TO reader; GRANT SELECT, INSERT ON half TO reader",
    )
    .await;
    let name = world.look("SELECT current_database()").await[0].clone();
    let rig = Rig::with(toolset().unwrap(), |root, builder| {
        let all = vec![named("main", &address("reader", &name), Access::Write)];
        let databases = std::sync::Arc::new(Databases::new(root, all).unwrap());
        builder
            .service(databases.clone())
            .rows(Databases::SOURCE, databases)
    })
    .await;
    let data = rig
        .data(
            "database_query",
            json!({"sql": "SELECT count(*) FROM open"}),
        )
        .await;
    assert_eq!(data["rows"], json!([[0]]));
    let denied = [(json!({"sql": "SELECT * FROM secret"}), "permission")];
    rig.refuses("database_query", &denied).await;
    // It may insert, but not watch what it does; that is said, and nothing happens.
    let denied = [
        (json!({"sql": "INSERT INTO open VALUES (1)"}), "permission"),
        (json!({"sql": "INSERT INTO half VALUES (1)"}), "permission"),
    ];
    rig.refuses("database_update", &denied).await;
    assert_eq!(world.look("SELECT count(*) FROM half").await, ["0"]);
    let seen = rig.data("database_schema", json!({})).await;
    assert!(!seen.to_string().contains("secret"), "{seen}");
}

/// Virtual tables keep rows in ways that nobody here sees.
#[tokio::test]
async fn virtual_tables_are_not_changed() {
    let schema = "CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('word')";
    let world = World::new(Engine::Sqlite, Rules::Allow, schema).await;
    for sql in [
        "INSERT INTO f VALUES ('y')",
        "DELETE FROM f",
        "DELETE FROM f_content",
        "UPDATE f_config SET v = 9",
    ] {
        let answer = world.update(sql, json!([])).await;
        assert!(!answer.is_ok(), "{sql}: {:?}", answer.result);
    }
    let args = json!({"sql": "SELECT * FROM f WHERE f MATCH $1", "params": ["word"]});
    assert_eq!(
        world.rig.data("database_query", args).await["rows"],
        json!([["word"]])
    );
}
