//! `/runs`: calls, and who may see them.

use super::*;

fn run_id(answer: &Value) -> String {
    answer["meta"]["run_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_call_has_an_answer_and_a_run() {
    let bench = Bench::new().await;
    for (path, body) in [
        ("/tools/toy_echo/runs", json!({"args": {"text": "a"}})),
        ("/tools/toy_echo/runs", json!({"arguments": {"text": "a"}})),
        ("/tools/toy_echo/runs", json!({"args": "{\"text\": \"a\"}"})),
        (
            "/runs",
            json!({"tool_id": "toy_echo", "args": {"text": "a"}}),
        ),
        (
            "/runs",
            json!({"tool": "internal_toy_echo", "args": {"text": "a"}, "wait": "run", "agent_id": "coder", "context": {"x": 1}}),
        ),
        (
            "/runs",
            json!({"tool": "toy_echo", "args": {"text": "a"}, "wait": null, "agent_id": null, "context": null}),
        ),
    ] {
        let reply = bench.post(path, body).await;
        let place = reply.header("location").unwrap().to_owned();
        let answer = reply.is(200);
        assert_eq!(answer["data"], json!({"text": "a"}));
        assert_eq!(place, format!("/runs/{}", run_id(&answer)));
        let run = bench.get(&place).await.is(200);
        assert_eq!(run["state"], "succeeded");
        assert_eq!(run["owner"], "ann");
        assert_eq!(run["answer"]["data"], answer["data"]);
    }
    // Defaults, and no body at all.
    let plain = bench
        .send(post("/tools/toy_echo/runs").by(&bench.ann))
        .await
        .is(200);
    assert_eq!(plain["data"], json!({"text": "hi"}));
    assert_eq!(
        bench.events(&run_id(&plain)).await,
        ["run.started", "run.ended"]
    );
    let listed = bench
        .get("/runs?tool=echo-it&state=succeeded&limit=3")
        .await
        .is(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    assert_eq!(
        listed["items"][0]["id"],
        run_id(&plain).as_str(),
        "newest first"
    );
    let after = listed["next"].as_str().unwrap();
    let rest = bench
        .get(&format!("/runs?tool=toy_echo&cursor={after}"))
        .await
        .is(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 4);
    assert_eq!(rest["next"], Value::Null);
}

#[tokio::test]
async fn only_registered_tools_run() {
    let bench = Bench::new().await;
    for (status, path, body) in [
        (
            422,
            "/tools/toy_echo/runs",
            json!({"command": ["rm", "-rf", "/"]}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "command": "ls"}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "executor": "host"}),
        ),
        (422, "/runs", json!({"command": ["ls"]})),
        (422, "/runs", json!({})),
        (422, "/runs", json!([])),
        (422, "/runs", json!({"tool_id": ["toy_echo"]})),
        (422, "/runs", json!({"tool_id": null})),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "tool": "toy_echo"}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "args": {}, "arguments": {}}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "wait": "forever"}),
        ),
        (422, "/runs", json!({"tool_id": "toy_echo", "wait": 5})),
        (422, "/runs", json!({"tool_id": "toy_echo", "context": "x"})),
        (422, "/runs", json!({"tool_id": "toy_echo", "agent_id": 7})),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "agent_id": "a\r\nb"}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "agent_id": "a".repeat(129)}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "args": {"colour": "red"}}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "args": {"text": ["x"], "n": "many"}}),
        ),
        (
            422,
            "/runs",
            json!({"tool_id": "toy_echo", "args": "{\"text\": \"cut"}),
        ),
        (422, "/runs", json!({"tool_id": "toy_echo", "args": [1]})),
        (422, "/runs", json!({"tool_id": "toy_echo", "args": 7})),
        (404, "/runs", json!({"tool_id": "ls -la"})),
        (404, "/runs", json!({"tool_id": ""})),
        (404, "/runs", json!({"tool_id": "x".repeat(900_000)})),
        (404, "/tools/nothing/runs", json!({})),
    ] {
        let begun = std::time::Instant::now();
        let reply = bench.post(path, body).await;
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.bytes.len() < 2000, "{reply:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(bench.toy.count(), 0);
    let runs = bench.get("/runs").await.is(200);
    assert_eq!(runs["items"], json!([]), "what was refused is no run");
}

#[tokio::test]
async fn arguments_are_data() {
    let bench = Bench::new().await;
    for text in [
        "; rm -rf /",
        "$(id)",
        "`id`",
        "-rf",
        "a\nb",
        "\u{0}",
        "\u{202e}x",
        "' OR 1=1 --",
    ] {
        let answer = bench
            .post(
                "/runs",
                json!({"tool_id": "toy_echo", "args": {"text": text}}),
            )
            .await
            .is(200);
        assert_eq!(answer["data"]["text"], text);
    }
    for n in [
        json!(9_007_199_254_740_993_u64),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(-0.0),
        json!(0.1),
    ] {
        let reply = bench
            .post("/runs", json!({"tool_id": "toy_echo", "args": {"n": n}}))
            .await;
        assert!([200, 422].contains(&reply.status), "{n}: {reply:?}");
    }
}

