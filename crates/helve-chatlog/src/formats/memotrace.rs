//! The table of MemoTrace. The names in a row are those of who says it; of the chat there is
//! only a number, so that the file's name is its name.

use super::chatlog::{person, sender};
use super::dates::Clock;
use super::error::ReadError;
use super::look::Look;
use super::loose::first;
use super::out::Out;
use super::source::{Pass, Text};
use super::table::{self, End};
use super::{Job, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Message};

const COLUMNS: [&str; 11] = [
    "localId",
    "TalkerId",
    "Type",
    "SubType",
    "IsSender",
    "CreateTime",
    "StrContent",
    "StrTime",
    "Remark",
    "NickName",
    "Sender",
];

pub(crate) fn fits(look: &Look) -> bool {
    look.has_columns(&["localId", "Type", "IsSender", "CreateTime", "StrContent"])
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
    // An export of all chats is called `messages`; its name names none of them.
    let all = job.title == "messages" && job.options.chat.is_none();
    table::each(text, look, Pass::Read, End::Written, out, |out, row| {
        let [
            local,
            talker,
            number,
            sub,
            own,
            created,
            content,
            shown,
            remark,
            nick,
            id,
        ] = at.map(|n| row.column(n));
        let (local, talker, created) = (local?, talker?, created?);
        let (remark, nick, id) = (remark?, nick?, id?);
        let number = number?.trim().parse::<i64>();
        let number = number.map_err(|_| "`Type` is no number")?;
        let kind = wechat::kind(number, sub?.trim().parse().unwrap_or(0));
        let content = content?;
        let time = match clock.read(created)? {
            Some(time) => Some(time),
            None => clock.read(shown?)?,
        };
        let is_self = match own?.trim() {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        let name = first(&[remark, nick, id]);
        let chat = Chat {
            id: first(&[talker, &job.chat()]),
            name: match all {
                true => first(&[talker, &job.title]),
                false => job.chat(),
            },
            kind: ChatKind::Unknown,
        };
        let who = sender(kind, id, &name, is_self.filter(|_| kind != Kind::System));
        if !who.id.is_empty() {
            out.person(person(id, &name, &[nick]))?;
        }
        Ok(out.message(Message {
            // The number alone begins anew in every database of one account.
            id: (!local.is_empty()).then(|| format!("{local}@{created}")),
            chat,
            sender: who,
            time,
            kind,
            text: wechat::shown(kind, content),
            reply_to: wechat::quoted(content),
        })?)
    })
}
