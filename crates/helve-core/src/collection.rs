//! Many tools at once: a document, or several that belong together.
//!
//! One bad tool never hides the others: a document is read tool by tool, and what
//! is wrong with one is said beside what is right about the rest.

use serde_json::Value;

use crate::ToolDef;
use crate::dialect::{self, Dialect, Loss, Places, Source};
use crate::lint::{self, Context, Issue, Severity, Vendor, rules};
use crate::name::nearest;
use crate::node::{Lines, Node, Place};
use crate::read::{self, NO_TOOL, Problem, ReadError, Syntax};

/// A text that holds tools, and what is known about where it came from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'t> {
    /// What it is called in messages.
    pub file: &'t str,
    /// Its bytes.
    pub bytes: &'t [u8],
    /// Its syntax.
    pub syntax: Syntax,
    /// Its dialect; `None` to tell by shape.
    pub dialect: Option<&'static Dialect>,
    /// The group that its place in a folder of tools gives it.
    pub group: Option<&'t str>,
    /// The nearest folder.
    pub folder: Option<&'t str>,
    /// Its file name without the ending, where that names the action.
    pub stem: Option<&'t str>,
    /// What stands beside a skill: path and text.
    pub beside: &'t [(String, String)],
}

impl<'t> Input<'t> {
    /// A text that stands in no folder, its dialect to be told by shape.
    pub fn alone(file: &'t str, bytes: &'t [u8], syntax: Syntax) -> Self {
        Self {
            file,
            bytes,
            syntax,
            dialect: None,
            group: None,
            folder: None,
            stem: None,
            beside: &[],
        }
    }
}

/// A tool that was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The definition.
    pub def: ToolDef,
    /// What reading it lost.
    pub losses: Vec<Loss>,
    /// The dialect that it stood in.
    pub dialect: &'static Dialect,
    /// How that was known.
    pub because: Option<&'static str>,
    /// The file that it stood in.
    pub file: String,
    pub(crate) pointer: String,
    places: Places,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Finding {
    /// The file.
    pub file: String,
    /// Line and column.
    pub place: Option<Place>,
    /// JSON pointer into the file.
    pub pointer: String,
    /// The tool, where it has a name.
    pub tool: Option<String>,
    /// The rule's code.
    pub code: &'static str,
    /// The rule's name.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub fix: Option<String>,
    /// Whether `--fix` can do it.
    pub fixable: bool,
}

/// A document with its tools and what is wrong with it.
#[derive(Debug)]
pub struct Document {
    /// Its name.
    pub file: String,
    /// Its syntax.
    pub syntax: Syntax,
    /// The tools that could be read.
    pub tools: Vec<Loaded>,
    /// What could not.
    pub findings: Vec<Finding>,
    pub(crate) text: String,
    /// Whether the bytes began with a mark of their order.
    marked: bool,
    lines: Lines,
    pub(crate) node: Option<Node>,
    stem: Option<String>,
    group: Option<String>,
}

impl Document {
    /// Reads a text.
    pub fn read(input: &Input<'_>) -> Self {
        let mut document = Document {
            file: input.file.to_owned(),
            syntax: input.syntax,
            tools: Vec::new(),
            findings: Vec::new(),
            text: String::new(),
            marked: input.bytes.starts_with("\u{feff}".as_bytes()),
            lines: Lines::default(),
            node: None,
            stem: input.stem.map(str::to_owned),
            group: input.group.map(str::to_owned),
        };
        let read = read::text(input.bytes).and_then(|text| {
            document.text = text.to_owned();
            document.lines = Lines::of(text);
            let mut node = read::read(text, input.syntax)?;
            for (path, text) in input.beside {
                read::skill::with_file(&mut node, path, text);
            }
            Ok(node)
        });
        match read {
            Ok(node) => {
                let value = node.to_value();
                document.node = Some(node);
                document.decode(&value, input);
            }
            Err(error) => document.unreadable(input.bytes, &error),
        }
        document
    }

    fn unreadable(&mut self, bytes: &[u8], error: &ReadError) {
        let rule = match error.problem {
            Problem::Syntax(_) | Problem::Truncated(_) | Problem::Number(_) => &rules::UNREADABLE,
            Problem::DuplicateKey { .. } => &rules::DUPLICATE_KEY,
            Problem::TooDeep => &rules::TOO_DEEP,
            Problem::TooLarge => &rules::TOO_LARGE,
            Problem::NotUtf8(_) => &rules::NOT_UTF8,
        };
        let place = match error.problem {
            Problem::TooLarge => None,
            Problem::NotUtf8(_) => {
                let valid = String::from_utf8_lossy(&bytes[..error.at.min(bytes.len())]);
                Some(Place::of(&valid, valid.len()))
            }
            _ => Some(Place::of(&self.text, error.at)),
        };
        let issue = Issue::new(rule, "", error.problem.to_string());
        let finding = self.finding(&issue, None);
        self.findings.push(Finding { place, ..finding });
    }

