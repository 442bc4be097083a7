//! A literal search finds what a plain look at every text finds, and nothing else.

use super::*;

/// Letters that meet in all ways: scripts, widths, cases, signs, pictures.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "hello",
    "Hello",
    "ell",
    "world",
    "12",
    "3",
    "ｈｅ",
    "我",
    "你",
    "好",
    "我们",
    "你好",
    "吗",
    "。",
    "，",
    ",",
    ".",
    " ",
    "  ",
    "\n",
    "😂",
    "❤️",
    "👨‍👩‍👧",
    "é",
    "e\u{301}",
    "한",
    "글",
    "ナ",
    "ﾅ",
    "-",
    "_",
    "\u{200B}",
    "longlonglonglonglonglonglonglonglonglonglong",
];

fn piece() -> impl Strategy<Value = String> {
    proptest::sample::select(PIECES).prop_map(String::from)
}

fn text(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..most).prop_map(|all| all.concat())
}

fn corpus() -> impl Strategy<Value = Vec<Message>> {
    let one = (text(7), 0..3, 0..3, 0..5_i64, any::<bool>());
    let one = one.prop_map(|(text, chat, sender, minute, timed)| {
        let mut one = message(&format!("c{chat}"), &format!("s{sender}"), minute, &text);
        one.time = one.time.filter(|_| timed);
        one
    });
    proptest::collection::vec(one, 0..40)
}

fn filter() -> impl Strategy<Value = Filter> {
    let chats = proptest::collection::vec((1..4_u32).prop_map(ChatNo), 0..2);
    let senders = proptest::collection::vec((1..4_u32).prop_map(PersonNo), 0..2);
    let times = proptest::collection::vec(
        (0..5_i64, 0..5_i64).prop_map(|(a, b)| Span {
            since: Some(1_700_000_000_000 + a * 60_000),
            until: (b != 0).then_some(1_700_000_000_000 + b * 60_000),
        }),
        0..4,
    );
    (chats, senders, times).prop_map(|(chats, senders, times)| Filter {
        chats,
        senders,
        times,
        ..Filter::default()
    })
}

/// The lines that must be found, by looking at every message.
fn naive(archive: &Archive, words: &[String], all: bool, filter: &Filter) -> BTreeSet<u64> {
    let words: Vec<String> = words.iter().map(|word| normalize(word)).collect();
    let mut found = BTreeSet::new();
    let mut lines = Vec::new();
    archive.each(&mut |entry| {
        lines.push(entry.line);
        ControlFlow::Continue(())
    });
    for entry in archive.load(&lines, 0, 0).unwrap().messages {
        let text = normalize(&entry.text);
        let has = |word: &String| text.contains(word.as_str());
        let hit = match all {
            true => words.iter().all(has),
            false => words.iter().any(has),
        };
        let within = |span: &Span| {
            entry.time.is_some_and(|time| {
                span.since.is_none_or(|since| time >= since)
                    && span.until.is_none_or(|until| time <= until)
            })
        };
        let lets = (filter.chats.is_empty() || filter.chats.contains(&entry.chat))
            && (filter.senders.is_empty() || filter.senders.contains(&entry.sender))
            && (filter.times.is_empty() || filter.times.iter().any(within));
        if hit && lets {
            found.insert(entry.line);
        }
    }
    found
}

/// All pages of a search, one after another.
fn pages(archive: &Archive, ask: &Keywords) -> Vec<Hits> {
    let (mut pages, mut ask) = (Vec::new(), ask.clone());
    loop {
        let hits = archive.keywords(&ask).unwrap();
        ask.after = hits.next.map(|next| next.to_string().parse().unwrap());
        pages.push(hits);
        if ask.after.is_none() {
            return pages;
        }
    }
}

