//! Programs that write: held back, shown, committed, undone.

use std::os::unix::fs::MetadataExt;

use helve_core::def::Reversible;
use helve_kernel::{Diff, DiffForm, Verdict};

use super::*;

/// Changes, makes, renames and removes something.
const WORK: &str = "cd data; echo three >> old.txt; mkdir -p sub; echo new > sub/new.txt; mv old.txt moved.txt; mv same.txt sub/";

pub(crate) async fn what_is_written_is_committed_and_undone(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let before = place.files();
    let answer = place.call(&place.writer(WORK, &["data"]), json!({})).await;
    assert!(succeeded(&answer), "{answer:?}");
    let wanted = [
        ("beside.txt", "beside\n"),
        ("data/moved.txt", "one\ntwo\nthree\n"),
        ("data/sub/new.txt", "new\n"),
        ("data/sub/same.txt", "same\n"),
    ];
    let wanted: Vec<_> = wanted.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
    assert_eq!(place.files(), wanted);
    let notes = &answer.meta.notes;
    for wanted in subject.notes() {
        assert!(notes.iter().any(|n| n.contains(wanted)), "{notes:?}");
    }
    assert_eq!(notes.is_empty(), subject.notes().is_empty(), "{notes:?}");

    let undone = place.undo(&answer).await;
    assert!(succeeded(&undone), "{undone:?}");
    assert_eq!(place.files(), before);
    let run = place.kernel.run(answer.meta.run_id.as_ref().unwrap()).await;
    assert_eq!(run.unwrap().state, RunState::Undone);

    let again = place.undo(&undone).await;
    assert!(succeeded(&again), "{again:?}");
    assert_eq!(place.files(), wanted);
    let run = place.kernel.run(answer.meta.run_id.as_ref().unwrap()).await;
    assert_eq!(run.unwrap().state, RunState::Succeeded);
}

/// Everything of a path that somebody could find changed: mode, names, link, content.
type Seen = Vec<(String, u32, u64, String)>;

fn seen(folder: &Path) -> Seen {
    let mut seen = Seen::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, found) = (entry.path(), entry.metadata().unwrap());
        let content = match found {
            _ if found.is_symlink() => fs::read_link(&path).unwrap().display().to_string(),
            _ if found.is_dir() => format!("{:?}", self::seen(&path)),
            _ => fs::read_to_string(&path).unwrap(),
        };
        let name = entry.file_name().into_string().unwrap();
        let names = if found.is_dir() { 0 } else { found.nlink() };
        seen.push((name, found.mode(), names, content));
    }
    seen.sort();
    seen
}

pub(crate) async fn modes_and_links_are_written_too(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let data = place.root().join("data");
    fs::hard_link(data.join("old.txt"), data.join("twin.txt")).unwrap();
    std::os::unix::fs::symlink("old.txt", data.join("link")).unwrap();
    fs::create_dir_all(data.join("gone/deep")).unwrap();
    fs::write(data.join("gone/deep/file"), "deep\n").unwrap();
    let before = seen(&data);
    let script = "cd data; chmod 640 same.txt; echo more >> twin.txt; ln -s same.txt new-link; \
                  rm link; ln same.txt second; rm -r gone; mkdir -m 700 own; mv own kept; : > empty";
    let answer = place
        .call(&place.writer(script, &["data"]), json!({}))
        .await;
    assert!(succeeded(&answer), "{answer:?}");
    let file = |name: &str, mode: u32, names, content: &str| {
        (name.to_owned(), 0o100_000 | mode, names, content.to_owned())
    };
    let wanted: Seen = vec![
        file("empty", 0o644, 1, ""),
        ("kept".to_owned(), 0o040_700, 0, "[]".to_owned()),
        ("new-link".to_owned(), 0o120_777, 1, "same.txt".to_owned()),
        file("old.txt", 0o644, 2, "one\ntwo\nmore\n"),
        file("same.txt", 0o640, 2, "same\n"),
        file("second", 0o640, 2, "same\n"),
        file("twin.txt", 0o644, 2, "one\ntwo\nmore\n"),
    ];
    assert_eq!(seen(&data), wanted);
    let undone = place.undo(&answer).await;
    assert!(succeeded(&undone), "{undone:?}");
    assert_eq!(seen(&data), before);
}

