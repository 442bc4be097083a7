//! What an archive is asked, and what it answers.

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

use roaring::RoaringBitmap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArchiveError;
use crate::message::{ChatKind, Kind};

/// A chat's number in this archive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
pub struct ChatNo(pub u32);

/// A person's number in this archive. 0 is nobody: a notice of the system.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
pub struct PersonNo(pub u32);

/// How far a long step has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the export that have been read, as its reader says.
    pub bytes: u64,
    /// Messages that have been dealt with.
    pub messages: u64,
}

/// Hears of progress, and may say that it is enough.
pub type Watch<'w> = &'w mut dyn FnMut(Progress) -> ControlFlow<()>;

/// Something in an export that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Malformed {
    /// In which line or record, from 1.
    pub place: u64,
    /// Why.
    pub why: String,
}

/// An export that is kept aside: nothing can be seen of it yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Staged {
    /// The hash of what was said: the same export has the same.
    pub id: String,
    /// How many messages it has.
    pub messages: u64,
    /// How many of them the archive does not have.
    pub new: u64,
    /// How many it has, or that are in the export twice.
    pub known: u64,
    /// How many records could not be read.
    pub malformed: u64,
    /// The first of these.
    pub malformed_samples: Vec<Malformed>,
    /// How many chats it speaks of.
    pub chats: u64,
    /// How many senders.
    pub people: u64,
    /// The earliest time.
    pub first: Option<i64>,
    /// The latest.
    pub last: Option<i64>,
}

/// What whoever imports says of the export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportNote {
    /// The file's name.
    pub file: String,
    /// The format's.
    pub format: String,
    /// How many records could not be read, as [`Staged`] said.
    pub malformed: u64,
}

/// Whether an import's messages are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportState {
    /// They are.
    Live,
    /// It was taken back.
    Withdrawn,
}

/// An import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Import {
    /// The hash of what was said.
    pub id: String,
    /// The file's name.
    pub file: String,
    /// The format's.
    pub format: String,
    /// Whether it is shown.
    pub state: ImportState,
    /// When it was applied, in milliseconds since 1970.
    pub applied: i64,
    /// How many messages it has, each counted once.
    pub messages: u64,
    /// How many the archive did not have before.
    pub new: u64,
    /// How many records could not be read.
    pub malformed: u64,
}

/// Which messages are meant. Nothing given: all of them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filter {
    /// In one of these chats.
    pub chats: Vec<ChatNo>,
    /// By one of these persons, or anybody merged with one of them.
    pub senders: Vec<PersonNo>,
    /// In one of these spans of time. A message without a time is in none.
    pub times: Vec<Span>,
    /// Of one of these kinds.
    pub kinds: Vec<Kind>,
    /// One of these lines.
    pub lines: Option<RoaringBitmap>,
}

/// A span of time in milliseconds since 1970, both ends included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// Not before.
    pub since: Option<i64>,
    /// Not after.
    pub until: Option<i64>,
}

/// In which order hits come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best first; among equals the newest.
    #[default]
    Relevance,
    /// By time, latest first.
    Newest,
    /// By time, earliest first.
    Oldest,
}

/// A literal search.
#[derive(Debug, Clone, Default)]
pub struct Keywords {
    /// What must be part of the text, as [`normalize`](super::normalize) says.
    pub words: Vec<String>,
    /// Whether all of them must be, or any.
    pub all: bool,
    /// Among which messages.
    pub filter: Filter,
    /// In which order.
    pub order: Order,
    /// The most hits of one page.
    pub limit: usize,
    /// Where the page before ended.
    pub after: Option<Cursor>,
}

/// A search by a regular expression. It is matched against the text as it was written.
#[derive(Debug, Clone, Default)]
pub struct Pattern {
    /// The expression; `(?i)` in front for either case.
    pub regex: String,
    /// Among which messages.
    pub filter: Filter,
    /// In which order; [`Order::Relevance`] is as [`Order::Newest`].
    pub order: Order,
    /// The most hits of one page.
    pub limit: usize,
    /// Where the page before ended.
    pub after: Option<Cursor>,
}

/// Where a page ended. It holds while nothing visible changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    pub(super) generation: u64,
    pub(super) search: u64,
    pub(super) key: u64,
    pub(super) line: u32,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            generation,
            search,
            key,
            line,
        } = self;
        write!(f, "{generation:x}.{search:x}.{key:x}.{line:x}")
    }
}

impl FromStr for Cursor {
    type Err = ArchiveError;

