//! Tables and lines of JSON that are nobody's format: what is what is told by the names of
//! columns and keys, or by a mapping.

use std::collections::HashMap;

use serde::Deserializer;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::dates::{Clock, Order, Stamp, unix};
use super::error::{ReadError, Skip};
use super::helve::each_line;
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::table::{self, End};
use super::walk::Walk;
use super::{Job, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Mapping, Message, Sender};

/// What a column or key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Text,
    Time,
    /// A day, perhaps with the time in another column.
    Day,
    Name,
    Account,
    Chat,
    Id,
    Type,
    Own,
    Reply,
}

const ROLES: usize = 10;

/// Their names, the likelier first, without spaces, `_` and `-` and in small letters.
const NAMES: &[(Role, &[&str])] = &[
    (
        Role::Text,
        &[
            "content",
            "text",
            "message",
            "msg",
            "body",
            "strcontent",
            "消息内容",
            "聊天内容",
            "内容",
            "消息",
            "正文",
            "文本",
        ],
    ),
    (
        Role::Time,
        &[
            "timestamp",
            "datetime",
            "time",
            "createtime",
            "createdat",
            "sentat",
            "sendtime",
            "senttime",
            "ts",
            "发送时间",
            "消息时间",
            "日期时间",
            "时间",
            "时间戳",
        ],
    ),
    (Role::Day, &["date", "day", "日期"]),
    (
        Role::Name,
        &[
            "sendername",
            "sender",
            "from",
            "author",
            "nickname",
            "fromname",
            "username",
            "displayname",
            "speaker",
            "user",
            "name",
            "发送者",
            "发送人",
            "发件人",
            "昵称",
            "姓名",
            "用户",
        ],
    ),
    (
        Role::Account,
        &[
            "senderid",
            "fromid",
            "userid",
            "authorid",
            "uid",
            "wxid",
            "uin",
            "account",
            "发送者id",
            "账号",
            "qq号",
            "微信号",
        ],
    ),
    (
        Role::Chat,
        &[
            "chat",
            "chatname",
            "conversation",
            "talker",
            "channel",
            "room",
            "roomname",
            "group",
            "groupname",
            "thread",
            "会话",
            "群聊",
            "群名",
            "聊天",
            "聊天对象",
        ],
    ),
    (Role::Id, &["messageid", "msgid", "id", "uuid", "消息id"]),
    (
        Role::Type,
        &["type", "kind", "messagetype", "msgtype", "消息类型", "类型"],
    ),
    (
        Role::Own,
        &["isself", "issender", "issend", "fromme", "isme", "是否本人"],
    ),
    (
        Role::Reply,
        &[
            "replyto",
            "replytoid",
            "replytomessageid",
            "inreplyto",
            "引用消息id",
        ],
    ),
];

/// What a name means, and how likely.
fn role(name: &str) -> Option<(Role, usize)> {
    let plain: String = name
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect();
    NAMES.iter().find_map(|(role, names)| {
        let rank = names.iter().position(|n| *n == plain)?;
        Some((*role, rank))
    })
}

/// What a name means by the mapping.
fn mapped(mapping: &Mapping, name: &str) -> Option<(Role, usize)> {
    let is = |column: &Option<String>| column.as_deref() == Some(name);
    let role = match name {
        _ if name == mapping.text => Role::Text,
        _ if is(&mapping.time) => Role::Time,
        _ if is(&mapping.sender) => Role::Name,
        _ if is(&mapping.sender_id) => Role::Account,
        _ if is(&mapping.chat) => Role::Chat,
        _ if is(&mapping.id) => Role::Id,
        _ => return None,
    };
    Some((role, 0))
}

/// Fails where the mapping names what is not there.
fn check(mapping: &Mapping, have: &[String]) -> Result<(), ReadError> {
    let Mapping {
        text,
        time,
        sender,
        sender_id,
        chat,
        id,
    } = mapping;
    let others = [time, sender, sender_id, chat, id];
    let named = std::iter::once(text).chain(others.into_iter().flatten());
    for column in named {
        if !have.contains(column) {
            let near = |name: &String| {
                let likeness = strsim::jaro_winkler(&name.to_lowercase(), &column.to_lowercase());
                (likeness * -1000.0) as i64
            };
            let mut names = have.to_vec();
            names.sort_by_key(near);
            let names: Vec<_> = names.iter().take(8).map(|n| format!("`{n}`")).collect();
            return Err(ReadError::BadMapping {
                column: column.clone(),
                nearest: names.join(", "),
            });
        }
    }
    Ok(())
}

