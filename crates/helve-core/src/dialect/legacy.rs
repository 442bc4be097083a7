//! Automation Hub's old script manifests: `{id: {cmd}}`, `{scripts: […]}`, or the
//! bare list.
//!
//! They gave a command as one text. It is taken apart into words here, once; what
//! only a shell could make sense of is refused, since no shell will ever see it.

use serde_json::{Map, Value, json};

use super::{Draft, Loss, Source};
use crate::lint::{Issue, rules};

/// Whether a value is an entry of a manifest.
pub(super) fn is_entry(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let command = has("cmd") || has("command") || has("script");
    command && !has("risk_level") && !has("executor") && !has("args_schema") && !has("handler")
}

pub(super) fn decode(source: &Source<'_>) -> Result<Draft, Issue> {
    let mut draft = Draft::of("automation-hub", source.value)?;
    draft.take("name", "title");
    draft.take("id", "name");
    draft.take_same(&["description", "allowed_paths"]);
    if let Some(key) = source.key {
        draft.set("name", json!(key), "");
        draft.place("/name".to_owned(), String::new());
    }
    for key in ["timeout_seconds", "timeout_sec", "timeout"] {
        draft.take(key, "timeout");
    }
    for key in ["is_enabled", "enabled"] {
        draft.take(key, "enabled");
    }
    draft.take("risk_level", "risk");
    let command = ["cmd", "command", "script"]
        .into_iter()
        .find_map(|key| Some((key, draft.remove(key)?)));
    let Some((key, command)) = command else {
        let issue = Issue::new(&rules::MISSING_FIELD, "", "the script has no `cmd`");
        return Err(issue.fix("add `cmd` or `command`"));
    };
    let words = match &command {
        Value::String(text) => words(text).map_err(|problem| {
            Issue::new(
                &rules::SHELL_JOIN,
                format!("/{key}"),
                format!("`{text}` {problem}"),
            )
            .fix("write the command as a list of words, or put it into a script")
        })?,
        other => other.as_array().into_iter().flatten().cloned().collect(),
    };
    if !draft.peek("description").is_some_and(Value::is_string)
        && draft.field("description").is_none()
    {
        describe(&mut draft, &words);
    }
    let mut table = Map::new();
    table.insert("type".to_owned(), json!("host"));
    table.insert("command".to_owned(), Value::Array(words));
    for (key, setting) in [("cwd", "cwd"), ("working_dir", "cwd"), ("env", "env")] {
        if let Some(value) = draft.remove(key) {
            table.insert(setting.to_owned(), value);
        }
    }
    draft.set("executor", Value::Object(table), key);
    let parameters = draft
        .remove("parameters")
        .or(draft.remove("args"))
        .unwrap_or(Value::Null);
    draft.set("input_schema", schema(&parameters), "parameters");
    draft.adopt_name();
    draft.carry_rest();
    Ok(draft)
}

fn describe(draft: &mut Draft, words: &[Value]) {
    let shown: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
    let text = match draft
        .field("title")
        .and_then(|t| t.as_str().map(str::to_owned))
    {
        Some(title) => title,
        None => format!("Runs `{}`.", shown.join(" ")),
    };
    draft.set("description", json!(text), "cmd");
    let reason = "the manifest has none; it is made from the title or the command";
    draft.lose(Loss::changed("/description", reason));
}

/// `[{name, type, required, default, description}]`, or the same by name.
fn schema(parameters: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let entries: Vec<(String, &Value)> = match parameters {
        Value::Array(list) => list
            .iter()
            .filter_map(|p| match p {
                Value::String(name) => Some((name.clone(), &Value::Null)),
                other => Some((other.get("name")?.as_str()?.to_owned(), other)),
            })
            .collect(),
        Value::Object(map) => map.iter().map(|(name, p)| (name.clone(), p)).collect(),
        _ => Vec::new(),
    };
    for (name, parameter) in entries {
        let mut schema = Map::new();
        for (key, value) in parameter.as_object().into_iter().flatten() {
            match key.as_str() {
                "name" => {}
                "required" => {
                    if value == &json!(true) {
                        required.push(name.clone());
                    }
                }
                "type" => {
                    let kind = match value.as_str() {
                        Some("str" | "text" | "path" | "file") => json!("string"),
                        Some("int") => json!("integer"),
                        Some("float") => json!("number"),
                        Some("bool") => json!("boolean"),
                        Some("list") => json!("array"),
                        Some("dict") => json!("object"),
                        _ => value.clone(),
                    };
                    schema.insert("type".to_owned(), kind);
                }
                "choices" | "options" => drop(schema.insert("enum".to_owned(), value.clone())),
                _ => drop(schema.insert(key.clone(), value.clone())),
            }
        }
        schema.entry("type").or_insert(json!("string"));
        properties.insert(name, Value::Object(schema));
    }
    let mut out = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

/// Takes a command apart as a shell would, as far as no shell is needed.
fn words(text: &str) -> Result<Vec<Value>, &'static str> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => out.extend(word.take().map(Value::from)),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("has a quote that is not closed"),
                        Some('\'') => break,
                        Some(c) => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        None => return Err("has a quote that is not closed"),
                        Some('"') => break,
                        Some('$' | '`') => return Err("needs a shell to fill in a variable"),
                        Some('\\') => word.extend(chars.next()),
                        Some(c) => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '|' | '&' | ';' | '<' | '>' | '(' | ')' => {
                return Err("joins commands, which only a shell can do");
            }
            '$' | '`' | '*' | '?' | '[' | '~' => return Err("needs a shell to fill something in"),
            c => word.get_or_insert_default().push(c),
        }
    }
    out.extend(word.map(Value::from));
    match out.is_empty() {
        true => Err("is empty"),
        false => Ok(out),
    }
}
