//! Tool search: how well it finds, beside BM25 over plain words, and how fast it is,
//! beside tantivy.
//!
//! How well: on public sets of tools and requests, read from the folder in
//! `HELVE_SEARCH_SETS` (`<set>/tools.jsonl`, `<set>/queries.jsonl`), and how often it says
//! that nothing fits, rightly and wrongly. Without the folder
//! only the speed is measured, on tools made up here. How fast: on 10,000 and 100,000
//! tools made by crossing those that there are. All sides use one core and are measured
//! in CPU time, in turns, so that a busy machine hurts all alike; medians are printed.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods
)]

#[path = "search/fits.rs"]
mod fits;
#[path = "search/made.rs"]
mod made;
#[path = "search/peers.rs"]
mod peers;
#[path = "search/sets.rs"]
mod sets;

use std::hint::black_box;
use std::path::{Path, PathBuf};

use helve_core::search::{Document, Index, Query};
use made::Random;
use peers::{Plain, Tantivy};
use rustix::time::{ClockId, clock_gettime};
use sets::{Marks, Set};

const ROUNDS: usize = 3;
const QUERIES: usize = 400;
const UPSERTS: usize = 20;

fn main() {
    let folder = std::env::var_os("HELVE_SEARCH_SETS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/tool-search"),
        PathBuf::from,
    );
    let sets = sets::read(&folder);
    match sets.is_empty() {
        true => println!(
            "no sets in `{}`; only the speed is measured\n",
            folder.display()
        ),
        false => {
            quality(&sets);
            fits::print(&sets);
        }
    }
    let (tools, requests) = match sets.is_empty() {
        true => made::alone(2_000),
        false => {
            let tools = sets.iter().flat_map(|s| s.tools.iter().cloned()).collect();
            let requests = sets.iter().flat_map(|s| s.requests.iter());
            (tools, requests.map(|r| r.text.clone()).collect())
        }
    };
    for count in [10_000, 100_000] {
        speed(count, &tools, &requests);
    }
}

fn quality(sets: &[Set]) {
    println!(
        "{:<16} {:>7} {:>8}   {:^29}   {:^29}",
        "", "tools", "requests", "helve", "BM25, plain words"
    );
    println!(
        "{:<16} {:>7} {:>8}   {:>6} {:>6} {:>6} {:>8}   {:>6} {:>6} {:>6} {:>8}   {:>5}",
        "set", "", "", "r@1", "r@5", "r@10", "nDCG@10", "r@1", "r@5", "r@10", "nDCG@10", "ratio"
    );
    let mut means = [Vec::new(), Vec::new()];
    for set in sets {
        let mut index = Index::new();
        set.tools.iter().for_each(|t| index.upsert(t));
        let ours = set.marks(|text| {
            let found = index.search(&Query::new(text));
            found.hits.into_iter().map(|h| h.key).collect()
        });
        let plain = Plain::of(&set.tools);
        let theirs = set.marks(|text| plain.search(text, 10));
        let shown = |m: &Marks| match set.any {
            true => format!(
                "{:>6.1} {:>6.1} {:>6.1} {:>8}",
                m.at[0], m.at[1], m.at[2], "hit@k"
            ),
            false => format!(
                "{:>6.1} {:>6.1} {:>6.1} {:>8.1}",
                m.at[0], m.at[1], m.at[2], m.gain
            ),
        };
        let ratio = match set.any {
            true => ours.at[2] / theirs.at[2],
            false => ours.gain / theirs.gain,
        };
        println!(
            "{:<16} {:>7} {:>8}   {}   {}   {ratio:>5.2}",
            set.name,
            set.tools.len(),
            set.requests.len(),
            shown(&ours),
            shown(&theirs)
        );
        if !set.any {
            means[0].push(ours.gain);
            means[1].push(theirs.gain);
        }
    }
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len().max(1) as f64;
    let (ours, theirs) = (mean(&means[0]), mean(&means[1]));
    println!(
        "mean nDCG@10: {ours:.1} against {theirs:.1}, ratio {:.2}\n",
        ours / theirs
    );
}

/// Microseconds of one side in one round.
struct Round {
    build: f64,
    upsert: f64,
    long: Vec<f64>,
    short: Vec<f64>,
}

fn speed(count: usize, tools: &[Document], requests: &[String]) {
    let mut random = Random(7);
    let crossed = made::crossed(tools, count, &mut random);
    let fresh = made::crossed(tools, UPSERTS, &mut random);
    let long: Vec<String> = (0..QUERIES)
        .map(|_| random.pick(requests).clone())
        .collect();
    let short: Vec<String> = (0..QUERIES)
        .map(|_| made::short(random.pick(tools)))
        .collect();
    let mut rounds: [Vec<Round>; 2] = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        let mut index = Index::new();
        let build = cpu(|| crossed.iter().for_each(|t| index.upsert(t)));
        let ask = |text: &String| {
            black_box(index.search(&Query::new(text.as_str())));
        };
        let (long_ours, short_ours) = (each(&long, ask), each(&short, ask));
        let upsert = cpu(|| fresh.iter().for_each(|t| index.upsert(t)));
        rounds[0].push(Round {
            build,
            upsert,
            long: long_ours,
            short: short_ours,
        });

        let mut peer = Tantivy::new();
        let build = cpu(|| peer.build(&crossed));
        let ask = |text: &String| {
            black_box(peer.search(text, 10));
        };
        let (long_theirs, short_theirs) = (each(&long, ask), each(&short, ask));
        let upsert = cpu(|| fresh.iter().for_each(|t| peer.upsert(t)));
        rounds[1].push(Round {
            build,
            upsert,
            long: long_theirs,
            short: short_theirs,
        });
        eprintln!("{count} tools: round {} of {ROUNDS} done", round + 1);
    }
    println!("{count} tools, microseconds of CPU, medians of {ROUNDS} rounds");
    println!(
        "{:<24} {:>12} {:>12} {:>8}",
        "", "helve", "tantivy", "ratio"
    );
    let row = |name: &str, value: &dyn Fn(&Round) -> f64| {
        let [ours, theirs] =
            [0, 1].map(|i| median(&rounds[i].iter().map(value).collect::<Vec<f64>>()));
        println!(
            "{name:<24} {ours:>12.0} {theirs:>12.0} {:>8.1}",
            theirs / ours
        );
    };
    row("build, in all", &|r| r.build);
    row("upsert", &|r| r.upsert / UPSERTS as f64);
    row("request, p50", &|r| percentile(&r.long, 0.50));
    row("request, p99", &|r| percentile(&r.long, 0.99));
    row("a few words, p50", &|r| percentile(&r.short, 0.50));
    row("a few words, p99", &|r| percentile(&r.short, 0.99));
    println!();
}

/// What each text costs, in microseconds; the first pass only warms up.
fn each(texts: &[String], ask: impl Fn(&String)) -> Vec<f64> {
    texts.iter().take(50).for_each(&ask);
    texts.iter().map(|t| cpu(|| ask(t))).collect()
}

/// CPU time of all threads, in microseconds: tantivy writes in threads of its own.
fn cpu(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
    };
    let start = now();
    work();
    now() - start
}

fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}
