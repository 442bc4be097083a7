//! Which connections there can be.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::world::named;
use crate::database::{Access, Connection, Databases, toolset};
use crate::testing::Rig;

#[test]
fn what_is_no_connection_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join(".helve")).unwrap();
    std::os::unix::fs::symlink(root.join(".helve"), root.join("link")).unwrap();
    std::fs::write(root.join(".helve/helve.db"), "").unwrap();
    let state = root.join(".helve/helve.db");
    let state = format!("sqlite:{}", state.display());
    for (name, url, wanted) in [
        ("a", "sqlite:data/app.db", ""),
        ("a-b_1", "sqlite:/srv/app.db", ""),
        ("a", "postgres://me@host/db", ""),
        ("a", "postgresql:///db?user=me&host=/run/postgresql", ""),
        ("", "sqlite:a.db", "is no name"),
        ("a:b", "sqlite:a.db", "is no name"),
        ("A", "sqlite:a.db", "is no name"),
        ("a", "", "begins neither"),
        ("a", "data/app.db", "begins neither"),
        ("a", "mysql://x", "begins neither"),
        ("a", "sqlite:", "names no file"),
        ("a", "sqlite:a.db?mode=rwc", "names no file"),
        ("a", "sqlite:../a.db", "leads upwards"),
        ("a", "sqlite:.helve/helve.db", "the hub's own"),
        ("a", "sqlite:./.helve/helve.db", "the hub's own"),
        ("a", "sqlite:link/helve.db", "the hub's own"),
        ("a", &state, "the hub's own"),
        ("a", "postgres://me:word@host/db", "has a password in it"),
        ("a", "postgres://me@host/db?sslmode=require", ""),
        ("a", "postgres://me@host/db?sslmode=verify-full", ""),
        (
            "a",
            "postgres://me@host/db?sslmode=full",
            "has the `sslmode` `full`",
        ),
        ("a", "postgres://me@host/db?sslmode", "is none"),
        (
            "a",
            "postgres://me@host/db?ssl%6Dode=require",
            "where it is not read",
        ),
        (
            "a",
            "postgres://a?b@host/db?sslmode=require",
            "where it is not read",
        ),
        ("a", "postgres://me@/db?hostaddr=10.0.0.5", ""),
        (
            "a",
            "postgres://me@/db?host=/run&sslmode=require",
            "over a Unix socket",
        ),
        (
            "a",
            "postgres://me@host/db?sslrootcert=gone%20away.pem",
            "gone away.pem",
        ),
        (
            "a",
            "postgres://me@host/db?sslrootcert=.helve/helve.db",
            "no certificate in",
        ),
        ("a", "postgres://me@host:port/db", "is none"),
    ] {
        let made = Databases::new(root, vec![named(name, url, Access::Read)]);
        match (made, wanted) {
            (Ok(_), "") => {}
            (Ok(_), _) => panic!("{url} is a connection"),
            (Err(error), "") => panic!("{url}: {error}"),
            (Err(error), wanted) => assert!(error.to_string().contains(wanted), "{error}"),
        }
    }
    let one = || named("a", "sqlite:a.db", Access::Read);
    let error = Databases::new(root, vec![one(), one()]).unwrap_err();
    assert_eq!(error.to_string(), "there are two databases `a`");
    assert_eq!(Access::parse("write"), Some(Access::Write));
    assert_eq!(Access::parse("admin"), None);
}

async fn hub(connections: fn(&Path) -> Vec<Connection>) -> Rig {
    Rig::with(toolset().unwrap(), |root, builder| {
        let databases = Arc::new(Databases::new(root, connections(root)).unwrap());
        builder
            .service(databases.clone())
            .rows(Databases::SOURCE, databases)
    })
    .await
}

#[tokio::test]
async fn without_a_database_it_is_said_how_to_name_one() {
    let none = [
        Rig::new(toolset().unwrap()).await,
        hub(|_| Vec::new()).await,
    ];
    for rig in none {
        for (tool, args) in [
            ("database_query", json!({"sql": "SELECT 1"})),
            ("database_update", json!({"sql": "DELETE FROM t"})),
            ("database_schema", json!({})),
        ] {
            let said = rig.refused(tool, args).await;
            assert!(
                said.contains("dependency") && said.contains("[databases.main]"),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn what_cannot_be_reached_is_said() {
    let rig = hub(|_| {
        vec![
            named("gone", "sqlite:gone.db", Access::Write),
            named("text", "sqlite:text.db", Access::Write),
            named("server", "postgres://me@/db?host=/nowhere", Access::Write),
            Connection {
                password: Some(Arc::new(|| {
                    Box::pin(async { Err("the secret `x` is not set".to_owned()) })
                })),
                ..named("locked", "postgres://me@/db?host=/nowhere", Access::Write)
            },
        ]
    })
    .await;
    let text = "this is no database, but a text of some length";
    rig.write("text.db", text);
    for (name, wanted) in [
        ("gone", "gone.db` cannot be opened"),
        ("text", "text.db` cannot be opened: file is not a database"),
        ("server", "PostgreSQL at `/nowhere` cannot be reached"),
        ("locked", "the secret `x` is not set"),
    ] {
        let table = [(json!({"sql": "SELECT 1", "connection": name}), wanted)];
        rig.refuses("database_query", &table).await;
        let table = [(json!({"sql": "DELETE FROM t", "connection": name}), wanted)];
        rig.refuses("database_update", &table).await;
    }
    assert!(!rig.root.join("gone.db").exists());
    assert_eq!(rig.read("text.db"), text);
}
