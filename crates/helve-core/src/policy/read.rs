//! Rules out of configuration: strict, and proved by their examples.

use serde_json::{Map, Value};

use super::{Call, Effect, Pattern, Policy, PolicyError, Rule};
use crate::def::Risk;
use crate::name::nearest;

const KEYS: &[&str] = &[
    "effect",
    "tool",
    "risk",
    "principal",
    "args",
    "reason",
    "match",
    "no_match",
];

pub(super) fn policy(rules: &Value) -> Result<Policy, PolicyError> {
    let Value::Array(items) = rules else {
        return Err(PolicyError::Rule {
            rule: 0,
            problem: format!(
                "a policy is a list of rules, not {}",
                crate::def::kind_of(rules)
            ),
        });
    };
    let mut policy = Policy::default();
    for (i, item) in items.iter().enumerate() {
        let refuse = |problem: String| PolicyError::Rule {
            rule: i + 1,
            problem,
        };
        let rule = rule(item).map_err(refuse)?;
        prove(&rule, item, i + 1)?;
        policy.rules.push(rule);
    }
    Ok(policy)
}

fn rule(value: &Value) -> Result<Rule, String> {
    let Value::Object(map) = value else {
        return Err(format!(
            "a rule is an object, not {}",
            crate::def::kind_of(value)
        ));
    };
    if let Some(key) = map.keys().find(|k| !KEYS.contains(&k.as_str())) {
        let near = nearest(key, KEYS.iter().copied(), 1);
        let hint = near
            .first()
            .map(|n| format!("; did you mean `{n}`?"))
            .unwrap_or_default();
        return Err(format!("unknown key `{key}`{hint}"));
    }
    let text = |key: &str| match map.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!(
            "`{key}` must be text, not {}",
            crate::def::kind_of(other)
        )),
    };
    let effect = match text("effect")?.as_deref() {
        Some("allow") => Effect::Allow,
        Some("ask") => Effect::Ask,
        Some("deny") => Effect::Deny,
        Some(other) => {
            return Err(format!(
                "`effect` cannot be `{other}`; it is allow, ask or deny"
            ));
        }
        None => return Err("`effect` is missing; it is allow, ask or deny".to_owned()),
    };
    let args = match map.get("args") {
        None => Vec::new(),
        Some(Value::Object(args)) => args
            .iter()
            .map(|(name, pattern)| match pattern.as_str() {
                Some(pattern) => Ok((name.clone(), Pattern::new(pattern))),
                None => Err(format!("`args.{name}` must be a pattern")),
            })
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("`args` has a pattern for each argument by name".to_owned()),
    };
    Ok(Rule {
        effect,
        tool: text("tool")?.map(Pattern::new),
        risk: risks(map.get("risk"))?,
        principal: text("principal")?.map(Pattern::new),
        args,
        reason: text("reason")?,
    })
}

fn risks(value: Option<&Value>) -> Result<Vec<Risk>, String> {
    let words: Vec<&Value> = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) if !items.is_empty() => items.iter().collect(),
        Some(one) => vec![one],
    };
    words
        .into_iter()
        .map(|w| {
            let risk = w.as_str().and_then(Risk::parse);
            risk.ok_or_else(|| {
                format!("`risk` cannot be {w}; it is read, exec_low, exec_high or write")
            })
        })
        .collect()
}

/// Examples are calls: `{tool, risk, principal, args}`, or just a tool's name.
fn prove(rule: &Rule, value: &Value, number: usize) -> Result<(), PolicyError> {
    for (key, wanted) in [("match", true), ("no_match", false)] {
        let examples = value.get(key).and_then(Value::as_array);
        for example in examples.into_iter().flatten() {
            let empty = Map::new();
            let text = |key: &str| example.get(key).and_then(Value::as_str);
            let call = Call {
                tool: example.as_str().or(text("tool")).unwrap_or_default(),
                risk: text("risk").and_then(Risk::parse),
                principal: text("principal").unwrap_or_default(),
                args: example
                    .get("args")
                    .and_then(Value::as_object)
                    .unwrap_or(&empty),
            };
            if rule.matches(&call) != wanted {
                return Err(PolicyError::Example {
                    rule: number,
                    example: example.to_string(),
                    wanted,
                });
            }
        }
    }
    Ok(())
}
