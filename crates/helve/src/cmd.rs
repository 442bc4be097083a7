//! The commands, one file each.

pub(crate) mod catalog;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod info;

use helve_core::collection::Document;
use helve_core::lint::Severity;

use crate::exit::{Exit, Failure};
use crate::load::Loaded;
use crate::out;

/// Shows what could not be read; a command that needs all of it stops there.
fn all_read(loaded: &Loaded) -> Result<(), Failure> {
    let mut errors = 0;
    for document in &loaded.documents {
        for finding in document
            .findings
            .iter()
            .filter(|f| f.severity == Severity::Error)
        {
            errors += 1;
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

/// The definitions of all documents, in order.
fn defs(documents: &[Document]) -> Vec<&helve_core::ToolDef> {
    documents
        .iter()
        .flat_map(|d| d.tools.iter().map(|t| &t.def))
        .collect()
}
