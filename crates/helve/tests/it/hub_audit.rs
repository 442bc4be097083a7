//! The record, from the command line.

use std::fs;

use crate::hub::{SECRET, both, says, workspace};
use crate::run::Folder;
use crate::server::{Server, until};

/// A workspace in which something has happened.
fn lived() -> Folder {
    let folder = workspace();
    folder.helve(&["call", "text_say", "to=bob"]).ended(0);
    folder.helve(&["call", "text_fail"]).ended(1);
    folder
}

#[test]
fn the_record_is_whole() {
    let folder = lived();
    let key = folder.helve(&["audit", "key"]).ended(0).out;
    let wanted = ["whole: ", " entries, ", "(this workspace's)"];
    says(&folder.helve(&["audit", "verify"]).ended(0), &wanted);
    let server = Server::start(folder.path());
    says(&folder.helve(&["audit", "verify"]).ended(0), &wanted);
    let verified = folder.json(&["audit", "verify", "--json"]);
    assert_eq!(verified["key"], key.trim());
    assert_eq!(verified["trust"], "workspace");
    folder
        .helve(&["audit", "export", "--out", "record.jsonl"])
        .ended(0);
    let piped = folder.helve(&["audit", "export"]).ended(0);
    assert_eq!(piped.out, folder.read("record.jsonl"));
    server.stop(folder.path());
}

/// Elsewhere: a folder without a hub, a workspace or anything else.
#[test]
fn an_exported_record_is_checked_anywhere() {
    let folder = lived();
    let key = folder
        .helve(&["audit", "key"])
        .ended(0)
        .out
        .trim()
        .to_owned();
    let record = folder.helve(&["audit", "export"]).ended(0).out;
    let elsewhere = Folder::new();
    elsewhere.write("r.jsonl", &record);
    let ran = elsewhere
        .helve(&["audit", "verify", "r.jsonl", "--key", &key])
        .ended(0);
    says(&ran, &["whole: ", "all of it", "(the one that was given)"]);
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    let ran = elsewhere.helve(&["audit", "verify", "r.jsonl"]).ended(0);
    says(
        &ran,
        &[
            "found beside the signatures",
            "not checked against a known key",
        ],
    );

    let (entries, signed): (Vec<&str>, Vec<&str>) =
        record.lines().partition(|l| l.starts_with("{\"seq\""));
    elsewhere
        .write("entries", entries.join("\n"))
        .write("signed", signed.join("\n") + "\n");
    let ran = elsewhere.helve(&["audit", "verify", "entries"]).ended(0);
    says(&ran, &["nothing in it is signed"]);
    elsewhere
        .helve(&[
            "audit",
            "verify",
            "entries",
            "--checkpoints",
            "signed",
            "--key",
            &key,
        ])
        .ended(0);

    let check = |name: &str, lines: &[&str], wanted: &str| {
        elsewhere.write(name, lines.join("\n") + "\n");
        let ran = elsewhere
            .helve(&["audit", "verify", name, "--key", &key])
            .ended(1);
        says(&ran, &["error: the record is broken", wanted]);
        let told = elsewhere
            .helve(&["audit", "verify", name, "--key", &key, "--json"])
            .ended(1);
        assert_eq!(told.json()["ok"], false);
    };
    let lines: Vec<&str> = record.lines().collect();
    let flipped = lines[2].replacen("mail_", "mall_", 1);
    assert_ne!(flipped, lines[2]);
    check(
        "changed",
        &[&lines[..2], &[flipped.as_str()], &lines[3..]].concat(),
        "entry 3 was changed",
    );
    check(
        "missing",
        &[&lines[..2], &lines[3..]].concat(),
        "entry 4 stands where entry 3 should",
    );
    check(
        "swapped",
        &[&[lines[1], lines[0]], &lines[2..]].concat(),
        "stands where entry 1 should",
    );
    check(
        "cut",
        &[&entries[..2], signed.as_slice()].concat(),
        "was signed, but the record ends at entry 2",
    );
    check(
        "words",
        &[&lines[..], &["nonsense"]].concat(),
        "is neither an entry nor a checkpoint",
    );
    let other = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";
    let ran = elsewhere
        .helve(&["audit", "verify", "r.jsonl", "--key", other])
        .ended(1);
    says(&ran, &["not with the one that was given"]);
    elsewhere
        .helve(&["audit", "verify", "r.jsonl", "--key", "abc"])
        .ended(2);
    elsewhere.helve(&["audit", "verify", "none.jsonl"]).ended(3);
    assert!(
        !elsewhere.path().join(".helve").exists(),
        "nothing is opened for it"
    );
}

