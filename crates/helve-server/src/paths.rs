//! Paths in JSON: text, and where that is not all of it, the bytes beside it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// Puts a path under `name`; one that is not UTF-8 with its bytes, as hexadecimal
/// digits, under `<name>_bytes`.
pub(crate) fn put(value: &mut Value, name: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, Cow::Owned(_)) {
        value[format!("{name}_bytes")] = digits(bytes).into();
    }
    value[name] = text.into_owned().into();
}

fn digits(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // To write into memory does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes behind hexadecimal digits.
pub(crate) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_text_comes_with_its_bytes() {
        let mut value = json!({});
        put(&mut value, "path", "/ä".as_bytes());
        assert_eq!(value, json!({"path": "/ä"}));
        put(&mut value, "path", b"/\xff");
        assert_eq!(value, json!({"path": "/\u{fffd}", "path_bytes": "2fff"}));
        assert_eq!(bytes("2fff"), Some(b"/\xff".to_vec()));
        assert_eq!(bytes("2ff"), None);
        assert_eq!(bytes("zz"), None);
    }
}
