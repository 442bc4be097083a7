//! Tools of the newer era whose result says what is missing; the client calls again
//! with the answers.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::catalog::{Answer, of, one_field};
use crate::server::Shared;

/// Whether a tool is here.
pub(crate) fn knows(name: &str) -> bool {
    name.starts_with("test_input_required_result_")
}

/// Calls one of them.
pub(crate) async fn call(
    shared: &Shared,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Answer<CallToolResponse> {
    let replies = request.input_responses.as_ref();
    match &*request.name {
        "test_input_required_result_elicitation" => {
            let refused =
                |reply: &Value| reply["action"] == "decline" || reply["action"] == "cancel";
            match accepted(replies, "user_name", "name") {
                Some(name) => said(format!("Hello, {}!", name.as_str().unwrap_or("you"))),
                None if reply(replies, "user_name").is_some_and(refused) => {
                    said("You did not say.".to_owned())
                }
                None => needs(
                    json!({"user_name": name_question("What is your name?")}),
                    None,
                ),
            }
        }
        "test_input_required_result_sampling" => match reply(replies, "capital_question") {
            Some(reply) => said(format!("The model said {}", reply["content"]["text"])),
            None => needs(
                json!({"capital_question": sampling("What is the capital of France?")}),
                None,
            ),
        },
        "test_input_required_result_list_roots" => match reply(replies, "client_roots") {
            Some(reply) => said(format!("The roots are {}", reply["roots"])),
            None => needs(json!({"client_roots": roots()}), None),
        },
        "test_input_required_result_multi_round" => multi_round(shared, request),
        "test_input_required_result_multiple_inputs" => {
            let keys = ["user_name", "greeting", "client_roots"];
            if keys.iter().all(|key| reply(replies, key).is_some()) {
                opened(shared, request)?;
                return said("All three are here.".to_owned());
            }
            let questions = json!({
                "user_name": name_question("What is your name?"),
                "greeting": sampling("Generate a greeting"),
                "client_roots": roots(),
            });
            needs(questions, Some(sealed(shared, "multiple")))
        }
        "test_input_required_result_capabilities" => {
            let able = context.client_capabilities().unwrap_or_default();
            let mut questions = json!({});
            if able.elicitation.is_some() {
                questions["name"] = name_question("What is your name?");
            }
            if able.sampling.is_some() {
                questions["greeting"] = sampling("Generate a greeting");
            }
            match replies {
                Some(_) => said("Thank you.".to_owned()),
                None => needs(questions, None),
            }
        }
        // With a state that must come back as it went.
        _ => match reply(replies, "confirm") {
            Some(_) => {
                opened(shared, request)?;
                said("state-ok".to_owned())
            }
            None => {
                let schema = one_field("ok", "boolean");
                needs(
                    json!({"confirm": question("Please confirm", &schema)}),
                    Some(sealed(shared, "confirm")),
                )
            }
        },
    }
}

fn multi_round(shared: &Shared, request: &CallToolRequestParams) -> Answer<CallToolResponse> {
    let replies = request.input_responses.as_ref();
    if replies.is_none() {
        let first = json!({"step1": name_question("Step 1: What is your name?")});
        return needs(first, Some(sealed(shared, "step1")));
    }
    let state = opened(shared, request)?;
    match (
        state.as_str(),
        reply(replies, "step1"),
        reply(replies, "step2"),
    ) {
        (Some("step1"), Some(_), _) => {
            let color = question(
                "Step 2: What is your favorite color?",
                &one_field("color", "string"),
            );
            needs(json!({"step2": color}), Some(sealed(shared, "step2")))
        }
        (Some("step2"), _, Some(_)) => said("Both steps are done.".to_owned()),
        _ => Err(ErrorData::invalid_params(
            "the answer is not to the question",
            None,
        )),
    }
}

/// A result that is not one yet.
fn needs(questions: Value, state: Option<String>) -> Answer<CallToolResponse> {
    Ok(InputRequiredResult::new(Some(of(questions)), state).into())
}

fn said(text: String) -> Answer<CallToolResponse> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// The reply to one question, if it can be one.
pub(crate) fn reply<'a>(
    replies: Option<&'a BTreeMap<String, Value>>,
    key: &str,
) -> Option<&'a Value> {
    replies?.get(key).filter(|reply| reply.is_object())
}

/// A field of what a person filled in and sent off.
pub(crate) fn accepted<'a>(
    replies: Option<&'a BTreeMap<String, Value>>,
    key: &str,
    field: &str,
) -> Option<&'a Value> {
    let reply = reply(replies, key)?;
    (reply["action"] == "accept").then(|| reply["content"].get(field))?
}

/// A question to a person.
pub(crate) fn question(message: &str, schema: &Value) -> Value {
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

/// A question for a name.
pub(crate) fn name_question(message: &str) -> Value {
    question(message, &one_field("name", "string"))
}

fn sampling(text: &str) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn sealed(shared: &Shared, step: &str) -> String {
    shared
        .seal
        .seal_json(&step)
        .expect("a string can be written")
}

/// The state that came back, if it is ours and unchanged.
fn opened(shared: &Shared, request: &CallToolRequestParams) -> Answer<Value> {
    let state = request.request_state.as_deref().unwrap_or_default();
    let broken = |_| ErrorData::invalid_params("the request state is not as it was given", None);
    shared.seal.open_json(state).map_err(broken)
}
