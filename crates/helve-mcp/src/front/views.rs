//! What one client sees: which tools, under which names.

use std::collections::HashMap;
use std::sync::Arc;

use helve_core::ToolDef;
use helve_core::def::{ExecutorKind, Reversible, Risk};
use helve_core::dialect::{self, Strictness};
use helve_core::policy::Pattern;
use helve_core::tokens::estimate;
use helve_kernel::{Entry, Permission, Principal};
use serde_json::{Map, Value, json};

use super::disclose::{ABOUT_TOOLS, Disclose};
use super::{Front, lock};

/// How tools are called in a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Names {
    /// `file_read`; a tool of a server elsewhere is `<server>_<tool>`.
    #[default]
    Helve,
    /// `internal_file_read`.
    Internal,
    /// `mcp__file__read`, `mcp__<server>__<tool>`.
    Mcp,
    /// The name that the server elsewhere gave it, where no other tool has it.
    Plain,
}

impl Names {
    /// All of them, with their words.
    pub const ALL: [(&'static str, Names); 4] = [
        ("helve", Names::Helve),
        ("internal", Names::Internal),
        ("mcp", Names::Mcp),
        ("plain", Names::Plain),
    ];
}

/// What a client sees.
#[derive(Debug, Clone)]
pub struct View {
    /// The tools, by patterns of their canonical names.
    pub tools: Vec<Pattern>,
    /// The tools that it never shows.
    pub hide: Vec<Pattern>,
    /// How they are called.
    pub names: Names,
    /// How much of them is shown before anybody asks.
    pub disclose: Disclose,
    /// The tools that are listed however little is shown.
    pub pinned: Vec<Pattern>,
    /// Above how many tokens of definitions `auto` shows less.
    pub threshold: usize,
    /// How many tokens the catalog may cost in the instructions.
    pub budget: usize,
    /// How many of the tools that a search found are put on the list.
    pub promote: usize,
    /// What else a client is told at the beginning.
    pub instructions: Option<String>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            tools: vec![Pattern::new("*")],
            hide: Vec::new(),
            names: Names::default(),
            disclose: Disclose::default(),
            pinned: Vec::new(),
            threshold: 10_000,
            budget: 2_000,
            promote: 0,
            instructions: None,
        }
    }
}

impl View {
    /// Where the context of a call says which tools its view shows.
    pub(crate) const KEY: &str = "helve/view";

    /// Whether a tool is in it.
    pub(crate) fn has(&self, tool: &str) -> bool {
        let any = |list: &[Pattern]| list.iter().any(|p| p.matches(tool));
        any(&self.tools) && !any(&self.hide)
    }

    /// What the tools about tools must know of it.
    pub(crate) fn to_value(&self) -> Value {
        let words = |list: &[Pattern]| list.iter().map(Pattern::as_str).collect::<Value>();
        json!({"tools": words(&self.tools), "hide": words(&self.hide)})
    }

    /// The same view, as far as which tools are in it; all, where nothing is said.
    pub(crate) fn from_value(value: Option<&Value>) -> Self {
        let list = |key: &str| {
            let words = value.and_then(|v| v[key].as_array())?;
            let words = words.iter().filter_map(Value::as_str);
            Some(words.map(Pattern::new).collect())
        };
        let all = Self::default();
        Self {
            tools: list("tools").unwrap_or(all.tools),
            hide: list("hide").unwrap_or(all.hide),
            ..Self::default()
        }
    }

    pub(crate) fn pins(&self, tool: &str) -> bool {
        self.pinned.iter().any(|p| p.matches(tool))
    }
}

/// A tool of a server elsewhere.
pub(crate) struct Foreign<'d> {
    pub(crate) server: &'d str,
    pub(crate) tool: &'d str,
    /// Its definition as the server gave it.
    pub(crate) definition: &'d Map<String, Value>,
}

