//! From the canonical form to a definition. Collects all that is wrong.

use std::time::Duration;

use serde_json::{Map, Value};

use super::fields::FIELDS;
use super::parts::Setting;
use super::{
    Access, AllowedPath, Example, Executor, ExecutorKind, Prerequisite, RelatedTool, Retry,
    Reversible, Risk, Step, ToolDef, Workflow,
};
use crate::lint::{Issue, rules};
use crate::name::{NameError, ToolName, is_foreign, nearest};
use crate::node::escape;

pub(super) fn decode(value: &Value) -> Result<ToolDef, Vec<Issue>> {
    let Value::Object(map) = value else {
        let issue = wrong_type("", "a definition", "an object", value);
        return Err(vec![issue]);
    };
    let mut reader = Reader {
        map,
        at: String::new(),
        issues: Vec::new(),
    };
    let def = definition(&mut reader);
    let names: Vec<&str> = FIELDS.iter().map(|f| f.name).collect();
    reader.refuse_unknown(&names);
    match (def, reader.issues) {
        (Some(def), issues) if issues.is_empty() => Ok(def),
        (_, issues) => Err(issues),
    }
}

fn definition(r: &mut Reader<'_>) -> Option<ToolDef> {
    let name = r.required_text("name");
    let name = name.and_then(|n| match ToolName::new(n) {
        Ok(name) => Some(name),
        Err(e) => {
            r.issues.push(name_issue("/name", &e));
            None
        }
    });
    let description = r.required_text("description");
    r.required("input_schema");
    let input_schema = r.object("input_schema").cloned().map(Value::Object);
    let mut def = ToolDef::new(
        ToolName::new("x").expect("a canonical name"),
        description.clone().unwrap_or_default(),
    );
    if description.as_deref().is_some_and(|d| d.trim().is_empty()) {
        let issue = Issue::new(
            &rules::MISSING_FIELD,
            "/description",
            "`description` is empty",
        );
        r.issues
            .push(issue.fix("say what the tool does and when to use it"));
    }
    def.title = r.text("title");
    def.output_schema = r.object("output_schema").cloned().map(Value::Object);
    def.detail = r.text("detail");
    def.triggers = r.texts("triggers");
    def.prerequisites = r.each("prerequisites", prerequisite);
    def.examples = r.each("examples", example);
    def.warnings = r.texts("warnings");
    def.related_tools = r.each("related_tools", related);
    def.workflow = r.nested("workflow", workflow);
    def.category = r.text("category");
    def.tags = r.texts("tags");
    def.aliases = r.texts("aliases");
    for (i, alias) in def.aliases.iter().enumerate() {
        if !is_foreign(alias) {
            let message = format!("the alias `{}` is not a name", alias.escape_debug());
            let issue = Issue::new(&rules::BAD_NAME, format!("/aliases/{i}"), message);
            r.issues
                .push(issue.fix("use letters, digits and `_ - . : /`, at most 128"));
        }
    }
    def.metadata = r.object("metadata").cloned().unwrap_or_default();
    def.risk = r.word("risk", &rules::UNKNOWN_RISK, Risk::parse, || {
        Risk::ALL.iter().map(|x| x.as_str()).collect()
    });
    def.executor = executor(r);
    def.allowed_paths = r.each("allowed_paths", allowed_path);
    def.timeout = timeout(r);
    def.retry = retry(r);
    def.idempotent = r.flag("idempotent", false);
    def.serial = r.flag("serial", false);
    def.sensitive = r.flag("sensitive", false);
    def.return_direct = r.flag("return_direct", false);
    def.reversible = reversible(r);
    def.version = r
        .text("version")
        .and_then(|v| match semver::Version::parse(&v) {
            Ok(version) => Some(version),
            Err(e) => {
                let message = format!("`{}` is not a semantic version: {e}", v.escape_debug());
                let issue = Issue::new(&rules::BAD_VERSION, "/version", message);
                r.issues.push(issue.fix("write it like `1.0.0`"));
                None
            }
        });
    def.enabled = r.flag("enabled", true);
    def.name = name?;
    def.input_schema = input_schema?;
    Some(def)
}

