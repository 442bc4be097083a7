//! Changes of rows: tried out, shown, approved, applied, undone, in conflict.

use helve_kernel::{Call, RunState};
use serde_json::json;

use super::world::{Engine, Rules, World, each, error_of};

each! {
    a_change_is_shown_before_and_undone_after
    what_somebody_changed_meanwhile_is_a_conflict
    an_undo_does_not_take_what_others_did
    cascades_are_part_of_it
    triggers_run_once
    keys_and_unique_values_move
    tables_refer_to_themselves
    only_changes_of_rows_are_taken
    rows_must_be_told_apart
    large_changes_are_refused
    nothing_is_left_behind
    a_dry_run_changes_nothing
    two_databases_are_not_one_undo
    a_row_is_only_replaced_as_it_was
}

const PEOPLE: &str =
    "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, score REAL);
    INSERT INTO people VALUES (1, 'ann', 1.5), (2, 'bob', NULL), (3, 'cy', 3)";

async fn a_change_is_shown_before_and_undone_after(engine: Engine) {
    let world = World::new(engine, Rules::Ask, PEOPLE).await;
    let before = world.all(&["people"]).await;
    let staged = world
        .staged("UPDATE people SET name = upper(name), score = 0.1 WHERE id <= 2")
        .await;
    assert_eq!(
        world.all(&["people"]).await,
        before,
        "nobody has seen it yet"
    );
    let diff = world.diff(&staged).await;
    for part in ["people/[1]", "people/[2]", "\"ann\"", "\"ANN\"", "0.1"] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    assert!(!diff.contains("[3]"), "{diff}");
    let run = world.approve(&staged).await;
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    let data = run.answer.unwrap()["data"].clone();
    assert_eq!(
        (&data["affected"], &data["updated"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(data["first"][0]["key"], json!([1]));
    let names = "SELECT name FROM people ORDER BY id";
    assert_eq!(world.look(names).await, ["ANN", "BOB", "cy"]);
    let undone = world.rig.undo(&staged).await;
    assert!(undone.is_ok(), "{undone:?}");
    assert_eq!(world.all(&["people"]).await, before);
    assert!(error_of(&world.rig.undo(&staged).await).contains("undone before"));

    // A change that nobody wants leaves no trace.
    let staged = world.staged("DELETE FROM people").await;
    let bob = helve_kernel::Principal::person("bob");
    let (id, no) = (
        staged.meta.approval.clone().unwrap(),
        helve_kernel::Verdict::Deny,
    );
    world.rig.kernel.decide(&bob, &id, no, None).await.unwrap();
    let run = world
        .rig
        .kernel
        .wait_for(staged.meta.run_id.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(run.state, RunState::Denied);
    assert_eq!(world.all(&["people"]).await, before);
}

async fn what_somebody_changed_meanwhile_is_a_conflict(engine: Engine) {
    let world = World::new(engine, Rules::Ask, PEOPLE).await;
    for (ours, theirs) in [
        (
            "UPDATE people SET score = 9",
            "UPDATE people SET score = 7 WHERE id = 2",
        ),
        (
            "DELETE FROM people WHERE id = 2",
            "UPDATE people SET score = 8 WHERE id = 2",
        ),
        (
            "UPDATE people SET score = 9 WHERE id < 3",
            "DELETE FROM people WHERE id = 1",
        ),
        (
            "INSERT INTO people VALUES (9, 'x', 1)",
            "INSERT INTO people VALUES (9, 'y', 1)",
        ),
        // Not the same row, but the same name.
        (
            "INSERT INTO people VALUES (10, 'z', 1)",
            "INSERT INTO people VALUES (11, 'z', 1)",
        ),
    ] {
        let staged = world.staged(ours).await;
        world.exec(theirs).await;
        let before = world.all(&["people"]).await;
        let run = world.approve(&staged).await;
        assert_eq!(run.state, RunState::Failed, "{ours}");
        let error = &run.answer.unwrap()["error"];
        assert_eq!(error["type"], "conflict", "{ours}: {error}");
        assert_eq!(
            world.all(&["people"]).await,
            before,
            "{ours}: nothing is applied"
        );
    }
}

async fn an_undo_does_not_take_what_others_did(engine: Engine) {
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let done = world.done("UPDATE people SET score = 5").await;
    world.exec("UPDATE people SET score = 6 WHERE id = 2").await;
    let said = error_of(&world.rig.undo(&done).await);
    assert!(
        said.starts_with("conflict:") && said.contains("people/[2]"),
        "{said}"
    );
    let scores = "SELECT score FROM people ORDER BY id";
    assert_eq!(world.look(scores).await, ["5", "6", "5"]);
    let forced = world.force(&done).await;
    assert!(forced.is_ok(), "{forced:?}");
    assert_eq!(world.look(scores).await, ["1.5", "", "3"]);
    // The force was a run as well.
    assert!(world.rig.undo(&forced).await.is_ok());
    assert_eq!(world.look(scores).await, ["5", "6", "5"]);
}

async fn cascades_are_part_of_it(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT);
         CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER NOT NULL REFERENCES a (id) ON DELETE CASCADE ON UPDATE CASCADE);
         CREATE TABLE c (id INTEGER PRIMARY KEY, b INTEGER REFERENCES b (id) ON DELETE SET NULL);
         CREATE TABLE d (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id));
         INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'z');
         INSERT INTO b VALUES (10, 1), (11, 1), (12, 2);
         INSERT INTO c VALUES (100, 10), (101, 12);
         INSERT INTO d VALUES (1000, 3)",
    )
    .await;
    let all = ["a", "b", "c", "d"];
    world
        .there_and_back("DELETE FROM a WHERE id = 1", &all)
        .await;
    world
        .there_and_back("UPDATE a SET id = 20 WHERE id = 2", &all)
        .await;
    world.there_and_back("DELETE FROM b", &all).await;
    let before = world.all(&all).await;
    let said = error_of(&world.update("DELETE FROM a WHERE id = 3", json!([])).await);
    assert!(said.to_lowercase().contains("foreign key"), "{said}");
    assert_eq!(world.all(&all).await, before);
}

