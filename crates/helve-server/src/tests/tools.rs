//! `/tools`: register, look, change, take back.

use super::*;

fn definition(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Does a thing. Use it when a thing is to be done.",
        "risk": "read",
        "executor": {"type": "host", "command": ["/bin/true"]},
        "input_schema": {"type": "object", "properties": {}},
    })
}

fn put(path: &str) -> Ask {
    ask("PUT", path)
}

fn patch(path: &str) -> Ask {
    ask("PATCH", path)
}

fn delete(path: &str) -> Ask {
    ask("DELETE", path)
}

#[tokio::test]
async fn a_tool_lives() {
    let bench = Bench::new().await;
    let ann = &bench.ann;
    let reply = bench
        .post("/tools?why=it+is+needed", definition("disk_clean"))
        .await;
    assert_eq!(reply.header("location"), Some("/tools/disk_clean"));
    let made = reply.is(201);
    assert_eq!(made["changed"], true);
    assert_eq!(made["tool"]["id"], "disk_clean");
    assert_eq!(made["tool"]["version"], "1.0.0");
    assert_eq!(made["tool"]["source"], "api");

    let said = bench
        .post("/tools", definition("disk_clean"))
        .await
        .problem(409);
    assert!(said.contains("registered already"), "{said}");

    // The same again is no change; another is a version.
    let same = bench
        .send(
            put("/tools/disk_clean")
                .by(ann)
                .json(definition("disk_clean")),
        )
        .await;
    assert_eq!(same.is(200)["changed"], false);
    let mut other = definition("disk_clean");
    other["title"] = "Clean".into();
    let changed = bench
        .send(put("/tools/disk_clean?why=title").by(ann).json(other))
        .await;
    assert_eq!(changed.is(200)["tool"]["version"], "1.0.1");

    let change = json!({"title": null, "tags": ["disk"], "input_schema": {"properties": {"x": {"type": "string", "description": "X."}}}});
    let asked = patch("/tools/disk_clean?why=patch").by(ann);
    let changed = bench
        .send(asked.raw(change.to_string(), "application/merge-patch+json"))
        .await
        .is(200);
    let def = &changed["tool"]["definition"];
    assert_eq!(changed["tool"]["version"], "1.0.2");
    assert_eq!(def.get("title"), None, "null removes");
    assert_eq!(def["tags"], json!(["disk"]));
    assert_eq!(
        def["input_schema"]["type"], "object",
        "what is not named stays"
    );
    assert_eq!(def["input_schema"]["properties"]["x"]["type"], "string");

    let versions = bench.get("/tools/disk_clean/versions").await.is(200);
    let told: Vec<Value> = versions["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| json!([v["version"], v["by"], v["why"], v["current"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["1.0.0", "ann", "it is needed", false]),
            json!(["1.0.1", "ann", "title", false]),
            json!(["1.0.2", "ann", "patch", true]),
        ]
    );
    assert_eq!(versions["items"][0]["at"], "2026-09-21T14:13:20.000Z");

    let back = bench
        .post(
            "/tools/disk_clean/rollback",
            json!({"version": "1.0.1", "why": "better"}),
        )
        .await
        .is(200);
    assert_eq!(back["version"], "1.0.1");
    assert_eq!(back["definition"]["title"], "Clean");
    let said = bench
        .post("/tools/disk_clean/rollback", json!({"version": "9.0.0"}))
        .await
        .problem(404);
    assert!(said.contains("`1.0.1`"), "{said}");
    for body in [
        json!({}),
        json!({"version": "one"}),
        json!({"version": 1}),
        json!({"version": "1.0.0", "x": 1}),
        json!({"version": "1.0.0", "why": "a\nb"}),
        json!({"version": "1.0.0", "why": "a".repeat(1001)}),
    ] {
        bench
            .post("/tools/disk_clean/rollback", body)
            .await
            .problem(422);
    }

    assert_eq!(
        bench
            .post("/tools/disk_clean/disable", json!({}))
            .await
            .is(200)["enabled"],
        false
    );
    let said = bench
        .post("/tools/disk_clean/runs", json!({}))
        .await
        .problem(404);
    assert!(said.contains("disabled"), "{said}");
    let listed = bench.get("/tools?enabled=false").await.is(200);
    assert_eq!(listed["items"][0]["id"], "disk_clean");
    let catalog = bench.get("/catalog").await.is(200)["text"].to_string();
    assert!(
        !catalog.contains("disk_clean") && catalog.contains("toy_echo"),
        "{catalog}"
    );
    assert_eq!(
        bench
            .post("/tools/disk_clean/enable", json!({}))
            .await
            .is(200)["enabled"],
        true
    );
    assert_eq!(
        bench
            .post("/tools/disk_clean/enable", json!({}))
            .await
            .is(200)["enabled"],
        true
    );

    let gone = bench.send(delete("/tools/disk_clean").by(ann)).await;
    assert_eq!(gone.text(), "");
    assert_eq!(gone.status, 204);
    for path in ["/tools/disk_clean", "/tools/disk_clean/versions"] {
        bench.get(path).await.problem(404);
    }
    bench
        .send(delete("/tools/disk_clean").by(ann))
        .await
        .problem(404);
    // A rollback does not bring it back; to register it goes on where it ended.
    bench
        .post("/tools/disk_clean/rollback", json!({"version": "1.0.0"}))
        .await
        .problem(404);
    let again = bench
        .send(
            put("/tools/disk_clean")
                .by(ann)
                .json(definition("disk_clean")),
        )
        .await;
    assert_eq!(again.is(201)["tool"]["version"], "1.0.3");
    let events = bench.events("disk_clean").await;
    assert_eq!(
        events,
        [
            "tool.registered",
            "tool.changed",
            "tool.changed",
            "tool.rolled_back",
            "tool.disabled",
            "call.refused",
            "tool.enabled",
            "tool.removed",
            "tool.registered",
        ]
    );
}

