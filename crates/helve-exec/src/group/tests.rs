//! Groups that outlive their leader.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::capture::KEPT;

/// Starts a script and reads the process numbers on its first line. What it writes
/// to standard error goes nowhere: nobody holds the other end.
async fn started(script: &str) -> (Group, Vec<i32>) {
    let script = format!("exec 2>/dev/null; {script}");
    let mut group = Group::start(&Spec {
        program: PathBuf::from("/bin/sh"),
        name: "sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: PathBuf::from("/"),
        input: Vec::new(),
        keep: KEPT,
        artifacts: None,
        grace: Duration::from_secs(2),
        stage: None,
        room: 0,
    })
    .unwrap();
    let (_, stdout, _) = group.pipes().unwrap();
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await.unwrap();
    let numbers = line.split_whitespace().map(|n| n.parse().unwrap());
    (group, numbers.collect())
}

fn alive(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    // The state is behind the name, which is in parentheses.
    stat.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

async fn gone(process: i32) {
    let wait = async {
        while alive(process) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let within = tokio::time::timeout(Duration::from_secs(5), wait).await;
    assert!(within.is_ok(), "process {process} is still there");
}

#[tokio::test]
async fn the_end_is_seen_and_the_program_not_reaped() {
    let (group, numbers) = started("echo $$; exit 7").await;
    group.ended().await;
    group.ended().await;
    assert!(std::fs::exists(format!("/proc/{}", numbers[0])).unwrap());
    assert_eq!(group.reap().await.unwrap().code(), Some(7));
}

#[tokio::test]
async fn many_ends_at_once_are_all_seen() {
    let runs = (0..16).map(|code| async move {
        let (group, _) = started(&format!("echo; exit {code}")).await;
        group.ended().await;
        assert_eq!(group.reap().await.unwrap().code(), Some(code));
    });
    let mut tasks = tokio::task::JoinSet::new();
    runs.for_each(|run| drop(tasks.spawn(run)));
    tasks.join_all().await;
}

#[tokio::test]
async fn children_go_with_their_leader() {
    let (group, numbers) = started("sleep 60 & a=$!; sleep 60 & echo $a $!; exit 0").await;
    group.ended().await;
    assert!(numbers.iter().all(|n| alive(*n)));
    group.reap().await.unwrap();
    assert_eq!(numbers.len(), 2);
    assert!(!numbers.iter().any(|n| alive(*n)));
}

#[tokio::test]
async fn who_does_not_end_is_killed() {
    let script = "trap '' TERM; (trap '' TERM; sleep 60; :) & echo $! $$; wait; sleep 60";
    let (group, numbers) = started(script).await;
    group.stop(Duration::from_millis(50)).await;
    let status = group.reap().await.unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9)
    );
    for number in numbers {
        gone(number).await;
    }
}

#[tokio::test]
async fn who_ends_when_told_is_not_killed() {
    let (group, _) = started("trap 'exit 3' TERM; echo; while :; do sleep 0.01; done").await;
    group.stop(Duration::from_secs(30)).await;
    assert_eq!(group.reap().await.unwrap().code(), Some(3));
}

#[tokio::test]
async fn a_dropped_group_is_killed() {
    let (group, numbers) = started("sleep 60 & echo $! $$; sleep 60; :").await;
    drop(group);
    for number in numbers {
        gone(number).await;
    }
}
