//! A value of JSON that should be a string, but may be a number.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A string, a number or a truth value as its text; nothing where it is null or absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loose<'a>(pub(crate) Cow<'a, str>);

impl Loose<'_> {
    /// Its text, where it has one.
    pub(crate) fn some(&self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.clone().into_owned())
    }

    /// Its text.
    pub(crate) fn get(&self) -> String {
        self.0.clone().into_owned()
    }

    /// Its number.
    pub(crate) fn number(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    /// Whether it says yes.
    pub(crate) fn truth(&self) -> Option<bool> {
        match &*self.0 {
            "1" | "true" | "True" | "TRUE" | "是" => Some(true),
            "0" | "false" | "False" | "FALSE" | "否" => Some(false),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Scalar).map(Self)
    }
}

struct Scalar;

impl<'de> Visitor<'de> for Scalar {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_borrowed_str<E: Error>(self, v: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(v))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_owned()))
    }

    fn visit_string<E: Error>(self, v: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(v.to_string()))
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(if v { "true" } else { "false" }))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }
}

/// The first that is not empty.
pub(crate) fn first(of: &[&str]) -> String {
    let found = of.iter().find(|text| !text.is_empty());
    found.map_or_else(String::new, |text| (*text).to_owned())
}
