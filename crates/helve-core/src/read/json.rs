//! JSON, by `jiter`, which tells where it is.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::{MAX_DEPTH, Problem, ReadError, number, push_entry, refuse_doubles, syntax};
use crate::node::{Entry, Kind, Node};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    if text.trim().is_empty() {
        return Err(syntax(0, "the text is empty"));
    }
    let mut json = Jiter::new(text.as_bytes());
    let peek = json.peek().map_err(|e| refuse(&e))?;
    let node = value(&mut json, peek, text, 0)?;
    json.finish().map_err(|e| refuse(&e))?;
    Ok(node)
}

fn value(json: &mut Jiter<'_>, peek: Peek, text: &str, depth: usize) -> Result<Node, ReadError> {
    let at = json.current_index();
    if depth > MAX_DEPTH {
        return Err(Problem::TooDeep.at(at));
    }
    let kind = match peek {
        Peek::Null => json.known_null().map(|()| Kind::Null),
        Peek::True | Peek::False => json.known_bool(peek).map(Kind::Bool),
        Peek::String => json.known_str().map(|s| Kind::String(s.to_owned())),
        Peek::Array => {
            let mut items = Vec::new();
            let mut next = json.known_array().map_err(|e| refuse(&e))?;
            while let Some(peek) = next {
                items.push(value(json, peek, text, depth + 1)?);
                next = json.array_step().map_err(|e| refuse(&e))?;
            }
            Ok(Kind::Array(items))
        }
        Peek::Object => {
            let mut entries = Vec::new();
            let mut key = owned(json.known_object())?;
            while let Some(name) = key {
                let at = key_start(text, json.current_index());
                let peek = json.peek().map_err(|e| refuse(&e))?;
                let entry = Entry {
                    at,
                    key: name,
                    value: value(json, peek, text, depth + 1)?,
                };
                push_entry(&mut entries, entry, text)?;
                key = owned(json.next_key())?;
            }
            refuse_doubles(&entries, text)?;
            Ok(Kind::Object(entries))
        }
        _ => {
            let digits = json.known_number_bytes(peek).map_err(|e| refuse(&e))?;
            let digits = String::from_utf8_lossy(digits).into_owned();
            return Ok(Node::new(at, Kind::Number(number(&digits, at)?)));
        }
    };
    Ok(Node::new(at, kind.map_err(|e| refuse(&e))?))
}

fn owned(key: Result<Option<&str>, JiterError>) -> Result<Option<String>, ReadError> {
    key.map(|k| k.map(str::to_owned)).map_err(|e| refuse(&e))
}

/// The opening quote of the key whose colon ends before `after`.
fn key_start(text: &str, after: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = after.min(bytes.len());
    while end > 0 && bytes[end - 1] != b'"' {
        end -= 1;
    }
    let mut start = end.saturating_sub(1);
    while start > 0 {
        start -= 1;
        let slashes = bytes[..start].iter().rev().take_while(|b| **b == b'\\');
        if bytes[start] == b'"' && slashes.count() % 2 == 0 {
            break;
        }
    }
    start
}

fn refuse(error: &JiterError) -> ReadError {
    use JsonErrorType as J;
    let at = error.index;
    let JiterErrorType::JsonError(kind) = &error.error_type else {
        return syntax(at, error.error_type.to_string());
    };
    match kind {
        J::EofWhileParsingList => Problem::Truncated("a list").at(at),
        J::EofWhileParsingObject => Problem::Truncated("an object").at(at),
        J::EofWhileParsingString => Problem::Truncated("a string").at(at),
        J::EofWhileParsingValue => Problem::Truncated("a value").at(at),
        J::RecursionLimitExceeded => Problem::TooDeep.at(at),
        other => syntax(at, format!("not JSON: {other}")),
    }
}
