//! How many tokens a text costs, about.
//!
//! No vocabulary ships with Helve, so this is an estimate, made to err on the high
//! side for the text of tools; rare scripts and emoji may cost more. A run of letters costs a token for
//! every six begun, a run of digits one for every three; a line break, and any
//! character that is not ASCII, costs one; any other visible character three
//! quarters of one. The tests hold it against the `o200k` vocabulary of OpenAI's
//! models, on every fixture and on prose in two languages.

/// The estimate for a text.
pub fn estimate(text: &str) -> usize {
    // Quarters of a token, so that all weights are whole.
    let mut quarters = 0usize;
    let mut letters = 0usize;
    let mut digits = 0usize;
    for c in text.chars() {
        if c.is_ascii_alphabetic() {
            letters += 1;
            continue;
        }
        quarters += 4 * letters.div_ceil(6);
        letters = 0;
        if c.is_ascii_digit() {
            digits += 1;
            continue;
        }
        quarters += 4 * digits.div_ceil(3);
        digits = 0;
        quarters += match c {
            ' ' => 0,
            '\n' => 4,
            c if c.is_ascii() => 3,
            _ => 4,
        };
    }
    quarters += 4 * (letters.div_ceil(6) + digits.div_ceil(3));
    quarters.div_ceil(4)
}

#[cfg(test)]
mod tests;
