//! What is due runs, once, as whoever scheduled it; and what does not, says why.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use helve_kernel::store::{AuditFilter, RunFilter};
use helve_kernel::{At, Clock, MemoryStore, RunState, Verdict};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{Hand, Hub, START, ok};
use crate::schedule::kept::{STATES, runs};
use crate::schedule::ticker::{Settings, tick};

#[tokio::test]
async fn what_is_due_runs_once() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    assert_eq!(hub.step(59).await, Some(60), "not before");
    assert_eq!(hub.hits(), [] as [&str; 0]);
    assert_eq!(hub.step(1).await, Some(120));
    assert_eq!(hub.step(0).await, Some(120), "nor twice");
    assert_eq!(hub.step(60).await, Some(180));
    assert_eq!(hub.hits(), ["hit by ann", "hit by ann"]);
    assert_eq!(hub.past(&id).await, ok(&[60, 120]));
    assert_eq!(
        hub.events(&id).await,
        [
            "schedule.fired",
            "schedule.ended",
            "schedule.fired",
            "schedule.ended"
        ]
    );
    let told = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(told["schedules"][0]["next_at"], "2026-01-01T00:03:00.000Z");
    assert_eq!(told["schedules"][0]["last_at"], "2026-01-01T00:02:00.000Z");
}

#[tokio::test]
async fn the_run_is_one_like_any_other() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    hub.step(60).await;
    let told = hub.rig.data("schedule_executions", json!({})).await;
    let run_id = told["executions"][0]["run_id"].as_str().unwrap();
    let filter = RunFilter {
        tool: Some("probe_hit".to_owned()),
        ..RunFilter::default()
    };
    let run = hub.store.runs(filter, 9).await.unwrap().remove(0);
    assert_eq!((run.id.as_str(), run.owner.as_str()), (run_id, "ann"));
    let filter = AuditFilter {
        resource: Some(run_id.to_owned()),
        ..AuditFilter::default()
    };
    let entries = hub.store.audit(filter, 9).await.unwrap();
    let details = &entries[0].record["details"];
    assert_eq!(details["through"], format!("schedule:{id}"));
    assert_eq!(
        details["token"],
        hub.rig.me.token.as_ref().unwrap().as_str()
    );
    let fired = AuditFilter {
        event: Some("schedule.fired".to_owned()),
        ..AuditFilter::default()
    };
    let fired = hub.store.audit(fired, 9).await.unwrap().remove(0).record;
    assert_eq!(fired["details"]["run"], run_id);
    assert_eq!(fired["actor"], "ann");
}

#[tokio::test]
async fn once_is_once() {
    let hub = Hub::new().await;
    let at = json!({"trigger_type": "once", "trigger_config": {"run_at": "2026-01-01T00:01:00"}});
    let id = hub.every(60, at).await;
    assert_eq!(hub.step(0).await, Some(60));
    assert_eq!(hub.step(60).await, None);
    assert_eq!(hub.step(1000).await, None);
    assert_eq!(hub.past(&id).await, ok(&[60]));
    let told = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(told["schedules"][0]["next_at"], json!(null));
}

#[tokio::test]
async fn a_reminder_is_on_the_list() {
    let hub = Hub::new().await;
    let made = hub.rig.data(
        "schedule_task",
        json!({
            "name": "Bob", "description": "Call Bob", "task_type": "reminder",
            "trigger_type": "interval", "trigger_config": {"interval_minutes": 1},
        }),
    );
    let id = made.await["id"].as_str().unwrap().to_owned();
    hub.step(60).await;
    assert_eq!(hub.past(&id).await, ok(&[60]), "{}", hub.why(&id).await);
    let todos = hub.rig.data("todo_list", json!({})).await;
    assert_eq!(todos["todos"][0]["content"], "Call Bob");
}

