//! Programs in the tool folders that say themselves what they are: by a comment at their
//! head, or when they are asked with `--describe`. They are tools of this machine like any
//! other: arguments come as JSON on standard input.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use helve_core::audit::Hash;
use helve_core::read::{self, Syntax};
use helve_exec::ScriptExecutor;
use serde_json::{Value, json};

use super::define::{complete, document, from_root};
use super::{Kept, Read};
use crate::config::ScriptFolder;

/// The most of a file in which its head is looked for.
const HEAD: u64 = 64 * 1024;

/// The line that begins and ends a definition in comments.
const FENCE: &str = "---";

/// The tool that a program is, if it is one.
pub(super) async fn program(
    read: &mut Read,
    executor: &ScriptExecutor,
    kept: &mut Kept,
    root: &Path,
    about: &ScriptFolder,
    file: PathBuf,
) {
    let found = match head(&file) {
        Ok(Some(text)) => definition(&text, Syntax::Yaml),
        Ok(None) if is_shell(&file) => return,
        Ok(None) => asked(executor, kept, &file).await,
        Err(error) => Err(error.to_string()),
    };
    let mut tools = match found {
        Ok(Some(Value::Array(tools))) => tools,
        Ok(Some(tool)) => vec![tool],
        Ok(None) => return,
        Err(problem) => {
            let problem = format!("{}: {problem}", from_root(root, &file));
            read.broken.push((file, problem));
            return;
        }
    };
    for tool in &mut tools {
        if tool["executor"].is_null() {
            let path = from_root(root, &file);
            tool["executor"] = json!({"type": "host", "command": [path]});
        }
        complete(tool, about);
    }
    read.documents.extend(document(root, &file, tools));
}

/// The definition in the comments at the head of a script: between two lines of `# ---`.
fn head(file: &Path) -> std::io::Result<Option<String>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(HEAD).read_to_end(&mut bytes)?;
    if !bytes.starts_with(b"#!") {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&bytes);
    let comment = |line: &str| {
        let line = line.strip_prefix("//").or_else(|| line.strip_prefix('#'))?;
        Some(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned())
    };
    let mut lines = text.lines().skip(1).map_while(|line| match line.trim() {
        "" => Some(String::new()),
        _ => comment(line),
    });
    if !lines.any(|line| line == FENCE) {
        return Ok(None);
    }
    let lines: Vec<String> = lines.collect();
    let Some(end) = lines.iter().position(|line| line == FENCE) else {
        return Ok(None);
    };
    Ok(Some(lines[..end].join("\n")))
}

fn definition(text: &str, syntax: Syntax) -> Result<Option<Value>, String> {
    let node = read::read(text, syntax).map_err(|e| format!("its definition: {e}"))?;
    let value = node.to_value();
    match value.is_object() || value.is_array() {
        true => Ok(Some(value)),
        false => Err("its definition is no table".to_owned()),
    }
}

/// A script for a shell says what it is in a comment, or is no tool: nobody knows what it
/// would do with `--describe`.
fn is_shell(file: &Path) -> bool {
    let mut start = [0; 128];
    let count = File::open(file).and_then(|mut f| f.read(&mut start));
    let start = String::from_utf8_lossy(&start[..count.unwrap_or(0)]).into_owned();
    let line = start.lines().next().unwrap_or_default().to_owned();
    let shells = ["sh", "bash", "dash", "zsh", "ksh", "fish"];
    let mut words = line.trim_start_matches("#!").split([' ', '/']);
    line.starts_with("#!") && words.any(|word| shells.contains(&word))
}

/// What a program says of itself.
async fn asked(
    executor: &ScriptExecutor,
    kept: &mut Kept,
    file: &Path,
) -> Result<Option<Value>, String> {
    let bytes = std::fs::read(file).map_err(|e| e.to_string())?;
    let key = Hash::of(&[&bytes[..], file.as_os_str().as_encoded_bytes()].concat()).to_string();
    if let Some(found) = kept.before.get(&key).cloned() {
        kept.now.insert(key, found.clone());
        return Ok(Some(found).filter(|found| !found.is_null()));
    }
    let said = executor.ask(file, &["--describe"]).await;
    let said = said.map_err(|e| e.message)?;
    let found = match said.as_deref().map(str::trim) {
        None | Some("") => None,
        Some(text) => definition(text, Syntax::Json)
            .map_err(|problem| format!("what it says with `--describe`: {problem}"))?,
    };
    kept.now.insert(key, found.clone().unwrap_or_default());
    Ok(found)
}
