//! The commands, one file each.

pub(crate) mod answer;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod cancel;
pub(crate) mod catalog;
pub(crate) mod chatlog;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod console;
pub(crate) mod convert;
pub(crate) mod deny;
pub(crate) mod diff;
pub(crate) mod disable;
pub(crate) mod doctor;
pub(crate) mod enable;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod log;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod new;
pub(crate) mod pin;
pub(crate) mod policy;
pub(crate) mod questions;
pub(crate) mod register;
pub(crate) mod remove;
pub(crate) mod rollback;
pub(crate) mod runs;
pub(crate) mod search;
pub(crate) mod test;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod unpin;
pub(crate) mod up;
pub(crate) mod versions;

use helve_core::collection::Document;
use helve_core::lint::Severity;
use rayon::prelude::*;

use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::load::Loaded;
use crate::{out, workspace};

/// Does something with a hub: the one that runs, or one that is opened for it. Where
/// there is no workspace, none is made: what is asked about is somewhere else.
async fn with_hub(target: &Target, work: impl AsyncFnOnce(&Client) -> Done) -> Done {
    if !target.is_elsewhere() {
        workspace::known()?;
    }
    with_new_hub(target, work).await
}

/// The same for what may be the first thing that is done in a workspace.
async fn with_new_hub(target: &Target, work: impl AsyncFnOnce(&Client) -> Done) -> Done {
    let client = Client::open(target).await?;
    let done = work(&client).await;
    let closed = client.close().await;
    // Why the work failed matters more than what came after.
    done.and_then(|exit| closed.map(|()| exit))
}

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
