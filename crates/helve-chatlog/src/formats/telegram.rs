//! `result.json` of Telegram Desktop: one chat, or all of an account.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Job;
use super::chatlog::person;
use super::dates::Clock;
use super::error::{ReadError, Skip};
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::source::{Pass, Text};
use super::telegram_text::{action, text};
use super::walk::Walk;
use crate::{Chat, ChatKind, DateOrder, Kind, Message, Sender};

pub(crate) fn fits(look: &Look) -> bool {
    if look.shape != Shape::Document {
        return false;
    }
    let one = look.has(&["name", "type", "id", "messages"]) && !look.has(&["guild"]);
    let late = look.has(&["messages"]) && look.first_has(&["date", "date_unixtime"]);
    let one = one && (look.first.is_empty() || look.first_has(&["id", "type", "date"]));
    one || late || (look.has(&["chats"]) && !look.has(&["messages"]))
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    date: Loose<'a>,
    #[serde(borrow)]
    date_unixtime: Loose<'a>,
    #[serde(borrow)]
    from: Loose<'a>,
    #[serde(borrow)]
    from_id: Loose<'a>,
    #[serde(borrow)]
    actor: Loose<'a>,
    #[serde(borrow)]
    actor_id: Loose<'a>,
    #[serde(borrow)]
    pub(super) action: Loose<'a>,
    #[serde(borrow)]
    pub(super) title: Loose<'a>,
    #[serde(borrow)]
    pub(super) members: Vec<Loose<'a>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    reply_to_message_id: Loose<'a>,
    #[serde(borrow)]
    media_type: Loose<'a>,
    #[serde(borrow)]
    photo: Loose<'a>,
    #[serde(borrow)]
    file: Loose<'a>,
    #[serde(borrow)]
    file_name: Loose<'a>,
    #[serde(borrow)]
    mime_type: Loose<'a>,
    #[serde(borrow)]
    sticker_emoji: Loose<'a>,
    #[serde(borrow)]
    performer: Loose<'a>,
    #[serde(borrow)]
    place_name: Loose<'a>,
    #[serde(borrow)]
    address: Loose<'a>,
    location_information: Option<serde_json::Value>,
    contact_information: Option<Contact>,
    poll: Option<Poll>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Contact {
    first_name: String,
    last_name: String,
    phone_number: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Poll {
    question: String,
    answers: Vec<Answer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Answer {
    text: String,
}

/// What a chat says of itself.
#[derive(Default, Clone)]
struct Header {
    id: String,
    name: String,
    kind: String,
}

impl Header {
    fn chat(&self, job: &Job<'_>) -> Chat {
        Chat {
            id: first(&[&self.id, &self.name, &job.chat()]),
            name: first(&[&self.name, &self.id, &job.chat()]),
            kind: match &*self.kind {
                "personal_chat" | "bot_chat" | "saved_messages" => ChatKind::Private,
                "" => ChatKind::Unknown,
                _ => ChatKind::Group,
            },
        }
    }

    fn take<R: BufRead>(&mut self, key: &str, walk: &mut Walk<R>) -> Result<(), ReadError> {
        let slot = match key {
            "id" => &mut self.id,
            "name" => &mut self.name,
            "type" => &mut self.kind,
            _ => return walk.skip(),
        };
        let mut raw = Vec::new();
        if walk.take(&mut raw)? {
            let value: Loose<'_> = serde_json::from_slice(&raw).unwrap_or_default();
            *slot = value.get();
        }
        Ok(())
    }
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
    let owner = owner(look);
    if look.has(&["messages"]) {
        let plain = |key| match look.value::<serde_json::Value>(key) {
            serde_json::Value::String(s) => s,
            serde_json::Value::Null => String::new(),
            other => other.to_string(),
        };
        let header = Header {
            id: plain("id"),
            name: plain("name"),
            kind: plain("type"),
        };
        let chat = header.chat(job);
        let mut walk = Walk::new(text.open(Pass::Read)?);
        walk.enter(b'{')?;
        while let Some(key) = walk.key()? {
            match &*key {
                "messages" => walk.each(out, |out, raw| record(&chat, None, &clock, out, raw))?,
                _ => walk.skip()?,
            }
        }
        return Ok(());
    }
    contacts(look, out)?;
    let headers = headers(text)?;
    let mut headers = headers.iter();
    let mut walk = Walk::new(text.open(Pass::Read)?);
    lists(&mut walk, |walk, key, begins| {
        if begins {
            return Ok(());
        }
        match key {
            "messages" => {
                let chat = headers
                    .as_slice()
                    .first()
                    .cloned()
                    .unwrap_or_default()
                    .chat(job);
                walk.each(out, |out, raw| {
                    record(&chat, owner.as_deref(), &clock, out, raw)
                })
            }
            "" => {
                headers.next();
                Ok(())
            }
            _ => walk.skip(),
        }
    })
}

/// Whose account it is.
fn owner(look: &Look) -> Option<String> {
    let info: serde_json::Value = look.value("personal_information");
    Some(format!("user{}", info.get("user_id")?.as_i64()?))
}

fn contacts(look: &Look, out: &mut Out<'_>) -> Result<(), ReadError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Contacts {
        list: Vec<Known>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Known {
        user_id: i64,
        first_name: String,
        last_name: String,
        phone_number: String,
    }
    let contacts: Contacts = look.value("contacts");
    for known in contacts.list.iter().filter(|k| k.user_id != 0) {
        let name = format!("{} {}", known.first_name, known.last_name);
        let id = format!("user{}", known.user_id);
        out.person(person(&id, name.trim(), &[&known.phone_number]))?;
    }
    Ok(())
}

/// What the chats say of themselves, which may come behind their messages.
fn headers(text: &mut Text<'_>) -> Result<Vec<Header>, ReadError> {
    let mut found = Vec::new();
    let mut walk = Walk::new(text.open(Pass::Ahead)?);
    let result = lists(&mut walk, |walk, key, begins| {
        if begins {
            found.push(Header::default());
            return Ok(());
        }
        match (key, found.last_mut()) {
            ("", _) => Ok(()),
            (key, Some(header)) => header.take(key, walk),
            (_, None) => walk.skip(),
        }
    });
    match result {
        // A cut end is told when it is read.
        Ok(()) | Err(ReadError::Cut { .. }) => Ok(found),
        Err(error) => Err(error),
    }
}

/// Goes through the chats: `with` is told that one begins, gets each of its keys, and an empty
/// key at its end.
fn lists<R: BufRead>(
    walk: &mut Walk<R>,
    mut with: impl FnMut(&mut Walk<R>, &str, bool) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        if !matches!(&*key, "chats" | "left_chats") {
            walk.skip()?;
            continue;
        }
        if !walk.enter(b'{')? {
            continue;
        }
        while let Some(key) = walk.key()? {
            if key != "list" {
                walk.skip()?;
                continue;
            }
            if !walk.enter(b'[')? {
                continue;
            }
            while walk.element()? {
                if !walk.enter(b'{')? {
                    continue;
                }
                with(walk, "", true)?;
                while let Some(key) = walk.key()? {
                    // An empty key is nobody's, and would read as the end.
                    match key.is_empty() {
                        true => walk.skip()?,
                        false => with(walk, &key, false)?,
                    }
                }
                with(walk, "", false)?;
            }
        }
    }
    Ok(())
}

fn record(
    chat: &Chat,
    owner: Option<&str>,
    clock: &Clock<'_>,
    out: &mut Out<'_>,
    raw: &[u8],
) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    if record.id.is_empty() || (record.date.is_empty() && record.date_unixtime.is_empty()) {
        return Err("it has no `id` or no `date`".into());
    }
    let time = match clock.read(&record.date_unixtime.0)? {
        Some(time) => Some(time),
        None => clock.read(&record.date.0)?,
    };
    let service = record.kind.0 == "service";
    let (id, name) = match service {
        true => (record.actor_id.get(), record.actor.get()),
        false => (record.from_id.get(), record.from.get()),
    };
    let said = record.text.map_or(Ok(String::new()), text)?;
    let (kind, text) = match service {
        true => action(&record),
        false => content(&record, said),
    };
    Ok(out.message(Message {
        id: record.id.some(),
        chat: chat.clone(),
        sender: Sender {
            is_self: owner.filter(|_| !id.is_empty()).map(|owner| owner == id),
            name: first(&[&name, &id]),
            id,
        },
        time,
        kind,
        text,
        reply_to: record.reply_to_message_id.some(),
    })?)
}

/// The kind of a message, and its text: the caption, else what it is called.
fn content(record: &Record<'_>, said: String) -> (Kind, String) {
    let name = first(&[
        &record.file_name.0,
        record.file.0.rsplit('/').next().unwrap_or_default(),
    ]);
    let with = |kind, about: &str| (kind, first(&[&said, about]));
    match &*record.media_type.0 {
        "sticker" => return with(Kind::Sticker, &record.sticker_emoji.0),
        "voice_message" => return (Kind::Voice, said),
        "video_message" | "animation" => return (Kind::Video, said),
        "video_file" => return with(Kind::Video, &name),
        "audio_file" => {
            let song = format!("{} - {}", record.performer.0, record.title.0);
            let song = song.trim_matches([' ', '-']);
            return with(Kind::File, &first(&[song, &name]));
        }
        _ => {}
    }
    if !record.photo.is_empty() {
        return (Kind::Image, said);
    }
    if !record.file.is_empty() {
        let kind = match record.mime_type.0.split('/').next() {
            Some("image") => Kind::Image,
            Some("video") => Kind::Video,
            _ => Kind::File,
        };
        return with(kind, &name);
    }
    if let Some(place) = &record.location_information {
        let number = |key| place.get(key).map(ToString::to_string).unwrap_or_default();
        let at = format!("{}, {}", number("latitude"), number("longitude"));
        let named = format!("{} {}", record.place_name.0, record.address.0);
        return with(Kind::Location, &first(&[named.trim(), &at]));
    }
    if let Some(known) = &record.contact_information {
        let parts = [&*known.first_name, &*known.last_name, &*known.phone_number];
        let parts: Vec<_> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        return with(Kind::Other, &parts.join(" "));
    }
    if let Some(poll) = &record.poll {
        let answers = poll.answers.iter().map(|a| format!("\n- {}", a.text));
        return with(
            Kind::Other,
            &format!("{}{}", poll.question, answers.collect::<String>()),
        );
    }
    (Kind::Text, said)
}