pub(crate) async fn a_program_that_fails_has_changed_nothing(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let before = place.files();
    let def = place.writer(&format!("{WORK}; exit 3"), &["data"]);
    let answer = place.call(&def, json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::Failed));
    assert_eq!(answer.meta.exit_code, Some(3));
    assert_eq!(place.files(), before);
    assert!(!place.has_stages());
}

pub(crate) async fn nothing_is_written_where_it_may_not_be(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let before = place.files();
    let root = place.root().display().to_string();
    let cases = [
        // Read-only for it.
        ("echo x > beside.txt", &["data"][..]),
        ("echo x > /etc/helve-was-here", &["data"]),
        ("chmod 777 beside.txt", &["data"]),
        ("touch -d 2020-01-01 beside.txt", &["data"]),
        (
            "ln beside.txt data/beside && echo x > data/beside",
            &["data"],
        ),
        ("cat .helve/secret", &["data"]),
        (&format!("cat {root}/.helve/secret"), &["."]),
        ("ls -A .helve | grep .", &["."]),
        ("echo x > .helve/y", &["."]),
        ("echo x > .helve/changes/y", &["."]),
        // Only found afterwards.
        ("echo x > data/other.txt", &["data/one.txt"]),
        (
            "mkdir -p data/.git/hooks && echo x > data/.git/hooks/pre-commit",
            &["data"],
        ),
        ("echo x > data/.bashrc", &["data"]),
        ("echo x > .mcp.json", &["."]),
        ("mkfifo data/pipe && mknod data/dev c 1 3", &["data"]),
    ];
    for (script, allowed) in cases {
        let answer = place.call(&place.writer(script, allowed), json!({})).await;
        assert!(answer.result.is_err(), "{script}: {answer:?}");
        assert_eq!(place.files(), before, "{script}");
    }
    assert!(!Path::new("/etc/helve-was-here").exists());
    // A tool that only looks can write nowhere, whatever is allowed.
    let mut def = place.writer("echo x > data/y", &["data"]);
    def.risk = Some(Risk::Read);
    assert!(place.call(&def, json!({})).await.result.is_err());
    assert_eq!(place.files(), before);
    assert!(!place.has_stages());
}

pub(crate) async fn a_path_by_its_own_name_is_allowed(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    for (script, allowed) in [
        ("echo x > data/new.txt", "data/new.txt"),
        ("mkdir -p far/away && echo x > far/away/f", "far/away"),
        ("echo x > .mcp.json", ".mcp.json"),
        ("sed -i s/beside/there/ beside.txt", "."),
    ] {
        let answer = place
            .call(&place.writer(script, &[allowed]), json!({}))
            .await;
        assert!(answer.result.is_ok(), "{script}: {answer:?}");
        assert_eq!(answer.meta.changes.unwrap().deleted, 0);
    }
    let files = place.files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let wanted = [
        ".mcp.json",
        "beside.txt",
        "data/new.txt",
        "data/old.txt",
        "data/same.txt",
        "far/away/f",
    ];
    assert_eq!(names, wanted);
    assert_eq!(files[1].1, "there\n");
}

pub(crate) async fn people_are_shown_the_effect_and_get_exactly_that(subject: &dyn Subject) {
    let place = Place::asking(subject).await;
    let before = place.files();
    let answer = place.call(&place.writer(WORK, &["data"]), json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::Staged), "{answer:?}");
    assert_eq!(place.files(), before);
    let run = answer.meta.run_id.clone().unwrap();
    let Diff::Text(diff) = place.kernel.diff(&run, DiffForm::Text).await.unwrap() else {
        panic!("asked for text");
    };
    for line in ["+three", "+new", "rename from", "moved.txt"] {
        assert!(diff.contains(line), "{diff}");
    }
    // What people see is what they get, whatever happens to the stage meanwhile.
    decide(&place, &answer, Verdict::Approve).await;
    let run = place.kernel.wait_for(&run).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    assert_eq!(run.answer.unwrap()["data"]["exit_code"], 0);
    assert_eq!(place.files().len(), 4);
    assert!(!place.has_stages());
}