/// The finding for a name that is none.
fn name_issue(pointer: &str, error: &NameError) -> Issue {
    let (rule, fix) = match error {
        NameError::LookAlike { like, .. } => (&rules::LOOK_ALIKE, format!("type `{like}` instead")),
        NameError::TooLong(_) => (&rules::BAD_NAME, "shorten it".to_owned()),
        NameError::Empty => (&rules::MISSING_FIELD, "give the tool a name".to_owned()),
        NameError::BadCharacter { name, .. } | NameError::BadStart(name) => (
            &rules::BAD_NAME,
            match crate::name::canonical(name) {
                Some(better) => format!("write `{better}`"),
                None => "use snake_case: small letters, digits, underscores".to_owned(),
            },
        ),
    };
    Issue::new(rule, pointer, error.to_string()).fix(fix)
}

fn prerequisite<'v>(r: &mut Reader<'v>, value: &'v Value, at: &str) -> Option<Prerequisite> {
    if let Value::String(text) = value {
        return Some(Prerequisite::Text(text.clone()));
    }
    r.inside(value, at, "text or an object", |r| {
        let condition = r.required_text("condition");
        let check_tool = r.text("check_tool");
        let action_if_not_met = r.text("action_if_not_met");
        r.refuse_unknown(&["condition", "check_tool", "action_if_not_met"]);
        Some(Prerequisite::Check {
            condition: condition?,
            check_tool,
            action_if_not_met,
        })
    })
}

fn example<'v>(r: &mut Reader<'v>, value: &'v Value, at: &str) -> Option<Example> {
    r.inside(value, at, "an object", |r| {
        let scenario = r.text("scenario");
        let params = r.required("params").cloned();
        let expected = r.text("expected");
        r.refuse_unknown(&["scenario", "params", "expected"]);
        Some(Example {
            scenario,
            params: params?,
            expected,
        })
    })
}

fn related<'v>(r: &mut Reader<'v>, value: &'v Value, at: &str) -> Option<RelatedTool> {
    if let Value::String(name) = value {
        let (name, relation) = (name.clone(), None);
        return Some(RelatedTool { name, relation });
    }
    r.inside(value, at, "a name or an object", |r| {
        let name = r.required_text("name");
        let relation = r.text("relation");
        r.refuse_unknown(&["name", "relation"]);
        Some(RelatedTool {
            name: name?,
            relation,
        })
    })
}

fn workflow(r: &mut Reader<'_>) -> Option<Workflow> {
    let name = r.text("name");
    let steps = r.each("steps", |r, value, at| {
        r.inside(value, at, "an object", |r| {
            let step = r.whole_number("step");
            let action = r.required_text("action");
            let tool = r.text("tool");
            let tools = r.texts("tools");
            let condition = r.text("condition");
            r.refuse_unknown(&["step", "action", "tool", "tools", "condition"]);
            Some(Step {
                step,
                action: action?,
                tool,
                tools,
                condition,
            })
        })
    });
    r.refuse_unknown(&["name", "steps"]);
    Some(Workflow { name, steps })
}

fn executor(r: &mut Reader<'_>) -> Option<Executor> {
    let kinds = || ExecutorKind::ALL.iter().map(|k| k.as_str()).collect();
    if !matches!(r.get("executor"), Some(Value::Object(_))) {
        let rule = &rules::UNKNOWN_EXECUTOR;
        let kind = r.word("executor", rule, ExecutorKind::parse, kinds)?;
        check_settings(r, kind, &Map::new(), "/executor");
        return Some(Executor::of(kind));
    }
    r.nested("executor", |r| {
        r.required("type");
        let kind = r.word("type", &rules::UNKNOWN_EXECUTOR, ExecutorKind::parse, kinds)?;
        let mut settings = r.map.clone();
        settings.shift_remove("type");
        let at = r.at.clone();
        check_settings(r, kind, &settings, &at);
        Some(Executor { kind, settings })
    })
}

