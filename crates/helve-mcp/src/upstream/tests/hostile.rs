//! Servers that are broken, or mean it.

use std::time::Duration;

use helve_core::def::Risk;
use helve_kernel::{ErrorKind, Tool, ToolDef, ToolName};
use serde_json::{Value, json};

use super::support::{Client, Hub, failure, python, tool, tools, until};
use crate::upstream::{Reach, State, Upstreams};

#[tokio::test]
async fn one_that_dies_in_a_call_says_so_and_comes_back() {
    let hub = Hub::with(python("s", &json!({"tools": tools(&["die", "echo"])}))).await;
    let answer = hub.call("s_die", json!({})).await;
    let error = failure(&answer);
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(
        error.message.contains("whether it took effect is unknown"),
        "{error:?}"
    );
    assert!(error.message.contains("I am dying now"), "{error:?}");
    let answer = hub.call("s_echo", json!({"text": "back"})).await;
    assert_eq!(answer.result, Ok(json!("back")));
    hub.close().await;
}

#[tokio::test]
async fn garbage_between_messages_is_only_noise() {
    let hub = Hub::with(python(
        "s",
        &json!({"tools": tools(&["garbage", "neither"])}),
    ))
    .await;
    let answer = hub.call("s_garbage", json!({})).await;
    assert_eq!(answer.result, Ok(json!("after the garbage")));
    assert!(hub.gate.status("s").unwrap().tail.contains("is no message"));
    let answer = hub.call("s_neither", json!({})).await;
    assert!(
        failure(&answer)
            .message
            .contains("neither a result nor an error")
    );
    hub.close().await;
}

#[tokio::test]
async fn one_that_never_answers_takes_its_own_time_only() {
    let mut server = python("s", &json!({"tools": tools(&["never", "echo"])}));
    server.rules.timeout = Duration::from_millis(300);
    let hub = Hub::with(server).await;
    let (late, echo) = tokio::join!(
        hub.call("s_never", json!({})),
        hub.call("s_echo", json!({"text": "x"}))
    );
    assert_eq!(failure(&late).kind, ErrorKind::Timeout);
    assert_eq!(echo.result, Ok(json!("x")));
    hub.close().await;
}

/// A gigabyte is not read: after the limit the program is killed.
#[tokio::test]
async fn a_huge_answer_is_refused() {
    let pids = tempfile::NamedTempFile::new().unwrap();
    let mut server = python(
        "s",
        &json!({"tools": tools(&["huge", "echo"]), "pid": pids.path()}),
    );
    server.rules.message_limit = 1024 * 1024;
    let hub = Hub::with(server).await;
    let answer = hub.call("s_huge", json!({"bytes": 1 << 30})).await;
    assert!(
        failure(&answer).message.contains("more than the 1 MiB"),
        "{answer:?}"
    );
    let pid = std::fs::read_to_string(pids.path()).unwrap();
    until("it is gone", || !super::support::is_alive(&pid)).await;
    // As large as it may be goes through.
    let answer = hub.call("s_huge", json!({"bytes": 15 * 65536})).await;
    assert!(answer.is_ok(), "{answer:?}");
    hub.close().await;
}

#[tokio::test]
async fn a_bad_tool_spoils_no_other() {
    let long = "x".repeat(100);
    let other = format!("{}y", "x".repeat(99));
    let list = json!([
        tool("good"),
        7,
        {"description": "no name"},
        {"name": 5, "inputSchema": {"type": "object"}},
        {"name": "no_schema"},
        {"name": "text_schema", "inputSchema": "x"},
        {"name": "remote", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "http://example.com/x"}}}},
        {"name": "good", "description": "again", "inputSchema": {"type": "object"}},
        {"name": "b\u{0430}d", "inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {"type": "object"}},
        tool(&long),
        tool(&other),
        {"name": "nameless", "inputSchema": {"type": "object"}, "outputSchema": {"type": 5}},
        {"name": "old", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}},
    ]);
    let hub = Hub::with(python("s", &json!({"tools": list}))).await;
    let names: Vec<String> = hub
        .kernel
        .tools()
        .iter()
        .map(|e| e.def.name.to_string())
        .collect();
    assert_eq!(
        names.len(),
        5,
        "{names:?} {:?}",
        hub.gate.status("s").unwrap().problems
    );
    assert!(names.iter().all(|n| n.len() <= 64));
    let problems = hub.gate.status("s").unwrap().problems;
    assert_eq!(problems.len(), 10, "{problems:#?}");
    hub.close().await;
}

#[tokio::test]
async fn a_tool_named_like_ours_is_refused() {
    let gate_state = tempfile::tempdir().unwrap();
    let server = python("file", &json!({"tools": tools(&["read", "other"])}));
    let gate = Upstreams::open(vec![server], gate_state.path()).unwrap();
    let kernel = helve_kernel::Kernel::builder()
        .executor(helve_core::def::ExecutorKind::Mcp, gate.executor())
        .open()
        .await
        .unwrap();
    let mut def = ToolDef::new(
        ToolName::new("file_read").unwrap(),
        "Reads. Use it to read.",
    );
    def.risk = Some(Risk::Read);
    kernel
        .add_tool(Tool::new(def, |_, _| async {
            Ok(helve_kernel::Reply::new("ours"))
        }))
        .unwrap();
    gate.attach(&kernel).await;
    let done = gate.refresh("file").await.unwrap();
    assert_eq!(done.problems.len(), 1, "{done:?}");
    assert!(
        done.problems[0].contains("`file_read` is part of the program"),
        "{done:?}"
    );
    assert_eq!(kernel.find("file_read").unwrap().source, "code");
    assert_eq!(kernel.find("file_other").unwrap().source, "mcp:file");
    gate.close().await;
}

