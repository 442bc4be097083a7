//! `/approvals`: asked, decided, once.

use super::*;

async fn asked(bench: &Bench, secret: &str) -> (String, String) {
    let body = json!({"args": {"text": "x", "key": "hunter2-hunter2"}});
    let answer = bench
        .send(post("/tools/toy_write/runs").by(secret).json(body))
        .await
        .is(202);
    assert_eq!(answer["meta"]["state"], "pending_approval");
    let text = |key: &str| answer["meta"][key].as_str().unwrap().to_owned();
    (text("run_id"), text("approval_id"))
}

async fn over(bench: &Bench, run: &str) -> Value {
    let id = helve_kernel::RunId::parse(run).unwrap();
    bench.hub.kernel().wait_for(&id).await.unwrap();
    bench.get(&format!("/runs/{run}")).await.is(200)
}

#[tokio::test]
async fn the_whole_way() {
    let bench = Bench::new().await;
    let (run, approval) = asked(&bench, &bench.bot).await;
    assert_eq!(bench.toy.count(), 0);
    let shown = bench
        .send(get(&format!("/approvals/{approval}")).by(&bench.bob))
        .await;
    assert!(!shown.text().contains("hunter2"), "{shown:?}");
    let shown = shown.is(200);
    assert_eq!(shown["run_id"], run.as_str());
    assert_eq!(shown["requester"], "agent:bot");
    assert_eq!(shown["under"], "ann");
    assert_eq!(shown["args"]["text"], "x");
    let pending = bench.get("/approvals?state=pending").await.is(200);
    assert_eq!(pending["items"][0]["id"], approval.as_str());

    let yes = format!("/approvals/{approval}/approve");
    let reply = bench
        .send(post(&yes).by(&bench.bob).json(json!({"reason": "fine"})))
        .await
        .is(200);
    assert_eq!(reply["decisions"][0]["by"], "bob");
    let run = over(&bench, &run).await;
    assert_eq!(run["state"], "succeeded");
    assert_eq!(
        bench.toy.runs.lock().unwrap()[0].1["key"],
        "hunter2-hunter2"
    );
    assert!(!run.to_string().contains("hunter2"), "{run}");
    for word in ["approve", "deny"] {
        let asked = post(&format!("/approvals/{approval}/{word}")).by(&bench.ann);
        bench.send(asked).await.problem(409);
    }
    let spent = bench.get(&format!("/approvals/{approval}")).await.is(200);
    assert_eq!(spent["state"], "spent");
    // The record of the run is found by the run and by the approval.
    let id = run["id"].as_str().unwrap();
    let events = ["run.asked", "approval.decided", "run.started", "run.ended"];
    assert_eq!(bench.events(id).await, events);
    assert_eq!(bench.events(&approval).await, events);
    let record = bench.get("/audit/export").await.text();
    assert!(!record.contains("hunter2"));
}

#[tokio::test]
async fn whoever_asked_does_not_decide() {
    let bench = Bench::new().await;
    let (_, approval) = asked(&bench, &bench.ann).await;
    let second = bench.person("ann", &Permission::ALL).await;
    let new = NewToken {
        owner: "sock".to_owned(),
        kind: PrincipalKind::Person,
        permissions: Permission::ALL.to_vec(),
        ..NewToken::agent("puppet")
    };
    let (puppet, _) = bench.token_of(&Principal::person("ann"), new).await;
    let mut new = NewToken::agent("judge");
    new.permissions
        .extend([Permission::RunRead, Permission::AuditRead]);
    let (judge, _) = bench.token_of(&Principal::person("root"), new).await;
    for secret in [&bench.ann, &second, &puppet, &judge, &bench.bot] {
        for word in ["approve", "deny"] {
            let asked = post(&format!("/approvals/{approval}/{word}")).by(secret);
            bench.send(asked.json(json!({}))).await.problem(403);
        }
    }
    assert_eq!(
        bench.get(&format!("/approvals/{approval}")).await.is(200)["state"],
        "pending"
    );
    assert_eq!(bench.toy.count(), 0);
}

