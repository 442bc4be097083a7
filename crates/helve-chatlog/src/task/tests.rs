//! Tests of tasks.

use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{Intent, Output, analyze, parse_task};
use crate::dates::Now;
use crate::message::Person;
use crate::render::Evidence;

fn now() -> Now {
    Now {
        date: date(2024, 5, 15),
        zone: TimeZone::UTC,
    }
}

#[test]
fn what_is_asked_is_told() {
    for (text, intent, output) in [
        ("Who broke the window?", Intent::Who, Output::Answer),
        ("When did Ann move?", Intent::When, Output::Answer),
        ("where is the key", Intent::Where, Output::Answer),
        ("Why did they quarrel", Intent::Why, Output::Answer),
        (
            "How many times did we eat out in 2023?",
            Intent::HowMany,
            Output::Number,
        ),
        ("How does the heating work", Intent::How, Output::Answer),
        (
            "Summarize what was said about the move",
            Intent::Summarize,
            Output::Summary,
        ),
        (
            "Find messages about the dentist",
            Intent::Find,
            Output::List,
        ),
        (
            "Show me a timeline of the renovation",
            Intent::Find,
            Output::Timeline,
        ),
        (
            "quote Ann's exact words on taxes",
            Intent::Find,
            Output::Quotes,
        ),
        (
            "compare Ann and Bob in a table",
            Intent::Compare,
            Output::Table,
        ),
        ("Did Ann like the film?", Intent::Whether, Output::Answer),
        ("the whole story", Intent::What, Output::Answer),
        ("谁说要请客", Intent::Who, Output::Answer),
        ("什么时候搬家的", Intent::When, Output::Answer),
        ("总结一下上周的讨论", Intent::Summarize, Output::Summary),
        ("我们去过几次北京", Intent::HowMany, Output::Number),
        ("为什么吵架", Intent::Why, Output::Answer),
        ("找出所有关于装修的消息", Intent::Find, Output::List),
        ("他喜欢那部电影吗？", Intent::Whether, Output::Answer),
        ("按时间列出装修的经过", Intent::Find, Output::Timeline),
        ("", Intent::What, Output::Answer),
    ] {
        let task = parse_task(text, &[], &now());
        assert_eq!((task.intent, task.output), (intent, output), "{text}");
    }
}

#[test]
fn the_rest_of_a_task_is_told_too() {
    let people = [Person {
        id: "a".into(),
        name: "Ann".into(),
        aliases: vec!["安安".into()],
    }];
    let task = parse_task(
        "Find the top 5 messages of Ann about the old kitchen since 2023",
        &people,
        &now(),
    );
    assert_eq!(
        (task.limit, task.topics.as_slice()),
        (Some(5), &["old kitchen".to_owned()][..])
    );
    assert_eq!((task.people[0].id.as_str(), task.until), ("a", None));
    assert_eq!(task.since, Some(1_672_531_200_000));
    assert_eq!(task.keywords, ["5", "old", "kitchen"]);
    let task = parse_task("找出前10条安安关于厨房装修的消息和《家》", &people, &now());
    assert_eq!(
        (task.limit, task.topics.as_slice()),
        (Some(10), &["家".to_owned(), "厨房装修".to_owned()][..])
    );
    assert_eq!(task.people[0].id, "a");
}

fn evidence() -> Vec<Evidence<'static>> {
    let day = 86_400_000;
    let message = |line, sender, time, text| Evidence {
        line,
        chat: "c",
        sender,
        time: Some(time),
        text,
    };
    vec![
        message(3, "Bob", 2 * day, "the boiler in the kitchen is not broken"),
        message(1, "Ann", 0, "the boiler in the kitchen is broken"),
        message(2, "Bob", day, "nonsense, it works"),
        message(
            5,
            "Ann",
            4 * day,
            "the plumber takes 300 euros for the boiler",
        ),
        message(
            6,
            "Bob",
            5 * day,
            "the plumber takes 450 euros for the boiler",
        ),
        message(7, "Ann", 6 * day, "we meet on friday at the station"),
        message(8, "Bob", 7 * day, "we meet on friday at the station!"),
        message(9, "Ann", 8 * day, "exactly"),
    ]
}

#[test]
fn messages_are_counted_by_person_and_time() {
    let found = analyze(&evidence(), &TimeZone::UTC);
    assert_eq!(
        (found.messages, found.first, found.last, found.days),
        (8, Some(1), Some(9), Some(8))
    );
    let shares: Vec<_> = found
        .by_person
        .iter()
        .map(|s| (s.sender.as_str(), s.messages, s.first, s.last))
        .collect();
    assert_eq!(shares, [("Ann", 4, 1, 9), ("Bob", 4, 2, 8)]);
    assert_eq!(
        (found.by_time.len(), found.by_time[0].time.as_str()),
        (8, "1970-01-01")
    );
    assert_eq!((found.quotes[0].line, found.quotes[1].line), (1, 9));
    assert_eq!(analyze(&[], &TimeZone::UTC).messages, 0);
}

#[test]
fn hints_name_the_lines_they_come_from() {
    let found = analyze(&evidence(), &TimeZone::UTC);
    let pairs = |hints: &[super::Hint]| hints.iter().map(|h| (h.one, h.other)).collect::<Vec<_>>();
    assert_eq!(pairs(&found.contradiction), [(1, 2), (1, 3), (5, 6)]);
    assert_eq!(pairs(&found.agreement), [(7, 8), (8, 9)]);
    assert_eq!(found.repeated.len(), 1);
    assert_eq!(
        (
            found.repeated[0].lines.as_slice(),
            found.repeated[0].senders.len()
        ),
        (&[7, 8][..], 2)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_task_and_any_messages_are_evidence(
        texts in proptest::collection::vec("(关于|about |top |前|9|不|İ|\"|《|》|\\PC){0,12}", 0..8),
    ) {
        for text in &texts {
            let _ = parse_task(text, &[], &now());
        }
        let evidence: Vec<_> = texts.iter().zip(1u64..).map(|(text, line)| Evidence {
            line: line / 2, chat: "", sender: text, time: (line % 3 > 0).then_some(i64::MIN / line as i64), text,
        }).collect();
        let found = analyze(&evidence, &TimeZone::UTC);
        prop_assert!(found.messages <= evidence.len());
        prop_assert_eq!(found.by_person.iter().map(|s| s.messages).sum::<usize>(), found.messages);
    }
}
