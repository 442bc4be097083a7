//! `/tokens`: made, shown once, revoked.

use super::*;

#[tokio::test]
async fn a_secret_is_shown_once() {
    let bench = Bench::new().await;
    let made = bench
        .post("/tokens", json!({"name": "ci", "expires_in": 60.0}))
        .await
        .is(201);
    let secret = made["secret"].as_str().unwrap();
    assert_eq!(made["owner"], "agent:ci");
    assert_eq!(made["under"], "ann");
    assert_eq!(
        made["permissions"],
        json!(["tool:read", "tool:execute", "run:read"])
    );
    let me = bench.send(get("/me").by(secret)).await.is(200);
    assert_eq!(me["token_id"], made["id"]);
    bench
        .send(post("/tools/toy_echo/runs").by(secret))
        .await
        .is(200);
    for path in [
        "/tokens",
        "/audit?limit=200",
        "/audit/export",
        "/metrics",
        "/runs",
        "/policy",
    ] {
        let text = bench.get(path).await.text();
        assert!(
            !text.contains(secret) && !text.contains(&secret[4..]),
            "{path}"
        );
        assert!(!text.contains("hlv_"), "{path}");
    }
    let listed = bench.get("/tokens").await.is(200);
    let one = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["id"] == made["id"])
        .unwrap()
        .clone();
    assert_eq!(one.get("secret"), None);
    assert_eq!(one.get("hash"), None);
    bench.clock.go(Duration::from_secs(59));
    bench.send(get("/me").by(secret)).await.is(200);
    bench.clock.go(Duration::from_secs(1));
    bench.send(get("/me").by(secret)).await.problem(401);
}

#[tokio::test]
async fn revoked_is_revoked() {
    let bench = Bench::new().await;
    let made = bench.post("/tokens", json!({"name": "ci"})).await.is(201);
    let (secret, id) = (
        made["secret"].as_str().unwrap(),
        made["id"].as_str().unwrap(),
    );
    let path = format!("/tokens/{id}");
    bench.send(get("/me").by(secret)).await.is(200);
    assert_eq!(
        bench.send(ask("DELETE", &path).by(&bench.ann)).await.status,
        204
    );
    bench.send(get("/me").by(secret)).await.problem(401);
    bench
        .send(ask("DELETE", &path).by(&bench.ann))
        .await
        .problem(409);
    // One that revokes itself is gone with the answer.
    let made = bench.post("/tokens", json!({"name": "self"})).await.is(201);
    let (secret, id) = (
        made["secret"].as_str().unwrap(),
        made["id"].as_str().unwrap(),
    );
    assert_eq!(
        bench
            .send(ask("DELETE", &format!("/tokens/{id}")).by(secret))
            .await
            .status,
        204
    );
    bench.send(get("/me").by(secret)).await.problem(401);
    assert_eq!(bench.events(id).await, ["token.created", "token.revoked"]);
}

#[tokio::test]
async fn tokens_of_others_are_not_there() {
    let bench = Bench::new().await;
    let eve = bench.person("eve", &[Permission::ToolRead]).await;
    let own = bench.send(get("/tokens").by(&eve)).await.is(200);
    let owners: Vec<&Value> = own["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["owner"])
        .collect();
    assert_eq!(owners, ["eve"]);
    let all = bench.get("/tokens").await.is(200);
    assert_eq!(all["items"].as_array().unwrap().len(), 4);
    let of_ann = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["owner"] == "ann")
        .unwrap();
    let id = of_ann["id"].as_str().unwrap();
    let nowhere = "tok_0123456789abcdef0123456789abcdef";
    let said = bench
        .send(ask("DELETE", &format!("/tokens/{id}")).by(&eve))
        .await
        .problem(404);
    let none = bench
        .send(ask("DELETE", &format!("/tokens/{nowhere}")).by(&eve))
        .await
        .problem(404);
    assert_eq!(said.replace(id, nowhere), none);
    bench
        .send(ask("DELETE", "/tokens/x").by(&eve))
        .await
        .problem(404);
    bench.send(get("/me").by(&bench.ann)).await.is(200);
}

#[tokio::test]
async fn nobody_gives_more_than_they_have() {
    let bench = Bench::new().await;
    let new = NewToken {
        owner: "clerk".to_owned(),
        kind: PrincipalKind::Person,
        permissions: vec![Permission::TokenManage, Permission::ToolRead],
        scopes: vec!["toy_*".to_owned()],
        max_risk: Risk::ExecLow,
        ..NewToken::agent("clerk")
    };
    let (clerk, _) = bench.token_of(&Principal::person("root"), new).await;
    let fit = json!({"name": "a", "permissions": ["tool:read"], "scopes": ["toy_echo"], "max_risk": "read"});
    for (status, key, value) in [
        (201, "name", json!("b")),
        (403, "permissions", json!(["tool:execute"])),
        (
            403,
            "permissions",
            json!(["tool:read", "approval:decide"]).clone(),
        ),
        (403, "scopes", json!(["*"])),
        (403, "scopes", json!(["other_thing"])),
        (403, "scopes", json!(["toy_*", "t*"])),
        (403, "max_risk", json!("write")),
        (422, "permissions", json!(["tool:*"])),
        (422, "permissions", json!("tool:read")),
        (422, "permissions", json!([7])),
        (422, "max_risk", json!("none")),
        (422, "kind", json!("robot")),
        (422, "kind", json!("person")),
        (422, "name", json!("")),
        (422, "name", json!("a\r\nb")),
        (422, "name", json!("n".repeat(121))),
        (422, "owner", json!("o".repeat(129))),
        (422, "expires_in", json!(0)),
        (422, "expires_in", json!(-1)),
        (422, "expires_in", json!(1.5)),
        (422, "expires_in", json!(1e30)),
        (422, "expires_in", json!("60")),
        (422, "expires_in", json!(u64::MAX)),
        (422, "colour", json!("red")),
        (422, "hash", json!("x")),
        (422, "id", json!("tok_x")),
    ] {
        let mut body = fit.clone();
        body[key] = value;
        if key == "permissions" && status == 403 && body[key][1] == "approval:decide" {
            body["kind"] = "person".into();
            body["owner"] = "pal".into();
        }
        let reply = bench
            .send(post("/tokens").by(&clerk).json(body.clone()))
            .await;
        assert_eq!(reply.status, status, "{body}: {reply:?}");
    }
    // Without `permissions` an agent gets its three, of which the clerk has one.
    bench
        .send(
            post("/tokens")
                .by(&clerk)
                .json(json!({"name": "x", "scopes": ["toy_*"], "max_risk": "read"})),
        )
        .await
        .problem(403);
    bench
        .send(post("/tokens").by(&clerk).json(json!({})))
        .await
        .problem(422);
    let agent = json!({"name": "j", "permissions": ["approval:decide"]});
    bench.post("/tokens", agent).await.problem(422);
}
