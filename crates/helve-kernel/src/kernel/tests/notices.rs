//! That people are told, and what is kept where they are not.

use std::sync::Arc;
use std::sync::Mutex;

use super::harness::*;
use crate::kernel::Notifier;
use crate::{Approval, ApprovalState, Notice};
use serde_json::json;

/// Does what the words say, one for each time; then all goes well.
#[derive(Default)]
struct Bell {
    ways: Mutex<Vec<&'static str>>,
    rung: Count,
}

#[async_trait::async_trait]
impl Notifier for Bell {
    async fn asked(&self, approval: &Approval) -> Result<(), String> {
        assert_eq!(approval.state, ApprovalState::Pending);
        self.rung.add();
        let way = self.ways.lock().unwrap().pop();
        match way {
            Some("panic") => panic!("no bell"),
            Some("hang") => std::future::pending().await,
            Some(other) => Err(other.to_owned()),
            None => Ok(()),
        }
    }
}

async fn after(ways: &[&'static str]) -> (Hub, Approval, i64) {
    let bell = Arc::new(Bell::default());
    *bell.ways.lock().unwrap() = ways.iter().rev().copied().collect();
    let rung = bell.clone();
    let hub = Hub::with(|b| b.notifier(bell)).await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let mut changes = hub.kernel.changes();
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    loop {
        changes.recv().await.unwrap();
        let approval = hub.kernel.approval(&approval.id).await.unwrap();
        if approval.notice != Notice::Waiting {
            return (hub, approval, rung.rung.get());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_can_be_told_is_told() {
    for (ways, notice, rung, last) in [
        (&[][..], Notice::Sent, 1, "approval.notified"),
        (&["busy", "panic"], Notice::Sent, 3, "approval.notified"),
        (
            &["busy", "busy", "no line"],
            Notice::Failed("no line".to_owned()),
            3,
            "approval.notice_failed",
        ),
        (
            &["busy", "busy", "panic"],
            Notice::Failed("it crashed: no bell".to_owned()),
            3,
            "approval.notice_failed",
        ),
        (
            &["hang", "hang", "hang"],
            Notice::Failed("it took longer than 30s".to_owned()),
            3,
            "approval.notice_failed",
        ),
    ] {
        let (hub, approval, times) = after(ways).await;
        assert_eq!((&approval.notice, times), (&notice, rung));
        assert_eq!(
            approval.state,
            ApprovalState::Pending,
            "it can be decided all the same"
        );
        assert_eq!(hub.events().await, ["run.asked", last]);
        if let Notice::Failed(why) = notice {
            assert_eq!(hub.record().await[1]["details"]["why"], why);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_not_told_before_a_stop_is_told_after_it() {
    let bell = Arc::new(Bell::default());
    *bell.ways.lock().unwrap() = vec!["hang"];
    let hub = Hub::with(|b| b.notifier(bell.clone())).await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    hub.kernel.close(std::time::Duration::from_secs(1)).await;
    let again = hub.restarted(|b| b.notifier(bell)).await;
    let mut changes = again.changes();
    again.resume_approved().await.unwrap();
    changes.recv().await.unwrap();
    let approval = again.approval(&approval.id).await.unwrap();
    assert_eq!(approval.notice, Notice::Sent);
}

#[tokio::test]
async fn where_nobody_can_be_told_that_is_kept() {
    let hub = Hub::new().await;
    hub.add(echo("a_write", json!({"risk": "write"})));
    let approval = hub.ask(&ann(), "a_write", json!({})).await;
    assert_eq!(approval.notice, Notice::None);
}
