//! How much is shown before anybody asks, and how the rest is found.

use helve_core::tokens::estimate;
use helve_kernel::{NewToken, Permission, Principal};
use helve_mcp::front::{Disclose, Names, View};
use serde_json::{Value, json};

use super::client::of;
use super::support::{Hub, patterns, text};

const LEAN: [&str; 4] = ["call_tool", "get_tool_info", "run_result", "search_tools"];

fn lean() -> View {
    View {
        disclose: Disclose::Lean,
        ..View::default()
    }
}

#[tokio::test(start_paused = true)]
async fn as_much_as_the_view_says_or_the_threshold() {
    for (disclose, threshold, is_lean) in [
        (Disclose::Full, 0, false),
        (Disclose::Lean, usize::MAX, true),
        (Disclose::Auto, 1, true),
        (Disclose::Auto, 100_000, false),
    ] {
        let view = View {
            disclose,
            threshold,
            ..View::default()
        };
        let hub = Hub::seen(view).await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, json!({})).await;
        let names = client.names().await;
        assert_eq!(
            names == LEAN,
            is_lean,
            "{disclose:?} {threshold}: {names:?}"
        );
        let told = text(&client.greeting["instructions"]);
        assert_eq!(told.contains("note_read"), is_lean, "{told}");
        let mut modern = hub.modern(&who, json!({})).await;
        assert_eq!(
            modern.greeting["instructions"],
            client.greeting["instructions"]
        );
        assert_eq!(modern.names().await, names);
    }
}