#[tokio::test]
async fn a_tool_written_disabled_is_in_the_catalog_once_it_is_enabled() {
    let bench = Bench::new().await;
    let mut def = definition("sleepy_tool");
    def["enabled"] = false.into();
    bench.post("/tools", def).await.is(201);
    let text = |v: Value| v["text"].to_string();
    assert!(!text(bench.get("/catalog").await.is(200)).contains("sleepy_tool"));
    bench
        .post("/tools/sleepy_tool/enable", json!({}))
        .await
        .is(200);
    assert!(text(bench.get("/catalog").await.is(200)).contains("sleepy_tool"));
    bench.get("/catalog?budget=1").await.problem(422);
}

#[tokio::test]
async fn a_definition_comes_in_any_dialect() {
    let bench = Bench::new().await;
    let schema = json!({"type": "object", "properties": {"city": {"type": "string", "description": "Which."}}, "required": ["city"]});
    let says = "Tells the weather. Use it when somebody asks.";
    for (name, body) in [
        (
            "weather_one",
            json!({"type": "function", "function": {"name": "weather_one", "description": says, "parameters": schema}}),
        ),
        (
            "weather_two",
            json!({"type": "function", "name": "weather_two", "description": says, "parameters": schema}),
        ),
        (
            "weather_three",
            json!({"name": "weather_three", "description": says, "input_schema": schema}),
        ),
        (
            "weather_four",
            json!({"name": "weather_four", "description": says, "inputSchema": schema}),
        ),
        (
            "weather_five",
            json!({"id": "weather_five", "name": "天气", "description": says, "risk_level": "read", "executor": "host", "args_schema": schema, "command": ["/bin/true"]}),
        ),
    ] {
        let made = bench.post("/tools", body).await.is(201);
        assert_eq!(made["tool"]["id"], name);
        let def = bench.get(&format!("/tools/{name}")).await.is(200)["definition"].clone();
        assert_eq!(def["input_schema"]["required"], json!(["city"]), "{name}");
    }
    for dialect in [
        "openai",
        "openai-responses",
        "anthropic",
        "mcp",
        "gemini",
        "automation-hub",
        "helve",
    ] {
        let path = format!("/tools/weather_two?dialect={dialect}");
        let shown = bench.get(&path).await.is(200).to_string();
        assert!(shown.contains("city"), "{dialect}: {shown}");
        let all = bench
            .get(&format!("/tools?dialect={dialect}&group=weather"))
            .await
            .is(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 5, "{dialect}");
    }
    let strict = bench
        .get("/tools?dialect=openai&strict=true&group=weather")
        .await
        .is(200);
    assert_eq!(strict["items"][0]["function"]["strict"], true);
    let shown = bench.get("/tools/weather_one?dialect=openai").await.is(200);
    assert_eq!(shown["function"]["name"], "weather_one");
}

