//! Servers that are slow, endless, wrong, or lead elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::web::Manners;

type Piece = Result<Vec<u8>, std::io::Error>;

#[tokio::test]
async fn reading_stops_at_its_limit() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let (at, _) = serve(move |path| {
        let counted = counted.clone();
        let pieces = stream::repeat_with(move || {
            counted.fetch_add(1 << 16, Ordering::SeqCst);
            Piece::Ok(vec![b'x'; 1 << 16])
        });
        let mut response = match path {
            // Says how much there is.
            "/hundred" => page("text/plain", Body::from_stream(pieces.take(1600))),
            _ => page("text/plain", Body::from_stream(pieces)),
        };
        if path == "/hundred" {
            response
                .headers_mut()
                .insert("content-length", (1600 << 16).to_string().parse().unwrap());
        }
        response
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    for path in ["/hundred", "/endless"] {
        sent.store(0, Ordering::SeqCst);
        let read = fetched(&rig, at, path).await;
        assert_eq!(
            (
                &read["truncated"],
                &read["truncated_by"],
                &read["bytes"],
                &read["total_chars"]
            ),
            (
                &json!(true),
                &json!("bytes"),
                &json!(200_000),
                &json!(200_000)
            ),
            "{path}"
        );
        // What the server gave to its socket is a little more than what was taken.
        let sent = sent.load(Ordering::SeqCst);
        assert!(sent < 20 << 20, "{path}: the server sent {sent}");
    }
    // The operator's limit is the lower one.
    let settings = Settings {
        max_bytes: 1_000,
        ..Settings::default()
    };
    let rig = super::rig(&[at], settings).await;
    assert_eq!(fetched(&rig, at, "/endless").await["bytes"], 1_000);
}

#[tokio::test]
async fn a_server_that_is_too_slow() {
    let (at, _) = serve(|path| {
        let first = stream::iter([Piece::Ok(b"first words".to_vec())]);
        match path {
            "/drip" => page(
                "text/plain",
                Body::from_stream(first.chain(stream::pending())),
            ),
            _ => page("text/plain", Body::from_stream(stream::pending::<Piece>())),
        }
    })
    .await;
    let settings = Settings {
        timeout: Duration::from_millis(300),
        ..Settings::default()
    };
    let rig = rig(&[at], settings).await;
    let read = fetched(&rig, at, "/drip").await;
    assert_eq!(
        (&read["text"], &read["truncated"], &read["truncated_by"]),
        (&json!("first words"), &json!(true), &json!("time"))
    );
    let silent = json!({"url": format!("http://{at}/silent"), "timeout": 100});
    rig.refuses(
        "web_fetch",
        &[(silent, "timeout: the server sent no page within 300ms")],
    )
    .await;
    // One that takes the connection and says nothing.
    let mute = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = mute.local_addr().unwrap();
    let settings = Settings {
        timeout: Duration::from_millis(300),
        ..Settings::default()
    };
    let rig = super::rig(&[at], settings).await;
    let args = json!({"url": format!("http://{at}/")});
    rig.refuses("web_fetch", &[(args, "timeout: the server sent no page")])
        .await;
    drop(mute);
}

/// Answers one connection with these bytes, and closes it.
async fn raw(answer: &'static [u8]) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            stream.write_all(answer).await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    address
}

#[tokio::test]
async fn lengths_that_are_wrong() {
    let short =
        raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 500\r\n\r\nonly this")
            .await;
    let long = raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\nconnection: close\r\n\r\nonly this").await;
    let none = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n").await;
    let noise = raw(b"\x16\x03\x01 no http at all").await;
    let rig = rig(&[short, long, none, noise], Settings::default()).await;
    let read = fetched(&rig, short, "/").await;
    assert_eq!(
        (&read["text"], &read["truncated_by"]),
        (&json!("only this"), &json!("connection"))
    );
    assert_eq!(fetched(&rig, long, "/").await["text"], "only");
    let args = |at: SocketAddr| json!({"url": format!("http://{at}/")});
    rig.refuses(
        "web_fetch",
        &[
            (args(none), "no page"),
            (args(noise), "transient: the connection"),
        ],
    )
    .await;
}

#[tokio::test]
async fn where_a_page_leads() {
    let (other, others) = serve(|_| page("text/plain", "never")).await;
    let away = other;
    let (at, _) = serve(move |path| match path {
        "/1" => to("/2"),
        "/2" => to("3?x=y"),
        "/3" => page("text/plain", "arrived"),
        "/loop" => to("/loop"),
        "/port" => to(&format!("http://{away}/")),
        "/meta" => to("http://169.254.169.254/latest/meta-data/"),
        "/mapped" => to(&format!("http://[::ffff:127.0.0.1]:{}/", away.port())),
        "/decimal" => to(&format!("http://2130706433:{}/", away.port())),
        "/name" => to("http://near.example/"),
        "/file" => to("file:///etc/passwd"),
        "/user" => to("http://ann:secret@www.example.com/"),
        _ => to("gopher://www.example.com/"),
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    let read = fetched(&rig, at, "/1").await;
    assert_eq!(
        (&read["text"], &read["url"], &read["hops"]),
        (
            &json!("arrived"),
            &json!(format!("http://{at}/3?x=y")),
            &json!([format!("http://{at}/1"), format!("http://{at}/2")])
        )
    );
    for (path, said) in [
        ("/loop", "dependency: it is sent on more than 5 times"),
        ("/port", "denied: `127.0.0.1` is not reached"),
        ("/meta", "denied: `169.254.169.254` is not reached"),
        ("/mapped", "denied: `[::ffff:127.0.0.1]` is not reached"),
        ("/decimal", "denied: `127.0.0.1` is not reached"),
        ("/name", "denied: `near.example` is not reached"),
        ("/file", "denied: `file:` addresses are not reached"),
        ("/user", "denied: the address has a user"),
        ("/gopher", "denied: `gopher:` addresses"),
    ] {
        let args = json!({"url": format!("http://{at}{path}")});
        rig.refuses("web_fetch", &[(args, said)]).await;
    }
    for url in [
        "http://127.0.0.1:1/",
        "http://[::1]/",
        "http://10.0.0.1/",
        "http://near.example/",
        "http://0/",
    ] {
        let said = rig.refused("web_fetch", json!({"url": url})).await;
        assert!(
            said.starts_with("denied: ") && said.contains("is not reached"),
            "{url}: {said}"
        );
    }
    rig.refuses(
        "web_fetch",
        &[(
            json!({"url": "nonsense"}),
            "validation: `nonsense` is no address",
        )],
    )
    .await;
    assert!(others.all().is_empty(), "{:?}", others.all());
}

#[tokio::test]
async fn pages_that_tell_of_errors() {
    let (at, _) = serve(|path| {
        let code = path.trim_start_matches('/').parse().unwrap_or(200);
        match path {
            "/png" => page("image/png", b"\x89PNG\r\n\x1a\n\0\0".to_vec()),
            "/png-lies" => page("text/html", b"\x89PNG\r\n\x1a\n\0\0".to_vec()),
            "/zip" => page("application/zip", b"PK\x03\x04..".to_vec()),
            "/video" => page("video/mp4", "....ftyp"),
            "/binary" => page("text/plain", vec![0u8, 1, 2, 3, 255, 254, 7, 0, 9, 11]),
            "/204" => status(204, "", ""),
            _ => status(
                code,
                "text/html",
                format!("<title>no</title><p>Sorry, <b>{code}</b> here."),
            ),
        }
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    for (path, said) in [
        (
            "/404",
            "not_found: the server answered 404; its page begins: Sorry, 404 here.",
        ),
        ("/410", "not_found: the server answered 410"),
        (
            "/403",
            "dependency: the server answered 403; its page begins: Sorry, 403 here.",
        ),
        (
            "/500",
            "dependency: the server answered 500; its page begins: Sorry, 500 here.",
        ),
        ("/429", "transient: the server answered 429"),
        ("/503", "transient: the server answered 503"),
        (
            "/png",
            "validation: it is image/png, which is nothing to read",
        ),
        ("/png-lies", "validation: it is image/png"),
        ("/zip", "validation: it is application/zip"),
        ("/video", "validation: it is video/mp4"),
        ("/binary", "validation: it is text/plain, and no text"),
    ] {
        let args = json!({"url": format!("http://{at}{path}")});
        rig.refuses("web_fetch", &[(args, said)]).await;
    }
    let hint = rig
        .refused("web_fetch", json!({"url": format!("http://{at}/png")}))
        .await;
    assert!(hint.contains("network_download"), "{hint}");
    let nothing = fetched(&rig, at, "/204").await;
    assert_eq!(
        (&nothing["status"], &nothing["text"]),
        (&json!(204), &json!(""))
    );
}

#[tokio::test]
async fn robots_count_where_an_operator_says_so() {
    let (at, asked) = serve(|path| match path {
        "/robots.txt" => page("text/plain", "user-agent: *\ndisallow: /\n\nuser-agent: Helve\ndisallow: /private\nallow: /private/open$\n"),
        "/away" => to("/private/x"),
        _ => page("text/plain", "seen"),
    })
    .await;
    let obey = || Settings {
        robots: Manners::Obey,
        ..Settings::default()
    };
    let hub = rig(&[at], obey()).await;
    for path in ["/", "/private/open"] {
        assert_eq!(fetched(&hub, at, path).await["text"], "seen", "{path}");
    }
    for path in ["/private/x", "/away"] {
        let args = json!({"url": format!("http://{at}{path}")});
        hub.refuses(
            "web_fetch",
            &[(
                args,
                "denied: not fetched: `robots.txt` of `127.0.0.1` forbids it",
            )],
        )
        .await;
    }
    let lines = asked.all();
    assert_eq!(
        lines.iter().filter(|l| l.contains("/robots.txt")).count(),
        1,
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|l| l.starts_with("GET /private/x")),
        "{lines:?}"
    );
    // One whose rules cannot be read may forbid it; one without rules does not.
    let (broken, _) = serve(|path| match path {
        "/robots.txt" => status(500, "", ""),
        _ => page("text/plain", "seen"),
    })
    .await;
    let (none, _) = serve(|path| match path {
        "/robots.txt" => status(404, "", ""),
        _ => page("text/plain", "seen"),
    })
    .await;
    let hub = rig(&[broken, none], obey()).await;
    let args = json!({"url": format!("http://{broken}/")});
    hub.refuses(
        "web_fetch",
        &[(args, "dependency: not fetched: `robots.txt`")],
    )
    .await;
    assert_eq!(fetched(&hub, none, "/").await["text"], "seen");
    // By default it is not asked for.
    let hub = rig(&[broken], Settings::default()).await;
    assert_eq!(fetched(&hub, broken, "/").await["text"], "seen");
}

#[tokio::test]
async fn a_proxy_is_used_and_guarded() {
    let (proxy, asked) = serve(|_| page("text/plain", "by the proxy")).await;
    let (near, _) = serve(|_| page("text/plain", "directly")).await;
    let settings = Settings {
        proxy: Some(format!("http://{proxy}").parse().unwrap()),
        user_agent: Some("Reader/1.0".to_owned()),
        ..Settings::default()
    };
    let rig = rig(&[near], settings).await;
    for url in ["http://www.example.com/x", "http://unknown.example/y"] {
        let read = rig.data("web_fetch", json!({"url": url})).await;
        assert_eq!(
            (&read["text"], &read["url"]),
            (&json!("by the proxy"), &json!(url))
        );
    }
    // What was granted is near.
    assert_eq!(fetched(&rig, near, "/").await["text"], "directly");
    for url in [
        "http://127.0.0.1:9/",
        "http://169.254.169.254/",
        "http://near.example/",
        "http://[::ffff:10.0.0.1]/",
    ] {
        let said = rig.refused("web_fetch", json!({"url": url})).await;
        assert!(said.starts_with("denied: "), "{url}: {said}");
    }
    for url in ["http://box.internal/", "http://box/"] {
        rig.refuses("web_fetch", &[(json!({"url": url}), "cannot be looked up")])
            .await;
    }
    let lines = asked.all();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with("GET http://www.example.com/x user-agent=Reader/1.0"),
        "{lines:?}"
    );
}
