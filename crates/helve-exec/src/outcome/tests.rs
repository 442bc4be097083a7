//! What codes, signals and output come to.

#![allow(clippy::unwrap_used)]

use std::process::ExitStatus;

use helve_core::ToolName;
use helve_kernel::{Artifact, ErrorKind, Stream};

use super::*;
use crate::capture::{Capture, Output};

fn def(output_schema: Option<Value>) -> ToolDef {
    let mut def = ToolDef::new(ToolName::new("a_tool").unwrap(), "Does it.");
    def.output_schema = output_schema;
    def
}

async fn output(stream: Stream, text: &str, keep: usize) -> Output {
    let mut capture = Capture::new(stream, keep, None);
    capture.push(text.as_bytes()).await.unwrap();
    capture.finish().await
}

/// `status` as the system gives it: a code in the second byte, or a signal in the first.
async fn finished(status: i32, stdout: &str, stderr: &str) -> Finished {
    Finished {
        status: ExitStatus::from_raw(status),
        stdout: output(Stream::Stdout, stdout, JSON).await,
        stderr: output(Stream::Stderr, stderr, KEPT).await,
        hit: None,
        missing: Vec::new(),
        index: false,
    }
}

#[tokio::test]
async fn success_is_code_0() {
    let found = reply(&def(None), &finished(0, "out\n", "warning\n").await).unwrap();
    let wanted = Reply {
        data: json!({"exit_code": 0, "stdout": "out\n", "stderr": "warning\n"}),
        exit_code: Some(0),
        ..Reply::default()
    };
    assert_eq!(found, wanted);
}

#[tokio::test]
async fn all_else_is_a_failure() {
    let long = format!("{}\nlast line\n", "x".repeat(5000));
    let table = [
        (1 << 8, "", "", ErrorKind::Internal, "exited with code 1"),
        (
            1 << 8,
            "out",
            "no such file\n",
            ErrorKind::Internal,
            "exited with code 1: no such file",
        ),
        (
            2 << 8,
            "said here\n",
            " \n",
            ErrorKind::Internal,
            "exited with code 2: said here",
        ),
        (
            75 << 8,
            "",
            "busy\n",
            ErrorKind::Transient,
            "exited with code 75: busy",
        ),
        (
            255 << 8,
            "",
            "a\nb\n",
            ErrorKind::Internal,
            "exited with code 255:\na\nb",
        ),
        (
            3 << 8,
            "",
            &long,
            ErrorKind::Internal,
            "exited with code 3: last line",
        ),
        (9, "", "", ErrorKind::Internal, "was killed by signal 9"),
        (
            11 | 128,
            "",
            "oops",
            ErrorKind::Internal,
            "was killed by signal 11: oops",
        ),
    ];
    for (status, stdout, stderr, kind, message) in table {
        let finished = finished(status, stdout, stderr).await;
        // The same, whether or not it should have been JSON.
        for schema in [None, Some(json!({}))] {
            let error = reply(&def(schema), &finished).unwrap_err();
            assert_eq!((error.kind, error.message.as_str()), (kind, message));
            assert_eq!(error.exit_code, finished.status.code());
        }
    }
}

#[tokio::test]
async fn with_an_output_schema_it_is_json() {
    let def = def(Some(json!({"type": "object"})));
    let large = json!({"text": "x".repeat(1_000_000)});
    for (stdout, wanted) in [
        ("{\"n\": 1}\n".to_owned(), json!({"n": 1})),
        (" [1, 2] ".to_owned(), json!([1, 2])),
        (large.to_string(), large),
    ] {
        let found = reply(&def, &finished(0, &stdout, "noise").await).unwrap();
        assert_eq!((found.data, found.exit_code), (wanted, Some(0)));
    }
    let endless = format!("\"{}\"", "x".repeat(JSON));
    for (stdout, says) in [
        ("", "its output is not JSON"),
        ("hello", "its output is not JSON"),
        ("{} {}", "its output is not JSON"),
        ("{\"a\": ", "its output is not JSON"),
        (&endless, "too long for a result"),
    ] {
        let error = reply(&def, &finished(0, stdout, "").await).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert!(error.message.starts_with("its output is "), "{error}");
        assert!(error.message.contains(says), "{error}");
    }
}

#[tokio::test]
async fn files_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(Stream::Stderr, KEPT, Some(folder.path().to_owned()));
    capture.push(&vec![b'x'; KEPT + 1]).await.unwrap();
    let mut finished = finished(0, "short", "").await;
    finished.stderr = capture.finish().await;
    let found = reply(&def(None), &finished).unwrap();
    let wanted = Artifact {
        name: "stderr".to_owned(),
        bytes: KEPT as u64 + 1,
    };
    assert_eq!(found.artifacts, [wanted]);
}
