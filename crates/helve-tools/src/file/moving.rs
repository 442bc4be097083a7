//! Moving and renaming.

use std::path::{Path, PathBuf};

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sort, make_around, there};

/// Something that has another place, or a second one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Placed {
    /// Where it was, from the workspace.
    pub(super) source: String,
    /// Where it is now.
    pub(super) destination: String,
    /// What it is.
    #[serde(rename = "type")]
    pub(super) sort: Sort,
    /// Whether a file that was there had to go.
    pub(super) overwritten: bool,
}

/// Moves or renames a file or a folder. Use it when something gets another name or place.
///
/// `destination` is the whole new path, with the name. Folders on the way are made. Of a
/// link, the link is moved. A file that is there is replaced only with `overwrite`.
#[tool(
    name = "file_move",
    title = "Move or rename",
    category = "File",
    risk = "write",
    held,
    output,
    paths = ["."],
    aliases = ["move_file", "rename_file"],
    triggers = ["When a file or a folder gets another name", "When it belongs into another folder"],
    warnings = ["`destination` is the new path itself, and not the folder to put it into"],
    related = [("file_copy", "leaves it where it is as well"), ("file_list", "shows what is there")],
    example(scenario = "Another name", params = {"source": "old/file.txt", "destination": "new/file.txt"}, expected = "Where it was, and where it is")
)]
pub(super) async fn r#move(
    ctx: &Ctx,
    /// What is moved.
    #[path]
    #[schemars(extend("x-link" = "kept", "x-aliases" = ["src", "from", "old_path"]))]
    source: String,
    /// Its new path.
    #[path]
    #[schemars(extend("x-aliases" = ["dst", "dest", "to", "new_path"]))]
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
        desk.rename(from, to)?;
        Ok(Placed {
            source: desk.shown(from),
            destination: desk.shown(to),
            sort,
            overwritten,
        })
    };
    ctx.files().work(source, work).await
}

/// Sees to it that a place can be taken: what comes there, and whether something goes.
pub(super) fn clear(
    desk: &Desk<'_>,
    from: &Path,
    to: &Path,
    overwrite: bool,
) -> Result<(Sort, bool), ToolError> {
    let looked = there(desk, from)?;
    let (shown, target) = (desk.shown(from), desk.shown(to));
    if looked.what == What::Other {
        return Err(ToolError::permission(format!(
            "`{shown}` is neither a file nor a folder"
        )));
    }
    if from == to {
        return Err(ToolError::validation(format!(
            "`source` and `destination` are the same: `{shown}`"
        )));
    }
    if to.starts_with(from) {
        return Err(ToolError::validation(format!(
            "`{target}` lies inside of `{shown}`, which cannot hold itself"
        )));
    }
    let Some(there) = desk.look(to)? else {
        return Ok((looked.what.into(), false));
    };
    if there.what == What::Dir {
        let name = from.file_name().unwrap_or_default().to_string_lossy();
        return Err(
            ToolError::conflict(format!("`{target}` is a folder that is there already")).with_hint(
                format!("name the whole new path, for example `{target}/{name}`"),
            ),
        );
    }
    if !overwrite || looked.what == What::Dir {
        let what = Sort::from(there.what).name();
        let hint = match looked.what {
            What::Dir => "choose another `destination`",
            _ => "choose another `destination`, or set `overwrite`",
        };
        return Err(
            ToolError::conflict(format!("`{target}` is there already: {what}")).with_hint(hint),
        );
    }
    Ok((looked.what.into(), true))
}
