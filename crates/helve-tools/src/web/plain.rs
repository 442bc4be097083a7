//! A page without a tree: how deep its tags nest, and its text with the tags taken out.
//!
//! A tree of tags that nest a hundred thousand deep takes minutes to build, and more stack than
//! there is to walk. So a page is looked at before, in one pass, and what is plainly too deep comes
//! as its text. Browsers close tags by many rules, and not all of them are known here: a tree
//! that is built after all is measured once more ([`super::page`]).

/// How deep the tags of a page nest at most before it is read without a tree.
pub(super) const DEEP: usize = 256;

/// Elements without an end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements that end where the next of their kind begins, so that they nest only in others.
const ENDING: [&str; 18] = [
    "p", "li", "td", "th", "tr", "dt", "dd", "option", "optgroup", "tbody", "thead", "tfoot",
    "colgroup", "rp", "rt", "html", "head", "body",
];

/// Elements that live on when what they stand in ends.
const FORMATTING: [&str; 14] = [
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Elements whose end also ends what stands open in them.
const BLOCKS: [&str; 26] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "header",
    "hgroup",
    "main",
    "menu",
    "nav",
    "ol",
    "pre",
    "section",
    "summary",
    "table",
    "ul",
];

/// Elements out of which no end reaches.
const WALLS: [&str; 9] = [
    "applet", "caption", "marquee", "math", "object", "select", "svg", "table", "template",
];

/// Elements whose content is not shown as text.
const SILENT: [&str; 11] = [
    "script", "style", "noscript", "template", "textarea", "iframe", "svg", "head", "select",
    "object", "title",
];

/// Elements inside which `<` is no tag.
const RAW: [&str; 6] = ["script", "style", "textarea", "title", "iframe", "noframes"];

/// Elements that begin a line of their own.
const BLOCK: [&str; 31] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
    "ul",
];

