//! Every value comes back as it was, to the last byte.

use proptest::prelude::*;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::world::{Engine, Rules, World};
use crate::database::sqlite::value::{Bound, kept};

fn any_value() -> impl Strategy<Value = Sql> {
    prop_oneof![
        Just(Sql::Null),
        any::<i64>().prop_map(Sql::Integer),
        any::<f64>().prop_map(|n| match n.is_nan() {
            // SQLite has none: it keeps NULL.
            true => Sql::Null,
            false => Sql::Real(n),
        }),
        prop::sample::select(vec![
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            0.1,
            1e308,
            5e-324,
            1.0
        ])
        .prop_map(Sql::Real),
        any::<String>().prop_map(Sql::Text),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Sql::Blob),
    ]
}

proptest! {
    /// Also through the text of JSON, as it is kept.
    #[test]
    fn values_of_sqlite_come_back(value in any_value()) {
        let written = kept((&value).into());
        let read: Value = serde_json::from_str(&written.to_string()).unwrap();
        prop_assert_eq!(&read, &written);
        let bound = Bound::of_kept(&read).unwrap();
        let same = match (&value, &bound) {
            (Sql::Null, Bound::Null) => true,
            (Sql::Integer(a), Bound::Integer(b)) => a == b,
            (Sql::Real(a), Bound::Real(b)) => a.to_bits() == b.to_bits(),
            (Sql::Text(a), Bound::Text(b)) => a.as_bytes() == b,
            (Sql::Blob(a), Bound::Blob(b)) => a == b,
            _ => false,
        };
        prop_assert!(same, "{:?} {:?}", value, bound);
    }

    #[test]
    fn broken_texts_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let written = kept(rusqlite::types::ValueRef::Text(&bytes));
        prop_assert_eq!(Bound::of_kept(&written), Some(Bound::Text(bytes)));
    }
}

#[tokio::test]
async fn rows_of_sqlite_come_back() {
    let world = World::new(
        Engine::Sqlite,
        Rules::Allow,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b REAL, c TEXT, d BLOB, e NUMERIC, g AS (a || 'x') STORED, h AS (b + 1));
         INSERT INTO t (id, a, b, c, d, e) VALUES
            (1, NULL, 9e999, 'it''s', x'00ff', 1.10), (2, 1, -9e999, '', x'', 9007199254740993),
            (3, 1.0, -0.0, CAST(x'fffe41' AS TEXT), zeroblob(10), '1e3'), (4, '1', 0.1, char(0, 10, 128512), 'text', 'x'),
            (9223372036854775807, x'31', 5e-324, NULL, NULL, 0.1), (-9223372036854775808, 'a', 1, 1, 1, 1);
         CREATE TABLE w (k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO w VALUES ('a', 1), ('b', NULL);
         CREATE TABLE r (k REAL, l BLOB, v, PRIMARY KEY (k, l)); INSERT INTO r VALUES (0.1, x'01', 1), (1e300, x'', 2)",
    )
    .await;
    // What is in a row, with the kinds of its values.
    let t = "(SELECT id, typeof(a), quote(a), typeof(b), b, quote(c), typeof(c), quote(d), typeof(d), quote(e), typeof(e), g, h FROM t)";
    let all = [t, "w", "(SELECT k, quote(l), v FROM r)"];
    for sql in [
        "DELETE FROM t",
        "UPDATE t SET a = 7, b = 7, c = 7, d = 7, e = 7",
        "UPDATE t SET c = c || 'x'",
        "DELETE FROM w",
        "UPDATE w SET v = 5, k = k || 'x'",
        "UPDATE r SET v = 9, k = k * 2",
        "DELETE FROM r",
    ] {
        world.there_and_back(sql, &all).await;
    }
}

