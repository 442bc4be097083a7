//! Bytes in JSON: names are bytes, and a manifest must give back exactly those.
//!
//! UTF-8 is a string; anything else is `{"hex": "…"}`. One spelling for each value, so
//! that equal changesets have equal manifests.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes, as a string where they are one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Raw(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hex {
    hex: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Spelling {
    Text(String),
    Hex(Hex),
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        write(&self.0, to)
    }
}

fn write<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    match std::str::from_utf8(bytes) {
        Ok(text) => to.serialize_str(text),
        Err(_) => Hex { hex: hex(bytes) }.serialize(to),
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Spelling::deserialize(from)? {
            Spelling::Text(text) => Ok(Self(text.into_bytes())),
            Spelling::Hex(Hex { hex }) => unhex(&hex)
                .map(Self)
                .ok_or_else(|| de::Error::custom("not hexadecimal")),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let digits = std::str::from_utf8(pair).ok().filter(|d| d.len() == 2)?;
            u8::from_str_radix(digits, 16).ok()
        })
        .collect()
}

/// For fields that are a path.
pub(crate) mod path {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        write(path.as_os_str().as_bytes(), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Raw::deserialize(from).map(|raw| OsString::from_vec(raw.0).into())
    }
}

/// For fields that may be a path.
pub(crate) mod maybe_path {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match path {
            Some(path) => write(path.as_os_str().as_bytes(), to),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let raw = Option::<Raw>::deserialize(from)?;
        Ok(raw.map(|raw| OsString::from_vec(raw.0).into()))
    }
}

/// For fields that are a list of paths.
pub(crate) mod paths {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|p| Raw(p.as_os_str().as_bytes().to_vec())))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<PathBuf>, D::Error> {
        let raw = Vec::<Raw>::deserialize(from)?;
        Ok(raw
            .into_iter()
            .map(|r| OsString::from_vec(r.0).into())
            .collect())
    }
}

/// For fields that are a hash.
pub(crate) mod hash {
    use helve_core::audit::Hash;

    use super::*;

    pub(crate) fn serialize<S: Serializer>(hash: &Hash, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(hash)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Hash, D::Error> {
        let text = String::deserialize(from)?;
        Hash::parse(&text).ok_or_else(|| de::Error::custom("not a hash"))
    }
}
