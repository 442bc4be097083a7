//! `helve audit key`: by what others check the record.

use clap::Args;
use serde_json::json;

use crate::exit::{Done, Exit, Failure};
use crate::hub::public_key;
use crate::state::State;
use crate::{out, workspace};

/// Print the public key with which this workspace signs its record.
///
/// Keep it elsewhere: whoever has it can check an exported record with `helve audit
/// verify FILE --key KEY`.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &KeyArgs) -> Done {
    let state = State::of(&workspace::known()?);
    if !state.database().exists() {
        return Err(nothing());
    }
    let key = public_key(&state)?.to_string();
    match args.json {
        true => out::json(&json!({"key": key}))?,
        false => out::data(&format!("{key}\n"))?,
    }
    Ok(Exit::Ok)
}

/// There is no record.
pub(super) fn nothing() -> Failure {
    Failure::input("this workspace has no record yet").hint("`helve up` begins one")
}
