//! Several calls at once.

use std::sync::{Arc, Mutex};

use super::harness::*;
use crate::kernel::Conflict;
use crate::{Batch, Call, Ctx, Reply, Tool, ToolError};
use serde_json::{Value, json};

async fn all(hub: &Hub, calls: &[(&str, Value)]) -> Batch {
    let calls = calls
        .iter()
        .map(|(tool, args)| Call::new(ann(), *tool, args.clone()));
    let ctx = Ctx::builder().set("before", 1).build();
    hub.kernel.call_all(&ctx, calls.collect()).await
}

fn writer(name: &str, slot: &'static str, more: Value) -> Tool {
    Tool::of_args(def(name, more), move |args: Value| async move {
        Ok(Reply::new(args["x"].clone()).write(slot, args["x"].clone()))
    })
}

#[tokio::test]
async fn calls_run_beside_each_other_and_answer_in_order() {
    let hub = Hub::new().await;
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    hub.add(Tool::of_args(def("a_tool", json!({})), move |args| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(args)
        }
    }));
    let calls = [1, 2, 3].map(|x| ("a_tool", json!({"x": x})));
    let batch = all(&hub, &calls).await;
    let data: Vec<Value> = batch
        .answers
        .into_iter()
        .map(|a| a.result.unwrap())
        .collect();
    assert_eq!(data, [json!({"x": 1}), json!({"x": 2}), json!({"x": 3})]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_serial_tool_makes_all_of_them_wait() {
    let hub = Hub::new().await;
    let inside: Arc<Mutex<(i32, i32, Vec<Value>)>> = Arc::default();
    for (name, serial) in [("a_tool", false), ("b_tool", true)] {
        let inside = inside.clone();
        let tool = Tool::of_args(def(name, json!({"serial": serial})), move |args: Value| {
            let inside = inside.clone();
            async move {
                {
                    let mut now = inside.lock().unwrap();
                    now.0 += 1;
                    now.1 = now.1.max(now.0);
                    now.2.push(args["x"].clone());
                }
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                inside.lock().unwrap().0 -= 1;
                Ok(args)
            }
        });
        hub.add(tool);
    }
    let calls: Vec<(&str, Value)> = (0..6)
        .map(|x| (if x == 3 { "b_tool" } else { "a_tool" }, json!({"x": x})))
        .collect();
    all(&hub, &calls).await;
    let seen = inside.lock().unwrap();
    assert_eq!(seen.1, 1, "never two at once");
    assert_eq!(seen.2, [0, 1, 2, 3, 4, 5].map(|x| json!(x)));
}

#[tokio::test]
async fn one_that_crashes_changes_nothing_for_the_others() {
    let hub = Hub::new().await;
    hub.add(writer("a_tool", "slot", json!({})));
    hub.add(Tool::of_args(def("b_tool", json!({})), |_| async {
        if true {
            panic!("boom");
        }
        Ok(json!(1))
    }));
    hub.add(Tool::of_args(def("c_tool", json!({})), |_| async {
        Err::<Reply, _>(ToolError::internal("no"))
    }));
    let batch = all(
        &hub,
        &[
            ("b_tool", json!({})),
            ("a_tool", json!({"x": 1})),
            ("c_tool", json!({})),
            ("nobody", json!({})),
        ],
    )
    .await;
    let said: Vec<String> = batch.answers.iter().map(told).collect();
    assert_eq!(
        said,
        [
            "internal: `b_tool` crashed: boom",
            "ok: 1",
            "internal: no",
            "not_found: there is no tool named `nobody`"
        ]
    );
    let ctx = batch.ctx.unwrap();
    assert_eq!(
        (ctx.get("slot"), ctx.get("before")),
        (Some(&json!(1)), Some(&json!(1)))
    );
}

#[tokio::test]
async fn writes_are_folded_and_two_to_one_slot_are_a_conflict() {
    let hub = Hub::new().await;
    hub.add(writer("a_tool", "one", json!({})));
    hub.add(writer("b_tool", "two", json!({})));
    let batch = all(
        &hub,
        &[("a_tool", json!({"x": 1})), ("b_tool", json!({"x": 2}))],
    )
    .await;
    let ctx = batch.ctx.unwrap();
    assert_eq!(
        (ctx.get("one"), ctx.get("two")),
        (Some(&json!(1)), Some(&json!(2)))
    );
    let calls = [
        ("b_tool", json!({"x": 0})),
        ("a_tool", json!({"x": 1})),
        ("a_tool", json!({"x": 2})),
    ];
    let batch = all(&hub, &calls).await;
    let conflict = Conflict {
        slot: "one".to_owned(),
        first: 2,
        first_tool: "a_tool".to_owned(),
        second: 3,
        second_tool: "a_tool".to_owned(),
    };
    assert_eq!(
        conflict.to_string(),
        "call 2 (`a_tool`) and call 3 (`a_tool`) both write `one`"
    );
    assert_eq!(batch.ctx.unwrap_err(), conflict);
    assert!(
        batch.answers.iter().all(crate::Answer::is_ok),
        "the answers are there"
    );
}

#[tokio::test]
async fn a_failed_tool_writes_nothing() {
    let hub = Hub::new().await;
    hub.add(writer(
        "a_tool",
        "slot",
        json!({"output_schema": {"type": "string"}}),
    ));
    let batch = all(&hub, &[("a_tool", json!({"x": 1}))]).await;
    assert!(!batch.answers[0].is_ok());
    assert_eq!(batch.ctx.unwrap().get("slot"), None);
}

#[tokio::test]
async fn results_go_to_the_user_only_if_all_do() {
    let hub = Hub::new().await;
    hub.add(echo("a_tool", json!({"return_direct": true})));
    hub.add(echo("b_tool", json!({})));
    let (a, b) = (("a_tool", json!({})), ("b_tool", json!({})));
    for (calls, direct) in [
        (vec![a.clone()], true),
        (vec![a.clone(), a.clone()], true),
        (vec![a.clone(), b.clone()], false),
        (vec![b], false),
        (vec![a, ("nobody", json!({}))], false),
        (vec![], false),
    ] {
        assert_eq!(all(&hub, &calls).await.return_direct, direct, "{calls:?}");
    }
}
