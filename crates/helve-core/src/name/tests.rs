//! Names: what is one, what only looks like one.

#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn names() {
    for good in ["a", "file_read", "x9", "a__b", &"a".repeat(64)] {
        assert_eq!(ToolName::new(good).unwrap().as_str(), good);
    }
    let cases = [
        ("", "the name is empty"),
        (
            "File",
            "the name `File` has `F`; only small letters, digits and underscores are allowed",
        ),
        (
            "web-search",
            "the name `web-search` has `-`; only small letters, digits and underscores are allowed",
        ),
        ("_x", "the name `_x` must begin with a small letter"),
        ("9x", "the name `9x` must begin with a small letter"),
        (
            "re\u{430}d",
            "the name `re\u{430}d` has `\u{430}` (U+0430), which only looks like `a`",
        ),
        (
            "\u{ff46}ile",
            "the name `\u{ff46}ile` has `\u{ff46}` (U+FF46), which only looks like `f`",
        ),
        (
            "f\u{131}le",
            "the name `f\u{131}le` has `\u{131}` (U+0131), which only looks like `i`",
        ),
        (
            "读",
            "the name `读` has `\\u{8bfb}` (U+8BFB); only small letters, digits and underscores are allowed",
        ),
        (
            "a\u{200b}b",
            "the name `a\u{200b}b` has `\\u{200b}` (U+200B); only small letters, digits and underscores are allowed",
        ),
    ];
    for (name, wanted) in cases {
        assert_eq!(ToolName::new(name).unwrap_err().to_string(), wanted);
    }
    assert_eq!(ToolName::new("a".repeat(65)), Err(NameError::TooLong(65)));
}

#[test]
fn groups() {
    let group = |name: &str| ToolName::new(name).unwrap().group().map(str::to_owned);
    assert_eq!(group("file_read").as_deref(), Some("file"));
    assert_eq!(group("browser_get_content").as_deref(), Some("browser"));
    assert_eq!(group("grep"), None);
    assert_eq!(group("a_"), None);
    assert_eq!(in_group("file", "read"), "file_read");
    assert_eq!(in_group("file", "file_read"), "file_read");
    assert_eq!(in_group("file", "filer"), "file_filer");
    assert_eq!(in_group("", "read"), "read");
}

#[test]
fn foreign_names_become_canonical() {
    let cases = [
        ("getWeather", Some("get_weather")),
        ("web-search", Some("web_search")),
        ("disk.clean", Some("disk_clean")),
        ("HTTPRequest", Some("httprequest")),
        ("read2Files", Some("read2_files")),
        ("mcp__web__search", Some("mcp__web__search")),
        ("-x", None),
        ("é", None),
        ("", None),
    ];
    for (foreign, wanted) in cases {
        assert_eq!(canonical(foreign).as_deref(), wanted, "{foreign}");
    }
}

#[test]
fn the_nearest_come_first() {
    let known = ["file_read", "file_write", "file_list", "web_search"];
    assert_eq!(nearest("file_raed", known, 5)[0], "file_read");
    assert_eq!(nearest("File_Write", known, 1), ["file_write"]);
    assert!(nearest("zzz", known, 5).is_empty());
}
