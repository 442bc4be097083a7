//! Foreign bytes as people may see them: nothing hidden, nothing that moves the cursor.

use std::fmt::Write as _;

/// Bytes on one line: control, bidi and zero-width characters as escapes, and bytes
/// that are no text as `\xff`.
pub fn line(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => out.push('\t'),
                c if hides(c) => {
                    out.extend(c.escape_unicode());
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Whether a character is not seen, or changes how others are: tabs and line ends too.
pub fn hides(c: char) -> bool {
    c.is_control() || helve_core::lint::is_hidden(c) || is_break(c)
}

/// The line ends of Unicode, which some terminals and browsers follow, and the
/// characters that are seen as nothing.
fn is_break(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{3164}' | '\u{ffa0}' | '\u{115f}' | '\u{1160}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{34f}')
}