    fn decode(&mut self, value: &Value, input: &Input<'_>) {
        let found = dialect::tools_of(value);
        for pointer in ["/nextCursor", "/result/nextCursor"] {
            if value.pointer(pointer).is_some_and(|c| !c.is_null()) {
                let message = "the list goes on: there are more tools than these";
                let issue = Issue::new(&rules::MORE_PAGES, pointer, message)
                    .fix("fetch the next pages, too");
                let finding = self.finding(&issue, None);
                self.findings.push(finding);
            }
        }
        if found.is_empty() {
            let issue = Issue::new(&rules::UNKNOWN_SHAPE, "", "there is no tool in it");
            let finding = self.finding(&issue, None);
            self.findings.push(finding);
        }
        for tool in found {
            let name = tool
                .value
                .get("name")
                .and_then(Value::as_str)
                .map(str::to_owned);
            if let Some(what) = dialect::vendor_tool(tool.value) {
                let message = format!("`{what}` is a tool of the vendor's own; it is passed over");
                let issue = Issue::new(&rules::VENDOR_TOOL, tool.pointer, message);
                let finding = self.finding(&issue, name);
                self.findings.push(finding);
                continue;
            }
            let (dialect, because) = match input.dialect {
                Some(dialect) => (dialect, None),
                None if tool.declared => (
                    dialect::find("gemini").unwrap_or(dialect::DIALECTS[0]),
                    Some("it is one of `functionDeclarations`"),
                ),
                None => match dialect::detect(tool.value, input.syntax) {
                    Some(found) => (found.dialect, Some(found.because)),
                    None => {
                        let issue = unknown_shape(tool.value, tool.pointer);
                        let finding = self.finding(&issue, name);
                        self.findings.push(finding);
                        continue;
                    }
                },
            };
            let source = Source {
                value: tool.value,
                group: input.group,
                folder: input.folder,
                key: tool.key,
                shared: tool.shared,
            };
            if let Some(pointer) = code_outside(tool.value) {
                let message = "this is code, where a value belongs";
                let pointer = format!("{}{pointer}", tool.pointer);
                let issue =
                    Issue::new(&rules::UNREADABLE, pointer, message).fix("write its value out");
                let finding = self.finding(&issue, name);
                self.findings.push(finding);
                continue;
            }
            match dialect::decode(&source, dialect) {
                Ok(decoded) => self.tools.push(Loaded {
                    def: decoded.def,
                    losses: decoded.losses,
                    dialect,
                    because,
                    file: self.file.clone(),
                    pointer: tool.pointer,
                    places: decoded.places,
                }),
                Err(issues) => {
                    for issue in issues {
                        let pointer = format!("{}{}", tool.pointer, issue.pointer);
                        let finding = self.finding(&Issue { pointer, ..issue }, name.clone());
                        self.findings.push(finding);
                    }
                }
            }
        }
    }

    /// A finding whose pointer goes into this document.
    fn finding(&self, issue: &Issue, tool: Option<String>) -> Finding {
        let place = self
            .node
            .as_ref()
            .map(|n| self.lines.place(&self.text, n.locate(&issue.pointer)));
        Finding {
            file: self.file.clone(),
            place,
            pointer: issue.pointer.clone(),
            tool,
            code: issue.rule.code,
            rule: issue.rule.name,
            severity: issue.rule.severity,
            message: issue.message.clone(),
            fix: issue.fix.clone(),
            fixable: issue.safe,
        }
    }

    fn finding_in(&self, tool: &Loaded, issue: &Issue) -> Finding {
        let pointer = format!("{}{}", tool.pointer, tool.places.of(&issue.pointer));
        let issue = Issue {
            safe: issue.safe && lint::fix::is_mended(tool.dialect.name),
            pointer,
            ..issue.clone()
        };
        self.finding(&issue, Some(tool.def.name.to_string()))
    }

    /// Reads a new text in the place of this one.
    pub(crate) fn read_again(&self, text: &str) -> Document {
        let one = self.tools.first().map(|t| t.dialect);
        let dialect = one.filter(|d| self.tools.iter().all(|t| t.dialect == *d));
        Document::read(&Input {
            file: &self.file,
            bytes: text.as_bytes(),
            syntax: self.syntax,
            dialect,
            group: self.group.as_deref(),
            folder: None,
            stem: self.stem.as_deref(),
            beside: &[],
        })
    }