fn check_settings(r: &mut Reader<'_>, kind: ExecutorKind, settings: &Map<String, Value>, at: &str) {
    let known = kind.settings();
    let names: Vec<&str> = known.iter().map(|(name, ..)| *name).collect();
    for (name, setting, needed) in known {
        let Some(value) = settings.get(*name) else {
            if *needed {
                let message = format!("a `{}` executor needs `{name}`", kind.as_str());
                let issue = Issue::new(&rules::EXECUTOR_SETTING, at, message);
                r.issues.push(issue.fix(format!(
                    "write `executor = {{ type = \"{}\", {name} = … }}`",
                    kind.as_str()
                )));
            }
            continue;
        };
        let text = Value::is_string;
        let (fits, wanted) = match setting {
            Setting::Any => (true, ""),
            Setting::Text => (text(value), "text"),
            Setting::Flag => (value.is_boolean(), "true or false"),
            Setting::Number => (value.is_number(), "a number"),
            Setting::Argv => (
                value
                    .as_array()
                    .is_some_and(|a| !a.is_empty() && a.iter().all(text)),
                "a list of words, one for each argument, such as `[\"python\", \"run.py\"]`",
            ),
            Setting::Table => (
                value.as_object().is_some_and(|t| t.values().all(text)),
                "text by name",
            ),
        };
        if !fits {
            let pointer = format!("{at}/{name}");
            let message = format!("`{name}` must be {wanted}, not {}", kind_of(value));
            r.issues
                .push(Issue::new(&rules::EXECUTOR_SETTING, pointer, message));
        }
    }
    for key in settings.keys().filter(|k| !names.contains(&k.as_str())) {
        let message = format!("a `{}` executor has no setting `{key}`", kind.as_str());
        let pointer = format!("{at}/{}", escape(key));
        let issue = Issue::new(&rules::EXECUTOR_SETTING, pointer, message);
        r.issues.push(issue.fix(suggest(key, &names)));
    }
}

fn allowed_path<'v>(r: &mut Reader<'v>, value: &'v Value, at: &str) -> Option<AllowedPath> {
    if let Value::String(path) = value {
        let (path, access) = (path.clone(), None);
        return Some(AllowedPath { path, access });
    }
    r.inside(value, at, "a path or an object", |r| {
        let path = r.required_text("path");
        let parse = |w: &str| {
            [Access::Read, Access::Write]
                .into_iter()
                .find(|a| a.as_str() == w)
        };
        let access = r.word("access", &rules::WRONG_TYPE, parse, || {
            vec!["read", "write"]
        });
        r.refuse_unknown(&["path", "access"]);
        Some(AllowedPath {
            path: path?,
            access,
        })
    })
}

fn timeout(r: &mut Reader<'_>) -> Option<Duration> {
    let value = r.get("timeout")?;
    let parsed = duration(value);
    if parsed.is_none() {
        let message = format!("`timeout` must be a time above zero, not `{value}`");
        let issue = Issue::new(&rules::BAD_TIME, "/timeout", message);
        let fix = "write seconds (`30`), or text with a unit (`500ms`, `2m`)";
        r.issues.push(issue.fix(fix));
    }
    parsed
}

/// Seconds, or text with a unit; whole milliseconds, above zero, at most a year.
fn duration(value: &Value) -> Option<Duration> {
    let millis = match value {
        Value::Number(n) => n.as_f64()? * 1000.0,
        Value::String(text) => {
            let split = text.find(|c: char| c.is_ascii_alphabetic())?;
            let (digits, unit) = text.split_at(split);
            let scale = match unit.trim() {
                "ms" => 1.0,
                "s" => 1_000.0,
                "m" | "min" => 60_000.0,
                "h" => 3_600_000.0,
                _ => return None,
            };
            digits.trim().parse::<f64>().ok()? * scale
        }
        _ => return None,
    };
    let year = 365.0 * 24.0 * 3_600_000.0;
    let millis = millis.round();
    (1.0..=year)
        .contains(&millis)
        .then(|| Duration::from_millis(millis as u64))
}

