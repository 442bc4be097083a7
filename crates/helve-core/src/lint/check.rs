//! All rules for one tool, and those for many together.

use std::collections::HashMap;

use serde_json::Value;

use super::{Issue, Vendor, hidden, naming, quality, rules, vendor};
use crate::def::{Executor, ExecutorKind, Risk, ToolDef};
use crate::name::nearest;
use crate::node::escape;
use crate::schema::{DRAFT, Schema};

/// What is known about where a tool stands.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'c> {
    /// The name of its file, without the ending.
    pub stem: Option<&'c str>,
    /// The folder that groups it.
    pub group: Option<&'c str>,
    /// The dialect that it was read from.
    pub dialect: &'c str,
    /// Whom it is meant for.
    pub vendor: Option<&'static Vendor>,
}

/// What one definition breaks. Pointers go into the canonical form.
pub fn check(def: &ToolDef, context: &Context<'_>) -> Vec<Issue> {
    let mut issues = Vec::new();
    schemas(def, &mut issues);
    running(def, &mut issues);
    quality::check(def, &mut issues);
    naming::check(def, context, &mut issues);
    hidden::check(def, &mut issues);
    if let Some(vendor) = context.vendor {
        vendor::check(def, vendor, &mut issues);
    }
    issues
}

fn schemas(def: &ToolDef, issues: &mut Vec<Issue>) {
    if let Some(output) = &def.output_schema
        && let Err(found) = Schema::compile(output)
    {
        issues.extend(below("/output_schema", found));
    }
    let schema = &def.input_schema;
    if let Some(draft) = schema.get("$schema").and_then(Value::as_str)
        && draft.trim_end_matches('#') != DRAFT
    {
        let message = format!("`$schema` is `{draft}`; the schema is read as 2020-12");
        let issue = Issue::new(&rules::OLD_DRAFT, "/input_schema/$schema", message);
        issues.push(issue.fix("remove `$schema`"));
    }
    let object = schema.get("type").and_then(Value::as_str) == Some("object");
    if schema.is_object() && !object {
        let issue = Issue::new(
            &rules::NOT_OBJECT,
            "/input_schema",
            "the schema has no `type: object`",
        );
        issues.push(issue.fix("set `type` to `object`: arguments come by name"));
    }
    match Schema::compile(schema) {
        Err(found) => issues.extend(below("/input_schema", found)),
        Ok(compiled) => {
            examples(def, &compiled, issues);
            defaults(def, &compiled, issues);
        }
    }
}

fn below(prefix: &str, issues: Vec<Issue>) -> impl Iterator<Item = Issue> {
    issues.into_iter().map(move |i| Issue {
        pointer: format!("{prefix}{}", i.pointer),
        ..i
    })
}

fn examples(def: &ToolDef, schema: &Schema, issues: &mut Vec<Issue>) {
    for (i, example) in def.examples.iter().enumerate() {
        if schema.accepts(&example.params) {
            continue;
        }
        for misfit in schema.misfits(&example.params) {
            let pointer = format!("/examples/{i}/params{}", misfit.pointer);
            let message = format!(
                "example {} does not fit the schema: {}",
                i + 1,
                misfit.problem
            );
            let issue = Issue::new(&rules::EXAMPLE_MISFIT, pointer, message);
            issues.push(issue.fix("correct the example, or the schema"));
        }
    }
}

/// Each default is put in as the only argument; only what is said of it counts.
fn defaults(def: &ToolDef, schema: &Schema, issues: &mut Vec<Issue>) {
    let properties = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let Some(default) = property.get("default") else {
            continue;
        };
        let argument = serde_json::json!({ name: default });
        let here = format!("/{}", escape(name));
        let misfit = schema
            .misfits(&argument)
            .into_iter()
            .find(|m| m.pointer.starts_with(&here));
        if let Some(misfit) = misfit {
            let pointer = format!("/input_schema/properties{here}/default");
            let message = format!("the default of `{name}` does not fit: {}", misfit.problem);
            issues.push(Issue::new(&rules::BROKEN_DEFAULT, pointer, message));
        }
    }
}

fn running(def: &ToolDef, issues: &mut Vec<Issue>) {
    for (i, allowed) in def.allowed_paths.iter().enumerate() {
        let path = &allowed.path;
        let up = path.split(['/', '\\']).any(|part| part == "..");
        let problem = match path {
            p if p.trim().is_empty() => Some("is empty"),
            _ if up => Some("leads upwards with `..`"),
            p if p.contains('\0') => Some("has a zero byte"),
            _ => None,
        };
        if let Some(problem) = problem {
            let message = format!("the path `{}` {problem}", path.escape_debug());
            let issue = Issue::new(&rules::BAD_PATH, format!("/allowed_paths/{i}"), message);
            issues.push(issue.fix("write it absolute, or from the workspace's root"));
        }
    }
    let Some(executor) = &def.executor else {
        return;
    };
    if def.risk.is_none() && executor.kind != ExecutorKind::Builtin {
        let message = format!("a `{}` tool must say its `risk`", executor.kind.as_str());
        let issue = Issue::new(&rules::MISSING_RISK, "", message);
        issues.push(issue.fix("add `risk`: read, exec_low, exec_high or write"));
    }
    let outside = matches!(
        executor.kind,
        ExecutorKind::Host | ExecutorKind::Docker | ExecutorKind::Script
    );
    if def.risk == Some(Risk::Write) && outside && def.allowed_paths.is_empty() {
        let message = "it writes, but no `allowed_paths` say where; it can write nowhere";
        issues.push(Issue::new(&rules::NO_PATHS, "", message).fix("add `allowed_paths`"));
    }
    command(def, executor, issues);
}

