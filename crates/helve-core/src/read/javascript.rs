//! The tool object out of a JavaScript module, as the internal-tools service
//! writes it: `module.exports = {…}`, `export default {…}`, or a `const` of which
//! one of these is made.
//!
//! Nothing is run. Functions, calls and names where a literal could stand are
//! kept as their source under [`CODE`].

use std::collections::HashMap;

use super::copies::{Copies, Original};
use super::lexer::{Cursor, code, is_word, is_word_start};
use super::{MAX_DEPTH, Problem, ReadError, number, push_entry, refuse_doubles, syntax};
use crate::node::{Entry, Kind, Node};

/// The key under which source that is not data is kept.
pub const CODE: &str = "$javascript";

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let mut js = JavaScript {
        cursor: Cursor::new(text),
        templates: 0,
        copies: Copies::new(),
    };
    let mut names: Names<'_> = HashMap::new();
    let mut exported = None;
    loop {
        js.space();
        match js.cursor.word() {
            "const" | "let" | "var" => {
                js.space();
                let name = js.cursor.word();
                js.space();
                if js.cursor.eat("=") {
                    js.space();
                    let start = js.cursor.at;
                    if js.cursor.peek() == Some('{') {
                        // Read again as code where it is not all literal: it may
                        // have nothing to do with the tool.
                        let node = js.value(0);
                        if node.is_err() {
                            js.cursor.at = start;
                            js.templates = 0;
                            js.skip_balanced()?;
                        }
                        names.insert(name, node.map(Original::new));
                    }
                }
            }
            "module" if js.cursor.eat(".exports") => {
                js.space();
                if js.cursor.eat("=") {
                    exported = Some(js.exported(&names)?);
                }
            }
            "export" => {
                js.space();
                let back = js.cursor.at;
                match js.cursor.word() {
                    "default" => exported = Some(js.exported(&names)?),
                    _ => js.cursor.at = back,
                }
            }
            "" => match js.cursor.peek() {
                None => break,
                Some('(' | '[' | '{') => js.skip_balanced()?,
                Some(_) => js.skip_token()?,
            },
            _ => {}
        }
    }
    match exported {
        Some(node) if matches!(node.kind, Kind::Object(_) | Kind::Array(_)) => Ok(node),
        Some(node) => Err(syntax(node.at, "what is exported is not a tool object")),
        None => Err(syntax(
            0,
            "no tool here: nothing is exported by `module.exports = …` or `export default …`",
        )),
    }
}

struct JavaScript<'t> {
    cursor: Cursor<'t>,
    /// How many templates are open around this place.
    templates: usize,
    copies: Copies,
}

/// What the names of a file stand for, or why that could not be read.
type Names<'t> = HashMap<&'t str, Result<Original, ReadError>>;

impl<'t> JavaScript<'t> {
    fn exported(&mut self, names: &Names<'_>) -> Result<Node, ReadError> {
        self.space();
        let at = self.cursor.at;
        if matches!(self.cursor.peek(), Some('{' | '[')) {
            let mut node = self.value(0)?;
            // `module.exports = { tool }` and `[a, b]` name what stands above.
            if let Kind::Array(items) = &mut node.kind {
                for item in items {
                    if let Some(found) = code_of(item).and_then(|c| names.get(c)) {
                        *item = self.named(found, 1, item.at)?;
                    }
                }
            }
            return Ok(node);
        }
        let name = self.cursor.word();
        match names.get(name) {
            Some(found) => self.named(found, 0, at),
            None => Err(syntax(
                at,
                format!("`{name}` is not an object literal of this file"),
            )),
        }
    }

    fn named(
        &mut self,
        found: &Result<Original, ReadError>,
        depth: usize,
        at: usize,
    ) -> Result<Node, ReadError> {
        match found {
            Ok(original) => self.copies.copy(original, depth, at),
            Err(error) => Err(error.clone()),
        }
    }

