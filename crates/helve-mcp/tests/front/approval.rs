//! Approvals in clients of the older revisions: the person is asked while the call waits.

use std::sync::Arc;
use std::time::Duration;

use helve_kernel::{ApprovalRules, ApprovalState, NewToken, Permission, Principal, RunState};
use helve_mcp::Options;
use serde_json::{Value, json};

use super::client::{Client, of};
use super::support::{Hub, patterns, person, text};

pub fn asks() -> Value {
    json!({"elicitation": {}})
}

pub fn says(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision, "reason": "because"}})
}

fn message(question: &Value) -> String {
    assert_eq!(question["method"], "elicitation/create", "{question}");
    text(&question["params"]["message"])
}

#[tokio::test(start_paused = true)]
async fn the_person_behind_an_agent_approves_in_its_client() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, asks()).await;
    let id = client.begin("note_save", json!({"x": "some words"})).await;
    let question = client.question().await;
    let said = message(&question);
    let reason = hub.approval().await.reason;
    for part in ["agent:a", "`note_save`", "some words", reason.as_str()] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let enumerated = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
    assert_eq!(*enumerated, json!(["approve", "deny"]));
    assert_eq!(hub.saves(), 0);
    client.reply(&question, says("approve")).await;
    let result = client.result(id).await;
    assert_eq!(result["structuredContent"], json!({"x": "some words"}));
    assert_eq!(hub.saves(), 1);
    let approval = hub.approval().await;
    assert_eq!(approval.state, ApprovalState::Spent);
    let decision = &approval.decisions[0];
    assert_eq!(decision.by, "ann");
    let why = decision.reason.as_deref().unwrap();
    assert_eq!(why, "because (answered in the client of `agent:a`)");
    let decisions = hub.decisions().await;
    assert_eq!(decisions.len(), 1);
    assert_eq!(decisions[0].0, "ann", "{decisions:?}");
}

#[tokio::test(start_paused = true)]
async fn a_no_is_final() {
    for answer in [says("deny"), json!({"action": "decline"})] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, asks()).await;
        let id = client.begin("note_save", json!({})).await;
        let question = client.question().await;
        client.reply(&question, answer).await;
        let result = client.result(id).await;
        assert_eq!(result["isError"], true);
        assert!(of(&result).contains("was denied by ann"), "{result}");
        let approval = hub.approval().await;
        assert_eq!(approval.state, ApprovalState::Denied);
        assert_eq!(approval.decisions[0].by, "ann");
        assert_eq!(hub.saves(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_dialog_decides_nothing_and_the_call_waits() {
    for answer in [
        json!({"action": "cancel"}),
        json!({"action": "accept", "content": {"decision": "maybe"}}),
        json!({"action": "accept"}),
    ] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, asks()).await;
        let id = client.begin("note_save", json!({"x": 1})).await;
        let question = client.question().await;
        client.reply(&question, answer).await;
        let result = client.result(id).await;
        is_pending(&hub, &result).await;
        come_back(&hub, &mut client, &result).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dialog_that_was_open_for_long_leaves_time_to_wait() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, asks()).await;
    let id = client.begin("note_save", json!({"x": 1})).await;
    let question = client.question().await;
    tokio::time::advance(Duration::from_secs(600)).await;
    client.reply(&question, json!({"action": "cancel"})).await;
    let closed = tokio::time::Instant::now();
    let result = client.result(id).await;
    is_pending(&hub, &result).await;
    assert!(
        closed.elapsed() >= Duration::from_secs(50),
        "{:?}",
        closed.elapsed()
    );
}

/// The call came back, and nothing has happened.
async fn is_pending(hub: &Hub, result: &Value) {
    assert_eq!(result["isError"], true, "{result}");
    let run = &result["_meta"]["helve/run"];
    assert_eq!(
        (&run["tool"], &run["state"]),
        (&json!("note_save"), &json!("pending_approval"))
    );
    let approval = hub.approval().await;
    assert_eq!(approval.state, ApprovalState::Pending);
    assert_eq!(run["approval_id"], approval.id.as_str());
    let said = of(result);
    assert!(
        said.contains("`run_result`") && said.contains(approval.run.as_str()),
        "{said}"
    );
    assert_eq!((hub.saves(), approval.decisions.len()), (0, 0));
}

/// Somebody says yes elsewhere, and the client learns of it.
async fn come_back(hub: &Hub, client: &mut Client, result: &Value) {
    let run = result["_meta"]["helve/run"]["run_id"].clone();
    let before = client.call("run_result", json!({"run_id": run})).await;
    assert_eq!(before["structuredContent"]["state"], "pending_approval");
    hub.approve().await;
    let over = hub
        .kernel
        .wait_for(&hub.approval().await.run)
        .await
        .unwrap();
    assert_eq!(over.state, RunState::Succeeded);
    let after = client.call("run_result", json!({"run_id": run})).await;
    let told = &after["structuredContent"];
    assert_eq!(
        (&told["state"], &told["answer"]["data"]),
        (&json!("succeeded"), &json!({"x": 1}))
    );
    assert_eq!(hub.saves(), 1);
}

