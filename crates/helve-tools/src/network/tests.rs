use std::sync::Arc;

use axum::Router;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::response::IntoResponse;
use axum::routing::{any, get};
use helve_http::Guard;
use helve_http::guard::Hosts;
use serde_json::{Value, json};

use super::Network;
use crate::testing::Rig;

/// A server with a few pages, and a hub that may reach it.
async fn rig() -> (Rig, String) {
    let pages = Router::new()
        .route("/text", get(|| async { "hello" }))
        .route("/bytes", get(|| async { vec![0u8, 159, 146, 150] }))
        .route("/image", get(|| async { ([(CONTENT_TYPE, "image/png; q=1")], vec![7u8; 10]) }))
        .route("/missing", get(|| async { axum::http::StatusCode::NOT_FOUND }))
        .route("/cookie", get(|| async { ([("set-cookie", "a=b")], "x") }))
        .route("/echo", any(|method: axum::http::Method, headers: axum::http::HeaderMap, body: String| async move {
            format!("{method} {} {body}", headers.get("x-a").map_or("", |v| v.to_str().unwrap()))
        }))
        .route(
            "/away",
            get(|| async {
                (axum::http::StatusCode::FOUND, [(LOCATION, "http://other.example/")]).into_response()
            }),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, pages).await.unwrap() });
    let guard = Guard::parse(&[&address]).unwrap();
    let guard = guard.only(Hosts::parse(&[&address]).unwrap());
    let network = Arc::new(Network::new(guard));
    let tools = super::toolset().unwrap();
    let rig = Rig::with(tools, |_, builder| builder.service(network)).await;
    (rig, format!("http://{address}"))
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let (rig, at) = rig().await;
    let text = rig
        .data("network_request", json!({"url": format!("{at}/text")}))
        .await;
    assert_eq!(
        (&text["status"], &text["body"], &text["text"]),
        (&json!(200), &json!("hello"), &json!(true))
    );
    let bytes = rig
        .data("http_request", json!({"url": format!("{at}/bytes")}))
        .await;
    assert_eq!(
        (&bytes["body"], &bytes["bytes"], &bytes["text"]),
        (&json!(""), &json!(4), &json!(false))
    );
    let sent =
        json!({"url": format!("{at}/echo"), "method": "PUT", "headers": {"X-A": "1"}, "body": "b"});
    assert_eq!(rig.data("network_request", sent).await["body"], "PUT 1 b");
    let missing = rig
        .data("network_request", json!({"url": format!("{at}/missing")}))
        .await;
    assert_eq!(missing["status"], 404);
    let cookie = rig
        .data("network_request", json!({"url": format!("{at}/cookie")}))
        .await;
    assert_eq!(cookie["headers"]["set-cookie"], Value::Null);
}

#[tokio::test]
async fn a_file_that_is_fetched_can_be_taken_back() {
    let (rig, at) = rig().await;
    let args = json!({"url": format!("{at}/image"), "path": "a/b.png", "content_type": "image/*"});
    let done = rig.call("download_file", args.clone()).await;
    let data = done.result.clone().unwrap();
    assert_eq!(
        (&data["bytes"], &data["content_type"]),
        (&json!(10), &json!("image/png; q=1"))
    );
    assert_eq!(
        std::fs::read(rig.root.join("a/b.png")).unwrap(),
        vec![7u8; 10]
    );
    let again = rig.refused("network_download", args).await;
    assert!(
        again.contains("conflict") && again.contains("is there already"),
        "{again}"
    );
    assert!(rig.undo(&done).await.is_ok());
    assert!(!rig.root.join("a/b.png").exists());
}

#[tokio::test]
async fn what_is_not_granted_is_not_reached() {
    let (rig, at) = rig().await;
    let other = at
        .rsplit_once(':')
        .unwrap()
        .1
        .parse::<u16>()
        .unwrap()
        .wrapping_add(1)
        .max(1024);
    let table = [
        (
            "http://other.example/".to_owned(),
            "denied: `other.example` is not among the hosts",
        ),
        (
            format!("http://127.0.0.1:{other}/"),
            "denied: `127.0.0.1` is not among the hosts",
        ),
        (
            "http://169.254.169.254/".to_owned(),
            "denied: `169.254.169.254` is not among the hosts",
        ),
        (
            format!("{at}/away"),
            "denied: `other.example` is not among the hosts",
        ),
        (
            "file:///etc/passwd".to_owned(),
            "denied: `file:` addresses are not reached",
        ),
        (
            "http://ann:secret@other.example/".to_owned(),
            "denied: the address has a user",
        ),
        (
            "nonsense".to_owned(),
            "validation: `nonsense` is no address",
        ),
    ];
    for tool in ["network_request", "network_download"] {
        for (url, said) in &table {
            let args = match tool {
                "network_request" => json!({"url": url}),
                _ => json!({"url": url, "path": "x"}),
            };
            rig.refuses(tool, &[(args, said)]).await;
        }
    }
    assert!(!rig.root.join("x").exists());
}

#[tokio::test]
async fn bad_calls() {
    let (rig, at) = rig().await;
    let text = format!("{at}/text");
    rig.refuses(
        "network_request",
        &[
            (json!({}), "\"url\" is a required property"),
            (json!({"url": text, "method": "TRACE"}), "method"),
            (
                json!({"url": text, "headers": {"Authorization": "x"}}),
                "the header `authorization` is not for arguments",
            ),
            (
                json!({"url": text, "headers": {"a b": "x"}}),
                "is no header",
            ),
            (
                json!({"url": text, "headers": {"x-a": "1\r\nx-b: 2"}}),
                "has a value that cannot be sent",
            ),
            (
                json!({"url": text, "max_bytes": 2}),
                "dependency: the answer has more than 2 bytes",
            ),
        ],
    )
    .await;
    rig.refuses(
        "network_download",
        &[
            (json!({"url": text, "path": "../x"}), "permission"),
            (
                json!({"url": text, "path": "x", "content_type": "image/*"}),
                "not `image/*`; nothing was kept",
            ),
            (
                json!({"url": format!("{at}/missing"), "path": "x"}),
                "dependency: the server answered 404",
            ),
        ],
    )
    .await;
    assert!(!rig.root.join("x").exists());
}
