//! Amazon Bedrock's Converse API.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Source, Strictness, by_name};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "bedrock",
    about: "Amazon Bedrock Converse",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema"],
    encode,
    decode,
    together: |tools| json!({"tools": tools}),
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("bedrock", def);
    let mut carried = outline.carried();
    outline.take_same(&["name", "description"]);
    let schema = outline.remove("input_schema").unwrap_or_default();
    outline.set("inputSchema", json!({"json": schema}));
    let outer = carried.shift_remove("$outer");
    outline.restore(carried, "name");
    let mut encoded = outline.finish()?;
    let mut value = Map::new();
    value.insert("toolSpec".to_owned(), encoded.value);
    if let Some(Value::Object(outer)) = outer {
        for (key, more) in outer {
            value.entry(key).or_insert(more);
        }
    }
    encoded.value = Value::Object(value);
    Ok(encoded)
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("bedrock", source.value)?.enter("toolSpec")?;
    draft.take_same(&["name", "description"]);
    if let Some(schema) = draft.remove("inputSchema") {
        let inner = schema.get("json").cloned().unwrap_or(schema);
        draft.set("input_schema", inner, "inputSchema");
        draft.place(
            "/input_schema".to_owned(),
            "/toolSpec/inputSchema/json".to_owned(),
        );
    }
    draft.description_or(&["name"]);
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}
