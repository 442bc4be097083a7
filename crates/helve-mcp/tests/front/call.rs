//! What comes of a call.

use serde_json::json;

use super::client::of;
use super::support::{Hub, text};

#[tokio::test(start_paused = true)]
async fn a_result_has_its_text_its_structure_and_its_run() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut legacy = hub.legacy(&who, json!({})).await;
    let mut modern = hub.modern(&who, json!({})).await;
    for (client, kind) in [(&mut legacy, json!(null)), (&mut modern, json!("complete"))] {
        let result = client.call("note_read", json!({"text": "hi"})).await;
        let content = json!([{"type": "text", "text": r#"{"text":"hi"}"#}]);
        assert_eq!(result["content"], content);
        assert_eq!(result["structuredContent"], json!({"text": "hi"}));
        assert_eq!(result.get("isError"), None);
        assert_eq!(result["resultType"], kind);
        let meta = &result["_meta"]["helve/run"];
        assert_eq!(
            (&meta["tool"], &meta["state"]),
            (&json!("note_read"), &json!("succeeded"))
        );
        let run = hub.run(&text(&meta["run_id"])).await;
        assert_eq!(
            (run.owner.as_str(), run.tool.as_str()),
            ("agent:a", "note_read")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_a_tool_is_a_result_with_its_hint() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let result = client.call("note_fail", json!({})).await;
    assert_eq!(result["isError"], true);
    assert!(
        of(&result).ends_with("the shelf is locked. ask for a key"),
        "{result}"
    );
    let error = &result["_meta"]["helve/error"];
    assert_eq!(error["hint"], "ask for a key");
    assert_eq!(result["_meta"]["helve/run"]["state"], "failed");
    assert_eq!(result.get("structuredContent"), None);
}

#[tokio::test(start_paused = true)]
async fn wrong_arguments_are_told_to_the_model() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    for wrong in [json!({}), json!({"text": {"a": 1}})] {
        let result = client.call("note_read", wrong).await;
        assert_eq!(result["isError"], true);
        assert!(of(&result).contains("text"), "{result}");
        assert_eq!(result["_meta"]["helve/error"]["type"], "validation");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_not_there_is_an_error_of_the_protocol() {
    let hub = Hub::new().await;
    let who = hub.scoped("a", &["note_read"]).await;
    let mut client = hub.legacy(&who, json!({})).await;
    let call = |name: &str| json!({"name": name, "arguments": {}});
    let (code, said) = client.refused("tools/call", call("note_raed")).await;
    assert_eq!(code, -32602);
    assert!(said.contains("note_read"), "the nearest is told: {said}");
    let (code, said) = client.refused("tools/call", call("note_sav")).await;
    assert_eq!(code, -32602);
    assert!(!said.contains("note_save"), "out of its scopes: {said}");
}

#[tokio::test(start_paused = true)]
async fn a_method_of_nobody_is_not_found() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    for method in ["resources/list", "prompts/list", "helve/unheard_of"] {
        let (code, _) = client.refused(method, json!({})).await;
        assert_eq!(code, -32601, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_revoked_calls_nothing_more() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let ann = hub.person("ann").await;
    hub.kernel
        .revoke_token(&ann, who.token.as_ref().unwrap())
        .await
        .unwrap();
    let result = client.call("note_read", json!({"text": "x"})).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(result.get("structuredContent"), None);
}
