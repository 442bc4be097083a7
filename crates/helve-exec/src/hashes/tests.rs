//! A change is seen however soon it comes.

#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;

#[test]
fn small_and_large_files_have_the_same_hash_as_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for length in [0, 1, SMALL as usize, SMALL as usize + 1, 700_000] {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Hashes::default().of(&path).unwrap(), Hash::of(&bytes));
    }
}

#[test]
fn a_change_right_after_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let hashes = Hashes::default();
    for i in 0..200 {
        // The same length, the same inode, and most often the same tick.
        let text = format!("{i:04}");
        fs::write(&path, &text).unwrap();
        assert_eq!(hashes.of(&path).unwrap(), Hash::of(text.as_bytes()));
    }
    assert!(hashes.known().is_empty());
}

#[test]
fn a_file_left_alone_is_remembered() {
    let hashes = Hashes::default();
    let path = Path::new("/bin/sh");
    let first = hashes.of(path).unwrap();
    assert_eq!(hashes.known().len(), 1);
    let stamp = *hashes.known().keys().next().unwrap();
    // What is remembered is what is answered.
    hashes.known().insert(stamp, Hash::ZERO);
    assert_eq!(hashes.of(path).unwrap(), Hash::ZERO);
    assert_ne!(first, Hash::ZERO);
}
