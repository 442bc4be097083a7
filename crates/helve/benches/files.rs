//! What the file tools cost, beside what people use otherwise.
//!
//! - `code_search` through a kernel with policy and a durable record, beside `rg` on the
//!   same tree, for a literal and a regular expression. The tree is a folder given as
//!   argument, or the sources of the cargo registry: it should have 500 MB or more.
//! - `file_read`, `file_edit`, `file_list` and `file_glob` over MCP on standard input and
//!   output, beside npm's `@modelcontextprotocol/server-filesystem` on the same files. The
//!   hub is this program, started anew, with the same kernel, store and front door that
//!   `helve mcp` has. `NPM_FILESYSTEM` names the server's `dist/index.js`. A `ping`, which asks
//!   for nothing, tells what of it is the way there and back, and a sync of the disk what
//!   whoever changes a file for good cannot do without; npm's server syncs nothing.
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
#[path = "peer/server.rs"]
mod server;

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use helve_core::policy::Policy;
use helve_kernel::{Call, Keeper, Kernel, Principal};
use helve_mcp::{Front, Options};
use helve_store::SqliteStore;
use mimalloc::MiMalloc;
use peer::{median, target};
use serde_json::json;
use server::Server;

/// As in the command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const ROUNDS: usize = 9;
/// Calls of one tool in a row.
const CALLS: usize = 100;

/// On one thread, as `helve mcp`.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|a| a == "serve") {
        return serve(Path::new(&args[at + 1]), Path::new(&args[at + 2])).await;
    }
    // On the disk that the build uses: /tmp may be memory.
    let folder = tempfile::tempdir_in(target()).unwrap();
    let at = folder.path().canonicalize().unwrap();
    let only = args.iter().find(|a| *a == "search" || *a == "mcp");
    let given = args.iter().skip(1).find(|a| a.starts_with('/'));
    if only.is_none_or(|only| only == "search") {
        search(&tree(given), &at).await;
    }
    if only.is_none_or(|only| only == "mcp") {
        over_mcp(&at);
    }
}

fn tree(given: Option<&String>) -> PathBuf {
    let home = || std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || {
        home().unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"))
    };
    given.map_or_else(|| home().join("registry/src"), PathBuf::from)
}

/// A kernel as a hub has it: durable, with a policy.
async fn kernel(root: &Path, state: &Path) -> Kernel {
    std::fs::create_dir_all(state).unwrap();
    let allow = json!([{"effect": "allow", "tool": "*"}]);
    let kernel = Kernel::builder()
        .root(root)
        .store(Arc::new(SqliteStore::open(&state.join("hub.db")).unwrap()))
        .policy(Policy::from_value(&allow).unwrap())
        .artifacts(state.join("artifacts"))
        .keeper(Arc::new(
            Keeper::open(&state.join("changes"), None).unwrap(),
        ))
        .open()
        .await
        .unwrap();
    for set in helve_tools::toolsets().unwrap() {
        kernel.add_toolset(set).unwrap();
    }
    kernel
}

async fn search(tree: &Path, at: &Path) {
    let tree = tree.canonicalize().unwrap();
    let kernel = kernel(&tree, &at.join("search")).await;
    let who = Arc::new(Principal::agent("agent:bench"));
    println!(
        "code_search beside rg on {}; medians of {ROUNDS} rounds\n",
        tree.display()
    );
    for (name, query, regex) in [
        ("literal, rare", "DigestInfo", false),
        ("literal, frequent", "unwrap()", false),
        ("regex", r"fn \w+_from_\w+\(", true),
        ("regex, no literal", r"[A-Z]{4}_[0-9]{3}", true),
    ] {
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let mut counts = (0, 0);
        for round in 0..=ROUNDS {
            let args = json!({"query": query, "regex": regex, "case": "sensitive"});
            let start = Instant::now();
            let call = Call::new(who.clone(), "code_search", args);
            let found = kernel.call(call).await.result.unwrap();
            let one = start.elapsed().as_secs_f64();
            let start = Instant::now();
            let lines = rg(&tree, query, regex);
            let other = start.elapsed().as_secs_f64();
            counts = (found["total"].as_u64().unwrap(), lines);
            // The first round fills the cache of the disk.
            if round > 0 {
                ours.push(one);
                theirs.push(other);
                ratios.push(one / other);
            }
        }
        println!(
            "{name:18} helve {:>7.0} ms ({} lines)   rg {:>7.0} ms ({} lines)   {:>5.2} of rg",
            1e3 * median(ours),
            counts.0,
            1e3 * median(theirs),
            counts.1,
            median(ratios)
        );
    }
}

/// The lines that rg prints, as many as match.
fn rg(tree: &Path, query: &str, regex: bool) -> u64 {
    let mut command = Command::new("rg");
    command.args(["-n", "--no-require-git", "--no-config", "--no-messages"]);
    if !regex {
        command.arg("-F");
    }
    let mut child = command
        .arg("-e")
        .arg(query)
        .arg(tree)
        .stdout(Stdio::piped())
        .spawn()
        .expect("rg is needed: apt install ripgrep");
    let mut lines = 0;
    let mut reader = BufReader::with_capacity(1 << 16, child.stdout.take().unwrap());
    loop {
        let piece = reader.fill_buf().unwrap();
        if piece.is_empty() {
            break;
        }
        lines += piece.iter().filter(|b| **b == b'\n').count() as u64;
        let length = piece.len();
        reader.consume(length);
    }
    child.wait().unwrap();
    lines
}

