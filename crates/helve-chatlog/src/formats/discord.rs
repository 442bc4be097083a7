//! The JSON of DiscordChatExporter: one channel.

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

pub(crate) fn fits(look: &Look) -> bool {
    look.shape == Shape::Document && look.has(&["guild", "channel"])
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Named {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Record<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    timestamp: Loose<'a>,
    #[serde(borrow)]
    content: Loose<'a>,
    #[serde(borrow)]
    author: Author<'a>,
    #[serde(borrow)]
    attachments: Vec<Attachment<'a>>,
    #[serde(borrow)]
    embeds: Vec<Embed<'a>>,
    #[serde(borrow)]
    stickers: Vec<Sticker<'a>>,
    #[serde(borrow)]
    reference: Option<Reference<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Author<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    nickname: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Attachment<'a> {
    #[serde(borrow)]
    file_name: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Embed<'a> {
    #[serde(borrow)]
    title: Loose<'a>,
    #[serde(borrow)]
    description: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sticker<'a> {
    #[serde(borrow)]
    name: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Reference<'a> {
    #[serde(borrow)]
    message_id: Loose<'a>,
}

pub(crate) fn read(
    text: &mut Text<'_>,
    look: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let (guild, channel): (Named, Named) = (look.value("guild"), look.value("channel"));
    let name = first(&[&channel.name, &job.chat()]);
    let direct = channel.kind.starts_with("Direct");
    let chat = Chat {
        id: first(&[&channel.id, &name]),
        name: match direct || guild.name.is_empty() {
            true => name,
            false => format!("{} #{name}", guild.name),
        },
        kind: match &*channel.kind {
            "" => ChatKind::Unknown,
            "DirectTextChat" | "DirectTextChannel" => ChatKind::Private,
            _ => ChatKind::Group,
        },
    };
    let clock = Clock {
        zone: &job.options.zone,
        order: DateOrder::YearMonthDay,
    };
    let mut walk = Walk::new(text.open(Pass::Read)?);
    walk.enter(b'{')?;
    while let Some(key) = walk.key()? {
        match &*key {
            "messages" => walk.each(out, |out, raw| record(&chat, &clock, out, raw))?,
            _ => walk.skip()?,
        }
    }
    Ok(())
}

fn record(chat: &Chat, clock: &Clock<'_>, out: &mut Out<'_>, raw: &[u8]) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    if record.id.is_empty() || record.timestamp.is_empty() {
        return Err("it has no `id` or no `timestamp`".into());
    }
    let author = &record.author;
    if !author.nickname.is_empty() {
        out.person(person(&author.id.0, &author.nickname.0, &[&author.name.0]))?;
    }
    let mut parts = vec![record.content.get()];
    parts.extend(record.attachments.iter().map(|a| a.file_name.get()));
    parts.extend(record.stickers.iter().map(|s| s.name.get()));
    if record.content.is_empty() {
        let embeds = record.embeds.iter();
        parts.extend(embeds.map(|e| first(&[&e.title.0, &e.description.0])));
    }
    parts.retain(|part| !part.is_empty());
    let kind = match &*record.kind.0 {
        "Call" => Kind::Call,
        "" | "Default" | "Reply" | "0" | "19" => match (&*record.attachments, &*record.stickers) {
            ([one, ..], _) => by_name(&one.file_name.0),
            ([], [_, ..]) => Kind::Sticker,
            _ if record.content.is_empty() && !record.embeds.is_empty() => Kind::Link,
            _ => Kind::Text,
        },
        "ThreadStarterMessage" | "ChatInputCommand" | "ContextMenuCommand" | "20" | "23" => {
            Kind::Text
        }
        _ => Kind::System,
    };
    let reply = record.reference.and_then(|r| r.message_id.some());
    Ok(out.message(Message {
        id: record.id.some(),
        chat: chat.clone(),
        sender: Sender {
            id: author.id.get(),
            name: first(&[&author.nickname.0, &author.name.0]),
            is_self: None,
        },
        time: clock.read(&record.timestamp.0)?,
        kind,
        text: parts.join("\n"),
        reply_to: reply,
    })?)
}

/// What a file is, by how its name ends.
pub(crate) fn by_name(name: &str) -> Kind {
    let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    match &*ending {
        "jpg" | "jpeg" | "png" | "gif" | "webp" | "bmp" | "heic" | "avif" | "tif" | "tiff" => {
            Kind::Image
        }
        "mp4" | "mov" | "webm" | "mkv" | "avi" | "3gp" | "m4v" => Kind::Video,
        "ogg" | "opus" | "mp3" | "m4a" | "wav" | "aac" | "amr" | "flac" => Kind::Voice,
        _ => Kind::File,
    }
}
