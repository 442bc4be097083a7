//! `SKILL.md`: YAML frontmatter between two `---` lines, then Markdown.
//!
//! Becomes `{frontmatter: {…}, body: "…"}`. What stands beside the file
//! (`examples.md`, `references/`) is put in by whoever can read folders, see
//! [`with_file`].

use super::{Problem, ReadError, syntax, yaml};
use crate::node::{Entry, Kind, Node};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let rest = text
        .strip_prefix("---\n")
        .or_else(|| text.strip_prefix("---\r\n"))
        .ok_or_else(|| syntax(0, "a skill begins with `---` and its frontmatter"))?;
    let start = text.len() - rest.len();
    let mut at = start;
    let mut end = None;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            end = Some((at, at + line.len()));
            break;
        }
        at += line.len();
    }
    let (close, body) = end.ok_or_else(|| Problem::Truncated("the frontmatter").at(text.len()))?;
    let shift = |e: ReadError| ReadError {
        at: e.at.saturating_add(start),
        ..e
    };
    let mut frontmatter = yaml::read(&text[start..close]).map_err(shift)?;
    move_by(&mut frontmatter, start);
    if !matches!(frontmatter.kind, Kind::Object(_)) {
        return Err(syntax(start, "the frontmatter must be keys and values"));
    }
    let entry = |key: &str, value: Node| Entry {
        at: value.at,
        key: key.to_owned(),
        value,
    };
    Ok(Node::new(
        0,
        Kind::Object(vec![
            entry("frontmatter", frontmatter),
            entry("body", Node::string(body, &text[body..])),
        ]),
    ))
}

/// Adds a file of the skill's folder, by its path from there.
pub fn with_file(skill: &mut Node, path: &str, text: &str) {
    if let Kind::Object(entries) = &mut skill.kind {
        entries.push(Entry {
            at: 0,
            key: path.to_owned(),
            value: Node::string(0, text),
        });
    }
}

fn move_by(node: &mut Node, by: usize) {
    node.at = node.at.saturating_add(by);
    match &mut node.kind {
        Kind::Array(items) => items.iter_mut().for_each(|n| move_by(n, by)),
        Kind::Object(entries) => {
            for entry in entries {
                entry.at = entry.at.saturating_add(by);
                move_by(&mut entry.value, by);
            }
        }
        _ => {}
    }
}
