use super::*;

#[test]
fn only_the_ends_of_a_keyword_are_open() {
    let of = |keyword: &str| {
        let needs = needs(keyword);
        let told: Vec<String> = needs
            .iter()
            .map(|n| format!("{} {:?}", n.text, n.lies))
            .collect();
        told.join(", ")
    };
    for (keyword, expect) in [
        ("ello", "ello Anywhere"),
        ("lo big wor", "lo Last, big Whole, wor First"),
        ("你好吗", "你好 Whole, 好吗 Whole"),
        ("你", ""),
        ("用rust写", "rust Whole"),
        (" 用 a", "用 Whole, a First"),
        ("。", ""),
        ("😂😂", "😂 Whole, 😂 Whole"),
    ] {
        assert_eq!(of(keyword), expect, "{keyword}");
    }
}
