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

/// A workspace whose tools leave a file by the name of their run in a folder.
fn workspace() -> Folder {
    let folder = Folder::new();
    folder.write("effects/.keep", "");
    // It must not be there yet.
    folder.write(
        "tools/effect.sh",
        "set -C; echo once > \"effects/$HELVE_RUN_ID\"\n",
    );
    for (name, risk) in [
        ("low", "exec_low"),
        ("high", "exec_high"),
        ("write", "write"),
    ] {
        let tool = json!({
            "name": name,
            "description": "Leaves a file. Use it to see that it ran.",
            "risk": risk,
            "allowed_paths": [{"path": "effects", "access": "write"}],
            "executor": {"type": "host", "command": ["sh", "tools/effect.sh"]},
            "input_schema": {"type": "object", "properties": {}},
        });
        folder.write(&format!("tools/effect/{name}.json"), tool.to_string());
    }
    folder
}

#[test]
fn a_hub_that_is_killed_loses_nothing_and_repeats_nothing() {
    let folder = workspace();
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
            wait(Duration::from_millis(50 + chance.below(450)));
            done.store(true, Ordering::Relaxed);
            // From outside, while requests are on their way.
            server.signal("-KILL");
        });
        server.kill();
    }
    let server = Server::start(folder.path());
    no_limbo(&server, folder.path());
    hold_to_account(&server, folder.path());
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
    let post = |path: &str, who: &str| send(address, "POST", path, Some(who), Some(&json!({})));
    if worker == 0 {
        let ran = post("/tools/effect_low/runs", &agent)?;
        if let Some(run) = ran.1["meta"]["run_id"].as_str() {
            // Every other is taken back, and every fourth put back again.
            let odd = |n: usize| run.as_bytes()[run.len() - n] % 2 == 1;
            let undone = odd(1).then(|| post(&format!("/runs/{run}/undo"), &person));
            let undo = undone.flatten();
            let undo = undo.as_ref().and_then(|u| u.1["meta"]["run_id"].as_str());
            if let Some(undo) = undo.filter(|_| odd(2)) {
                post(&format!("/runs/{undo}/undo"), &person)?;
            }
        }
        return Some(());
    }
    let tool = if worker == 1 { "high" } else { "write" };
    let asked = post(&format!("/tools/effect_{tool}/runs"), &agent)?;
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

fn hold_to_account(server: &Server, folder: &Path) {
    let person = token(folder, "terminal");
    // What was approved before the last kill goes on by itself.
    until("the stage holds what waits, and nothing else", || {
        let stage = std::fs::read_dir(folder.join(".helve/changes/stage")).unwrap();
        let stage: HashSet<String> = stage
            .map(|run| run.unwrap().file_name().into_string().unwrap())
            .collect();
        let waiting = all(server, "/runs", "cursor", &person);
        let waiting = waiting.iter().filter(|run| run["state"] == "staged");
        let waiting = waiting.map(|run| run["id"].as_str().unwrap().to_owned());
        (stage == waiting.collect()).then_some(())
    });
    let effects = std::fs::read_dir(folder.join("effects")).unwrap();
    let effects = effects.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut effects: HashSet<String> = effects.filter(|name| name != ".keep").collect();
    let runs = all(server, "/runs", "cursor", &person);
    let mut states: HashMap<&str, usize> = HashMap::new();
    for run in runs.iter().filter(|run| run["tool"] != "helve_undo") {
        let (id, state) = (run["id"].as_str().unwrap(), run["state"].as_str().unwrap());
        *states.entry(state).or_default() += 1;
        // All of it or nothing, and the run knows which.
        assert_eq!(effects.remove(id), state == "succeeded", "{run}");
    }
    assert_eq!(effects, HashSet::new(), "programs ran that no run knows of");
    assert!(states["succeeded"] > 50, "{states:?}");
    assert!(states["undone"] > 5, "{states:?}");
    assert!(states["failed"] > 0, "no kill hit a run: {states:?}");
    let entries = all(server, "/audit", "after", &person);
    let (mut started, mut committing) = (HashSet::new(), HashSet::new());
    for entry in &entries {
        let record = &entry["record"];
        let id = record["resource"].as_str().unwrap().to_owned();
        match record["event"].as_str().unwrap() {
            "run.started" => assert!(started.insert(id), "started twice: {record}"),
            "run.committing" => assert!(committing.insert(id), "committed twice: {record}"),
            _ => {}
        }
    }
    for approval in all(server, "/approvals", "cursor", &person) {
        let run = approval["run_id"].as_str().unwrap();
        let spent = approval["state"] == "spent";
        // What is shown first has run; what people say is whether it is committed.
        let begun = match approval["tool"] == "effect_write" {
            true => &committing,
            false => &started,
        };
        assert_eq!(begun.contains(run), spent, "{approval}");
    }
}

/// How often the hub is killed while it changes rows of a database.
const KILLS_IN_ROWS: usize = 25;