/// What stands next in a page.
enum Piece<'a> {
    Text(&'a str),
    /// Its name, and what else stands in the tag.
    Open(String, &'a str),
    Close(String),
}

/// Whether the tags of a page plainly nest deeper than can be worked with.
pub(super) fn is_deep(html: &str) -> bool {
    let mut open: Vec<String> = Vec::new();
    for piece in Pieces::new(html) {
        match piece {
            Piece::Open(name, _) if is(&VOID, &name) || is(&ENDING, &name) => {}
            Piece::Open(name, _) => {
                // One link ends where the next begins.
                if name == "a" {
                    open.retain(|n| n != "a");
                }
                open.push(name);
                if open.len() > DEEP {
                    return true;
                }
            }
            Piece::Close(name) => close(&mut open, &name),
            Piece::Text(_) => {}
        }
    }
    false
}

/// Takes out what an end ends, as browsers do, or less: an end is ignored where it would reach
/// out of a table and the like, and that of an ordinary element where a block stands within it.
fn close(open: &mut Vec<String>, name: &str) {
    let Some(at) = open.iter().rposition(|n| n == name) else {
        return;
    };
    let mut within = open[at + 1..].iter();
    let ignored = match is(&BLOCKS, name) || is(&FORMATTING, name) {
        true => within.any(|n| is(&WALLS, n)),
        false => !within.all(|n| is(&FORMATTING, n)),
    };
    if ignored {
        return;
    }
    if is(&FORMATTING, name) {
        open.remove(at);
    } else {
        let inner = open.split_off(at);
        open.extend(inner.into_iter().skip(1).filter(|n| is(&FORMATTING, n)));
    }
}

/// The text of a page, a line for each block.
pub(super) fn text(html: &str) -> String {
    let mut out = String::new();
    // A head that is never closed would silence the rest.
    let headed = html.contains("</head");
    let mut silent: Option<(String, usize)> = None;
    for piece in Pieces::new(html) {
        match piece {
            Piece::Open(name, attributes) => {
                // The next of its kind ends one that needs no end.
                if is(&ENDING, &name) && silent.as_ref().is_some_and(|(what, _)| *what == name) {
                    silent = None;
                }
                let quiet = is(&SILENT, &name) && (name != "head" || headed);
                if let Some((what, depth)) = &mut silent {
                    *depth += usize::from(*what == name);
                } else if quiet || (!is(&VOID, &name) && is_hidden(attributes)) {
                    if is(&BLOCK, &name) {
                        out.push('\n');
                    }
                    silent = Some((name, 1));
                } else if is(&BLOCK, &name) {
                    out.push('\n');
                } else if name == "td" || name == "th" {
                    out.push('\t');
                }
            }
            Piece::Close(name) => {
                if let Some((what, depth)) = &mut silent {
                    *depth -= usize::from(*what == name);
                    if *depth == 0 {
                        silent = None;
                    }
                } else if is(&BLOCK, &name) {
                    out.push('\n');
                }
            }
            Piece::Text(text) if silent.is_none() => unescape(text, &mut out),
            Piece::Text(_) => {}
        }
    }
    out
}

/// Some text with its tags taken out, on one line: what search providers mark words by.
pub(super) fn line(html: &str) -> String {
    let text = if html.contains(['<', '&']) {
        text(html)
    } else {
        html.to_owned()
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands between `<title>` and its end.
pub(super) fn title(html: &str) -> Option<String> {
    let mut inside = false;
    for piece in Pieces::new(html) {
        match piece {
            Piece::Open(name, _) => inside = name == "title",
            Piece::Close(_) => inside = false,
            Piece::Text(text) if inside => {
                let mut out = String::new();
                unescape(text, &mut out);
                let title = out.split_whitespace().collect::<Vec<_>>().join(" ");
                return (!title.is_empty()).then_some(title);
            }
            Piece::Text(_) => {}
        }
    }
    None
}

/// Whether a tag says that what stands in it is not seen.
fn is_hidden(attributes: &str) -> bool {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || "/>=".contains(c));
        let end = rest.find(|c: char| c.is_ascii_whitespace() || "=/>".contains(c));
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        if name.is_empty() {
            return false;
        }
        let after = after.trim_start();
        let (value, after) = match after.strip_prefix('=').map(str::trim_start) {
            None => ("", after),
            Some(value) => match value.chars().next() {
                Some(quote @ ('"' | '\'')) => {
                    value[1..].split_once(quote).unwrap_or((&value[1..], ""))
                }
                _ => {
                    let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>');
                    value.split_at(end.unwrap_or(value.len()))
                }
            },
        };
        let style = name.eq_ignore_ascii_case("style");
        if name.eq_ignore_ascii_case("hidden") || style && hides(value) {
            return true;
        }
        rest = after;
    }
}

/// Whether a style keeps an element from being seen.
pub(super) fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    let style = style.to_ascii_lowercase();
    style.split(';').any(|rule| {
        let rule = rule.trim_end_matches("!important");
        let Some((name, value)) = rule.split_once(':') else {
            return false;
        };
        let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        match name {
            "display" => value == "none",
            "visibility" => matches!(value, "hidden" | "collapse"),
            "opacity" | "font-size" => number.parse() == Ok(0.0),
            "content-visibility" => value == "hidden",
            _ => false,
        }
    })
}

fn is(names: &[&str], name: &str) -> bool {
    names.contains(&name)
}

/// Goes through a page from one tag to the next.
struct Pieces<'a> {
    rest: &'a str,
    /// The element whose content is taken as it stands.
    raw: Option<String>,
}

impl<'a> Pieces<'a> {
    fn new(html: &'a str) -> Self {
        Self {
            rest: html,
            raw: None,
        }
    }