const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "zsh",
    "ksh",
    "fish",
    "cmd",
    "cmd.exe",
    "powershell",
    "pwsh",
];

/// Programs that run what they are given as an argument, with the flags for it.
const INTERPRETERS: &[&str] = &[
    "python", "python2", "python3", "node", "perl", "ruby", "php", "lua", "deno", "bun", "awk",
];

/// Programs that run the program behind them.
const CARRIERS: &[&str] = &[
    "env", "sudo", "nice", "nohup", "timeout", "xargs", "busybox", "doas",
];

/// An argument fills a whole element of the command, and is never a program itself.
fn command(def: &ToolDef, executor: &Executor, issues: &mut Vec<Issue>) {
    let Some(Value::Array(argv)) = executor.settings.get("command") else {
        return;
    };
    let argv: Vec<&str> = argv.iter().filter_map(Value::as_str).collect();
    let base = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or(word).to_owned();
    let runs: Vec<String> = argv.iter().map(|w| base(w)).collect();
    let shell = runs.iter().any(|w| SHELLS.contains(&w.as_str()));
    let interpreter = runs.iter().any(|w| INTERPRETERS.contains(&w.as_str()));
    let program = runs
        .iter()
        .position(|w| !CARRIERS.contains(&w.as_str()) && !w.starts_with('-'))
        .unwrap_or(0);
    // `-c`, `-lc`, `-e`: what follows is code.
    let code_follows = |i: usize| {
        let flag = argv.get(i.wrapping_sub(1)).copied().unwrap_or_default();
        let letters = flag
            .strip_prefix('-')
            .filter(|l| l.chars().all(|c| c.is_ascii_alphabetic()));
        let short = letters.is_some_and(|l| {
            shell && l.contains('c')
                || interpreter && (l.contains('c') || l.contains('e') || l.contains('r'))
        });
        short || ["/c", "-Command", "--eval", "--exec"].contains(&flag)
    };
    let properties = def
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    let known = |name: &str| properties.is_some_and(|p| p.contains_key(name));
    for (i, word) in argv.iter().enumerate() {
        let Some(name) = placeholder(word) else {
            continue;
        };
        let whole = *word == format!("{{{name}}}");
        let message = match (known(name), whole) {
            // Braces that name no parameter are text, unless they are all there is.
            (false, false) => continue,
            (false, true) => format!("`{{{name}}}` is no parameter of the tool"),
            (true, false) => format!("`{word}` joins the argument `{name}` with other text"),
            (true, true) if i == program => format!("`{{{name}}}` would be the program itself"),
            (true, true) if code_follows(i) => format!("`{{{name}}}` would be run as code"),
            (true, true) => continue,
        };
        let pointer = format!("/executor/command/{i}");
        let issue = Issue::new(&rules::SHELL_JOIN, pointer, message);
        issues.push(issue.fix(format!(
            "give `{{{name}}}` an element of its own, to a program that takes it as data"
        )));
    }
}

/// The name in the first `{name}` of a word.
fn placeholder(word: &str) -> Option<&str> {
    let (_, rest) = word.split_once('{')?;
    let (name, _) = rest.split_once('}')?;
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    plain.then_some(name)
}

/// What many definitions break together, each with the index of its tool.
pub fn check_collection(
    defs: &[&ToolDef],
    known: &[&str],
    vendor: Option<&'static Vendor>,
) -> Vec<(usize, Issue)> {
    let mut issues = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (i, def) in defs.iter().enumerate() {
        let own = def
            .aliases
            .iter()
            .enumerate()
            .map(|(a, alias)| (format!("/aliases/{a}"), alias.as_str()));
        let all = std::iter::once(("/name".to_owned(), def.name.as_str())).chain(own);
        for (pointer, name) in all {
            match names.get(name) {
                Some(&first) if first != i => {
                    let message = format!("`{name}` is taken: `{}` has it", defs[first].name);
                    let issue = Issue::new(&rules::DUPLICATE_NAME, pointer, message)
                        .fix("rename one of the two, or remove the alias");
                    let other = Some(first);
                    issues.push((i, Issue { other, ..issue }));
                }
                _ => drop(names.insert(name, i)),
            }
        }
    }
    let mut suggested = 0;
    for (i, def) in defs.iter().enumerate() {
        for (pointer, name) in def.mentions() {
            if names.contains_key(name) || known.contains(&name) {
                continue;
            }
            // Looking through all names is dear; the first few suggestions are enough.
            suggested += 1;
            let near = match suggested {
                ..=50 => nearest(name, names.keys().copied(), 1),
                _ => Vec::new(),
            };
            let fix = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => "define that tool, or remove the mention".to_owned(),
            };
            let message = format!("there is no tool `{}`", name.escape_debug());
            issues.push((i, Issue::new(&rules::DANGLING, pointer, message).fix(fix)));
        }
    }
    naming::check_prefixes(defs, &mut issues);
    if let Some(vendor) = vendor {
        vendor::check_collection(defs, vendor, &mut issues);
    }
    issues
}
