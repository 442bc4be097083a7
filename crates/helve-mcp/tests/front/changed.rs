//! Word of changed lists.

use helve_kernel::Principal;
use serde_json::{Value, json};

use super::client::Client;
use super::support::{Hub, echo, settle};

const CHANGED: &str = "notifications/tools/list_changed";

/// A client of either era that listens.
async fn listening(hub: &Hub, modern: bool, scopes: &[&str]) -> Client {
    let who = hub.scoped("a", scopes).await;
    if !modern {
        let client = hub.legacy(&who, json!({})).await;
        settle().await;
        return client;
    }
    let mut client = hub.modern(&who, json!({})).await;
    let params = json!({"notifications": {"toolsListChanged": true}});
    client.send("subscriptions/listen", params).await;
    let told = client.told().await;
    assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    settle().await;
    client
}

/// What a client hears of what has happened until now.
async fn hears(client: &mut Client) -> Vec<Value> {
    settle().await;
    client.names().await;
    let heard = std::mem::take(&mut client.heard);
    heard.into_iter().map(|n| n["method"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_comes_or_goes_is_told() {
    for modern in [false, true] {
        let hub = Hub::new().await;
        hub.watch();
        let mut client = listening(&hub, modern, &["*"]).await;
        hub.kernel.add_tool(echo("new_one", json!({}))).unwrap();
        assert_eq!(hears(&mut client).await, [CHANGED]);
        assert!(client.names().await.contains(&"new_one".to_owned()));
        let ann = Principal::person("ann");
        hub.kernel
            .set_enabled(&ann, "new_one", false)
            .await
            .unwrap();
        assert_eq!(hears(&mut client).await, [CHANGED]);
        assert!(!client.names().await.contains(&"new_one".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn changes_at_a_time_are_told_once() {
    for modern in [false, true] {
        let hub = Hub::new().await;
        hub.watch();
        let mut client = listening(&hub, modern, &["*"]).await;
        for n in 0..5 {
            let tool = echo(&format!("new_{n}"), json!({}));
            hub.kernel.add_tool(tool).unwrap();
        }
        assert_eq!(hears(&mut client).await, [CHANGED]);
    }
}

#[tokio::test(start_paused = true)]
async fn who_sees_no_change_hears_of_none() {
    for modern in [false, true] {
        let hub = Hub::new().await;
        hub.watch();
        let mut client = listening(&hub, modern, &["note_*"]).await;
        hub.kernel.add_tool(echo("new_one", json!({}))).unwrap();
        assert_eq!(hears(&mut client).await, Vec::<Value>::new());
        hub.kernel.add_tool(echo("note_new", json!({}))).unwrap();
        assert_eq!(hears(&mut client).await, [CHANGED]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_did_not_ask_is_not_told() {
    let hub = Hub::new().await;
    hub.watch();
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, json!({})).await;
    client.names().await;
    hub.kernel.add_tool(echo("new_one", json!({}))).unwrap();
    assert_eq!(hears(&mut client).await, Vec::<Value>::new());
}
