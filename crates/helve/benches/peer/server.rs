//! An MCP server that is spoken with on its standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

pub(crate) struct Server {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let from = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self {
            child,
            to,
            from,
            next: 0,
        };
        let client = json!({"name": "bench", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.ask("initialize", &hello);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(server.to, "{ready}").unwrap();
        server
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.timed(method, params).0
    }

    /// The result, and the seconds from the first byte that is sent to the last that comes.
    fn timed(&mut self, method: &str, params: &Value) -> (Value, f64) {
        self.next += 1;
        let ask = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let ask = format!("{ask}\n");
        let start = Instant::now();
        self.to.write_all(ask.as_bytes()).unwrap();
        loop {
            let mut line = String::new();
            assert!(
                self.from.read_line(&mut line).unwrap() > 0,
                "the server is gone"
            );
            let took = start.elapsed().as_secs_f64();
            let mut answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == self.next {
                return (answer["result"].take(), took);
            }
        }
    }

    /// Seconds of each of so many requests that ask for nothing.
    pub(crate) fn pings(&mut self, count: usize) -> Vec<f64> {
        (0..count)
            .map(|_| self.timed("ping", &json!({})).1)
            .collect()
    }

    /// Seconds of each of so many calls.
    pub(crate) fn calls(
        &mut self,
        tool: &str,
        count: usize,
        args: impl Fn(usize) -> Value,
    ) -> Vec<f64> {
        (0..count)
            .map(|n| {
                let params = json!({"name": tool, "arguments": args(n)});
                let (result, took) = self.timed("tools/call", &params);
                assert_ne!(result["isError"], true, "{tool}: {result}");
                took
            })
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