/// Every byte of an export counts.
#[test]
fn a_flipped_byte_anywhere_is_found() {
    let folder = lived();
    let key = folder
        .helve(&["audit", "key"])
        .ended(0)
        .out
        .trim()
        .to_owned();
    let record = folder.helve(&["audit", "export"]).ended(0).out.into_bytes();
    for place in (0..record.len()).step_by(record.len() / 40) {
        let mut copy = record.clone();
        copy[place] ^= 1;
        folder.write("flipped", &copy);
        let ran = folder.helve(&["audit", "verify", "flipped", "--key", &key]);
        // A space before a line or another line break says the same.
        assert_eq!(ran.code, 1, "byte {place}: {}", ran.out);
    }
}

#[test]
fn an_older_copy_of_the_database_is_found_out() {
    let folder = lived();
    let server = Server::start(folder.path());
    server.stop(folder.path());
    let state = folder.path().join(".helve");
    let copies: Vec<_> = fs::read_dir(&state)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| {
            p.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("hub.db")
        })
        .map(|p| (fs::read(&p).unwrap(), p))
        .collect();
    let server = Server::start(folder.path());
    folder.helve(&["call", "text_say", "to=later"]).ended(0);
    server.stop(folder.path());
    for (bytes, path) in &copies {
        fs::write(path, bytes).unwrap();
    }
    let ran = folder.helve(&["up", "--listen", "127.0.0.1:0"]).ended(3);
    says(
        &ran,
        &[
            "the record is not the one that was signed",
            "an older copy of the database is in place",
        ],
    );
    folder.helve(&["call", "text_say", "to=x"]).ended(3);
    // What cannot be opened can still be looked at.
    let ran = folder.helve(&["audit", "verify"]).ended(1);
    says(&ran, &["was cut off, or this is an older copy"]);
    says(&folder.helve(&["doctor"]).ended(1), &["fail  record"]);
}

