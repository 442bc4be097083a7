//! What a program's end means: a reply, or why there is none.
//!
//! Code 0 is success. 75 is `EX_TEMPFAIL` of `sysexits.h`: it may work if tried
//! again. Every other code, and every signal, is a failure, told with what the
//! program said last. Where a definition says `any_exit`, every code is an answer.

use std::os::unix::process::ExitStatusExt;

use helve_core::ToolDef;
use helve_kernel::{Reply, ToolError};
use helve_sandbox::Limit;
use serde_json::{Value, json};

use crate::capture::KEPT;
use crate::process::Finished;

/// The exit code that says: try again later.
const TEMPFAIL: i32 = 75;

/// How much of its last lines an error repeats, in characters.
const LAST: usize = 2000;

/// How long a result may be that must be JSON.
const JSON: usize = 4 * 1024 * 1024;

/// How much of a tool's standard output is needed for its reply.
pub(crate) fn needed(def: &ToolDef) -> usize {
    match &def.output_schema {
        Some(_) => JSON,
        None => KEPT,
    }
}

/// What a program's end means.
pub(crate) fn reply(def: &ToolDef, finished: &Finished) -> Result<Reply, ToolError> {
    let any_exit = takes_any_exit(def);
    let code = match (finished.status.code(), finished.status.signal()) {
        (Some(code), _) if code == 0 || any_exit => code,
        (Some(code), _) => return Err(failed(finished, code)),
        (None, signal) => {
            let problem = match finished.hit {
                Some(Limit::Memory) => "ran out of the memory that it may use".to_owned(),
                Some(Limit::FileSize) => "wrote a file that is longer than it may be".to_owned(),
                Some(Limit::CpuTime) => "used more processor time than it may".to_owned(),
                _ => format!("was killed by signal {}", signal.unwrap_or_default()),
            };
            return Err(ToolError::internal(with_last(problem, finished)));
        }
    };
    let data = match &def.output_schema {
        Some(_) if !any_exit => json(finished)?,
        _ => json!({
            "exit_code": code,
            "stdout": finished.stdout.text(),
            "stderr": finished.stderr.text(),
        }),
    };
    let files = [&finished.stdout, &finished.stderr];
    Ok(Reply {
        artifacts: files.iter().filter_map(|o| o.artifact()).collect(),
        exit_code: Some(code),
        ..Reply::new(data)
    })
}

/// Whether every code is an answer.
fn takes_any_exit(def: &ToolDef) -> bool {
    let executor = def.executor.as_ref();
    executor.is_some_and(|e| e.settings.get("any_exit") == Some(&Value::Bool(true)))
}

fn failed(finished: &Finished, code: i32) -> ToolError {
    let problem = with_last(format!("exited with code {code}"), finished);
    let error = match code {
        TEMPFAIL => ToolError::transient(problem),
        _ => ToolError::internal(problem),
    };
    error.with_exit_code(code)
}

/// A result that an output schema describes.
fn json(finished: &Finished) -> Result<Value, ToolError> {
    let hint = "it has an `output_schema`, so it must write one JSON value to standard output";
    let Some(whole) = finished.stdout.whole() else {
        let total = finished.stdout.total();
        let problem = format!("its output is too long for a result: {total} bytes, at most {JSON}");
        return Err(ToolError::internal(problem).with_hint(hint));
    };
    serde_json::from_slice(&whole).map_err(|e| {
        let problem = format!("its output is not JSON: {e}");
        ToolError::internal(with_last(problem, finished)).with_hint(hint)
    })
}

/// The problem, and what the program said about it: most do so on standard error.
fn with_last(problem: String, finished: &Finished) -> String {
    let mut said = finished.stderr.last_lines(LAST);
    if said.is_empty() {
        said = finished.stdout.last_lines(LAST);
    }
    match said {
        said if said.is_empty() => problem,
        said if said.contains('\n') => format!("{problem}:\n{said}"),
        said => format!("{problem}: {said}"),
    }
}

#[cfg(test)]
mod tests;
