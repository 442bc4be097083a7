//! What goes through and comes back.

use helve_core::def::Risk;
use helve_kernel::ErrorKind;
use serde_json::json;

use super::support::{Client, Hub, failure, python, said, tool, tools, wire};
use crate::upstream::{List, State, ToolRules};

#[tokio::test]
async fn a_tool_of_a_server_is_a_tool_of_ours() {
    let hub = Hub::with(python(
        "my-srv",
        &json!({"tools": tools(&["echo", "getIt", "my_srv_own"])}),
    ))
    .await;
    let names: Vec<String> = hub
        .kernel
        .tools()
        .iter()
        .map(|e| e.def.name.to_string())
        .collect();
    assert_eq!(names, ["my_srv_echo", "my_srv_get_it", "my_srv_own"]);
    for name in ["my_srv_echo", "mcp__my-srv__echo"] {
        let answer = hub.call(name, json!({"text": "hello"})).await;
        assert_eq!(answer.result, Ok(json!("hello")), "{name}");
        assert_eq!(
            wire(&answer),
            json!({"content": [{"type": "text", "text": "hello"}]})
        );
    }
    let entry = hub.kernel.find("getIt").unwrap();
    assert_eq!(entry.source, "mcp:my-srv");
    assert_eq!(
        entry.def.metadata["mcp"],
        json!({"server": "my-srv", "tool": "getIt", "definition": tool("getIt")})
    );
    assert!(
        hub.kernel.find("echo").is_none(),
        "a bare name that could be ours is not taken"
    );
    let status = hub.gate.status("my-srv").unwrap();
    assert_eq!(status.state, State::Running);
    assert_eq!(status.protocol.as_deref(), Some("2025-11-25"));
    assert_eq!(status.server_info["odd"], json!(true));
    assert_eq!(status.instructions.as_deref(), Some("be kind"));
    hub.close().await;
}

#[tokio::test]
async fn results_survive_byte_for_byte() {
    let hub = Hub::with(python("s", &json!({"tools": tools(&["raw"])}))).await;
    for raw in [
        r#"{"zeta":1,"content":[{"type":"text","text":"ü\u0000","annotations":{"b":1.50,"a":null},"x-unknown":[]}],"alpha":{"z":[1,2,{"y":true}],"a":""}}"#,
        r#"{"content":[{"type":"hologram","frames":[0,1]},{"type":"text","text":"x"}],"_meta":{"q/z":1,"a":2}}"#,
        r#"{"structuredContent":{"b":1,"a":18446744073709551615},"content":[]}"#,
        r#"{"isError":true,"zz":1,"content":[{"type":"text","text":"no"}],"aa":2}"#,
        r#"{}"#,
    ] {
        let answer = hub.call("s_raw", json!({"json": raw})).await;
        let same: serde_json::Value = serde_json::from_str(raw).unwrap();
        assert_eq!(wire(&answer).to_string(), same.to_string());
    }
    hub.close().await;
}

#[tokio::test]
async fn what_a_result_means() {
    let hub = Hub::with(python(
        "s",
        &json!({"tools": tools(&["raw", "fails", "refuses"])}),
    ))
    .await;
    for (raw, data) in [
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!("a\nb"),
        ),
        (
            json!({"structuredContent": {"n": 1}, "content": [{"type": "text", "text": "x"}]}),
            json!({"n": 1}),
        ),
        (
            json!({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}),
            json!({"content": [{"type": "image", "data": "", "mimeType": "image/png"}]}),
        ),
    ] {
        let answer = hub.call("s_raw", json!({"json": raw.to_string()})).await;
        assert_eq!(answer.result, Ok(data));
    }
    let answer = hub.call("s_fails", json!({})).await;
    assert_eq!(failure(&answer).kind, ErrorKind::Internal);
    assert_eq!(failure(&answer).message, "no such city");
    assert_eq!(wire(&answer)["extra"].to_string(), r#"{"z":1,"a":2}"#);
    let ours = json!({"isError": true, "content": [{"type": "text", "text": "conflict: x"}],
        "structuredContent": {"error": {"type": "conflict", "message": "somebody was first", "hint": "look"}}});
    let answer = hub.call("s_raw", json!({"json": ours.to_string()})).await;
    assert_eq!(failure(&answer).kind, ErrorKind::Conflict);
    assert_eq!(failure(&answer).message, "somebody was first");
    for (code, kind) in [
        (-32602, ErrorKind::Validation),
        (-32601, ErrorKind::NotFound),
        (-32001, ErrorKind::Timeout),
        (-1, ErrorKind::Internal),
    ] {
        let answer = hub.call("s_refuses", json!({"code": code})).await;
        assert_eq!(failure(&answer).kind, kind);
        assert_eq!(
            wire(&answer),
            json!({"code": code, "message": "bad arguments", "data": {"why": "because"}})
        );
    }
    hub.close().await;
}

