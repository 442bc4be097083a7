//! Tests of dates.

use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{Now, dates};

/// A Wednesday.
fn now() -> Now {
    Now {
        date: date(2024, 5, 15),
        zone: TimeZone::UTC,
    }
}

fn check(text: &str, expected: &str) {
    let found: Vec<String> = dates(text, &now())
        .into_iter()
        .map(|span| {
            let day =
                |day: Option<jiff::civil::Date>| day.map(|day| day.to_string()).unwrap_or_default();
            match (day(span.first), day(span.last)) {
                (first, last) if first == last => first,
                (first, last) => format!("{first}..{last}"),
            }
        })
        .collect();
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn dates_in_english() {
    for (text, expected) in [
        ("what did she say yesterday?", "2024-05-14"),
        ("the day before yesterday", "2024-05-13"),
        ("last week", "2024-05-06..2024-05-12"),
        (
            "this week or next week",
            "2024-05-13..2024-05-19 2024-05-20..2024-05-26",
        ),
        ("in March 2024", "2024-03-01..2024-03-31"),
        ("in March", "2024-03-01..2024-03-31"),
        ("in December", "2023-12-01..2023-12-31"),
        ("last March", "2024-03-01..2024-03-31"),
        ("last May", "2023-05-01..2023-05-31"),
        ("next March", "2025-03-01..2025-03-31"),
        ("August", "2023-08-01..2023-08-31"),
        ("she may march on", ""),
        ("3 days ago", "2024-05-12"),
        ("a couple of weeks ago", "2024-04-28..2024-05-04"),
        ("two months ago", "2024-03-01..2024-03-31"),
        ("three years ago", "2021-01-01..2021-12-31"),
        ("in the past 7 days", "2024-05-09..2024-05-15"),
        ("the last 2 months", "2024-03-15..2024-05-15"),
        ("on 2023-07-04", "2023-07-04"),
        ("2023/07", "2023-07-01..2023-07-31"),
        ("July 4th, 2023", "2023-07-04"),
        ("the 4th of July 2023", "2023-07-04"),
        ("4 July", "2023-07-04"),
        ("May 3", "2024-05-03"),
        ("in 2022", "2022-01-01..2022-12-31"),
        ("summer of 2023", "2023-06-01..2023-08-31"),
        ("winter 2022", "2022-12-01..2023-02-28"),
        ("Q2 2023", "2023-04-01..2023-06-30"),
        ("last Friday", "2024-05-10"),
        ("on Friday", "2024-05-10"),
        ("Monday", "2024-05-13"),
        ("last weekend", "2024-05-11..2024-05-12"),
        ("last year", "2023-01-01..2023-12-31"),
        ("last month", "2024-04-01..2024-04-30"),
        ("from March 2023 to May 2023", "2023-03-01..2023-05-31"),
        ("from March 3, 2023 to May 5", "2023-03-03..2023-05-05"),
        (
            "between 2023-01-01 and 2023-02-01",
            "2023-01-01..2023-02-01",
        ),
        ("from November 2023 to February", "2023-11-01..2024-02-29"),
        ("since March 2024", "2024-03-01.."),
        ("before 2023", "..2022-12-31"),
        ("after July 4, 2023", "2023-07-05.."),
        ("until last week", "..2024-05-12"),
        ("room 1234, building 7", ""),
        ("lately", ""),
    ] {
        check(text, expected);
    }
}

#[test]
fn dates_in_chinese() {
    for (text, expected) in [
        ("昨天谁说要去吃饭", "2024-05-14"),
        ("前天和大前天", "2024-05-13 2024-05-12"),
        ("上周", "2024-05-06..2024-05-12"),
        ("上周五晚上", "2024-05-10"),
        ("上个星期天", "2024-05-12"),
        ("上上周", "2024-04-29..2024-05-05"),
        ("下礼拜三", "2024-05-22"),
        ("周一", "2024-05-13"),
        ("星期六", "2024-05-11"),
        ("去年三月", "2023-03-01..2023-03-31"),
        ("去年", "2023-01-01..2023-12-31"),
        ("前年十二月二十五号", "2022-12-25"),
        ("今年五月一日", "2024-05-01"),
        ("2023年5月", "2023-05-01..2023-05-31"),
        ("2023年5月3日", "2023-05-03"),
        ("二〇二三年五月", "2023-05-01..2023-05-31"),
        ("2023年", "2023-01-01..2023-12-31"),
        ("2022年下半年", "2022-07-01..2022-12-31"),
        ("去年夏天", "2023-06-01..2023-08-31"),
        ("三月份", "2024-03-01..2024-03-31"),
        ("12月", "2023-12-01..2023-12-31"),
        ("5月20号", "2023-05-20"),
        ("上个月", "2024-04-01..2024-04-30"),
        ("上個月15號", "2024-04-15"),
        ("本月", "2024-05-01..2024-05-31"),
        ("三天前", "2024-05-12"),
        ("10天前", "2024-05-05"),
        ("两个月前", "2024-03-01..2024-03-31"),
        ("五年前", "2019-01-01..2019-12-31"),
        ("半年前", "2023-11-01..2023-11-30"),
        ("最近三天", "2024-05-13..2024-05-15"),
        ("过去半年", "2023-11-15..2024-05-15"),
        ("从2023年5月到8月", "2023-05-01..2023-08-31"),
        ("2023年11月至2024年2月", "2023-11-01..2024-02-29"),
        ("2023年11月到2月", "2023-11-01..2024-02-29"),
        ("2023年5月以来", "2023-05-01.."),
        ("2023年之前", "..2022-12-31"),
        ("昨天之后", "2024-05-15.."),
        ("最近", ""),
        ("一月不见", "2024-01-01..2024-01-31"),
        ("十三月", ""),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_day_begins_where_the_asker_is() {
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    let now = Now {
        date: date(2024, 5, 15),
        zone: zone.clone(),
    };
    let span = dates("昨天", &now).remove(0);
    assert_eq!(span.since(&zone), Some(1_715_616_000_000));
    assert_eq!(span.until(&zone), Some(1_715_702_400_000));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(
        text in "(last |this |week|20[0-9]{2}|年|月|日|[0-9]{1,4}|上|个|前|三|十|ago|days? |May |- | to |\\PC){0,12}",
        y in -9999i16..=9999, m in 1i8..=12,
    ) {
        let now = Now { date: date(y, m, 1), zone: TimeZone::UTC };
        let mut end = 0;
        for span in dates(&text, &now) {
            prop_assert!(span.at.start >= end && text.get(span.at.clone()) == Some(span.text.as_str()));
            if let (Some(first), Some(last)) = (span.first, span.last) {
                prop_assert!(first <= last, "{}", text);
            }
            let _ = (span.since(&now.zone), span.until(&now.zone));
            end = span.at.end;
        }
    }
}
