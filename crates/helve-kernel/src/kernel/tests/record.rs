//! Law three: what is on record, in which order, and what happens where it cannot be.

use super::harness::*;
use crate::{Call, RunState, Store as _, Tool, Wait};
use serde_json::{Value, json};

#[tokio::test(start_paused = true)]
async fn the_start_is_durable_before_the_tool_runs() {
    let hub = Hub::new().await;
    let store = hub.store.clone();
    hub.add(Tool::new(
        def("a_tool", json!({})),
        move |ctx: crate::Ctx, _| {
            let store = store.clone();
            async move {
                let id = crate::RunId::parse(ctx.run_id().unwrap()).unwrap();
                let run = store.run(&id).await.unwrap().unwrap();
                let entries = store.audit(Default::default(), 10).await.unwrap();
                Ok(json!({"state": run.state.as_str(), "last": entries.last().unwrap().record}))
            }
        },
    ));
    let call = Call::new(ann(), "a_tool", json!({"x": 1})).ctx(ctx_of("helper"));
    let answer = hub.kernel.call(call).await;
    let data = answer.result.unwrap();
    assert_eq!(data["state"], "running");
    let entry = hub.kernel.resolve("a_tool").unwrap();
    assert_eq!(
        data["last"],
        json!({
            "at": "2023-11-14T22:13:20.000Z",
            "event": "run.started",
            "actor": "ann",
            "resource": answer.meta.run_id.unwrap().as_str(),
            "details": {
                "tool": "a_tool",
                "version": "1.0.0",
                "version_hash": entry.hash.to_string(),
                "risk": "read",
                "args": {"x": 1},
                "agent": "helper",
                "decision": {"effect": "allow", "reason": "it only reads"},
            },
        })
    );
}

