//! Signed statements of where a chain stood.
//!
//! A chain proves only that it fits together; whoever can write it can write another
//! one that fits as well. A checkpoint is signed with a key that the writer of the
//! entries need not have, and kept elsewhere. What it covers cannot be replaced.

use serde_json::{Value, json};

use super::{Hash, Head, NotCanonical, PublicKey, Signature, SigningKey, canonical};

/// What the signed JSON says it is, so that no other signature passes for one.
const KIND: &str = "helve-checkpoint-v1";

/// A signed statement that a node's chain had this hash at this entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose chain.
    pub node: String,
    /// The number of the entry; 0 for a chain without any.
    pub seq: u64,
    /// Its hash.
    pub hash: Hash,
    /// When it was signed, as RFC 3339.
    pub at: String,
    /// The key that signed.
    pub key: PublicKey,
    /// The signature over all but itself and the key.
    pub signature: Signature,
}

impl Checkpoint {
    /// Signs where a chain stands.
    pub fn sign(
        node: impl Into<String>,
        head: Head,
        at: impl Into<String>,
        key: &SigningKey,
    ) -> Result<Self, NotCanonical> {
        let (node, at) = (node.into(), at.into());
        let signature = key.sign(&message(&node, head, &at)?);
        Ok(Self {
            node,
            seq: head.seq,
            hash: head.hash,
            at,
            key: key.public(),
            signature,
        })
    }

    /// Where the chain stood.
    pub fn head(&self) -> Head {
        Head {
            seq: self.seq,
            hash: self.hash,
        }
    }

    /// Whether `key` signed exactly this. The key that the line names is not trusted;
    /// it must be the one that is given.
    pub fn verify(&self, key: &PublicKey) -> bool {
        let message = message(&self.node, self.head(), &self.at);
        self.key == *key && message.is_ok_and(|m| key.signed(&m, &self.signature))
    }

    /// The line that is exported.
    pub fn to_line(&self) -> String {
        let mut line = statement(&self.node, self.head(), &self.at);
        line["key"] = json!(self.key.to_string());
        line["signature"] = json!(self.signature.to_string());
        line.to_string()
    }

    /// Reads an exported line; only the spelling of [`Checkpoint::to_line`] is taken.
    pub fn from_line(line: &str) -> Option<Self> {
        let value = crate::read::read(line, crate::read::Syntax::Json)
            .ok()?
            .to_value();
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let checkpoint = Self {
            node: text("node")?.to_owned(),
            seq: value.get("seq")?.as_u64()?,
            hash: Hash::parse(text("hash")?)?,
            at: text("at")?.to_owned(),
            key: PublicKey::parse(text("key")?)?,
            signature: Signature::parse(text("signature")?)?,
        };
        (checkpoint.to_line() == line).then_some(checkpoint)
    }
}

fn statement(node: &str, head: Head, at: &str) -> Value {
    json!({"at": at, "hash": head.hash.to_string(), "node": node, "seq": head.seq, "type": KIND})
}

fn message(node: &str, head: Head, at: &str) -> Result<Vec<u8>, NotCanonical> {
    canonical(&statement(node, head, at))
}

#[cfg(test)]
mod tests;