#[tokio::test]
async fn a_failing_tool_is_an_answer() {
    let bench = Bench::new().await;
    for kind in helve_kernel::ErrorKind::ALL {
        let body = json!({"args": {"kind": kind.as_str()}});
        let reply = bench.post("/tools/toy_fail/runs", body).await;
        assert!(reply.header("location").is_some(), "{reply:?}");
        let answer = reply.is(200);
        assert_eq!(answer["ok"], false);
        assert_eq!(answer["error"]["type"], kind.as_str());
        let run = bench
            .get(&format!("/runs/{}", run_id(&answer)))
            .await
            .is(200);
        assert_eq!(run["answer"]["error"]["message"], "the toy broke");
    }
}

#[tokio::test]
async fn nothing_is_waited_for_if_nothing_is_wanted() {
    let bench = Bench::new().await;
    let reply = bench
        .post("/tools/toy_wait/runs", json!({"wait": "nothing"}))
        .await;
    let place = reply.header("location").unwrap().to_owned();
    let answer = reply.is(202);
    assert_eq!(answer["meta"]["state"], "queued");
    assert_eq!(bench.get(&place).await.is(200)["answer"], Value::Null);
    let mut changes = bench.hub.kernel().changes();
    bench.toy.done();
    while bench.get(&place).await.is(200)["state"] != "succeeded" {
        changes.recv().await.unwrap();
    }
    assert_eq!(bench.get(&place).await.is(200)["answer"]["data"], "waited");
}

#[tokio::test]
async fn the_same_call_under_a_key_runs_once() {
    let bench = Bench::new().await;
    let keyed = |key: &str, args: Value, secret: &str| {
        let body = json!({"tool_id": "toy_echo", "args": args});
        bench.send(
            post("/runs")
                .by(secret)
                .json(body)
                .header("idempotency-key", key),
        )
    };
    let first = keyed("k1", json!({"text": "a"}), &bench.ann).await.is(200);
    let again = keyed("k1", json!({"text": "a"}), &bench.ann).await.is(200);
    assert_eq!(run_id(&first), run_id(&again));
    assert_eq!(first["data"], again["data"]);
    assert_eq!(bench.toy.count(), 1);
    let said = keyed("k1", json!({"text": "b"}), &bench.ann)
        .await
        .problem(409);
    assert!(said.contains("idempotency key"), "{said}");
    let queued = json!({"tool_id": "toy_echo", "args": {"text": "b"}, "wait": "nothing"});
    let asked = post("/runs")
        .by(&bench.ann)
        .json(queued)
        .header("idempotency-key", "k1");
    bench.send(asked).await.problem(409);
    let write = json!({"tool_id": "toy_write", "args": {"text": "b"}});
    let asked = post("/runs")
        .by(&bench.ann)
        .json(write)
        .header("idempotency-key", "k1");
    bench.send(asked).await.problem(409);
    assert_eq!(bench.toy.count(), 1);
    // Another owner's keys are others.
    keyed("k1", json!({"text": "b"}), &bench.bob).await.is(200);
    for key in ["", &"k".repeat(256), "a b", "\u{e9}", "a\tb"] {
        keyed(key, json!({}), &bench.ann).await.problem(400);
    }
    keyed(&"k".repeat(255), json!({}), &bench.ann).await.is(200);
    let twice = post("/runs")
        .by(&bench.ann)
        .json(json!({"tool_id": "toy_echo"}));
    let twice = twice
        .header("idempotency-key", "a")
        .header("idempotency-key", "b");
    bench.send(twice).await.problem(400);
}