/// Where a tool comes from, if that is a server elsewhere.
pub(crate) fn foreign(def: &ToolDef) -> Option<Foreign<'_>> {
    let kind = def.executor.as_ref().map(|e| e.kind);
    if kind != Some(ExecutorKind::Mcp) {
        return None;
    }
    let known = def.metadata.get("mcp")?;
    Some(Foreign {
        server: known.get("server")?.as_str()?,
        tool: known.get("tool")?.as_str()?,
        definition: known.get("definition")?.as_object()?,
    })
}

/// One tool of a snapshot.
pub(crate) struct Item {
    pub(crate) entry: Arc<Entry>,
    /// What it is called here.
    pub(crate) shown: String,
    /// What `tools/list` says of it.
    pub(crate) definition: Value,
    /// Where it stands: our own first, then server by server, each by name.
    pub(crate) place: String,
}

/// All tools that somebody sees in a view, in their order.
pub(crate) struct Snapshot {
    changes: u64,
    pub(crate) items: Vec<Item>,
    names: HashMap<String, usize>,
    /// What listing all of them costs.
    pub(crate) tokens: usize,
}

impl Snapshot {
    pub(crate) fn find(&self, shown: &str) -> Option<&Item> {
        self.names.get(shown).map(|at| &self.items[*at])
    }
}

/// For whom a snapshot is: the view, and what the principal reaches.
pub(crate) type Key = (Option<String>, String);

/// How many snapshots are kept.
const KEPT: usize = 64;

impl Front {
    /// What somebody sees in a view.
    pub(crate) fn snapshot(&self, name: Option<&str>, who: &Principal) -> Arc<Snapshot> {
        let changes = self.kernel().tool_changes();
        let reach: Vec<&str> = who.scopes.iter().map(Pattern::as_str).collect();
        let sees = who.may(Permission::ToolRead);
        let reach = format!("{sees} {} {}", who.max_risk.as_str(), reach.join(" "));
        let key = (name.map(str::to_owned), reach);
        if let Some(kept) = lock(&self.0.snapshots).get(&key)
            && kept.changes == changes
        {
            return kept.clone();
        }
        let made = Arc::new(self.look(name, who, changes));
        let mut snapshots = lock(&self.0.snapshots);
        if snapshots.len() >= KEPT {
            snapshots.clear();
        }
        snapshots.insert(key, made.clone());
        made
    }

    fn look(&self, name: Option<&str>, who: &Principal, changes: u64) -> Snapshot {
        let default = View::default();
        let view = self.view(name).unwrap_or(&default);
        let mut tools = match who.may(Permission::ToolRead) {
            true => self.kernel().tools(),
            false => Vec::new(),
        };
        tools.retain(|entry| {
            let name = entry.def.name.as_str();
            let about = ABOUT_TOOLS.contains(&name);
            let risk = entry.def.risk.unwrap_or(Risk::Write);
            let shown = about || (who.reaches(name) && view.has(name));
            entry.enabled && shown && risk <= who.max_risk
        });
        let plain = plain_names(&tools);
        let mut items: Vec<Item> = tools
            .into_iter()
            .map(|entry| {
                let shown = shown(&entry.def, view.names, &plain);
                let definition = definition(&entry.def, &shown);
                let server = foreign(&entry.def).map_or("", |f| f.server);
                Item {
                    place: format!("{server}/{shown}"),
                    entry,
                    shown,
                    definition,
                }
            })
            .collect();
        items.sort_by(|a, b| a.place.cmp(&b.place));
        let names = items.iter().enumerate();
        Snapshot {
            changes,
            names: names.map(|(at, item)| (item.shown.clone(), at)).collect(),
            tokens: items
                .iter()
                .map(|item| estimate(&item.definition.to_string()))
                .sum(),
            items,
        }
    }
}

