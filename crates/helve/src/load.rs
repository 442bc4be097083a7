//! From paths to documents: files, folders, standard input.
//!
//! Folders are walked in a fixed order and read on all cores. Source files
//! without a tool are passed over; a data file that holds none is an error.

use std::fs;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use helve_core::collection::{Document, Input};
use helve_core::dialect::Dialect;
use helve_core::lint::Vendor;
use helve_core::read::{MAX_BYTES, Syntax};
use rayon::prelude::*;

use crate::exit::Failure;
use crate::workspace;

/// A file to be read.
#[derive(Debug)]
struct Found {
    path: PathBuf,
    /// How it is called in messages.
    shown: String,
    syntax: Syntax,
    group: Option<String>,
    /// Named on the command line, not met in a folder.
    named: bool,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub documents: Vec<Document>,
    /// Whether all of it is one file with one tool: written back as one.
    pub alone: bool,
}

/// How documents are read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub dialect: Option<&'static Dialect>,
    /// Whether the rules are looked at.
    pub lint: bool,
    pub vendor: Option<&'static Vendor>,
}

/// Reads all paths; without any, the workspace's `tools/`.
pub(crate) fn load(paths: &[String], reading: Reading) -> Result<Loaded, Failure> {
    let default = workspace::tools();
    let paths: Vec<String> = match paths.is_empty() {
        true if default.is_dir() => vec![shown(&default)],
        true => {
            let hint = "name a file or a folder, or `-` for standard input";
            return Err(Failure::usage("there is no `tools/` in this workspace").hint(hint));
        }
        false => paths.to_vec(),
    };
    let mut files = Vec::new();
    let mut documents = Vec::new();
    for path in &paths {
        match path.as_str() {
            "-" => documents.push(stdin(reading)?),
            _ => find(Path::new(path), &mut files)?,
        }
    }
    let folder = paths.iter().any(|p| p != "-" && Path::new(p).is_dir());
    documents.extend(read_all(&files, reading)?);
    let tools: usize = documents.iter().map(|d| d.tools.len()).sum();
    if documents.is_empty() {
        let hint = "definitions are .json, .toml, .yaml, .py, .erl, .js files and SKILL.md";
        return Err(
            Failure::input(format!("there are no tools in {}", paths.join(", "))).hint(hint),
        );
    }
    let alone = !folder && documents.len() == 1 && tools == 1 && !documents[0].is_list();
    Ok(Loaded { documents, alone })
}

/// What is in folders of tools.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// What can be read.
    pub documents: Vec<Document>,
    /// What must be loaded, or asked, to know what it is.
    pub scripts: Vec<PathBuf>,
}

/// Reads folders; one without tools is no error.
pub(crate) fn load_all(paths: &[String], reading: Reading) -> Result<Folders, Failure> {
    let (mut files, mut scripts) = (Vec::new(), Vec::new());
    for path in paths {
        find(Path::new(path), &mut files)?;
        programs(Path::new(path), &mut scripts);
    }
    let (code, files): (Vec<Found>, Vec<Found>) = files.into_iter().partition(Found::is_script);
    scripts.extend(code.into_iter().map(|f| f.path));
    Ok(Folders {
        documents: read_all(&files, reading)?,
        scripts,
    })
}

/// Programs in a folder that have no ending by which they would be something else.
fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in walk(folder).flatten() {
        let path = entry.path();
        let plain = match path.extension().and_then(|e| e.to_str()) {
            None => true,
            Some(ending) => {
                ["sh", "bash", "pl", "rb", "lua", "php", "exe", "bin"].contains(&ending)
            }
        };
        let about = entry.metadata();
        let runs = about.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
        // What is defined beside is defined.
        let beside = |ending: &&str| path.with_extension(ending).is_file();
        if plain && runs && !["toml", "yaml", "yml", "json"].iter().any(beside) {
            found.push(path.to_owned());
        }
    }
}

