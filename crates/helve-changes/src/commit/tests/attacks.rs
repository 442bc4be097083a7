//! Links that are swapped while we work, a full disk, and who is not root.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// A folder on the way, and a link that leads outside, to be swapped.
struct Swap {
    folder: PathBuf,
    evil: PathBuf,
    kept: PathBuf,
    at: usize,
    seen: AtomicUsize,
}

impl Swap {
    fn in_place(&self) {
        let _ = fs::rename(&self.folder, &self.kept);
        let _ = fs::rename(&self.evil, &self.folder);
    }

    fn back(&self) {
        if self.folder.is_symlink() {
            let _ = fs::rename(&self.folder, &self.evil);
        }
        let _ = fs::rename(&self.kept, &self.folder);
    }
}

impl Probe for Swap {
    fn step(&self, _: &'static str) -> io::Result<()> {
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.in_place();
        }
        Ok(())
    }
}

/// At every step of a commit a folder on the way becomes a link that leads outside.
#[test]
fn a_link_swapped_in_at_any_step_never_leads_outside() {
    swapped_at_any_step(|f| {
        f.write(Path::new("d/in/x"), b"new").unwrap();
        f.write(Path::new("d/in/new"), b"new").unwrap();
        f.remove(Path::new("d/in/gone")).unwrap();
        f.create_dir_all(Path::new("d/in/deep")).unwrap();
    });
    swapped_at_any_step(|f| {
        f.write(Path::new("d/in/new"), b"new").unwrap();
        f.write(Path::new("d/in/newer"), b"new").unwrap();
    });
}

fn swapped_at_any_step(change: impl Fn(&Files)) {
    let bench = Bench::new();
    let outside = bench.at("outside");
    // Deeper than the link, where only the whole way tells.
    fs::create_dir_all(outside.join("in")).unwrap();
    for name in ["in/x", "in/gone"] {
        fs::write(outside.join(name), "old").unwrap();
        bench.put(&format!("d/{name}"), "old");
    }
    symlink(&outside, bench.real.join("evil")).unwrap();
    let (theirs, before) = (snapshot(&outside), snapshot(&bench.real));
    for at in 1.. {
        let staged = bench.staged(&change);
        let at_root = |name| bench.real.join(name);
        let (folder, evil, kept) = (at_root("d"), at_root("evil"), at_root("kept"));
        let seen = AtomicUsize::new(0);
        let swap = Swap {
            folder,
            evil,
            kept,
            at,
            seen,
        };
        let result = bench
            .journal
            .commit_with(&staged, &bench.allowed(), &bench.blobs, &swap);
        assert_eq!(snapshot(&outside), theirs, "step {at}");
        swap.back();
        if swap.seen.into_inner() < at {
            result.unwrap();
            assert!(at > 10, "there are more steps than that");
            return;
        }
        let _ = bench.journal.recover(&bench.blobs);
        let _ = bench.journal.settle(&staged.changeset.id());
        // For the next round, whatever this one left.
        fs::remove_dir_all(bench.real.join("d")).unwrap();
        for name in ["in/x", "in/gone"] {
            bench.put(&format!("d/{name}"), "old");
        }
        assert_eq!(snapshot(&bench.real).contents(), before.clone().contents());
    }
}

/// The same by a thread that swaps all the time.
#[test]
fn a_link_swapped_in_all_the_time_never_leads_outside() {
    let bench = Bench::new();
    let outside = bench.at("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "theirs").unwrap();
    let before = snapshot(&outside);
    bench.put("d/x", "mine");
    symlink(&outside, bench.real.join("evil")).unwrap();
    let at_root = |name| bench.real.join(name);
    let (folder, evil, kept) = (at_root("d"), at_root("evil"), at_root("kept"));
    let seen = AtomicUsize::new(0);
    let swap = Swap {
        folder,
        evil,
        kept,
        at: 0,
        seen,
    };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap.in_place();
                swap.back();
            }
        });
        for round in 0..60 {
            let files = bench.files();
            let text = format!("round {round}");
            let wrote = files.write(Path::new("d/x"), text.as_bytes());
            let wrote = wrote.and_then(|()| files.write(Path::new("d/new"), text.as_bytes()));
            let staged = wrote.and_then(|()| files.finish(&bench.allowed(), &bench.blobs));
            let _ = staged.and_then(|staged| bench.commit(&staged));
            let _ = bench.journal.recover(&bench.blobs);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(snapshot(&outside), before);
}

/// Somebody writes between the check and the rename.
struct Meddle<'a>(&'a Path, AtomicBool);

impl Probe for Meddle<'_> {
    fn step(&self, what: &'static str) -> io::Result<()> {
        match what == "turn the journal" && !self.1.swap(true, Ordering::SeqCst) {
            true => fs::write(self.0, "theirs, and longer"),
            false => Ok(()),
        }
    }
}

