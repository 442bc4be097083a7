//! What the naming rules of the five source systems ask for.

use std::collections::HashMap;

use super::{Context, Issue, rules};
use crate::def::ToolDef;

const GENERIC: &[&str] = &[
    "run", "execute", "exec", "do", "call", "invoke", "process", "handle", "action", "tool",
    "test", "main", "task", "job", "command", "script", "function", "perform", "start", "go",
];

pub(super) fn check(def: &ToolDef, context: &Context<'_>, issues: &mut Vec<Issue>) {
    let name = def.name.as_str();
    if GENERIC.contains(&name) {
        let message = format!("the name `{name}` does not say what the tool does");
        issues.push(
            Issue::new(&rules::GENERIC_NAME, "/name", message).fix("name it `<group>_<action>`"),
        );
    } else if is_abbreviation(name) {
        let message = format!("the name `{name}` is an abbreviation");
        issues.push(
            Issue::new(&rules::SHORT_NAME, "/name", message)
                .fix("write it out, such as `backup_notes`"),
        );
    }
    if let (Some(stem), Some(group)) = (context.stem, context.group)
        && ["helve", "internal"].contains(&context.dialect)
    {
        let stem = crate::name::in_group(group, stem);
        if stem != name {
            let message = format!("the file is named for `{stem}`, the tool is `{name}`");
            let issue = Issue::new(&rules::NAME_IN_FILE, "/name", message);
            issues.push(issue.fix("let the file and the tool have one name"));
        }
    }
}

/// Up to three letters without a vowel, or one or two at all.
fn is_abbreviation(name: &str) -> bool {
    let vowel = name.contains(['a', 'e', 'i', 'o', 'u', 'y']);
    name.len() <= 2 || name.len() == 3 && !vowel
}

/// Categories whose prefix is fixed by the first source system.
const FIXED: &[(&str, &str)] = &[("browser", "browser"), ("desktop", "desktop")];

/// Tools of one category begin alike: as the category is called, or as most of it does.
pub(super) fn check_prefixes(defs: &[&ToolDef], issues: &mut Vec<(usize, Issue)>) {
    let mut categories: HashMap<&str, Vec<(usize, &str)>> = HashMap::new();
    for (i, def) in defs.iter().enumerate() {
        if let Some(category) = &def.category {
            let first = def.name.as_str().split('_').next().unwrap_or_default();
            categories.entry(category).or_default().push((i, first));
        }
    }
    for (category, tools) in categories {
        let fixed = FIXED
            .iter()
            .find(|(name, _)| category.eq_ignore_ascii_case(name));
        let expected = fixed
            .map(|(_, prefix)| *prefix)
            .or_else(|| majority(&tools));
        let Some(prefix) = expected else {
            continue;
        };
        for (i, _) in tools.iter().filter(|(_, first)| *first != prefix) {
            let message = format!(
                "`{}` is in the category `{category}`, whose tools begin with `{prefix}_`",
                defs[*i].name
            );
            let issue = Issue::new(&rules::PREFIX, "/name", message);
            issues.push((
                *i,
                issue.fix(format!(
                    "rename it `{prefix}_…`, or give it another category"
                )),
            ));
        }
    }
}

/// The beginning that at least three tools and three quarters of all share.
fn majority<'n>(tools: &[(usize, &'n str)]) -> Option<&'n str> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (_, first) in tools {
        *counts.entry(first).or_default() += 1;
    }
    let (prefix, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= 3 && count * 4 >= tools.len() * 3).then_some(prefix)
}
