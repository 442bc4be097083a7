//! What a run writes, over a real socket.

use futures_util::StreamExt as _;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::*;

/// An event, as a browser sees it.
#[derive(Debug, PartialEq, Default)]
struct Event {
    name: String,
    id: String,
    data: Value,
}

impl Event {
    fn text(&self) -> &str {
        self.data["text"].as_str().unwrap()
    }
}

/// A stream of events that is read line by line as it comes.
struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    async fn open(bench: &Bench, path: &str, secret: &str, more: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = bench.router.clone();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let mut socket = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {secret}\r\n{more}\r\n"
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut lines = BufReader::new(socket);
        let mut status = String::new();
        lines.read_line(&mut status).await.unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        loop {
            let mut line = String::new();
            lines.read_line(&mut line).await.unwrap();
            if line == "\r\n" {
                return Self { lines };
            }
        }
    }

    /// The next event; none at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        let mut event = Event::default();
        loop {
            // One chunk of the transfer: its length, its bytes, an end of line.
            let mut length = String::new();
            self.lines.read_line(&mut length).await.unwrap();
            let length = usize::from_str_radix(length.trim(), 16).unwrap();
            if length == 0 {
                return None;
            }
            let mut bytes = vec![0; length + 2];
            self.lines.read_exact(&mut bytes).await.unwrap();
            let text = String::from_utf8(bytes).unwrap();
            for line in text.lines() {
                match line.split_once(": ") {
                    Some(("event", name)) => event.name = name.to_owned(),
                    Some(("id", id)) => event.id = id.to_owned(),
                    Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                    _ => {}
                }
            }
            if !event.name.is_empty() {
                return Some(event);
            }
        }
    }
}

async fn waiting(bench: &Bench) -> String {
    let answer = bench
        .post("/tools/toy_wait/runs", json!({"wait": "nothing"}))
        .await
        .is(202);
    answer["meta"]["run_id"].as_str().unwrap().to_owned()
}

/// A run that is over, and wrote that.
async fn wrote(bench: &Bench, chunks: &[&[u8]]) -> String {
    let run = waiting(bench).await;
    for chunk in chunks {
        bench.toy.out(*chunk);
    }
    bench.toy.done();
    let id = helve_kernel::RunId::parse(&run).unwrap();
    bench.hub.kernel().wait_for(&id).await.unwrap();
    run
}

#[tokio::test]
async fn output_comes_while_the_run_runs() {
    let bench = Bench::new().await;
    let run = waiting(&bench).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    bench.toy.out("one\n");
    let first = events.next().await.unwrap();
    assert_eq!(
        (first.name.as_str(), first.id.as_str(), first.text()),
        ("stdout", "1", "one\n")
    );
    assert_eq!(first.data["seq"], 1);
    // Only now the next is written: the first has not waited for it.
    bench.toy.err("two\n");
    let second = events.next().await.unwrap();
    assert_eq!(
        (second.name.as_str(), second.id.as_str(), second.text()),
        ("stderr", "2", "two\n")
    );
    // A character in two chunks, with the other stream between.
    bench.toy.out([b'\xe2', b'\x82']);
    bench.toy.err("between");
    bench.toy.out([b'\xac']);
    assert_eq!(events.next().await.unwrap().text(), "between");
    assert_eq!(events.next().await.unwrap().text(), "€");
    bench.toy.done();
    let end = events.next().await.unwrap();
    assert_eq!(
        (end.name.as_str(), &end.data["state"]),
        ("end", &json!("succeeded"))
    );
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was() {
    let bench = Bench::new().await;
    let run = wrote(&bench, &[b"a", b"b", b"c\xe2", b"\x82\xac", b"d"]).await;
    let path = format!("/runs/{run}/logs");
    let from = |path: String, more: &'static str| {
        let bench = &bench;
        async move {
            let mut events = Events::open(bench, &path, &bench.ann, more).await;
            let mut texts = Vec::new();
            while let Some(event) = events.next().await {
                match event.name.as_str() {
                    "stdout" => texts.push(event.text().to_owned()),
                    name => texts.push(name.to_owned()),
                }
            }
            texts
        }
    };
    assert_eq!(
        from(path.clone(), "").await,
        ["a", "b", "c", "€", "d", "end"]
    );
    assert_eq!(
        from(path.clone(), "Last-Event-ID: 2\r\n").await,
        ["c", "€", "d", "end"]
    );
    assert_eq!(
        from(format!("{path}?after=1"), "").await,
        ["b", "c", "€", "d", "end"]
    );
    // The address of a page stays the same, so what it has seen counts for more.
    assert_eq!(
        from(format!("{path}?after=1"), "Last-Event-ID: 4\r\n").await,
        ["d", "end"]
    );
    // Cut within a character: it comes whole.
    assert_eq!(
        from(path.clone(), "Last-Event-ID: 3\r\n").await,
        ["€", "d", "end"]
    );
    assert_eq!(from(path.clone(), "Last-Event-ID: junk\r\n").await.len(), 6);
    assert_eq!(
        from(format!("{path}?limit=2"), "").await,
        ["a", "b", "so_far"]
    );
    assert_eq!(from(format!("{path}?after=99"), "").await, ["end"]);
    assert_eq!(
        from(format!("{path}?after=3&limit=2"), "").await,
        ["€", "d", "end"]
    );
}

