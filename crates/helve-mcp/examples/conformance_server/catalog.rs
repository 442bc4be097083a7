//! What the server lists, read from `catalog.json`.

use std::sync::LazyLock;

use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

/// The lists.
#[derive(Deserialize)]
pub(crate) struct Catalog {
    #[serde(deserialize_with = "tools")]
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
}

/// All of it.
pub(crate) static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    serde_json::from_str(include_str!("catalog.json"))
        .expect("the catalog is written for this type")
});

/// A 1×1 PNG, in base64.
pub(crate) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV without a sample, in base64.
pub(crate) const SILENCE: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Most tools take nothing, so the file leaves their schema out.
fn tools<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Tool>, D::Error> {
    let nothing = json!({"type": "object", "properties": {}});
    let mut tools = Vec::new();
    for mut tool in Vec::<Value>::deserialize(from)? {
        let schema = tool["inputSchema"].take();
        tool["inputSchema"] = if schema.is_null() {
            nothing.clone()
        } else {
            schema
        };
        tools.push(serde_json::from_value(tool).map_err(serde::de::Error::custom)?);
    }
    Ok(tools)
}

/// One page of a list, and where the next begins.
pub(crate) fn page<T: Clone>(
    all: &[T],
    cursor: Option<&str>,
    size: Option<usize>,
) -> (Vec<T>, Option<String>) {
    let start = cursor
        .and_then(|c| c.parse().ok())
        .unwrap_or(0)
        .min(all.len());
    let end = size.map_or(all.len(), |size| (start + size).min(all.len()));
    let next = (end < all.len()).then(|| end.to_string());
    (all[start..end].to_vec(), next)
}

/// A tool by its name.
pub(crate) fn tool(name: &str) -> Option<Tool> {
    CATALOG.tools.iter().find(|tool| tool.name == name).cloned()
}

/// Anything of rmcp's model, written as JSON.
///
/// # Panics
/// If the JSON is not of that type.
pub(crate) fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the JSON is written for this type")
}

/// What tools and tasks share.
pub(crate) type Answer<T> = Result<T, rmcp::ErrorData>;

/// A schema with one required field.
pub(crate) fn one_field(name: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}
