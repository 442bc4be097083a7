//! Programs that write: held back, shown, committed, undone.

use helve_core::def::{AllowedPath, ExecutorKind, Reversible, Risk};
use helve_core::policy::Policy;
use helve_kernel::{
    Answer, Call as KernelCall, Diff, DiffForm, Kernel, Principal, Registration, RunState,
    UndoCall, Verdict,
};

use super::*;
use crate::cage::Kind;

struct Place {
    hub: Hub,
    kernel: Kernel,
}

impl Place {
    async fn new(ground: Ground, rules: Value) -> Self {
        let hub = Hub::new();
        hub.executor.ground.set(ground).unwrap();
        let root = hub.folder.path();
        fs::create_dir(root.join("data")).unwrap();
        fs::write(root.join("data/old.txt"), "one\ntwo\n").unwrap();
        fs::write(root.join("data/same.txt"), "same\n").unwrap();
        fs::write(root.join("beside.txt"), "beside\n").unwrap();
        let keeper = Keeper::open(&root.join(".helve/changes"), None).unwrap();
        fs::write(root.join(".helve/secret"), "secret").unwrap();
        let kernel = Kernel::builder()
            .root(root)
            .policy(Policy::from_value(&rules).unwrap())
            .keeper(Arc::new(keeper))
            .executor(ExecutorKind::Host, Arc::new(hub.executor.clone()));
        let kernel = kernel.open().await.unwrap();
        Self { hub, kernel }
    }

    /// Where all runs without being asked.
    async fn open(ground: Ground) -> Self {
        Self::new(ground, json!([{"effect": "allow", "tool": "*"}])).await
    }

    async fn asking() -> Self {
        Self::new(Ground::WHOLE, json!([])).await
    }

    async fn call(&self, def: ToolDef) -> Answer {
        let who = Principal::person("ann");
        let name = def.name.to_string();
        let new = Registration {
            def,
            source: "api".to_owned(),
            why: None,
            replace: true,
        };
        self.kernel.register(&who, new).await.unwrap();
        self.kernel
            .call(KernelCall::new(who, name, json!({})))
            .await
    }

    /// All files, with what is in them.
    fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        let root = self.hub.folder.path();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap().display().to_string();
                if name == ".helve" {
                    continue;
                }
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((name, fs::read_to_string(path).unwrap())),
                }
            }
        }
        files.sort();
        files
    }

    async fn undo(&self, answer: &Answer) -> Answer {
        let run = answer.meta.run_id.clone().unwrap();
        let call = UndoCall {
            runs: vec![run],
            ..UndoCall::default()
        };
        self.kernel
            .undo(&Arc::new(Principal::person("ann")), call)
            .await
    }
}

fn writer(script: &str, allowed: &[&str]) -> ToolDef {
    let mut def = command(&["sh", "-c", script]);
    def.risk = Some(Risk::Write);
    let path = |path: &&str| AllowedPath {
        path: (*path).to_owned(),
        access: None,
    };
    def.allowed_paths = allowed.iter().map(path).collect();
    def
}

/// Changes, makes, renames and removes something.
const WORK: &str = "cd data; echo three >> old.txt; mkdir -p sub; echo new > sub/new.txt; mv old.txt moved.txt; mv same.txt sub/";

const GROUNDS: [Ground; 3] = [
    Ground::WHOLE,
    Ground {
        sandboxed: true,
        kind: Kind::Copies,
    },
    Ground {
        sandboxed: false,
        kind: Kind::Nothing,
    },
];

#[tokio::test]
async fn what_is_written_is_committed_and_undone() {
    for ground in GROUNDS {
        let place = Place::open(ground).await;
        let before = place.files();
        let answer = place.call(writer(WORK, &["data"])).await;
        assert_eq!(answer.meta.state, Some(RunState::Succeeded), "{answer:?}");
        let after = place.files();
        let wanted = [
            ("beside.txt", "beside\n"),
            ("data/moved.txt", "one\ntwo\nthree\n"),
            ("data/sub/new.txt", "new\n"),
            ("data/sub/same.txt", "same\n"),
        ];
        let wanted: Vec<_> = wanted.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        assert_eq!(after, wanted, "{ground:?}");
        assert_eq!(
            answer
                .meta
                .notes
                .iter()
                .any(|n| n.contains("copy") || n.contains("no sandbox")),
            ground != Ground::WHOLE,
            "{:?}",
            answer.meta.notes
        );

        let undone = place.undo(&answer).await;
        assert_eq!(undone.meta.state, Some(RunState::Succeeded), "{undone:?}");
        assert_eq!(place.files(), before, "{ground:?}");
        let run = place.kernel.run(answer.meta.run_id.as_ref().unwrap()).await;
        assert_eq!(run.unwrap().state, RunState::Undone);

        let again = place.undo(&undone).await;
        assert_eq!(again.meta.state, Some(RunState::Succeeded), "{again:?}");
        assert_eq!(place.files(), wanted, "{ground:?}");
        let run = place.kernel.run(answer.meta.run_id.as_ref().unwrap()).await;
        assert_eq!(run.unwrap().state, RunState::Succeeded);
    }
}

