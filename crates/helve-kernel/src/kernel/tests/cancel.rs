//! Stopped from outside: by somebody, by the hub, or by nobody though the caller is gone.

use std::time::Duration;

use super::harness::*;
use crate::{
    ApprovalState, Call, ErrorKind, Permission, Principal, RunId, RunState, Verdict, Wait,
};
use helve_core::def::Risk;
use serde_json::json;

async fn begun(hub: &Hub, tool: &str) -> RunId {
    let call = Call::new(ann(), tool, json!({})).wait(Wait::Nothing);
    let answer = hub.kernel.call(call).await;
    assert_eq!(answer.meta.state, Some(RunState::Queued));
    assert_eq!(answer.result, Ok(json!(null)));
    answer.meta.run_id.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_stopped() {
    let hub = Hub::new().await;
    let (tool, gate) = gated("a_tool", json!({}));
    hub.add(tool);
    let id = begun(&hub, "a_tool").await;
    gate.arrival().await;
    assert_eq!(hub.kernel.cancel(&bob(), &id).await, Ok(RunState::Running));
    let run = hub.kernel.wait_for(&id).await.unwrap();
    assert_eq!(run.state, RunState::Cancelled);
    let error = run.answer.unwrap()["error"].clone();
    assert_eq!(error["message"], "the run was stopped by bob");
    assert_eq!(error["hint"], "whether it took effect is unknown");
    let events = ["run.queued", "run.started", "run.cancelling", "run.ended"];
    assert_eq!(hub.events().await, events);
    let again = hub.kernel.cancel(&bob(), &id).await.unwrap_err();
    assert_eq!(again.message, "the run is over: cancelled");
}

#[tokio::test(start_paused = true)]
async fn an_executor_clears_up_before_its_run_is_over() {
    let hub = Hub::new().await;
    hub.register(host("a_tool", Risk::Read, "wait"))
        .await
        .unwrap();
    let id = begun(&hub, "a_tool").await;
    hub.executor.gate.arrival().await;
    hub.kernel.cancel(&ann(), &id).await.unwrap();
    let run = hub.kernel.wait_for(&id).await.unwrap();
    assert_eq!(run.state, RunState::Cancelled);
    assert_eq!(hub.executor.cleared.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_was_stopped_before_it_began_never_begins() {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({}));
    hub.add(tool);
    // Stopped while the record of its start is written.
    let gate = hub.store.hold("move_run");
    let id = begun(&hub, "a_tool").await;
    gate.arrival().await;
    hub.kernel.cancel(&ann(), &id).await.unwrap();
    gate.open();
    let run = hub.kernel.wait_for(&id).await.unwrap();
    assert_eq!((run.state, count.get()), (RunState::Cancelled, 0));
    assert_eq!(run.answer.unwrap()["error"]["hint"], "it had not begun");
}

#[tokio::test(start_paused = true)]
async fn one_that_was_stopped_in_the_queue_never_begins() {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({}));
    hub.add(tool);
    let gate = hub.store.hold("open_run");
    let kernel = hub.kernel.clone();
    let calling = tokio::spawn(async move {
        let call = Call::new(ann(), "a_tool", json!({})).wait(Wait::Nothing);
        kernel.call(call).await
    });
    gate.arrival().await;
    let runs = crate::Store::runs(&*hub.store, Default::default(), 1)
        .await
        .unwrap();
    let id = runs[0].id.clone();
    assert_eq!(
        hub.kernel.cancel(&ann(), &id).await,
        Ok(RunState::Cancelled)
    );
    gate.open();
    calling.await.unwrap();
    let run = hub.kernel.wait_for(&id).await.unwrap();
    assert_eq!((run.state, count.get()), (RunState::Cancelled, 0));
}

#[tokio::test]
async fn one_that_waits_for_people_is_called_off() {
    let hub = Hub::new().await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    let state = hub.kernel.cancel(&ann(), &approval.run).await;
    assert_eq!(state, Ok(RunState::Cancelled));
    let over = hub.kernel.approval(&approval.id).await.unwrap();
    assert_eq!(over.state, ApprovalState::Withdrawn);
    let late = hub.approve(&bob(), &approval).await.unwrap_err();
    assert_eq!(late.kind, ErrorKind::Conflict);
    assert_eq!(hub.events().await, ["run.asked", "run.cancelled"]);
    assert!(hub.kernel.inner.waiting.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calling_off_and_approving_at_once_one_wins() {
    for _ in 0..50 {
        let hub = Hub::new().await;
        let (tool, count) = counting("a_write", json!({"risk": "write"}));
        hub.add(tool);
        let approval = hub.ask(&ann(), "a_write", json!({})).await;
        let (ann, bob) = (ann(), bob());
        let (_, _) = tokio::join!(
            hub.kernel.cancel(&ann, &approval.run),
            hub.kernel
                .decide(&bob, &approval.id, Verdict::Approve, None),
        );
        let run = hub.end_of(&approval).await;
        hub.kernel.close(Duration::from_secs(5)).await;
        let started = hub
            .events()
            .await
            .iter()
            .filter(|e| *e == "run.started")
            .count();
        assert_eq!(run.started.is_some(), started == 1);
        assert!(count.get() <= i64::try_from(started).unwrap());
        assert!(
            [RunState::Cancelled, RunState::Succeeded].contains(&run.state),
            "{run:?}"
        );
    }
}

#[tokio::test]
async fn not_everybody_calls_a_run_off() {
    let hub = Hub::new().await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let bot = Principal {
        under: Some("ann".to_owned()),
        ..Principal::agent("bot")
    };
    let approval = hub.ask(&bot, "a_write", json!({})).await;
    let auditor = with_only("dan", &[Permission::AuditRead, Permission::RunRead]);
    for who in [auditor, Principal::agent("other")] {
        let error = hub.kernel.cancel(&who, &approval.run).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Permission);
    }
    let above = with_only("ann", &[Permission::RunRead]);
    assert!(hub.kernel.cancel(&above, &approval.run).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_its_caller() {
    let hub = Hub::new().await;
    let (tool, gate) = gated("a_tool", json!({}));
    hub.add(tool);
    let call = hub.call("a_tool", json!({"x": 1}));
    assert!(
        tokio::time::timeout(Duration::from_secs(1), call)
            .await
            .is_err()
    );
    let runs = crate::Store::runs(&*hub.store, Default::default(), 1)
        .await
        .unwrap();
    assert_eq!(runs[0].state, RunState::Running);
    gate.open();
    let run = hub.kernel.wait_for(&runs[0].id).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(run.answer.unwrap()["data"], json!({"x": 1}));
    assert_eq!(hub.events().await, ["run.started", "run.ended"]);
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_stops_waits_and_then_stops_what_runs() {
    let hub = Hub::new().await;
    let (quick, gate) = gated("a_quick", json!({}));
    let (slow, held) = gated("a_slow", json!({"timeout": "1h"}));
    hub.add(quick);
    hub.add(slow);
    let (one, two) = (begun(&hub, "a_quick").await, begun(&hub, "a_slow").await);
    gate.arrival().await;
    held.arrival().await;
    let begin = tokio::time::Instant::now();
    let kernel = hub.kernel.clone();
    let closing = tokio::spawn(async move { kernel.close(Duration::from_secs(5)).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let late = hub.call("a_quick", json!({})).await;
    assert_eq!(
        told(&late),
        "transient: the hub is stopping and takes no more calls"
    );
    gate.open();
    closing.await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), 5);
    let run = hub.kernel.run(&one).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded);
    let run = hub.kernel.run(&two).await.unwrap();
    assert_eq!(run.state, RunState::Cancelled);
    let message = run.answer.unwrap()["error"]["message"].clone();
    assert_eq!(message, "the run was stopped by the hub, which is stopping");
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_stops_sends_those_home_who_wait_for_people() {
    let hub = Hub::new().await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let kernel = hub.kernel.clone();
    let calling =
        tokio::spawn(async move { kernel.call(waiting(&ann(), "a_write", json!({}))).await });
    let mut changes = hub.kernel.changes();
    changes.recv().await.unwrap();
    hub.kernel.close(Duration::from_secs(5)).await;
    let answer = calling.await.unwrap();
    assert_eq!(answer.meta.state, Some(RunState::PendingApproval));
    assert!(answer.meta.approval.is_some());
}