/// A cascade must not take what came after people looked.
#[tokio::test]
async fn a_cascade_takes_nothing_that_was_not_shown() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let world = World::new(
            engine,
            Rules::Ask,
            "CREATE TABLE a (id INTEGER PRIMARY KEY);
             CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a (id) ON DELETE CASCADE);
             INSERT INTO a VALUES (1); INSERT INTO b VALUES (10, 1)",
        )
        .await;
        let staged = world.staged("DELETE FROM a").await;
        world.exec("INSERT INTO b VALUES (11, 1)").await;
        let run = world.approve(&staged).await;
        assert_eq!(run.state, RunState::Failed, "{engine:?}");
        assert_eq!(run.answer.unwrap()["error"]["type"], "conflict");
        assert_eq!(
            world.all(&["a", "b"]).await,
            [vec!["1"], vec!["10|1", "11|1"]]
        );
    }
}

fn triggers(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => {
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER, stamp TEXT);
             CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
             CREATE TRIGGER one AFTER UPDATE OF v ON t BEGIN
                 UPDATE t SET stamp = 'new' || random() WHERE id = NEW.id;
                 INSERT INTO log (what) VALUES (OLD.v || '->' || NEW.v); END;
             CREATE TRIGGER two AFTER INSERT ON t BEGIN UPDATE t SET stamp = 'made' WHERE id = NEW.id; END;
             INSERT INTO t VALUES (1, 1, 'old'), (2, 2, 'old')"
        }
        Engine::Postgres => {
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER, stamp TEXT);
             CREATE TABLE log (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what TEXT);
             CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 NEW.stamp = 'new' || random(); INSERT INTO log (what) VALUES (OLD.v || '->' || NEW.v); RETURN NEW; END $$;
             CREATE FUNCTION made() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 UPDATE t SET stamp = 'made' WHERE id = NEW.id; RETURN NULL; END $$;
             CREATE TRIGGER one BEFORE UPDATE OF v ON t FOR EACH ROW EXECUTE FUNCTION note();
             CREATE TRIGGER two AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION made();
             INSERT INTO t VALUES (1, 1, 'old'), (2, 2, 'old')"
        }
    }
}

