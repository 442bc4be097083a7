//! What becomes of something that is due: pure, so that every case of it can be tried.

use helve_kernel::At;

use super::Settings;
use crate::schedule::kept::{Missed, Schedule};

/// What is to be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// What runs now; nothing where all of it was missed, and is not made up for.
    pub(super) fire: Option<At>,
    /// Whether that makes up for what was missed.
    pub(super) missed: bool,
    /// What is due after it.
    pub(super) next: Option<At>,
    /// How many more may be made up for.
    pub(super) left: Option<u32>,
    /// Whether it waits for the run before it to be over, instead of being skipped.
    pub(super) waits: bool,
}

/// `due` is not later than `now`.
pub(super) fn plan(
    schedule: &Schedule,
    left: Option<u32>,
    due: At,
    now: At,
    settings: &Settings,
) -> Plan {
    let trigger = &schedule.trigger;
    let late = i64::try_from(settings.late.as_millis()).unwrap_or(i64::MAX);
    let since = At(now.0.saturating_sub(late).saturating_sub(1));
    let in_time = trigger.last_within(due, since, now);
    let only = |fire: Option<At>, missed: bool| Plan {
        fire,
        missed,
        next: trigger.after(now),
        left: None,
        waits: false,
    };
    if in_time == Some(due) {
        return only(in_time, false);
    }
    match schedule.missed {
        Missed::Skip => only(in_time, false),
        Missed::Once => only(in_time.or(Some(due)), true),
        Missed::All => match left.unwrap_or(settings.most_missed) {
            0 => only(in_time, false),
            left => Plan {
                fire: Some(due),
                missed: true,
                next: trigger.after(due),
                left: Some(left - 1),
                waits: true,
            },
        },
    }
}

#[cfg(test)]
mod tests;
