use std::time::Duration;

use helve_kernel::At;
use serde_json::Map;

use super::{Plan, plan};
use crate::schedule::kept::{By, Missed, Schedule, TaskType};
use crate::schedule::ticker::Settings;
use crate::schedule::trigger::{Moment, Trigger};

/// Due every hundred seconds; late after thirty; three are made up for.
fn check(
    missed: Missed,
    left: Option<u32>,
    due: i64,
    now: i64,
) -> (Option<i64>, bool, i64, Option<u32>) {
    let schedule = Schedule {
        id: "sch_1".to_owned(),
        name: "n".to_owned(),
        description: String::new(),
        task_type: TaskType::Tool,
        tool: "probe_hit".to_owned(),
        arguments: Map::new(),
        trigger: Trigger::Interval {
            seconds: 100,
            from: Moment(At(0)),
        },
        time_zone: "UTC".to_owned(),
        missed,
        enabled: true,
        by: By {
            owner: "ann".to_owned(),
            under: None,
            kind: "person".to_owned(),
            token: None,
        },
        created_at: Moment(At(0)),
        changed_at: Moment(At(0)),
        next_at: None,
        revision: String::new(),
    };
    let settings = Settings {
        late: Duration::from_secs(30),
        most_missed: 3,
        kept: 10,
    };
    let second = |n: i64| At(n * 1000);
    let Plan {
        fire,
        missed,
        next,
        left,
        waits,
    } = plan(&schedule, left, second(due), second(now), &settings);
    assert_eq!(
        waits,
        left.is_some(),
        "only what is made up for in order waits"
    );
    (
        fire.map(|at| at.0 / 1000),
        missed,
        next.unwrap().0 / 1000,
        left,
    )
}

#[test]
fn what_is_in_time_runs_and_nothing_else_happens() {
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        for now in [100, 101, 130] {
            assert_eq!(check(missed, None, 100, now), (Some(100), false, 200, None));
        }
        // The end of what was made up for.
        assert_eq!(
            check(missed, Some(1), 100, 110),
            (Some(100), false, 200, None)
        );
    }
}

#[test]
fn what_was_missed_is_dealt_with_as_asked() {
    use Missed::{All, Once, Skip};
    let table = [
        // Late by more than may be: nothing, one, each.
        (Skip, None, 100, 131, (None, false, 200, None)),
        (Once, None, 100, 131, (Some(100), true, 200, None)),
        (All, None, 100, 131, (Some(100), true, 200, Some(2))),
        // Five were missed.
        (Skip, None, 100, 550, (None, false, 600, None)),
        (Once, None, 100, 550, (Some(100), true, 600, None)),
        (All, None, 100, 550, (Some(100), true, 200, Some(2))),
        (All, Some(2), 200, 550, (Some(200), true, 300, Some(1))),
        (All, Some(1), 300, 550, (Some(300), true, 400, Some(0))),
        (All, Some(0), 400, 550, (None, false, 600, None)),
        // The last of them is in time.
        (Skip, None, 100, 505, (Some(500), false, 600, None)),
        (Once, None, 100, 505, (Some(500), true, 600, None)),
        (All, None, 100, 505, (Some(100), true, 200, Some(2))),
        (All, Some(0), 400, 505, (Some(500), false, 600, None)),
    ];
    for (missed, left, due, now, wanted) in table {
        assert_eq!(
            check(missed, left, due, now),
            wanted,
            "{missed:?} {left:?} {due} at {now}"
        );
    }
}
