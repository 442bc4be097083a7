use super::*;

fn entries(which: Entries, text: &str) -> Vec<String> {
    let mut which = which;
    let mut stream = which.token_stream(text);
    let mut found = Vec::new();
    while let Some(token) = stream.next() {
        found.push(token.text.clone());
    }
    found
}

#[test]
fn words_and_pairs() {
    for (text, words, two) in [
        ("hello world", &["hello", "world"][..], &[][..]),
        ("你好吗", &[], &["你好", "好吗"]),
        ("用rust写", &["rust"], &["用", "写"]),
        ("好😂😂ok", &["ok"], &["好", "😂", "😂"]),
        ("a,b", &["a", "b"], &[]),
        ("", &[], &[]),
        ("。。", &[], &[]),
    ] {
        assert_eq!(entries(Entries::Words, text), words, "{text}");
        assert_eq!(entries(Entries::Pairs, text), two, "{text}");
    }
}

#[test]
fn a_word_that_is_too_long_has_one_entry_for_all() {
    let text = format!("x {} y", "a".repeat(LONGEST + 1));
    assert_eq!(entries(Entries::Words, &text), ["x", LONG, "y"]);
}

#[test]
fn pairs_of_a_run() {
    let of = |run: &'static str| pairs(run).map(|r| &run[r]).collect::<Vec<_>>();
    assert_eq!(of("你好吗"), ["你好", "好吗"]);
    assert_eq!(of("你好"), ["你好"]);
    assert_eq!(of("你"), ["你"]);
}
