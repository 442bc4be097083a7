//! Queries: what comes back, page by page, and when it is stopped.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::{Engine, Rules, World, address, client, each};
use crate::database::toolset;

each! {
    rows_come_with_their_columns
    a_million_rows_come_in_pages
    an_endless_query_is_stopped
    values_stay_values
    bad_calls_are_refused
    the_schema_is_told
}

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, who TEXT, total REAL);
    INSERT INTO orders VALUES (1, 'ann', 1.5), (2, NULL, -0.25), (3, 'cy', NULL)";

fn series(engine: Engine, n: u64) -> String {
    match engine {
        Engine::Sqlite => format!(
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {n}) SELECT i FROM s"
        ),
        Engine::Postgres => format!("SELECT i FROM generate_series(1, {n}) i"),
    }
}

async fn rows_come_with_their_columns(engine: Engine) {
    let world = World::new(engine, Rules::Allow, ORDERS).await;
    let sql = "SELECT id, who, total FROM orders WHERE id > $1 ORDER BY id";
    let data = world
        .rig
        .data("database_query", json!({"sql": sql, "params": [1]}))
        .await;
    let types = match engine {
        Engine::Sqlite => ["integer", "text", "real"],
        Engine::Postgres => ["int4", "text", "float4"],
    };
    let names = ["id", "who", "total"].iter().zip(types);
    let columns: Vec<Value> = names.map(|(n, t)| json!({"name": n, "type": t})).collect();
    let wanted = json!({
        "columns": columns,
        "rows": [[2, null, -0.25], [3, "cy", null]],
        "count": 2, "truncated": false, "next_offset": 0,
    });
    assert_eq!(data, wanted);
    let args = json!({"sql": sql, "params": [2], "rows_as": "object", "connection": "main"});
    let data = world.rig.data("db_query", args).await;
    assert_eq!(data["rows"], json!([{"id": 3, "who": "cy", "total": null}]));
    let none = world
        .rig
        .data("database_query", json!({"sql": "SELECT 1 WHERE 1 = 0;"}))
        .await;
    assert_eq!((&none["rows"], &none["count"]), (&json!([]), &json!(0)));
}

async fn a_million_rows_come_in_pages(engine: Engine) {
    let world = World::new(engine, Rules::Allow, ORDERS).await;
    let sql = series(engine, 1_000_000);
    let begun = Instant::now();
    let first = world.rig.data("database_query", json!({"sql": sql})).await;
    assert_eq!(
        (&first["count"], &first["truncated"]),
        (&json!(100), &json!(true))
    );
    assert_eq!(first["next_offset"], 100);
    let args = json!({"sql": sql, "offset": 999_990, "max_rows": 10_000});
    let last = world.rig.data("database_query", args).await;
    assert_eq!(
        (&last["count"], &last["truncated"]),
        (&json!(10), &json!(false))
    );
    assert_eq!(last["rows"][9], json!([1_000_000]));
    // Rows that are long come in fewer: what comes back never has to be cut.
    let long = match engine {
        Engine::Sqlite => format!("SELECT printf('%.*c', 10000, 'x') AS long FROM ({sql})"),
        Engine::Postgres => format!("SELECT repeat('x', 10000) AS long FROM ({sql}) s"),
    };
    let args = json!({"sql": long, "max_rows": 10_000});
    let page = world.rig.data("database_query", args).await;
    assert_eq!(
        (&page["count"], &page["truncated"]),
        (&json!(9), &json!(true))
    );
    assert!(begun.elapsed() < Duration::from_secs(25));
}

async fn an_endless_query_is_stopped(engine: Engine) {
    let world = World::new(engine, Rules::Allow, ORDERS).await;
    let mut tools = toolset().unwrap().into_tools();
    tools.retain(|tool| tool.def.name.as_str() == "database_query");
    let mut tool = tools.remove(0);
    tool.def.name = helve_kernel::ToolName::new("database_hurry").unwrap();
    tool.def.aliases.clear();
    tool.def.timeout = Some(Duration::from_millis(300));
    world.rig.kernel.add_tool(tool).unwrap();
    let sql = match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT count(*) FROM s"
        }
        Engine::Postgres => {
            "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT (i + 1) % 1000 FROM s) SELECT count(*) FROM s"
        }
    };
    // As many as work at once: each must end, or the last would wait for ever.
    let calls = (0..9).map(|_| world.rig.refused("database_hurry", json!({"sql": sql})));
    for said in futures_util::future::join_all(calls).await {
        assert!(said.contains("timeout"), "{said}");
    }
    let args = json!({"sql": "SELECT 1"});
    assert_eq!(
        world.rig.data("database_query", args).await["rows"],
        json!([[1]])
    );
    if engine == Engine::Postgres {
        let all = client(&address("postgres", "postgres")).await;
        let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'helve'
                        AND query LIKE '%helve_rows%' AND query NOT LIKE '%pg_stat%' AND datname = ";
        let name = world.look("SELECT current_database()").await[0].clone();
        let sql = format!("{left} '{name}' AND state = 'active'");
        let begun = Instant::now();
        while all.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0) > 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "the server is still at it"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn values_stay_values(engine: Engine) {
    let world = World::new(engine, Rules::Allow, ORDERS).await;
    let evil = "x'; DROP TABLE orders; --";
    let sql = "SELECT count(*) FROM orders WHERE who = $1";
    let data = world
        .rig
        .data("database_query", json!({"sql": sql, "params": [evil]}))
        .await;
    assert_eq!(data["rows"], json!([[0]]));
    let args = json!({"sql": "UPDATE orders SET who = $1 WHERE id = $2", "params": [evil, 1]});
    world.rig.data("database_update", args).await;
    assert_eq!(
        world.look("SELECT who FROM orders WHERE id = 1").await,
        [evil]
    );
    for (param, wanted) in [
        (json!("it's"), json!("it's")),
        (
            json!("\u{4e2d} \u{1f600} \\ \" \n"),
            json!("\u{4e2d} \u{1f600} \\ \" \n"),
        ),
        (json!(null), json!(null)),
        (json!({"a": [1]}), json!("{\"a\":[1]}")),
    ] {
        let args = json!({"sql": "SELECT CAST($1 AS TEXT) AS v", "params": [param]});
        assert_eq!(
            world.rig.data("database_query", args).await["rows"],
            json!([[wanted]])
        );
    }
    let blob = json!({"$blob": "AAEC/w=="});
    let kind = if engine == Engine::Sqlite {
        "BLOB"
    } else {
        "BYTEA"
    };
    let args = json!({"sql": format!("SELECT CAST($1 AS {kind}) AS v"), "params": [blob]});
    assert_eq!(
        world.rig.data("database_query", args).await["rows"],
        json!([[blob]])
    );
}

