//! Tools out of Python source: dict literals and `@tool` decorators.
//!
//! Nothing is run. Names that stand for literals of the same file are followed;
//! any other expression where a literal belongs is refused, with its place. A
//! comment behind a parameter of a decorator is its description, as the people
//! who use that form write it.

mod types;

use std::collections::HashMap;

use super::copies::{Copies, Original};
use super::lexer::{Cursor, is_word};
use super::{MAX_DEPTH, Problem, ReadError, number, push_entry, refuse_doubles, syntax};
use crate::node::{Entry, Kind, Node};

pub use types::{Arg, Type, parse_type};

/// Reads a file, or a single literal.
pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let mut python = Python::new(text);
    python.space();
    if matches!(python.cursor.peek(), Some('{' | '[')) {
        let node = python.expression(0)?;
        python.space();
        return match python.cursor.done() {
            true => Ok(node),
            false => Err(python.cursor.unexpected("the end", "a literal")),
        };
    }
    python.module()
}

/// Where the literal ends that begins at `at`.
pub fn literal_end(text: &str, at: usize) -> Option<usize> {
    let mut python = Python::new(text);
    python.cursor.at = at;
    python.skip_brackets();
    (python.cursor.at > at).then_some(python.cursor.at)
}

struct Python<'t> {
    cursor: Cursor<'t>,
    names: HashMap<&'t str, Original>,
    copies: Copies,
    /// The last comment that was stepped over on the line of a value.
    comment: Option<(usize, &'t str)>,
}

/// A decorated function, before it is known which server it belongs to.
struct Decorated<'t> {
    function: &'t str,
    node: Node,
}