pub(crate) async fn what_is_denied_is_dropped(subject: &dyn Subject) {
    let place = Place::asking(subject).await;
    let before = place.files();
    let answer = place.call(&place.writer(WORK, &["data"]), json!({})).await;
    decide(&place, &answer, Verdict::Deny).await;
    let run = place.kernel.run(answer.meta.run_id.as_ref().unwrap());
    assert_eq!(run.await.unwrap().state, RunState::Denied);
    assert_eq!(place.files(), before);
    assert!(!place.has_stages());
}

pub(crate) async fn a_stage_that_was_touched_is_not_committed(subject: &dyn Subject) {
    let place = Place::asking(subject).await;
    let before = place.files();
    let def = place.writer("echo good > data/x", &["data"]);
    let answer = place.call(&def, json!({})).await;
    let mut folders = vec![place.root().join(".helve/changes/stage")];
    let mut touched = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_name() == "x" {
                fs::write(entry.path(), "evil\n").unwrap();
                touched += 1;
            }
        }
    }
    assert_eq!(touched, 1);
    decide(&place, &answer, Verdict::Approve).await;
    let run = place.kernel.wait_for(answer.meta.run_id.as_ref().unwrap());
    let run = run.await.unwrap();
    assert_eq!(run.state, RunState::Failed, "{run:?}");
    assert_eq!(place.files(), before);
}

async fn decide(place: &Place<'_>, answer: &Answer, verdict: Verdict) {
    let approval = answer.meta.approval.clone().unwrap();
    let bob = Principal::person("bob");
    let decided = place.kernel.decide(&bob, &approval, verdict, None);
    decided.await.unwrap();
}

pub(crate) async fn a_dry_run_shows_and_drops(subject: &dyn Subject) {
    let place = Place::asking(subject).await;
    let before = place.files();
    let dry = || Call::new(ann(), "a_tool", json!({})).dry_run();
    place
        .register(&place.writer(WORK, &["data"]))
        .await
        .unwrap();
    let answer = place.kernel.call(dry()).await;
    assert!(succeeded(&answer), "{answer:?}");
    assert!(answer.meta.dry_run);
    assert!(answer.meta.diff.unwrap().contains("+three"));
    assert_eq!(place.files(), before);

    // What reaches further than files cannot be tried.
    let mut def = place.writer(WORK, &["data"]);
    def.reversible = Reversible::No;
    place.register(&def).await.unwrap();
    let error = place.kernel.call(dry()).await.result.unwrap_err();
    assert!(error.message.contains("cannot be tried"), "{error}");
    assert_eq!(place.files(), before);
}

pub(crate) async fn what_cannot_be_held_is_asked_before(subject: &dyn Subject) {
    let place = Place::asking(subject).await;
    let before = place.files();
    let mut network = place.writer(WORK, &["data"]);
    let settings = &mut network.executor.as_mut().unwrap().settings;
    settings.insert("network".to_owned(), json!(true));
    let mut forever = place.writer(WORK, &["data"]);
    forever.reversible = Reversible::No;
    for (def, why) in [(network, "network"), (forever, "cannot be undone")] {
        let answer = place.call(&def, json!({})).await;
        assert_eq!(answer.meta.state, Some(RunState::PendingApproval));
        let approval = place.kernel.approval(&answer.meta.approval.unwrap()).await;
        let reason = approval.unwrap().reason;
        assert!(reason.contains(why), "{reason}");
    }
    assert_eq!(place.files(), before);
}

pub(crate) async fn files_keep_their_owner(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let own = fs::metadata(place.root()).unwrap();
    let script = "stat -c '%u %g %a' data; echo x > data/new; echo y >> data/old.txt";
    let before = fs::metadata(place.root().join("data")).unwrap();
    let said = place
        .said(&place.writer(script, &["data"]), json!({}))
        .await;
    let wanted = format!("{} {} {:o}\n", own.uid(), own.gid(), before.mode() & 0o777);
    assert_eq!(said, wanted);
    for name in ["data/new", "data/old.txt", "data"] {
        let found = fs::metadata(place.root().join(name)).unwrap();
        assert_eq!((found.uid(), found.gid()), (own.uid(), own.gid()), "{name}");
    }
}
