//! Dates and times as people and programs write them.
//!
//! A [`Stamp`] is what is written; it becomes a time once the order of its numbers is known
//! ([`Order`]) and the zone of times that have none. An hour that daylight saving leaves out
//! is read as the one after; of an hour that comes twice, the first is meant.

use std::cmp::Ordering;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use crate::DateOrder;
use crate::formats::error::ReadError;

#[cfg(test)]
mod tests;

/// A date, perhaps with a time, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    numbers: [i32; 3],
    digits: [u8; 3],
    time: Option<(i8, i8, i8, i32)>,
    /// Seconds east of Greenwich.
    offset: Option<i32>,
}

impl Stamp {
    /// Reads one; the whole text must be one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Reader::new(text).stamp()
    }

    /// Whether it has a time of day.
    pub(crate) fn timed(&self) -> bool {
        self.time.is_some()
    }

    /// Whether the year comes first, whatever the other dates say.
    pub(crate) fn certain(&self) -> bool {
        self.digits[0] == 4
    }

    fn date(&self, order: DateOrder) -> Option<Date> {
        let [a, b, c] = self.numbers;
        let (year, digits, month, day) = match order {
            DateOrder::YearMonthDay => (a, self.digits[0], b, c),
            DateOrder::DayMonthYear => (c, self.digits[2], b, a),
            DateOrder::MonthDayYear => (c, self.digits[2], a, b),
        };
        let year = match digits {
            4 => year,
            2 if year >= 90 => 1900 + year,
            2 => 2000 + year,
            _ => return None,
        };
        let small = |n: i32| i8::try_from(n).ok();
        Date::new(i16::try_from(year).ok()?, small(month)?, small(day)?).ok()
    }

    /// When it is, in milliseconds since 1970.
    pub(crate) fn resolve(&self, order: DateOrder, zone: &TimeZone) -> Option<i64> {
        let order = if self.certain() {
            DateOrder::YearMonthDay
        } else {
            order
        };
        let (h, m, s, nano) = self.time.unwrap_or_default();
        let date = self.date(order)?;
        let at = DateTime::from_parts(date, jiff::civil::Time::new(h, m, s, nano).ok()?);
        let time = match self.offset {
            Some(seconds) => Offset::from_seconds(seconds).ok()?.to_timestamp(at).ok()?,
            None => zone.to_timestamp(at).ok()?,
        };
        Some(time.as_millisecond())
    }
}

/// Finds the order of day, month and year from all dates of a file.
#[derive(Debug, Default)]
pub(crate) struct Order {
    sample: Option<String>,
    seen: u64,
    fit: [u64; 3],
    back: [u64; 3],
    last: [Option<Date>; 3],
    /// Whether day-first and month-first give different days anywhere.
    differ: bool,
}

const ORDERS: [DateOrder; 3] = [
    DateOrder::YearMonthDay,
    DateOrder::DayMonthYear,
    DateOrder::MonthDayYear,
];

impl Order {
    /// Another date of the file.
    pub(crate) fn see(&mut self, stamp: &Stamp, written: &str) {
        self.seen += 1;
        let dates = ORDERS.map(|order| stamp.date(order));
        for (n, date) in dates.into_iter().enumerate() {
            let Some(date) = date else { continue };
            self.fit[n] += 1;
            self.back[n] += u64::from(self.last[n].is_some_and(|last| date < last));
            self.last[n] = Some(date);
        }
        if dates[1] != dates[2] && !stamp.certain() {
            self.differ = true;
            if self.sample.is_none() || stamp.numbers[0] <= 12 && stamp.numbers[1] <= 12 {
                self.sample = Some(written.trim().to_owned());
            }
        }
    }

    /// The order. Day-first and month-first are told apart by a number above 12, else by which
    /// of them lets time run forward. A year of two digits comes first only where it fits
    /// better than at the end, or time runs forward only so: else almost every such date would
    /// fit two orders.
    pub(crate) fn found(&self) -> Result<DateOrder, ReadError> {
        let [year, day, month] = self.fit;
        let best = day.max(month);
        let others = match day.cmp(&month) {
            Ordering::Greater => self.back[1],
            Ordering::Less => self.back[2],
            Ordering::Equal => self.back[1].min(self.back[2]),
        };
        // One date that fits nothing else is a mistake, no order.
        let fits = year.saturating_sub(best) * 10 > self.seen;
        if fits || (year >= best && self.back[0] * 4 < others) {
            return Ok(DateOrder::YearMonthDay);
        }
        if day != month {
            return Ok(ORDERS[if day > month { 1 } else { 2 }]);
        }
        let [_, day, month] = self.back;
        if !self.differ || day * 4 < month {
            return Ok(DateOrder::DayMonthYear);
        }
        if month * 4 < day {
            return Ok(DateOrder::MonthDayYear);
        }
        Err(ReadError::Ambiguous {
            sample: self.sample.clone().unwrap_or_default(),
        })
    }
}