    fn from_str(text: &str) -> Result<Self, ArchiveError> {
        let parts: Result<Vec<u64>, _> = text
            .split('.')
            .map(|part| u64::from_str_radix(part, 16))
            .collect();
        match parts.as_deref() {
            Ok(&[generation, search, key, line]) => Ok(Self {
                generation,
                search,
                key,
                line: u32::try_from(line).map_err(|_| ArchiveError::ForeignCursor)?,
            }),
            _ => Err(ArchiveError::ForeignCursor),
        }
    }
}

/// How hits were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// By the index.
    Index,
    /// By reading every text.
    Scan,
}

/// A page of hits.
#[derive(Debug, Clone, PartialEq)]
pub struct Hits {
    /// The lines, in the order asked for.
    pub lines: Vec<u64>,
    /// Their scores; empty where the order is by time.
    pub scores: Vec<f32>,
    /// How many hits there are in all: exact.
    pub total: u64,
    /// How many messages have each of the words, under the same filter.
    pub per_word: Vec<u64>,
    /// Where this page ended, if another follows.
    pub next: Option<Cursor>,
    /// How they were found: a scan if any word needed one.
    pub source: Source,
}

/// Other ways to write a query: traditional for simplified and so on.
pub type Variants = fn(&str) -> Vec<String>;

/// A question in natural language.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The question.
    pub text: String,
    /// Among which messages.
    pub filter: Filter,
    /// The most hits.
    pub limit: usize,
    /// Whose messages count for more, beside those whom the question names.
    pub boost: Vec<PersonNo>,
    /// Other ways to write it.
    pub variants: Option<Variants>,
}

/// A message that answers a question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Hit {
    /// Which.
    pub line: u64,
    /// How well, above 0; comparable within one answer.
    pub score: f32,
}

/// Messages with those around them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// Each once, by chat and time.
    pub messages: Vec<Entry>,
    /// Lines asked for that are not there, or not shown.
    pub missing: Vec<u64>,
}

/// A message of the archive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Its number, for ever.
    pub line: u64,
    /// Where.
    pub chat: ChatNo,
    /// By whom; of merged persons the one that stands for all.
    pub sender: PersonNo,
    /// When.
    pub time: Option<i64>,
    /// What.
    pub kind: Kind,
    /// As written.
    pub text: String,
    /// The line that it answers, where the archive shows it.
    pub reply_to: Option<u64>,
    /// Its session: the line of the first message of it.
    pub session: u64,
    /// Whether it was asked for, or is only near.
    pub hit: bool,
}

/// What a reader of the whole archive sees of a message.
#[derive(Debug, Clone, Copy)]
pub struct CorpusEntry<'c> {
    /// Its number.
    pub line: u64,
    /// Where.
    pub chat: ChatNo,
    /// In which session.
    pub session: u64,
    /// By whom.
    pub sender: PersonNo,
    /// When.
    pub time: Option<i64>,
    /// What.
    pub kind: Kind,
    /// The text, as [`normalize`](super::normalize) makes it.
    pub text: &'c str,
}

/// What a name means.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<T> {
    /// This one.
    One(T),
    /// Any of these: whoever asks must choose.
    Several(Vec<T>),
    /// Nothing; these names are nearest.
    Nobody {
        /// Best first.
        nearest: Vec<String>,
    },
}

/// Somebody who is in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PersonEntry {
    /// The number.
    pub no: PersonNo,
    /// The name for programs.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Other names, and those of whoever was merged into this person.
    pub aliases: Vec<String>,
    /// Whether it is the one whose export it was.
    pub is_self: bool,
    /// Where they speak.
    pub chats: Vec<ChatNo>,
    /// How often.
    pub messages: u64,
}

/// A chat of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChatEntry {
    /// The number.
    pub no: ChatNo,
    /// The name for programs.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Between whom.
    pub kind: ChatKind,
    /// How many messages.
    pub messages: u64,
    /// The earliest time.
    pub first: Option<i64>,
    /// The latest.
    pub last: Option<i64>,
}

/// The archive in figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Stats {
    /// Messages that are shown.
    pub messages: u64,
    /// Chats, the fullest first.
    pub chats: Vec<ChatEntry>,
    /// Senders, the busiest first.
    pub senders: Vec<PersonEntry>,
    /// How many of each kind.
    pub kinds: Vec<(Kind, u64)>,
    /// The earliest time.
    pub first: Option<i64>,
    /// The latest.
    pub last: Option<i64>,
    /// How many sessions.
    pub sessions: u64,
    /// Bytes on disk, of everything.
    pub bytes: u64,
    /// Bytes of the index among them.
    pub index_bytes: u64,
    /// What was imported.
    pub imports: Vec<Import>,
}
