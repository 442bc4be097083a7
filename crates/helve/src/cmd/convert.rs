//! `helve convert`: definitions from one dialect into another.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use helve_core::dialect::{self, Dialect, Loss, Strictness};
use helve_core::read::Syntax;
use helve_core::write::{self, File};
use serde_json::{Value, json};

use super::{all_read, sound};
use crate::cli::{Sources, dialect};
use crate::exit::{Done, Exit, Failure};
use crate::load::{self, Loaded, Reading};
use crate::{out, save};

/// Convert definitions from any dialect into any other.
///
/// What the target cannot hold is never dropped in silence: a count of losses is
/// printed, and `--losses` lists each with its field and reason.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    sources: Sources,
    /// The dialect to write.
    #[arg(long, value_name = "DIALECT", value_parser = dialect())]
    to: String,
    /// Rewrite schemas for the vendor's strict mode (openai, openai-responses, anthropic, kimi).
    #[arg(long)]
    strict: bool,
    /// The syntax to write [default: the dialect's own, or what `--out` ends in].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file, or into this folder (one that exists, or a path ending in `/`).
    #[arg(long, short, value_name = "PATH")]
    out: Option<PathBuf>,
    /// List what was lost, by field and reason.
    #[arg(long)]
    losses: bool,
    /// Fail if anything is lost, and write nothing.
    #[arg(long)]
    lossless: bool,
    /// Print one JSON object with the tools and the losses.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Json,
    Toml,
    Yaml,
    Python,
    Erlang,
    Skill,
}

impl Format {
    fn syntax(self) -> Syntax {
        match self {
            Format::Json => Syntax::Json,
            Format::Toml => Syntax::Toml,
            Format::Yaml => Syntax::Yaml,
            Format::Python => Syntax::Python,
            Format::Erlang => Syntax::Erlang,
            Format::Skill => Syntax::Skill,
        }
    }
}

/// A tool that was converted.
struct Converted {
    name: String,
    stem: String,
    value: Value,
    losses: Vec<Loss>,
}

pub(crate) fn run(args: &ConvertArgs) -> Done {
    let target = dialect::find(&args.to)
        .ok_or_else(|| Failure::usage(format!("no dialect `{}`", args.to)))?;
    let syntax = syntax_for(args, target)?;
    let strictness = strictness(args, target)?;
    let reading = Reading {
        dialect: args.sources.dialect(),
        lint: false,
        vendor: None,
    };
    let mut loaded = load::load(&args.sources.paths, reading)?;
    if args.sources.from == "auto" {
        say_what_was_taken(&loaded);
    }
    all_read(&loaded)?;
    sound(&mut loaded)?;
    if loaded.documents.iter().all(|d| d.tools.is_empty()) {
        return Err(Failure::input("there is no tool to convert"));
    }
    let tools = convert(&loaded, target, strictness)?;
    let lost: usize = tools.iter().map(|t| t.losses.len()).sum();
    show_losses(args, &tools, lost);
    if args.lossless && lost > 0 {
        return Err(Failure::input(format!(
            "{lost} lost, with `--lossless`; nothing was written"
        )));
    }
    write_out(args, tools, target, syntax, loaded.alone)?;
    Ok(Exit::Ok)
}

fn syntax_for(args: &ConvertArgs, target: &Dialect) -> Result<Syntax, Failure> {
    let ending = args
        .out
        .as_deref()
        .and_then(Path::extension)
        .and_then(|e| Syntax::of_extension(e.to_str()?));
    let wanted = match (args.format, ending) {
        (Some(format), _) => format.syntax(),
        // A file that ends like another syntax is not what it says.
        (None, Some(ending)) => ending,
        (None, _) => target.syntaxes[0],
    };
    match target.syntaxes.contains(&wanted) {
        true => Ok(wanted),
        false => {
            let known: Vec<&str> = target.syntaxes.iter().map(|s| s.name()).collect();
            let error = format!("`{}` cannot be written as {}", target.name, wanted.name());
            Err(Failure::usage(error).hint(format!("use --format {}", known.join(" or "))))
        }
    }
}

fn strictness(args: &ConvertArgs, target: &Dialect) -> Result<Strictness, Failure> {
    let strict = ["openai", "openai-responses", "anthropic", "kimi"];
    match args.strict {
        false => Ok(Strictness::Loose),
        true if strict.contains(&target.name) => Ok(Strictness::Strict),
        true => Err(
            Failure::usage(format!("`{}` has no strict mode", target.name))
                .hint(format!("those that have one are {}", strict.join(", "))),
        ),
    }
}