/// A time, from a number or from what is written.
pub(crate) struct Clock<'c> {
    pub(crate) zone: &'c TimeZone,
    pub(crate) order: DateOrder,
}

impl Clock<'_> {
    /// Nothing where nothing is written; why not, where it is no time.
    pub(crate) fn read(&self, text: &str) -> Result<Option<i64>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(time) = unix(text) {
            return Ok(Some(time));
        }
        let stamp = Stamp::parse(text).ok_or_else(|| format!("`{}` is no time", short(text)))?;
        let time = stamp.resolve(self.order, self.zone);
        let time = time.ok_or_else(|| format!("there is no such time as `{}`", short(text)))?;
        Ok(Some(time))
    }
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A count since 1970 in seconds, milliseconds, microseconds or nanoseconds, told apart by its
/// size: as seconds, each of the finer ones would lie after the year 5000.
pub(crate) fn unix(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 19 || !digits(whole) || !digits(part) {
        return None;
    }
    let number: i64 = whole.parse().ok()?;
    match number {
        // Less is a year or a day number, no time since 1970.
        0..100_000_000 => None,
        100_000_000..100_000_000_000 => {
            let mut milli = 0;
            for n in 0..3 {
                let digit = part.as_bytes().get(n).map_or(0, |b| i64::from(b - b'0'));
                milli = milli * 10 + digit;
            }
            Some(number * 1000 + milli)
        }
        100_000_000_000..100_000_000_000_000 => Some(number),
        100_000_000_000_000..100_000_000_000_000_000 => Some(number / 1000),
        _ => Some(number / 1_000_000),
    }
}

/// Which half of the day an hour of 1 to 12 is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    /// Before noon; 12 is midnight.
    Before,
    /// After noon; 12 is noon.
    After,
    /// About noon: 11 and 12, then 1 and 2.
    Noon,
    /// In the evening; there is no 12.
    Evening,
}

/// The words for them, as programs write them.
const HALVES: &[(&str, Half)] = &[
    ("a.m.", Half::Before),
    ("p.m.", Half::After),
    ("a. m.", Half::Before),
    ("p. m.", Half::After),
    ("am", Half::Before),
    ("pm", Half::After),
    ("上午", Half::Before),
    ("凌晨", Half::Before),
    ("清晨", Half::Before),
    ("早上", Half::Before),
    ("早晨", Half::Before),
    ("午前", Half::Before),
    ("오전", Half::Before),
    ("下午", Half::After),
    ("傍晚", Half::After),
    ("午後", Half::After),
    ("午后", Half::After),
    ("오후", Half::After),
    ("中午", Half::Noon),
    ("晚上", Half::Evening),
];

impl Half {
    fn hour(self, hour: i32) -> Option<i32> {
        match (self, hour) {
            (Self::Before, 12) => Some(0),
            (Self::Before, 0..=11) | (Self::Noon, 11 | 12) | (Self::After, 12..=23) => Some(hour),
            (Self::After, 1..=11) | (Self::Noon, 1 | 2) | (Self::Evening, 1..=11) => {
                Some(hour + 12)
            }
            (Self::Noon, 13 | 14) | (Self::Evening, 17..=23) => Some(hour),
            _ => None,
        }
    }
}

/// Reads from left to right.
struct Reader<'r> {
    rest: &'r str,
}

impl<'r> Reader<'r> {
    fn new(text: &'r str) -> Self {
        let mut reader = Self { rest: text };
        reader.blank();
        reader
    }

    fn stamp(&mut self) -> Option<Stamp> {
        let (a, la) = self.number()?;
        self.separator()?;
        let (b, lb) = self.number()?;
        self.separator()?;
        let (c, lc) = self.number()?;
        if ![la, lb, lc].iter().all(|l| *l <= 4) || lb > 2 {
            return None;
        }
        // `日`, or the dot behind a date as in `2024. 3. 5.`
        let _ = self.eat("日") || self.eat(".");
        let mut stamp = Stamp {
            numbers: [a, b, c],
            digits: [la, lb, lc],
            time: None,
            offset: None,
        };
        self.blank();
        let _ = self.eat(",") || self.eat("，") || self.eat("T") || self.eat("at ");
        self.blank();
        if self.rest.is_empty() {
            return Some(stamp);
        }
        self.time(&mut stamp)?;
        self.blank();
        self.rest.is_empty().then_some(stamp)
    }

