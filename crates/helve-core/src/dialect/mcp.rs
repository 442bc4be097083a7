//! The Model Context Protocol's `Tool`.
//!
//! Its annotations are hints from whoever wrote the server. They are written from
//! the risk, and never read into one: a stranger's `readOnlyHint` must not make a
//! tool harmless here.

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, by_name};
use crate::def::{ExecutorKind, Risk, ToolDef};
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "mcp",
    about: "Model Context Protocol",
    syntaxes: &[Syntax::Json],
    holds: &[
        "name",
        "title",
        "description",
        "input_schema",
        "output_schema",
    ],
    encode,
    decode,
    together: |tools| json!({"tools": tools}),
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("mcp", def);
    let mut carried = outline.carried();
    outline.take_same(&["name", "title", "description"]);
    outline.take("input_schema", "inputSchema");
    outline.take("output_schema", "outputSchema");
    let ours = hints(def);
    for field in ["risk", "idempotent"] {
        if outline.remove(field).is_some() {
            let reason = "annotations only hint at it, and a reader does not trust hints";
            outline
                .losses
                .push(Loss::changed(format!("/{field}"), reason));
        }
    }
    // What was read from a stranger stays, but never over what is known here.
    let mut hints = match carried.shift_remove("annotations") {
        Some(Value::Object(given)) => given,
        _ => Map::new(),
    };
    hints.extend(ours);
    if !hints.is_empty() {
        outline.set("annotations", hints);
    }
    outline.restore(carried, "name");
    outline.finish()
}

fn hints(def: &ToolDef) -> Map<String, Value> {
    let mut hints = Map::new();
    if let Some(risk) = def.risk {
        hints.insert("readOnlyHint".to_owned(), json!(risk == Risk::Read));
        if risk != Risk::Read {
            let destructive = matches!(risk, Risk::ExecHigh | Risk::Write);
            hints.insert("destructiveHint".to_owned(), json!(destructive));
        }
    }
    if def.idempotent {
        hints.insert("idempotentHint".to_owned(), json!(true));
    }
    if def
        .executor
        .as_ref()
        .is_some_and(|e| e.kind == ExecutorKind::Http)
    {
        hints.insert("openWorldHint".to_owned(), json!(true));
    }
    hints
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("mcp", source.value)?;
    draft.take_same(&["name", "title", "description"]);
    draft.take("inputSchema", "input_schema");
    draft.take("outputSchema", "output_schema");
    if draft.field("input_schema").is_none() {
        draft.lose(Loss::changed(
            "/input_schema",
            "there is none; the tool takes no arguments",
        ));
    }
    draft.schema_or_empty();
    // The protocol lets a server leave it out.
    draft.description_or(&["title", "name"]);
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}
