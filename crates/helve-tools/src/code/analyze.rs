//! A map of code: which languages, how much, and what is defined where.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use helve_kernel::helve_changes::What;
use helve_kernel::{Ctx, Desk, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;

use super::symbols::{
    BASH, C_SHARP, CPP, GO, Grammar, JAVA, Outline, PHP, PYTHON, RUBY, RUST, Symbol, TSX,
    TYPESCRIPT, outline,
};
use crate::file::text;
use crate::file::{ROOM, json_length};
use crate::walk::{Include, Walk, Wanted, types};

/// Larger files are counted, and not read as code.
const LARGEST: u64 = 2 * 1024 * 1024;

/// Larger files are not even counted by line.
const LARGEST_COUNTED: u64 = 64 * 1024 * 1024;

/// A language, and how much of it there is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Language {
    /// Its name; `other` for what is not known.
    language: &'static str,
    /// How many files.
    files: u64,
    /// How many lines they have.
    lines: u64,
    /// How many bytes.
    bytes: u64,
}

/// A file and what is defined in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Mapped {
    /// The file, from the workspace.
    path: String,
    /// Its language.
    language: &'static str,
    /// How many lines it has.
    lines: u64,
    /// How many bytes.
    bytes: u64,
    /// What it brings in, as it is written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    imports: Vec<String>,
    /// What it defines, in order; the headings of a text.
    symbols: Vec<Symbol>,
    /// Whether its grammar did not understand all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_errors: bool,
}

/// A map of code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Map {
    /// What was mapped, from the workspace.
    path: String,
    /// How many files there are.
    files: u64,
    /// How many lines they have.
    lines: u64,
    /// How many bytes.
    bytes: u64,
    /// By language, most lines first.
    languages: Vec<Language>,
    /// The first files, by path, with what is in them.
    outline: Vec<Mapped>,
    /// Whether there is more than is shown.
    truncated: bool,
    /// What is worth knowing, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Maps a file or a tree of code: languages, sizes, definitions, imports. Use it when code is new to you.
///
/// Functions, methods, classes and types come with their lines, for Rust, Python, JavaScript,
/// TypeScript, Go, Java, C, C++, C#, Ruby, PHP and Bash; of Markdown, the headings; anything
/// else is counted. What `.gitignore` leaves out is left out.
#[tool(
    group = "code",
    title = "Map code",
    category = "Code",
    risk = "read",
    held,
    idempotent,
    output,
    timeout = "2m",
    paths = ["."],
    aliases = ["analyze_code"],
    triggers = ["When code is seen for the first time", "When it is not known where something is defined"],
    related = [("code_search", "finds where a name is used"), ("file_read", "shows the lines of a definition")],
    example(scenario = "What is in a file", params = {"path": "src/main.rs"}, expected = "Its functions and types, with lines"),
    example(scenario = "What a project consists of", params = {"symbols": false}, expected = "Languages, files and lines")
)]
pub(super) async fn analyze(
    ctx: &Ctx,
    /// The file or folder; `.` is the workspace.
    #[path]
    #[default(".")]
    #[schemars(extend("x-aliases" = ["file_path", "directory"]))]
    path: String,
    /// Only files of this language, for example `rust`; empty for all.
    #[default("")]
    language: String,
    /// Only files that match: `*.rs` a name, `src/**/*.rs` a path; empty for all.
    #[default("")]
    #[schemars(extend("x-aliases" = ["glob", "file_pattern"]))]
    include: String,
    /// Whether definitions and imports are told; false only counts.
    #[default(true)]
    symbols: bool,
    /// Of how many files they are told at most.
    #[default(100)]
    #[schemars(range(min = 1, max = 1000))]
    max_files: usize,
) -> Result<Map, ToolError> {
    let wanted = Wanted {
        include: Include::new(&include, "include")?,
        types: types(&language)?,
        ..Wanted::default()
    };
    let most = if symbols { max_files } else { 0 };
    ctx.files()
        .work(path, move |desk| map(desk, &wanted, most))
        .await
}

/// A file that was counted.
struct Counted {
    path: PathBuf,
    known: Known,
    lines: u64,
    bytes: u64,
}

/// What is known of a language.
#[derive(Clone, Copy)]
struct Known {
    name: &'static str,
    way: Way,
}