#[tokio::test]
async fn rows_of_postgres_come_back() {
    let world = World::new(
        Engine::Postgres,
        Rules::Allow,
        r#"CREATE TYPE mood AS ENUM ('sad', 'it''s "ok"'); CREATE TYPE pair AS (a int, b text); CREATE DOMAIN small AS int CHECK (VALUE < 100);
         CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n numeric, n2 numeric(10,2), f float8, f4 real,
            ts timestamptz, t0 timestamp, d date, tm timetz, i interval, b bytea, j json, jb jsonb, u uuid, ip inet, ci cidr,
            a int[], ta text[], m mood, p pair, s small, r int4range, c char(5), x xml, bits bit(3), tsv tsvector, mo money,
            o "char", flag bool, g int GENERATED ALWAYS AS (1 + 1) STORED, nm name, pt point);
         INSERT INTO t (n, n2, f, f4, ts, t0, d, tm, i, b, j, jb, u, ip, ci, a, ta, m, p, s, r, c, x, bits, tsv, mo, o, flag, nm, pt) VALUES
            ('NaN', 1.10, 'NaN', 'NaN', 'infinity', '-infinity', '4713-01-01 BC', '23:59:59.999999+14', '1 mon -2 days 03:04:05.000006', '\x00ff', '{"a" :  1, "a":2}', '{"b":[1.10]}',
             '00000000-0000-0000-0000-000000000001', '1.2.3.4', '10.0.0.0/8', '{1,NULL,3}', '{"a,b","\"q\"",NULL,""}', 'it''s "ok"', '(1,"x,y")', 5, '[1,5)', 'ab', '<a>1</a>', '101', 'a b', 12.34, 'x', true, 'nm', '(0.1,2)'),
            (123456789012345678901234567890.123456789000, -0.00, '-Infinity', 0.1, '2026-11-15 12:00:00.123456+05:30', '2026-01-01 00:00:00.000001', 'infinity', '00:00:00-12', '-1 year', '', 'null', 'null',
             NULL, '::1/64', NULL, '{}', '{{a,b},{c,d}}', 'sad', '(,)', -5, 'empty', '', NULL, '000', NULL, -0.01, '', false, '', '(1e300,-0)'),
            (NULL, NULL, -0.0, 5e-45, '0001-01-01 00:00:00+00 BC', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"#,
    )
    .await;
    let seen = "(SELECT id, ctid IS NULL AS none, t.*::text AS whole, pg_column_size(n) AS size, f::text AS f FROM t) s";
    for sql in [
        "DELETE FROM t",
        "UPDATE t SET n = 1, n2 = 1, f = 1, f4 = 1, ts = now(), t0 = now(), d = now(), tm = now(), i = '1 s', b = 'x', j = '1', jb = '1'",
        "UPDATE t SET u = gen_random_uuid(), ip = '9.9.9.9', ci = '9.0.0.0/8', a = '{9}', ta = '{9}', m = 'sad', p = '(9,9)', s = 9, r = '[9,10)', c = '9'",
        "UPDATE t SET x = '<b/>', bits = '111', tsv = 'z', mo = 9, o = 'z', flag = NOT flag, nm = 'z', pt = '(9,9)'",
        "INSERT INTO t (n) VALUES (1.500)",
    ] {
        world.there_and_back(sql, &[seen]).await;
    }
    let data = world
        .rig
        .data(
            "database_query",
            json!({"sql": "SELECT n, f, ts, b, jb, flag, a FROM t ORDER BY id LIMIT 1"}),
        )
        .await;
    let wanted =
        json!([["NaN", "NaN", "infinity", {"$blob": "AP8="}, {"b": [1.10]}, true, "{1,NULL,3}"]]);
    assert_eq!(data["rows"], wanted);
}

/// Parts of a table, what a table inherits, and names that need care.
#[tokio::test]
async fn odd_tables_of_postgres_come_back() {
    let world = World::new(
        Engine::Postgres,
        Rules::Allow,
        r#"CREATE SCHEMA "odd.Schema"; CREATE TABLE "odd.Schema"."ta""b:le" ("i d" text, "o$k" int, v text, PRIMARY KEY ("o$k", "i d"));
         INSERT INTO "odd.Schema"."ta""b:le" VALUES ('a''b\c', 1, 'x');
         CREATE TABLE parts (id int, day date, v text, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
         CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
         CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
         INSERT INTO parts VALUES (1, '2026-01-15', 'a'), (2, '2026-02-15', 'b');
         CREATE VIEW v AS SELECT * FROM parts WHERE id = 1;
         CREATE TABLE late (id int PRIMARY KEY, other int REFERENCES late (id) DEFERRABLE INITIALLY DEFERRED);
         INSERT INTO late VALUES (1, 2), (2, 1)"#,
    )
    .await;
    let all = [r#""odd.Schema"."ta""b:le""#, "parts", "late"];
    for sql in [
        r#"UPDATE "odd.Schema"."ta""b:le" SET v = 'y', "i d" = '"z"'"#,
        r#"DELETE FROM "odd.Schema"."ta""b:le""#,
        "UPDATE parts SET v = v || '!'",
        "UPDATE parts SET day = day + 31 WHERE id = 1",
        "DELETE FROM parts",
        "UPDATE v SET v = 'through'",
        "DELETE FROM late",
        "UPDATE late SET id = id + 10, other = other + 10",
    ] {
        world.there_and_back(sql, &all).await;
    }
    // What is put off to the commit is told when it is tried out, not when people have said yes.
    let late = world
        .update("INSERT INTO late VALUES (5, 99)", json!([]))
        .await;
    let said = super::world::error_of(&late);
    assert!(
        said.starts_with("validation:") && said.contains("foreign key"),
        "{said}"
    );
}