#[test]
fn rows_of_a_database_are_changed_once_for_each_run_that_says_so() {
    let folder = Folder::new();
    folder.write("helve.toml", crate::hub_settings::CONNECTION);
    crate::hub_settings::database(folder.path());
    let add =
        json!({"args": {"connection": "app", "sql": "update counter set n = n + 1 where id = 1"}});
    let mut chance = Chance(11);
    for _ in 0..KILLS_IN_ROWS {
        let server = Server::start(folder.path());
        let person = token(folder.path(), "terminal");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let path = "/tools/database_update/runs";
                    while send(&server.address, "POST", path, Some(&person), Some(&add)).is_some() {
                    }
                });
            }
            wait(Duration::from_millis(30 + chance.below(250)));
            server.signal("-KILL");
        });
        server.kill();
    }
    let server = Server::start(folder.path());
    no_limbo(&server, folder.path());
    let person = token(folder.path(), "terminal");
    let mut succeeded = 0;
    let mut cursor = String::new();
    loop {
        let path = format!("/runs?tool=database_update&state=succeeded&limit=200{cursor}");
        let page = server.get(&path, &person);
        succeeded += page["items"].as_array().unwrap().len();
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let asked = json!({"args": {"connection": "app", "sql": "select n from counter"}});
    let path = "/tools/database_query/runs";
    let told = send(&server.address, "POST", path, Some(&person), Some(&asked)).unwrap();
    assert_eq!(told.1["data"]["rows"], json!([[succeeded]]), "{told:?}");
    assert!(
        succeeded > KILLS_IN_ROWS,
        "the hub had time to work: {succeeded}"
    );
    server.kill();
    folder.helve(&["audit", "verify"]).ended(0);
}

/// How often the hub is killed while it changes small files.
const KILLS_IN_FILES: usize = 25;

#[test]
fn every_change_of_a_file_that_was_answered_is_there() {
    let folder = Folder::new();
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"file_*\"\n",
    );
    let name = |worker: usize| format!("count-{worker}.txt");
    let mut counts: [Count; 3] = Default::default();
    for worker in 0..counts.len() {
        folder.write(&name(worker), "n = 0\n");
    }
    let mut chance = Chance(13);
    for _ in 0..KILLS_IN_FILES {
        let server = Server::start(folder.path());
        let person = token(folder.path(), "terminal");
        std::thread::scope(|scope| {
            for (worker, count) in counts.iter_mut().enumerate() {
                let (server, person) = (&server, &person);
                let name = name(worker);
                scope.spawn(move || while add(server, person, &name, count).is_some() {});
            }
            wait(Duration::from_millis(30 + chance.below(250)));
            server.signal("-KILL");
        });
        server.kill();
        let server = Server::start(folder.path());
        no_limbo(&server, folder.path());
        for (worker, count) in counts.iter_mut().enumerate() {
            let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
            let found = read(&name(worker));
            let found = found.trim().strip_prefix("n = ").unwrap().parse().unwrap();
            // The one that was under way may have happened.
            assert!([count.n, count.n + 1].contains(&found), "{count:?} {found}");
            count.n = found;
            for n in &count.made {
                assert_eq!(read(&format!("{}.{n}", name(worker))), format!("n = {n}\n"));
            }
        }
        folder.helve(&["audit", "verify"]).ended(0);
        server.kill();
    }
    let server = Server::start(folder.path());
    let person = token(folder.path(), "terminal");
    let runs = all(&server, "/runs", "cursor", &person);
    let of = |state: &str| runs.iter().filter(|run| run["state"] == state).count();
    let edits = |run: &&Value| run["tool"] == "file_edit" && run["state"] == "succeeded";
    // Each edit that a run says it made, and no other, is one step of a count.
    let steps: usize = counts.iter().map(|count| count.n).sum();
    assert_eq!(runs.iter().filter(edits).count(), steps);
    assert!(steps > KILLS_IN_FILES, "the hub had time to work: {steps}");
    assert_eq!(of("running") + of("queued"), 0);
    server.kill();
}

/// What was answered of one file.
#[derive(Debug, Default)]
struct Count {
    n: usize,
    /// Those of which there is a file of their own.
    made: Vec<usize>,
}

/// One step of a count, and a new file for it; nothing once the hub is gone.
fn add(server: &Server, person: &str, name: &str, count: &mut Count) -> Option<()> {
    let post = |tool: &str, args: Value| {
        let path = format!("/tools/{tool}/runs");
        let asked = json!({"args": args});
        let told = send(&server.address, "POST", &path, Some(person), Some(&asked))?;
        assert_eq!(told.1["meta"]["state"], "succeeded", "{told:?}");
        Some(())
    };
    let (now, next) = (
        format!("n = {}\n", count.n),
        format!("n = {}\n", count.n + 1),
    );
    let edit = json!({"path": name, "old_string": now, "new_string": next});
    post("file_edit", edit)?;
    count.n += 1;
    let made = json!({"path": format!("{name}.{}", count.n), "content": next});
    post("file_write", made)?;
    count.made.push(count.n);
    Some(())
}