    /// A new text with the line ends and the mark that the old one had.
    pub(crate) fn as_it_was(&self, text: &str) -> String {
        let mark = if self.marked { "\u{feff}" } else { "" };
        match self.text.contains("\r\n") {
            true => format!("{mark}{}", text.replace("\r\n", "\n").replace('\n', "\r\n")),
            false => format!("{mark}{text}"),
        }
    }

    /// The line of the text on which a finding stands.
    pub fn line(&self, number: usize) -> Option<&str> {
        self.lines.line(&self.text, number)
    }

    /// Whether the document is a list, if only of one.
    pub fn is_list(&self) -> bool {
        self.tools.iter().any(|t| !t.pointer.is_empty())
    }

    /// Whether it is source code in which nothing looks like a tool.
    pub fn has_no_tool(&self) -> bool {
        self.tools.is_empty() && self.findings.iter().all(|f| f.message.starts_with(NO_TOOL))
    }

    /// The text as it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What each tool of this document breaks, apart from the others.
    pub fn lint(&mut self, vendor: Option<&'static Vendor>) {
        let mut findings = Vec::new();
        for tool in &self.tools {
            let context = Context {
                stem: self.stem.as_deref(),
                group: self.group.as_deref(),
                dialect: tool.dialect.name,
                vendor,
            };
            for issue in lint::check(&tool.def, &context) {
                findings.push(self.finding_in(tool, &issue));
            }
        }
        self.findings.extend(findings);
    }
}

/// Where source stands that is no handler: it would be taken for data.
fn code_outside(tool: &Value) -> Option<String> {
    fn walk(value: &Value, at: String) -> Option<String> {
        match value {
            Value::Object(map) => {
                let code = [read::erlang::CODE, read::javascript::CODE];
                if map.len() == 1 && code.iter().any(|c| map.contains_key(*c)) {
                    return Some(at);
                }
                map.iter()
                    .find_map(|(k, v)| walk(v, format!("{at}/{}", crate::node::escape(k))))
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .find_map(|(i, v)| walk(v, format!("{at}/{i}"))),
            _ => None,
        }
    }
    const READ: &[&str] = &[
        "name",
        "title",
        "description",
        "inputSchema",
        "parameters",
        "tag",
        "tags",
        "timeout",
        "retry",
    ];
    let fields = tool.as_object()?.iter();
    fields
        .filter(|(key, _)| READ.contains(&key.as_str()))
        .find_map(|(key, value)| walk(value, format!("/{}", crate::node::escape(key))))
}

fn unknown_shape(value: &Value, pointer: String) -> Issue {
    let message = match value {
        Value::Object(map) => {
            let keys: Vec<&str> = map.keys().take(5).map(String::as_str).collect();
            let near = keys.iter().find_map(|k| {
                nearest(
                    k,
                    ["input_schema", "parameters", "inputSchema", "args_schema"],
                    1,
                )
                .first()
                .copied()
            });
            let hint = near
                .map(|n| format!("; did you mean `{n}`?"))
                .unwrap_or_default();
            format!(
                "no dialect has this shape (keys: {}){hint}",
                keys.join(", ")
            )
        }
        other => format!(
            "a tool must be an object, not {}",
            crate::def::kind_of(other)
        ),
    };
    Issue::new(&rules::UNKNOWN_SHAPE, pointer, message)
        .fix("add `input_schema`, or name the dialect with `--from`")
}

/// What the tools of all documents break together: names, mentions, prefixes.
/// `known` are names that exist elsewhere.
pub fn lint_together(documents: &mut [Document], known: &[&str], vendor: Option<&'static Vendor>) {
    let places: Vec<(usize, usize)> = documents
        .iter()
        .enumerate()
        .flat_map(|(d, document)| (0..document.tools.len()).map(move |t| (d, t)))
        .collect();
    let defs: Vec<&ToolDef> = places
        .iter()
        .map(|&(d, t)| &documents[d].tools[t].def)
        .collect();
    let issues = lint::check_collection(&defs, known, vendor);
    let findings: Vec<(usize, Finding)> = issues
        .into_iter()
        .map(|(index, mut issue)| {
            let (d, t) = places[index];
            if let Some(other) = issue.other {
                let (o, _) = places[other];
                issue
                    .message
                    .push_str(&format!(" in {}", documents[o].file));
            }
            (d, documents[d].finding_in(&documents[d].tools[t], &issue))
        })
        .collect();
    for (d, finding) in findings {
        documents[d].findings.push(finding);
    }
    for document in documents {
        document
            .findings
            .sort_by_key(|f| (f.place, std::cmp::Reverse(f.severity), f.code));
    }
}

#[cfg(test)]
mod tests;
