//! From a source to tools: what it is, and how it is read.

use std::io::Read as _;
use std::path::Path;

use helve_core::collection::{Document, Input};
use helve_core::def::{Executor, ExecutorKind, Reversible, Risk};
use helve_core::read::{MAX_BYTES, Syntax};
use helve_core::{ToolName, name};
use serde_json::json;

use super::{Found, Import, ImportArgs, Kind, ask, openapi};
use crate::cmd::{all_read, sound};
use crate::exit::Failure;
use crate::load::{self, Loaded, Reading};

/// The bytes of a source, and what is known about them.
pub(super) struct Taken {
    /// How it is called in messages.
    pub(super) shown: String,
    pub(super) bytes: Vec<u8>,
    pub(super) syntax: Syntax,
    /// The address that it came from in the end.
    pub(super) url: Option<String>,
}

pub(super) async fn find(
    args: &ImportArgs,
    kind: Option<Kind>,
    source: &str,
) -> Result<Found, Failure> {
    let path = Path::new(source);
    let web = source.starts_with("http://") || source.starts_with("https://");
    match kind {
        Some(Kind::Dir) => return dir(source),
        None if path.is_dir() => return dir(source),
        // A server's name, or how it is started: there is no such file.
        Some(Kind::Mcp) if source != "-" && !path.exists() => {
            return mcp(args, &ask::list(source).await?);
        }
        None if source != "-" && !web && !path.exists() => {
            return Err(Failure::input(format!("`{source}` is not there"))
                .hint("name a file, a folder or an address, or `-` for standard input"));
        }
        _ => {}
    }
    let taken = match (source, web) {
        ("-", _) => stdin()?,
        (_, true) => openapi::fetch(source).await?,
        (_, false) => file(path)?,
    };
    let kind = match kind {
        Some(kind) => kind,
        None => looks_like(&taken),
    };
    match kind {
        Kind::Openapi => openapi::read(args, &taken),
        Kind::Mcp => mcp(args, &taken),
        Kind::Dir if web => Err(Failure::input(format!("`{source}` is no OpenAPI document"))
            .hint("save what it is, and import the file")),
        Kind::Dir => one_file(&taken),
    }
}

/// Tells by its looks what a text is.
fn looks_like(taken: &Taken) -> Kind {
    let text = helve_core::read::text(&taken.bytes);
    let node = text.and_then(|text| helve_core::read::read(text, taken.syntax));
    let Ok(value) = node.map(|node| node.to_value()) else {
        return Kind::Dir;
    };
    if value.get("openapi").is_some() || value.get("swagger").is_some() {
        return Kind::Openapi;
    }
    let list = value
        .pointer("/result/tools")
        .or_else(|| value.get("tools"));
    let first = list.and_then(|list| list.get(0));
    match first.is_some_and(|tool| tool.get("inputSchema").is_some()) {
        true => Kind::Mcp,
        false => Kind::Dir,
    }
}

fn stdin() -> Result<Taken, Failure> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
    std::io::stdin()
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::input(format!("standard input cannot be read: {e}")))?;
    Ok(Taken {
        shown: "-".to_owned(),
        syntax: guessed(&bytes),
        bytes,
        url: None,
    })
}

fn file(path: &Path) -> Result<Taken, Failure> {
    let shown = path.display().to_string();
    let bytes = load::read_limited(path)
        .map_err(|e| Failure::input(format!("`{shown}` cannot be read: {e}")))?;
    let ending = path.extension().and_then(|e| e.to_str());
    let syntax = ending.and_then(Syntax::of_extension);
    Ok(Taken {
        shown,
        syntax: syntax.unwrap_or_else(|| guessed(&bytes)),
        bytes,
        url: None,
    })
}

/// The syntax that bytes look like.
pub(super) fn guessed(bytes: &[u8]) -> Syntax {
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(64 * 1024)]);
    match begin
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('{')
    {
        true => Syntax::Json,
        // A document in YAML may talk about anything, also in other syntaxes.
        false if begin.contains("openapi:") => Syntax::Yaml,
        false => Syntax::guess(&begin),
    }
}

/// A folder, in any dialect.
fn dir(source: &str) -> Result<Found, Failure> {
    let reading = Reading {
        dialect: None,
        lint: false,
        vendor: None,
    };
    from_documents(load::load(&[source.to_owned()], reading)?)
}

/// One text, in any dialect.
fn one_file(taken: &Taken) -> Result<Found, Failure> {
    let document = Document::read(&Input::alone(&taken.shown, &taken.bytes, taken.syntax));
    from_documents(Loaded {
        documents: vec![document],
        alone: false,
    })
}

fn from_documents(mut loaded: Loaded) -> Result<Found, Failure> {
    all_read(&loaded)?;
    sound(&mut loaded)?;
    let tools = loaded.documents.into_iter().flat_map(|d| d.tools);
    Ok(Found {
        kind: Kind::Dir,
        tools: tools.map(|t| Import::new(t.def, t.losses)).collect(),
        findings: Vec::new(),
        secrets: Vec::new(),
    })
}

/// The list of an MCP server as frozen definitions: what is called later is what was
/// looked at now.
fn mcp(args: &ImportArgs, taken: &Taken) -> Result<Found, Failure> {
    let dialect = helve_core::dialect::find("mcp");
    let document = Document::read(&Input {
        dialect,
        ..Input::alone(&taken.shown, &taken.bytes, taken.syntax)
    });
    let mut loaded = Loaded {
        documents: vec![document],
        alone: false,
    };
    all_read(&loaded)?;
    let server = server(args, taken)?;
    let group = args.group.as_deref().unwrap_or(&server);
    let group = name::canonical(group).ok_or_else(|| {
        Failure::usage(format!("`{group}` is no group"))
            .hint("use `--group` with small letters and digits")
    })?;
    for tool in loaded.documents.iter_mut().flat_map(|d| &mut d.tools) {
        let def = &mut tool.def;
        // As the server calls it, before it was spelled as names are here.
        let own = def
            .metadata
            .get("mcp")
            .and_then(|m| m.get("name"))
            .and_then(|n| n.as_str());
        let wire = own.unwrap_or(def.name.as_str()).to_owned();
        let full = name::in_group(&group, def.name.as_str());
        let long = |e| Failure::input(format!("`{wire}`: {e}")).hint("use a shorter `--group`");
        def.name = ToolName::new(full).map_err(long)?;
        // A stranger's names could stand for tools of others.
        def.aliases.clear();
        let mut executor = Executor::of(ExecutorKind::Mcp);
        executor.settings.insert("server".to_owned(), json!(server));
        executor.settings.insert("tool".to_owned(), json!(wire));
        def.executor = Some(executor);
        // Its hints are a stranger's word; a person may lower this.
        def.risk = Some(Risk::Write);
        def.reversible = Reversible::No;
    }
    sound(&mut loaded)?;
    let tools = loaded.documents.into_iter().flat_map(|d| d.tools);
    Ok(Found {
        kind: Kind::Mcp,
        tools: tools.map(|t| Import::new(t.def, t.losses)).collect(),
        findings: Vec::new(),
        secrets: Vec::new(),
    })
}

/// The name of the server: as it is said, or as the file is called.
fn server(args: &ImportArgs, taken: &Taken) -> Result<String, Failure> {
    let stem = Path::new(&taken.shown).file_stem().and_then(|s| s.to_str());
    let given = args
        .server
        .as_deref()
        .or_else(|| stem.filter(|s| *s != "-"));
    let named = given.and_then(name::canonical);
    named.ok_or_else(|| {
        Failure::usage("the list does not say which server it is of")
            .hint("name it with `--server`")
    })
}
