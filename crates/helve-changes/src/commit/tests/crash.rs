//! Killed at every step: afterwards it is all there, or none of it.

use super::*;

/// Dies, or fails, at one step.
struct Stop {
    at: usize,
    seen: std::sync::atomic::AtomicUsize,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    Dies,
    Fails,
}

impl Stop {
    fn new(at: usize, how: How) -> Self {
        let seen = Default::default();
        Self { at, seen, how }
    }
}

impl Probe for Stop {
    fn step(&self, _: &'static str) -> io::Result<()> {
        let seen = self.seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        match (seen == self.at, self.how) {
            (true, How::Dies) => std::process::abort(),
            (true, How::Fails) => Err(io::Error::from_raw_os_error(28)),
            _ => Ok(()),
        }
    }
}

const SURVIVED: i32 = 42;

/// Commits or recovers in the current folder, and dies at the step in `stop`.
pub(crate) fn helper(name: &str) {
    let at: usize = fs::read_to_string("stop").unwrap().parse().unwrap();
    let stop = Stop::new(at, How::Dies);
    let base = std::env::current_dir().unwrap();
    let blobs = Blobs::open(&base.join("objects"), None).unwrap();
    let journal = Journal::open(&base.join("journal")).unwrap();
    match name {
        "commit" => {
            let staged = Staged::from_json(&fs::read("staged").unwrap()).unwrap();
            let allowed = Allowed::just(&staged.changeset);
            journal
                .commit_with(&staged, &allowed, &blobs, &stop)
                .unwrap();
        }
        "recover" => {
            journal.recover_with(&blobs, &stop).unwrap();
        }
        "full disk" => return super::attacks::full_disk(),
        "stranger" => return super::attacks::stranger(),
        _ => panic!("no helper `{name}`"),
    }
    #[expect(clippy::exit, reason = "tells the parent that nothing stopped it")]
    std::process::exit(SURVIVED);
}

/// Everything that a changeset can do, in few steps.
fn scene() -> (Bench, Staged) {
    let bench = Bench::new();
    bench.put("changed", "old\n");
    bench.put("deleted", "old\n");
    bench.put("folder/in it", "x");
    bench.put("was file", "f");
    bench.put("was folder/deep/x", "x");
    bench.put("one", "linked");
    fs::hard_link(bench.real.join("one"), bench.real.join("two")).unwrap();
    symlink("changed", bench.real.join("link")).unwrap();
    let ops = [
        Op::Write(raw("changed"), "new\n".into()),
        Op::Remove(raw("deleted")),
        Op::Rename(raw("folder"), raw("moved")),
        Op::Remove(raw("was file")),
        Op::Mkdir(raw("was file")),
        Op::Write(raw("was file/x"), "x".into()),
        Op::RemoveAll(raw("was folder")),
        Op::Write(raw("was folder"), "f".into()),
        Op::Append(raw("one"), " and changed".into()),
        Op::Remove(raw("link")),
        Op::Symlink(raw("moved"), raw("link")),
        Op::Chmod(raw("moved"), 0o700),
        Op::Link(raw("changed"), raw("third")),
    ];
    bench.in_overlay(Mount::Root, &ops);
    let overlay = bench.overlay(Books::Trusted, true);
    let staged = capture_overlay(&[overlay], &bench.allowed(), &bench.blobs).unwrap();
    fs::write(bench.at("staged"), staged.to_json()).unwrap();
    (bench, staged)
}

fn raw(name: &str) -> Raw {
    Raw(name.as_bytes().to_vec())
}