#[test]
fn what_others_write_meanwhile_is_not_lost() {
    for name in ["changed", "deleted", "new"] {
        let bench = Bench::new();
        bench.put("changed", "old");
        bench.put("deleted", "old");
        bench.put("other", "old");
        let staged = bench.staged(|f| {
            f.write(Path::new("changed"), b"mine").unwrap();
            f.write(Path::new("new"), b"mine").unwrap();
            f.write(Path::new("other"), b"mine").unwrap();
            f.remove(Path::new("deleted")).unwrap();
        });
        let path = bench.real.join(name);
        let meddle = Meddle(&path, AtomicBool::new(false));
        let result = bench
            .journal
            .commit_with(&staged, &bench.allowed(), &bench.blobs, &meddle);
        assert!(
            matches!(result, Err(Error::Half { .. })),
            "{name}: {result:?}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"theirs, and longer");
        assert_eq!(fs::read(bench.real.join("other")).unwrap(), b"old");
    }
}

/// A link in place of the folder: what lies beyond it is never looked at.
#[test]
fn a_link_in_place_of_a_folder_is_a_conflict() {
    let bench = Bench::new();
    let outside = bench.at("outside");
    fs::create_dir_all(outside.join("in")).unwrap();
    fs::write(outside.join("in/x"), "mine").unwrap();
    bench.put("d/in/x", "mine");
    let staged = bench.staged(|f| f.write(Path::new("d/in/x"), b"new").unwrap());
    fs::rename(bench.real.join("d"), bench.real.join("kept")).unwrap();
    symlink(&outside, bench.real.join("d")).unwrap();
    let error = bench.commit(&staged).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    assert_eq!(fs::read(outside.join("in/x")).unwrap(), b"mine");
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("small")).unwrap();
    let script = "mount -t tmpfs -o size=2m tmpfs small && exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap());
    fs::write(dir.path().join("stop"), "0").unwrap();
    let output = crate::testing::helper(&mut command, "full disk", dir.path());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("refused as it should"));
}

/// On a file system of two megabytes: files that do not all fit.
pub(super) fn full_disk() {
    let base = std::env::current_dir().unwrap();
    let real = base.join("small/real");
    fs::create_dir(&real).unwrap();
    let blobs = Blobs::open(&base.join("blobs"), None).unwrap();
    let journal = Journal::open(&base.join("log")).unwrap();
    for name in 0..8 {
        fs::write(real.join(name.to_string()), vec![b'a'; 100_000]).unwrap();
    }
    let before = snapshot(&real);
    fs::create_dir(base.join("stage")).unwrap();
    let access = Access::Write;
    let path = real.clone();
    let files = Files::new(&[Root { path, access }], &base.join("stage")).unwrap();
    for name in 0..8 {
        let text: Vec<u8> = (0..300_000u32).map(|i| (i * 7 + name) as u8).collect();
        files.write(Path::new(&name.to_string()), &text).unwrap();
    }
    let allowed = Allowed::new([real.clone()]);
    let staged = files.finish(&allowed, &blobs).unwrap();
    let error = journal.commit(&staged, &allowed, &blobs).unwrap_err();
    let Error::Io { source, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(source.raw_os_error(), Some(28), "{error:?}");
    assert_eq!(snapshot(&real), before);
    assert_eq!(journal.recover(&blobs).unwrap(), []);
    #[expect(clippy::print_stdout, reason = "the parent reads it")]
    {
        println!("refused as it should");
    }
}

#[test]
fn who_is_not_root_is_told_before_anything_happens() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o777)).unwrap();
    let program = base.join("helper");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::write(base.join("stop"), "0").unwrap();
    for (name, owner) in [("mine", 1500), ("theirs", 1600)] {
        let path = base.join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), "old").unwrap();
        std::os::unix::fs::chown(path.join("x"), Some(owner), Some(1500)).unwrap();
        std::os::unix::fs::chown(&path, Some(1500), Some(1500)).unwrap();
    }
    let mut command = std::process::Command::new("setpriv");
    command
        .args(["--reuid=1500", "--regid=1500", "--clear-groups"])
        .arg(program);
    let output = crate::testing::helper(&mut command, "stranger", &base);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(fs::read(base.join("mine/x")).unwrap(), b"new");
    assert_eq!(fs::read(base.join("theirs/x")).unwrap(), b"old");
}

/// As a user: a copy of each folder is changed, and committed.
pub(super) fn stranger() {
    let base = std::env::current_dir().unwrap();
    let blobs = Blobs::open(&base.join("objects"), None).unwrap();
    let journal = Journal::open(&base.join("journal")).unwrap();
    for name in ["mine", "theirs"] {
        let (real, copy) = (base.join(name), base.join(format!("{name} copy")));
        // The copy cannot have the other's owner: as if root had staged it.
        fs::create_dir(&copy).unwrap();
        fs::write(copy.join("x"), "new").unwrap();
        let allowed = Allowed::new([real.clone()]);
        let copied = Copied { real, copy };
        let mut staged = capture_copy(&[copied], &allowed, &blobs).unwrap();
        for change in &mut staged.changeset.changes {
            if let (State::File(before), State::File(after)) = (&change.before, &mut change.after) {
                after.meta = before.meta.clone();
            }
        }
        staged
            .changeset
            .changes
            .retain(|c| c.after.file().is_some());
        let result = journal.commit(&staged, &allowed, &blobs);
        match name {
            "mine" => assert!(result.is_ok(), "{result:?}"),
            _ => assert!(
                matches!(result, Err(Error::Owner { uid: 1600, .. })),
                "{result:?}"
            ),
        }
    }
}
