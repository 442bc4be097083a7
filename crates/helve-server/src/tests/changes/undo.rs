//! Runs taken back, and by whom.

use super::*;

#[tokio::test]
async fn several_and_all_since() {
    let bench = bench(unasked()).await;
    let mut runs = Vec::new();
    for name in ["a", "b", "c", "d"] {
        runs.push(bench.noted(json!({"path": name})).await);
    }
    let there = |bench: &Bench| -> String {
        let names = ["a", "b", "c", "d"].into_iter();
        names.filter(|n| bench.data(n).is_some()).collect()
    };
    let first = bench.undo(json!({"runs": [runs[0], runs[0]]})).await;
    assert_eq!(there(&bench), "bcd");
    bench.undo(json!({"since": runs[2], "dry_run": true})).await;
    assert_eq!(there(&bench), "bcd");
    let undone = bench.undo(json!({"runs": [runs[2], runs[3]]})).await;
    assert_eq!(there(&bench), "b");
    assert_eq!(undone["meta"]["changes"]["deleted"], 2);
    // To undo an undo puts back what it took.
    let again = format!("/runs/{}/undo", id(&first, "run_id"));
    bench.post(&again, json!(null)).await.problem(422);
    bench.post(&again, json!({})).await.is(200);
    assert_eq!(there(&bench), "ab");
    assert_eq!(
        bench.get(&format!("/runs/{}", runs[0])).await.is(200)["state"],
        "succeeded"
    );
}

#[tokio::test]
async fn only_some_paths() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({"path": "n", "times": 3})).await;
    let place = format!("/runs/{run}/undo");
    bench
        .post(&place, json!({"paths": ["data/n2"]}))
        .await
        .is(200);
    assert_eq!(bench.data("n2"), None);
    assert!(bench.data("n").is_some() && bench.data("n3").is_some());
    let absolute = bench.folder.path().canonicalize().unwrap().join("data/n3");
    bench
        .post(&place, json!({"paths": [absolute.to_str().unwrap()]}))
        .await
        .is(200);
    assert_eq!(bench.data("n3"), None);
}

#[tokio::test]
async fn what_somebody_changed_since_stays() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({"path": "n", "times": 2})).await;
    let file = bench.folder.path().join("data/n2");
    std::fs::write(&file, "mine\n").unwrap();
    let place = format!("/runs/{run}/undo");
    let said = bench.post(&place, json!({})).await.problem(409);
    assert!(said.contains("data/n2` was changed since"), "{said}");
    assert!(bench.data("n").is_some(), "all of it, or nothing");
    bench.post(&place, json!({"force": true})).await.is(200);
    assert_eq!((bench.data("n"), bench.data("n2")), (None, None));
}

#[tokio::test]
async fn agents_take_back_only_what_they_did() {
    let bench = bench(unasked()).await;
    let root = Principal::person("root");
    let mut new = NewToken::agent("tidy");
    new.permissions.push(Permission::RunUndo);
    let (tidy, _) = bench.token_of(&root, new.clone()).await;
    new.name = "nosy".to_owned();
    new.owner = "nosy".to_owned();
    new.permissions.push(Permission::AuditRead);
    let (nosy, _) = bench.token_of(&root, new).await;
    let own = id(
        &bench.note(&tidy, 200, json!({"path": "own"})).await,
        "run_id",
    );
    let theirs = bench.noted(json!({"path": "theirs"})).await;

    let undo = |run: &str| post(&format!("/runs/{run}/undo"));
    // An agent's token has no right to it unless it was given.
    bench.send(undo(&own).by(&bench.bot)).await.problem(403);
    bench.send(undo(&theirs).by(&tidy)).await.problem(404);
    for key in ["runs", "since"] {
        let named = match key {
            "runs" => json!({"runs": [theirs]}),
            _ => json!({"since": theirs}),
        };
        let ask = |who: &str| post("/undo").by(who).json(named.clone());
        bench.send(ask(&tidy)).await.problem(404);
        let said = bench.send(ask(&nosy)).await.problem(403);
        assert!(said.contains("somebody else's run"), "{key}: {said}");
    }
    // Somebody else's run came after.
    let all = post("/undo").by(&tidy).json(json!({"since": own}));
    bench.send(all).await.problem(403);
    bench.send(undo(&own).by(&tidy)).await.is(200);
    assert_eq!(bench.data("own"), None);
    assert!(bench.data("theirs").is_some());
    bench.send(undo(&theirs).by(&bench.bob)).await.is(200);
    assert_eq!(bench.data("theirs"), None);
}

#[tokio::test]
async fn outside_the_scopes_of_a_token_nothing_is_taken_back() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({})).await;
    let other = bench.scoped("cat", &["toy_*"]).await;
    let undo = post(&format!("/runs/{run}/undo")).by(&other);
    bench.send(undo).await.problem(403);
    assert!(bench.data("note").is_some());
}

#[tokio::test]
async fn what_is_no_undo_is_refused() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({})).await;
    let unknown = format!("run_{}", "0".repeat(32));
    let many: Vec<&str> = vec!["a"; 1001];
    for (body, status) in [
        (json!({}), 422),
        (json!({"runs": []}), 422),
        (json!({"runs": null, "since": null}), 422),
        (json!({"runs": run}), 422),
        (json!({"runs": [1]}), 422),
        (json!({"runs": ["x"]}), 404),
        (json!({"runs": [unknown]}), 404),
        (json!({"since": unknown}), 404),
        (json!({"since": 7}), 422),
        (json!({"runs": [run], "force": 1}), 422),
        (json!({"runs": [run], "paths": "data"}), 422),
        (json!({"runs": [run], "paths": [""]}), 422),
        (json!({"runs": [run], "paths": ["a\u{0}"]}), 422),
        (json!({"runs": [run], "paths": many}), 422),
        (json!({"runs": [run], "path": ["data"]}), 422),
        (json!({"runs": vec![run.as_str(); 201]}), 422),
    ] {
        bench.post("/undo", body).await.problem(status);
    }
    for path in ["/runs/x/undo", "/runs/x/diff"] {
        let method = if path.ends_with("undo") {
            "POST"
        } else {
            "GET"
        };
        bench
            .send(ask(method, path).by(&bench.ann))
            .await
            .problem(404);
    }
    assert!(bench.data("note").is_some());
    let kept = json!({"runs": [run], "paths": null, "force": null, "dry_run": null});
    bench.undo(kept).await;
    assert_eq!(bench.data("note"), None);
}

#[tokio::test]
async fn a_store_that_fails_is_told() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({})).await;
    bench.store.fail(true);
    for ask in [
        get(&format!("/runs/{run}/diff")),
        get("/changes"),
        post(&format!("/runs/{run}/undo")),
        post(&format!("/runs/{run}/pin")),
        post("/changes/collect"),
    ] {
        bench.send(ask.by(&bench.ann)).await.problem(503);
    }
    bench.store.fail(false);
    assert!(bench.data("note").is_some());
}