impl Found {
    /// Whether it is code that has to be loaded to know what tools it has.
    fn is_script(&self) -> bool {
        let name = self.path.file_name().and_then(|n| n.to_str());
        let name = name.unwrap_or_default();
        let code = match self.syntax {
            Syntax::JavaScript | Syntax::Python => true,
            Syntax::Erlang => name.ends_with(".erl"),
            _ => false,
        };
        code && !name.starts_with('_') && !is_test(name)
    }
}

/// Whether a file is a test of tools rather than one.
fn is_test(name: &str) -> bool {
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    stem.ends_with(".test")
        || stem.ends_with(".spec")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_SUITE")
        || stem.starts_with("test_")
}

/// A TOML file as a value; `None` if there is no such file.
pub(crate) fn toml_file(path: &Path) -> Result<Option<serde_json::Value>, Failure> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Failure::input(format!("`{}` cannot be read: {problem}", path.display()))
    };
    let bytes = match read_limited(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(wrong(&e)),
    };
    let node = helve_core::read::text(&bytes)
        .and_then(|text| helve_core::read::read(text, Syntax::Toml))
        .map_err(|e| wrong(&e))?;
    Ok(Some(node.to_value()))
}

/// A path as a person would write it here.
pub(crate) fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here)
        .unwrap_or(path)
        .display()
        .to_string()
}

fn stdin(reading: Reading) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
    std::io::stdin()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::input(format!("standard input cannot be read: {e}")))?;
    let syntax = Syntax::guess(&String::from_utf8_lossy(
        &bytes[..bytes.len().min(64 * 1024)],
    ));
    let mut document = Document::read(&Input {
        dialect: reading.dialect,
        ..Input::alone("-", &bytes, syntax)
    });
    if reading.lint {
        document.lint(reading.vendor);
    }
    Ok(document)
}

/// Files that stand beside tools and are none.
const PASSED_OVER: &[&str] = &[
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "Cargo.toml",
    "pyproject.toml",
    "helve.toml",
    "index.js",
    "__init__.py",
    "conftest.py",
];

fn find(path: &Path, files: &mut Vec<Found>) -> Result<(), Failure> {
    let missing = |e: &dyn std::fmt::Display| {
        Failure::input(format!("`{}` cannot be read: {e}", path.display()))
    };
    let metadata = fs::metadata(path).map_err(|e| missing(&e))?;
    if !metadata.is_dir() {
        let guessed = (!metadata.is_file()).then_some(Syntax::Json);
        let Some(syntax) = syntax_of(path).or(guessed) else {
            let endings = "json, toml, yaml, py, erl, config, js or md";
            let error = format!("`{}` has no ending that is known here", path.display());
            return Err(
                Failure::input(error).hint(format!("use one of {endings}, or pipe it in with `-`"))
            );
        };
        files.push(Found {
            shown: path.display().to_string(),
            syntax,
            group: below_tools(path),
            named: true,
            path: path.to_owned(),
        });
        return Ok(());
    }
    for entry in walk(path) {
        let entry = entry.map_err(|e| missing(&e))?;
        let file = entry.path();
        let name = entry.file_name().to_string_lossy();
        if !entry.file_type().is_file()
            || PASSED_OVER.contains(&name.as_ref())
            || part_of_skill(path, file)
        {
            continue;
        }
        if let Some(syntax) = syntax_of(file).filter(|s| *s != Syntax::Skill || name == "SKILL.md")
        {
            let nested = entry.depth() >= 2;
            files.push(Found {
                shown: file.display().to_string(),
                syntax,
                group: if nested {
                    parent_name(file)
                } else {
                    below_tools(file)
                },
                named: false,
                path: file.to_owned(),
            });
        }
    }
    Ok(())
}

/// What is in a folder, in a fixed order, without what is hidden or made by machines.
fn walk(folder: &Path) -> impl Iterator<Item = walkdir::Result<walkdir::DirEntry>> {
    let visible = |e: &walkdir::DirEntry| {
        let name = e.file_name().to_string_lossy();
        e.depth() == 0
            || !(name.starts_with('.')
                || ["target", "node_modules", "__pycache__"].contains(&name.as_ref()))
    };
    walkdir::WalkDir::new(folder)
        .follow_links(true)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(visible)
}