#[tokio::test]
async fn people_are_shown_the_effect_and_get_exactly_that() {
    let place = Place::asking().await;
    let before = place.files();
    let answer = place.call(writer(WORK, &["data"])).await;
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
    let approval = answer.meta.approval.clone().unwrap();
    let bob = Principal::person("bob");
    let decided = place.kernel.decide(&bob, &approval, Verdict::Approve, None);
    decided.await.unwrap();
    let run = place.kernel.wait_for(&run).await.unwrap();
    assert_eq!(run.state, RunState::Succeeded, "{run:?}");
    assert_eq!(run.answer.unwrap()["data"]["exit_code"], 0);
    assert_eq!(place.files().len(), 4);
    assert!(
        fs::read_dir(place.hub.folder.path().join(".helve/changes/stage"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn what_is_denied_is_dropped() {
    let place = Place::asking().await;
    let before = place.files();
    let answer = place.call(writer(WORK, &["data"])).await;
    let approval = answer.meta.approval.clone().unwrap();
    let bob = Principal::person("bob");
    let decided = place
        .kernel
        .decide(&bob, &approval, Verdict::Deny, Some("no".to_owned()));
    decided.await.unwrap();
    let run = place
        .kernel
        .run(answer.meta.run_id.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(run.state, RunState::Denied);
    assert_eq!(place.files(), before);
    assert!(
        fs::read_dir(place.hub.folder.path().join(".helve/changes/stage"))
            .unwrap()
            .next()
            .is_none()
    );
}

#[tokio::test]
async fn a_stage_that_was_touched_is_not_committed() {
    let place = Place::asking().await;
    let before = place.files();
    let answer = place.call(writer("echo good > data/x", &["data"])).await;
    let mut folders = vec![place.hub.folder.path().join(".helve/changes/stage")];
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
    let approval = answer.meta.approval.clone().unwrap();
    let bob = Principal::person("bob");
    let decided = place.kernel.decide(&bob, &approval, Verdict::Approve, None);
    decided.await.unwrap();
    let run = place
        .kernel
        .wait_for(answer.meta.run_id.as_ref().unwrap())
        .await
        .unwrap();
    assert_eq!(run.state, RunState::Failed, "{run:?}");
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_program_that_fails_has_changed_nothing() {
    for ground in GROUNDS {
        let place = Place::open(ground).await;
        let before = place.files();
        let answer = place
            .call(writer(&format!("{WORK}; exit 3"), &["data"]))
            .await;
        assert_eq!(answer.meta.state, Some(RunState::Failed));
        assert_eq!(answer.meta.exit_code, Some(3));
        assert_eq!(place.files(), before, "{ground:?}");
    }
}

#[tokio::test]
async fn nothing_is_written_where_it_may_not_be() {
    let place = Place::open(Ground::WHOLE).await;
    let before = place.files();
    let root = place.hub.folder.path().display().to_string();
    let cases = [
        // Read-only for it.
        ("echo x > beside.txt", &["data"][..]),
        ("echo x > /etc/helve-was-here", &["data"]),
        ("chmod 777 beside.txt", &["data"]),
        ("touch -d yesterday beside.txt", &["data"]),
        (
            "ln beside.txt data/beside && echo x > data/beside",
            &["data"],
        ),
        ("cat .helve/secret", &["data"]),
        (&format!("cat {root}/.helve/secret"), &["."]),
        ("ls .helve | grep .", &["."]),
        ("echo x > .helve/y", &["."]),
        // An archive that leads out of the folder in which it is unpacked.
        (
            "echo x > data/f; tar -cPf data/a.tar --transform 's,.*,../beside.txt,' data/f; \
             tar -xPf data/a.tar -C data",
            &["data"],
        ),
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
        let answer = place.call(writer(script, allowed)).await;
        assert!(answer.result.is_err(), "{script}: {answer:?}");
        assert_eq!(place.files(), before, "{script}");
    }
    assert!(!Path::new("/etc/helve-was-here").exists());
    // A tool that only looks can write nowhere, whatever is allowed.
    let mut def = writer("echo x > data/y", &["data"]);
    def.risk = Some(Risk::Read);
    assert!(place.call(def).await.result.is_err());
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_path_by_its_own_name_is_allowed() {
    let place = Place::open(Ground::WHOLE).await;
    for (script, allowed) in [
        ("echo x > data/new.txt", "data/new.txt"),
        ("mkdir -p far/away && echo x > far/away/f", "far/away"),
        ("echo x > .mcp.json", ".mcp.json"),
        ("sed -i s/beside/there/ beside.txt", "."),
    ] {
        let answer = place.call(writer(script, &[allowed])).await;
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

#[tokio::test]
async fn a_dry_run_shows_and_drops() {
    let place = Place::asking().await;
    let before = place.files();
    let def = writer(WORK, &["data"]);
    place.call(def.clone()).await;
    let call = KernelCall::new(Principal::person("ann"), "a_tool", json!({})).dry_run();
    let answer = place.kernel.call(call).await;
    assert_eq!(answer.meta.state, Some(RunState::Succeeded), "{answer:?}");
    assert!(answer.meta.dry_run);
    assert!(answer.meta.diff.unwrap().contains("+three"));
    assert_eq!(place.files(), before);

    // What reaches further than files cannot be tried.
    let mut def = writer(WORK, &["data"]);
    def.reversible = Reversible::No;
    place.call(def).await;
    let call = KernelCall::new(Principal::person("ann"), "a_tool", json!({})).dry_run();
    let error = place.kernel.call(call).await.result.unwrap_err();
    assert!(error.message.contains("cannot be tried"), "{error}");
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn what_cannot_be_held_is_asked_before() {
    let place = Place::asking().await;
    let before = place.files();
    let network = {
        let mut def = writer(WORK, &["data"]);
        let settings = &mut def.executor.as_mut().unwrap().settings;
        settings.insert("network".to_owned(), json!(true));
        def
    };
    let mut forever = writer(WORK, &["data"]);
    forever.reversible = Reversible::No;
    for (def, why) in [(network, "network"), (forever, "cannot be undone")] {
        let answer = place.call(def).await;
        assert_eq!(answer.meta.state, Some(RunState::PendingApproval));
        let approval = place.kernel.approval(&answer.meta.approval.unwrap()).await;
        let reason = approval.unwrap().reason;
        assert!(reason.contains(why), "{reason}");
    }
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_disk_that_fills_up_stops_whoever_fills_it() {
    let mut place = Place::open(Ground::WHOLE).await;
    let root = place.hub.folder.path().to_owned();
    let mut executor = HostExecutor::new(&root);
    // No disk has so much room.
    executor.room = u64::MAX;
    let keeper = Keeper::open(&root.join(".helve/again"), None).unwrap();
    place.kernel = Kernel::builder()
        .root(&root)
        .policy(Policy::from_value(&json!([{"effect": "allow", "tool": "*"}])).unwrap())
        .keeper(Arc::new(keeper))
        .executor(ExecutorKind::Host, Arc::new(executor))
        .open()
        .await
        .unwrap();
    let before = place.files();
    let script = "while :; do echo more >> data/more; done";
    let error = place.call(writer(script, &["data"])).await.result;
    let error = error.unwrap_err();
    assert!(error.message.contains("filled the disk"), "{error}");
    assert_eq!(place.files(), before);
}

#[tokio::test]
async fn a_sandbox_that_is_required_is_not_done_without() {
    for ground in &GROUNDS[1..] {
        let mut place = Place::open(*ground).await;
        let root = place.hub.folder.path().to_owned();
        let executor = HostExecutor::new(&root).require_sandbox(true);
        executor.ground.set(*ground).unwrap();
        let keeper = Keeper::open(&root.join(".helve/again"), None).unwrap();
        place.kernel = Kernel::builder()
            .root(&root)
            .policy(Policy::from_value(&json!([{"effect": "allow", "tool": "*"}])).unwrap())
            .keeper(Arc::new(keeper))
            .executor(ExecutorKind::Host, Arc::new(executor))
            .open()
            .await
            .unwrap();
        let before = place.files();
        let error = place
            .call(writer(WORK, &["data"]))
            .await
            .result
            .unwrap_err();
        assert!(error.message.contains("requires"), "{error}");
        assert_eq!(place.files(), before);
    }
}
