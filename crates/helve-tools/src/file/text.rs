//! Which characters the bytes of a file stand for.
//!
//! A mark at the beginning tells; then whatever is UTF-8 is; then the bytes are weighed. A
//! text that is changed keeps its encoding, its mark and its line ends.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use helve_kernel::ToolError;

/// How the characters of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) encoding: &'static Encoding,
    /// The bytes at the beginning that say so.
    pub(crate) mark: usize,
}

impl Script {
    pub(crate) const UTF_8: Self = Self {
        encoding: UTF_8,
        mark: 0,
    };

    /// How it is told.
    pub(crate) fn name(self) -> String {
        let name = self.encoding.name().to_ascii_lowercase();
        match self.mark {
            0 => name,
            _ => format!("{name} with a byte order mark"),
        }
    }

    /// Whether a byte 10 is always the end of a line.
    pub(crate) fn has_plain_lines(self) -> bool {
        self.encoding.is_ascii_compatible()
    }
}

/// What the beginning of a file tells, or all of it: `None` if it is no text.
pub(crate) fn detect(bytes: &[u8], whole: bool) -> Option<Script> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return Some(Script { encoding, mark });
    }
    let plain = |encoding| Some(Script { encoding, mark: 0 });
    if bytes.contains(&0) {
        return wide(bytes, whole).and_then(plain);
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => return plain(UTF_8),
        // Cut in the middle of a character.
        Err(e) if !whole && e.error_len().is_none() => return plain(UTF_8),
        Err(_) => {}
    }
    // Control characters that no text has.
    let odd = |b: &&u8| **b < 32 && !b"\t\n\r\x0c\x1b".contains(b);
    if bytes.iter().filter(odd).count() * 50 > bytes.len() {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, whole);
    plain(detector.guess(None, Utf8Detection::Deny))
}

/// UTF-16 without a mark: every other byte of its simple characters is 0.
fn wide(bytes: &[u8], whole: bool) -> Option<&'static Encoding> {
    let zeros = |from: usize| {
        let every = bytes.iter().skip(from).step_by(2);
        every.filter(|b| **b == 0).count()
    };
    let (half, first, second) = (bytes.len() / 2, zeros(0), zeros(1));
    if half < 2 || (whole && !bytes.len().is_multiple_of(2)) {
        return None;
    }
    let encoding = match () {
        () if first == 0 && second * 10 >= half * 4 => UTF_16LE,
        () if second == 0 && first * 10 >= half * 4 => UTF_16BE,
        () => return None,
    };
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let odd = |c: char| c.is_control() && !"\t\n\r\u{c}".contains(c);
    (!text.contains(odd)).then_some(encoding)
}

/// The script that somebody asked for.
pub(crate) fn named(label: &str, bytes: &[u8]) -> Result<Script, ToolError> {
    let encoding = Encoding::for_label(label.trim().as_bytes()).ok_or_else(|| {
        ToolError::validation(format!("there is no encoding named `{label}`"))
            .with_hint("`auto` finds it out; others are `utf-8`, `utf-16le`, `gbk`, `big5`, `shift_jis`, `windows-1252`")
    })?;
    let mark = match Encoding::for_bom(bytes) {
        Some((marked, length)) if marked == encoding => length,
        _ => 0,
    };
    Ok(Script { encoding, mark })
}

/// The text that bytes are, without the mark; `true` if some were none.
pub(crate) fn decode(bytes: &[u8], script: Script) -> (Cow<'_, str>, bool) {
    let bytes = bytes.get(script.mark..).unwrap_or_default();
    script.encoding.decode_without_bom_handling(bytes)
}

/// The bytes of a text, with the mark; an error names the character that has none.
pub(crate) fn encode(text: &str, script: Script) -> Result<Vec<u8>, ToolError> {
    let marked = script.mark > 0;
    if script.encoding == UTF_16LE || script.encoding == UTF_16BE {
        let big = script.encoding == UTF_16BE;
        let units = marked.then_some(0xFEFF_u16).into_iter();
        let bytes = units.chain(text.encode_utf16()).flat_map(|unit| match big {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        });
        return Ok(bytes.collect());
    }
    let (bytes, _, lossy) = script.encoding.encode(text);
    if lossy {
        let none = |c: &char| script.encoding.encode(c.encode_utf8(&mut [0; 4])).2;
        let name = script.name();
        let which = text.chars().find(none).unwrap_or('?');
        return Err(ToolError::validation(format!(
            "`{}` cannot be written in {name}, the encoding of the file",
            which.escape_debug()
        ))
        .with_hint("write it in other characters, or the whole file anew with `file_write`"));
    }
    let mark: &[u8] = if marked { b"\xEF\xBB\xBF" } else { b"" };
    Ok([mark, &bytes].concat())
}

/// Whether every line of a text ends in CR LF.
pub(crate) fn is_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && text.matches("\r\n").count() == ends
}

/// A text whose lines end in CR LF.
pub(crate) fn to_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// How many lines a text has.
pub(crate) fn lines(text: &str) -> u64 {
    let ends = text.matches('\n').count() as u64;
    ends + u64::from(!text.is_empty() && !text.ends_with('\n'))
}
