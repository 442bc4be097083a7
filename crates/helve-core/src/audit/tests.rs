//! Every way to tamper with a chain, tried.

#![allow(clippy::unwrap_used)]

use super::*;

fn chain(length: u64) -> (Vec<String>, Head) {
    let mut head = Head::START;
    let mut lines = Vec::new();
    for i in 0..length {
        let record = json!({"who": format!("agent-{i}"), "what": {"tool": "file_read", "args": {"path": "中", "n": i}}});
        let (entry, next) = head.append(record).unwrap();
        lines.push(entry.to_line());
        head = next;
    }
    (lines, head)
}

fn check(lines: &[String], end: Option<Head>) -> Result<Head, Broken> {
    verify(lines.iter().map(String::as_str), Head::START, end)
}

/// The formula, written out: what any other verifier computes.
#[test]
fn a_hash_covers_the_hash_before_and_the_canonical_entry() {
    let mut head = Head::START;
    for record in [json!({"b": [1.0, "é"], "a": null}), json!("x"), json!({})] {
        let whole = canonical(&json!({"seq": head.seq + 1, "record": record})).unwrap();
        let wanted = Hash::of(&[head.hash.as_bytes().as_slice(), &whole].concat());
        assert_eq!(head.after(&canonical(&record).unwrap()).hash, wanted);
        let (entry, next) = head.append(record).unwrap();
        assert_eq!((entry.hash, next.hash), (wanted, wanted));
        head = next;
    }
    assert_eq!(Hash::from_bytes(*head.hash.as_bytes()), head.hash);
}

#[test]
fn a_whole_chain_holds() {
    let (lines, head) = chain(20);
    assert_eq!(check(&lines, Some(head)), Ok(head));
    // And from any place on, for those who have checked the first part.
    let (first, middle) = chain(7);
    assert_eq!(
        verify(
            lines[first.len()..].iter().map(String::as_str),
            middle,
            Some(head)
        ),
        Ok(head)
    );
    assert_eq!(check(&[], Some(Head::START)), Ok(Head::START));
}

#[test]
fn no_byte_can_be_changed() {
    let (lines, head) = chain(3);
    for (l, line) in lines.iter().enumerate() {
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else {
                continue;
            };
            let mut tampered = lines.clone();
            tampered[l] = changed;
            assert!(
                check(&tampered, Some(head)).is_err(),
                "line {l}, byte {at}: {}",
                tampered[l]
            );
        }
    }
}

#[test]
fn nothing_can_be_taken_added_swapped_or_cut() {
    let (lines, head) = chain(6);
    for i in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(i);
        assert!(check(&without, Some(head)).is_err(), "without {i}");
        let mut twice = lines.clone();
        twice.insert(i, lines[i].clone());
        assert!(check(&twice, Some(head)).is_err(), "{i} twice");
        let mut swapped = lines.clone();
        swapped.swap(i, (i + 1) % lines.len());
        assert!(check(&swapped, Some(head)).is_err(), "{i} swapped");
    }
    // A chain cut at its end is whole in itself; only the head kept elsewhere tells.
    assert!(check(&lines[..4], None).is_ok());
    assert_eq!(
        check(&lines[..4], Some(head)),
        Err(Broken::WrongEnd {
            wanted: 6,
            found: 4
        })
    );
    let mut forked = lines[..5].to_vec();
    let (_, five) = chain(5);
    forked.push(five.append(json!({"who": "mallory"})).unwrap().0.to_line());
    assert_eq!(check(&forked, Some(head)), Err(Broken::Changed { seq: 6 }));
}

#[test]
fn the_canonical_form_is_one() {
    let bytes = |v: &Value| String::from_utf8(canonical(v).unwrap()).unwrap();
    assert_eq!(
        bytes(&json!({"b": 1, "a": [1.0, 1e21, "\u{e9}\n"]})),
        "{\"a\":[1,1e+21,\"é\\n\"],\"b\":1}"
    );
    let one = hash_of(&json!({"a": 1, "b": 2})).unwrap();
    assert_eq!(one, hash_of(&json!({"b": 2, "a": 1})).unwrap());
    assert_ne!(one, hash_of(&json!({"a": 2, "b": 1})).unwrap());
    assert_eq!(Hash::parse(&one.to_string()), Some(one));
    assert_eq!(Hash::parse("00"), None);
    assert_eq!(Hash::parse(&"G".repeat(64)), None);
    assert_eq!(Hash::parse(&"A".repeat(64)), None);
}

/// The value with large whole numbers as they stand in the canonical form.
fn exact(value: &Value) -> Value {
    match value {
        Value::Number(n) if !n.is_f64() && n.as_f64().unwrap().abs() >= 2_f64.powi(53) => {
            match n.as_u64() == Some(1 << 53) || n.as_i64() == Some(-(1 << 53)) {
                true => value.clone(),
                false => json!({"$integer": n.to_string()}),
            }
        }
        Value::Array(items) => items.iter().map(exact).collect(),
        Value::Object(map) => {
            let map = map.iter().map(|(key, value)| (key.clone(), exact(value)));
            Value::Object(map.collect())
        }
        other => other.clone(),
    }
}

/// What is written here by hand is what the crate for it writes.
#[test]
fn the_canonical_form_is_the_one_of_the_rfc() {
    let theirs = |v: &Value| serde_json_canonicalizer::to_vec(&exact(v)).unwrap();
    let edges = json!([
        [0, -1, 9_007_199_254_740_991_i64, 9_007_199_254_740_992_i64, 9_007_199_254_740_993_i64],
        [i64::MIN, i64::MAX, u64::MAX, 0.0, -0.0, 1e-7, 0.1, 1e300, 333333333.3333333],
        {"\u{20ac}": 1, "\r": 2, "\u{fb33}": 3, "1": 4, "\u{1f600}": 5, "\u{80}": 6, "": {}, "\u{ffff}": []},
        ["\u{0}\u{1f}\u{7f}\u{2028}\"\\/\u{8}\u{c}", null, true, false],
    ]);
    assert_eq!(canonical(&edges).unwrap(), theirs(&edges));
    proptest::proptest!(|(value in crate::testing::value())| {
        assert_eq!(canonical(&value).unwrap(), theirs(&value));
    });
}

/// The first link, computed with another program.
#[test]
fn the_arithmetic_is_as_it_says() {
    let (entry, _) = Head::START.append(json!({"a": 1})).unwrap();
    let elsewhere = "e5137d0b5ff75a6ff23ef73e1df3263869a4e0d55684f8936168e0696ef2cf83";
    assert_eq!(entry.hash.to_string(), elsewhere);
}

#[test]
fn large_numbers_are_told_apart() {
    let big = |n: u64| hash_of(&json!({"id": n, "more": [n]})).unwrap();
    let limit = 1 << 53;
    for n in [limit, limit + 1, u64::MAX - 1] {
        assert_ne!(big(n), big(n + 1), "{n}");
    }
    assert_ne!(hash_of(&json!(i64::MIN)), hash_of(&json!(i64::MIN + 1)));
    // Up to there, the standard's own form.
    assert_eq!(canonical(&json!(limit)).unwrap(), b"9007199254740992");
}
