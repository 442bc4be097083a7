//! The estimate, held against a real vocabulary.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use super::estimate;

#[test]
fn small_texts() {
    let cases = [
        ("", 0),
        ("file", 1),
        ("file_read", 3),
        ("a b c", 3),
        ("文件", 2),
        ("internationalization", 4),
        ("{}", 2),
        ("\n\n\n", 3),
        ("1234", 2),
        ("a1", 2),
    ];
    for (text, wanted) in cases {
        assert_eq!(estimate(text), wanted, "{text:?}");
    }
}

/// What the module says of itself: never under what `o200k` counts for a text of
/// some length, and not more than half over.
#[test]
fn the_estimate_is_on_the_safe_side() {
    let real = tiktoken_rs::o200k_base().unwrap();
    let mut texts = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/seeds");
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => texts.push(std::fs::read_to_string(path).unwrap()),
            }
        }
    }
    texts.push(PROSE.to_owned());
    texts.push(CHINESE.to_owned());
    assert!(texts.len() > 40);
    let (mut all, mut all_real) = (0, 0);
    for text in &texts {
        let counted = real.encode_ordinary(text).len();
        let estimated = estimate(text);
        all += estimated;
        all_real += counted;
        assert!(estimated >= counted, "{estimated} < {counted} for {text}");
    }
    assert!(all * 2 <= all_real * 3, "{all} against {all_real}");
}

const PROSE: &str = "Opens the page at the given address and waits until it has loaded. Use it before anything \
else is done with the page: clicking, typing, reading. The browser is started if it does not run yet, and the \
answer has the title and the final address, which may differ after redirects.";

const CHINESE: &str = "打开给定地址的网页，并等待加载完成。在点击、输入或读取内容之前使用。如果浏览器尚未运行，会自动启动；\
返回结果包含标题和最终地址，重定向之后可能与原来的不同。请注意：不要假设浏览器已经打开。";
