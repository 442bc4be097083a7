//! How arguments become elements of a command line.
//!
//! An element of `command` may hold placeholders: `{name}` stands for the argument
//! of that name, `{{` and `}}` for the braces themselves. Whatever an argument
//! holds, the element that it fills stays one element.
//!
//! - The program itself is never filled in.
//! - An element with an argument that is absent (or `null`) is dropped as a whole,
//!   with the text around it. So write `--out={out}`, not `--out` and `{out}`, for
//!   an argument that may be absent: the lone `--out` would stay.
//! - An argument cannot pose as an option: where it begins its element it must not
//!   begin with `-`, unless an element `--` stands before, or the definition says that
//!   its arguments may be options.

use helve_core::name::nearest;
use helve_kernel::ToolError;
use serde_json::{Map, Value};

/// The longest element that Linux takes, its final NUL apart.
const LONGEST: usize = 128 * 1024 - 1;

/// Programs that take code as an element, and the letters of the options before it.
const INTERPRETERS: &[(&str, &[char])] = &[
    ("ash", &['c']),
    ("bash", &['c']),
    ("dash", &['c']),
    ("fish", &['c']),
    ("ksh", &['c']),
    ("node", &['e', 'p']),
    ("perl", &['e', 'E']),
    ("php", &['r']),
    ("python", &['c']),
    ("ruby", &['e']),
    ("sh", &['c']),
    ("zsh", &['c']),
];

/// A command line with places for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    program: String,
    elements: Vec<Element>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Element {
    parts: Vec<Part>,
    /// It may begin with `-`: an element `--` stands before it, or options are meant.
    may_be_option: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Argument(String),
}

impl Template {
    /// The same, with arguments that may be options.
    pub(crate) fn with_options(mut self) -> Self {
        self.elements
            .iter_mut()
            .for_each(|e| e.may_be_option = true);
        self
    }

    /// Reads a `command`.
    pub(crate) fn parse<'c>(command: impl IntoIterator<Item = &'c str>) -> Result<Self, ToolError> {
        let mut command = command.into_iter();
        let program = literal_program(command.next())?;
        let mut elements: Vec<Element> = Vec::new();
        let mut after_dashes = false;
        for text in command {
            let parts = parts_of(text)?;
            elements.push(Element {
                parts,
                may_be_option: after_dashes,
            });
            after_dashes |= text == "--";
        }
        Ok(Self { program, elements })
    }

    /// The first element: the program, as the definition names it.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The elements after the program that hold no placeholder.
    pub(crate) fn literals(&self) -> impl Iterator<Item = &str> {
        self.elements.iter().filter_map(Element::literal)
    }

    /// The arguments that have a place.
    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &str> {
        let parts = self.elements.iter().flat_map(|element| &element.parts);
        parts.filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Argument(name) => Some(name.as_str()),
        })
    }

    /// Whether every placeholder has an argument, and none is joined into code.
    pub(crate) fn check(&self, properties: &[&str]) -> Result<(), ToolError> {
        for name in self.placeholders() {
            if properties.contains(&name) {
                continue;
            }
            let near = nearest(name, properties.iter().copied(), 1);
            let hint = match near.first() {
                Some(near) => format!("did you mean `{{{near}}}`?"),
                None => "add it to `input_schema`, or write `{{` and `}}` for braces".to_owned(),
            };
            let problem = format!("`command` has `{{{name}}}`, which is no argument of the tool");
            return Err(ToolError::validation(problem).with_hint(hint));
        }
        self.check_code()
    }

    /// Text with a hole in it is no code: a quote in the argument would end it.
    fn check_code(&self) -> Result<(), ToolError> {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Some((_, letters)) = INTERPRETERS.iter().find(|(known, _)| *known == name) else {
            return Ok(());
        };
        let before_code = |element: &Element| {
            let option = element.literal().unwrap_or_default();
            option.starts_with('-') && !option.starts_with("--") && option.ends_with(*letters)
        };
        let mut pairs = self.elements.windows(2);
        // An element that is one placeholder is a tool that runs code, and says so.
        if !pairs.any(|pair| before_code(&pair[0]) && pair[1].is_joined()) {
            return Ok(());
        }
        let problem = format!("`command` puts an argument into code of `{name}`");
        Err(ToolError::validation(problem)
            .with_hint("let the code read the `ARG_…` variable, or an element after the code"))
    }

    /// The elements after the program, filled in.
    pub(crate) fn fill(&self, args: &Map<String, Value>) -> Result<Vec<String>, ToolError> {
        let filled = self.elements.iter().map(|element| element.fill(args));
        filled.filter_map(Result::transpose).collect()
    }
}