#[tokio::test]
async fn what_was_missed_while_the_hub_was_down() {
    let late = [
        ("skip", vec![(700, "succeeded")]),
        ("once", vec![(100, "missed succeeded"), (700, "succeeded")]),
    ];
    for (missed, wanted) in late {
        let hub = Hub::new().await;
        let id = hub.every(100, json!({"missed": missed})).await;
        let hub = hub.restarted().await;
        assert_eq!(hub.step(690).await, Some(700), "{missed}");
        hub.step(10).await;
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(due, word)| (*due, (*word).to_owned()))
            .collect();
        assert_eq!(hub.past(&id).await, wanted, "{missed}");
    }
    let hub = Hub::new().await;
    let id = hub.every(100, json!({"missed": "all"})).await;
    let hub = hub.restarted().await;
    hub.turn(690);
    for _ in 0..5 {
        assert_eq!(hub.step(0).await, None, "one after the other");
    }
    assert_eq!(hub.step(0).await, Some(700));
    let wanted: Vec<_> = (1..=6)
        .map(|n| (n * 100, "missed succeeded".to_owned()))
        .collect();
    assert_eq!(hub.past(&id).await, wanted);
    assert_eq!(hub.hits().len(), 6);
}

#[tokio::test]
async fn at_most_a_hundred_are_made_up_for() {
    let hub = Hub::new().await;
    let id = hub.every(100, json!({"missed": "all"})).await;
    hub.turn(100 * 1000 + 90);
    for _ in 0..110 {
        hub.step(0).await;
    }
    assert_eq!(hub.hits().len(), 100);
    assert_eq!(hub.past(&id).await.last().unwrap().0, 100 * 100);
    assert_eq!(
        hub.step(10).await,
        Some(100 * 1002),
        "then it goes on as always"
    );
    assert_eq!(hub.hits().len(), 1);
}

#[tokio::test]
async fn never_two_at_once() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({"tool": "probe_slow"})).await;
    let other = hub.every(60, json!({"arguments": {"word": "other"}})).await;
    assert_eq!(hub.look(60).await, Some(120));
    while hub.past(&other).await != ok(&[60]) {
        tokio::task::yield_now().await;
    }
    hub.look(60).await;
    assert_eq!(
        hub.past(&id).await,
        [(60, "fired".to_owned()), (120, "skipped".to_owned())]
    );
    assert!(hub.why(&id).await.contains("not over"));
    hub.probe.gate.add_permits(1);
    hub.ticker.settled().await;
    hub.probe.gate.add_permits(1);
    hub.step(60).await;
    let wanted = [(60, "succeeded"), (120, "skipped"), (180, "succeeded")];
    assert_eq!(
        hub.past(&id).await,
        wanted.map(|(due, word)| (due, word.to_owned()))
    );
    assert_eq!(
        hub.past(&other).await,
        ok(&[60, 120, 180]),
        "others do not wait for it"
    );
    let skipped = hub.events(&id).await;
    assert!(
        skipped.contains(&"schedule.skipped".to_owned()),
        "{skipped:?}"
    );
}

#[tokio::test]
async fn what_is_asked_about_waits_like_any_other() {
    let rules = json!([
        {"effect": "ask", "tool": "probe_hit"},
        {"effect": "allow", "tool": "*"},
    ]);
    let hub = Hub::with(rules).await;
    let id = hub.every(60, json!({})).await;
    hub.step(60).await;
    assert_eq!(hub.past(&id).await, [(60, "pending_approval".to_owned())]);
    hub.step(60).await;
    assert_eq!(
        hub.past(&id).await.last().unwrap(),
        &(120, "skipped".to_owned())
    );
    assert_eq!(hub.hits(), [] as [&str; 0]);
    let asked = hub.store.approvals(None, None, 9).await.unwrap().remove(0);
    let bob = hub.person("bob").await;
    let mut changes = hub.kernel().changes();
    hub.kernel()
        .decide(&bob, &asked.id, Verdict::Approve, None)
        .await
        .unwrap();
    while !hub
        .store
        .run(&asked.run)
        .await
        .unwrap()
        .unwrap()
        .state
        .is_over()
    {
        changes.recv().await.unwrap();
    }
    hub.step(1).await;
    assert_eq!(hub.past(&id).await[0], (60, "succeeded".to_owned()));
    assert_eq!(hub.hits(), ["hit by ann"]);
    hub.step(59).await;
    assert_eq!(
        hub.past(&id).await.last().unwrap(),
        &(180, "pending_approval".to_owned()),
        "it may go on"
    );
}

