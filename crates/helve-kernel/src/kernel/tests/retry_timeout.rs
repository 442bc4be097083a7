//! Trying again, and giving up.

use std::time::Duration;

use super::harness::*;
use crate::{RunState, Tool, ToolError};
use helve_core::def::Risk;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Fails `failures` times in that way, and tells when it was tried.
async fn tried(more: Value, failures: usize, kind: fn(&str) -> ToolError) -> (String, Vec<u64>) {
    let policy = json!([{"effect": "allow"}]);
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    let (sender, mut times) = tokio::sync::mpsc::unbounded_channel();
    let begun = Instant::now();
    let count = Count::default();
    hub.add(Tool::of_args(def("a_tool", more), move |_| {
        sender.send(begun.elapsed().as_millis()).unwrap();
        count.add();
        let failed = usize::try_from(count.get()).unwrap() <= failures;
        async move {
            match failed {
                true => Err(kind("again")),
                false => Ok(json!("done")),
            }
        }
    }));
    let answer = hub.call("a_tool", json!({})).await;
    let mut tries = Vec::new();
    while let Ok(at) = times.try_recv() {
        tries.push(u64::try_from(at).unwrap());
    }
    assert_eq!(answer.meta.attempts as usize, tries.len());
    let shown = answer.to_value()["meta"]["attempts"].clone();
    assert_eq!(shown.is_null(), tries.len() == 1);
    (told(&answer), tries)
}

