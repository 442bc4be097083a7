//! The scripts of skills, as programs to be registered.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use helve_kernel::helve_core::def::{Access, AllowedPath, Executor, ExecutorKind, Risk};
use helve_kernel::{ToolDef, ToolError, ToolName};
use serde_json::{Map, Value, json};

use super::FOLDERS;
use super::shelf::{LONGEST, skill};

/// How many words a script can be given.
const WORDS: usize = 16;

/// The most scripts that are registered.
const MOST: usize = 200;

/// Who runs what ends so.
const INTERPRETERS: &[(&str, &str)] = &[
    ("py", "python3"),
    ("sh", "sh"),
    ("bash", "bash"),
    ("js", "node"),
    ("mjs", "node"),
    ("rb", "ruby"),
    ("pl", "perl"),
];

/// The scripts of all skills in a workspace, as tools.
pub fn programs(workspace: &Path) -> Result<Vec<ToolDef>, ToolError> {
    let mut programs = Vec::new();
    for folder in FOLDERS {
        for (name, path) in listed(&workspace.join(folder)) {
            let Some(text) = plain_text(&path.join("SKILL.md")) else {
                continue;
            };
            let Ok(skill) = skill(&text, &format!("{folder}/{name}")) else {
                continue;
            };
            for (script, path) in listed(&path.join("scripts")) {
                if let Some(command) = command(&skill.folder, &script, &path) {
                    programs.push(definition(&skill.name, &script, &command)?);
                }
            }
        }
    }
    // The first of a name stays, as with all tools.
    let mut seen = std::collections::HashSet::new();
    programs.retain(|def| seen.insert(def.name.to_string()));
    programs.truncate(MOST);
    Ok(programs)
}

/// The text of a plain file of a length that instructions have: a link may lead to a device
/// that never ends.
fn plain_text(path: &Path) -> Option<String> {
    let is_plain = |found: fs::Metadata| found.is_file() && found.len() <= LONGEST;
    fs::symlink_metadata(path)
        .is_ok_and(is_plain)
        .then_some(())?;
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

/// What lies in a folder, by name; links lead elsewhere and are left out.
fn listed(folder: &Path) -> Vec<(String, std::path::PathBuf)> {
    if !fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir()) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let plain = entries.filter(|e| e.file_type().is_ok_and(|t| !t.is_symlink()));
    let named = plain.filter_map(|e| Some((e.file_name().into_string().ok()?, e.path())));
    let mut named: Vec<_> = named.collect();
    named.sort();
    named
}

/// How a script is started; `None` for what is no script.
fn command(folder: &str, script: &str, path: &Path) -> Option<Vec<String>> {
    if !path.is_file() {
        return None;
    }
    let place = format!("{folder}/scripts/{script}");
    let ending = Path::new(script).extension().and_then(|e| e.to_str());
    let runs = INTERPRETERS
        .iter()
        .find(|(known, _)| Some(*known) == ending);
    let mut command = match runs {
        Some((_, program)) => vec![(*program).to_owned(), place],
        None => {
            let mut first = [0; 2];
            fs::File::open(path).ok()?.read_exact(&mut first).ok()?;
            (first == *b"#!").then(|| vec![place])?
        }
    };
    command.extend((1..=WORDS).map(|number| format!("{{{}}}", argument(number))));
    Some(command)
}

/// The name of an argument of a script.
pub(super) fn argument(number: usize) -> String {
    format!("word_{number}")
}

/// The name of the tool that a script is.
pub(super) fn name(skill: &str, script: &str) -> String {
    let plain = |text: &str| -> String {
        let word = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        };
        text.chars().map(word).collect()
    };
    let whole = format!("skill_{}_{}", plain(skill), plain(script));
    whole.chars().take(64).collect()
}

/// Whether a tool is that script, and not another whose name comes out alike.
pub(super) fn is_of(def: &ToolDef, skill: &str, script: &str) -> bool {
    def.metadata.get("skill") == Some(&json!({"name": skill, "script": script}))
}

fn definition(skill: &str, script: &str, command: &[String]) -> Result<ToolDef, ToolError> {
    let tool =
        ToolName::new(name(skill, script)).map_err(|e| ToolError::internal(e.to_string()))?;
    let says = format!("Runs `{script}` of the skill `{skill}`. Use it when the skill says so.");
    let mut def = ToolDef::new(tool, says);
    def.title = Some(format!("{skill}: {script}"));
    def.category = Some("Skills".to_owned());
    def.tags = vec!["skills".to_owned()];
    def.risk = Some(Risk::ExecHigh);
    def.timeout = Some(Duration::from_mins(5));
    def.metadata
        .insert("skill".to_owned(), json!({"name": skill, "script": script}));
    def.allowed_paths = vec![AllowedPath {
        path: ".".to_owned(),
        access: Some(Access::Write),
    }];
    let words = (1..=WORDS).map(|number| {
        let word =
            json!({"type": "string", "maxLength": 8192, "description": "A word that it is given"});
        (argument(number), word)
    });
    def.input_schema = json!({
        "type": "object",
        "properties": Value::Object(words.collect()),
        "additionalProperties": false,
    });
    let settings = Map::from_iter([
        ("command".to_owned(), json!(command)),
        ("options".to_owned(), json!(true)),
        ("any_exit".to_owned(), json!(true)),
        ("stage".to_owned(), json!(true)),
    ]);
    def.executor = Some(Executor {
        kind: ExecutorKind::Host,
        settings,
    });
    Ok(def)
}
