//! Parameters: what an operation takes beside its body.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::is_fixed_header;
use super::naming::{Taken, argument};
use super::schema::Schemas;
use crate::dialect::Loss;

/// What is given to a tool, and where each of it goes.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) properties: Map<String, Value>,
    pub(super) required: Vec<String>,
    /// The `arguments` of the executor.
    pub(super) arguments: Map<String, Value>,
    /// The argument that is the whole body.
    pub(super) body: Option<String>,
    pub(super) content_type: Option<String>,
    pub(super) taken: Taken,
    /// The argument of each placeholder in the path.
    path: Vec<(String, String)>,
}

/// Headers that a request has by itself, or that are not a parameter's to set.
const NOT_HEADERS: &[&str] = &["accept", "content-type", "authorization"];

impl Inputs {
    /// Takes in the parameters of a path and of its operation; the latter go before.
    pub(super) fn parameters(
        &mut self,
        schemas: &mut Schemas<'_, '_>,
        item: &Map<String, Value>,
        operation: &Map<String, Value>,
        path: &str,
    ) -> Result<(), String> {
        let mut all: Vec<(&str, Value)> = Vec::new();
        let mut known: HashMap<(String, &str), usize> = HashMap::new();
        let lists = [item.get("parameters"), operation.get("parameters")];
        for parameter in lists
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .flatten()
        {
            let parameter = follow(schemas, parameter)?;
            let text = |key: &str| {
                parameter
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            let (name, place) = (text("name").to_owned(), text("in").to_owned());
            let place = match place.as_str() {
                "path" => "path",
                "query" => "query",
                "header" => "header",
                "cookie" => "cookie",
                other => return Err(format!("a parameter goes into `{}`", other.escape_debug())),
            };
            if name.is_empty() {
                return Err("a parameter has no name".to_owned());
            }
            match known.get(&(name.clone(), place)) {
                Some(i) => all[*i] = (place, parameter),
                None => {
                    known.insert((name, place), all.len());
                    all.push((place, parameter));
                }
            }
        }
        for (place, parameter) in all {
            self.parameter(schemas, place, &parameter, path)?;
        }
        for name in placeholders(path)? {
            if !self.path.iter().any(|(wire, _)| *wire == name) {
                let own = argument(&name, "path", &mut self.taken);
                schemas.losses.push(Loss::changed(
                    format!("/input_schema/properties/{own}"),
                    "the document does not describe it; it is text",
                ));
                self.properties
                    .insert(own.clone(), json!({"type": "string"}));
                self.required.push(own.clone());
                self.arguments
                    .insert(own.clone(), placed("path", &name, &own, Map::new()));
                self.path.push((name, own));
            }
        }
        Ok(())
    }

    fn parameter(
        &mut self,
        schemas: &mut Schemas<'_, '_>,
        place: &'static str,
        parameter: &Value,
        path: &str,
    ) -> Result<(), String> {
        let name = parameter
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let lower = name.to_ascii_lowercase();
        let required = parameter.get("required") == Some(&Value::Bool(true));
        if place == "header" && NOT_HEADERS.contains(&lower.as_str()) {
            return Ok(());
        }
        if place == "header" && is_fixed_header(&lower) {
            return match required {
                true => Err(format!("it needs the header `{lower}`, which no tool sets")),
                false => {
                    let field = format!("/input_schema/properties/{}", crate::node::escape(name));
                    schemas
                        .losses
                        .push(Loss::dropped(field, "no tool sets this header"));
                    Ok(())
                }
            };
        }
        if place == "path" && !path.contains(&format!("{{{name}}}")) {
            return Ok(());
        }
        let own = argument(name, place, &mut self.taken);
        let at = format!("/input_schema/properties/{}", crate::node::escape(&own));
        let mut options = Map::new();
        let schema = match parameter.get("schema") {
            Some(schema) => schema.clone(),
            None => {
                let media = parameter.get("content").and_then(Value::as_object);
                let media = media.and_then(|m| m.iter().next());
                if media.is_some_and(|(kind, _)| super::body::is_json(kind)) {
                    options.insert("json".to_owned(), Value::Bool(true));
                }
                media
                    .and_then(|(_, m)| m.get("schema"))
                    .cloned()
                    .unwrap_or(json!({}))
            }
        };
        let mut schema = match schemas.convert(&schema, &at)? {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        if let Some(text @ Value::String(_)) = parameter.get("description") {
            schema.insert("description".to_owned(), text.clone());
        }
        if let (Some(example), false) = (parameter.get("example"), schema.contains_key("examples"))
        {
            schema.insert("examples".to_owned(), json!([example]));
        }
        if parameter.get("deprecated") == Some(&Value::Bool(true)) {
            schema.insert("deprecated".to_owned(), Value::Bool(true));
        }
        if parameter.get("allowReserved") == Some(&Value::Bool(true)) {
            let reason = "reserved characters are encoded like all others";
            schemas.losses.push(Loss::changed(at, reason));
        }
        style(place, parameter, &mut options)?;
        self.arguments
            .insert(own.clone(), placed(place, name, &own, options));
        self.properties.insert(own.clone(), Value::Object(schema));
        if required || place == "path" {
            self.required.push(own.clone());
        }
        if place == "path" {
            self.path.push((name.to_owned(), own));
        }
        Ok(())
    }

    /// The path with arguments in its placeholders.
    pub(super) fn template(&self, path: &str) -> String {
        let mut out = String::new();
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            let own = self.path.iter().find(|(wire, _)| wire == name);
            out.push_str(before);
            out.push('{');
            out.push_str(own.map_or(name, |(_, own)| own.as_str()));
            out.push('}');
            rest = after;
        }
        out + rest
    }
}

/// Where an argument goes: a word if that is all.
pub(super) fn placed(place: &str, wire: &str, own: &str, mut options: Map<String, Value>) -> Value {
    if wire != own {
        options.insert("name".to_owned(), Value::String(wire.to_owned()));
    }
    if options.is_empty() {
        return Value::String(place.to_owned());
    }
    options.insert("in".to_owned(), Value::String(place.to_owned()));
    options.sort_keys();
    Value::Object(options)
}

/// `style` and `explode`, where they are not what they are without being said.
fn style(place: &str, parameter: &Value, options: &mut Map<String, Value>) -> Result<(), String> {
    let usual = match place {
        "query" | "cookie" => "form",
        _ => "simple",
    };
    let style = parameter
        .get("style")
        .and_then(Value::as_str)
        .unwrap_or(usual);
    let known = [
        "simple",
        "label",
        "matrix",
        "form",
        "spaceDelimited",
        "pipeDelimited",
        "deepObject",
    ];
    if !known.contains(&style) {
        return Err(format!(
            "a parameter has the style `{}`",
            style.escape_debug()
        ));
    }
    if style != usual {
        options.insert("style".to_owned(), Value::String(style.to_owned()));
    }
    let by_itself = style == "form";
    if let Some(explode) = parameter.get("explode").and_then(Value::as_bool)
        && explode != by_itself
    {
        options.insert("explode".to_owned(), Value::Bool(explode));
    }
    Ok(())
}

fn follow(schemas: &Schemas<'_, '_>, value: &Value) -> Result<Value, String> {
    match value.get("$ref").and_then(Value::as_str) {
        None => Ok(value.clone()),
        Some(reference) => {
            let target = schemas.reading.target(reference)?;
            schemas.reading.follow(target).cloned()
        }
    }
}

/// The names in braces, once each.
fn placeholders(path: &str) -> Result<Vec<String>, String> {
    let bad = || Err("its path has braces that cannot be read".to_owned());
    let mut names: Vec<String> = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            return bad();
        };
        if name.is_empty() || name.contains(['{', '/']) || before.contains('}') {
            return bad();
        }
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
        rest = after;
    }
    if rest.contains('}') {
        return bad();
    }
    Ok(names)
}
