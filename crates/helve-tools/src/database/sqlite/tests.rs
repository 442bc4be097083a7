//! Each wall around a query stands by itself.

use super::*;

#[test]
fn a_connection_to_look_cannot_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let made = Connection::open(&path).unwrap();
    made.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY)")
        .unwrap();
    let db = Db::new(path);
    let conn = db.open(Purpose::Look, &Over::default()).unwrap();
    let write = |conn: &Connection| {
        let error = conn.execute("INSERT INTO t VALUES (1)", []).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::ReadOnly));
    };
    assert!(
        conn.pragma_query_value(None, "query_only", |row| row.get::<_, bool>(0))
            .unwrap()
    );
    write(&conn);
    // Not by the setting alone.
    conn.pragma_update(None, "query_only", false).unwrap();
    write(&conn);
    assert!(conn.is_readonly("main").unwrap());
    for purpose in [Purpose::Look, Purpose::Change] {
        let conn = db.open(purpose, &Over::default()).unwrap();
        assert!(conn.execute_batch("ATTACH ':memory:' AS o").is_err());
        let on = DbConfig::SQLITE_DBCONFIG_DEFENSIVE;
        assert!(conn.db_config(on).unwrap());
    }
}
