//! BeamAI's `tool_spec()`.
//!
//! A handler is code, kept as its source in the metadata and written back as it
//! was; a tool that never had one gets a stub that says so. Parameters convert
//! without losing `default` or a nested `required`.

mod parameters;

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, as_list, by_name};
use crate::def::{Retry, ToolDef};
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "beamai",
    about: "BeamAI tool specs",
    syntaxes: &[Syntax::Json, Syntax::Erlang],
    holds: &[
        "name",
        "description",
        "tags",
        "timeout",
        "retry",
        "metadata",
    ],
    encode,
    decode,
    together: as_list,
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("beamai", def);
    let carried = outline.carried();
    outline.take_same(&["name", "description"]);
    if outline.remove("tags").is_some() {
        let tag = match def.tags.as_slice() {
            [one] => json!(one),
            many => json!(many),
        };
        outline.set("tag", tag);
    }
    outline.remove("input_schema");
    let (parameters, losses) = parameters::write(&def.input_schema);
    outline.losses.extend(losses);
    outline.set("parameters", parameters);
    if let Some(timeout) = def.timeout {
        outline.remove("timeout");
        outline.set("timeout", millis(timeout.as_millis()));
    }
    if let Some(Retry { max, delay }) = def.retry {
        outline.remove("retry");
        outline.set(
            "retry",
            json!({"max": max, "delay": millis(delay.as_millis())}),
        );
    }
    outline.take_same(&["metadata"]);
    outline.restore(carried, "name");
    outline.finish()
}

fn millis(millis: u128) -> Value {
    json!(u64::try_from(millis).unwrap_or(u64::MAX))
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("beamai", source.value)?;
    draft.take_same(&["name", "description", "metadata"]);
    let shared = source.shared.and_then(|info| info.get("tags")).cloned();
    match draft.remove("tag").or(draft.remove("tags")).or(shared) {
        Some(Value::String(tag)) => draft.set("tags", json!([tag]), "tag"),
        Some(tags) => draft.set("tags", tags, "tag"),
        None => {}
    }
    match draft.remove("parameters") {
        None => draft.schema_or_empty(),
        Some(given) => {
            let (schema, places) = parameters::read(&given)?;
            draft.set("input_schema", schema, "parameters");
            for (def, source) in places {
                draft.place(
                    format!("/input_schema{def}"),
                    format!("/parameters{source}"),
                );
            }
        }
    }
    if let Some(timeout) = draft.remove("timeout") {
        let text = match timeout.as_u64() {
            Some(ms) => json!(format!("{ms}ms")),
            None => timeout,
        };
        draft.set("timeout", text, "timeout");
    }
    if let Some(retry) = draft.remove("retry") {
        let retry = match retry {
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| match key.as_str() {
                    "delay" => ("delay_ms".to_owned(), value),
                    _ => (key, value),
                })
                .collect::<Map<_, _>>()
                .into(),
            other => other,
        };
        draft.set("retry", retry, "retry");
    }
    draft.description_or(&["name"]);
    draft.adopt_name();
    if let Some(description) = source.shared.and_then(|i| i.get("description")) {
        let reason = format!("the module's own description, {description}, belongs to no tool");
        draft.lose(Loss::dropped("", reason));
    }
    draft.carry_rest();
    Ok(draft)
}
