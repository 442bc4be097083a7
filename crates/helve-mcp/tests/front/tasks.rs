//! Tasks: calls whose answer the client comes back for.

use helve_kernel::{Ctx, Tool};
use serde_json::{Value, json};

use super::cancel::is_called_off;
use super::client::Client;
use super::support::{Hub, def, text};

fn has_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}})
}

/// A hub with a tool that says that it takes long, asks how long, and takes that long.
async fn hub() -> Hub {
    let hub = Hub::new().await;
    let (begun, gate) = (hub.begun.clone(), hub.gate.clone());
    let long = Tool::new(def("job_run", json!({})), move |ctx: Ctx, args: Value| {
        let (begun, gate) = (begun.clone(), gate.clone());
        async move {
            let caller = ctx.caller().unwrap();
            caller.takes_long(&json!({"ttlMs": 60_000, "pollIntervalMs": 7}));
            begun.add_permits(1);
            gate.acquire().await.unwrap().forget();
            if args["asks"] == true {
                let question = json!({"method": "elicitation/create", "params": {"message": "?"}});
                let questions = [("more".to_owned(), question)].into_iter().collect();
                let answers = caller.ask(questions).await?;
                return Ok(Value::Object(answers));
            }
            Ok(json!("done"))
        }
    });
    hub.kernel.add_tool(long).unwrap();
    hub
}

async fn seed(hub: &Hub, client: &mut Client, args: Value) -> String {
    let seed = client.call("job_run", args).await;
    assert_eq!(seed["resultType"], "task", "{seed}");
    let told = (&seed["status"], &seed["ttlMs"], &seed["pollIntervalMs"]);
    assert_eq!(told, (&json!("working"), &json!(60_000), &json!(7)));
    hub.begun.acquire().await.unwrap().forget();
    text(&seed["taskId"])
}

/// Where a task stands, once that is what is wanted.
async fn until(client: &mut Client, id: &str, status: &str) -> Value {
    for _ in 0..1000 {
        let task = client.ask("tasks/get", json!({"taskId": id})).await;
        if task["status"] == status {
            return task;
        }
        tokio::task::yield_now().await;
    }
    panic!("the task never was {status}");
}

#[tokio::test(start_paused = true)]
async fn a_long_call_is_come_back_for() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, has_tasks()).await;
    let id = seed(&hub, &mut client, json!({})).await;
    until(&mut client, &id, "working").await;
    hub.gate.add_permits(1);
    for _ in 0..2 {
        let task = until(&mut client, &id, "completed").await;
        assert_eq!(task["result"]["content"][0]["text"], "done", "{task}");
        assert_eq!(task["result"]["_meta"]["helve/run"]["run_id"], id.as_str());
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_asks_and_is_answered() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, has_tasks()).await;
    let id = seed(&hub, &mut client, json!({"asks": true})).await;
    hub.gate.add_permits(1);
    let task = until(&mut client, &id, "input_required").await;
    assert_eq!(
        task["inputRequests"]["more"]["method"],
        "elicitation/create"
    );
    let answers = json!({"more": {"action": "accept", "content": {"n": 1}}});
    let params = json!({"taskId": id, "inputResponses": answers});
    client.ask("tasks/update", params).await;
    let task = until(&mut client, &id, "completed").await;
    assert_eq!(task["result"]["structuredContent"], answers);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_called_off() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, has_tasks()).await;
    let id = seed(&hub, &mut client, json!({})).await;
    client.ask("tasks/cancel", json!({"taskId": id})).await;
    until(&mut client, &id, "cancelled").await;
    is_called_off(&hub, "job_run", "agent:a").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_of_somebody_else_is_not_there() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, has_tasks()).await;
    let id = seed(&hub, &mut client, json!({"asks": true})).await;
    hub.gate.add_permits(1);
    until(&mut client, &id, "input_required").await;
    for name in ["b", "a"] {
        let other = hub.agent(name, "bob").await;
        let mut other = hub.modern(&other, has_tasks()).await;
        let missing = other
            .refused("tasks/get", json!({"taskId": "nothing"}))
            .await;
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let params = json!({"taskId": id, "inputResponses": {"more": {"action": "decline"}}});
            assert_eq!(other.refused(method, params).await, missing, "{method}");
        }
    }
    until(&mut client, &id, "input_required").await;
}

#[tokio::test(start_paused = true)]
async fn a_client_without_tasks_waits() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let mut client = hub.modern(&who, json!({})).await;
    hub.gate.add_permits(1);
    let result = client.call("job_run", json!({})).await;
    assert_eq!(super::client::of(&result), "done");
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_people_is_a_task_and_no_answer_of_its_client_decides() {
    let hub = hub().await;
    let who = hub.agent("a", "ann").await;
    let tasks_only = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let mut client = hub.modern(&who, tasks_only).await;
    let seed = client.call("note_save", json!({"x": 1})).await;
    assert_eq!(seed["resultType"], "task", "{seed}");
    let id = text(&seed["taskId"]);
    let params =
        json!({"taskId": id, "inputResponses": {"approval": super::approval::says("approve")}});
    client.ask("tasks/update", params).await;
    let task = until(&mut client, &id, "working").await;
    assert_eq!(task.get("inputRequests"), None);
    assert_eq!((hub.saves(), hub.approval().await.decisions.len()), (0, 0));
    hub.approve().await;
    let task = until(&mut client, &id, "completed").await;
    assert_eq!(task["result"]["structuredContent"], json!({"x": 1}));
}
