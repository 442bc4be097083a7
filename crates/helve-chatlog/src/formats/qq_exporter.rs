//! The JSON of qq-chat-exporter: one document, or a manifest and chunks of lines.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::archive::{Tree, within};
use super::chatlog::person;
use super::dates::Clock;
use super::error::{ReadError, Skip};
use super::helve::each_line;
use super::look::{Look, Shape, look};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::walk::Walk;
use super::{Format, Job, wechat};
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Sender};

pub(crate) fn fits(look: &Look) -> bool {
    look.shape == Shape::Document && look.has(&["metadata", "chatInfo"])
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Info {
    name: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    peer_uin: Option<Value>,
    peer_uid: Option<Value>,
    id: Option<Value>,
    self_uin: Option<Value>,
    self_uid: Option<Value>,
}

/// The chat, and the names of the one whose export it is.
struct Place {
    chat: Chat,
    own: Vec<String>,
}

impl Place {
    fn of(info: Info, job: &Job<'_>) -> Self {
        let plain = |value: Option<Value>| match value {
            Some(Value::String(s)) => s,
            Some(Value::Number(n)) => n.to_string(),
            _ => String::new(),
        };
        let name = first(&[&info.name.unwrap_or_default(), &job.chat()]);
        let ids = [info.peer_uin, info.peer_uid, info.id].map(plain);
        let chat = Chat {
            id: first(&[&ids[0], &ids[1], &ids[2], &name]),
            name,
            kind: match info.kind.as_deref() {
                Some("group") => ChatKind::Group,
                Some("private" | "friend" | "c2c" | "temp") => ChatKind::Private,
                _ => ChatKind::Unknown,
            },
        };
        let mut own = vec![plain(info.self_uin), plain(info.self_uid)];
        own.retain(|id| !id.is_empty());
        Self { chat, own }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    message_id: Loose<'a>,
    #[serde(borrow)]
    timestamp: Loose<'a>,
    #[serde(borrow)]
    time: Loose<'a>,
    #[serde(borrow)]
    sender: Who<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    content: Content<'a>,
    recalled: bool,
    system: bool,
    #[serde(alias = "isSystemMessage")]
    is_system: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Who<'a> {
    #[serde(borrow)]
    uid: Loose<'a>,
    #[serde(borrow)]
    uin: Loose<'a>,
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    nickname: Loose<'a>,
    #[serde(borrow)]
    group_card: Loose<'a>,
    #[serde(borrow)]
    remark: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Content<'a> {
    #[serde(borrow)]
    text: Loose<'a>,
    elements: Vec<Element>,
    #[serde(borrow)]
    resources: Vec<Resource<'a>>,
    reply: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Element {
    #[serde(rename = "type")]
    kind: String,
    data: Option<Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Resource<'a> {
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    filename: Option<Cow<'a, str>>,
}

pub(crate) fn read(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    if look.has(&["chunked"]) && !look.has(&["messages"]) {
        return Err(ReadError::Unknown {
            seen: "the manifest of an export in chunks; give the folder that holds it".to_owned(),
        });
    }
    let place = Place::of(look.value("chatInfo"), job);
    let clock = clock(job);
    let mut walk = Walk::new(text.open(Pass::Read)?);
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        match &*key {
            "messages" => walk.each(out, |out, raw| record(&place, &clock, out, raw))?,
            _ => walk.skip()?,
        }
    }
    Ok(())
}

/// Reads the chunks of a manifest, if the file is one.
pub(crate) fn read_chunks(
    tree: &mut dyn Tree,
    at: usize,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<Option<Format>, ReadError> {
    let names = tree.names().to_vec();
    let name = &names[at];
    let folder = name.strip_suffix("manifest.json").unwrap_or_default();
    let seen = {
        let mut source = tree.source(at);
        let mut text = Text::of(source.as_mut(), out.bytes())?;
        look(&mut text)?
    };
    if !fits(&seen) || !seen.has(&["chunked"]) {
        return Ok(None);
    }
    let place = Place::of(seen.value("chatInfo"), job);
    let clock = clock(job);
    out.begin();
    for chunk in chunks(&seen.value("chunked"), folder, &names) {
        let missing = || ReadError::Broken {
            place: 1,
            why: format!("the chunk `{chunk}` is missing"),
        };
        let chunk_at = names.iter().position(|n| *n == chunk).ok_or_else(missing)?;
        let mut source = tree.source(chunk_at);
        let mut text = Text::of(source.as_mut(), out.bytes())?;
        let result = each_line(&mut text, Pass::Read, out, |out, raw| {
            record(&place, &clock, out, raw)
        });
        match result {
            Err(ReadError::Cut { place }) if job.options.accept_cut => {
                out.malformed(place, format!("`{chunk}` ends in the middle of a message"))?;
            }
            result => result.map_err(|why| within(&chunk, why))?,
        }
    }
    out.check(Format::QqExporter)?;
    Ok(Some(Format::QqExporter))
}

/// The files of the chunks: those that the manifest lists, else all that lie there.
fn chunks(chunked: &Value, folder: &str, names: &[String]) -> Vec<String> {
    let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
    let listed = chunked.get("chunks").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(|chunk| {
        let path = text(chunk, "relativePath").or_else(|| text(chunk, "file"));
        let path = path.or_else(|| Some(format!("chunks/{}", text(chunk, "fileName")?)))?;
        let path = path.replace('\\', "/");
        Some(format!("{folder}{}", path.trim_start_matches("./")))
    });
    let listed: Vec<_> = listed.collect();
    if !listed.is_empty() {
        return listed;
    }
    let place = format!("{folder}chunks/");
    let lies = |n: &&String| n.starts_with(&place) && n.ends_with(".jsonl");
    names.iter().filter(lies).cloned().collect()
}

fn clock<'j>(job: &Job<'j>) -> Clock<'j> {
    Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    }
}

