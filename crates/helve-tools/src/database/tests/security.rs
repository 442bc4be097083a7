//! TLS, to a server that has it and to one that has not.

use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::world::{named, server};
use crate::database::{Access, Databases, toolset};
use crate::testing::Rig;

/// The folder and the port of the test server.
fn place() -> (String, String) {
    let server = server();
    let said = |key: &str| {
        let (_, rest) = server.split_once(key).unwrap();
        rest.split('&').next().unwrap().to_owned()
    };
    (said("&host="), said("&port="))
}

async fn hub(url: &str) -> Rig {
    let connection = named("main", url, Access::Read);
    Rig::with(toolset().unwrap(), |root, builder| {
        let databases = Databases::new(root, vec![connection]).unwrap();
        builder.service(Arc::new(databases))
    })
    .await
}

/// What becomes of a connection.
enum Becomes {
    Tls,
    Plain,
    Refused(&'static str),
}

#[tokio::test]
async fn a_server_is_looked_at_before_anything_is_said_to_it() {
    use Becomes::{Plain, Refused, Tls};
    let unknown = || Refused("UnknownIssuer");
    let (folder, port) = place();
    let ca = format!("sslrootcert={folder}/ca.pem");
    let other = format!("sslrootcert={folder}/other.pem");
    for (host, said, comes) in [
        // On this machine nothing is asked for that was not said.
        ("localhost", "", Plain),
        ("127.0.0.1", "", Plain),
        ("", "", Plain),
        ("", &ca, Refused("not valid for name")),
        ("localhost", "sslmode=prefer", unknown()),
        ("localhost", "sslmode=require", unknown()),
        ("localhost", &format!("sslmode=require&{ca}"), Tls),
        ("localhost", &format!("{ca}&sslmode=verify-full"), Tls),
        (
            "127.0.0.1",
            &format!("sslmode=verify-ca&{ca}"),
            Refused("not valid for name"),
        ),
        // Elsewhere it is, and whoever is named must vouch for it.
        ("db.test", "", unknown()),
        ("db.test", "sslmode=disable", Plain),
        ("db.test", &ca, Tls),
        ("db.test", &other, unknown()),
        ("elsewhere.test", &ca, Refused("not valid for name")),
    ] {
        // Whatever the name leads to here, the server is at this address.
        let mut url = match host {
            "" => format!("postgres://reader@/postgres?hostaddr=127.0.0.1&port={port}"),
            host => format!("postgres://reader@{host}:{port}/postgres?hostaddr=127.0.0.1"),
        };
        if !said.is_empty() {
            url = format!("{url}&{said}");
        }
        let rig = hub(&url).await;
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let args = json!({"sql": sql});
        match comes {
            Refused(why) => {
                let refused = rig.refused("database_query", args).await;
                assert!(refused.contains(why), "{url}: {refused}");
                assert!(refused.contains("sslrootcert=FILE"), "{url}: {refused}");
            }
            Tls | Plain => {
                let found = rig.data("database_query", args).await;
                let tls = matches!(comes, Tls);
                assert_eq!(found["rows"], json!([[tls]]), "{url}");
            }
        }
    }
}

#[tokio::test]
async fn who_wants_tls_says_nothing_to_a_server_without() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut asked = [0; 8];
        client.read_exact(&mut asked).await.unwrap();
        client.write_all(b"N").await.unwrap();
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.unwrap();
        rest
    });
    let url = format!("postgres://me@localhost:{port}/db?hostaddr=127.0.0.1&sslmode=require");
    let refused = hub(&url).await;
    let refused = refused
        .refused("database_query", json!({"sql": "SELECT 1"}))
        .await;
    assert!(refused.contains("server does not support TLS"), "{refused}");
    assert_eq!(server.await.unwrap(), b"");
}
