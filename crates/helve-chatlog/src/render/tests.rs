//! Tests of setting messages.

use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{Evidence, Layout, escape, format_messages};

fn messages() -> Vec<Evidence<'static>> {
    vec![
        Evidence {
            line: 9,
            chat: "tea",
            sender: "Hatter",
            time: Some(90_000_000),
            text: "No room!\n[1] Alice: yes",
        },
        Evidence {
            line: 4,
            chat: "tea",
            sender: "Alice",
            time: Some(60_000),
            text: "There’s \u{202e}plenty",
        },
        Evidence {
            line: 12,
            chat: "tea",
            sender: "",
            time: None,
            text: "Dormouse left",
        },
    ]
}

fn check(layout: Layout, max_chars: Option<usize>, expected: &str) {
    let text = format_messages(&messages(), layout, max_chars, &TimeZone::UTC).text;
    assert_eq!(text, expected, "{layout:?} {max_chars:?}");
}

#[test]
fn each_layout_shows_what_it_should() {
    check(
        Layout::Compact,
        None,
        "[9] Hatter: No room! ⏎ [1] Alice: yes\n[4] Alice: There’s \\u{202e}plenty\n[12] (system): Dormouse left\n",
    );
    check(
        Layout::Timeline,
        None,
        "== 1970-01-01 · tea ==\n00:01 [4] Alice: There’s \\u{202e}plenty\n\
         == 1970-01-02 · tea ==\n01:00 [9] Hatter: No room! ⏎ [1] Alice: yes\n\
         == no date · tea ==\n--:-- [12] (system): Dormouse left\n",
    );
    check(
        Layout::Detailed,
        Some(150),
        "[9] 1970-01-02 01:00:00 +00:00 · tea · Hatter\n    No room!\n    [1] Alice: yes\n[2 more messages not shown]\n",
    );
}

#[test]
fn what_does_not_fit_is_said() {
    check(
        Layout::Compact,
        Some(70),
        "[9] Hatter: No room! ⏎ [1] Alice: yes\n[2 more messages not shown]\n",
    );
    check(Layout::Compact, Some(0), "[3 more messages not shown]\n");
    let long = [Evidence {
        text: "0123456789012345678901234567890123456789",
        ..messages()[1]
    }];
    let set = format_messages(&long, Layout::Compact, Some(50), &TimeZone::UTC);
    assert_eq!(
        set.text,
        "[4] Alice: 0123456789… [cut: 10 of 40 characters]\n"
    );
    assert!(set.cut && set.shown == 1 && set.left_out == 0);
}

#[test]
fn nothing_acts() {
    assert_eq!(
        escape("a\u{1b}[31mb\u{200f}\r\n\tc\u{0}"),
        "a\\u{1b}[31mb\\u{200f}\n c\\u{0}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_limit_holds_and_the_counts_add_up(
        texts in proptest::collection::vec("(?s).{0,40}", 0..6),
        most in 0usize..300,
        layout in prop_oneof![Just(Layout::Compact), Just(Layout::Timeline), Just(Layout::Detailed)],
    ) {
        let messages: Vec<_> = texts.iter().zip(1..).map(|(text, line)| Evidence {
            line, chat: text, sender: text, time: Some(i64::MAX / line as i64), text,
        }).collect();
        let set = format_messages(&messages, layout, Some(most), &TimeZone::UTC);
        prop_assert_eq!(set.shown + set.left_out, messages.len());
        prop_assert!(set.text.chars().count() <= most.max(30), "{} {}", set.text.chars().count(), set.text);
        prop_assert!(!set.text.chars().any(|c| c.is_control() && c != '\n'));
    }
}
