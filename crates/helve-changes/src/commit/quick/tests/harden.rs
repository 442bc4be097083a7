//! What is brought to the disk, and what cannot be.

use std::os::unix::net::UnixListener;

use super::*;

fn placed(bench: &Bench, names: &[&str]) -> Vec<Changeset> {
    let one = |name: &&str| {
        let staged = quick(bench, name, "text");
        place(bench, &staged).unwrap();
        staged.changeset.clone()
    };
    names.iter().map(one).collect()
}

#[test]
fn many_are_hardened_at_once_and_what_is_gone_is_no_matter() {
    let bench = Bench::new();
    let names: Vec<String> = (0..20).map(|n| format!("f{n}")).collect();
    let all = placed(
        &bench,
        &names.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let harden = |all| bench.journal.harden(all, &bench.blobs);
    assert!(harden(&all).is_empty());
    fs::remove_file(bench.real.join("f0")).unwrap();
    fs::remove_file(bench.real.join("f1")).unwrap();
    fs::create_dir(bench.real.join("f1")).unwrap();
    assert!(harden(&all[..3]).is_empty());
    fs::remove_dir_all(&bench.real).unwrap();
    assert!(harden(&all).is_empty());
    assert!(harden(&all[..3]).is_empty());
}

/// Something that cannot be opened has no content to be synced.
#[test]
fn what_is_no_file_by_now_is_no_matter() {
    let bench = Bench::new();
    let all = placed(&bench, &["a"]);
    fs::remove_file(bench.real.join("a")).unwrap();
    let _socket = UnixListener::bind(bench.real.join("a")).unwrap();
    let troubles = bench.journal.harden(&all, &bench.blobs);
    assert!(troubles.is_empty(), "{troubles:?}");
}

#[test]
fn only_what_cannot_be_synced_is_told_of() {
    let bench = Bench::new();
    bench.put("d/other", "x");
    bench.put("e/other", "x");
    let all = placed(&bench, &["d/a", "d/b", "e/c"]);
    for (step, is_sync) in [("open to sync", false), ("sync", true)] {
        let stop = FailsAt::once(step);
        let troubles = bench.journal.harden_with(&all, &bench.blobs, &stop);
        let [Trouble { paths, error }] = &troubles[..] else {
            panic!("{troubles:?}");
        };
        assert_eq!(
            (paths.len(), error.is_failed_sync()),
            (1, is_sync),
            "{error:?}"
        );
    }
    // A folder is of all that was put into it.
    let stop = FailsAt("sync", AtomicUsize::new(0));
    for file in &all {
        fs::remove_file(&file.changes[0].path).unwrap();
    }
    let troubles = bench.journal.harden_with(&all, &bench.blobs, &stop);
    let paths = troubles.iter().flat_map(|t| &t.paths);
    assert_eq!((troubles.len(), paths.count()), (1, 2), "{troubles:?}");
}
