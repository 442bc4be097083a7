//! What must not be seen is not seen.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const KEY: &[u8] = b"a key";

const ELSEWHERE: &str = "b9882102e581189b5c8d16c361d03acdc2054cd79aa4e176045b99d17fd57134";

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|t| (*t).to_owned()).collect()
}

#[test]
fn secret_arguments_become_hashes() {
    let schema = json!({"properties": {
        "password": {"x-secret": true},
        "a/~b": {"properties": {"keys": {"items": {"writeOnly": true}}}},
        "vault": {"x-secret": true},
    }});
    let args = json!({"user": "u", "password": "hunter22", "a/~b": {"keys": ["k1", 2]}, "vault": {"x": [1]}});
    let hidden = hide(&schema, args.as_object().unwrap(), KEY);
    let hmac = |value: Value| json!({"hmac": hmac_of(KEY, &value)});
    assert_eq!(
        Value::Object(hidden),
        json!({
            "user": "u",
            "password": hmac(json!("hunter22")),
            "a/~b": {"keys": [hmac(json!("k1")), hmac(json!(2))]},
            "vault": hmac(json!({"x": [1]})),
        })
    );
}

#[test]
fn the_same_value_has_the_same_hash_under_one_key() {
    let value = json!({"a": 1, "b": [2.0]});
    assert_eq!(
        hmac_of(KEY, &value),
        hmac_of(KEY, &json!({"b": [2], "a": 1}))
    );
    assert_ne!(hmac_of(KEY, &value), hmac_of(b"another", &value));
    assert_ne!(hmac_of(KEY, &json!("1")), hmac_of(KEY, &json!(1)));
    // Computed with another program, over the text with its quotes.
    assert_eq!(hmac_of(KEY, &json!("hunter22")), ELSEWHERE);
    assert_eq!(hmac_of(&[7; 500], &json!(1)).len(), 64);
}

#[test]
fn texts_lose_their_secrets() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("nothing here", &["hunter22"], "nothing here"),
        (
            "a hunter22, hunter22!",
            &["hunter22"],
            "a [secret], [secret]!",
        ),
        ("hunter22hunter22", &["hunter22"], "[secret][secret]"),
        // One in another, in either order, and two that overlap.
        ("x hunter22 y", &["hunter", "hunter22"], "x [secret] y"),
        ("x hunter22 y", &["hunter22", "nter"], "x [secret] y"),
        ("abcdefgh", &["abcdef", "efgh"], "[secret]"),
        ("aabbccddee", &["bbcc", "ccdd", "aabbccddee"], "[secret]"),
        ("aaaaaa", &["aaaa"], "[secret]"),
        // Too short to look for.
        ("abc", &["abc", ""], "abc"),
        ("中文密码", &["中文密码"], "[secret]"),
        ("中文密", &["中文密"], "中文密"),
        // As JSON writes it.
        (
            r#"{"p":"a\"b\\c\nd"}"#,
            &["a\"b\\c\nd"],
            r#"{"p":"[secret]"}"#,
        ),
        (
            r#"{"p":"p\u00e4ss\ud83e\udd80"}"#,
            &["päss🦀"],
            r#"{"p":"[secret]"}"#,
        ),
        ("päss🦀", &["päss🦀"], "[secret]"),
        // A secret that looks like what stands for it.
        ("my secret", &["secret", "secr"], "my [secret]"),
        ("", &["hunter22"], ""),
    ];
    for (text, secrets, wanted) in cases {
        assert_eq!(redact(text, &strings(secrets)), *wanted, "{text}");
    }
    assert!(matches!(
        redact("abc", &strings(&["wxyz"])),
        Cow::Borrowed(_)
    ));
}

#[test]
fn values_lose_their_secrets() {
    let mut value = json!({
        "out": ["token=hunter22", {"hunter22": 1, "[secret]": 2}], "pin": 123456, "n": 12, "ok": true, "none": null,
        "hunter22 a": "b",
    });
    redact_value(&mut value, &strings(&["hunter22", "123456"]));
    assert_eq!(
        value,
        json!({
            "out": ["token=[secret]", {"[secret]": 1, "[secret] 2": 2}], "pin": "[secret]", "n": 12, "ok": true, "none": null,
            "[secret] a": "b",
        })
    );
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["out", "pin", "n", "ok", "none", "[secret] a"]);
}