impl<'t> Python<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            cursor: Cursor::new(text),
            names: HashMap::new(),
            copies: Copies::new(),
            comment: None,
        }
    }

    fn module(mut self) -> Result<Node, ReadError> {
        let mut tools = Vec::new();
        let mut decorated: Vec<Decorated<'t>> = Vec::new();
        let mut servers: Vec<Original> = Vec::new();
        let mut server_of: HashMap<&'t str, usize> = HashMap::new();
        while !self.cursor.done() {
            self.space();
            let line_start = matches!(self.cursor.before(), None | Some('\n'));
            match self.cursor.peek() {
                None => break,
                Some('@') => {
                    self.cursor.bump();
                    if let Some(tool) = self.decorator()? {
                        decorated.push(tool);
                    }
                }
                Some('"' | '\'') => drop(self.string()?),
                Some(c) if c.is_alphabetic() || c == '_' => {
                    let start = self.cursor.at;
                    let word = self.cursor.word();
                    if matches!(self.cursor.peek(), Some('"' | '\'')) {
                        self.cursor.at = start;
                        self.skip_prefixed_string()?;
                    } else if word == "create_sdk_mcp_server" && self.cursor.peek() == Some('(') {
                        if let Some((server, functions)) = self.server()? {
                            for function in functions {
                                server_of.entry(function).or_insert(servers.len());
                            }
                            servers.push(Original::new(server));
                        }
                    } else if line_start {
                        self.assignment(word, &mut tools)?;
                    }
                }
                Some(_) => drop(self.cursor.bump()),
            }
        }
        for mut tool in decorated {
            let server = server_of.get(tool.function).map(|i| &servers[*i]);
            if let (Some(server), Kind::Object(entries)) = (server, &mut tool.node.kind) {
                let value = self.copies.copy(server, 1, tool.node.at)?;
                let (at, key) = (value.at, "server".to_owned());
                push_entry(entries, Entry { at, key, value }, self.cursor.text)?;
                refuse_doubles(entries, self.cursor.text)?;
            }
            tools.push(tool.node);
        }
        match tools.is_empty() {
            true => Err(syntax(
                0,
                "no tool here: neither a list of dicts with a `name` nor a function with `@tool(…)`",
            )),
            false => Ok(Node::new(0, Kind::Array(tools))),
        }
    }

    /// `NAME = literal` at the start of a line: a tool, tools, or a name for later.
    fn assignment(&mut self, name: &'t str, tools: &mut Vec<Node>) -> Result<(), ReadError> {
        let after_name = self.cursor.at;
        self.cursor.take_while(|c| c == ' ');
        if self.cursor.eat(":") {
            self.cursor.take_while(|c| c != '=' && c != '\n');
        }
        if !self.cursor.eat("=") || self.cursor.peek() == Some('=') {
            self.cursor.at = after_name;
            return Ok(());
        }
        self.space();
        let start = self.cursor.at;
        let bracket = matches!(self.cursor.peek(), Some('[' | '{' | '('));
        match self.expression(0) {
            Ok(node) => {
                collect(&node, tools);
                self.names.insert(name, Original::new(node));
                Ok(())
            }
            Err(error) => {
                // Ordinary code is stepped over. What looks like a tool but
                // cannot be read must not be passed over in silence.
                self.cursor.at = start;
                if bracket {
                    self.skip_brackets();
                }
                let source = &self.cursor.text[start..self.cursor.at];
                let quoted = |key| {
                    source.contains(&format!("\"{key}\"")) || source.contains(&format!("'{key}'"))
                };
                let truncated = matches!(error.problem, Problem::Truncated(_));
                match bracket && quoted("name") && (quoted("description") || truncated) {
                    true => Err(error),
                    false => Ok(()),
                }
            }
        }
    }

    /// Behind `@`: `tool(name, description, parameters)`, then the function.
    fn decorator(&mut self) -> Result<Option<Decorated<'t>>, ReadError> {
        let at = self.cursor.at;
        let mut name = self.cursor.word();
        while self.cursor.eat(".") {
            name = self.cursor.word();
        }
        if name != "tool" || !self.cursor.eat("(") {
            return Ok(None);
        }
        let mut entries = Vec::new();
        let mut slots = ["name", "description", "input_schema", "annotations"].into_iter();
        self.arguments("a decorator", |this, keyword, at| {
            let key = match keyword {
                Some(key) => key,
                None => match slots.next() {
                    Some(slot) => slot,
                    None => return Err(syntax(at, "`@tool` takes three arguments")),
                },
            };
            let value = this.parameters_or_literal(key)?;
            let key = key.to_owned();
            push_entry(&mut entries, Entry { at, key, value }, this.cursor.text)
        })?;
        refuse_doubles(&entries, self.cursor.text)?;
        let node = Node::new(at, Kind::Object(entries));
        let function = self.function_name();
        Ok(Some(Decorated { function, node }))
    }

    fn parameters_or_literal(&mut self, key: &str) -> Result<Node, ReadError> {
        match key {
            "annotations" => self.call_as_object(),
            "input_schema" if self.cursor.peek() == Some('{') => self.dict(0, true),
            _ => self.expression(0),
        }
    }

    /// `ToolAnnotations(readOnlyHint=True)` as an object.
    fn call_as_object(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        if self.cursor.peek() == Some('{') {
            return self.expression(0);
        }
        self.cursor.take_while(|c| is_word(c) || c == '.');
        self.cursor.expect("(", "an annotation")?;
        let mut entries = Vec::new();
        self.arguments("an annotation", |this, keyword, at| {
            let Some(key) = keyword else {
                return Err(syntax(at, "expected `name=value`"));
            };
            let value = this.expression(0)?;
            let key = key.to_owned();
            push_entry(&mut entries, Entry { at, key, value }, this.cursor.text)
        })?;
        refuse_doubles(&entries, self.cursor.text)?;
        Ok(Node::new(at, Kind::Object(entries)))
    }

    /// The arguments of a call up to its `)`, which is stepped over.
    fn arguments(
        &mut self,
        within: &'static str,
        mut each: impl FnMut(&mut Self, Option<&'t str>, usize) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        loop {
            self.space();
            if self.cursor.eat(")") {
                return Ok(());
            }
            let at = self.cursor.at;
            let word = self.cursor.word();
            self.space();
            let keyword = !word.is_empty()
                && self.cursor.peek() == Some('=')
                && !self.cursor.rest().starts_with("==");
            if keyword {
                self.cursor.bump();
                self.space();
                each(self, Some(word), at)?;
            } else {
                self.cursor.at = at;
                each(self, None, at)?;
            }
            self.space();
            if !self.cursor.eat(",") && self.cursor.peek() != Some(')') {
                return Err(self.cursor.unexpected("`,` or `)`", within));
            }
        }
    }

    fn function_name(&mut self) -> &'t str {
        let back = self.cursor.at;
        self.space();
        for word in ["async", "def"] {
            let start = self.cursor.at;
            if self.cursor.word() != word {
                self.cursor.at = start;
            }
            self.space();
        }
        let name = self.cursor.word();
        self.cursor.at = back;
        name
    }

    /// `create_sdk_mcp_server(name="web", tools=[a, b])`: which tool is whose.
    fn server(&mut self) -> Result<Option<(Node, Vec<&'t str>)>, ReadError> {
        self.cursor.bump();
        let mut name = None;
        let mut functions = Vec::new();
        self.arguments("create_sdk_mcp_server", |this, keyword, _| {
            match keyword {
                Some("name") | None if name.is_none() => name = Some(this.expression(0)?),
                Some("tools") if this.cursor.peek() == Some('[') => {
                    let start = this.cursor.at;
                    this.skip_brackets();
                    let list = &this.cursor.text[start..this.cursor.at];
                    functions = list
                        .lines()
                        .map(|l| l.split('#').next().unwrap_or_default())
                        .flat_map(|l| l.split(|c| !is_word(c)))
                        .filter(|w| !w.is_empty())
                        .collect();
                }
                _ => this.skip_argument(),
            }
            Ok(())
        })?;
        Ok(name
            .filter(|n| n.as_str().is_some())
            .map(|n| (n, functions)))
    }

    fn skip_argument(&mut self) {
        while let Some(c) = self.cursor.peek() {
            match c {
                ',' | ')' => return,
                '(' | '[' | '{' => self.skip_brackets(),
                '"' | '\'' if self.string().is_ok() => {}
                _ => drop(self.cursor.bump()),
            }
        }
    }

    /// Steps over a bracket and all that it holds, or to the end of the text.
    fn skip_brackets(&mut self) {
        let mut depth = 0usize;
        while let Some(c) = self.cursor.peek() {
            match c {
                '#' => self.cursor.line_end(),
                '"' | '\'' => {
                    if self.string().is_err() {
                        self.cursor.bump();
                    }
                }
                '(' | '[' | '{' => {
                    depth += 1;
                    self.cursor.bump();
                }
                ')' | ']' | '}' => {
                    self.cursor.bump();
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                _ => drop(self.cursor.bump()),
            }
        }
    }

    /// White space, line joins and comments.
    fn space(&mut self) {
        loop {
            self.cursor.take_while(char::is_whitespace);
            let at = self.cursor.at;
            if self.cursor.eat("#") {
                let start = self.cursor.at;
                self.cursor.line_end();
                self.comment = Some((at, self.cursor.text[start..self.cursor.at].trim()));
            } else if !self.cursor.eat("\\\n") && !self.cursor.eat("\\\r\n") {
                return;
            }
        }
    }

    fn expression(&mut self, depth: usize) -> Result<Node, ReadError> {
        let mut left = self.term(depth)?;
        loop {
            let end = self.cursor.at;
            self.space();
            if !self.cursor.eat("+") {
                self.cursor.at = end;
                return Ok(left);
            }
            self.space();
            let right = self.term(depth)?;
            match (&mut left.kind, right.kind) {
                (Kind::String(a), Kind::String(b)) => a.push_str(&b),
                (Kind::Array(a), Kind::Array(b)) => a.extend(b),
                _ => return Err(syntax(end, "`+` joins only strings or lists here")),
            }
        }
    }

    fn term(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        match self.cursor.peek() {
            Some('{') => self.dict(depth, false),
            Some('[') => {
                self.cursor.bump();
                self.items("]", depth, at)
            }
            Some('(') => self.parenthesis(depth, at),
            Some('"' | '\'') => self.strings(),
            Some('-' | '+' | '.' | '0'..='9') => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(depth),
            _ => Err(self.cursor.unexpected("a literal", "a value")),
        }
    }

    fn items(&mut self, close: &'static str, depth: usize, at: usize) -> Result<Node, ReadError> {
        let mut items = Vec::new();
        loop {
            self.space();
            if self.cursor.eat(close) {
                return Ok(Node::new(at, Kind::Array(items)));
            }
            items.push(self.expression(depth + 1)?);
            self.space();
            if !self.cursor.eat(",") && !self.cursor.rest().starts_with(close) {
                return Err(self.cursor.unexpected("`,`", "a list"));
            }
        }
    }

    /// One value in parentheses is that value; with a comma it is a tuple.
    fn parenthesis(&mut self, depth: usize, at: usize) -> Result<Node, ReadError> {
        self.cursor.bump();
        self.space();
        if self.cursor.eat(")") {
            return Ok(Node::new(at, Kind::Array(Vec::new())));
        }
        let first = self.expression(depth + 1)?;
        self.space();
        if self.cursor.eat(")") {
            return Ok(first);
        }
        self.cursor.expect(",", "a tuple")?;
        let mut rest = self.items(")", depth, at)?;
        if let Kind::Array(items) = &mut rest.kind {
            items.insert(0, first);
        }
        Ok(rest)
    }

    fn dict(&mut self, depth: usize, described: bool) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            self.space();
            if self.cursor.eat("}") {
                refuse_doubles(&entries, self.cursor.text)?;
                return Ok(Node::new(at, Kind::Object(entries)));
            }
            let key_at = self.cursor.at;
            let key = self.expression(depth + 1)?;
            let Kind::String(key) = key.kind else {
                return Err(syntax(key_at, "a key must be a string"));
            };
            self.space();
            self.cursor.expect(":", "a dict")?;
            self.space();
            let mut value = self.expression(depth + 1)?;
            let value_end = self.cursor.at;
            self.comment = None;
            self.space();
            let comma = self.cursor.eat(",");
            if !comma && self.cursor.peek() != Some('}') {
                return Err(self.cursor.unexpected("`,`", "a dict"));
            }
            if described {
                if comma {
                    self.space();
                }
                self.describe(&mut value, value_end);
            }
            let entry = Entry {
                at: key_at,
                key,
                value,
            };
            push_entry(&mut entries, entry, self.cursor.text)?;
        }
    }

    /// Turns a comment behind a type, on its line, into its description.
    fn describe(&mut self, value: &mut Node, value_end: usize) {
        let Some((at, comment)) = self.comment.take() else {
            return;
        };
        let between = self.cursor.text.get(value_end..at).unwrap_or("\n");
        if comment.is_empty() || between.contains('\n') {
            return;
        }
        if let Kind::String(name) = &mut value.kind
            && !name.starts_with("Annotated[")
            && parse_type(name).is_ok()
        {
            *name = format!(
                "Annotated[{name}, {}]",
                crate::write::python::quote(comment)
            );
        }
    }

    fn name(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let word = self.cursor.word();
        if matches!(self.cursor.peek(), Some('"' | '\'')) {
            self.cursor.at = at;
            return self.strings();
        }
        let kind = match word {
            "True" | "true" => Kind::Bool(true),
            "False" | "false" => Kind::Bool(false),
            "None" | "null" => Kind::Null,
            _ => {
                if let Some(original) = self.names.get(word) {
                    let copy = self.copies.copy(original, depth, at)?;
                    // It stands where it was written, so that one tool stays one.
                    return Ok(copy);
                }
                self.cursor.at = at;
                return match types::read(&mut self.cursor, depth) {
                    Ok(ty) if ty.is_known() && self.cursor.peek() != Some('(') => {
                        Ok(Node::string(at, ty.to_string()))
                    }
                    _ => Err(syntax(
                        at,
                        format!("`{word}` is not a literal; write its value out"),
                    )),
                };
            }
        };
        if kind == Kind::Null && self.cursor.rest().trim_start().starts_with('|') {
            self.cursor.at = at;
            let ty = types::read(&mut self.cursor, depth)?;
            return Ok(Node::string(at, ty.to_string()));
        }
        Ok(Node::new(at, kind))
    }

    fn number(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let sign = match self.cursor.peek() {
            Some('-') => "-",
            _ => "",
        };
        self.cursor.take_while(|c| c == '-' || c == '+');
        if self.cursor.at - at > 1 {
            return Err(syntax(at, "expected one number"));
        }
        let start = self.cursor.at;
        let mut last = ' ';
        while let Some(c) = self.cursor.peek() {
            let exponent =
                matches!(last, 'e' | 'E') && !self.cursor.text[start..].starts_with("0x");
            if is_word(c) || c == '.' || exponent && matches!(c, '+' | '-') {
                last = c;
                self.cursor.bump();
            } else {
                break;
            }
        }
        let digits = self.cursor.text[start..self.cursor.at].replace('_', "");
        let radix = match digits.get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => {
                let plain =
                    digits.trim_matches(|c: char| c.is_ascii_digit() || ".eE+-".contains(c));
                return match plain.is_empty() {
                    true => Ok(Node::new(
                        at,
                        Kind::Number(number(&format!("{sign}{digits}"), at)?),
                    )),
                    false => Err(syntax(at, format!("`{digits}` is not a number"))),
                };
            }
        };
        let value = i64::from_str_radix(&format!("{sign}{}", &digits[2..]), radix)
            .map_err(|_| Problem::Number(digits.clone()).at(at))?;
        Ok(Node::new(at, Kind::Number(value.into())))
    }

    /// One string or several in a row, which Python joins.
    fn strings(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let mut text = String::new();
        loop {
            let start = self.cursor.at;
            let prefix = self.cursor.word();
            if !matches!(self.cursor.peek(), Some('"' | '\'')) {
                self.cursor.at = start;
                break;
            }
            let raw = match prefix {
                "" | "u" | "U" => false,
                "r" | "R" => true,
                _ => {
                    let message =
                        format!("a string with the prefix `{prefix}` is not a plain literal");
                    return Err(syntax(start, message));
                }
            };
            text.push_str(&self.quoted(raw)?);
            let end = self.cursor.at;
            self.space();
            let more = self.cursor.rest();
            let more = more.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            if !more.starts_with(['"', '\'']) {
                self.cursor.at = end;
                break;
            }
        }
        Ok(Node::string(at, text))
    }

    fn string(&mut self) -> Result<String, ReadError> {
        self.quoted(false)
    }

    fn skip_prefixed_string(&mut self) -> Result<(), ReadError> {
        let prefix = self.cursor.word();
        let raw = prefix.contains(['r', 'R', 'f', 'F', 'b', 'B']);
        self.quoted(raw).map(drop)
    }

    fn quoted(&mut self, raw: bool) -> Result<String, ReadError> {
        let at = self.cursor.at;
        let triple = ["\"\"\"", "'''"].into_iter().find(|q| self.cursor.eat(q));
        let quote = match triple {
            Some(quote) => quote.to_owned(),
            None => self.cursor.bump().map(String::from).unwrap_or_default(),
        };
        let mut out = String::new();
        loop {
            if self.cursor.eat(&quote) {
                return Ok(out);
            }
            match self.cursor.bump() {
                None => return Err(Problem::Truncated("a string").at(at)),
                Some('\n') if triple.is_none() => {
                    return Err(syntax(at, "a string is not closed on its line"));
                }
                Some('\\') if raw => {
                    out.push('\\');
                    out.extend(self.cursor.bump());
                }
                Some('\\') => self.escape(&mut out)?,
                Some('\r') if self.cursor.peek() == Some('\n') => {}
                Some(c) => out.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), ReadError> {
        let at = self.cursor.at;
        let Some(c) = self.cursor.bump() else {
            return Err(Problem::Truncated("a string").at(at));
        };
        let escaped = match c {
            '\n' => return Ok(()),
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' => c,
            'x' => self.cursor.hex_escape(2)?,
            'u' => self.cursor.hex_escape(4)?,
            'U' => self.cursor.hex_escape(8)?,
            'N' => {
                return Err(syntax(
                    at,
                    "named characters (`\\N{…}`) are not read; write the character",
                ));
            }
            '0'..='7' => {
                self.cursor.at = at;
                let octal = self.cursor.rest().bytes().take(3);
                let length = octal.take_while(|b| (b'0'..=b'7').contains(b)).count();
                let code = u32::from_str_radix(&self.cursor.rest()[..length], 8).unwrap_or(0);
                self.cursor.at += length;
                char::from_u32(code).unwrap_or('\u{fffd}')
            }
            other => {
                out.push('\\');
                other
            }
        };
        out.push(escaped);
        Ok(())
    }
}

/// A tool that has a name of its own may stand in several lists; it is one tool.
fn add(tool: &Node, tools: &mut Vec<Node>) {
    if !tools.iter().any(|t| t.at == tool.at) {
        tools.push(tool.clone());
    }
}

/// Takes the tools out of an assigned literal: a dict with a name, or a list of them.
fn collect(node: &Node, tools: &mut Vec<Node>) {
    let is_tool = |n: &Node| {
        (n.get("name").is_some() || n.get("function").is_some())
            && ["input_schema", "parameters", "function", "inputSchema"]
                .iter()
                .any(|key| n.get(key).is_some())
    };
    match &node.kind {
        Kind::Object(_) if is_tool(node) => add(node, tools),
        Kind::Array(items) if items.iter().any(is_tool) => {
            items.iter().for_each(|item| add(item, tools));
        }
        _ => {}
    }
}
