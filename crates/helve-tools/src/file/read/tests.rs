//! Pages come out alike, however their file was read.

use std::io::Cursor;

use helve_kernel::helve_changes::{Looked, Time, What};
use proptest::prelude::*;

use super::*;

/// A page made of pieces of that size.
fn page_of(bytes: &[u8], piece: usize, wanted: Wanted, encoding: &str) -> Option<Page> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let whole = head.len() == bytes.len();
    let script = script(head, whole, encoding, image::known(head)).ok()??;
    let mut from = Cursor::new(&bytes[script.mark..]);
    let lines = lines(&mut from, piece, wanted, script, || Ok(())).ok()?;
    told(Page::default(), &lines, wanted, script).ok()
}

fn glanced(bytes: &[u8], wanted: Wanted, encoding: &str) -> Option<Page> {
    let looked = Looked {
        what: What::File,
        size: 0,
        mode: 0,
        mtime: Time { s: 0, ns: 0 },
        links: 1,
    };
    let seen = Glance {
        shown: String::new(),
        bytes: bytes.to_vec(),
        looked,
    };
    Some(at_once(seen, wanted, encoding).ok()??.data)
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        Just("a"),
        Just("é"),
        Just("汉字"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\"\\\t"),
        Just("long line of many words "),
    ];
    let text = prop::collection::vec(words, 0..200).prop_map(|w| w.concat());
    prop_oneof![
        text.clone().prop_map(String::into_bytes),
        text.clone()
            .prop_map(|t| [b"\xef\xbb\xbf", t.as_bytes()].concat()),
        text.clone()
            .prop_map(|t| encoding_rs::GBK.encode(&t).0.into_owned()),
        text.prop_map(|t| {
            let units = t.encode_utf16().flat_map(u16::to_le_bytes);
            [0xff, 0xfe].into_iter().chain(units).collect()
        }),
        prop::collection::vec(any::<u8>(), 0..300),
    ]
}

proptest! {
    #[test]
    fn pieces_of_any_size_make_the_same_page(
        bytes in texts(),
        piece in 1..64usize,
        first in 1..40u64,
        count in 1..40u64,
        line_numbers in any::<bool>(),
        encoding in prop_oneof![Just("auto"), Just("gbk"), Just("utf-16le")],
    ) {
        let wanted = Wanted { first, count, line_numbers };
        let whole = glanced(&bytes, wanted, encoding);
        prop_assert_eq!(&page_of(&bytes, piece, wanted, encoding), &whole);
        if let Some(page) = whole {
            let content = page.content.unwrap_or_default();
            prop_assert!(content.lines().count() as u64 <= count);
        }
    }
}

/// A line of which not all is shown, cut within a letter where it is read.
#[test]
fn long_lines_are_cut_alike() {
    let line = "é".repeat(LONGEST_LINE * 3);
    let bytes = format!("x{line}\n{line}\nend\n").into_bytes();
    let wanted = Wanted {
        first: 1,
        count: 3,
        line_numbers: false,
    };
    let whole = glanced(&bytes, wanted, "auto").unwrap();
    assert_eq!(whole.cut_lines, [1, 2]);
    let shown = whole.content.as_deref().unwrap_or_default();
    let longest = shown.lines().map(|l| l.chars().count()).max();
    assert_eq!(
        longest,
        Some(LONGEST_LINE + " … [the line goes on]".chars().count())
    );
    for piece in [1, 7, 4096] {
        assert_eq!(
            page_of(&bytes, piece, wanted, "auto").as_ref(),
            Some(&whole)
        );
    }
}
