//! A skill's folder as files.

use serde_json::Value;

use super::{File, yaml_text};
use crate::dialect::EncodeError;

/// `<folder>/SKILL.md` and what stands beside it; `stem` ends in `SKILL`.
pub(super) fn files(skill: &Value, stem: &str) -> Result<Vec<File>, EncodeError> {
    let folder = stem.strip_suffix("SKILL").unwrap_or_default();
    let mut files = vec![File {
        path: format!("{folder}SKILL.md"),
        text: main(skill)?,
    }];
    for (path, text) in skill.as_object().into_iter().flatten() {
        if let (Value::String(text), true) = (text, is_file(path, text)) {
            files.push(File {
                path: format!("{folder}{path}"),
                text: text.clone(),
            });
        }
    }
    Ok(files)
}

/// Whether a part of a skill is a file beside `SKILL.md`.
pub(crate) fn is_file(path: &str, text: &Value) -> bool {
    text.is_string() && safe(path)
}

/// Only what a skill's folder may hold, and never a way out of it.
fn safe(path: &str) -> bool {
    let inside = path
        .split('/')
        .all(|part| !part.is_empty() && part != "." && part != "..");
    inside && path.ends_with(".md") && !path.contains('\\')
}

/// A skill that is one file.
pub(super) fn single(tools: &[Value]) -> Result<String, EncodeError> {
    let refuse = |reason: &str| EncodeError::Text {
        dialect: "skill",
        pointer: String::new(),
        reason: reason.to_owned(),
    };
    let [skill] = tools else {
        return Err(refuse("a file holds one skill; give a folder to write to"));
    };
    match files(skill, "SKILL")?.as_slice() {
        [only] => Ok(only.text.clone()),
        _ => Err(refuse(
            "this skill has several files; give a folder to write to",
        )),
    }
}

fn main(skill: &Value) -> Result<String, EncodeError> {
    let front = skill.get("frontmatter").cloned().unwrap_or_default();
    let body = skill
        .get("body")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let front = yaml_text(&front, "skill")?;
    Ok(format!(
        "---\n{}\n---\n{body}",
        front.trim_end_matches('\n')
    ))
}