#[tokio::test]
async fn what_comes_with_a_call_goes_with_it_but_for_what_is_ours() {
    let hub = Hub::with(python(
        "s",
        &json!({"tools": tools(&["params"]), "era": "both"}),
    ))
    .await;
    let old = hub
        .call_as(&Client::legacy("a"), "s_params", json!({"x": 1}))
        .await;
    let params = said(&old);
    assert_eq!(params["name"], "params");
    assert_eq!(params["arguments"], json!({"x": 1}));
    assert_eq!(params["custom"].to_string(), r#"{"b":1,"a":2}"#);
    assert_eq!(params["_meta"]["trace"], "t-1");
    assert!(
        params["_meta"]["progressToken"].is_u64(),
        "one of ours: {params}"
    );
    assert_eq!(
        params["_meta"].as_object().unwrap().len(),
        2,
        "nothing of the other hop: {params}"
    );

    let new = hub
        .call_as(&Client::modern("b"), "s_params", json!({}))
        .await;
    let meta = &said(&new)["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "helve");
    // What the caller can do, not what the hub can.
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({"elicitation": {"form": {}}, "odd": 1})
    );
    assert_eq!(wire(&new)["resultType"], "complete");
    hub.close().await;
}

#[tokio::test]
async fn every_era_is_spoken_with() {
    for (era, protocol) in [
        ("legacy", "2025-11-25"),
        ("modern", "2026-07-28"),
        ("both", "2026-07-28"),
        ("dies", "2025-11-25"),
    ] {
        let hub = Hub::with(python("s", &json!({"tools": tools(&["echo"]), "era": era}))).await;
        let status = hub.gate.status("s").unwrap();
        assert_eq!(status.protocol.as_deref(), Some(protocol), "{era}");
        for client in [Client::legacy("a"), Client::modern("b")] {
            let answer = hub.call_as(&client, "s_echo", json!({"text": "x"})).await;
            assert_eq!(answer.result, Ok(json!("x")), "{era}");
        }
        let begun = std::time::Instant::now();
        hub.close().await;
        assert!(
            begun.elapsed() < std::time::Duration::from_secs(5),
            "{era}: nothing is left to wait for"
        );
    }
}

#[tokio::test]
async fn lists_and_requests_are_passed_on_raw() {
    let extra = json!({"resources": {"subscribe": true}});
    let hub = Hub::with(python("s", &json!({"tools": [], "extra": extra}))).await;
    let found = hub.gate.list(List::Resources).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].1[0].to_string(),
        r#"{"uri":"test://a","name":"a","zeta":1,"alpha":2}"#
    );
    assert_eq!(hub.gate.list(List::Prompts).await, []);
    let read = hub
        .gate
        .request("s", "resources/read", json!({"uri": "test://a"}), None)
        .await
        .unwrap();
    assert_eq!(read["contents"][0]["odd"].to_string(), r#"{"b":1,"a":2}"#);
    let error = hub
        .gate
        .request("s", "no/such", json!({}), None)
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32601);
    let error = hub
        .gate
        .request("nobody", "ping", json!({}), None)
        .await
        .unwrap_err();
    assert_eq!(error["code"], -32602);
    hub.close().await;
}

#[tokio::test]
async fn the_operator_has_the_last_word() {
    let mut server = python(
        "s",
        &json!({"tools": tools(&["echo", "params", "die", "hidden_one"])}),
    );
    server.rules.hide = vec![helve_core::policy::Pattern::new("hidden_*")];
    let rules = ToolRules {
        name: Some("say_it".to_owned()),
        title: Some("Say it".to_owned()),
        description: Some("Says it.".to_owned()),
        risk: Some(Risk::ExecLow),
        ..ToolRules::default()
    };
    server.rules.tools.insert("echo".to_owned(), rules);
    server.rules.tools.insert(
        "die".to_owned(),
        ToolRules {
            hide: true,
            ..ToolRules::default()
        },
    );
    let hub = Hub::with(server).await;
    let names: Vec<String> = hub
        .kernel
        .tools()
        .iter()
        .map(|e| e.def.name.to_string())
        .collect();
    assert_eq!(names, ["s_params", "say_it"]);
    let def = hub.kernel.find("mcp__s__echo").unwrap().def.clone();
    assert_eq!(
        (def.title.as_deref(), def.description.as_str(), def.risk),
        (Some("Say it"), "Says it.", Some(Risk::ExecLow))
    );
    assert_eq!(
        hub.call("say_it", json!({"text": "x"})).await.result,
        Ok(json!("x"))
    );

    // Another word of the operator is no change of the server.
    let mut server = python(
        "s",
        &json!({"tools": tools(&["echo", "params", "die", "hidden_one"])}),
    );
    server.rules.tools.insert(
        "params".to_owned(),
        ToolRules {
            hide: true,
            ..ToolRules::default()
        },
    );
    let hub = hub.again(vec![server]).await;
    let names: Vec<String> = hub
        .kernel
        .tools()
        .iter()
        .map(|e| e.def.name.to_string())
        .collect();
    assert_eq!(names, ["s_echo"], "before the server was started");
    assert_eq!(hub.gate.status("s").unwrap().state, State::Idle);
    hub.close().await;
}