/// The names that servers elsewhere gave, and that only one tool has.
fn plain_names(tools: &[Arc<Entry>]) -> HashMap<String, usize> {
    let mut count = HashMap::new();
    for entry in tools {
        *count.entry(entry.def.name.to_string()).or_default() += 1;
        if let Some(foreign) = foreign(&entry.def)
            && foreign.tool != entry.def.name.as_str()
        {
            *count.entry(foreign.tool.to_owned()).or_default() += 1;
        }
    }
    count
}

fn shown(def: &ToolDef, names: Names, plain: &HashMap<String, usize>) -> String {
    let canonical = def.name.as_str();
    if ABOUT_TOOLS.contains(&canonical) {
        // What a client is told at the beginning, and of what waits, names them so.
        return canonical.to_owned();
    }
    match (names, foreign(def)) {
        (Names::Helve, _) => canonical.to_owned(),
        (Names::Internal, _) => format!("internal_{canonical}"),
        (Names::Mcp, Some(foreign)) => format!("mcp__{}__{}", foreign.server, foreign.tool),
        (Names::Mcp, None) => match def.name.group() {
            Some(group) => format!("mcp__{group}__{}", &canonical[group.len() + 1..]),
            None => format!("mcp__helve__{canonical}"),
        },
        (Names::Plain, Some(foreign)) if plain.get(foreign.tool) == Some(&1) => {
            foreign.tool.to_owned()
        }
        (Names::Plain, _) => canonical.to_owned(),
    }
}

/// What `tools/list` says of a tool.
pub(crate) fn definition(def: &ToolDef, shown: &str) -> Value {
    let mut tool = match foreign(def) {
        Some(foreign) => passed_on(def, foreign.definition),
        None => own(def),
    };
    tool.insert("name".to_owned(), shown.into());
    Value::Object(tool)
}

/// A definition as its server gave it, with what the operator says instead.
fn passed_on(def: &ToolDef, raw: &Map<String, Value>) -> Map<String, Value> {
    let mut tool = raw.clone();
    let given = raw.get("description").and_then(Value::as_str);
    if given.is_some_and(|given| given != def.description) {
        tool.insert("description".to_owned(), def.description.as_str().into());
    }
    if let Some(title) = &def.title {
        let given = raw.get("title").and_then(Value::as_str);
        if given != Some(title) {
            tool.insert("title".to_owned(), title.as_str().into());
        }
    }
    tool
}

fn own(def: &ToolDef) -> Map<String, Value> {
    let mcp =
        dialect::find("mcp").and_then(|mcp| dialect::encode(def, mcp, Strictness::Loose).ok());
    let mut tool = match mcp.map(|e| e.value) {
        Some(Value::Object(tool)) => tool,
        // Every sound definition can be written for MCP; one that could not is shown bare.
        _ => {
            let mut bare = Map::new();
            bare.insert("name".to_owned(), def.name.as_str().into());
            bare.insert("description".to_owned(), def.description.as_str().into());
            bare.insert("inputSchema".to_owned(), def.input_schema.clone());
            bare
        }
    };
    if def.risk == Some(Risk::Write) && def.reversible == Reversible::Yes {
        // What it changes can be taken back.
        tool["annotations"]["destructiveHint"] = false.into();
    }
    if let Some(schema) = tool.shift_remove("outputSchema") {
        tool.insert("outputSchema".to_owned(), in_object(schema));
    }
    tool
}

/// Whether results of this schema are put into an object: older clients take nothing else.
pub(crate) fn needs_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) != Some("object")
}

fn in_object(mut schema: Value) -> Value {
    if !needs_object(&schema) {
        return schema;
    }
    // What it refers to is looked for at the root.
    let defs = ["$defs", "definitions"].map(|key| {
        let defs = schema.as_object_mut().and_then(|s| s.shift_remove(key));
        defs.map(|defs| (key, defs))
    });
    let mut wrapped = json!({
        "type": "object",
        "properties": {"result": schema},
        "required": ["result"],
    });
    for (key, defs) in defs.into_iter().flatten() {
        wrapped[key] = defs;
    }
    wrapped
}
