//! Finding files by their names.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use helve_kernel::helve_changes::{Time, What};
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ROOM, json_length, told_time};
use crate::walk::{Include, Walk, Wanted};

/// A file that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Hit {
    /// The file, from the workspace.
    path: String,
    /// Bytes.
    size: u64,
    /// When it was last written.
    modified: String,
}

/// The files that were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Hits {
    /// The first, by path.
    files: Vec<Hit>,
    /// How many there are.
    total: usize,
    /// Whether there are more than these.
    truncated: bool,
    /// What is worth knowing, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Finds files by a pattern of their paths. Use it when you know how a file is called, not where it is.
///
/// `*` stands for anything in a name, `**` for any folders, `{a,b}` for one or the other:
/// `**/*.rs`, `src/*.{ts,tsx}`. What `.gitignore` leaves out is not found, unless `ignored`
/// says so; names that begin with a dot only if the pattern has one, or `hidden`.
#[tool(
    group = "file",
    title = "Find files by name",
    category = "File",
    risk = "read",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["glob", "find_files"],
    triggers = ["When it is known how a file is called, but not where it is", "When all files of a kind are needed"],
    related = [("file_grep", "finds files by what is in them"), ("file_list", "lists one folder")],
    example(scenario = "All tests", params = {"pattern": "**/*_test.py"}, expected = "Their paths, sizes and times")
)]
pub(super) async fn glob(
    ctx: &Ctx,
    /// The pattern, beneath `path`.
    #[schemars(length(min = 1, max = 1000))]
    pattern: String,
    /// The folder to look in; `.` is the workspace.
    #[path]
    #[default(".")]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: String,
    /// How many at most.
    #[default(100)]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// Whether what `.gitignore` leaves out is found, too; false leaves it out.
    #[default(false)]
    ignored: bool,
    /// Whether names that begin with a dot are found; false only if the pattern has such a name.
    #[default(false)]
    hidden: bool,
) -> Result<Hits, ToolError> {
    let dotted = pattern
        .split('/')
        .any(|part| part.starts_with('.') && part != ".");
    let wanted = Wanted {
        hidden: hidden || dotted,
        ignored,
        include: Some(Include::of_path(&pattern, "pattern")?),
        types: None,
    };
    ctx.files()
        .work(path, move |desk| hits(desk, &wanted, max_results, &pattern))
        .await
}

fn hits(desk: &Desk<'_>, wanted: &Wanted, most: usize, pattern: &str) -> Result<Hits, ToolError> {
    let walk = Walk::new(desk)?;
    let found: Mutex<Vec<(PathBuf, u64, Time)>> = Mutex::default();
    let each = |(): &mut (), path: &Path| {
        // What the walk came to by a link that was swapped in is not beneath.
        if let Ok(Some(looked)) = walk.beneath.look(path)
            && looked.what == What::File
        {
            let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
            found.push((path.to_owned(), looked.size, looked.mtime));
        }
    };
    walk.each(wanted, || (), each)?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by(|a, b| a.0.cmp(&b.0));
    let total = found.len();
    let mut room = ROOM;
    let mut files = Vec::new();
    for (path, size, mtime) in found.into_iter().take(most) {
        let path = desk.shown(&path);
        let needs = 80 + json_length(&path);
        if needs > room {
            break;
        }
        room -= needs;
        files.push(Hit {
            path,
            size,
            modified: told_time(mtime),
        });
    }
    let truncated = files.len() < total;
    let note = match total {
        0 if !pattern.contains("**") => Some(format!(
            "Nothing matches. `**/{pattern}` looks in all folders beneath, too."
        )),
        0 if !wanted.ignored => {
            Some("Nothing matches. `ignored` also finds what `.gitignore` leaves out.".to_owned())
        }
        _ if truncated => Some(format!(
            "These are the first {} of {total}. Narrow the pattern, or raise `max_results`.",
            files.len()
        )),
        _ => None,
    };
    Ok(Hits {
        files,
        total,
        truncated,
        note,
    })
}
