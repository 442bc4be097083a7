//! What is kept, what is refused, and what goes.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use super::*;

fn store(quota: Option<u64>) -> (tempfile::TempDir, Blobs) {
    let dir = tempfile::tempdir().unwrap();
    let blobs = Blobs::open(&dir.path().join("objects"), quota).unwrap();
    (dir, blobs)
}

fn put(blobs: &Blobs, text: &[u8]) -> Hash {
    let hash = Hash::of(text);
    blobs.put(&hash, text).unwrap();
    hash
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let hashes = (0u32..).flat_map(|i| *Hash::of(&i.to_le_bytes()).as_bytes());
    hashes.take(length).collect()
}

#[test]
fn a_content_comes_back_and_is_kept_once() {
    let (_dir, blobs) = store(None);
    let hash = put(&blobs, b"hello");
    put(&blobs, b"hello");
    assert_eq!(blobs.read_small(&hash).unwrap(), b"hello");
    assert_eq!(blobs.list().unwrap().len(), 1);
    let big = noise(3_000_000);
    let (streamed, size) = blobs.put_stream(&mut &big[..]).unwrap();
    assert_eq!((streamed, size), (Hash::of(&big), 3_000_000));
    assert_eq!(blobs.read_small(&streamed).unwrap(), big);
}

#[test]
fn every_flipped_byte_is_seen() {
    let (_dir, blobs) = store(None);
    let hash = put(&blobs, b"some content that matters");
    let path = blobs.place(&hash);
    let packed = fs::read(&path).unwrap();
    for at in 0..packed.len() {
        let mut forged = packed.clone();
        forged[at] ^= 0x10;
        fs::write(&path, &forged).unwrap();
        let read = blobs.read_small(&hash);
        // A bit that does not change the content (of the frame's head) does no harm.
        let harmless = read
            .as_ref()
            .is_ok_and(|bytes| bytes == b"some content that matters");
        let seen = matches!(
            read,
            Err(Error::Image {
                why: ImageFault::Tampered,
                ..
            })
        );
        assert!(harmless || seen, "byte {at}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(
        blobs.read_small(&hash),
        Err(Error::Image {
            why: ImageFault::Missing,
            ..
        })
    ));
}

#[test]
fn what_exceeds_the_quota_is_refused() {
    let (_dir, blobs) = store(Some(10_000));
    put(&blobs, &noise(4_000));
    let big = noise(9_000);
    assert!(matches!(
        blobs.put(&Hash::of(&big), &big),
        Err(Error::Quota { .. })
    ));
    let bigger = noise(900_000);
    assert!(matches!(
        blobs.put_stream(&mut &bigger[..]),
        Err(Error::Quota { .. })
    ));
    assert!(!blobs.has(&Hash::of(&big)));
}

#[test]
fn a_capture_over_the_quota_changes_nothing() {
    let bench = crate::testing::Bench::with_quota(Some(1000));
    fs::write(bench.real.join("a"), noise(5000)).unwrap();
    let files = bench.files();
    files.write(Path::new("a"), b"new").unwrap();
    let before = crate::testing::snapshot(&bench.real);
    let error = files.finish(&bench.allowed(), &bench.blobs).unwrap_err();
    assert!(matches!(error, Error::Quota { .. }));
    assert_eq!(crate::testing::snapshot(&bench.real), before);
}

#[test]
fn expiry_is_told_before_anything_goes() {
    let (_dir, blobs) = store(None);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let kept = |days: u64, pinned, images: &[Hash]| Kept {
        id: Hash::of(&days.to_le_bytes()),
        at: now - Duration::from_secs(days * 86400),
        pinned,
        images: images.to_vec(),
    };
    let (shared, old, loose, pinned) = (
        put(&blobs, b"shared"),
        put(&blobs, b"old"),
        put(&blobs, b"loose"),
        put(&blobs, b"pinned"),
    );
    let all = [
        kept(9, false, &[shared, old]),
        kept(1, false, &[shared]),
        kept(8, true, &[pinned]),
    ];
    let week = Retention {
        now,
        age: Some(Duration::from_secs(7 * 86400)),
        bytes: None,
    };
    let gc = blobs.gc().unwrap();
    let plan = gc.plan(&all, &week).unwrap();
    assert_eq!(plan.expire, [all[0].id]);
    assert!(
        [shared, old, loose, pinned].iter().all(|h| blobs.has(h)),
        "only planned"
    );
    gc.sweep(&plan).unwrap();
    let left = [shared, old, loose, pinned].map(|h| blobs.has(&h));
    assert_eq!(left, [true, false, false, true]);

    // A clock that went back makes nothing old; a small quota takes the oldest first.
    let before = Retention {
        now: SystemTime::UNIX_EPOCH,
        ..week
    };
    assert!(
        blobs
            .gc()
            .unwrap()
            .plan(&all[1..], &before)
            .unwrap()
            .expire
            .is_empty()
    );
    let small = Retention {
        now,
        age: None,
        bytes: Some(1),
    };
    let plan = blobs.gc().unwrap().plan(&all[1..], &small).unwrap();
    assert_eq!(plan.expire, [all[1].id]);
}

#[test]
fn a_capture_under_way_holds_the_sweep_off() {
    let (_dir, blobs) = store(None);
    let lease = blobs.lease().unwrap();
    assert!(matches!(blobs.gc(), Err(Error::Busy { .. })));
    drop(lease);
    assert!(blobs.gc().is_ok());
}

#[test]
fn what_others_put_among_the_images_is_not_touched() {
    let (dir, blobs) = store(None);
    put(&blobs, b"ours");
    let precious = dir.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "mine").unwrap();
    fs::write(blobs.folder.join("zz"), "no folder").unwrap();
    std::os::unix::fs::symlink(&precious, blobs.folder.join("yy")).unwrap();
    let everything = Retention {
        now: SystemTime::now(),
        age: Some(Duration::ZERO),
        bytes: None,
    };
    let sweep = || {
        let gc = blobs.gc()?;
        let plan = gc.plan(&[], &everything)?;
        gc.sweep(&plan)
    };
    sweep().unwrap();
    assert_eq!(blobs.list().unwrap(), []);
    let tmp = blobs.folder.join("tmp");
    fs::remove_dir_all(&tmp).unwrap();
    std::os::unix::fs::symlink(&precious, &tmp).unwrap();
    assert!(sweep().is_err());
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    assert!(blobs.folder.join("zz").exists());
}
