//! Helve's own form. Holds everything.

use serde_json::Value;

use super::{Dialect, Draft, EncodeError, Encoded, Source, Strictness, as_list, by_group};
use crate::def::ToolDef;
use crate::lint::Issue;
use crate::name::in_group;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "helve",
    about: "Helve's own definition files",
    syntaxes: &[Syntax::Json, Syntax::Toml, Syntax::Yaml],
    holds: &[],
    encode,
    decode,
    together: as_list,
    path: by_group,
};

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    Ok(Encoded {
        value: def.to_value(),
        losses: Vec::new(),
    })
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("helve", source.value)?;
    draft.refuse_rest();
    if let (Some(group), Some(Value::String(name))) = (source.group, draft.field("name")) {
        *name = in_group(group, name);
    }
    Ok(draft)
}
