//! What holding programs costs, and what holding back their changes does.
//!
//! - A program that does nothing, from its start to its end: plainly, in the sandbox
//!   without and with a folder to write, and by `bwrap` where it is installed; then
//!   again from a hub that has written much memory, of which a start makes a copy.
//! - A repository of 20,000 files and 784 changes, made by a real run in the sandbox:
//!   captured, committed and undone, all of it durable. Beside it on copies of the same
//!   repository: `cp -a` of it, and what git needs to keep the same changes. By default
//!   git does not wait for the disk, so it is asked once more with `core.fsync=all`.
//!
//! All in one run, in turns, so that a busy machine hurts all alike; medians are
//! printed. Ratios are medians of the ratios of each round.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

#[expect(dead_code, reason = "no peer in Python here")]
mod peer;

use std::fmt::Write as _;
use std::fs::{self, File};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use helve_kernel::helve_changes::{
    Allowed, Blobs, Books, Journal, Later, Overlay, Staged, Undo, capture_overlay, undo,
};
use helve_sandbox::{Layer, Sandbox, Spec, remove_work};
use mimalloc::MiMalloc;
use peer::{median, target};

/// As in the command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const STARTS: usize = 200;
const ROUNDS: usize = 7;
const FILES: usize = 20_000;
const FOLDERS: usize = 200;
/// Files that are changed, made and removed.
const CHANGED: usize = 484;
const MADE: usize = 150;
const REMOVED: usize = 150;
/// What a large hub has written, in MB.
const BALLAST: usize = 200;

const BWRAP: &str = "--ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all \
    --cap-drop ALL --new-session --die-with-parent /bin/true";

fn main() {
    // On the disk that the build uses: /tmp may be memory.
    let folder = tempfile::tempdir_in(target()).unwrap();
    let at = folder.path().canonicalize().unwrap();
    let sandbox = Sandbox::probe();
    let only = std::env::args().find(|a| a == "starts" || a == "changes");
    if only.as_deref() != Some("changes") {
        starts(&sandbox, &at);
    }
    if only.as_deref() != Some("starts") {
        changes(&sandbox, &at);
    }
}