#[tokio::test(start_paused = true)]
async fn pinned_tools_are_listed_however_little_is() {
    let hub = Hub::seen(View {
        pinned: patterns(&["note_r*"]),
        ..lean()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let names = client.names().await;
    assert_eq!(
        names,
        [
            "call_tool",
            "get_tool_info",
            "note_read",
            "run_result",
            "search_tools"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_three_cost_next_to_nothing() {
    let hub = Hub::seen(lean()).await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let tools = client.tools().await;
    let three = ["call_tool", "get_tool_info", "search_tools"];
    let three = tools
        .iter()
        .filter(|t| three.contains(&text(&t["name"]).as_str()));
    let costs: Vec<usize> = three.map(|t| estimate(&t.to_string())).collect();
    assert_eq!(costs.len(), 3);
    assert!(costs.iter().sum::<usize>() <= 200, "{costs:?}");
}

#[tokio::test(start_paused = true)]
async fn call_tool_is_a_call_of_the_tool() {
    let hub = Hub::seen(lean()).await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, super::approval::asks()).await;
    let args = json!({"name": "note_read", "arguments": {"text": "x"}});
    let result = client.call("call_tool", args).await;
    assert_eq!(result["structuredContent"], json!({"text": "x"}));
    let run = hub
        .run(&text(&result["_meta"]["helve/run"]["run_id"]))
        .await;
    assert_eq!(run.tool, "note_read");
    // The person is asked about what would run.
    let args = json!({"name": "note_save", "arguments": {"y": 2}});
    let id = client.begin("call_tool", args).await;
    let question = client.question().await;
    let said = text(&question["params"]["message"]);
    assert!(
        said.contains("`note_save`") && !said.contains("call_tool"),
        "{said}"
    );
    client
        .reply(&question, super::approval::says("approve"))
        .await;
    let result = client.result(id).await;
    assert_eq!(result["structuredContent"], json!({"y": 2}));
    assert_eq!(hub.ended("call_tool").await, []);
    for wrong in [
        json!({}),
        json!({"name": 1}),
        json!({"name": "call_tool", "arguments": {"name": "note_read"}}),
        json!({"name": "note_read", "text": "x"}),
    ] {
        let params = json!({"name": "call_tool", "arguments": wrong});
        let (code, _) = client.refused("tools/call", params).await;
        assert_eq!(code, -32602);
    }
}

/// The names that a search tells.
fn found(result: &Value) -> Vec<String> {
    let tools = result["structuredContent"]["tools"].as_array();
    tools.unwrap().iter().map(|t| text(&t["name"])).collect()
}

fn search(query: &str) -> Value {
    json!({"queries": [query], "limit": 20})
}

#[tokio::test(start_paused = true)]
async fn a_search_tells_only_what_the_caller_may_call() {
    let hub = Hub::seen(lean()).await;
    let all = hub.agent("a", "ann").await;
    let mut all = hub.legacy(&all, json!({})).await;
    let names = found(&all.call("search_tools", search("note save read")).await);
    assert!(names.contains(&"note_save".to_owned()), "{names:?}");
    assert!(
        !names.iter().any(|n| LEAN.contains(&n.as_str())),
        "{names:?}"
    );
    let info = all
        .call("get_tool_info", json!({"name": "note_save"}))
        .await;
    assert!(of(&info).contains("Does note_save"), "{info}");

    let few = hub.scoped("b", &["note_read"]).await;
    let mut few = hub.legacy(&few, json!({})).await;
    let names = found(&few.call("search_tools", search("note save read")).await);
    assert_eq!(names, ["note_read"]);
    is_unknown(&mut few, "note_save").await;
    let told = text(&few.greeting["instructions"]);
    assert!(
        told.contains("note_read") && !told.contains("note_save"),
        "{told}"
    );
}

async fn is_unknown(client: &mut super::client::Client, tool: &str) {
    let info = client.call("get_tool_info", json!({"name": tool})).await;
    assert_eq!(info["isError"], true, "{info}");
    let said = of(&info);
    assert!(
        said.contains(&format!("there is no tool named `{tool}`")),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_search_tells_only_what_the_view_shows() {
    let hub = Hub::seen(View {
        tools: patterns(&["note_*"]),
        hide: patterns(&["note_save"]),
        ..lean()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, json!({})).await;
    let names = found(
        &client
            .call("search_tools", search("note save read file write gate"))
            .await,
    );
    assert!(names.contains(&"note_read".to_owned()), "{names:?}");
    let beyond = |n: &String| !n.starts_with("note_") || n == "note_save";
    assert!(!names.iter().any(beyond), "{names:?}");
    is_unknown(&mut client, "note_save").await;
    is_unknown(&mut client, "gate_wait").await;
    let args = json!({"name": "get_tool_info", "arguments": {"name": "note_save"}});
    let info = client.call("call_tool", args).await;
    assert_eq!(info["isError"], true, "{info}");
    let (code, said) = client
        .refused("tools/call", json!({"name": "note_sav", "arguments": {}}))
        .await;
    assert_eq!(code, -32602);
    assert!(!said.contains("note_save"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn who_may_not_see_tools_finds_none() {
    let hub = Hub::seen(lean()).await;
    let new = NewToken {
        permissions: vec![Permission::ToolExecute],
        ..NewToken::agent("blind")
    };
    let who = hub.bearer(&Principal::person("ann"), new).await;
    let mut client = hub.legacy(&who, json!({})).await;
    let told = text(&client.greeting["instructions"]);
    assert!(!told.contains("note_"), "{told}");
    for (tool, args) in [
        ("search_tools", search("note")),
        ("get_tool_info", json!({"name": "note_read"})),
    ] {
        let result = client.call(tool, args).await;
        assert_eq!(result["isError"], true, "{result}");
        assert!(!of(&result).contains("note_"), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_found_is_put_on_the_list() {
    for names in [Names::Helve, Names::Mcp] {
        let hub = Hub::seen(View {
            promote: 1,
            names,
            ..lean()
        })
        .await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, json!({})).await;
        let mut other = hub.legacy(&who, json!({})).await;
        let before = client.names().await;
        assert_eq!(before, LEAN, "{names:?}");
        let result = client.call("search_tools", search("note_read")).await;
        assert_eq!(found(&result)[0], "note_read");
        assert_eq!(
            client.told().await["method"],
            "notifications/tools/list_changed"
        );
        let after = client.names().await;
        let shown = if names == Names::Mcp {
            "mcp__note__read"
        } else {
            "note_read"
        };
        let new: Vec<&String> = after.iter().filter(|n| !before.contains(n)).collect();
        assert_eq!(new, [shown]);
        // One client's search changes nobody else's list.
        assert_eq!(other.names().await, before);
        assert_eq!(other.heard, Vec::<Value>::new());
    }
}
