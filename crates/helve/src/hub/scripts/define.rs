//! From what a script says of its tools to definitions.

use std::path::Path;

use helve_core::collection::{Document, Input};
use helve_core::dialect;
use helve_core::lint::Severity;
use helve_core::name::in_group;
use helve_core::read::Syntax;
use helve_exec::{Described, Runtime};
use serde_json::{Map, Value, json};

use super::Read;
use crate::config::ScriptFolder;

/// What a definition can say that other dialects have no place for.
const OWN: [&str; 22] = [
    "title",
    "output_schema",
    "detail",
    "triggers",
    "prerequisites",
    "examples",
    "warnings",
    "related_tools",
    "workflow",
    "category",
    "tags",
    "aliases",
    "risk",
    "allowed_paths",
    "timeout",
    "retry",
    "idempotent",
    "serial",
    "sensitive",
    "return_direct",
    "reversible",
    "enabled",
];

/// What a tool may say of how it runs.
const RUN: [&str; 5] = ["network", "memory", "pids", "cwd", "env"];

/// Folders that hold groups and are none.
const ROOTS: [&str; 3] = ["tools", "internal-tools", "internal"];

/// The tools of a script.
pub(super) fn script(
    read: &mut Read,
    root: &Path,
    runtime: Runtime,
    about: &ScriptFolder,
    described: Described,
) {
    let file = Path::new(&described.file).to_owned();
    if let Some(error) = described.error {
        let line = error.line.map(|line| format!(":{line}"));
        let column = error.column.filter(|_| line.is_some());
        let column = column.map(|column| format!(":{column}"));
        let place = [line, column].into_iter().flatten().collect::<String>();
        let shown = from_root(root, &file);
        let problem = format!("{shown}{place}: {}", error.message);
        read.broken.push((file, problem));
        return;
    }
    let mut tools = Vec::new();
    let mut problems = Vec::new();
    for raw in described.tools {
        match defined(root, &file, runtime, about, &raw) {
            Ok(tool) => tools.push(tool),
            Err(told) => problems.extend(told),
        }
    }
    if !problems.is_empty() {
        let shown = from_root(root, &file);
        let problems: Vec<String> = problems.iter().map(|p| format!("{shown}: {p}")).collect();
        read.broken.push((file.clone(), problems.join("\n")));
    }
    read.documents.extend(document(root, &file, tools));
}

/// Definitions of ours, as if they stood in that file.
pub(super) fn document(root: &Path, file: &Path, tools: Vec<Value>) -> Option<Document> {
    if tools.is_empty() {
        return None;
    }
    let text = Value::Array(tools).to_string();
    let shown = root.join(file).display().to_string();
    let mut document = Document::read(&Input {
        dialect: dialect::find("helve"),
        ..Input::alone(&shown, text.as_bytes(), Syntax::Json)
    });
    document.lint(None);
    for finding in &mut document.findings {
        // The places are those of a text that nobody has written.
        finding.place = None;
    }
    Some(document)
}

fn defined(
    root: &Path,
    file: &Path,
    runtime: Runtime,
    about: &ScriptFolder,
    raw: &Map<String, Value>,
) -> Result<Value, Vec<String>> {
    let dialect = match runtime {
        Runtime::Node => "internal",
        Runtime::Python => "claude-sdk",
        Runtime::Erlang => "beamai",
    };
    let folder = file.parent().and_then(|f| f.file_name());
    let folder = folder.and_then(|f| f.to_str());
    let group = folder.filter(|f| !ROOTS.contains(f));
    let mut told = raw.clone();
    let plain = told.shift_remove("plain") == Some(Value::Bool(true));
    let text = Value::Object(told).to_string();
    let shown = file.display().to_string();
    let document = Document::read(&Input {
        dialect: dialect::find(dialect),
        folder,
        group,
        stem: file.file_stem().and_then(|s| s.to_str()),
        ..Input::alone(&shown, text.as_bytes(), Syntax::Json)
    });
    let Some(tool) = document.tools.first() else {
        let errors = document.findings.iter();
        let errors = errors.filter(|f| f.severity == Severity::Error);
        return Err(errors.map(|f| f.message.clone()).collect());
    };
    let mut value = tool.def.to_value();
    for field in OWN {
        // What the dialect has a word for, it has read in its own way.
        if value[field].is_null()
            && let Some(said) = said(raw, field)
        {
            value[field] = said.clone();
        }
    }
    let mut executor = json!({
        "type": "script",
        "path": from_root(root, file),
        "runtime": runtime.as_str(),
        "function": raw.get("name"),
    });
    for setting in RUN {
        if let Some(said) = said(raw, setting) {
            executor[setting] = said.clone();
        }
    }
    value["executor"] = executor;
    let name = value["name"].as_str().unwrap_or_default().to_owned();
    if runtime == Runtime::Node {
        also(&mut value, format!("internal_{name}"));
    }
    if let Some(group) = group.filter(|_| plain)
        && in_group(group, &name) != name
    {
        value["name"] = json!(in_group(group, &name));
        also(&mut value, name);
    }
    complete(&mut value, about);
    Ok(value)
}

/// Gives a tool another name.
fn also(value: &mut Value, alias: String) {
    let alias = Value::String(alias);
    match &mut value["aliases"] {
        Value::Array(aliases) if !aliases.contains(&alias) => aliases.push(alias),
        Value::Array(_) => {}
        none => *none = json!([alias]),
    }
}

/// What a tool says under a name, in the words of either language.
fn said<'r>(raw: &'r Map<String, Value>, field: &str) -> Option<&'r Value> {
    let mut camel = String::with_capacity(field.len());
    let mut upper = false;
    for letter in field.chars() {
        match (letter, upper) {
            ('_', _) => upper = true,
            (letter, true) => {
                camel.push(letter.to_ascii_uppercase());
                upper = false;
            }
            (letter, false) => camel.push(letter),
        }
    }
    let said = raw.get(field).or_else(|| raw.get(&camel))?;
    (!said.is_null()).then_some(said)
}

/// What the operator says of the folder, where the tool says nothing, and the risk that
/// follows from what it may do.
pub(super) fn complete(value: &mut Value, about: &ScriptFolder) {
    if value["allowed_paths"].is_null() && !about.allowed_paths.is_empty() {
        value["allowed_paths"] = json!(about.allowed_paths);
    }
    if value["timeout"].is_null()
        && let Some(timeout) = &about.timeout
    {
        value["timeout"] = json!(timeout);
    }
    let executor = &mut value["executor"];
    if executor["network"].is_null() && about.network {
        executor["network"] = json!(true);
    }
    if executor["memory"].is_null()
        && let Some(memory) = &about.memory
    {
        executor["memory"] = json!(memory);
    }
    if value["risk"].is_null() {
        let writes = value["allowed_paths"].as_array().is_some_and(|paths| {
            paths
                .iter()
                .any(|path| path["access"].as_str() != Some("read"))
        });
        let risk = match (&about.risk, writes, value["executor"]["network"] == true) {
            (Some(risk), ..) => risk.as_str(),
            (None, true, _) => "write",
            (None, false, true) => "exec_high",
            (None, false, false) => "exec_low",
        };
        value["risk"] = json!(risk);
    }
}

/// A path from the workspace, where it lies in it.
pub(super) fn from_root(root: &Path, file: &Path) -> String {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let inside = file
        .strip_prefix(root)
        .or_else(|_| file.strip_prefix(&real));
    inside.unwrap_or(file).display().to_string()
}