/// Rows of seconds, one for each thing that is measured.
struct Rows(Vec<(&'static str, Vec<f64>)>);

impl Rows {
    fn new(names: &[&'static str]) -> Self {
        Self(names.iter().map(|name| (*name, Vec::new())).collect())
    }

    fn push(&mut self, name: &str, seconds: f64) {
        let row = self.0.iter_mut().find(|(known, _)| *known == name);
        row.unwrap().1.push(seconds);
    }

    fn print(&self, base: &str) {
        let (_, unit) = self.0.iter().find(|(name, _)| *name == base).unwrap();
        for (name, row) in self.0.iter().filter(|(_, row)| !row.is_empty()) {
            let ratios = row.iter().zip(unit).map(|(a, b)| a / b).collect();
            println!(
                "{name:<36}{:>9.2} ms  {:>7.2} of {base}",
                median(row.clone()) * 1e3,
                median(ratios)
            );
        }
        println!();
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed().as_secs_f64(), done)
}

fn starts(sandbox: &Sandbox, at: &Path) {
    let bwrap = Command::new("bwrap").arg("--version").output().is_ok();
    println!("/bin/true from its start to its end; medians of {STARTS} rounds\n");
    let plain = "plain spawn";
    let mut rows = Rows::new(&[
        plain,
        "sandbox, read",
        "sandbox, write",
        "sandbox, read, with the network",
        "bwrap",
    ]);
    let reads = spec("/bin/true", &[], Path::new("/"));
    let network = Spec {
        network: true,
        ..reads.clone()
    };
    let small = at.join("small");
    fs::create_dir(&small).unwrap();
    fs::write(small.join("file"), "text").unwrap();
    for round in 0..STARTS {
        rows.push(plain, timed(|| plainly("/bin/true", &[])).0);
        rows.push("sandbox, read", timed(|| runs(sandbox, &reads)).0);
        let stage = Stage::new(&at.join(format!("start{round}")), &small);
        let writes = stage.spec(&reads);
        rows.push("sandbox, write", timed(|| runs(sandbox, &writes)).0);
        stage.drop_all();
        let took = timed(|| runs(sandbox, &network)).0;
        rows.push("sandbox, read, with the network", took);
        if bwrap {
            let args: Vec<&str> = BWRAP.split_whitespace().collect();
            rows.push("bwrap", timed(|| plainly("bwrap", &args)).0);
        }
    }
    rows.print(plain);
    if !bwrap {
        println!("bwrap is not installed\n");
    }

    println!("the same from a process that has written {BALLAST} MB more\n");
    let ballast = black_box(vec![1_u8; BALLAST << 20]);
    let mut rows = Rows::new(&[plain, "sandbox, read"]);
    for _ in 0..STARTS / 2 {
        rows.push(plain, timed(|| plainly("/bin/true", &[])).0);
        rows.push("sandbox, read", timed(|| runs(sandbox, &reads)).0);
    }
    rows.print(plain);
    drop(ballast);
}

fn plainly(program: &str, args: &[&str]) {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("PATH", "/usr/bin:/bin");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}");
}

fn spec(program: &str, args: &[&str], cwd: &Path) -> Spec {
    Spec {
        program: program.into(),
        name: program.into(),
        args: args.iter().map(Into::into).collect(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        cwd: cwd.to_owned(),
        ..Spec::default()
    }
}

/// Runs a program to its end. Whether its overlays had an index.
fn runs(sandbox: &Sandbox, spec: &Spec) -> bool {
    let mut started = sandbox.start(spec).unwrap();
    let ended = started.wait().unwrap();
    let said = started.stderr.take().map(File::from);
    let said = said.and_then(|said| std::io::read_to_string(said).ok());
    assert!(ended.status.success(), "{said:?}");
    started.has_index()
}

/// Where the changes of a run to a folder land.
struct Stage {
    at: PathBuf,
    real: PathBuf,
}

impl Stage {
    fn new(at: &Path, real: &Path) -> Self {
        for part in ["upper", "work"] {
            fs::create_dir_all(at.join(part)).unwrap();
        }
        Self {
            at: at.to_owned(),
            real: real.to_owned(),
        }
    }

    fn spec(&self, spec: &Spec) -> Spec {
        Spec {
            layers: vec![Layer::Overlay {
                target: self.real.clone(),
                upper: self.at.join("upper"),
                work: self.at.join("work"),
            }],
            hidden: vec![self.at.clone()],
            ..spec.clone()
        }
    }

    fn overlay(&self, sandbox: &Sandbox, index: bool) -> Overlay {
        Overlay {
            lower: self.real.clone(),
            upper: self.at.join("upper"),
            work: index.then(|| self.at.join("work")),
            books: match sandbox.is_privileged() {
                true => Books::Trusted,
                false => Books::User,
            },
        }
    }

    fn drop_all(&self) {
        remove_work(&self.at.join("work")).unwrap();
        fs::remove_dir_all(&self.at).unwrap();
    }
}

fn changes(sandbox: &Sandbox, at: &Path) {
    let tree = at.join("tree");
    let bytes = plant(&tree);
    println!(
        "{FILES} files, {:.0} MB, a git repository; {} changes by a run in the sandbox; medians of {ROUNDS} rounds\n",
        bytes as f64 / 1e6,
        CHANGED + MADE + REMOVED
    );
    let kept = "git add, commit";
    let mut rows = Rows::new(&[
        "the run itself, in the sandbox",
        "the same, plainly",
        "capture",
        "commit",
        "capture and commit",
        "undo",
        "cp -a",
        kept,
        "git add, commit, core.fsync=all",
        "git stash -u",
    ]);
    let profile = std::env::args().any(|a| a == "profile");
    for round in 0..ROUNDS {
        let script = script(round);
        // Each on a copy of its own, and nothing is removed before the end: ext4 gives no
        // inode out again for minutes, and whoever makes files looks the longer for others.
        let place = |way: &str| at.join(format!("{way}{round}"));
        let copy = place("ours");
        rows.push("cp -a", replant(&tree, &copy));
        ours(sandbox, &copy, &place("held"), &script, &mut rows);
        if profile {
            // For a profiler: only what is Helve's.
            continue;
        }
        for (name, way) in [
            (kept, Way::Commit),
            ("git add, commit, core.fsync=all", Way::Durable),
            ("git stash -u", Way::Stash),
        ] {
            let copy = place(name.rsplit([' ', '=']).next().unwrap());
            replant(&tree, &copy);
            theirs(&copy, name, way, &script, &mut rows);
        }
        eprintln!("round {} of {ROUNDS} done", round + 1);
    }
    rows.print(if profile { "commit" } else { kept });
}

/// A run in the sandbox, its changes captured, committed and undone.
fn ours(sandbox: &Sandbox, tree: &Path, held: &Path, script: &str, rows: &mut Rows) {
    let stage = Stage::new(&held.join("stage"), tree);
    let blobs = Blobs::open(&held.join("objects"), None).unwrap();
    let journal = Journal::open(&held.join("journal")).unwrap();
    let allowed = Allowed::new([tree.to_owned()]);
    let run = stage.spec(&spec("/bin/sh", &["-c", script], tree));
    settled(tree);
    let (took, index) = timed(|| runs(sandbox, &run));
    rows.push("the run itself, in the sandbox", took);

    settled(tree);
    let overlays = [stage.overlay(sandbox, index)];
    let (captured, staged) = timed(|| capture_overlay(&overlays, &allowed, &blobs).unwrap());
    rows.push("capture", captured);
    assert_eq!(staged.changeset.changes.len(), CHANGED + MADE + REMOVED);

    let commit = |staged: &Staged, allowed: &Allowed| {
        let ended = journal.commit(staged, allowed, &blobs).unwrap();
        journal.settle(&ended.id).unwrap();
    };
    let (committed, ()) = timed(|| commit(&staged, &allowed));
    rows.push("commit", committed);
    rows.push("capture and commit", captured + committed);

    settled(tree);
    let (took, ()) = timed(|| {
        let back = Undo {
            changesets: &[&staged.changeset],
            only: None,
            later: Later::Refuse,
        };
        let undone = undo(&back, &blobs).unwrap();
        commit(&undone.staged, &Allowed::just(&undone.staged.changeset));
    });
    rows.push("undo", took);
    assert_eq!(git(tree, &["status", "--porcelain"]), "");
    remove_work(&held.join("stage/work")).unwrap();
}

/// How git keeps changes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Commit,
    Durable,
    Stash,
}

/// The same changes, kept by git.
fn theirs(tree: &Path, name: &str, way: Way, script: &str, rows: &mut Rows) {
    let script = format!("cd {} && {script}", text(tree));
    let took = timed(|| plainly("/bin/sh", &["-c", &script])).0;
    if way == Way::Commit {
        rows.push("the same, plainly", took);
    }
    settled(tree);
    let durable: &[&str] = match way {
        Way::Durable => &["-c", "core.fsync=all"],
        Way::Commit | Way::Stash => &[],
    };
    let with = |args: &[&str]| git(tree, &[durable, args].concat());
    let took = timed(|| match way {
        Way::Stash => with(&["stash", "-q", "-u"]),
        Way::Commit | Way::Durable => {
            with(&["add", "-A"]);
            with(&["commit", "-qm", "changes"])
        }
    });
    rows.push(name, took.0);
}

/// Copies the repository, so that git knows the copy. How long the copying took.
fn replant(tree: &Path, copy: &Path) -> f64 {
    settled(tree);
    let took = timed(|| plainly("cp", &["-a", text(tree), text(copy)])).0;
    git(copy, &["update-index", "-q", "--refresh"]);
    settled(tree);
    took
}

/// Nobody has to wait for what others have written.
fn settled(at: &Path) {
    rustix::fs::syncfs(File::open(at).unwrap()).unwrap();
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn git(at: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(at).args(args).env_clear();
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "bench");
        command.env(format!("GIT_{who}_EMAIL"), "bench@example.org");
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The name of a file of the tree.
fn name(i: usize) -> String {
    format!("d{:03}/f{i:05}.txt", i % FOLDERS)
}

/// Makes the repository, packed as those are that people work in. How many bytes are
/// in its files.
fn plant(tree: &Path) -> usize {
    for folder in 0..FOLDERS {
        fs::create_dir_all(tree.join(format!("d{folder:03}"))).unwrap();
    }
    let mut bytes = 0;
    for i in 0..FILES {
        let mut content = String::new();
        for line in 0..5 + i % 60 {
            writeln!(content, "line {line} of file {i}, and {}", i * line % 9973).unwrap();
        }
        bytes += content.len();
        fs::write(tree.join(name(i)), content).unwrap();
    }
    git(tree, &["init", "-q"]);
    git(tree, &["config", "gc.auto", "0"]);
    git(tree, &["add", "-A"]);
    git(tree, &["commit", "-qm", "base"]);
    git(tree, &["tag", "base"]);
    git(tree, &["repack", "-adq"]);
    git(tree, &["prune-packed", "-q"]);
    bytes
}

/// What the run does: all over the tree, and something else in each round.
fn script(round: usize) -> String {
    let mut next = (0..).map(|k| name((k * 7919 + round) % FILES));
    let mut names = |count: usize| -> String {
        let names: Vec<String> = next.by_ref().take(count).collect();
        names.join(" ")
    };
    let (changed, made, removed) = (names(CHANGED), names(MADE), names(REMOVED));
    format!(
        "set -e; sed -i 's/^line 2 /round {round}, line 2 /' {changed}; rm {removed}; \
         for f in {made}; do echo round {round} > $f.new; done"
    )
}
