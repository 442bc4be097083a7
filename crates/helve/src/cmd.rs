//! The commands, one file each.

pub(crate) mod call;
pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod info;
pub(crate) mod up;

use helve_core::collection::Document;
use helve_core::lint::Severity;
use rayon::prelude::*;

use crate::exit::{Exit, Failure};
use crate::load::Loaded;
use crate::out;

/// Shows what could not be read; a command that needs all of it stops there.
fn all_read(loaded: &Loaded) -> Result<(), Failure> {
    let mut errors = 0;
    for document in &loaded.documents {
        for finding in &document.findings {
            errors += usize::from(finding.severity == Severity::Error);
            out::say(&out::finding(finding, document));
        }
    }
    match errors {
        0 => Ok(()),
        n => Err(Failure::new(
            Exit::Input,
            format!("{} in the input; nothing was done", out::count(n, "error")),
        )),
    }
}

/// What makes a schema or a set of names unusable wherever it goes.
const UNSOUND: &[&str] = &["E106", "E120", "E121", "E122", "E123", "E124"];

/// Looks at the schemas and the names of tools that were read, and stops at what
/// nobody could use.
fn sound(loaded: &mut Loaded) -> Result<(), Failure> {
    loaded
        .documents
        .par_iter_mut()
        .for_each(|document| document.lint(None));
    helve_core::collection::lint_together(&mut loaded.documents, &[], None);
    for document in &mut loaded.documents {
        document.findings.retain(|f| UNSOUND.contains(&f.code));
    }
    all_read(loaded)
}

/// The definitions of all documents, in order.
fn defs(documents: &[Document]) -> Vec<&helve_core::ToolDef> {
    documents
        .iter()
        .flat_map(|d| d.tools.iter().map(|t| &t.def))
        .collect()
}
