//! Making folders.

use std::path::Path;

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sort, missing};

/// A folder that is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Made {
    /// The folder, from the workspace.
    path: String,
    /// Whether it was made; false if it was there.
    created: bool,
}

/// Makes a folder, and those above it. Use it when an empty folder is needed; writing a file makes its own.
///
/// A folder that is there already is fine.
#[tool(
    group = "file",
    title = "Make a folder",
    category = "File",
    risk = "write",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["create_directory", "make_directory"],
    triggers = ["When an empty folder is needed"],
    related = [("file_write", "writes a file and makes its folders"), ("file_list", "lists a folder")],
    example(scenario = "A folder inside another", params = {"path": "src/parts"}, expected = "Whether it was made")
)]
pub(super) async fn mkdir(
    ctx: &Ctx,
    /// The folder.
    #[path]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: String,
    /// Whether the folders above it are made as well; false refuses if they are not there.
    #[default(true)]
    recursive: bool,
) -> Result<Made, ToolError> {
    ctx.files()
        .work(path, move |desk| make(desk, desk.path(), recursive))
        .await
}

fn make(desk: &Desk<'_>, path: &Path, recursive: bool) -> Result<Made, ToolError> {
    let shown = desk.shown(path);
    let there = desk.look(path)?;
    match there {
        Some(looked) if looked.what != What::Dir => {
            let what = Sort::from(looked.what).name();
            return Err(
                ToolError::conflict(format!("`{shown}` is there already: {what}"))
                    .with_hint("choose another name, or move it away with `file_move`"),
            );
        }
        Some(_) => {}
        None => {
            let around = path.parent().unwrap_or(path);
            if !recursive && desk.look(around)?.is_none() {
                let hint = "`recursive` makes the folders above as well";
                return Err(missing(desk, around).with_hint(hint));
            }
            desk.create_dir_all(path)?;
        }
    }
    Ok(Made {
        path: shown,
        created: there.is_none(),
    })
}