/// Without the checkpoints a record that was cut off would look whole.
#[test]
fn missing_checkpoints_are_found_out() {
    let folder = lived();
    let key = folder.helve(&["audit", "key"]).ended(0).out;
    let path = folder.path().join(".helve/checkpoints.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    let first = whole.lines().next().unwrap().to_owned() + "\n";
    assert_ne!(first, whole, "there are two");
    for left in [None, Some(""), Some(first.as_str())] {
        match left {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        for args in [
            &["up", "--listen", "127.0.0.1:0"][..],
            &["call", "text_say", "to=x"],
        ] {
            let ran = folder.helve(args).ended(3);
            says(&ran, &["checkpoints are missing", "hint: restore"]);
        }
        let ran = folder.helve(&["audit", "verify"]).ended(1);
        says(&ran, &["checkpoints are missing"]);
        says(&folder.helve(&["doctor"]).ended(1), &["fail  record"]);
    }
    fs::write(&path, &whole).unwrap();
    folder.helve(&["call", "text_say", "to=x"]).ended(0);

    // A crash: what stands beside the key is older, or never was written.
    fs::write(folder.path().join(".helve/keys/signed"), &first).unwrap();
    folder.helve(&["call", "text_say", "to=x"]).ended(0);
    fs::remove_file(folder.path().join(".helve/keys/signed")).unwrap();
    folder.helve(&["call", "text_say", "to=x"]).ended(0);
    // A line that was cut off does not spoil the next one.
    let torn = fs::read_to_string(&path).unwrap() + &first[..20];
    fs::write(&path, torn).unwrap();
    folder.helve(&["call", "text_say", "to=x"]).ended(0);
    folder.helve(&["call", "text_say", "to=x"]).ended(0);
    folder.helve(&["audit", "verify"]).ended(0);

    // A record without any signature is not one that the key has signed.
    let record = folder.helve(&["audit", "export"]).ended(0).out;
    let entries: Vec<&str> = record
        .lines()
        .filter(|l| l.starts_with("{\"seq\""))
        .collect();
    folder.write("entries", entries.join("\n"));
    let verify = ["audit", "verify", "entries", "--key", key.trim()];
    says(&folder.helve(&verify).ended(1), &["nothing is signed"]);
    folder.helve(&["audit", "verify", "entries"]).ended(0);
    fs::remove_file(&path).unwrap();
    fs::remove_file(folder.path().join(".helve/keys/signed")).unwrap();
    let ran = folder.helve(&["audit", "verify"]).ended(1);
    says(&ran, &["nothing is signed"]);
}

#[test]
fn the_latest() {
    both(|folder| {
        folder.helve(&["call", "text_say", "to=bob"]).ended(0);
        let run = folder.json(&["runs", "-n", "1", "--json"])[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let ran = folder.helve(&["audit", "tail", "-n", "2"]).ended(0);
        let lines: Vec<&str> = ran.out.lines().collect();
        assert_eq!(lines.len(), 2, "{}", ran.out);
        assert!(
            lines[1].contains("  run.ended        user:ada         run_…"),
            "{}",
            ran.out
        );
        let count = |args: &[&str]| {
            let all: Vec<&str> = [&["audit", "tail", "--json"], args].concat();
            folder.helve(&all).ended(0).out.lines().count()
        };
        assert_eq!(count(&["--event", "tool.registered"]), 6);
        assert_eq!(count(&["--event", "tool.registered", "-n", "4"]), 4);
        assert_eq!(
            count(&["--resource", &run]),
            count(&["--resource", &run[run.len() - 8..]])
        );
        assert_eq!(count(&["--actor", "agent:nobody"]), 0);
        assert!(count(&["--since", "1h"]) > 6);
        assert_eq!(count(&["--until", "2020-01-01T00:00:00Z"]), 0);
        says(
            &folder.helve(&["audit", "tail", "--since", "then"]).ended(2),
            &["`2h` for so long ago"],
        );
    });
    let folder = lived();
    says(
        &folder.helve(&["audit", "tail", "--follow"]).ended(3),
        &["no hub runs", "helve up"],
    );
}

#[test]
fn what_comes_is_followed() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let mut child = crate::run::command(folder.path())
        .args([
            "audit",
            "tail",
            "-n",
            "0",
            "--follow",
            "--json",
            "--event",
            "run.ended",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    folder.helve(&["call", "text_say", "to=bob"]).ended(0);
    // It may have begun to look after the first: then the second is what it sees.
    let second = std::thread::scope(|scope| {
        let seen = scope.spawn(|| lines.next().unwrap().unwrap());
        until("it is seen", || {
            folder.helve(&["call", "text_say", "to=bob"]).ended(0);
            seen.is_finished().then_some(())
        });
        seen.join().unwrap()
    });
    assert!(second.contains("\"run.ended\""), "{second}");
    child.kill().unwrap();
    child.wait().unwrap();
    server.stop(folder.path());
}

#[test]
fn a_secret_is_nowhere_and_can_be_asked_about() {
    let folder = workspace();
    folder.write(
        "helve.toml",
        "[[policy]]\neffect = \"allow\"\ntool = \"mail_open\"\n",
    );
    let server = Server::start(folder.path());
    let password = format!("password={SECRET}");
    let ran = folder
        .helve(&["call", "mail_open", "to=bob", &password])
        .ended(0);
    assert_eq!(ran.out, "opened for bob with [secret]\n");
    let run = folder.json(&["runs", "-n", "1", "--json"])[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let says_it = |args: &[&str]| {
        let ran = folder.helve(args).ended(0);
        format!("{}{}", ran.out, ran.err).contains(SECRET)
    };
    for args in [
        &["runs", &run][..],
        &["runs", "--json"],
        &["logs", &run],
        &["audit", "export"],
        &["audit", "tail"],
    ] {
        assert!(!says_it(args), "{args:?}");
    }
    says(
        &folder
            .helve(&["audit", "was", &run, "password", SECRET])
            .ended(0),
        &["yes"],
    );
    says(
        &folder
            .helve(&["audit", "was", &run[run.len() - 8..], "password", "guess"])
            .ended(1),
        &["no"],
    );
    folder
        .helve_with(
            &["audit", "was", &run, "password", "-"],
            format!("{SECRET}\n").as_bytes(),
        )
        .ended(0);
    says(
        &folder.helve(&["audit", "was", &run, "to", "bob"]).ended(3),
        &["`to` is not secret"],
    );
    says(
        &folder.helve(&["audit", "was", &run, "cc", "bob"]).ended(3),
        &["no argument `cc`", "password"],
    );
    server.stop(folder.path());
    for file in folder.files() {
        let bytes = fs::read(folder.path().join(&file)).unwrap();
        let found = bytes.windows(SECRET.len()).any(|w| w == SECRET.as_bytes());
        assert!(!found, "{file}");
    }
}

#[test]
fn a_workspace_without_a_record() {
    let folder = Folder::new();
    folder.write("helve.toml", "");
    for args in [&["audit", "verify"][..], &["audit", "key"]] {
        says(&folder.helve(args).ended(3), &["no record yet", "helve up"]);
    }
    assert_eq!(folder.files(), ["helve.toml"], "nothing is made by looking");
}