/// How its definitions are found.
#[derive(Clone, Copy)]
enum Way {
    Grammar(&'static Grammar),
    Headings,
    Counted,
    /// Not even its lines: it may be no text.
    Unknown,
}

/// By the end of the name.
const LANGUAGES: &[(&str, Way, &[&str])] = &[
    ("rust", Way::Grammar(&RUST), &["rs"]),
    ("python", Way::Grammar(&PYTHON), &["py", "pyi", "pyw"]),
    (
        "javascript",
        Way::Grammar(&TSX),
        &["js", "jsx", "mjs", "cjs"],
    ),
    (
        "typescript",
        Way::Grammar(&TYPESCRIPT),
        &["ts", "mts", "cts"],
    ),
    ("typescript", Way::Grammar(&TSX), &["tsx"]),
    ("go", Way::Grammar(&GO), &["go"]),
    ("java", Way::Grammar(&JAVA), &["java"]),
    ("c", Way::Grammar(&CPP), &["c", "h"]),
    (
        "c++",
        Way::Grammar(&CPP),
        &["cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx"],
    ),
    ("c#", Way::Grammar(&C_SHARP), &["cs"]),
    ("ruby", Way::Grammar(&RUBY), &["rb", "rake", "gemspec"]),
    ("php", Way::Grammar(&PHP), &["php"]),
    ("bash", Way::Grammar(&BASH), &["sh", "bash"]),
    ("markdown", Way::Headings, &["md", "markdown"]),
    ("json", Way::Counted, &["json", "jsonl", "json5"]),
    ("toml", Way::Counted, &["toml"]),
    ("yaml", Way::Counted, &["yaml", "yml"]),
    ("html", Way::Counted, &["html", "htm"]),
    ("css", Way::Counted, &["css", "scss", "less"]),
    ("sql", Way::Counted, &["sql"]),
    ("xml", Way::Counted, &["xml", "svg"]),
    ("kotlin", Way::Counted, &["kt", "kts"]),
    ("swift", Way::Counted, &["swift"]),
    ("scala", Way::Counted, &["scala"]),
    ("erlang", Way::Counted, &["erl", "hrl"]),
    ("elixir", Way::Counted, &["ex", "exs"]),
    ("lua", Way::Counted, &["lua"]),
    ("perl", Way::Counted, &["pl", "pm"]),
    ("dart", Way::Counted, &["dart"]),
    ("protobuf", Way::Counted, &["proto"]),
    ("text", Way::Counted, &["txt", "rst", "adoc"]),
];

/// The grammar of a file, if there is one.
pub(super) fn grammar(path: &Path) -> Option<&'static Grammar> {
    match known(path).way {
        Way::Grammar(grammar) => Some(grammar),
        Way::Headings | Way::Counted | Way::Unknown => None,
    }
}

fn known(path: &Path) -> Known {
    let end = path.extension().and_then(|e| e.to_str());
    let end = end.unwrap_or_default().to_lowercase();
    let found = LANGUAGES
        .iter()
        .find(|(_, _, ends)| ends.contains(&end.as_str()));
    let (name, way) = found.map_or(("other", Way::Unknown), |(name, way, _)| (*name, *way));
    Known { name, way }
}

fn map(desk: &Desk<'_>, wanted: &Wanted, most: usize) -> Result<Map, ToolError> {
    let walk = Walk::new(desk)?;
    let counted: Mutex<Vec<Counted>> = Mutex::default();
    let each = |space: &mut Vec<u8>, path: &Path| {
        if let Some(file) = count(&walk, path, space) {
            let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
            counted.push(file);
        }
    };
    walk.each(wanted, || vec![0; 64 * 1024], each)?;
    let mut counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
    counted.sort_by(|a, b| a.path.cmp(&b.path));
    let languages = by_language(&counted);
    let (outline, left) = outlines(desk, &walk, &counted, most)?;
    let note = (most > 0 && left > 0).then(|| {
        format!(
            "{left} more files with definitions are not shown. Map a folder further inside, or choose by `language` or `include`."
        )
    });
    Ok(Map {
        path: desk.shown(desk.path()),
        files: counted.len() as u64,
        lines: counted.iter().map(|file| file.lines).sum(),
        bytes: counted.iter().map(|file| file.bytes).sum(),
        languages,
        outline,
        truncated: note.is_some(),
        note,
    })
}

