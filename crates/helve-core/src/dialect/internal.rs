//! The internal-tools service: `internal_{group}_{action}`, a file in a folder.
//!
//! The folder gives the group, and a tool that has left its folder keeps it in
//! its metadata: a group may have an underscore of its own, so it is never
//! guessed from the name.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Source, Strictness, as_list, by_group};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::name::in_group;
use crate::read::{Syntax, javascript};

pub(super) const DIALECT: Dialect = Dialect {
    name: "internal",
    about: "internal_{group}_{action} folder tools",
    syntaxes: &[Syntax::Json, Syntax::JavaScript],
    holds: &["name", "description", "input_schema"],
    encode,
    decode,
    together: as_list,
    path: by_group,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("internal", def);
    let mut carried = outline.carried();
    outline.remove("name");
    let name = def.name.as_str();
    let group = match carried.shift_remove("group") {
        Some(Value::String(group)) if in_group(&group, name) == name => Some(group),
        _ => def.name.group().map(str::to_owned),
    };
    let action = match &group {
        Some(group) if !group.is_empty() => &name[group.len() + 1..],
        _ => name,
    };
    outline.set("name", action);
    outline.take_same(&["description"]);
    outline.take("input_schema", "inputSchema");
    let mut metadata = Map::new();
    metadata.insert("type".to_owned(), json!("internal"));
    if let Some(group) = group.filter(|g| !g.is_empty()) {
        metadata.insert("group".to_owned(), json!(group));
    }
    metadata.insert("source".to_owned(), json!(format!("{action}.js")));
    if let Some(Value::Object(given)) = carried.shift_remove("metadata") {
        let group = metadata.get("group").cloned();
        metadata.extend(given);
        metadata.extend(group.map(|g| ("group".to_owned(), g)));
    }
    outline.set("metadata", metadata);
    carried.shift_remove("name");
    outline.restore(carried, "name");
    outline.finish()
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("internal", source.value)?;
    draft.take_same(&["name", "description"]);
    draft.take("inputSchema", "input_schema");
    let mut metadata = match draft.remove("metadata") {
        Some(Value::Object(map)) => map,
        Some(other) => Map::from_iter([("metadata".to_owned(), other)]),
        None => Map::new(),
    };
    let written = metadata.shift_remove("group");
    let roots = ["tools", "internal-tools", "internal"];
    let folder = source
        .folder
        .filter(|f| !roots.contains(f))
        .map(str::to_owned);
    let group = match source.group {
        Some(group) => Some(group.to_owned()),
        None => written
            .and_then(|g| g.as_str().map(str::to_owned))
            .or(folder),
    };
    if let Some(Value::String(name)) = draft.field("name") {
        // The service puts group and action together as they are; only a name that
        // is whole already stays.
        let group = group.as_deref().unwrap_or_default();
        *name = match name.strip_prefix("internal_") {
            Some(whole) => in_group(group, whole),
            None if group.is_empty() => name.clone(),
            None => format!("{group}_{name}"),
        };
    }
    if let Some(group) = group {
        draft.carry("group", json!(group));
    }
    let usual = metadata.get("type") == Some(&json!("internal"));
    if usual {
        metadata.shift_remove("type");
    }
    if !metadata.is_empty() {
        draft.carry("metadata", Value::Object(metadata));
    }
    if draft
        .peek("handler")
        .is_some_and(|h| h.get(javascript::CODE).is_none())
    {
        draft.remove("handler");
    }
    draft.schema_or_empty();
    draft.carry_rest();
    Ok(draft)
}
