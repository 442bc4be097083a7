//! Tests of vectors.

use std::fs;

use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::{VectorError, VectorFile, Vectors};
use crate::derived::FileError;

fn some() -> Vectors {
    let mut vectors = Vectors::new(3);
    for (line, vector) in [
        (7, [1.0, 0.0, 0.0]),
        (3, [0.0, 2.0, 0.0]),
        (9, [3.0, 3.0, 0.0]),
        (1, [0.0; 3]),
    ] {
        assert_eq!(vectors.push(line, &vector), Ok(true));
    }
    vectors
}

#[test]
fn the_nearest_come_first() {
    let vectors = some();
    let lines = |query: &[f32], k| -> Vec<u64> {
        vectors
            .nearest(query, k, None)
            .into_iter()
            .map(|(line, _)| line)
            .collect()
    };
    assert_eq!(lines(&[1.0, 0.1, 0.0], 3), [7, 9, 3]);
    assert_eq!(lines(&[0.1, 5.0, 0.0], 2), [3, 9]);
    assert_eq!(
        lines(&[0.0; 3], 2),
        [] as [u64; 0],
        "what points nowhere is near nothing"
    );
    assert_eq!(
        lines(&[1.0], 2),
        [] as [u64; 0],
        "another size is near nothing"
    );
    let score = vectors.nearest(&[1.0, 1.0, 0.0], 1, None)[0].1;
    assert!((score - 1.0).abs() < 0.01, "{score}");
}

#[test]
fn only_what_is_allowed_is_found() {
    let mut vectors = Vectors::new(2);
    for line in 0..1000u64 {
        vectors.push(line, &[1.0, line as f32]).unwrap();
    }
    let few: RoaringTreemap = [4, 500, 2000].into_iter().collect();
    let found = vectors.nearest(&[1.0, 0.0], 5, Some(&few));
    assert_eq!(
        found.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
        [4, 500]
    );
    let most: RoaringTreemap = (500..1000).collect();
    assert_eq!(vectors.nearest(&[1.0, 0.0], 1, Some(&most)).len(), 1);
    assert!(
        vectors
            .nearest(&[1.0, 0.0], 1000, Some(&most))
            .iter()
            .all(|(line, _)| *line >= 500)
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut vectors = some();
    assert_eq!(
        vectors.push(20, &[1.0]),
        Err(VectorError::Dims {
            found: 1,
            wanted: 3
        })
    );
    assert_eq!(
        vectors.push(20, &[f32::NAN, 0.0, 0.0]),
        Err(VectorError::NotFinite)
    );
    assert_eq!(
        vectors.push(7, &[0.0, 0.0, 1.0]),
        Ok(false),
        "a line keeps its vector"
    );
    assert_eq!(vectors.len(), 4);
}

#[test]
fn batches_are_kept_and_a_cut_one_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v");
    let mut file = VectorFile::open(&path, 2, "model").unwrap();
    assert_eq!(
        file.add(&[(1, vec![1.0, 0.0]), (2, vec![0.0, 1.0])])
            .unwrap(),
        2
    );
    let whole = fs::read(&path).unwrap();
    assert_eq!(
        file.add(&[(2, vec![1.0, 1.0]), (3, vec![1.0, 1.0])])
            .unwrap(),
        1
    );
    let both = file.vectors().clone();
    drop(file);
    assert_eq!(
        VectorFile::open(&path, 2, "model").unwrap().vectors(),
        &both
    );

    // Cut anywhere in the second batch: the first is there, and the second can come again.
    let long = fs::read(&path).unwrap();
    for cut in whole.len()..long.len() {
        fs::write(&path, &long[..cut]).unwrap();
        let mut file = VectorFile::open(&path, 2, "model").unwrap();
        assert_eq!(file.vectors().len(), 2, "cut at {cut}");
        file.add(&[(3, vec![1.0, 1.0])]).unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), long, "cut at {cut}");
    }
}

#[test]
fn what_a_cut_batch_left_does_not_follow_a_shorter_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v");
    let mut file = VectorFile::open(&path, 2, "model").unwrap();
    file.add(&[
        (1, vec![1.0, 0.0]),
        (2, vec![0.0, 1.0]),
        (3, vec![1.0, 1.0]),
    ])
    .unwrap();
    drop(file);
    let long = fs::read(&path).unwrap();
    fs::write(&path, &long[..long.len() - 1]).unwrap();
    let mut file = VectorFile::open(&path, 2, "model").unwrap();
    assert_eq!(file.add(&[(9, vec![1.0, 0.0])]).unwrap(), 1);
    drop(file);
    assert_eq!(
        VectorFile::open(&path, 2, "model").unwrap().vectors().len(),
        1
    );
    assert!(fs::read(&path).unwrap().len() < long.len() - 20);
}

#[test]
fn a_changed_file_of_vectors_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v");
    let mut file = VectorFile::open(&path, 2, "model").unwrap();
    file.add(&[(1, vec![1.0, 0.0])]).unwrap();
    drop(file);
    let damaged = |path: &std::path::Path, dims, label| {
        matches!(
            VectorFile::open(path, dims, label),
            Err(FileError::Damaged { .. } | FileError::Version { .. })
        )
    };
    assert!(damaged(&path, 2, "another"));
    assert!(damaged(&path, 3, "model"));
    let good = fs::read(&path).unwrap();
    let last = good.len() - 10;
    for at in [0, 9, 20, last] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert!(damaged(&path, 2, "model"), "byte {at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_byte_for_each_dimension_is_close_enough(
        a in proptest::collection::vec(-1e3f32..1e3, 16),
        b in proptest::collection::vec(-1e3f32..1e3, 16),
    ) {
        let norm = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
        prop_assume!(norm(&a) > 1.0 && norm(&b) > 1.0);
        let exact = a.iter().zip(&b).map(|(a, b)| a * b).sum::<f32>() / norm(&a) / norm(&b);
        let mut vectors = Vectors::new(16);
        vectors.push(1, &a).unwrap();
        let found = vectors.nearest(&b, 1, None)[0].1;
        prop_assert!((exact - found).abs() < 0.03, "{exact} {found}");
    }
}
