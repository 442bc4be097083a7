//! A client that says exactly what a test wants, and shows exactly what came back.

use std::sync::Arc;
use std::time::Duration;

use helve_kernel::Principal;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use super::support::Hub;

pub const LEGACY: &str = "2025-11-25";
pub const MODERN: &str = "2026-07-28";

/// A client at the other end of a pair of streams.
pub struct Client {
    reader: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    /// What a client of the newer revisions says with every request.
    meta: Option<Value>,
    next: u64,
    /// What it was told beside answers.
    pub heard: Vec<Value>,
    /// What it was told at the beginning.
    pub greeting: Value,
    pub served: JoinHandle<Result<(), String>>,
}

impl Hub {
    fn connect(&self, view: Option<&str>, who: &Arc<Principal>, meta: Option<Value>) -> Client {
        let (here, there) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(there);
        let session = self.front.session(view, who.clone()).unwrap();
        let served = tokio::spawn(session.serve(reader, writer, self.closing.clone()));
        let (reader, writer) = tokio::io::split(here);
        Client {
            reader: BufReader::new(reader).lines(),
            writer,
            meta,
            next: 0,
            heard: Vec::new(),
            greeting: Value::Null,
            served,
        }
    }

    /// A client of the older revisions, greeted.
    pub async fn legacy(&self, who: &Arc<Principal>, capabilities: Value) -> Client {
        self.legacy_in(None, who, capabilities).await
    }

    pub async fn legacy_in(
        &self,
        view: Option<&str>,
        who: &Arc<Principal>,
        capabilities: Value,
    ) -> Client {
        let mut client = self.connect(view, who, None);
        let hello = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities,
            "clientInfo": {"name": "tester", "version": "1"},
        });
        client.greeting = client.ask("initialize", hello).await;
        client.tell("notifications/initialized", json!({})).await;
        client
    }

    /// A client of the newer revisions.
    pub async fn modern(&self, who: &Arc<Principal>, capabilities: Value) -> Client {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
        });
        let mut client = self.connect(None, who, Some(meta));
        client.greeting = client.ask("server/discover", json!({})).await;
        client
    }
}

impl Client {
    async fn write(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    /// The next line as it came. A test that waits in vain ends.
    pub async fn line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(7200), self.reader.next_line());
        line.await
            .expect("an answer in time")
            .unwrap()
            .expect("a server")
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    pub async fn tell(&mut self, method: &str, params: Value) {
        self.write(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    /// Sends a request, and gives its id.
    pub async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.write(json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))
            .await;
        self.next
    }

    /// The whole answer to a request. Whatever else is asked meanwhile fails the test.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.read().await;
            match message.get("method") {
                Some(_) if message.get("id").is_some() => panic!("asked: {message}"),
                Some(_) => self.heard.push(message),
                None if message["id"] == id => return message,
                None => {}
            }
        }
    }

    pub async fn result(&mut self, id: u64) -> Value {
        let mut answer = self.answer(id).await;
        assert_eq!(answer.get("error"), None, "{answer}");
        answer["result"].take()
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.result(id).await
    }

    /// The error of a request: code and message.
    pub async fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let id = self.send(method, params).await;
        let answer = self.answer(id).await;
        let error = &answer["error"];
        let code = error["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {answer}"));
        (code, super::support::text(&error["message"]))
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    pub async fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.send("tools/call", params).await
    }

    /// What the server asks next: the whole request.
    pub async fn question(&mut self) -> Value {
        loop {
            let message = self.read().await;
            match (message.get("method"), message.get("id")) {
                (Some(_), Some(_)) => return message,
                (Some(_), None) => self.heard.push(message),
                _ => panic!("answered: {message}"),
            }
        }
    }

    pub async fn reply(&mut self, question: &Value, result: Value) {
        self.write(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
            .await;
    }

    /// The next that is told, apart from answers.
    pub async fn told(&mut self) -> Value {
        if !self.heard.is_empty() {
            return self.heard.remove(0);
        }
        let message = self.read().await;
        assert!(message.get("method").is_some(), "answered: {message}");
        message
    }

    pub async fn tools(&mut self) -> Vec<Value> {
        let list = self.ask("tools/list", json!({})).await;
        list["tools"].as_array().unwrap().clone()
    }

    pub async fn names(&mut self) -> Vec<String> {
        let tools = self.tools().await;
        tools
            .iter()
            .map(|t| super::support::text(&t["name"]))
            .collect()
    }

    /// Says these bytes, whatever they are.
    pub async fn raw(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    /// Has nothing more to say, and still listens.
    pub async fn says_no_more(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// Hangs up, and waits until the server has noticed.
    pub async fn hang_up(self) {
        drop((self.reader, self.writer));
        self.served.await.unwrap().unwrap();
    }
}

pub fn of(result: &Value) -> String {
    super::support::text(&result["content"][0]["text"])
}
