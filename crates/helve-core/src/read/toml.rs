//! TOML, by the `toml` crate's own spans.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{MAX_DEPTH, Problem, ReadError, number, syntax};
use crate::node::{Entry, Kind, Node};

pub(super) fn read(text: &str) -> Result<Node, ReadError> {
    // The crate's own limit lies below ours and is told only by its message.
    let table = DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |s| s.start);
        let message = e.message();
        if message.contains("max recursion depth") {
            Problem::TooDeep.at(at)
        } else if let Some(key) = message.strip_prefix("duplicate key") {
            syntax(at, format!("not TOML: a key is given twice{key}"))
        } else {
            syntax(at, format!("not TOML: {message}"))
        }
    })?;
    let entries = entries(table.get_ref(), 0)?;
    Ok(Node::new(0, Kind::Object(entries)))
}

fn entries(table: &DeTable<'_>, depth: usize) -> Result<Vec<Entry>, ReadError> {
    table
        .iter()
        .map(|(key, item)| {
            Ok(Entry {
                at: key.span().start,
                key: key.get_ref().to_string(),
                value: value(item, depth + 1)?,
            })
        })
        .collect()
}

fn value(item: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, ReadError> {
    let at = item.span().start;
    if depth > MAX_DEPTH {
        return Err(Problem::TooDeep.at(at));
    }
    let kind = match item.get_ref() {
        DeValue::String(s) => Kind::String(s.to_string()),
        DeValue::Boolean(b) => Kind::Bool(*b),
        DeValue::Integer(n) => {
            let refuse = || Problem::Number(n.to_string()).at(at);
            let digits = n.as_str().replace('_', "");
            Kind::Number(match n.radix() {
                10 => number(digits.trim_start_matches('+'), at)?,
                radix => i64::from_str_radix(&digits, radix)
                    .map_err(|_| refuse())?
                    .into(),
            })
        }
        DeValue::Float(f) => {
            let digits = f.as_str().replace('_', "");
            Kind::Number(number(&digits, at)?)
        }
        DeValue::Datetime(date) => {
            let message = format!("`{date}` is a TOML date, which JSON lacks; put it in quotes");
            return Err(syntax(at, message));
        }
        DeValue::Array(items) => Kind::Array(
            items
                .iter()
                .map(|i| value(i, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => Kind::Object(entries(table, depth)?),
    };
    Ok(Node::new(at, kind))
}
