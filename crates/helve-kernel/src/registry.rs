//! The tools that can be called, and every name by which they answer.
//!
//! Names are an explicit map: the canonical name, the aliases, and the forms that
//! other systems use for it. The first tool with a name keeps it; a second one is
//! refused. Forms that are only derived give way to names that somebody wrote.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use helve_core::ToolDef;
use helve_core::audit::{Hash, hash_of};
use helve_core::def::ExecutorKind;
use helve_core::marked::{Mark, Marks, marks};
use helve_core::name::nearest;
use helve_core::schema::Schema;
use serde_json::{Value, json};

use crate::{Handler, Leads, ToolError};

/// A tool that can be called.
pub struct Entry {
    /// What it is.
    pub def: Arc<ToolDef>,
    /// The version's number.
    pub version: semver::Version,
    /// The hash of the version: of the definition, and of what it runs.
    pub hash: Hash,
    /// Where it came from: `code`, `api`, or a file.
    pub source: String,
    /// Whether it can be called.
    pub enabled: bool,
    /// Whether it is open to every token that may call anything, whatever its scopes.
    pub open: bool,
    /// The version's number as it is written.
    pub(crate) numbered: String,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    pub(crate) fingerprint: Option<Value>,
    pub(crate) behind: Behind,
    /// Which arguments the schema marks as paths.
    pub(crate) paths: Marks,
    /// Whether it marks any secret.
    pub(crate) has_secrets: bool,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} ({})", self.def.name, self.version, self.hash)
    }
}

/// What is behind a definition.
#[derive(Clone)]
pub(crate) enum Behind {
    /// A function, and whether all that it does is held back.
    Handler(Handler, Held),
    Executor(ExecutorKind),
    /// Other tools, to which its calls go.
    Tools(Leads),
    Nothing,
}

/// Whether all that a function does goes through the files of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    Yes,
    No,
}

/// Why a tool was not added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Another tool has the name.
    #[error(
        "`{tool}` answers to `{name}`, and so does `{holder}`; rename one, or remove the alias"
    )]
    NameTaken {
        /// The tool that was not added.
        tool: String,
        /// The name.
        name: String,
        /// The tool that has it.
        holder: String,
    },
    /// Its schema does not compile.
    #[error("`{tool}` has a schema that cannot be used: {problem}")]
    Schema {
        /// The tool that was not added.
        tool: String,
        /// What is wrong.
        problem: String,
    },
}

/// The hash that an approval is bound to: a definition and what it runs.
pub(crate) fn version_hash(definition: &Value, fingerprint: Option<&Value>) -> Hash {
    let whole = json!({"definition": definition, "fingerprint": fingerprint});
    // Numbers that JSON cannot hold never come out of a parser.
    hash_of(&whole).unwrap_or_else(|_| Hash::of(whole.to_string().as_bytes()))
}

impl Entry {
    pub(crate) fn new(
        def: Arc<ToolDef>,
        version: semver::Version,
        source: String,
        fingerprint: Option<Value>,
        behind: Behind,
    ) -> Result<Self, RegistryError> {
        let compile = |schema: &Value| {
            Schema::compile(schema).map_err(|issues| RegistryError::Schema {
                tool: def.name.to_string(),
                problem: issues
                    .first()
                    .map(|i| i.message.clone())
                    .unwrap_or_default(),
            })
        };
        let hash = version_hash(&def.to_value(), fingerprint.as_ref());
        Ok(Self {
            input: compile(&def.input_schema)?,
            paths: Marks::of(&def.input_schema, Mark::Path),
            has_secrets: marks(&def.input_schema, Mark::Secret),
            output: def.output_schema.as_ref().map(compile).transpose()?,
            enabled: def.enabled,
            open: false,
            def,
            numbered: version.to_string(),
            version,
            hash,
            source,
            fingerprint,
            behind,
        })
    }
}

impl Entry {
    /// The same tool, compiled anew.
    pub(crate) fn again(&self) -> Result<Self, RegistryError> {
        let (fingerprint, behind) = (self.fingerprint.clone(), self.behind.clone());
        let version = self.version.clone();
        let source = self.source.clone();
        let entry = Self::new(self.def.clone(), version, source, fingerprint, behind)?;
        Ok(Self {
            hash: self.hash,
            enabled: self.enabled,
            open: self.open,
            ..entry
        })
    }
}

