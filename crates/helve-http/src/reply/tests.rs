//! What statuses and bodies mean.

use reqwest::header::HeaderValue;
use reqwest::{StatusCode, Url};

use super::*;

fn fetched(status: u16, kind: &str, body: &[u8]) -> Fetched {
    let mut headers = HeaderMap::new();
    if !kind.is_empty() {
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
    }
    Fetched {
        status: StatusCode::from_u16(status).unwrap(),
        headers,
        body: body.to_vec(),
        url: Url::parse("https://api.example.com/").unwrap(),
    }
}

async fn data(kind: &str, body: &[u8]) -> Value {
    reply(fetched(200, kind, body), &[], None)
        .await
        .unwrap()
        .data
}

#[tokio::test]
async fn bodies() {
    assert_eq!(
        data("application/json", b"{\"a\":1}").await,
        json!({"a": 1})
    );
    assert_eq!(
        data("application/problem+json; charset=utf-8", b"[1]").await,
        json!([1])
    );
    assert_eq!(data("text/plain", b"{\"a\":1}").await, json!("{\"a\":1}"));
    assert_eq!(
        data("application/json", b"not json").await,
        json!("not json")
    );
    assert_eq!(data("", b"[1]").await, json!([1]));
    assert_eq!(data("", b"words").await, json!("words"));
    assert_eq!(data("application/json", b"").await, json!({"status": 200}));
}

#[tokio::test]
async fn what_is_no_text_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    for (kind, body, name) in [
        ("image/png", &b"\x89PNG"[..], "body.png"),
        ("text/plain", b"a\0b", "body.bin"),
        ("application/../../etc", b"\xff", "body.bin"),
    ] {
        let reply = reply(fetched(200, kind, body), &[], Some(&place))
            .await
            .unwrap();
        assert_eq!(reply.data["artifact"], name);
        assert_eq!(reply.artifacts[0].bytes, body.len() as u64);
        assert_eq!(std::fs::read(place.join(name)).unwrap(), body);
    }
    let packed = {
        let mut packed = fetched(200, "application/json", b"\x1f\x8b");
        packed
            .headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        packed
    };
    assert!(
        reply(packed, &[], Some(&place))
            .await
            .unwrap()
            .artifacts
            .len()
            == 1
    );
    assert!(
        reply(fetched(200, "image/png", b"x"), &[], None)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn statuses() {
    use ErrorKind::*;
    for (status, wanted) in [
        (400, Validation),
        (401, Permission),
        (403, Permission),
        (404, NotFound),
        (410, NotFound),
        (408, Transient),
        (409, Conflict),
        (412, Conflict),
        (418, Dependency),
        (422, Validation),
        (429, Transient),
        (500, Transient),
        (501, Dependency),
        (503, Transient),
    ] {
        let error = reply(fetched(status, "", b"no"), &[], None)
            .await
            .unwrap_err();
        assert_eq!(error.kind, wanted, "{status}");
    }
}

#[tokio::test]
async fn errors_tell_what_the_server_said() {
    for (body, wanted) in [
        (
            r#"{"message":"no such pet"}"#,
            "the server answered 404 (not found): no such pet",
        ),
        (
            r#"{"error":{"message":"gone","code":1}}"#,
            "the server answered 404 (not found): gone",
        ),
        (
            r#"{"errors":[{"detail":"one"}]}"#,
            "the server answered 404 (not found): one",
        ),
        (
            r#"{"code":7}"#,
            r#"the server answered 404 (not found): {"code":7}"#,
        ),
        (
            "plain\n words",
            "the server answered 404 (not found): plain words",
        ),
        ("", "the server answered 404 (not found)"),
        (
            r#"{"message":"token s3cr3t-value is bad"}"#,
            "the server answered 404 (not found): token [secret] is bad",
        ),
    ] {
        let hidden = ["s3cr3t-value".to_owned()];
        let error = reply(fetched(404, "", body.as_bytes()), &hidden, None)
            .await
            .unwrap_err();
        assert_eq!(error.message, wanted);
    }
    let html = reply(fetched(500, "text/html", b"<h1>Oops</h1>"), &[], None)
        .await
        .unwrap_err();
    assert_eq!(
        html.message,
        "the server answered 500 (internal server error)"
    );
    let mut busy = fetched(429, "", b"");
    busy.headers
        .insert(RETRY_AFTER, HeaderValue::from_static("30"));
    let error = reply(busy, &[], None).await.unwrap_err();
    assert_eq!(error.hint.unwrap(), "the server asks to wait 30 seconds");
}

#[tokio::test]
async fn a_secret_that_comes_back_is_taken_out() {
    let hidden = ["s3cr3t-value".to_owned()];
    let body = br#"{"headers":{"authorization":"Bearer s3cr3t-value"}}"#;
    let reply = reply(fetched(200, "application/json", body), &hidden, None)
        .await
        .unwrap();
    assert_eq!(reply.data["headers"]["authorization"], "Bearer [secret]");
}
