//! What is done with a hostile input, target by target.
//!
//! The fuzz targets and the replay of their corpus run these same functions: what
//! one finds, the other keeps found. A target panics when something that must hold
//! does not; it never fails because an input is refused.

use std::collections::HashSet;

use helve_core::collection::{Document, Input, lint_together};
use helve_core::dialect::{DIALECTS, Dialect, Strictness, encode};
use helve_core::lint::{VENDORS, fix};
use helve_core::node::{Kind, Node, Place};
use helve_core::openapi::{self, Options};
use helve_core::read::{self, MAX_DEPTH, Syntax};
use helve_core::schema::{Schema, explodes};
use helve_core::{ToolDef, write};
use serde_json::json;

/// A name, which is also that of a corpus folder, and what to do with an input.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const TARGETS: &[Target] = &[
    ("json", |bytes| reader(Syntax::Json, bytes)),
    ("toml", |bytes| reader(Syntax::Toml, bytes)),
    ("yaml", |bytes| reader(Syntax::Yaml, bytes)),
    ("python", |bytes| reader(Syntax::Python, bytes)),
    ("erlang", |bytes| reader(Syntax::Erlang, bytes)),
    ("javascript", |bytes| reader(Syntax::JavaScript, bytes)),
    ("skill", |bytes| reader(Syntax::Skill, bytes)),
    ("pipeline", pipeline),
    ("pattern", pattern),
    ("openapi", openapi),
];

/// What the target of that name does.
pub(crate) fn body_of(name: &str) -> fn(&[u8]) {
    let target = TARGETS.iter().find(|(n, _)| *n == name);
    target.expect("every target has a row in `TARGETS`").1
}

/// Whatever a document says, its tools can be registered and go where they were told.
fn openapi(bytes: &[u8]) {
    let syntax = match bytes.first() {
        Some(b'{') => Syntax::Json,
        _ => Syntax::Yaml,
    };
    let options = Options {
        base_url: Some("https://api.example/v1"),
        ..Options::default()
    };
    let imported = openapi::import("a", bytes, syntax, &options);
    let mut names = HashSet::new();
    for tool in &imported.tools {
        let value = tool.def.to_value();
        assert_eq!(ToolDef::from_value(&value).as_ref(), Ok(&tool.def));
        assert!(
            names.insert(tool.def.name.clone()),
            "{} twice",
            tool.def.name
        );
        assert!(Schema::compile(&tool.def.input_schema).is_ok());
        assert_eq!(value["executor"]["url"], "https://api.example/v1");
        helve_core::hidden::in_def(&tool.def);
    }
}

/// A reader reads or refuses, and what it says of places and keys is true.
fn reader(syntax: Syntax, bytes: &[u8]) {
    let text = match read::text(bytes) {
        Ok(text) => text,
        Err(error) => return assert!(error.at < bytes.len(), "{error:?}"),
    };
    Syntax::guess(text);
    match read::read(text, syntax) {
        Ok(node) => {
            check_node(&node, text, 0);
            node.to_value();
        }
        Err(error) => {
            assert!(text.is_char_boundary(error.at), "{error:?}");
            assert!(!error.to_string().is_empty());
        }
    }
}

/// What a reader may put around the values that it counts: documents, a module.
const AROUND: usize = 3;

fn check_node(node: &Node, text: &str, depth: usize) {
    assert!(text.is_char_boundary(node.at), "a value at {}", node.at);
    assert!(depth <= MAX_DEPTH + AROUND, "nested {depth} deep");
    match &node.kind {
        Kind::Array(items) => {
            for item in items {
                check_node(item, text, depth + 1);
            }
        }
        Kind::Object(entries) => {
            let mut seen = HashSet::new();
            for entry in entries {
                let (key, at) = (&entry.key, entry.at);
                assert!(text.is_char_boundary(at), "the key `{key}` at {at}");
                assert!(seen.insert(key), "the key `{key}` stands there twice");
                check_node(&entry.value, text, depth + 1);
            }
        }
        _ => {}
    }
}

/// The first byte picks the syntax; the rest is read, linted, mended, and every
/// tool in it written in every dialect and read back.
fn pipeline(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else {
        return;
    };
    let syntax = Syntax::ALL[usize::from(*first) % Syntax::ALL.len()];
    let mut document = document(bytes, syntax, None, &[]);
    document.lint(None);
    for vendor in VENDORS {
        document.lint(Some(vendor));
    }
    let mut documents = [document];
    lint_together(&mut documents, &[], None);
    let [document] = documents;
    // A text that is not UTF-8 has no `text`, but places all the same.
    let text = String::from_utf8_lossy(bytes);
    for place in document.findings.iter().filter_map(|f| f.place) {
        check_place(place, &text);
    }
    check_mended(&document);
    for tool in &document.tools {
        for dialect in DIALECTS {
            for strictness in [Strictness::Loose, Strictness::Strict] {
                there_and_back(&tool.def, dialect, strictness);
            }
        }
    }
}

fn document(
    bytes: &[u8],
    syntax: Syntax,
    dialect: Option<&'static Dialect>,
    beside: &[(String, String)],
) -> Document {
    Document::read(&Input {
        file: "input",
        bytes,
        syntax,
        dialect,
        group: None,
        folder: None,
        stem: None,
        beside,
    })
}

fn check_place(place: Place, text: &str) {
    // The end of the text is a place, too: that is where something is missing.
    let line = text.split('\n').nth(place.line.wrapping_sub(1));
    let columns = line.map(|l| l.chars().count() + 1);
    assert!(
        columns.is_some_and(|c| (1..=c).contains(&place.column)),
        "{place:?} is outside the text"
    );
}

/// A mended text has the same tools as before.
fn check_mended(before: &Document) {
    let Some(text) = fix::rewrite(before).text else {
        return;
    };
    let after = document(text.as_bytes(), before.syntax, None, &[]);
    assert_eq!(names(before), names(&after), "mended to:\n{text}");
}

fn names(document: &Document) -> Vec<&str> {
    document.tools.iter().map(|t| t.def.name.as_str()).collect()
}

/// What a dialect agrees to write can be read, and is the same tool.
fn there_and_back(def: &ToolDef, dialect: &'static Dialect, strictness: Strictness) {
    let Ok(encoded) = encode(def, dialect, strictness) else {
        return;
    };
    for &syntax in dialect.syntaxes {
        if syntax == Syntax::JavaScript {
            continue;
        }
        let value = encoded.value.clone();
        let Ok(mut files) = write::files(value.clone(), dialect, syntax, "SKILL") else {
            continue;
        };
        let text = files.remove(0).text;
        if files.is_empty() {
            let alone = write::text(vec![value], dialect, syntax, true);
            assert_eq!(alone.as_ref(), Ok(&text));
        }
        let beside: Vec<(String, String)> = files.into_iter().map(|f| (f.path, f.text)).collect();
        let back = document(text.as_bytes(), syntax, Some(dialect), &beside);
        assert_eq!(
            names(&back),
            [def.name.as_str()],
            "{} as {}: {:?}\n{text}",
            dialect.name,
            syntax.name(),
            back.findings,
        );
    }
}

/// Neither the test of a pattern nor its compilation takes long.
fn pattern(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let verdict = explodes(text);
    let compiled = Schema::compile(&json!({"type": "string", "pattern": text}));
    if verdict != Ok(false) {
        assert!(compiled.is_err(), "`{text}` is refused, yet compiled");
    }
}
