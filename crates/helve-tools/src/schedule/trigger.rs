//! When something is due: once, every so often, or as a line of cron says.
//!
//! - What comes next is always later than the moment that it is asked for.
//! - Where a clock is put forward, what falls into the gap is due at its end. Where it is put
//!   back, a fixed time is due once, the first time; every so many minutes goes on through
//!   both.

use std::fmt;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use helve_kernel::{At, ToolError};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The least and the most seconds between two runs.
const SHORTEST: u64 = 10;
const LONGEST: u64 = 366 * 24 * 60 * 60;

/// A moment, written as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(pub(super) At);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let at = At::parse(&text);
        at.map(Moment)
            .ok_or_else(|| de::Error::custom(format!("`{text}` is no moment")))
    }
}

/// What sort of trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TriggerType {
    /// At one moment.
    Once,
    /// Every so often.
    Interval,
    /// As a line of cron says.
    Cron,
}

/// When, in the words that go with the sort of trigger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub struct TriggerConfig {
    /// For `once`: RFC 3339, or a local time in the time zone, like `2030-01-31T09:00`.
    #[schemars(length(max = 100))]
    pub run_at: String,
    /// For `interval`: every so many seconds, at least 10.
    pub interval_seconds: u64,
    /// For `interval`: every so many minutes.
    pub interval_minutes: u64,
    /// For `interval`: every so many hours.
    pub interval_hours: u64,
    /// For `cron`: five fields, like `0 9 * * 1-5`, or `@daily`.
    #[schemars(length(max = 200))]
    pub cron: String,
}

/// When something is due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Trigger {
    Once { at: Moment },
    Interval { seconds: u64, from: Moment },
    Cron { cron: String, time_zone: String },
}

impl Trigger {
    /// What somebody asked for, if it makes sense.
    pub(super) fn read(
        kind: TriggerType,
        config: &TriggerConfig,
        time_zone: &str,
        now: At,
    ) -> Result<Self, ToolError> {
        let zone = zone(time_zone)?;
        only_for(kind, config)?;
        let trigger = match kind {
            TriggerType::Once => Trigger::Once {
                at: Moment(moment(&config.run_at, &zone)?),
            },
            TriggerType::Interval => Trigger::Interval {
                seconds: seconds(config)?,
                from: Moment(now),
            },
            TriggerType::Cron => {
                parsed(&config.cron)?;
                Trigger::Cron {
                    cron: config.cron.trim().to_owned(),
                    time_zone: time_zone.to_owned(),
                }
            }
        };
        if trigger.after(now).is_some() {
            return Ok(trigger);
        }
        Err(match &trigger {
            Trigger::Once { at } => ToolError::validation(format!(
                "`run_at` is {at}, and now it is {now}"
            ))
            .with_hint("give a moment that is still to come; a local time is one of `time_zone`"),
            _ => ToolError::validation(format!("`{}` never comes", config.cron.escape_debug()))
                .with_hint("no such day is in any year"),
        })
    }

    /// When it is due next after a moment; never, if there is no such time.
    pub(super) fn after(&self, moment: At) -> Option<At> {
        match self {
            Trigger::Once { at } => Some(at.0).filter(|at| *at > moment),
            Trigger::Interval { seconds, from } => {
                let step = i64::try_from(*seconds).ok()?.checked_mul(1000)?;
                let gone = moment.0.checked_sub(from.0.0)?;
                let turns = gone.checked_div_euclid(step)?.max(0).checked_add(1)?;
                from.0.0.checked_add(turns.checked_mul(step)?).map(At)
            }
            Trigger::Cron { cron, time_zone } => {
                let (cron, zone) = (parsed(cron).ok()?, zone(time_zone).ok()?);
                // Whole seconds: what is later than this one's second is later than it.
                let from = Timestamp::from_second(moment.0.div_euclid(1000)).ok()?;
                let next = cron
                    .find_next_occurrence(&from.to_zoned(zone), false)
                    .ok()?;
                Some(At(next.timestamp().as_millisecond())).filter(|next| *next > moment)
            }
        }
    }

    /// The last time that it was due at or before `now`, but later than `since` and not
    /// before `first`, which is one of its times.
    pub(super) fn last_within(&self, first: At, since: At, now: At) -> Option<At> {
        let mut last = match first > since {
            true => first,
            false => self.after(since)?,
        };
        if last > now {
            return None;
        }
        while let Some(next) = self.after(last).filter(|next| *next <= now) {
            last = next;
        }
        Some(last)
    }

