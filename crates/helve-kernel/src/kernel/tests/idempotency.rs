//! The same call again, and its one effect.

use super::harness::*;
use crate::{Call, Principal, RunState, Tool, Wait};
use futures_util::future::join_all;
use serde_json::{Value, json};

fn keyed(who: &Principal, args: Value) -> Call {
    Call::new(who.clone(), "a_tool", args).key("k")
}

#[tokio::test]
async fn the_same_key_and_body_are_the_same_run() {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({"return_direct": true}));
    hub.add(tool);
    let one = hub.kernel.call(keyed(&ann(), json!({"x": 1}))).await;
    let mut two = hub.kernel.call(keyed(&ann(), json!({"x": 1}))).await;
    two.meta.timing_ms = one.meta.timing_ms;
    assert_eq!((one, count.get()), (two, 1));
    assert_eq!(hub.events().await, ["run.started", "run.ended"]);
}

#[tokio::test]
async fn another_body_is_a_conflict_and_leaves_no_run() {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({}));
    hub.add(tool);
    hub.kernel.call(keyed(&ann(), json!({"x": 1}))).await;
    for wait in [Wait::Run, Wait::Nothing] {
        let call = keyed(&ann(), json!({"x": 2})).wait(wait);
        let answer = hub.kernel.call(call).await;
        assert_eq!(
            told(&answer),
            "conflict: the idempotency key was used for another call"
        );
        assert_eq!((answer.meta.run_id, answer.meta.state), (None, None));
    }
    hub.kernel.set_policy(rules(json!([{"effect": "ask"}])));
    let answer = hub.kernel.call(keyed(&ann(), json!({"x": 2}))).await;
    assert!(told(&answer).starts_with("conflict: "));
    assert_eq!(count.get(), 1);
    let events = hub.events().await;
    assert_eq!(
        events[2..],
        ["call.refused", "call.refused", "call.refused"]
    );
    assert!(hub.kernel.inner.waiting.lock().unwrap().is_empty());
}

#[tokio::test]
async fn everybody_has_their_own_keys() {
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({}));
    hub.add(tool);
    hub.kernel.call(keyed(&ann(), json!({"x": 1}))).await;
    assert!(
        hub.kernel
            .call(keyed(&bob(), json!({"x": 2})))
            .await
            .is_ok()
    );
    assert_eq!(count.get(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_have_one_effect() {
    let hub = Hub::new().await;
    let count = Count::default();
    let counted = count.clone();
    hub.add(Tool::of_args(def("a_tool", json!({})), move |args| {
        counted.add();
        async move {
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            Ok(args)
        }
    }));
    let calls = (0..32).map(|_| {
        let (kernel, call) = (hub.kernel.clone(), keyed(&ann(), json!({"x": 1})));
        tokio::spawn(async move { kernel.call(call).await })
    });
    let answers = join_all(calls).await;
    let first = answers[0].as_ref().unwrap().meta.run_id.clone();
    for answer in answers {
        let answer = answer.unwrap();
        assert_eq!(answer.result, Ok(json!({"x": 1})));
        assert_eq!(answer.meta.run_id, first);
    }
    assert_eq!(count.get(), 1);
    assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_repetition_of_what_waits_for_people_waits_with_it() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({"risk": "write"})));
    let one = hub.kernel.call(keyed(&ann(), json!({}))).await;
    let two = hub.kernel.call(keyed(&ann(), json!({}))).await;
    assert_eq!(one.meta.run_id, two.meta.run_id);
    assert_eq!(one.meta.approval, two.meta.approval);
    assert_eq!(two.meta.state, Some(RunState::PendingApproval));
    // Also where the rules would let it run by now.
    hub.kernel.set_policy(rules(json!([{"effect": "allow"}])));
    let three = hub.kernel.call(keyed(&ann(), json!({}))).await;
    assert_eq!(three.meta.state, Some(RunState::PendingApproval));
    let id = one.meta.approval.unwrap();
    let (kernel, call) = (
        hub.kernel.clone(),
        keyed(&ann(), json!({})).wait(Wait::Decision),
    );
    let patient = tokio::spawn(async move { kernel.call(call).await });
    tokio::task::yield_now().await;
    let yes = crate::Verdict::Approve;
    hub.kernel.decide(&bob(), &id, yes, None).await.unwrap();
    assert_eq!(patient.await.unwrap().meta.state, Some(RunState::Succeeded));
}

#[tokio::test]
async fn a_key_tells_nothing_of_a_secret() {
    // The hash of what was asked is kept; of a short secret, a plain one could be guessed.
    let schema = json!({"type": "object", "properties": {"pin": {"x-secret": true}}});
    let hub = Hub::new().await;
    let (tool, count) = counting("a_tool", json!({"input_schema": schema}));
    hub.add(tool);
    let ready = |args: Value| hub.kernel.ready(keyed(&ann(), args)).ok().unwrap();
    let body = ready(json!({"pin": "1234"})).idempotency().unwrap().body;
    let guess = json!({"tool": "a_tool", "args": {"pin": "1234"}});
    assert_ne!(body, helve_core::audit::hash_of(&guess).unwrap());
    assert_eq!(
        body,
        ready(json!({"pin": "1234"})).idempotency().unwrap().body
    );
    assert_ne!(
        body,
        ready(json!({"pin": "1235"})).idempotency().unwrap().body
    );
    assert_eq!(count.get(), 0);
}

#[tokio::test]
async fn another_context_or_agent_is_another_call() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({})));
    let with = |agent: &str, tenant: &str| {
        let ctx = crate::Ctx::builder().agent_id(agent).set("tenant", tenant);
        let mut call = keyed(&ann(), json!({}));
        call.ctx = ctx.build();
        call
    };
    let one = hub.kernel.call(with("a", "t")).await;
    let two = hub.kernel.call(with("a", "t")).await;
    assert_eq!(one.meta.run_id, two.meta.run_id);
    for call in [with("b", "t"), with("a", "u"), keyed(&ann(), json!({}))] {
        let said = told(&hub.kernel.call(call).await);
        assert!(said.starts_with("conflict: "), "{said}");
    }
}
