//! The tools of the registry, found by what they do.

use std::collections::HashMap;
use std::sync::RwLock;

use helve_core::audit::Hash;
use helve_core::search::{Document, Found, Index, Query};

use super::{Kernel, read, write};
use crate::Entry;

/// The index, and the state of the registry that it is of.
#[derive(Default)]
pub(super) struct Searching(RwLock<Known>);

#[derive(Default)]
struct Known {
    changes: Option<u64>,
    tools: HashMap<String, Hash>,
    index: Index,
}

impl Kernel {
    /// The enabled tools that do what is asked for. Whoever asks for somebody says in
    /// the query what they may see.
    pub fn search(&self, query: &Query<'_>) -> Found {
        let searching = &self.inner.searching.0;
        let changes = self.tool_changes();
        {
            let known = read(searching);
            if known.changes == Some(changes) {
                return known.index.search(query);
            }
        }
        let mut known = write(searching);
        if known.changes != Some(changes) {
            self.look_again(&mut known, changes);
        }
        known.index.search(query)
    }

    /// Only what is different is put in anew.
    fn look_again(&self, known: &mut Known, changes: u64) {
        let mut gone: HashMap<String, Hash> = std::mem::take(&mut known.tools);
        for entry in self.tools().iter().filter(|e| e.enabled) {
            let name = entry.def.name.to_string();
            if gone.remove(&name) != Some(entry.hash) {
                known.index.upsert(&document(entry));
            }
            known.tools.insert(name, entry.hash);
        }
        for name in gone.keys() {
            known.index.remove(name);
        }
        known.changes = Some(changes);
    }
}

/// What is known of a tool: its definition, and the server that it is from.
fn document(entry: &Entry) -> Document {
    let server = entry.source.strip_prefix("mcp:");
    Document {
        server: server.map(str::to_owned),
        ..Document::of(&entry.def)
    }
}