async fn bad_calls_are_refused(engine: Engine) {
    let world = World::new(engine, Rules::Allow, ORDERS).await;
    let elsewhere = |connection: &str| json!({"sql": "SELECT 1", "connection": connection});
    let table = [
        (json!({}), "validation"),
        (json!({"sql": ""}), "validation"),
        (json!({"sql": "SELECT 1", "max_rows": 0}), "validation"),
        (json!({"sql": "SELECT 1", "max_rows": 10_001}), "validation"),
        (json!({"sql": "SELECT 1", "offset": -1}), "validation"),
        (json!({"sql": "SELECT 1", "rows_as": "csv"}), "validation"),
        (json!({"sql": "SELECT 1", "url": "sqlite:x"}), "validation"),
        (json!({"sql": "SELECT 1", "params": "x"}), "validation"),
        (
            json!({"sql": "SELECT 1", "params": [1]}),
            "the statement has 0 placeholders, and `params` has 1 values",
        ),
        (
            json!({"sql": "SELECT $1"}),
            "the statement has 1 placeholders, and `params` has 0 values",
        ),
        (json!({"sql": "SELEC 1"}), "validation"),
        (json!({"sql": "SELECT * FROM nobody"}), "nobody"),
        (json!({"sql": "SELECT 1; SELECT 2"}), "validation"),
        (
            elsewhere("other"),
            "there is no database `other`; there are `main`",
        ),
        (
            elsewhere("postgres://postgres@localhost/postgres"),
            "never an address",
        ),
        (elsewhere("sqlite:data/app.db"), "never an address"),
        (elsewhere("../main"), "never an address"),
        (elsewhere("MAIN"), "there is no database `MAIN`"),
    ];
    world.rig.refuses("database_query", &table).await;
    let table = [
        (
            json!({"table": "nobody"}),
            "there is no table or view `nobody` in `main`",
        ),
        (json!({"connection": "x"}), "there is no database `x`"),
        (json!({"sql": "x"}), "validation"),
    ];
    world.rig.refuses("database_schema", &table).await;
}

async fn the_schema_is_told(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT NOT NULL DEFAULT 'x');
         CREATE TABLE b (x INTEGER, y TEXT, a INTEGER REFERENCES a (id) ON DELETE CASCADE, PRIMARY KEY (y, x));
         CREATE UNIQUE INDEX b_a ON b (a, x); CREATE VIEW v AS SELECT n FROM a;
         CREATE TABLE \"odd Name\" (id INTEGER PRIMARY KEY)",
    )
    .await;
    let data = world.rig.data("list_tables", json!({})).await;
    let of = |name: &str| match engine {
        Engine::Sqlite => name.to_owned(),
        Engine::Postgres => format!("public.{name}"),
    };
    let tables = data["tables"].as_array().unwrap();
    let names: Vec<&str> = tables.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, [of("a"), of("b"), of("\"odd Name\""), of("v")]);
    assert_eq!(data["access"], "write");
    let b = world
        .rig
        .data("database_schema", json!({"table": "b"}))
        .await;
    let b = &b["tables"][0];
    assert_eq!(b["primary_key"], json!(["y", "x"]));
    let text = b.to_string();
    for part in ["REFERENCES a(id) ON DELETE CASCADE", "UNIQUE", "b_a"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let a = world
        .rig
        .data("database_schema", json!({"table": of("a")}))
        .await;
    let n = &a["tables"][0]["columns"][1];
    assert_eq!(
        (&n["type"], &n["nullable"]),
        (&json!("text"), &json!(false))
    );
    assert!(n["default"].as_str().unwrap().starts_with("'x'"));
    let v = world
        .rig
        .data("database_schema", json!({"table": "v"}))
        .await;
    assert_eq!(v["tables"][0]["kind"], "view");
    // The names lead back to the tables.
    let sql = format!("SELECT count(*) FROM {}", of("\"odd Name\""));
    assert_eq!(
        world.rig.data("database_query", json!({"sql": sql})).await["rows"],
        json!([[0]])
    );
}
