//! The variables that a program sees: these and no others.
//!
//! | variable | is |
//! |---|---|
//! | `PATH` | [`FOLDERS`], whatever Helve's own is |
//! | `HOME` | [`HOME`], a folder that does not exist: what a program would read from a home, or leave there, is not part of its definition. A definition that needs one sets it in `env` |
//! | `LANG` | `C.UTF-8` |
//! | the `env` of the definition | what it says |
//! | `ARG_<NAME>` | an argument that the input schema names: strings as they are, all else as JSON |
//! | `HELVE_RUN_ID`, `HELVE_TOOL` | the run and the tool |
//!
//! A variable cannot hold a NUL, and the system bounds how long one may be and how
//! much all may be. An argument past that is not set; on standard input it always is.

use helve_kernel::ToolError;
use serde_json::{Map, Value};

use crate::argv::text_of;

/// Where programs are looked for.
pub(crate) const FOLDERS: [&str; 6] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
];

/// The home of programs whose definition names none.
const HOME: &str = "/nonexistent";

/// The longest `NAME=value` that Linux takes, its final NUL apart.
const LONGEST: usize = 128 * 1024 - 1;

/// What all arguments together may take: half of what Linux gives to a command
/// line and its environment where the stack is as usual.
const ALL: usize = 1024 * 1024;

/// The variables of a run.
pub(crate) fn variables(
    env: &[(String, String)],
    properties: &[&str],
    args: &Map<String, Value>,
    run: &str,
    tool: &str,
) -> Vec<(String, String)> {
    let mut found = base(env);
    let mut left = ALL;
    for name in properties {
        let Some(value) = args.get(*name) else {
            continue;
        };
        let (variable, text) = (variable(name), text_of(value));
        let length = variable.len() + text.len() + 1;
        if length <= LONGEST && length <= left && !text.contains('\0') {
            left -= length;
            found.push((variable, text));
        }
    }
    found.push(("HELVE_RUN_ID".to_owned(), run.to_owned()));
    found.push(("HELVE_TOOL".to_owned(), tool.to_owned()));
    found
}

/// The variables of every program, and those of a definition.
pub(crate) fn base(env: &[(String, String)]) -> Vec<(String, String)> {
    let mut found = vec![
        ("PATH".to_owned(), FOLDERS.join(":")),
        ("HOME".to_owned(), HOME.to_owned()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
    ];
    // Later ones win, so that a definition can have another home or language.
    found.extend(env.iter().cloned());
    found
}

/// The same without those that a later one of the same name replaces.
pub(crate) fn settled(env: &[(String, String)]) -> Vec<(&str, &str)> {
    let mut settled: Vec<(&str, &str)> = Vec::with_capacity(env.len());
    for (name, value) in env {
        settled.retain(|(known, _)| known != name);
        settled.push((name, value));
    }
    settled
}

/// Whether the definition's own variables can be set, and no two arguments want one.
pub(crate) fn check(env: &[(String, String)], properties: &[&str]) -> Result<(), ToolError> {
    for (name, value) in env {
        let problem = match name.as_str() {
            "" => "has no name",
            "PATH" => "is set by Helve: programs are looked for in fixed folders",
            n if n.starts_with("LD_") => "would change how programs are loaded",
            n if n.starts_with("ARG_") => "begins with `ARG_`, which is for arguments",
            n if n.starts_with("HELVE_") => "begins with `HELVE_`, which is for Helve",
            n if n.contains(['=', '\0']) => "has a character that no name of a variable can have",
            _ if value.contains('\0') => "has a NUL character in its value",
            _ => continue,
        };
        return Err(
            ToolError::validation(format!("variable `{name}` in `env` {problem}"))
                .with_hint("take it out of `env`"),
        );
    }
    let mut seen: Vec<(String, &str)> = Vec::with_capacity(properties.len());
    for name in properties {
        let variable = variable(name);
        if let Some((_, other)) = seen.iter().find(|(v, _)| *v == variable) {
            return Err(ToolError::validation(format!(
                "arguments `{other}` and `{name}` would both be the variable `{variable}`"
            ))
            .with_hint("give one of them another name"));
        }
        seen.push((variable, name));
    }
    Ok(())
}

fn variable(argument: &str) -> String {
    let letter = |c: char| match c.to_ascii_uppercase() {
        c @ ('A'..='Z' | '0'..='9') => c,
        _ => '_',
    };
    let name: String = argument.chars().map(letter).collect();
    format!("ARG_{name}")
}

#[cfg(test)]
mod tests;