/// Calls, must not be asked, and comes back as pending.
async fn is_not_asked(hub: &Hub, who: &Arc<Principal>, capabilities: Value) -> (Client, Value) {
    let mut client = hub.legacy(who, capabilities).await;
    let result = client.call("note_save", json!({"x": 1})).await;
    is_pending(hub, &result).await;
    (client, result)
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_as_long_as_it_may_and_comes_back_pending() {
    let hub = Hub::with(Options {
        wait: Duration::from_secs(20),
        ..Options::default()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    let begun = tokio::time::Instant::now();
    let (mut client, result) = is_not_asked(&hub, &who, json!({})).await;
    let waited = begun.elapsed().as_secs();
    assert!((20..25).contains(&waited), "{waited}");
    come_back(&hub, &mut client, &result).await;
}

#[tokio::test(start_paused = true)]
async fn a_decision_elsewhere_ends_the_waiting_and_the_question() {
    for capabilities in [json!({}), asks()] {
        let hub = Hub::new().await;
        let who = hub.agent("a", "ann").await;
        let mut client = hub.legacy(&who, capabilities.clone()).await;
        let params =
            json!({"name": "note_save", "arguments": {"x": 1}, "_meta": {"progressToken": "p"}});
        let id = client.send("tools/call", params).await;
        if capabilities == asks() {
            client.question().await;
        } else {
            let told = client.told().await;
            assert_eq!(told["method"], "notifications/progress");
            assert_eq!(told["params"]["progressToken"], "p");
        }
        hub.approve().await;
        let result = client.result(id).await;
        assert_eq!(result["structuredContent"], json!({"x": 1}));
        assert_eq!(hub.approval().await.decisions[0].by, "bob");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_who_may_not_decide() {
    // Nobody stands above it.
    let hub = Hub::new().await;
    is_not_asked(&hub, &Arc::new(Principal::agent("stray")), asks()).await;
    // The person cannot be asked here.
    let hub = Hub::with(Options {
        elicit: false,
        ..Options::default()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    is_not_asked(&hub, &who, asks()).await;
    // The client opens addresses only.
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    is_not_asked(&hub, &who, json!({"elicitation": {"url": {}}})).await;
    // The person has not the right.
    let hub = Hub::new().await;
    let weak = [
        Permission::ToolRead,
        Permission::ToolExecute,
        Permission::RunRead,
        Permission::TokenManage,
    ];
    let weak = hub
        .bearer(&Principal::person("ann"), person("ann", &weak))
        .await;
    let who = hub.bearer(&weak, NewToken::agent("a")).await;
    is_not_asked(&hub, &who, asks()).await;
    // The person is no approver.
    let approvers = Some(patterns(&["cleo"]));
    let hub = Hub::built(Options::default(), |b| {
        b.approvals(ApprovalRules {
            approvers,
            ..ApprovalRules::default()
        })
    })
    .await;
    let who = hub.agent("a", "ann").await;
    is_not_asked(&hub, &who, asks()).await;
}

#[tokio::test(start_paused = true)]
async fn a_persons_own_token_cannot_approve_itself() {
    let hub = Hub::new().await;
    let ann = hub.person("ann").await;
    is_not_asked(&hub, &ann, asks()).await;
}

#[tokio::test(start_paused = true)]
async fn rights_that_are_gone_when_the_answer_comes_do_not_count() {
    let hub = Hub::new().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, asks()).await;
    let id = client.begin("note_save", json!({"x": 1})).await;
    let question = client.question().await;
    let root = Principal::person("root");
    for token in hub.kernel.tokens(&root).await.unwrap() {
        if token.owner == "ann" {
            hub.kernel.revoke_token(&root, &token.id).await.unwrap();
        }
    }
    client.reply(&question, says("approve")).await;
    let result = client.answer(id).await;
    assert_eq!(hub.saves(), 0, "{result}");
    assert_eq!(hub.approval().await.decisions, []);
}

#[tokio::test(start_paused = true)]
async fn what_would_change_is_shown_before_anybody_says_yes() {
    let hub = Hub::new().await;
    let note = hub.root.path().join("data/note.md");
    std::fs::write(&note, "old line\n").unwrap();
    let who = hub.agent("a", "ann").await;
    let mut client = hub.legacy(&who, asks()).await;
    let args = json!({"text": "new line\n"});
    let id = client.begin("file_write", args).await;
    let question = client.question().await;
    let said = message(&question);
    for part in ["`file_write`", "data/note.md", "-old line", "+new line"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "old line\n");
    client.reply(&question, says("approve")).await;
    assert_eq!(of(&client.result(id).await), "written");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "new line\n");
}

#[tokio::test(start_paused = true)]
async fn a_run_is_told_only_to_whoever_called() {
    let hub = Hub::with(Options {
        wait: Duration::from_secs(1),
        ..Options::default()
    })
    .await;
    let who = hub.agent("a", "ann").await;
    let (_, result) = is_not_asked(&hub, &who, json!({})).await;
    let run = result["_meta"]["helve/run"]["run_id"].clone();
    let missing = format!("there is no run `{}`", text(&run));
    for name in ["b", "a"] {
        let other = hub.agent(name, "bob").await;
        let mut other = hub.legacy(&other, json!({})).await;
        let theirs = other.call("run_result", json!({"run_id": run})).await;
        assert!(of(&theirs).contains(&missing), "{theirs}");
    }
    let above = hub.person("ann").await;
    let mut above = hub.legacy(&above, json!({})).await;
    let theirs = above.call("run_result", json!({"run_id": run})).await;
    assert_eq!(theirs["structuredContent"]["state"], "pending_approval");
}