#[tokio::test]
async fn a_denial_reaches_whoever_waits() {
    let bench = Arc::new(Bench::new().await);
    let waiting = {
        let bench = bench.clone();
        tokio::spawn(async move {
            let body = json!({"args": {}, "wait": "decision"});
            bench
                .send(post("/tools/toy_write/runs").by(&bench.bot).json(body))
                .await
                .is(200)
        })
    };
    let mut changes = bench.hub.kernel().changes();
    let approval = loop {
        let found = bench.get("/approvals?state=pending").await.is(200);
        if let Some(id) = found["items"][0]["id"].as_str() {
            break id.to_owned();
        }
        changes.recv().await.unwrap();
    };
    let no = post(&format!("/approvals/{approval}/deny")).by(&bench.bob);
    bench
        .send(no.json(json!({"reason": "not \u{202e}now"})))
        .await
        .is(200);
    let answer = waiting.await.unwrap();
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("denied by bob") && message.contains("now"),
        "{message}"
    );
    assert_eq!(answer["meta"]["approval_id"], approval.as_str());
    let run = answer["meta"]["run_id"].as_str().unwrap();
    let run = bench.get(&format!("/runs/{run}")).await.is(200);
    assert_eq!(run["state"], "denied");
    assert_eq!(run["answer"]["error"]["message"], message);
}

#[tokio::test]
async fn a_yes_reaches_whoever_waits() {
    let bench = Arc::new(Bench::new().await);
    let waiting = {
        let bench = bench.clone();
        tokio::spawn(async move {
            let body = json!({"args": {"text": "y"}, "wait": "decision"});
            bench
                .send(post("/tools/toy_write/runs").by(&bench.bot).json(body))
                .await
                .is(200)
        })
    };
    let mut changes = bench.hub.kernel().changes();
    let approval = loop {
        let found = bench.get("/approvals").await.is(200);
        if let Some(id) = found["items"][0]["id"].as_str() {
            break id.to_owned();
        }
        changes.recv().await.unwrap();
    };
    bench
        .post(&format!("/approvals/{approval}/approve"), json!(null))
        .await
        .problem(422);
    bench
        .send(post(&format!("/approvals/{approval}/approve")).by(&bench.bob))
        .await
        .is(200);
    assert_eq!(waiting.await.unwrap()["data"], json!({"text": "y"}));
}

