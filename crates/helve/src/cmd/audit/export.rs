//! `helve audit export`: the record, to be checked elsewhere.

use std::io::Write;
use std::path::PathBuf;

use axum::http::Method;
use clap::Args;
use futures_util::StreamExt as _;

use crate::client::{Client, Target, refusal};
use crate::cmd::with_hub;
use crate::exit::{Done, Exit, Failure};
use crate::hub::read_checkpoints;
use crate::state::State;
use crate::{out, workspace};

/// Write the whole record, a line for each entry, and the signed checkpoints after it.
///
/// `helve audit verify FILE --key KEY` checks it anywhere, without a hub.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Write to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

pub(super) async fn run(args: &ExportArgs) -> Done {
    with_hub(&args.target, async |client| match &args.out {
        None => export(args, client, &mut std::io::stdout().lock()).await,
        Some(path) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            let folder = folder.unwrap_or(std::path::Path::new("."));
            let failed = |e: std::io::Error| {
                Failure::output(format!("`{}` cannot be written: {e}", path.display()))
            };
            // Whole, or not at all.
            let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
            let done = export(args, client, &mut file).await?;
            file.persist(path).map_err(|e| failed(e.error))?;
            Ok(done)
        }
    })
    .await
}

async fn export(args: &ExportArgs, client: &Client, to: &mut dyn Write) -> Done {
    // Read first: a checkpoint must not be about an entry that came after the export.
    let checkpoints = match args.target.is_elsewhere() {
        true => Vec::new(),
        false => read_checkpoints(&State::of(&workspace::root()).checkpoints())?,
    };
    let mut reply = client.send(Method::GET, "/audit/export", None, &[]).await?;
    if reply.status != 200 {
        let status = reply.status;
        let problem = serde_json::from_slice(&reply.bytes().await?).unwrap_or_default();
        return Err(refusal(status, &problem));
    }
    let mut entries = 0;
    while let Some(part) = reply.body.next().await {
        let part = part.map_err(|e| Failure::hub(format!("the record was cut off: {e}")))?;
        entries += part.iter().filter(|b| **b == b'\n').count();
        if !written(to.write_all(&part))? {
            return Ok(Exit::Ok);
        }
    }
    let lines: String = checkpoints.iter().map(|c| c.to_line() + "\n").collect();
    written(to.write_all(lines.as_bytes()).and_then(|()| to.flush()))?;
    let entries = out::count(entries, "line");
    let signed = match args.target.is_elsewhere() {
        true => "its checkpoints are kept where that hub is".to_owned(),
        false => out::count(checkpoints.len(), "checkpoint"),
    };
    out::say(&format!("{entries}, {signed}"));
    Ok(Exit::Ok)
}

/// Whether anybody still reads.
fn written(result: std::io::Result<()>) -> Result<bool, Failure> {
    match result {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Failure::output(format!(
            "the record cannot be written: {e}"
        ))),
    }
}
