//! Whatever a program does in an overlay, a copy or the view: committed, the real tree
//! is what the program saw; undone, it is what it was.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use crate::testing::*;
use crate::*;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    }
}

/// Captured → nothing has changed; committed → as the program saw it; undone → as it
/// was; undone again → as the program saw it.
fn there_and_back(bench: &Bench, staged: &Staged, before: &Snapshot, shown: &Snapshot) {
    assert_eq!(snapshot(&bench.real), *before, "a capture changes nothing");
    let read = Changeset::read(&staged.changeset.manifest()).unwrap();
    assert_eq!(read, staged.changeset);
    let stored = Staged::from_json(&staged.to_json()).unwrap();
    bench.commit(&stored).unwrap();
    let after = snapshot(&bench.real);
    assert_eq!(
        after.clone().unless_same(before),
        shown.clone().unless_same(before)
    );

    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    assert_eq!(back.already, Vec::<std::path::PathBuf>::new());
    bench.commit(&back.staged).unwrap();
    assert_eq!(snapshot(&bench.real), *before);

    let again = bench
        .undo(&[&back.staged.changeset], Later::Refuse)
        .unwrap();
    bench.commit(&again.staged).unwrap();
    assert_eq!(snapshot(&bench.real), after);
}

fn overlay_case(mount: Mount, first: &[Op], then: &[Op]) {
    let bench = Bench::new();
    run(&bench.real, first);
    let before = snapshot(&bench.real);
    let mut shown = bench.in_overlay(mount, then);
    let (books, indexed) = match mount {
        Mount::User => (Books::User, false),
        Mount::Root => (Books::Trusted, true),
        Mount::Plain => (Books::Trusted, false),
    };
    let overlay = bench.overlay(books, indexed);
    let staged = capture_overlay(&[overlay], &bench.allowed(), &bench.blobs).unwrap();
    if matches!(mount, Mount::User) {
        // Without file handles the kernel makes inode numbers up, and two names of one
        // file may show as two: the upper folder tells.
        shown = shown.with_links_of(&staged);
    }
    there_and_back(&bench, &staged, &before, &shown);
}

/// What stays is no change because another name came or went.
#[test]
fn only_the_name_that_came_or_went_is_a_change() {
    let bench = Bench::new();
    bench.put("a", "linked");
    bench.put("single", "x");
    std::fs::hard_link(bench.real.join("a"), bench.real.join("b")).unwrap();
    let copy = bench.at("copy");
    copy_tree(&bench.real, &copy).unwrap();
    std::fs::remove_file(copy.join("a")).unwrap();
    std::fs::hard_link(copy.join("single"), copy.join("twin")).unwrap();
    let copied = Copied {
        real: bench.real.clone(),
        copy,
    };
    let staged = capture_copy(&[copied], &bench.allowed(), &bench.blobs).unwrap();
    let told: Vec<_> = staged.changeset.entries().collect();
    let (a, twin) = (bench.real.join("a"), bench.real.join("twin"));
    assert_eq!(
        told,
        [
            (a.as_path(), Kind::Deleted),
            (twin.as_path(), Kind::Created)
        ]
    );
}

/// What a program wrote where the other kind of mount keeps its books is forged.
#[test]
fn forged_books_count_for_nothing() {
    let bench = Bench::new();
    bench.put("secret", "s");
    bench.put("d/x", "x");
    let upper = bench.at("upper");
    std::fs::create_dir(upper.join("d")).unwrap();
    std::fs::write(upper.join("f"), "mine").unwrap();
    let forge = |name: &str, mark: &str, value: &[u8]| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(upper.join(name), mark, value, flags).unwrap();
    };
    forge("d", "user.overlay.opaque", b"y");
    forge("f", "user.overlay.metacopy", b"");
    forge("f", "user.overlay.redirect", b"/secret");
    let overlay = bench.overlay(Books::Trusted, false);
    let staged = capture_overlay(&[overlay], &bench.allowed(), &bench.blobs).unwrap();
    let told: Vec<_> = staged.changeset.entries().collect();
    assert_eq!(told, [(bench.real.join("f").as_path(), Kind::Created)]);
    bench.commit(&staged).unwrap();
    assert_eq!(std::fs::read(bench.real.join("f")).unwrap(), b"mine");
    // And the true books lead nowhere but into the lower folder.
    forge("f", "trusted.overlay.metacopy", b"");
    forge("f", "trusted.overlay.redirect", b"/../secret");
    let overlay = bench.overlay(Books::Trusted, false);
    assert!(capture_overlay(&[overlay], &bench.allowed(), &bench.blobs).is_err());
}

fn without_chown(ops: Vec<Op>) -> Vec<Op> {
    ops.into_iter()
        .filter(|op| !matches!(op, Op::Chown(..)))
        .collect()
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn an_overlay_of_root_comes_back(first in ops(60), then in ops(40)) {
        overlay_case(Mount::Root, &first, &then);
    }

    #[test]
    fn a_plain_overlay_comes_back(first in ops(60), then in ops(40)) {
        overlay_case(Mount::Plain, &first, &then);
    }

    #[test]
    fn an_overlay_of_a_user_comes_back(first in ops(60), then in ops(40)) {
        overlay_case(Mount::User, &without_chown(first), &without_chown(then));
    }

    #[test]
    fn a_copy_comes_back(first in ops(60), then in ops(40)) {
        let bench = Bench::new();
        run(&bench.real, &first);
        let before = snapshot(&bench.real);
        let copy = bench.at("copy");
        copy_tree(&bench.real, &copy).unwrap();
        assert_eq!(snapshot(&copy), before);
        run(&copy, &then);
        let shown = snapshot(&copy);
        let copied = Copied { real: bench.real.clone(), copy };
        let staged = capture_copy(&[copied], &bench.allowed(), &bench.blobs).unwrap();
        there_and_back(&bench, &staged, &before, &shown);
    }

    #[test]
    fn the_view_comes_back(first in ops(60), then in ops(40)) {
        let bench = Bench::new();
        // What is new in a folder belongs to the folder's owner, unlike the system's way.
        run(&bench.real, &without_chown(first));
        let before = snapshot(&bench.real);
        // The same, on a copy, by the system itself.
        let copy = bench.at("copy");
        copy_tree(&bench.real, &copy).unwrap();
        let files = bench.files();
        for op in &then {
            run_in_view(&files, &copy, op);
        }
        let staged = files.finish(&bench.allowed(), &bench.blobs).unwrap();
        let shown = snapshot(&copy).contents();
        assert_eq!(snapshot(&bench.real), before, "a view changes nothing");
        bench.commit(&staged).unwrap();
        assert_eq!(snapshot(&bench.real).contents(), shown);
        let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
        bench.commit(&back.staged).unwrap();
        assert_eq!(snapshot(&bench.real), before);
    }
}
