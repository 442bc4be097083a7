//! What a crash leaves, and what the next start makes of it.

use super::harness::*;
use crate::{Call, OpenError, RunState, Store as _, Wait};
use helve_core::def::Risk;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn what_ran_or_waited_for_its_turn_is_lost() {
    let hub = Hub::new().await;
    let (tool, gate) = gated("a_tool", json!({}));
    hub.add(tool);
    let queue = || Call::new(ann(), "a_tool", json!({})).wait(Wait::Nothing);
    let running = hub.kernel.call(queue()).await.meta.run_id.unwrap();
    gate.arrival().await;
    // One that is open and never gets further.
    let held = hub.store.hold("open_run");
    let kernel = hub.kernel.clone();
    let stuck = tokio::spawn(async move { kernel.call(queue()).await });
    held.arrival().await;
    let again = hub.restarted(|b| b).await;
    let runs = hub.store.runs(Default::default(), 10).await.unwrap();
    let queued = runs.iter().find(|r| r.id != running).unwrap();
    for (id, said, retryable) in [
        (&running, "the hub stopped while the tool ran", false),
        (&queued.id, "the hub stopped before the run began", true),
    ] {
        let run = again.run(id).await.unwrap();
        assert_eq!(run.state, RunState::Failed);
        assert!(run.ended.is_some());
        let answer = run.answer.unwrap();
        assert_eq!(answer["error"]["message"], said);
        assert_eq!(answer["error"]["retryable"], retryable);
        assert_eq!(answer["meta"]["state"], "failed");
    }
    let events = [
        "run.queued",
        "run.started",
        "run.queued",
        "run.lost",
        "run.lost",
    ];
    assert_eq!(hub.events().await, events);
    stuck.abort();
}

#[tokio::test]
async fn many_are_all_settled() {
    let hub = Hub::new().await;
    let run = |n: usize| crate::Run {
        id: crate::RunId::fresh(),
        tool: format!("a_tool{n}"),
        version: "1.0.0".to_owned(),
        version_hash: helve_core::audit::Hash::ZERO,
        owner: "ann".to_owned(),
        under: None,
        agent: None,
        state: RunState::Running,
        args: json!({}),
        created: hub.kernel.now(),
        started: None,
        ended: None,
        approval: None,
        exit_code: None,
        answer: None,
    };
    for n in 0..450 {
        let record = hub.kernel.entry_of("ann", "run.started", "x");
        hub.store
            .open_run(run(n), None, None, record)
            .await
            .unwrap();
    }
    hub.restarted(|b| b).await;
    let filter = crate::store::RunFilter {
        state: Some(RunState::Running),
        ..Default::default()
    };
    assert_eq!(hub.store.runs(filter, 1).await.unwrap(), []);
    assert_eq!(hub.events().await.len(), 900);
}

#[tokio::test]
async fn tools_and_tokens_are_there_again() {
    let hub = Hub::new().await;
    hub.register(host("a_tool", Risk::Read, "echo"))
        .await
        .unwrap();
    hub.register(host("b_tool", Risk::Read, "echo"))
        .await
        .unwrap();
    hub.kernel
        .set_enabled(&ann(), "b_tool", false)
        .await
        .unwrap();
    let new = crate::NewToken::agent("bot");
    let (token, secret) = hub.kernel.create_token(&ann(), new).await.unwrap();
    let again = hub.restarted(|b| b).await;
    let who = again.authenticate(secret.reveal()).unwrap();
    assert_eq!(*who, token.principal());
    let answer = again
        .call(Call::new(who.clone(), "a_tool", json!({"say": "x"})))
        .await;
    assert!(answer.is_ok(), "{answer:?}");
    let answer = again.call(Call::new(who, "b_tool", json!({}))).await;
    assert_eq!(told(&answer), "not_found: `b_tool` is disabled");
}

#[tokio::test]
async fn a_definition_that_was_tampered_with_is_not_loaded() {
    let hub = Hub::new().await;
    hub.register(host("a_tool", Risk::Write, "echo"))
        .await
        .unwrap();
    let mut tools = hub.store.tools().await.unwrap();
    for part in ["definition", "fingerprint", "hash"] {
        let mut tampered = tools.clone();
        let current = &mut tampered[0].current;
        match part {
            "definition" => current.definition["risk"] = json!("read"),
            "fingerprint" => current.fingerprint = Some(json!({"program": "evil"})),
            _ => current.hash = helve_core::audit::Hash::ZERO,
        }
        *hub.store.tampered.lock().unwrap() = Some(tampered);
        let opened = crate::Kernel::builder()
            .store(hub.store.clone())
            .open()
            .await;
        let Err(OpenError::Tool(said)) = opened else {
            panic!("{part} was taken")
        };
        assert_eq!(
            said,
            "`a_tool`: its definition is not the one that was registered"
        );
    }
    tools[0].enabled = false;
    *hub.store.tampered.lock().unwrap() = Some(tools);
    assert!(
        crate::Kernel::builder()
            .store(hub.store.clone())
            .open()
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_store_that_cannot_be_read_opens_no_hub() {
    for verb in [
        "audit_head",
        "audit",
        "tools",
        "tokens",
        "runs",
        "approvals",
    ] {
        let hub = Hub::new().await;
        hub.store.fail(verb);
        let opened = crate::Kernel::builder()
            .store(hub.store.clone())
            .open()
            .await;
        assert!(matches!(opened, Err(OpenError::Store(_))), "{verb}");
    }
}
