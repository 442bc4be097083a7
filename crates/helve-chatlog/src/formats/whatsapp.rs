//! The text of WhatsApp: a line for each message, with its date in the order of the phone's
//! language, and lines below it where it has several.

use super::dates::{Order, Stamp};
use super::error::ReadError;
use super::lines::Lines;
use super::look::{Look, Shape};
use super::out::Out;
use super::source::{Pass, Text};
use super::whatsapp_words::content;
use super::{Job, LONGEST};
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Sender};

/// Marks of direction, which WhatsApp puts before its own words.
const MARKS: [char; 4] = ['\u{200E}', '\u{200F}', '\u{202A}', '\u{FEFF}'];

pub(crate) fn fits(look: &Look) -> bool {
    let first = look.head.iter().find(|l| !l.trim().is_empty());
    look.shape == Shape::Text && first.is_some_and(|l| header(l).is_some())
}

/// The beginning of a message: its date, and the rest of the line.
struct Header<'h> {
    written: &'h str,
    stamp: Stamp,
    rest: &'h str,
}

/// `[date, time] rest` or `date, time - rest`.
fn header(line: &str) -> Option<Header<'_>> {
    let line = line.trim_start_matches(MARKS);
    let (written, rest) = match line.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => {
            if !line.starts_with(char::is_numeric) {
                return None;
            }
            line.split_once(" - ").or_else(|| {
                let at = line.find(" \u{2013} ")?;
                Some((&line[..at], &line[at + 5..]))
            })?
        }
    };
    if written.len() > 60 {
        return None;
    }
    let stamp = Stamp::parse(written)?;
    let rest = rest.strip_prefix(' ').unwrap_or(rest);
    stamp.timed().then_some(Header {
        written,
        stamp,
        rest,
    })
}

/// Who says it, and what: nobody for a notice of WhatsApp. A notice may hold a colon within
/// the quotes around a name.
fn split(rest: &str) -> (Option<&str>, &str) {
    let (name, text) = match rest.split_once(": ") {
        Some((name, text)) => (name, text),
        None => match rest.strip_suffix(':') {
            Some(name) => (name, ""),
            None => return (None, rest),
        },
    };
    let name = name.trim_matches(MARKS);
    let name = name.strip_prefix('~').unwrap_or(name).trim();
    let notice = name.is_empty() || name.len() > 200 || name.contains(['"', '“', '”', '«', '»']);
    match notice {
        true => (None, rest),
        false => (Some(name), text),
    }
}

pub(crate) fn read(
    text: &mut Text<'_>,
    _: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let order = match job.options.dates {
        Some(order) => order,
        None => order(text)?,
    };
    let name = job.chat();
    let mut reading = Reading {
        chat: Chat {
            id: name.clone(),
            name,
            kind: ChatKind::Unknown,
        },
        job,
        order,
        open: None,
    };
    let mut lines = Lines::new(text.open(Pass::Read)?);
    while let Some(line) = lines.next()? {
        let place = line.number;
        match line.text() {
            Err(_) if !line.ended => return Err(ReadError::Cut { place }),
            Err(why) => reading.damaged(line.bytes, place, why, out)?,
            Ok(said) if !line.ended && half(said) => return Err(ReadError::Cut { place }),
            Ok(said) => reading.line(said, place, out)?,
        }
    }
    reading.flush(out)
}

/// Whether a last line without an end can be the beginning of a message that is not whole.
fn half(line: &str) -> bool {
    let start = line.trim_start_matches(MARKS);
    match header(line) {
        Some(header) => split(header.rest).0.is_none() || !header.rest.contains(": "),
        None => start.starts_with('[') || start.starts_with(char::is_numeric) || start.is_empty(),
    }
}

fn order(text: &mut Text<'_>) -> Result<DateOrder, ReadError> {
    let mut order = Order::default();
    let mut lines = Lines::new(text.open(Pass::Ahead)?);
    while let Some(line) = lines.next()? {
        if let Some(header) = line.text().ok().and_then(header) {
            if header.stamp.certain() {
                return Ok(DateOrder::YearMonthDay);
            }
            order.see(&header.stamp, header.written);
        }
    }
    order.found()
}

struct Reading<'r> {
    chat: Chat,
    job: &'r Job<'r>,
    order: DateOrder,
    /// The message that further lines belong to.
    open: Option<Message>,
}

impl Reading<'_> {
    fn line(&mut self, said: &str, place: u64, out: &mut Out<'_>) -> Result<(), ReadError> {
        let Some(found) = header(said) else {
            if let Some(open) = &mut self.open {
                if open.text.len() + said.len() < LONGEST {
                    open.text.push('\n');
                    open.text.push_str(said);
                } else {
                    self.open = None;
                    out.too_long(place)?;
                }
            }
            return Ok(());
        };
        self.flush(out)?;
        let time = found.stamp.resolve(self.order, &self.job.options.zone);
        let Some(time) = time else {
            let why = format!("there is no such time as `{}`", found.written);
            return Ok(out.malformed(place, why)?);
        };
        let (name, text) = split(found.rest);
        self.open = Some(Message {
            chat: self.chat.clone(),
            sender: Sender {
                id: name.unwrap_or_default().to_owned(),
                name: name.unwrap_or_default().to_owned(),
                is_self: None,
            },
            time: Some(time),
            text: text.to_owned(),
            kind: match name {
                Some(_) => Kind::Text,
                None => Kind::System,
            },
            ..Message::default()
        });
        Ok(())
    }

    /// A line that cannot be read: what it belongs to is not whole any more.
    fn damaged(
        &mut self,
        bytes: Option<&[u8]>,
        place: u64,
        why: &str,
        out: &mut Out<'_>,
    ) -> Result<(), ReadError> {
        let lossy = String::from_utf8_lossy(bytes.unwrap_or_default());
        if header(&lossy).is_some() {
            self.flush(out)?;
        }
        self.open = None;
        Ok(out.malformed(place, why.to_owned())?)
    }

    fn flush(&mut self, out: &mut Out<'_>) -> Result<(), ReadError> {
        let Some(mut message) = self.open.take() else {
            return Ok(());
        };
        if message.kind == Kind::Text {
            (message.kind, message.text) = content(&message.text);
        } else {
            message.text = message.text.replace(MARKS, "").trim().to_owned();
        }
        Ok(out.message(message)?)
    }
}
