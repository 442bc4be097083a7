//! A tool that does nothing, through the whole path of a call: what the path costs.
//!
//! - in memory, beside FastMCP calling a tool that does nothing in memory, without
//!   a policy and without a record;
//! - with the durable record in SQLite, by 1 and by 64 callers, beside the raw speed
//!   of appending the same bytes to a file with the same group commit: what waits is
//!   written together, synced once, and only then answered.
//!
//! All in one run, in turns, so that a busy machine hurts all alike; medians are
//! printed. Needs a Python with `fastmcp`: `./test` makes one in `target/venv`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

mod peer;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use helve_core::audit::Entry;
use helve_core::def::Risk;
use helve_kernel::store::AuditFilter;
use helve_kernel::{
    Call, Kernel, MemoryStore, Principal, Store, Tool, ToolDef, ToolError, ToolName,
};
use helve_store::SqliteStore;
use mimalloc::MiMalloc;
use peer::{median, python, target};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// As in the command; both sides have it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const ROUNDS: usize = 7;
/// How long each part of a round takes.
const PART: Duration = Duration::from_millis(1500);

#[tokio::main]
async fn main() {
    // On the disk that the build uses: /tmp may be memory.
    let folder = tempfile::tempdir_in(target()).unwrap();
    let memory = kernel(Arc::new(MemoryStore::forgetful())).await;
    let sqlite: Arc<dyn Store> =
        Arc::new(SqliteStore::open(&folder.path().join("hub.db")).unwrap());
    let durable = kernel(sqlite.clone()).await;

    // Both sides write into files that have their working size.
    calls(&durable, 64, PART).await;
    let lines = lines(&sqlite).await;
    let bytes: usize = lines.iter().map(String::len).sum::<usize>() / lines.len();
    let raw = Raw::open(&folder.path().join("raw"));
    raw.pairs(&lines, 64, PART).await;
    println!(
        "A call of a tool that does nothing; {bytes} bytes an entry, two entries a call; medians of {ROUNDS} rounds\n"
    );

    if std::env::args().any(|a| a == "profile") {
        // For a profiler: the part with the most callers, and nothing else.
        let each = calls(&durable, 64, PART * 8).await;
        println!("durable, 64 callers {each:.0}/s");
        return;
    }
    let mut rows: [Vec<f64>; 6] = Default::default();
    for round in 0..ROUNDS {
        rows[0].push(calls(&memory, 1, PART).await);
        rows[1].push(1.0 / python(PYTHON, &[], "fastmcp"));
        rows[2].push(calls(&durable, 1, PART).await);
        rows[3].push(raw.pairs(&lines, 1, PART).await);
        rows[4].push(calls(&durable, 64, PART).await);
        rows[5].push(raw.pairs(&lines, 64, PART).await);
        eprintln!("round {} of {ROUNDS} done", round + 1);
    }
    let ratio = |a: usize, b: usize| {
        let pairs = rows[a].iter().zip(&rows[b]);
        median(pairs.map(|(a, b)| a / b).collect())
    };
    let each = |i: usize| median(rows[i].clone());
    println!(
        "in memory        helve {:>9.1} µs   fastmcp {:>9.1} µs   {:>6.1} times faster",
        1e6 / each(0),
        1e6 / each(1),
        ratio(0, 1)
    );
    println!(
        "durable,  1 caller   {:>9.0}/s   raw     {:>9.0}/s   {:>6.2} of raw",
        each(2),
        each(3),
        ratio(2, 3)
    );
    println!(
        "durable, 64 callers  {:>9.0}/s   raw     {:>9.0}/s   {:>6.2} of raw",
        each(4),
        each(5),
        ratio(4, 5)
    );
}

async fn kernel(store: Arc<dyn Store>) -> Kernel {
    // Both sides answer when it is on the disk.
    let kernel = Kernel::builder().store(store).sync_ends(true);
    let kernel = kernel.open().await.unwrap();
    let mut def = ToolDef::new(
        ToolName::new("bench_noop").unwrap(),
        "Gives its number back.",
    );
    def.risk = Some(Risk::Read);
    def.input_schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": false,
    });
    let tool = Tool::of_args(def, |args: Value| async move {
        Ok::<_, ToolError>(args["n"].clone())
    });
    kernel.add_tool(tool).unwrap();
    kernel
}

/// Calls a second, by that many callers.
async fn calls(kernel: &Kernel, callers: usize, time: Duration) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|i| {
            let kernel = kernel.clone();
            let principal = Arc::new(Principal::agent(format!("agent:{i}")));
            tokio::spawn(async move {
                let mut done = 0_u64;
                while start.elapsed() < time {
                    let call = Call::new(principal.clone(), "bench_noop", json!({"n": done}));
                    assert!(kernel.call(call).await.is_ok());
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.unwrap();
    }
    done as f64 / start.elapsed().as_secs_f64()
}

/// What the record of such calls says.
async fn lines(store: &Arc<dyn Store>) -> Vec<String> {
    let entries = store.audit(AuditFilter::default(), 1000).await.unwrap();
    entries.iter().map(Entry::to_line).collect()
}

/// A file with a group commit and nothing else.
struct Raw(mpsc::Sender<(String, oneshot::Sender<()>)>);

impl Raw {
    fn open(path: &Path) -> Self {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        let (sender, receiver) = mpsc::channel::<(String, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            while let Ok(first) = receiver.recv() {
                let mut waiting = vec![first];
                waiting.extend(receiver.try_iter().take(511));
                let text: String = waiting.iter().map(|(line, _)| line.as_str()).collect();
                file.write_all(text.as_bytes()).unwrap();
                file.sync_data().unwrap();
                for (_, done) in waiting {
                    let _ = done.send(());
                }
            }
        });
        Self(sender)
    }

    /// Pairs of entries a second, one after the other like those of a call.
    async fn pairs(&self, lines: &[String], callers: usize, time: Duration) -> f64 {
        let start = Instant::now();
        let lines: Arc<Vec<String>> = Arc::new(lines.to_vec());
        let tasks: Vec<_> = (0..callers)
            .map(|i| {
                let (sender, lines) = (self.0.clone(), lines.clone());
                tokio::spawn(async move {
                    let mut done = 0;
                    while start.elapsed() < time {
                        for k in 0..2 {
                            let line = lines[(i + 2 * done + k) % lines.len()].clone();
                            let (answer, answered) = oneshot::channel();
                            sender.send((line, answer)).unwrap();
                            answered.await.unwrap();
                        }
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        let mut done = 0;
        for task in tasks {
            done += task.await.unwrap();
        }
        done as f64 / start.elapsed().as_secs_f64()
    }
}

const PYTHON: &str = r#"
import asyncio, time
from fastmcp import Client, FastMCP
server = FastMCP("bench")

@server.tool
def noop(n: int) -> int:
    return n

async def main():
    async with Client(server) as client:
        for i in range(50):
            await client.call_tool("noop", {"n": i})
        start = time.perf_counter()
        for i in range(400):
            await client.call_tool("noop", {"n": i})
        print((time.perf_counter() - start) / 400)

asyncio.run(main())
"#;
