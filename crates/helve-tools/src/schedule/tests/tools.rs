//! What people and agents do about schedules.

use helve_kernel::RunState;
use serde_json::{Value, json};

use super::Hub;

/// As OpenAkita calls it.
#[tokio::test]
async fn a_call_of_openakita_works() {
    let hub = Hub::new().await;
    let call = |task_type: &str| {
        json!({
            "name": "Drink", "description": "Drink water", "task_type": task_type,
            "trigger_type": "once", "trigger_config": {"run_at": "2026-02-01T10:00:00"},
        })
    };
    for task_type in ["reminder", "task"] {
        let made = hub.rig.data("create_scheduled_task", call(task_type)).await;
        assert_eq!(made["tool"], "todo_add");
        assert_eq!(made["task_type"], "reminder");
        assert_eq!(made["arguments"], json!({"content": "Drink water"}));
        assert_eq!(made["next_at"], "2026-02-01T10:00:00.000Z");
    }
    let all = hub
        .rig
        .data("list_scheduled_tasks", json!({"enabled_only": true}))
        .await;
    let id = all["schedules"][0]["id"].clone();
    let now = hub
        .rig
        .data("trigger_scheduled_task", json!({"task_id": id}))
        .await;
    assert_eq!(now["content"], "Drink water");
    hub.rig
        .data(
            "update_scheduled_task",
            json!({"task_id": id, "name": "Drink!"}),
        )
        .await;
    hub.rig
        .data("cancel_scheduled_task", json!({"task_id": id}))
        .await;
    let past = hub.rig.data("query_task_executions", json!({})).await;
    assert_eq!(past, json!({"executions": []}));
    let all = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(all["schedules"].as_array().unwrap().len(), 1);
}

fn with(more: &Value) -> Value {
    let mut args = json!({
        "name": "x", "tool": "probe_hit", "arguments": {"word": "w"},
        "trigger_type": "cron", "trigger_config": {"cron": "0 9 * * *"},
    });
    for (key, value) in more.as_object().unwrap() {
        args[key] = value.clone();
    }
    args
}

#[tokio::test]
async fn bad_calls_are_told() {
    let hub = Hub::new().await;
    let interval = |config: Value| json!({"trigger_type": "interval", "trigger_config": config});
    let cron = |line: &str| json!({"trigger_config": {"cron": line}});
    let table = [
        (json!({"name": " "}), "`name` is blank"),
        (json!({"tool": ""}), "`tool` is missing"),
        (json!({"tool": "probe_hitt"}), "probe_hit"),
        (json!({"arguments": {}}), "word"),
        (json!({"arguments": {"word": 7, "more": 1}}), "more"),
        (
            json!({"tool": "probe_login", "arguments": {"password": "hunter2"}}),
            "secrets are not kept",
        ),
        (
            json!({"tool": "schedule_cancel", "arguments": {"task_id": "sch_1"}}),
            "is not scheduled",
        ),
        (
            json!({"tool": "schedule_trigger", "arguments": {"task_id": "sch_1"}}),
            "only leads to other tools",
        ),
        (json!({"task_type": "reminder"}), "calls no tool"),
        (json!({"trigger_type": "weekly"}), "trigger_type"),
        (json!({"trigger_config": {}}), "needs `cron`"),
        (
            json!({"trigger_config": {"cron": "0 9 * * *", "run_at": "2027-01-01T00:00:00Z"}}),
            "`run_at` does not go with",
        ),
        (json!({"trigger_config": {"crom": "0 9 * * *"}}), "crom"),
        (cron("0 9 * *"), "is no line of cron"),
        (cron("0 0 9 * * *"), "is no line of cron"),
        (cron("61 9 * * *"), "is no line of cron"),
        (cron("0 9 * * FOO"), "is no line of cron"),
        (cron("*/0 * * * *"), "is no line of cron"),
        (cron("@reboot"), "is no line of cron"),
        (cron("0 0 31 2 *"), "never comes"),
        (json!({"time_zone": "Mars/Base"}), "is no time zone"),
        (json!({"missed": "some"}), "missed"),
        (interval(json!({})), "needs one of `interval_seconds`"),
        (
            interval(json!({"interval_seconds": 9})),
            "between 10 seconds",
        ),
        (interval(json!({"interval_hours": 9000})), "366 days"),
        (interval(json!({"interval_hours": u64::MAX})), "366 days"),
        (
            interval(json!({"interval_seconds": -1})),
            "interval_seconds",
        ),
        (
            interval(json!({"interval_seconds": 30, "interval_hours": 1})),
            "needs one of",
        ),
        (
            json!({"trigger_type": "once", "trigger_config": {"run_at": "soon"}}),
            "is no moment",
        ),
        (
            json!({"trigger_type": "once", "trigger_config": {"run_at": "2020-01-01T00:00:00Z"}}),
            "now it is",
        ),
    ];
    let table: Vec<(Value, &str)> = table
        .iter()
        .map(|(more, said)| (with(more), *said))
        .collect();
    hub.rig.refuses("schedule_task", &table).await;
    let unknown = json!({"task_id": "sch_0"});
    for tool in [
        "schedule_update",
        "schedule_cancel",
        "schedule_trigger",
        "schedule_executions",
    ] {
        hub.rig
            .refuses(tool, &[(unknown.clone(), "there is no schedule `sch_0`")])
            .await;
    }
    let all = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(all, json!({"schedules": []}));
}

