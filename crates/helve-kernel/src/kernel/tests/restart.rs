//! What waits for people outlives the hub.

use super::harness::*;
use crate::{ApprovalState, Kernel, NewToken, Principal, PrincipalKind, RunState, Verdict};
use helve_core::def::Risk;
use serde_json::{Value, json};

async fn hub() -> Hub {
    let hub = Hub::new().await;
    hub.register(host("a_write", Risk::Write, "echo"))
        .await
        .unwrap();
    hub
}

async fn token(hub: &Hub, owner: &str) -> Principal {
    let new = NewToken {
        owner: owner.to_owned(),
        kind: PrincipalKind::Person,
        ..NewToken::agent(owner)
    };
    let (_, secret) = hub.kernel.create_token(&cleo(), new).await.unwrap();
    Principal::clone(&hub.kernel.authenticate(secret.reveal()).unwrap())
}

async fn approved(kernel: &Kernel, id: &crate::ApprovalId) {
    kernel
        .decide(&bob(), id, Verdict::Approve, None)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_question_survives_and_its_answer_counts() {
    let hub = hub().await;
    let dan = token(&hub, "dan").await;
    let approval = hub.ask(&dan, "a_write", json!({"say": "as asked"})).await;
    let again = hub.restarted(|b| b).await;
    let kept = again.approval(&approval.id).await.unwrap();
    assert_eq!(kept.state, ApprovalState::Pending);
    approved(&again, &approval.id).await;
    let run = again.wait_for(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded, "{:?}", run.answer);
    assert_eq!(hub.executor.runs(), [json!({"say": "as asked"})]);
}

#[tokio::test]
async fn what_was_approved_before_the_stop_begins_after_it() {
    let hub = hub().await;
    let dan = token(&hub, "dan").await;
    let approval = hub.ask(&dan, "a_write", json!({"say": "x"})).await;
    // A hub that stops leaves it to the next.
    hub.kernel.close(std::time::Duration::from_secs(1)).await;
    approved(&hub.kernel, &approval.id).await;
    assert_eq!(hub.executor.runs(), Vec::<Value>::new());
    let again = hub.restarted(|b| b).await;
    assert_eq!(
        hub.executor.runs(),
        Vec::<Value>::new(),
        "not before all is registered"
    );
    again.resume_approved().await.unwrap();
    again.resume_approved().await.unwrap();
    let run = again.wait_for(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(hub.executor.runs().len(), 1);
}

#[tokio::test]
async fn the_token_that_asked_must_still_count() {
    let hub = hub().await;
    let dan = token(&hub, "dan").await;
    let approval = hub.ask(&dan, "a_write", json!({})).await;
    // Another of the same owner does not stand in for it.
    token(&hub, "dan").await;
    let id = dan.token.clone().unwrap();
    hub.kernel.revoke_token(&cleo(), &id).await.unwrap();
    let again = hub.restarted(|b| b).await;
    approved(&again, &approval.id).await;
    let run = again.wait_for(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Failed);
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(message, "the token that asked no longer counts");
    assert_eq!(hub.executor.runs(), Vec::<Value>::new());
}

#[tokio::test]
async fn somebody_without_a_token_is_not_known_again() {
    let hub = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    let again = hub.restarted(|b| b).await;
    approved(&again, &approval.id).await;
    let run = again.wait_for(&approval.run).await.unwrap();
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(
        message,
        "`ann`, who asked, has no token that may call the tool"
    );
}

#[tokio::test]
async fn secrets_are_gone_and_the_answer_says_so() {
    let hub = hub().await;
    let dan = token(&hub, "dan").await;
    let args = json!({"key": "a secret of mine"});
    let approval = hub.ask(&dan, "a_write", args).await;
    assert!(!hub.keeps("a secret of mine").await);
    let again = hub.restarted(|b| b).await;
    approved(&again, &approval.id).await;
    let run = again.wait_for(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Failed);
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(
        message,
        "the hub was restarted, and it does not keep secrets"
    );
    assert_eq!(hub.executor.runs(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_secret_that_waits_in_memory_reaches_the_tool() {
    let hub = hub().await;
    let args = json!({"key": "a secret of mine"});
    let approval = hub.ask(&ann(), "a_write", args).await;
    approved(&hub.kernel, &approval.id).await;
    assert_eq!(hub.end_of(&approval).await.state, RunState::Succeeded);
    assert_eq!(hub.executor.runs()[0]["key"], "a secret of mine");
    assert!(!hub.keeps("a secret of mine").await);
    assert!(hub.kernel.inner.waiting.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_denial_that_could_not_be_carried_out_is_carried_out_later() {
    let hub = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.store.fail("move_run");
    let no = Verdict::Deny;
    hub.kernel
        .decide(&bob(), &approval.id, no, None)
        .await
        .unwrap();
    let open = hub.kernel.run(&approval.run).await.unwrap();
    assert_eq!(open.state, RunState::PendingApproval);
    hub.store.mend();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Denied);
}

#[tokio::test]
async fn a_denial_that_a_crash_cut_short_is_carried_out_at_the_start() {
    let hub = hub().await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.store.fail("move_run");
    let why = Some("no".to_owned());
    hub.kernel
        .decide(&bob(), &approval.id, Verdict::Deny, why)
        .await
        .unwrap();
    hub.kernel.close(std::time::Duration::ZERO).await;
    hub.store.mend();
    let again = hub.restarted(|b| b).await;
    let run = again.run(&approval.run).await.unwrap();
    assert_eq!(run.state, RunState::Denied);
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(message, "`a_write` was denied by bob: no");
}
