//! Starts, ends, and what is left behind: nothing.

use std::time::{Duration, Instant};

use serde_json::json;

use super::support::{Hub, is_alive, python, tools, until};
use crate::upstream::State;

#[tokio::test]
async fn a_server_starts_when_it_is_needed_and_once() {
    let pids = tempfile::NamedTempFile::new().unwrap();
    let server = || python("s", &json!({"tools": tools(&["echo"]), "pid": pids.path()}));
    let starts = || {
        std::fs::read_to_string(pids.path())
            .unwrap()
            .lines()
            .count()
    };
    let hub = Hub::with(server()).await;
    assert_eq!(starts(), 1);
    let hub = hub.again(vec![server()]).await;
    // The list is there before the server is.
    assert!(hub.kernel.find("s_echo").is_some());
    assert_eq!(
        (starts(), hub.gate.status("s").unwrap().state),
        (1, State::Idle)
    );
    let calls = (0..20).map(|i| hub.call("s_echo", json!({"text": i.to_string()})));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(helve_kernel::Answer::is_ok));
    assert_eq!(starts(), 2);
    hub.close().await;
}

/// Whatever a program does at its end, nothing is left, and it does not take long.
#[tokio::test]
async fn a_close_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let (pid, child) = (folder.path().join("pid"), folder.path().join("child"));
    for end in ["ends", "refuses"] {
        let _ = std::fs::remove_file(&pid);
        let server = python(
            "s",
            &json!({"tools": tools(&["echo"]), "pid": pid, "child": child, "end": end}),
        );
        let hub = Hub::with(server).await;
        let pids = [&pid, &child].map(|file| std::fs::read_to_string(file).unwrap());
        assert!(pids.iter().all(|pid| is_alive(pid)));
        let begun = Instant::now();
        hub.close().await;
        assert!(
            begun.elapsed() < Duration::from_secs(8),
            "{:?}",
            begun.elapsed()
        );
        until("both are gone", || !pids.iter().any(|pid| is_alive(pid))).await;
    }
}

#[tokio::test]
async fn an_idle_server_is_ended_and_comes_back() {
    let mut server = python("s", &json!({"tools": tools(&["echo"])}));
    server.rules.idle = Some(Duration::from_millis(200));
    let hub = Hub::with(server).await;
    until("it is idle", || {
        hub.gate.status("s").unwrap().state == State::Idle
    })
    .await;
    assert_eq!(
        hub.call("s_echo", json!({"text": "x"})).await.result,
        Ok(json!("x"))
    );
    hub.close().await;
}

#[tokio::test]
async fn no_more_calls_at_once_than_allowed() {
    let mut server = python("s", &json!({"tools": tools(&["echo", "never"])}));
    server.rules.concurrency = 1;
    server.rules.timeout = Duration::from_millis(400);
    let hub = Hub::with(server).await;
    let (one, two) = tokio::join!(
        hub.call("s_never", json!({})),
        hub.call("s_never", json!({}))
    );
    assert!(!one.is_ok() && !two.is_ok());
    let log = [&one, &two].map(|a| super::support::failure(a).message.clone());
    assert!(
        log.iter().any(|m| m.contains("before it began"))
            || log.iter().all(|m| m.contains("400ms")),
        "{log:?}"
    );
    assert_eq!(
        hub.call("s_echo", json!({"text": "x"})).await.result,
        Ok(json!("x"))
    );
    hub.close().await;
}