async fn triggers_run_once(engine: Engine) {
    let world = World::new(engine, Rules::Allow, triggers(engine)).await;
    world
        .there_and_back("UPDATE t SET v = v + 1", &["t", "log"])
        .await;
    world
        .there_and_back("INSERT INTO t (id, v) VALUES (3, 3)", &["t", "log"])
        .await;
    let done = world.done("UPDATE t SET v = 5 WHERE id = 1").await;
    assert_eq!(world.look("SELECT what FROM log").await, ["1->5"]);
    assert_eq!(world.diff(&done).await.matches("log/").count(), 1);
    // They are on again for everybody else.
    world.exec("UPDATE t SET v = 6 WHERE id = 1").await;
    assert_eq!(
        world.look("SELECT what FROM log ORDER BY id").await,
        ["1->5", "5->6"]
    );
}

async fn keys_and_unique_values_move(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE p (id INTEGER PRIMARY KEY, pos INTEGER NOT NULL UNIQUE, name TEXT);
         INSERT INTO p VALUES (1, 10, 'a'), (2, 11, 'b'), (3, 12, 'c');
         CREATE TABLE q (id INTEGER PRIMARY KEY, pos INTEGER NOT NULL UNIQUE);
         INSERT INTO q VALUES (1, 10), (2, 11), (3, 12);
         CREATE TABLE k (x TEXT, y INTEGER, v TEXT, PRIMARY KEY (y, x));
         INSERT INTO k VALUES ('a/b', 1, 'one'), ('\"c\"', -2, 'two')",
    )
    .await;
    world
        .there_and_back("UPDATE p SET pos = pos - 1", &["p"])
        .await;
    world
        .there_and_back("UPDATE q SET id = id - 1", &["q"])
        .await;
    world
        .there_and_back("UPDATE p SET id = id + 10", &["p"])
        .await;
    world
        .there_and_back("UPDATE k SET v = v || '!', x = x || '?'", &["k"])
        .await;
    world.there_and_back("DELETE FROM k", &["k"]).await;
    world
        .there_and_back(
            "INSERT INTO p VALUES (1, 99, 'z') ON CONFLICT (id) DO UPDATE SET name = 'up'",
            &["p"],
        )
        .await;
    if engine == Engine::Sqlite {
        world
            .there_and_back("REPLACE INTO p VALUES (7, 11, 'r')", &["p"])
            .await;
        world
            .there_and_back("UPDATE OR REPLACE p SET pos = 12 WHERE id = 1", &["p"])
            .await;
    }
}

async fn tables_refer_to_themselves(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE tree (id INTEGER PRIMARY KEY, up INTEGER REFERENCES tree (id));
         INSERT INTO tree VALUES (5, NULL); INSERT INTO tree VALUES (3, 5);
         INSERT INTO tree VALUES (9, 3); INSERT INTO tree VALUES (1, 9)",
    )
    .await;
    world.there_and_back("DELETE FROM tree", &["tree"]).await;
    world
        .there_and_back("INSERT INTO tree VALUES (7, 8), (8, 1)", &["tree"])
        .await;
}

