//! Topics on disk.

use std::path::Path;

use super::{Provenance, Tag, Topics};
use crate::derived::{self, Bad, FileError, Format};
use crate::text;

const FORMAT: Format = Format {
    magic: *b"HLVTOPIC",
    version: 1,
};

impl Topics {
    /// Writes them, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        derived::save(path, FORMAT, self.generation, |out| {
            out.list(&self.sessions, u64::to_le_bytes)?;
            out.list(&self.starts, u32::to_le_bytes)?;
            out.list(&self.lines, u64::to_le_bytes)?;
            out.u64(self.tags.len() as u64)?;
            for tag in &self.tags {
                out.u32(match tag.provenance {
                    Provenance::Auto => 0,
                    Provenance::Llm => 1,
                    Provenance::User => 2,
                })?;
                out.text(&tag.text)?;
                out.list(&tag.sessions, u32::to_le_bytes)?;
                out.list(&tag.mentions, u32::to_le_bytes)?;
            }
            Ok(())
        })
    }

    /// Reads them. Whatever does not fit is an error, so that the caller makes them again.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let (generation, topics) = derived::load(path, FORMAT, |input| {
            let sessions = input.list(u64::from_le_bytes)?;
            let starts = input.list(u32::from_le_bytes)?;
            let lines = input.list(u64::from_le_bytes)?;
            let count = input.u64()?;
            let mut tags = Vec::new();
            for _ in 0..count {
                let provenance = match input.u32()? {
                    0 => Provenance::Auto,
                    1 => Provenance::Llm,
                    2 => Provenance::User,
                    _ => return Err(Bad::Shape("a tag of nobody")),
                };
                let text = input.text()?;
                tags.push(Tag {
                    folded: text::fold(&text).into(),
                    text: text.into(),
                    provenance,
                    sessions: input.list(u32::from_le_bytes)?.into(),
                    mentions: input.list(u32::from_le_bytes)?.into(),
                });
            }
            let topics = Self {
                generation: 0,
                sessions,
                starts,
                lines,
                tags,
            };
            if topics.fits() {
                Ok(topics)
            } else {
                Err(Bad::Shape("its numbers do not fit"))
            }
        })?;
        Ok(Self {
            generation,
            ..topics
        })
    }

    /// Whether no number leads out of its list.
    fn fits(&self) -> bool {
        let empty = self.sessions.is_empty() && self.starts.is_empty();
        (empty || self.starts.len() == self.sessions.len() + 1)
            && self.starts.is_sorted()
            && self
                .starts
                .iter()
                .all(|&start| start as usize <= self.lines.len())
            && self.tags.iter().all(|tag| {
                tag.sessions.is_sorted()
                    && tag
                        .sessions
                        .iter()
                        .all(|&n| (n as usize) < self.sessions.len())
                    && tag
                        .mentions
                        .iter()
                        .all(|&n| (n as usize) < self.lines.len())
            })
    }
}
