//! `helve new`: something to begin with.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::exit::{Done, Exit, Failure};
use crate::{load, out, save, workspace};

/// Make something new to begin with.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Tool(ToolArgs),
}

/// Make a tool that works, with a test.
///
/// It is one file in `tools/<group>/`. What is not given is asked for: the name, and the
/// language.
#[derive(Debug, Args)]
struct ToolArgs {
    /// Its name, `<group>_<action>`, like `text_count`.
    name: Option<String>,
    /// What it is written in.
    #[arg(long, short, value_enum)]
    language: Option<Language>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Language {
    Javascript,
    Python,
    Erlang,
    Shell,
}

impl Language {
    fn template(self) -> &'static str {
        match self {
            Language::Javascript => include_str!("new/templates/javascript.js"),
            Language::Python => include_str!("new/templates/python.py"),
            Language::Erlang => include_str!("new/templates/erlang.erl"),
            Language::Shell => include_str!("new/templates/shell.sh"),
        }
    }

    fn file(self, group: &str, action: &str) -> String {
        match self {
            Language::Javascript => format!("{group}/{action}.js"),
            Language::Python => format!("{group}/{action}.py"),
            // A module is known by its name everywhere.
            Language::Erlang => format!("{group}/{group}_{action}.erl"),
            Language::Shell => format!("{group}/{action}.sh"),
        }
    }
}

pub(crate) fn run(args: &NewArgs) -> Done {
    match &args.what {
        What::Tool(args) => tool(args),
    }
}

fn tool(args: &ToolArgs) -> Done {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => answer(
            "What is it called (<group>_<action>)?",
            "text_count",
            "NAME",
        )?,
    };
    let Some((group, action)) = parts(&name) else {
        let hint = "small letters, digits and `_`, a letter first, like `text_count`";
        return Err(Failure::usage(format!("`{name}` is no name of a tool")).hint(hint));
    };
    let language = match args.language {
        Some(language) => language,
        None => {
            let question = "In which language (javascript, python, erlang, shell)?";
            let word = answer(question, "javascript", "--language LANGUAGE")?;
            let known = Language::from_str(&word, true);
            known.map_err(|_| {
                Failure::usage(format!("there is no template in `{word}`"))
                    .hint("javascript, python, erlang or shell")
            })?
        }
    };
    let path: PathBuf = workspace::tools().join(language.file(group, action));
    if path.exists() {
        let problem = format!("`{}` is there already", load::shown(&path));
        return Err(Failure::output(problem).hint("choose another name; nothing was written"));
    }
    let text = language.template();
    let text = text
        .replace("{{NAME}}", &name)
        .replace("{{ACTION}}", action);
    let text = text.replace("{{MODULE}}", &format!("{group}_{action}"));
    if let Some(folder) = path.parent() {
        let unmade = |e| Failure::output(format!("`{}` cannot be made: {e}", folder.display()));
        fs::create_dir_all(folder).map_err(unmade)?;
    }
    save::file(&path, &text)?;
    if language == Language::Shell {
        let unset = |e| {
            Failure::output(format!(
                "`{}` cannot be made a program: {e}",
                path.display()
            ))
        };
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(unset)?;
    }
    out::say(&format!("made {}\n", load::shown(&path)));
    out::say(&format!(
        "  helve test {name}                    runs its examples"
    ));
    out::say(&format!("  helve call {name} text='one two'     calls it"));
    Ok(Exit::Ok)
}

/// The group and the action of a name.
fn parts(name: &str) -> Option<(&str, &str)> {
    let word = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let (group, action) = name.split_once('_')?;
    (name.len() <= 64 && word(group) && word(action)).then_some((group, action))
}

/// What somebody says who sits there; nothing is what is proposed.
fn answer(question: &str, proposed: &str, otherwise: &str) -> Result<String, Failure> {
    if !out::can_ask() {
        let hint = format!("without a terminal, say it: `{otherwise}`");
        return Err(Failure::usage("there is nobody to ask").hint(hint));
    }
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "{question} [{proposed}] ");
    let _ = stderr.flush();
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    if read.is_ok_and(|count| count == 0) || line.is_empty() {
        return Err(Failure::usage("nothing was said; nothing was made"));
    }
    match line.trim() {
        "" => Ok(proposed.to_owned()),
        word => Ok(word.to_owned()),
    }
}
