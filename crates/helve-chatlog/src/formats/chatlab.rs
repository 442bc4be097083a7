//! The exchange format of ChatLab, as one document and as lines.

use serde::Deserialize;

use super::Job;
use super::chatlog::person;
use super::dates::Clock;
use super::error::{ReadError, Skip};
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::walk::Walk;
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Sender};

pub(crate) fn fits_document(look: &Look) -> bool {
    look.shape == Shape::Document && look.has(&["chatlab"]) && !look.has(&["_type"])
}

pub(crate) fn fits_lines(look: &Look) -> bool {
    look.lines() && look.has(&["_type"])
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Meta {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    group_id: Option<serde_json::Value>,
    owner_id: Option<serde_json::Value>,
}

/// The chat, and the one whose export it is.
struct Place {
    chat: Chat,
    owner: Option<String>,
}

impl Place {
    fn of(meta: Meta, job: &Job<'_>) -> Self {
        let plain = |value: Option<serde_json::Value>| match value? {
            serde_json::Value::String(s) => Some(s).filter(|s| !s.is_empty()),
            serde_json::Value::Number(n) => Some(n.to_string()),
            _ => None,
        };
        let name = first(&[&meta.name.unwrap_or_default(), &job.chat()]);
        let chat = Chat {
            id: plain(meta.group_id).unwrap_or_else(|| name.clone()),
            name,
            kind: match meta.kind.as_deref() {
                Some("group") => ChatKind::Group,
                Some("private") => ChatKind::Private,
                _ => ChatKind::Unknown,
            },
        };
        Self {
            chat,
            owner: plain(meta.owner_id),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow, rename = "_type")]
    line: Loose<'a>,
    #[serde(borrow)]
    platform_message_id: Loose<'a>,
    #[serde(borrow)]
    reply_to_message_id: Loose<'a>,
    #[serde(borrow)]
    sender: Loose<'a>,
    #[serde(borrow)]
    account_name: Loose<'a>,
    #[serde(borrow)]
    group_nickname: Loose<'a>,
    #[serde(borrow)]
    timestamp: Loose<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    content: Loose<'a>,
    // Of a member.
    #[serde(borrow)]
    platform_id: Loose<'a>,
    #[serde(borrow)]
    aliases: Vec<Loose<'a>>,
    // Of the header.
    meta: Option<Meta>,
}

pub(crate) fn read_document(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let place = Place::of(look.value("meta"), job);
    let clock = clock(job);
    let mut walk = Walk::new(text.open(Pass::Read)?);
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        match &*key {
            "members" => walk.each(out, |out, raw| member(out, &serde_json::from_slice(raw)?))?,
            "messages" => walk.each(out, |out, raw| {
                message(&place, &clock, out, &serde_json::from_slice(raw)?)
            })?,
            _ => walk.skip()?,
        }
    }
    Ok(())
}

pub(crate) fn read_lines(
    text: &mut Text<'_>,
    _: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let mut place = Place::of(Meta::default(), job);
    let clock = clock(job);
    super::helve::each_line(text, Pass::Read, out, |out, raw| {
        if raw.starts_with(b"#") {
            return Ok(());
        }
        let record: Record<'_> = serde_json::from_slice(raw)?;
        match &*record.line.0 {
            "header" => {
                place = Place::of(record.meta.unwrap_or_default(), job);
                Ok(())
            }
            "member" => member(out, &record),
            "message" => message(&place, &clock, out, &record),
            other => Err(format!("a line of `_type` `{other}`").into()),
        }
    })
}

fn clock<'j>(job: &Job<'j>) -> Clock<'j> {
    Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    }
}

fn member(out: &mut Out<'_>, record: &Record<'_>) -> Result<(), Skip> {
    let id = record.platform_id.get();
    if id.is_empty() {
        return Err("a member without `platformId`".into());
    }
    let mut aliases: Vec<&str> = vec![&record.group_nickname.0];
    aliases.extend(record.aliases.iter().map(|a| &*a.0));
    Ok(out.person(person(&id, &record.account_name.0, &aliases))?)
}

fn message(
    place: &Place,
    clock: &Clock<'_>,
    out: &mut Out<'_>,
    record: &Record<'_>,
) -> Result<(), Skip> {
    if record.timestamp.is_empty() {
        return Err("it has no `timestamp`".into());
    }
    let id = record.sender.get();
    let number = record.kind.number().unwrap_or(99);
    let nobody = (80..90).contains(&number) && matches!(&*id, "" | "0" | "system" | "SYSTEM");
    let name = first(&[&record.account_name.0, &record.group_nickname.0, &id]);
    let sender = match nobody {
        true => Sender::default(),
        false => Sender {
            is_self: place.owner.as_ref().map(|owner| *owner == id),
            id,
            name,
        },
    };
    Ok(out.message(Message {
        id: record.platform_message_id.some(),
        chat: place.chat.clone(),
        sender,
        time: clock.read(&record.timestamp.0)?,
        kind: kind(number),
        text: record.content.get(),
        reply_to: record.reply_to_message_id.some(),
    })?)
}

fn kind(number: i64) -> Kind {
    match number {
        // An answer is words.
        0 | 25 => Kind::Text,
        1 => Kind::Image,
        2 => Kind::Voice,
        3 => Kind::Video,
        4 => Kind::File,
        5 => Kind::Sticker,
        7 | 24 | 26 => Kind::Link,
        8 => Kind::Location,
        20 | 21 => Kind::Money,
        23 => Kind::Call,
        22 | 80..90 => Kind::System,
        _ => Kind::Other,
    }
}
