//! What can only be seen from inside: what happens between a look and what comes of it.

use helve_kernel::At;
use helve_kernel::store::Record;
use serde_json::json;

use super::{Kept, SCHEDULES, change, runs};
use crate::schedule::tests::Hub;

/// Somebody cancels it after the ticker has looked, and before it has written.
#[tokio::test]
async fn what_is_cancelled_in_between_does_not_run() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    let row = hub.store.row(SCHEDULES, &id).await.unwrap().unwrap();
    hub.rig
        .data("schedule_cancel", json!({"task_id": id}))
        .await;
    hub.turn(60);
    let now = hub.kernel().now();
    let looked = hub.ticker.look(&id, row, Ok(Kept::default()), now).await;
    assert_eq!(
        looked.unwrap(),
        Some(At(now.0 + 1000)),
        "it is looked at anew"
    );
    hub.ticker.settled().await;
    assert_eq!(hub.hits(), [] as [&str; 0]);
    assert_eq!(hub.store.rows(&runs(&id), None, 9).await.unwrap(), []);
}

/// Two hubs, or two looks, at what is due: one of them is first.
#[tokio::test]
async fn what_is_looked_at_twice_runs_once() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    let row = hub.store.row(SCHEDULES, &id).await.unwrap().unwrap();
    hub.turn(60);
    let now = hub.kernel().now();
    for _ in 0..2 {
        let looked = hub.ticker.look(&id, row.clone(), Ok(Kept::default()), now);
        looked.await.unwrap();
        hub.ticker.settled().await;
    }
    assert_eq!(hub.hits(), ["hit by ann"]);
}

/// A time that is on the list already was due, whatever else is known.
#[tokio::test]
async fn a_time_that_comes_back_is_over() {
    let hub = Hub::new().await;
    let id = hub.every(60, json!({})).await;
    let due = json!({
        "due": "2026-01-01T00:01:00.000Z", "fired_at": "2026-01-01T00:01:00.000Z",
        "run_id": "run_1", "missed": false, "state": "succeeded", "error": null,
        "ended_at": null, "revision": "",
    });
    let row = change(&runs(&id), "2026-01-01T00:01:00.000Z", None, Some(due));
    let record = Record::new(hub.kernel().now(), "test", "ann", &id);
    assert!(hub.kernel().put_rows(vec![row], record).await.unwrap());
    assert_eq!(hub.step(60).await, Some(120), "it goes on");
    assert_eq!(hub.hits(), [] as [&str; 0]);
    hub.step(60).await;
    assert_eq!(hub.hits(), ["hit by ann"]);
    assert_eq!(hub.past(&id).await.len(), 2);
}
