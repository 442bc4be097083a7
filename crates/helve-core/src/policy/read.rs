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
    "approvals",
    "reason",
    "match",
    "no_match",
];

const EXAMPLE_KEYS: &[&str] = &["tool", "risk", "principal", "args"];

/// The most that a rule can ask for.
const MAX_APPROVALS: u64 = 10;

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
    known_keys(map, KEYS)?;
    let text = |key: &str| text(map, key);
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
        approvals: approvals(map.get("approvals"), effect)?,
        reason: text("reason")?,
    })
}

fn known_keys(map: &Map<String, Value>, known: &[&str]) -> Result<(), String> {
    let Some(key) = map.keys().find(|k| !known.contains(&k.as_str())) else {
        return Ok(());
    };
    let near = nearest(key, known.iter().copied(), 1);
    let hint = near
        .first()
        .map(|n| format!("; did you mean `{n}`?"))
        .unwrap_or_default();
    Err(format!("unknown key `{key}`{hint}"))
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!(
            "`{key}` must be text, not {}",
            crate::def::kind_of(other)
        )),
    }
}

fn approvals(value: Option<&Value>, effect: Effect) -> Result<u32, String> {
    let Some(value) = value else {
        return Ok(1);
    };
    if effect != Effect::Ask {
        return Err(format!(
            "`approvals` goes with effect ask only, not with {}",
            effect.as_str()
        ));
    }
    let count = value.as_u64().filter(|n| (1..=MAX_APPROVALS).contains(n));
    let count = count.and_then(|n| u32::try_from(n).ok());
    count.ok_or_else(|| {
        format!("`approvals` cannot be {value}; it is a whole number from 1 to {MAX_APPROVALS}")
    })
}

fn risks(value: Option<&Value>) -> Result<Vec<Risk>, String> {
    let words: Vec<&Value> = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) if !items.is_empty() => items.iter().collect(),
        Some(one) => vec![one],
    };
    words.into_iter().map(risk).collect()
}

fn risk(value: &Value) -> Result<Risk, String> {
    let known = value.as_str().and_then(Risk::parse);
    known.ok_or_else(|| {
        format!("`risk` cannot be {value}; it is read, exec_low, exec_high or write")
    })
}

/// Holds a rule to its examples.
fn prove(rule: &Rule, value: &Value, number: usize) -> Result<(), PolicyError> {
    for (key, wanted) in [("match", true), ("no_match", false)] {
        let refuse = |problem: String| PolicyError::Rule {
            rule: number,
            problem,
        };
        let examples = match value.get(key) {
            None => continue,
            Some(Value::Array(examples)) => examples,
            Some(other) => {
                let kind = crate::def::kind_of(other);
                return Err(refuse(format!("`{key}` is a list of examples, not {kind}")));
            }
        };
        for (i, written) in examples.iter().enumerate() {
            let example = example(written)
                .map_err(|problem| refuse(format!("example {} of `{key}`: {problem}", i + 1)))?;
            let call = Call {
                tool: &example.tool,
                risk: example.risk,
                principal: &example.principal,
                args: &example.args,
            };
            if rule.matches(&call) != wanted {
                return Err(PolicyError::Example {
                    rule: number,
                    example: written.to_string(),
                    wanted,
                });
            }
        }
    }
    Ok(())
}

struct Example {
    tool: String,
    risk: Option<Risk>,
    principal: String,
    args: Map<String, Value>,
}

/// Examples are calls: `{tool, risk, principal, args}`, or just a tool's name.
fn example(value: &Value) -> Result<Example, String> {
    let map = match value {
        Value::String(tool) => &Map::from_iter([("tool".to_owned(), Value::from(tool.as_str()))]),
        Value::Object(map) => map,
        other => {
            return Err(format!(
                "an example is a call or a tool's name, not {}",
                crate::def::kind_of(other)
            ));
        }
    };
    known_keys(map, EXAMPLE_KEYS)?;
    let risk = match map.get("risk") {
        None => None,
        Some(value) => Some(risk(value)?),
    };
    let args = match map.get("args") {
        None => Map::new(),
        Some(Value::Object(args)) => args.clone(),
        Some(_) => return Err("`args` has a value for each argument by name".to_owned()),
    };
    Ok(Example {
        tool: text(map, "tool")?.unwrap_or_default(),
        risk,
        principal: text(map, "principal")?.unwrap_or_default(),
        args,
    })
}
