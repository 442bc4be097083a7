//! Anthropic's Messages API.

use serde_json::{Value, json};

use super::draft::Outline;
use super::strict::{self, Vendor};
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, as_list, by_name};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;
use crate::schema::Schema;

pub(super) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    about: "Anthropic Messages",
    syntaxes: &[Syntax::Json],
    holds: &["name", "description", "input_schema"],
    encode,
    decode,
    together: as_list,
    path: by_name,
};

fn encode(def: &ToolDef, strictness: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("anthropic", def);
    let carried = outline.carried();
    outline.take_same(&["name", "description"]);
    let (schema, strict) = strict::parameters(&mut outline, Vendor::Anthropic, strictness);
    outline.set("input_schema", schema);
    if strictness == Strictness::Strict {
        outline.set("strict", strict);
    }
    if outline.remove("examples").is_some() {
        let examples = examples(def, outline.out.get("input_schema"), &mut outline.losses);
        if !examples.is_empty() {
            outline.set("input_examples", examples);
        }
    }
    outline.restore(carried, "name");
    outline.finish()
}

/// The arguments of those examples that fit: the API refuses a tool with another.
fn examples(def: &ToolDef, schema: Option<&Value>, losses: &mut Vec<Loss>) -> Vec<Value> {
    let schema = schema.and_then(|s| Schema::compile(s).ok());
    let mut kept = Vec::new();
    for (i, example) in def.examples.iter().enumerate() {
        if !schema.as_ref().is_some_and(|s| s.accepts(&example.params)) {
            // What comes after it moves up, so the whole list is another.
            losses.push(Loss::dropped(
                "/examples",
                format!("example {} does not fit the schema", i + 1),
            ));
            continue;
        }
        for (key, text) in [
            ("scenario", &example.scenario),
            ("expected", &example.expected),
        ] {
            if text.is_some() {
                let reason = "`input_examples` has only the arguments";
                losses.push(Loss::dropped(format!("/examples/{i}/{key}"), reason));
            }
        }
        kept.push(example.params.clone());
    }
    kept
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("anthropic", source.value)?;
    if draft.peek("type") == Some(&json!("custom")) {
        draft.remove("type");
    }
    draft.take_same(&["name", "description", "input_schema"]);
    if let Some(Value::Array(params)) = draft.remove("input_examples") {
        let examples = params.into_iter().map(|p| json!({"params": p}));
        draft.set("examples", examples.collect(), "input_examples");
    }
    draft.description_or(&["name"]);
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}