/// Whether there is a text, and somebody or a time.
fn enough(names: &[String]) -> bool {
    let has = |wanted: Role| {
        names
            .iter()
            .any(|n| role(n).is_some_and(|(r, _)| r == wanted))
    };
    has(Role::Text) && (has(Role::Time) || has(Role::Day) || has(Role::Name) || has(Role::Account))
}

/// What one record says, by role.
#[derive(Default)]
struct Record {
    said: [Option<(usize, String)>; ROLES],
}

impl Record {
    fn put(&mut self, (role, rank): (Role, usize), text: impl FnOnce() -> String) {
        let slot = &mut self.said[role as usize];
        if slot.as_ref().is_none_or(|(old, _)| rank < *old) {
            *slot = Some((rank, text()));
        }
    }

    fn get(&self, role: Role) -> &str {
        self.said[role as usize].as_ref().map_or("", |(_, s)| s)
    }

    /// The time as it is written: of two columns, the day and the hour.
    fn written(&self) -> String {
        let (day, time) = (self.get(Role::Day).trim(), self.get(Role::Time).trim());
        let whole = day.is_empty() || unix(time).is_some() || Stamp::parse(time).is_some();
        match whole && !time.is_empty() {
            true => time.to_owned(),
            false => format!("{day} {time}").trim().to_owned(),
        }
    }

    fn message(&self, job: &Job<'_>, clock: &Clock<'_>) -> Result<Message, Skip> {
        if self.said[Role::Text as usize].is_none() {
            return Err("it has no text".into());
        }
        let text = self.get(Role::Text);
        let kind = match self.get(Role::Type) {
            "" => wechat::placeholder(text),
            name => match wechat::named(name) {
                Kind::Other => Kind::Text,
                kind => kind,
            },
        };
        let (name, account) = (self.get(Role::Name), self.get(Role::Account));
        let chat = first(&[self.get(Role::Chat), &job.chat()]);
        let some = |role| {
            Some(self.get(role))
                .filter(|s| !s.is_empty())
                .map(str::to_owned)
        };
        Ok(Message {
            id: some(Role::Id),
            chat: Chat {
                id: chat.clone(),
                name: chat,
                kind: ChatKind::Unknown,
            },
            sender: Sender {
                id: first(&[account, name]),
                name: first(&[name, account]),
                is_self: Loose(self.get(Role::Own).into()).truth(),
            },
            time: clock.read(&self.written())?,
            kind,
            text: text.to_owned(),
            reply_to: some(Role::Reply),
        })
    }
}

pub(crate) fn fits_csv(look: &Look) -> bool {
    look.is_table() && enough(&look.columns)
}

pub(crate) fn read_csv(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let mapping = job.options.mapping.as_ref();
    if let Some(mapping) = mapping {
        check(mapping, &look.columns)?;
    }
    let meaning = |name: &String| match mapping {
        Some(mapping) => mapped(mapping, name),
        None => role(name),
    };
    let roles: Vec<_> = look.columns.iter().map(meaning).collect();
    let record = |row: &table::Row| -> Result<Record, Skip> {
        let mut record = Record::default();
        for (n, role) in roles.iter().enumerate() {
            if let Some(role) = role {
                let field = row.field(n)?;
                record.put(*role, || field.to_owned());
            }
        }
        Ok(record)
    };
    let order = order(job, out, |out, see| {
        table::each(text, look, Pass::Ahead, End::Open, out, |_, row| {
            Ok(see(&record(row)?.written())?)
        })
    })?;
    let clock = Clock {
        zone: &job.options.zone,
        order,
    };
    table::each(text, look, Pass::Read, End::Open, out, |out, row| {
        Ok(out.message(record(row)?.message(job, &clock)?)?)
    })
}