#[tokio::test]
async fn whoever_scheduled_it_must_still_be_allowed() {
    let hub = Hub::new().await;
    let bot = hub.agent(&hub.rig.me, &["schedule_*", "probe_hit"]).await;
    let args = json!({
        "name": "x", "tool": "probe_hit", "arguments": {"word": "bot"},
        "trigger_type": "interval", "trigger_config": {"interval_seconds": 60},
    });
    let made = hub.rig.call_as(bot.clone(), "schedule_task", args).await;
    let id = made.result.unwrap()["id"].as_str().unwrap().to_owned();
    hub.step(60).await;
    assert_eq!(hub.hits(), ["bot by agent:bot"]);
    let token = bot.token.unwrap();
    // Another token of the same agent does not stand in for it.
    hub.agent(&hub.rig.me, &["*"]).await;
    hub.kernel()
        .revoke_token(&hub.rig.me, &token)
        .await
        .unwrap();
    hub.step(60).await;
    assert_eq!(hub.past(&id).await[1], (120, "refused".to_owned()));
    assert!(
        hub.why(&id).await.contains("token"),
        "{}",
        hub.why(&id).await
    );
    assert_eq!(hub.hits(), [] as [&str; 0]);
    let told = hub
        .rig
        .data("schedule_executions", json!({"limit": 1}))
        .await;
    assert_eq!(told["executions"][0]["run_id"], json!(null));
}

#[tokio::test]
async fn policy_decides_when_it_is_due() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    let rules = json!([{"effect": "deny", "tool": "probe_*"}, {"effect": "allow", "tool": "*"}]);
    hub.kernel()
        .set_policy(helve_core::policy::Policy::from_value(&rules).unwrap());
    hub.step(60).await;
    assert_eq!(hub.past(&id).await, [(60, "denied".to_owned())]);
    assert_eq!(hub.hits(), [] as [&str; 0]);
}

#[tokio::test]
async fn a_tool_that_is_gone_is_told() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    // The same hub without the tool.
    let rules = json!([{"effect": "allow", "tool": "*"}]);
    let bare = crate::testing::Rig::with(crate::schedule::toolset().unwrap(), |_, builder| {
        let policy = helve_core::policy::Policy::from_value(&rules).unwrap();
        builder
            .store(hub.store.clone())
            .clock(hub.clock.clone())
            .policy(policy)
    });
    let bare = bare.await;
    hub.turn(60);
    let ticker = crate::schedule::ticker::Ticker::new(bare.kernel.clone(), Settings::default());
    ticker.step(bare.kernel.now()).await.unwrap();
    ticker.settled().await;
    assert_eq!(hub.past(&id).await, [(60, "refused".to_owned())]);
    assert!(
        hub.why(&id).await.contains("probe_hit"),
        "{}",
        hub.why(&id).await
    );
}

