//! What people really let programs do to a repository of 20,000 files, taken back.
//!
//! After each undo everything is as before: every file with its content, mode and
//! time, and what git thinks of it. Needs `git`, `make` and a C compiler.

#![allow(clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use helve_core::def::{AllowedPath, ExecutorKind, Risk};
use helve_core::policy::Policy;
use helve_kernel::{
    Answer, Call as KernelCall, Kernel, Principal, Registration, RunState, UndoCall,
};

use super::*;

const FILES: usize = 20_000;
const FOLDERS: usize = 200;

/// One after the other, each can also be done alone.
const WORK: &[(&str, &str)] = &[
    ("a branch", "git checkout -q -b work"),
    ("a commit", "sed -i 1d d001/*; git commit -qam less"),
    (
        "moves",
        "git mv d002/f00002.txt d002/moved.txt; mv d003 elsewhere; git add -A; git commit -qm moves",
    ),
    (
        "a merge",
        "git branch -f side; git switch -q side; echo side > side.txt; git add -A; git commit -qm side; \
         git switch -q -; echo mine > mine.txt; git add -A; git commit -qm mine; git merge -q --no-edit side",
    ),
    (
        "stashed",
        "sed -i 2d d004/*; echo new > d004/new; git stash -q -u; git stash apply -q",
    ),
    (
        "thousands of files edited",
        "find d0[01]* -type f -print0 | xargs -0 sed -i 's/^line/LINE/'",
    ),
    ("half of all files removed", "rm -rf d1*"),
    ("a build", "make -s -j2 -C project all install"),
    (
        "everything packed anew",
        "echo all > all.txt; git add -A; git commit -qm packed; git gc -q --prune=now",
    ),
];

struct Place {
    folder: TempDir,
    kernel: Kernel,
}

/// Everything in the repository that somebody could find changed.
type Files = BTreeMap<String, (u32, i64, i64, Vec<u8>)>;

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        plant(&root.join("repo"));
        let keeper = Keeper::open(&root.join(".helve/changes"), None).unwrap();
        let rules = json!([{"effect": "allow", "tool": "*"}]);
        let kernel = Kernel::builder()
            .root(&root)
            .policy(Policy::from_value(&rules).unwrap())
            .keeper(Arc::new(keeper))
            .executor(ExecutorKind::Host, Arc::new(HostExecutor::new(&root)));
        let kernel = kernel.open().await.unwrap();
        Self { folder, kernel }
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    async fn run(&self, script: &str) -> Answer {
        let mut def = tool(json!({
            "command": ["sh", "-e", "-c", script],
            "cwd": "repo",
            "env": identity().into_iter().collect::<BTreeMap<_, _>>(),
        }));
        def.risk = Some(Risk::Write);
        def.timeout = Some(Duration::from_secs(120));
        def.allowed_paths = vec![AllowedPath {
            path: "repo".to_owned(),
            access: None,
        }];
        let (who, name) = (Principal::person("ann"), def.name.to_string());
        let new = Registration {
            def,
            source: "api".to_owned(),
            why: None,
            replace: true,
        };
        self.kernel.register(&who, new).await.unwrap();
        let answer = self
            .kernel
            .call(KernelCall::new(who, name, json!({})))
            .await;
        assert_eq!(answer.meta.state, Some(RunState::Succeeded), "{answer:?}");
        assert!(answer.meta.changes.is_some(), "{script} changes nothing");
        answer
    }

    async fn undo(&self, call: UndoCall) {
        let who = Arc::new(Principal::person("ann"));
        let answer = self.kernel.undo(&who, call).await;
        assert_eq!(answer.meta.state, Some(RunState::Succeeded), "{answer:?}");
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        let mut folders = vec![self.repo()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = path.symlink_metadata().unwrap();
                let (mut time, mut content) = ((found.mtime(), found.mtime_nsec()), Vec::new());
                if found.is_dir() {
                    // What is made and removed in a folder leaves its mark there.
                    time = (0, 0);
                    folders.push(path.clone());
                } else if found.is_symlink() {
                    content = fs::read_link(&path)
                        .unwrap()
                        .into_os_string()
                        .into_encoded_bytes();
                } else {
                    content = fs::read(&path).unwrap();
                }
                files.insert(
                    path.display().to_string(),
                    (found.mode(), time.0, time.1, content),
                );
            }
        }
        files
    }

    /// What git thinks of it.
    fn git(&self) -> Vec<String> {
        let ask = |args: &[&str]| git(&self.repo(), args);
        vec![
            ask(&["status", "--porcelain"]),
            ask(&["fsck", "--no-progress", "--strict"]),
            ask(&["symbolic-ref", "HEAD"]),
            ask(&["rev-parse", "HEAD", "HEAD^{tree}"]),
            ask(&["for-each-ref"]),
            ask(&["stash", "list"]),
        ]
    }
}