fn count(walk: &Walk<'_>, path: &Path, space: &mut [u8]) -> Option<Counted> {
    let looked = walk.beneath.look(path).ok()??;
    if looked.what != What::File {
        return None;
    }
    let known = known(path);
    let mut lines = 0;
    if !matches!(known.way, Way::Unknown) && looked.size <= LARGEST_COUNTED {
        let mut file = walk.open(path).ok()?;
        let mut last = b'\n';
        while let Ok(length @ 1..) = file.read(space) {
            lines += memchr::memchr_iter(b'\n', &space[..length]).count() as u64;
            last = space[length - 1];
        }
        lines += u64::from(last != b'\n');
    }
    Some(Counted {
        path: path.to_owned(),
        known,
        lines,
        bytes: looked.size,
    })
}

fn by_language(counted: &[Counted]) -> Vec<Language> {
    let mut languages: Vec<Language> = Vec::new();
    for file in counted {
        let language = file.known.name;
        let at = languages.iter().position(|l| l.language == language);
        let at = at.unwrap_or_else(|| {
            languages.push(Language {
                language,
                ..Language::default()
            });
            languages.len() - 1
        });
        let sum = &mut languages[at];
        sum.files += 1;
        sum.lines += file.lines;
        sum.bytes += file.bytes;
    }
    languages.sort_by(|a, b| b.lines.cmp(&a.lines).then(a.language.cmp(b.language)));
    languages
}

/// The first files with what is in them, and how many more there are.
fn outlines(
    desk: &Desk<'_>,
    walk: &Walk<'_>,
    counted: &[Counted],
    most: usize,
) -> Result<(Vec<Mapped>, usize), ToolError> {
    let is_mapped = |file: &&Counted| matches!(file.known.way, Way::Grammar(_) | Way::Headings);
    let all = counted.iter().filter(is_mapped).count();
    let mut shown = Vec::new();
    let mut room = ROOM;
    for file in counted.iter().filter(is_mapped).take(most) {
        if desk.is_stopped() {
            return Err(ToolError::timeout("it took too long to map the files"));
        }
        let found = read(walk, file).unwrap_or_default();
        let mapped = Mapped {
            path: desk.shown(&file.path),
            language: file.known.name,
            lines: file.lines,
            bytes: file.bytes,
            imports: found.imports,
            symbols: found.symbols,
            has_errors: found.has_errors,
        };
        let needs = length(&mapped);
        if needs > room {
            if shown.is_empty() {
                shown.push(shortened(mapped, room));
            }
            break;
        }
        room -= needs;
        shown.push(mapped);
    }
    let left = all - shown.len();
    Ok((shown, left))
}

/// A file that defines more than an answer can hold: its beginning.
fn shortened(mut mapped: Mapped, room: usize) -> Mapped {
    mapped.imports.truncate(100);
    while length(&mapped) > room && !mapped.symbols.is_empty() {
        mapped.symbols.truncate(mapped.symbols.len() * 3 / 4);
    }
    mapped
}

fn length(mapped: &Mapped) -> usize {
    let symbol = |s: &Symbol| {
        70 + json_length(&s.name) + s.parent.as_deref().map_or(0, |p| json_length(p) + 12)
    };
    let imports: usize = mapped.imports.iter().map(|i| json_length(i) + 3).sum();
    let symbols: usize = mapped.symbols.iter().map(symbol).sum();
    120 + json_length(&mapped.path) + imports + symbols
}

fn read(walk: &Walk<'_>, file: &Counted) -> Option<Outline> {
    if file.bytes > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    let opened = walk.open(&file.path).ok()?;
    opened.take(LARGEST).read_to_end(&mut bytes).ok()?;
    let (text, _) = text::decode(&bytes, text::detect(&bytes, true)?);
    match file.known.way {
        Way::Grammar(grammar) => Some(outline(&text, grammar)),
        Way::Headings => Some(headings(&text)),
        Way::Counted | Way::Unknown => None,
    }
}

fn headings(text: &str) -> Outline {
    let mut outline = Outline::default();
    let mut fenced = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        let marks = line.chars().take_while(|c| *c == '#').count();
        if fenced || !(1..=6).contains(&marks) || !line[marks..].starts_with(' ') {
            continue;
        }
        outline.symbols.push(Symbol {
            name: line[marks..].trim().trim_end_matches('#').trim().to_owned(),
            kind: ["h1", "h2", "h3", "h4", "h5", "h6"][marks - 1],
            line: at + 1,
            end_line: at + 1,
            parent: None,
        });
    }
    outline
}
