//! Paths on the whole way: what the tool gets, and that no rule is dodged by spelling.

use super::harness::*;
use crate::{Answer, RunState};
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

async fn hub(policy: Value) -> Hub {
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    let root = hub.root.path();
    for folder in ["notes", "secrets"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    std::fs::write(root.join("secrets/x"), "x").unwrap();
    symlink(root.join("secrets"), root.join("notes/link")).unwrap();
    let schema = json!({"type": "object", "properties": {
        "path": {"type": "string", "format": "path"},
        "paths": {"type": "array", "items": {"type": "string", "format": "path"}},
    }});
    hub.add(echo(
        "file_read",
        json!({"input_schema": schema, "allowed_paths": ["."]}),
    ));
    hub
}

fn spellings(hub: &Hub) -> Vec<Value> {
    let root = std::fs::canonicalize(hub.root.path()).unwrap();
    let root = root.display();
    vec![
        json!({"path": "secrets/x"}),
        json!({"path": "./secrets//x"}),
        json!({"path": "notes/../secrets/x"}),
        json!({"path": "notes/link/x"}),
        json!({"path": "notes/link/../secrets/x"}),
        json!({"path": format!("{root}/secrets/x")}),
        json!({"path": format!("{root}/notes/../secrets/x")}),
        json!({"paths": ["notes/a", "notes/link/x"]}),
    ]
}

/// Each is looked at before the call begins, while others wait.
#[tokio::test]
async fn more_paths_than_can_be_looked_at_are_refused() {
    let hub = hub(json!([])).await;
    let call = |count: usize| hub.call("file_read", json!({"paths": vec!["notes/a"; count]}));
    assert!(call(10_000).await.is_ok());
    let answer = call(10_001).await;
    assert_eq!(
        told(&answer),
        "validation: argument `paths/10000`: the path `notes/a` is refused: \
         there are more than 10000 paths; call it for a part"
    );
}

#[tokio::test]
async fn no_spelling_dodges_a_rule() {
    let hub = hub(json!([{"effect": "deny", "args": {"path": "secrets/*"}},
                         {"effect": "deny", "args": {"paths": "secrets/*"}}]))
    .await;
    for args in spellings(&hub) {
        let answer = hub.call("file_read", args.clone()).await;
        assert_eq!(answer.meta.state, Some(RunState::Denied), "{args}");
    }
    assert!(
        hub.call("file_read", json!({"path": "notes/a"}))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_rule_with_an_absolute_path_holds_for_every_spelling() {
    let hub = hub(json!([])).await;
    let root = std::fs::canonicalize(hub.root.path()).unwrap();
    let pattern = format!("{}/secrets/*", root.display());
    hub.kernel.set_policy(rules(json!([
        {"effect": "deny", "args": {"path": pattern}},
        {"effect": "deny", "args": {"paths": pattern}},
    ])));
    for args in spellings(&hub) {
        let answer = hub.call("file_read", args.clone()).await;
        assert_eq!(answer.meta.state, Some(RunState::Denied), "{args}");
    }
}

#[tokio::test]
async fn what_allows_one_folder_allows_no_other() {
    let hub = hub(json!([{"effect": "deny"}, {"effect": "allow"}])).await;
    hub.kernel.set_policy(rules(json!([
        {"effect": "ask"},
        {"effect": "allow", "args": {"path": "notes/*"}},
    ])));
    let state = |a: Answer| a.meta.state.unwrap();
    let asked = state(hub.call("file_read", json!({"path": "notes/a"})).await);
    assert_eq!(asked, RunState::PendingApproval, "the strictest wins");
}

#[tokio::test]
async fn the_larger_number_of_approvals_counts_in_either_spelling() {
    let hub = hub(json!([])).await;
    let root = std::fs::canonicalize(hub.root.path()).unwrap();
    hub.kernel.set_policy(rules(json!([
        {"effect": "ask", "args": {"path": "notes/*"}},
        {"effect": "ask", "approvals": 2, "args": {"path": format!("{}/*", root.display())}},
    ])));
    let approval = hub
        .ask(&ann(), "file_read", json!({"path": "notes/a"}))
        .await;
    assert_eq!(approval.needed, 2);
}

#[tokio::test]
async fn the_tool_gets_the_path_that_was_checked() {
    let hub = hub(json!([])).await;
    let root = std::fs::canonicalize(hub.root.path()).unwrap();
    let answer = hub
        .call("file_read", json!({"path": "notes/../notes/link/x"}))
        .await;
    let real = root.join("secrets/x");
    assert_eq!(answer.result, Ok(json!({"path": real.to_str()})));
    let run = hub.run_of(&answer).await;
    assert_eq!(
        run.args,
        json!({"path": "notes/../notes/link/x"}),
        "as it was asked"
    );
}

#[tokio::test]
async fn a_path_outside_is_refused_before_there_is_a_run() {
    let hub = hub(json!([])).await;
    let answer = hub.call("file_read", json!({"path": "../x"})).await;
    assert!(told(&answer).starts_with("permission: argument `path`"));
    assert_eq!(hub.events().await, ["call.refused"]);
}

#[tokio::test]
async fn a_folder_around_the_state_of_the_hub_is_refused() {
    let hub = hub(json!([])).await;
    assert!(hub.call("file_read", json!({"path": "."})).await.is_ok());
    std::fs::create_dir(hub.root.path().join(".helve")).unwrap();
    for path in [".", "notes/..", hub.root.path().to_str().unwrap()] {
        let said = told(&hub.call("file_read", json!({"path": path})).await);
        assert!(said.starts_with("permission: "), "{said}");
        assert!(said.contains("it holds the hub's own state"), "{said}");
    }
    assert!(
        hub.call("file_read", json!({"path": "notes"}))
            .await
            .is_ok()
    );
}
