use helve_kernel::At;
use proptest::prelude::*;

use super::{Moment, Trigger, TriggerConfig, TriggerType};

fn at(text: &str) -> At {
    At::parse(text).unwrap()
}

fn cron(cron: &str, time_zone: &str) -> Trigger {
    Trigger::Cron {
        cron: cron.to_owned(),
        time_zone: time_zone.to_owned(),
    }
}

/// What is due after a moment, one after the other.
fn check(trigger: &Trigger, from: &str, wanted: &[&str]) {
    let mut moment = at(from);
    for wanted in wanted {
        moment = trigger.after(moment).unwrap();
        assert_eq!(moment, at(wanted), "{trigger:?}: {moment}");
    }
}

#[test]
fn cron_says_when() {
    let table: &[(&str, &str, &[&str])] = &[
        (
            "0 9 * * 1-5",
            "2026-01-02T09:00:00Z",
            &["2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"],
        ),
        (
            "*/20 * * * *",
            "2026-01-01T00:00:00.001Z",
            &[
                "2026-01-01T00:20:00Z",
                "2026-01-01T00:40:00Z",
                "2026-01-01T01:00:00Z",
            ],
        ),
        (
            "0 0 1,15 JAN,jul *",
            "2026-01-15T00:00:00Z",
            &[
                "2026-07-01T00:00:00Z",
                "2026-07-15T00:00:00Z",
                "2027-01-01T00:00:00Z",
            ],
        ),
        (
            "30 8 * * MON-WED",
            "2026-01-07T08:30:00Z",
            &["2026-01-12T08:30:00Z"],
        ),
        (
            "0 12 * * 7",
            "2026-01-01T00:00:00Z",
            &["2026-01-04T12:00:00Z"],
        ),
        (
            "@daily",
            "2026-12-31T23:59:59.999Z",
            &["2027-01-01T00:00:00Z"],
        ),
        ("@hourly", "2026-01-01T00:00:00Z", &["2026-01-01T01:00:00Z"]),
        (
            "0 0 29 2 *",
            "2024-02-29T00:00:00Z",
            &["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"],
        ),
        // 2100 is no leap year.
        (
            "0 0 29 2 *",
            "2096-02-29T00:00:00Z",
            &["2104-02-29T00:00:00Z"],
        ),
        (
            "0 0 L * *",
            "2026-12-01T00:00:00Z",
            &["2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z"],
        ),
        // Either day, as cron has it.
        (
            "0 0 13 * 5",
            "2026-02-06T00:00:00Z",
            &["2026-02-13T00:00:00Z", "2026-02-20T00:00:00Z"],
        ),
    ];
    for (line, from, wanted) in table {
        check(&cron(line, "UTC"), from, wanted);
    }
}

/// Berlin: 02:00 becomes 03:00 on 29 March 2026, 03:00 becomes 02:00 on 25 October.
#[test]
fn clocks_are_put_forward_and_back() {
    let berlin = |line| cron(line, "Europe/Berlin");
    // 02:30 is left out: due when the clock goes on, and the next day as always.
    let left_out = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ];
    check(&berlin("30 2 * * *"), "2026-03-27T12:00:00Z", &left_out);
    // 02:30 comes twice: due the first time only.
    let twice = [
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ];
    check(&berlin("30 2 * * *"), "2026-10-23T12:00:00Z", &twice);
    // Every half hour goes on through both.
    let through = [
        "2026-10-25T00:00:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:00:00Z",
        "2026-10-25T01:30:00Z",
        "2026-10-25T02:00:00Z",
    ];
    check(&berlin("*/30 * * * *"), "2026-10-24T23:59:00Z", &through);
    let over = [
        "2026-03-29T00:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T01:30:00Z",
    ];
    check(&berlin("*/30 * * * *"), "2026-03-29T00:00:00Z", &over);
    // Nine is nine, in winter and in summer.
    let nine = ["2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z"];
    check(&berlin("0 9 * * *"), "2026-03-27T12:00:00Z", &nine);
}

fn once(run_at: &str, time_zone: &str) -> Result<Trigger, String> {
    let config = TriggerConfig {
        run_at: run_at.to_owned(),
        ..TriggerConfig::default()
    };
    let now = at("2026-01-01T00:00:00Z");
    Trigger::read(TriggerType::Once, &config, time_zone, now).map_err(|e| e.message)
}

