//! Dates in Chinese, in both scripts.

use std::sync::OnceLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use super::{
    Days, Found, Unit, ago, day, day_of_week, days, month, month_on, number, past, plus,
    recent_day, recent_month, recent_weekday, week, year,
};

const N: &str = "[0-9０-９〇零一二两三四五六七八九十]";

type Read = fn(&Captures<'_>, Date) -> Option<(Days, bool)>;

fn table() -> &'static [(Regex, Read)] {
    static TABLE: OnceLock<Vec<(Regex, Read)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let md = format!("(?P<m>{N}{{1,3}})月(?:份|(?P<d>{N}{{1,3}})[日号號]?)?");
        let weekday = "(?P<w>[一二三四五六日天末])";
        let rules: [(String, Read); 11] = [
            (format!("(?P<y>(?:19|20)[0-9]{{2}}|二[〇零一二三四五六七八九]{{3}}|一九[〇零一二三四五六七八九]{{2}})年(?:{md}|(?P<part>初|底|末|上半年|下半年|[春夏秋冬][天季]))?"), |c, _| {
                within(i16::try_from(n(c, "y")?).ok()?, c)
            }),
            (format!("(?P<rel>今年|去年|前年|大前年|明年|后年|後年)(?:的)?(?:{md}|(?P<part>年?初|年?底|年?末|上半年|下半年|[春夏秋冬][天季]))?"), |c, now| {
                let on = match &c["rel"] {
                    "去年" => -1,
                    "前年" => -2,
                    "大前年" => -3,
                    "明年" => 1,
                    "后年" | "後年" => 2,
                    _ => 0,
                };
                within(now.year().checked_add(on)?, c)
            }),
            (md.clone(), |c, now| {
                let m = i8::try_from(n(c, "m")?).ok()?;
                Some((match c.name("d") {
                    Some(_) => recent_day(now, m, i8::try_from(n(c, "d")?).ok()?)?,
                    None => recent_month(now, m)?,
                }, true))
            }),
            (format!("(?P<rel>上上个?|上上個|上个?|上個|这个?|這個?|本|下下个?|下个?|下個)月(?:的)?(?:(?P<d>{N}{{1,3}})[日号號])?"), |c, now| {
                let found = month_on(now, step(&c["rel"]))?;
                match c.name("d") {
                    Some(_) => {
                        let one = day(found.0.year(), found.0.month(), i8::try_from(n(c, "d")?).ok()?)?;
                        Some(((one, one), false))
                    }
                    None => Some((found, false)),
                }
            }),
            (format!("(?P<rel>上上个?|上上個|上个?|上個|这个?|這個?|本|下下个?|下个?|下個)(?:周|週|星期|礼拜|禮拜){weekday}?"), |c, now| {
                let on = step(&c["rel"]);
                Some((match c.name("w") {
                    Some(w) if w.as_str() == "末" => (day_of_week(now, on, 5)?.0, day_of_week(now, on, 6)?.1),
                    Some(w) => day_of_week(now, on, weekday_of(w.as_str())?)?,
                    None => week(now, on)?,
                }, false))
            }),
            (format!("(?:周|週|星期|礼拜|禮拜){weekday}"), |c, now| {
                if &c["w"] == "末" {
                    let saturday = recent_weekday(now, 5)?.0;
                    return Some(((saturday, plus(saturday, days(1))?), false));
                }
                Some((recent_weekday(now, weekday_of(&c["w"])?)?, false))
            }),
            ("(?P<rel>大前天|大后天|大後天|前天|前晚|昨天|昨日|昨晚|昨夜|今天|今日|今晚|今早|今晨|明天|明日|明晚|明早|后天|後天)".into(), |c, now| {
                let on = match &c["rel"] {
                    "大前天" => -3,
                    "前天" | "前晚" => -2,
                    "昨天" | "昨日" | "昨晚" | "昨夜" => -1,
                    "明天" | "明日" | "明晚" | "明早" => 1,
                    "后天" | "後天" => 2,
                    "大后天" | "大後天" => 3,
                    _ => 0,
                };
                let one = plus(now, days(on))?;
                Some(((one, one), false))
            }),
            (format!("(?P<n>{N}{{1,3}})(?:个|個)?(?P<unit>天|日|周|週|星期|礼拜|禮拜|月|年)(?:以|之)?前"), |c, now| {
                Some((ago(now, n(c, "n")?, unit(&c["unit"]))?, false))
            }),
            ("半年(?:以|之)?前".into(), |_, now| Some((month_on(now, -6)?, false))),
            (format!("(?:最近|过去|過去|近|这|這)的?(?P<n>{N}{{1,3}}|半)(?:个|個)?(?P<unit>天|日|周|週|星期|礼拜|禮拜|月|年)"), |c, now| {
                let unit = unit(&c["unit"]);
                if &c["n"] == "半" {
                    let (count, unit) = if unit == Unit::Year { (6, Unit::Month) } else { (15, Unit::Day) };
                    return Some((past(now, count, unit)?, false));
                }
                Some((past(now, n(c, "n")?, unit)?, false))
            }),
            ("(?P<part>年初|年底)".into(), |c, now| {
                let m = if &c["part"] == "年初" { 1 } else { 12 };
                Some((recent_month(now, m)?, true))
            }),
        ];
        rules.into_iter().filter_map(|(rule, read)| Some((Regex::new(&rule).ok()?, read))).collect()
    })
}

pub(super) fn find(text: &str, now: Date) -> Vec<Found> {
    let mut found = Vec::new();
    for (rule, read) in table() {
        for captures in rule.captures_iter(text) {
            if let (Some(whole), Some((days, open_year))) = (captures.get(0), read(&captures, now))
            {
                found.push(Found {
                    at: whole.range(),
                    days,
                    open_year,
                });
            }
        }
    }
    found
}

/// A year, or the month, day or part of it that is named.
fn within(y: i16, c: &Captures<'_>) -> Option<(Days, bool)> {
    if c.name("m").is_some() {
        let m = i8::try_from(n(c, "m")?).ok()?;
        return Some((
            match c.name("d") {
                Some(_) => {
                    let one = day(y, m, i8::try_from(n(c, "d")?).ok()?)?;
                    (one, one)
                }
                None => month(y, m)?,
            },
            false,
        ));
    }
    let Some(part) = c.name("part") else {
        return Some((year(y)?, false));
    };
    let months = |from, to_year, to| Some(((month(y, from)?.0, month(to_year, to)?.1), false));
    match part.as_str() {
        "初" | "年初" => months(1, y, 2),
        "上半年" => months(1, y, 6),
        "下半年" => months(7, y, 12),
        season if season.starts_with('春') => months(3, y, 5),
        season if season.starts_with('夏') => months(6, y, 8),
        season if season.starts_with('秋') => months(9, y, 11),
        season if season.starts_with('冬') => months(12, y + 1, 2),
        _ => months(11, y, 12),
    }
}

fn step(rel: &str) -> i64 {
    let count = |c| i64::try_from(rel.chars().filter(|&r| r == c).count()).unwrap_or(0);
    count('下') - count('上')
}

fn weekday_of(w: &str) -> Option<i64> {
    if w == "天" {
        return Some(6);
    }
    i64::try_from("一二三四五六日".chars().position(|c| w.starts_with(c))?).ok()
}

fn n(c: &Captures<'_>, name: &str) -> Option<i64> {
    number::chinese(c.name(name)?.as_str())
}

fn unit(written: &str) -> Unit {
    match written {
        "天" | "日" => Unit::Day,
        "月" => Unit::Month,
        "年" => Unit::Year,
        _ => Unit::Week,
    }
}
