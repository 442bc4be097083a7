//! What the archive of chat logs costs at a million messages, beside what people use.
//!
//! The messages are made here, from a seed: Chinese, English and both, words by Zipf's law,
//! 200 senders, 50 chats, about 36 bytes each. Measured are import and index, their size, the
//! memory at its height, and how long keywords and questions take; beside it, in turns on the
//! same queries, `LIKE` and an FTS5 trigram table in SQLite, a scan in memory with memmem, and
//! `rg` where it is installed.
//!
//! Our own times are of the processor, of one thread; those beside each other are of the clock.
//! The number of messages can be given as argument.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs
)]

#[path = "chatlog/made.rs"]
mod made;
#[expect(dead_code, reason = "no peer in Python here")]
mod peer;

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use helve_chatlog::archive::{Archive, ImportNote, Keywords, Order, Question, Source};
use made::Made;
use memchr::memmem::Finder;
use rusqlite::Connection;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Some(at) = args.iter().position(|arg| arg == "read") {
        return read(Path::new(&args[at + 1]));
    }
    let given = args.iter().filter_map(|arg| arg.parse().ok()).next();
    let messages: u64 = given.unwrap_or(1_000_000);
    // On a disk: /tmp may be memory.
    let folder = tempfile::tempdir_in(peer::target()).unwrap();
    let archive = ours(messages, folder.path());
    drop(archive);
    // In a process of its own, so that its memory is not that of the import.
    let exe = std::env::current_exe().unwrap();
    let read = Command::new(exe)
        .arg("read")
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(read.success());
    let archive = Archive::open(&folder.path().join("archive")).unwrap();
    beside(&archive, messages, folder.path(), &queries());
}

fn read(folder: &Path) {
    let start = Instant::now();
    let archive = Archive::open(&folder.join("archive")).unwrap();
    println!("open                     {:>9.1?}", start.elapsed());
    let questions: Vec<String> = (0..200).map(|n| Made::new(7 + n).question()).collect();
    literal(&archive, &queries());
    asked(&archive, &questions);
    println!("memory at its height     {:>9.1} MB", memory("VmHWM"));
    println!(
        "memory now               {:>9.1} MB, of which {:.1} its own and {:.1} mapped files",
        memory("VmRSS"),
        memory("RssAnon"),
        memory("RssFile")
    );
}

fn ours(messages: u64, folder: &Path) -> Archive {
    let start = Instant::now();
    let mut text = 0;
    let mut made = Made::new(1);
    for _ in 0..messages {
        text += made.message().text.len();
    }
    let making = start.elapsed();
    println!(
        "{messages} messages, {:.1} MB of text, made in {making:.1?}",
        text as f64 / 1e6
    );
    let archive = Archive::open(&folder.join("archive")).unwrap();
    let start = Instant::now();
    let mut watch = |_| ControlFlow::Continue(());
    let mut made = Made::new(1);
    let mut produce = |sink: &mut dyn helve_chatlog::Sink| {
        for _ in 0..messages {
            sink.message(made.message())?;
        }
        Ok(())
    };
    let staged = archive.stage(&mut produce, &mut watch).unwrap();
    let stage = start.elapsed().saturating_sub(making);
    let start = Instant::now();
    let note = ImportNote::default();
    archive.apply(&staged.id, &note, &mut watch).unwrap();
    let apply = start.elapsed();
    let rate = |seconds: f64| messages as f64 / seconds / 1e3;
    println!(
        "stage                    {stage:>9.1?}  {:.0}k/s",
        rate(stage.as_secs_f64())
    );
    println!(
        "apply with index         {apply:>9.1?}  {:.0}k/s",
        rate(apply.as_secs_f64())
    );
    println!(
        "both                     {:>9.0}k messages/s",
        rate((stage + apply).as_secs_f64())
    );
    println!(
        "memory after import      {:>9.1} MB at its height",
        memory("VmHWM")
    );
    let size = |name: &str| bytes(&folder.join("archive").join(name)) as f64;
    for (what, name) in [
        ("index", "index"),
        ("texts and columns", "flat"),
        ("database", "archive.db"),
    ] {
        let size = size(name);
        println!(
            "{what:<24} {:>9.1} MB  {:.2} x text",
            size / 1e6,
            size / text as f64
        );
    }
    archive
}

