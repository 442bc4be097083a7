//! By what a message is known again.
//!
//! Where the export gives a message a name, by chat and name. Else by all that was said, and
//! the how-manieth of its like it is in the export. The key is a hash, and only a hint: what
//! has the same key is compared in full before it is taken for the same.

use rusqlite::{Connection, OptionalExtension as _};

use super::ArchiveError;
use super::flat::{kind_of, number_of};
use crate::message::Kind;

/// What a key is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'m> {
    pub(super) chat: &'m str,
    pub(super) id: Option<&'m str>,
    pub(super) sender: &'m str,
    pub(super) time: Option<i64>,
    pub(super) kind: Kind,
    pub(super) text: &'m str,
}

/// Makes keys. Tests narrow it, so that keys collide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    pub(super) mask: u64,
}

impl Keys {
    /// The key of what an export names, or of all that was said.
    pub(super) fn of(self, said: &Said<'_>) -> u64 {
        let mut hash = Fnv::new();
        hash.text(said.chat);
        match said.id {
            Some(id) => {
                hash.bytes(b"i");
                hash.text(id);
            }
            None => {
                hash.bytes(&[b't', number_of(said.kind), u8::from(said.time.is_some())]);
                hash.bytes(&said.time.unwrap_or(0).to_le_bytes());
                hash.text(said.sender);
                hash.text(said.text);
            }
        }
        hash.0 & self.mask
    }

    /// The key of the how-manieth of its like.
    pub(super) fn nth(self, key: u64, nth: u32) -> u64 {
        match nth {
            0 => key,
            nth => {
                let mut hash = Fnv(key);
                hash.bytes(&nth.to_le_bytes());
                hash.0 & self.mask
            }
        }
    }
}

/// FNV-1a of 64 bits: it must be the same for ever, and need not withstand anybody.
pub(super) struct Fnv(pub(super) u64);

impl Fnv {
    pub(super) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    /// With an end, so that two texts in a row are not one.
    pub(super) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.bytes(&[0xFF]);
    }
}

/// A message to compare with what is kept, by the numbers of this archive.
#[derive(Debug)]
pub(super) struct Like<'m> {
    pub(super) chat: u32,
    pub(super) id: Option<&'m str>,
    /// Nothing for somebody of whom the archive has not heard.
    pub(super) sender: Option<u32>,
    pub(super) time: Option<i64>,
    pub(super) kind: Kind,
    pub(super) text: &'m str,
    pub(super) nth: u32,
}

/// Whether the line is that message.
pub(super) fn is_same(conn: &Connection, line: u32, like: &Like<'_>) -> Result<bool, ArchiveError> {
    let mut query = conn.prepare_cached(
        "SELECT chat, id, sender, time, kind, text, nth FROM messages WHERE line = ?",
    )?;
    let same = query.query_row([line], |row| {
        if row.get::<_, u32>(0)? != like.chat {
            return Ok(false);
        }
        let id = row
            .get_ref(1)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?;
        if like.id.is_some() || id.is_some() {
            return Ok(id == like.id);
        }
        Ok(row.get::<_, Option<u32>>(2)? == like.sender
            && row.get::<_, Option<i64>>(3)? == like.time
            && kind_of(row.get(4)?) == like.kind
            && row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)? == like.text
            && row.get::<_, u32>(6)? == like.nth)
    });
    Ok(same.optional()?.unwrap_or(false))
}
