//! The exports of chatlog: a table and a list of JSON, each with many chats.

use std::borrow::Cow;

use serde::Deserialize;

use super::dates::Clock;
use super::error::{ReadError, Skip};
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::table::{self, End};
use super::walk::Walk;
use super::{Job, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Person, Sender};

/// How chatlog calls whoever says what nobody says.
const SYSTEM: &str = "系统消息";

const COLUMNS: [&str; 6] = [
    "Time",
    "SenderName",
    "Sender",
    "TalkerName",
    "Talker",
    "Content",
];

pub(crate) fn fits_csv(look: &Look) -> bool {
    look.has_columns(&COLUMNS)
}

pub(crate) fn read_csv(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let clock = clock(job);
    let at = COLUMNS.map(|name| look.column(name));
    table::each(text, look, Pass::Read, End::Written, out, |out, row| {
        let [time, name, id, chat_name, chat, content] = at.map(|n| row.column(n));
        let (name, id, chat, content) = (name?, id?, chat?, content?);
        let mut kind = wechat::placeholder(content);
        if id == SYSTEM || (id.is_empty() && name.is_empty()) {
            kind = Kind::System;
        }
        Ok(out.message(Message {
            id: None,
            chat: conversation(job, chat, chat_name?),
            sender: sender(kind, id, name, None),
            time: clock.read(time?)?,
            kind,
            text: content.to_owned(),
            reply_to: None,
        })?)
    })
}

pub(crate) fn fits_json(look: &Look) -> bool {
    let flat = look.has(&["talker", "sender", "time"]);
    (look.shape == Shape::List || look.lines())
        && flat
        && (look.has(&["isSelf"]) || look.has(&["isChatRoom"]))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Record<'a> {
    #[serde(borrow)]
    seq: Loose<'a>,
    #[serde(borrow)]
    time: Loose<'a>,
    #[serde(borrow)]
    talker: Loose<'a>,
    #[serde(borrow)]
    talker_name: Loose<'a>,
    #[serde(borrow)]
    is_chat_room: Loose<'a>,
    #[serde(borrow)]
    sender: Loose<'a>,
    #[serde(borrow)]
    sender_name: Loose<'a>,
    #[serde(borrow)]
    is_self: Loose<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    sub_type: Loose<'a>,
    #[serde(borrow)]
    content: Loose<'a>,
    #[serde(borrow)]
    contents: Option<Contents<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Contents<'a> {
    #[serde(borrow)]
    title: Option<Cow<'a, str>>,
    #[serde(borrow)]
    desc: Option<Cow<'a, str>>,
    #[serde(borrow)]
    label: Option<Cow<'a, str>>,
    #[serde(borrow)]
    refer: Option<Refer<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Refer<'a> {
    #[serde(borrow)]
    seq: Loose<'a>,
}

pub(crate) fn read_json(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let clock = clock(job);
    let with = |out: &mut Out<'_>, raw: &[u8]| record(job, &clock, out, raw);
    if look.shape == Shape::List {
        return Walk::new(text.open(Pass::Read)?).each(out, with);
    }
    super::helve::each_line(text, Pass::Read, out, with)
}

fn record(job: &Job<'_>, clock: &Clock<'_>, out: &mut Out<'_>, raw: &[u8]) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    if record.talker.is_empty() && record.sender.is_empty() {
        return Err("it has neither `talker` nor `sender`".into());
    }
    let kind = wechat::kind(
        record.kind.number().unwrap_or(1),
        record.sub_type.number().unwrap_or(0),
    );
    let contents = record.contents.unwrap_or_default();
    let part = |part: &Option<Cow<'_, str>>| part.as_deref().unwrap_or_default().to_owned();
    let said = wechat::shown(kind, &record.content.0);
    let text = first(&[
        &said,
        &part(&contents.title),
        &part(&contents.label),
        &part(&contents.desc),
    ]);
    let mut chat = conversation(job, &record.talker.0, &record.talker_name.0);
    if record.is_chat_room.truth() == Some(true) {
        chat.kind = ChatKind::Group;
    }
    Ok(out.message(Message {
        id: record.seq.some(),
        chat,
        sender: sender(
            kind,
            &record.sender.0,
            &record.sender_name.0,
            record.is_self.truth(),
        ),
        time: clock.read(&record.time.0)?,
        kind,
        text,
        reply_to: contents
            .refer
            .and_then(|r| r.seq.some())
            .filter(|s| s != "0"),
    })?)
}

fn clock<'j>(job: &Job<'j>) -> Clock<'j> {
    Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    }
}

/// A conversation of WeChat.
pub(crate) fn conversation(job: &Job<'_>, account: &str, name: &str) -> Chat {
    let fallback;
    let id = if account.is_empty() {
        fallback = job.chat();
        &fallback
    } else {
        account
    };
    Chat {
        id: id.to_owned(),
        name: first(&[name, id]),
        kind: wechat::chat_kind(account),
    }
}

/// Somebody of WeChat; nobody for a notice.
pub(crate) fn sender(kind: Kind, id: &str, name: &str, is_self: Option<bool>) -> Sender {
    if kind == Kind::System && (id == SYSTEM || name == SYSTEM || id.is_empty()) {
        return Sender::default();
    }
    Sender {
        id: id.to_owned(),
        name: name.to_owned(),
        is_self,
    }
}

/// Somebody with the names that others gave them.
pub(crate) fn person(id: &str, name: &str, aliases: &[&str]) -> Person {
    Person {
        id: id.to_owned(),
        name: name.to_owned(),
        aliases: aliases.iter().map(|a| (*a).to_owned()).collect(),
    }
}
