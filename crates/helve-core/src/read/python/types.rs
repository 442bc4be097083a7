//! Python's type expressions, as far as tool parameters use them.

use std::fmt;

use super::super::lexer::Cursor;
use super::super::{MAX_DEPTH, Problem, ReadError, syntax};
use super::Python;
use crate::node::Kind;
use serde_json::Value;

/// `str`, `list[str]`, `Annotated[int, "how many"]`, `str | None`.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A name, without its module.
    Name(String),
    /// A name with arguments in brackets.
    Of(String, Vec<Arg>),
    /// `A | B`.
    Union(Vec<Type>),
}

/// An argument of a [`Type::Of`].
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A type.
    Type(Type),
    /// A literal, as in `Literal["a"]` or `Annotated[str, "what it is"]`.
    Value(Value),
}

const NAMES: &[&str] = &[
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "None",
    "Any",
    "object",
    "tuple",
    "set",
    "bytes",
    "List",
    "Dict",
    "Tuple",
    "Set",
    "Optional",
    "Union",
    "Literal",
    "Annotated",
    "Sequence",
    "Mapping",
];

impl Type {
    /// Whether every name in it is one of Python's own.
    pub fn is_known(&self) -> bool {
        let known = |name: &str| NAMES.contains(&name);
        match self {
            Type::Name(name) => known(name),
            Type::Of(name, args) => {
                known(name)
                    && args.iter().all(|a| match a {
                        Arg::Type(ty) => ty.is_known(),
                        Arg::Value(_) => true,
                    })
            }
            Type::Union(types) => types.iter().all(Type::is_known),
        }
    }
}

/// Reads a type expression that stands alone.
pub fn parse_type(text: &str) -> Result<Type, ReadError> {
    let mut cursor = Cursor::new(text);
    cursor.take_while(char::is_whitespace);
    let ty = read(&mut cursor, 0)?;
    cursor.take_while(char::is_whitespace);
    match cursor.done() {
        true => Ok(ty),
        false => Err(cursor.unexpected("the end", "a type")),
    }
}

pub(super) fn read(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, ReadError> {
    let mut types = vec![single(cursor, depth)?];
    loop {
        let end = cursor.at;
        cursor.take_while(char::is_whitespace);
        if !cursor.eat("|") {
            cursor.at = end;
            break;
        }
        cursor.take_while(char::is_whitespace);
        types.push(single(cursor, depth)?);
    }
    Ok(match types.len() {
        1 => types.swap_remove(0),
        _ => Type::Union(types),
    })
}

fn single(cursor: &mut Cursor<'_>, depth: usize) -> Result<Type, ReadError> {
    if depth > MAX_DEPTH {
        return Err(Problem::TooDeep.at(cursor.at));
    }
    let mut name = cursor.word();
    while cursor.eat(".") {
        name = cursor.word();
    }
    if name.is_empty() {
        return Err(cursor.unexpected("a type", "a type"));
    }
    if !cursor.eat("[") {
        return Ok(Type::Name(name.to_owned()));
    }
    let mut args = Vec::new();
    loop {
        cursor.take_while(char::is_whitespace);
        if cursor.eat("]") {
            break;
        }
        args.push(argument(cursor, depth + 1)?);
        cursor.take_while(char::is_whitespace);
        if !cursor.eat(",") && cursor.peek() != Some(']') {
            return Err(cursor.unexpected("`,` or `]`", "a type"));
        }
    }
    Ok(Type::Of(name.to_owned(), args))
}

fn argument(cursor: &mut Cursor<'_>, depth: usize) -> Result<Arg, ReadError> {
    let at = cursor.at;
    let first = cursor.peek();
    let word = cursor.word();
    let string = matches!(cursor.peek(), Some('"' | '\''));
    cursor.at = at;
    let literal = string
        || matches!(word, "True" | "False")
        || first.is_some_and(|c| c.is_ascii_digit() || "-+.{[(".contains(c));
    if !literal {
        return read(cursor, depth).map(Arg::Type);
    }
    let mut python = Python::new(cursor.text);
    python.cursor.at = at;
    let node = python.expression(depth)?;
    cursor.at = python.cursor.at;
    match node.kind {
        Kind::Object(_) => Err(syntax(at, "a dict has no place in a type")),
        _ => Ok(Arg::Value(node.to_value())),
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Name(name) => f.write_str(name),
            Type::Of(name, args) => {
                write!(f, "{name}[")?;
                for (i, arg) in args.iter().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    match arg {
                        Arg::Type(ty) => write!(f, "{comma}{ty}")?,
                        Arg::Value(value) => {
                            write!(f, "{comma}{}", crate::write::python::inline(value))?;
                        }
                    }
                }
                f.write_str("]")
            }
            Type::Union(types) => {
                for (i, ty) in types.iter().enumerate() {
                    let bar = if i > 0 { " | " } else { "" };
                    write!(f, "{bar}{ty}")?;
                }
                Ok(())
            }
        }
    }
}
