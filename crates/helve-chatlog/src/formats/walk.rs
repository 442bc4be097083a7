//! A walk through a JSON document of any size.
//!
//! It finds where values begin and end and hands each one out as bytes, which `serde_json`
//! then reads. So no more than one message is in memory, a message that is wrong in itself
//! does not end the document, and the length of a message is bounded.

use std::io::BufRead;

use super::LONGEST;
use super::error::{ReadError, Skip};
use super::out::Out;

/// A document, and how far it has been walked.
pub(crate) struct Walk<R> {
    inner: R,
    /// The record that is being read, from 1.
    place: u64,
    /// Whether a comma comes before the next value.
    comma: bool,
}

impl<R: BufRead> Walk<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            place: 0,
            comma: false,
        }
    }

    /// The next byte that is not white space, left where it is; nothing at the end.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            let have = self.inner.fill_buf()?;
            if have.is_empty() {
                return Ok(None);
            }
            let blank = have.iter().take_while(|b| b.is_ascii_whitespace()).count();
            let next = have.get(blank).copied();
            self.inner.consume(blank);
            if next.is_some() {
                return Ok(next);
            }
        }
    }

    /// Goes into an object (`{`) or a list (`[`); passes over a value that is something else.
    pub(crate) fn enter(&mut self, open: u8) -> Result<bool, ReadError> {
        if self.must()? != open {
            self.skip()?;
            return Ok(false);
        }
        self.inner.consume(1);
        self.comma = false;
        Ok(true)
    }

    /// The next key of the object; nothing at its end.
    pub(crate) fn key(&mut self) -> Result<Option<String>, ReadError> {
        if !self.another(b'}')? {
            return Ok(None);
        }
        if self.must()? != b'"' {
            return Err(self.broken("a key is missing"));
        }
        let mut raw = Vec::new();
        self.value(Some(&mut raw))?;
        let key = serde_json::from_slice(&raw).map_err(|e| self.broken(&e.to_string()))?;
        if self.must()? != b':' {
            return Err(self.broken("a `:` is missing"));
        }
        self.inner.consume(1);
        Ok(Some(key))
    }

    /// Whether the list has another element.
    pub(crate) fn element(&mut self) -> Result<bool, ReadError> {
        self.another(b']')
    }

    /// The next value, as it is written; `false` where it is too long and was passed over.
    pub(crate) fn take(&mut self, into: &mut Vec<u8>) -> Result<bool, ReadError> {
        into.clear();
        let fits = self.value(Some(into))?;
        self.comma = true;
        Ok(fits)
    }

    /// Passes over the next value.
    pub(crate) fn skip(&mut self) -> Result<(), ReadError> {
        self.value(None)?;
        self.comma = true;
        Ok(())
    }

    /// Hands on each element of a list of records; what is not a list is passed over.
    pub(crate) fn each(
        &mut self,
        out: &mut Out<'_>,
        mut with: impl FnMut(&mut Out<'_>, &[u8]) -> Result<(), Skip>,
    ) -> Result<(), ReadError> {
        if !self.enter(b'[')? {
            return Ok(());
        }
        let mut raw = Vec::new();
        loop {
            self.place += 1;
            if !self.element()? {
                self.place -= 1;
                return Ok(());
            }
            if self.take(&mut raw)? {
                let result = with(out, &raw);
                out.settle(self.place, &raw, result)?;
            } else {
                out.too_long(self.place)?;
            }
        }
    }

    /// Shows each element of a list, before it is read.
    pub(crate) fn each_ahead(
        &mut self,
        mut with: impl FnMut(&[u8]) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut raw = Vec::new();
        if self.enter(b'[')? {
            while self.element()? {
                if self.take(&mut raw)? {
                    with(&raw)?;
                }
            }
        }
        Ok(())
    }

    fn another(&mut self, close: u8) -> Result<bool, ReadError> {
        let next = self.must()?;
        if next == close {
            self.inner.consume(1);
            self.comma = true;
            return Ok(false);
        }
        if self.comma {
            if next != b',' {
                return Err(self.broken("a `,` is missing"));
            }
            self.inner.consume(1);
            if self.must()? == close {
                return Err(self.broken("a value is missing"));
            }
        }
        Ok(true)
    }

    fn must(&mut self) -> Result<u8, ReadError> {
        let place = self.place.max(1);
        self.peek()?.ok_or(ReadError::Cut { place })
    }

    fn broken(&self, why: &str) -> ReadError {
        ReadError::Broken {
            place: self.place.max(1),
            why: why.to_owned(),
        }
    }

    /// One value, to `into` where it is wanted; `false` where it is longer than that may be.
    fn value(&mut self, mut into: Option<&mut Vec<u8>>) -> Result<bool, ReadError> {
        let mut scan = match self.must()? {
            b'"' | b'{' | b'[' => Scan::default(),
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => Scan {
                bare: true,
                ..Scan::default()
            },
            _ => return Err(self.broken("a value is missing")),
        };
        let mut fits = true;
        loop {
            let have = self.inner.fill_buf()?;
            if have.is_empty() {
                let place = self.place.max(1);
                return Err(ReadError::Cut { place });
            }
            let (n, end) = scan.over(have);
            if let Some(into) = into.as_deref_mut() {
                if into.len() + n <= LONGEST {
                    into.extend_from_slice(&have[..n]);
                } else {
                    fits = false;
                }
            }
            self.inner.consume(n);
            if end {
                return Ok(fits);
            }
        }
    }
}

/// Where within a value the scan stands.
#[derive(Default)]
struct Scan {
    depth: u64,
    string: bool,
    escaped: bool,
    bare: bool,
}

impl Scan {
    /// Goes over a block: how much of it belongs to the value, and whether that is its end.
    fn over(&mut self, block: &[u8]) -> (usize, bool) {
        let mut at = 0;
        if self.bare {
            let end = |b: &u8| b.is_ascii_whitespace() || matches!(b, b',' | b'}' | b']');
            return match block.iter().position(end) {
                Some(n) => (n, true),
                None => (block.len(), false),
            };
        }
        while at < block.len() {
            if self.escaped {
                self.escaped = false;
                at += 1;
                continue;
            }
            if self.string {
                let Some(n) = memchr::memchr2(b'"', b'\\', &block[at..]) else {
                    break;
                };
                at += n + 1;
                if block[at - 1] == b'\\' {
                    self.escaped = true;
                } else {
                    self.string = false;
                    if self.depth == 0 {
                        return (at, true);
                    }
                }
                continue;
            }
            let byte = block[at];
            at += 1;
            match byte {
                b'"' => self.string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        return (at, true);
                    }
                }
                _ => {}
            }
        }
        (block.len(), false)
    }
}