#[test]
fn a_moment_is_rfc_3339_or_local() {
    let table = [
        (
            "2026-06-01T09:00:00Z",
            "Europe/Berlin",
            "2026-06-01T09:00:00Z",
        ),
        ("2026-06-01T09:00:00+08:00", "UTC", "2026-06-01T01:00:00Z"),
        ("2026-06-01T09:00", "Asia/Shanghai", "2026-06-01T01:00:00Z"),
        (" 2026-06-01 09:00:30 ", "UTC", "2026-06-01T09:00:30Z"),
        // Not there: as much later as the clock is. There twice: the first.
        ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00Z"),
        ("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"),
    ];
    for (text, zone, wanted) in table {
        let trigger = once(text, zone).unwrap();
        assert_eq!(
            trigger,
            Trigger::Once {
                at: Moment(at(wanted))
            },
            "{text} {zone}"
        );
        assert_eq!(trigger.after(at(wanted)), None, "once is once");
    }
    for text in [
        "tomorrow",
        "2026-02-30T00:00",
        "09:00",
        "2025-12-31T23:59:59Z",
        "2026-01-01T00:00:00Z",
    ] {
        assert!(once(text, "UTC").unwrap_err().contains("run_at"), "{text}");
    }
}

#[test]
fn the_last_one_in_a_window() {
    let every = Trigger::Interval {
        seconds: 10,
        from: Moment(At(0)),
    };
    let table = [
        // first, since, now
        ((10_000, -1, 10_000), Some(10_000)),
        ((10_000, -1, 39_999), Some(30_000)),
        ((10_000, 25_000, 39_999), Some(30_000)),
        ((10_000, 30_000, 39_999), None),
        ((50_000, 30_000, 39_999), None),
    ];
    for ((first, since, now), wanted) in table {
        let last = every.last_within(At(first), At(since), At(now));
        assert_eq!(last, wanted.map(At), "{first} {since} {now}");
    }
}

proptest! {
    #[test]
    fn what_comes_next_of_an_interval_is_later(
        seconds in super::SHORTEST..=super::LONGEST,
        from in -1_000_000_000_000_i64..4_000_000_000_000,
        now in -1_000_000_000_000_i64..4_000_000_000_000,
    ) {
        let every = Trigger::Interval { seconds, from: Moment(At(from)) };
        let next = every.after(At(now)).unwrap();
        let step = i64::try_from(seconds).unwrap() * 1000;
        prop_assert!(next.0 > now && next.0 > from);
        prop_assert!(next.0 - now <= step || now < from);
        prop_assert_eq!((next.0 - from) % step, 0);
        prop_assert!(every.after(next).unwrap() > next);
    }

    #[test]
    fn what_comes_next_of_cron_is_later_and_soonest(
        line in "(\\*|[0-5]?[0-9]|\\*/[1-9]|[0-9]-[1-5][0-9]) (\\*|1?[0-9]|\\*/[1-9]|[0-5]-1[0-9]) (\\*|[1-9]|1[0-9]|\\*/[2-9]) (\\*|[1-9]|1[0-2]) (\\*|[0-7]|1-5)",
        zone in proptest::sample::select(&["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"][..]),
        now in 1_600_000_000_000_i64..2_000_000_000_000,
    ) {
        let trigger = cron(&line, zone);
        let next = trigger.after(At(now));
        prop_assert!(next.is_some(), "{}", line);
        let next = next.unwrap();
        prop_assert!(next.0 > now, "{} {}", line, zone);
        prop_assert!(trigger.after(next).unwrap() > next, "{} {}", line, zone);
        // Asked from any moment before it, it is still the next.
        prop_assert_eq!(trigger.after(At(next.0 - 1)), Some(next), "{} {}", line, zone);
        prop_assert_eq!(trigger.after(At(now.midpoint(next.0 - 1))), Some(next), "{} {}", line, zone);
    }

    #[test]
    fn no_line_of_cron_panics(line in ".{0,40}", fields in "([0-9*/,LW#?A-Z-]{1,6} ){4,6}") {
        for line in [line, fields] {
            let _ = cron(&line, "UTC").after(At(1_700_000_000_000));
        }
    }
}
