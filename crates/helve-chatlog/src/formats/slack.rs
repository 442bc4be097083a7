//! The export of Slack: who there is, which channels there are, and a list of messages for
//! each day of each channel.

use std::collections::HashMap;

use serde::Deserialize;

use super::archive::Tree;
use super::dates::unix;
use super::discord::by_name;
use super::error::{ReadError, Skip};
use super::look::{Look, Shape};
use super::loose::{Loose, first};
use super::out::Out;
use super::slack_markup::plain;
use super::source::{Pass, Text};
use super::walk::Walk;
use super::{Format, Job};
use crate::{Chat, ChatKind, Kind, Message, Options, Person, Sender};

/// A day of one channel, given alone.
pub(crate) fn fits(look: &Look) -> bool {
    look.shape == Shape::List
        && look.has(&["type", "ts"])
        && (look.has(&["text"]) || look.has(&["user"]))
}

/// Who there is, by account; what a mention of them shows.
pub(crate) type Names = HashMap<String, String>;

#[derive(Deserialize, Default)]
#[serde(default)]
struct User {
    id: String,
    name: String,
    real_name: String,
    profile: Profile,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Profile {
    display_name: String,
    real_name: String,
    name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Channel {
    id: String,
    name: String,
    members: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    subtype: Loose<'a>,
    #[serde(borrow)]
    ts: Loose<'a>,
    #[serde(borrow)]
    thread_ts: Loose<'a>,
    #[serde(borrow)]
    user: Loose<'a>,
    #[serde(borrow)]
    username: Loose<'a>,
    #[serde(borrow)]
    bot_id: Loose<'a>,
    #[serde(borrow)]
    text: Loose<'a>,
    user_profile: Option<Profile>,
    #[serde(borrow)]
    files: Vec<File<'a>>,
    #[serde(borrow)]
    attachments: Vec<Attachment<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct File<'a> {
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    title: Loose<'a>,
    #[serde(borrow)]
    mimetype: Loose<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Attachment<'a> {
    #[serde(borrow)]
    fallback: Loose<'a>,
    #[serde(borrow)]
    title: Loose<'a>,
    #[serde(borrow)]
    text: Loose<'a>,
}

pub(crate) fn read_day(
    text: &mut Text<'_>,
    _: &Look,
    job: &Job<'_>,
    out: &mut Out<'_>,
) -> Result<(), ReadError> {
    let name = job.chat();
    let chat = Chat {
        id: name.clone(),
        name,
        kind: ChatKind::Unknown,
    };
    let people = Names::new();
    Walk::new(text.open(Pass::Read)?).each(out, |out, raw| record(&chat, &people, out, raw))
}

/// Where an export of Slack begins in a tree, if it is one.
pub(crate) fn root(names: &[String]) -> Option<String> {
    let users = names
        .iter()
        .find(|n| *n == "users.json" || n.ends_with("/users.json"))?;
    let root = users.strip_suffix("users.json")?;
    let day = |n: &String| n.strip_prefix(root).is_some_and(|n| day_of(n).is_some());
    names.iter().any(day).then(|| root.to_owned())
}

/// The channel of the file of a day.
fn day_of(name: &str) -> Option<&str> {
    let (channel, file) = name.split_once('/')?;
    let day = file.strip_suffix(".json")?;
    let shape = day.len() == 10
        && day.bytes().enumerate().all(|(n, b)| match n {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
    shape.then_some(channel)
}

/// Reads a whole export.
pub(crate) fn read_tree(
    tree: &mut dyn Tree,
    root: &str,
    options: &Options,
    out: &mut Out<'_>,
) -> Result<Format, ReadError> {
    let names = tree.names().to_vec();
    let mut people = Names::new();
    out.begin();
    within(
        tree,
        &names,
        &format!("{root}users.json"),
        out,
        |out, raw| {
            let user: User = serde_json::from_slice(raw)?;
            let shown = first(&[
                &user.profile.display_name,
                &user.real_name,
                &user.profile.real_name,
                &user.name,
            ]);
            people.insert(user.id.clone(), shown.clone());
            Ok(out.person(Person {
                id: user.id,
                name: shown,
                aliases: vec![user.real_name, user.profile.real_name, user.name],
            })?)
        },
    )?;
    let mut chats: HashMap<String, Chat> = HashMap::new();
    for (file, kind) in [
        ("channels.json", ChatKind::Group),
        ("groups.json", ChatKind::Group),
        ("mpims.json", ChatKind::Group),
        ("dms.json", ChatKind::Private),
    ] {
        within(tree, &names, &format!("{root}{file}"), out, |_, raw| {
            let channel: Channel = serde_json::from_slice(raw)?;
            let shown = |id: &String| people.get(id).cloned().unwrap_or_else(|| id.clone());
            let members: Vec<_> = channel.members.iter().map(shown).collect();
            let name = match kind {
                ChatKind::Private => members.join(", "),
                _ => channel.name.clone(),
            };
            // The folder of a channel has its name, that of two people has the number.
            let folder = first(&[&channel.name, &channel.id]);
            let chat = Chat {
                name: first(&[&name, &channel.id]),
                id: channel.id,
                kind,
            };
            chats.insert(folder, chat);
            Ok(())
        })?;
    }
    for name in &names {
        let Some(folder) = name.strip_prefix(root).and_then(day_of) else {
            continue;
        };
        let chat = chats.get(folder).cloned().unwrap_or_else(|| Chat {
            id: folder.to_owned(),
            name: folder.to_owned(),
            kind: ChatKind::Unknown,
        });
        let result = within(tree, &names, name, out, |out, raw| {
            record(&chat, &people, out, raw)
        });
        match result {
            Err(ReadError::In { why, .. }) if options.accept_cut && is_cut(&why) => {
                out.malformed(1, format!("`{name}` ends in the middle of a message"))?;
            }
            result => result?,
        }
    }
    out.check(Format::Slack)?;
    Ok(Format::Slack)
}

fn is_cut(error: &ReadError) -> bool {
    matches!(error, ReadError::Cut { .. })
}

/// Each element of a list that is a file of the tree, if it is there.
fn within(
    tree: &mut dyn Tree,
    names: &[String],
    name: &str,
    out: &mut Out<'_>,
    with: impl FnMut(&mut Out<'_>, &[u8]) -> Result<(), Skip>,
) -> Result<(), ReadError> {
    // They are in order: a large workspace has a file for each day of each channel.
    let Ok(at) = names.binary_search_by(|n| (**n).cmp(name)) else {
        return Ok(());
    };
    let mut source = tree.source(at);
    let wrong = |why| super::archive::within(name, why);
    let mut text = Text::of(source.as_mut(), out.bytes()).map_err(wrong)?;
    let mut walk = Walk::new(text.open(Pass::Read)?);
    walk.each(out, with).map_err(wrong)
}

fn record(chat: &Chat, people: &Names, out: &mut Out<'_>, raw: &[u8]) -> Result<(), Skip> {
    let record: Record<'_> = serde_json::from_slice(raw)?;
    if record.kind.0 != "message" && !record.kind.is_empty() {
        return Err(format!("a record of type `{}`", record.kind.0).into());
    }
    let time = unix(&record.ts.0).ok_or("`ts` is no time")?;
    let id = first(&[&record.user.0, &record.bot_id.0, &record.username.0]);
    let profile = record.user_profile.unwrap_or_default();
    let known = people.get(&id).cloned().unwrap_or_default();
    let name = first(&[
        &known,
        &record.username.0,
        &profile.display_name,
        &profile.real_name,
        &profile.name,
        &id,
    ]);
    let mut parts = vec![plain(&record.text.0, people)];
    let files = record.files.iter();
    parts.extend(files.map(|f| first(&[&f.name.0, &f.title.0])));
    if record.text.is_empty() {
        let attachments = record.attachments.iter();
        parts.extend(attachments.map(|a| {
            let shown = first(&[&a.text.0, &a.title.0, &a.fallback.0]);
            plain(&shown, people)
        }));
    }
    parts.retain(|part| !part.is_empty());
    let kind = match &*record.subtype.0 {
        "" | "bot_message" | "file_share" | "me_message" | "thread_broadcast"
        | "reply_broadcast" | "file_comment" | "file_mention" | "bot_add" => {
            match record.files.first() {
                Some(file) => file_kind(file),
                None => Kind::Text,
            }
        }
        "huddle_thread" => Kind::Call,
        _ => Kind::System,
    };
    let reply = record.thread_ts.some().filter(|ts| *ts != *record.ts.0);
    Ok(out.message(Message {
        id: record.ts.some(),
        chat: chat.clone(),
        sender: Sender {
            id,
            name,
            is_self: None,
        },
        time: Some(time),
        kind,
        text: parts.join("\n"),
        reply_to: reply,
    })?)
}

fn file_kind(file: &File<'_>) -> Kind {
    match file.mimetype.0.split('/').next() {
        Some("image") => Kind::Image,
        Some("video") => Kind::Video,
        Some("audio") => Kind::Voice,
        Some("") | None => by_name(&file.name.0),
        _ => Kind::File,
    }
}
