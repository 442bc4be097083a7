//! Calls that nobody waits for any more.

use std::sync::Arc;

use async_trait::async_trait;
use helve_kernel::{Filter, Next, Passing, Reply, RunState, ToolError};
use helve_mcp::Options;
use serde_json::json;
use tokio::sync::Semaphore;

use super::approval::asks;
use super::support::{Hub, settle};

const CANCELLED: RunState = RunState::Cancelled;

/// The only run of a tool was called off, and that is on the record.
pub async fn is_called_off(hub: &Hub, tool: &str, owner: &str) {
    assert_eq!(hub.ended(tool).await, [(CANCELLED, owner.to_owned())]);
    let record = hub.record().await;
    let ended = |e: &&serde_json::Value| e["details"]["state"] == CANCELLED.as_str();
    assert!(record.iter().any(|e| ended(&e)), "{record:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_ends_its_run() {
    for modern in [false, true] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = match modern {
            true => hub.modern(&who, json!({})).await,
            false => hub.legacy(&who, json!({})).await,
        };
        let id = client.begin("gate_wait", json!({})).await;
        hub.begun.acquire().await.unwrap().forget();
        let params = json!({"requestId": id, "reason": "enough"});
        client.tell("notifications/cancelled", params).await;
        is_called_off(&hub, "gate_wait", "agent:a").await;
        // The connection goes on.
        assert!(!client.names().await.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_hangs_up_ends_its_runs() {
    for modern in [false, true] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = match modern {
            true => hub.modern(&who, json!({})).await,
            false => hub.legacy(&who, json!({})).await,
        };
        client.begin("gate_wait", json!({})).await;
        hub.begun.acquire().await.unwrap().forget();
        client.hang_up().await;
        is_called_off(&hub, "gate_wait", "agent:a").await;
    }
}

#[tokio::test(start_paused = true)]
async fn who_goes_while_people_are_asked_asks_no_more() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, asks()).await;
    let id = client.begin("note_save", json!({})).await;
    client.question().await;
    let params = json!({"requestId": id});
    client.tell("notifications/cancelled", params).await;
    is_called_off(&hub, "note_save", "agent:a").await;
    assert_eq!(hub.approval().await.state.as_str(), "withdrawn");
    assert_eq!(hub.saves(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_request_is_cancelled_and_the_other_goes_on() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let first = client.begin("gate_wait", json!({})).await;
    hub.begun.acquire().await.unwrap().forget();
    let second = client.begin("gate_wait", json!({})).await;
    hub.begun.acquire().await.unwrap().forget();
    let params = json!({"requestId": first});
    client.tell("notifications/cancelled", params).await;
    // What is called off is over before the other may end.
    settle().await;
    hub.gate.add_permits(1);
    let result = client.result(second).await;
    assert_eq!(super::client::of(&result), "through");
    let mut states: Vec<_> = hub
        .ended("gate_wait")
        .await
        .into_iter()
        .map(|r| r.0)
        .collect();
    states.sort_by_key(|s| s.as_str());
    assert_eq!(states, [CANCELLED, RunState::Succeeded]);
}

/// Holds calls before they begin.
struct Held {
    arrived: Semaphore,
    go: Semaphore,
}

#[async_trait]
impl Filter for Held {
    fn name(&self) -> &str {
        "held"
    }

    async fn around(&self, call: Passing, next: Next<'_>) -> Result<Reply, ToolError> {
        self.arrived.add_permits(1);
        self.go.acquire().await.unwrap().forget();
        next.run(call).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_called_off_before_it_begins_does_not_run_on() {
    let held = Arc::new(Held {
        arrived: Semaphore::new(0),
        go: Semaphore::new(0),
    });
    let hub = Hub::built(Options::default(), |b| b.filter(held.clone())).await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let id = client.begin("gate_wait", json!({})).await;
    held.arrived.acquire().await.unwrap().forget();
    let params = json!({"requestId": id});
    client.tell("notifications/cancelled", params).await;
    // The server has read it when it answers what came after.
    client.names().await;
    held.go.add_permits(1);
    settle().await;
    is_called_off(&hub, "gate_wait", "agent:a").await;
}
