//! Whether a rule matches a call, and what speaks against it.

use std::fmt;

use serde_json::{Map, Value};

use super::{Call, Effect, Pattern, Rule};
use crate::def::Risk;

/// The first thing about a call that a rule does not match. It never shows the
/// value of an argument, which may be secret.
pub(super) enum Miss<'m> {
    Tool(&'m str, &'m Pattern),
    Risk(Option<Risk>, &'m [Risk]),
    Principal(&'m str, &'m Pattern),
    Absent(&'m str),
    Argument(&'m str, &'m Pattern),
}

impl fmt::Display for Miss<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::Tool(tool, pattern) => write!(f, "tool `{tool}` does not match `{pattern}`"),
            Miss::Risk(risk, wanted) => {
                match risk {
                    Some(risk) => write!(f, "risk `{}` is not ", risk.as_str())?,
                    None => f.write_str("risk is not known and counts as `write`, not as ")?,
                }
                let words: Vec<String> = wanted
                    .iter()
                    .map(|risk| format!("`{}`", risk.as_str()))
                    .collect();
                f.write_str(&words.join(" or "))
            }
            Miss::Principal(principal, pattern) => {
                write!(f, "principal `{principal}` does not match `{pattern}`")
            }
            Miss::Absent(name) => write!(f, "argument `{name}` is absent"),
            Miss::Argument(name, pattern) => {
                write!(f, "argument `{name}` does not match `{pattern}`")
            }
        }
    }
}

impl Rule {
    pub(super) fn matches(&self, call: &Call<'_>) -> bool {
        self.miss(call).is_none()
    }

    pub(super) fn miss<'m>(&'m self, call: &Call<'m>) -> Option<Miss<'m>> {
        self.miss_without_args(call).or_else(|| {
            self.args.iter().find_map(|(name, pattern)| {
                let mut texts = Vec::new();
                let found = named(call.args, name);
                found.iter().for_each(|value| told(value, &mut texts));
                // One bad path in a list is enough to stop it, and not enough to let it pass.
                let fits = match self.effect {
                    Effect::Allow => !texts.is_empty() && texts.iter().all(|t| pattern.matches(t)),
                    Effect::Ask | Effect::Deny => texts.iter().any(|t| pattern.matches(t)),
                };
                match found.is_empty() {
                    true => Some(Miss::Absent(name)),
                    false => (!fits).then_some(Miss::Argument(name, pattern)),
                }
            })
        })
    }

    /// What speaks against it whatever the arguments are.
    pub(super) fn miss_without_args<'m>(&'m self, call: &Call<'m>) -> Option<Miss<'m>> {
        if let Some(pattern) = &self.tool
            && !pattern.matches(call.tool)
        {
            return Some(Miss::Tool(call.tool, pattern));
        }
        // A tool that does not say counts as the most dangerous.
        let risk = call.risk.unwrap_or(Risk::Write);
        if !self.risk.is_empty() && !self.risk.contains(&risk) {
            return Some(Miss::Risk(call.risk, &self.risk));
        }
        if let Some(pattern) = &self.principal
            && !pattern.matches(call.principal)
        {
            return Some(Miss::Principal(call.principal, pattern));
        }
        None
    }
}

/// What a rule calls `name`: the argument of just that name, and the one that the
/// dots lead to, in every item where they lead through a list. Both, so that neither
/// hides behind the other.
fn named<'c>(args: &'c Map<String, Value>, name: &str) -> Vec<&'c Value> {
    let mut parts = name.split('.');
    let first = parts.next().and_then(|part| args.get(part));
    let mut found: Vec<&Value> = first.into_iter().collect();
    for part in parts {
        let mut next = Vec::new();
        found.iter().for_each(|value| step(value, part, &mut next));
        found = next;
    }
    if name.contains('.') {
        found.extend(args.get(name));
    }
    found
}

fn step<'c>(value: &'c Value, part: &str, found: &mut Vec<&'c Value>) {
    match value {
        Value::Object(map) => found.extend(map.get(part)),
        Value::Array(items) => items.iter().for_each(|item| step(item, part, found)),
        _ => {}
    }
}

/// All that a value says: an argument may be a list of paths.
fn told(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|v| told(v, texts)),
        Value::Object(map) => map.values().for_each(|v| told(v, texts)),
        Value::Null => {}
        other => texts.push(other.to_string()),
    }
}
