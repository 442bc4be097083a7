//! Copying files and folders.

use std::path::PathBuf;

use helve_kernel::{Ctx, Desk, ToolError, tool};

use super::make_around;
use super::moving::{Placed, clear};

/// Copies a file, or a folder with all in it. Use it when a second one is needed, or before a risky change.
///
/// `destination` is the whole new path, with the name. Folders on the way are made. Permissions
/// are kept; links inside a folder stay links. A file that is there is replaced only with
/// `overwrite`.
#[tool(
    group = "file",
    title = "Copy a file or folder",
    category = "File",
    risk = "write",
    held,
    output,
    timeout = "2m",
    paths = ["."],
    aliases = ["copy_file"],
    triggers = ["When a file is the start for another", "When a folder is needed twice"],
    warnings = ["`destination` is the new path itself, and not the folder to put it into"],
    related = [("file_move", "does not leave it where it was"), ("file_list", "shows what is there")],
    example(scenario = "A copy beside", params = {"source": "src/file.txt", "destination": "backup/file.txt"}, expected = "Where it is copied from, and to")
)]
pub(super) async fn copy(
    ctx: &Ctx,
    /// What is copied.
    #[path]
    #[schemars(extend("x-aliases" = ["src", "from"]))]
    source: String,
    /// Where the copy goes.
    #[path]
    #[schemars(extend("x-aliases" = ["dst", "dest", "to"]))]
    destination: String,
    /// Whether a file that is there is replaced; false refuses.
    #[default(false)]
    overwrite: bool,
) -> Result<Placed, ToolError> {
    let to = PathBuf::from(destination);
    let work = move |desk: &Desk<'_>| {
        let (from, to) = (desk.path(), to.as_path());
        let (sort, overwritten) = clear(desk, from, to, overwrite)?;
        make_around(desk, to)?;
        if overwritten {
            desk.remove(to)?;
        }
        desk.copy(from, to)?;
        Ok(Placed {
            source: desk.shown(from),
            destination: desk.shown(to),
            sort,
            overwritten,
        })
    };
    ctx.files().work(source, work).await
}