/// Keywords, by what they are.
fn queries() -> Vec<(&'static str, Vec<String>)> {
    let made = Made::new(2);
    vec![
        (
            "Chinese words",
            (0..200)
                .map(|n| made.chinese(n + n * n / 7).to_owned())
                .filter(|w| w.chars().count() > 1)
                .collect(),
        ),
        (
            "English words",
            (0..200)
                .map(|n| made.english(n + n * n / 3).to_owned())
                .collect(),
        ),
        (
            "parts of words",
            (0..100)
                .map(|n| made.english(n * n)[1..].to_owned())
                .filter(|w| w.len() > 2)
                .collect(),
        ),
        (
            "two words in a row",
            (0..100)
                .map(|n| match n % 2 {
                    0 => format!("{}{}", made.chinese(n), made.chinese(n / 3)),
                    _ => format!("{} {}", made.english(n), made.english(n / 3)),
                })
                .collect(),
        ),
        (
            "single letters",
            "的不是我有大这上来到e13。"
                .chars()
                .map(String::from)
                .collect(),
        ),
    ]
}

fn literal(archive: &Archive, queries: &[(&'static str, Vec<String>)]) {
    println!(
        "\nkeywords                   all ids p50 / p99       ranked 50 p50 / p99   hits p50 / max, scanned"
    );
    let mut every = (Vec::new(), Vec::new());
    for (kind, words) in queries {
        let (mut all, mut ranked, mut hits, mut scans) = (vec![], vec![], vec![], 0);
        for word in words {
            let ask = Keywords {
                words: vec![word.clone()],
                order: Order::Oldest,
                limit: usize::MAX,
                ..Keywords::default()
            };
            let start = used();
            let found = archive.keywords(&ask).unwrap();
            all.push(used() - start);
            hits.push(found.total as f64);
            scans += usize::from(found.source == Source::Scan);
            let ask = Keywords {
                order: Order::Relevance,
                limit: 50,
                ..ask
            };
            let start = used();
            archive.keywords(&ask).unwrap();
            ranked.push(used() - start);
        }
        if *kind != "single letters" {
            every.0.extend(all.clone());
            every.1.extend(ranked.clone());
        }
        row(kind, all, ranked, &hits, scans, words.len());
    }
    row("all but single letters", every.0, every.1, &[0.0], 0, 0);
}

fn row(kind: &str, all: Vec<f64>, ranked: Vec<f64>, hits: &[f64], scans: usize, of: usize) {
    let (a, b) = quantiles(all);
    let (c, d) = quantiles(ranked);
    let (e, f) = quantiles(hits.to_vec());
    println!(
        "{kind:<24} {a:>8.2} / {b:>8.2} ms  {c:>8.2} / {d:>8.2} ms  {e:>8.0} / {f:.0}, {scans} of {of}"
    );
}

fn asked(archive: &Archive, questions: &[String]) {
    let times = questions.iter().map(|text| {
        let question = Question {
            text: text.clone(),
            limit: 50,
            ..Question::default()
        };
        let start = used();
        archive.ask(&question).unwrap();
        used() - start
    });
    let (p50, p99) = quantiles(times.collect());
    println!("questions                {p50:>8.2} / {p99:>8.2} ms p50 / p99\n");
}

/// The same keywords with other means, in turns.
fn beside(
    archive: &Archive,
    messages: u64,
    folder: &Path,
    queries: &[(&'static str, Vec<String>)],
) {
    let conn = Connection::open(folder.join("peer.db")).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         CREATE TABLE m (line INTEGER PRIMARY KEY, text TEXT);
         CREATE VIRTUAL TABLE f USING fts5 (text, content='m', content_rowid='line', tokenize='trigram');
         BEGIN;",
    )
    .unwrap();
    let mut made = Made::new(1);
    let (mut flat, mut ends) = (Vec::new(), Vec::new());
    let file = folder.join("texts.txt");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file).unwrap());
    {
        let mut insert = conn.prepare("INSERT INTO m VALUES (?, ?)").unwrap();
        for line in 1..=messages {
            let text = made.message().text;
            insert.execute((line as i64, &text)).unwrap();
            flat.extend(text.as_bytes());
            ends.push(flat.len());
            flat.push(b'\n');
            writeln!(out, "{text}").unwrap();
        }
    }
    out.flush().unwrap();
    conn.execute_batch("COMMIT").unwrap();
    let start = Instant::now();
    conn.execute_batch("INSERT INTO f (f) VALUES ('rebuild')")
        .unwrap();
    println!("FTS5 trigram built in {:.1?}", start.elapsed());
    let has_rg = Command::new("rg").arg("--version").output().is_ok();
    if !has_rg {
        println!("`rg` is not installed (package `ripgrep`): left out");
    }
    println!(
        "\nall ids, p50 in ms             helve     memmem         rg       LIKE       FTS5   (recall)"
    );
    for (kind, words) in queries {
        let mut times: [Vec<f64>; 5] = Default::default();
        let (mut found, mut expected) = (0, 0);
        for word in words.iter().step_by(words.len().div_ceil(12)) {
            let ask = Keywords {
                words: vec![word.clone()],
                order: Order::Oldest,
                limit: usize::MAX,
                ..Keywords::default()
            };
            let (time, ours) = timed(|| archive.keywords(&ask).unwrap().total);
            times[0].push(time);
            let (time, scan) = timed(|| scan(&flat, &ends, word));
            times[1].push(time);
            assert_eq!(ours, scan, "{word}");
            if has_rg {
                let (time, _) = timed(|| {
                    let args = ["-j1", "-F", "-i", "-n", "--no-config", word];
                    let output = Command::new("rg").args(args).arg(&file).output().unwrap();
                    output.stdout.len() as u64
                });
                times[2].push(time);
            }
            let like = format!("%{word}%");
            let (time, _) = timed(|| lines(&conn, "SELECT line FROM m WHERE text LIKE ?", &like));
            times[3].push(time);
            let quoted = format!("\"{word}\"");
            let (time, fts) =
                timed(|| lines(&conn, "SELECT rowid FROM f WHERE f MATCH ?", &quoted));
            times[4].push(time);
            found += fts;
            expected += ours;
        }
        let medians = times.map(|times| match times.is_empty() {
            true => f64::NAN,
            false => quantiles(times).0,
        });
        print!("{kind:<24}");
        medians.iter().for_each(|median| print!(" {median:>10.2}"));
        println!("   ({:.3})", found as f64 / expected.max(1) as f64);
        print!("  times ours            ");
        medians
            .iter()
            .for_each(|median| print!(" {:>10.1}", median / medians[0]));
        println!();
    }
}

fn lines(conn: &Connection, sql: &str, with: &str) -> u64 {
    let mut query = conn.prepare_cached(sql).unwrap();
    let rows = query.query_map([with], |row| row.get::<_, i64>(0)).unwrap();
    rows.map(Result::unwrap).collect::<Vec<_>>().len() as u64
}

fn scan(flat: &[u8], ends: &[usize], word: &str) -> u64 {
    let finder = Finder::new(word);
    let (mut from, mut line, mut found) = (0, 0, Vec::new());
    while let Some(hit) = finder.find(&flat[from..]) {
        line += ends[line..].partition_point(|end| *end <= from + hit);
        found.push(line);
        from = ends[line] + 1;
        line += 1;
    }
    found.len() as u64
}

fn timed(f: impl FnOnce() -> u64) -> (f64, u64) {
    let start = Instant::now();
    let result = f();
    (start.elapsed().as_secs_f64() * 1e3, result)
}

/// Milliseconds of the processor that this thread has used: what others do on a busy machine
/// is not in it.
fn used() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// The middle and the 99th of a hundred.
fn quantiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (
        values[values.len() / 2],
        values[(values.len() * 99 / 100).min(values.len() - 1)],
    )
}

/// Megabytes of this process, as the kernel counts them.
fn memory(what: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(what));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or(f64::NAN) / 1e3
}

fn bytes(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| bytes(&entry.unwrap().path())).sum(),
        Err(_) => path.metadata().map_or(0, |meta| meta.len()),
    }
}
