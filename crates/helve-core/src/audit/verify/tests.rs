//! Every way to tamper with a chain that was signed, tried.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Checkpoint, Hash, SigningKey};
use super::*;

fn key() -> SigningKey {
    SigningKey::from_bytes(&[1; 32])
}

fn record(i: u64) -> Value {
    json!({"who": format!("agent-{i}"), "args": {"path": "中", "n": i, "x": [1.5, null, true]}})
}

/// Entries out of records, from `head` on.
fn extend(mut head: Head, records: impl IntoIterator<Item = Value>) -> (Vec<String>, Vec<Head>) {
    let (mut lines, mut heads) = (Vec::new(), Vec::new());
    for record in records {
        let (entry, next) = head.append(record).unwrap();
        lines.push(entry.to_line());
        heads.push(next);
        head = next;
    }
    (lines, heads)
}

fn sign(head: Head) -> Checkpoint {
    Checkpoint::sign("a", head, "2026-03-01T12:00:00Z", &key()).unwrap()
}

/// Eight entries, signed after the third and the sixth.
fn signed() -> (Vec<String>, Vec<Head>, Vec<Checkpoint>) {
    let (lines, heads) = extend(Head::START, (1..=8).map(record));
    let checkpoints = vec![sign(heads[2]), sign(heads[5])];
    (lines, heads, checkpoints)
}

fn check(lines: &[String], checkpoints: &[Checkpoint]) -> Result<Verified, Broken> {
    verify_with(
        lines.iter().map(String::as_str),
        Head::START,
        checkpoints,
        &key().public(),
    )
}

#[test]
fn a_signed_chain_holds() {
    let (lines, heads, mut checkpoints) = signed();
    let holds = |head: Head, checkpoints, covered| {
        Ok(Verified {
            head,
            checkpoints,
            covered,
        })
    };
    assert_eq!(check(&lines, &checkpoints), holds(heads[7], 2, 6));
    // The order of checkpoints does not matter, nor that one is there twice.
    checkpoints.reverse();
    checkpoints.push(sign(heads[2]));
    assert_eq!(check(&lines, &checkpoints), holds(heads[7], 3, 6));
    assert_eq!(check(&lines, &[]), holds(heads[7], 0, 0));
    assert_eq!(check(&lines, &[sign(Head::START)]), holds(heads[7], 1, 0));
    assert_eq!(check(&[], &[sign(Head::START)]), holds(Head::START, 1, 0));
    // From the middle on, the checkpoint at the start is compared, too.
    let rest = || lines[3..].iter().map(String::as_str);
    let public = key().public();
    let verified = verify_with(rest(), heads[2], &[sign(heads[2])], &public);
    assert_eq!(verified, holds(heads[7], 1, 3));
    let other = sign(Head {
        seq: 3,
        hash: Hash::ZERO,
    });
    let broken = verify_with(rest(), heads[2], &[other], &public);
    assert_eq!(broken, Err(Broken::Forked { seq: 3 }));
    let broken = verify_with(rest(), heads[2], &[sign(heads[1])], &public);
    assert_eq!(broken, Err(Broken::BeforeStart { seq: 2, start: 3 }));
}

#[test]
fn no_bit_of_an_entry_can_be_changed() {
    let (lines, heads, _) = signed();
    let fresh = Verifier::new(Head::START, &[sign(heads[7])], &key().public()).unwrap();
    for (l, line) in lines.iter().enumerate() {
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let Ok(changed) = String::from_utf8(bytes) else {
                    continue;
                };
                let mut tampered = lines.clone();
                tampered[l] = changed;
                let mut verifier = fresh.clone();
                let whole = tampered.iter().all(|line| verifier.line(line).is_ok());
                assert!(!whole, "line {l}, byte {at}: {}", tampered[l]);
            }
        }
    }
}

#[test]
fn nothing_can_be_taken_added_swapped_or_cut() {
    let (lines, heads, mut checkpoints) = signed();
    checkpoints.push(sign(heads[7]));
    for i in 0..lines.len() {
        let mut without = lines.clone();
        without.remove(i);
        assert!(check(&without, &checkpoints).is_err(), "without {i}");
        let mut twice = lines.clone();
        twice.insert(i, lines[i].clone());
        assert!(check(&twice, &checkpoints).is_err(), "{i} twice");
        let mut swapped = lines.clone();
        swapped.swap(i, (i + 1) % lines.len());
        assert!(check(&swapped, &checkpoints).is_err(), "{i} swapped");
        let cut = Err(Broken::CutOff {
            signed: 8,
            found: i as u64,
        });
        assert_eq!(check(&lines[..i], &checkpoints), cut, "cut at {i}");
        let mut torn = lines.clone();
        torn[i].pop();
        let broken = Err(Broken::NotAnEntry { line: i + 1 });
        assert_eq!(check(&torn, &checkpoints), broken, "{i} torn");
    }
}

