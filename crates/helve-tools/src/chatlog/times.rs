//! Which times are meant: as they are written, or in words.

use helve_chatlog::archive::Span;
use helve_chatlog::{DateSpan, dates};
use helve_kernel::ToolError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::given::now;

/// A stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Not before; empty for no beginning.
    #[serde(default)]
    pub since: String,
    /// Not after; empty for no end.
    #[serde(default)]
    pub until: String,
}

/// What lies within one of the ranges, and within the bounds of all; no span at all where
/// nothing bounds it.
pub(super) fn spans(
    since: &str,
    until: &str,
    ranges: &[Range],
    zone: &TimeZone,
) -> Result<Vec<Span>, ToolError> {
    let all = span("", since, until, zone)?;
    if ranges.is_empty() {
        let bounded = all.since.is_some() || all.until.is_some();
        return Ok(bounded.then_some(all).into_iter().collect());
    }
    let one = |(i, range): (usize, &Range)| {
        let at = format!("ranges[{i}].");
        let own = span(&at, &range.since, &range.until, zone)?;
        if own.since.is_none() && own.until.is_none() {
            let problem = format!("`ranges[{i}]` has neither `since` nor `until`");
            return Err(ToolError::validation(problem)
                .with_hint("give it one of them, or leave it out for any time"));
        }
        // A range outside of the bounds becomes a span that nothing lies in.
        Ok(Span {
            since: own.since.max(all.since),
            until: match (own.until, all.until) {
                (Some(one), Some(all)) => Some(one.min(all)),
                (one, all) => one.or(all),
            },
        })
    };
    ranges.iter().enumerate().map(one).collect()
}

/// From the first to the last moment.
fn span(at: &str, since: &str, until: &str, zone: &TimeZone) -> Result<Span, ToolError> {
    let span = Span {
        since: bound(since, &format!("{at}since"), zone, Side::First)?,
        until: bound(until, &format!("{at}until"), zone, Side::Last)?,
    };
    match (span.since, span.until) {
        (Some(first), Some(last)) if first > last => {
            let problem = format!(
                "`{at}since` (`{}`) is after `{at}until` (`{}`)",
                since.trim().escape_debug(),
                until.trim().escape_debug()
            );
            Err(ToolError::validation(problem)
                .with_hint("nothing lies between them; turn them round"))
        }
        _ => Ok(span),
    }
}

/// Which end of a day or a month is meant.
#[derive(Debug, Clone, Copy)]
enum Side {
    First,
    Last,
}

/// A time, written as one or in words: `2024-03-01`, `last week`, `去年三月`.
fn bound(text: &str, name: &str, zone: &TimeZone, side: Side) -> Result<Option<i64>, ToolError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(Some(time.as_millisecond()));
    }
    // A time of day without a zone: the zone is that of the chats.
    if text.contains(':')
        && let Ok(time) = text.parse::<DateTime>()
        && let Ok(time) = time.to_zoned(zone.clone())
    {
        return Ok(Some(time.timestamp().as_millisecond()));
    }
    let spans = dates(text, &now(zone));
    let moment = |span: &DateSpan| match side {
        Side::First => span.since(zone),
        // The end of a day no longer belongs to it.
        Side::Last => span.until(zone).map(|end| end - 1),
    };
    // Digits beside the date would be lost: of `2024-02-30`, only the month is a date.
    let whole = |span: &&DateSpan| {
        let beside = [&text[..span.at.start], &text[span.at.end..]];
        !beside.concat().contains(|c: char| c.is_numeric())
    };
    let found = spans.first().filter(whole).and_then(moment);
    found.map(Some).ok_or_else(|| {
        ToolError::validation(format!("`{name}` is no time: `{}`", text.escape_debug()))
            .with_hint("write it like `2024-03-01`, `2024-03-01T12:00:00Z` or `last week`")
    })
}
