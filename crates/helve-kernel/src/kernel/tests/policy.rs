//! What rules make of a call, and what stays of it.

use super::harness::*;
use crate::{RunState, ToolError};
use serde_json::{Value, json};

async fn state_under(policy: Value, risk: &str) -> (Option<RunState>, i64, Vec<String>) {
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    let (tool, count) = counting("a_tool", json!({"risk": risk}));
    hub.add(tool);
    let answer = hub.call("a_tool", json!({"x": 1})).await;
    (answer.meta.state, count.get(), hub.events().await)
}

#[tokio::test]
async fn rules_and_risk_decide() {
    use RunState::{Denied, PendingApproval, Succeeded};
    for (policy, risk, state, events) in [
        (
            json!([]),
            "read",
            Succeeded,
            vec!["run.started", "run.ended"],
        ),
        (
            json!([]),
            "exec_low",
            Succeeded,
            vec!["run.started", "run.ended"],
        ),
        (json!([]), "exec_high", PendingApproval, vec!["run.asked"]),
        (json!([]), "write", PendingApproval, vec!["run.asked"]),
        (
            json!([{"effect": "deny"}]),
            "read",
            Denied,
            vec!["run.denied"],
        ),
        (
            json!([{"effect": "ask"}]),
            "read",
            PendingApproval,
            vec!["run.asked"],
        ),
        (
            json!([{"effect": "allow", "tool": "a_*"}]),
            "write",
            Succeeded,
            vec!["run.started", "run.ended"],
        ),
        (
            json!([{"effect": "allow"}, {"effect": "deny", "args": {"x": "1"}}]),
            "read",
            Denied,
            vec!["run.denied"],
        ),
        (
            json!([{"effect": "deny", "principal": "bob"}]),
            "read",
            Succeeded,
            vec!["run.started", "run.ended"],
        ),
    ] {
        let (was, runs, recorded) = state_under(policy.clone(), risk).await;
        assert_eq!(was, Some(state), "{policy}");
        assert_eq!(runs, i64::from(state == Succeeded), "{policy}");
        assert_eq!(recorded, events, "{policy}");
    }
}

#[tokio::test]
async fn a_denied_call_leaves_a_run_and_says_why() {
    let policy = json!([{"effect": "deny", "reason": "not on Fridays"}]);
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    hub.add(echo("a_tool", json!({})));
    let answer = hub.call("a_tool", json!({"x": 1})).await;
    assert_eq!(
        answer.result,
        Err(ToolError::denied("`a_tool` is denied: not on Fridays")
            .with_hint("rule 1 of the policy says so"))
    );
    let run = hub.run_of(&answer).await;
    assert_eq!(run.state, RunState::Denied);
    assert_eq!(run.args, json!({"x": 1}));
    assert!(run.started.is_none() && run.ended.is_some());
    assert_eq!(run.answer.unwrap()["error"]["type"], "denied");
    let record = &hub.record().await[0];
    assert_eq!(record["details"]["decision"]["rule"], 1);
    assert_eq!(record["details"]["args"], json!({"x": 1}));
}

#[tokio::test]
async fn other_rules_hold_from_the_next_call_on() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({})));
    assert!(hub.call("a_tool", json!({})).await.is_ok());
    hub.kernel.set_policy(rules(json!([{"effect": "deny"}])));
    assert!(!hub.call("a_tool", json!({})).await.is_ok());
}

#[tokio::test]
async fn what_stops_a_person_stops_their_agents() {
    use RunState::{Denied, PendingApproval, Succeeded};
    let bot = crate::Principal {
        under: Some("ann".to_owned()),
        ..crate::Principal::agent("agent:bot")
    };
    let allow_bot = json!({"effect": "allow", "principal": "agent:*"});
    for (policy, risk, state) in [
        (
            json!([{"effect": "deny", "principal": "ann"}]),
            "read",
            Denied,
        ),
        (
            json!([{"effect": "deny", "principal": "ann"}, allow_bot]),
            "read",
            Denied,
        ),
        (
            json!([{"effect": "ask", "principal": "ann"}, allow_bot]),
            "read",
            PendingApproval,
        ),
        // What lets them through does not.
        (
            json!([{"effect": "allow", "principal": "ann"}]),
            "write",
            PendingApproval,
        ),
        (
            json!([{"effect": "deny", "principal": "bob"}]),
            "read",
            Succeeded,
        ),
        (json!([allow_bot]), "write", Succeeded),
    ] {
        let hub = Hub::with(|b| b.policy(rules(policy.clone()))).await;
        hub.add(echo("a_tool", json!({"risk": risk})));
        let call = crate::Call::new(bot.clone(), "a_tool", json!({}));
        let answer = hub.kernel.call(call).await;
        assert_eq!(answer.meta.state, Some(state), "{policy}");
    }
}
