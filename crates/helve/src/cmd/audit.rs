//! `helve audit`: the record, and whether it is whole.

mod export;
mod key;
mod tail;
pub(super) mod verify;
mod was;

use clap::{Args, Subcommand};

use crate::exit::Done;

/// Read the record of all that happened, and check that nobody changed it.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Verify(verify::VerifyArgs),
    Tail(tail::TailArgs),
    Export(export::ExportArgs),
    Key(key::KeyArgs),
    Was(was::WasArgs),
}

pub(crate) async fn run(args: &AuditArgs) -> Done {
    match &args.what {
        What::Verify(args) => verify::run(args).await,
        What::Tail(args) => tail::run(args).await,
        What::Export(args) => export::run(args).await,
        What::Key(args) => key::run(args),
        What::Was(args) => was::run(args).await,
    }
}