fn check(archive: &Archive, words: &[String], all: bool, filter: &Filter) {
    if words.iter().any(|word| normalize(word).is_empty()) {
        return;
    }
    let expect = naive(archive, words, all, filter);
    for order in [Order::Relevance, Order::Newest, Order::Oldest] {
        let ask = Keywords {
            words: words.to_vec(),
            all,
            filter: filter.clone(),
            order,
            limit: 3,
            after: None,
        };
        let pages = pages(archive, &ask);
        let lines: Vec<u64> = pages.iter().flat_map(|hits| hits.lines.clone()).collect();
        assert_eq!(lines.len(), expect.len(), "{ask:?}");
        assert_eq!(
            lines.iter().copied().collect::<BTreeSet<_>>(),
            expect,
            "{ask:?}"
        );
        // A page at a time, some hits are never looked at; all at once, each is.
        let at_once = Keywords {
            limit: usize::MAX,
            ..ask.clone()
        };
        assert_eq!(archive.keywords(&at_once).unwrap().lines, lines, "{ask:?}");
        for hits in &pages {
            assert_eq!(hits.total, expect.len() as u64);
            for (word, count) in words.iter().zip(&hits.per_word) {
                let alone = naive(archive, std::slice::from_ref(word), true, filter);
                assert_eq!(*count, alone.len() as u64, "{word:?}");
            }
        }
        let times: Vec<(Option<i64>, u64)> = lines
            .iter()
            .map(|line| {
                (
                    archive.load(&[*line], 0, 0).unwrap().messages[0].time,
                    *line,
                )
            })
            .collect();
        match order {
            Order::Oldest => assert!(times.is_sorted(), "{times:?}"),
            Order::Newest => assert!(times.iter().rev().is_sorted(), "{times:?}"),
            Order::Relevance => {
                let scores: Vec<f32> = pages.iter().flat_map(|hits| hits.scores.clone()).collect();
                assert!(scores.iter().rev().is_sorted(), "{scores:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_missed_and_nothing_made_up(
        one in corpus(),
        two in corpus(),
        asks in proptest::collection::vec(
            (proptest::collection::vec(text(4), 1..3), any::<bool>(), filter()), 1..6),
    ) {
        let (_folder, archive) = open();
        let first = import(&archive, &one);
        let ask = |archive: &Archive| {
            for (words, all, filter) in &asks {
                check(archive, words, *all, filter);
            }
            // Letters that begin pairs, end them, and stand alone.
            check(archive, &["好".to_owned()], true, &Filter::default());
        };
        ask(&archive);
        // The second has some of the first.
        let both: Vec<Message> = one.iter().take(10).chain(&two).cloned().collect();
        if stage(&archive, &both).id != first.id {
            import(&archive, &both);
        }
        ask(&archive);
        archive.withdraw(&first.id).unwrap();
        ask(&archive);
        archive.restore(&first.id).unwrap();
        ask(&archive);
        let at = archive.folder.clone();
        drop(archive);
        ask(&Archive::open(&at).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    /// Few words, so that short texts with one of them and longer ones with several meet.
    #[test]
    fn a_page_is_the_best_of_all(
        texts in proptest::collection::vec(
            proptest::collection::vec(proptest::sample::select(&["x", "y", "z", "..."][..]), 1..5), 8..40),
        all in any::<bool>(),
        limit in 1..6_usize,
    ) {
        let (_folder, archive) = open();
        let said: Vec<Message> = (0..).zip(&texts).map(|(n, words)| message("c", "a", n, &words.join(" "))).collect();
        import(&archive, &said);
        for words in [&["x", "y"][..], &["x", "y", "z"], &["z"]] {
            let ask = Keywords {
                words: words.iter().map(|&word| word.to_owned()).collect(),
                all,
                order: Order::Relevance,
                limit: usize::MAX,
                ..Keywords::default()
            };
            let whole = archive.keywords(&ask).unwrap();
            let pages = pages(&archive, &Keywords { limit, ..ask });
            let paged = |of: &dyn Fn(&Hits) -> Vec<u64>| pages.iter().flat_map(of).collect::<Vec<_>>();
            prop_assert_eq!(&paged(&|hits| hits.lines.clone()), &whole.lines);
            let bits = |hits: &Hits| hits.scores.iter().map(|s| u64::from(s.to_bits())).collect();
            prop_assert_eq!(paged(&bits), bits(&whole));
        }
    }
}

#[test]
fn what_the_index_answers_and_what_is_scanned() {
    let (_folder, archive) = open();
    let all: Vec<Message> = ["hello world", "你好世界", "好", "😂 ok", "x-ray", "Jello"]
        .into_iter()
        .chain((0..20).map(|_| "..."))
        .enumerate()
        .map(|(n, text)| message("c", "a", n as i64, text))
        .collect();
    import(&archive, &all);
    for (word, lines, source) in [
        ("ello", &[1, 6][..], Source::Index),
        ("lo wor", &[1], Source::Index),
        ("世界", &[2], Source::Index),
        ("你好世", &[2], Source::Index),
        ("世", &[2], Source::Index),
        ("界", &[2], Source::Index),
        ("好", &[2, 3], Source::Index),
        ("😂", &[4], Source::Index),
        ("-", &[5], Source::Scan),
        ("X-R", &[5], Source::Index),
        ("nothing", &[], Source::Index),
    ] {
        let ask = Keywords {
            words: vec![word.into()],
            order: Order::Oldest,
            limit: 9,
            ..Keywords::default()
        };
        let hits = archive.keywords(&ask).unwrap();
        assert_eq!((&hits.lines[..], hits.source), (lines, source), "{word}");
    }
}

#[test]
fn a_cursor_says_when_it_no_longer_holds() {
    let (_folder, archive) = open();
    let all: Vec<Message> = (0..5).map(|n| message("c", "a", n, "hello")).collect();
    import(&archive, &all);
    let mut ask = Keywords {
        words: vec!["hello".into()],
        limit: 2,
        ..Keywords::default()
    };
    ask.after = archive.keywords(&ask).unwrap().next;
    assert_eq!(archive.keywords(&ask).unwrap().lines, [3, 2]);
    let other = Keywords {
        words: vec!["ello".into()],
        ..ask.clone()
    };
    assert!(matches!(
        archive.keywords(&other),
        Err(ArchiveError::ForeignCursor)
    ));
    import(&archive, &[message("c", "a", 9, "bye")]);
    assert!(matches!(
        archive.keywords(&ask),
        Err(ArchiveError::StaleCursor)
    ));
    assert!(matches!(
        "1.2.3".parse::<Cursor>(),
        Err(ArchiveError::ForeignCursor)
    ));
}
