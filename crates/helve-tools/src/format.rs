//! `code_format`: the project's own formatter, as a change that is shown before it is made.
//!
//! A formatter is a program, so each that the project uses is a registered tool; this one
//! finds the right one by the file. Which there are is decided once, by what lies in the
//! workspace.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use helve_kernel::helve_core::def::{AllowedPath, Executor, ExecutorKind, RelatedTool, Risk};
use helve_kernel::{
    DefineTool, Kernel, Led, Principal, ToolDef, ToolError, ToolName, Toolset, ToolsetError, tool,
};
use serde_json::{Map, Value, json};

/// A formatter, and when a project uses it.
struct Formatter {
    /// The tool: `code_format_<name>`.
    name: &'static str,
    /// What lies in the workspace of a project that uses it.
    marks: &'static [&'static str],
    command: &'static [&'static str],
    /// The endings of files that it is for.
    endings: &'static [&'static str],
}

/// Of several for one ending, the first that the project has.
const FORMATTERS: &[Formatter] = &[
    Formatter {
        name: "rust",
        marks: &["rustfmt.toml", ".rustfmt.toml", "Cargo.toml"],
        command: &["rustfmt", "--edition", "2024", "--", "{path}"],
        endings: &["rs"],
    },
    Formatter {
        name: "prettier",
        marks: &["node_modules/.bin/prettier"],
        command: &["node_modules/.bin/prettier", "--write", "--", "{path}"],
        endings: &[
            "js", "jsx", "mjs", "cjs", "ts", "tsx", "json", "css", "scss", "html", "md", "yaml",
            "yml", "vue",
        ],
    },
    Formatter {
        name: "ruff",
        marks: &["ruff.toml", ".ruff.toml"],
        command: &["ruff", "format", "--", "{path}"],
        endings: &["py", "pyi"],
    },
    Formatter {
        name: "black",
        marks: &["pyproject.toml", "setup.cfg", "setup.py"],
        command: &["black", "--quiet", "--", "{path}"],
        endings: &["py", "pyi"],
    },
    Formatter {
        name: "go",
        marks: &["go.mod"],
        command: &["gofmt", "-w", "--", "{path}"],
        endings: &["go"],
    },
    Formatter {
        name: "clang",
        marks: &[".clang-format"],
        command: &["clang-format", "-i", "--", "{path}"],
        endings: &["c", "h", "cc", "cpp", "hpp", "cxx", "m", "proto"],
    },
];

/// The set: the one tool that finds the formatter.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    let format = <format as DefineTool>::tool().leading(led);
    let says = "The project's own formatter".to_owned();
    Toolset::new("code", Some(says), vec!["code".to_owned()], vec![format])
}

/// The formatters of a project, as tools to be registered. `find` knows where a program lies;
/// what it does not know is left to whoever runs programs.
pub fn programs(workspace: &Path, find: &Find<'_>) -> Result<Vec<ToolDef>, ToolError> {
    let used = FORMATTERS.iter().filter(|formatter| {
        let mut marks = formatter.marks.iter();
        marks.any(|mark| workspace.join(mark).exists())
    });
    used.map(|formatter| definition(formatter, find)).collect()
}

/// Where a program lies, by its name.
pub type Find<'f> = dyn Fn(&str) -> Option<String> + 'f;

fn definition(formatter: &Formatter, find: &Find<'_>) -> Result<ToolDef, ToolError> {
    let name = format!("code_format_{}", formatter.name);
    let name = ToolName::new(&name).map_err(|e| ToolError::internal(e.to_string()))?;
    let (program, endings) = (formatter.command[0], formatter.endings.join(", "));
    let program = program.rsplit('/').next().unwrap_or(program);
    let says = format!("Formats a file with {program}. Use it for files that end in {endings}.");
    let mut def = ToolDef::new(name, says);
    def.title = Some(format!("Format with {program}"));
    def.category = Some("Code".to_owned());
    def.tags = vec!["code".to_owned()];
    def.risk = Some(Risk::Write);
    def.idempotent = true;
    def.timeout = Some(Duration::from_mins(1));
    def.allowed_paths = vec![AllowedPath {
        path: ".".to_owned(),
        access: None,
    }];
    def.input_schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "format": "path", "description": "The file"},
        },
        "required": ["path"],
        "additionalProperties": false,
    });
    def.related_tools = vec![RelatedTool {
        name: "code_format".to_owned(),
        relation: Some("finds the formatter by the file".to_owned()),
    }];
    let mut command: Vec<String> = formatter.command.iter().map(|w| (*w).to_owned()).collect();
    if let Some(found) = find(&command[0]) {
        command[0] = found;
    }
    let settings = Map::from_iter([("command".to_owned(), json!(command))]);
    def.executor = Some(Executor {
        kind: ExecutorKind::Host,
        settings,
    });
    Ok(def)
}

/// Formats a file with the project's own formatter. Use it after code was changed.
///
/// Which formatter it is follows from the file and from what the project uses: rustfmt,
/// prettier, ruff, black, gofmt, clang-format. What it would change is shown as a diff and
/// can be undone.
#[tool(
    group = "code",
    title = "Format a file",
    category = "Code",
    risk = "write",
    aliases = ["format_code"],
    triggers = ["After code was written or changed"],
    warnings = ["Only formatters that the project uses are there"],
    related = [("system_execute", "runs other registered programs")],
    example(scenario = "After an edit", params = {"path": "src/main.rs"}, expected = "The file, formatted, as a change to look at")
)]
#[expect(
    clippy::unused_async,
    reason = "a tool that leads to others has no work of its own"
)]
async fn format(
    /// The file.
    path: String,
) -> Result<Value, ToolError> {
    drop(path);
    Err(ToolError::internal("it leads to no tool"))
}

async fn led(kernel: Kernel, _: Arc<Principal>, args: Map<String, Value>) -> Led {
    let path = args.get("path").and_then(Value::as_str).unwrap_or_default();
    let ending = Path::new(path).extension().and_then(|e| e.to_str());
    let Some(ending) = ending.map(str::to_ascii_lowercase) else {
        return Err(
            ToolError::validation(format!("`{}` has no ending", path.escape_debug()))
                .with_hint("a formatter is found by the ending of the file, like `.rs`"),
        );
    };
    let fits = |formatter: &&Formatter| formatter.endings.contains(&ending.as_str());
    let mut names = FORMATTERS
        .iter()
        .filter(fits)
        .map(|f| format!("code_format_{}", f.name));
    match names.find(|name| kernel.find(name).is_some()) {
        Some(name) => Ok((name, json!({"path": path}))),
        None => Err(ToolError::dependency(format!(
            "the project has no formatter for `.{}` files",
            ending.escape_debug()
        ))
        .with_hint("it must be installed and configured in the workspace when the hub starts")),
    }
}
