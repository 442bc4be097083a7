//! Foreign text as it may stand on a page: nothing hides, nothing runs, nothing is endless.

use std::ops::Range;

use helve_kernel::At;
use helve_kernel::helve_changes::visible::hides;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::Visit;
use super::words::Word;

/// The most characters of one text that a page shows, and of one line.
pub(super) const LONGEST: usize = 60_000;
pub(super) const LONGEST_LINE: usize = 2_000;

/// What a piece of code is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// What is for people.
    Comment,
    /// Text.
    String,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
    /// A type.
    Type,
    /// A function, where it is made or called.
    Function,
    /// What stays as it is.
    Constant,
    /// A part of something.
    Property,
}

impl Colour {
    fn class(self) -> &'static str {
        match self {
            Colour::Comment => "c",
            Colour::String => "s",
            Colour::Number => "n",
            Colour::Keyword => "k",
            Colour::Type => "t",
            Colour::Function => "f",
            Colour::Constant => "o",
            Colour::Property => "p",
        }
    }
}

/// Who knows what code means.
pub trait Painter: Send + Sync {
    /// The coloured pieces of a text out of that file, in order and apart.
    fn paint(&self, path: &str, text: &str) -> Vec<(Range<usize>, Colour)>;
}

/// Text in which nothing hides, shortened to `most` characters.
pub(super) fn shown(visit: &Visit, text: &str, most: usize) -> Markup {
    let (start, left) = clip(text, most);
    html! {
        (visible(start))
        @if left > 0 { span.cut { " … " (left) " " (visit.t(Word::MoreChars)) } }
    }
}

/// One line of foreign text: a name, a path, a reason.
pub(super) fn line(text: &str) -> Markup {
    let (start, left) = clip(text, 300);
    html! { bdi { (visible(start)) @if left > 0 { "…" } } }
}

/// The first characters, and how many are left.
pub(super) fn clip(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        None => (text, 0),
        Some((at, _)) => (&text[..at], text[at..].chars().count()),
    }
}

/// Text with what hides or controls written out as its number.
pub(super) fn visible(text: &str) -> Markup {
    let mut out = String::with_capacity(text.len() + 16);
    push(&mut out, text);
    PreEscaped(out)
}

/// The same where there is no markup: in the title of a page.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match hides(c) {
            true => out.push_str(&format!("U+{:04X}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

/// Text with its colours, pieces that lie within `range` of what was painted.
pub(super) fn coloured(text: &str, from: usize, pieces: &[(Range<usize>, Colour)]) -> Markup {
    let mut out = String::with_capacity(text.len() * 2);
    let end = from + text.len();
    let mut at = from;
    let first = pieces.partition_point(|(range, _)| range.end <= from);
    for (range, colour) in pieces[first..].iter().take_while(|(r, _)| r.start < end) {
        let (start, stop) = (range.start.max(at), range.end.min(end));
        if start >= stop {
            continue;
        }
        push(&mut out, &text[at - from..start - from]);
        out.push_str("<span class=\"");
        out.push_str(colour.class());
        out.push_str("\">");
        push(&mut out, &text[start - from..stop - from]);
        out.push_str("</span>");
        at = stop;
    }
    push(&mut out, &text[at - from..]);
    PreEscaped(out)
}

/// The one place where foreign characters become markup.
fn push(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if hides(c) => {
                out.push_str("<span class=\"hid\">");
                out.push_str(&format!("U+{:04X}", u32::from(c)));
                out.push_str("</span>");
            }
            c => out.push(c),
        }
    }
}

/// JSON as people read it.
pub(super) fn json(visit: &Visit, value: &Value) -> Markup {
    let text = match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    shown(visit, &text, LONGEST)
}

/// A moment; the script shows it in local time.
pub(super) fn time(at: At) -> Markup {
    let whole = at.to_string();
    let short = whole.get(..19).unwrap_or(&whole).replace('T', " ");
    html! { time datetime=(whole) { (short) " UTC" } }
}

/// How long something took.
pub(super) fn took(from: At, to: At) -> String {
    let ms = to.since(from).as_millis();
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_foreign_is_never_markup() {
        for (text, wanted) in [
            ("<b>&\"'", "&lt;b&gt;&amp;&quot;'"),
            ("a\u{202e}b", "a<span class=\"hid\">U+202E</span>b"),
            ("\u{1b}[31m", "<span class=\"hid\">U+001B</span>[31m"),
            (
                "x\u{200b}\r",
                "x<span class=\"hid\">U+200B</span><span class=\"hid\">U+000D</span>",
            ),
            ("多\n行\t", "多\n行\t"),
        ] {
            assert_eq!(visible(text).into_string(), wanted);
        }
    }

    #[test]
    fn a_title_has_no_markup_of_ours_either() {
        assert_eq!(plain("<b>\u{202e}\n"), "<b>U+202EU+000A");
    }

    #[test]
    fn colours_follow_the_line_within_the_whole() {
        // "let x = 1;\n// é\n" as two lines out of one painted text.
        let pieces = [
            (0..3, Colour::Keyword),
            (8..9, Colour::Number),
            (11..16, Colour::Comment),
        ];
        let first = coloured("let x = 1;", 0, &pieces).into_string();
        assert_eq!(
            first,
            "<span class=\"k\">let</span> x = <span class=\"n\">1</span>;"
        );
        let second = coloured("// é", 11, &pieces).into_string();
        assert_eq!(second, "<span class=\"c\">// é</span>");
        // A piece that goes over the end of a line is cut there.
        let half = coloured("t x", 2, &pieces).into_string();
        assert_eq!(half, "<span class=\"k\">t</span> x");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        assert_eq!(clip("äöü", 2), ("äö", 1));
        assert_eq!(clip("äöü", 3), ("äöü", 0));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_text_breaks_out(text in ".{0,60}") {
            let out = visible(&text).into_string();
            let plain = out.replace("<span class=\"hid\">", "").replace("</span>", "");
            proptest::prop_assert!(!plain.contains(['<', '>', '"']), "{out}");
            proptest::prop_assert!(!plain.chars().any(|c| hides(c) && c != '\n' && c != '\t'), "{out:?}");
        }
    }
}
