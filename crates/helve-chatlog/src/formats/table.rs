//! A table: rows of fields, split as RFC 4180 says, in bounded memory.
//!
//! It is split here and not by a crate, because a reader of exports must know two things that
//! none tells: whether the last row has its end, and whether a quote is still open there.

use std::io::BufRead;

use super::LONGEST;
use super::error::{ReadError, Skip};
use super::look::Look;
use super::out::{NO_LETTERS, Out};
use super::source::{Pass, Text};

/// The rows of a table.
pub(crate) struct Rows<R> {
    inner: R,
    delimiter: u8,
    row: Row,
    number: u64,
}

/// One row: its fields behind each other, and where each ends.
#[derive(Default)]
pub(crate) struct Row {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Whether the end of the line is there, and no quote is open.
    ended: bool,
    /// Whether a quote is open at the end of the file.
    open: bool,
}

impl Row {
    /// How many fields it has.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A field; nothing where there is none.
    pub(crate) fn field(&self, n: usize) -> Result<&str, &'static str> {
        let Some(&end) = self.ends.get(n) else {
            return Ok("");
        };
        let start = match n {
            0 => 0,
            n => self.ends[n - 1],
        };
        std::str::from_utf8(&self.bytes[start..end]).map_err(|_| NO_LETTERS)
    }

    /// A field of a column that may be missing.
    pub(crate) fn column(&self, n: Option<usize>) -> Result<&str, &'static str> {
        n.map_or(Ok(""), |n| self.field(n))
    }

    fn blank(&self) -> bool {
        self.bytes.is_empty() && self.ends.len() <= 1
    }
}

impl<R: BufRead> Rows<R> {
    pub(crate) fn new(inner: R, delimiter: u8) -> Self {
        Self {
            inner,
            delimiter,
            row: Row::default(),
            number: 0,
        }
    }

    /// The next row that is not empty.
    pub(crate) fn next(&mut self) -> Result<Option<(&Row, u64)>, ReadError> {
        while self.read()? {
            self.number += 1;
            if !self.row.blank() {
                return Ok(Some((&self.row, self.number)));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<bool, ReadError> {
        let Row { bytes, ends, .. } = &mut self.row;
        bytes.clear();
        ends.clear();
        let mut state = State::Start;
        let mut any = false;
        'file: loop {
            let have = self.inner.fill_buf()?;
            if have.is_empty() {
                break;
            }
            any = true;
            let mut at = 0;
            while at < have.len() {
                if state == State::Quoted {
                    let end = memchr::memchr(b'"', &have[at..]);
                    let part = &have[at..end.map_or(have.len(), |n| at + n)];
                    bytes.extend_from_slice(part);
                    at += part.len();
                    if end.is_some() {
                        at += 1;
                        state = State::Closed;
                    }
                    continue;
                }
                let byte = have[at];
                at += 1;
                match byte {
                    b'\n' => {
                        if bytes.last() == Some(&b'\r')
                            && ends.last().is_none_or(|end| *end < bytes.len())
                        {
                            bytes.pop();
                        }
                        ends.push(bytes.len());
                        self.inner.consume(at);
                        (self.row.ended, self.row.open) = (true, false);
                        return Ok(true);
                    }
                    b if b == self.delimiter => {
                        ends.push(bytes.len());
                        state = State::Start;
                    }
                    b'"' if state == State::Start => state = State::Quoted,
                    // Two quotes are one; anything else behind a closed quote is as written.
                    b'"' if state == State::Closed => {
                        bytes.push(b'"');
                        state = State::Quoted;
                    }
                    b => {
                        bytes.push(b);
                        if b != b'\r' {
                            state = State::Bare;
                        }
                    }
                }
            }
            let n = have.len();
            self.inner.consume(n);
            if bytes.len() > LONGEST {
                break 'file;
            }
        }
        if bytes.len() > LONGEST {
            return Err(ReadError::Broken {
                place: self.number + 1,
                why: "a row longer than 16 MB: a quote that is not closed".to_owned(),
            });
        }
        if any {
            ends.push(bytes.len());
        }
        (self.row.ended, self.row.open) = (false, state == State::Quoted);
        Ok(any)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Bare,
    Quoted,
    Closed,
}

/// How sure the end of a table must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The program that writes it ends every row: a row without an end is cut.
    Written,
    /// Whoever wrote it may have left out the last end: only a row too short is cut.
    Open,
}

/// Hands on each row below the header.
pub(crate) fn each(
    text: &mut Text<'_>,
    look: &Look,
    pass: Pass,
    end: End,
    out: &mut Out<'_>,
    mut with: impl FnMut(&mut Out<'_>, &Row) -> Result<(), Skip>,
) -> Result<(), ReadError> {
    let columns = look.columns.len();
    let mut rows = Rows::new(text.open(pass)?, look.delimiter);
    // The header itself; it was read when the format was found out.
    rows.next()?;
    while let Some((row, number)) = rows.next()? {
        let cut = row.open || (!row.ended && (end == End::Written || row.len() < columns));
        if cut {
            return Err(ReadError::Cut { place: number });
        }
        let result = if row.len() < columns && row.len() < 2 {
            Err(Skip::Bad(format!("{} of {columns} columns", row.len())))
        } else {
            with(out, row)
        };
        match pass {
            Pass::Read => out.settle(number, &row.bytes, result)?,
            Pass::Ahead => {
                if let Err(Skip::End(error)) = result {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}
