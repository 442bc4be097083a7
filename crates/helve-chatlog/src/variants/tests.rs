//! Tests of spellings.

use super::{spellings, to_simplified};

#[test]
fn each_script_is_found_from_the_other() {
    for (text, among) in [
        ("电脑", "電腦"),
        ("電腦", "电脑"),
        ("头发", "頭髮"),
        ("发展", "發展"),
        ("台湾", "臺灣"),
        ("皇后", "皇后"),
        ("WiFi密码", "WiFi密碼"),
    ] {
        let found = spellings(text);
        assert!(
            text == among || found.iter().any(|s| s == among),
            "{text}: {found:?}"
        );
        assert!(
            !found.iter().any(|s| s == text),
            "{text} is a spelling of itself: {found:?}"
        );
        assert!(found.len() <= 8, "{text}: {found:?}");
    }
}

#[test]
fn what_has_no_other_spelling_has_none() {
    assert_eq!(spellings("hello"), Vec::<String>::new());
    assert_eq!(spellings(""), Vec::<String>::new());
    assert_eq!(to_simplified("漢字 and 汉字"), "汉字 and 汉字");
}
