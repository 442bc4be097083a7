//! Taking in a skill, from a folder or an archive of the workspace.
//!
//! What would be there is shown as a change before it is: nothing is unpacked into place.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::shelf::skill;

/// The most files of a skill, and the most bytes of all of them.
const FILES: usize = 2_000;
const BYTES: u64 = 50 * 1024 * 1024;

/// A skill that was taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Where it lies now.
    pub folder: String,
    /// Its files.
    pub files: Vec<String>,
    /// Their bytes.
    pub bytes: usize,
    /// Whether there was one of that name, which it replaces.
    pub replaced: bool,
}

/// Takes in a skill from a folder or an archive. Use it when a person wants a new skill here.
///
/// - `source` lies in the workspace: a folder with a `SKILL.md`, or a `.zip`, `.skill`, `.tar`
///   or `.tar.gz` of one. Fetch it with `network_download` first.
/// - What it would change is shown before it happens, and can be undone.
/// - Its scripts are registered when the hub sees them; each run of one is asked for.
#[tool(
    group = "skills",
    title = "Take in a skill",
    category = "Skills",
    risk = "write",
    held,
    paths = ["."],
    output,
    timeout = "2m",
    aliases = ["install_skill"],
    triggers = ["When a person wants a new skill"],
    warnings = ["A skill tells agents what to do: look at it before it is used"],
    related = [("skills_list", "tells which there are"), ("network_download", "fetches an archive")],
    example(scenario = "From an archive", params = {"source": "downloads/pdf.zip"}, expected = "Its name, folder and files")
)]
pub(super) async fn install(
    ctx: &Ctx,
    /// A folder or an archive.
    #[path]
    source: String,
    /// Whether a skill of the same name is replaced.
    #[default(false)]
    overwrite: bool,
) -> Result<Installed, ToolError> {
    let looked = ctx.files().look(&source).await?;
    let looked = looked.ok_or_else(|| ToolError::not_found(format!("`{source}` is not there")))?;
    let files = match looked.what {
        What::Dir => folder(ctx, &source).await?,
        What::File if looked.size > BYTES => return Err(too_much()),
        What::File => archive(&source, ctx.files().read(&source).await?)?,
        _ => {
            return Err(ToolError::validation(format!(
                "`{source}` is no folder and no archive"
            )));
        }
    };
    let files = without_wrapping(files);
    let Some(text) = files.get("SKILL.md") else {
        return Err(
            ToolError::validation(format!("`{source}` has no `SKILL.md`"))
                .with_hint("a skill is a folder with a `SKILL.md` in it"),
        );
    };
    let text = std::str::from_utf8(text)
        .map_err(|_| ToolError::validation("its `SKILL.md` is no text"))?;
    let read =
        skill(text, "").map_err(|e| ToolError::validation(format!("its `SKILL.md`: {e}")))?;
    let folder = format!("skills/{}", read.name);
    let replaced = ctx.files().look(&folder).await?.is_some();
    if replaced && !overwrite {
        return Err(
            ToolError::conflict(format!("there is a skill `{}` already", read.name))
                .with_hint("say `overwrite` to replace it"),
        );
    }
    if replaced {
        ctx.files().remove_dir_all(&folder).await?;
    }
    let mut bytes = 0;
    for (path, content) in &files {
        let path = format!("{folder}/{path}");
        if let Some((above, _)) = path.rsplit_once('/') {
            ctx.files().create_dir_all(above).await?;
        }
        bytes += content.len();
        ctx.files().write(&path, content.clone()).await?;
    }
    Ok(Installed {
        name: read.name,
        description: read.description,
        folder,
        files: files.into_keys().collect(),
        bytes,
        replaced,
    })
}

type Files = BTreeMap<String, Vec<u8>>;

fn too_much() -> ToolError {
    ToolError::validation(format!("it has more than {FILES} files or {BYTES} bytes"))
        .with_hint("a skill is small; is it the right one?")
}

async fn folder(ctx: &Ctx, source: &str) -> Result<Files, ToolError> {
    let (mut files, mut total) = (Files::new(), 0);
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for (name, looked) in ctx.files().list(format!("{source}/{folder}")).await? {
            let name = name
                .to_str()
                .ok_or_else(|| ToolError::validation("a name in it is no text"))?;
            let path = match folder.is_empty() {
                true => name.to_owned(),
                false => format!("{folder}/{name}"),
            };
            match looked.what {
                What::Dir if path.matches('/').count() < 16 => folders.push(path),
                What::File => {
                    let whole = format!("{source}/{path}");
                    total += ctx.files().look(&whole).await?.map_or(0, |l| l.size);
                    if total > BYTES || files.len() >= FILES {
                        return Err(too_much());
                    }
                    files.insert(path, ctx.files().read(&whole).await?);
                }
                _ => return Err(not_plain(&path)),
            }
        }
    }
    Ok(files)
}

