//! Folders and archives.

use std::io::Cursor;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in files {
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn zip_of(folder: &str, prefix: &str) -> Vec<u8> {
    let folder = OnDisk(path(folder));
    let names = folder.names().unwrap();
    let read = |name: &String| {
        let bytes = std::fs::read(folder.0.join(name)).unwrap();
        (format!("{prefix}{name}"), bytes)
    };
    let files: Vec<_> = names.iter().map(read).collect();
    let files: Vec<_> = files.iter().map(|(n, b)| (&**n, b.clone())).collect();
    zip(&files)
}

fn folder(name: &str) -> (Result<Format, ReadError>, Got) {
    let input = Input::Folder(Box::new(OnDisk(path(name))));
    run(input, name, &options())
}

#[test]
fn slack_is_read_as_a_folder_and_as_an_archive() {
    let expected = expected(Format::Slack);
    let (result, got) = folder("slack");
    assert_eq!(result.unwrap(), Format::Slack);
    same("the folder", &got, &expected, 1);
    for prefix in ["", "My workspace export/"] {
        let (found, got) = good(&zip_of("slack", prefix), "export.zip");
        assert_eq!(found, Format::Slack);
        same("the archive", &got, &expected, 1);
    }
}

#[test]
fn one_day_of_slack_is_read_alone() {
    let (found, got) = good(&bytes("slack/D01/2024-03-05.json"), "2024-03-05.json");
    assert_eq!((found, got.messages.len()), (Format::Slack, 4));
}

#[test]
fn chunks_are_read_as_a_folder_and_as_an_archive() {
    let expected = expected(Format::QqExporter);
    let (result, got) = folder("qq_chunked");
    assert_eq!(result.unwrap(), Format::QqExporter);
    same("the folder", &got, &expected, 1);
    let (found, got) = good(&zip_of("qq_chunked", "a/b/"), "x.zip");
    assert_eq!(found, Format::QqExporter);
    same("the archive", &got, &expected, 1);
}

#[test]
fn a_missing_chunk_is_an_error() {
    let manifest = bytes("qq_chunked/manifest.json");
    let first = bytes("qq_chunked/chunks/chunk_0001.jsonl");
    let packed = zip(&[
        ("manifest.json", manifest),
        ("chunks/chunk_0001.jsonl", first),
    ]);
    let error = of(&packed, "x.zip").0.unwrap_err().to_string();
    assert!(error.contains("chunk_0002.jsonl` is missing"), "{error}");
}

#[test]
fn whatsapp_is_read_from_its_archive_with_pictures_beside_it() {
    let text = bytes("whatsapp_txt.txt");
    let packed = zip(&[
        ("_chat.txt", text),
        ("00000004-PHOTO.jpg", vec![0xff, 0xd8, 0, 0]),
        ("__MACOSX/._chat.txt", vec![0; 9]),
    ]);
    let (found, got) = good(&packed, "WhatsApp Chat - Trip.zip");
    assert_eq!(found, Format::WhatsappTxt);
    same("the archive", &got, &expected(Format::WhatsappTxt), 1);
}

#[test]
fn several_exports_are_read_file_by_file() {
    let packed = zip(&[
        ("a/chat.csv", bytes("chatlog_csv.csv")),
        ("b/result.json", bytes("telegram_json.json")),
        ("readme.txt", b"nothing to see\n".to_vec()),
        ("empty.json", Vec::new()),
    ]);
    let (found, got) = good(&packed, "all.zip");
    assert_eq!(found, Format::ChatlogCsv);
    let both = [
        expected(Format::ChatlogCsv).messages,
        expected(Format::TelegramJson).messages,
    ];
    assert_eq!(got.messages, both.concat());
    let told: Vec<_> = got.malformed.iter().map(|(_, why)| &**why).collect();
    assert!(told.iter().any(|w| w.contains("`readme.txt`")), "{told:?}");
}

#[test]
fn what_is_wrong_in_one_file_names_it() {
    let mut cut = bytes("telegram_json.json");
    cut.truncate(900);
    let packed = zip(&[("a.csv", bytes("chatlog_csv.csv")), ("deep/b.json", cut)]);
    let error = of(&packed, "all.zip").0.unwrap_err();
    assert!(
        matches!(&error, ReadError::In { file, why } if file == "deep/b.json"
        && matches!(**why, ReadError::Cut { .. })),
        "{error:?}"
    );
    assert!(
        error
            .to_string()
            .starts_with("`deep/b.json`: it ends in the middle"),
        "{error}"
    );
}

#[test]
fn bombs_are_not_unpacked() {
    let bomb = zip(&[("chat.txt", vec![b'a'; 64 << 20])]);
    let error = of(&bomb, "x.zip").0.unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }), "{error:?}");
    assert!(error.to_string().contains("200 times"), "{error}");

    let tight = Options {
        max_unpacked: 1000,
        ..options()
    };
    let small = zip(&[("chat.csv", bytes("chatlog_csv.csv"))]);
    let error = run(Input::File(file(&small)), "x.zip", &tight)
        .0
        .unwrap_err();
    assert!(error.to_string().contains("`max_unpacked`"), "{error}");
}

/// An archive that says it is small and is not.
#[test]
fn an_archive_that_lies_about_its_size_is_stopped() {
    let mut packed = zip(&[("chat.csv", bytes("chatlog_csv.csv"))]);
    let size = u32::try_from(bytes("chatlog_csv.csv").len())
        .unwrap()
        .to_le_bytes();
    let mut at = 0;
    while let Some(n) = packed[at..].windows(4).position(|w| w == size) {
        packed[at + n..at + n + 4].copy_from_slice(&100u32.to_le_bytes());
        at += n + 4;
    }
    let error = of(&packed, "x.zip").0.unwrap_err();
    assert!(!matches!(error, ReadError::Unknown { .. }), "{error:?}");
}

#[test]
fn an_archive_within_an_archive_is_refused() {
    let inner = zip(&[("chat.csv", bytes("chatlog_csv.csv"))]);
    let error = of(&zip(&[("inner.zip", inner.clone())]), "x.zip")
        .0
        .unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { .. }), "{error:?}");
    // Under another name it is only bytes.
    let error = of(&zip(&[("inner.txt", inner)]), "x.zip").0.unwrap_err();
    assert!(matches!(error, ReadError::In { .. }), "{error:?}");
}

#[test]
fn paths_that_lead_out_are_left_out() {
    let chat = bytes("chatlog_csv.csv");
    let packed = zip(&[
        ("../../etc/chat.csv", chat.clone()),
        ("/abs/../../chat.csv", chat.clone()),
        ("good.csv", chat),
    ]);
    let (_, got) = good(&packed, "x.zip");
    assert_eq!(got.messages.len(), 15);
    let out = |w: &&(u64, String)| w.1.contains("leads out");
    assert_eq!(
        got.malformed.iter().filter(out).count(),
        2,
        "{:?}",
        got.malformed
    );
}

#[test]
fn a_cut_archive_is_an_error_at_every_length() {
    let packed = zip(&[("chat.csv", bytes("chatlog_csv.csv"))]);
    let file = file(&packed);
    for length in (4..packed.len()).rev() {
        file.set_len(length as u64).unwrap();
        let (result, _) = run(Input::File(file.try_clone().unwrap()), "x.zip", &options());
        assert!(result.is_err(), "{length}");
    }
}
