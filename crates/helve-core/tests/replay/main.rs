//! Replays the corpus of every fuzz target.
//!
//! An input that once crashed, hung or was read wrongly stays in `fuzz/corpus`, and
//! every test run tries it again. Each runs on a small stack, so that recursion
//! without a limit shows, and against a clock that only a hang can run out.

mod large;
mod targets;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use targets::{TARGETS, body_of};

/// What a thread that a runtime starts usually has.
const STACK: usize = 2 * 1024 * 1024;

/// Far more than any input needs.
const LIMIT: Duration = Duration::from_secs(10);

macro_rules! replayed {
    ($($target:ident)*) => {
        const REPLAYED: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                replay(stringify!($target));
            }
        )*
    };
}

replayed! { json toml yaml python erlang javascript skill pipeline pattern openapi }

/// Targets of other crates, which replay them themselves.
const ELSEWHERE: &[&str] = &["chat_export"];

#[test]
fn large_inputs() {
    let failures: Vec<String> = large::inputs()
        .into_iter()
        .filter_map(|(target, name, text)| {
            let problem = run(body_of(target), name, text.into_bytes()).err()?;
            Some(format!("{target}, {name}: {problem}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_target_is_fuzzed_and_replayed() {
    let targets: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(targets, REPLAYED);
    for (folder, suffix) in [("corpus", ""), ("fuzz_targets", ".rs")] {
        let there: Vec<String> = files(&fuzz(folder)).iter().map(|f| name_of(f)).collect();
        let all = targets.iter().chain(ELSEWHERE);
        let mut wanted: Vec<String> = all.map(|t| format!("{t}{suffix}")).collect();
        wanted.sort();
        assert_eq!(there, wanted, "in fuzz/{folder}");
    }
}

fn replay(name: &str) {
    let body = body_of(name);
    let inputs = files(&fuzz(&format!("corpus/{name}")));
    assert!(!inputs.is_empty(), "the corpus of `{name}` is empty");
    let failures: Vec<String> = inputs
        .iter()
        .filter_map(|path| {
            let bytes = std::fs::read(path).expect("a corpus file can be read");
            let input = name_of(path);
            let problem = run(body, &input, bytes).err()?;
            Some(format!("{input}: {problem}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn fuzz(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(path)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder);
    let entries = entries.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|e| e.expect("a folder can be listed").path())
        .collect();
    files.sort();
    files
}

fn run(body: fn(&[u8]), input: &str, bytes: Vec<u8>) -> Result<(), String> {
    let (done, ended) = mpsc::channel();
    let thread = thread::Builder::new()
        .name(input.to_owned())
        .stack_size(STACK)
        .spawn(move || {
            body(&bytes);
            // Nobody listens any more only if the limit has passed.
            let _ = done.send(());
        })
        .expect("a thread can be started");
    if let Err(mpsc::RecvTimeoutError::Timeout) = ended.recv_timeout(LIMIT) {
        return Err(format!("takes longer than {LIMIT:?}"));
    }
    thread.join().map_err(|_| "fails".to_owned())
}
