//! OpenAPI 3 documents, as tools of the `http` executor: one for each operation.
//!
//! What an operation takes (parameters in the path, the query, headers and cookies, and
//! the fields of its body) becomes one schema, and the executor's table says where each
//! argument goes. Secrets are only ever named. What a document says and a tool cannot is
//! a loss, and an operation that cannot become a tool is a finding; both stand beside
//! the tools that can.
//!
//! A document is a stranger's: references stay inside it and may go in circles, and
//! sizes are bounded before anything grows with them.

mod body;
mod naming;
mod operation;
mod parameters;
mod schema;
mod security;
mod servers;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::ToolDef;
use crate::collection::Finding;
use crate::dialect::Loss;
use crate::lint::{Issue, Severity, rules};
use crate::node::{Lines, Node, Place, escape};
use crate::read::{self, Syntax};
use crate::schema::walk;

/// Whether a header, in small letters, belongs to the connection or to secrets: no
/// definition sets it, and no import makes one that would.
pub fn is_fixed_header(name: &str) -> bool {
    FIXED_HEADERS.contains(&name) || name.starts_with("proxy-")
}

const FIXED_HEADERS: &[&str] = &[
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The most operations of one document.
pub const MAX_OPERATIONS: usize = 10_000;

/// The most bytes of all schemas that come of one document.
pub const MAX_SCHEMAS: usize = 64 * 1024 * 1024;

/// How many parts of schemas are looked at, those that are shared as often as they are
/// used.
const MAX_WORK: usize = 5_000_000;

/// How many references are followed one after the other.
const MAX_HOPS: usize = 32;

/// The methods that become tools.
const METHODS: [&str; 7] = ["get", "head", "options", "post", "put", "patch", "delete"];

/// What is not in the document.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'o> {
    /// Where the service is, instead of what the document says.
    pub base_url: Option<&'o str>,
    /// Where the document came from, for servers that are named from there.
    pub source: Option<&'o str>,
    /// The group of the tools, instead of one made of the document's title.
    pub group: Option<&'o str>,
    /// The secret, instead of names made of the document's schemes.
    pub secret: Option<&'o str>,
}

/// What a document became.
#[derive(Debug)]
pub struct Imported {
    /// The tools.
    pub tools: Vec<Tool>,
    /// What could not be read, or not become a tool.
    pub findings: Vec<Finding>,
    /// The secrets that the tools name.
    pub secrets: Vec<Needed>,
}

/// An operation as a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// The definition.
    pub def: ToolDef,
    /// What it lacks.
    pub losses: Vec<Loss>,
    /// Where the operation stands in the document.
    pub pointer: String,
}

/// A secret that must be configured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Needed {
    /// Its name.
    pub name: String,
    /// What it must be, in words.
    pub what: String,
    /// The hosts that it is sent to.
    pub hosts: Vec<String>,
}

/// Whether a value is an OpenAPI 3 document.
pub fn is_openapi(value: &Value) -> bool {
    let version = value.get("openapi").and_then(Value::as_str);
    version.is_some_and(|v| v.starts_with("3."))
}

/// Whether it is an older one, which is told apart to say so.
fn is_swagger(value: &Value) -> bool {
    value.get("swagger").is_some()
}

/// Reads a document, JSON or YAML.
pub fn import(file: &str, bytes: &[u8], syntax: Syntax, options: &Options<'_>) -> Imported {
    let mut text = "";
    let read = read::text(bytes).and_then(|found| {
        text = found;
        read::read(found, syntax)
    });
    let node = match read {
        Ok(node) => node,
        Err(error) => {
            let issue = Issue::new(&rules::UNREADABLE, "", error.problem.to_string());
            let mut finding = finding(file, None, &issue);
            finding.place = Some(Place::of(text, error.at));
            return Imported::failed(vec![finding]);
        }
    };
    let value = node.to_value();
    let places = Places {
        lines: Lines::of(text),
        text,
        node: &node,
    };
    import_value(file, &value, Some(&places), options)
}

/// Where parts of the document stand in its text.
struct Places<'p> {
    text: &'p str,
    lines: Lines,
    node: &'p Node,
}

fn import_value(
    file: &str,
    value: &Value,
    places: Option<&Places<'_>>,
    options: &Options<'_>,
) -> Imported {
    let told = |issue: &Issue| finding(file, places, issue);
    if !is_openapi(value) {
        return Imported::failed(vec![told(&not_openapi(value))]);
    }
    let mut reading = Reading::new(value, options);
    if let Err(issue) = reading.read() {
        reading.issues.push(issue);
    }
    let mut secrets: Vec<Needed> = reading.secrets.into_values().collect();
    secrets.sort();
    Imported {
        findings: reading.issues.iter().map(told).collect(),
        tools: reading.tools,
        secrets,
    }
}

fn not_openapi(value: &Value) -> Issue {
    let (message, fix) = match () {
        () if is_swagger(value) => (
            "this is Swagger 2, from before OpenAPI 3",
            "convert it to OpenAPI 3 first; most of its tools can",
        ),
        () if value.get("openapi").is_some() => (
            "`openapi` is not a version 3",
            "write `openapi: 3.0.3` or `openapi: 3.1.0`, quoted in YAML",
        ),
        () => (
            "this is no OpenAPI document: it has no `openapi`",
            "is it a list of tools? then use `helve import dir` or `helve import mcp`",
        ),
    };
    Issue::new(&rules::OPENAPI, "/openapi", message).fix(fix)
}

