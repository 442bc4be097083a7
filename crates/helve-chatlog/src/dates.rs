//! Dates in a question, in English and Chinese.
//!
//! Each is read as whole days. What leaves the year open is the last such time that has begun.
//! What is vague ("lately", 最近) is not read: a guess would hide what is asked for.

mod chinese;
mod english;
mod number;

use std::ops::Range;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan};
use schemars::JsonSchema;
use serde::Serialize;

/// The day and the zone of whoever asks.
#[derive(Debug, Clone)]
pub struct Now {
    /// Today.
    pub date: Date,
    /// Where a day begins.
    pub zone: TimeZone,
}

/// A time that a text names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DateSpan {
    /// As written.
    pub text: String,
    /// Its bytes in the text.
    #[serde(skip)]
    pub at: Range<usize>,
    /// Its first day; nothing where it has no beginning.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub first: Option<Date>,
    /// Its last day; nothing where it has no end.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "Option<String>")]
    pub last: Option<Date>,
}

impl DateSpan {
    /// Its beginning, in milliseconds since 1970, UTC.
    #[must_use]
    pub fn since(&self, zone: &TimeZone) -> Option<i64> {
        millis(self.first?, zone)
    }

    /// Its end, which no longer belongs to it.
    #[must_use]
    pub fn until(&self, zone: &TimeZone) -> Option<i64> {
        millis(self.last?.tomorrow().ok()?, zone)
    }
}

fn as_text<S: serde::Serializer>(date: &Option<Date>, out: S) -> Result<S::Ok, S::Error> {
    date.map(|date| date.to_string()).serialize(out)
}

fn millis(date: Date, zone: &TimeZone) -> Option<i64> {
    Some(
        date.to_zoned(zone.clone())
            .ok()?
            .timestamp()
            .as_millisecond(),
    )
}

/// The times that a text names, in its order.
#[must_use]
pub fn dates(text: &str, now: &Now) -> Vec<DateSpan> {
    let mut found = english::find(text, now.date);
    found.extend(chinese::find(text, now.date));
    // The earliest, and of those the longest; what overlaps it is part of it.
    found.sort_by_key(|f| (f.at.start, std::cmp::Reverse(f.at.end)));
    let mut kept: Vec<Found> = Vec::new();
    for one in found {
        if kept.last().is_none_or(|last| last.at.end <= one.at.start) {
            kept.push(one);
        }
    }
    joined(text, kept)
}

/// Days from one to another, both within.
type Days = (Date, Date);

/// A time, before ranges are put together.
#[derive(Debug, Clone)]
struct Found {
    at: Range<usize>,
    days: Days,
    /// Whether the text names no year, so that another one's may be meant.
    open_year: bool,
}

/// Puts "from … to …" together, and opens what is "since" or "before".
fn joined(text: &str, found: Vec<Found>) -> Vec<DateSpan> {
    let mut spans = Vec::new();
    let mut rest = found.into_iter().peekable();
    while let Some(one) = rest.next() {
        let mut at = one.at.clone();
        let (mut first, mut last) = (Some(one.days.0), Some(one.days.1));
        if let Some(next) = rest.peek()
            && joins(text, at.start, &text[at.end..next.at.start])
        {
            let mut days = next.days;
            if next.open_year && !one.open_year {
                days = with_year(days, one.days.0.year());
            }
            if days.1 < one.days.0 {
                days = with_year(days, days.0.year() + 1);
            }
            if days.1 >= one.days.0 {
                last = Some(days.1);
                at.end = next.at.end;
                rest.next();
            }
        } else {
            let before = text[..at.start].trim_end().to_lowercase();
            let after = text[at.end..].trim_start();
            let begins = |words: &[&str]| words.iter().any(|word| after.starts_with(word));
            let ends = |words: &[&str]| words.iter().any(|word| before.ends_with(word));
            if ends(&["since", "after", "自", "自从"]) && !ends(&["day after"])
                || begins(&["以来", "之后", "以后", "起"])
            {
                if ends(&["after"]) || begins(&["之后", "以后"]) {
                    first = one.days.1.tomorrow().ok();
                }
                last = None;
            } else if ends(&["before", "until", "till", "by"]) || begins(&["之前", "以前", "前"])
            {
                if !ends(&["until", "till", "by"]) {
                    last = one.days.0.yesterday().ok();
                } else {
                    last = Some(one.days.1);
                }
                first = None;
            }
        }
        spans.push(DateSpan {
            text: text[at.clone()].to_owned(),
            at,
            first,
            last,
        });
    }
    spans
}