fn retry(r: &mut Reader<'_>) -> Option<Retry> {
    let value = r.get("retry")?;
    let bad = |at: &str, what: &str| {
        Issue::new(&rules::BAD_TIME, at, format!("`retry` {what}"))
            .fix("write `true`, a count, or `{ max = 3, delay_ms = 200 }`")
    };
    let count = |v: &Value| {
        v.as_u64()
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n <= 100)
    };
    match value {
        Value::Bool(true) => Some(Retry::DEFAULT),
        Value::Bool(false) => None,
        Value::Number(_) => {
            let max = count(value);
            if max.is_none() {
                r.issues
                    .push(bad("/retry", "must be a count of at most 100"));
            }
            max.map(|max| Retry {
                max,
                ..Retry::DEFAULT
            })
        }
        Value::Object(map) => {
            let mut retry = Retry::DEFAULT;
            for (key, value) in map {
                let at = format!("/retry/{}", escape(key));
                match key.as_str() {
                    "max" | "max_retries" => match count(value) {
                        Some(max) => retry.max = max,
                        None => r
                            .issues
                            .push(bad(&at, "`max` must be a count of at most 100")),
                    },
                    "delay_ms" | "initial_delay_ms" => match value.as_u64() {
                        Some(ms) if ms <= 3_600_000 => retry.delay = Duration::from_millis(ms),
                        _ => r
                            .issues
                            .push(bad(&at, "`delay_ms` must be milliseconds, at most an hour")),
                    },
                    other => r.issues.push(bad(&at, &format!("has no `{other}`"))),
                }
            }
            Some(retry)
        }
        _ => {
            r.issues
                .push(bad("/retry", &format!("cannot be {}", kind_of(value))));
            None
        }
    }
}

fn reversible(r: &mut Reader<'_>) -> Reversible {
    let bad = |what: String| {
        Issue::new(&rules::WRONG_TYPE, "/reversible", what)
            .fix("write `\"yes\"`, `\"no\"` or `{ compensate = \"<tool>\" }`")
    };
    match r.get("reversible") {
        None | Some(Value::Bool(true)) => Reversible::Yes,
        Some(Value::Bool(false)) => Reversible::No,
        Some(Value::String(word)) if word == "yes" => Reversible::Yes,
        Some(Value::String(word)) if word == "no" => Reversible::No,
        Some(Value::Object(map)) if map.len() == 1 => {
            match map.get("compensate").and_then(Value::as_str) {
                Some(tool) => Reversible::Compensate(tool.to_owned()),
                None => {
                    r.issues.push(bad(
                        "`reversible` names no tool to compensate with".to_owned()
                    ));
                    Reversible::No
                }
            }
        }
        Some(other) => {
            let shown = other.to_string();
            r.issues
                .push(bad(format!("`reversible` cannot be `{shown}`")));
            Reversible::No
        }
    }
}

/// An object that is being read, and all that was wrong so far.
struct Reader<'v> {
    map: &'v Map<String, Value>,
    at: String,
    issues: Vec<Issue>,
}

