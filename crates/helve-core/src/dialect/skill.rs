//! Agent Skills: a folder with `SKILL.md`, and what may stand beside it.
//!
//! | in the folder | in the definition |
//! |---|---|
//! | frontmatter | `name`, `description`, and what fits into its `metadata` |
//! | body | `detail` |
//! | `examples.md` | `examples` |
//! | `references/related-tools.md` | `related_tools` |
//! | `scripts/` | the executor, which is not converted |
//!
//! Below the body, behind [`MARK`], stand the lists and the schema that a skill has
//! no field for; they read well there, and come back exactly.

mod markdown;

use serde_json::{Map, Value, json};

use super::draft::Outline;
use super::{Dialect, Draft, EncodeError, Encoded, Loss, Source, Strictness, as_list};
use crate::def::{Prerequisite, ToolDef};
use crate::lint::Issue;
use crate::read::Syntax;

pub(super) const DIALECT: Dialect = Dialect {
    name: "skill",
    about: "Agent Skills (SKILL.md)",
    syntaxes: &[Syntax::Skill],
    holds: &[
        "name",
        "description",
        "detail",
        "triggers",
        "warnings",
        "examples",
        "related_tools",
        "input_schema",
    ],
    encode,
    decode,
    together: as_list,
    path: |def| format!("{}/SKILL", skill_name(def)),
};

/// The line below which the fields stand that a skill has no place for.
pub(super) const MARK: &str = "<!-- fields of the tool -->";

/// The most characters of a skill's description.
const MAX_DESCRIPTION: usize = 1024;

