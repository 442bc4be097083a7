//! What the chats are about, found without a model.
//!
//! A tag belongs to sessions, and a session has lines; so a tag leads to every message of the
//! talk and not only to those in which it is written. Tags that somebody gave, or that a model
//! found, stand beside those found here and are never mixed with them.
//!
//! - *Every tag was written by somebody*: a tag found here stands in a message as it is shown.
//! - *A file that is damaged is an error*: it is made again from the archive.

mod build;
mod count;
mod extract;
mod file;
mod find;
mod words;

use roaring::RoaringTreemap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use count::Counter;
pub use find::{Listed, Matched, TagLines, TopicCount, TopicLines};

use crate::corpus::{BuildError, Corpus, Hook};
use crate::text;

/// Who says that a session is about something.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// It was counted.
    Auto,
    /// A model.
    Llm,
    /// Somebody.
    User,
}

/// The tags of all sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topics {
    /// Of the archive from which this was made: the caller's number.
    pub generation: u64,
    /// The sessions' numbers, in the corpus's order.
    sessions: Vec<u64>,
    /// Where the lines of each session begin in `lines`; one more than there are sessions.
    starts: Vec<u32>,
    /// The lines of all sessions, one session after the other.
    lines: Vec<u64>,
    tags: Vec<Tag>,
}

/// A tag. The numbers are places in [`Topics::sessions`] and [`Topics::lines`].
#[derive(Debug, Clone, PartialEq)]
struct Tag {
    text: Box<str>,
    /// As it is compared.
    folded: Box<str>,
    provenance: Provenance,
    sessions: Box<[u32]>,
    mentions: Box<[u32]>,
}

impl Topics {
    /// Finds the tags of a corpus. It goes through it three times, and holds counts and not
    /// texts.
    pub fn build(corpus: &dyn Corpus, hook: Hook<'_>) -> Result<Self, BuildError> {
        build::build(corpus, hook)
    }

    /// Says that sessions are about something. The same tag of the same provenance gains the
    /// sessions. Gives how many of them are known here.
    pub fn add(&mut self, tag: &str, sessions: &RoaringTreemap, provenance: Provenance) -> usize {
        let tag = tag.trim();
        let mut places: Vec<u32> = (0..self.sessions.len())
            .filter(|&place| sessions.contains(self.sessions[place]))
            .filter_map(|place| u32::try_from(place).ok())
            .collect();
        let known = places.len();
        if tag.is_empty() || known == 0 {
            return known;
        }
        match self
            .tags
            .iter_mut()
            .find(|t| t.provenance == provenance && &*t.text == tag)
        {
            Some(there) => {
                places.extend_from_slice(&there.sessions);
                places.sort_unstable();
                places.dedup();
                there.sessions = places.into();
            }
            None => self.tags.push(Tag {
                text: tag.into(),
                folded: text::fold(tag).into(),
                provenance,
                sessions: places.into(),
                mentions: Box::default(),
            }),
        }
        known
    }

    /// Takes a tag away again, of this provenance only; says whether there was one.
    pub fn remove(&mut self, tag: &str, provenance: Provenance) -> bool {
        let before = self.tags.len();
        self.tags
            .retain(|t| t.provenance != provenance || &*t.text != tag.trim());
        self.tags.len() != before
    }

    /// Takes over the tags of users and models from topics that these replace.
    pub fn keep(&mut self, old: &Self) {
        for tag in old
            .tags
            .iter()
            .filter(|tag| tag.provenance != Provenance::Auto)
        {
            let sessions: RoaringTreemap = tag
                .sessions
                .iter()
                .map(|&place| old.sessions[place as usize])
                .collect();
            self.add(&tag.text, &sessions, tag.provenance);
        }
    }

    /// The tags of a session, in the order in which they were found best.
    #[must_use]
    pub fn of_session(&self, session: u64) -> Vec<(&str, Provenance)> {
        let Some(place) = self.sessions.iter().position(|&s| s == session) else {
            return Vec::new();
        };
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        self.tags
            .iter()
            .filter(|tag| tag.sessions.binary_search(&place).is_ok())
            .map(|tag| (&*tag.text, tag.provenance))
            .collect()
    }

    /// How many sessions there are.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// How many tags there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    /// Whether there is no tag.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    fn lines_of(&self, session: u32) -> &[u64] {
        let at = session as usize;
        &self.lines[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

#[cfg(test)]
pub(crate) mod tests;
