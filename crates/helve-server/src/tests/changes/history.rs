//! The past of paths, and for how long it is kept.

use super::*;

async fn lines(bench: &Bench, secret: &str, query: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/changes?limit=2&{query}{cursor}");
        let page = bench.send(get(&path).by(secret)).await.is(200);
        for item in page["items"].as_array().unwrap() {
            let path = item["path"].as_str().unwrap();
            let name = path.rsplit_once("/data/").map_or(path, |(_, name)| name);
            found.push((name.to_owned(), item["kind"].as_str().unwrap().to_owned()));
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn pair(name: &str, kind: &str) -> (String, String) {
    (name.to_owned(), kind.to_owned())
}

#[tokio::test]
async fn the_last_first_page_by_page() {
    let bench = bench(unasked()).await;
    let run = bench.noted(json!({"path": "n", "times": 5})).await;
    bench.noted(json!({"path": "n2", "text": "more\n"})).await;
    bench.noted(json!({"path": "m"})).await;
    bench
        .post(&format!("/runs/{run}/undo"), json!({"paths": ["data/n3"]}))
        .await
        .is(200);
    let all = lines(&bench, &bench.ann, "").await;
    let wanted = [
        pair("n3", "deleted"),
        pair("m", "created"),
        pair("n2", "changed"),
        pair("n", "created"),
        pair("n2", "created"),
        pair("n3", "created"),
        pair("n4", "created"),
        pair("n5", "created"),
    ];
    assert_eq!(all, wanted);
    assert_eq!(
        lines(&bench, &bench.ann, "path=data/n2").await,
        [pair("n2", "changed"), pair("n2", "created")]
    );
    assert_eq!(lines(&bench, &bench.ann, "path=data").await, wanted);
    assert_eq!(lines(&bench, &bench.ann, "path=data/n").await.len(), 1);
    assert!(lines(&bench, &bench.ann, "path=elsewhere").await.is_empty());
    let page = bench.get("/changes?path=data/m").await.is(200);
    let item = &page["items"][0];
    assert_eq!(item["tool"], "note_write");
    assert_eq!(item["owner"], "ann");
    assert_eq!(item["order"], 3);
    assert_eq!(item["state"], "succeeded");
}

#[tokio::test]
async fn one_s_own_unless_one_may_see_all() {
    let bench = bench(unasked()).await;
    bench.note(&bench.bot, 200, json!({"path": "bots"})).await;
    bench
        .note(&bench.bob, 200, json!({"path": "bobs", "times": 3}))
        .await;
    bench.note(&bench.bot, 200, json!({"path": "again"})).await;
    let names = |lines: Vec<(String, String)>| -> Vec<String> {
        lines.into_iter().map(|(name, _)| name).collect()
    };
    let bots = ["again", "bots"];
    assert_eq!(names(lines(&bench, &bench.bot, "").await), bots);
    let ann = bench.person("ann", &[Permission::RunRead]).await;
    assert_eq!(names(lines(&bench, &ann, "").await), bots, "her agent's");
    let eve = bench.person("eve", &[Permission::RunRead]).await;
    assert!(lines(&bench, &eve, "").await.is_empty());
    assert_eq!(lines(&bench, &bench.bob, "").await.len(), 5);
}

#[tokio::test]
async fn a_name_that_is_no_text_comes_with_its_bytes() {
    let bench = bench(unasked()).await;
    let answer = bench.post("/tools/note_odd/runs", json!({})).await.is(200);
    let run = id(&answer, "run_id");
    let page = bench.get("/changes").await.is(200);
    let diff = bench.get(&format!("/runs/{run}/diff")).await.is(200);
    for item in [&page["items"][0], &diff["changes"][0]] {
        let path = item["path"].as_str().unwrap();
        assert!(path.ends_with("/data/\u{fffd}"), "{path}");
        let bytes = item["path_bytes"].as_str().unwrap();
        assert!(bytes.ends_with("2f646174612fff"), "{bytes}");
    }
}

#[tokio::test]
async fn cursors_are_read_strictly() {
    let bench = bench(unasked()).await;
    for query in [
        "cursor=1",
        "cursor=a.b",
        "cursor=1.-1",
        "cursor=",
        "limit=0",
        "limit=201",
        "cursor=9999999999999999999.0",
    ] {
        bench.get(&format!("/changes?{query}")).await.problem(400);
    }
    for query in ["cursor=0.0", "cursor=999999999999999999.999999", "path="] {
        bench.get(&format!("/changes?{query}")).await.is(200);
    }
    bench.get("/changes?path=%00").await.is(200);
}

#[tokio::test]
async fn what_is_pinned_is_kept() {
    let settings = Settings {
        keeping: Keeping {
            age: Some(Duration::from_secs(60)),
            bytes: None,
        },
        ..Settings::default()
    };
    let bench = with(settings, unasked()).await;
    bench.noted(json!({"path": "a", "text": "old\n"})).await;
    let pinned = bench.noted(json!({"path": "a", "text": "new\n"})).await;
    let left = bench.noted(json!({"path": "a", "text": "newer\n"})).await;
    let pin = bench.post(&format!("/runs/{pinned}/pin"), json!({})).await;
    assert_eq!(
        pin.is(200),
        json!({"run_id": pinned, "pinned": true, "changed": true})
    );
    let shown = bench.get(&format!("/runs/{pinned}")).await.is(200);
    assert_eq!(shown["changes"]["pinned"], true);
    bench.clock.go(Duration::from_secs(61));

    bench
        .send(post("/changes/collect").by(&bench.bot))
        .await
        .problem(403);
    let mut new = NewToken::agent("tidy");
    new.permissions.push(Permission::RunUndo);
    let (tidy, _) = bench.token_of(&Principal::person("root"), new).await;
    let said = bench
        .send(post("/changes/collect").by(&tidy))
        .await
        .problem(403);
    assert!(said.contains("only people"), "{said}");
    bench
        .post("/changes/collect", json!({"all": true}))
        .await
        .problem(422);
    let done = bench.post("/changes/collect", json!({})).await.is(200);
    let expired = done["expired"].as_array().unwrap();
    assert!(expired.contains(&json!(left)) && !expired.contains(&json!(pinned)));
    let said = bench
        .post(&format!("/runs/{left}/undo"), json!({}))
        .await
        .problem(409);
    assert!(said.contains("undo expired"), "{said}");
    let shown = bench.get(&format!("/runs/{left}")).await.is(200);
    assert_eq!(shown["changes"]["state"], "expired");
    // What is left of its diff is still told.
    bench.get(&format!("/runs/{left}/diff")).await.is(200);

    let unpin = bench
        .post(&format!("/runs/{pinned}/unpin"), json!({}))
        .await;
    assert_eq!(unpin.is(200)["pinned"], false);
    let done = bench.post("/changes/collect", json!({})).await.is(200);
    assert_eq!(done["expired"], json!([pinned]));
    assert_eq!(
        bench.events(&pinned).await.last().unwrap(),
        "run.undo_expired"
    );
}