#[tokio::test]
async fn all_that_is_done_to_a_repository_can_be_undone() {
    let place = Place::new().await;
    let (files, git) = (place.files(), place.git());
    assert_eq!(&git[..2], ["", ""]);
    for (what, script) in WORK {
        let answer = place.run(script).await;
        place
            .undo(UndoCall {
                runs: vec![answer.meta.run_id.unwrap()],
                ..UndoCall::default()
            })
            .await;
        same(what, &place.files(), &files);
        assert_eq!(place.git(), git, "{what}");
    }

    let mut first = None;
    for (_, script) in WORK {
        // Not the half again, but files that were edited and committed just before.
        let answer = place
            .run(&script.replace("rm -rf d1*", "rm -rf d00*"))
            .await;
        first = first.or(answer.meta.run_id);
    }
    place
        .undo(UndoCall {
            since: first,
            ..UndoCall::default()
        })
        .await;
    same("all of it", &place.files(), &files);
    assert_eq!(place.git(), git);
}

/// Names what differs, of 20,000 files.
fn same(what: &str, found: &Files, wanted: &Files) {
    let either = found.keys().chain(wanted.keys());
    let differ: Vec<&String> = either.filter(|p| found.get(*p) != wanted.get(*p)).collect();
    let few = &differ[..differ.len().min(10)];
    assert!(
        differ.is_empty(),
        "{what}: {} paths differ: {few:?}",
        differ.len()
    );
}

/// A repository with many files, and something to build.
fn plant(repo: &Path) {
    let project = repo.join("project");
    fs::create_dir_all(&project).unwrap();
    for folder in 0..FOLDERS {
        fs::create_dir(repo.join(format!("d{folder:03}"))).unwrap();
    }
    for i in 0..FILES {
        let mut text = String::new();
        for line in 0..3 + i % 7 {
            writeln!(text, "line {line} of {i}").unwrap();
        }
        let name = format!("d{:03}/f{i:05}.txt", i % FOLDERS);
        fs::write(repo.join(name), text).unwrap();
    }
    let mut main = "#include <stdio.h>\n".to_owned();
    let mut sum = "0".to_owned();
    for i in 0..8 {
        let part = format!("int part{i}(void) {{ return {i}; }}\n");
        fs::write(project.join(format!("part{i}.c")), part).unwrap();
        writeln!(main, "int part{i}(void);").unwrap();
        write!(sum, " + part{i}()").unwrap();
    }
    writeln!(
        main,
        "int main(void) {{ printf(\"%d\\n\", {sum}); return 0; }}"
    )
    .unwrap();
    fs::write(project.join("main.c"), main).unwrap();
    let makefile = "
parts := $(patsubst %.c,%.o,$(wildcard part*.c))
all: sum
%.o: %.c
\t$(CC) -c -o $@ $<
libparts.a: $(parts)
\tar rcs $@ $^
sum: main.o libparts.a
\t$(CC) -o $@ main.o -L. -lparts
install: sum
\tmkdir -p out/bin && install -m 755 sum out/bin/sum && ln -sf sum out/bin/total
\ttest \"$$(out/bin/total)\" = 28
";
    fs::write(project.join("Makefile"), makefile).unwrap();
    git(repo, &["init", "-q"]);
    // Straight into one pack, as in a repository that was cloned.
    git(repo, &["-c", "core.bigFileThreshold=1", "add", "-A"]);
    git(repo, &["commit", "-qm", "all"]);
}

/// The same git for everybody.
fn identity() -> Vec<(&'static str, &'static str)> {
    vec![
        ("GIT_AUTHOR_NAME", "ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_NAME", "ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        // What git tidies up by itself, it does before it ends.
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "gc.autoDetach"),
        ("GIT_CONFIG_VALUE_0", "false"),
        // Whoever only looks writes nothing.
        ("GIT_OPTIONAL_LOCKS", "0"),
    ]
}

fn git(repo: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(repo).args(args).envs(identity());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
