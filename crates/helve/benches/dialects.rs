//! 10,000 definitions parsed, linted and converted; and the same validation done
//! by Python's `jsonschema` on the same definitions in the same run.
//!
//! Both sides use one core and are measured in CPU time, in turns, so that a busy
//! machine hurts both alike; medians are printed. Needs a Python with `jsonschema`:
//! `./test` makes one in `target/venv`, otherwise `python3` must have it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

mod peer;

use std::hint::black_box;

use helve_core::collection::{Document, Input};
use helve_core::dialect::{self, DIALECTS, Strictness};
use helve_core::read::Syntax;
use helve_core::schema::Schema;
use peer::{median, python};
use serde_json::{Value, json};

const DEFINITIONS: usize = 10_000;
const ROUNDS: usize = 3;

fn main() {
    let tools: Vec<Value> = (0..DEFINITIONS).map(definition).collect();
    let texts: Vec<String> = tools.iter().map(Value::to_string).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{DEFINITIONS} definitions, {:.1} MB of JSON, one core, medians of {ROUNDS} rounds\n",
        bytes as f64 / 1e6
    );

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tools.jsonl");
    std::fs::write(&file, texts.join("\n")).unwrap();

    let mut rows = vec![Vec::new(); 6];
    for round in 0..ROUNDS {
        let mut documents = Vec::new();
        rows[0].push(cpu(|| documents = texts.iter().map(|t| parse(t)).collect()));
        rows[1].push(cpu(|| documents.iter_mut().for_each(|d| d.lint(None))));
        rows[2].push(cpu(|| documents.iter().for_each(convert)));
        let sound = documents
            .iter()
            .all(|d| d.findings.iter().all(|f| f.code.starts_with('W')));
        assert!(sound, "the definitions have no errors");
        rows[3].push(cpu(|| {
            texts.iter().for_each(|t| {
                let mut document = parse(t);
                document.lint(None);
                convert(&document);
            });
        }));
        rows[4].push(cpu(|| tools.iter().for_each(validate)));
        rows[5].push(python(PYTHON, &[&file], "jsonschema"));
        eprintln!("round {} of {ROUNDS} done", round + 1);
    }
    let seconds: Vec<f64> = rows.into_iter().map(median).collect();
    let per_second = |s: f64| DEFINITIONS as f64 / s;
    println!(
        "parse                        {:>9.0} definitions/s",
        per_second(seconds[0])
    );
    println!(
        "lint                         {:>9.0} definitions/s",
        per_second(seconds[1])
    );
    println!(
        "convert to {} dialects       {:>9.0} definitions/s",
        DIALECTS.len(),
        per_second(seconds[2])
    );
    println!(
        "parse, lint and convert      {:>9.0} definitions/s",
        per_second(seconds[3])
    );
    println!();
    println!("validate the schema and two examples:");
    println!(
        "  helve                      {:>9.0} definitions/s",
        per_second(seconds[4])
    );
    println!(
        "  Python jsonschema          {:>9.0} definitions/s",
        per_second(seconds[5])
    );
    println!(
        "  ratio                      {:>9.1}",
        seconds[5] / seconds[4]
    );
}

fn parse(text: &str) -> Document {
    Document::read(&Input {
        dialect: dialect::find("helve"),
        ..Input::alone("bench", text.as_bytes(), Syntax::Json)
    })
}

fn convert(document: &Document) {
    for tool in &document.tools {
        for dialect in DIALECTS {
            black_box(dialect::encode(&tool.def, dialect, Strictness::Loose).unwrap());
        }
    }
}

/// What the Python side does: is the schema valid, do the examples fit.
fn validate(tool: &Value) {
    let schema = Schema::compile(&tool["input_schema"]).unwrap();
    for example in tool["examples"].as_array().unwrap() {
        assert!(schema.accepts(black_box(&example["params"])));
    }
}

const PYTHON: &str = r#"
import json, sys, time
import jsonschema
tools = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
start = time.process_time()
for tool in tools:
    jsonschema.Draft202012Validator.check_schema(tool["input_schema"])
    validator = jsonschema.Draft202012Validator(tool["input_schema"], format_checker=jsonschema.FormatChecker())
    for example in tool["examples"]:
        validator.validate(example["params"])
print(time.process_time() - start)
"#;

/// CPU seconds of this thread, from the kernel's own account.
fn cpu(work: impl FnOnce()) -> f64 {
    let now = || -> f64 {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
    };
    let start = now();
    work();
    now() - start
}

/// A definition like those that people write: three to eight parameters of every
/// kind, two examples, some of Level 2.
fn definition(i: usize) -> Value {
    let mut properties = serde_json::Map::new();
    let mut params = serde_json::Map::new();
    for p in 0..3 + i % 6 {
        let name = format!("parameter_{p}");
        let (schema, value) = match (i + p) % 6 {
            0 => (
                json!({"type": "string", "description": "Where to look", "minLength": 1}),
                json!("src"),
            ),
            1 => (
                json!({"type": "integer", "description": "How many", "minimum": 1, "maximum": 1000, "default": 10}),
                json!(5),
            ),
            2 => (
                json!({"type": "string", "enum": ["fast", "small", "exact"], "description": "How", "default": "fast"}),
                json!("small"),
            ),
            3 => (
                json!({"type": "array", "items": {"type": "string", "pattern": "^[a-z_]+$"}, "description": "Only these"}),
                json!(["a", "b_c"]),
            ),
            4 => (
                json!({"type": "object", "description": "When", "properties": {"from": {"type": "string", "format": "date"}, "to": {"type": "string", "format": "date"}}, "required": ["from"]}),
                json!({"from": "2026-01-01"}),
            ),
            _ => (
                json!({"type": "boolean", "description": "Whether to follow links", "default": false}),
                json!(true),
            ),
        };
        properties.insert(name.clone(), schema);
        params.insert(name, value);
    }
    json!({
        "name": format!("group{}_action{i}", i % 100),
        "description": "Looks through a tree of files for what was asked. Use when it is not known where to look.",
        "category": format!("group{}", i % 100),
        "input_schema": {"type": "object", "properties": properties, "required": ["parameter_0"]},
        "triggers": ["When the user asks where something is", "Before a file is changed"],
        "examples": [
            {"scenario": "All of them", "params": params, "expected": "A list"},
            {"scenario": "Only the first", "params": {"parameter_0": params["parameter_0"]}, "expected": "A list"},
        ],
        "risk": "read",
        "timeout": 30,
    })
}
