//! Cuts, spills, and files that cannot be written.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;

async fn captured(pieces: &[&[u8]], keep: usize, folder: Option<&Path>) -> Output {
    let mut capture = Capture::new(Stream::Stdout, keep, folder.map(Path::to_owned));
    for piece in pieces {
        capture.push(piece).await.unwrap();
    }
    capture.finish().await
}

#[tokio::test]
async fn what_fits_is_kept_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = folder.path().join("run");
    for text in ["", "a", "12345678", "é€😀"] {
        for size in [1, 3, 100] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let output = captured(&pieces, 10, Some(&artifacts)).await;
            assert_eq!(output.text(), text);
            assert_eq!(output.whole().unwrap(), text.as_bytes());
            assert_eq!(output.artifact(), None);
        }
    }
    assert!(!artifacts.exists(), "made without need");
}

#[tokio::test]
async fn a_long_one_goes_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = folder.path().join("runs/one");
    let text = "0123456789abcdef";
    for size in [1, 4, 5, 16] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
        let output = captured(&pieces, 8, Some(&artifacts)).await;
        assert_eq!(
            output.text(),
            "0123\n… 8 bytes left out; whole output in artifact `stdout` …\ncdef"
        );
        assert_eq!(output.whole(), None);
        let artifact = output.artifact().unwrap();
        assert_eq!((artifact.name.as_str(), artifact.bytes), ("stdout", 16));
        assert_eq!(
            std::fs::read_to_string(artifacts.join("stdout")).unwrap(),
            text
        );
    }
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&artifacts), 0o700);
    assert_eq!(mode(&artifacts.join("stdout")), 0o600);
}

#[tokio::test]
async fn without_a_folder_head_and_tail_remain() {
    let output = captured(&[b"0123456789"], 4, None).await;
    assert_eq!(output.text(), "01\n… 6 bytes left out …\n89");
    assert_eq!(output.artifact(), None);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_costs_only_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "").unwrap();
    let output = captured(&[b"01234", b"56789"], 4, Some(&taken)).await;
    let text = output.text();
    assert!(
        text.starts_with("01\n… 6 bytes left out; they could not be kept: "),
        "{text}"
    );
    assert_eq!(output.artifact(), None);
}

/// What a link of that name points to is not touched.
#[tokio::test]
async fn a_planted_link_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("stdout")).unwrap();
    let output = captured(&[b"0123456789"], 4, Some(folder.path())).await;
    assert!(output.artifact().is_some());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
}

#[tokio::test]
async fn characters_are_not_cut() {
    // Three bytes each: no half of eight or ten ends between two of them.
    let text = "€".repeat(20);
    for (keep, wanted) in [(8, "€\n… 54"), (10, "€\n… 54"), (12, "€€\n… 48")] {
        let text = captured(&[text.as_bytes()], keep, None).await.text();
        assert!(text.starts_with(wanted), "{text}");
        assert!(!text.contains('\u{fffd}'), "{text}");
    }
    let text = "😀".repeat(20);
    for keep in [8, 10, 12, 14] {
        let text = captured(&[text.as_bytes()], keep, None).await.text();
        assert!(!text.contains('\u{fffd}'), "{text}");
    }
    // What is no text at all is shown as well as it can be.
    let text = captured(&[&[0xff; 20], &[0x80; 20]], 8, None).await.text();
    assert!(text.starts_with("\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n… 35 bytes"));
}

#[tokio::test]
async fn there_is_a_limit() {
    let piece = vec![b'x'; 1024 * 1024];
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(Stream::Stderr, KEPT, Some(folder.path().to_owned()));
    for _ in 0..64 {
        assert_eq!(capture.push(&piece).await, Ok(()));
    }
    assert_eq!(capture.push(b"x").await, Err(Endless));
    assert_eq!(capture.push(b"x").await, Err(Endless));
    capture.finish().await;
    let length = folder.path().join("stderr").metadata().unwrap().len();
    assert_eq!(length, MOST);
}

#[tokio::test]
async fn the_last_lines() {
    let table = [
        ("", 10, ""),
        ("one\ntwo\n", 10, "one\ntwo"),
        ("one\ntwo\nthree\n", 10, "two\nthree"),
        ("one\ntwo\nthree\n", 9, "three"),
        ("a very long line", 4, "line"),
        ("ééééé", 2, "éé"),
    ];
    for (text, most, wanted) in table {
        let output = captured(&[text.as_bytes()], 64, None).await;
        assert_eq!(output.last_lines(most), wanted);
    }
    let output = captured(&[&[b'x'; 100], b"\nthe end\n"], 20, None).await;
    assert_eq!(output.last_lines(8), "the end");
}