/// It was written that something is due, and the hub stopped before it was called.
#[tokio::test]
async fn what_a_stop_cut_off_is_called_at_the_next_start() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    hub.kernel().close(Duration::ZERO).await;
    hub.step(60).await;
    hub.step(1).await;
    let due = hub
        .store
        .row(&runs(&id), "2026-01-01T00:01:00.000Z")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(due["state"], "fired");
    let refused = AuditFilter {
        event: Some("call.refused".to_owned()),
        ..AuditFilter::default()
    };
    assert_eq!(
        hub.store.audit(refused, 9).await.unwrap().len(),
        1,
        "it is not tried on and on"
    );
    let again = hub.restarted().await;
    again.step(1).await;
    again.step(1).await;
    assert_eq!(again.past(&id).await, ok(&[60]));
    assert_eq!(again.hits(), ["hit by ann"]);
    let told = again.rig.data("schedule_executions", json!({})).await;
    assert_eq!(
        told["executions"][0]["run_id"], due["run_id"],
        "it is the run that was meant"
    );
}

/// The crash comes while the tool runs: nobody knows what it did, and it is not called again.
#[tokio::test]
async fn what_a_crash_cut_short_is_told() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({"tool": "probe_slow"})).await;
    let mut changes = hub.kernel().changes();
    hub.look(60).await;
    while hub
        .store
        .runs(
            RunFilter {
                state: Some(RunState::Running),
                ..RunFilter::default()
            },
            9,
        )
        .await
        .unwrap()
        .is_empty()
    {
        changes.recv().await.unwrap();
    }
    let again = hub.restarted().await;
    again.probe.gate.add_permits(5);
    again.step(1).await;
    assert_eq!(again.past(&id).await, [(60, "failed".to_owned())]);
    assert_eq!(again.hits(), [] as [&str; 0]);
    again.step(59).await;
    assert_eq!(again.hits(), ["hit"], "the next one runs");
}

#[tokio::test]
async fn what_is_cancelled_disabled_or_undone_does_not_run() {
    let hub = Hub::new().await;
    let cancelled = hub.every(60, json!({})).await;
    let rests = hub.every(60, json!({})).await;
    hub.step(60).await;
    assert_eq!(hub.hits().len(), 2);
    let done = hub
        .rig
        .call("schedule_cancel", json!({"task_id": cancelled}))
        .await;
    hub.rig
        .data(
            "schedule_update",
            json!({"task_id": rests, "enabled": "false"}),
        )
        .await;
    let args = json!({
        "name": "x", "tool": "probe_hit", "arguments": {"word": "undone"},
        "trigger_type": "interval", "trigger_config": {"interval_seconds": 30},
    });
    let made = hub.rig.call("schedule_task", args).await;
    hub.step(30).await;
    assert_eq!(hub.hits(), ["undone by ann"]);
    // It has run meanwhile, and can be undone nevertheless.
    assert!(hub.rig.undo(&made).await.is_ok());
    assert_eq!(hub.step(600).await, None);
    assert_eq!(hub.hits(), [] as [&str; 0]);
    // What was cancelled comes back with its past, and what it missed is one run.
    assert!(hub.rig.undo(&done).await.is_ok());
    assert_eq!(hub.step(0).await, Some(720));
    assert_eq!(hub.hits().len(), 1);
    let past = hub.past(&cancelled).await;
    assert_eq!(
        past,
        [
            (60, "succeeded".to_owned()),
            (660, "missed succeeded".to_owned())
        ]
    );
}

#[tokio::test]
async fn an_undone_change_runs_nothing_twice() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    hub.step(60).await;
    let change = json!({"task_id": id, "trigger_type": "interval", "trigger_config": {"interval_seconds": 90}});
    let done = hub.rig.call("schedule_update", change).await;
    assert_eq!(hub.step(90).await, Some(240));
    assert!(hub.rig.undo(&done).await.is_ok());
    assert_eq!(hub.step(0).await, Some(180));
    hub.step(30).await;
    assert_eq!(hub.past(&id).await, ok(&[60, 150, 180]));
}