impl Element {
    /// Its text, where it holds no placeholder.
    fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether it holds a placeholder and something beside.
    fn is_joined(&self) -> bool {
        self.literal().is_none() && self.parts.len() > 1
    }

    fn fill(&self, args: &Map<String, Value>) -> Result<Option<String>, ToolError> {
        let mut filled = String::new();
        let mut first = None;
        let mut last = "";
        for part in &self.parts {
            let name = match part {
                Part::Text(text) => {
                    filled.push_str(text);
                    continue;
                }
                Part::Argument(name) => name,
            };
            let Some(value) = args.get(name).filter(|v| !v.is_null()) else {
                return Ok(None);
            };
            let text = text_of(value);
            if text.contains('\0') {
                return Err(ToolError::validation(format!(
                    "argument `{name}` has a NUL character, which no command line can hold"
                )));
            }
            if filled.is_empty() {
                first = Some(name);
            }
            filled.push_str(&text);
            last = name;
        }
        if let Some(name) = first.filter(|_| filled.starts_with('-') && !self.may_be_option) {
            return Err(ToolError::validation(format!(
                "argument `{name}` begins with `-`: the program would take it for an option"
            ))
            .with_hint(format!(
                "in the tool's `command`, put `--` before `{{{name}}}` or write `--{name}={{{name}}}`"
            )));
        }
        if filled.len() > LONGEST {
            return Err(ToolError::validation(format!(
                "argument `{last}` is too long for a command line: {} bytes, at most {LONGEST}",
                filled.len()
            ))
            .with_hint("let the tool read it from standard input, where all arguments are"));
        }
        Ok(Some(filled))
    }
}

/// A value as the text that a program reads: a string as it is, all else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn literal_program(first: Option<&str>) -> Result<String, ToolError> {
    let Some(first) = first.filter(|p| !p.is_empty()) else {
        return Err(ToolError::validation("`command` names no program")
            .with_hint("its first element is the program: a name, or a path from the workspace"));
    };
    let element = Element {
        parts: parts_of(first)?,
        may_be_option: false,
    };
    let Some(program) = element.literal() else {
        return Err(ToolError::validation(format!(
            "the program `{first}` in `command` has a placeholder"
        ))
        .with_hint("a call never chooses the program; name it in full"));
    };
    Ok(program.to_owned())
}

fn parts_of(text: &str) -> Result<Vec<Part>, ToolError> {
    let bad = |problem: &str| {
        let problem = format!("`{text}` in `command` {problem}");
        Err(ToolError::validation(problem).with_hint("write `{{` and `}}` for braces"))
    };
    if text.contains('\0') {
        return bad("has a NUL character");
    }
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("{{") {
            plain.push('{');
            rest = after;
        } else if let Some(after) = rest.strip_prefix("}}") {
            plain.push('}');
            rest = after;
        } else if let Some(inside) = rest.strip_prefix('{') {
            let Some((name, after)) = inside.split_once('}') else {
                return bad("has a `{` that nothing closes");
            };
            if name.is_empty() || name.contains('{') {
                return bad("has a placeholder without a name");
            }
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain)));
            }
            parts.push(Part::Argument(name.to_owned()));
            rest = after;
        } else {
            return bad("has a `}` that nothing opens");
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
