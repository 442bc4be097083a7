//! Dates in English.

use std::sync::OnceLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use super::{
    Days, Found, Unit, ago, day, day_of_week, days, month, month_on, number, past, plus,
    recent_day, recent_month, recent_weekday, week, year,
};

const MONTH: &str = "(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const WEEKDAY: &str = "(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)";
const COUNT: &str = "(?P<count>\\d{1,4}|a couple of|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)";
const UNIT: &str = "(?P<unit>day|week|month|year)s?";
const DAY: &str = "(?P<day>\\d{1,2})(?:st|nd|rd|th)?";
const YEAR: &str = "(?P<year>(?:19|20)\\d\\d)";

type Read = fn(&Captures<'_>, Date) -> Option<(Days, bool)>;

fn table() -> &'static [(Regex, Read)] {
    static TABLE: OnceLock<Vec<(Regex, Read)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rules: [(String, Read); 17] = [
            ("(?P<year>(?:19|20)\\d\\d)[-/.](?P<m>\\d{1,2})[-/.](?P<day>\\d{1,2})".into(), |c, _| {
                let one = day(int(c, "year")?, int(c, "m")?, int(c, "day")?)?;
                Some(((one, one), false))
            }),
            ("(?P<year>(?:19|20)\\d\\d)[-/](?P<m>\\d{1,2})".into(), |c, _| {
                Some((month(int(c, "year")?, int(c, "m")?)?, false))
            }),
            (format!("{MONTH}\\.? {DAY}(?:,? {YEAR})?"), month_and_day),
            (format!("(?:the )?{DAY} (?:of )?{MONTH}\\.?(?:,? {YEAR})?"), month_and_day),
            (format!("{MONTH}\\.?,?(?: of)? {YEAR}"), |c, _| Some((month(int(c, "year")?, month_of(c)?)?, false))),
            (format!("(?:in|during|since|before|after|until|till|by|from|to|of|(?P<which>last|this|next)) {MONTH}"), which_month),
            ("(?:january|february|april|june|july|august|september|october|november|december)".into(), |c, now| {
                Some((recent_month(now, month_number(c.get(0)?.as_str())?)?, true))
            }),
            (format!("(?P<season>spring|summer|autumn|fall|winter)(?: of)? {YEAR}"), |c, _| season(c)),
            (format!("Q(?P<q>[1-4]),? {YEAR}"), |c, _| {
                let (y, q): (i16, i8) = (int(c, "year")?, int(c, "q")?);
                Some(((month(y, q * 3 - 2)?.0, month(y, q * 3)?.1), false))
            }),
            (format!("(?:(?:in|during|of|year|since|before|after|until|from|to) )?{YEAR}"), |c, _| {
                Some((year(int(c, "year")?)?, false))
            }),
            ("(?P<rel>the day before yesterday|the day after tomorrow|yesterday|last night|today|tonight|this morning|this evening|tomorrow)".into(), |c, now| {
                let on = match c["rel"].to_lowercase().as_str() {
                    "the day before yesterday" => -2,
                    "yesterday" | "last night" => -1,
                    "tomorrow" => 1,
                    "the day after tomorrow" => 2,
                    _ => 0,
                };
                let one = plus(now, days(on))?;
                Some(((one, one), false))
            }),
            ("(?P<which>last|this|next) (?P<unit>week|month|year)".into(), |c, now| {
                let on = which(c)?;
                Some((match unit(c)? {
                    Unit::Month => month_on(now, on)?,
                    Unit::Year => year(now.year().checked_add(i16::try_from(on).ok()?)?)?,
                    Unit::Week | Unit::Day => week(now, on)?,
                }, false))
            }),
            ("(?P<which>last|this|next) weekend".into(), |c, now| {
                let on = which(c)?;
                Some(((day_of_week(now, on, 5)?.0, day_of_week(now, on, 6)?.1), false))
            }),
            (format!("(?P<which>last|this|next) {WEEKDAY}"), |c, now| {
                let found = day_of_week(now, which(c)?, weekday(c)?)?;
                Some((found, false))
            }),
            (format!("(?:on )?{WEEKDAY}"), |c, now| Some((recent_weekday(now, weekday(c)?)?, false))),
            (format!("{COUNT} {UNIT} ago"), |c, now| {
                Some((ago(now, number::english(&c["count"])?, unit(c)?)?, false))
            }),
            (format!("(?:in |over |during |within )?(?:the )?(?:last|past) (?:{COUNT} )?{UNIT}"), |c, now| {
                let written = c.name("count").map(|count| count.as_str());
                // "Last week" is a week of the calendar; "the past week" is seven days.
                let whole = c[0].to_lowercase();
                if written.is_none() && whole.contains("last") {
                    return None;
                }
                Some((past(now, number::english(written.unwrap_or("a"))?, unit(c)?)?, false))
            }),
        ];
        rules
            .into_iter()
            .filter_map(|(rule, read)| Some((Regex::new(&format!("(?i)\\b(?:{rule})\\b")).ok()?, read)))
            .collect()
    })
}

