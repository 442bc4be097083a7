//! What goes back and forth while a call is under way.

use std::time::Duration;

use helve_kernel::ErrorKind;
use serde_json::{Value, json};

use super::support::{Client, Hub, failure, python, said, tools, until, wire};

#[tokio::test]
async fn progress_and_logs_reach_whoever_called() {
    for (era, client) in [
        ("legacy", Client::legacy("a")),
        ("modern", Client::modern("a")),
    ] {
        let hub = Hub::with(python(
            "s",
            &json!({"tools": tools(&["progress"]), "era": era}),
        ))
        .await;
        let answer = hub.call_as(&client, "s_progress", json!({})).await;
        assert_eq!(answer.result, Ok(json!("done")));
        let told: Vec<String> = client
            .told
            .lock()
            .unwrap()
            .iter()
            .map(|(m, p)| format!("{m} {p}"))
            .collect();
        assert_eq!(
            told,
            [
                r#"notifications/progress {"progress":1,"total":3,"odd":[1]}"#,
                r#"notifications/progress {"progress":2,"total":3,"odd":[2]}"#,
                r#"notifications/progress {"progress":3,"total":3,"odd":[3]}"#,
                r#"notifications/message {"level":"info","data":{"b":1,"a":2},"logger":"x"}"#,
            ]
        );
        hub.close().await;
    }
}

#[tokio::test]
async fn a_question_of_the_old_era_is_asked_and_answered() {
    let hub = Hub::with(python("s", &json!({"tools": tools(&["ask"])}))).await;
    let client = Client::legacy("ann");
    for (method, params) in [
        (
            "elicitation/create",
            json!({"message": "who?", "requestedSchema": {"type": "object"}, "zz": 1, "aa": 2}),
        ),
        (
            "sampling/createMessage",
            json!({"messages": [], "maxTokens": 5}),
        ),
        ("roots/list", json!({})),
    ] {
        let answer = hub
            .call_as(
                &client,
                "s_ask",
                json!({"method": method, "params": params}),
            )
            .await;
        assert_eq!(
            said(&answer)["result"],
            json!({"action": "accept", "content": {"name": "ann"}, "odd": true})
        );
        let asked = client.asked.lock().unwrap().pop().unwrap();
        let question = asked.values().next().unwrap();
        assert_eq!(question["method"], method);
        assert_eq!(question["params"].to_string(), params.to_string());
    }
    // Nobody can be asked who called from a terminal.
    let answer = hub
        .call("s_ask", json!({"method": "roots/list", "params": {}}))
        .await;
    assert_eq!(
        said(&answer)["error"]["message"],
        "the call was made by somebody who cannot be asked"
    );
    hub.close().await;
}

#[tokio::test]
async fn a_question_of_the_modern_era_is_a_round() {
    let hub = Hub::with(python(
        "s",
        &json!({"tools": tools(&["needs", "forever"]), "era": "modern"}),
    ))
    .await;
    for client in [Client::modern("ann"), Client::legacy("ann")] {
        let answer = hub.call_as(&client, "s_needs", json!({})).await;
        let said = said(&answer);
        assert_eq!(said["responses"]["who"]["content"], json!({"name": "ann"}));
        assert_eq!(said["state"], "s1");
        let asked = client.asked.lock().unwrap();
        assert_eq!(
            asked[0]["who"].to_string(),
            r#"{"method":"elicitation/create","params":{"message":"who?","x":1}}"#
        );
    }
    let answer = hub.call("s_needs", json!({})).await;
    assert_eq!(failure(&answer).kind, ErrorKind::Dependency);
    assert!(failure(&answer).message.contains("cannot be asked"));
    let answer = hub
        .call_as(&Client::modern("ann"), "s_forever", json!({}))
        .await;
    assert!(
        failure(&answer).message.contains("asked 10 times"),
        "{answer:?}"
    );
    hub.close().await;
}

#[tokio::test]
async fn a_task_is_looked_after() {
    let hub = Hub::with(python(
        "s",
        &json!({"tools": tools(&["task"]), "era": "modern"}),
    ))
    .await;
    let client = Client::modern("ann");
    let answer = hub.call_as(&client, "s_task", json!({})).await;
    assert_eq!(said(&answer)["ok"]["content"], json!({"name": "ann"}));
    assert_eq!(wire(&answer)["odd"], true);
    assert_eq!(client.tasks.lock().unwrap()[0]["taskId"], "t1");
    hub.close().await;
}

