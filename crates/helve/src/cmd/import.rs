//! `helve import`: an API, a server's list or a folder, as definition files.

mod ask;
mod openapi;
mod read;
mod shown;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use helve_core::ToolDef;
use helve_core::collection::Finding;
use helve_core::dialect::{self, Loss, Strictness};
use helve_core::hidden::{self, Suspicion};
use helve_core::openapi::Needed;
use helve_core::read::Syntax;
use helve_core::write::{self, File};

use crate::exit::{Done, Exit, Failure};
use crate::{out, save, workspace};

/// Make tools of an API, of a server's list, or of a folder in any dialect.
///
/// An OpenAPI 3 document becomes one tool for each operation, a saved `tools/list` of an
/// MCP server one for each of its tools, and a folder whatever is in it. What would be
/// written is shown with what was lost on the way; nothing that is there is written
/// over without `--force`, and secrets are only ever named.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// What it is (`openapi`, `mcp` or `dir`; told by its looks if left out), and the file, folder or address, `-` for standard input.
    #[arg(value_names = ["KIND", "SOURCE"], num_args = 1..=2, required = true)]
    words: Vec<String>,
    /// Where the service is, instead of what the document says.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The group of the tools [default: from the title of the document, or the server].
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// The secret that the tools use, by its name in `[secrets]`.
    #[arg(long, value_name = "NAME")]
    secret: Option<String>,
    /// The name of the MCP server [default: from the name of the file].
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// The folder to write to [default: `tools/` of the workspace].
    #[arg(long, short, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// The syntax of the files.
    #[arg(long, value_enum, default_value_t = Format::Toml)]
    format: Format,
    /// Write over files that are there.
    #[arg(long)]
    force: bool,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// List what was lost, by field and reason.
    #[arg(long)]
    losses: bool,
    /// Print what came of it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Toml,
    Yaml,
    Json,
}

impl Format {
    fn syntax(self) -> Syntax {
        match self {
            Format::Toml => Syntax::Toml,
            Format::Yaml => Syntax::Yaml,
            Format::Json => Syntax::Json,
        }
    }
}

/// What can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Openapi,
    Mcp,
    Dir,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Openapi, Kind::Mcp, Kind::Dir];

    fn name(self) -> &'static str {
        match self {
            Kind::Openapi => "openapi",
            Kind::Mcp => "mcp",
            Kind::Dir => "dir",
        }
    }
}

/// What was found in the source.
struct Found {
    kind: Kind,
    tools: Vec<Import>,
    /// What could not become a tool.
    findings: Vec<Finding>,
    secrets: Vec<Needed>,
}

/// A tool that would be written.
struct Import {
    def: ToolDef,
    losses: Vec<Loss>,
    suspicions: Vec<Suspicion>,
    file: String,
}

impl Import {
    /// A tool, looked at. One that has something to hide is written, but cannot be
    /// called before a person has looked, too.
    fn new(mut def: ToolDef, losses: Vec<Loss>) -> Self {
        let suspicions = hidden::in_def(&def);
        if !suspicions.is_empty() {
            def.enabled = false;
        }
        Self {
            def,
            losses,
            suspicions,
            file: String::new(),
        }
    }
}

pub(crate) async fn run(args: &ImportArgs) -> Done {
    let (kind, source) = words(&args.words)?;
    if args.secret.as_ref().is_some_and(|name| !is_name(name)) {
        // Not repeated: it may be the secret itself.
        return Err(Failure::usage(
            "`--secret` takes the name of a secret, in small letters and digits",
        )
        .hint("its value goes where `[secrets]` in `helve.toml` says"));
    }
    let mut found = read::find(args, kind, source).await?;
    if found.tools.is_empty() {
        shown::findings(&found);
        return Err(Failure::input("there is no tool to import").hint("nothing was written"));
    }
    let folder = args.out.clone().unwrap_or_else(workspace::tools);
    let files = files(&mut found.tools, args.format.syntax())?;
    let there = existing(&folder, &files)?;
    let refused = !there.is_empty() && !args.force;
    if !args.dry_run && refused {
        let some: Vec<String> = there
            .iter()
            .take(3)
            .map(|p| format!("`{}`", p.display()))
            .collect();
        let more = if there.len() > 3 { ", …" } else { "" };
        let error = format!(
            "{} already there: {}{more}",
            out::count(there.len(), "file"),
            some.join(", ")
        );
        return Err(Failure::new(Exit::Output, error)
            .hint("nothing was written; `--force` writes over them, `--out` goes elsewhere"));
    }
    if !args.dry_run {
        save::folder(&folder, &files)?;
    }
    shown::all(args, &found, &folder, &there)?;
    Ok(Exit::Ok)
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    (1..=40).contains(&text.len()) && text.chars().all(plain)
}

/// The kind, where it is said, and the source.
fn words(words: &[String]) -> Result<(Option<Kind>, &str), Failure> {
    let kind = |word: &str| Kind::ALL.into_iter().find(|k| k.name() == word);
    match words {
        [word] if kind(word).is_some() && !Path::new(word).exists() => Err(Failure::usage(
            format!("`helve import {word}` needs a source"),
        )
        .hint("name a file, a folder or an address, or `-` for standard input")),
        [source] => Ok((None, source)),
        [word, source] => match kind(word) {
            Some(kind) => Ok((Some(kind), source)),
            None => Err(Failure::usage(format!("`{word}` cannot be imported"))
                .hint("what can are `openapi`, `mcp` and `dir`")),
        },
        _ => Err(Failure::usage("name what to import")),
    }
}

/// The files of all tools, each named in its tool.
fn files(tools: &mut [Import], syntax: Syntax) -> Result<Vec<File>, Failure> {
    let helve = dialect::DIALECTS[0];
    let mut all = Vec::new();
    for tool in tools {
        let encoded =
            dialect::encode(&tool.def, helve, Strictness::Loose).map_err(Failure::input)?;
        tool.losses.extend(encoded.losses);
        let stem = (helve.path)(&tool.def);
        let written = write::files(encoded.value.clone(), helve, syntax, &stem);
        // TOML has no null; what needs one is JSON.
        let written = written.or_else(|_| write::files(encoded.value, helve, Syntax::Json, &stem));
        let written = written.map_err(Failure::input)?;
        tool.file = written.first().map(|f| f.path.clone()).unwrap_or_default();
        all.extend(written);
    }
    Ok(all)
}

/// The files that are there already, under whatever ending.
fn existing(folder: &Path, files: &[File]) -> Result<Vec<PathBuf>, Failure> {
    let mut there = Vec::new();
    for file in files {
        let path = folder.join(&file.path);
        for ending in ["toml", "yaml", "yml", "json"] {
            let other = path.with_extension(ending);
            if !other.exists() {
                continue;
            }
            if other != path {
                let error = format!("`{}` is the same tool in another syntax", other.display());
                return Err(Failure::new(Exit::Output, error)
                    .hint("nothing was written; remove it first, or use its `--format`"));
            }
            there.push(other);
        }
    }
    Ok(there)
}
