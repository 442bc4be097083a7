use super::{Piece, cut, grams, is_stop, normal, stem};

fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    cut(&normal(text), |piece| match piece {
        Piece::Word { text, .. } => out.push(text.to_owned()),
        Piece::Whole(text) => out.push(format!("={text}")),
        Piece::Run(run) => grams(run, |g| out.push(g.to_owned())),
        Piece::Mark(_) => {}
    });
    out
}

#[test]
fn names_and_sentences_are_cut() {
    for (text, wanted) in [
        ("read_file", "read file"),
        ("web-search", "web search"),
        ("getHTTPServer", "get http server =gethttpserver"),
        ("YouTube", "you tube =youtube"),
        ("k8s", "k 8 s =k8s"),
        ("sha256", "sha 256 =sha256"),
        ("It's the user's file.", "it the user file"),
        ("Ｆｕｌｌ－ｗｉｄｔｈ", "full width"),
        ("café", "cafe"),
        ("天气weather", "天 气 天气 weather"),
        ("查天气", "查 天 查天 气 天气"),
        ("no\u{200b}thing \u{202e}hidden", "nothing hidden"),
        ("...!?()", ""),
        ("", ""),
    ] {
        assert_eq!(words(text).join(" "), wanted, "{text}");
    }
}

#[test]
fn forms_of_a_word_meet() {
    for group in [
        &[
            "calculate",
            "calculates",
            "calculated",
            "calculating",
            "calculator",
            "calculation",
        ][..],
        &["translate", "translation", "translator"],
        &["plan", "plans", "planned", "planning"],
        &["query", "queries"],
        &["analysis", "analyze", "analyse", "analyzing", "analytics"],
        &["organize", "organise", "organization", "organisation"],
        &["box", "boxes"],
        &["day", "daily", "days"],
        &["color", "colour"],
    ] {
        for word in group {
            assert_eq!(stem(word), stem(group[0]), "{word}");
        }
    }
}

#[test]
fn different_words_stay_apart() {
    for (a, b) in [
        ("general", "generate"),
        ("organ", "organize"),
        ("customer", "custom"),
        ("news", "new"),
        ("status", "state"),
        ("number", "numb"),
        ("apply", "app"),
    ] {
        assert_ne!(stem(a), stem(b), "{a} {b}");
    }
}

#[test]
fn tables_are_sorted() {
    assert!(super::STOP.is_sorted());
    assert!(super::stem::IRREGULAR.is_sorted());
    assert!(is_stop("the") && !is_stop("weather"));
}
