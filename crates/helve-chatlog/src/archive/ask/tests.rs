use super::super::tests::{import, message, open};
use super::super::{Archive, Filter, PersonNo, Question};
use crate::message::Message;

fn ask(archive: &Archive, text: &str) -> Vec<u64> {
    let question = Question {
        text: text.into(),
        limit: 3,
        ..Question::default()
    };
    archive
        .ask(&question)
        .unwrap()
        .iter()
        .map(|hit| hit.line)
        .collect()
}

/// Two who talk, an hour between each message, so that none is near another.
fn talk(texts: &[(&str, &str)]) -> (tempfile::TempDir, Archive) {
    let (folder, archive) = open();
    let all: Vec<Message> = texts
        .iter()
        .enumerate()
        .map(|(n, (sender, text))| {
            let mut one = message("c", sender, n as i64 * 60, text);
            one.sender.name = (*sender).to_owned();
            one
        })
        .collect();
    import(&archive, &all);
    (folder, archive)
}

#[test]
fn words_count_in_all_their_forms_and_those_that_ask_do_not() {
    let (_folder, archive) = talk(&[
        ("Ann", "what is it that you did"),
        ("Ann", "We were running along the river"),
        ("Ben", "the cat sleeps"),
    ]);
    assert_eq!(ask(&archive, "What did they do about runs?"), [2]);
    assert_eq!(ask(&archive, "Which CATS sleep?"), [3]);
    // Nothing but such words: then they are meant.
    assert_eq!(ask(&archive, "what is it")[0], 1);
    assert!(ask(&archive, "elephants").is_empty());
    assert!(ask(&archive, "").is_empty());
}

#[test]
fn chinese_by_pairs_and_letters() {
    let (_folder, archive) = talk(&[
        ("小明", "我们明天去北京旅游"),
        ("小红", "上海的天气很好"),
        ("小红", "猫"),
    ]);
    assert_eq!(ask(&archive, "什么时候去北京？")[0], 1);
    assert_eq!(ask(&archive, "上海天气怎么样")[0], 2);
    assert_eq!(ask(&archive, "猫呢？"), [3]);
    let question = Question {
        text: "北亰".into(),
        limit: 1,
        variants: Some(|_| vec!["北京".into(), "too long".into()]),
        ..Question::default()
    };
    assert_eq!(archive.ask(&question).unwrap()[0].line, 1);
}

#[test]
fn a_name_leads_to_whoever_bears_it() {
    let (_folder, archive) = talk(&[
        ("Melanie", "Caroline, how was the parade, Caroline?"),
        ("Caroline", "I loved the parade so much"),
        ("Melanie", "bye"),
    ]);
    assert_eq!(
        ask(&archive, "What did Caroline think of the parade?")[0],
        2
    );
    assert_eq!(ask(&archive, "caroline?"), [2]);
    // Not where it is part of a word.
    assert_eq!(
        ask(&archive, "subcaroline parade")[0],
        ask(&archive, "parade")[0]
    );
    let boost = |no| Question {
        text: "parade".into(),
        limit: 1,
        boost: vec![PersonNo(no)],
        ..Question::default()
    };
    assert_eq!(archive.ask(&boost(1)).unwrap()[0].line, 1);
    assert_eq!(archive.ask(&boost(2)).unwrap()[0].line, 2);
}

#[test]
fn an_answer_near_a_hit_is_found_within_the_session() {
    let (_folder, archive) = open();
    let mut all = vec![
        message("c", "a", 0, "when is the wedding"),
        message("c", "b", 1, "on Sunday"),
        message("c", "b", 200, "other things"),
    ];
    all.extend((0..20).map(|n| message("d", "a", n * 100, "filler")));
    import(&archive, &all);
    let question = Question {
        text: "wedding".into(),
        limit: 5,
        ..Question::default()
    };
    let hits = archive.ask(&question).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.line).collect::<Vec<_>>(), [1, 2]);
    assert!(
        (hits[1].score / hits[0].score - 0.4).abs() < 0.001,
        "{hits:?}"
    );
    let filter = Filter {
        senders: vec![PersonNo(2)],
        ..Filter::default()
    };
    assert!(
        archive
            .ask(&Question { filter, ..question })
            .unwrap()
            .is_empty()
    );
}

#[test]
fn what_was_shown_again_counts_once() {
    let (_folder, archive) = open();
    let one = import(
        &archive,
        &[message("c", "a", 0, "parade"), message("c", "a", 99, "x")],
    );
    import(
        &archive,
        &(0..9)
            .map(|n| message("d", "a", n * 99, "other"))
            .collect::<Vec<_>>(),
    );
    let question = Question {
        text: "parade".into(),
        limit: 5,
        ..Question::default()
    };
    let before = archive.ask(&question).unwrap();
    archive.withdraw(&one.id).unwrap();
    assert!(archive.ask(&question).unwrap().is_empty());
    archive.restore(&one.id).unwrap();
    assert_eq!(archive.ask(&question).unwrap(), before);
}

/// Among many messages not each is looked at; a word of one letter still leads to its own.
#[test]
fn a_word_of_one_letter_is_found_among_many() {
    let mut all = vec![("Ann", "今天天气很好"); 60];
    all.extend([
        ("Ann", "家里养了一只猫"),
        ("Ben", "我订了车票"),
        ("Ben", "猫粮吃完了"),
    ]);
    let (_folder, archive) = talk(&all);
    let mut found = ask(&archive, "猫，车票？");
    found.sort_unstable();
    assert_eq!(found, [61, 62, 63]);
    assert_eq!(ask(&archive, "鱼，车票？"), [62]);
}