fn joins(text: &str, start: usize, between: &str) -> bool {
    let between = between.trim().to_lowercase();
    let before = text[..start].trim_end().to_lowercase();
    matches!(
        between.as_str(),
        "to" | "until" | "till" | "through" | "-" | "–" | "—" | "~" | "到" | "至" | "~ " | "～"
    ) || matches!(between.as_str(), "and" | "和" | "与")
        && (before.ends_with("between") || before.ends_with('在'))
}

fn with_year((first, last): Days, year: i16) -> Days {
    let length = last - first;
    let Some(first) = day(year, first.month(), first.day()) else {
        return (first, last);
    };
    (first, first.checked_add(length).unwrap_or(first))
}

/// A day, where there is such a one.
fn day(year: i16, month: i8, day: i8) -> Option<Date> {
    Date::new(year, month, day).ok()
}

fn month(year: i16, month: i8) -> Option<Days> {
    let first = day(year, month, 1)?;
    Some((first, first.last_of_month()))
}

fn year(year: i16) -> Option<Days> {
    Some((day(year, 1, 1)?, day(year, 12, 31)?))
}

/// A day and a span from there.
fn plus(date: Date, span: Span) -> Option<Date> {
    date.checked_add(span).ok()
}

/// The Monday of a day's week, so many weeks on.
fn week(date: Date, on: i64) -> Option<Days> {
    let monday = plus(
        date,
        days(-i64::from(date.weekday().to_monday_zero_offset())),
    )?;
    let monday = plus(monday, days(7 * on))?;
    Some((monday, plus(monday, 6.days())?))
}

/// The day of that week, Monday is 0.
fn day_of_week(date: Date, on: i64, weekday: i64) -> Option<Days> {
    let one = plus(week(date, on)?.0, days(weekday))?;
    Some((one, one))
}

/// The last such day of a week that was, today among them.
fn recent_weekday(date: Date, weekday: i64) -> Option<Days> {
    let this = day_of_week(date, 0, weekday)?;
    if this.0 <= date {
        Some(this)
    } else {
        day_of_week(date, -1, weekday)
    }
}

/// The month so many months on.
fn month_on(date: Date, on: i64) -> Option<Days> {
    let there = plus(date.first_of_month(), Span::new().try_months(on).ok()?)?;
    month(there.year(), there.month())
}

/// The last such month that has begun.
fn recent_month(date: Date, m: i8) -> Option<Days> {
    let this = month(date.year(), m)?;
    if this.0 <= date {
        Some(this)
    } else {
        month(date.year() - 1, m)
    }
}

/// The last such day of a year that was, today among them.
fn recent_day(date: Date, m: i8, d: i8) -> Option<Days> {
    let this = day(date.year(), m, d).filter(|&this| this <= date);
    let one = this.or_else(|| (1..=4).find_map(|back| day(date.year() - back, m, d)))?;
    Some((one, one))
}

fn days(count: i64) -> Span {
    Span::new().try_days(count).unwrap_or_default()
}

/// What is meant by "so many ago": of a long time ago, the day is not meant.
fn ago(date: Date, count: i64, unit: Unit) -> Option<Days> {
    match unit {
        Unit::Day => plus(date, days(-count)).map(|one| (one, one)),
        Unit::Week => {
            let one = plus(date, days(-(7 * count)))?;
            Some((plus(one, (-3).days())?, plus(one, 3.days())?))
        }
        Unit::Month => month_on(date, -count),
        Unit::Year => year(i16::try_from(i64::from(date.year()) - count).ok()?),
    }
}

/// The last so many, up to today.
fn past(date: Date, count: i64, unit: Unit) -> Option<Days> {
    let span = match unit {
        Unit::Day => days(1 - count),
        Unit::Week => days(-(7 * count)),
        Unit::Month => Span::new().try_months(-count).ok()?,
        Unit::Year => Span::new().try_years(-count).ok()?,
    };
    Some((plus(date, span)?, date))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

#[cfg(test)]
mod tests;
