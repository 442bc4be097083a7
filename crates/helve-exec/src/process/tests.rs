//! Programs that behave in every way that programs do.

#![allow(clippy::unwrap_used)]

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::Mutex;

use helve_kernel::ErrorKind;
use tokio::time::{Instant, sleep};

use super::*;
use crate::running::Plain;

#[derive(Default)]
struct Kept(Mutex<Vec<(Stream, Vec<u8>)>>);

#[async_trait]
impl Sink for Kept {
    async fn log(&self, stream: Stream, bytes: Vec<u8>) {
        self.0.lock().unwrap().push((stream, bytes));
    }
}

impl Kept {
    fn of(&self, stream: Stream) -> Vec<u8> {
        let chunks = self.0.lock().unwrap();
        let chunks = chunks.iter().filter(|(s, _)| *s == stream);
        chunks.flat_map(|(_, bytes)| bytes.clone()).collect()
    }

    /// Waits until the program has said that.
    async fn says(&self, word: &str) {
        let wait = async {
            while !String::from_utf8_lossy(&self.of(Stream::Stdout)).contains(word) {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(10), wait).await.unwrap();
    }
}

fn sh(script: &str) -> Spec {
    Spec {
        program: PathBuf::from("/bin/sh"),
        name: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        cwd: PathBuf::from("/"),
        input: Vec::new(),
        keep: KEPT,
        artifacts: None,
        grace: Duration::from_secs(2),
        stage: None,
        room: ROOM,
    }
}

async fn ran(spec: Spec) -> Result<Finished, ToolError> {
    let (kept, never) = (Kept::default(), CancellationToken::new());
    let run = run(spec, &Plain, &kept, &never);
    // Far more than any of them takes, far less than a run that hangs.
    let ran = timeout(Duration::from_secs(60), run).await.unwrap();
    ran.map_err(Unstarted::error)
}

async fn said(script: &str) -> String {
    ran(sh(script)).await.unwrap().stdout.text()
}

#[tokio::test]
async fn ends_are_told() {
    for (script, code, signal) in [
        ("exit 0", Some(0), None),
        ("exit 7", Some(7), None),
        ("kill -9 $$", None, Some(9)),
        ("kill -TERM $$", None, Some(15)),
    ] {
        let status = ran(sh(script)).await.unwrap().status;
        assert_eq!((status.code(), status.signal()), (code, signal));
    }
}

#[tokio::test]
async fn streams_are_kept_apart_and_in_order() {
    let kept = Kept::default();
    let script = "echo one; echo two; echo three >&2; echo four";
    let finished = run(sh(script), &Plain, &kept, &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(finished.stdout.text(), "one\ntwo\nfour\n");
    assert_eq!(finished.stderr.text(), "three\n");
    assert_eq!(kept.of(Stream::Stdout), b"one\ntwo\nfour\n");
    assert_eq!(kept.of(Stream::Stderr), b"three\n");
}

#[tokio::test]
async fn input_is_written_while_output_is_read() {
    let input = b"line of input\n".repeat(400_000);
    let mut spec = sh("exec cat");
    spec.keep = input.len();
    spec.input.clone_from(&input);
    let finished = ran(spec).await.unwrap();
    assert_eq!(finished.stdout.whole().unwrap(), input);
}

#[tokio::test]
async fn input_may_stay_unread() {
    for script in ["exit 0", "exec 0<&-; echo closed", "head -c 10 >/dev/null"] {
        let mut spec = sh(script);
        spec.input = vec![b'x'; 5_000_000];
        assert!(ran(spec).await.unwrap().status.success(), "{script}");
    }
    // Nor does a child that holds the other end without reading.
    let mut spec = sh("exec >/dev/null 2>&1; sleep 60 <&0 & exit 0");
    spec.input = vec![b'x'; 5_000_000];
    assert!(ran(spec).await.unwrap().status.success());
}

#[tokio::test]
async fn output_may_be_closed_early() {
    let script = "exec >&- 2>&-; read line; exit 4";
    let mut spec = sh(script);
    spec.input = b"go\n".to_vec();
    assert_eq!(ran(spec).await.unwrap().status.code(), Some(4));
}

#[tokio::test]
async fn a_child_in_the_background_holds_nothing_up() {
    let began = Instant::now();
    let text = said("sleep 60 & echo $!").await;
    assert!(began.elapsed() < Duration::from_secs(30));
    let child = text.trim();
    let path = format!("/proc/{child}/stat");
    let stat = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

/// It is out of the group's reach, but not in the way. It ends by itself.
#[tokio::test]
async fn a_child_in_another_session_holds_nothing_up() {
    let text = said("setsid sleep 5 & echo started").await;
    assert_eq!(text, "started\n");
    // And not when it never stops writing.
    let loud = "setsid sh -c 'trap \"\" PIPE; i=0; while [ $i -lt 200000 ]; do echo y || exit; i=$((i+1)); done' & exit 3";
    assert_eq!(ran(sh(loud)).await.unwrap().status.code(), Some(3));
}

/// What a child writes in the moment that it has is not lost.
#[tokio::test]
async fn a_child_may_finish_what_it_says() {
    let text = said("(sleep 0.1; echo late) & echo early").await;
    assert_eq!(text, "early\nlate\n");
}

#[tokio::test]
async fn a_stopped_run_leaves_nobody() {
    let kept = Kept::default();
    let stop = CancellationToken::new();
    let script = "sleep 60 & a=$!; (sleep 60; :) & echo $a $! $$ ready; wait";
    let run = run(sh(script), &Plain, &kept, &stop);
    let (result, ()) = tokio::join!(run, async {
        kept.says("ready").await;
        stop.cancel();
    });
    let error = result.unwrap_err().error();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("unknown"), "{error}");
    let text = String::from_utf8(kept.of(Stream::Stdout)).unwrap();
    let numbers: Vec<&str> = text.split_whitespace().take(3).collect();
    assert_eq!(numbers.len(), 3);
    for number in numbers {
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    }
}

#[tokio::test]
async fn a_run_stopped_before_its_start_never_starts() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = sh("echo > mark");
    spec.cwd = folder.path().to_owned();
    let stop = CancellationToken::new();
    stop.cancel();
    let error = run(spec, &Plain, &Kept::default(), &stop)
        .await
        .unwrap_err()
        .error();
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(!folder.path().join("mark").exists());
}

#[tokio::test]
async fn a_dropped_run_leaves_nobody() {
    let kept = Kept::default();
    let stop = CancellationToken::new();
    {
        let run = run(sh("sleep 60 & echo $! ready; wait"), &Plain, &kept, &stop);
        tokio::select! {
            _ = run => panic!("it ended"),
            () = kept.says("ready") => {}
        }
    }
    let text = String::from_utf8(kept.of(Stream::Stdout)).unwrap();
    let number = text.split_whitespace().next().unwrap().to_owned();
    let gone = async {
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.unwrap();
}

#[tokio::test]
async fn ten_megabytes_on_both_streams() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = folder.path().join("artifacts");
    let script = "head -c 10000000 /dev/zero | tr '\\0' a & head -c 10000000 /dev/zero | tr '\\0' b >&2; wait";
    let mut spec = sh(script);
    spec.artifacts = Some(artifacts.clone());
    let kept = Kept::default();
    let finished = run(spec, &Plain, &kept, &CancellationToken::new())
        .await
        .unwrap();
    for (output, name, letter) in [
        (&finished.stdout, "stdout", b'a'),
        (&finished.stderr, "stderr", b'b'),
    ] {
        // One line, as long as all of it.
        assert_eq!(output.artifact().unwrap().bytes, 10_000_000);
        let text = output.text();
        assert!(text.len() < KEPT + 200 && text.contains("… 9967232 bytes left out"));
        let file = std::fs::read(artifacts.join(name)).unwrap();
        assert!(file.len() == 10_000_000 && file.iter().all(|b| *b == letter));
    }
    assert_eq!(kept.of(Stream::Stdout), vec![b'a'; LOGGED]);
    let chunks = kept.0.lock().unwrap();
    assert!(chunks.iter().all(|(_, bytes)| bytes.len() <= CHUNK));
    let notice = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("the log has no more");
    let notices = chunks.iter().filter(|(_, bytes)| notice(bytes));
    let streams: Vec<Stream> = notices.map(|(stream, _)| *stream).collect();
    assert_eq!(streams, [Stream::Stderr, Stream::Stderr]);
}

#[tokio::test]
async fn endless_output_is_stopped() {
    for script in ["exec yes", "trap '' PIPE TERM; yes; exit 0"] {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = sh(script);
        spec.artifacts = Some(folder.path().to_owned());
        let error = ran(spec).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.message.contains("did not end"), "{error}");
        let length = folder.path().join("stdout").metadata().unwrap().len();
        assert_eq!(length, MOST);
    }
}

