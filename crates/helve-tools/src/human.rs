//! Asking people: in the agent's own client where that can ask, else in the hub's inbox.
//!
//! Nobody but a person answers. A client that can ask shows the question to whoever sits in
//! front of it; the inbox takes answers from people's tokens only.

mod forms;
#[cfg(test)]
mod tests;

use std::time::Duration;

use helve_kernel::{
    Asking, Ctx, People, QuestionId, ToolError, Toolset, ToolsetError, tool, toolset,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use forms::Form;

/// The set.
pub fn toolset() -> Result<Toolset, ToolsetError> {
    toolset! {
        name: "human",
        description: "Questions to the people behind an agent",
        tags: ["human", "question"],
        tools: [input, confirm],
    }
}

/// How long a question stays open after nobody waits for it any more.
const STAYS: Duration = Duration::from_hours(24);

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Input {
    /// Whether somebody has answered.
    pub answered: bool,
    /// What they said: text, one of the options, or an object with the fields of the form.
    pub answer: Value,
    /// Who said so, or `client` for whoever sits in front of the agent's client.
    pub by: String,
    /// The question, where it is still open: ask for its answer with `question_id`.
    pub question_id: String,
    /// What to do next.
    pub note: String,
}

/// What came of asking for a yes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Confirmed {
    /// Whether somebody said yes. No answer is no.
    pub confirmed: bool,
    /// Whether somebody has answered at all.
    pub answered: bool,
    /// Who said so, or `client` for whoever sits in front of the agent's client.
    pub by: String,
    /// The question, where it is still open.
    pub question_id: String,
    /// What to do next.
    pub note: String,
}

/// Asks a person and waits for the answer. Use it when only a human can know or decide something.
///
/// The question reaches whoever sits in front of the agent's client, where that can ask;
/// otherwise it waits in the hub's inbox (`helve questions`, the console).
///
/// - `options` gives a choice; with `fields`, a form is filled in; otherwise the answer is text.
/// - If nobody answers within `wait_seconds`, the question stays open for a day: call again
///   with its `question_id`.
#[tool(
    group = "human",
    title = "Ask a person",
    category = "Human",
    risk = "read",
    idempotent,
    output,
    timeout = "65m",
    aliases = ["ask_human", "ask_user"],
    triggers = ["When a decision is not yours", "When something is missing that only a person knows"],
    warnings = ["It can take long; do not ask what can be looked up"],
    related = [("human_confirm", "asks for a yes or no")],
    example(
        scenario = "A choice",
        params = {"question": "Which environment?", "options": ["staging", "production"]},
        expected = "One of the two, and who said so"
    ),
    example(
        scenario = "The answer to an earlier question",
        params = {"question": "Which environment?", "question_id": "qst_0192d2c0a1b27c3d8e4f5a6b7c8d9e0f"},
        expected = "The answer, or that it is still open"
    )
)]
async fn input(
    ctx: &Ctx,
    /// What is asked.
    #[schemars(length(min = 1, max = 4000))]
    question: String,
    /// What whoever answers should know; empty for nothing.
    #[default("")]
    #[schemars(length(max = 20000))]
    context: String,
    /// Answers to choose from; empty for a free answer.
    #[default(Vec::new())]
    #[schemars(length(max = 50))]
    options: Vec<String>,
    /// Fields of a form: a JSON Schema with `properties` of simple types; empty for none.
    #[default(Map::new())]
    fields: Map<String, Value>,
    /// How long to wait for the answer.
    #[default(300)]
    #[schemars(range(min = 0, max = 3600))]
    wait_seconds: u64,
    /// A question that was asked before and is still open; empty for a new one.
    #[default("")]
    question_id: String,
) -> Result<Input, ToolError> {
    let form = Form::of(&options, fields)?;
    let asked = Asked {
        question,
        context,
        form,
        wait: Duration::from_secs(wait_seconds),
    };
    asked.put(ctx, &question_id).await.map(|heard| Input {
        answered: heard.answer.is_some(),
        answer: heard.answer.unwrap_or(Value::Null),
        by: heard.by,
        question_id: heard.open.unwrap_or_default(),
        note: heard.note,
    })
}

