//! What stands before every route: host, origin, rate, size, panics, headers.

use super::*;

#[tokio::test]
async fn a_foreign_host_is_not_answered() {
    let bench = Bench::new().await;
    for host in [
        "evil.example",
        "evil.example:7717",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost:7717",
        "127.0.0.1:7717.evil.example",
        "",
    ] {
        let plain = get("/healthz").host(None).header("host", host);
        assert_eq!(bench.send(plain).await.status, 421, "{host}");
        let signed = get("/tools").by(&bench.ann).host(None).header("host", host);
        assert_eq!(bench.send(signed).await.status, 421, "{host}");
    }
    bench.send(get("/healthz").host(None)).await.problem(421);
    let twice = get("/healthz").header("host", "evil.example");
    bench.send(twice).await.problem(421);
    let whole = get("http://evil.example/healthz");
    bench.send(whole).await.problem(421);
    let not_text = get("/healthz").host(None).header("host", vec![0xff]);
    bench.send(not_text).await.problem(421);
    bench
        .send(get("/nowhere").host(Some("evil.example")))
        .await
        .problem(421);
    bench
        .send(get("/healthz").host(None).header("host", "127.0.0.1:7717"))
        .await
        .is(200);
}

#[tokio::test]
async fn a_page_of_another_origin_is_not_answered() {
    let bench = Bench::new().await;
    for origin in [
        "https://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:7717.evil.example",
        "ftp://127.0.0.1:7717",
        "127.0.0.1:7717",
        "http://127.0.0.1:7717/",
        "http://127.0.0.1:7717 https://evil.example",
        "\u{e9}",
    ] {
        for method in ["GET", "POST", "OPTIONS"] {
            let asked = ask(method, "/tools")
                .by(&bench.ann)
                .header("origin", origin);
            let reply = bench.send(asked).await;
            assert_eq!(reply.status, 403, "{origin}");
            assert!(reply.header("access-control-allow-origin").is_none());
        }
    }
    let twice = get("/tools")
        .by(&bench.ann)
        .header("origin", "http://127.0.0.1:7717");
    bench
        .send(twice.clone().header("origin", "https://evil.example"))
        .await
        .problem(403);
    bench.send(twice).await.is(200);
    bench
        .send(
            get("/tools")
                .by(&bench.ann)
                .header("origin", "https://127.0.0.1:7717"),
        )
        .await
        .is(200);
}

#[tokio::test]
async fn a_token_has_its_rate_and_so_have_strangers() {
    let settings = Settings {
        rate: 1,
        burst: 5,
        ..Settings::default()
    };
    let bench = Bench::with(settings, json!([])).await;
    for _ in 0..5 {
        bench.send(get("/me").by(&bench.ann)).await.is(200);
    }
    let reply = bench.send(get("/me").by(&bench.ann)).await;
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=2).contains(&wait));
    reply.problem(429);
    bench.send(get("/me").by(&bench.bob)).await.is(200);
    for _ in 0..5 {
        bench.send(get("/me")).await.problem(401);
    }
    let reply = bench.send(get("/me").by("hlv_x")).await;
    assert!(reply.header("retry-after").is_some());
    reply.problem(429);
    bench.send(get("/me").by(&bench.bob)).await.is(200);
    // The doors that are open stay open.
    for _ in 0..9 {
        bench.send(get("/healthz")).await.is(200);
    }
}

#[tokio::test]
async fn the_limit_of_a_body_is_the_hub_s() {
    let settings = Settings {
        body_limit: 100,
        ..Settings::default()
    };
    let bench = Bench::with(settings, json!([])).await;
    let fill = |n: usize| format!("{{\"args\":{{\"text\":\"{}\"}}}}", "x".repeat(n));
    let asked = |n| {
        post("/tools/toy_echo/runs")
            .by(&bench.ann)
            .raw(fill(n), "application/json")
    };
    bench.send(asked(80)).await.is(200);
    bench.send(asked(81)).await.problem(413);
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_too_long() {
    let bench = Bench::new().await;
    let broken = futures_util::stream::iter([Ok("{"), Err(std::io::Error::other("gone"))]);
    let request = Request::post("/runs")
        .header("host", HOST)
        .header("authorization", format!("Bearer {}", bench.ann))
        .header("content-type", "application/json")
        .body(Body::from_stream(broken))
        .unwrap();
    let response = bench.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let bench = Bench::new().await;
    let request = Request::post("/runs")
        .header("host", HOST)
        .header("authorization", format!("Bearer {}", bench.ann))
        .header("content-type", "application/json")
        .body(Body::from_stream(futures_util::stream::pending::<
            Result<Bytes, std::io::Error>,
        >()))
        .unwrap();
    let response = bench.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 408);
}

#[tokio::test]
async fn a_handler_that_panics_fails_alone() {
    use axum::middleware::from_fn;
    use axum::routing::get as route;
    async fn broken() -> &'static str {
        panic!("on purpose")
    }
    let router: Router = Router::new()
        .route("/broken", route(broken))
        .route("/sound", route(|| async { "fine" }))
        .layer(from_fn(crate::routes::contained));
    for (path, status) in [("/broken", 500), ("/sound", 200)] {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), status);
    }
}

#[tokio::test]
async fn whoever_hangs_up_leaves_nothing_half_done() {
    let bench = Bench::new().await;
    let new = NewToken::agent("lost");
    let (secret, id) = bench.token_of(&Principal::person("root"), new).await;
    let path = format!("/tokens/{id}");
    let request = ask("DELETE", &path).by(&bench.ann).request();
    let mut answer = Box::pin(bench.router.clone().oneshot(request));
    // Asked once, then dropped.
    assert!(futures_util::poll!(&mut answer).is_pending());
    let mut changes = bench.hub.kernel().changes();
    drop(answer);
    changes.recv().await.unwrap();
    bench.send(get("/me").by(&secret)).await.problem(401);
}

#[tokio::test]
async fn a_head_is_an_answer_without_a_body() {
    let bench = Bench::new().await;
    for path in [
        "/tools",
        "/healthz",
        "/openapi.json",
        "/audit/export",
        "/me",
    ] {
        let reply = bench.send(ask("HEAD", path).by(&bench.ann)).await;
        assert_eq!((reply.status, reply.bytes.len()), (200, 0), "{path}");
    }
    bench.send(ask("HEAD", "/tools")).await.is(401);
}

#[tokio::test]
async fn foreign_text_is_told_so_that_it_shows() {
    let bench = Bench::new().await;
    let odd = "%E2%80%AE%0d%0aSet-Cookie:%20a%3Db%1b%5B31m";
    for path in [
        format!("/tools/{odd}"),
        format!("/runs/{odd}"),
        format!("/approvals/{odd}"),
        format!("/tools?{odd}=1"),
        format!("/tools?limit={odd}"),
        format!("/{odd}"),
    ] {
        let reply = bench.get(&path).await;
        assert!(reply.headers.get("set-cookie").is_none());
        let text = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            !text.contains(['\u{202e}', '\r', '\n', '\u{1b}']),
            "{text:?}"
        );
    }
    for body in [
        json!({"tool_id": "x\u{202e}\r\n"}),
        json!({"tool_id": "toy_echo", "a\u{202e}\n": 1}),
    ] {
        let reply = bench.post("/runs", body).await;
        let text = reply.json()["detail"].as_str().unwrap().to_owned();
        assert!(!text.contains(['\u{202e}', '\r', '\n']), "{text:?}");
    }
}
