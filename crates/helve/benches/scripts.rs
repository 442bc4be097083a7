//! What a tool in JavaScript or Python costs that does nothing, beside other ways to have it.
//!
//! - *helve*: through a kernel with policy and a durable record, by a worker that has the
//!   file loaded, in its sandbox.
//! - *a start per call*: `node` or `python3` is started with the same function for every
//!   call, without a sandbox and without a record.
//! - *FastMCP*: the same function in Python as an MCP server on standard input and output,
//!   which is spoken with directly. `FASTMCP_PYTHON` names an interpreter that has it; else
//!   it is looked for among the peers of `bench/gateway`.
//!
//! All in one run, in turns, so that a busy machine hurts all alike; medians are
//! printed. Ratios are medians of the ratios of each round.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

#[expect(dead_code, reason = "the peer is a server here")]
mod peer;
#[expect(dead_code, reason = "nobody is pinged here")]
#[path = "peer/server.rs"]
mod server;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use helve_core::def::ExecutorKind;
use helve_core::policy::Policy;
use helve_exec::{HostExecutor, ScriptExecutor, ScriptSettings};
use helve_kernel::{Call, Keeper, Kernel, Principal, Registration, ToolDef};
use helve_store::SqliteStore;
use mimalloc::MiMalloc;
use peer::{median, target};
use serde_json::{Value, json};
use server::Server;

/// As in the command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const ROUNDS: usize = 9;
/// Calls of a tool in a row; starts are fewer, for they take long.
const CALLS: usize = 200;
const STARTS: usize = 10;

const JAVASCRIPT: &str = "const tool = {name: 'nothing', description: 'Does nothing.',
  handler: async (args) => ({said: args.word})}
module.exports = tool
if (require.main === module) {
  tool.handler(JSON.parse(require('fs').readFileSync(0, 'utf8'))).then((r) => console.log(JSON.stringify(r)))
}
";

const PYTHON: &str = "def nothing(word: str) -> dict:
    \"\"\"Does nothing.\"\"\"
    return {'said': word}

if __name__ == '__main__':
    import json, sys
    print(json.dumps(nothing(**json.load(sys.stdin))))
";

const FASTMCP: &str = "from fastmcp import FastMCP

server = FastMCP('bench')

@server.tool
def nothing(word: str) -> dict:
    return {'said': word}

server.run(show_banner=False)
";

#[tokio::main]
async fn main() {
    // On the disk that the build uses: /tmp may be memory.
    let folder = tempfile::tempdir_in(target()).unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("tools")).unwrap();
    std::fs::write(root.join("tools/js.js"), JAVASCRIPT).unwrap();
    std::fs::write(root.join("tools/py.py"), PYTHON).unwrap();
    std::fs::write(root.join("peer.py"), FASTMCP).unwrap();
    let kernel = kernel(&root).await;
    let mut fastmcp = fastmcp().map(|python| {
        let mut command = Command::new(python);
        Server::start(command.arg(root.join("peer.py")))
    });
    if fastmcp.is_none() {
        eprintln!("FASTMCP_PYTHON names no interpreter with FastMCP; it is not measured");
    }
    let mut rows = [Row::new("JavaScript"), Row::new("Python")];
    for round in 0..=ROUNDS {
        for (row, (tool, program, file)) in rows.iter_mut().zip([
            ("nothing_js", "node", "tools/js.js"),
            ("nothing_py", "python3", "tools/py.py"),
        ]) {
            let ours = calls(&kernel, tool).await;
            let starts = starts(program, &root.join(file));
            let theirs = fastmcp
                .as_mut()
                .map(|server| median(server.calls("nothing", CALLS, |_| json!({"word": "hello"}))));
            // The first round starts the workers.
            if round > 0 {
                row.ours.push(ours);
                row.starts.push(starts);
                row.theirs.extend(theirs);
            }
        }
    }
    println!("A tool that does nothing; p50 of {CALLS} calls, medians of {ROUNDS} rounds\n");
    for row in rows {
        row.print();
    }
}

