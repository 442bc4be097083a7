//! The one shape of an answer, and what becomes of a result on its way out.

use super::harness::*;
use crate::{Tool, ToolError};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn the_shape_when_all_goes_well() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({})));
    let answer = hub.call("a_tool", json!({"x": 1})).await;
    let value = answer.to_value();
    assert_eq!(keys(&value), ["content", "data", "meta", "ok"]);
    assert_eq!(value["ok"], true);
    assert_eq!(value["data"], json!({"x": 1}));
    assert_eq!(
        value["content"],
        json!([{"type": "text", "text": r#"{"x":1}"#}])
    );
    let meta = &value["meta"];
    assert_eq!(
        keys(meta),
        ["run_id", "state", "timing_ms", "tool", "version"]
    );
    assert_eq!(
        meta["run_id"],
        answer.meta.run_id.as_ref().unwrap().as_str()
    );
    assert_eq!(
        (&meta["tool"], &meta["version"]),
        (&json!("a_tool"), &json!("1.0.0"))
    );
    assert_eq!(meta["state"], "succeeded");
    assert!(meta["timing_ms"].as_f64().unwrap() > 0.0);
    // What is kept is the same, said once.
    let run = hub.run_of(&answer).await;
    assert_eq!(keys(run.answer.as_ref().unwrap()), ["data", "meta", "ok"]);
    let mut kept = crate::run_answer(&run);
    kept["meta"]["timing_ms"] = meta["timing_ms"].clone();
    assert_eq!(kept, value);
}

#[tokio::test]
async fn the_shape_when_something_goes_wrong() {
    let hub = Hub::new().await;
    hub.add(Tool::of_args(def("a_tool", json!({})), |_| async {
        Err::<Value, _>(ToolError::transient("the line is busy").with_hint("call later"))
    }));
    let answer = hub.call("a_tool", json!({})).await;
    let value = answer.to_value();
    let kept = crate::run_answer(&hub.run_of(&answer).await);
    assert_eq!(
        (&kept["content"], &kept["error"]),
        (&value["content"], &value["error"])
    );
    assert_eq!(keys(&value), ["content", "error", "meta", "ok"]);
    assert_eq!(
        value["error"],
        json!({
            "type": "transient",
            "message": "the line is busy",
            "hint": "call later",
            "retryable": true,
        })
    );
    let text = "transient: the line is busy. call later";
    assert_eq!(value["content"], json!([{"type": "text", "text": text}]));
    let refused = hub.call("nobody", json!({})).await.to_value();
    assert_eq!(keys(&refused["meta"]), ["timing_ms", "tool"]);
    assert_eq!(keys(&refused), ["content", "error", "meta", "ok"]);
}

#[tokio::test]
async fn text_is_text_and_nothing_is_null() {
    let hub = Hub::new().await;
    for (name, data, text) in [
        ("a_tool", json!("plain"), "plain"),
        ("b_tool", json!(null), "null"),
        ("c_tool", json!(1.5), "1.5"),
    ] {
        let given = data.clone();
        hub.add(Tool::of_args(def(name, json!({})), move |_| {
            let data = given.clone();
            async move { Ok(data) }
        }));
        let answer = hub.call(name, json!({})).await;
        assert_eq!((&answer.result, answer.text().as_str()), (&Ok(data), text));
    }
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_a_fault_of_the_tool() {
    let hub = Hub::new().await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    hub.add(echo("a_tool", json!({"output_schema": schema})));
    assert!(hub.call("a_tool", json!({"n": 1})).await.is_ok());
    let answer = hub.call("a_tool", json!({"n": "one"})).await;
    let said = told(&answer);
    assert!(
        said.starts_with(
            "internal: `a_tool` gave a result that does not fit its `output_schema`: /n "
        ),
        "{said}"
    );
    assert_eq!(hub.events().await[2..], ["run.started", "run.ended"]);
}

#[tokio::test]
async fn what_is_too_long_goes_to_an_artifact() {
    let hub = Hub::with(|b| b.output_limit(100)).await;
    let text = format!("begin {} end", "ä".repeat(500));
    let given = text.clone();
    hub.add(Tool::of_args(def("a_tool", json!({})), move |_| {
        let text = given.clone();
        async move { Ok(json!(text)) }
    }));
    hub.add(echo("b_tool", json!({})));
    let answer = hub.call("a_tool", json!({})).await;
    let data = answer.result.as_ref().unwrap().as_str().unwrap();
    assert!(
        data.starts_with("begin ä") && data.ends_with("ä end"),
        "{data}"
    );
    assert!(data.contains("bytes left out; the whole is in the artifact `result`"));
    assert!(data.len() < 200);
    assert_eq!(
        answer.to_value()["meta"]["artifacts"],
        json!([{"name": "result", "bytes": text.len()}])
    );
    let folder = hub
        .kernel
        .artifacts(answer.meta.run_id.as_ref().unwrap())
        .unwrap();
    let whole = std::fs::read_to_string(folder.join("result")).unwrap();
    assert_eq!(whole, text);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&folder) & 0o777, 0o700);
    assert_eq!(mode(&folder.join("result")) & 0o777, 0o600);
    // A list as well, as the JSON that it is.
    let list = json!({"list": vec![7; 200]});
    let answer = hub.call("b_tool", list.clone()).await;
    let folder = hub
        .kernel
        .artifacts(answer.meta.run_id.as_ref().unwrap())
        .unwrap();
    let whole = std::fs::read_to_string(folder.join("result")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&whole).unwrap(), list);
    // The same answer again for whoever looks later.
    let kept = hub.run_of(&answer).await;
    assert_eq!(crate::run_answer(&kept)["data"], answer.result.unwrap());
}