#[tokio::test]
async fn what_is_no_text_is_shown_as_well_as_it_can_be() {
    let bench = Bench::new().await;
    let run = wrote(&bench, &[b"\xff\xe2\x82", b"\xac!", b"\xf0\x9f"]).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    let mut texts = Vec::new();
    while let Some(event) = events.next().await {
        if event.name == "stdout" {
            texts.push(event.text().to_owned());
        }
    }
    assert_eq!(
        texts,
        ["\u{fffd}", "€!", "\u{fffd}"],
        "a cut end is not lost"
    );
    let asked = get(&format!("/runs/{run}/logs"))
        .by(&bench.ann)
        .header("accept", "application/json");
    let page = bench.send(asked).await.is(200);
    let json: Vec<&str> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["text"].as_str().unwrap())
        .collect();
    assert_eq!(json, texts);
}

#[tokio::test]
async fn a_line_with_every_break_stays_one_event() {
    let bench = Bench::new().await;
    let text = "a\r\nb\nc\rd\n\nevent: end\ndata: {}\n\n\u{0}\u{2028}";
    let run = wrote(&bench, &[text.as_bytes()]).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    assert_eq!(events.next().await.unwrap().text(), text);
    assert_eq!(events.next().await.unwrap().name, "end");
}

#[tokio::test]
async fn logs_come_as_json_too() {
    let bench = Bench::new().await;
    let chunks: Vec<Vec<u8>> = (0..7).map(|i| format!("{i}").into_bytes()).collect();
    let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
    let run = wrote(&bench, &chunks).await;
    let (mut seen, mut after) = (String::new(), 0);
    loop {
        let path = format!("/runs/{run}/logs?limit=3&after={after}");
        let asked = get(&path)
            .by(&bench.ann)
            .header("accept", "application/json");
        let page = bench.send(asked).await.is(200);
        for item in page["items"].as_array().unwrap() {
            seen.push_str(item["text"].as_str().unwrap());
        }
        match page["next"].as_str() {
            Some(next) => after = next.parse().unwrap(),
            None => break,
        }
    }
    assert_eq!(seen, "0123456");
}

#[tokio::test]
async fn without_following_what_is_there_is_all() {
    let bench = Bench::new().await;
    let run = waiting(&bench).await;
    let mut live = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    bench.toy.out("so far");
    live.next().await.unwrap();
    let reply = bench.get(&format!("/runs/{run}/logs?follow=false")).await;
    assert!(
        reply
            .header("content-type")
            .unwrap()
            .starts_with("text/event-stream")
    );
    let text = reply.text();
    assert!(
        text.contains("event: stdout") && text.contains("event: so_far"),
        "{text}"
    );
    bench.toy.done();
    assert_eq!(live.next().await.unwrap().name, "end");
}

#[tokio::test]
async fn many_chunks_come_in_order() {
    let bench = Bench::new().await;
    let chunks: Vec<Vec<u8>> = (0..350).map(|i| format!("{i},").into_bytes()).collect();
    let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
    let run = wrote(&bench, &chunks).await;
    let reply = bench.get(&format!("/runs/{run}/logs")).await;
    let ids: Vec<String> = reply
        .text()
        .lines()
        .filter_map(|l| l.strip_prefix("id: ").map(str::to_owned))
        .collect();
    let wanted: Vec<String> = (1..=350).map(|i| i.to_string()).collect();
    assert_eq!(ids, wanted);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let bench = Bench::new().await;
    let root = Principal::person("root");
    let run = waiting(&bench).await;
    let mut new = NewToken::agent("watcher");
    new.permissions = vec![Permission::RunRead, Permission::AuditRead];
    let (secret, id) = bench.token_of(&root, new.clone()).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &secret, "").await;
    bench.toy.out("seen");
    assert_eq!(events.next().await.unwrap().text(), "seen");
    bench.hub.kernel().revoke_token(&root, &id).await.unwrap();
    bench.toy.out("unseen");
    assert_eq!(events.next().await.unwrap().name, "revoked");
    assert_eq!(events.next().await, None);

    new.lasts = Some(Duration::from_millis(200));
    let (secret, _) = bench.token_of(&root, new).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs?after=2"), &secret, "").await;
    bench.clock.go(Duration::from_millis(200));
    assert_eq!(
        events.next().await.unwrap().name,
        "revoked",
        "by time alone"
    );
    bench.toy.done();
}

#[tokio::test]
async fn what_waits_for_a_slow_reader_is_kept_back_with_its_token() {
    let bench = Bench::new().await;
    let run = wrote(&bench, &[b"a", b"b", b"c"]).await;
    let root = Principal::person("root");
    let mut new = NewToken::agent("slow");
    new.permissions = vec![Permission::RunRead, Permission::AuditRead];
    let (secret, id) = bench.token_of(&root, new).await;
    let request = get(&format!("/runs/{run}/logs")).by(&secret).request();
    let response = bench.router.clone().oneshot(request).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let first = body.next().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("\"a\""));
    bench.hub.kernel().revoke_token(&root, &id).await.unwrap();
    let second = body.next().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&second).contains("event: revoked"));
    assert!(body.next().await.is_none());
}

#[tokio::test]
async fn a_stream_ends_with_the_hub() {
    let bench = Bench::new().await;
    let run = waiting(&bench).await;
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    bench.toy.out("x");
    events.next().await.unwrap();
    bench.hub.close();
    assert_eq!(events.next().await, None);
    bench.toy.done();
}

#[tokio::test]
async fn a_run_that_ends_without_a_word_ends_its_stream() {
    let bench = Bench::new().await;
    let asked = bench
        .post("/tools/toy_write/runs", json!({"args": {}}))
        .await
        .is(202);
    let run = asked["meta"]["run_id"].as_str().unwrap().to_owned();
    let mut events = Events::open(&bench, &format!("/runs/{run}/logs"), &bench.ann, "").await;
    bench
        .post(&format!("/runs/{run}/cancel"), json!({}))
        .await
        .is(202);
    let end = events.next().await.unwrap();
    assert_eq!(
        (end.name.as_str(), &end.data["state"]),
        ("end", &json!("cancelled"))
    );
}