/// A server's word about itself never lowers a risk.
#[tokio::test]
async fn a_lying_hint_lowers_nothing() {
    let hinted = |name: &str, hints: Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": hints});
    let list = json!([
        hinted("reads", json!({"readOnlyHint": true})),
        hinted(
            "harmless",
            json!({"destructiveHint": false, "readOnlyHint": true})
        ),
        hinted("writes", json!({"readOnlyHint": false})),
        hinted(
            "destroys",
            json!({"destructiveHint": true, "readOnlyHint": true})
        ),
        hinted("odd", json!({"readOnlyHint": "yes", "destructiveHint": 1})),
    ]);
    for (base, wanted) in [
        (
            Risk::Read,
            [
                Risk::Read,
                Risk::Read,
                Risk::ExecLow,
                Risk::ExecHigh,
                Risk::Read,
            ],
        ),
        (Risk::ExecHigh, [Risk::ExecHigh; 5]),
        (Risk::Write, [Risk::Write; 5]),
    ] {
        let mut server = python("s", &json!({"tools": list}));
        server.rules.risk = base;
        let hub = Hub::with(server).await;
        let risks = ["reads", "harmless", "writes", "destroys", "odd"].map(|tool| {
            hub.kernel
                .find(&format!("s_{tool}"))
                .unwrap()
                .def
                .risk
                .unwrap()
        });
        assert_eq!(risks, wanted);
        hub.close().await;
    }
}

#[tokio::test]
async fn a_server_that_cannot_start_fails_calls_at_once() {
    let mut hang = python("hang", &json!({"start": "hangs"}));
    hang.rules.start_timeout = Duration::from_millis(300);
    let mut absent = python("absent", &json!({}));
    absent.reach = Reach::Stdio {
        command: "/no/such/program".to_owned(),
        args: Vec::new(),
        env: std::collections::BTreeMap::default(),
        cwd: None,
    };
    let good = python("good", &json!({"tools": tools(&["echo"])}));
    let fails = python("fails", &json!({"start": "fails"}));
    let hub = Hub::open(vec![hang, absent, fails, good]).await;
    hub.gate.refresh("good").await.unwrap();
    for (server, word) in [
        ("hang", "not ready within"),
        ("absent", "cannot be started"),
        ("fails", "no key in the configuration"),
    ] {
        let error = hub.gate.refresh(server).await.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        let State::Failed { why, again_in, .. } = hub.gate.status(server).unwrap().state else {
            panic!("it did not fail");
        };
        assert!(why.contains(word) && again_in.is_some());
        assert!(hub.gate.unavailable(server).unwrap().contains(word));
        // Not tried again before its time.
        let begun = std::time::Instant::now();
        let error = hub
            .gate
            .request(server, "ping", json!({}), None)
            .await
            .unwrap_err();
        assert!(
            error["message"]
                .as_str()
                .unwrap()
                .contains("tried again in"),
            "{error:?}"
        );
        assert!(begun.elapsed() < Duration::from_millis(250));
    }
    assert_eq!(
        hub.call("good_echo", json!({"text": "x"})).await.result,
        Ok(json!("x"))
    );
    assert_eq!(hub.gate.list(crate::upstream::List::Resources).await, []);
    hub.close().await;
}

#[tokio::test]
async fn a_list_that_goes_round_or_never_comes_ends() {
    let pages = json!([[tool("a")], [tool("b")], [tool("a"), tool("c")]]);
    let hub = Hub::with(python("s", &json!({"pages": pages, "circle": true}))).await;
    let names: Vec<String> = hub
        .kernel
        .tools()
        .iter()
        .map(|e| e.def.name.to_string())
        .collect();
    assert_eq!(names, ["s_a", "s_b", "s_c"]);
    let problems = hub.gate.status("s").unwrap().problems.join("\n");
    assert!(
        problems.contains("round in circles") && problems.contains("twice"),
        "{problems}"
    );
    hub.close().await;

    let mut server = python("s", &json!({"list": "never"}));
    server.rules.start_timeout = Duration::from_millis(500);
    let hub = Hub::open(vec![server]).await;
    let error = hub.gate.refresh("s").await.unwrap_err().to_string();
    assert!(error.contains("tools"), "{error}");
    hub.close().await;
}

/// A program sees what is configured, and nothing of ours.
#[tokio::test]
async fn the_environment_is_what_was_configured() {
    let mut server = python("s", &json!({"tools": tools(&["env"])}));
    if let Reach::Stdio { env, .. } = &mut server.reach {
        env.insert("GIVEN".to_owned(), "yes".to_owned());
    }
    let hub = Hub::with(server).await;
    let answer = hub.call_as(&Client::legacy("a"), "s_env", json!({})).await;
    let seen = super::support::said(&answer);
    let mut names: Vec<&String> = seen
        .as_object()
        .unwrap()
        .keys()
        .filter(|k| *k != "LC_CTYPE")
        .collect();
    names.sort();
    assert_eq!(names, ["GIVEN", "PATH"]);
    hub.close().await;
}