fn archive(source: &str, bytes: Vec<u8>) -> Result<Files, ToolError> {
    let broken = |e: &dyn std::fmt::Display| {
        ToolError::validation(format!("`{source}` cannot be unpacked: {e}"))
    };
    match bytes.as_slice() {
        [b'P', b'K', 3 | 5, ..] => {
            let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| broken(&e))?;
            let (mut files, mut left) = (Files::new(), BYTES);
            for at in 0..zip.len() {
                let mut member = zip.by_index(at).map_err(|e| broken(&e))?;
                let path = inside(member.name())?;
                if member.is_dir() {
                    continue;
                }
                if member.is_symlink() {
                    return Err(not_plain(&path));
                }
                take(&mut files, path, &mut member, &mut left)
                    .map_err(|e| e.unwrap_or_else(|e| broken(&e)))?;
            }
            Ok(files)
        }
        [0x1f, 0x8b, ..] => {
            let unpacked = flate2::read::GzDecoder::new(Cursor::new(bytes));
            // What a tar holds beside its files is little.
            untar(unpacked.take(BYTES * 2), &broken)
        }
        bytes if bytes.get(257..262) == Some(b"ustar") => untar(Cursor::new(bytes), &broken),
        _ => Err(
            ToolError::validation(format!("`{source}` is no archive that is known"))
                .with_hint("give a folder, a `.zip`, a `.tar` or a `.tar.gz`"),
        ),
    }
}

fn untar(
    reader: impl Read,
    broken: &dyn Fn(&dyn std::fmt::Display) -> ToolError,
) -> Result<Files, ToolError> {
    let (mut files, mut left) = (Files::new(), BYTES);
    let mut tar = tar::Archive::new(reader);
    for member in tar.entries().map_err(|e| broken(&e))? {
        let mut member = member.map_err(|e| broken(&e))?;
        let path = member.path().map_err(|e| broken(&e))?.into_owned();
        let path = path
            .to_str()
            .ok_or_else(|| ToolError::validation("a name in it is no text"))?;
        let path = inside(path)?;
        let kind = member.header().entry_type();
        if kind.is_dir() || kind.is_pax_global_extensions() {
            continue;
        }
        if !kind.is_file() {
            return Err(not_plain(&path));
        }
        take(&mut files, path, &mut member, &mut left)
            .map_err(|e| e.unwrap_or_else(|e| broken(&e)))?;
    }
    Ok(files)
}

/// Takes in one member, whatever it says of its length.
fn take(
    files: &mut Files,
    path: String,
    member: &mut impl Read,
    left: &mut u64,
) -> Result<(), Result<ToolError, std::io::Error>> {
    let mut content = Vec::new();
    let length = member
        .take(*left + 1)
        .read_to_end(&mut content)
        .map_err(Err)? as u64;
    if length > *left || files.len() >= FILES {
        return Err(Ok(too_much()));
    }
    *left -= length;
    files.insert(path, content);
    Ok(())
}

/// A path that stays where it is unpacked.
fn inside(path: &str) -> Result<String, ToolError> {
    let parts: Vec<&str> = path
        .split(['/', '\\'])
        .filter(|p| !p.is_empty() && *p != ".")
        .collect();
    let out = path.starts_with(['/', '\\']) || path.contains('\0') || path.contains(':');
    if out || parts.contains(&"..") {
        return Err(ToolError::permission(format!(
            "it holds `{}`, which leads out of the skill",
            path.escape_debug()
        )));
    }
    Ok(parts.join("/"))
}

fn not_plain(path: &str) -> ToolError {
    ToolError::validation(format!("`{}` in it is no plain file", path.escape_debug()))
        .with_hint("a skill has files and folders, no links")
}

/// Archives often hold one folder with everything in it.
fn without_wrapping(files: Files) -> Files {
    if files.contains_key("SKILL.md") {
        return files;
    }
    let first = files.keys().next().and_then(|path| path.split_once('/'));
    let Some(folder) = first.map(|(folder, _)| format!("{folder}/")) else {
        return files;
    };
    if !files.keys().all(|path| path.starts_with(&folder)) {
        return files;
    }
    let bare = |(path, content): (String, Vec<u8>)| (path[folder.len()..].to_owned(), content);
    files.into_iter().map(bare).collect()
}
