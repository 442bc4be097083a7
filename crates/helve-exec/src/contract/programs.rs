//! How programs are started, heard, bounded and ended.

use std::os::unix::fs::symlink;

use helve_kernel::ErrorKind;

use super::*;

pub(crate) async fn ends_are_told(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let internal = ErrorKind::Internal;
    for (script, kind, code, says) in [
        (
            "echo bad >&2; exit 7",
            internal,
            Some(7),
            "exited with code 7: bad",
        ),
        (
            "exit 75",
            ErrorKind::Transient,
            Some(75),
            "exited with code 75",
        ),
        ("kill -9 $$", internal, None, "was killed by signal 9"),
        ("kill -TERM $$", internal, None, "was killed by signal 15"),
    ] {
        let answer = place.call(&place.sh(script), json!({})).await;
        assert_eq!(answer.meta.state, Some(RunState::Failed), "{script}");
        assert_eq!(answer.meta.exit_code, code, "{script}");
        let error = answer.result.unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (kind, says));
    }
    let answer = place
        .call(&place.sh("cat; echo oops >&2"), json!({"x": 1}))
        .await;
    let wanted = json!({"exit_code": 0, "stdout": "{\"x\":1}", "stderr": "oops\n"});
    assert_eq!(
        (answer.result, answer.meta.exit_code),
        (Ok(wanted), Some(0))
    );
}

pub(crate) async fn a_result_by_its_schema(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let mut def = place.command(&["cat"]);
    def.output_schema = Some(json!({"type": "object"}));
    let args = json!({"x": "y".repeat(300_000)});
    let answer = place.call(&def, args.clone()).await;
    assert_eq!((answer.result, answer.meta.exit_code), (Ok(args), Some(0)));
    let mut def = place.sh("echo no");
    def.output_schema = Some(json!({"type": "object"}));
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("is not JSON"), "{error}");
}

pub(crate) async fn any_code_can_be_an_answer(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let def = place.tool(&json!({"command": ["sh", "-c", "echo x; exit 3"], "any_exit": true}));
    let data = place.call(&def, json!({})).await.result.unwrap();
    assert_eq!(data, json!({"exit_code": 3, "stdout": "x\n", "stderr": ""}));
}

