//! Tests of taking questions apart.

use std::ops::ControlFlow;

use jiff::civil::date;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{LlmExpansion, Reason, Source, expand, union};
use crate::dates::Now;
use crate::message::Person;
use crate::topics::{Topics, tests::Talks};

fn now() -> Now {
    Now {
        date: date(2024, 5, 15),
        zone: TimeZone::UTC,
    }
}

fn people() -> Vec<Person> {
    let person = |id: &str, name: &str, aliases: &[&str]| Person {
        id: id.into(),
        name: name.into(),
        aliases: aliases.iter().map(|&alias| alias.into()).collect(),
    };
    vec![
        person("u1", "Caroline Smith", &["Caro"]),
        person("u2", "王晓明", &["老王"]),
        person("u3", "Art", &[]),
        person("u4", "Anna Smith", &[]),
    ]
}

fn topics() -> Topics {
    let mut all = Vec::new();
    for session in 0..30u64 {
        let text = [
            "sourdough in the oven",
            "电脑店在促销",
            "the laser lab",
            "《红楼梦》很好看",
        ][(session % 4) as usize];
        all.push((session, text.to_owned()));
        all.push((session, text.to_owned()));
    }
    Topics::build(&Talks(all), &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Keywords, then people, with `?` where it is not sure.
fn check(question: &str, keywords: &[&str], named: &[&str]) {
    let expanded = expand(question, &people(), &now(), &Topics::default());
    let found: Vec<&str> = expanded.keywords.iter().map(|k| k.text.as_str()).collect();
    assert_eq!(found, keywords, "{question}");
    let found: Vec<String> = expanded
        .people
        .iter()
        .map(|p| format!("{}{}", p.id, if p.unsure { "?" } else { "" }))
        .collect();
    assert_eq!(found, named, "{question}");
}

#[test]
fn names_dates_and_question_words_are_no_keywords() {
    check(
        "What did Caroline Smith say about her dentist last week?",
        &["dentist"],
        &["u1"],
    );
    check(
        "When did Caroline's dog get sick?",
        &["dog", "get", "sick"],
        &["u1?"],
    );
    check("Smith's bakery", &["bakery"], &["u1?", "u4?"]);
    check("caro and the artist", &["artist"], &["u1"]);
    check("王晓明昨天为什么没来开会", &["来开会"], &["u2"]);
    check("晓明的电脑多少钱", &["电脑", "钱"], &["u2?"]);
    check("老王去年三月买了什么车？", &["买", "车"], &["u2"]);
    check(
        "who mentioned \"New York\" in 2023",
        &["New York", "New", "York"],
        &[],
    );
    check("《红楼梦》里谁爱哭", &["红楼梦", "爱哭"], &[]);
    check("", &[], &[]);
}

#[test]
fn the_time_is_taken_out_and_read() {
    let expanded = expand("dentist last week", &[], &now(), &Topics::default());
    assert_eq!(expanded.since, Some(1_714_953_600_000));
    assert_eq!(expanded.until, Some(1_715_558_400_000));
    assert_eq!(
        (expanded.time_source, expanded.rest.as_str()),
        (Some(Source::Offline), "dentist")
    );
    let expanded = expand("dentist since March 2024", &[], &now(), &Topics::default());
    assert_eq!(
        (expanded.since, expanded.until),
        (Some(1_709_251_200_000), None)
    );
    assert_eq!(
        expand("dentist", &[], &now(), &Topics::default()).time_source,
        None
    );
}

#[test]
fn topics_come_with_what_goes_with_them() {
    let expanded = expand("who bakes sourdoughs?", &[], &now(), &topics());
    let found: Vec<_> = expanded
        .topics
        .iter()
        .map(|t| (t.text.as_str(), t.reason))
        .collect();
    assert_eq!(found[0], ("sourdough", Reason::Written));
    assert!(found.contains(&("oven", Reason::Related)), "{found:?}");
    assert!(!found.iter().any(|(tag, _)| *tag == "laser"), "{found:?}");
    let expanded = expand("誰看過紅樓夢", &[], &now(), &topics());
    assert_eq!(
        expanded.topics[0].text, "红楼梦",
        "in the script of the archive"
    );
}

#[test]
fn other_spellings_are_added() {
    let expanded = expand("电脑在哪", &[], &now(), &Topics::default());
    assert!(
        expanded.variants.iter().any(|v| v.text == "電腦"),
        "{:?}",
        expanded.variants
    );
}

#[test]
fn a_model_only_adds() {
    let offline = expand("dentist of Caro yesterday", &people(), &now(), &topics());
    let llm = LlmExpansion {
        keywords: vec!["DENTIST".into(), "tooth".into(), " ".into()],
        topics: vec!["health".into()],
        people: vec!["Art".into(), "Caro".into()],
        since: Some(1),
        until: Some(2),
    };
    let both = union(offline.clone(), &llm, &people());
    assert_eq!(both.keywords[..offline.keywords.len()], offline.keywords);
    let added: Vec<_> = both.keywords[offline.keywords.len()..]
        .iter()
        .map(|k| (k.text.as_str(), k.source))
        .collect();
    assert_eq!(added, [("tooth", Source::Llm)]);
    assert_eq!(
        (both.since, both.until, both.time_source),
        (offline.since, offline.until, Some(Source::Offline))
    );
    let named: Vec<_> = both
        .people
        .iter()
        .map(|p| (p.id.as_str(), p.source))
        .collect();
    assert_eq!(named, [("u1", Source::Offline), ("u3", Source::Llm)]);

    let timeless = expand("dentist", &[], &now(), &topics());
    let both = union(timeless, &llm, &[]);
    assert_eq!(
        (both.since, both.until, both.time_source),
        (Some(1), Some(2), Some(Source::Llm))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_question_is_taken_apart(question in "(老王|Caro|昨天|last week|\"|《|》|İ|ß|電|的|\\PC){0,20}") {
        let expanded = expand(&question, &people(), &now(), &Topics::default());
        let both = union(expanded.clone(), &LlmExpansion::default(), &people());
        prop_assert_eq!(both, expanded);
    }
}
