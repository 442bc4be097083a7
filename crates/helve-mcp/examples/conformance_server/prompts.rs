//! The prompts.

use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::{Value, json};

use crate::catalog::{Answer, PIXEL, of, one_field};
use crate::rounds::{accepted, question};

/// Gets one.
pub(crate) fn get(request: &GetPromptRequestParams) -> Answer<GetPromptResponse> {
    let argument = |name: &str| {
        let found = request
            .arguments
            .as_ref()
            .and_then(|all| all.get(name)?.as_str());
        found.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
    };
    let content = match &*request.name {
        "test_simple_prompt" => json!([text("This is a simple prompt for testing.")]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            json!([text(&format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))])
        }
        "test_prompt_with_embedded_resource" => json!([
            {"type": "resource", "resource": {
                "uri": argument("resourceUri")?,
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }},
            text("Please process the embedded resource above."),
        ]),
        "test_prompt_with_image" => json!([
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            text("Please analyze the image above."),
        ]),
        "test_input_required_result_prompt" => {
            match accepted(request.input_responses.as_ref(), "user_context", "context") {
                Some(known) => json!([text(&format!("The context is {known}."))]),
                None => {
                    let message = "What context should the prompt use?";
                    let asked = question(message, &one_field("context", "string"));
                    let questions = of(json!({"user_context": asked}));
                    return Ok(InputRequiredResult::from_input_requests(questions).into());
                }
            }
        }
        name => {
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{name}`"),
                None,
            ));
        }
    };
    let said = |content: &Value| json!({"role": "user", "content": content});
    let messages: Vec<Value> = content.as_array().into_iter().flatten().map(said).collect();
    Ok(GetPromptResult::new(of(json!(messages))).into())
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
