//! What a call leaves, and how it gets into the tables.

use std::borrow::Cow;
use std::collections::HashMap;

use helve_kernel::RunState;
use helve_kernel::store::Move;
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::chain::Line;
use super::failure::Failure;
use super::row::change;
use super::runs::{self, RunRow};
use super::writer::Tx;

/// The start or the end of a run, with its entry of the record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Op {
    Open(Box<RunRow>, Line),
    End(End, Line),
}

/// The same, of those who still have it.
#[derive(Serialize)]
#[serde(rename = "Op")]
pub(super) enum Draft<'o> {
    Open(&'o RunRow, &'o Line),
    End(&'o End, &'o Line),
}

/// How a run ended.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct End {
    run: String,
    state: Cow<'static, str>,
    at: i64,
    exit_code: Option<i32>,
    answer: Option<String>,
}

impl End {
    pub(super) fn new(step: &Move, answer: Option<String>) -> Self {
        Self {
            run: step.run.as_str().to_owned(),
            state: Cow::Borrowed(step.to.as_str()),
            at: step.at.0,
            exit_code: step.exit_code,
            answer,
        }
    }

    pub(super) fn into_answer(self) -> Option<String> {
        self.answer
    }
}

/// Brings them into the tables, in their order. It fails only where the disk does: what
/// could be wrong with them was looked at before they were taken.
pub(super) fn fold<'o>(
    tx: &mut Tx<'_>,
    ops: impl Iterator<Item = &'o Op> + Clone,
) -> Result<(), Failure> {
    // Most runs are over by now: they are written once, as they are.
    let mut ends: HashMap<&str, &End> = HashMap::new();
    for op in ops.clone() {
        if let Op::End(end, _) = op {
            ends.insert(&end.run, end);
        }
    }
    for op in ops {
        let line = match op {
            Op::Open(row, line) => {
                runs::insert_new(tx.conn, row, ends.remove(row.id.as_str()))?;
                line
            }
            Op::End(end, line) => {
                if ends.remove(end.run.as_str()).is_some() {
                    settle(tx, end)?;
                }
                line
            }
        };
        tx.append(line)?;
    }
    Ok(())
}

/// The end of a run that is in the table already.
fn settle(tx: &Tx<'_>, end: &End) -> Result<(), Failure> {
    change(
        tx.conn,
        "UPDATE runs SET state = ?2, open = 0, ended = ?3,
             exit_code = coalesce(?4, exit_code), answer = coalesce(?5, answer)
         WHERE id = ?1 AND state = ?6",
        params![
            end.run,
            end.state,
            end.at,
            end.exit_code,
            end.answer,
            RunState::Running.as_str()
        ],
    )?;
    Ok(())
}

impl RunRow {
    /// As it is after that end.
    pub(super) fn ended<'r>(&'r self, end: Option<&'r End>) -> Ended<'r> {
        match end {
            None => Ended {
                state: &self.state,
                open: self.open,
                ended: self.ended,
                exit_code: self.exit_code,
                answer: self.answer.as_deref(),
            },
            Some(end) => Ended {
                state: &end.state,
                open: false,
                ended: self.ended.or(Some(end.at)),
                exit_code: end.exit_code.or(self.exit_code),
                answer: end.answer.as_deref().or(self.answer.as_deref()),
            },
        }
    }
}

/// What the end of a run has to say of its row.
pub(super) struct Ended<'r> {
    pub(super) state: &'r str,
    pub(super) open: bool,
    pub(super) ended: Option<i64>,
    pub(super) exit_code: Option<i32>,
    pub(super) answer: Option<&'r str>,
}