/// Never part of anything that the functions write themselves.
fn secret() -> impl Strategy<Value = String> {
    "[A-Z\"\\\\\n/äß中🦀]{4,12}"
}

#[test]
fn what_cannot_be_looked_for_leaves_nothing() {
    let mut value = json!({"a": ["b", 1, true]});
    Needles::Everything.redact_value(&mut value);
    assert_eq!(value, json!({"[secret]": ["[secret]", "[secret]", true]}));
}

proptest! {
    #[test]
    fn no_secret_is_left_in_hidden_arguments(secret in secret(), note in "[a-z ]{0,9}", deep in 0usize..4) {
        let mut value = json!({"token": secret, "note": note});
        for _ in 0..deep {
            value = json!({"in": [value, {"token": [secret]}]});
        }
        let schema = json!({"properties": {
            "token": {"x-secret": true}, "in": {"items": {"$ref": "#"}}, "note": {},
        }});
        let hidden = Value::Object(hide(&schema, value.as_object().unwrap(), KEY));
        for form in forms(&secret) {
            prop_assert!(!hidden.to_string().contains(&form));
        }
        prop_assert!(hidden.to_string().contains(&hmac_of(KEY, &json!(secret))));
    }

    #[test]
    fn no_secret_is_left_in_texts(secrets in proptest::collection::vec(secret(), 1..4), parts in proptest::collection::vec((0usize..9, "[a-zA-Z\"\\\\/ ]{0,5}"), 0..9)) {
        let mut text = String::new();
        for (which, between) in parts {
            if let Some(secret) = secrets.get(which / 3) {
                text.push_str(&forms(secret)[which % 3]);
            }
            text.push_str(&between);
        }
        let mut value = json!({text.clone(): [text.clone()]});
        redact_value(&mut value, &secrets);
        let redacted = redact(&text, &secrets);
        for secret in &secrets {
            for form in forms(secret) {
                prop_assert!(!redacted.contains(&form), "{redacted} has {form}");
            }
            prop_assert_eq!(&value, &json!({redacted.clone(): [redacted]}));
        }
        // Once is enough.
        prop_assert_eq!(redact(&redacted, &secrets), redacted.as_ref());
    }
}

fn in_pieces(pieces: &[&[u8]], secrets: &[&str]) -> String {
    let secrets: Vec<String> = secrets.iter().map(|s| (*s).to_owned()).collect();
    let mut redactor = Redactor::new(&secrets);
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(redactor.push(piece.to_vec()));
    }
    out.extend(redactor.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn a_secret_in_pieces_is_found() {
    let cut = "hünter".as_bytes();
    for (pieces, secrets, shown) in [
        (&[&b"a hunter2 b"[..]][..], &["hunter2"][..], "a [secret] b"),
        (&[b"a hun", b"ter2 b"], &["hunter2"], "a [secret] b"),
        (
            &[b"h", b"u", b"n", b"t", b"e", b"r", b"2"],
            &["hunter2"],
            "[secret]",
        ),
        // What only looked like one is shown in the end.
        (&[b"a hun", b"dred"], &["hunter2"], "a hundred"),
        (&[b"a hun"], &["hunter2"], "a hun"),
        // One may begin in another.
        (&[b"abcd", b"xy"], &["abcd", "cdxyz"], "[secret]xy"),
        (&[b"abcd", b"xyz!"], &["abcd", "cdxyz"], "[secret]!"),
        (&[b"aaa", b"aaa"], &["aaaa"], "[secret]"),
        // A character may be cut, and what is no text is none.
        (&[&cut[..2], &cut[2..]], &["hünter"], "[secret]"),
        (
            &[b"\xff\xfe hun", b"ter2"],
            &["hunter2"],
            "\u{fffd}\u{fffd} [secret]",
        ),
        (&[b"one ", b"two"], &[], "one two"),
    ] {
        assert_eq!(in_pieces(pieces, secrets), shown, "{pieces:?}");
    }
}

#[test]
fn without_secrets_bytes_stay_as_they_are() {
    let mut redactor = Redactor::new(&[]);
    assert_eq!(redactor.push(vec![0xff, 0xc3]), [0xff, 0xc3]);
    assert!(redactor.finish().is_empty());
}