#[tokio::test(start_paused = true)]
async fn only_what_is_transient_and_harmless_is_tried_again() {
    let transient: fn(&str) -> ToolError = |m| ToolError::transient(m);
    let internal: fn(&str) -> ToolError = |m| ToolError::internal(m);
    let timeout: fn(&str) -> ToolError = |m| ToolError::timeout(m);
    let (done, again) = (r#"ok: "done""#, "transient: again");
    for (more, failures, kind, said, tries) in [
        (json!({"retry": true}), 1, transient, done, vec![0, 200]),
        (
            json!({"retry": true}),
            2,
            transient,
            done,
            vec![0, 200, 600],
        ),
        (
            json!({"retry": true}),
            9,
            transient,
            again,
            vec![0, 200, 600],
        ),
        (
            json!({"retry": {"max": 4, "delay_ms": 100}}),
            9,
            transient,
            again,
            vec![0, 100, 300, 700, 1500],
        ),
        (json!({}), 1, transient, again, vec![0]),
        (
            json!({"retry": true}),
            1,
            internal,
            "internal: again",
            vec![0],
        ),
        (
            json!({"retry": true}),
            1,
            timeout,
            "timeout: again",
            vec![0],
        ),
        (
            json!({"retry": true, "risk": "write"}),
            1,
            transient,
            again,
            vec![0],
        ),
        (
            json!({"retry": true, "risk": "write", "idempotent": true}),
            1,
            transient,
            done,
            vec![0, 200],
        ),
        (
            json!({"retry": true, "risk": "exec_high"}),
            1,
            transient,
            done,
            vec![0, 200],
        ),
    ] {
        let was = tried(more.clone(), failures, kind).await;
        assert_eq!(was, (said.to_owned(), tries), "{more}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_say_is_not_tried_again() {
    let mut def = def("a_tool", json!({"retry": true}));
    def.risk = None;
    let policy = json!([{"effect": "allow"}]);
    let hub = Hub::with(|b| b.policy(rules(policy))).await;
    hub.add(Tool::of_args(def, |_| async {
        Err::<Value, _>(ToolError::transient("again"))
    }));
    assert_eq!(hub.call("a_tool", json!({})).await.meta.attempts, 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_dropped() {
    for (more, seconds, limit, hint) in [
        (json!({}), 30, "30s", "it can be called again"),
        (json!({"timeout": 2}), 2, "2s", "it can be called again"),
        (
            json!({"timeout": 2, "risk": "exec_low"}),
            2,
            "2s",
            "whether it took effect is unknown",
        ),
    ] {
        let hub = Hub::new().await;
        let (tool, gate) = gated("a_tool", more);
        hub.add(tool);
        let begun = Instant::now();
        let answer = hub.call("a_tool", json!({})).await;
        assert_eq!(begun.elapsed().as_secs(), seconds);
        let error = ToolError::timeout(format!("`a_tool` ran past its limit of {limit}"));
        assert_eq!(answer.result, Err(error.with_hint(hint)));
        assert_eq!(answer.meta.exit_code, Some(124));
        assert_eq!(answer.meta.state, Some(RunState::TimedOut));
        let run = hub.run_of(&answer).await;
        assert_eq!((run.state, run.exit_code), (RunState::TimedOut, Some(124)));
        gate.arrival().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_takes_too_long_is_told_and_given_time_to_clear_up() {
    let hub = Hub::new().await;
    let begun = Instant::now();
    for (command, seconds) in [("wait", 30), ("deaf", 30 + 10)] {
        hub.register(host("a_tool", Risk::Read, command))
            .await
            .unwrap();
        let before = begun.elapsed();
        let answer = hub.call("a_tool", json!({})).await;
        assert_eq!(answer.meta.state, Some(RunState::TimedOut));
        assert_eq!((begun.elapsed() - before).as_secs(), seconds, "{command}");
    }
    assert_eq!(hub.executor.cleared.get(), 1);
}

#[tokio::test]
async fn a_handler_that_panics_fails_its_run_only() {
    let hub = Hub::new().await;
    hub.add(Tool::of_args(def("a_tool", json!({})), |_| async {
        if true {
            panic!("out of cheese");
        }
        Ok(json!(1))
    }));
    hub.add(Tool::of_args(
        def("b_tool", json!({})),
        |args: Value| -> std::future::Ready<Result<Value, ToolError>> {
            panic!("at once: {}", args["x"])
        },
    ));
    for (tool, said) in [
        ("a_tool", "internal: `a_tool` crashed: out of cheese"),
        ("b_tool", "internal: `b_tool` crashed: at once: null"),
    ] {
        let answer = hub.call(tool, json!({})).await;
        assert_eq!(told(&answer), said);
        assert_eq!(hub.run_of(&answer).await.state, RunState::Failed);
    }
    assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_store_that_panics_in_between_leaves_no_run_behind() {
    let hub = Hub::new().await;
    hub.register(host("a_tool", Risk::Read, "leak"))
        .await
        .unwrap();
    hub.store.fail("panic_append_chunks");
    let answer = hub.call("a_tool", json!({"key": "something"})).await;
    assert_eq!(
        told(&answer),
        "internal: the run crashed: the store is on fire"
    );
    assert_eq!(hub.run_of(&answer).await.state, RunState::Failed);
    assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_exit_code_of_a_program_is_told() {
    let hub = Hub::new().await;
    hub.register(host("a_tool", Risk::Read, "complain"))
        .await
        .unwrap();
    let answer = hub.call("a_tool", json!({})).await;
    assert_eq!(answer.to_value()["meta"]["exit_code"], 3);
    assert_eq!(hub.run_of(&answer).await.exit_code, Some(3));
}

#[tokio::test]
async fn a_tool_without_anybody_to_run_it_says_so() {
    let hub = Hub::new().await;
    let mut def = host("a_tool", Risk::Read, "x");
    def.executor = None;
    hub.register(def).await.unwrap();
    let answer = hub.call("a_tool", json!({})).await;
    assert_eq!(told(&answer), "dependency: `a_tool` has no executor");
    let mut def = host("b_tool", Risk::Read, "x");
    def.executor = Some(helve_core::def::Executor::of(
        helve_core::def::ExecutorKind::Builtin,
    ));
    hub.register(def).await.unwrap();
    let answer = hub.call("b_tool", json!({})).await;
    assert!(
        told(&answer).starts_with("dependency: this hub cannot run"),
        "{answer:?}"
    );
    hub.kernel.close(Duration::from_secs(1)).await;
}
