//! The record itself.

use super::*;
use crate::store::Order;

pub async fn an_entry_holds_the_whole_record(store: Kept) {
    assert_eq!(store.audit_head().await.unwrap(), Head::START);
    assert_eq!(whole(&store).await, []);
    let at = At(1_700_000_000_123);
    let full = Record::new(at, "run.started", "ann \"the\" 中\u{0}", "run_1")
        .with("z", json!({"b": [null, true, -7], "a": "é"}))
        .with("nothing", json!(null))
        .with("a", "old")
        .with("a", 9_007_199_254_740_991_i64);
    let text = full.canonical().unwrap();
    assert_eq!(
        text.into_bytes(),
        helve_core::audit::canonical(&full.clone().into_value()).unwrap()
    );
    assert_eq!(full.details().count(), 2);
    let bare = record("hub.started", "hub");
    for record in [&full, &bare] {
        adds(&store, 1, store.record(record.clone())).await;
    }
    let entries = whole(&store).await;
    let records: Vec<_> = entries.iter().map(|e| e.record.clone()).collect();
    assert_eq!(records, [full.into_value(), bare.into_value()]);
    assert_eq!(records[0]["at"], "2023-11-14T22:13:20.123Z");
    let head = store.audit_head().await.unwrap();
    assert_eq!((head.seq, head.hash), (2, entries[1].hash));
}

pub async fn entries_are_filtered(store: Kept) {
    let rows = [
        ("run.started", "ann", "run_1", 1_000),
        ("run.ended", "ann", "run_1", 2_000),
        ("run.started", "bob", "run_2", 3_000),
        ("tool.registered", "bob", "file_read", 3_000),
        // Written later, dated earlier.
        ("run.ended", "bob", "run_2", 2_500),
    ];
    for (event, actor, resource, at) in rows {
        let record = Record {
            at: At(at),
            actor: actor.to_owned(),
            ..record(event, resource)
        };
        store.record(record).await.unwrap();
    }
    let all = AuditFilter::default;
    let text = |text: &str| Some(text.to_owned());
    for (filter, limit, wanted) in [
        (all(), 99, vec![1, 2, 3, 4, 5]),
        (all(), 2, vec![1, 2]),
        (all(), 0, vec![]),
        (AuditFilter { after: 3, ..all() }, 99, vec![4, 5]),
        (AuditFilter { after: 3, ..all() }, 1, vec![4]),
        (AuditFilter { after: 5, ..all() }, 9, vec![]),
        (
            AuditFilter {
                after: u64::MAX,
                ..all()
            },
            9,
            vec![],
        ),
        (
            AuditFilter {
                resource: text("run_2"),
                ..all()
            },
            9,
            vec![3, 5],
        ),
        (
            AuditFilter {
                resource: text("run_2"),
                after: 3,
                ..all()
            },
            9,
            vec![5],
        ),
        (
            AuditFilter {
                resource: text("run_"),
                ..all()
            },
            9,
            vec![],
        ),
        (
            AuditFilter {
                actor: text("bob"),
                ..all()
            },
            9,
            vec![3, 4, 5],
        ),
        (
            AuditFilter {
                event: text("run.started"),
                ..all()
            },
            9,
            vec![1, 3],
        ),
        (
            AuditFilter {
                since: Some(At(2_500)),
                ..all()
            },
            9,
            vec![3, 4, 5],
        ),
        (
            AuditFilter {
                until: Some(At(2_500)),
                ..all()
            },
            9,
            vec![1, 2],
        ),
        (
            AuditFilter {
                since: Some(At(2_000)),
                until: Some(At(3_000)),
                ..all()
            },
            9,
            vec![2, 5],
        ),
        (
            AuditFilter {
                actor: text("bob"),
                event: text("run.ended"),
                since: Some(At(1_000)),
                ..all()
            },
            9,
            vec![5],
        ),
        (newest(all()), 9, vec![5, 4, 3, 2, 1]),
        (newest(all()), 2, vec![5, 4]),
        (
            AuditFilter {
                before: Some(4),
                ..newest(all())
            },
            2,
            vec![3, 2],
        ),
        (
            AuditFilter {
                after: 1,
                before: Some(4),
                ..all()
            },
            9,
            vec![2, 3],
        ),
        (
            AuditFilter {
                after: 4,
                before: Some(2),
                ..all()
            },
            9,
            vec![],
        ),
        (
            AuditFilter {
                before: Some(u64::from(u32::MAX)),
                until: Some(At(2_500)),
                ..newest(all())
            },
            9,
            vec![2, 1],
        ),
    ] {
        let shown = format!("{filter:?}, {limit}");
        let found = store.audit(filter, limit).await.unwrap();
        let found: Vec<_> = found.iter().map(|entry| entry.seq).collect();
        assert_eq!(found, wanted, "{shown}");
    }
}

/// Over hours, with entries that were written long after their time, and some of
/// before 1970.
pub async fn a_time_is_found_wherever_it_stands(store: Kept) {
    let minute = 60_000;
    let times = [5, 1, 5, 70, 3, 70, 71, 200, 70, 199, -2, 200, 0, 260, 201];
    for (i, time) in times.into_iter().enumerate() {
        let record = Record {
            at: At(time * minute + i64::try_from(i).unwrap()),
            ..record("run.ended", "run_1")
        };
        store.record(record).await.unwrap();
    }
    let all = whole(&store).await;
    let at = |entry: &Entry| At::parse(entry.record["at"].as_str().unwrap()).unwrap();
    for time in -3..=262 {
        for since in [At(time * minute), At(time * minute + 7)] {
            let filter = AuditFilter {
                since: Some(since),
                ..AuditFilter::default()
            };
            let found = store.audit(filter, 99).await.unwrap();
            let wanted: Vec<_> = all.iter().filter(|e| at(e) >= since).cloned().collect();
            assert_eq!(found, wanted, "since {since:?}");
        }
    }
}

pub async fn many_writers_make_one_chain(store: Kept) {
    let runs = at_once(|_| {
        let store = store.clone();
        async move {
            let run = a_run();
            let (id, note) = (run.id.clone(), record("run.opened", &run.id));
            store.open_run(run, None, None, note).await?;
            let begin = step(&id, &[RunState::Queued], RunState::Running, 2_000);
            store.move_run(begin, record("run.started", &id)).await?;
            let end = step(&id, &[RunState::Running], RunState::Failed, 3_000);
            store.move_run(end, record("run.ended", &id)).await?;
            Ok(id)
        }
    });
    for id in runs.await {
        let filter = AuditFilter {
            resource: Some(id.to_string()),
            ..AuditFilter::default()
        };
        let entries = store.audit(filter, 9).await.unwrap();
        let events: Vec<_> = entries.iter().map(|e| e.record["event"].clone()).collect();
        assert_eq!(events, ["run.opened", "run.started", "run.ended"]);
        assert_eq!(get(&store, &id).await.state, RunState::Failed);
    }
    assert_eq!(whole(&store).await.len(), 96);
}

/// The same, the other way round.
fn newest(filter: AuditFilter) -> AuditFilter {
    AuditFilter {
        order: Order::NewestFirst,
        ..filter
    }
}