async fn serve(root: &Path, state: &Path) {
    let kernel = kernel(root, state).await;
    let front = Front::new(kernel, None, Options::default());
    let who = Arc::new(Principal::agent("agent:bench"));
    let (reader, writer) = helve_mcp::standard_streams();
    let session = front.session(None, who).unwrap();
    session
        .serve(reader, writer, Default::default())
        .await
        .unwrap();
}

/// What is called.
struct Workspace {
    name: &'static str,
    folders: usize,
    files: usize,
    lines: usize,
    calls: usize,
}

const WORKSPACES: [Workspace; 2] = [
    Workspace {
        name: "a small workspace: 50 files of 200 lines in 5 folders",
        folders: 5,
        files: 50,
        lines: 200,
        calls: CALLS,
    },
    Workspace {
        name: "a larger one: 3,000 files of 200 lines in 5 folders, and one of 20,000 lines",
        folders: 5,
        files: 3_000,
        lines: 20_000,
        calls: CALLS / 5,
    },
];

fn over_mcp(at: &Path) {
    let Some(npm) = std::env::var_os("NPM_FILESYSTEM") else {
        eprintln!("NPM_FILESYSTEM names no server; npm's is not measured");
        return;
    };
    for (n, workspace) in WORKSPACES.iter().enumerate() {
        let at = at.join(n.to_string());
        measure(workspace, &at, &npm);
    }
}

fn text(file: usize, lines: usize) -> String {
    (0..lines)
        .map(|l| format!("line {l} of file {file}\n"))
        .collect()
}

fn measure(workspace: &Workspace, at: &Path, npm: &OsStr) {
    let (files, calls) = (at.join("files"), workspace.calls);
    for n in 0..workspace.files {
        let folder = files.join(format!("d{}", n % workspace.folders));
        std::fs::create_dir_all(&folder).unwrap();
        let lines = if n == 0 { workspace.lines } else { 200 };
        std::fs::write(folder.join(format!("f{n}.txt")), text(n, lines)).unwrap();
    }
    let this = std::env::current_exe().unwrap();
    let mut ours = Server::start(
        Command::new(this)
            .arg("serve")
            .arg(&files)
            .arg(at.join("state")),
    );
    let mut theirs = Server::start(Command::new("node").arg(npm).arg(&files));
    let path = |rel: &str| files.join(rel).to_str().unwrap().to_owned();
    let file = path("d0/f0.txt");
    let edit = |n: usize, old: &str, new: &str| {
        let text = ["line 7 of file 0", "line 7 of file zero"];
        json!({"path": file.clone(), old: text[n % 2], new: text[(n + 1) % 2]})
    };
    println!(
        "\nOver MCP, {}; {calls} calls a round; p50, medians of {ROUNDS} rounds\n",
        workspace.name
    );
    let mut rows: Vec<(&str, Vec<f64>, Vec<f64>)> = Vec::new();
    for round in 0..=ROUNDS {
        let measured = [
            ("ping", ours.pings(calls), theirs.pings(calls)),
            (
                "file_read",
                ours.calls("file_read", calls, |_| json!({"path": file, "limit": 200})),
                theirs.calls("read_text_file", calls, |_| json!({"path": file, "head": 200})),
            ),
            (
                "file_edit",
                ours.calls("file_edit", calls, |n| edit(n, "old_string", "new_string")),
                theirs.calls("edit_file", calls, |n| {
                    let change = edit(n, "oldText", "newText");
                    json!({"path": file, "edits": [{"oldText": change["oldText"], "newText": change["newText"]}]})
                }),
            ),
            (
                "file_list",
                ours.calls("file_list", calls, |_| json!({"path": path("d0"), "max_items": 1_000})),
                theirs.calls("list_directory_with_sizes", calls, |_| json!({"path": path("d0")})),
            ),
            (
                "file_glob",
                ours.calls("file_glob", calls, |_| json!({"pattern": "**/*33.txt", "max_results": 1_000})),
                theirs.calls("search_files", calls, |_| json!({"path": path("."), "pattern": "**/*33.txt"})),
            ),
        ];
        for (name, one, other) in measured.into_iter().filter(|_| round > 0) {
            let at = rows.iter().position(|(known, ..)| *known == name);
            let at = at.unwrap_or_else(|| {
                rows.push((name, Vec::new(), Vec::new()));
                rows.len() - 1
            });
            rows[at].1.push(median(one));
            rows[at].2.push(median(other));
        }
    }
    let sync = sync(at);
    for (name, one, other) in rows {
        let ratios = one.iter().zip(&other).map(|(a, b)| b / a).collect();
        println!(
            "{name:10} helve {:>7.0} µs   npm {:>7.0} µs   {:>5.1} times faster",
            1e6 * median(one),
            1e6 * median(other),
            median(ratios)
        );
    }
    println!("a sync of the disk   {:>7.0} µs", 1e6 * sync);
}

/// Seconds to write a page to a file and to have it on the disk.
fn sync(at: &Path) -> f64 {
    let mut file = std::fs::File::create(at.join("sync")).unwrap();
    let page = [7; 4096];
    let took = (0..50).map(|_| {
        let start = Instant::now();
        file.write_all(&page).unwrap();
        file.sync_data().unwrap();
        start.elapsed().as_secs_f64()
    });
    median(took.collect())
}