/// All tools.
#[derive(Default)]
pub(crate) struct Registry {
    tools: BTreeMap<String, Arc<Entry>>,
    names: HashMap<String, Name>,
    /// How often it has changed.
    pub(crate) changes: u64,
}

struct Name {
    tool: String,
    derived: bool,
}

impl Registry {
    /// Refuses a tool that answers to a name of another.
    pub(crate) fn check(&self, entry: &Entry) -> Result<(), RegistryError> {
        let tool = entry.def.name.to_string();
        for name in written(&entry.def) {
            if let Some(held) = self.names.get(name)
                && held.tool != tool
                && !held.derived
            {
                return Err(RegistryError::NameTaken {
                    tool,
                    name: name.to_owned(),
                    holder: held.tool.clone(),
                });
            }
        }
        Ok(())
    }

    /// Adds a tool, or puts it in the place of the one with the same canonical name.
    pub(crate) fn put(&mut self, entry: Arc<Entry>) -> Result<(), RegistryError> {
        self.check(&entry)?;
        let tool = entry.def.name.to_string();
        self.remove(&tool);
        for name in written(&entry.def) {
            let derived = false;
            let tool = tool.clone();
            self.names.insert(name.to_owned(), Name { tool, derived });
        }
        for name in derived(&entry.def) {
            let tool = tool.clone();
            let derived = true;
            self.names.entry(name).or_insert(Name { tool, derived });
        }
        self.tools.insert(tool, entry);
        self.changes += 1;
        Ok(())
    }

    pub(crate) fn remove(&mut self, tool: &str) -> Option<Arc<Entry>> {
        let gone = self.tools.remove(tool)?;
        self.changes += 1;
        let names = written(&gone.def).map(str::to_owned);
        for name in names.chain(derived(&gone.def)) {
            if self.names.get(&name).is_some_and(|held| held.tool == tool) {
                self.names.remove(&name);
                self.give_back(name);
            }
        }
        Some(gone)
    }

    /// A name that is free again goes to the tool that it was derived from.
    fn give_back(&mut self, name: String) {
        let canonical = name.strip_prefix("internal_").map(str::to_owned);
        let canonical = canonical.or_else(|| {
            let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
            Some(match server == HUB {
                true => tool.to_owned(),
                false => format!("{server}_{tool}"),
            })
        });
        if let Some(tool) = canonical.filter(|tool| self.tools.contains_key(tool)) {
            let derived = true;
            self.names.insert(name, Name { tool, derived });
        }
    }

    /// The tool that answers to a name.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        let held = self.names.get(name)?;
        self.tools.get(&held.tool)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.tools.values()
    }

    /// The tool, or an error with the nearest names of those that may be shown.
    pub(crate) fn resolve(
        &self,
        name: &str,
        shown: impl Fn(&str) -> bool,
    ) -> Result<Arc<Entry>, ToolError> {
        if let Some(entry) = self.find(name) {
            return Ok(entry.clone());
        }
        let asked: String = name.chars().take(128).collect();
        let error =
            ToolError::not_found(format!("there is no tool named `{}`", asked.escape_debug()));
        let known = self.tools.values().filter(|e| shown(e.def.name.as_str()));
        let near = nearest(&asked, known.flat_map(|e| written(&e.def)), 5);
        Err(match near.is_empty() {
            true => error.with_hint("ask for the catalog to see what there is"),
            false => {
                let near: Vec<String> = near.iter().map(|n| format!("`{n}`")).collect();
                error.with_hint(format!("the nearest are {}", near.join(", ")))
            }
        })
    }
}

/// The names that somebody wrote.
fn written(def: &ToolDef) -> impl Iterator<Item = &str> {
    let aliases = def.aliases.iter().map(String::as_str);
    std::iter::once(def.name.as_str()).chain(aliases)
}

/// The name of this hub among MCP servers.
const HUB: &str = "helve";

/// The forms in which other systems call the same tool.
fn derived(def: &ToolDef) -> Vec<String> {
    let name = def.name.as_str();
    let mut names = vec![format!("internal_{name}"), format!("mcp__{HUB}__{name}")];
    if let Some(group) = def.name.group() {
        names.push(format!("mcp__{group}__{}", &name[group.len() + 1..]));
    }
    names
}