#[tokio::test]
async fn nobody_waits_longer_than_the_hub_is_open() {
    let bench = Arc::new(Bench::new().await);
    let waiting = {
        let bench = bench.clone();
        tokio::spawn(async move {
            let body = json!({"args": {}, "wait": "decision"});
            bench
                .send(post("/tools/toy_write/runs").by(&bench.bot).json(body))
                .await
                .problem(503)
        })
    };
    let mut changes = bench.hub.kernel().changes();
    while bench.get("/approvals").await.is(200)["items"] == json!([]) {
        changes.recv().await.unwrap();
    }
    bench.hub.close();
    let said = waiting.await.unwrap();
    assert!(said.contains("state=pending_approval"), "{said}");
    let waits = bench.get("/runs?state=pending_approval").await.is(200);
    assert_eq!(waits["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn too_late_is_too_late() {
    let bench = Bench::new().await;
    let (run, approval) = asked(&bench, &bench.bot).await;
    bench.clock.go(Duration::from_secs(3600));
    let yes = post(&format!("/approvals/{approval}/approve")).by(&bench.bob);
    let said = bench.send(yes).await.problem(409);
    assert!(said.contains("expired"), "{said}");
    assert_eq!(over(&bench, &run).await["state"], "expired");
    assert_eq!(bench.toy.count(), 0);
}

#[tokio::test]
async fn an_edited_tool_is_not_what_was_approved() {
    let bench = Bench::new().await;
    let (run, approval) = asked(&bench, &bench.bot).await;
    let edit = ask("PATCH", "/tools/toy_write")
        .by(&bench.ann)
        .json(json!({"title": "Other"}));
    bench.send(edit).await.is(200);
    bench
        .send(post(&format!("/approvals/{approval}/approve")).by(&bench.bob))
        .await
        .is(200);
    let run = over(&bench, &run).await;
    assert_eq!(
        (&run["state"], bench.toy.count()),
        (&json!("failed"), 0),
        "{run}"
    );
    assert_eq!(run["answer"]["error"]["type"], "conflict");
}

#[tokio::test]
async fn yes_and_no_at_once_decide_once() {
    let bench = Arc::new(Bench::new().await);
    let carl = bench.person("carl", &Permission::ALL).await;
    for _ in 0..10 {
        let (_, approval) = asked(&bench, &bench.bot).await;
        let one = |word: &str, secret: &str| {
            let asked = post(&format!("/approvals/{approval}/{word}")).by(secret);
            let bench = bench.clone();
            tokio::spawn(async move { bench.send(asked).await.status })
        };
        let (yes, no) = (one("approve", &bench.bob), one("deny", &carl));
        let mut both = [yes.await.unwrap(), no.await.unwrap()];
        both.sort_unstable();
        assert_eq!(both, [200, 409]);
    }
}

#[tokio::test]
async fn approvals_of_others_are_not_there() {
    let bench = Bench::new().await;
    let plain = [Permission::ToolExecute, Permission::RunRead];
    let (eve, ann) = (
        bench.person("eve", &plain).await,
        bench.person("ann", &plain).await,
    );
    let (_, of_bot) = asked(&bench, &bench.bot).await;
    let path = format!("/approvals/{of_bot}");
    let nowhere = "apr_0123456789abcdef0123456789abcdef";
    let said = bench.send(get(&path).by(&eve)).await.problem(404);
    let none = bench
        .send(get(&format!("/approvals/{nowhere}")).by(&eve))
        .await
        .problem(404);
    assert_eq!(said.replace(&of_bot, nowhere), none);
    bench.send(get(&path).by(&ann)).await.is(200);
    bench.send(get(&path).by(&bench.bot)).await.is(200);
    assert_eq!(
        bench.send(get("/approvals").by(&eve)).await.is(200)["items"],
        json!([])
    );
    // One who decides, but not about this tool.
    let narrow = bench
        .person("nan", &[Permission::ApprovalDecide, Permission::RunRead])
        .await;
    bench.send(get(&path).by(&narrow)).await.is(200);
    let new = NewToken {
        owner: "far".to_owned(),
        kind: PrincipalKind::Person,
        permissions: vec![Permission::ApprovalDecide, Permission::RunRead],
        scopes: vec!["other_*".to_owned()],
        ..NewToken::agent("far")
    };
    let (far, _) = bench.token_of(&Principal::person("root"), new).await;
    bench.send(get(&path).by(&far)).await.problem(404);
    bench
        .send(post(&format!("{path}/approve")).by(&far))
        .await
        .problem(404);
    for wrong in ["x", "apr_%0a", "run_0123456789abcdef0123456789abcdef"] {
        bench.get(&format!("/approvals/{wrong}")).await.problem(404);
    }
}

#[tokio::test]
async fn pages_leave_no_gaps_where_others_stand() {
    let bench = Bench::new().await;
    let mut wanted = Vec::new();
    for i in 0..12 {
        let secret = if i % 3 == 0 { &bench.ann } else { &bench.bot };
        let (_, id) = asked(&bench, secret).await;
        if i % 3 != 0 {
            wanted.insert(0, id);
        }
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let asked = get(&format!("/approvals?limit=3{cursor}")).by(&bench.bot);
        let page = bench.send(asked).await.is(200);
        for item in page["items"].as_array().unwrap() {
            seen.push(item["id"].as_str().unwrap().to_owned());
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, wanted);
}

#[tokio::test]
async fn a_reason_is_text_of_a_length() {
    let bench = Bench::new().await;
    let (_, approval) = asked(&bench, &bench.bot).await;
    for body in [
        json!({"reason": 1}),
        json!({"reason": "r".repeat(1001)}),
        json!({"why": "x"}),
        json!([]),
    ] {
        let no = post(&format!("/approvals/{approval}/deny"))
            .by(&bench.bob)
            .json(body);
        bench.send(no).await.problem(422);
    }
    let no = post(&format!("/approvals/{approval}/deny")).by(&bench.bob);
    let said = bench
        .send(no.json(json!({"reason": "r".repeat(1000)})))
        .await
        .is(200);
    assert_eq!(said["state"], "denied");
}