async fn only_changes_of_rows_are_taken(engine: Engine) {
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let before = world.all(&["people"]).await;
    let mut table = vec![
        ("SELECT 1", "validation: it is no INSERT"),
        ("CREATE TABLE x (id INTEGER)", "validation: it is no INSERT"),
        ("DROP TABLE people", "validation: it is no INSERT"),
        (
            "ALTER TABLE people ADD COLUMN x TEXT",
            "validation: it is no INSERT",
        ),
        ("BEGIN", "validation: it is no INSERT"),
        ("COMMIT", "validation: it is no INSERT"),
        ("ROLLBACK", "validation: it is no INSERT"),
        ("EXPLAIN DELETE FROM people", "validation: it is no INSERT"),
        ("DELETE FROM people; DROP TABLE people", "validation:"),
        ("COMMIT; DELETE FROM people", "validation:"),
        ("UPDATE nobody SET x = 1", "validation:"),
        ("UPDATE people SET", "validation:"),
        ("", "validation"),
        ("INSERT INTO people VALUES (1, 'x', 1)", "validation:"),
        (
            "UPDATE people SET name = $1",
            "validation: the statement has 1 placeholders, and `params` has 0",
        ),
    ];
    table.extend(match engine {
        Engine::Sqlite => vec![
            ("PRAGMA writable_schema = ON", "validation: it is no INSERT"),
            ("ATTACH 'other.db' AS o", "validation: it is no INSERT"),
            ("VACUUM", "validation: it is no INSERT"),
            ("UPDATE sqlite_schema SET sql = ''", "validation: "),
            ("DELETE FROM helve_keys", "validation: it is no INSERT"),
            (
                "INSERT INTO helve_keys VALUES (0, 7)",
                "validation: it is no INSERT",
            ),
        ],
        Engine::Postgres => vec![
            ("TRUNCATE people", "validation: it is no INSERT"),
            ("SELECT * INTO x FROM people", "validation: it is no INSERT"),
            ("CREATE TABLE x AS SELECT 1", "validation: it is no INSERT"),
            ("COPY people FROM STDIN", "validation: it is no INSERT"),
            (
                "DO $$ BEGIN DELETE FROM people; COMMIT; END $$",
                "validation: it is no INSERT",
            ),
            ("SET ROLE postgres", "validation: it is no INSERT"),
            (
                "WITH d AS (DELETE FROM people RETURNING id) SELECT * FROM d",
                "validation: it is no INSERT",
            ),
            ("DELETE FROM pg_class", "permission: "),
        ],
    });
    for (sql, wanted) in table {
        let answer = world.update(sql, json!([])).await;
        assert!(!answer.is_ok(), "{sql}: {answer:?}");
        let said = error_of(&answer);
        assert!(
            said.contains(wanted),
            "{sql}\n said: {said}\n wanted: {wanted}"
        );
        assert_eq!(world.all(&["people"]).await, before, "{sql}");
    }
    let text = world
        .rig
        .refused("database_update", json!({"sql": "VACUUM"}))
        .await;
    assert!(text.contains("registered program"), "{text}");
}

async fn rows_must_be_told_apart(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE heap (v TEXT); INSERT INTO heap VALUES ('x');
         CREATE TABLE empty (id INTEGER PRIMARY KEY)",
    )
    .await;
    for sql in [
        "INSERT INTO heap VALUES ('y')",
        "UPDATE heap SET v = 'z'",
        "DELETE FROM heap",
    ] {
        let said = error_of(&world.update(sql, json!([])).await);
        assert!(said.contains("heap` has no primary key"), "{said}");
    }
    assert_eq!(world.look("SELECT v FROM heap").await, ["x"]);
    // What meets no row is fine.
    let done = world.done("DELETE FROM empty").await;
    assert_eq!(done.result.unwrap()["affected"], 0);
}

async fn large_changes_are_refused(engine: Engine) {
    let world = World::new(
        engine,
        Rules::Allow,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)",
    )
    .await;
    let many = |n: u32| match engine {
        Engine::Sqlite => format!(
            "INSERT INTO t WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {n}) SELECT i, i FROM s"
        ),
        Engine::Postgres => format!("INSERT INTO t SELECT i, i FROM generate_series(1, {n}) i"),
    };
    let said = error_of(&world.update(&many(10_001), json!([])).await);
    assert!(said.contains("more than 10000 rows"), "{said}");
    assert_eq!(world.look("SELECT count(*) FROM t").await, ["0"]);
    let done = world.done(&many(2_000)).await;
    assert_eq!(world.look("SELECT count(*) FROM t").await, ["2000"]);
    assert!(world.rig.undo(&done).await.is_ok());
    assert_eq!(world.look("SELECT count(*) FROM t").await, ["0"]);
}

async fn nothing_is_left_behind(engine: Engine) {
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let schema = match engine {
        Engine::Sqlite => "SELECT name FROM sqlite_schema ORDER BY 1",
        Engine::Postgres => {
            "SELECT tgname FROM pg_trigger UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'helve%'
             UNION ALL SELECT relname FROM pg_class WHERE relname LIKE 'helve%'"
        }
    };
    let before = world.look(schema).await;
    let done = world.done("UPDATE people SET score = 5").await;
    world
        .update("UPDATE people SET nothing = 5", json!([]))
        .await;
    assert!(world.rig.undo(&done).await.is_ok());
    assert_eq!(world.look(schema).await, before);
}

