//! Calls and what came of them, from the command line.

use std::process::Stdio;

use crate::hub::{both, says, workspace};
use crate::run::command;
use crate::server::{Server, until};

fn newest(folder: &crate::run::Folder) -> String {
    let runs = folder.json(&["runs", "-n", "1", "--json"]);
    runs[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_list_and_one_in_full() {
    both(|folder| {
        says(
            &folder.helve(&["runs"]).ended(0),
            &["no runs; `helve call <tool>` makes one"],
        );
        assert_eq!(
            folder.helve(&["call", "text_say", "to=bob"]).ended(0).out,
            "hello bob\n"
        );
        let good = newest(folder);
        folder.helve(&["call", "text_fail"]).ended(1);
        let bad = newest(folder);

        let ran = folder.helve(&["runs"]).ended(0);
        let lines: Vec<&str> = ran.out.lines().collect();
        assert!(lines[0].starts_with("id        when"), "{}", ran.out);
        assert!(
            lines[1].starts_with(&bad[bad.len() - 8..]) && lines[1].contains("  failed  "),
            "{}",
            ran.out
        );
        assert!(
            lines[2].contains("  text_say   user:ada  to=\"bob\""),
            "{}",
            ran.out
        );
        let count = |args: &[&str]| folder.json(args).as_array().unwrap().len();
        assert_eq!(count(&["runs", "--tool", "text_say", "--json"]), 1);
        assert_eq!(count(&["runs", "--state", "failed", "--json"]), 1);
        assert_eq!(count(&["runs", "-n", "0", "--json"]), 0);

        let ran = folder.helve(&["runs", &good[good.len() - 6..]]).ended(0);
        says(
            &ran,
            &[
                "text_say 1.0.0",
                &good,
                "succeeded",
                "to = \"bob\"",
                "exit code 0",
                "standard output\nhello bob\n",
            ],
        );
        let ran = folder.helve(&["runs", &bad]).ended(0);
        says(&ran, &["exit code 3", "error\n"]);
        assert_eq!(folder.json(&["runs", &bad, "--json"])["exit_code"], 3);

        says(
            &folder.helve(&["runs", "abcdef"]).ended(3),
            &["no run whose id ends in `abcdef`"],
        );
        says(
            &folder.helve(&["runs", "abc"]).ended(2),
            &["at least the last 6 characters"],
        );
    });
}

#[test]
fn what_a_run_wrote() {
    both(|folder| {
        folder.helve(&["call", "text_fail"]).ended(1);
        let id = newest(folder);
        let ran = folder.helve(&["logs", &id]).ended(0);
        assert_eq!(ran.out, "out\n");
        says(&ran, &["err\n", "failed, exit code 3, after "]);
        let ran = folder.helve(&["logs", &id, "--follow"]).ended(1);
        assert_eq!(ran.out, "out\n");
        let chunks = folder.json(&["logs", &id, "--json"]);
        let texts = chunks.as_array().unwrap().iter();
        assert!(
            texts
                .clone()
                .any(|c| c["stream"] == "stdout" && c["text"] == "out\n")
        );
        assert!(
            texts
                .clone()
                .any(|c| c["stream"] == "stderr" && c["text"] == "err\n")
        );
        says(
            &folder
                .helve(&["logs", &id, "--artifact", "nothing"])
                .ended(3),
            &["there is no `nothing`"],
        );
    });
}

#[test]
fn output_that_is_too_long_is_kept_whole() {
    both(|folder| {
        let ran = folder.helve(&["call", "text_much"]).ended(0);
        says(&ran, &["the whole output is kept", "--artifact stdout"]);
        let id = newest(folder);
        let whole: String = (1..=400_000).map(|n| format!("{n}\n")).collect();
        let name = folder.json(&["runs", &id, "--json"])["answer"]["meta"]["artifacts"][0]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        let ran = folder.helve(&["logs", &id, "--artifact", &name]).ended(0);
        assert!(ran.out == whole, "byte for byte");
    });
}

#[test]
fn a_run_that_goes_on_is_followed_and_called_off() {
    let folder = workspace();
    let server = Server::start(folder.path());
    let call = |args: &[&str]| {
        let mut all = command(folder.path());
        all.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        all.spawn().unwrap()
    };
    let calling = call(&["call", "job_wait"]);
    let id = until("the run begins", || {
        let runs = folder.json(&["runs", "--state", "running", "--json"]);
        runs[0]["id"].as_str().map(str::to_owned)
    });
    until("it has written", || {
        (folder.helve(&["logs", &id]).ended(0).out == "begun\n").then_some(())
    });
    let following = call(&["logs", &id, "--follow"]);
    folder.write("go", "");
    let followed = following.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(followed.stdout).unwrap(), "begun\nover\n");
    assert_eq!(calling.wait_with_output().unwrap().status.code(), Some(0));

    std::fs::remove_file(folder.path().join("go")).unwrap();
    let calling = call(&["call", "job_wait"]);
    let id = until("the run begins", || {
        let runs = folder.json(&["runs", "--state", "running", "--json"]);
        runs[0]["id"].as_str().map(str::to_owned)
    });
    says(
        &folder.helve(&["cancel", &id[id.len() - 8..]]).ended(0),
        &["it is being stopped"],
    );
    assert_ne!(calling.wait_with_output().unwrap().status.code(), Some(0));
    assert_eq!(folder.json(&["runs", &id, "--json"])["state"], "cancelled");
    says(
        &folder.helve(&["cancel", &id]).ended(3),
        &["the run is over: cancelled"],
    );
    server.stop(folder.path());
}

#[test]
fn one_that_waits_is_called_off() {
    both(|folder| {
        let (run, approval) = folder.asked(&["mail_send", "to=bob"]);
        says(
            &folder.helve(&["cancel", &run]).ended(0),
            &["it is cancelled"],
        );
        let ran = folder.helve(&["approve", &approval]).ended(3);
        says(&ran, &["the approval is not open any more: withdrawn"]);
    });
}

#[test]
fn the_same_key_runs_once() {
    both(|folder| {
        folder
            .helve(&["call", "text_say", "to=a", "--key", "k"])
            .ended(0);
        let first = newest(folder);
        assert_eq!(
            folder
                .helve(&["call", "text_say", "to=a", "--key", "k"])
                .ended(0)
                .out,
            "hello a\n"
        );
        assert_eq!(newest(folder), first);
        says(
            &folder
                .helve(&["call", "text_say", "to=b", "--key", "k"])
                .ended(3),
            &["used for another call"],
        );
    });
}
