//! Tools out of Erlang: terms, `Var = #{…}`, `beamai_tool:new(…)`, and modules
//! with `tools/0` and `tool_info/0`.
//!
//! Atoms and binaries both become text, and the writer puts each back where the
//! form wants it. What is code (`fun … end`, tuples, calls) is kept as its
//! source under the key [`CODE`]: it is nothing that JSON could say, and nothing
//! that may be lost.

use super::lexer::{Cursor, code, is_word};
use super::{MAX_DEPTH, Problem, ReadError, number, push_entry, refuse_doubles, syntax};
use crate::node::{Entry, Kind, Node};

/// The key under which source that is not data is kept.
pub const CODE: &str = "$erlang";

/// A module becomes `{tool_info, tools}`; anything else the map, or the list of maps.
pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    let mut erlang = Erlang {
        cursor: Cursor::new(text),
        module: module_name(text),
    };
    let mut maps = Vec::new();
    let mut info = None;
    let mut one = true;
    loop {
        erlang.space();
        if erlang.cursor.done() {
            break;
        }
        match erlang.form()? {
            Form::Skipped => {}
            Form::Info(node) => info = Some(node),
            Form::Tools(node) => match node.kind {
                Kind::Array(items) => {
                    one = false;
                    maps.extend(items);
                }
                _ => maps.push(node),
            },
        }
    }
    if maps.is_empty() {
        return Err(syntax(
            0,
            "no tool here: neither a map or a list of maps, nor a module with `tools/0`",
        ));
    }
    if let Some(info) = info {
        let entry = |key: &str, value: Node| Entry {
            at: value.at,
            key: key.to_owned(),
            value,
        };
        let tools = Node::new(0, Kind::Array(maps));
        let entries = vec![entry("tool_info", info), entry("tools", tools)];
        return Ok(Node::new(0, Kind::Object(entries)));
    }
    Ok(match maps.len() {
        1 if one => maps.swap_remove(0),
        _ => Node::new(0, Kind::Array(maps)),
    })
}

/// Whether `source` is exactly one `fun`, or one tuple: what a handler may be.
pub fn is_handler(source: &str) -> bool {
    let mut erlang = Erlang {
        cursor: Cursor::new(source),
        module: None,
    };
    erlang.space();
    let head = erlang.cursor.rest();
    let shape = head.starts_with('{') || head.starts_with("fun");
    shape && erlang.term(0).is_ok() && {
        erlang.space();
        erlang.cursor.done()
    }
}

enum Form {
    Tools(Node),
    Info(Node),
    Skipped,
}

struct Erlang<'t> {
    cursor: Cursor<'t>,
    /// What `?MODULE` stands for.
    module: Option<&'t str>,
}

/// The name in `-module(name).`
fn module_name(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("-module(")?;
    let name = rest.split(')').next()?.trim();
    let plain = !name.is_empty() && name.chars().all(|c| is_word(c) || c == '@');
    plain.then_some(name)
}

