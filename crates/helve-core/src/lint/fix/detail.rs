//! Examples that stand in the detail, moved to where they are checked.

use serde_json::Value;

use super::Applied;
use crate::def::{Example, ToolDef};
use crate::lint::rules;
use crate::schema::Schema;

const HEADINGS: &[&str] = &[
    "示例",
    "使用示例",
    "使用方法",
    "例子",
    "example",
    "examples",
    "usage",
    "usage examples",
];

pub(super) fn move_examples(def: &mut ToolDef, applied: &mut Vec<Applied>) {
    let Some(detail) = &def.detail else {
        return;
    };
    if !def.examples.is_empty() {
        return;
    }
    let Some((start, body, end)) = section(detail) else {
        return;
    };
    let found = examples(&detail[body..end]);
    let schema = Schema::compile(&def.input_schema).ok();
    let fits = |e: &Example| schema.as_ref().is_some_and(|s| s.accepts(&e.params));
    let safe = found
        .as_ref()
        .is_some_and(|list| !list.is_empty() && list.iter().all(fits));
    let done = match (&found, safe) {
        (Some(list), true) => format!("move them to `examples` ({})", list.len()),
        _ => "move them to `examples` by hand: not all of them are JSON that fits the schema"
            .to_owned(),
    };
    applied.push(Applied {
        rule: &rules::EXAMPLES_IN_DETAIL,
        pointer: "/detail".to_owned(),
        message: "the detail has examples".to_owned(),
        done,
        safe,
    });
    if safe {
        def.examples = found.unwrap_or_default();
        let rest = format!("{}{}", &detail[..start], &detail[end..]);
        let rest = rest.trim();
        def.detail = (!rest.is_empty()).then(|| rest.to_owned());
    }
}

/// Where the section with the examples begins, where its text does, and where it ends.
fn section(detail: &str) -> Option<(usize, usize, usize)> {
    let mut at = 0;
    let mut open = None;
    let mut fence = false;
    for line in detail.split_inclusive('\n') {
        let heading = (!fence).then(|| heading(line)).flatten();
        fence ^= line.trim_start().starts_with("```");
        match (open, heading) {
            (None, Some(title)) if HEADINGS.contains(&title.to_lowercase().as_str()) => {
                open = Some((at, at + line.len()));
            }
            (Some((start, body)), Some(_)) => return Some((start, body, at)),
            _ => {}
        }
        at += line.len();
    }
    open.map(|(start, body)| (start, body, detail.len()))
}

/// The title of a line like `**Examples**:` or `## Examples`.
fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let bold = line
        .strip_prefix("**")
        .and_then(|l| l.trim_end_matches([':', '：', ' ']).strip_suffix("**"));
    let hashes = line.starts_with('#').then(|| line.trim_start_matches('#'));
    let title = bold.or(hashes)?.trim().trim_end_matches([':', '：']).trim();
    (!title.is_empty() && !title.contains("**")).then_some(title)
}

/// `None` where there is more than examples.
fn examples(text: &str) -> Option<Vec<Example>> {
    let mut out = Vec::new();
    let mut scenario = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if line.starts_with("```") {
            let mut code = String::new();
            loop {
                let next = lines.next()?;
                if next.trim().starts_with("```") {
                    break;
                }
                code.push_str(next);
                code.push('\n');
            }
            out.push(example(&std::mem::take(&mut scenario), &code)?);
            continue;
        }
        let item = line.trim_start_matches(['-', '*', ' ']);
        match item.split_once('`') {
            Some((before, code)) => out.push(example(before, code.strip_suffix('`')?)?),
            None if scenario.is_empty() => scenario = item.to_owned(),
            None => return None,
        }
    }
    scenario.is_empty().then_some(out)
}

fn example(scenario: &str, code: &str) -> Option<Example> {
    let params: Value = serde_json::from_str(code.trim()).ok()?;
    let scenario = scenario.trim().trim_end_matches([':', '：']).trim();
    params.is_object().then(|| Example {
        scenario: (!scenario.is_empty()).then(|| scenario.to_owned()),
        params,
        expected: None,
    })
}