struct Row {
    name: &'static str,
    ours: Vec<f64>,
    starts: Vec<f64>,
    theirs: Vec<f64>,
}

impl Row {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            ours: Vec::new(),
            starts: Vec::new(),
            theirs: Vec::new(),
        }
    }

    fn print(self) {
        let times = |others: &[f64]| {
            let ratios = self.ours.iter().zip(others).map(|(one, other)| other / one);
            median(ratios.collect())
        };
        let started = times(&self.starts);
        let theirs = match self.theirs.is_empty() {
            true => String::new(),
            false => {
                let ratio = times(&self.theirs);
                let micros = 1e6 * median(self.theirs.clone());
                format!("   FastMCP {micros:>6.0} µs, {ratio:>4.1} times")
            }
        };
        println!(
            "{:11} helve {:>6.0} µs   a start per call {:>7.0} µs, {started:>5.1} times{theirs}",
            self.name,
            1e6 * median(self.ours.clone()),
            1e6 * median(self.starts.clone()),
        );
    }
}

async fn kernel(root: &Path) -> Kernel {
    let state = root.join(".helve");
    std::fs::create_dir_all(&state).unwrap();
    let allow = json!([{"effect": "allow", "tool": "*"}]);
    let settings = ScriptSettings {
        pool: 4,
        ..ScriptSettings::default()
    };
    let scripts = ScriptExecutor::new(HostExecutor::new(root), settings);
    let kernel = Kernel::builder()
        .root(root)
        .store(Arc::new(SqliteStore::open(&state.join("hub.db")).unwrap()))
        .policy(Policy::from_value(&allow).unwrap())
        .artifacts(state.join("artifacts"))
        .keeper(Arc::new(
            Keeper::open(&state.join("changes"), None).unwrap(),
        ))
        .executor(ExecutorKind::Script, Arc::new(scripts.clone()))
        .open()
        .await
        .unwrap();
    scripts.connect(&kernel);
    for (name, path) in [("nothing_js", "tools/js.js"), ("nothing_py", "tools/py.py")] {
        let def = json!({
            "name": name,
            "description": "Does nothing.",
            "risk": "read",
            "input_schema": {"type": "object", "properties": {"word": {"type": "string"}}},
            "executor": {"type": "script", "path": path, "function": "nothing"},
        });
        let new = Registration {
            def: ToolDef::from_value(&def).unwrap(),
            source: "api".to_owned(),
            why: None,
            replace: true,
        };
        kernel
            .register(&Principal::person("ann"), new)
            .await
            .unwrap();
    }
    kernel
}

/// The median of calls, in seconds.
async fn calls(kernel: &Kernel, tool: &str) -> f64 {
    let who = Arc::new(Principal::agent("agent:bench"));
    let mut took = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        let call = Call::new(who.clone(), tool, json!({"word": "hello"}));
        let answer = kernel.call(call).await;
        took.push(start.elapsed().as_secs_f64());
        assert_eq!(answer.result.unwrap(), json!({"said": "hello"}));
    }
    median(took)
}

fn starts(program: &str, file: &Path) -> f64 {
    let start = |_| {
        let start = Instant::now();
        let mut child = Command::new(program)
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(br#"{"word": "hello"}"#)
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let took = start.elapsed().as_secs_f64();
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(said, json!({"said": "hello"}));
        took
    };
    median((0..STARTS).map(start).collect())
}

/// An interpreter that has FastMCP.
fn fastmcp() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("FASTMCP_PYTHON") {
        return Some(named.into());
    }
    let peers = std::fs::read_dir(target().join("bench-peers")).ok()?;
    let mut peers: Vec<PathBuf> = peers.flatten().map(|entry| entry.path()).collect();
    peers.sort();
    let fastmcp = |p: &&PathBuf| {
        p.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("fastmcp"))
    };
    let python = peers.iter().rev().find(fastmcp)?.join("bin/python");
    python.is_file().then_some(python)
}
