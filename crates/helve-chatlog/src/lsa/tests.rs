//! Tests of latent semantic analysis.

use std::fs;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::{Lsa, LsaOptions};
use crate::corpus::BuildError;
use crate::derived::FileError;
use crate::topics::tests::Talks;

fn build(talks: &Talks, dims: usize) -> Lsa {
    Lsa::build(talks, LsaOptions { dims: Some(dims) }, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap()
}

/// Two kinds of talk, whose words stand together in ever other pairs.
fn two_kinds() -> Talks {
    let kinds = [
        ["car", "engine", "garage", "tyre", "motorway", "fuel"],
        ["soup", "kitchen", "onion", "recipe", "spoon", "stove"],
    ];
    let mut all = Vec::new();
    for session in 0..60u64 {
        let words = kinds[(session % 2) as usize];
        let at = (session / 2) as usize;
        let word = |n: usize| words[(at * 5 + n * (1 + at % 3)) % 6];
        all.push((session, format!("{} {}", word(0), word(1))));
        all.push((session, format!("{} {}", word(2), word(3))));
    }
    Talks(all)
}

#[test]
fn what_shares_no_word_is_found_through_others() {
    let mut talks = two_kinds();
    talks.0.push((900, "tyre fuel".into()));
    talks.0.push((901, "spoon stove".into()));
    let lsa = build(&talks, 4);
    // Both lines share no word with the question, and have no neighbours.
    let alone = [220, 221].into_iter().collect();
    for (question, line) in [("garage engine", 220), ("onion recipe", 221)] {
        let found = lsa.nearest(question, 2, Some(&alone));
        assert_eq!(found[0].0, line, "{question}: {found:?}");
        assert!(
            found[0].1 > 0.3 && found[1].1 < 0.1,
            "{question}: {found:?}"
        );
    }
}

#[test]
fn chinese_is_found_in_both_scripts() {
    let mut all = Vec::new();
    for session in 0..40u64 {
        let text = if session % 2 == 0 {
            "电脑坏了要修理"
        } else {
            "晚饭吃面条鸡蛋"
        };
        all.push((session, text.to_owned()));
    }
    let lsa = build(&Talks(all), 4);
    assert_eq!((lsa.vectors().len(), lsa.terms()), (40, 25));
    assert!(
        lsa.embed("電腦").iter().all(|x| x.is_finite()),
        "{:?}",
        lsa.embed("電腦")
    );
    assert_eq!(lsa.nearest("電腦", 1, None)[0].0 % 2, 0);
    assert_eq!(lsa.nearest("麵條", 1, None)[0].0 % 2, 1);
}

#[test]
fn unknown_words_find_nothing() {
    let lsa = build(&two_kinds(), 4);
    assert_eq!(lsa.nearest("zebra", 5, None), []);
    assert_eq!(lsa.nearest("", 5, None), []);
}

#[test]
fn a_message_has_a_share_of_its_neighbours() {
    let mut talks = two_kinds();
    talks.0.extend([
        (900, "car engine".into()),
        (900, "hm".into()),
        (901, "um".into()),
    ]);
    let lsa = build(&talks, 4);
    let found = lsa.nearest("garage", 500, None);
    assert!(
        found
            .iter()
            .any(|(line, score)| *line == 221 && *score > 0.7),
        "it stands beside one"
    );
    assert!(
        found
            .iter()
            .all(|(line, score)| *line != 222 || *score == 0.0),
        "it stands alone"
    );
}

#[test]
fn it_comes_back_as_it_was_saved_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lsa");
    let mut lsa = build(&two_kinds(), 4);
    lsa.generation = 3;
    lsa.save(&path).unwrap();
    assert_eq!(Lsa::load(&path).unwrap(), lsa);
    assert_eq!(
        build(&two_kinds(), 4).vectors(),
        lsa.vectors(),
        "the same corpus gives the same"
    );
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(11) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        let loaded = Lsa::load(&path);
        assert!(
            matches!(
                loaded,
                Err(FileError::Damaged { .. } | FileError::Version { .. })
            ),
            "byte {at}"
        );
    }
}

#[test]
fn whoever_asks_may_stop_it() {
    for stop_at in ["terms", "windows", "directions", "vectors"] {
        let stopped = Lsa::build(&two_kinds(), LsaOptions::default(), &mut |progress| {
            if progress.stage == stop_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert!(matches!(stopped, Err(BuildError::Cancelled)), "{stop_at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_corpus_has_vectors(
        texts in proptest::collection::vec("(中文|字|word |same |\\PC){0,8}", 0..12),
        dims in 0usize..6,
    ) {
        let count = texts.len();
        let talks = Talks(texts.into_iter().zip(0..).map(|(text, n)| (n / 3, text)).collect());
        let lsa = build(&talks, dims);
        prop_assert_eq!(lsa.vectors().len(), count);
        for (_, score) in lsa.nearest("word 中文", 100, None) {
            prop_assert!(score.abs() < 1.02, "{}", score);
        }
    }
}