async fn a_dry_run_changes_nothing(engine: Engine) {
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let before = world.all(&["people"]).await;
    let args = json!({"sql": "DELETE FROM people WHERE id = $1", "params": [2]});
    let mut call = Call::new(world.rig.me.clone(), "database_update", args);
    call.dry_run = true;
    let shown = world.rig.kernel.call(call).await;
    assert!(shown.is_ok(), "{shown:?}");
    let diff = shown.meta.diff.unwrap();
    assert!(
        diff.contains("deleted") && diff.contains("\"bob\""),
        "{diff}"
    );
    assert_eq!(world.all(&["people"]).await, before);
}

/// Files and rows have no transaction in common, so they are not undone as one.
async fn two_databases_are_not_one_undo(engine: Engine) {
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let change = |collection: &str| helve_kernel::RowChange {
        collection: collection.to_owned(),
        key: "[1]".to_owned(),
        before: None,
        after: Some(json!({"id": 1})),
    };
    use helve_kernel::{Rows as _, Unapplied};
    let both = [change("@db:main:people"), change("@db:other:people")];
    let Err(Unapplied::Refused(error)) = world.databases.apply(&both).await else {
        panic!("it was applied");
    };
    assert!(error.message.contains("two databases"), "{error}");
    let gone = [change("@db:gone:people").place()];
    let error = world.databases.now(&gone).await.unwrap_err();
    assert!(error.message.contains("no database `gone`"), "{error}");
}

/// What REPLACE puts away fires no trigger of ours where others have some: it is missed in
/// the count, and refused.
#[tokio::test]
async fn a_replacement_that_cannot_be_seen_is_refused() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT UNIQUE); INSERT INTO t VALUES (1, 'a'), (2, 'b');
        CREATE TABLE other (id INTEGER PRIMARY KEY);
        CREATE TRIGGER x AFTER INSERT ON other BEGIN DELETE FROM t; END";
    let world = World::new(Engine::Sqlite, Rules::Allow, schema).await;
    let said = error_of(
        &world
            .update("REPLACE INTO t VALUES (3, 'a')", json!([]))
            .await,
    );
    assert!(said.contains("replaces rows"), "{said}");
    assert_eq!(world.all(&["t"]).await, [["1|a", "2|b"]]);
    world
        .there_and_back("INSERT INTO t VALUES (3, 'c')", &["t"])
        .await;
    world
        .there_and_back("INSERT INTO other VALUES (1)", &["t", "other"])
        .await;
}

#[tokio::test]
async fn a_log_beside_the_file_changes_nothing() {
    let schema = format!("PRAGMA journal_mode = WAL; {PEOPLE}");
    let world = World::new(Engine::Sqlite, Rules::Allow, &schema).await;
    world
        .there_and_back("UPDATE people SET score = 7", &["people"])
        .await;
    let args = json!({"sql": "SELECT count(*) FROM people"});
    assert_eq!(
        world.rig.data("database_query", args).await["rows"],
        json!([[3]])
    );
}