    fn space(&mut self) {
        loop {
            self.cursor.take_while(char::is_whitespace);
            if self.cursor.eat("//") {
                self.cursor.line_end();
            } else if self.cursor.rest().starts_with("/*") {
                let rest = self.cursor.rest();
                self.cursor.at += rest[2..].find("*/").map_or(rest.len(), |i| i + 4);
            } else {
                return;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        let node = match self.cursor.peek() {
            Some('{') => return self.object(depth),
            Some('[') => return self.array(depth),
            Some('"' | '\'') => self.string()?,
            Some('`') => match self.template()? {
                Some(text) => Node::string(at, text),
                None => return Ok(self.code(at)),
            },
            Some('-' | '+' | '.' | '0'..='9') => self.number()?,
            Some(c) if is_word_start(c) => match self.cursor.word() {
                "true" => Node::new(at, Kind::Bool(true)),
                "false" => Node::new(at, Kind::Bool(false)),
                "null" | "undefined" => Node::new(at, Kind::Null),
                _ => return self.rest_of_expression(at),
            },
            Some('(') => return self.rest_of_expression(at),
            _ => return Err(self.cursor.unexpected("a value", "an object")),
        };
        self.concatenated(node, depth)
    }

    /// `'a' + 'b'`; anything else behind a literal makes it code.
    fn concatenated(&mut self, mut node: Node, depth: usize) -> Result<Node, ReadError> {
        let end = self.cursor.at;
        self.space();
        match self.cursor.peek() {
            None | Some(',' | '}' | ']' | ')' | ';') => {
                self.cursor.at = end;
                Ok(node)
            }
            Some('+') => {
                self.cursor.bump();
                self.space();
                match (&mut node.kind, self.value(depth + 1)?.kind) {
                    (Kind::String(a), Kind::String(b)) => a.push_str(&b),
                    _ => return Ok(self.code(node.at)),
                }
                Ok(node)
            }
            Some(_) if self.cursor.text[end..self.cursor.at].contains('\n') => {
                self.cursor.at = end;
                Ok(node)
            }
            Some(_) => self.rest_of_expression(node.at),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut entries = Vec::new();
        loop {
            self.space();
            if self.cursor.eat("}") {
                refuse_doubles(&entries, self.cursor.text)?;
                return Ok(Node::new(at, Kind::Object(entries)));
            }
            let key_at = self.cursor.at;
            if self.cursor.eat("...") {
                return Err(syntax(
                    key_at,
                    "`...` takes its value from elsewhere; write the keys out",
                ));
            }
            let key = match self.cursor.peek() {
                Some('"' | '\'') => match self.string()?.kind {
                    Kind::String(key) => key,
                    _ => String::new(),
                },
                _ => self.cursor.word().to_owned(),
            };
            if key.is_empty() {
                return Err(self.cursor.unexpected("a key", "an object"));
            }
            self.space();
            let value = if self.cursor.eat(":") {
                self.space();
                self.value(depth + 1)?
            } else {
                // A method, or `{ name }` for `{ name: name }`.
                self.rest_of_expression(key_at)?
            };
            // `async run() {}`: the key is the word before the bracket.
            let key = match code_of(&value).filter(|_| value.at == key_at) {
                Some(source) => source
                    .split('(')
                    .next()
                    .and_then(|head| head.split(|c| !is_word(c)).rfind(|w| !w.is_empty()))
                    .unwrap_or(&key)
                    .to_owned(),
                None => key,
            };
            let entry = Entry {
                at: key_at,
                key,
                value,
            };
            push_entry(&mut entries, entry, self.cursor.text)?;
            self.space();
            if !self.cursor.eat(",") && self.cursor.peek() != Some('}') {
                return Err(self.cursor.unexpected("`,`", "an object"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut items = Vec::new();
        loop {
            self.space();
            if self.cursor.eat("]") {
                return Ok(Node::new(at, Kind::Array(items)));
            }
            items.push(self.value(depth + 1)?);
            self.space();
            if !self.cursor.eat(",") && self.cursor.peek() != Some(']') {
                return Err(self.cursor.unexpected("`,`", "a list"));
            }
        }
    }

    /// Steps to the comma or bracket that ends an expression and keeps its source.
    fn rest_of_expression(&mut self, at: usize) -> Result<Node, ReadError> {
        let mut depth = 0usize;
        loop {
            match self.cursor.peek() {
                None => return Err(Problem::Truncated("an expression").at(at)),
                Some(',' | ';') if depth == 0 => break,
                Some(')' | ']' | '}') if depth == 0 => break,
                Some('(' | '[' | '{') => {
                    depth += 1;
                    self.cursor.bump();
                }
                Some(')' | ']' | '}') => {
                    depth -= 1;
                    self.cursor.bump();
                }
                Some(_) => self.skip_token()?,
            }
        }
        Ok(self.code(at))
    }

    /// Steps over a bracket and all that it holds.
    fn skip_balanced(&mut self) -> Result<(), ReadError> {
        self.cursor.bump();
        loop {
            let at = self.cursor.at;
            self.rest_of_expression(at)?;
            if let Some(')' | ']' | '}') = self.cursor.bump() {
                return Ok(());
            }
        }
    }

    fn code(&self, at: usize) -> Node {
        let source = self.cursor.text[at..self.cursor.at].trim_end();
        code(CODE, at, source)
    }

    fn skip_token(&mut self) -> Result<(), ReadError> {
        let before = self.cursor.at;
        self.space();
        if self.cursor.at > before {
            return Ok(());
        }
        match self.cursor.peek() {
            Some('"' | '\'') => drop(self.string()?),
            Some('`') => drop(self.template()?),
            Some('/') if self.regex_may_start() => self.regex()?,
            Some(c) if is_word(c) => drop(self.cursor.take_while(is_word)),
            _ => drop(self.cursor.bump()),
        }
        Ok(())
    }

    fn regex_may_start(&self) -> bool {
        let before = self.cursor.text[..self.cursor.at].trim_end();
        before.ends_with(|c: char| "(,=:[!&|?{};+-*%<>~^".contains(c))
            || before.is_empty()
            || before.ends_with("return")
    }

    fn regex(&mut self) -> Result<(), ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut class = false;
        loop {
            match self.cursor.bump() {
                None | Some('\n') => return Err(Problem::Truncated("a regular expression").at(at)),
                Some('\\') => drop(self.cursor.bump()),
                Some('[') => class = true,
                Some(']') => class = false,
                Some('/') if !class => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn string(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let quote = self.cursor.bump();
        let mut out = String::new();
        loop {
            match self.cursor.bump() {
                None => return Err(Problem::Truncated("a string").at(at)),
                Some('\n') => return Err(syntax(at, "a string is not closed on its line")),
                Some('\\') => self.escape(&mut out)?,
                c if c == quote => return Ok(Node::string(at, out)),
                Some(c) => out.push(c),
            }
        }
    }

    /// The text of a template, or `None` where it has a `${…}`.
    fn template(&mut self) -> Result<Option<String>, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        self.templates += 1;
        if self.templates > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        let mut out = Some(String::new());
        loop {
            if self.cursor.eat("${") {
                out = None;
                let start = self.cursor.at;
                self.rest_of_expression(start)?;
                self.cursor.expect("}", "a template")?;
                continue;
            }
            let mut ignored = String::new();
            let text = out.as_mut().unwrap_or(&mut ignored);
            match self.cursor.bump() {
                None => return Err(Problem::Truncated("a template").at(at)),
                Some('`') => {
                    self.templates -= 1;
                    return Ok(out);
                }
                Some('\\') => self.escape(text)?,
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), ReadError> {
        let at = self.cursor.at;
        out.push(match self.cursor.bump() {
            None => return Err(Problem::Truncated("a string").at(at)),
            Some('\n') => return Ok(()),
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('0') => '\0',
            Some('x') => self.cursor.hex_escape(2)?,
            Some('u') if self.cursor.eat("{") => {
                let hex = self.cursor.take_while(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
                self.cursor.expect("}", "an escape")?;
                code.ok_or_else(|| syntax(at, "not a character"))?
            }
            Some('u') => self.cursor.hex_escape(4)?,
            Some(c) => c,
        });
        Ok(())
    }

    fn number(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let sign = if self.cursor.eat("-") { "-" } else { "" };
        self.cursor.eat("+");
        let start = self.cursor.at;
        while let Some(c) = self.cursor.peek() {
            let exponent = self.cursor.before().is_some_and(|b| b == 'e' || b == 'E');
            if !(is_word(c) || c == '.' || exponent && matches!(c, '+' | '-')) {
                break;
            }
            self.cursor.bump();
        }
        let digits = self.cursor.text[start..self.cursor.at].replace('_', "");
        let plain = digits
            .bytes()
            .all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
        if !plain || digits.is_empty() {
            return Err(Problem::Number(digits).at(at));
        }
        let value = number(&format!("{sign}{digits}"), at)?;
        Ok(Node::new(at, Kind::Number(value)))
    }
}

/// The source of a value that is code.
fn code_of(node: &Node) -> Option<&str> {
    node.get(CODE).and_then(Node::as_str)
}
