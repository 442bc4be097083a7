//! The quality rules: what makes a tool easy to choose and to call.

use serde_json::Value;

use super::{Issue, fix, rules};
use crate::def::{Risk, ToolDef};
use crate::node::escape;
use crate::schema::walk;

/// The most characters of a description.
pub(super) const MAX_DESCRIPTION: usize = 200;
/// The most characters of a detail.
pub(super) const MAX_DETAIL: usize = 2000;

pub(super) fn check(def: &ToolDef, issues: &mut Vec<Issue>) {
    texts(def, issues);
    let schema = &def.input_schema;
    parameters(schema, "/input_schema", issues);
    free_command(def, issues);
    secrets(def, issues);
    for applied in fix::plan(def) {
        issues.push(applied.issue());
    }
}

fn texts(def: &ToolDef, issues: &mut Vec<Issue>) {
    let length = def.description.chars().count();
    if length > MAX_DESCRIPTION {
        let message =
            format!("the description has {length} characters, more than {MAX_DESCRIPTION}");
        let issue = Issue::new(&rules::LONG_DESCRIPTION, "/description", message);
        issues.push(
            issue.fix("say what and when in one line; move the rest to `detail` and `triggers`"),
        );
    }
    let length = def.detail.as_deref().map_or(0, |d| d.chars().count());
    if length > MAX_DETAIL {
        let message = format!("the detail has {length} characters, more than {MAX_DETAIL}");
        issues.push(Issue::new(&rules::LONG_DETAIL, "/detail", message).fix("shorten it"));
    }
    if def.triggers.is_empty() && !says_when(&def.description) {
        let message = "neither the description nor `triggers` say when to use it";
        let issue = Issue::new(&rules::NO_WHEN, "/description", message);
        issues.push(issue.fix("add \"when …\" to the description, or `triggers`"));
    }
    if let Some(phrase) = speaks_to_reader(&def.description) {
        let message = format!("the description speaks to the reader (`{phrase}`)");
        let issue = Issue::new(&rules::NOT_THIRD_PERSON, "/description", message);
        issues.push(issue.fix("say what the tool does: \"Opens a page. …\""));
    }
}

fn says_when(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let english = [
        "when", "whenever", "before", "after", "if", "use", "used", "once",
    ];
    words.into_iter().any(|w| english.contains(&w))
        || [
            "当",
            "时使用",
            "时候",
            "用于",
            "用来",
            "适用",
            "需要",
            "之前",
            "之后",
            "时调用",
            "场景",
            "使用",
        ]
        .iter()
        .any(|w| text.contains(w))
}

fn speaks_to_reader(text: &str) -> Option<&'static str> {
    let lower = text.to_lowercase();
    let starts = ["i ", "you ", "we ", "let me ", "my "];
    let contains = [
        "help you",
        "helps you",
        "you can ",
        "allows you",
        "lets you",
        "for you",
        "i can ",
        "帮你",
        "帮您",
        "帮助你",
        "帮助您",
        "你可以",
        "您可以",
        "我会",
        "我可以",
    ];
    starts
        .into_iter()
        .find(|s| lower.starts_with(s))
        .or_else(|| contains.into_iter().find(|c| lower.contains(c)))
        .map(str::trim)
}

