use std::sync::Arc;

use helve_kernel::helve_core::def::{Executor as Runs, ExecutorKind, Risk};
use helve_kernel::{Principal, ToolDef, ToolName};
use serde_json::json;

use super::{Server, Servers};
use crate::testing::{Echo, Rig};

async fn rig() -> Rig {
    let look = Servers::new(|| {
        vec![Server {
            name: "hub".to_owned(),
            state: "idle".to_owned(),
            why: String::new(),
            tools: 1,
        }]
    });
    let rig = Rig::with(super::toolset().unwrap(), |_, builder| {
        builder
            .service(Arc::new(look))
            .executor(ExecutorKind::Mcp, Arc::new(Echo))
    })
    .await;
    let mut def = ToolDef::new(
        ToolName::new("hub_find").unwrap(),
        "Finds issues. Use it for them.",
    );
    def.risk = Some(Risk::Read);
    let mut runs = Runs::of(ExecutorKind::Mcp);
    runs.settings.insert("server".into(), json!("hub"));
    runs.settings.insert("tool".into(), json!("findIssues"));
    def.executor = Some(runs);
    rig.register(def, "mcp:hub").await;
    rig
}

#[tokio::test]
async fn a_tool_of_a_server_is_called_by_its_own_name() {
    let rig = rig().await;
    let args = json!({"server": "hub", "tool_name": "findIssues", "arguments": {}});
    let answer = rig.call("call_mcp_tool", args).await;
    assert_eq!(answer.meta.tool, "hub_find");
    assert_eq!(
        answer.result.unwrap(),
        json!({"ran": "hub_find", "with": {}})
    );
    rig.refuses(
        "call_mcp_tool",
        &[
            (
                json!({"server": "hub", "tool_name": "findIssue"}),
                "the nearest are findIssues",
            ),
            (
                json!({"server": "bub", "tool_name": "findIssues"}),
                "not_found: there is no server `bub`",
            ),
            (
                json!({"server": "hub"}),
                "\"tool_name\" is a required property",
            ),
        ],
    )
    .await;
    let servers = rig.data("list_mcp_servers", json!({})).await;
    assert_eq!(servers["servers"][0]["name"], "hub");
}

#[tokio::test]
async fn the_last_calls_of_ones_own() {
    let rig = rig().await;
    let agent = Principal {
        under: Some("ann".to_owned()),
        ..Principal::agent("claude")
    };
    rig.data("list_mcp_servers", json!({})).await;
    let logs = rig
        .call_as(agent, "get_session_logs", json!({}))
        .await
        .result
        .unwrap();
    let tools: Vec<&str> = logs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["tool"].as_str().unwrap())
        .collect();
    assert!(
        !tools.contains(&"agent_servers"),
        "that was somebody else: {tools:?}"
    );
    let logs = rig.data("agent_logs", json!({"state": "succeeded"})).await;
    assert_eq!(logs["runs"][0]["tool"], "agent_servers");
    rig.refuses(
        "agent_logs",
        &[(json!({"state": "lost"}), "validation: `lost` is no state")],
    )
    .await;
}
