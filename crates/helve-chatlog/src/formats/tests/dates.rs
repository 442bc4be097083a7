//! The order of dates, found from a whole file.

use super::*;
use crate::DateOrder;

/// WhatsApp lines with these dates, read: the day of the first one, or the error.
fn first_day(dates: &[&str], order: Option<DateOrder>) -> Result<String, String> {
    let lines: String = dates
        .iter()
        .map(|d| format!("{d}, 10:00 - A: x\n"))
        .collect();
    let mut with = options();
    with.dates = order;
    with.zone = TimeZone::UTC;
    let (result, got) = run(Input::File(file(lines.as_bytes())), "x.txt", &with);
    result.map_err(|e| e.to_string())?;
    let time = got.messages[0].time.unwrap();
    let time = jiff::Timestamp::from_millisecond(time).unwrap();
    Ok(time.strftime("%Y-%m-%d").to_string())
}

#[test]
fn the_order_is_found_or_asked_for() {
    for (dates, meant) in [
        (&["5/3/2024", "13/3/2024"][..], Some("2024-03-05")),
        (&["5/3/2024", "5/13/2024"], Some("2024-05-03")),
        (&["2024/5/3", "2024/5/13"], Some("2024-05-03")),
        (&["2024-05-03"], Some("2024-05-03")),
        (&["5.3.24", "31.3.24"], Some("2024-03-05")),
        (&["24/12/31", "25/1/1"], Some("2024-12-31")),
        (&["3/3/2024", "4/4/2024"], Some("2024-03-03")),
        // Time runs forward only with the month first, then only with the day first.
        (
            &[
                "11/1/2024",
                "12/1/2024",
                "12/2/2024",
                "12/3/2024",
                "12/4/2024",
                "1/5/2025",
                "2/1/2025",
            ],
            Some("2024-11-01"),
        ),
        (
            &["2/1/2024", "1/2/2024", "2/2/2024", "1/3/2024"],
            Some("2024-01-02"),
        ),
        (
            &["1/2/2024", "2/1/2024", "2/2/2024", "3/1/2024"],
            Some("2024-01-02"),
        ),
        (&["5/3/2024"], None),
        (&["1/2/2024", "2/2/2024", "3/2/2024"], None),
        // One impossible date does not decide.
        (&["5/3/2024", "45/3/2024"], None),
    ] {
        match (first_day(dates, None), meant) {
            (Ok(day), Some(meant)) => assert_eq!(day, meant, "{dates:?}"),
            (Err(error), None) => assert!(error.contains("set `dates`"), "{dates:?}: {error}"),
            (got, _) => panic!("{dates:?}: {got:?}, not {meant:?}"),
        }
    }
}

#[test]
fn an_order_that_is_told_is_kept() {
    let dates = ["5/3/2024"];
    let told = |order| first_day(&dates, Some(order)).unwrap();
    assert_eq!(told(DateOrder::DayMonthYear), "2024-03-05");
    assert_eq!(told(DateOrder::MonthDayYear), "2024-05-03");
}

#[test]
fn tables_find_their_order_as_well() {
    let table = |dates: &[&str]| {
        let rows: String = dates.iter().map(|d| format!("{d} 10:00;A;x\n")).collect();
        of(format!("date;sender;text\n{rows}").as_bytes(), "x.csv")
    };
    assert!(
        matches!(table(&["5/3/2024"]).0, Err(ReadError::Ambiguous { sample }) if sample == "5/3/2024 10:00")
    );
    let (_, got) = table(&["5/3/2024", "25/3/2024"]);
    assert_eq!(got.messages[0].time, Some(1_709_604_000_000));
    let list = r#"[{"date":"5/3/2024 10:00","from":"A","text":"x"},{"date":"25/3/2024 10:00","from":"A","text":"x"}]"#;
    let (format, got) = good(list.as_bytes(), "x");
    assert_eq!(
        (format, got.messages[0].time),
        (Format::Jsonl, Some(1_709_604_000_000))
    );
}
