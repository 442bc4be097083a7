//! OpenAkita's definitions: all of Level 2, nothing about running.

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Source, Strictness, as_list, by_name};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::read::Syntax;

const FIELDS: &[&str] = &[
    "name",
    "category",
    "description",
    "detail",
    "triggers",
    "prerequisites",
    "warnings",
    "examples",
    "related_tools",
    "workflow",
    "input_schema",
];

pub(super) const DIALECT: Dialect = Dialect {
    name: "openakita",
    about: "OpenAkita tool definitions",
    syntaxes: &[Syntax::Json, Syntax::Python],
    holds: FIELDS,
    encode,
    decode,
    together: as_list,
    path: by_name,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("openakita", def);
    let carried = outline.carried();
    outline.take_same(FIELDS);
    outline.restore(carried, "name");
    outline.finish()
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("openakita", source.value)?;
    draft.take_same(FIELDS);
    if draft.field("input_schema").is_none() {
        draft.take("parameters", "input_schema");
    }
    draft.carry_rest();
    Ok(draft)
}