#[tokio::test]
async fn a_tool_answers_to_its_names_and_to_no_others() {
    let bench = Bench::new().await;
    for name in [
        "toy_echo",
        "echo-it",
        "internal_toy_echo",
        "mcp__helve__toy_echo",
        "mcp__toy__echo",
        "toy%5fecho",
    ] {
        assert_eq!(
            bench.get(&format!("/tools/{name}")).await.is(200)["id"],
            "toy_echo",
            "{name}"
        );
        bench
            .post(&format!("/tools/{name}/runs"), json!({}))
            .await
            .is(200);
    }
    let ran = bench.toy.count();
    for name in [
        "Toy_Echo",
        "TOY_ECHO",
        "toy_echo%20",
        "%20toy_echo",
        "toy_echo%00",
        "t%D0%BEy_echo",
        "toy_echo%0A",
        "toy_echo%E2%80%8B",
        "toy%2Fecho",
        "toy_ech",
        "toy_echo.",
        "%EF%BD%94oy_echo",
        "..",
        "toy_echo%E2%80%AE",
    ] {
        let said = bench.get(&format!("/tools/{name}")).await.problem(404);
        assert!(
            !said.contains(['\u{202e}', '\u{200b}', '\0', '\n']),
            "{said:?}"
        );
        bench
            .post(&format!("/tools/{name}/runs"), json!({}))
            .await
            .problem(404);
        bench
            .send(delete(&format!("/tools/{name}")).by(&bench.ann))
            .await
            .problem(404);
    }
    bench.get("/tools/%FF%FE").await.problem(400);
    bench.get("/runs/%C3/artifacts/%FF").await.problem(400);
    let long = "x".repeat(60_000);
    assert!(
        bench
            .get(&format!("/tools/{long}"))
            .await
            .problem(404)
            .len()
            < 400
    );
    assert_eq!(bench.toy.count(), ran);
    let said = bench.get("/tools/toy_eco").await.problem(404);
    assert!(said.contains("`toy_echo`"), "{said}");
}

#[tokio::test]
async fn what_is_outside_the_scopes_is_not_there() {
    let bench = Bench::new().await;
    let narrow = bench.scoped("nan", &["toy_*"]).await;
    let by = |ask: Ask| ask.by(&narrow);
    let listed = bench.send(by(get("/tools"))).await.is(200);
    let ids: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        ["toy_echo", "toy_fail", "toy_file", "toy_wait", "toy_write"]
    );
    let there = |path: &str| path.replace("NAME", "other_thing");
    let not = |path: &str| path.replace("NAME", "other_thinx");
    for (method, path, body) in [
        ("GET", "/tools/NAME", None),
        ("GET", "/tools/NAME/versions", None),
        ("DELETE", "/tools/NAME", None),
        ("POST", "/tools/NAME/enable", None),
        ("POST", "/tools/NAME/disable", None),
        (
            "POST",
            "/tools/NAME/rollback",
            Some(json!({"version": "1.0.0"})),
        ),
        ("PATCH", "/tools/NAME", Some(json!({"title": "x"}))),
        ("POST", "/tools/NAME/runs", Some(json!({}))),
        ("POST", "/runs", Some(json!({"tool_id": "NAME"}))),
        ("POST", "/policy/explain", Some(json!({"tool": "NAME"}))),
    ] {
        let said = |rename: &dyn Fn(&str) -> String| {
            let mut request = ask(method, &rename(path)).by(&narrow);
            if let Some(body) = &body {
                request = request.json(serde_json::from_str(&rename(&body.to_string())).unwrap());
            }
            bench.send(request)
        };
        let here = said(&there).await.problem(404);
        let nowhere = said(&not).await.problem(404);
        assert_eq!(here.replace("thing", "thinx"), nowhere, "{method} {path}");
        assert!(!here.contains("nearest are `other"), "{here}");
    }
    bench
        .send(by(post("/tools")).json(definition("other_new")))
        .await
        .problem(403);
    bench
        .send(by(put("/tools/other_thing")).json(definition("other_thing")))
        .await
        .problem(403);
    let catalog = bench.send(by(get("/catalog"))).await.is(200);
    assert!(!catalog["text"].to_string().contains("other"));
    assert_eq!(catalog["tools"], 5);
    // The record tells of what was tried.
    assert!(
        bench
            .events("other_thing")
            .await
            .contains(&"call.refused".to_owned())
    );
}