/// Runs a helper that dies at a step; whether it got to the end.
fn dies_at(bench: &Bench, name: &str, at: usize) -> bool {
    fs::write(bench.at("stop"), at.to_string()).unwrap();
    let output = helper_of(name, bench);
    match output.status.code() {
        Some(SURVIVED) => true,
        None => false,
        code => panic!("{code:?}: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn helper_of(name: &str, bench: &Bench) -> std::process::Output {
    crate::testing::helper(&mut myself(), name, bench.dir.path())
}

#[test]
fn a_commit_killed_at_every_step_is_all_or_nothing() {
    let (bench, staged) = scene();
    all_or_nothing(&bench, &staged);
}

#[test]
fn an_undo_killed_at_every_step_is_all_or_nothing() {
    let (bench, staged) = scene();
    bench.commit(&staged).unwrap();
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    fs::write(bench.at("staged"), back.staged.to_json()).unwrap();
    all_or_nothing(&bench, &back.staged);
}

fn all_or_nothing(bench: &Bench, staged: &Staged) {
    let before = snapshot(&bench.real);
    let id = staged.changeset.id();
    for at in 1.. {
        let ended = dies_at(bench, "commit", at);
        let told = bench.journal.recover(&bench.blobs).unwrap();
        let outcome = told.first().map_or(Outcome::RolledBack, |t| t.outcome);
        assert!(
            told.iter().all(|t| t.id == id && t.left.is_empty()),
            "{told:?}"
        );
        bench.journal.settle(&id).unwrap();
        if outcome == Outcome::RolledBack {
            assert_eq!(snapshot(&bench.real), before, "step {at}");
            assert!(!ended);
            continue;
        }
        // From the step on at which it was all there.
        let now = crate::commit::scan(
            &trees(&staged.changeset).unwrap(),
            &staged.changeset,
            &Default::default(),
        )
        .unwrap();
        for change in &staged.changeset.changes {
            assert!(
                now.state(&change.path).unwrap().same_linked(&change.after),
                "step {at}: {}",
                change.path.display()
            );
        }
        assert!(at > 20, "there are more steps than that");
        return;
    }
}

#[test]
fn a_commit_that_fails_at_any_step_is_taken_back() {
    let (bench, staged) = scene();
    let before = snapshot(&bench.real);
    let allowed = bench.allowed();
    for at in 1.. {
        let stop = Stop::new(at, How::Fails);
        let result = bench
            .journal
            .commit_with(&staged, &allowed, &bench.blobs, &stop);
        let told = bench.journal.recover(&bench.blobs).unwrap();
        match result {
            Ok(_) => {
                assert!(at > 20);
                return;
            }
            Err(_) if told.iter().any(|t| t.outcome == Outcome::Committed) => return,
            Err(error) => {
                assert!(matches!(error, Error::Io { .. }), "{error:?}");
                assert_eq!(snapshot(&bench.real), before, "step {at}");
            }
        }
        bench.journal.settle(&staged.changeset.id()).unwrap();
    }
}

#[test]
fn a_recovery_killed_at_every_step_is_recovered() {
    let (bench, staged) = scene();
    let before = snapshot(&bench.real);
    // In the middle of the renames, so that there is much to take back.
    let steps = steps_of(&staged, &bench);
    for at in 1.. {
        assert!(!dies_at(&bench, "commit", steps - 8));
        let ended = dies_at(&bench, "recover", at);
        bench.journal.recover(&bench.blobs).unwrap();
        bench.journal.settle(&staged.changeset.id()).unwrap();
        assert_eq!(snapshot(&bench.real), before, "step {at}");
        if ended {
            assert!(at > 10);
            return;
        }
    }
}

/// How many steps it takes.
fn steps_of(staged: &Staged, bench: &Bench) -> usize {
    let stop = Stop::new(usize::MAX, How::Fails);
    let allowed = bench.allowed();
    bench
        .journal
        .commit_with(staged, &allowed, &bench.blobs, &stop)
        .unwrap();
    bench.journal.settle(&staged.changeset.id()).unwrap();
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    bench.commit(&back.staged).unwrap();
    stop.seen.into_inner()
}

#[test]
fn what_others_changed_after_a_crash_is_left_and_named() {
    let (bench, staged) = scene();
    let steps = steps_of(&staged, &bench);
    assert!(!dies_at(&bench, "commit", steps - 8));
    fs::write(bench.real.join("changed"), "a third").unwrap();
    let told = bench.journal.recover(&bench.blobs).unwrap();
    let left: Vec<_> = told[0].left.iter().map(|c| c.path.clone()).collect();
    assert!(left.contains(&bench.real.join("changed")), "{told:?}");
    assert_eq!(fs::read(bench.real.join("changed")).unwrap(), b"a third");
    assert_eq!(fs::read(bench.real.join("was file")).unwrap(), b"f");
}

#[test]
fn a_tampered_before_image_is_never_restored() {
    let (bench, staged) = scene();
    bench.commit(&staged).unwrap();
    let change = staged.changeset.get(&bench.real.join("deleted")).unwrap();
    let hash = change.before.file().unwrap().sha256;
    let name = hash.to_string();
    let path = bench.at("objects").join(&name[..2]).join(&name[2..]);
    fs::write(&path, zstd::encode_all(&b"forged"[..], 1).unwrap()).unwrap();
    let before = snapshot(&bench.real);
    let back = bench.undo(&[&staged.changeset], Later::Refuse).unwrap();
    let error = bench.commit(&back.staged).unwrap_err();
    assert!(
        matches!(error, Error::Image { hash: h, why: ImageFault::Tampered } if h == hash),
        "{error:?}"
    );
    assert_eq!(snapshot(&bench.real), before);
}
