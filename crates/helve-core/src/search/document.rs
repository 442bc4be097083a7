//! What the search knows of a tool.

use serde_json::Value;

use crate::ToolDef;
use crate::def::Risk;

/// A tool as the search sees it. Only `key` and `name` are needed; what else is
/// there makes it easier to find.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// By which it is updated, removed and returned; usually the name.
    pub key: String,
    /// The name by which it is called.
    pub name: String,
    /// Other names that it answers to.
    pub aliases: Vec<String>,
    /// A name for people.
    pub title: Option<String>,
    /// What it does and when to use it.
    pub description: String,
    /// When to think of it.
    pub triggers: Vec<String>,
    /// What people wanted when it was right.
    pub examples: Vec<String>,
    /// Free labels.
    pub tags: Vec<String>,
    /// The group that a query can be kept to.
    pub group: Option<String>,
    /// The server, toolset or package that it comes from.
    pub server: Option<String>,
    /// The heading under which the catalog shows it.
    pub category: Option<String>,
    /// Names and descriptions of its parameters.
    pub params: Vec<(String, String)>,
    /// The long description.
    pub detail: Option<String>,
    /// How much a call can do; without it, it counts as the most dangerous.
    pub risk: Option<Risk>,
}

/// How deep parameters within parameters are read.
const MAX_DEPTH: usize = 6;
/// How many parameters are read.
const MAX_PARAMS: usize = 256;

impl Document {
    /// The document of a definition, under its name.
    pub fn of(def: &ToolDef) -> Self {
        let mut params = Vec::new();
        collect(&def.input_schema, "", 0, &mut params);
        let scenarios = def.examples.iter().filter_map(|e| e.scenario.clone());
        Self {
            key: def.name.as_str().to_owned(),
            name: def.name.as_str().to_owned(),
            aliases: def.aliases.clone(),
            title: def.title.clone(),
            description: def.description.clone(),
            triggers: def.triggers.clone(),
            examples: scenarios.collect(),
            tags: def.tags.clone(),
            group: def.name.group().map(str::to_owned),
            server: None,
            category: def.category.clone(),
            params,
            detail: def.detail.clone(),
            risk: def.risk,
        }
    }
}

/// The parameters of a schema, those inside of objects and lists as well.
fn collect(schema: &Value, name: &str, depth: usize, params: &mut Vec<(String, String)>) {
    if depth > MAX_DEPTH || params.len() >= MAX_PARAMS {
        return;
    }
    if depth > 0 && !name.is_empty() {
        params.push((name.to_owned(), said(schema)));
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        collect(inner, name, depth + 1, params);
    }
    if schema["items"].is_object() {
        collect(&schema["items"], "", depth + 1, params);
    }
}

/// Its description and the values that it may have.
fn said(schema: &Value) -> String {
    let mut text = schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    for value in schema["enum"].as_array().into_iter().flatten() {
        if let Some(value) = value.as_str() {
            text.push(' ');
            text.push_str(value);
        }
    }
    text
}