#[tokio::test]
async fn every_way_of_a_run_is_told_in_order() {
    let hub = Hub::new().await;
    hub.add(echo("a_read", json!({})));
    hub.add(echo("a_write", json!({"risk": "write"})));
    hub.call("a_read", json!({})).await;
    let queued = Call::new(ann(), "a_read", json!({})).wait(Wait::Nothing);
    let answer = hub.kernel.call(queued).await;
    hub.kernel
        .wait_for(&answer.meta.run_id.unwrap())
        .await
        .unwrap();
    hub.call("nobody", json!({})).await;
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.approve(&bob(), &approval).await.unwrap();
    hub.end_of(&approval).await;
    let events = [
        "run.started",
        "run.ended",
        "run.queued",
        "run.started",
        "run.ended",
        "call.refused",
        "run.asked",
        "approval.decided",
        "run.started",
        "run.ended",
    ];
    assert_eq!(hub.events().await, events);
    let record = hub.record().await;
    let actors: Vec<&str> = record
        .iter()
        .map(|r| r["actor"].as_str().unwrap())
        .collect();
    assert_eq!(actors[6..], ["ann", "bob", "ann", "ann"]);
    assert_eq!(record[8]["details"]["approval"], approval.id.as_str());
    assert_eq!(record[7]["details"]["bound"], approval.bound.to_string());
    assert!(record[1]["details"]["result_hash"].is_string());
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_run() {
    let hub = Hub::new().await;
    let (read, reads) = counting("a_read", json!({}));
    let (write, writes) = counting("a_write", json!({"risk": "write"}));
    hub.add(read);
    hub.add(write);
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    for verb in ["open_run", "spend_approval", "record", "decide", "move_run"] {
        hub.store.fail(verb);
    }
    let said = "dependency: not run: the record could not be written: the store cannot be \
                written: the disk is full";
    for (tool, wait) in [
        ("a_read", Wait::Run),
        ("a_read", Wait::Nothing),
        ("a_write", Wait::Run),
        ("a_write", Wait::Decision),
        ("nobody", Wait::Run),
    ] {
        let answer = hub
            .kernel
            .call(Call::new(ann(), tool, json!({})).wait(wait))
            .await;
        assert_eq!(told(&answer), said, "{tool} {wait:?}");
        assert_eq!((answer.meta.run_id, answer.meta.state), (None, None));
    }
    assert!(hub.approve(&bob(), &approval).await.is_err());
    hub.store.mend();
    assert_eq!((reads.get(), writes.get()), (0, 0));
    assert_eq!(
        hub.kernel.inner.waiting.lock().unwrap().len(),
        1,
        "the one that waits"
    );
    assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
    assert!(hub.kernel.inner.askers.lock().unwrap().is_empty());
}

/// A read may have run by then; nobody hears of what it read.
#[tokio::test(start_paused = true)]
async fn a_read_whose_start_is_lost_gives_no_answer() {
    let hub = Hub::new().await;
    let (read, reads) = counting("a_read", json!({}));
    let (write, writes) = counting("a_write", json!({"risk": "write"}));
    hub.add(read);
    hub.add(write);
    let slow = def("a_slow_read", json!({}));
    hub.add(Tool::of_args(slow, |_| async {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        Ok(json!("read"))
    }));
    for verb in ["opening", "open_run"] {
        hub.store.fail(verb);
    }
    let said = "dependency: not run: the record could not be written: the store cannot be \
                written: the disk is full";
    for tool in ["a_read", "a_slow_read"] {
        let answer = hub.kernel.call(Call::new(ann(), tool, json!({}))).await;
        assert_eq!(told(&answer), said, "{tool}");
        assert_eq!((answer.meta.run_id, answer.meta.state), (None, None));
    }
    assert_eq!((reads.get(), writes.get()), (1, 0));
    assert!(hub.events().await.is_empty());
    // With a key, whether there is anything to run is known from its start.
    let keyed = Call::new(ann(), "a_read", json!({})).key("once");
    assert_eq!(told(&hub.kernel.call(keyed).await), said);
    assert_eq!(reads.get(), 1);
    hub.store.mend();
    assert!(hub.kernel.inner.running.lock().unwrap().is_empty());
}

/// How a run ended may be on the disk a moment later, unless somebody wants otherwise.
#[tokio::test]
async fn ends_are_synced_where_that_is_asked_for() {
    for sync in [false, true] {
        let hub = Hub::with(|b| b.sync_ends(sync)).await;
        hub.add(counting("a_read", json!({})).0);
        let answer = hub.kernel.call(Call::new(ann(), "a_read", json!({}))).await;
        assert!(answer.is_ok());
        assert_eq!(*hub.store.soon.lock().unwrap(), [!sync]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_approved_and_cannot_be_recorded_does_not_run_either() {
    let hub = Hub::new().await;
    let (write, writes) = counting("a_write", json!({"risk": "write"}));
    hub.add(write);
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.store.fail("spend_approval");
    hub.approve(&bob(), &approval).await.unwrap();
    assert_eq!(hub.end_of(&approval).await.state, RunState::Failed);
    assert_eq!(writes.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_recorded_is_told_and_recorded_later() {
    let hub = Hub::new().await;
    let store = hub.store.clone();
    let more = json!({"return_direct": true});
    hub.add(Tool::of_args(def("a_tool", more), move |_| {
        store.fail("move_run");
        async move { Ok(crate::Reply::new("done").write("slot", 1)) }
    }));
    let answer = hub.call("a_tool", json!({})).await;
    let error = answer.result.clone().unwrap_err();
    assert!(
        error
            .message
            .starts_with("it ran, but its end could not be recorded"),
        "{error}"
    );
    assert_eq!(
        error.hint.unwrap(),
        "do not repeat it before you know what it did"
    );
    assert_eq!(
        answer.meta.state,
        Some(RunState::Running),
        "as far as anybody can see"
    );
    assert_eq!(answer.writes, []);
    assert!(!answer.meta.return_direct);
    let id = answer.meta.run_id.unwrap();
    let kernel = hub.kernel.clone();
    let waiter = tokio::spawn(async move { kernel.wait_for(&id).await });
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(!waiter.is_finished());
    let mut changes = hub.kernel.changes();
    hub.store.mend();
    // Whoever watches is told.
    let told = changes.recv().await.unwrap();
    let run = waiter.await.unwrap().unwrap();
    assert_eq!(told, crate::Change::Run(run.id));
    assert_eq!(run.state, RunState::Succeeded);
    assert_eq!(run.answer.unwrap()["data"], "done");
    assert_eq!(hub.events().await, ["run.started", "run.ended"]);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_cannot_be_recorded_does_not_keep_a_hub_from_stopping() {
    let hub = Hub::new().await;
    let store = hub.store.clone();
    hub.add(Tool::of_args(def("a_tool", json!({})), move |_| {
        store.fail("move_run");
        async move { Ok(json!("done")) }
    }));
    let answer = hub.call("a_tool", json!({})).await;
    hub.kernel.close(std::time::Duration::from_secs(1)).await;
    hub.store.mend();
    // The next start finds it.
    let again = hub.restarted(|b| b).await;
    let run = again.run(&answer.meta.run_id.unwrap()).await.unwrap();
    assert_eq!(run.state, RunState::Failed);
    assert_eq!(hub.events().await, ["run.started", "run.lost"]);
}

#[tokio::test]
async fn output_that_cannot_be_kept_does_not_stop_a_run() {
    let hub = Hub::new().await;
    let def = host("a_tool", helve_core::def::Risk::Read, "leak");
    hub.register(def).await.unwrap();
    hub.store.fail("append_chunks");
    let answer = hub.call("a_tool", json!({"key": "something"})).await;
    assert!(answer.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chain_holds_after_everything_at_once() {
    let hub = Hub::new().await;
    hub.add(echo("a_read", json!({})));
    hub.add(echo("a_write", json!({"risk": "write"})));
    let calls = (0..200).map(|n| {
        let kernel = hub.kernel.clone();
        tokio::spawn(async move {
            let tool = ["a_read", "a_write", "nobody"][n % 3];
            let args: Value = json!({"n": n});
            kernel.call(Call::new(ann(), tool, args)).await
        })
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(hub.record().await.len(), 67 * 2 + 67 + 66);
}

/// What a program printed may be anything, and the record is for ever.
#[tokio::test]
async fn the_record_does_not_keep_what_a_program_said() {
    let hub = Hub::new().await;
    let tool = host("a_tool", helve_core::def::Risk::Read, "complain");
    hub.register(tool).await.unwrap();
    let answer = hub.call("a_tool", json!({})).await;
    let kept = hub.run_of(&answer).await.answer.unwrap();
    assert_eq!(kept["error"]["message"], "`` is wrong");
    let record = hub.record().await;
    let ended = record.iter().find(|r| r["event"] == "run.ended").unwrap();
    let details = &ended["details"];
    assert_eq!(details["error"], "internal");
    assert_eq!(details["exit_code"], 3);
    assert!(details.get("message").is_none(), "{details}");
}