/// Small letters, digits and single hyphens.
fn skill_name(def: &ToolDef) -> String {
    let parts = def.name.as_str().split('_').filter(|p| !p.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

fn encode(def: &ToolDef, _: Strictness) -> Result<Encoded, EncodeError> {
    let mut outline = Outline::of("skill", def);
    let mut carried = outline.carried();
    let mut front = Map::new();
    let mut metadata = Map::new();
    let name = skill_name(def);
    outline.remove("name");
    if name.replace('-', "_") != def.name.as_str() {
        metadata.insert("tool-name".to_owned(), json!(def.name.as_str()));
    }
    front.insert("name".to_owned(), json!(name));
    outline.remove("description");
    front.insert(
        "description".to_owned(),
        json!(description(&mut outline, &def.description)),
    );
    for field in ["category", "title", "version"] {
        if let Some(value) = outline.remove(field) {
            metadata.insert(field.to_owned(), value);
        }
    }
    take_metadata(&mut outline, &mut metadata);
    if let Some(Value::Object(given)) = carried.shift_remove("frontmatter") {
        for (key, value) in given {
            front.entry(key).or_insert(value);
        }
    }
    if !metadata.is_empty() {
        front.insert("metadata".to_owned(), Value::Object(metadata));
    }
    outline.set("frontmatter", front);
    let body = body(&mut outline, def)?;
    outline.set("body", body);
    if outline.remove("examples").is_some() {
        outline.set("examples.md", markdown::examples(&def.examples));
    }
    if outline.remove("related_tools").is_some() {
        outline.set(
            "references/related-tools.md",
            markdown::related(&def.related_tools),
        );
    }
    for (key, _) in carried
        .iter()
        .filter(|(key, value)| !crate::write::is_skill_file(key, value))
    {
        let field = format!("/metadata/skill/{}", crate::node::escape(key));
        outline.losses.push(Loss::dropped(
            field,
            "a skill is written as Markdown files only",
        ));
    }
    outline.restore(carried, "name");
    outline.finish()
}

fn description(outline: &mut Outline, text: &str) -> String {
    if text.chars().count() > MAX_DESCRIPTION {
        let reason = format!("cut to the {MAX_DESCRIPTION} characters that a skill may have");
        outline.losses.push(Loss::changed("/description", reason));
    }
    text.chars().take(MAX_DESCRIPTION).collect()
}

/// A skill's metadata is text by name.
fn take_metadata(outline: &mut Outline, metadata: &mut Map<String, Value>) {
    let Some(Value::Object(given)) = outline.remove("metadata") else {
        return;
    };
    for (key, value) in given {
        let reserved = ["tool-name", "category", "title", "version"].contains(&key.as_str());
        if value.is_string() && !reserved {
            metadata.insert(key, value);
        } else {
            let field = format!("/metadata/{}", crate::node::escape(&key));
            let reason = "a skill's metadata is text by name";
            outline.losses.push(Loss::dropped(field, reason));
        }
    }
}

fn body(outline: &mut Outline, def: &ToolDef) -> Result<String, EncodeError> {
    let detail = def.detail.as_deref().unwrap_or_default();
    if detail.contains(MARK) {
        return Err(EncodeError::Text {
            dialect: "skill",
            pointer: "/detail".to_owned(),
            reason: format!("it has the line `{MARK}`, which ends the body of a skill"),
        });
    }
    if outline.remove("detail").is_some() && (detail.trim() != detail || detail.is_empty()) {
        let reason = "white space at its ends is not kept";
        outline.losses.push(Loss::changed("/detail", reason));
    }
    let mut out = String::new();
    if !detail.trim().is_empty() {
        out.push_str(&format!("\n{}\n", detail.trim()));
    }
    out.push_str(&format!("\n{MARK}\n"));
    for (field, heading, list) in [
        ("triggers", markdown::TRIGGERS, &def.triggers),
        ("warnings", markdown::WARNINGS, &def.warnings),
    ] {
        if outline.remove(field).is_some() {
            out.push_str(&markdown::list(heading, list.iter().map(String::as_str)));
        }
    }
    if outline.remove("prerequisites").is_some() {
        for (i, p) in def.prerequisites.iter().enumerate() {
            if matches!(p, Prerequisite::Check { .. }) {
                let reason = "a skill's list has only the condition";
                outline
                    .losses
                    .push(Loss::changed(format!("/prerequisites/{i}"), reason));
            }
        }
        let conditions = def.prerequisites.iter().map(Prerequisite::condition);
        out.push_str(&markdown::list(markdown::PREREQUISITES, conditions));
    }
    outline.remove("input_schema");
    out.push_str(&markdown::schema(&def.input_schema));
    Ok(out)
}

fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("skill", source.value)?;
    let mut front = match draft.remove("frontmatter") {
        Some(Value::Object(front)) => front,
        _ => Map::new(),
    };
    let mut metadata = match front.shift_remove("metadata") {
        Some(Value::Object(map)) => map,
        None => Map::new(),
        Some(_) => {
            draft.lose(Loss::dropped(
                "/metadata",
                "a skill's metadata is text by name",
            ));
            Map::new()
        }
    };
    let tool_name = metadata
        .shift_remove("tool-name")
        .or(front.shift_remove("tool-name"));
    let skill = front.shift_remove("name");
    let name = tool_name.or_else(|| {
        let name = skill.as_ref()?.as_str()?;
        Some(json!(name.replace('-', "_")))
    });
    if let Some(name) = name {
        draft.set("name", name, "frontmatter");
        draft.place("/name".to_owned(), "/frontmatter/name".to_owned());
    }
    for field in ["description", "category", "title", "version"] {
        // A skill's version is free text; only a semantic one is ours.
        let semantic = |v: &Value| {
            v.as_str()
                .is_some_and(|v| semver::Version::parse(v).is_ok())
        };
        let given = front.get(field).or(metadata.get(field));
        if field == "version" && !given.is_none_or(semantic) {
            continue;
        }
        let value = front.shift_remove(field).or(metadata.shift_remove(field));
        if let Some(value) = value {
            draft.set(field, value, "frontmatter");
            draft.place(format!("/{field}"), format!("/frontmatter/{field}"));
        }
    }
    if !metadata.is_empty() {
        draft.set("metadata", Value::Object(metadata), "frontmatter");
        draft.place("/metadata".to_owned(), "/frontmatter/metadata".to_owned());
    }
    if !front.is_empty() {
        draft.carry("frontmatter", Value::Object(front));
    }
    take_body(&mut draft);
    draft.schema_or_empty();
    if let Some(Value::String(text)) = draft.remove("examples.md") {
        match markdown::read_examples(&text) {
            Some(examples) => draft.set("examples", examples, "examples.md"),
            None => draft.carry("examples.md", json!(text)),
        }
    }
    if let Some(Value::String(text)) = draft.remove("references/related-tools.md") {
        match markdown::read_related(&text) {
            Some(related) => draft.set("related_tools", related, "references/related-tools.md"),
            None => draft.carry("references/related-tools.md", json!(text)),
        }
    }
    if draft.remove("scripts/").is_some() {
        let reason = "what is in `scripts/` runs only where an executor is written for it";
        draft.lose(Loss::dropped("/executor", reason));
    }
    draft.carry_rest();
    Ok(draft)
}

fn take_body(draft: &mut Draft) {
    let Some(Value::String(body)) = draft.remove("body") else {
        return;
    };
    let (detail, fields) = match body.split_once(MARK) {
        Some((detail, fields)) => (detail, Some(fields)),
        None => (body.as_str(), None),
    };
    if !detail.trim().is_empty() {
        draft.set("detail", json!(detail.trim()), "body");
    }
    for (heading, value) in fields.map(markdown::sections).unwrap_or_default() {
        let field = match heading.as_str() {
            markdown::TRIGGERS => "triggers",
            markdown::WARNINGS => "warnings",
            markdown::PREREQUISITES => "prerequisites",
            markdown::SCHEMA => "input_schema",
            other => {
                let reason = format!("the section `{other}` is no field of a tool");
                draft.lose(Loss::dropped("", reason));
                continue;
            }
        };
        draft.set(field, value, "body");
    }
}