pub(crate) fn fits_jsonl(look: &Look) -> bool {
    let list = look.shape == Shape::List;
    (list || (look.lines() && !look.has(&["messages"]))) && enough(&look.keys)
}

pub(crate) fn read_jsonl(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let mapping = job.options.mapping.as_ref();
    if let Some(mapping) = mapping {
        check(mapping, &look.keys)?;
    }
    let mut roles = Roles {
        mapping,
        known: HashMap::new(),
    };
    let mut record = |raw: &[u8]| -> Result<Record, Skip> {
        let mut from = serde_json::Deserializer::from_slice(raw);
        let record = from.deserialize_map(&mut roles)?;
        from.end()?;
        Ok(record)
    };
    let list = look.shape == Shape::List;
    let order = order(job, out, |out, see| match list {
        true => Walk::new(text.open(Pass::Ahead)?).each_ahead(|raw| {
            if let Ok(record) = record(raw) {
                see(&record.written())?;
            }
            Ok(())
        }),
        false => each_line(text, Pass::Ahead, out, |_, raw| {
            Ok(see(&record(raw)?.written())?)
        }),
    })?;
    let clock = Clock {
        zone: &job.options.zone,
        order,
    };
    let with = |out: &mut Out<'_>, raw: &[u8]| -> Result<(), Skip> {
        Ok(out.message(record(raw)?.message(job, &clock)?)?)
    };
    match list {
        true => Walk::new(text.open(Pass::Read)?).each(out, with),
        false => each_line(text, Pass::Read, out, with),
    }
}

/// What the keys mean, each found out once.
struct Roles<'r> {
    mapping: Option<&'r Mapping>,
    known: HashMap<String, Option<(Role, usize)>>,
}

impl Roles<'_> {
    fn of(&mut self, key: &str) -> Option<(Role, usize)> {
        if let Some(role) = self.known.get(key) {
            return *role;
        }
        let role = match self.mapping {
            Some(mapping) => mapped(mapping, key),
            None => role(key),
        };
        // As many keys as a format can have; more would be memory for nothing.
        if self.known.len() < 1000 {
            self.known.insert(key.to_owned(), role);
        }
        role
    }
}

impl<'de> Visitor<'de> for &mut Roles<'_> {
    type Value = Record;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let mut record = Record::default();
        while let Some(key) = map.next_key::<Loose<'_>>()? {
            match self.of(&key.0) {
                Some(role) => {
                    let value: Value = map.next_value()?;
                    record.put(role, || plain(value));
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(record)
    }
}

/// Said by a look ahead that has seen enough.
fn enough_seen() -> ReadError {
    ReadError::Empty
}

/// Finds the order of the dates. A first date that leaves no doubt ends the look ahead.
fn order(
    job: &Job<'_>,
    out: &mut Out<'_>,
    pass: impl FnOnce(
        &mut Out<'_>,
        &mut dyn FnMut(&str) -> Result<(), ReadError>,
    ) -> Result<(), ReadError>,
) -> Result<DateOrder, ReadError> {
    if let Some(order) = job.options.dates {
        return Ok(order);
    }
    let mut order = Order::default();
    let mut certain = false;
    let result = pass(out, &mut |written| {
        if unix(written).is_some() {
            certain = true;
        } else if let Some(stamp) = Stamp::parse(written) {
            certain = stamp.certain();
            order.see(&stamp, written);
        }
        match certain {
            true => Err(enough_seen()),
            false => Ok(()),
        }
    });
    match result {
        _ if certain => Ok(DateOrder::YearMonthDay),
        // A cut end is told when it is read.
        Ok(()) | Err(ReadError::Cut { .. } | ReadError::Broken { .. }) => order.found(),
        Err(error) => Err(error),
    }
}

/// What a value says, as text.
fn plain(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        Value::Array(list) => list.into_iter().map(plain).collect(),
        Value::Object(mut object) => {
            let names = [
                "name",
                "nickname",
                "displayName",
                "username",
                "text",
                "content",
                "id",
            ];
            let found = names.iter().find_map(|name| object.swap_remove(*name));
            found
                .filter(|v| !v.is_object())
                .map(plain)
                .unwrap_or_default()
        }
        other => other.to_string(),
    }
}