#[tokio::test]
async fn what_is_denied_now_is_not_scheduled() {
    let rules = json!([{"effect": "deny", "tool": "probe_hit"}, {"effect": "allow", "tool": "*"}]);
    let hub = Hub::with(rules).await;
    hub.rig
        .refuses("schedule_task", &[(with(&json!({})), "is denied")])
        .await;
}

#[tokio::test]
async fn nobody_schedules_beyond_their_reach() {
    let hub = Hub::new().await;
    let mine = hub.every(60, json!({})).await;
    let bot = hub.agent(&hub.rig.me, &["schedule_*", "todo_*"]).await;
    let answer = hub
        .rig
        .call_as(bot.clone(), "schedule_task", with(&json!({})))
        .await;
    assert!(!answer.is_ok());
    // Nor by changing what somebody else has scheduled, who may more.
    let change = json!({"task_id": mine, "arguments": {"word": "gotcha"}});
    let answer = hub
        .rig
        .call_as(bot.clone(), "schedule_update", change)
        .await;
    assert!(!answer.is_ok());
    let change = json!({"task_id": mine, "tool": "todo_add", "arguments": {"content": "mine"}});
    let answer = hub
        .rig
        .call_as(bot.clone(), "schedule_update", change)
        .await;
    assert_eq!(
        answer.result.unwrap()["scheduled_by"],
        "agent:bot",
        "it answers for it from now on"
    );
    let answer = hub
        .rig
        .call_as(bot, "schedule_trigger", json!({"task_id": mine}))
        .await;
    assert_eq!(answer.result.unwrap()["content"], "mine");
}

#[tokio::test]
async fn nobody_sees_what_another_has_scheduled() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    hub.step(60).await;
    let bob = hub.person("bob").await;
    let empty = [
        ("schedule_list", json!({"schedules": []})),
        ("schedule_executions", json!({"executions": []})),
    ];
    for (tool, wanted) in empty {
        let answer = hub.rig.call_as(bob.clone(), tool, json!({})).await;
        assert_eq!(answer.result.unwrap(), wanted, "{tool}");
    }
    for tool in [
        "schedule_update",
        "schedule_cancel",
        "schedule_trigger",
        "schedule_executions",
    ] {
        let answer = hub
            .rig
            .call_as(bob.clone(), tool, json!({"task_id": id}))
            .await;
        assert!(
            answer.text().contains("there is no schedule"),
            "{tool}: {}",
            answer.text()
        );
    }
    // An agent sees what its person has scheduled.
    let bot = hub.agent(&hub.rig.me, &["*"]).await;
    let answer = hub.rig.call_as(bot, "schedule_list", json!({})).await;
    assert_eq!(answer.result.unwrap()["schedules"][0]["id"], id);
}

#[tokio::test]
async fn nobody_has_more_than_so_many() {
    let hub = Hub::new().await;
    for _ in 0..super::super::MOST {
        hub.every(60, json!({})).await;
    }
    hub.rig
        .refuses("schedule_task", &[(with(&json!({})), "more than 200")])
        .await;
    let bob = hub.person("bob").await;
    let answer = hub
        .rig
        .call_as(bob, "schedule_task", with(&json!({})))
        .await;
    assert!(answer.is_ok(), "everybody for themselves");
}

#[tokio::test]
async fn a_change_keeps_the_rest() {
    let hub = Hub::new().await;
    let made = hub
        .rig
        .data(
            "schedule_task",
            with(&json!({"description": "d", "missed": "skip"})),
        )
        .await;
    let id = made["id"].clone();
    let change = async |more: Value| {
        let mut args = json!({"task_id": id});
        for (key, value) in more.as_object().unwrap() {
            args[key] = value.clone();
        }
        hub.rig.data("schedule_update", args).await
    };
    let mut wanted = made.clone();
    wanted["time_zone"] = json!("Asia/Shanghai");
    wanted["next_at"] = json!("2026-01-01T01:00:00.000Z");
    assert_eq!(change(json!({"time_zone": "Asia/Shanghai"})).await, wanted);
    wanted["enabled"] = json!(false);
    wanted["next_at"] = json!(null);
    assert_eq!(change(json!({"enabled": "false"})).await, wanted);
    wanted["enabled"] = json!(true);
    wanted["next_at"] = json!("2026-01-01T02:00:00.000Z");
    wanted["trigger_config"]["cron"] = json!("0 10 * * *");
    assert_eq!(
        change(json!({"enabled": "true", "trigger_config": {"cron": "0 10 * * *"}})).await,
        wanted
    );
    wanted["name"] = json!("y");
    wanted["description"] = json!("e");
    wanted["missed"] = json!("all");
    wanted["arguments"] = json!({"word": "v"});
    let more =
        json!({"name": "y", "description": "e", "missed": "all", "arguments": {"word": "v"}});
    assert_eq!(change(more).await, wanted);
    let all = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(all["schedules"], json!([wanted]));
    let bad = json!({"task_id": id, "trigger_type": "once"});
    hub.rig
        .refuses("schedule_update", &[(bad, "needs `run_at`")])
        .await;
}

/// By default, people are asked, and see what would be scheduled.
#[tokio::test]
async fn people_are_asked_before() {
    let hub = Hub::with(json!([])).await;
    let answer = hub.rig.call("schedule_task", with(&json!({}))).await;
    assert_eq!(
        answer.meta.state,
        Some(RunState::Staged),
        "{:?}",
        answer.result
    );
    let all = hub.rig.data("schedule_list", json!({})).await;
    assert_eq!(all, json!({"schedules": []}), "not yet");
    let answer = hub.rig.call("schedule_executions", json!({})).await;
    assert!(answer.is_ok());
}
