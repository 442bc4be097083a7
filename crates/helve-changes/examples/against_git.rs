//! How long capture, commit and undo take, against git and `cp -a` on the same tree.
//!
//! 784 of 20,000 small files are changed, created and deleted; every way in turn, some
//! rounds, medians. Run it with `cargo run --release --example against_git`.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark against programs"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helve_changes::{Allowed, Blobs, Books, Journal, Later, Overlay, Undo, capture_overlay, undo};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Unless another number is given.
const ROUNDS: usize = 5;
const CHANGES: usize = 784;

fn main() -> Outcome<()> {
    let base = std::env::temp_dir()
        .canonicalize()?
        .join(format!("helve-bench-{}", std::process::id()));
    let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let tree = base.join("tree");
    build(&tree)?;
    git(&tree, &["init", "-q"])?;
    git(&tree, &["add", "-A"])?;
    git(
        &tree,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@x",
            "commit",
            "-qm",
            "start",
        ],
    )?;
    let rounds = std::env::args().nth(1).map_or(Ok(ROUNDS), |n| n.parse())?;
    for round in 0..rounds {
        let measured = one_round(&base, round);
        for folder in ["upper", "copy", "objects", "journal"] {
            let _ = fs::remove_dir_all(base.join(folder));
        }
        for (name, time) in measured? {
            times.entry(name).or_default().push(time);
        }
    }
    fs::remove_dir_all(&base)?;
    for (name, mut times) in times {
        times.sort();
        let (least, median) = (times[0], times[times.len() / 2]);
        println!("{name:<40} median {median:>10.1?}   least {least:>10.1?}");
    }
    Ok(())
}

fn one_round(base: &Path, round: usize) -> Outcome<Vec<(&'static str, Duration)>> {
    let (tree, upper) = (base.join("tree"), base.join("upper"));
    fs::create_dir(&upper)?;
    change(&upper, round)?;
    let mut out = Vec::new();
    let mut time = |name, run: &mut dyn FnMut() -> Outcome<()>| -> Outcome<()> {
        // Nobody pays for what the one before left to be written.
        run_program("sync", base, &[])?;
        let start = Instant::now();
        run()?;
        out.push((name, start.elapsed()));
        Ok(())
    };

    time("cp -a of the tree", &mut || {
        run_program("cp", base, &["-a", "tree", "copy"])
    })?;
    // Git, on the copy, with the same changes already in its folder.
    let copy = base.join("copy");
    change(&copy, round)?;
    time("git add -A && git commit", &mut || {
        git(&copy, &["add", "-A"])?;
        git(
            &copy,
            &[
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x",
                "commit",
                "-qm",
                "change",
            ],
        )
    })?;
    git(&copy, &["reset", "-q", "--soft", "HEAD^"])?;
    time("git stash", &mut || {
        git(
            &copy,
            &["-c", "user.name=x", "-c", "user.email=x@x", "stash", "-q"],
        )
    })?;

    let blobs = Blobs::open(&base.join("objects"), None)?;
    let journal = Journal::open(&base.join("journal"))?;
    let allowed = Allowed::new([tree.clone()]);
    let overlay = Overlay {
        lower: tree.clone(),
        upper,
        work: None,
        books: Books::Trusted,
    };
    let mut staged = None;
    time("helve capture (with before-images)", &mut || {
        staged = Some(capture_overlay(
            std::slice::from_ref(&overlay),
            &allowed,
            &blobs,
        )?);
        Ok(())
    })?;
    let staged = staged.ok_or("no capture")?;
    assert_eq!(
        staged
            .changeset
            .changes
            .iter()
            .filter(|c| !c.after.is_dir())
            .count(),
        CHANGES
    );
    time("helve commit (durable)", &mut || {
        journal.settle(&journal.commit(&staged, &allowed, &blobs)?.id)?;
        Ok(())
    })?;
    time("helve undo (with its commit, durable)", &mut || {
        let what = Undo {
            changesets: &[&staged.changeset],
            only: None,
            later: Later::Refuse,
        };
        let back = undo(&what, &blobs)?;
        journal.settle(&journal.commit(&back.staged, &allowed, &blobs)?.id)?;
        Ok(())
    })?;
    Ok(out)
}

fn build(tree: &Path) -> Outcome<()> {
    for folder in 0..200 {
        let folder_path = tree.join(format!("d{folder}"));
        fs::create_dir_all(&folder_path)?;
        for file in 0..100 {
            let text = format!("file {file} of folder {folder}\n").repeat(20);
            fs::write(folder_path.join(format!("f{file}")), text)?;
        }
    }
    Ok(())
}

/// Most are rewritten, some are new, in a quarter of the folders.
fn change(root: &Path, round: usize) -> Outcome<()> {
    for number in 0..CHANGES {
        let folder = root.join(format!("d{}", number % 49));
        fs::create_dir_all(&folder)?;
        let name = if number % 8 == 0 {
            format!("new{number}")
        } else {
            format!("f{}", number / 49)
        };
        fs::write(
            folder.join(name),
            format!("round {round}, change {number}\n").repeat(20),
        )?;
    }
    Ok(())
}

fn git(folder: &Path, args: &[&str]) -> Outcome<()> {
    // No housekeeping in the background, which would go on into the next measurement.
    let quiet = ["-c", "gc.auto=0", "-c", "maintenance.auto=false"];
    run_program("git", folder, &[&quiet[..], args].concat())
}

fn run_program(name: &str, folder: &Path, args: &[&str]) -> Outcome<()> {
    let status = Command::new(name)
        .args(args)
        .current_dir(folder)
        .stdout(Stdio::null())
        .status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("{name} {args:?} failed").into()),
    }
}