pub(crate) async fn arguments_come_in_three_ways(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    place.script(
        "show.sh",
        r#"printf '%s|' "$#" "$@" "$ARG_X" "$ARG_Y"; cat"#,
    );
    let def = place.command(&["./show.sh", "{x}", "{y}"]);
    for text in [
        "plain", "; id", "$(id)", "`id`", "a\nb", "'\"", "*", "a b", "",
    ] {
        let args = json!({"x": text, "y": [1, text]});
        let y = args["y"].to_string();
        let wanted = format!("2|{text}|{y}|{text}|{y}|{args}");
        assert_eq!(place.said(&def, args).await, wanted);
    }
    assert_eq!(place.said(&def, json!({})).await, "0|||{}");
    let dashes = place.command(&["printf", "%s", "--", "{x}"]);
    assert!(
        place
            .said(&dashes, json!({"x": "-rf"}))
            .await
            .ends_with("-rf")
    );
    // What neither a variable nor a command line can hold is on standard input.
    let def = place.sh(r#"printf %s "${ARG_X-unset}"; wc -c"#);
    let found = place.said(&def, json!({"x": "a\u{0}b"})).await;
    assert_eq!(found, format!("unset{}\n", r#"{"x":"a\u0000b"}"#.len()));
    let found = place.said(&def, json!({"x": "x".repeat(500_000)})).await;
    assert_eq!(found, "unset500008\n");
}

pub(crate) async fn bad_arguments_do_not_run(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let def = place.command(&["printf", "{x}"]);
    place.register(&def).await.unwrap();
    for bad in [json!("-rf"), json!("a\u{0}b"), json!("x".repeat(200_000))] {
        let answer = place.again(&def, json!({"x": bad})).await;
        assert_eq!(answer.result.unwrap_err().kind, ErrorKind::Validation);
    }
}

pub(crate) async fn secrets_are_not_on_a_command_line(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let mut def = place.command(&["echo", "{x}"]);
    def.input_schema["properties"]["x"] = json!({"type": "string", "x-secret": true});
    let error = place.register(&def).await.unwrap_err();
    assert!(error.message.contains("secret"), "{error}");
    let mut def = place.command(&["sh", "-c", "echo ${{#ARG_X}}"]);
    def.input_schema["properties"]["x"] = json!({"type": "string", "x-secret": true});
    assert_eq!(place.said(&def, json!({"x": "12345"})).await, "5\n");
}

pub(crate) async fn the_environment_is_clean(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let def = place.tool(&json!({"command": ["env"], "env": {"TZ": "UTC"}}));
    let answer = place.call(&def, json!({"x": "1"})).await;
    let run = format!("HELVE_RUN_ID={}", answer.meta.run_id.unwrap());
    let data = answer.result.unwrap();
    let mut lines: Vec<&str> = data["stdout"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    let wanted = [
        "ARG_X=1",
        &run,
        "HELVE_TOOL=a_tool",
        "HOME=/nonexistent",
        "LANG=C.UTF-8",
        "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "TZ=UTC",
    ];
    assert_eq!(lines, wanted);
    // Nor anything but the three standard descriptors, and the folder that is listed.
    let said = place
        .said(&place.command(&["ls", "/proc/self/fd"]), json!({}))
        .await;
    assert_eq!(said, "0\n1\n2\n3\n");
}

pub(crate) async fn it_runs_where_it_says(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let root = place.root();
    fs::create_dir(root.join("sub")).unwrap();
    // The program's path begins at the workspace all the same.
    place.script("where.sh", "pwd -P");
    let def = place.tool(&json!({"command": ["./where.sh"], "cwd": "sub"}));
    let found = place.said(&def, json!({})).await;
    assert_eq!(found.trim(), root.join("sub").to_str().unwrap());
    let found = place.said(&place.command(&["./where.sh"]), json!({})).await;
    assert_eq!(found.trim(), root.to_str().unwrap());
    // Swapped for a link that leads out, after it was registered.
    place.register(&def).await.unwrap();
    fs::remove_dir(root.join("sub")).unwrap();
    symlink("/", root.join("sub")).unwrap();
    let error = place.again(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("outside the workspace"), "{error}");
}

pub(crate) async fn only_what_was_registered_runs(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    place.script("run.sh", "echo one");
    place.script("two.sh", "echo two");
    let direct = place.command(&["./run.sh"]);
    let named = place.command(&["sh", "run.sh"]);
    for def in [&direct, &named] {
        place.script("run.sh", "echo one");
        assert_eq!(place.said(def, json!({})).await, "one\n");
        place.script("run.sh", "echo two");
        let error = place.again(def, json!({})).await.result.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        assert!(error.message.contains("run.sh` has changed"), "{error}");
        // Registered again, it runs again.
        assert_eq!(place.said(def, json!({})).await, "two\n");
    }
}

pub(crate) async fn streams_are_kept_apart_and_in_order(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let script = "echo one; echo two; echo three >&2; echo four";
    let answer = place.call(&place.sh(script), json!({})).await;
    let run = answer.meta.run_id.unwrap();
    let data = answer.result.unwrap();
    assert_eq!(data["stdout"], "one\ntwo\nfour\n");
    assert_eq!(data["stderr"], "three\n");
    assert_eq!(place.log(&run, Stream::Stdout).await, b"one\ntwo\nfour\n");
    assert_eq!(place.log(&run, Stream::Stderr).await, b"three\n");
    // Many lines on both at once.
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i; echo e $i >&2; i=$((i+1)); done";
    let answer = place.call(&place.sh(script), json!({})).await;
    let run = answer.meta.run_id.unwrap();
    for (stream, word) in [(Stream::Stdout, "line"), (Stream::Stderr, "e")] {
        let wanted: Vec<u8> = (0..20_000)
            .flat_map(|i| format!("{word} {i}\n").into_bytes())
            .collect();
        assert!(place.log(&run, stream).await == wanted, "{word}");
    }
}

pub(crate) async fn input_may_stay_unread(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let args = json!({"x": "x".repeat(500_000)});
    for script in ["exit 0", "exec 0<&-; echo closed", "head -c 10 >/dev/null"] {
        let answer = place.call(&place.sh(script), args.clone()).await;
        assert!(succeeded(&answer), "{script}: {answer:?}");
    }
}

pub(crate) async fn output_may_be_closed_early(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let answer = place
        .call(&place.sh("exec >&- 2>&-; read line; exit 4"), json!({}))
        .await;
    assert_eq!(answer.meta.exit_code, Some(4));
}

pub(crate) async fn long_output_is_an_artifact(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let def = place.command(&["head", "-c", "50000", "/dev/zero"]);
    let answer = place.call(&def, json!({})).await;
    let run = answer.meta.run_id.unwrap();
    assert_eq!(answer.meta.artifacts[0].bytes, 50_000);
    let file = place.kernel.artifacts(&run).unwrap().join("stdout");
    assert_eq!(file.metadata().unwrap().len(), 50_000);
}

pub(crate) async fn a_line_of_ten_megabytes(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let script = "head -c 10000000 /dev/zero | tr '\\0' a & head -c 10000000 /dev/zero | tr '\\0' b >&2; wait";
    let answer = place.call(&place.sh(script), json!({})).await;
    let run = answer.meta.run_id.clone().unwrap();
    for (name, letter) in [("stdout", b'a'), ("stderr", b'b')] {
        let file = fs::read(place.kernel.artifacts(&run).unwrap().join(name)).unwrap();
        assert_eq!(file.len(), 10_000_000, "{name}");
        assert!(file.iter().all(|b| *b == letter), "{name}");
    }
}

pub(crate) async fn endless_output_is_stopped(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    for script in ["exec yes", "trap '' PIPE TERM; yes; exit 0"] {
        let error = place
            .call(&place.sh(script), json!({}))
            .await
            .result
            .unwrap_err();
        assert!(error.message.contains("did not end"), "{error}");
    }
}

pub(crate) async fn a_child_in_the_background_holds_nothing_up(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let mark = mark(61);
    let began = std::time::Instant::now();
    let script = format!("sleep {mark} & setsid sleep {mark} & echo started");
    let said = place.said(&place.sh(&script), json!({})).await;
    assert_eq!(said, "started\n");
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

/// A number of seconds that only this test uses, so that its processes can be found.
fn mark(seconds: u32) -> String {
    format!("{seconds}.{}", std::process::id())
}

pub(crate) async fn a_time_limit_ends_all_of_it(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    // One that leaves the group as well, and one that does not listen.
    let mark = mark(62);
    let script = format!(
        "sleep {mark} & setsid sleep {mark} & trap '' TERM; echo ready; wait; sleep {mark}"
    );
    let mut def = place.sh(&script);
    def.timeout = Some(Duration::from_secs(4));
    let answer = place.call(&def, json!({})).await;
    assert_eq!(answer.meta.state, Some(RunState::TimedOut), "{answer:?}");
    let run = answer.meta.run_id.unwrap();
    assert_eq!(place.log(&run, Stream::Stdout).await, b"ready\n");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
}

pub(crate) async fn whoever_calls_it_off_ends_all_of_it(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let before = place.files();
    let mark = mark(63);
    let script = format!("echo x > data/x; setsid sleep {mark} & echo ready; sleep {mark}");
    let def = place.writer(&script, &["data"]);
    place.register(&def).await.unwrap();
    let run = RunId::fresh();
    let call = Call::new(ann(), def.name.as_str(), json!({})).run(run.clone());
    let (answer, ()) = tokio::join!(place.kernel.call(call), async {
        place.says(&run, "ready").await;
        assert!(!processes_with(&mark).is_empty());
        place.kernel.cancel(&ann(), &run).await.unwrap();
    });
    assert_eq!(answer.meta.state, Some(RunState::Cancelled), "{answer:?}");
    assert_eq!(processes_with(&mark), Vec::<String>::new());
    assert_eq!(place.files(), before);
    assert!(!place.has_stages());
}

pub(crate) async fn memory_is_limited(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let script = "x=$(head -c 200000000 /dev/zero | tr '\\0' x); echo ${{#x}}";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "memory": "48MB"}));
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("ran out of the memory"), "{error}");
}

pub(crate) async fn processes_are_limited(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let script = "i=0; while [ $i -lt 60 ]; do sleep 9 & i=$((i+1)); done; echo all";
    let def = place.tool(&json!({"command": ["sh", "-c", script], "pids": 20}));
    let error = place.call(&def, json!({})).await.result.unwrap_err();
    assert!(error.message.contains("fork"), "{error}");
    // The limit is of the run, not of the machine.
    let def = place.tool(&json!({"command": ["sh", "-c", script], "pids": 100}));
    assert_eq!(place.said(&def, json!({})).await, "all\n");
}

pub(crate) async fn there_is_no_network(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let script = "tail -n +3 /proc/net/dev | grep -v ' *lo:'; tail -n +2 /proc/net/route";
    assert_eq!(place.said(&place.sh(script), json!({})).await, "");
}

pub(crate) async fn two_at_once(subject: &dyn Subject) {
    let place = Place::open(subject).await;
    let mut def = place.writer("sleep 0.5; echo $ARG_X > data/$ARG_X", &["data"]);
    def.input_schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    place.register(&def).await.unwrap();
    let (one, two) = tokio::join!(
        place.again(&def, json!({"x": "one"})),
        place.again(&def, json!({"x": "two"})),
    );
    assert!(succeeded(&one) && succeeded(&two), "{one:?} {two:?}");
    for name in ["one", "two"] {
        let written = fs::read_to_string(place.root().join("data").join(name));
        assert_eq!(written.unwrap(), format!("{name}\n"));
    }
}
