//! The Claude Agent SDK's `@tool(name, description, parameters)`.
//!
//! Parameters are `{name: type}` where every key is required, or a JSON Schema,
//! which the SDK takes a dict for if it has `type` and `properties`. The short
//! form is written where it says all that the schema says.

mod shorthand;

use serde_json::{Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, as_list, by_name};
use crate::def::ToolDef;
use crate::lint::{Issue, rules};
use crate::node::escape;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "claude-sdk",
    about: "Claude Agent SDK",
    syntaxes: &[Syntax::Json, Syntax::Python],
    holds: &["name", "description", "input_schema"],
    encode,
    decode,
    together: as_list,
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("claude-sdk", def);
    let carried = outline.carried();
    outline.take_same(&["name", "description"]);
    let mut schema = outline.remove("input_schema").unwrap_or_default();
    if let Value::Object(map) = &mut schema
        && !map.contains_key("properties")
    {
        map.insert("properties".to_owned(), json!({}));
        let reason = "written out, empty: the SDK takes a dict for a schema only so";
        outline
            .losses
            .push(Loss::changed("/input_schema/properties", reason));
    }
    let parameters = match shorthand::write(&schema) {
        Some(short) => short,
        None if shorthand::is_schema(&schema) => schema,
        None => {
            return Err(EncodeError::Text {
                dialect: "claude-sdk",
                pointer: "/input_schema".to_owned(),
                reason: "the SDK takes a dict for a schema only if its `type` is text".to_owned(),
            });
        }
    };
    outline.set("input_schema", parameters);
    if let Some(server) = carried.get("server").and_then(Value::as_str) {
        let implied = format!("mcp__{server}__{}", def.name);
        let others: Vec<&String> = def.aliases.iter().filter(|a| **a != implied).collect();
        outline.remove("aliases");
        if !others.is_empty() {
            outline.losses.push(Loss::dropped(
                "/aliases",
                "`claude-sdk` has no place for them",
            ));
        }
    }
    outline.restore(carried, "name");
    outline.finish()
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("claude-sdk", source.value)?;
    draft.take_same(&["name", "description"]);
    let parameters = draft.remove("input_schema").unwrap_or(json!({}));
    let schema = match shorthand::is_schema(&parameters) {
        true => parameters,
        false => shorthand::read(&parameters).map_err(|(key, problem)| {
            let pointer = format!("/input_schema/{}", escape(&key));
            Issue::new(&rules::WRONG_TYPE, pointer, problem)
                .fix("use str, int, float, bool, list, dict, list[T] or Annotated[T, \"…\"]")
        })?,
    };
    draft.set("input_schema", schema, "input_schema");
    draft.adopt_name();
    if let Some(Value::String(server)) = draft.peek("server").cloned()
        && let Some(Value::String(name)) = draft.field("name").cloned()
    {
        draft.add_alias(&format!("mcp__{server}__{name}"));
    }
    draft.carry_rest();
    Ok(draft)
}
