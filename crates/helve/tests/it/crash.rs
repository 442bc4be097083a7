//! The hub, killed again and again while it works.
//!
//! After every restart no run is in limbo; at the end the record verifies, no
//! program ran twice for one run, and none ran that nobody approved.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::Folder;
use crate::server::{Server, send, token, until, up};

const KILLS: usize = 110;

/// Numbers that look like chance, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A workspace whose tools leave their runs' ids in a file elsewhere: one inside it
/// that a command names would be pinned.
fn workspace(effects: &Path) -> Folder {
    let folder = Folder::new();
    // One short append is one write, which a kill cannot split.
    folder.write("tools/effect.sh", "echo \"$HELVE_RUN_ID\" >> \"$1\"\n");
    for (name, risk) in [("low", "exec_low"), ("high", "exec_high")] {
        let tool = json!({
            "name": name,
            "description": "Leaves its run's id in a file. Use it to see that it ran.",
            "risk": risk,
            "executor": {
                "type": "host",
                "command": ["sh", "tools/effect.sh", effects.display().to_string()],
            },
            "input_schema": {"type": "object", "properties": {}},
        });
        folder.write(&format!("tools/effect/{name}.json"), tool.to_string());
    }
    folder
}

#[test]
fn a_hub_that_is_killed_loses_nothing_and_repeats_nothing() {
    let elsewhere = Folder::new();
    let effects = elsewhere.path().join("effects");
    let folder = workspace(&effects);
    let mut chance = Chance(7);
    for _ in 0..KILLS {
        if chance.below(5) == 0 {
            // While it starts, and settles what the last kill left.
            let mut child = up(folder.path()).stderr(Stdio::null()).spawn().unwrap();
            wait(Duration::from_millis(chance.below(120)));
            child.kill().unwrap();
            child.wait().unwrap();
            continue;
        }
        let server = Server::start(folder.path());
        no_limbo(&server, folder.path());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for worker in 0..3 {
                let (server, done, folder) = (&server, &done, folder.path());
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) && work(server, folder, worker).is_some() {}
                });
            }
            wait(Duration::from_millis(20 + chance.below(230)));
            done.store(true, Ordering::Relaxed);
            // From outside, while requests are on their way.
            server.signal("-KILL");
        });
        server.kill();
    }
    let server = Server::start(folder.path());
    no_limbo(&server, folder.path());
    hold_to_account(&server, folder.path(), &effects);
    server.kill();
    folder.helve(&["audit", "verify"]).ended(0);
}

/// Time in which the hub works; what happens in it is left to chance on purpose.
fn wait(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end {
        std::thread::park_timeout(end - Instant::now());
    }
}

/// Calls, and decides what waits: two people at once, so that they compete.
fn work(server: &Server, folder: &Path, worker: usize) -> Option<()> {
    let agent = token(folder, "agent");
    let person = token(folder, "terminal");
    let address = &server.address;
    if worker == 0 {
        send(
            address,
            "POST",
            "/tools/effect_low/runs",
            Some(&agent),
            Some(&json!({})),
        )?;
        return Some(());
    }
    let asked = send(
        address,
        "POST",
        "/tools/effect_high/runs",
        Some(&agent),
        Some(&json!({})),
    )?;
    let pending = send(
        address,
        "GET",
        "/approvals?state=pending",
        Some(&person),
        None,
    )?;
    let ids = asked.1["meta"]["approval_id"].as_str().map(str::to_owned);
    let others = pending.1["items"].as_array().cloned().unwrap_or_default();
    let others = others
        .iter()
        .filter_map(|a| a["id"].as_str().map(str::to_owned));
    for id in ids.into_iter().chain(others.take(2)) {
        let path = format!("/approvals/{id}/approve");
        send(address, "POST", &path, Some(&person), Some(&json!({})))?;
    }
    Some(())
}

/// Right after a start: nothing runs that was running before.
fn no_limbo(server: &Server, folder: &Path) {
    let person = token(folder, "terminal");
    // What was approved before the kill begins anew and comes to its end.
    until("every run comes to its end", || {
        let open = ["running", "queued"].iter().any(|state| {
            let page = server.get(&format!("/runs?state={state}"), &person);
            !page["items"].as_array().unwrap().is_empty()
        });
        (!open).then_some(())
    });
}

fn all(server: &Server, path: &str, cursor: &str, person: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut next = String::new();
    loop {
        let mut page = server.get(&format!("{path}?limit=200{next}"), person);
        found.append(page["items"].as_array_mut().unwrap());
        match page["next"].as_str() {
            Some(cut) => next = format!("&{cursor}={cut}"),
            None => return found,
        }
    }
}

fn hold_to_account(server: &Server, folder: &Path, effects: &Path) {
    let person = token(folder, "terminal");
    let text = std::fs::read_to_string(effects).unwrap_or_default();
    let mut effects: HashMap<&str, usize> = HashMap::new();
    for id in text.lines() {
        *effects.entry(id).or_default() += 1;
    }
    let runs = all(server, "/runs", "cursor", &person);
    let mut states: HashMap<&str, usize> = HashMap::new();
    for run in &runs {
        let id = run["id"].as_str().unwrap();
        let state = run["state"].as_str().unwrap();
        *states.entry(state).or_default() += 1;
        let ran = effects.remove(id).unwrap_or(0);
        match state {
            "succeeded" => assert_eq!(ran, 1, "{run}"),
            // Killed while it ran: nobody knows, but never twice.
            "failed" => assert!(ran <= 1, "{run}"),
            _ => assert_eq!(ran, 0, "{run}"),
        }
    }
    assert_eq!(effects, HashMap::new(), "programs ran that no run knows of");
    assert!(states["succeeded"] > 50, "{states:?}");
    assert!(states["failed"] > 0, "no kill hit a run: {states:?}");

    let entries = all(server, "/audit", "after", &person);
    let mut started = HashSet::new();
    for entry in &entries {
        let record = &entry["record"];
        if record["event"] == "run.started" {
            let id = record["resource"].as_str().unwrap().to_owned();
            assert!(started.insert(id), "started twice: {record}");
        }
    }
    for approval in all(server, "/approvals", "cursor", &person) {
        let run = approval["run_id"].as_str().unwrap();
        let spent = approval["state"] == "spent";
        assert_eq!(started.contains(run), spent, "{approval}");
    }
}
