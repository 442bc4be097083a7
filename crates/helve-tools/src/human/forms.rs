//! What an answer may look like: a choice, a form, text, or yes and no.

use helve_kernel::ToolError;
use helve_kernel::helve_core::schema::Schema;
use serde_json::{Map, Value, json};

/// What an answer looks like.
pub(super) enum Form {
    Text,
    Options(Vec<String>),
    Fields(Map<String, Value>),
    YesOrNo,
}

impl Form {
    pub(super) fn of(options: &[String], fields: Map<String, Value>) -> Result<Self, ToolError> {
        match (options.is_empty(), fields.is_empty()) {
            (true, true) => Ok(Form::Text),
            (false, true) => choice(options),
            (true, false) => form(fields),
            (false, false) => Err(ToolError::validation(
                "both `options` and `fields` are given; a question has one of them",
            )),
        }
    }

    pub(super) fn yes_or_no() -> Self {
        Form::YesOrNo
    }

    /// The schema of an answer.
    pub(super) fn schema(&self) -> Value {
        match self {
            Form::Text => json!({"type": "string", "minLength": 1, "maxLength": 20000}),
            Form::Options(options) => json!({"enum": options}),
            Form::Fields(fields) => Value::Object(fields.clone()),
            Form::YesOrNo => json!({"type": "boolean"}),
        }
    }

    /// What a client is given to show: an object with simple fields.
    pub(super) fn requested(&self) -> Value {
        let field = match self {
            Form::Fields(fields) => return Value::Object(fields.clone()),
            Form::Options(options) => json!({"type": "string", "enum": options}),
            Form::Text => json!({"type": "string"}),
            Form::YesOrNo => json!({"type": "boolean"}),
        };
        json!({
            "type": "object",
            "properties": {"answer": with_title(field)},
            "required": ["answer"],
        })
    }

    /// The answer in what a client gave back.
    pub(super) fn answer(&self, content: &Value) -> Result<Value, String> {
        let answer = match self {
            Form::Fields(_) => content,
            _ => &content["answer"],
        };
        let schema =
            Schema::compile(&self.schema()).map_err(|_| "the form is damaged".to_owned())?;
        match schema.misfits(answer).first() {
            None => Ok(answer.clone()),
            Some(misfit) => Err(misfit.problem.clone()),
        }
    }
}

fn with_title(mut field: Value) -> Value {
    field["title"] = "Answer".into();
    field
}

fn choice(options: &[String]) -> Result<Form, ToolError> {
    let mut seen: Vec<&str> = Vec::new();
    for option in options {
        let option = option.trim();
        if option.is_empty() || seen.contains(&option) {
            return Err(ToolError::validation("an option is blank, or there twice"));
        }
        seen.push(option);
    }
    Ok(Form::Options(seen.into_iter().map(str::to_owned).collect()))
}

/// What every client can show: an object of simple fields.
fn form(mut fields: Map<String, Value>) -> Result<Form, ToolError> {
    let wrong = |problem: String| {
        ToolError::validation(format!("`fields` {problem}")).with_hint(
            "write it like {\"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}",
        )
    };
    fields.entry("type").or_insert_with(|| "object".into());
    if fields["type"] != "object" {
        return Err(wrong("must describe an object".to_owned()));
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    let properties = properties.filter(|p| !p.is_empty());
    let properties = properties.ok_or_else(|| wrong("has no `properties`".to_owned()))?;
    for (name, property) in properties {
        let simple = ["string", "number", "integer", "boolean"];
        if !property["type"]
            .as_str()
            .is_some_and(|t| simple.contains(&t))
        {
            return Err(wrong(format!("has `{name}`, which is not a simple type")));
        }
    }
    let schema = Value::Object(fields.clone());
    if let Err(issues) = Schema::compile(&schema) {
        let first = issues
            .first()
            .map(|i| i.message.clone())
            .unwrap_or_default();
        return Err(wrong(format!("is no schema: {first}")));
    }
    Ok(Form::Fields(fields))
}

/// Whether a client can show a form.
pub(super) fn can_ask(capabilities: &Value) -> bool {
    let modes = capabilities.get("elicitation").and_then(Value::as_object);
    // An empty one is the form of the older revisions.
    modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}
