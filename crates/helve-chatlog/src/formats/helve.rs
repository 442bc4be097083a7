//! Our own form: a message in each line, as serde writes it, and lines that tell of people.
//! What is written is read back as it was.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::Job;
use super::error::{ReadError, Skip};
use super::lines::Lines;
use super::look::Look;
use super::out::Out;
use super::source::{Pass, Text};
use crate::{Message, Person};

/// Writes a message as a line.
pub fn write_message(out: &mut impl Write, message: &Message) -> io::Result<()> {
    line(out, message)
}

/// Writes a line that tells of somebody.
pub fn write_person(out: &mut impl Write, person: &Person) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'l> {
        person: &'l Person,
    }
    line(out, &Line { person })
}

fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

pub(crate) fn fits(look: &Look) -> bool {
    // Others have these keys too, with names under them.
    let message = look.has(&["chat", "sender", "text"])
        && !look.has(&["_type"])
        && !look.is_text("chat")
        && !look.is_text("sender");
    look.lines() && (message || look.keys == ["person"])
}

pub(crate) fn read(
    text: &mut Text<'_>,
    _: &Look,
    _: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    #[derive(Deserialize)]
    struct Line {
        person: Person,
    }
    each_line(
        text,
        Pass::Read,
        out,
        |out, raw| match serde_json::from_slice::<Message>(raw) {
            Ok(message) => Ok(out.message_as_is(message)?),
            Err(error) => match serde_json::from_slice::<Line>(raw) {
                Ok(line) => Ok(out.person_as_is(line.person)?),
                Err(_) => Err(error.into()),
            },
        },
    )
}

/// Hands on each line that is not empty. A last line that has no end and is no JSON is cut.
pub(crate) fn each_line(
    text: &mut Text<'_>,
    pass: Pass,
    out: &mut Out<'_>,
    mut with: impl FnMut(&mut Out<'_>, &[u8]) -> Result<(), Skip>,
) -> Result<(), ReadError> {
    let mut lines = Lines::new(text.open(pass)?);
    while let Some(line) = lines.next()? {
        let Some(raw) = line.bytes else {
            if pass == Pass::Read {
                out.too_long(line.number)?;
            }
            continue;
        };
        let raw = raw.trim_ascii();
        if raw.is_empty() {
            continue;
        }
        if !line.ended && serde_json::from_slice::<serde::de::IgnoredAny>(raw).is_err() {
            return Err(ReadError::Cut { place: line.number });
        }
        let result = with(out, raw);
        match (pass, result) {
            (Pass::Read, result) => out.settle(line.number, raw, result)?,
            (Pass::Ahead, Err(Skip::End(error))) => return Err(error),
            (Pass::Ahead, _) => {}
        }
    }
    Ok(())
}