pub(super) fn find(text: &str, now: Date) -> Vec<Found> {
    let mut found = Vec::new();
    for (rule, read) in table() {
        for captures in rule.captures_iter(text) {
            if let (Some(whole), Some((days, open_year))) = (captures.get(0), read(&captures, now))
            {
                // A word that only leads to the date is left to the text: "since", "before".
                let lead = lead(whole.as_str());
                found.push(Found {
                    at: whole.start() + lead..whole.end(),
                    days,
                    open_year,
                });
            }
        }
    }
    found
}

fn lead(text: &str) -> usize {
    let lower = text.to_ascii_lowercase();
    [
        "in ", "on ", "during ", "since ", "before ", "after ", "until ", "till ", "by ", "from ",
        "to ", "of ", "year ",
    ]
    .iter()
    .find(|word| lower.starts_with(**word))
    .map_or(0, |word| word.len())
}

fn month_and_day(c: &Captures<'_>, now: Date) -> Option<(Days, bool)> {
    let (m, d) = (month_of(c)?, int(c, "day")?);
    match c.name("year") {
        Some(_) => {
            let one = day(int(c, "year")?, m, d)?;
            Some(((one, one), false))
        }
        None => Some((recent_day(now, m, d)?, true)),
    }
}

fn which_month(c: &Captures<'_>, now: Date) -> Option<(Days, bool)> {
    let m = month_of(c)?;
    match c
        .name("which")
        .map(|which| which.as_str().to_lowercase())
        .as_deref()
    {
        Some("this") => Some((month(now.year(), m)?, false)),
        Some("next") => {
            let later = if m > now.month() {
                now.year()
            } else {
                now.year() + 1
            };
            Some((month(later, m)?, false))
        }
        // The one before the one that runs.
        Some(_) => {
            let earlier = if m < now.month() {
                now.year()
            } else {
                now.year() - 1
            };
            Some((month(earlier, m)?, false))
        }
        None => Some((recent_month(now, m)?, true)),
    }
}

fn season(c: &Captures<'_>) -> Option<(Days, bool)> {
    let y: i16 = int(c, "year")?;
    let first = match c["season"].to_lowercase().as_str() {
        "spring" => 3,
        "summer" => 6,
        "winter" => return Some(((month(y, 12)?.0, month(y + 1, 2)?.1), false)),
        _ => 9,
    };
    Some(((month(y, first)?.0, month(y, first + 2)?.1), false))
}

fn int<T: std::str::FromStr>(c: &Captures<'_>, name: &str) -> Option<T> {
    c.name(name)?.as_str().parse().ok()
}

fn month_of(c: &Captures<'_>) -> Option<i8> {
    month_number(c.name("month")?.as_str())
}

fn month_number(name: &str) -> Option<i8> {
    let start = name.get(..3)?.to_lowercase();
    let at = "janfebmaraprmayjunjulaugsepoctnovdec".find(&start)?;
    i8::try_from(at / 3 + 1).ok()
}

fn weekday(c: &Captures<'_>) -> Option<i64> {
    let start = c.name("weekday")?.as_str().get(..3)?.to_lowercase();
    i64::try_from("montuewedthufrisatsun".find(&start)? / 3).ok()
}

fn which(c: &Captures<'_>) -> Option<i64> {
    Some(match c.name("which")?.as_str().to_lowercase().as_str() {
        "last" => -1,
        "next" => 1,
        _ => 0,
    })
}

fn unit(c: &Captures<'_>) -> Option<Unit> {
    Some(match c.name("unit")?.as_str().to_lowercase().as_str() {
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        _ => Unit::Year,
    })
}
