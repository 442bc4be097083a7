//! Mended definitions, put back into the text that they came from.
//!
//! Only dialects that have the fields to move text into are rewritten, and only
//! the tools that changed. A tool whose text has comments is left alone where the
//! syntax gives no way to keep them: a comment is somebody's work.

use serde_json::Value;

use super::Applied;
use crate::collection::{Document, Loaded};
use crate::dialect::{self, Strictness};
use crate::read::{Syntax, python};
use crate::write;

/// What mending a document came to.
#[derive(Debug, Default)]
pub struct Rewrite {
    /// The new text, if anything changed.
    pub text: Option<String>,
    /// What was done, by tool.
    pub applied: Vec<(String, Applied)>,
    /// What could have been done, but was not, and why.
    pub refused: Vec<String>,
}

/// Mends what can be mended safely.
pub fn rewrite(document: &Document) -> Rewrite {
    let mut out = Rewrite::default();
    let mut changed: Vec<(&Loaded, Value)> = Vec::new();
    let mut intended: Vec<crate::ToolDef> = document.tools.iter().map(|t| t.def.clone()).collect();
    let whole = document
        .node
        .as_ref()
        .map(crate::node::Node::to_value)
        .unwrap_or_default();
    for (i, tool) in document.tools.iter().enumerate() {
        let mut def = tool.def.clone();
        let applied: Vec<Applied> = super::mend(&mut def)
            .into_iter()
            .filter(|a| a.safe)
            .collect();
        if applied.is_empty() {
            continue;
        }
        if !is_mended(tool.dialect.name) {
            let name = &tool.def.name;
            let dialect = tool.dialect.name;
            out.refused
                .push(format!("`{name}`: `{dialect}` has no fields to move it to"));
            continue;
        }
        match dialect::encode(&def, tool.dialect, Strictness::Loose) {
            Ok(encoded) if encoded.losses.is_empty() => {
                changed.push((tool, keep_name(encoded.value, tool, &whole)));
                intended[i] = def;
                let name = tool.def.name.to_string();
                out.applied
                    .extend(applied.into_iter().map(|a| (name.clone(), a)));
            }
            _ => out.refused.push(format!(
                "`{}` cannot be written back as it is",
                tool.def.name
            )),
        }
    }
    if changed.is_empty() {
        return out;
    }
    let same = |text: String| match reads_back(document, &text, &intended) {
        true => Ok(text),
        false => {
            Err("what would be written does not read back as it should; mend it by hand".to_owned())
        }
    };
    match put_back(document, &changed).and_then(same) {
        Ok(text) => out.text = Some(document.as_it_was(&text)),
        Err(why) => {
            out.applied.clear();
            out.refused.push(why);
        }
    }
    out
}

/// The dialects that have the fields to move text into.
pub(crate) fn is_mended(dialect: &str) -> bool {
    ["helve", "openakita"].contains(&dialect)
}

/// Nothing is written that would not be read as what was meant.
fn reads_back(document: &Document, text: &str, intended: &[crate::ToolDef]) -> bool {
    let again = document.read_again(text);
    let found = again.tools.iter().map(|t| &t.def);
    again.tools.len() == intended.len() && found.eq(intended)
}

/// A file in a group's folder gives just the action; it goes on doing so.
fn keep_name(mut value: Value, tool: &Loaded, whole: &Value) -> Value {
    if let Some(written) = whole.pointer(&tool.pointer).and_then(|t| t.get("name")) {
        value["name"] = written.clone();
    }
    value
}

fn put_back(document: &Document, changed: &[(&Loaded, Value)]) -> Result<String, String> {
    let text = document.text();
    let node = document.node.as_ref().ok_or("the text was not read")?;
    if document.syntax == Syntax::Python {
        return splice(text, node, changed);
    }
    let comments = document.syntax != Syntax::Json && has_comment(text, '#');
    if comments {
        return Err("it has comments, which would be lost; mend it by hand".to_owned());
    }
    let mut whole = node.to_value();
    for (tool, value) in changed {
        match whole.pointer_mut(&tool.pointer) {
            Some(place) => *place = value.clone(),
            None => return Err("the tool was not found again".to_owned()),
        }
    }
    let native = dialect::find("helve").ok_or("no dialect")?;
    write::text(vec![whole], native, document.syntax, true).map_err(|e| e.to_string())
}

/// Puts each changed dict in the place of the old one, last first.
fn splice(
    text: &str,
    node: &crate::node::Node,
    changed: &[(&Loaded, Value)],
) -> Result<String, String> {
    let mut spans = Vec::new();
    for (tool, value) in changed {
        let start = node.locate(&tool.pointer);
        // What stands there may be a name for the dict, or a call.
        let end = python::literal_end(text, start)
            .filter(|_| text[start..].starts_with('{'))
            .ok_or_else(|| {
                let name = &tool.def.name;
                format!("`{name}` is not written out as a dict; mend it by hand")
            })?;
        if crate::read::read(&text[start..end], Syntax::Python).is_err() {
            let name = &tool.def.name;
            return Err(format!(
                "`{name}` takes values from elsewhere in the file; mend it by hand"
            ));
        }
        if has_comment(&text[start..end], '#') {
            let name = &tool.def.name;
            return Err(format!(
                "`{name}` has comments, which would be lost; mend it by hand"
            ));
        }
        let line = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let indent = text[line..].len() - text[line..].trim_start_matches(' ').len();
        spans.push((start, end, write::python::literal(value, indent / 4)));
    }
    spans.sort_by_key(|(start, ..)| std::cmp::Reverse(*start));
    let mut out = text.to_owned();
    for (start, end, new) in spans {
        out.replace_range(start..end, &new);
    }
    Ok(out)
}

/// Whether there may be a comment; rather once too often. A mark behind white space
/// always counts, as it may stand in text that has no quotes of its own.
fn has_comment(text: &str, mark: char) -> bool {
    text.lines().any(|line| {
        let spaced = |(i, c): (usize, char)| {
            c == mark && (i == 0 || line[..i].ends_with(char::is_whitespace))
        };
        if line.char_indices().any(spaced) {
            return true;
        }
        let mut quote = None;
        let mut before = ' ';
        for c in line.chars() {
            match quote {
                Some(open) if c == open && before != '\\' => quote = None,
                Some(_) => {}
                None if c == '"' || c == '\'' => quote = Some(c),
                None if c == mark => return true,
                None => {}
            }
            before = c;
        }
        // An open quote runs on to the next line, where anything may follow it.
        quote.is_some() && line.contains(mark)
    })
}
