//! Whether an answer is what an example expects.

use serde_json::Value;

/// What differs; nothing where the answer is as expected.
pub(super) fn problem(expected: Option<&str>, answer: &Value) -> Option<String> {
    let failed = answer["ok"] != true;
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    let expected = expected.map(str::trim).unwrap_or_default();
    if let Some(wanted) = expected.strip_prefix("error:") {
        let wanted = wanted.trim();
        return match (failed, message.contains(wanted)) {
            (true, true) => None,
            (true, false) => Some(format!(
                "it must fail with\n  {wanted}\nand fails with\n  {message}"
            )),
            (false, _) => Some(format!(
                "it must fail with\n  {wanted}\nand answers\n  {}",
                answer["data"]
            )),
        };
    }
    if failed {
        let hint = answer["error"]["hint"].as_str();
        let hint = hint.map(|hint| format!("\n{hint}")).unwrap_or_default();
        return Some(format!("{message}{hint}"));
    }
    let data = &answer["data"];
    if let Ok(wanted) = serde_json::from_str::<Value>(expected) {
        // A tool of this machine says JSON as text.
        let said = data.as_str().or_else(|| data["stdout"].as_str());
        let said = said.and_then(|text| serde_json::from_str::<Value>(text).ok());
        let fits = holds(data, &wanted) || said.is_some_and(|said| holds(&said, &wanted));
        return (!fits).then(|| format!("it must answer\n  {wanted}\nand answers\n  {data}"));
    }
    let text = match data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let quoted = expected.split('`').skip(1).step_by(2);
    let missing: Vec<&str> = quoted.filter(|part| !text.contains(part)).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "its answer must have\n  {}\nand is\n  {text}",
            missing.join("\n  ")
        )
    })
}

/// Whether a value is the other, or an object that has at least its fields.
fn holds(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| value.get(key).is_some_and(|value| holds(value, wanted))),
        (Value::Array(value), Value::Array(wanted)) => {
            value.len() == wanted.len() && value.iter().zip(wanted).all(|(v, w)| holds(v, w))
        }
        (Value::Number(value), Value::Number(wanted)) => value.as_f64() == wanted.as_f64(),
        (value, wanted) => value == wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_passes() {
        let ok = |data: Value| json!({"ok": true, "data": data});
        let fail = json!({"ok": false, "error": {"message": "no such file", "hint": "look"}});
        let cases = [
            (None, ok(json!(1)), true),
            (Some("the number"), ok(json!(1)), true),
            (Some("1"), ok(json!(1.0)), true),
            (Some("1"), ok(json!(2)), false),
            (
                Some(r#"{"a": {"b": 1}}"#),
                ok(json!({"a": {"b": 1, "c": 2}, "d": 3})),
                true,
            ),
            (
                Some(r#"{"a": {"b": 1}}"#),
                ok(json!({"a": {"b": 2}})),
                false,
            ),
            (Some("[1, 2]"), ok(json!([1, 2, 3])), false),
            (Some("\"x\""), ok(json!("x")), true),
            (
                Some("says `two words` and `more`"),
                ok(json!("two words, more")),
                true,
            ),
            (Some("says `two words`"), ok(json!("two, words")), false),
            (
                Some(r#"{"n": 1}"#),
                ok(json!({"stdout": "{\"n\": 1}\n"})),
                true,
            ),
            (None, fail.clone(), false),
            (Some("error: no such"), fail.clone(), true),
            (Some("error: denied"), fail, false),
            (Some("error: denied"), ok(json!(1)), false),
        ];
        for (expected, answer, passes) in cases {
            let found = problem(expected, &answer);
            assert_eq!(found.is_none(), passes, "{expected:?} {answer} {found:?}");
        }
    }
}