impl<'v> Reader<'v> {
    /// The value of a key; `null` counts as absent.
    fn get(&self, key: &str) -> Option<&'v Value> {
        self.map.get(key).filter(|v| !v.is_null())
    }

    fn required(&mut self, key: &str) -> Option<&'v Value> {
        let value = self.get(key);
        if value.is_none() {
            let message = format!("`{key}` is missing");
            let issue = Issue::new(&rules::MISSING_FIELD, self.at.clone(), message);
            self.issues.push(issue.fix(format!("add `{key}`")));
        }
        value
    }

    fn required_text(&mut self, key: &str) -> Option<String> {
        self.required(key)?;
        self.text(key)
    }

    fn typed<T>(
        &mut self,
        key: &str,
        wanted: &str,
        take: impl Fn(&'v Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let taken = take(value);
        if taken.is_none() {
            let pointer = format!("{}/{}", self.at, escape(key));
            self.issues.push(wrong_type(&pointer, key, wanted, value));
        }
        taken
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.typed(key, "text", |v| v.as_str().map(str::to_owned))
    }

    fn whole_number(&mut self, key: &str) -> Option<u64> {
        self.typed(key, "a whole number", Value::as_u64)
    }

    fn flag(&mut self, key: &str, default: bool) -> bool {
        let value = self.typed(key, "true or false", Value::as_bool);
        value.unwrap_or(default)
    }

    fn object(&mut self, key: &str) -> Option<&'v Map<String, Value>> {
        self.typed(key, "an object", Value::as_object)
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        self.each(key, |r, value, at| {
            let text = value.as_str().map(str::to_owned);
            if text.is_none() {
                r.issues.push(wrong_type(at, key, "a list of text", value));
            }
            text
        })
    }

    fn each<T>(
        &mut self,
        key: &str,
        one: impl Fn(&mut Self, &'v Value, &str) -> Option<T>,
    ) -> Vec<T> {
        let items = self.typed(key, "a list", Value::as_array);
        let at = format!("{}/{}", self.at, escape(key));
        let mut out = Vec::new();
        for (i, item) in items.into_iter().flatten().enumerate() {
            out.extend(one(self, item, &format!("{at}/{i}")));
        }
        out
    }

    fn nested<T>(&mut self, key: &str, read: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        let value = self.get(key)?;
        let at = format!("{}/{}", self.at, escape(key));
        self.inside(value, &at, "an object", read)
    }

    /// Reads `value`, which stands at `at`, as an object of its own.
    fn inside<T>(
        &mut self,
        value: &'v Value,
        at: &str,
        wanted: &str,
        read: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<T> {
        let Value::Object(map) = value else {
            let name = at.rsplit('/').next().unwrap_or_default();
            self.issues.push(wrong_type(at, name, wanted, value));
            return None;
        };
        let outer = std::mem::replace(&mut self.map, map);
        let outer_at = std::mem::replace(&mut self.at, at.to_owned());
        let out = read(self);
        self.map = outer;
        self.at = outer_at;
        out
    }

    fn word<T>(
        &mut self,
        key: &str,
        rule: &'static crate::lint::Rule,
        parse: impl Fn(&str) -> Option<T>,
        words: impl Fn() -> Vec<&'static str>,
    ) -> Option<T> {
        let word = self.text(key)?;
        let parsed = parse(&word);
        if parsed.is_none() {
            let message = format!("`{key}` cannot be `{}`", word.escape_debug());
            let pointer = format!("{}/{key}", self.at);
            let known = words();
            let fix = match nearest(&word, known.iter().copied(), 1).first() {
                Some(near) => format!("did you mean `{near}`? known are {}", known.join(", ")),
                None => format!("known are {}", known.join(", ")),
            };
            self.issues
                .push(Issue::new(rule, pointer, message).fix(fix));
        }
        parsed
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        for key in self.map.keys().filter(|k| !known.contains(&k.as_str())) {
            let pointer = format!("{}/{}", self.at, escape(key));
            let message = format!("unknown field `{}`", key.escape_debug());
            let issue = Issue::new(&rules::UNKNOWN_FIELD, pointer, message);
            self.issues.push(issue.fix(suggest(key, known)));
        }
    }
}

fn suggest(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied(), 1).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => "remove it, or put it under `metadata`".to_owned(),
    }
}

fn wrong_type(pointer: &str, name: &str, wanted: &str, found: &Value) -> Issue {
    let message = format!("`{name}` must be {wanted}, not {}", kind_of(found));
    Issue::new(&rules::WRONG_TYPE, pointer, message)
}

/// What a value is, in words.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
