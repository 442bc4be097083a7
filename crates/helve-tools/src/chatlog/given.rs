//! What the tools of this set are given and give: messages, names, times.

use std::collections::BTreeMap;

use helve_chatlog::Now;
use helve_chatlog::archive::{ChatNo, Entry, Filter, Found, Order, PersonEntry, PersonNo};
use helve_kernel::ToolError;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::service::{Names, Opened, told};
use super::times::{Range, spans};

/// A message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Said {
    /// Its number, for ever; 0 for a message that is not of the archive.
    pub line_number: u64,
    /// Who said it.
    pub sender: String,
    /// When (RFC 3339); empty where nobody knows.
    pub time: String,
    /// What was said.
    pub content: String,
    /// Whether it is only near a message that was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub context: bool,
    /// The sender's account.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sender_id: String,
    /// The chat that it was said in.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chat: String,
    /// What kind of message it is: `text`, `image`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The session that it belongs to: the number of its first message.
    #[serde(skip_serializing_if = "is_zero")]
    pub session: u64,
    /// The message that it answers; 0 for none.
    #[serde(skip_serializing_if = "is_zero")]
    pub reply_to: u64,
    /// How many characters were left out at its end.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde wants it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A message, as it is given back to a tool; what else it has stays with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Given {
    /// Its number; 0 for a message that is not of the archive.
    #[serde(default)]
    pub line_number: u64,
    /// Who said it.
    #[serde(default)]
    pub sender: String,
    /// When (RFC 3339); empty where nobody knows.
    #[serde(default)]
    pub time: String,
    /// What was said.
    #[serde(default, alias = "text")]
    pub content: String,
    /// The sender's account; empty where nobody knows.
    #[serde(default)]
    pub sender_id: String,
    /// The chat that it was said in; empty where nobody knows.
    #[serde(default)]
    pub chat: String,
    /// What else there is.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl From<Said> for Given {
    fn from(said: Said) -> Self {
        Self {
            line_number: said.line_number,
            sender: said.sender,
            time: said.time,
            content: said.content,
            sender_id: said.sender_id,
            chat: said.chat,
            rest: Map::new(),
        }
    }
}

/// How much of a message is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    pub(super) metadata: bool,
    pub(super) max_chars: usize,
}

/// A message of the archive, as it is shown.
pub(super) fn said(entry: Entry, names: &Names, zone: &TimeZone, detail: Detail) -> Said {
    let (id, name) = names
        .people
        .get(&entry.sender.0)
        .cloned()
        .unwrap_or_default();
    let all = entry.text.chars().count();
    let cut = all.saturating_sub(detail.max_chars);
    let mut said = Said {
        line_number: entry.line,
        sender: if name.is_empty() { id.clone() } else { name },
        time: shown(entry.time, zone),
        content: match cut {
            0 => entry.text,
            _ => entry.text.chars().take(detail.max_chars).collect(),
        },
        context: !entry.hit,
        cut: cut as u64,
        ..Said::default()
    };
    if detail.metadata {
        said.sender_id = id;
        said.chat = names.chats.get(&entry.chat.0).cloned().unwrap_or_default();
        said.kind = serde_json::to_value(entry.kind)
            .ok()
            .and_then(|kind| kind.as_str().map(str::to_owned))
            .unwrap_or_default();
        said.session = entry.session;
        said.reply_to = entry.reply_to.unwrap_or_default();
    }
    said
}

