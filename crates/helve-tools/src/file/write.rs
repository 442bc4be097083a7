//! Writing a whole file, and adding to one.

use std::path::Path;

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::text::{self, Script};
use super::{LARGEST, Sort, make_around, marker, too_large};

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Written {
    /// The file, from the workspace.
    path: String,
    /// `created`, `overwritten` or `appended`.
    action: &'static str,
    /// Bytes of the file as it is now.
    bytes: u64,
    /// Lines of what was written.
    lines: u64,
}

/// Writes a whole file. Use it when a file is new, or most of it changes; for a part, `file_edit`.
///
/// Folders on the way are made. A file that is there keeps its permissions. The content is
/// written as UTF-8. What stood there comes back if the run is undone.
#[tool(
    group = "file",
    title = "Write a file",
    category = "File",
    risk = "write",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["write_file"],
    triggers = ["When a new file is made", "When a file is written anew as a whole"],
    warnings = ["It replaces the whole content: give all of it, never a placeholder for the rest"],
    related = [("file_edit", "changes a part"), ("file_append", "adds to the end"), ("file_read", "shows what is there")],
    example(scenario = "A new file", params = {"path": "notes/today.md", "content": "# Today\n"}, expected = "created, with bytes and lines")
)]
pub(super) async fn write(
    ctx: &Ctx,
    /// The file.
    #[path]
    #[schemars(extend("x-aliases" = ["file_path", "filename"]))]
    path: String,
    /// All that is to be in it.
    #[schemars(extend("x-aliases" = ["text", "contents"]))]
    content: String,
    /// `overwrite` (or `write`) replaces what is there, `append` adds to it, `create_new` refuses if there is something.
    #[default("overwrite")]
    #[schemars(extend("enum" = ["overwrite", "write", "append", "create_new"]))]
    mode: String,
) -> Result<Written, ToolError> {
    let work = move |desk: &Desk<'_>| match mode.as_str() {
        "append" => add(desk, desk.path(), &content),
        mode => put(desk, desk.path(), &content, mode == "create_new"),
    };
    ctx.files().work(path, work).await
}

/// Adds text to the end of a file. Use it when a log, a list or a journal grows.
///
/// The file is made if it is not there, and its folders. It keeps its encoding and its line
/// ends. A line end is not added by itself: begin or end the content with one.
#[tool(
    group = "file",
    title = "Add to a file",
    category = "File",
    risk = "write",
    held,
    output,
    paths = ["."],
    aliases = ["append_file"],
    triggers = ["When something is noted at the end of a file"],
    related = [("file_write", "writes the whole file"), ("file_edit", "changes a part")],
    example(scenario = "A line for a journal", params = {"path": "journal.md", "content": "- done\n"}, expected = "appended, with the new size")
)]
pub(super) async fn append(
    ctx: &Ctx,
    /// The file.
    #[path]
    #[schemars(extend("x-aliases" = ["file_path", "filename"]))]
    path: String,
    /// What is added.
    #[schemars(extend("x-aliases" = ["text", "contents"]))]
    content: String,
) -> Result<Written, ToolError> {
    let work = move |desk: &Desk<'_>| add(desk, desk.path(), &content);
    ctx.files().work(path, work).await
}

fn put(desk: &Desk<'_>, path: &Path, content: &str, only_new: bool) -> Result<Written, ToolError> {
    let there = desk.look(path)?;
    if let Some(looked) = there {
        let shown = desk.shown(path);
        if looked.what == What::Dir {
            return Err(ToolError::validation(format!("`{shown}` is a folder"))
                .with_hint("name the file inside it"));
        }
        if only_new {
            let what = Sort::from(looked.what).name();
            return Err(
                ToolError::conflict(format!("`{shown}` is there already: {what}"))
                    .with_hint("`overwrite` replaces it, `file_edit` changes a part of it"),
            );
        }
        if let Some((line, said)) = marker::placeholder(content)
            && looked.size > content.len() as u64
            && looked.size <= LARGEST
            && !holds(&desk.read(path)?, said)
        {
            return Err(left_out("content", line, said));
        }
    }
    make_around(desk, path)?;
    desk.write(path, content.as_bytes())?;
    Ok(Written {
        path: desk.shown(path),
        action: match there {
            Some(_) => "overwritten",
            None => "created",
        },
        bytes: content.len() as u64,
        lines: text::lines(content),
    })
}

fn add(desk: &Desk<'_>, path: &Path, content: &str) -> Result<Written, ToolError> {
    let Some(looked) = desk.look(path)? else {
        return put(desk, path, content, false);
    };
    super::file(desk, path)?;
    if looked.size > LARGEST {
        return Err(too_large(desk, path, looked.size));
    }
    let old = desk.read(path)?;
    let script = match old.is_empty() {
        true => Some(Script::UTF_8),
        false => text::detect(&old, true),
    };
    let script = script.ok_or_else(|| no_text(&desk.shown(path)))?;
    let (before, _) = text::decode(&old, script);
    let added = match text::is_crlf(&before) {
        true => text::to_crlf(content),
        false => content.to_owned(),
    };
    // The mark is there already.
    let bytes = text::encode(&added, Script { mark: 0, ..script })?;
    desk.append(path, &bytes)?;
    Ok(Written {
        path: desk.shown(path),
        action: "appended",
        bytes: (old.len() + bytes.len()) as u64,
        lines: text::lines(content),
    })
}

/// Whether a line stands in a file.
fn holds(bytes: &[u8], line: &str) -> bool {
    let lines = bytes.split(|b| *b == b'\n');
    lines.into_iter().any(|l| l.trim_ascii() == line.as_bytes())
}

/// What is said of a text that leaves something out.
pub(super) fn left_out(argument: &str, line: usize, said: &str) -> ToolError {
    let said: String = said.chars().take(100).collect();
    ToolError::validation(format!(
        "line {line} of `{argument}` stands for a text that was left out: `{said}`; the file would lose it"
    ))
    .with_hint("give the whole content, or change only a part with `file_edit`")
}

pub(super) fn no_text(shown: &str) -> ToolError {
    ToolError::validation(format!(
        "`{shown}` is no text, so it cannot be edited as one"
    ))
    .with_hint("`file_read` tells what it is")
}
