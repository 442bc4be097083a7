//! The JSON of WeFlow: one session and its messages.

use serde::Deserialize;

use super::chatlog::{person, sender};
use super::dates::Clock;
use super::error::{ReadError, Skip};
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::walk::Walk;
use super::{Job, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Message};

pub(crate) fn fits(look: &Look) -> bool {
    look.shape == Shape::Document
        && look.has(&["session"])
        && (look.first_has(&["createTime"]) || look.first_has(&["formattedTime"]))
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Session {
    wxid: Option<String>,
    nickname: Option<String>,
    remark: Option<String>,
    display_name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    local_id: Loose<'a>,
    #[serde(borrow)]
    platform_message_id: Loose<'a>,
    #[serde(borrow)]
    reply_to_message_id: Loose<'a>,
    #[serde(borrow)]
    create_time: Loose<'a>,
    #[serde(borrow)]
    formatted_time: Loose<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    content: Loose<'a>,
    #[serde(borrow)]
    is_send: Loose<'a>,
    #[serde(borrow)]
    sender_username: Loose<'a>,
    #[serde(borrow)]
    sender_display_name: Loose<'a>,
}

pub(crate) fn read(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let session: Session = look.value("session");
    let clock = Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    };
    let of = |part: &Option<String>| part.clone().unwrap_or_default();
    let (wxid, nick, remark) = (
        of(&session.wxid),
        of(&session.nickname),
        of(&session.remark),
    );
    let name = first(&[&of(&session.display_name), &remark, &nick, &wxid]);
    let kind = match of(&session.kind) {
        kind if kind.contains('群') || kind.contains("group") => ChatKind::Group,
        kind if kind.contains('私') || kind.contains("private") => ChatKind::Private,
        _ => wechat::chat_kind(&wxid),
    };
    let chat = Chat {
        id: first(&[&wxid, &name, &job.chat()]),
        name: first(&[&name, &job.chat()]),
        kind,
    };
    if kind == ChatKind::Private {
        out.person(person(&wxid, &name, &[&nick, &remark]))?;
    }
    let mut walk = Walk::new(text.open(Pass::Read)?);
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        if key != "messages" {
            walk.skip()?;
            continue;
        }
        walk.each(out, |out, raw| record(&chat, &clock, out, raw))?;
    }
    Ok(())
}

fn record(chat: &Chat, clock: &Clock<'_>, out: &mut Out<'_>, raw: &[u8]) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    let kind = match record.kind.number() {
        Some(number) => wechat::kind(number, 0),
        None => wechat::named(&record.kind.0),
    };
    let time = match clock.read(&record.create_time.0)? {
        Some(time) => Some(time),
        None => clock.read(&record.formatted_time.0)?,
    };
    let own = record.is_send.truth().filter(|_| kind != Kind::System);
    // A notice is put into the mouth of the chat itself.
    let notice = kind == Kind::System
        && (*record.sender_username.0 == *chat.id || record.sender_username.is_empty());
    let (id, name) = match notice {
        true => ("", ""),
        false => (&*record.sender_username.0, &*record.sender_display_name.0),
    };
    let local = record.local_id.some();
    // The local number begins anew in every database of one account.
    let local = local.map(|local| format!("{local}@{}", record.create_time.0));
    Ok(out.message(Message {
        id: record.platform_message_id.some().or(local),
        chat: chat.clone(),
        sender: sender(kind, id, name, own),
        time,
        kind,
        text: wechat::shown(kind, &record.content.0),
        reply_to: record.reply_to_message_id.some(),
    })?)
}
