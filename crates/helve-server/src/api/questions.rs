//! `/questions`: what tools ask people, and what people say.

use axum::extract::State;
use helve_kernel::QuestionId;
use serde_json::Value;

use super::{Given, ok};
use crate::guard::Caller;
use crate::input::{Body, Id};
use crate::problem::Problem;
use crate::{Hub, view};

pub(crate) async fn list(State(hub): State<Hub>, Caller(who): Caller) -> Given {
    let open = hub.kernel().questions(&who);
    ok(&view::page(open.iter().map(view::question).collect(), None))
}

pub(crate) async fn answer(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Id(id): Id,
    body: Body,
) -> Given {
    body.only(&["answer"])?;
    let missing = || Problem::invalid("`answer` is missing");
    let answer: Value = body.0.get("answer").cloned().ok_or_else(missing)?;
    let parsed = QuestionId::parse(&id).ok_or_else(|| Problem::not_found(&id))?;
    // What somebody may not see is not there for them.
    let open = hub.kernel().questions(&who);
    if !open.iter().any(|question| question.id == parsed) {
        return Err(Problem::not_found(&id));
    }
    let answered = hub.kernel().answer_question(&who, &parsed, answer).await?;
    ok(&view::question(&answered))
}