#[tokio::test]
async fn what_was_changed_before_it_was_called_is_not_called() {
    let changes = [
        ("schedule_cancel", json!({})),
        ("schedule_update", json!({"enabled": "false"})),
        ("schedule_update", json!({"arguments": {"word": "another"}})),
    ];
    for (tool, mut args) in changes {
        let hub = Hub::new().await;
        let id = hub.every(60, json!({})).await;
        hub.kernel().close(Duration::ZERO).await;
        hub.step(60).await;
        let again = hub.restarted().await;
        args["task_id"] = json!(id);
        again.rig.data(tool, args).await;
        again.step(1).await;
        let row = again
            .store
            .row(&runs(&id), "2026-01-01T00:01:00.000Z")
            .await;
        assert_eq!(row.unwrap().unwrap()["state"], "skipped", "{tool}");
        let state = again.store.row(STATES, &id).await.unwrap().unwrap();
        assert_eq!(state["open"], json!(null));
        assert_eq!(again.hits(), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn a_clock_that_goes_back_runs_nothing_again() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    hub.step(60).await;
    hub.step(-3600).await;
    hub.step(30).await;
    assert_eq!(hub.past(&id).await, ok(&[60]));
    // Asked with an earlier moment, too.
    hub.ticker.step(At(START)).await.unwrap();
    hub.ticker.settled().await;
    assert_eq!(hub.past(&id).await, ok(&[60]));
}

#[tokio::test]
async fn the_past_is_bounded() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    let settings = Settings {
        kept: 3,
        ..Settings::default()
    };
    let ticker = crate::schedule::ticker::Ticker::new(hub.kernel().clone(), settings);
    for _ in 0..6 {
        hub.turn(60);
        ticker.step(hub.kernel().now()).await.unwrap();
        ticker.settled().await;
    }
    assert_eq!(hub.past(&id).await, ok(&[240, 300, 360]));
}

/// A damaged row of one does not keep another from running.
#[tokio::test]
async fn a_damaged_schedule_stands_alone() {
    let hub = Hub::new().await;
    hub.every(60, json!({})).await;
    let row = helve_kernel::RowChange {
        collection: "schedules".to_owned(),
        key: "a".to_owned(),
        before: None,
        after: Some(json!("?")),
    };
    let record = helve_kernel::store::Record::new(At(START), "test", "ann", "a");
    assert!(hub.kernel().put_rows(vec![row], record).await.unwrap());
    hub.step(60).await;
    assert_eq!(hub.hits().len(), 1);
}

/// A clock that goes with tokio's, which stands still while anything can be done.
struct Paused(tokio::time::Instant);

impl Clock for Paused {
    fn now(&self) -> At {
        At(START + i64::try_from(self.0.elapsed().as_millis()).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn the_hub_wakes_up_when_something_is_due() {
    let hand = Arc::new(Hand(AtomicI64::new(START)));
    let rules = json!([{"effect": "allow", "tool": "*"}]);
    let mut hub = Hub::over(Arc::new(MemoryStore::new()), hand, &rules).await;
    let clock = Arc::new(Paused(tokio::time::Instant::now()));
    let (probe, policy) = (
        hub.probe.clone(),
        helve_core::policy::Policy::from_value(&rules).unwrap(),
    );
    hub.rig = crate::testing::Rig::with(crate::schedule::toolset().unwrap(), |_, builder| {
        builder.clock(clock.clone()).policy(policy).service(probe)
    })
    .await;
    hub.rig
        .kernel
        .add_tool(<super::hit as helve_kernel::DefineTool>::tool())
        .unwrap();
    hub.rig.me = hub.person("ann").await;
    let closing = CancellationToken::new();
    let ticking = tokio::spawn(tick(
        hub.kernel().clone(),
        Settings::default(),
        closing.clone(),
    ));
    // Nothing is scheduled while it falls asleep.
    tokio::time::sleep(Duration::from_secs(5)).await;
    hub.every(100, json!({})).await;
    tokio::time::sleep(Duration::from_secs(1050)).await;
    assert_eq!(hub.hits().len(), 10);
    closing.cancel();
    ticking.await.unwrap();
}
