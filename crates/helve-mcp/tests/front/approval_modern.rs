//! Approvals in clients of the newer revisions: the call comes back with a question, and
//! the client comes back with the answer.

use helve_kernel::{ApprovalState, RunState};
use serde_json::{Value, json};

use super::approval::{asks, says};
use super::client::{Client, of};
use super::support::{Hub, text};

/// A call that asks; its `requestState`.
async fn asked(client: &mut Client) -> Value {
    let result = client.call("note_save", json!({"x": 1})).await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    let question = &result["inputRequests"]["approval"];
    assert_eq!(question["method"], "elicitation/create", "{result}");
    let said = text(&question["params"]["message"]);
    assert!(said.contains("`note_save`"), "{said}");
    result["requestState"].clone()
}

fn again(state: &Value, answer: Value) -> Value {
    json!({
        "name": "note_save",
        "arguments": {"x": 1},
        "requestState": state,
        "inputResponses": {"approval": answer},
    })
}

async fn is_refused(client: &mut Client, params: Value, says: &str) {
    let (code, said) = client.refused("tools/call", params).await;
    assert_eq!(code, -32602);
    assert!(said.contains(says), "{said}");
}

#[tokio::test(start_paused = true)]
async fn the_client_comes_back_with_a_yes() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, asks()).await;
    let state = asked(&mut client).await;
    assert_eq!(hub.saves(), 0);
    let result = client
        .ask("tools/call", again(&state, says("approve")))
        .await;
    assert_eq!(result["structuredContent"], json!({"x": 1}));
    assert_eq!(result["resultType"], "complete");
    let approval = hub.approval().await;
    assert_eq!(approval.state, ApprovalState::Spent);
    assert_eq!(approval.decisions[0].by, "ann");
    assert_eq!(hub.decisions().await[0].0, "ann");
    // It counts once.
    is_refused(
        &mut client,
        again(&state, says("approve")),
        "not known here",
    )
    .await;
    assert_eq!(hub.saves(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_client_comes_back_with_a_no() {
    for answer in [says("deny"), json!({"action": "decline"})] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.modern(&who, asks()).await;
        let state = asked(&mut client).await;
        let result = client.ask("tools/call", again(&state, answer)).await;
        assert!(of(&result).contains("was denied by ann"), "{result}");
        assert_eq!(hub.saves(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_dialog_falls_back_to_waiting() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, asks()).await;
    let state = asked(&mut client).await;
    let closed = json!({"action": "cancel"});
    let result = client.ask("tools/call", again(&state, closed)).await;
    let run = &result["_meta"]["helve/run"];
    assert_eq!(run["state"], "pending_approval", "{result}");
    hub.approve().await;
    hub.kernel
        .wait_for(&hub.approval().await.run)
        .await
        .unwrap();
    let after = client
        .call("run_result", json!({"run_id": run["run_id"]}))
        .await;
    assert_eq!(after["structuredContent"]["state"], "succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_was_touched_or_is_anothers_is_refused() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, asks()).await;
    let state = asked(&mut client).await;
    let mut touched = text(&state);
    let last = touched.pop().unwrap();
    touched.push(if last == '0' { '1' } else { '0' });
    is_refused(
        &mut client,
        again(&json!(touched), says("approve")),
        "not known here",
    )
    .await;
    for name in ["b", "a"] {
        let other = hub.agent(name, "bob").await;
        let mut other = hub.modern(&other, asks()).await;
        is_refused(&mut other, again(&state, says("approve")), "not known here").await;
    }
    let ann = hub.person("ann").await;
    let mut ann = hub.modern(&ann, asks()).await;
    is_refused(&mut ann, again(&state, says("approve")), "not known here").await;
    assert_eq!((hub.saves(), hub.approval().await.decisions.len()), (0, 0));
    // None of that took it from whoever it belongs to.
    let result = client
        .ask("tools/call", again(&state, says("approve")))
        .await;
    assert_eq!(result["structuredContent"], json!({"x": 1}));
}

#[tokio::test(start_paused = true)]
async fn a_yes_is_for_what_was_asked() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, asks()).await;
    let state = asked(&mut client).await;
    for (key, other) in [
        ("arguments", json!({"x": 2})),
        ("arguments", json!({})),
        ("name", json!("file_write")),
    ] {
        let mut params = again(&state, says("approve"));
        params[key] = other;
        is_refused(&mut client, params, "belongs to another request").await;
    }
    assert_eq!((hub.saves(), hub.approval().await.decisions.len()), (0, 0));
    let result = client
        .ask("tools/call", again(&state, says("approve")))
        .await;
    assert_eq!(result["structuredContent"], json!({"x": 1}));
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_question_decides_nothing() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, asks()).await;
    let mut params = again(&Value::Null, says("approve"));
    params.as_object_mut().unwrap().remove("requestState");
    let result = client.ask("tools/call", params).await;
    assert_eq!(result["resultType"], "input_required", "{result}");
    let approval = hub.approval().await;
    assert_eq!(
        (approval.state, approval.decisions.len()),
        (ApprovalState::Pending, 0)
    );
    assert_eq!(hub.saves(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_cannot_be_asked_waits() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, json!({})).await;
    let result = client.call("note_save", json!({})).await;
    assert_eq!(result["_meta"]["helve/run"]["state"], "pending_approval");
    let run = hub.kernel.run(&hub.approval().await.run).await.unwrap();
    assert_eq!(run.state, RunState::PendingApproval);
}