fn finding(file: &str, places: Option<&Places<'_>>, issue: &Issue) -> Finding {
    let at = |p: &Places<'_>| p.lines.place(p.text, p.node.locate(&issue.pointer));
    Finding {
        file: file.to_owned(),
        place: places.map(at),
        pointer: issue.pointer.clone(),
        tool: None,
        code: issue.rule.code,
        rule: issue.rule.name,
        severity: issue.rule.severity,
        message: issue.message.clone(),
        fix: issue.fix.clone(),
        fixable: false,
    }
}

impl Imported {
    fn failed(findings: Vec<Finding>) -> Self {
        Self {
            tools: Vec::new(),
            findings,
            secrets: Vec::new(),
        }
    }

    /// Whether anything makes the whole unusable.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// A document that is being read.
struct Reading<'d> {
    root: &'d Value,
    options: &'d Options<'d>,
    /// Whether schemas are those of 3.0, which are not quite JSON Schema.
    old: bool,
    group: String,
    taken: naming::Taken,
    tools: Vec<Tool>,
    issues: Vec<Issue>,
    secrets: BTreeMap<String, Needed>,
    /// Which patterns can be used, by pattern.
    patterns: HashMap<String, bool>,
    bytes: usize,
    /// How many parts of schemas were looked at.
    work: usize,
}

impl<'d> Reading<'d> {
    fn new(root: &'d Value, options: &'d Options<'d>) -> Self {
        let version = root.get("openapi").and_then(Value::as_str);
        Self {
            root,
            options,
            old: version.is_some_and(|v| v.starts_with("3.0")),
            group: naming::group(root, options.group),
            taken: HashMap::new(),
            tools: Vec::new(),
            issues: Vec::new(),
            secrets: BTreeMap::new(),
            patterns: HashMap::new(),
            bytes: 0,
            work: 0,
        }
    }

    fn read(&mut self) -> Result<(), Issue> {
        let Some(paths) = self.root.get("paths").and_then(Value::as_object) else {
            let message = "the document has no `paths`, and so no operations";
            return Err(Issue::new(&rules::OPENAPI, "/paths", message)
                .fix("is it a part of another document? import the whole"));
        };
        let mut count = 0;
        for (path, item) in paths.iter().filter(|(p, _)| !p.starts_with("x-")) {
            let at = format!("/paths/{}", escape(path));
            let item = match self.follow(item).map(|i| (i, i.as_object())) {
                Ok((_, Some(item))) => item,
                Ok(_) => {
                    self.skip(at, "this path is no object");
                    continue;
                }
                Err(why) => {
                    self.skip(at, &why);
                    continue;
                }
            };
            for method in METHODS {
                let Some(operation) = item.get(method).and_then(Value::as_object) else {
                    continue;
                };
                count += 1;
                if count > MAX_OPERATIONS {
                    let message = format!("there are more than {MAX_OPERATIONS} operations");
                    return Err(Issue::new(&rules::OPENAPI, at, message).fix("split the document"));
                }
                self.operation(path, method, item, operation)?;
            }
        }
        if count == 0 {
            let message = "the document has no operations";
            return Err(Issue::new(&rules::OPENAPI, "/paths", message));
        }
        Ok(())
    }

    fn operation(
        &mut self,
        path: &str,
        method: &'static str,
        item: &'d Map<String, Value>,
        operation: &'d Map<String, Value>,
    ) -> Result<(), Issue> {
        let at = format!("/paths/{}/{method}", escape(path));
        match operation::tool(self, path, method, item, operation) {
            Ok(mut tool) => {
                self.bytes += walk::bytes(&tool.def.input_schema);
                self.bytes += tool.def.output_schema.as_ref().map_or(0, walk::bytes);
                tool.pointer.clone_from(&at);
                self.tools.push(tool);
            }
            Err(why) => self.skip(at.clone(), &why),
        }
        match self.bytes > MAX_SCHEMAS || self.work > MAX_WORK {
            false => Ok(()),
            true => {
                let message = "the schemas up to here come to more than one import takes";
                Err(Issue::new(&rules::OPENAPI, at, message).fix("split the document"))
            }
        }
    }

    fn skip(&mut self, at: String, why: &str) {
        let issue = Issue::new(&rules::OPERATION, at, format!("passed over: {why}"));
        self.issues.push(issue);
    }

    /// The value itself, or the one that its `$ref` leads to.
    fn follow(&self, value: &'d Value) -> Result<&'d Value, String> {
        let mut value = value;
        for _ in 0..MAX_HOPS {
            let Some(reference) = value.get("$ref").and_then(Value::as_str) else {
                return Ok(value);
            };
            value = self.target(reference)?;
        }
        Err("its references go in a circle".to_owned())
    }

    /// What a reference leads to, inside this document.
    fn target(&self, reference: &str) -> Result<&'d Value, String> {
        let shown: String = reference.chars().take(100).collect();
        let shown = shown.escape_debug();
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!("`{shown}` leads to another document"));
        };
        let pointer = percent_decoded(pointer);
        let found = self
            .root
            .pointer(&pointer)
            .filter(|_| pointer.starts_with('/'));
        found.ok_or_else(|| format!("`{shown}` leads nowhere"))
    }
}

/// A pointer in a fragment may be encoded: `~1pets~1%7Bid%7D`.
fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let digits = bytes
            .get(i + 1..i + 3)
            .and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        match (bytes[i], byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                i += 3;
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