fn syntax_of(path: &Path) -> Option<Syntax> {
    Syntax::of_extension(path.extension()?.to_str()?)
}

fn parent_name(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    Some(absolute.parent()?.file_name()?.to_str()?.to_owned())
}

/// The group of `…/tools/<group>/<action>.toml`, however the path was given.
fn below_tools(path: &Path) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let grand = absolute.parent()?.parent()?.file_name()?;
    (grand == "tools" || grand == "internal-tools")
        .then(|| parent_name(path))
        .flatten()
}

/// Whether the file belongs to a skill whose `SKILL.md` stands above it, below `root`.
fn part_of_skill(root: &Path, path: &Path) -> bool {
    if path.file_name() == Some("SKILL.md".as_ref()) {
        return false;
    }
    let folder = |name: &str| path.components().any(|c| c.as_os_str() == name);
    let skill = path
        .ancestors()
        .skip(1)
        .take_while(|a| a.starts_with(root))
        .take(3)
        .any(|a| a.join("SKILL.md").is_file());
    skill
        && (path.extension() == Some("md".as_ref())
            || folder("references")
            || folder("scripts")
            || folder("assets"))
}

fn read_all(files: &[Found], reading: Reading) -> Result<Vec<Document>, Failure> {
    let bar = match files.len() > 200 && std::io::stderr().is_terminal() {
        true => {
            let style = "{spinner} {pos}/{len} files {wide_bar} {eta}";
            let style = indicatif::ProgressStyle::with_template(style)
                .unwrap_or_else(|_| indicatif::ProgressStyle::default_bar());
            indicatif::ProgressBar::new(files.len() as u64).with_style(style)
        }
        false => indicatif::ProgressBar::hidden(),
    };
    let documents: Result<Vec<Option<Document>>, Failure> = files
        .par_iter()
        .map(|file| {
            let document = read_one(file, reading);
            bar.inc(1);
            document
        })
        .collect();
    bar.finish_and_clear();
    Ok(documents?.into_iter().flatten().collect())
}

fn read_one(file: &Found, reading: Reading) -> Result<Option<Document>, Failure> {
    let missing =
        |e: std::io::Error| Failure::input(format!("`{}` cannot be read: {e}", file.shown));
    let bytes = read_limited(&file.path).map_err(missing)?;
    let beside = match file.syntax {
        Syntax::Skill => beside(&file.path).map_err(missing)?,
        _ => Vec::new(),
    };
    let folder = parent_name(&file.path);
    let mut document = Document::read(&Input {
        file: &file.shown,
        bytes: &bytes,
        syntax: file.syntax,
        dialect: reading.dialect,
        group: file.group.as_deref(),
        folder: folder.as_deref(),
        stem: file
            .path
            .file_stem()
            .and_then(|s| s.to_str())
            .filter(|s| *s != "SKILL"),
        beside: &beside,
    });
    let source = matches!(
        file.syntax,
        Syntax::Python | Syntax::Erlang | Syntax::JavaScript
    );
    if source && !file.named && document.has_no_tool() {
        return Ok(None);
    }
    if reading.lint {
        document.lint(reading.vendor);
    }
    Ok(Some(document))
}

/// At most a byte more than is read at all; a larger file is refused by its size.
pub(crate) fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(length.min(MAX_BYTES + 1));
    file.take(u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What stands beside a `SKILL.md`.
fn beside(skill: &Path) -> std::io::Result<Vec<(String, String)>> {
    let folder = skill.parent().unwrap_or(Path::new("."));
    let mut out = Vec::new();
    let mut paths = vec![folder.join("examples.md")];
    if let Ok(entries) = fs::read_dir(folder.join("references")) {
        let mut references: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        references.sort();
        paths.extend(references);
    }
    for path in paths.into_iter().filter(|p| p.is_file()) {
        let relative = path
            .strip_prefix(folder)
            .unwrap_or(&path)
            .display()
            .to_string();
        if let Ok(text) = String::from_utf8(read_limited(&path)?) {
            out.push((relative, text));
        }
    }
    if folder.join("scripts").is_dir() {
        out.push(("scripts/".to_owned(), String::new()));
    }
    Ok(out)
}
