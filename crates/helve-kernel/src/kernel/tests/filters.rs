//! Filters: the onion, what one may change, and what it may not.

use std::sync::{Arc, Mutex};

use super::harness::*;
use crate::{ApprovalState, Filter, Next, Passing, Reply, RunState, Tool, ToolError, Verdict};
use serde_json::{Map, Value, json};

type Change = Box<dyn Fn(&mut Map<String, Value>) + Send + Sync>;

/// Does what a test wants, and writes down when.
struct Onion {
    name: &'static str,
    way: &'static str,
    log: Arc<Mutex<Vec<String>>>,
    change: Change,
}

#[async_trait::async_trait]
impl Filter for Onion {
    fn name(&self) -> &str {
        self.name
    }

    async fn around(&self, mut call: Passing, next: Next<'_>) -> Result<Reply, ToolError> {
        let log = |what: &str| {
            self.log
                .lock()
                .unwrap()
                .push(format!("{what} {}", self.name));
        };
        log("into");
        match self.way {
            "stop" => return Err(ToolError::denied("the filter says no")),
            "answer" => return Ok(Reply::new("from the filter")),
            "panic" => panic!("peeled"),
            _ => {}
        }
        (self.change)(&mut call.args);
        let result = next.run(call).await;
        log("out of");
        match self.way {
            "panic after" => panic!("peeled"),
            "redact" => result.map(|r| Reply {
                data: json!("redacted"),
                ..r
            }),
            _ => result,
        }
    }
}

fn onion(name: &'static str, way: &'static str) -> Onion {
    Onion {
        name,
        way,
        log: Arc::default(),
        change: Box::new(|_| ()),
    }
}

fn setting(key: &'static str, value: Value) -> Onion {
    let change = move |args: &mut Map<String, Value>| {
        args.insert(key.to_owned(), value.clone());
    };
    Onion {
        change: Box::new(change),
        ..onion("setter", "")
    }
}

async fn hub(filter: Onion, more: Value) -> (Hub, Count) {
    let hub = Hub::with(|b| b.filter(Arc::new(filter))).await;
    let (tool, count) = counting("a_tool", more);
    hub.add(tool);
    (hub, count)
}

#[tokio::test]
async fn the_first_is_the_outermost() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let of = |name| Onion {
        log: log.clone(),
        ..onion(name, "")
    };
    let hub = Hub::with(|b| b.filter(Arc::new(of("a"))).filter(Arc::new(of("b")))).await;
    let inside = log.clone();
    hub.add(Tool::of_args(def("a_tool", json!({})), move |args| {
        inside.lock().unwrap().push("tool".to_owned());
        async move { Ok(args) }
    }));
    assert!(hub.call("a_tool", json!({})).await.is_ok());
    let order = ["into a", "into b", "tool", "out of b", "out of a"];
    assert_eq!(*log.lock().unwrap(), order);
}

#[tokio::test]
async fn one_that_stops_or_crashes_ends_its_call_and_no_other() {
    for (way, said, state, runs, events) in [
        (
            "stop",
            "denied: the filter says no",
            RunState::Denied,
            0,
            &["run.stopped"][..],
        ),
        (
            "panic",
            "internal: the filter `onion` crashed: peeled",
            RunState::Failed,
            0,
            &["run.stopped"],
        ),
        (
            "panic after",
            "internal: the filter `onion` crashed: peeled",
            RunState::Failed,
            1,
            &["run.started", "run.ended"],
        ),
        (
            "answer",
            r#"ok: "from the filter""#,
            RunState::Succeeded,
            0,
            &["run.stopped"],
        ),
        (
            "redact",
            r#"ok: "redacted""#,
            RunState::Succeeded,
            1,
            &["run.started", "run.ended"],
        ),
    ] {
        let (hub, count) = hub(onion("onion", way), json!({})).await;
        let answer = hub.call("a_tool", json!({"x": 1})).await;
        assert_eq!(told(&answer), said, "{way}");
        assert_eq!(answer.meta.state, Some(state), "{way}");
        assert_eq!(count.get(), runs, "{way}");
        assert_eq!(hub.events().await, events, "{way}");
        let run = hub.run_of(&answer).await;
        assert_eq!(run.state, state, "{way}");
        assert_eq!(run.args, json!({"x": 1}));
        assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
        if way == "redact" {
            assert_eq!(run.answer.unwrap()["data"], "redacted");
        }
    }
}

#[tokio::test]
async fn what_one_changes_is_checked_again() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer"},
        "path": {"type": "string", "format": "path"},
    }});
    let more = json!({"input_schema": schema, "allowed_paths": ["in"]});
    for (filter, said, runs) in [
        (setting("n", json!(2)), r#"ok: {"n":2}"#, 1),
        (
            setting("n", json!("many")),
            "validation: a filter broke the arguments",
            0,
        ),
        (
            setting("command", json!("ls")),
            "validation: a filter broke the arguments",
            0,
        ),
        (
            setting("path", json!("../x")),
            "permission: argument `path`",
            0,
        ),
        (
            setting("n", json!(13)),
            "denied: a filter changed the arguments",
            0,
        ),
        (
            setting("n", json!(14)),
            "denied: a filter changed the arguments",
            0,
        ),
    ] {
        let (hub, count) = hub(filter, more.clone()).await;
        hub.kernel.set_policy(rules(json!([
            {"effect": "deny", "args": {"n": "13"}},
            {"effect": "ask", "args": {"n": "14"}},
        ])));
        let answer = hub.call("a_tool", json!({"n": 1})).await;
        assert!(told(&answer).starts_with(said), "{said}: {answer:?}");
        assert_eq!(count.get(), runs, "{said}");
    }
}