    pub(super) fn kind(&self) -> TriggerType {
        match self {
            Trigger::Once { .. } => TriggerType::Once,
            Trigger::Interval { .. } => TriggerType::Interval,
            Trigger::Cron { .. } => TriggerType::Cron,
        }
    }

    /// The words with which it is asked for.
    pub(super) fn config(&self) -> TriggerConfig {
        let mut config = TriggerConfig::default();
        match self {
            Trigger::Once { at } => config.run_at = at.to_string(),
            Trigger::Interval { seconds, .. } => config.interval_seconds = *seconds,
            Trigger::Cron { cron, .. } => config.cron.clone_from(cron),
        }
        config
    }
}

/// Words of another sort of trigger are a mistake, not decoration.
fn only_for(kind: TriggerType, config: &TriggerConfig) -> Result<(), ToolError> {
    let given = [
        (TriggerType::Once, "run_at", !config.run_at.is_empty()),
        (
            TriggerType::Interval,
            "interval_seconds",
            config.interval_seconds > 0,
        ),
        (
            TriggerType::Interval,
            "interval_minutes",
            config.interval_minutes > 0,
        ),
        (
            TriggerType::Interval,
            "interval_hours",
            config.interval_hours > 0,
        ),
        (TriggerType::Cron, "cron", !config.cron.is_empty()),
    ];
    let (kind_word, wanted) = match kind {
        TriggerType::Once => ("once", "`run_at`"),
        TriggerType::Interval => (
            "interval",
            "one of `interval_seconds`, `interval_minutes` and `interval_hours`",
        ),
        TriggerType::Cron => ("cron", "`cron`"),
    };
    let named = given.iter().filter(|(_, _, there)| *there);
    let (ours, others): (Vec<_>, Vec<_>) = named.partition(|(of, _, _)| *of == kind);
    if let Some((_, other, _)) = others.first() {
        let problem = format!("`{other}` does not go with the trigger `{kind_word}`");
        return Err(ToolError::validation(problem).with_hint(format!("give {wanted}")));
    }
    match ours.len() {
        1 => Ok(()),
        _ => Err(ToolError::validation(format!(
            "the trigger `{kind_word}` needs {wanted} in `trigger_config`"
        ))),
    }
}

fn zone(name: &str) -> Result<TimeZone, ToolError> {
    TimeZone::get(name).map_err(|_| {
        let problem = format!("`{}` is no time zone", name.escape_debug());
        ToolError::validation(problem).with_hint("use a name like `UTC` or `Europe/Berlin`")
    })
}

fn moment(text: &str, zone: &TimeZone) -> Result<At, ToolError> {
    let text = text.trim();
    if let Some(at) = At::parse(text) {
        return Ok(at);
    }
    let local: civil::DateTime = text.parse().map_err(|_| {
        let problem = format!("`run_at` is no moment: `{}`", text.escape_debug());
        let hint = "write it like `2030-01-31T09:00:00Z`, or `2030-01-31T09:00` for a local time";
        ToolError::validation(problem).with_hint(hint)
    })?;
    let zoned = local.to_zoned(zone.clone());
    let zoned = zoned.map_err(|e| ToolError::validation(format!("`run_at`: {e}")))?;
    Ok(At(zoned.timestamp().as_millisecond()))
}

fn seconds(config: &TriggerConfig) -> Result<u64, ToolError> {
    let parts = [
        (config.interval_seconds, 1),
        (config.interval_minutes, 60),
        (config.interval_hours, 60 * 60),
    ];
    let sum = parts.iter().map(|(n, each)| n.saturating_mul(*each)).max();
    match sum.unwrap_or_default() {
        seconds @ SHORTEST..=LONGEST => Ok(seconds),
        seconds => Err(ToolError::validation(format!(
            "every {seconds} seconds is not between {SHORTEST} seconds and 366 days"
        ))),
    }
}

fn parsed(cron: &str) -> Result<Cron, ToolError> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build();
    parser.parse(cron.trim()).map_err(|e| {
        let problem = format!("`{}` is no line of cron: {e}", cron.escape_debug());
        ToolError::validation(problem).with_hint(
            "five fields: minute, hour, day of the month, month, day of the week; like `0 9 * * 1-5`",
        )
    })
}

#[cfg(test)]
mod tests;
