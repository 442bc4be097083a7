//! What a tool says to its client while it runs, and asks.

use helve_kernel::{Ctx, Reply, Tool, Wire};
use serde_json::{Map, Value, json};

use super::client::of;
use super::support::{Hub, def, text};

/// A tool that tells, and one that asks two things at once.
async fn hub() -> Hub {
    let hub = Hub::new().await;
    let tells = Tool::new(
        def("talk_tell", json!({})),
        |ctx: Ctx, _: Value| async move {
            let caller = ctx.caller().unwrap();
            let half = json!({"progress": 1, "total": 2, "progressToken": "forged"});
            caller.tell("notifications/progress", half).await;
            for level in ["debug", "error"] {
                let message = json!({"level": level, "data": level});
                caller.tell("notifications/message", message).await;
            }
            Ok(json!("told"))
        },
    );
    let asks = Tool::new(
        def("talk_ask", json!({})),
        |ctx: Ctx, _: Value| async move {
            let question = |message: &str| {
                let schema = json!({"type": "object", "properties": {}});
                let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
                json!({"method": "elicitation/create", "params": params})
            };
            let mut questions = Map::new();
            questions.insert("first".to_owned(), question("one?"));
            questions.insert("approval".to_owned(), question("two?"));
            let answers = ctx.caller().unwrap().ask(questions).await?;
            Ok(Value::Object(answers))
        },
    );
    let wire = json!({"code": -32042, "message": "not so", "data": {"z": 1, "a": 2}});
    let wire = wire.as_object().unwrap().clone();
    let fails = Tool::of_args(def("talk_fail", json!({})), move |_| {
        let wire = Some(std::sync::Arc::new(Wire::Error(wire.clone())));
        async move {
            Ok(Reply {
                wire,
                ..Reply::new("failed elsewhere")
            })
        }
    });
    hub.kernel.add_tools([tells, asks, fails]).unwrap();
    hub
}

fn yes(n: i64) -> Value {
    json!({"action": "accept", "content": {"n": n}})
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_under_the_clients_own_token() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    client
        .ask("logging/setLevel", json!({"level": "warning"}))
        .await;
    let call = json!({"name": "talk_tell", "arguments": {}, "_meta": {"progressToken": "mine"}});
    client.ask("tools/call", call).await;
    let told: Vec<String> = client.heard.iter().map(|n| text(&n["method"])).collect();
    assert_eq!(told, ["notifications/progress", "notifications/message"]);
    let progress = &client.heard[0]["params"];
    assert_eq!(
        (&progress["progressToken"], &progress["total"]),
        (&json!("mine"), &json!(2.0))
    );
    assert_eq!(client.heard[1]["params"]["level"], "error");
    // Without a token there is nothing to tell it under.
    client.heard.clear();
    client.call("talk_tell", json!({})).await;
    assert!(
        client
            .heard
            .iter()
            .all(|n| n["method"] != "notifications/progress")
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_newer_revisions_hears_what_its_request_wants() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, json!({})).await;
    client.call("talk_tell", json!({})).await;
    assert_eq!(client.heard, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn a_tool_asks_an_older_client_while_it_waits() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, super::approval::asks()).await;
    let id = client.begin("talk_ask", json!({})).await;
    for _ in 0..2 {
        let question = client.question().await;
        let n = i64::from(question["params"]["message"] == "two?");
        client.reply(&question, yes(n)).await;
    }
    let result = client.result(id).await;
    let answers = &result["structuredContent"];
    assert_eq!(
        (&answers["first"], &answers["approval"]),
        (&yes(0), &yes(1))
    );
}

#[tokio::test(start_paused = true)]
async fn a_newer_client_comes_back_as_often_as_it_takes() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, super::approval::asks()).await;
    let asked = client.call("talk_ask", json!({})).await;
    let both: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(both, ["first", "approval"]);
    let again = |asked: &Value, answers: Value| {
        let state = &asked["requestState"];
        json!({"name": "talk_ask", "arguments": {}, "requestState": state, "inputResponses": answers})
    };
    let params = again(&asked, json!({"first": yes(0), "unasked": yes(9)}));
    let rest = client.ask("tools/call", params).await;
    let left: Vec<&String> = rest["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["approval"], "{rest}");
    assert_ne!(rest["requestState"], asked["requestState"]);
    let params = again(&rest, json!({"approval": yes(1)}));
    let result = client.ask("tools/call", params).await;
    let wanted = json!({"first": yes(0), "approval": yes(1)});
    assert_eq!(result["structuredContent"], wanted);
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_is_not() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut legacy = hub.legacy(&who, json!({})).await;
    let mut modern = hub.modern(&who, json!({})).await;
    for client in [&mut legacy, &mut modern] {
        let result = client.call("talk_ask", json!({})).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(of(&result).contains("it has no `elicitation`"), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_elsewhere_keeps_its_code_and_data() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let id = client.begin("talk_fail", json!({})).await;
    let error = client.answer(id).await["error"].take();
    assert_eq!(
        error.to_string(),
        r#"{"code":-32042,"message":"not so","data":{"z":1,"a":2}}"#
    );
}