    fn time(&mut self, stamp: &mut Stamp) -> Option<()> {
        let mut half = self.half();
        self.blank();
        let (mut hour, lh) = self.number()?;
        if lh > 2 || !(self.eat(":") || self.eat(".") || self.eat("时")) {
            return None;
        }
        let (minute, lm) = self.number()?;
        let _ = self.eat("分");
        let (mut second, mut nano) = (0, 0);
        if lm != 2 {
            return None;
        }
        if self.eat(":") || (self.rest.starts_with('.') && self.digit_after_dot() && self.eat("."))
        {
            let (s, ls) = self.number()?;
            if ls != 2 {
                return None;
            }
            second = s;
            if (self.rest.starts_with('.') || self.rest.starts_with(',')) && self.digit_after_dot()
            {
                self.rest = &self.rest[1..];
                nano = self.fraction();
            }
        }
        let _ = self.eat("秒");
        self.blank();
        if half.is_none() {
            half = self.half();
            self.blank();
        }
        if let Some(half) = half {
            hour = half.hour(hour)?;
        }
        stamp.offset = self.offset()?;
        // A leap second is the last one of its minute.
        let second = if second == 60 { 59 } else { second };
        let small = |n: i32| i8::try_from(n).ok();
        stamp.time = Some((small(hour)?, small(minute)?, small(second)?, nano));
        (hour < 24 && minute < 60 && second < 60).then_some(())
    }

    /// Seconds east of Greenwich; the outer nothing where it is no offset.
    fn offset(&mut self) -> Option<Option<i32>> {
        if self.eat("Z") || self.eat("UTC") || self.eat("GMT") {
            self.blank();
            if self.rest.is_empty() {
                return Some(Some(0));
            }
        }
        let sign = match self.rest.chars().next() {
            Some('+') => 1,
            Some('-') => -1,
            _ => return Some(None),
        };
        self.rest = &self.rest[1..];
        let (number, length) = self.number()?;
        let (hours, minutes) = match length {
            4 => (number / 100, number % 100),
            1 | 2 if self.eat(":") => (number, self.number()?.0),
            1 | 2 => (number, 0),
            _ => return None,
        };
        Some((hours <= 18 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60)))
    }

    fn half(&mut self) -> Option<Half> {
        let &(word, half) = HALVES.iter().find(|(word, _)| {
            let start = self.rest.get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        })?;
        self.rest = &self.rest[word.len()..];
        Some(half)
    }

    fn number(&mut self) -> Option<(i32, u8)> {
        let mut number = 0i32;
        let mut length = 0u8;
        for c in self.rest.chars() {
            let Some(digit) = digit(c) else { break };
            number = number.checked_mul(10)?.checked_add(digit)?;
            length += 1;
            self.rest = &self.rest[c.len_utf8()..];
        }
        (length > 0).then_some((number, length))
    }

    fn fraction(&mut self) -> i32 {
        let (mut nano, mut scale) = (0, 100_000_000);
        while let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(10)) {
            nano += i32::try_from(digit).unwrap_or(0) * scale;
            scale /= 10;
            self.rest = &self.rest[1..];
        }
        nano
    }

    fn digit_after_dot(&self) -> bool {
        let mut chars = self.rest.chars();
        chars.next();
        chars.next().is_some_and(|c| c.is_ascii_digit())
    }

    fn separator(&mut self) -> Option<()> {
        let found = ["/", "-", ".", "年", "月", "\u{2010}", "\u{2013}"]
            .iter()
            .any(|s| self.eat(s));
        self.blank();
        found.then_some(())
    }

    fn eat(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Spaces of all kinds, and marks of direction.
    fn blank(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, '\u{200E}' | '\u{200F}' | '\u{FEFF}')
        });
    }
}

/// A digit, also a wide one or an Arabic or Persian one.
fn digit(c: char) -> Option<i32> {
    let zero = match c {
        '0'..='9' => '0',
        '０'..='９' => '０',
        '٠'..='٩' => '٠',
        '۰'..='۹' => '۰',
        _ => return None,
    };
    i32::try_from(u32::from(c) - u32::from(zero)).ok()
}