    fn text(&mut self, end: usize) -> Option<Piece<'a>> {
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(Piece::Text(text))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(name) = self.raw.take() {
                let end = find_end(self.rest, &name);
                if end > 0 {
                    return self.text(end);
                }
            }
            let Some(after) = self.rest.strip_prefix('<') else {
                return self.text(self.rest.find('<').unwrap_or(self.rest.len()));
            };
            if let Some(comment) = after.strip_prefix("!--") {
                self.rest = comment.find("-->").map_or("", |at| &comment[at + 3..]);
                continue;
            }
            if after.starts_with(['!', '?']) {
                self.rest = after.find('>').map_or("", |at| &after[at + 1..]);
                continue;
            }
            let (closes, name_at) = match after.strip_prefix('/') {
                Some(name) => (true, name),
                None => (false, after),
            };
            if !name_at.starts_with(|c: char| c.is_ascii_alphabetic()) {
                // No tag: a `<` of the text.
                let end = after.find('<').map_or(self.rest.len(), |at| at + 1);
                return self.text(end);
            }
            let length = name_at
                .find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>')
                .unwrap_or(name_at.len());
            let name = name_at[..length].to_ascii_lowercase();
            let tag = &name_at[length..];
            self.rest = after_tag(tag);
            if closes {
                return Some(Piece::Close(name));
            }
            if is(&RAW, &name) {
                self.raw = Some(name.clone());
            }
            return Some(Piece::Open(name, &tag[..tag.len() - self.rest.len()]));
        }
    }
}

/// What follows a tag, whose values may hold `>`.
fn after_tag(tag: &str) -> &str {
    let mut quote = None;
    let mut before = b' ';
    for (at, byte) in tag.bytes().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None if byte == b'>' => return &tag[at + 1..],
            // A quote begins a value only where one can begin.
            None if (byte == b'"' || byte == b'\'') && before == b'=' => quote = Some(byte),
            None => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    ""
}

/// Where `</name` stands.
fn find_end(text: &str, name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let at = from + at;
        let found = text.as_bytes().get(at + 2..at + 2 + name.len());
        if found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes())) {
            return at;
        }
        from = at + 2;
    }
    text.len()
}

/// Adds a text with the usual entities read; others stay as they are.
fn unescape(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(12).position(|b| b == b';');
        match end.and_then(|end| Some((entity(&rest[1..end])?, end))) {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "copy" => '©',
        number => {
            let number = number.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control() || c.is_whitespace())?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plainly_deep_is_seen() {
        let many = |piece: &str| piece.repeat(DEEP + 10);
        let numbered: String = (0..DEEP + 10)
            .map(|n| format!("<div><b x={n}></div>"))
            .collect();
        for (html, deep) in [
            (many("<div>"), true),
            (many("<b>"), true),
            (many("<div></x>"), true),
            (many("<b><div></b>"), true),
            (many("<span><div></span>"), true),
            (many("<div><table><tr><td></div>"), true),
            (many("<DIV x='>'>"), true),
            (many("<table><tr><td>"), true),
            (many("<ul><li>"), true),
            (numbered, true),
            (many("<div></div>"), false),
            (many("<p>text<br>"), false),
            (many("<li>x"), false),
            (many("<a href=x>y"), false),
            (format!("<script>{}</script>", many("<div>")), false),
            (format!("<!-- {} -->", many("<div>")), false),
        ] {
            assert_eq!(is_deep(&html), deep, "{}", &html[..40.min(html.len())]);
        }
    }

    #[test]
    fn tags_are_taken_out() {
        for (html, wanted) in [
            ("a <b>bold</b> word", "a bold word"),
            ("1 < 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
            ("x<script>if (a<b) '</div>'</script>y", "xy"),
            ("<p title='a>b'>one<p>two", "one two"),
            ("&#x4e2d;&#22269; &unknown; &", "中国 &unknown; &"),
            ("<head><title>T</title></head>body", "body"),
            ("<head><title>T</title><p>body", "body"),
            ("a<!-- b --><!doctype html>c", "ac"),
            ("a<div hidden>b<div>c</div>d</div>e", "a e"),
            (
                "a<span class=x style = 'Display: NONE; x:y'>b</span>e",
                "ae",
            ),
            ("<p hidden>a<p>b<p style=font-size:0>c", "b"),
            (
                "<input hidden>a<p data-hidden=hidden title='hidden'>b",
                "a b",
            ),
        ] {
            assert_eq!(line(html), wanted, "{html}");
        }
        assert_eq!(
            title("<title> A &amp;\n B </title>").as_deref(),
            Some("A & B")
        );
    }
}
