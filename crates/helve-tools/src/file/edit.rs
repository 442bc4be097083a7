//! Changing a part of a file: exactly what was named, or nothing.

mod nearest;
#[cfg(test)]
mod tests;

use std::path::Path;

use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::text::{self, Script};
use super::write::{left_out, no_text};
use super::{LARGEST, make_around, marker, too_large};

/// How many places are named.
const NAMED: usize = 10;

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Edited {
    /// The file, from the workspace.
    path: String,
    /// How many places were changed.
    replacements: usize,
    /// The lines at which they begin now: the first ten.
    lines: Vec<usize>,
    /// Bytes of the file as it is now.
    bytes: u64,
}

/// Replaces an exact piece of a file. Use it when a part of a file changes; read it first.
///
/// `old_string` must stand in the file exactly as given, indentation and all, and only once:
/// give enough lines around it, or `replace_all`. The file keeps its encoding, its byte order
/// mark and its line ends. With an empty `old_string` a file that is new or empty is filled.
#[tool(
    group = "file",
    title = "Edit a file",
    category = "File",
    risk = "write",
    held,
    output,
    paths = ["."],
    aliases = ["edit_file"],
    triggers = ["When a part of a file changes", "When a name changes everywhere in a file"],
    prerequisites = ["The exact text that is there (`file_read` shows it)"],
    warnings = ["Nothing is changed if the text is not found, or found more often than once"],
    related = [("file_read", "shows the exact text"), ("file_write", "writes the whole file anew")],
    example(scenario = "A value changes", params = {"path": "config.toml", "old_string": "retries = 2", "new_string": "retries = 5"}, expected = "One replacement, with its line"),
    example(scenario = "A name changes everywhere", params = {"path": "src/lib.rs", "old_string": "old_name", "new_string": "new_name", "replace_all": true}, expected = "The number of replacements")
)]
pub(super) async fn edit(
    ctx: &Ctx,
    /// The file.
    #[path]
    #[schemars(extend("x-aliases" = ["file_path", "filename"]))]
    path: String,
    /// What is there now, exactly.
    #[schemars(extend("x-aliases" = ["old_text", "oldText", "old_str"]))]
    old_string: String,
    /// What is to stand there instead; empty removes it.
    #[schemars(extend("x-aliases" = ["new_text", "newText", "new_str"]))]
    new_string: String,
    /// Whether it is replaced everywhere; false refuses if it is there more than once.
    #[default(false)]
    replace_all: bool,
) -> Result<Edited, ToolError> {
    let change = Change {
        old: old_string,
        new: new_string,
        all: replace_all,
    };
    change.is_sound()?;
    // Most files are small, in memory already, and have what is to be replaced. To find what
    // comes nearest to it takes longer than others may be held up.
    if let Some(seen) = ctx.files().glance(&path, GLANCED)
        && std::str::from_utf8(&seen.bytes).is_ok_and(|text| text.contains(&change.old))
    {
        let (bytes, edited) = edited(&seen.bytes, &change, seen.shown)?;
        if ctx.files().jot(&path, &seen.bytes, &bytes) {
            return Ok(edited);
        }
    }
    ctx.files()
        .work(path, move |desk| apply(desk, desk.path(), &change))
        .await
}

/// Larger files are changed beside the runtime.
const GLANCED: usize = 64 << 10;

struct Change {
    old: String,
    new: String,
    all: bool,
}

impl Change {
    /// Whether it can be meant so.
    fn is_sound(&self) -> Result<(), ToolError> {
        if self.old == self.new {
            return Err(ToolError::validation(
                "`old_string` and `new_string` are the same, so there is nothing to change",
            ));
        }
        match marker::placeholder(&self.new) {
            Some((line, said)) if !self.old.contains(said) => {
                Err(left_out("new_string", line, said))
            }
            _ => Ok(()),
        }
    }
}

fn apply(desk: &Desk<'_>, path: &Path, change: &Change) -> Result<Edited, ToolError> {
    let shown = desk.shown(path);
    if desk.look(path)?.is_none() && change.old.is_empty() {
        make_around(desk, path)?;
        desk.write(path, change.new.as_bytes())?;
        return Ok(Edited {
            path: shown,
            replacements: 1,
            lines: vec![1],
            bytes: change.new.len() as u64,
        });
    }
    let looked = super::file(desk, path)?;
    if looked.size > LARGEST {
        return Err(too_large(desk, path, looked.size));
    }
    let (bytes, edited) = edited(&desk.read(path)?, change, shown)?;
    desk.write(path, &bytes)?;
    Ok(edited)
}

/// A file after the change.
fn edited(bytes: &[u8], change: &Change, shown: String) -> Result<(Vec<u8>, Edited), ToolError> {
    let script = match bytes.is_empty() {
        true => Script::UTF_8,
        false => text::detect(bytes, true).ok_or_else(|| no_text(&shown))?,
    };
    let (before, broken) = text::decode(bytes, script);
    // What was read as something that it may not be must at least come back as it was.
    if broken || text::encode(&before, script)? != bytes {
        let name = script.name();
        return Err(ToolError::validation(format!(
            "`{shown}` has bytes that are no text in {name}; they would be lost"
        ))
        .with_hint("write the whole file anew with `file_write`, if that is meant"));
    }
    let (after, lines) = replaced(&before, change, &shown)?;
    let bytes = text::encode(&after, script)?;
    let edited = Edited {
        path: shown,
        replacements: lines.len(),
        lines: lines.into_iter().take(NAMED).collect(),
        bytes: bytes.len() as u64,
    };
    Ok((bytes, edited))
}

/// The text after the change, and the lines at which it changed.
fn replaced(before: &str, change: &Change, shown: &str) -> Result<(String, Vec<usize>), ToolError> {
    let (mut old, mut new) = (change.old.clone(), change.new.clone());
    if old.is_empty() {
        return match before.is_empty() {
            true => Ok((new, vec![1])),
            false => Err(ToolError::validation(format!(
                "`old_string` is empty, and `{shown}` is not: what is to be replaced?"
            ))
            .with_hint("`file_append` adds to the end, `file_write` writes it anew")),
        };
    }
    // Whoever was shown the lines did not see how they end.
    if text::is_crlf(before) {
        (old, new) = (text::to_crlf(&old), text::to_crlf(&new));
    }
    let places: Vec<usize> = before.match_indices(&old).map(|(at, _)| at).collect();
    match places.len() {
        0 => return Err(nearest::not_found(before, &old, shown)),
        1 => {}
        _ if change.all => {}
        count => {
            let lines: Vec<String> = places
                .iter()
                .take(NAMED)
                .map(|at| line_of(before, *at).to_string())
                .collect();
            let more = if count > NAMED { ", …" } else { "" };
            return Err(ToolError::conflict(format!(
                "`old_string` stands {count} times in `{shown}`, at lines {}{more}",
                lines.join(", ")
            ))
            .with_hint("give more of the lines around it, or set `replace_all`"));
        }
    }
    let after = before.replace(&old, &new);
    let mut lines = Vec::with_capacity(places.len());
    let (mut from, mut line) = (0, 1);
    let grown = new.matches('\n').count();
    for at in places {
        line += before[from..at].matches('\n').count();
        lines.push(line);
        line += grown;
        from = at + old.len();
    }
    Ok((after, lines))
}

/// The number of the line in which a byte stands.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}
