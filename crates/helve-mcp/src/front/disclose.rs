//! How much of the tools is shown before anybody asks: all of them, or the three by which
//! the others are found.

use std::borrow::Cow;
use std::sync::Arc;

use helve_core::audit::Hash;
use helve_core::catalog::catalog_of;
use helve_kernel::Principal;
use serde_json::{Value, json};

use super::Session;
use super::views::{Item, Snapshot};

/// The tool that finds others.
pub const SEARCH_TOOLS: &str = "search_tools";
/// The tool that tells how another is called.
pub const GET_TOOL_INFO: &str = "get_tool_info";
/// The tool that calls another.
pub(crate) const CALL_TOOL: &str = "call_tool";
/// Where it stands in a list: nobody defines it.
const CALL_TOOL_PLACE: &str = "/call_tool";
/// The tool that tells what came of a run.
pub const RUN_RESULT: &str = "run_result";

/// The tools about tools: whoever may call anything may call them.
pub(crate) const ABOUT_TOOLS: [&str; 3] = [SEARCH_TOOLS, GET_TOOL_INFO, RUN_RESULT];

/// How much is shown before anybody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Disclose {
    /// Every tool with its whole definition.
    Full,
    /// Three tools, and those that are pinned.
    Lean,
    /// All, as long as that costs no more than the threshold.
    #[default]
    Auto,
}

impl Disclose {
    /// All of them, with their words.
    pub const ALL: [(&'static str, Disclose); 3] = [
        ("full", Disclose::Full),
        ("lean", Disclose::Lean),
        ("auto", Disclose::Auto),
    ];
}

impl Session {
    /// What somebody sees in this view.
    pub(crate) fn snapshot(&self, who: &Principal) -> Arc<Snapshot> {
        self.front.snapshot(self.view.as_deref(), who)
    }

    pub(crate) fn is_lean(&self, snapshot: &Snapshot) -> bool {
        match self.view().disclose {
            Disclose::Full => false,
            Disclose::Lean => true,
            Disclose::Auto => snapshot.tokens > self.view().threshold,
        }
    }

    /// Whether a tool can be called in this view at all.
    pub(crate) fn shows(&self, tool: &str) -> bool {
        ABOUT_TOOLS.contains(&tool) || self.view().has(tool)
    }

    /// What `tools/list` says, in order, each with its place in it.
    pub(crate) fn listed(&self, who: &Principal) -> Vec<(String, Value)> {
        let snapshot = self.front.snapshot(self.view.as_deref(), who);
        let items = self.chosen(&snapshot).into_iter();
        let owned = |(place, item): (&str, Cow<'_, Value>)| (place.to_owned(), item.into_owned());
        items.map(owned).collect()
    }

    /// What tells one list from another, without keeping it: there may be many sessions, and
    /// a list is large.
    pub(crate) fn list_print(&self, who: &Principal) -> Hash {
        let snapshot = self.front.snapshot(self.view.as_deref(), who);
        // Keys are texts everywhere in it, so it can always be written.
        let written = serde_json::to_vec(&self.chosen(&snapshot)).unwrap_or_default();
        Hash::of(&written)
    }

    fn chosen<'s>(&self, snapshot: &'s Snapshot) -> Vec<(&'s str, Cow<'s, Value>)> {
        let lean = self.is_lean(snapshot);
        let promoted = super::lock(&self.promoted);
        let asks = snapshot.items.iter().any(may_ask);
        let wanted = |item: &&Item| {
            let name = item.entry.def.name.as_str();
            match name {
                SEARCH_TOOLS | GET_TOOL_INFO => lean,
                RUN_RESULT => asks,
                _ => !lean || self.view().pins(name) || promoted.contains(name),
            }
        };
        let items = snapshot.items.iter().filter(wanted);
        let items = items.map(|item| (item.place.as_str(), self.described(item)));
        let mut list: Vec<(&str, Cow<'_, Value>)> = items.collect();
        if lean {
            list.push((CALL_TOOL_PLACE, Cow::Owned(brief(CALL_TOOL))));
        }
        list.sort_by(|a, b| a.0.cmp(b.0));
        list
    }

    /// A definition, with word of a server that cannot be reached.
    fn described<'s>(&self, item: &'s Item) -> Cow<'s, Value> {
        if [SEARCH_TOOLS, GET_TOOL_INFO].contains(&item.shown.as_str()) {
            return Cow::Owned(brief(&item.shown));
        }
        let foreign = super::views::foreign(&item.entry.def);
        let why = foreign.and_then(|f| self.front.elsewhere()?.unavailable(f.server));
        let Some(why) = why else {
            return Cow::Borrowed(&item.definition);
        };
        let mut definition = item.definition.clone();
        let meta = json!({"available": false, "why": why});
        match &mut definition["_meta"] {
            Value::Object(known) => {
                known.insert("helve/unavailable".to_owned(), meta);
            }
            other => *other = json!({"helve/unavailable": meta}),
        }
        Cow::Owned(definition)
    }

    /// What a client is told at the beginning.
    pub(crate) fn instructions(&self, who: &Principal) -> Option<String> {
        let snapshot = self.front.snapshot(self.view.as_deref(), who);
        let own = self.view().instructions.clone();
        if !self.is_lean(&snapshot) {
            return own;
        }
        let about = |name: &str| ABOUT_TOOLS.contains(&name);
        let tools = snapshot.items.iter().map(|item| &*item.entry.def);
        let tools: Vec<_> = tools.filter(|d| !about(d.name.as_str())).collect();
        let mut text = format!(
            "{} tools, most of them not listed. Find one with `{SEARCH_TOOLS}`, read how it is \
             called with `{GET_TOOL_INFO}`, call it with `{CALL_TOOL}`.",
            tools.len()
        );
        if let Ok(catalog) = catalog_of(&tools, self.view().budget) {
            text = format!("{text}\n\n{}", catalog.text);
        }
        Some(match own {
            Some(own) => format!("{own}\n\n{text}"),
            None => text,
        })
    }
}

/// Whether people may be asked before a tool takes effect, so that its answer comes later.
fn may_ask(item: &Item) -> bool {
    item.entry.def.risk != Some(helve_core::def::Risk::Read)
}

/// One of the three as every client pays for it: no more than it takes to use it. What else
/// a search takes is on its page, and what is missing in a call is told.
fn brief(name: &str) -> Value {
    let text = json!({"type": "string"});
    let (description, input) = match name {
        SEARCH_TOOLS => (
            "Find tools by what they do, one query per step. Use it first.",
            json!({
                "type": "object",
                "properties": {"queries": {"type": "array", "items": text}},
                "required": ["queries"],
            }),
        ),
        GET_TOOL_INFO => (
            "Read how a tool is called.",
            json!({"type": "object", "properties": {"name": text}}),
        ),
        _ => (
            "Call any tool.",
            json!({"type": "object", "properties": {"name": text, "arguments": {"type": "object"}}}),
        ),
    };
    json!({"name": name, "description": description, "inputSchema": input})
}
