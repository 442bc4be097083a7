//! How many tokens a text costs, about.
//!
//! No vocabulary ships with Helve, so this is an estimate, and one that errs on
//! the high side: a budget that it keeps is kept. A run of letters or digits
//! costs a token for every six characters begun, every other visible ASCII
//! character half a token, a Chinese, Japanese or Korean character one, any
//! other character two thirds. The tests hold it against the `o200k` vocabulary
//! of OpenAI's models on every fixture and on prose in both languages.

/// The estimate for a text.
pub fn estimate(text: &str) -> usize {
    // Sixths of a token, so that all weights are whole.
    let mut sixths = 0usize;
    let mut run = 0usize;
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            run += 1;
            continue;
        }
        sixths += 6 * run.div_ceil(6);
        run = 0;
        sixths += match c {
            ' ' => 0,
            '\n' | '\t' => 2,
            c if c.is_ascii() => 3,
            c if is_cjk(c) => 6,
            _ => 4,
        };
    }
    sixths += 6 * run.div_ceil(6);
    sixths.div_ceil(6)
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests;