/// A time as it is shown.
pub(super) fn shown(time: Option<i64>, zone: &TimeZone) -> String {
    let time = time.and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map(|time| {
        time.to_zoned(zone.clone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string()
    })
    .unwrap_or_default()
}

/// A time as it was given back.
pub(super) fn millis(time: &str) -> Option<i64> {
    time.parse::<Timestamp>()
        .ok()
        .map(Timestamp::as_millisecond)
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum By {
    /// Best first.
    #[default]
    Relevance,
    /// Latest first.
    Newest,
    /// Earliest first.
    Oldest,
}

impl From<By> for Order {
    fn from(by: By) -> Self {
        match by {
            By::Relevance => Order::Relevance,
            By::Newest => Order::Newest,
            By::Oldest => Order::Oldest,
        }
    }
}

/// Which messages are meant, in names and words.
#[derive(Debug, Clone, Default)]
pub(super) struct Among {
    pub(super) chats: Vec<String>,
    pub(super) senders: Vec<String>,
    pub(super) since: String,
    pub(super) until: String,
    pub(super) ranges: Vec<Range>,
}

impl Among {
    pub(super) fn filter(&self, opened: &Opened) -> Result<Filter, ToolError> {
        let mut filter = Filter::default();
        for name in self.senders.iter().filter(|name| !name.trim().is_empty()) {
            filter.senders.push(person(opened, name)?.no);
        }
        for name in self.chats.iter().filter(|name| !name.trim().is_empty()) {
            filter.chats.push(chat(opened, name)?);
        }
        filter.times = spans(&self.since, &self.until, &self.ranges, &opened.zone)?;
        Ok(filter)
    }
}

/// The one person whom a name means.
pub(super) fn person(opened: &Opened, name: &str) -> Result<PersonEntry, ToolError> {
    match opened.archive.people(name.trim()) {
        Found::One(person) => Ok(person),
        Found::Several(several) => {
            let who: Vec<String> = several.iter().take(8).map(one_of).collect();
            let problem = format!(
                "`{}` may be any of {}: {}",
                name.escape_debug(),
                several.len(),
                who.join("; ")
            );
            Err(ToolError::conflict(problem).with_hint("say which by the id"))
        }
        Found::Nobody { nearest } => Err(nobody(name, &nearest)),
    }
}

fn one_of(person: &PersonEntry) -> String {
    format!(
        "`{}` ({}, {} messages)",
        person.id, person.name, person.messages
    )
}

pub(super) fn nobody(name: &str, nearest: &[String]) -> ToolError {
    let error = ToolError::not_found(format!("nobody is called `{}`", name.escape_debug()));
    match nearest.is_empty() {
        true => error.with_hint("`chatlog_stats` lists who speaks"),
        false => error.with_hint(format!("did you mean `{}`?", nearest.join("`, `"))),
    }
}

fn chat(opened: &Opened, name: &str) -> Result<ChatNo, ToolError> {
    match opened.archive.chats(name.trim()) {
        Found::One(chat) => Ok(chat.no),
        Found::Several(several) => {
            let which: Vec<String> = several
                .iter()
                .take(8)
                .map(|c| format!("`{}` ({}, {} messages)", c.id, c.name, c.messages))
                .collect();
            let problem = format!(
                "`{}` may be any of {}",
                name.escape_debug(),
                which.join("; ")
            );
            Err(ToolError::conflict(problem).with_hint("say which by the id"))
        }
        Found::Nobody { nearest } => {
            let problem = format!("there is no chat `{}`", name.escape_debug());
            let hint = match nearest.is_empty() {
                true => "`chatlog_stats` lists the chats".to_owned(),
                false => format!("did you mean `{}`?", nearest.join("`, `")),
            };
            Err(ToolError::not_found(problem).with_hint(hint))
        }
    }
}

/// Today, where the hub is.
pub(super) fn now(zone: &TimeZone) -> Now {
    let today: Zoned = Timestamp::now().to_zoned(zone.clone());
    Now {
        date: today.date(),
        zone: zone.clone(),
    }
}

/// Messages by their lines, with those around them, as they are shown.
pub(super) fn load(
    opened: &Opened,
    lines: &[u64],
    around: (u32, u32),
    detail: Detail,
) -> Result<(Vec<Said>, Vec<u64>), ToolError> {
    let loaded = opened
        .archive
        .load(lines, around.0, around.1)
        .map_err(|e| told(&e))?;
    let names = opened.names()?;
    let messages = loaded.messages.into_iter();
    let messages = messages.map(|entry| said(entry, &names, &opened.zone, detail));
    Ok((messages.collect(), loaded.missing))
}

/// In the order of lines that were found.
pub(super) fn in_order(mut messages: Vec<Said>, lines: &[u64]) -> Vec<Said> {
    let place: BTreeMap<u64, usize> = lines.iter().enumerate().map(|(i, l)| (*l, i)).collect();
    messages.sort_by_key(|m| place.get(&m.line_number).copied().unwrap_or(usize::MAX));
    messages
}

/// The numbers of persons, by names.
pub(super) fn persons(opened: &Opened, name: &str) -> Result<Vec<PersonNo>, ToolError> {
    match name.trim().is_empty() {
        true => Ok(Vec::new()),
        false => Ok(vec![person(opened, name)?.no]),
    }
}