#[tokio::test]
async fn what_was_really_run_is_on_record() {
    let (hub, _) = hub(setting("n", json!(2)), json!({})).await;
    let answer = hub.call("a_tool", json!({"n": 1})).await;
    assert_eq!(hub.record().await[0]["details"]["args"], json!({"n": 2}));
    assert_eq!(hub.run_of(&answer).await.args, json!({"n": 2}));
}

#[tokio::test]
async fn a_secret_that_one_puts_in_is_not_kept() {
    let filter = setting("key", json!("s3cret-of-the-vault"));
    let hub = Hub::with(|b| b.filter(Arc::new(filter))).await;
    let schema = json!({"type": "object", "properties": {
        "key": {"type": "string", "x-secret": true},
    }});
    hub.add(echo("a_tool", json!({"input_schema": schema.clone()})));
    let answer = hub.call("a_tool", json!({})).await;
    assert_eq!(answer.result, Ok(json!({"key": "s3cret-of-the-vault"})));
    assert!(!hub.keeps("s3cret-of-the-vault").await);
    // Nor where it breaks the arguments, and the error quotes it.
    let mut numbers = schema;
    numbers["properties"]["key"]["type"] = json!("integer");
    hub.add(echo("b_tool", json!({"input_schema": numbers})));
    assert!(!hub.call("b_tool", json!({})).await.is_ok());
    assert!(!hub.keeps("s3cret-of-the-vault").await);
}

#[tokio::test]
async fn a_result_that_one_changed_must_fit_too() {
    let (hub, _) = hub(
        onion("onion", "redact"),
        json!({"output_schema": {"type": "object"}}),
    )
    .await;
    let answer = hub.call("a_tool", json!({})).await;
    assert!(
        told(&answer).contains("does not fit its `output_schema`"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn what_was_approved_is_not_changed_and_not_left_open() {
    for (filter, state) in [
        (setting("n", json!(2)), RunState::Denied),
        (onion("onion", "stop"), RunState::Denied),
        (onion("onion", "panic"), RunState::Failed),
        (onion("onion", "answer"), RunState::Succeeded),
    ] {
        let (hub, count) = hub(filter, json!({"risk": "write"})).await;
        let approval = hub.ask(&ann(), "a_tool", json!({"n": 1})).await;
        let yes = Verdict::Approve;
        hub.kernel
            .decide(&bob(), &approval.id, yes, None)
            .await
            .unwrap();
        assert_eq!(hub.end_of(&approval).await.state, state);
        let over = hub.kernel.approval(&approval.id).await.unwrap();
        assert_eq!(over.state, ApprovalState::Withdrawn);
        assert_eq!(count.get(), 0);
    }
}

#[tokio::test]
async fn a_key_is_for_what_was_asked_not_for_what_a_filter_made_of_it() {
    let number = Count::default();
    let change = move |args: &mut Map<String, Value>| {
        number.add();
        args.insert("trace".to_owned(), json!(number.get()));
    };
    let filter = Onion {
        change: Box::new(change),
        ..onion("tracer", "")
    };
    let (hub, count) = hub(filter, json!({})).await;
    let call = || crate::Call::new(ann(), "a_tool", json!({"n": 1})).key("k");
    let (one, two) = (hub.kernel.call(call()).await, hub.kernel.call(call()).await);
    assert_eq!(one.meta.run_id, two.meta.run_id);
    assert_eq!((one.result, count.get()), (two.result, 1));
}

#[tokio::test(start_paused = true)]
async fn one_that_hangs_can_be_stopped() {
    struct Hang(Gate);
    #[async_trait::async_trait]
    impl Filter for Hang {
        fn name(&self) -> &str {
            "hang"
        }

        async fn around(&self, call: Passing, next: Next<'_>) -> Result<Reply, ToolError> {
            self.0.pass().await;
            next.run(call).await
        }
    }
    let gate = Gate::default();
    let hub = Hub::with(|b| b.filter(Arc::new(Hang(gate.clone())))).await;
    let (tool, count) = counting("a_tool", json!({}));
    hub.add(tool);
    let call = crate::Call::new(ann(), "a_tool", json!({})).wait(crate::Wait::Nothing);
    let answer = hub.kernel.call(call).await;
    gate.arrival().await;
    let id = answer.meta.run_id.unwrap();
    hub.kernel.cancel(&ann(), &id).await.unwrap();
    let run = hub.kernel.wait_for(&id).await.unwrap();
    assert_eq!((run.state, count.get()), (RunState::Cancelled, 0));
    // And it does not keep the hub from stopping.
    let call = crate::Call::new(ann(), "a_tool", json!({})).wait(crate::Wait::Nothing);
    hub.kernel.call(call).await;
    gate.arrival().await;
    hub.kernel.close(std::time::Duration::from_secs(1)).await;
    assert_eq!(count.get(), 0);
}
