//! Checkpoints by themselves: signed, written, read, and refused.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

const AT: &str = "2026-03-01T12:00:00Z";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn head(seq: u64) -> Head {
    let hash = super::super::hash_of(&json!(seq)).unwrap();
    Head { seq, hash }
}

#[test]
fn a_line_says_it_all() {
    let checkpoint = Checkpoint::sign("node \"a\" 中", head(7), AT, &key(1)).unwrap();
    assert!(checkpoint.verify(&key(1).public()));
    let line = checkpoint.to_line();
    assert!(
        line.starts_with("{\"at\":\"2026-03-01T12:00:00Z\",\"hash\":\""),
        "{line}"
    );
    assert_eq!(Checkpoint::from_line(&line), Some(checkpoint));
}

#[test]
fn only_the_one_spelling_is_taken() {
    let line = Checkpoint::sign("a", head(7), AT, &key(1))
        .unwrap()
        .to_line();
    let cases = [
        line.replace("v1", "v2"),
        line.replacen('{', "{ ", 1),
        line.replacen('{', "{\"more\":1,", 1),
        line.replacen('{', "{\"seq\":7,", 1),
        line.replace("\"seq\":7", "\"seq\":7.0"),
        line.replace("\"seq\":7", "\"seq\":\"7\""),
        line.replace("\"node\":\"a\",", ""),
        format!("{line}\n"),
        "[]".to_owned(),
        String::new(),
    ];
    for case in cases {
        assert_eq!(Checkpoint::from_line(&case), None, "{case}");
    }
}

#[test]
fn no_bit_of_a_line_can_be_changed() {
    let public = key(1).public();
    let line = Checkpoint::sign("a", head(7), AT, &key(1))
        .unwrap()
        .to_line();
    for at in 0..line.len() {
        for bit in 0..8 {
            let mut bytes = line.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let changed = String::from_utf8(bytes).ok();
            let read = changed.as_deref().and_then(Checkpoint::from_line);
            assert!(!read.is_some_and(|c| c.verify(&public)), "{at}, bit {bit}");
        }
    }
}

#[test]
fn the_key_in_the_line_is_not_trusted() {
    let forged = Checkpoint::sign("a", head(7), AT, &key(2)).unwrap();
    assert!(forged.verify(&key(2).public()));
    assert!(!forged.verify(&key(1).public()));
    // Naming the right key over another's signature does not help.
    let renamed = Checkpoint {
        key: key(1).public(),
        ..forged
    };
    assert!(!renamed.verify(&key(1).public()));
}

#[test]
fn keys() {
    let secret = key(7);
    let public = secret.public();
    assert_eq!(PublicKey::parse(&public.to_string()), Some(public));
    assert_eq!(PublicKey::parse(&public.to_string().to_uppercase()), None);
    assert_eq!(PublicKey::parse("07"), None);
    // The neutral element: under it, one signature fits every message.
    assert_eq!(PublicKey::parse(&format!("01{}", "0".repeat(62))), None);
    assert_eq!(format!("{secret:?}"), format!("SigningKey(of {public})"));
    assert!(!format!("{secret:?}").contains(&"07".repeat(8)));
    assert_eq!(Signature::parse(&"G".repeat(128)), None);
}

/// The key pair and the signature of the first test of RFC 8032, 7.1.
#[test]
fn the_arithmetic_is_that_of_the_standard() {
    let secret = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let secret = SigningKey::from_bytes(&crate::hex::bytes(secret).unwrap());
    assert_eq!(
        secret.public().to_string(),
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    );
    assert_eq!(
        secret.sign(b"").to_string(),
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    );
}

proptest! {
    #[test]
    fn whatever_is_signed_comes_back(node in "\\PC*", at in ".*", seq in 0u64..1 << 53, seed: [u8; 32]) {
        let key = SigningKey::from_bytes(&seed);
        let checkpoint = Checkpoint::sign(node, head(seq), at, &key).unwrap();
        let read = Checkpoint::from_line(&checkpoint.to_line());
        prop_assert!(read.as_ref().is_some_and(|c| c.verify(&key.public())));
        prop_assert_eq!(read, Some(checkpoint));
    }
}
