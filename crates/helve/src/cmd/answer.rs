//! `helve answer`: what somebody says to a question of a tool.

use clap::Args;
use serde_json::{Value, json};

use super::with_hub;
use crate::client::{Client, Target};
use crate::exit::{Done, Exit, Failure};
use crate::id::Kind;
use crate::out;
use crate::shown::text;

/// Answer a question that a tool asks: text, one of its options, `yes` or `no`, or JSON for a form.
///
/// Without an answer the question is shown. Agents never answer.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The question: its id, or the last characters of it; not needed if there is only one.
    id: Option<String>,
    /// The answer.
    answer: Option<String>,
    /// Print the question as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    target: Target,
}

pub(crate) async fn run(args: &AnswerArgs) -> Done {
    with_hub(&args.target, async |client| answer(args, client).await).await
}

async fn answer(args: &AnswerArgs, client: &Client) -> Done {
    let question = meant(args, client).await?;
    let Some(words) = &args.answer else {
        return show(args, &question);
    };
    let value = read(words, &question["form"])?;
    let path = format!("/questions/{}/answer", text(&question["id"]));
    let answered = client.post(&path, &json!({"answer": value})).await?;
    match args.json {
        true => out::json(&answered)?,
        false => out::say("answered"),
    }
    Ok(Exit::Ok)
}

/// The question that is named, or the only one.
async fn meant(args: &AnswerArgs, client: &Client) -> Result<Value, Failure> {
    let all = client.get("/questions").await?;
    let mut open = all["items"].as_array().cloned().unwrap_or_default();
    let Some(id) = &args.id else {
        return match (open.pop(), open.is_empty()) {
            (None, _) => Err(Failure::input("nobody is asked anything")),
            (Some(only), true) => Ok(only),
            _ => Err(Failure::usage("several questions are open; say which")
                .hint("`helve questions` lists them")),
        };
    };
    let id = Kind::Question.find(client, id).await?;
    let found = open.into_iter().find(|question| question["id"] == *id);
    found.ok_or_else(|| {
        Failure::input(format!("the question `{id}` is not open"))
            .hint("`helve questions` lists those that are")
    })
}

fn show(args: &AnswerArgs, question: &Value) -> Done {
    if args.json {
        out::json(question)?;
        return Ok(Exit::Ok);
    }
    let mut shown = format!(
        "{}\n",
        out::styled(out::STRONG, out::visible(&text(&question["question"])))
    );
    let context = text(&question["context"]);
    if !context.is_empty() {
        shown.push_str(&format!("{}\n", out::visible_lines(&context)));
    }
    let form = &question["form"];
    let how = match form["enum"].as_array() {
        Some(options) => {
            let options: Vec<String> = options
                .iter()
                .map(|o| format!("`{}`", out::visible(&text(o))))
                .collect();
            format!("one of {}", options.join(", "))
        }
        None if form["type"] == "boolean" => "`yes` or `no`".to_owned(),
        None if form["type"] == "object" => format!("JSON that fits {}", shown_form(form)),
        None => "text".to_owned(),
    };
    shown.push_str(&format!(
        "asked by {}; the answer is {how}\n",
        out::visible(&text(&question["owner"]))
    ));
    out::show(&shown)?;
    Ok(Exit::Ok)
}

/// What was typed, as the form wants it.
fn read(words: &str, form: &Value) -> Result<Value, Failure> {
    if form["type"] == "boolean" {
        return match words.to_lowercase().as_str() {
            "yes" | "y" | "true" => Ok(Value::Bool(true)),
            "no" | "n" | "false" => Ok(Value::Bool(false)),
            _ => Err(Failure::usage("the answer is `yes` or `no`")),
        };
    }
    if form["type"] == "object" {
        let read = serde_json::from_str(words);
        return read.map_err(|e| {
            Failure::usage(format!("the answer is not JSON: {e}"))
                .hint(format!("it must fit {}", shown_form(form)))
        });
    }
    Ok(Value::from(words))
}

/// A form as a person may see it: it is what an agent wrote.
fn shown_form(form: &Value) -> String {
    out::visible(&form.to_string())
}
