//! OpenAI's two shapes, and Kimi's, which is the first of them with other rules.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::strict::{self, Vendor};
use super::{Dialect, Draft, EncodeError, Encoded, Source, Strictness, as_list, by_name};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const CHAT: Dialect = Dialect {
    name: "openai",
    about: "OpenAI Chat Completions",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema"],
    encode: |def, strictness| wrapped("openai", def, Vendor::OpenAi, strictness),
    decode: |source| unwrapped("openai", source),
    together: as_list,
    path: by_name,
};

pub(super) const KIMI: Dialect = Dialect {
    name: "kimi",
    about: "Kimi (Moonshot)",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema"],
    encode: kimi,
    decode: |source| unwrapped("kimi", source),
    together: as_list,
    path: by_name,
};

pub(super) const RESPONSES: Dialect = Dialect {
    name: "openai-responses",
    about: "OpenAI Responses",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema", "output_schema"],
    encode: responses,
    decode: from_responses,
    together: as_list,
    path: by_name,
};

fn wrapped(
    dialect: &'static str,
    def: &ToolDef,
    vendor: Vendor,
    strictness: Strictness,
) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of(dialect, def);
    let mut carried = outline.carried();
    outline.take_same(&["name", "description"]);
    let (schema, strict) = strict::parameters(&mut outline, vendor, strictness);
    outline.set("parameters", schema);
    match strictness {
        // Kimi reads a missing `strict` as true.
        Strictness::Loose if vendor == Vendor::Kimi => {
            let given = carried.shift_remove("strict");
            outline.set("strict", given.unwrap_or(json!(false)));
        }
        Strictness::Loose => {}
        Strictness::Strict => outline.set("strict", strict),
    }
    let outer = carried.shift_remove("$outer");
    outline.restore(carried, "name");
    let mut encoded = outline.finish()?;
    let mut value = Map::new();
    value.insert("type".to_owned(), json!("function"));
    value.insert("function".to_owned(), encoded.value);
    if let Some(Value::Object(outer)) = outer {
        for (key, more) in outer {
            value.entry(key).or_insert(more);
        }
    }
    encoded.value = Value::Object(value);
    Ok(encoded)
}

fn unwrapped(dialect: &'static str, source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of(dialect, source.value)?;
    draft.remove("type");
    let mut draft = draft.enter("function")?;
    fields(&mut draft);
    Ok(draft)
}

fn fields(draft: &mut Draft) {
    draft.take_same(&["name", "description", "output_schema"]);
    draft.take("parameters", "input_schema");
    draft.schema_or_empty();
    draft.description_or(&["name"]);
    draft.adopt_name();
    draft.carry_rest();
}

fn kimi(def: &ToolDef, strictness: Strictness) -> Result<Encoded, EncodeError> {
    if def.name.as_str().len() < 3 {
        return Err(EncodeError::Name {
            dialect: "kimi",
            name: def.name.to_string(),
            rule: "it needs at least 3 characters",
        });
    }
    wrapped("kimi", def, Vendor::Kimi, strictness)
}

fn responses(def: &ToolDef, strictness: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("openai-responses", def);
    let mut carried = outline.carried();
    outline.set("type", "function");
    outline.take_same(&["name", "description"]);
    let (schema, strict) = strict::parameters(&mut outline, Vendor::OpenAi, strictness);
    outline.set("parameters", schema);
    let given = carried.shift_remove("strict");
    outline.set(
        "strict",
        match strictness {
            Strictness::Strict => json!(strict),
            Strictness::Loose => given.unwrap_or(json!(false)),
        },
    );
    outline.take_same(&["output_schema"]);
    outline.restore(carried, "name");
    outline.finish()
}

fn from_responses(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("openai-responses", source.value)?;
    draft.remove("type");
    fields(&mut draft);
    Ok(draft)
}