/// Two clients call one program at once, and it asks: neither is asked what is for the other.
#[tokio::test]
async fn two_clients_on_one_program_are_never_mixed() {
    let hub = Hub::with(python("s", &json!({"tools": tools(&["both", "never"])}))).await;
    let hub = std::sync::Arc::new(hub);
    let (ann, bob) = (Client::legacy("ann"), Client::legacy("bob"));
    let go = hub.file("go");
    let first = {
        let (hub, ann, go) = (hub.clone(), ann.clone(), go.clone());
        tokio::spawn(async move {
            let args = json!({"until": go, "message": "for ann"});
            hub.call_as(&ann, "s_both", args).await
        })
    };
    let second = {
        let (hub, bob, go) = (hub.clone(), bob.clone(), go.clone());
        tokio::spawn(async move {
            let args = json!({"until": go, "message": "for bob"});
            hub.call_as(&bob, "s_both", args).await
        })
    };
    // Both are under way before either asks.
    let server = hub.gate.0.server("s").unwrap().clone();
    until("both calls are under way", || server.busy() == 2).await;
    std::fs::write(&go, "").unwrap();
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    let mut refused = 0;
    for (client, answer, own) in [(&ann, &first, "for ann"), (&bob, &second, "for bob")] {
        let said = said(answer);
        let asked = client.asked.lock().unwrap();
        // Whoever is alone by then may be asked, but only what is theirs.
        match asked.first() {
            None => {
                refused += 1;
                assert!(
                    said["error"]["message"]
                        .as_str()
                        .unwrap()
                        .contains("isolate"),
                    "{said}"
                );
            }
            Some(question) => {
                let question = question.values().next().unwrap();
                assert_eq!(question["params"]["message"], own);
                assert_eq!(said["result"]["content"]["name"], client.session_name());
            }
        }
    }
    assert!(
        refused >= 1,
        "the first question came while both were under way"
    );
    hub.close().await;
}

/// With a connection for each, both are asked, each its own.
#[tokio::test]
async fn isolated_clients_have_a_connection_each() {
    let pids = tempfile::NamedTempFile::new().unwrap();
    let mut server = python("s", &json!({"tools": tools(&["both"]), "pid": pids.path()}));
    server.rules.isolate = true;
    let hub = Hub::with(server).await;
    let (ann, bob) = (Client::legacy("ann"), Client::legacy("bob"));
    let go = hub.file("go");
    let both = async {
        tokio::join!(
            hub.call_as(&ann, "s_both", json!({"until": go, "message": "for ann"})),
            hub.call_as(&bob, "s_both", json!({"until": go, "message": "for bob"})),
        )
    };
    let server = hub.gate.0.server("s").unwrap().clone();
    let begun = async {
        until("both calls are under way", || server.busy() == 2).await;
        std::fs::write(&go, "").unwrap();
    };
    let ((first, second), ()) = tokio::join!(both, begun);
    for (client, answer) in [(&ann, &first), (&bob, &second)] {
        assert_eq!(
            said(answer)["result"]["content"]["name"],
            client.session_name()
        );
        let asked = client.asked.lock().unwrap();
        let question = asked[0].values().next().unwrap();
        assert_eq!(
            question["params"]["message"],
            format!("for {}", client.session_name())
        );
    }
    assert_eq!(
        std::fs::read_to_string(pids.path())
            .unwrap()
            .lines()
            .count(),
        3
    );
    hub.gate.session_over("ann");
    let pid = std::fs::read_to_string(pids.path()).unwrap();
    until("the connection of a client ends with it", || {
        pid.lines()
            .filter(|pid| super::support::is_alive(pid))
            .count()
            == 2
    })
    .await;
    hub.close().await;
}

/// A run that is called off is called off there, too.
#[tokio::test]
async fn a_cancellation_reaches_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("cancelled");
    for (era, client) in [
        ("legacy", Client::legacy("a")),
        ("modern", Client::modern("a")),
    ] {
        let _ = std::fs::remove_file(&seen);
        let mut server = python(
            "s",
            &json!({"tools": tools(&["never"]), "era": era, "cancelled": seen}),
        );
        server.rules.timeout = Duration::from_millis(300);
        let hub = Hub::with(server).await;
        let answer = hub.call_as(&client, "s_never", json!({})).await;
        assert_eq!(failure(&answer).kind, ErrorKind::Timeout, "{answer:?}");
        until("the server has heard of it", || seen.exists()).await;
        let params: Value = serde_json::from_str(&std::fs::read_to_string(&seen).unwrap()).unwrap();
        assert!(params["requestId"].is_u64());
        hub.close().await;
    }
}
