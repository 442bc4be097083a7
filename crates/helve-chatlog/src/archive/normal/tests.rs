use super::*;
use proptest::prelude::*;

#[test]
fn folds_what_people_do_not_tell_apart() {
    for (text, expect) in [
        ("Hello  World\n", "hello world"),
        ("ＡＢＣ１２３，你好！", "abc123,你好!"),
        ("　全角　", "全角"),
        ("ﾊﾝｶｸ", "ハンカク"),
        ("É", "é"),
        ("e\u{301}", "é"),
        ("❤\u{FE0F}", "❤"),
        ("…", "..."),
        ("", ""),
        (" \t ", ""),
        ("İ", "i\u{307}"),
    ] {
        assert_eq!(normalize(text), expect, "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // The short way and the long way are the same way.
    #[test]
    fn the_short_way_agrees(text in "[ -~\u{3000}-\u{3002}\u{4E00}-\u{4E20}\u{FF01}-\u{FF5E}\u{1F600}-\u{1F640}\u{FE0F}]{0,12}") {
        let mut long = String::new();
        text.nfkc().flat_map(char::to_lowercase).nfkc().for_each(|c| push(&mut long, c));
        prop_assert_eq!(normalize(&text), long.trim_end_matches(' '));
    }

    #[test]
    fn twice_is_once(text in "\\PC{0,16}") {
        let once = normalize(&text);
        prop_assert_eq!(normalize(&once), once);
    }
}
