//! Tests of topics.

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;

use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::{Matched, Provenance, Topics};
use crate::corpus::{BuildError, Corpus, CorpusEntry};
use crate::derived::FileError;

/// Messages by session; the lines are counted from 100 on.
pub(crate) struct Talks(pub(crate) Vec<(u64, String)>);

impl Corpus for Talks {
    fn each(
        &self,
        f: &mut dyn FnMut(CorpusEntry<'_>) -> ControlFlow<()>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        for ((session, text), line) in self.0.iter().zip(100..) {
            if f(CorpusEntry {
                line,
                chat: 1,
                session: *session,
                sender: 1,
                text,
            })
            .is_break()
            {
                break;
            }
        }
        Ok(())
    }
}

fn build(talks: &Talks) -> Topics {
    Topics::build(talks, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Each session is about one thing, between small talk that all of them have.
fn planted() -> Talks {
    let themes: [(&str, [&str; 4]); 4] = [
        (
            "拉布拉多",
            [
                "我家的拉布拉多又掉毛了",
                "拉布拉多要多运动吧",
                "昨晚拉布拉多不吃东西",
                "明天带拉布拉多去医院",
            ],
        ),
        (
            "量子计算",
            [
                "他在做量子计算",
                "听说量子计算很难",
                "那本量子计算的书呢",
                "学量子计算要几年",
            ],
        ),
        (
            "sourdough",
            [
                "my sourdough failed again",
                "feed the sourdough at noon",
                "sourdough needs patience",
                "that sourdough smelled great",
            ],
        ),
        (
            "Baker Street",
            [
                "meet at Baker Street",
                "the Baker Street shop closed",
                "near Baker Street we saw it",
                "I like Baker Street more",
            ],
        ),
    ];
    let mut all = Vec::new();
    for round in 0..10u64 {
        for ((_, lines), n) in themes.iter().zip(0..) {
            let session = round * 4 + n;
            all.push((session, "好的，知道了".to_owned()));
            all.push((session, lines[(round % 4) as usize].to_owned()));
            all.push((session, "ok thanks, see you tomorrow".to_owned()));
            all.push((session, lines[((round + 1) % 4) as usize].to_owned()));
        }
    }
    Talks(all)
}

#[test]
fn what_was_planted_is_found_and_small_talk_is_not() {
    let topics = build(&planted());
    let tags: Vec<String> = topics
        .list(None, 1000)
        .topics
        .into_iter()
        .map(|t| t.tag)
        .collect();
    for theme in ["拉布拉多", "量子计算", "sourdough", "Baker Street"] {
        let found = topics.lines(&[theme.to_owned()], 5);
        assert_eq!(found.tags.len(), 1, "{theme}: {tags:?}");
        assert_eq!(found.tags[0].matched, Matched::Exact, "{theme}: {tags:?}");
        assert_eq!(found.tags[0].sessions.len(), 10, "{theme}");
        assert_eq!(found.tags[0].lines.len(), 40, "{theme}");
        assert_eq!(found.tags[0].mentions.len(), 20, "{theme}");
    }
    for noise in [
        "好的",
        "知道",
        "ok",
        "thanks",
        "see",
        "tomorrow",
        "布拉",
        "拉布拉",
        "子计算",
        "的拉",
    ] {
        assert!(!tags.iter().any(|tag| tag == noise), "{noise} in {tags:?}");
    }
}

#[test]
fn titles_are_topics_at_once() {
    let talks = Talks(vec![
        (1, "昨天看了《儒林外史》".into()),
        (1, "还有“满江红”也不错".into()),
        (2, "他说“好的，我马上来，你等我一下。”".into()),
        (2, "I read 「Alice」 too".into()),
    ]);
    let topics = build(&talks);
    let of = |session| -> Vec<&str> {
        topics
            .of_session(session)
            .into_iter()
            .map(|(tag, _)| tag)
            .collect()
    };
    assert_eq!(of(1), ["儒林外史", "满江红"]);
    assert_eq!(of(2), ["Alice"]);
    assert_eq!(of(3), [] as [&str; 0]);
}

#[test]
fn a_word_is_shown_as_it_is_written_most() {
    let mut all = vec![(1, "engines everywhere".to_owned())];
    all.extend((2..6).map(|session| (session, "the Engine is hot, an Engine".to_owned())));
    all.extend((6..30).map(|session| (session, "nothing here".to_owned())));
    let topics = build(&Talks(all));
    let found = topics.list(Some("ENGINE"), 5);
    assert_eq!(found.topics[0].tag, "Engine");
    assert_eq!(
        (
            found.total,
            found.topics[0].sessions,
            found.topics[0].mentions
        ),
        (1, 5, 5)
    );
}

#[test]
fn tags_are_matched_step_by_step_and_it_is_said_how() {
    let mut topics = build(&planted());
    let sessions: RoaringTreemap = [0, 1].into_iter().collect();
    topics.add("電腦 Shop", &sessions, Provenance::User);
    for (want, matched, tag) in [
        ("电脑 shop", Matched::Folded, "電腦 Shop"),
        ("ＳＯＵＲＤＯＵＧＨ", Matched::Folded, "sourdough"),
        ("sour", Matched::Contains, "sourdough"),
        ("量子计算机", Matched::Contains, "量子计算"),
    ] {
        let found = topics.lines(&[want.to_owned()], 3);
        assert!(!found.tags.is_empty(), "{want}");
        assert_eq!(
            (found.tags[0].matched, found.tags[0].tag.as_str()),
            (matched, tag),
            "{want}"
        );
    }
    let found = topics.lines(&["sourdough".into(), "no such thing".into()], 3);
    assert_eq!(found.unknown, ["no such thing"]);
    assert_eq!((found.any.len(), found.all.len()), (40, 0));
    let found = topics.lines(&["電腦 Shop".into(), "拉布拉多".into()], 3);
    assert_eq!((found.any.len(), found.all.len()), (44, 4));
}

#[test]
fn patterns_may_have_stars() {
    let topics = build(&planted());
    for (pattern, expected) in [
        ("BAKER*", true),
        ("*street", true),
        ("b?ker s*", true),
        ("baker", true),
        ("street*", false),
        ("*?*zz", false),
    ] {
        let found = topics.list(Some(pattern), 100).topics;
        assert_eq!(
            found.iter().any(|t| t.tag == "Baker Street"),
            expected,
            "{pattern}: {found:?}"
        );
    }
    let listed = topics.list(None, 1);
    assert!(listed.topics.len() == 1 && listed.total == topics.len());
}

#[test]
fn what_was_given_is_kept_apart_and_kept() {
    let mut topics = build(&planted());
    let sessions: RoaringTreemap = [0, 4, 999].into_iter().collect();
    assert_eq!(topics.add(" sourdough ", &sessions, Provenance::User), 2);
    assert_eq!(
        topics.add("sourdough", &[8].into_iter().collect(), Provenance::User),
        1
    );
    assert_eq!(topics.add("bread", &sessions, Provenance::Llm), 2);
    let found = topics.lines(&["sourdough".into()], 3);
    let counts: Vec<_> = found
        .tags
        .iter()
        .map(|t| (t.provenance, t.sessions.len()))
        .collect();
    assert_eq!(counts, [(Provenance::Auto, 10), (Provenance::User, 3)]);
    assert_eq!(
        topics.list(None, 1).topics[0].provenance,
        Provenance::User,
        "what was given comes first"
    );

    let mut again = build(&planted());
    again.keep(&topics);
    assert_eq!(again, topics);
    assert!(again.remove("bread", Provenance::Llm) && !again.remove("bread", Provenance::Llm));
    assert!(!again.remove("bread", Provenance::User));
}

#[test]
fn topics_that_go_together_are_related() {
    let mut all = Vec::new();
    for session in 0..30u64 {
        let (a, b) = [
            ("sourdough", "oven"),
            ("quantum", "laser"),
            ("puppy", "leash"),
        ][(session % 3) as usize];
        all.push((session, format!("{a} and {b}")));
        all.push((session, format!("{b} for {a}")));
    }
    let topics = build(&Talks(all));
    let related = topics.related(&["sourdough".into()], 3);
    assert_eq!(related.len(), 1, "{related:?}");
    assert_eq!(related[0].0, "oven");
}

#[test]
fn they_come_back_as_they_were_saved() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("topics");
    let mut topics = build(&planted());
    topics.generation = 7;
    topics.add("mine", &[1].into_iter().collect(), Provenance::User);
    topics.save(&path).unwrap();
    assert_eq!(Topics::load(&path).unwrap(), topics);
    assert_eq!(
        fs::read_dir(dir.path()).unwrap().count(),
        1,
        "nothing else is left"
    );

    Topics::default().save(&path).unwrap();
    assert_eq!(Topics::load(&path).unwrap(), Topics::default());
}

#[test]
fn a_damaged_file_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("topics");
    let topics = build(&planted());
    topics.save(&path).unwrap();
    let good = fs::read(&path).unwrap();
    for at in (0..good.len()).step_by(7) {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&path, &bad).unwrap();
        assert!(
            matches!(
                Topics::load(&path),
                Err(FileError::Damaged { .. } | FileError::Version { .. })
            ),
            "byte {at}"
        );
    }
    for cut in [0, 1, 40, good.len() / 2, good.len() - 1] {
        fs::write(&path, &good[..cut]).unwrap();
        assert!(
            matches!(Topics::load(&path), Err(FileError::Damaged { .. })),
            "cut at {cut}"
        );
    }
    fs::write(&path, [&good[..], b"x"].concat()).unwrap();
    assert!(matches!(
        Topics::load(&path),
        Err(FileError::Damaged { .. })
    ));
}

#[test]
fn whoever_asks_may_stop_it() {
    for stop_at in ["words", "new words", "sessions", "tags"] {
        let stopped = Topics::build(&planted(), &mut |progress| {
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
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_has_topics(texts in proptest::collection::vec((0u64..4, "(《|》|“|”|中文|的|word |\\PC){0,20}"), 0..20)) {
        let mut texts = texts;
        texts.sort_by_key(|(session, _)| *session);
        let written: Vec<String> = texts.iter().map(|(_, text)| text.clone()).collect();
        let topics = build(&Talks(texts));
        for topic in topics.list(None, usize::MAX).topics {
            prop_assert!(written.iter().any(|text| text.contains(&topic.tag)), "{:?}", topic);
            prop_assert!(topic.sessions > 0 && topic.mentions > 0 && topic.mentions <= topic.messages);
        }
    }
}
