//! The form in which texts are compared.
//!
//! Compatibility forms are folded (NFKC: full-width and half-width are alike), case is
//! dropped, runs of white space become one blank, and marks that nobody sees (variation
//! selectors, zero-width blanks, directions) are left out. A literal search means: the
//! folded keyword is a part of the folded text.

use unicode_normalization::UnicodeNormalization as _;

/// The form in which a text is searched.
pub fn normalize(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    match text.chars().all(is_simple) {
        true => text.chars().for_each(|c| push(&mut out, simple(c))),
        false => {
            let folded = text.nfkc().flat_map(char::to_lowercase);
            // Lower case can take marks apart again.
            folded.nfkc().for_each(|c| push(&mut out, c));
        }
    }
    if out.ends_with(' ') {
        out.pop();
    }
    out
}

fn push(out: &mut String, c: char) {
    if c.is_whitespace() {
        if !out.is_empty() && !out.ends_with(' ') {
            out.push(' ');
        }
    } else if !is_unseen(c) {
        out.push(c);
    }
}

fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}')
}

/// Whether what becomes of it needs no table: most of what people write.
fn is_simple(c: char) -> bool {
    matches!(c,
        '\0'..='\x7F' | '\u{3000}'..='\u{3002}' | '\u{3008}'..='\u{3011}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{FF01}'..='\u{FF5E}'
        | '\u{1F300}'..='\u{1F64F}' | '\u{1F900}'..='\u{1F9FF}' | '\u{FE0F}')
}

fn simple(c: char) -> char {
    let c = match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
        '\u{3000}' => ' ',
        c => c,
    };
    c.to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
