//! Secrets reach the tool and nothing else.

use super::harness::*;
use crate::Store as _;
use helve_core::def::Risk;
use serde_json::json;

const SECRET: &str = "hünter2-\"q\"-\\-ö";

async fn hub(command: &str) -> Hub {
    let hub = Hub::with(|b| b.output_limit(200)).await;
    hub.register(host("a_tool", Risk::Read, command))
        .await
        .unwrap();
    hub
}

/// Parts of the secret that are long enough to be told.
async fn leaks(hub: &Hub) -> bool {
    hub.keeps("nter2-").await || hub.keeps("\"-\\").await
}

#[tokio::test]
async fn the_tool_gets_it_and_nobody_keeps_it() {
    let hub = hub("echo").await;
    let answer = hub.call("a_tool", json!({"key": SECRET})).await;
    assert_eq!(
        answer.result,
        Ok(json!({"key": SECRET, "say": ""})),
        "the caller knows it"
    );
    assert_eq!(hub.executor.runs()[0]["key"], SECRET);
    assert!(!leaks(&hub).await);
    let run = hub.run_of(&answer).await;
    let hmac = run.args["key"]["hmac"].as_str().unwrap();
    let expected = helve_core::secret::hmac_of(&[7; 32], &json!(SECRET));
    assert_eq!(
        hmac, expected,
        "whoever has the key can ask whether it was this"
    );
}

#[tokio::test]
async fn a_tool_that_echoes_it_in_its_output_or_result_does_not_get_it_kept() {
    let hub = hub("leak").await;
    let answer = hub.call("a_tool", json!({"key": SECRET})).await;
    assert!(answer.is_ok());
    assert!(!leaks(&hub).await);
    let id = answer.meta.run_id.unwrap();
    let chunks = hub.store.chunks(&id, 0, 100).await.unwrap();
    let of = |stream| {
        let mine = chunks.iter().filter(|c| c.stream == stream);
        let bytes: Vec<u8> = mine.flat_map(|c| c.bytes.clone()).collect();
        String::from_utf8(bytes).unwrap()
    };
    // Also where it came in two pieces.
    assert_eq!(of(crate::Stream::Stdout), "[secret]half [secret]");
    assert_eq!(of(crate::Stream::Stderr), "between");
    let seqs: Vec<u64> = chunks.iter().map(|c| c.seq).collect();
    let expected: Vec<u64> = (1..=seqs.len() as u64).collect();
    assert_eq!(seqs, expected);
}

#[tokio::test]
async fn nor_in_its_error() {
    let hub = hub("complain").await;
    let answer = hub.call("a_tool", json!({"key": SECRET})).await;
    assert!(told(&answer).contains(SECRET));
    assert!(!leaks(&hub).await);
    let kept = hub.run_of(&answer).await.answer.unwrap();
    assert_eq!(kept["error"]["message"], "`[secret]` is wrong");
}

/// JSON in a text, and that in a text once more, as programs print it.
#[tokio::test]
async fn nor_where_it_is_escaped_once_more() {
    for odd in ["\"", "\\", "\n", "ö", "\\\"", "\u{1}", "😀"] {
        let secret = format!("front{odd}back");
        for say in [String::new(), "x".repeat(1000)] {
            let hub = hub("nest").await;
            let args = json!({"key": secret, "say": say});
            let answer = hub.call("a_tool", args).await;
            assert!(answer.is_ok());
            for part in ["front", "back"] {
                assert!(!hub.keeps(part).await, "{odd:?}: {part}");
            }
        }
    }
}

#[tokio::test]
async fn nor_told_where_it_does_not_fit() {
    let hub = Hub::new().await;
    let mut def = host("a_tool", Risk::Read, "echo");
    def.input_schema["properties"]["key"]["maxLength"] = json!(5);
    hub.register(def).await.unwrap();
    let answer = hub.call("a_tool", json!({"key": "TOPSECRET"})).await;
    assert_eq!(
        told(&answer),
        "validation: argument `key`: it is longer than 5 characters"
    );
}

#[tokio::test]
async fn nor_in_an_artifact() {
    let hub = hub("echo").await;
    let long = "x".repeat(1000);
    let answer = hub
        .call("a_tool", json!({"key": SECRET, "say": long}))
        .await;
    assert_eq!(answer.meta.artifacts.len(), 1);
    assert!(!leaks(&hub).await);
}

#[tokio::test]
async fn nor_where_the_call_is_refused_or_denied() {
    let hub = hub("echo").await;
    hub.call("a_tool", json!({"key": SECRET, "say": 5})).await;
    hub.call("a_tool", json!({"key": [SECRET]})).await;
    hub.kernel.set_policy(rules(json!([{"effect": "deny"}])));
    hub.call("a_tool", json!({"key": SECRET})).await;
    hub.kernel.set_policy(rules(json!([{"effect": "ask"}])));
    hub.call("a_tool", json!({"key": SECRET})).await;
    assert!(!leaks(&hub).await);
}

#[tokio::test]
async fn a_sensitive_tool_has_no_output_kept() {
    let hub = Hub::new().await;
    let mut def = host("a_tool", Risk::Read, "leak");
    def.sensitive = true;
    hub.register(def).await.unwrap();
    let answer = hub.call("a_tool", json!({"key": "something"})).await;
    let id = answer.meta.run_id.unwrap();
    assert_eq!(hub.store.chunks(&id, 0, 100).await.unwrap(), []);
}

/// However the schema says that it is one.
#[test]
fn a_function_quotes_no_argument_once_one_is_secret() {
    use crate::__private::Shown;
    let of =
        |key: serde_json::Value| Shown::of(&json!({"type": "object", "properties": {"key": key}}));
    assert_eq!(of(json!({"type": "string"})), Shown::Value);
    for secret in [
        json!({"writeOnly": true}),
        json!({"x-secret": true}),
        json!({"format": "password"}),
    ] {
        assert_eq!(of(secret), Shown::Place);
    }
}