fn say_what_was_taken(loaded: &Loaded) {
    for document in &loaded.documents {
        let mut said: Vec<&str> = Vec::new();
        for tool in &document.tools {
            if let (Some(because), false) = (tool.because, said.contains(&tool.dialect.name)) {
                said.push(tool.dialect.name);
                out::say(&format!(
                    "read {} as {}: {because}",
                    document.file, tool.dialect.name
                ));
            }
        }
    }
}

fn convert(
    loaded: &Loaded,
    target: &Dialect,
    strictness: Strictness,
) -> Result<Vec<Converted>, Failure> {
    let mut tools = Vec::new();
    let mut refused = Vec::new();
    for document in &loaded.documents {
        for tool in &document.tools {
            match dialect::encode(&tool.def, target, strictness) {
                Ok(encoded) => {
                    let mut losses = tool.losses.clone();
                    // Written where it came from, a foreign name is itself again.
                    let pointer = format!("/{}/name", target.name);
                    let own = serde_json::Value::Object(tool.def.metadata.clone());
                    if tool.dialect == target && own.pointer(&pointer).is_some() {
                        losses.retain(|l| l.field != "/name");
                    }
                    losses.extend(encoded.losses);
                    tools.push(Converted {
                        name: tool.def.name.to_string(),
                        stem: (target.path)(&tool.def),
                        value: encoded.value,
                        losses,
                    });
                }
                Err(e) => refused.push(format!("{}: {e}", document.file)),
            }
        }
    }
    match refused.as_slice() {
        [] => Ok(tools),
        [first, ..] => {
            for reason in refused.iter().skip(1) {
                out::say(reason);
            }
            Err(Failure::input(first).hint("nothing was written"))
        }
    }
}

fn show_losses(args: &ConvertArgs, tools: &[Converted], lost: usize) {
    if args.json || lost == 0 {
        return;
    }
    if args.losses {
        out::say(&format!("lost on the way to {}:", args.to));
        for tool in tools {
            for loss in &tool.losses {
                out::say(&out::loss(&tool.name, loss));
            }
        }
    } else {
        let some = tools.iter().filter(|t| !t.losses.is_empty()).count();
        out::say(&format!(
            "{lost} lost in {}; `--losses` lists them",
            out::count(some, "tool")
        ));
    }
}

fn write_out(
    args: &ConvertArgs,
    tools: Vec<Converted>,
    target: &'static Dialect,
    syntax: Syntax,
    alone: bool,
) -> Result<(), Failure> {
    let refuse = |e: dialect::EncodeError| Failure::input(e);
    let names: Vec<String> = tools.iter().map(|t| t.name.clone()).collect();
    let mut report = None;
    if args.json {
        let losses: Vec<Value> = tools
            .iter()
            .flat_map(|t| {
                t.losses.iter().map(
                    |l| json!({"tool": t.name, "field": l.field, "kind": l.kind, "reason": l.reason}),
                )
            })
            .collect();
        let mut whole = json!({"dialect": target.name});
        match &args.out {
            None => whole["tools"] = tools.iter().map(|t| t.value.clone()).collect(),
            Some(path) => whole["out"] = json!(path.display().to_string()),
        }
        whole["losses"] = json!(losses);
        if args.out.is_none() {
            return out::data(&write::json_text(&whole));
        }
        report = Some(whole);
    }
    match &args.out {
        Some(path) if is_folder(path) => {
            let mut files: Vec<File> = Vec::new();
            for tool in tools {
                files.extend(write::files(tool.value, target, syntax, &tool.stem).map_err(refuse)?);
            }
            save::folder(path, &files)?;
            out::say(&format!(
                "wrote {} to {}",
                out::count(files.len(), "file"),
                path.display()
            ));
        }
        other => {
            let values = tools.into_iter().map(|t| t.value).collect();
            let text = write::text(values, target, syntax, alone).map_err(|e| {
                let failure = Failure::input(&e);
                match syntax {
                    Syntax::Skill => failure.hint("use `--out FOLDER/`"),
                    _ => failure,
                }
            })?;
            match other {
                Some(path) => {
                    save::file(path, &text)?;
                    out::say(&format!(
                        "wrote {} to {}",
                        out::count(names.len(), "tool"),
                        path.display()
                    ));
                }
                None => out::data(&text)?,
            }
        }
    }
    // What was written is told only once it is.
    match report {
        Some(report) => out::data(&write::json_text(&report)),
        None => Ok(()),
    }
}

fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/')
}
