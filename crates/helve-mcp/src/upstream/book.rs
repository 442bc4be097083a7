//! What is remembered of servers between two lives of the hub: who they said they are, and
//! which definitions wait until somebody has looked at them. Written whole, each time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use helve_core::audit::{Hash, hash_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::handshake::Face;
use super::{UpstreamError, file};

/// Why a text should be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flag {
    /// Where in the definition it stands, as a JSON pointer.
    pub pointer: String,
    /// What it is.
    pub kind: String,
    /// What is wrong with it, and some of it, made visible.
    pub says: String,
}

/// A definition that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// What is registered; nothing where the tool is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What the server says now; nothing where the tool is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
    /// What should be looked at in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<Flag>,
    /// The tool was switched off for it.
    #[serde(default)]
    pub disabled: bool,
}

impl Waiting {
    /// A short name for exactly this, by which somebody says what they have looked at.
    pub fn seen(&self) -> String {
        let what = serde_json::json!([self.before, self.after]);
        let hash = hash_of(&what).unwrap_or_else(|_| Hash::of(what.to_string().as_bytes()));
        hash.to_string().chars().take(12).collect()
    }
}

type Pending = BTreeMap<String, BTreeMap<String, Waiting>>;

/// What is remembered.
pub(crate) struct Book {
    pending: PathBuf,
    known: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    pending: Pending,
    known: BTreeMap<String, Face>,
}

impl Book {
    pub(crate) fn open(state: &Path) -> Result<Self, UpstreamError> {
        let (pending, known) = (state.join("pending.json"), state.join("known.json"));
        let kept = Kept {
            pending: read(&pending)?,
            known: read(&known).unwrap_or_default(),
        };
        Ok(Self {
            pending,
            known,
            kept: Mutex::new(kept),
        })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn face(&self, server: &str) -> Option<Face> {
        self.kept().known.get(server).cloned()
    }

    pub(crate) fn set_face(&self, server: &str, face: &Face) -> Result<(), UpstreamError> {
        let mut kept = self.kept();
        if kept.known.get(server) == Some(face) {
            return Ok(());
        }
        kept.known.insert(server.to_owned(), face.clone());
        write(&self.known, &kept.known)
    }

    /// What waits, of one server.
    pub(crate) fn waiting(&self, server: &str) -> BTreeMap<String, Waiting> {
        self.kept().pending.get(server).cloned().unwrap_or_default()
    }

    /// What waits for a tool.
    pub(crate) fn of(&self, server: &str, tool: &str) -> Option<Waiting> {
        self.kept().pending.get(server)?.get(tool).cloned()
    }

    pub(crate) fn servers(&self) -> Vec<String> {
        let kept = self.kept();
        let mut names: Vec<String> = kept
            .pending
            .keys()
            .chain(kept.known.keys())
            .cloned()
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Says what waits of a server; on the disk before it counts.
    pub(crate) fn set(
        &self,
        server: &str,
        waiting: BTreeMap<String, Waiting>,
    ) -> Result<(), UpstreamError> {
        let mut kept = self.kept();
        let mut pending = kept.pending.clone();
        match waiting.is_empty() {
            true => pending.remove(server),
            false => pending.insert(server.to_owned(), waiting),
        };
        if pending != kept.pending {
            // Even where the disk is full, what waits is not called.
            kept.pending = pending;
            write(&self.pending, &kept.pending)?;
        }
        Ok(())
    }

    /// Forgets a server.
    pub(crate) fn forget(&self, server: &str) -> Result<(), UpstreamError> {
        self.set(server, BTreeMap::new())?;
        let mut kept = self.kept();
        match kept.known.remove(server) {
            Some(_) => write(&self.known, &kept.known),
            None => Ok(()),
        }
    }
}

fn read<T: Default + for<'de> Deserialize<'de>>(path: &Path) -> Result<T, UpstreamError> {
    let wrong = |why: String| UpstreamError::State {
        path: path.to_owned(),
        why,
    };
    match std::fs::read(path) {
        // A quarantine that cannot be read must not become none.
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
        Err(e) => Err(wrong(e.to_string())),
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<(), UpstreamError> {
    let wrong = |why: String| UpstreamError::State {
        path: path.to_owned(),
        why,
    };
    let text = serde_json::to_vec_pretty(value).map_err(|e| wrong(e.to_string()))?;
    file::write(path, &text).map_err(|e| wrong(e.to_string()))
}
