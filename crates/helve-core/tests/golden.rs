//! What each case looks like in each dialect: a table, one snapshot a case.
//!
//! To accept a change that was looked at: `INSTA_UPDATE=always cargo nextest run
//! -p helve-core --test golden`.

#![allow(clippy::unwrap_used, missing_docs)]

use std::fmt::Write as _;
use std::path::Path;

use helve_core::collection::{Document, Input};
use helve_core::dialect::{self, DIALECTS, Dialect, Strictness};
use helve_core::read::Syntax;
use helve_core::{ToolDef, write};

const STRICT: &[&str] = &["openai", "openai-responses", "anthropic", "kimi"];

fn case(path: &Path) -> ToolDef {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap();
    let document = Document::read(&Input {
        dialect: dialect::find("helve"),
        ..Input::alone(
            path.to_str().unwrap(),
            &std::fs::read(path).unwrap(),
            Syntax::of_extension(extension).unwrap(),
        )
    });
    assert_eq!(document.findings, [], "{}", path.display());
    document.tools[0].def.clone()
}

fn shown(def: &ToolDef, dialect: &Dialect, strictness: Strictness, syntax: Syntax) -> String {
    let encoded = dialect::encode(def, dialect, strictness).unwrap();
    let mut out = String::new();
    match write::files(encoded.value, dialect, syntax, &(dialect.path)(def)) {
        Ok(files) => {
            for file in files {
                let _ = write!(out, "--> {}\n{}", file.path, file.text);
            }
        }
        Err(e) => out = format!("refused: {e}\n"),
    }
    for loss in encoded.losses {
        let kind = format!("{:?}", loss.kind).to_lowercase();
        let _ = writeln!(out, "{kind} {}: {}", loss.field, loss.reason);
    }
    out
}

#[test]
fn every_case_in_every_dialect() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut paths: Vec<_> = std::fs::read_dir(folder.join("cases"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    assert_eq!(paths.len(), 6);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder.join("golden"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for path in paths {
            let def = case(&path);
            let mut out = String::new();
            for dialect in DIALECTS {
                for &syntax in dialect
                    .syntaxes
                    .iter()
                    .filter(|s| **s != Syntax::JavaScript)
                {
                    let text = shown(&def, dialect, Strictness::Loose, syntax);
                    let _ = write!(out, "\n=== {} ({})\n{text}", dialect.name, syntax.name());
                }
                if STRICT.contains(&dialect.name) {
                    let text = shown(&def, dialect, Strictness::Strict, Syntax::Json);
                    let _ = write!(out, "\n=== {} (strict)\n{text}", dialect.name);
                }
            }
            insta::assert_snapshot!(path.file_stem().unwrap().to_str().unwrap(), out);
        }
    });
}