/// Somebody who reads while a change is tried out is in nobody's way.
#[tokio::test]
async fn somebody_at_work_is_waited_for_and_then_told() {
    let world = World::new(Engine::Sqlite, Rules::Allow, PEOPLE).await;
    let other = rusqlite::Connection::open(world.rig.root.join("data/app.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = error_of(&world.update("DELETE FROM people", json!([])).await);
    assert!(said.starts_with("transient:"), "{said}");
    other.execute_batch("ROLLBACK").unwrap();
    world
        .there_and_back("DELETE FROM people", &["people"])
        .await;
}

#[tokio::test]
async fn rows_that_are_hidden_are_not_changed() {
    let schema = format!(
        "{PEOPLE}; ALTER TABLE people ENABLE ROW LEVEL SECURITY; ALTER TABLE people FORCE ROW LEVEL SECURITY;
         CREATE POLICY p ON people FOR ALL USING (id < 3) WITH CHECK (true)"
    );
    let world = World::new(Engine::Postgres, Rules::Allow, &schema).await;
    // It would look like a row that is deleted.
    let said = error_of(
        &world
            .update("UPDATE people SET id = 9 WHERE id = 1", json!([]))
            .await,
    );
    assert!(
        said.starts_with("permission: row security hides rows"),
        "{said}"
    );
}

#[tokio::test]
async fn tables_that_inherit_are_told_apart() {
    let schema = "CREATE TABLE up (id int PRIMARY KEY, v text);
        CREATE TABLE down (PRIMARY KEY (id)) INHERITS (up);
        INSERT INTO up VALUES (1, 'a'), (2, 'b'); INSERT INTO down VALUES (1, 'c')";
    let world = World::new(Engine::Postgres, Rules::Allow, schema).await;
    let all = ["(SELECT tableoid::regclass::text || id, v FROM up) x"];
    world
        .there_and_back("UPDATE up SET v = v || '!'", &all)
        .await;
    world
        .there_and_back("DELETE FROM up WHERE id = 1", &all)
        .await;
    world.there_and_back("DELETE FROM ONLY up", &all).await;
}

/// Who may change rows of a table with triggers, but not switch these off, is told at once,
/// and not when people have approved it.
#[tokio::test]
async fn triggers_of_others_are_told_before() {
    let world = World::new(Engine::Postgres, Rules::Allow, triggers(Engine::Postgres)).await;
    world
        .exec("GRANT ALL ON ALL TABLES IN SCHEMA public TO reader")
        .await;
    let name = world.look("SELECT current_database()").await[0].clone();
    let all = vec![super::world::named(
        "main",
        &super::world::address("reader", &name),
        crate::database::Access::Write,
    )];
    let databases = crate::database::Databases::new(&world.rig.root, all).unwrap();
    let tried = databases
        .find("main")
        .unwrap()
        .try_out("UPDATE t SET v = 9".to_owned(), Vec::new());
    let error = tried.await.err().unwrap();
    assert!(error.message.contains("has triggers"), "{error}");
}

/// Whoever looks whether a commit happened waits for one that is just happening.
#[tokio::test]
async fn a_commit_under_way_is_waited_for() {
    use helve_kernel::Rows as _;
    let world = World::new(Engine::Postgres, Rules::Allow, PEOPLE).await;
    world
        .exec("BEGIN; SELECT pg_advisory_xact_lock(448378205797); DELETE FROM people WHERE id = 1")
        .await;
    let (databases, place) = (
        world.databases.clone(),
        helve_kernel::Place {
            collection: "@db:main:public.people".to_owned(),
            key: "[1]".to_owned(),
        },
    );
    let looking = tokio::spawn(async move { databases.now(&[place]).await.unwrap() });
    let waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    let begun = std::time::Instant::now();
    while world.look(waits).await == ["0"] {
        assert!(begun.elapsed().as_secs() < 10, "nobody waits");
        tokio::task::yield_now().await;
    }
    world.exec("COMMIT").await;
    assert_eq!(looking.await.unwrap(), [None]);
}

/// Whoever asks, and whatever was looked at before: each row is looked at where it is applied.
async fn a_row_is_only_replaced_as_it_was(engine: Engine) {
    use helve_kernel::{ErrorKind, Place, RowChange, Rows as _, Unapplied};
    let world = World::new(engine, Rules::Allow, PEOPLE).await;
    let before = world.all(&["people"]).await;
    let collection = match engine {
        Engine::Sqlite => "@db:main:people",
        Engine::Postgres => "@db:main:public.people",
    };
    let place = |id: u32| Place {
        collection: collection.to_owned(),
        key: format!("[{id}]"),
    };
    let now = world.databases.now(&[place(1), place(2)]).await.unwrap();
    let change = |id: u32, before: Option<serde_json::Value>, after| RowChange {
        collection: collection.to_owned(),
        key: format!("[{id}]"),
        before,
        after,
    };
    let mut other = now[0].clone().unwrap();
    other["name"] = json!("not as it was");
    for second in [
        change(1, Some(other), None),
        change(9, now[0].clone(), None),
        change(1, None, now[0].clone()),
    ] {
        let all = [change(2, now[1].clone(), None), second];
        let Err(Unapplied::Refused(error)) = world.databases.apply(&all).await else {
            panic!("it was applied: {all:?}");
        };
        assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
        assert_eq!(world.all(&["people"]).await, before);
    }
    let Ok(()) = world
        .databases
        .apply(&[change(2, now[1].clone(), None)])
        .await
    else {
        panic!("it was not applied");
    };
    assert_eq!(
        world.look("SELECT id FROM people ORDER BY id").await,
        ["1", "3"]
    );
}