#[tokio::test]
async fn nothing_is_inherited() {
    // A descriptor as a careless parent of Helve would leave it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let secret = std::fs::File::create(&path).unwrap();
    rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
    let mut spec = sh("");
    spec.program = Path::new("/bin/ls").canonicalize().unwrap();
    spec.name = "ls".to_owned();
    spec.args = vec!["-l".to_owned(), "/proc/self/fd".to_owned()];
    let finished = ran(spec).await.unwrap();
    let text = finished.stdout.text();
    let links = text.lines().filter_map(|l| l.split_once(" -> "));
    let links: Vec<&str> = links.map(|(_, to)| to).collect();
    // The three standard ones, and the folder that it lists.
    assert_eq!(links.len(), 4, "{text}");
    assert!(links[..3].iter().all(|l| l.starts_with("pipe:")), "{text}");
    assert!(links[3].starts_with("/proc/"), "{text}");

    let mut spec = sh("");
    spec.program = Path::new("/usr/bin/env").canonicalize().unwrap();
    spec.name = "env".to_owned();
    spec.args.clear();
    spec.env = vec![
        ("A".to_owned(), "1".to_owned()),
        ("A".to_owned(), "two\nlines; $(id)".to_owned()),
    ];
    let finished = ran(spec).await.unwrap();
    assert_eq!(finished.stdout.text(), "A=two\nlines; $(id)\n");
}

#[tokio::test]
async fn it_leads_its_own_group() {
    let text = said("echo $$; cut -d' ' -f5 /proc/$$/stat").await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], lines[1]);
}

#[tokio::test]
async fn what_cannot_be_started_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    };
    let programs = [
        folder.path().join("gone"),
        folder.path().to_owned(),
        file("plain", "#!/bin/sh\n", 0o644),
        file("orphan", "#!/no/such/interpreter\n", 0o755),
        // No shell takes it instead.
        file("text", "echo hi\n", 0o755),
        file("broken", "\x7fELF\0\0\0\0", 0o755),
    ];
    for program in programs {
        let mut spec = sh("");
        spec.program = program;
        let error = ran(spec).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Dependency, "{error}");
        assert!(error.message.contains("could not be started"), "{error}");
    }
    let mut spec = sh("");
    spec.args.extend((0..100).map(|_| "x".repeat(100_000)));
    assert_eq!(ran(spec).await.unwrap_err().kind, ErrorKind::Validation);
}
