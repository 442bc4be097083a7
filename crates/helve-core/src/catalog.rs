//! Level 1: what an agent is told about all tools, under a token budget.
//!
//! Grouped by category, a line a tool. Where the whole does not fit, it is cut in
//! steps, the same for every tool: whole lines with warnings, then first sentences,
//! then names alone, and last only the groups with their counts. The result never
//! costs more than the budget by [`crate::tokens::estimate`], and says how much of
//! what is there it shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::ToolDef;
use crate::tokens::estimate;

/// How much of each tool a catalog shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// Name, description, warnings.
    Full,
    /// Name and first sentence, warnings.
    Short,
    /// Names.
    Names,
    /// Groups and how many tools each has.
    Groups,
}

/// A Level 1 catalog.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Catalog {
    /// What the agent reads, Markdown.
    pub text: String,
    /// How much of each tool is in it.
    pub detail: Detail,
    /// What it costs.
    pub tokens: usize,
    /// The tools that it is about.
    pub tools: usize,
}

/// The budget is too small for anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{budget} tokens are too few for a catalog of {tools} tools; the smallest takes {least}")]
pub struct TooSmall {
    /// What was given.
    pub budget: usize,
    /// What the smallest form needs.
    pub least: usize,
    /// How many tools there are.
    pub tools: usize,
}

/// The catalog of the tools that are enabled by definition, as full as the budget allows.
pub fn catalog(defs: &[&ToolDef], budget: usize) -> Result<Catalog, TooSmall> {
    let shown: Vec<&ToolDef> = defs.iter().copied().filter(|d| d.enabled).collect();
    catalog_of(&shown, budget)
}

/// The same for tools that somebody else found enabled.
pub fn catalog_of(shown: &[&ToolDef], budget: usize) -> Result<Catalog, TooSmall> {
    let mut groups: BTreeMap<String, Vec<&ToolDef>> = BTreeMap::new();
    for def in shown {
        groups.entry(group_of(def)).or_default().push(def);
    }
    for tools in groups.values_mut() {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let mut least = 0;
    for detail in [Detail::Full, Detail::Short, Detail::Names, Detail::Groups] {
        let text = render(&groups, detail);
        let tokens = estimate(&text);
        least = tokens;
        if tokens <= budget {
            return Ok(Catalog {
                text,
                detail,
                tokens,
                tools: shown.len(),
            });
        }
    }
    Err(TooSmall {
        budget,
        least,
        tools: shown.len(),
    })
}

fn group_of(def: &ToolDef) -> String {
    match (&def.category, def.name.group()) {
        (Some(category), _) if !category.trim().is_empty() => category.trim().to_owned(),
        (_, Some(group)) => group.to_owned(),
        _ => "other".to_owned(),
    }
}

fn render(groups: &BTreeMap<String, Vec<&ToolDef>>, detail: Detail) -> String {
    let mut out = String::new();
    for (group, tools) in groups {
        let _ = match detail {
            Detail::Groups if tools.len() == 1 => writeln!(out, "- {group}: 1 tool"),
            Detail::Groups => writeln!(out, "- {group}: {} tools", tools.len()),
            Detail::Names => {
                let names: Vec<&str> = tools.iter().map(|d| d.name.as_str()).collect();
                writeln!(out, "- {group}: {}", names.join(", "))
            }
            _ => {
                let gap = if out.is_empty() { "" } else { "\n" };
                let lines: String = tools.iter().map(|d| line(d, detail)).collect();
                write!(out, "{gap}## {group}\n{lines}")
            }
        };
    }
    out
}

fn line(def: &ToolDef, detail: Detail) -> String {
    let text = one_line(&def.description);
    let text = match detail {
        Detail::Short => first_sentence(&text),
        _ => &text,
    };
    let mut line = format!("- {}: {text}", def.name);
    for warning in &def.warnings {
        let _ = write!(line, " ⚠ {}", one_line(warning));
    }
    line.push('\n');
    line
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Up to the first full stop that ends a sentence.
pub fn first_sentence(text: &str) -> &str {
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        let end = match c {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if end {
            return &text[..i + c.len_utf8()];
        }
    }
    text
}

#[cfg(test)]
mod tests;