#[test]
fn a_chain_written_anew_is_found_out() {
    let (lines, heads, checkpoints) = signed();
    for from in 0..6_usize {
        let start = from.checked_sub(1).map_or(Head::START, |i| heads[i]);
        let records = (from as u64..8).map(|i| match i == from as u64 {
            true => json!({"who": "mallory"}),
            false => record(i + 1),
        });
        let mut forked = lines[..from].to_vec();
        forked.extend(extend(start, records).0);
        // It fits together, and only the checkpoint tells.
        assert!(check(&forked, &[]).is_ok());
        let seq = if from < 3 { 3 } else { 6 };
        let found = check(&forked, &checkpoints);
        assert_eq!(found, Err(Broken::Forked { seq }), "from {from}");
    }
}

#[test]
fn an_older_copy_is_found_out() {
    let (lines, _, checkpoints) = signed();
    let broken = check(&lines[..4], &checkpoints).unwrap_err();
    assert_eq!(
        broken.to_string(),
        "entry 6 was signed, but the record ends at entry 4: it was cut off, or this is an older copy"
    );
    // What comes after the last checkpoint is not covered, and that is said.
    assert_eq!(check(&lines[..6], &checkpoints).unwrap().covered, 6);
}

#[test]
fn only_the_given_key_counts() {
    let (lines, heads, mut checkpoints) = signed();
    let stranger = SigningKey::from_bytes(&[2; 32]);
    let foreign = Checkpoint::sign("a", heads[6], "now", &stranger).unwrap();
    let renamed = Checkpoint {
        key: key().public(),
        ..foreign.clone()
    };
    let redated = Checkpoint {
        at: "2020-01-01T00:00:00Z".to_owned(),
        ..checkpoints[0].clone()
    };
    let broken = Broken::ForeignKey {
        seq: 7,
        key: stranger.public(),
    };
    for (checkpoint, broken) in [
        (foreign, broken),
        (renamed, Broken::NotSigned { seq: 7 }),
        (redated, Broken::NotSigned { seq: 3 }),
    ] {
        checkpoints.push(checkpoint);
        assert_eq!(check(&lines, &checkpoints), Err(broken));
        checkpoints.pop();
    }
}

#[test]
fn what_is_broken_stays_broken() {
    let (lines, heads, checkpoints) = signed();
    let mut verifier = Verifier::new(Head::START, &checkpoints, &key().public()).unwrap();
    assert_eq!(verifier.line(&lines[0]).unwrap().seq, 1);
    let broken = Broken::Gap {
        wanted: 2,
        found: 3,
    };
    assert_eq!(verifier.line(&lines[2]), Err(broken.clone()));
    assert_eq!(verifier.line(&lines[1]), Err(broken.clone()));
    assert_eq!(verifier.line("no entry"), Err(broken.clone()));
    assert_eq!(verifier.head(), heads[0]);
    assert_eq!(verifier.finish(), Err(broken));
}

proptest! {
    // Signing is slow without optimization.
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever is recorded and signed verifies; with one entry written anew, it does not.
    #[test]
    fn any_chain(
        names in proptest::collection::vec("\\PC{0,12}", 1..12),
        every in 1usize..5,
        at: prop::sample::Index,
    ) {
        let records: Vec<Value> = names.iter().map(|n| json!({"who": n})).collect();
        let (lines, heads) = extend(Head::START, records.clone());
        let mut checkpoints: Vec<_> = heads.iter().step_by(every).copied().map(sign).collect();
        checkpoints.push(sign(*heads.last().unwrap()));
        let verified = check(&lines, &checkpoints).unwrap();
        prop_assert_eq!(verified.covered, lines.len() as u64);
        let mut forged = records;
        forged[at.index(names.len())] = json!({"who": "mallory", "n": 1});
        let found = check(&extend(Head::START, forged).0, &checkpoints);
        prop_assert!(matches!(found, Err(Broken::Forked { .. })), "{:?}", found);
    }
}
