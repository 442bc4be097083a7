//! One pair of streams, on which calls are answered beside all else.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, of};
use super::support::Hub;

/// What a line may be long before it is read in parts.
const LONG: usize = 1024 * 1024;

fn wait() -> Value {
    json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": "gate_wait"}})
}

/// All the same to the client, whoever answers: calls, lists, and complaints, each once.
async fn is_well(client: &mut Client) {
    assert!(!client.names().await.is_empty());
    let (code, _) = client.refused("no/such", json!({})).await;
    assert_eq!(code, -32601);
}

#[tokio::test(start_paused = true)]
async fn many_calls_at_once_are_answered_each_by_its_id() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let mut open = BTreeSet::new();
    for n in 0..100 {
        open.insert(client.begin("gate_wait", json!({})).await);
        if n % 10 == 0 {
            open.insert(client.send("tools/list", json!({})).await);
        }
    }
    for _ in 0..100 {
        hub.begun.acquire().await.unwrap().forget();
    }
    hub.gate.add_permits(100);
    while !open.is_empty() {
        let message: Value = serde_json::from_str(&client.line().await).unwrap();
        assert!(message["result"].is_object(), "{message}");
        let id = message["id"].as_u64().unwrap();
        assert!(open.remove(&id), "answered twice: {id}");
    }
    is_well(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn a_long_line_is_one_message_and_no_other() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let long = client
        .call("note_read", json!({"text": "x".repeat(3 * LONG)}))
        .await;
    assert_eq!(long["_meta"]["helve/run"]["state"], json!("succeeded"));
    // What stands where the next part begins looks like a call, and is a piece of a text.
    let mut line = br#"{"jsonrpc":"2.0","id":7,"method":"ping","x":""#.to_vec();
    line.resize(LONG, b'a');
    line.extend(wait().to_string().into_bytes());
    line.push(b'\n');
    client.raw(&line).await;
    is_well(&mut client).await;
    assert_eq!(hub.begun.available_permits(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_passed_over() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    for line in ["", "\r", "no json", "[1", "\u{feff}", "\0"] {
        client.raw(format!("{line}\n").as_bytes()).await;
    }
    is_well(&mut client).await;
    // JSON that is no message is complained about.
    client.raw(b"{\"jsonrpc\": \"2.0\", \"id\": {}}\n").await;
    let complaint: Value = serde_json::from_str(&client.line().await).unwrap();
    assert_eq!(complaint["error"]["code"], json!(-32600), "{complaint}");
    is_well(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn who_has_said_all_still_gets_the_answers() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let id = client.begin("gate_wait", json!({})).await;
    hub.begun.acquire().await.unwrap().forget();
    client.says_no_more().await;
    hub.gate.add_permits(1);
    let result = client.result(id).await;
    assert_eq!(of(&result), "through");
    client.served.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_newer_revision_is_the_librarys() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, json!({})).await;
    let result = client.call("note_read", json!({"text": "a"})).await;
    assert_eq!(result["resultType"], json!("complete"), "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_closes_leaves_no_call_without_a_word() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let id = client.begin("gate_wait", json!({})).await;
    hub.begun.acquire().await.unwrap().forget();
    hub.closing.cancel();
    let answer = client.answer(id).await;
    let said = answer["error"]["message"].as_str().unwrap();
    assert_eq!(said, "the request was cancelled", "{answer}");
    client.served.await.unwrap().unwrap();
}

/// Its last words are written before the door shuts, complaints included.
#[tokio::test(start_paused = true)]
async fn a_complaint_is_heard_by_who_hangs_up_at_once() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    client.raw(b"{\"jsonrpc\": \"2.0\", \"id\": {}}\n").await;
    client.says_no_more().await;
    let complaint: Value = serde_json::from_str(&client.line().await).unwrap();
    assert_eq!(complaint["error"]["code"], json!(-32600), "{complaint}");
    client.served.await.unwrap().unwrap();
}

/// A client that reads nothing for a long time gets every answer when it does.
#[tokio::test(start_paused = true)]
async fn who_reads_late_gets_all_of_it() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let text = "x".repeat(400_000);
    let mut open = BTreeSet::new();
    for _ in 0..40 {
        open.insert(client.begin("note_read", json!({"text": text})).await);
    }
    tokio::time::sleep(Duration::from_secs(600)).await;
    while !open.is_empty() {
        let message: Value = serde_json::from_str(&client.line().await).unwrap();
        open.remove(&message["id"].as_u64().unwrap());
    }
    is_well(&mut client).await;
}