#[tokio::test]
async fn a_file_that_the_tool_left_is_not_written_over() {
    let hub = Hub::with(|b| b.output_limit(10)).await;
    let folder = hub.root.path().join("artifacts");
    hub.add(Tool::new(
        def("a_tool", json!({})),
        move |ctx: crate::Ctx, _| {
            let folder = folder.join(ctx.run_id().unwrap());
            async move {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join("result"), "mine").unwrap();
                Ok(json!("x".repeat(100)))
            }
        },
    ));
    let answer = hub.call("a_tool", json!({})).await;
    assert_eq!(answer.meta.artifacts[0].name, "result-2");
}

#[tokio::test]
async fn exactly_the_limit_is_not_too_long() {
    let hub = Hub::with(|b| b.output_limit(9)).await;
    hub.add(echo("a_tool", json!({})));
    let answer = hub.call("a_tool", json!({"n": 123})).await;
    assert_eq!(answer.result, Ok(json!({"n": 123})));
    let answer = hub.call("a_tool", json!({"n": 1234})).await;
    assert!(answer.result.unwrap().is_string());
}

#[tokio::test]
async fn without_a_folder_the_rest_is_lost_and_that_is_said() {
    let kernel = crate::Kernel::builder()
        .output_limit(10)
        .open()
        .await
        .unwrap();
    kernel.add_tool(echo("a_tool", json!({}))).unwrap();
    let call = crate::Call::new(ann(), "a_tool", json!({"x": "y".repeat(100)}));
    let answer = kernel.call(call).await;
    let text = answer.text();
    assert!(text.contains("the rest is lost"), "{text}");
    assert_eq!(answer.meta.artifacts, []);
}

#[tokio::test]
async fn a_sensitive_result_is_given_and_not_kept() {
    let hub = Hub::with(|b| b.output_limit(64)).await;
    hub.add(Tool::of_args(
        def("a_tool", json!({"sensitive": true})),
        |args: Value| async move {
            Ok(json!(format!(
                "balance 4711{}",
                "0".repeat(args["more"].as_u64().unwrap() as usize)
            )))
        },
    ));
    for more in [0, 500] {
        let answer = hub.call("a_tool", json!({"more": more})).await;
        assert!(answer.text().contains("balance 4711"));
        assert_eq!(answer.meta.artifacts, []);
        let kept = hub.run_of(&answer).await.answer.unwrap();
        assert_eq!(
            kept["data"],
            json!({"withheld": "the tool is sensitive; its result is not kept"})
        );
        assert!(!hub.keeps("balance 4711").await);
    }
    let record = hub.record().await;
    let details = &record[1]["details"];
    assert!(details["result_hmac"].is_string() && details["result_hash"].is_null());
}

/// What cannot be read back must not be kept: the run ends, and says why.
#[tokio::test]
async fn a_result_that_nests_too_deep_ends_its_run() {
    let hub = Hub::new().await;
    let def = echo("a_tool", json!({})).def;
    hub.add(Tool::of_args(def, |_| async {
        let deep = (0..200).fold(json!([]), |inner, _| json!([inner]));
        Ok::<_, ToolError>(deep)
    }));
    let answer = hub.call("a_tool", json!({})).await;
    assert_eq!(answer.meta.state, Some(crate::RunState::Failed));
    let error = answer.result.unwrap_err();
    assert!(error.message.contains("201 levels deep"), "{error}");
}
