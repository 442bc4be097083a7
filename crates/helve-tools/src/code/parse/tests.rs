//! Texts that brought scanners down, and what they are made into.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn tamed(language: &Language, text: &str) -> Option<String> {
    (language.tame)(text).map(|tame| tame.text.into_owned())
}

#[test]
fn bash_is_read_in_ascii() {
    let cases = [
        ("echo a{1..3}", "echo a{1..3}"),
        ("é={\u{31860}1}", "xx={xxxx1}"),
        ("# 中\n", "# xxx\n"),
    ];
    for (text, wanted) in cases {
        assert_eq!(tamed(&BASH, text).as_deref(), Some(wanted));
    }
}

#[test]
fn python_is_read_as_long_as_it_is_not_too_deep() {
    let deep = |columns: usize| format!("if x:\n{}y\n", " ".repeat(columns));
    for (text, is_read) in [
        (deep(DEEPEST), true),
        (deep(DEEPEST + 1), false),
        (format!("{}y", "\t".repeat(DEEPEST / 8)), true),
        (format!("{}y", "\t".repeat(DEEPEST / 8 + 1)), false),
        // Only what is on one line counts, unless the line goes on.
        (deep(200).repeat(3), true),
        (format!("{0}\n{0}y", " ".repeat(200)), true),
        (format!("{0}\\\n{0}y", " ".repeat(200)), false),
        (format!("{0}\\\r\n{0}y", " ".repeat(200)), false),
        ("x".repeat(10_000), true),
        // And only where a line begins.
        (format!("x = 1{}# so", " ".repeat(1000)), true),
        (format!("# \0{}y", " ".repeat(1000)), false),
        (format!("\x0c{}y", "\t".repeat(100)), false),
    ] {
        assert_eq!(tamed(&PYTHON, &text).is_some(), is_read, "{text:?}");
    }
}

#[test]
fn ruby_is_read_without_heredocs() {
    let cases = [
        ("a << b; class << self", "a << b; class << self"),
        ("a <<b; 1<<n", "a + b; 1+ n"),
        ("x = <<A\n a\nA\ny", "x =  xx\n  \n \ny"),
        // Only with a dash or a tilde may its end stand further in.
        ("<<A\n A\n", "+ A\n A\n"),
        ("<<~A\n A\n", " xxx\n  \n"),
        ("<<-'A b'\r\nA b\r\nc", " xxxxxxx\r\n   \r\nc"),
        // Two of them, one after the other.
        ("f(<<A, <<B)\n1\nA\n2\nB\nc", "f( xx,  xx)\n \n \n \n \nc"),
        ("<<<A\nA", "< xx\n "),
        ("<<é\né\n", " xxx\n  \n"),
        ("<<<<A\nA", "<< xx\n "),
        ("<<\"a", "+ \"a"),
        // What is only talked about takes no code with it.
        ("# like <<A\nx\nA\n", "# like + A\nx\nA\n"),
        ("f \"<<A\"\nx\nA\n", "f \"+ A\"\nx\nA\n"),
        ("f /<<~A/\nx\nA\n", "f /+ ~A/\nx\nA\n"),
        ("<<", "<<"),
        ("<<-", "<<-"),
    ];
    for (text, wanted) in cases {
        let tamed = tamed(&RUBY, text).unwrap_or_default();
        assert_eq!(tamed, wanted, "{text:?}");
    }
}

/// What brought a scanner down, or would have.
#[test]
fn nothing_falls_over() {
    let deep = |levels: usize| -> String {
        let line = |n: usize| format!("{}if x:\n", " ".repeat(n));
        (0..levels).map(line).collect()
    };
    let word = "A".repeat(300);
    let open: String = (0..300).map(|n| format!("<<A{n},")).collect();
    let plain = "\"#{".repeat(300);
    let languages = [
        &RUST,
        &TYPESCRIPT,
        &TSX,
        &GO,
        &JAVA,
        &CPP,
        &C_SHARP,
        &PHP,
        &PHP_INSIDE,
        &PYTHON,
        &RUBY,
        &BASH,
    ];
    let texts = [
        "{\u{31860}".to_owned(),
        "{1..\u{10ffff}}".to_owned(),
        deep(600),
        format!("x = f'{{'{}", deep(600)),
        format!("x = <<{word}\n1\n{word}\n"),
        format!("<?php $x = <<<{word}\n1\n{word};\n"),
        open.clone(),
        format!("{plain}{open}\n"),
        format!("{open}\n{plain}"),
        "$\"{".repeat(300),
        "R\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(".to_owned(),
        format!("r{}\"", "#".repeat(600)),
        "\"\"\"f\"{".repeat(300),
    ];
    for language in languages {
        for text in &texts {
            let _is_read = parse(language, text, Duration::from_secs(5)).is_some();
        }
    }
}

/// A text full of marks is gone through once.
#[test]
fn marks_without_end_are_not_looked_for_again_and_again() {
    let text = "<<A ".repeat(300_000);
    let tame = tamed(&RUBY, &text).unwrap_or_default();
    assert_eq!(tame, "+ A ".repeat(300_000));
    // Lines that look like an end, and are none.
    let ends = " A\n".repeat(300_000);
    let tame = tamed(&RUBY, &format!("{text}\n{ends}")).unwrap_or_default();
    assert_eq!(tame, format!("{}\n{ends}", "+ A ".repeat(300_000)));
    // A line that is mostly space.
    let space = " ".repeat(1_000_000);
    let tame = tamed(&RUBY, &format!("{space}{text}")).unwrap_or_default();
    assert_eq!(tame, format!("{space}{}", "+ A ".repeat(300_000)));
}

fn scraps() -> impl Strategy<Value = String> {
    let scrap = "(<|<<|<<A|<<-A|<<~'A'|<<\"A b\"|A|A b|\n|\r\n| |é|中|\"|'|#|\\{|\t|\\\\|x1_)";
    proptest::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_stays_at_its_place(text in scraps()) {
        for language in [&BASH, &RUBY, &PYTHON] {
            let Some(tame) = (language.tame)(&text) else { continue };
            prop_assert_eq!(tame.text.len(), text.len());
            let ends = |t: &str| t.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
            prop_assert_eq!(ends(&tame.text), ends(&text));
            let mut quoted = tame.quoted;
            quoted.sort_by_key(|q| q.start);
            prop_assert!(quoted.windows(2).all(|q| q[0].end <= q[1].start));
            prop_assert!(quoted.iter().all(|q| text.get(q.clone()).is_some()));
        }
    }

    #[test]
    fn nothing_is_left_that_opens_a_heredoc(text in scraps()) {
        let tame = tamed(&RUBY, &text).unwrap_or_default();
        for (at, _) in tame.char_indices() {
            let Some(rest) = tame[at..].strip_prefix("<<") else { continue };
            let rest = rest.strip_prefix(['-', '~']).unwrap_or(rest);
            let opens = |c: char| c.is_alphanumeric() || "_\"'`".contains(c);
            prop_assert!(!rest.starts_with(opens), "{tame:?}");
        }
    }
}
