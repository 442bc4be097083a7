//! The record of what happened, as a chain that cannot be changed unnoticed.
//!
//! Each entry's hash covers the hash before it and its own canonical JSON
//! (RFC 8785), so that a changed, removed, swapped or added entry breaks every
//! hash after it. A [`Checkpoint`] signs where the chain stood, so that it cannot be
//! written anew from some entry on either. Who keeps the entries and the key is not
//! decided here; this is the arithmetic, the same for whoever writes and whoever
//! verifies.

mod canonical;
mod checkpoint;
mod key;
mod verify;

use std::fmt;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::hex;
pub use canonical::{NotCanonical, Writer, canonical};
pub use checkpoint::Checkpoint;
pub use key::{PublicKey, Signature, SigningKey};
pub use verify::{Broken, Verified, Verifier, verify, verify_with};

/// A SHA-256 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// What stands before the first entry.
    pub const ZERO: Hash = Hash([0; 32]);

    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A hash that was kept as bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 small hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        hex::bytes(text).map(Self)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::Hex(&self.0).fmt(f)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hash of a value's canonical form: what approvals and versions are bound to.
pub fn hash_of(value: &Value) -> Result<Hash, NotCanonical> {
    Ok(Hash::of(&canonical(value)?))
}

/// One entry of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number, from 1, without a gap.
    pub seq: u64,
    /// What happened.
    pub record: Value,
    /// The hash over the hash before and this entry.
    pub hash: Hash,
}

impl Entry {
    /// The line that is exported.
    pub fn to_line(&self) -> String {
        json!({"seq": self.seq, "hash": self.hash.to_string(), "record": self.record}).to_string()
    }

    /// Reads an exported line; nothing beside the three fields is taken.
    pub fn from_line(line: &str) -> Option<Self> {
        let value = crate::read::read(line, crate::read::Syntax::Json)
            .ok()?
            .to_value();
        let fields = value.as_object()?;
        let entry = Self {
            seq: fields.get("seq")?.as_u64()?,
            record: fields.get("record")?.clone(),
            hash: Hash::parse(fields.get("hash")?.as_str()?)?,
        };
        (fields.len() == 3).then_some(entry)
    }
}

/// Where a chain stands: all that is needed to go on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The number of the last entry; 0 before the first.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
}

impl Head {
    /// Before the first entry.
    pub const START: Head = Head {
        seq: 0,
        hash: Hash::ZERO,
    };

    /// The next entry, and where the chain stands then.
    pub fn append(self, record: Value) -> Result<(Entry, Head), NotCanonical> {
        let head = self.after(&canonical(&record)?);
        let Head { seq, hash } = head;
        Ok((Entry { seq, record, hash }, head))
    }

    /// Where the chain stands after a record with these canonical bytes: for those
    /// who keep the bytes that were hashed, and not the value.
    ///
    /// The hash is `SHA-256(hash before ‖ canonical {seq, record})`; `record` sorts
    /// before `seq`, so the bytes of the record stand in it as they are.
    #[must_use]
    pub fn after(self, record: &[u8]) -> Head {
        let seq = self.seq + 1;
        let mut digest = Sha256::new();
        digest.update(self.hash.0);
        digest.update(br#"{"record":"#);
        digest.update(record);
        digest.update(format!(r#","seq":{seq}}}"#));
        let hash = Hash(digest.finalize().into());
        Head { seq, hash }
    }
}

#[cfg(test)]
mod tests;