#[tokio::test]
async fn pages_have_no_gap_and_no_double() {
    let bench = Bench::new().await;
    for i in 0..23 {
        bench
            .post("/tools", definition(&format!("many_{i}")))
            .await
            .is(201);
    }
    let whole = bench.get("/tools?group=many").await.is(200);
    assert_eq!(whole["next"], Value::Null);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = bench
            .get(&format!("/tools?group=many&limit=5{cursor}"))
            .await
            .is(200);
        seen.extend(page["items"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(Value::Array(seen), whole["items"]);
}

#[tokio::test]
async fn bodies_that_define_no_tool() {
    let bench = Bench::new().await;
    let two = json!({"tools": [definition("one_a"), definition("one_b")]});
    let deep = format!(
        "{}{}",
        "{\"a\":".repeat(200),
        "1".to_owned() + &"}".repeat(200)
    );
    let mut remote = definition("remote_ref");
    remote["input_schema"]["properties"] = json!({"x": {"$ref": "https://example.com/s.json"}});
    let mut explodes = definition("re_dos");
    explodes["input_schema"]["properties"] = json!({"x": {"type": "string", "pattern": "^(a+)+$"}});
    let mut shell = definition("shell_join");
    shell["input_schema"]["properties"] = json!({"path": {"type": "string", "description": "P."}});
    shell["executor"] = json!({"type": "host", "command": ["sh", "-c", "rm {path}"]});
    let mut risky = definition("no_risk");
    risky.as_object_mut().unwrap().remove("risk");
    let mut odd = definition("odd_risk");
    odd["risk"] = "harmless".into();
    let mut twin = definition("twin_name");
    twin["aliases"] = json!(["toy_echo"]);
    for (status, body) in [
        (422, two.to_string()),
        (422, "{}".to_owned()),
        (422, "[]".to_owned()),
        (422, json!([definition("in_list")]).to_string()),
        (422, "\"text\"".to_owned()),
        (422, "null".to_owned()),
        (422, "17".to_owned()),
        (422, String::new()),
        (422, remote.to_string()),
        (422, explodes.to_string()),
        (422, shell.to_string()),
        (422, risky.to_string()),
        (422, odd.to_string()),
        (422, definition("Bad Name!").to_string()),
        (422, definition("r\u{435}ad_it").to_string()),
        (422, json!({"name": "only_name"}).to_string()),
        (409, twin.to_string()),
        (400, "{".to_owned()),
        (400, "{\"name\": \"a\", \"name\": \"b\"}".to_owned()),
        (400, deep),
        (400, definition("x_y").to_string() + "{}"),
        (400, "{\"a\": 1e999}".to_owned()),
        (400, "{\"a\": \"\\ud800\"}".to_owned()),
        (400, "{\"a\": NaN}".to_owned()),
    ] {
        for asked in [post("/tools"), put("/tools/one_a")] {
            let asked = asked.by(&bench.ann).raw(body.clone(), "application/json");
            let reply = bench.send(asked.clone()).await;
            let status = if asked.method == "PUT" && status == 409 {
                422
            } else {
                status
            };
            assert_eq!(reply.status, status, "{body}: {reply:?}");
        }
    }
    let raw = |body: Vec<u8>, kind| post("/tools").by(&bench.ann).raw(body, kind);
    bench
        .send(raw(
            vec![b'{', b'"', 0xff, b'"', b':', b'1', b'}'],
            "application/json",
        ))
        .await
        .problem(400);
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "multipart/form-data",
        "application/yaml",
        "",
    ] {
        let body = definition("typed_body").to_string().into_bytes();
        bench.send(raw(body, kind)).await.problem(415);
    }
    let mut untyped = post("/tools").by(&bench.ann);
    untyped.body = b"{}".to_vec();
    bench.send(untyped).await.problem(415);
    let long = format!("{{\"name\": \"{}\"}}", "a".repeat(1024 * 1024));
    bench
        .send(raw(long.into_bytes(), "application/json"))
        .await
        .problem(413);
    let mut exact = definition("exact_fit").to_string().into_bytes();
    exact.resize(1024 * 1024, b' ');
    bench
        .send(raw(exact, "application/json; charset=utf-8"))
        .await
        .is(201);
    let listed = bench.get("/tools").await.is(200);
    assert_eq!(
        listed["items"].as_array().unwrap().len(),
        7,
        "nothing else was registered"
    );
}

#[tokio::test]
async fn findings_say_where_and_what_to_do() {
    let bench = Bench::new().await;
    let mut def = definition("remote_ref");
    def["input_schema"]["properties"] = json!({"x": {"$ref": "https://example.com/s.json"}});
    let problem = bench.post("/tools", def).await.is(422);
    let error = &problem["errors"][0];
    assert_eq!(
        error["pointer"], "/input_schema/properties/x/$ref",
        "{problem}"
    );
    assert_eq!(error["code"], "E122");
}

#[tokio::test]
async fn nothing_hides_in_what_is_said_of_a_body() {
    let bench = Bench::new().await;
    for body in [
        json!({"\u{b}\u{202e}x": 1}),
        json!({"name": "a\u{202e}\u{1b}[31m", "description": "x", "input_schema": {}}),
    ] {
        let reply = bench.post("/tools", body).await;
        let text = format!("{:?}", reply.json().to_string());
        assert!(
            !text.contains(['\u{202e}']) && !text.contains("u001b") && !text.contains("u000b"),
            "{text}"
        );
        reply.problem(422);
    }
}

#[tokio::test]
async fn the_address_and_the_body_name_one_tool() {
    let bench = Bench::new().await;
    let ann = &bench.ann;
    let said = bench
        .send(
            put("/tools/one_name")
                .by(ann)
                .json(definition("another_name")),
        )
        .await;
    assert!(said.problem(422).contains("`another_name`"));
    bench
        .send(put("/tools/one_name").by(ann).json(definition("one_name")))
        .await
        .is(201);
    bench
        .send(
            put("/tools/internal_one_name")
                .by(ann)
                .json(definition("one_name")),
        )
        .await
        .is(200);
    // A name of its own, which was only a form of another's, is a new tool.
    let reply = bench
        .send(
            put("/tools/internal_one_name")
                .by(ann)
                .json(definition("internal_one_name")),
        )
        .await;
    assert_eq!(reply.header("location"), Some("/tools/internal_one_name"));
    reply.is(201);
    bench
        .send(
            patch("/tools/one_name")
                .by(ann)
                .json(json!({"name": "other_name"})),
        )
        .await
        .problem(422);
    bench
        .send(patch("/tools/one_name").by(ann).json(json!({"name": null})))
        .await
        .problem(422);
    bench
        .send(
            patch("/tools/one_name")
                .by(ann)
                .json(json!({"colour": "red"})),
        )
        .await
        .problem(422);
    bench
        .send(patch("/tools/one_name").by(ann).json(json!([])))
        .await
        .problem(422);
    let same = bench
        .send(patch("/tools/one_name").by(ann).json(json!({})))
        .await
        .is(200);
    assert_eq!(same["changed"], false);
    bench
        .send(
            put(&format!("/tools/one_name?why={}", "w".repeat(1001)))
                .by(ann)
                .json(definition("one_name")),
        )
        .await
        .problem(400);
    bench
        .send(
            put("/tools/one_name?why=a%0Ab")
                .by(ann)
                .json(definition("one_name")),
        )
        .await
        .problem(400);
}

#[tokio::test]
async fn nobody_lowers_a_risk_to_dodge_an_approval() {
    let bench = Bench::new().await;
    let clerk = bench
        .person("clerk", &[Permission::ToolRegister, Permission::ToolRead])
        .await;
    let asked = |body| patch("/tools/toy_write").by(&clerk).json(body);
    bench
        .send(asked(json!({"risk": "read"})))
        .await
        .problem(403);
    bench.send(asked(json!({"title": "Write"}))).await.is(200);
}

#[tokio::test]
async fn the_same_name_at_once_is_registered_once() {
    let bench = Arc::new(Bench::new().await);
    let mut tries = Vec::new();
    for _ in 0..8 {
        let bench = bench.clone();
        tries.push(tokio::spawn(async move {
            bench.post("/tools", definition("race_me")).await.status
        }));
    }
    let mut statuses = Vec::new();
    for one in tries {
        statuses.push(one.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
}
