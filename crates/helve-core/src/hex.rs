//! Bytes as small hexadecimal digits: one spelling for each value, so that what was
//! written can be compared as text.

use std::fmt;

/// Bytes that show as digits.
pub(crate) struct Hex<'b>(pub(crate) &'b [u8]);

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hashes stand in every entry of the record: in pieces, not digit by digit.
        for bytes in self.0.chunks(32) {
            let mut digits = [0; 64];
            for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
                pair[0] = DIGITS[usize::from(byte >> 4)];
                pair[1] = DIGITS[usize::from(byte & 15)];
            }
            let digits = &digits[..2 * bytes.len()];
            f.write_str(std::str::from_utf8(digits).map_err(|_| fmt::Error)?)?;
        }
        Ok(())
    }
}

/// Reads exactly `N` bytes; capital digits are another spelling, and refused.
pub(crate) fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N {
        return None;
    }
    let mut out = [0; N];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}