#[tokio::test]
async fn at_once_under_one_key_runs_once() {
    let bench = Arc::new(Bench::new().await);
    let mut calls = Vec::new();
    for _ in 0..16 {
        let bench = bench.clone();
        calls.push(tokio::spawn(async move {
            let asked = post("/tools/toy_echo/runs").by(&bench.ann).json(json!({}));
            run_id(
                &bench
                    .send(asked.header("idempotency-key", "one"))
                    .await
                    .is(200),
            )
        }));
    }
    let mut ids = Vec::new();
    for call in calls {
        ids.push(call.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(bench.toy.count(), 1);
}

#[tokio::test]
async fn runs_of_others_are_not_there() {
    let bench = Bench::new().await;
    let plain = [
        Permission::ToolRead,
        Permission::ToolExecute,
        Permission::RunRead,
    ];
    let (eve, ann) = (
        bench.person("eve", &plain).await,
        bench.person("ann", &plain).await,
    );
    let of_ann = run_id(
        &bench
            .send(post("/tools/toy_file/runs").by(&ann))
            .await
            .is(200),
    );
    let of_bot = run_id(
        &bench
            .send(post("/tools/toy_file/runs").by(&bench.bot))
            .await
            .is(200),
    );
    let waiting = bench
        .send(
            post("/tools/toy_write/runs")
                .by(&ann)
                .json(json!({"args": {}})),
        )
        .await
        .is(202);
    let waiting = run_id(&waiting);
    let nowhere = "run_0123456789abcdef0123456789abcdef";
    for (method, rest) in [
        ("GET", ""),
        ("GET", "/logs?follow=false"),
        ("GET", "/artifacts/toy.bin"),
        ("POST", "/cancel"),
    ] {
        for run in [&of_ann, &of_bot, &waiting] {
            let said = bench
                .send(ask(method, &format!("/runs/{run}{rest}")).by(&eve))
                .await
                .problem(404);
            let none = bench
                .send(ask(method, &format!("/runs/{nowhere}{rest}")).by(&eve))
                .await
                .problem(404);
            assert_eq!(said.replace(run.as_str(), nowhere), none, "{method} {rest}");
        }
        for wrong in [
            "x",
            "RUN_0123456789abcdef0123456789abcdef",
            "run_0123456789ABCDEF0123456789abcdef",
            "run_%0d%0a",
            "apr_0123456789abcdef0123456789abcdef",
        ] {
            bench
                .send(ask(method, &format!("/runs/{wrong}{rest}")).by(&eve))
                .await
                .problem(404);
        }
    }
    let all = |secret: &str| {
        let asked = get("/runs").by(secret);
        async {
            bench.send(asked).await.is(200)["items"]
                .as_array()
                .unwrap()
                .len()
        }
    };
    assert_eq!(all(&eve).await, 0);
    assert_eq!(
        all(&ann).await,
        3,
        "a person sees what agents under them do"
    );
    assert_eq!(all(&bench.bot).await, 1, "and not the other way round");
    assert_eq!(all(&bench.bob).await, 3, "with `audit:read` all");
    bench
        .send(get(&format!("/runs/{of_bot}")).by(&ann))
        .await
        .is(200);
    bench
        .send(get(&format!("/runs/{of_ann}")).by(&bench.bot))
        .await
        .problem(404);
    bench
        .send(get(&format!("/runs/{of_ann}")).by(&bench.bob))
        .await
        .is(200);
}

#[tokio::test]
async fn a_run_is_called_off() {
    let bench = Bench::new().await;
    let start = |secret: &str| {
        let asked = post("/tools/toy_wait/runs")
            .by(secret)
            .json(json!({"wait": "nothing"}));
        async { run_id(&bench.send(asked).await.is(202)) }
    };
    let ended = |run: String| {
        let bench = &bench;
        async move {
            let id = helve_kernel::RunId::parse(&run).unwrap();
            bench.hub.kernel().wait_for(&id).await.unwrap();
            bench.get(&format!("/runs/{run}")).await.is(200)
        }
    };
    let run = start(&bench.bot).await;
    let mut changes = bench.hub.kernel().changes();
    while bench.toy.count() == 0 {
        changes.recv().await.unwrap();
        tokio::task::yield_now().await;
    }
    // An agent with the right to read everything has not the right to stop everything.
    let mut new = NewToken::agent("warden");
    new.permissions = vec![
        Permission::ToolExecute,
        Permission::AuditRead,
        Permission::RunRead,
    ];
    let (warden, _) = bench.token_of(&Principal::person("root"), new).await;
    bench
        .send(post(&format!("/runs/{run}/cancel")).by(&warden))
        .await
        .problem(403);
    let called = bench
        .post(&format!("/runs/{run}/cancel"), json!({}))
        .await
        .is(202);
    assert_eq!(called["run_id"], run.as_str());
    let over = ended(run.clone()).await;
    assert_eq!(over["state"], "cancelled");
    let events = bench.events(&run).await;
    assert!(events.contains(&"run.cancelling".to_owned()), "{events:?}");
    bench
        .post(&format!("/runs/{run}/cancel"), json!({}))
        .await
        .problem(409);

    let asked = bench
        .post("/tools/toy_write/runs", json!({"args": {}}))
        .await
        .is(202);
    let called = bench
        .post(&format!("/runs/{}/cancel", run_id(&asked)), json!({}))
        .await
        .is(202);
    assert_eq!(called["state"], "cancelled");
    let approval = asked["meta"]["approval_id"].as_str().unwrap();
    let approval = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(approval["state"], "withdrawn");
}

#[tokio::test]
async fn artifacts_are_what_the_run_left_and_nothing_else() {
    let bench = Bench::new().await;
    let answer = bench.post("/tools/toy_file/runs", json!({})).await.is(200);
    let run = run_id(&answer);
    std::fs::write(bench.folder.path().join("artifacts/escape"), "no").unwrap();
    let reply = bench.get(&format!("/runs/{run}/artifacts/toy.bin")).await;
    assert_eq!(
        (reply.status, &reply.bytes[..]),
        (200, &[0, 159, 146, 150][..])
    );
    assert_eq!(reply.header("content-disposition"), Some("attachment"));
    assert_eq!(
        reply.header("content-type"),
        Some("application/octet-stream")
    );
    for name in [
        "gone",
        "link",
        "other",
        "..%2Fescape",
        "%2e%2e%2fescape",
        "..",
        "%00",
        "toy.bin%00",
        "%2Fetc%2Fpasswd",
    ] {
        bench
            .get(&format!("/runs/{run}/artifacts/{name}"))
            .await
            .problem(404);
    }
    let long = "y".repeat(5000);
    let answer = bench
        .post("/tools/toy_echo/runs", json!({"args": {"text": long}}))
        .await
        .is(200);
    assert_eq!(answer["meta"]["artifacts"][0]["name"], "result");
    let whole = bench
        .get(&format!("/runs/{}/artifacts/result", run_id(&answer)))
        .await;
    assert_eq!(whole.text(), json!({"text": long}).to_string());
}

#[tokio::test]
async fn what_a_rule_denies_is_a_run_that_was_denied() {
    let rules = json!([{"effect": "deny", "tool": "toy_echo", "reason": "not today"}]);
    let bench = Bench::with(Settings::default(), rules).await;
    let answer = bench.post("/tools/toy_echo/runs", json!({})).await.is(200);
    assert_eq!(answer["ok"], false);
    assert_eq!(answer["error"]["type"], "denied");
    let run = bench
        .get(&format!("/runs/{}", run_id(&answer)))
        .await
        .is(200);
    assert_eq!(run["state"], "denied");
    assert_eq!(bench.toy.count(), 0);
    let said = bench
        .post("/policy/explain", json!({"tool": "toy_echo"}))
        .await
        .is(200);
    assert_eq!(
        (&said["effect"], &said["rule"]),
        (&json!("deny"), &json!(1))
    );
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_run() {
    let bench = Bench::new().await;
    bench.store.fail(true);
    for (tool, wait) in [
        ("toy_echo", "run"),
        ("toy_echo", "nothing"),
        ("toy_write", "run"),
        ("toy_write", "decision"),
        ("nothing", "run"),
    ] {
        let said = bench
            .post("/runs", json!({"tool_id": tool, "wait": wait}))
            .await
            .problem(503);
        assert!(said.contains("not run") || tool == "nothing", "{said}");
    }
    assert_eq!(bench.toy.count(), 0);
}

#[tokio::test]
async fn runs_are_found_by_whom_and_when() {
    let bench = Bench::new().await;
    let begin = bench.hub.kernel().now();
    for secret in [&bench.ann, &bench.bob, &bench.bot] {
        bench
            .send(post("/tools/toy_echo/runs").by(secret))
            .await
            .is(200);
        bench.clock.go(Duration::from_secs(60));
    }
    let minutes = |n: i64| helve_kernel::At(begin.0 + n * 60_000).to_string();
    let eve = bench.person("eve", &[Permission::RunRead]).await;
    let bot = bench.send(get("/runs?limit=1").by(&bench.ann)).await;
    let bot = bot.is(200)["items"][0]["owner"]
        .as_str()
        .unwrap()
        .to_owned();
    for (who, asked, wanted) in [
        (&bench.ann, "who=bob".to_owned(), vec!["bob"]),
        (&bench.ann, "who=ann".to_owned(), vec![&bot, "ann"]),
        (&bench.ann, format!("who={bot}"), vec![&bot]),
        (&bench.ann, "who=an".to_owned(), vec![]),
        (&eve, "who=ann".to_owned(), vec![]),
        (
            &bench.ann,
            format!("since={}", minutes(1)),
            vec![&bot, "bob"],
        ),
        (&bench.ann, format!("until={}", minutes(1)), vec!["ann"]),
        (
            &bench.ann,
            format!("since={}&until={}", minutes(1), minutes(2)),
            vec!["bob"],
        ),
        (
            &bench.ann,
            format!("who=ann&since={}", minutes(1)),
            vec![&bot],
        ),
    ] {
        let found = bench.send(get(&format!("/runs?{asked}")).by(who)).await;
        let found = found.is(200);
        let items = found["items"].as_array().unwrap().iter();
        let owners: Vec<_> = items.map(|run| run["owner"].as_str().unwrap()).collect();
        assert_eq!(owners, wanted, "{asked}");
    }
    for wrong in ["since=yesterday", "until=1", "since="] {
        bench.get(&format!("/runs?{wrong}")).await.problem(400);
    }
}
