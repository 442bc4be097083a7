//! The table of fields: one place that reading, writing, lint and docs go by.

/// Whether a definition must have a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// It must.
    Required,
    /// It may.
    Optional,
}

/// One field of a definition.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Whether it must be there.
    pub need: Need,
    /// What it holds, in a few words.
    pub holds: &'static str,
}

const fn field(name: &'static str, holds: &'static str) -> Field {
    Field {
        name,
        need: Need::Optional,
        holds,
    }
}

const fn required(name: &'static str, holds: &'static str) -> Field {
    Field {
        name,
        need: Need::Required,
        holds,
    }
}

/// Every field, in the order in which it is written.
pub const FIELDS: &[Field] = &[
    required(
        "name",
        "`<group>_<action>`, `^[a-z][a-z0-9_]*$`, at most 64",
    ),
    field("title", "a name for people"),
    required("description", "what it does and when to use it"),
    field("category", "the heading in the catalog"),
    field("tags", "free labels"),
    field("aliases", "other names that it answers to"),
    field("version", "semver"),
    field("enabled", "`false` switches it off"),
    field("risk", "`read`, `exec_low`, `exec_high` or `write`"),
    field("reversible", "`yes`, `no` or `{compensate: <tool>}`"),
    required("input_schema", "JSON Schema 2020-12 of the arguments"),
    field("output_schema", "JSON Schema of the result"),
    field("detail", "the long description, Markdown"),
    field("triggers", "when to think of it"),
    field(
        "prerequisites",
        "text, or `{condition, check_tool, action_if_not_met}`",
    ),
    field("warnings", "what to be careful about"),
    field("examples", "`{scenario, params, expected}`"),
    field("related_tools", "`{name, relation}`"),
    field("workflow", "`{name, steps}`"),
    field("executor", "a kind, or `{type, …settings}`"),
    field("allowed_paths", "a path, or `{path, access}`"),
    field("timeout", "seconds, or text like `500ms`, `2m`"),
    field("retry", "`true`, a count, or `{max, delay_ms}`"),
    field("idempotent", "calling twice is calling once"),
    field("serial", "nothing else runs beside it"),
    field("sensitive", "not for every eye"),
    field("return_direct", "the result goes to the user as it is"),
    field("metadata", "anything else"),
];
