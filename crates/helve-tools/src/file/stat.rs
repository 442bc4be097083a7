//! What is known of one path.

use std::io::Read as _;

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Sort, image, text, there, told_time};

/// How much of a file tells what it is.
const HEAD: u64 = 64 * 1024;

/// What is known of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Known {
    /// The path, from the workspace.
    path: String,
    /// What it is.
    #[serde(rename = "type")]
    sort: Sort,
    /// Bytes, of a file.
    size: u64,
    /// When it was last written.
    modified: String,
    /// Permission bits, in octal.
    mode: String,
    /// How many things are in it, of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<usize>,
    /// How many names a file has: more than one if it is hard-linked.
    links: u64,
    /// What a file holds, as far as its beginning tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<&'static str>,
    /// How the characters of a text are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

/// Tells what a path is: type, size, time, permissions. Use it when a file need not be read for that.
///
/// Of a file it also tells what it holds (text and its encoding, an image, something binary);
/// of a folder, how many things are in it.
#[tool(
    group = "file",
    title = "Look at a path",
    category = "File",
    risk = "read",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["file_info", "get_file_info"],
    triggers = ["When only the size, the time or the type of a file matters"],
    related = [("file_read", "reads it"), ("file_list", "lists a folder")],
    example(scenario = "How large a file is", params = {"path": "data/log.txt"}, expected = "Its type, size and time")
)]
pub(super) async fn stat(
    ctx: &Ctx,
    /// The file or folder.
    #[path]
    #[schemars(extend("x-aliases" = ["file_path", "filename"]))]
    path: String,
) -> Result<Known, ToolError> {
    ctx.files().work(path, known).await
}

fn known(desk: &Desk<'_>) -> Result<Known, ToolError> {
    let path = desk.path();
    let looked = there(desk, path)?;
    let mut known = Known {
        path: desk.shown(path),
        sort: looked.what.into(),
        size: looked.size,
        modified: told_time(looked.mtime),
        mode: format!("{:04o}", looked.mode),
        entries: None,
        links: looked.links,
        mime: None,
        encoding: None,
    };
    match looked.what {
        What::Dir => {
            known.entries = Some(desk.list(path)?.len());
            known.size = 0;
        }
        What::File => {
            let mut head = Vec::new();
            desk.open(path)?.take(HEAD).read_to_end(&mut head)?;
            let whole = (head.len() as u64) >= looked.size;
            match (image::known(&head), text::detect(&head, whole)) {
                (Some(what), _) => known.mime = Some(what.mime),
                (None, Some(script)) => {
                    known.mime = Some("text/plain");
                    known.encoding = Some(script.name());
                }
                (None, None) => known.mime = Some("application/octet-stream"),
            }
        }
        _ => {}
    }
    Ok(known)
}