/// Asks a person for a yes before something is done. Use it when an action has consequences.
///
/// Silence and a closed dialog are no. A yes here is the word of a person to the agent; it
/// takes nothing away from what the hub's policy asks for by itself.
#[tool(
    group = "human",
    title = "Ask for a yes",
    category = "Human",
    risk = "read",
    idempotent,
    output,
    timeout = "65m",
    aliases = ["confirm_action"],
    triggers = ["Before an action that is hard to take back", "When the user wants to be asked first"],
    warnings = ["Only `confirmed: true` is a yes"],
    related = [("human_input", "asks an open question")],
    example(
        scenario = "Before old files go",
        params = {"action": "Delete 120 files in build/", "reason": "They are older than a year"},
        expected = "Whether somebody said yes"
    )
)]
async fn confirm(
    ctx: &Ctx,
    /// What is to be done.
    #[schemars(length(min = 1, max = 4000))]
    action: String,
    /// Why; empty for nothing.
    #[default("")]
    #[schemars(length(max = 4000))]
    reason: String,
    /// What follows from it; empty for nothing.
    #[default("")]
    #[schemars(length(max = 4000))]
    consequences: String,
    /// How long to wait for the answer.
    #[default(300)]
    #[schemars(range(min = 0, max = 3600))]
    wait_seconds: u64,
    /// A question that was asked before and is still open; empty for a new one.
    #[default("")]
    question_id: String,
) -> Result<Confirmed, ToolError> {
    let lines = [("Why", &reason), ("What follows", &consequences)];
    let lines = lines.iter().filter(|(_, text)| !text.trim().is_empty());
    let context: Vec<String> = lines
        .map(|(what, text)| format!("{what}: {text}"))
        .collect();
    let asked = Asked {
        question: action,
        context: context.join("\n"),
        form: Form::yes_or_no(),
        wait: Duration::from_secs(wait_seconds),
    };
    let heard = asked.put(ctx, &question_id).await?;
    Ok(Confirmed {
        confirmed: heard.answer == Some(Value::Bool(true)),
        answered: heard.answer.is_some(),
        by: heard.by,
        question_id: heard.open.unwrap_or_default(),
        note: heard.note,
    })
}

/// A question on its way.
struct Asked {
    question: String,
    context: String,
    form: Form,
    wait: Duration,
}

/// What came back.
#[derive(Default)]
struct Heard {
    answer: Option<Value>,
    by: String,
    open: Option<String>,
    note: String,
}

impl Asked {
    async fn put(self, ctx: &Ctx, earlier: &str) -> Result<Heard, ToolError> {
        if self.question.trim().is_empty() {
            return Err(ToolError::validation(
                "the question is blank; say what is asked",
            ));
        }
        let people = ctx.service::<People>()?;
        if !earlier.is_empty() {
            return fetched(&people, ctx, earlier);
        }
        match self.in_client(ctx).await? {
            Some(heard) => Ok(heard),
            None => self.in_inbox(&people, ctx).await,
        }
    }

    /// Asks whoever sits in front of the client; `None` where it cannot ask.
    async fn in_client(&self, ctx: &Ctx) -> Result<Option<Heard>, ToolError> {
        let caller = ctx
            .caller()
            .filter(|caller| forms::can_ask(caller.capabilities()));
        let Some(caller) = caller else {
            return Ok(None);
        };
        let message = match self.context.trim() {
            "" => self.question.clone(),
            context => format!("{}\n\n{context}", self.question),
        };
        let asked = json!({
            "method": "elicitation/create",
            "params": {"message": message, "requestedSchema": self.form.requested()},
        });
        let questions = Map::from_iter([("question".to_owned(), asked)]);
        let asking = tokio::time::timeout(self.wait, caller.ask(questions));
        let Ok(answers) = asking.await else {
            return Ok(Some(Heard {
                note: "nobody answered in time".to_owned(),
                ..Heard::default()
            }));
        };
        // Some clients say that they can ask, and cannot.
        let Ok(answers) = answers else {
            return Ok(None);
        };
        let said = &answers["question"];
        let note = match said["action"].as_str() {
            Some("accept") => match self.form.answer(&said["content"]) {
                Ok(answer) => {
                    return Ok(Some(Heard {
                        answer: Some(answer),
                        by: "client".to_owned(),
                        ..Heard::default()
                    }));
                }
                Err(problem) => format!("the client's answer does not fit: {problem}"),
            },
            Some("decline") => "the person does not want to answer".to_owned(),
            _ => "the person closed the question without an answer".to_owned(),
        };
        Ok(Some(Heard {
            note,
            ..Heard::default()
        }))
    }

    async fn in_inbox(self, people: &People, ctx: &Ctx) -> Result<Heard, ToolError> {
        let asking = Asking {
            text: self.question,
            context: self.context,
            form: self.form.schema(),
            stays: STAYS,
        };
        let (id, said) = people.ask(ctx, asking, self.wait).await?;
        Ok(match said {
            Some(said) => Heard {
                answer: Some(said.value),
                by: said.by,
                ..Heard::default()
            },
            None => still_open(&id),
        })
    }
}

fn fetched(people: &People, ctx: &Ctx, earlier: &str) -> Result<Heard, ToolError> {
    let unknown = || {
        ToolError::validation(format!("`{}` is no question", earlier.escape_debug()))
            .with_hint("give the `question_id` of an earlier answer, or leave it out")
    };
    let id = QuestionId::parse(earlier).ok_or_else(unknown)?;
    let who = ctx
        .who()
        .ok_or_else(|| ToolError::internal("nobody is known to have called"))?;
    Ok(match people.said(&id, who)? {
        Some(said) => Heard {
            answer: Some(said.value),
            by: said.by,
            ..Heard::default()
        },
        None => still_open(&id),
    })
}

fn still_open(id: &QuestionId) -> Heard {
    Heard {
        open: Some(id.to_string()),
        note: format!(
            "nobody has answered yet; the question stays open, and a call with `question_id` `{id}` \
             fetches the answer"
        ),
        ..Heard::default()
    }
}
