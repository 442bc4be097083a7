//! `/audit`: the record, whole and in parts.

use super::*;

#[tokio::test]
async fn the_record_is_found_by_what_it_is_about() {
    let bench = Bench::new().await;
    bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    bench.clock.go(Duration::from_secs(60));
    bench
        .send(post("/tools/toy_echo/runs").by(&bench.bob))
        .await
        .is(200);
    let count = |query: &str| {
        let path = format!("/audit?{query}");
        let bench = &bench;
        async move {
            bench.get(&path).await.is(200)["items"]
                .as_array()
                .unwrap()
                .len()
        }
    };
    assert_eq!(count("event=run.started").await, 2);
    assert_eq!(count("event=run.started&actor=bob").await, 1);
    assert_eq!(
        count("event=run.started&until=2026-09-21T14:14:20Z").await,
        1
    );
    assert_eq!(
        count("event=run.started&since=2026-09-21T14:14:20Z").await,
        1
    );
    assert_eq!(count("resource_id=toy_echo").await, 1);
    assert_eq!(count("resource_id=nothing").await, 0);
    assert_eq!(
        count("resource_id=apr_0123456789abcdef0123456789abcdef").await,
        0
    );
    assert_eq!(count("resource_id=%27%20OR%201=1").await, 0);
}

#[tokio::test]
async fn pages_follow_one_another_and_the_chain_holds() {
    let bench = Bench::new().await;
    for _ in 0..130 {
        bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    }
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = bench
            .get(&format!("/audit?limit=37&after={after}"))
            .await
            .is(200);
        for item in page["items"].as_array().unwrap() {
            seen.push(item["seq"].as_u64().unwrap());
        }
        match page["next"].as_str() {
            Some(next) => after = next.parse().unwrap(),
            None => break,
        }
    }
    let all: Vec<u64> = (1..=seen.len() as u64).collect();
    assert_eq!(seen, all);
    let whole = bench.get("/audit/export").await;
    assert_eq!(whole.header("content-type"), Some("application/x-ndjson"));
    let text = whole.text();
    assert!(text.ends_with('\n'));
    let entries: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(entries.len(), seen.len(), "more than one batch");
    let rest = bench.get("/audit/export?after=265").await.text();
    assert_eq!(
        rest,
        text.lines()
            .skip(265)
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    );
    assert_eq!(bench.get("/audit/export?after=99999").await.text(), "");
}

#[tokio::test]
async fn an_export_ends_with_the_token() {
    use http_body_util::BodyExt as _;
    let bench = Bench::new().await;
    for _ in 0..130 {
        bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    }
    let new = NewToken {
        permissions: vec![Permission::AuditRead],
        ..NewToken::agent("reader")
    };
    let root = Principal::person("root");
    let (secret, id) = bench.token_of(&root, new).await;
    let request = get("/audit/export").by(&secret).request();
    let mut body = bench
        .router
        .clone()
        .oneshot(request)
        .await
        .unwrap()
        .into_body();
    assert!(body.frame().await.unwrap().is_ok());
    bench.hub.kernel().revoke_token(&root, &id).await.unwrap();
    assert!(
        body.frame().await.unwrap().is_err(),
        "cut, and seen to be cut"
    );
}
