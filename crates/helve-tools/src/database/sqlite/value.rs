//! The five kinds of values of SQLite, as JSON: exactly where a row is kept, readable
//! where it is told.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use serde_json::{Value, json};

/// A value that is bound to a statement.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::database) enum Bound {
    Null,
    Integer(i64),
    Real(f64),
    /// Texts need not be UTF-8.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl ToSql for Bound {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Bound::Null => ValueRef::Null,
            Bound::Integer(n) => ValueRef::Integer(*n),
            Bound::Real(n) => ValueRef::Real(*n),
            Bound::Text(text) => ValueRef::Text(text),
            Bound::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Bound {
    /// What a caller means by a value.
    pub(in crate::database) fn of_param(value: &Value) -> Option<Self> {
        Some(match value {
            Value::Null => Bound::Null,
            Value::Bool(yes) => Bound::Integer(i64::from(*yes)),
            Value::Number(n) => match n.as_i64() {
                Some(n) => Bound::Integer(n),
                None if n.is_u64() => return None,
                None => Bound::Real(n.as_f64()?),
            },
            Value::String(text) => Bound::Text(text.clone().into_bytes()),
            Value::Object(map) if map.len() == 1 && map.contains_key("$blob") => {
                Bound::Blob(BASE64.decode(map["$blob"].as_str()?).ok()?)
            }
            other => Bound::Text(other.to_string().into_bytes()),
        })
    }

    /// A value as [`kept`] wrote it.
    pub(in crate::database) fn of_kept(value: &Value) -> Option<Self> {
        let tagged = |name: &str| value.get(name).and_then(Value::as_str);
        Some(match value {
            Value::Null => Bound::Null,
            Value::Number(n) => Bound::Integer(n.as_i64()?),
            Value::String(text) => Bound::Text(text.clone().into_bytes()),
            _ if tagged("$real").is_some() => Bound::Real(tagged("$real")?.parse().ok()?),
            _ if tagged("$blob").is_some() => Bound::Blob(BASE64.decode(tagged("$blob")?).ok()?),
            _ if tagged("$text").is_some() => Bound::Text(BASE64.decode(tagged("$text")?).ok()?),
            _ => return None,
        })
    }
}

/// A value so that exactly it can be put back. Numbers with a point are texts, because JSON
/// readers may round them.
pub(in crate::database) fn kept(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => n.into(),
        ValueRef::Real(n) => json!({"$real": format!("{n:?}")}),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => json!({"$text": BASE64.encode(text)}),
        },
        ValueRef::Blob(bytes) => json!({"$blob": BASE64.encode(bytes)}),
    }
}

/// A value for whoever reads it.
pub(in crate::database) fn told(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Real(n) => match serde_json::Number::from_f64(n) {
            Some(n) => n.into(),
            None => n.to_string().into(),
        },
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        other => kept(other),
    }
}
