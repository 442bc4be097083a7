//! Several calls at once, and what they write into the context together.

use futures_util::future::join_all;
use serde_json::Value;

use super::Kernel;
use crate::{Answer, Call, Ctx};

/// What came of a batch.
#[derive(Debug)]
pub struct Batch {
    /// One answer for each call, in the order of the calls.
    pub answers: Vec<Answer>,
    /// The context with all writes folded in, in the order of the calls.
    pub ctx: Result<Ctx, Conflict>,
    /// The results go to the user as they are: every call succeeded and says so.
    pub return_direct: bool,
}

/// Two writes to one slot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call {first} (`{first_tool}`) and call {second} (`{second_tool}`) both write `{slot}`")]
pub struct Conflict {
    /// The slot.
    pub slot: String,
    /// The number of the call that wrote first, from 1.
    pub first: usize,
    /// Its tool.
    pub first_tool: String,
    /// The number of the call that wrote again.
    pub second: usize,
    /// Its tool.
    pub second_tool: String,
}

impl Kernel {
    /// Makes several calls: at once, or one after the other if one of the tools is
    /// `serial`. One that fails or crashes changes nothing for the others.
    pub async fn call_all(&self, ctx: &Ctx, calls: Vec<Call>) -> Batch {
        let serial = calls
            .iter()
            .any(|c| self.find(&c.tool).is_some_and(|e| e.def.serial));
        let calls = calls.into_iter().map(|c| c.ctx(ctx.clone()));
        let answers = match serial {
            false => join_all(calls.map(|c| self.call(c))).await,
            true => {
                let mut answers = Vec::new();
                for call in calls {
                    answers.push(self.call(call).await);
                }
                answers
            }
        };
        let direct = !answers.is_empty() && answers.iter().all(|a| a.meta.return_direct);
        Batch {
            ctx: fold(ctx, &answers),
            return_direct: direct,
            answers,
        }
    }
}

/// The writes of all answers in the context, if no slot has two.
fn fold(ctx: &Ctx, answers: &[Answer]) -> Result<Ctx, Conflict> {
    let mut written: Vec<(&str, &Value, usize)> = Vec::new();
    for (i, answer) in answers.iter().enumerate() {
        for (slot, value) in &answer.writes {
            if let Some((.., first)) = written.iter().find(|(s, ..)| s == slot) {
                return Err(Conflict {
                    slot: slot.clone(),
                    first: first + 1,
                    first_tool: answers[*first].meta.tool.clone(),
                    second: i + 1,
                    second_tool: answer.meta.tool.clone(),
                });
            }
            written.push((slot, value, i));
        }
    }
    let ctx = written
        .into_iter()
        .fold(ctx.to_builder(), |ctx, (slot, value, _)| {
            ctx.set(slot, value.clone())
        });
    Ok(ctx.build())
}