fn parameters(schema: &Value, at: &str, issues: &mut Vec<Issue>) {
    let required = walk::required(schema);
    let known = |name: &str| {
        schema
            .pointer("/properties")
            .is_some_and(|p| p.get(name).is_some())
    };
    for name in required.iter().filter(|n| !known(n)) {
        let message = format!("`{name}` is required, but is not among the properties");
        let issue = Issue::new(&rules::REQUIRED_UNKNOWN, format!("{at}/required"), message);
        issues.push(issue.fix(format!("describe `{name}` in `properties`")));
    }
    for (name, property) in walk::properties(schema) {
        let here = format!("{at}/properties/{}", escape(name));
        let has = |key: &str| property.get(key).is_some();
        let typed = ["type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"]
            .iter()
            .any(|k| has(k));
        if !typed {
            let message = format!("the parameter `{name}` has no type");
            issues.push(Issue::new(&rules::NO_PARAM_TYPE, &here, message).fix("add `type`"));
        }
        if property
            .get("description")
            .and_then(Value::as_str)
            .is_none_or(|d| d.trim().is_empty())
        {
            let message = format!("the parameter `{name}` has no description");
            issues.push(
                Issue::new(&rules::NO_PARAM_DESCRIPTION, &here, message).fix("add `description`"),
            );
        }
        if !required.contains(&name.as_str()) && !has("default") && !has("const") {
            let message = format!("the optional parameter `{name}` has no default");
            let issue = Issue::new(&rules::NO_DEFAULT, &here, message);
            issues.push(issue.fix("add `default`, or make it required"));
        }
        if has("properties") {
            parameters(property, &here, issues);
        }
        if let Some(items) = property
            .get("items")
            .filter(|i| i.get("properties").is_some())
        {
            parameters(items, &format!("{here}/items"), issues);
        }
    }
}

/// Whether a pattern holds the whole text to letters, digits and what stands in names.
fn takes_only_names(property: &Value) -> bool {
    let pattern = property.get("pattern").and_then(Value::as_str);
    let inner = pattern.and_then(|p| p.strip_prefix('^')?.strip_suffix('$'));
    inner.is_some_and(|p| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "[]{},+*?_.:/-".contains(c);
        // Outside of brackets a dot is any character.
        let outside = p
            .split('[')
            .map(|part| part.rsplit(']').next().unwrap_or(part));
        p.chars().all(plain) && !p.contains('\\') && outside.into_iter().all(|o| !o.contains('.'))
    })
}

/// Law 1: arguments are data. A parameter that carries a command is one to look at. One that
/// takes only names is none, and what is off until a person turns it on was looked at.
fn free_command(def: &ToolDef, issues: &mut Vec<Issue>) {
    if !def.enabled && def.risk == Some(Risk::ExecHigh) {
        return;
    }
    for (name, property) in walk::properties(&def.input_schema) {
        let carries =
            ["command", "cmd", "code", "script", "shell", "eval"].contains(&name.as_str());
        if carries
            && property.get("type") == Some(&Value::from("string"))
            && property.get("enum").is_none()
            && !takes_only_names(property)
        {
            let message = format!("the parameter `{name}` takes any command or code");
            let pointer = format!("/input_schema/properties/{name}");
            let issue = Issue::new(&rules::FREE_COMMAND, pointer, message);
            issues.push(issue.fix(
                "register a tool for each thing to be done, or give the allowed values as `enum`",
            ));
        }
    }
}

fn secrets(def: &ToolDef, issues: &mut Vec<Issue>) {
    let Some(executor) = &def.executor else {
        return;
    };
    for table in ["env", "headers"] {
        for (key, value) in executor
            .settings
            .get(table)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let text = value.as_str().unwrap_or_default();
            let upper = key.to_ascii_uppercase();
            let named = [
                "TOKEN",
                "SECRET",
                "PASSWORD",
                "PASSWD",
                "API_KEY",
                "APIKEY",
                "CREDENTIAL",
                "PRIVATE_KEY",
                "AUTHORIZATION",
            ]
            .iter()
            .any(|word| upper.contains(word));
            let looks = [
                "sk-",
                "ghp_",
                "github_pat_",
                "AKIA",
                "xoxb-",
                "xoxp-",
                "-----BEGIN ",
            ]
            .iter()
            .any(|prefix| text.contains(prefix));
            let reference = ["env:", "file:", "cmd:", "secret:", "${"]
                .iter()
                .any(|p| text.starts_with(p));
            if (named || looks) && !reference && !text.is_empty() {
                let message = format!("`{key}` looks like a secret that is written out");
                let pointer = format!("/executor/{table}/{}", escape(key));
                let issue = Issue::new(&rules::SECRET, pointer, message);
                issues.push(issue.fix("name it instead: `env:NAME` or `file:PATH`"));
            }
        }
    }
}
