//! Removing files and folders.

use std::path::Path;

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sort, there};

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Deleted {
    /// The path, from the workspace.
    path: String,
    /// What it was.
    #[serde(rename = "type")]
    sort: Sort,
    /// How many files, links and folders are gone, itself among them.
    removed: usize,
}

/// Deletes a file, a link or a folder. Use it when something is not needed any more.
///
/// An empty folder goes as it is; one that holds something only with `recursive`. Of a link,
/// the link goes, and not what it leads to. What is deleted comes back if the run is undone.
#[tool(
    group = "file",
    title = "Delete a file or folder",
    category = "File",
    risk = "write",
    held,
    output,
    paths = ["."],
    aliases = ["delete_file", "remove_file"],
    triggers = ["When a file or a folder is not needed any more"],
    warnings = ["With `recursive` all that is in the folder goes with it"],
    related = [("file_list", "shows what is in a folder"), ("file_move", "puts it elsewhere instead")],
    example(scenario = "A file", params = {"path": "old.txt"}, expected = "One removed"),
    example(scenario = "A folder with all in it", params = {"path": "build", "recursive": true}, expected = "How many were removed")
)]
pub(super) async fn delete(
    ctx: &Ctx,
    /// The file, link or folder.
    #[path]
    #[schemars(extend("x-link" = "kept", "x-aliases" = ["file_path", "filename"]))]
    path: String,
    /// Whether a folder goes with all that is in it; false refuses one that is not empty.
    #[default(false)]
    recursive: bool,
) -> Result<Deleted, ToolError> {
    ctx.files()
        .work(path, move |desk| remove(desk, desk.path(), recursive))
        .await
}

fn remove(desk: &Desk<'_>, path: &Path, recursive: bool) -> Result<Deleted, ToolError> {
    let looked = there(desk, path)?;
    let shown = desk.shown(path);
    if shown == "." {
        return Err(ToolError::permission(
            "the workspace itself cannot be deleted",
        ));
    }
    let removed = match looked.what {
        What::Dir => {
            let inside = desk.list(path)?.len();
            if inside > 0 && !recursive {
                return Err(ToolError::conflict(format!(
                    "the folder `{shown}` is not empty: it holds {inside}"
                ))
                .with_hint("look at it with `file_list`; `recursive` deletes it with all in it"));
            }
            let removed = count(desk, path)?;
            match inside {
                0 => desk.remove(path)?,
                _ => desk.remove_dir_all(path)?,
            }
            removed
        }
        _ => {
            desk.remove(path)?;
            1
        }
    };
    Ok(Deleted {
        path: shown,
        sort: looked.what.into(),
        removed,
    })
}

fn count(desk: &Desk<'_>, folder: &Path) -> Result<usize, ToolError> {
    let mut count = 1;
    for (name, looked) in desk.list(folder)? {
        count += match looked.what {
            What::Dir => self::count(desk, &folder.join(name))?,
            _ => 1,
        };
    }
    Ok(count)
}
