//! Tests of cutting.

use proptest::prelude::*;

use super::{Run, english, fold, runs, stem};

fn check(text: &str, expected: &str) {
    let mut found = Vec::new();
    runs(text, |run| {
        found.push(match run {
            Run::Cjk(run) => format!("[{run}]"),
            Run::Word {
                word,
                joined: false,
                ..
            } => word.to_owned(),
            Run::Word {
                word, joined: true, ..
            } => format!("+{word}"),
        });
    });
    assert_eq!(found.join(" "), expected, "{text}");
}

#[test]
fn texts_are_cut_by_script() {
    check("明天去看Rust大会, ok?", "[明天去看] Rust [大会] ok");
    check(
        "Baker Street, don't. the dogs' bone",
        "Baker +Street don't the +dogs bone",
    );
    check(
        "看 https://a.example/b?c=d 吧 www.x.y/z了",
        "[看] [吧] [了]",
    );
    check("well-known http thing", "well +known +http +thing");
    check("", "");
    check("…！？ 「」", "");
}

#[test]
fn what_differs_only_in_case_width_or_script_is_the_same() {
    assert_eq!(fold(" ＡＢc 電腦 "), "abc 电脑");
    assert_eq!(stem(&english(), "Holmes’s"), stem(&english(), "holmes"));
    assert_eq!(stem(&english(), "running"), "run");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_is_in_the_text(text in "(\\PC|[a-z'’ ]|http://|中){0,60}") {
        runs(&text, |run| {
            let part = match run {
                Run::Cjk(part) => part,
                Run::Word { word, at, .. } => {
                    assert_eq!(&text[at..at + word.len()], word);
                    word
                }
            };
            assert!(!part.is_empty() && text.contains(part));
        });
        let _ = fold(&text);
    }
}
