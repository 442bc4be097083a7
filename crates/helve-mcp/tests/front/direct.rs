//! Calls in a session over HTTP that are answered past the protocol library, and those that
//! begin there and go on as a stream.

use std::sync::Arc;

use helve_kernel::{Ctx, Principal, RunState, Tool};
use reqwest::Method;
use serde_json::{Value, json};

use super::cancel::is_called_off;
use super::http::{Came, Door};
use super::support::{Hub, def};

const WAIT: &str = "gate_wait";

async fn before() -> (Hub, Arc<Principal>, Arc<Door>, String) {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let door = hub.door(&[("a", &who)]).await;
    let session = door.open("a").await;
    (hub, who, Arc::new(door), session)
}

fn call(name: &str, meta: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
           "params": {"name": name, "arguments": {"text": "hi"}, "_meta": meta}})
}

async fn post(door: &Door, session: &str, body: Value) -> Came {
    door.send(Method::POST, Some("a"), Some(session), Some(body))
        .await
}

/// A call that waits at the gate; it has begun.
async fn waiting(hub: &Hub, door: &Arc<Door>, session: &str) -> tokio::task::JoinHandle<Came> {
    let (door, session) = (door.clone(), session.to_owned());
    let call = tokio::spawn(async move { post(&door, &session, call(WAIT, json!({}))).await });
    hub.begun.acquire().await.unwrap().forget();
    call
}

#[tokio::test]
async fn what_is_over_soon_is_answered_at_once() {
    let (_hub, _who, door, session) = before().await;
    for (tool, error) in [("note_read", false), ("note_fail", true)] {
        let came = post(&door, &session, call(tool, json!({}))).await;
        assert_eq!(came.kind, "application/json", "{tool}");
        assert_eq!(came.result()["isError"] == true, error, "{tool}");
    }
    // What is no tool is an error in the words of the protocol.
    let came = post(&door, &session, call("nobody", json!({}))).await;
    let answer: Value = serde_json::from_str(&came.body).unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(9), &json!(-32602))
    );
}

#[tokio::test]
async fn what_is_said_on_the_way_comes_before_the_answer() {
    let (hub, _who, door, session) = before().await;
    let tells = Tool::new(def("note_tell", json!({})), |ctx: Ctx, _| async move {
        for progress in 1..=3 {
            let caller = ctx.caller().unwrap();
            let params = json!({"progress": progress});
            caller.tell("notifications/progress", params).await;
        }
        Ok(json!("told"))
    });
    hub.kernel.add_tool(tells).unwrap();
    let said = call("note_tell", json!({"progressToken": "p"}));
    let came = post(&door, &session, said).await;
    assert!(came.kind.starts_with("text/event-stream"), "{}", came.kind);
    let data = came.body.lines().filter_map(|l| l.strip_prefix("data:"));
    let said: Vec<Value> = data.filter_map(|d| serde_json::from_str(d).ok()).collect();
    let progress = said.iter().map(|m| m["params"]["progress"].as_f64());
    let progress: Vec<Option<f64>> = progress.collect();
    assert_eq!(progress, [Some(1.0), Some(2.0), Some(3.0), None]);
    assert_eq!(said[3]["result"]["content"][0]["text"], "told");
    assert_eq!(hub.ended("note_tell").await.len(), 1, "it ran once");
}

#[tokio::test]
async fn what_takes_long_goes_on_as_a_stream() {
    let (hub, _who, door, session) = before().await;
    let body = Some(call(WAIT, json!({})));
    let response = door.answer(Method::POST, Some("a"), Some(&session), body);
    let response = response.await;
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    hub.gate.add_permits(1);
    assert!(response.text().await.unwrap().contains("through"));
    assert_eq!(hub.begun.available_permits(), 1, "it ran once");
}

#[tokio::test]
async fn a_client_that_cancels_gets_no_answer() {
    let (hub, _who, door, session) = before().await;
    let call = waiting(&hub, &door, &session).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                        "params": {"requestId": 9}});
    post(&door, &session, cancel).await;
    let came = call.await.unwrap();
    assert!(came.kind.starts_with("text/event-stream"), "{}", came.kind);
    assert!(!came.body.contains("result"), "{}", came.body);
    is_called_off(&hub, WAIT, "agent:a").await;
}

#[tokio::test]
async fn a_connection_that_breaks_calls_nothing_off() {
    let (hub, _who, door, session) = before().await;
    waiting(&hub, &door, &session).await.abort();
    // The other side has seen it once another call of the session has been served.
    post(&door, &session, call("note_read", json!({}))).await;
    hub.gate.add_permits(1);
    let ended = hub.ended(WAIT).await;
    assert_eq!(ended, [(RunState::Succeeded, "agent:a".to_owned())]);
}