fn record(place: &Place, clock: &Clock<'_>, out: &mut Out<'_>, raw: &[u8]) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    let when = first(&[&record.timestamp.0, &record.time.0]);
    if when.is_empty() {
        return Err("it has no `timestamp`".into());
    }
    let who = &record.sender;
    let id = match first(&[&who.uin.0, &who.uid.0]) {
        id if id == "0" => String::new(),
        id => id,
    };
    let kind = kind(&record);
    let name = first(&[&who.name.0, &who.group_card.0, &who.nickname.0]);
    let more = [&*who.nickname.0, &*who.group_card.0, &*who.remark.0];
    if more.iter().any(|n| !n.is_empty() && *n != name) {
        out.person(person(&id, &name, &more))?;
    }
    let nobody = kind == Kind::System && id.is_empty();
    let is_own = |own: &String| own == &*who.uin.0 || own == &*who.uid.0;
    let is_self = (!place.own.is_empty() && !nobody).then(|| place.own.iter().any(is_own));
    let resource = record.content.resources.first();
    let file = resource
        .and_then(|r| r.filename.as_deref())
        .unwrap_or_default();
    Ok(out.message(Message {
        id: record.id.some().or_else(|| record.message_id.some()),
        chat: place.chat.clone(),
        sender: match nobody {
            true => Sender::default(),
            false => Sender { id, name, is_self },
        },
        time: clock.read(&when)?,
        kind,
        text: first(&[&record.content.text.0, file]),
        reply_to: reply(&record.content),
    })?)
}

/// The message that is answered: told of the content, or by one of its elements.
fn reply(content: &Content<'_>) -> Option<String> {
    let keys = [
        "referencedMessageId",
        "messageId",
        "replyMessageId",
        "replyMsgId",
        "id",
    ];
    let of = |value: &Value| {
        let found = keys.iter().find_map(|key| match value.get(*key)? {
            Value::String(s) if !s.is_empty() && s != "0" => Some(s.clone()),
            Value::Number(n) if n.as_i64() != Some(0) => Some(n.to_string()),
            _ => None,
        });
        found.or_else(|| value.as_str().map(str::to_owned))
    };
    let element = || {
        let mut elements = content.elements.iter();
        let found = elements.find(|e| e.kind == "reply")?;
        of(found.data.as_ref()?)
    };
    content.reply.as_ref().and_then(of).or_else(element)
}

fn kind(record: &Record<'_>) -> Kind {
    if record.system || record.is_system || record.recalled || record.kind.0 == "system" {
        return Kind::System;
    }
    if let Some(resource) = record.content.resources.first() {
        return match &*resource.kind.0 {
            "image" => Kind::Image,
            "video" => Kind::Video,
            "voice" | "audio" | "ptt" => Kind::Voice,
            "file" => Kind::File,
            "location" => Kind::Location,
            _ => Kind::Other,
        };
    }
    let words = record.content.elements.iter().any(|e| e.kind == "text");
    let large = |e: &Element| matches!(&*e.kind, "market_face" | "marketFace");
    if !words && record.content.elements.iter().any(large) {
        return Kind::Sticker;
    }
    match wechat::placeholder(&record.content.text.0) {
        Kind::Text => match &*record.kind.0 {
            "image" | "voice" | "audio" | "video" | "file" | "location" => {
                wechat::named(&record.kind.0)
            }
            _ => Kind::Text,
        },
        kind => kind,
    }
}
