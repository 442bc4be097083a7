//! Which characters the bytes of a page stand for.
//!
//! A mark at the beginning tells, then the header, then the page itself, then the bytes are
//! weighed. Headers and pages are often wrong in two ways, and both show: what is said to be
//! UTF-8 and is not, and what is said to be something else and is UTF-8 all the same.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, GB18030, GBK, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::file::text;

/// How much of a page is looked at for what it says of itself.
const HEAD: usize = 1024;

/// The text, and the name of its encoding.
pub(super) fn decode(bytes: &[u8], header: Option<&str>, whole: bool) -> (String, &'static str) {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return read(&bytes[mark..], encoding);
    }
    let said = header.and_then(labelled).or_else(|| in_page(bytes));
    let encoding = match said {
        Some(said) if holds(bytes, said, whole) => said,
        _ => guess(bytes, whole),
    };
    read(bytes, encoding)
}

fn read(bytes: &[u8], encoding: &'static Encoding) -> (String, &'static str) {
    // Every text of the one is a text of the other, and pages say the one and mean the other.
    let encoding = if encoding == GBK { GB18030 } else { encoding };
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    (text.into_owned(), encoding.name())
}

/// Whether bytes can be what they are said to be.
fn holds(bytes: &[u8], said: &'static Encoding, whole: bool) -> bool {
    let utf8 = is_utf8(bytes, whole);
    if said == UTF_8 {
        return utf8;
    }
    if said == UTF_16LE || said == UTF_16BE {
        // Half of the bytes of plain characters are 0.
        return bytes.contains(&0) || !bytes.is_ascii();
    }
    // Hardly anything else is by chance UTF-8 beyond ASCII.
    if utf8 && !bytes.is_ascii() && said.name() != "ISO-2022-JP" {
        return false;
    }
    // The last character may be cut.
    let end = if whole {
        bytes.len()
    } else {
        bytes.len().saturating_sub(4)
    };
    if said.decode_without_bom_handling(&bytes[..end]).1 {
        return false;
    }
    // What a server says of every page is nothing that it says of this one.
    said != WINDOWS_1252 || !is_many(bytes) || guess(bytes, whole) == said
}

/// Whether most of a text is beyond ASCII, as it is in no language that is written in Latin.
fn is_many(bytes: &[u8]) -> bool {
    let words = bytes
        .iter()
        .filter(|b| b.is_ascii_alphabetic() || !b.is_ascii());
    let beyond = bytes.iter().filter(|b| !b.is_ascii()).count();
    // Tags are ASCII in every page.
    beyond > 8 && beyond * 8 > words.count()
}

fn is_utf8(bytes: &[u8], whole: bool) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(e) => !whole && e.error_len().is_none(),
    }
}

fn guess(bytes: &[u8], whole: bool) -> &'static Encoding {
    if let Some(script) = text::detect(bytes, whole) {
        return script.encoding;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, whole);
    detector.guess(None, Utf8Detection::Allow)
}

fn labelled(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.trim_matches(['"', '\'', ' ']).as_bytes())
}

/// What a page says of itself: `<meta charset=…>`, `<meta … content="…charset=…">`, or the
/// first line of XML.
fn in_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(HEAD)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let said = if head.trim_start().starts_with("<?xml") {
        let line = head.split("?>").next()?;
        value(line, "encoding")
    } else {
        let metas = head.split("<meta").skip(1);
        metas
            .filter_map(|tag| value(tag.split('>').next()?, "charset"))
            .next()
    };
    let said = labelled(&said?)?;
    // A page that could be read so far is not written in what has no ASCII.
    match said == UTF_16LE || said == UTF_16BE {
        true => Some(UTF_8),
        false => Some(said),
    }
}

fn value(tag: &str, name: &str) -> Option<String> {
    let after = tag.split_once(name)?.1.trim_start().strip_prefix('=')?;
    let after = after.trim_start().trim_start_matches(['"', '\'']);
    let end = after.find(|c: char| c.is_whitespace() || "\"';/>?".contains(c));
    Some(after[..end.unwrap_or(after.len())].to_owned())
}
