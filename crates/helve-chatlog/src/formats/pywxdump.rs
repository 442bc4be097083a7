//! The table of PyWxDump, which WeClone takes as well. Older ones call the text `content`.

use super::chatlog::{conversation, sender};
use super::dates::Clock;
use super::error::ReadError;
use super::look::Look;
use super::out::Out;
use super::source::{Pass, Text};
use super::table::{self, End};
use super::{Job, wechat};
use crate::{DateOrder, Kind, Message};

const COLUMNS: [&str; 8] = [
    "id",
    "MsgSvrID",
    "type_name",
    "is_sender",
    "talker",
    "room_name",
    "src",
    "CreateTime",
];

pub(crate) fn fits(look: &Look) -> bool {
    look.has_columns(&["MsgSvrID", "type_name", "is_sender", "talker", "CreateTime"])
}

pub(crate) fn read(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let clock = Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    };
    let at = COLUMNS.map(|name| look.column(name));
    let said = look.column("msg").or_else(|| look.column("content"));
    table::each(text, look, Pass::Read, End::Written, out, |out, row| {
        let [local, server, type_name, own, talker, room, src, created] = at.map(|n| row.column(n));
        let (server, src, talker) = (server?, src?, talker?);
        let kind = wechat::named(type_name?);
        let mut text = wechat::shown(kind, row.column(said)?);
        if text.is_empty() && kind != Kind::Text {
            // What is no text has the path of its file, of which the name is worth keeping.
            text = src.rsplit(['/', '\\']).next().unwrap_or(src).to_owned();
        }
        let is_self = match own?.trim() {
            "1" | "True" | "true" => Some(true),
            "0" | "False" | "false" => Some(false),
            _ => None,
        };
        let id = match server.trim() {
            "" | "0" => local?.trim(),
            server => server,
        };
        let mut who = sender(kind, talker, "", is_self.filter(|_| kind != Kind::System));
        if talker == "我" {
            who.id.clear();
            who.name = talker.to_owned();
        }
        Ok(out.message(Message {
            id: (!id.is_empty()).then(|| id.to_owned()),
            chat: conversation(job, room?, ""),
            sender: who,
            time: clock.read(created?)?,
            kind,
            text,
            reply_to: None,
        })?)
    })
}
