//! The lines of a text, each of a bounded length.

use std::io::BufRead;

use super::LONGEST;
use super::error::ReadError;

/// A text, line by line. `\n` and `\r\n` end one.
pub(crate) struct Lines<R> {
    inner: R,
    line: Vec<u8>,
    number: u64,
}

/// A line.
pub(crate) struct Line<'l> {
    /// Without its end; nothing where it is too long.
    pub(crate) bytes: Option<&'l [u8]>,
    /// From 1.
    pub(crate) number: u64,
    /// Whether its end is there: only the last line may have none.
    pub(crate) ended: bool,
}

impl<'l> Line<'l> {
    /// What it says.
    pub(crate) fn text(&self) -> Result<&'l str, &'static str> {
        let bytes = self.bytes.ok_or("a line longer than 16 MB")?;
        std::str::from_utf8(bytes).map_err(|_| super::out::NO_LETTERS)
    }
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            line: Vec::new(),
            number: 0,
        }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, ReadError> {
        self.line.clear();
        let mut long = false;
        let mut any = false;
        let ended = loop {
            let have = self.inner.fill_buf()?;
            if have.is_empty() {
                break false;
            }
            any = true;
            let end = memchr::memchr(b'\n', have);
            let part = &have[..end.unwrap_or(have.len())];
            long |= self.line.len() + part.len() > LONGEST;
            if !long {
                self.line.extend_from_slice(part);
            }
            let n = part.len() + usize::from(end.is_some());
            self.inner.consume(n);
            if end.is_some() {
                break true;
            }
        };
        if !any {
            return Ok(None);
        }
        self.number += 1;
        if ended && self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some(Line {
            bytes: (!long).then_some(&self.line),
            number: self.number,
            ended,
        }))
    }
}