impl Erlang<'_> {
    fn form(&mut self) -> Result<Form, ReadError> {
        match self.cursor.peek() {
            Some('#' | '[') => {
                let node = self.term(0)?;
                self.end_of_form()?;
                return Ok(Form::Tools(node));
            }
            Some('-') => return self.skip_form().map(|()| Form::Skipped),
            _ => {}
        }
        let start = self.cursor.at;
        let word = self.cursor.take_while(is_word);
        self.space();
        if self.cursor.peek() == Some('=') && word.starts_with(|c: char| c.is_uppercase()) {
            self.cursor.bump();
            self.space();
            if matches!(self.cursor.peek(), Some('#' | '[')) {
                let node = self.term(0)?;
                self.end_of_form()?;
                return Ok(Form::Tools(node));
            }
            if self.cursor.eat("beamai_tool:new") {
                return self.new_call().map(Form::Tools);
            }
            return self.skip_form().map(|()| Form::Skipped);
        }
        if word == "beamai_tool" && self.cursor.eat(":new") {
            return self.new_call().map(Form::Tools);
        }
        if matches!(word, "tools" | "tool_info") && self.cursor.eat("(") {
            self.space();
            self.cursor.expect(")", "a function head")?;
            self.space();
            self.cursor.expect("->", "a function head")?;
            self.space();
            let node = self.term(0)?;
            self.end_of_form()?;
            return Ok(match word {
                "tools" => Form::Tools(node),
                _ => Form::Info(node),
            });
        }
        self.cursor.at = start;
        self.skip_form().map(|()| Form::Skipped)
    }

    /// `beamai_tool:new(Name, Handler)` or with a map of options.
    fn new_call(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.space();
        self.cursor.expect("(", "beamai_tool:new")?;
        let mut arguments = Vec::new();
        loop {
            self.space();
            arguments.push(self.term(1)?);
            self.space();
            if self.cursor.eat(")") {
                break;
            }
            self.cursor.expect(",", "beamai_tool:new")?;
        }
        self.end_of_form()?;
        let options = match arguments.len() {
            2 => None,
            3 => arguments.pop(),
            n => {
                return Err(syntax(
                    at,
                    format!("`beamai_tool:new` takes 2 or 3 arguments, not {n}"),
                ));
            }
        };
        let mut entries: Vec<Entry> = ["name", "handler"]
            .into_iter()
            .zip(arguments)
            .map(|(key, value)| Entry {
                at: value.at,
                key: key.to_owned(),
                value,
            })
            .collect();
        match options.map(|o| (o.at, o.kind)) {
            None => {}
            Some((_, Kind::Object(more))) => {
                for entry in more {
                    push_entry(&mut entries, entry, self.cursor.text)?;
                }
            }
            Some((at, _)) => return Err(syntax(at, "the options must be a map")),
        }
        refuse_doubles(&entries, self.cursor.text)?;
        Ok(Node::new(at, Kind::Object(entries)))
    }

    fn end_of_form(&mut self) -> Result<(), ReadError> {
        self.space();
        match self.cursor.done() {
            true => Ok(()),
            false => self.cursor.expect(".", "a term"),
        }
    }

    fn skip_form(&mut self) -> Result<(), ReadError> {
        while !self.cursor.done() {
            if self.form_ends() {
                self.cursor.bump();
                return Ok(());
            }
            self.skip_token()?;
        }
        Ok(())
    }

    fn form_ends(&self) -> bool {
        let mut rest = self.cursor.rest().chars();
        rest.next() == Some('.') && rest.next().is_none_or(|c| c.is_whitespace() || c == '%')
    }

    fn skip_token(&mut self) -> Result<(), ReadError> {
        match self.cursor.peek() {
            Some('%') => self.cursor.line_end(),
            Some('"') => drop(self.quoted('"')?),
            Some('\'') => drop(self.quoted('\'')?),
            Some('$') => drop(self.character()?),
            Some(c) if is_word(c) => drop(self.cursor.take_while(|c| is_word(c) || c == '@')),
            _ => drop(self.cursor.bump()),
        }
        Ok(())
    }

    fn space(&mut self) {
        loop {
            self.cursor.take_while(char::is_whitespace);
            if self.cursor.peek() != Some('%') {
                return;
            }
            self.cursor.line_end();
        }
    }

    fn term(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        if depth > MAX_DEPTH {
            return Err(Problem::TooDeep.at(at));
        }
        match self.cursor.peek() {
            Some('#') => self.map(depth),
            Some('[') => {
                self.cursor.bump();
                self.list(depth, at)
            }
            Some('<') => self.binary(),
            Some('"') => {
                let mut text = self.quoted('"')?;
                loop {
                    let end = self.cursor.at;
                    self.space();
                    if self.cursor.peek() != Some('"') {
                        self.cursor.at = end;
                        return Ok(Node::string(at, text));
                    }
                    text.push_str(&self.quoted('"')?);
                }
            }
            Some('\'') => {
                let atom = self.quoted('\'')?;
                Ok(Node::string(at, atom))
            }
            Some('$') => {
                let code = u32::from(self.character()?);
                Ok(Node::new(at, Kind::Number(code.into())))
            }
            Some('-' | '+' | '0'..='9') => self.number(),
            Some('{') => {
                self.skip_balanced()?;
                Ok(self.code(at))
            }
            Some('?') => {
                self.skip_call()?;
                Ok(self.code(at))
            }
            Some(c) if c.is_alphabetic() || c == '_' => self.word(at),
            _ => Err(self.cursor.unexpected("a term", "a value")),
        }
    }

    /// An atom; or code, which is kept as it stands.
    fn word(&mut self, at: usize) -> Result<Node, ReadError> {
        let word = self.cursor.take_while(|c| is_word(c) || c == '@');
        if word == "fun" {
            self.fun()?;
            return Ok(self.code(at));
        }
        let variable = word.starts_with(|c: char| c.is_uppercase() || c == '_');
        if variable || matches!(self.cursor.peek(), Some(':' | '(')) {
            self.cursor.at = at;
            self.skip_call()?;
            return Ok(self.code(at));
        }
        Ok(Node::new(
            at,
            match word {
                "true" => Kind::Bool(true),
                "false" => Kind::Bool(false),
                "null" | "undefined" => Kind::Null,
                atom => Kind::String(atom.to_owned()),
            },
        ))
    }

    fn code(&self, at: usize) -> Node {
        let source = self.cursor.text[at..self.cursor.at].trim_end();
        // Away from its module the macro would mean nothing.
        let source = match self.module {
            Some(module) => source.replace("?MODULE", module),
            None => source.to_owned(),
        };
        code(CODE, at, source)
    }

    /// `fun name/1`, `fun m:f/1`, or `fun (…) -> … end`.
    fn fun(&mut self) -> Result<(), ReadError> {
        self.space();
        if !self.cursor.rest().starts_with('(') && !self.named_fun() {
            self.cursor
                .take_while(|c| is_word(c) || matches!(c, ':' | '/' | '?' | '@'));
            return Ok(());
        }
        let mut depth = 1usize;
        let start = self.cursor.at;
        while !self.cursor.done() {
            match self.cursor.peek() {
                Some(c) if c.is_alphabetic() || c == '_' => {
                    let word = self.cursor.take_while(|c| is_word(c) || c == '@');
                    match word {
                        "end" => depth -= 1,
                        "case" | "if" | "begin" | "receive" | "try" | "maybe" => depth += 1,
                        "fun" => {
                            self.space();
                            if self.cursor.peek() == Some('(') || self.named_fun() {
                                depth += 1;
                            }
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.skip_token()?,
            }
        }
        Err(Problem::Truncated("a fun").at(start))
    }

    /// `Name(` behind `fun`: a fun that has a name for itself.
    fn named_fun(&self) -> bool {
        let rest = self.cursor.rest();
        let name = rest.len() - rest.trim_start_matches(is_word).len();
        rest.starts_with(|c: char| c.is_uppercase()) && rest[name..].starts_with('(')
    }

    fn skip_call(&mut self) -> Result<(), ReadError> {
        self.cursor
            .take_while(|c| is_word(c) || matches!(c, ':' | '?' | '@'));
        match self.cursor.peek() {
            Some('(') => self.skip_balanced(),
            _ => Ok(()),
        }
    }

    fn skip_balanced(&mut self) -> Result<(), ReadError> {
        let start = self.cursor.at;
        let mut depth = 0usize;
        while let Some(c) = self.cursor.peek() {
            match c {
                '(' | '[' | '{' => {
                    depth += 1;
                    self.cursor.bump();
                }
                ')' | ']' | '}' => {
                    self.cursor.bump();
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => self.skip_token()?,
            }
        }
        Err(Problem::Truncated("a bracket").at(start))
    }

    fn map(&mut self, depth: usize) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.cursor.expect("#", "a map")?;
        self.space();
        self.cursor.expect("{", "a map")?;
        let mut entries = Vec::new();
        self.space();
        if self.cursor.eat("}") {
            return Ok(Node::new(at, Kind::Object(entries)));
        }
        loop {
            self.space();
            let key_at = self.cursor.at;
            let key = match self.term(depth + 1)?.kind {
                Kind::String(key) => key,
                Kind::Bool(b) => b.to_string(),
                _ => return Err(syntax(key_at, "a key must be an atom or a binary")),
            };
            self.space();
            if !self.cursor.eat(":=") {
                self.cursor.expect("=>", "a map")?;
            }
            self.space();
            let value = self.term(depth + 1)?;
            let entry = Entry {
                at: key_at,
                key,
                value,
            };
            push_entry(&mut entries, entry, self.cursor.text)?;
            self.space();
            if self.cursor.eat("}") {
                refuse_doubles(&entries, self.cursor.text)?;
                return Ok(Node::new(at, Kind::Object(entries)));
            }
            self.cursor.expect(",", "a map")?;
        }
    }

    fn list(&mut self, depth: usize, at: usize) -> Result<Node, ReadError> {
        let mut items = Vec::new();
        self.space();
        if self.cursor.eat("]") {
            return Ok(Node::new(at, Kind::Array(items)));
        }
        loop {
            self.space();
            items.push(self.term(depth + 1)?);
            self.space();
            if self.cursor.eat("]") {
                return Ok(Node::new(at, Kind::Array(items)));
            }
            self.cursor.expect(",", "a list")?;
        }
    }

    /// `<<"text">>`, `<<"text"/utf8>>`, and several strings in a row.
    fn binary(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        self.cursor.expect("<<", "a binary")?;
        let mut text = String::new();
        loop {
            self.space();
            if self.cursor.eat(">>") {
                return Ok(Node::string(at, text));
            }
            match self.cursor.peek() {
                Some('"') => text.push_str(&self.quoted('"')?),
                Some(',') => drop(self.cursor.bump()),
                Some('/') if self.cursor.eat("/utf8") => {}
                _ => return Err(self.cursor.unexpected("a string", "a binary")),
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        let mut out = String::new();
        loop {
            match self.cursor.bump() {
                None => return Err(Problem::Truncated("a string").at(at)),
                Some(c) if c == quote => return Ok(out),
                Some('\\') => out.extend(self.escape()?),
                Some(c) => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<Option<char>, ReadError> {
        let at = self.cursor.at;
        Ok(Some(match self.cursor.bump() {
            None => return Err(Problem::Truncated("a string").at(at)),
            Some('\n') => return Ok(None),
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('s') => ' ',
            Some('b') => '\u{8}',
            Some('e') => '\u{1b}',
            Some('f') => '\u{c}',
            Some('v') => '\u{b}',
            Some('d') => '\u{7f}',
            Some('x') if self.cursor.eat("{") => {
                let hex = self.cursor.take_while(|c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
                self.cursor.expect("}", "an escape")?;
                code.ok_or_else(|| syntax(at, "not a character"))?
            }
            Some('x') => self.cursor.hex_escape(2)?,
            Some(c @ '0'..='7') => {
                let more = self.cursor.rest().bytes().take(2);
                let more = more.take_while(|b| (b'0'..=b'7').contains(b)).count();
                let octal = format!("{c}{}", &self.cursor.rest()[..more]);
                self.cursor.at += more;
                let code = u32::from_str_radix(&octal, 8).ok();
                code.and_then(char::from_u32).unwrap_or('\u{fffd}')
            }
            Some(c) => c,
        }))
    }

    fn character(&mut self) -> Result<char, ReadError> {
        let at = self.cursor.at;
        self.cursor.bump();
        match self.cursor.bump() {
            None => Err(Problem::Truncated("a character").at(at)),
            Some('\\') => Ok(self.escape()?.unwrap_or('\n')),
            Some(c) => Ok(c),
        }
    }

    fn number(&mut self) -> Result<Node, ReadError> {
        let at = self.cursor.at;
        let negative = self.cursor.peek() == Some('-');
        if matches!(self.cursor.peek(), Some('-' | '+')) {
            self.cursor.bump();
        }
        let sign = if negative { "-" } else { "" };
        let whole = self.cursor.take_while(|c| c.is_ascii_digit() || c == '_');
        let whole = whole.replace('_', "");
        if self.cursor.eat("#") {
            let digits = self.cursor.take_while(char::is_alphanumeric);
            let radix = whole.parse().ok().filter(|r| (2..=36).contains(r));
            let value = radix.and_then(|r| i64::from_str_radix(&format!("{sign}{digits}"), r).ok());
            let value = value.ok_or_else(|| Problem::Number(format!("{whole}#{digits}")).at(at))?;
            return Ok(Node::new(at, Kind::Number(value.into())));
        }
        let mut digits = format!("{sign}{whole}");
        let fraction = self.cursor.rest().strip_prefix('.');
        if fraction.is_some_and(|f| f.starts_with(|c: char| c.is_ascii_digit())) {
            self.cursor.bump();
            digits.push('.');
            digits.push_str(self.cursor.take_while(|c| c.is_ascii_digit()));
            if matches!(self.cursor.peek(), Some('e' | 'E')) {
                self.cursor.bump();
                digits.push('e');
                digits.push_str(
                    self.cursor
                        .take_while(|c| c.is_ascii_digit() || "+-".contains(c)),
                );
            }
        }
        Ok(Node::new(at, Kind::Number(number(&digits, at)?)))
    }
}
