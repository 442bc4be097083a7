//! Values of PostgreSQL as the server itself writes and reads them: as text.
//!
//! That is exact for every type, also for those that nobody here has heard of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::BytesMut;
use serde_json::{Value, json};
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// A value that is bound to a statement, of whatever type the server takes it for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bound(pub(super) Option<String>);

impl ToSql for Bound {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.0 {
            None => Ok(IsNull::Yes),
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(IsNull::No)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

impl Bound {
    /// What a caller means by a value.
    pub(super) fn of_param(value: &Value, ty: &Type) -> Option<Self> {
        let text = match (value, ty.kind()) {
            (Value::Null, _) => return Some(Self(None)),
            (Value::String(text), _) => text.clone(),
            (Value::Array(items), Kind::Array(_)) => array(items)?,
            (Value::Object(map), _) if map.len() == 1 && map.contains_key("$blob") => {
                hex(&BASE64.decode(map["$blob"].as_str()?).ok()?)
            }
            (other, _) => other.to_string(),
        };
        (!text.contains('\0')).then_some(Self(Some(text)))
    }

    /// A value as [`kept`] wrote it.
    pub(super) fn of_kept(value: &Value) -> Option<Self> {
        Some(Self(match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            Value::Array(_) | Value::Object(_) => return None,
        }))
    }
}

fn array(items: &[Value]) -> Option<String> {
    let items = items.iter().map(|item| match item {
        Value::Null => Some("NULL".to_owned()),
        Value::Array(items) => array(items),
        Value::String(text) => Some(format!(
            "\"{}\"",
            text.replace('\\', "\\\\").replace('"', "\\\"")
        )),
        Value::Object(_) => None,
        other => Some(other.to_string()),
    });
    Some(format!(
        "{{{}}}",
        items.collect::<Option<Vec<_>>>()?.join(",")
    ))
}

/// A value so that exactly it can be put back, from the text of the server.
pub(super) fn kept(ty: &Type, text: Option<&str>) -> Value {
    let Some(text) = text else {
        return Value::Null;
    };
    let plain = match *ty {
        Type::INT2 | Type::INT4 | Type::INT8 => text.parse::<i64>().ok().map(Value::from),
        Type::BOOL => text.parse::<bool>().ok().map(Value::from),
        _ => None,
    };
    plain.unwrap_or_else(|| text.into())
}

/// A value for whoever reads it, from the text of the server.
pub(super) fn told(ty: &Type, text: Option<&str>) -> Value {
    let Some(text) = text else {
        return Value::Null;
    };
    let plain = match *ty {
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            text.parse::<i64>().ok().map(Value::from)
        }
        Type::BOOL => Some((text == "t").into()),
        Type::FLOAT4 | Type::FLOAT8 => {
            let number = text.parse::<f64>().ok();
            number
                .and_then(serde_json::Number::from_f64)
                .map(Value::from)
        }
        Type::JSON | Type::JSONB => serde_json::from_str(text).ok(),
        Type::BYTEA => unhex(text).map(|bytes| json!({"$blob": BASE64.encode(bytes)})),
        _ => None,
    };
    plain.unwrap_or_else(|| text.into())
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\\x{digits}")
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?;
    let pairs = (0..digits.len()).step_by(2);
    pairs
        .map(|i| u8::from_str_radix(digits.get(i..i + 2)?, 16).ok())
        .collect()
}
