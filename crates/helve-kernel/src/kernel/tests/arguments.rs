//! Arguments: filled in, repaired, refused.

use super::harness::*;
use crate::Answer;
use serde_json::{Value, json};

async fn sent(args: Value) -> Answer {
    let hub = Hub::new().await;
    hub.add(echo(
        "a_tool",
        json!({"input_schema": {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "default": 3},
                "list": {"type": "array", "items": {"type": "integer"}},
                "text": {"type": "string"},
            },
        }}),
    ));
    let answer = hub.call("a_tool", args).await;
    hub.record().await;
    answer
}

#[tokio::test]
async fn what_is_harmless_is_filled_in_or_repaired() {
    for (args, given, coerced) in [
        (json!(null), json!({"n": 3}), json!(null)),
        (json!(""), json!({"n": 3}), json!(null)),
        (json!({"n": 1}), json!({"n": 1}), json!(null)),
        (
            json!(r#"{"n": 1}"#),
            json!({"n": 1}),
            json!([{"argument": "", "repair": "JSON read out of a string"}]),
        ),
        (
            json!({"n": "5"}),
            json!({"n": 5}),
            json!([{"argument": "/n", "repair": "a string read as what it says"}]),
        ),
        (
            json!({"list": "[1, 2]"}),
            json!({"list": [1, 2], "n": 3}),
            json!([{"argument": "/list", "repair": "JSON read out of a string"}]),
        ),
        (
            json!({"text": null}),
            json!({"n": 3}),
            json!([{"argument": "/text", "repair": "null taken for absent"}]),
        ),
        // What is text stays as it came.
        (
            json!({"text": "; $(ls) `x` \n --rf"}),
            json!({"text": "; $(ls) `x` \n --rf", "n": 3}),
            json!(null),
        ),
        (
            json!({"text": "a\0b"}),
            json!({"text": "a\0b", "n": 3}),
            json!(null),
        ),
    ] {
        let answer = sent(args.clone()).await;
        assert_eq!(answer.result, Ok(given), "{args}");
        assert_eq!(answer.to_value()["meta"]["coerced"], coerced, "{args}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_refused_by_name() {
    let deep = format!(
        r#"{{"text": {}1{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let nested = |levels| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    for (args, says) in [
        (json!(r#"{"n": 1"#), "cut off at character 7"),
        (json!(r#"{"text": "abc"#), "cut off"),
        (json!("{'n': 1}"), "not JSON"),
        (json!([1]), "must be an object"),
        (json!(5), "must be an object"),
        (json!({"n": 1.5}), "argument `n`"),
        (
            json!({"N": 1}),
            "argument `N` is not known; did you mean `n`?",
        ),
        (json!({"n": 1, "x": {"y": 2}}), "argument `x` is not known"),
        (json!({"text": nested(40)}), "argument `text`"),
        (json!({"text": nested(100)}), "nest 101 levels deep"),
        (json!(deep), "the arguments are not JSON"),
        (json!(r#"{"n": 1, "n": 2}"#), "not JSON"),
    ] {
        let answer = sent(args.clone()).await;
        let said = told(&answer);
        assert!(said.starts_with("validation: "), "{said}");
        assert!(said.contains(says), "{says}: {said}");
        assert_eq!(answer.meta.run_id, None);
    }
}

#[tokio::test]
async fn five_megabytes_go_through_whole() {
    let text = "x".repeat(5 << 20);
    let answer = sent(json!({"text": text})).await;
    let data = answer.result.unwrap();
    let data = data.as_str().unwrap();
    assert!(data.len() < 200_000, "shortened on the way out");
    assert_eq!(answer.meta.artifacts.len(), 1);
    assert!(answer.meta.artifacts[0].bytes > 5 << 20);
}
