//! Reading, listing, finding.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{paths, rig};
use crate::testing::Rig;

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn a_file_is_read_page_by_page() {
    let rig = rig().await;
    rig.write("long.txt", numbered(700));
    let page = rig.data("file_read", json!({"path": "long.txt"})).await;
    assert_eq!(page["kind"], "text");
    assert_eq!(
        (
            &page["first_line"],
            &page["last_line"],
            &page["total_lines"],
            &page["next_offset"]
        ),
        (&json!(1), &json!(300), &json!(700), &json!(301))
    );
    assert!(
        page["note"].as_str().unwrap().contains("offset 301"),
        "{page}"
    );
    let page = rig
        .data("file_read", json!({"path": "long.txt", "offset": 601}))
        .await;
    assert_eq!(page["last_line"], 700);
    assert_eq!((page.get("next_offset"), page.get("note")), (None, None));
    // As another system names the arguments.
    let args = json!({"path": "long.txt", "start_line": 5, "end_line": 6});
    let answer = rig.call("read_file", args).await;
    assert_eq!(answer.meta.coerced[0].argument, "/offset");
    assert_eq!(answer.result.unwrap()["content"], "line 5\nline 6");
    let args = json!({"path": "long.txt", "offset": 9, "limit": 1, "line_numbers": true});
    assert_eq!(rig.data("file_read", args).await["content"], "9\tline 9");
}

#[tokio::test]
async fn small_files_are_read_as_they_are() {
    let rig = rig().await;
    for (content, wanted, total, ends) in [
        ("", "", 0, None),
        ("a", "a", 1, None),
        ("a\n", "a", 1, Some("lf")),
        ("\n\n", "\n", 2, Some("lf")),
        ("a\r\nb\r\n", "a\nb", 2, Some("crlf")),
        ("a\r\nb\n", "a\nb", 2, Some("mixed")),
    ] {
        rig.write("f", content);
        let page = rig.data("file_read", json!({"path": "f"})).await;
        assert_eq!(page["content"], wanted, "{content:?}");
        assert_eq!(page["total_lines"], total, "{content:?}");
        assert_eq!(page["line_ends"], json!(ends), "{content:?}");
    }
}

#[tokio::test]
async fn characters_are_read_in_any_script() {
    let rig = rig().await;
    let chinese = "第一行：这是一个测试文件，内容是中文。\n第二行：你好，世界！\n".repeat(5);
    let japanese = "これはテストです。日本語の文章を書いています。\n".repeat(5);
    let wide = |text: &str, big: bool| -> Vec<u8> {
        let units = text.encode_utf16();
        units
            .flat_map(|u| {
                if big {
                    u.to_be_bytes()
                } else {
                    u.to_le_bytes()
                }
            })
            .collect()
    };
    let (gbk, _, _) = encoding_rs::GBK.encode(&chinese);
    let (big5, _, _) = encoding_rs::BIG5.encode("這是一個測試檔案，內容是繁體中文。請檢查編碼。\n");
    let (sjis, _, _) = encoding_rs::SHIFT_JIS.encode(&japanese);
    let marked = |mark: &[u8], rest: Vec<u8>| [mark, &rest].concat();
    for (name, bytes, encoding, first) in [
        (
            "utf8",
            chinese.clone().into_bytes(),
            "utf-8",
            "第一行：这是一个测试文件，内容是中文。",
        ),
        (
            "bom",
            marked(b"\xEF\xBB\xBF", b"a\nb\n".to_vec()),
            "utf-8 with a byte order mark",
            "a",
        ),
        (
            "u16le",
            marked(b"\xFF\xFE", wide("ab\ncd\n", false)),
            "utf-16le with a byte order mark",
            "ab",
        ),
        (
            "u16be",
            marked(b"\xFE\xFF", wide("ab\ncd\n", true)),
            "utf-16be with a byte order mark",
            "ab",
        ),
        (
            "bare",
            wide("plain text\nmore\n", false),
            "utf-16le",
            "plain text",
        ),
        (
            "gbk",
            gbk.into_owned(),
            "gbk",
            "第一行：这是一个测试文件，内容是中文。",
        ),
        (
            "big5",
            big5.into_owned(),
            "big5",
            "這是一個測試檔案，內容是繁體中文。請檢查編碼。",
        ),
        (
            "sjis",
            sjis.into_owned(),
            "shift_jis",
            "これはテストです。日本語の文章を書いています。",
        ),
        (
            "latin",
            b"caf\xE9 cr\xE8me, d\xE9j\xE0 vu\n".to_vec(),
            "windows-1252",
            "café crème, déjà vu",
        ),
    ] {
        rig.write(name, bytes);
        let page = rig.data("file_read", json!({"path": name})).await;
        let content = page["content"].as_str().unwrap();
        assert_eq!(content.lines().next(), Some(first), "{name}: {page}");
        assert_eq!(page["encoding"], encoding, "{name}");
    }
    let args = json!({"path": "gbk", "encoding": "gb18030", "limit": 1});
    assert_eq!(
        rig.data("file_read", args).await["content"],
        "第一行：这是一个测试文件，内容是中文。"
    );
}

/// What is no text is never shown as one.
#[tokio::test]
async fn images_are_shown_and_binaries_described() {
    let rig = rig().await;
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 0, 32, 0, 0, 0, 16, 8, 6, 0, 0, 0]);
    rig.write("a.png", &png);
    let answer = rig.call("file_read", json!({"path": "a.png"})).await;
    let page = answer.result.clone().unwrap();
    assert_eq!(
        (&page["kind"], &page["mime"]),
        (&json!("image"), &json!("image/png"))
    );
    assert_eq!((&page["width"], &page["height"]), (&json!(32), &json!(16)));
    let shown = &answer.meta.content[0];
    assert_eq!(
        (&shown["type"], &shown["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert!(shown["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    // It is for whoever called, and never kept.
    assert!(!answer.to_value().to_string().contains("iVBORw0KGgo"));
    for (name, bytes, mime, size) in [
        (
            "a.gif",
            &b"GIF89a\x05\0\x07\0rest"[..],
            "image/gif",
            json!([5, 7]),
        ),
        (
            "a.jpg",
            b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x0b\x08\0\x09\0\x08\x01",
            "image/jpeg",
            json!([8, 9]),
        ),
        (
            "a.webp",
            b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x01\0\0\x02\0\0",
            "image/webp",
            json!([2, 3]),
        ),
        (
            "a.zip",
            b"PK\x03\x04....",
            "application/zip",
            json!([null, null]),
        ),
        (
            "a.pdf",
            b"%PDF-1.7\nabc",
            "application/pdf",
            json!([null, null]),
        ),
        (
            "a.bin",
            b"ab\0\x01\x02\0\0\x03xyz\0",
            "application/octet-stream",
            json!([null, null]),
        ),
        (
            "a.out",
            b"\x7FELF\x02\x01",
            "application/x-elf",
            json!([null, null]),
        ),
    ] {
        rig.write(name, bytes);
        let page = rig.data("file_read", json!({"path": name})).await;
        assert_eq!(page["mime"], mime, "{page}");
        assert_eq!(json!([page["width"], page["height"]]), size, "{page}");
        assert_eq!(page.get("content"), None, "{page}");
    }
}

#[tokio::test]
async fn what_is_long_is_cut_and_says_so() {
    let rig = rig().await;
    rig.write("wide.txt", format!("short\n{}\nend\n", "x".repeat(50_000)));
    let page = rig.data("file_read", json!({"path": "wide.txt"})).await;
    let content = page["content"].as_str().unwrap();
    assert!(
        content.len() < 3_000 && content.contains("[the line goes on]\nend"),
        "{content}"
    );
    assert_eq!(page["cut_lines"], json!([2]));
    // Pages end where an answer would be too long; what was asked for is in the next one.
    rig.write("huge.txt", "\u{1}234567890123456789\n".repeat(20_000));
    let args = json!({"path": "huge.txt", "limit": 5000});
    let answer = rig.call("file_read", args).await;
    assert!(answer.meta.artifacts.is_empty());
    let page = answer.result.unwrap();
    let last = page["last_line"].as_u64().unwrap();
    assert!((1_000..5_000).contains(&last), "{last}");
    assert_eq!(page["next_offset"], last + 1);
    assert_eq!(page["total_lines"], 20_000);
}

/// The pages of a file, one after the other.
async fn pages(rig: &Rig, limit: u64) -> Vec<String> {
    let (mut lines, mut offset) = (Vec::new(), 1);
    loop {
        let args = json!({"path": "f", "offset": offset, "limit": limit});
        let page = rig.data("file_read", args).await;
        assert_eq!(page["first_line"].as_u64().unwrap().max(1), offset);
        if page["total_lines"] != 0 {
            let content = page["content"].as_str().unwrap();
            lines.extend(content.split('\n').map(str::to_owned));
        }
        match page["next_offset"].as_u64() {
            Some(next) => offset = next,
            None => return lines,
        }
    }
}

#[test]
fn pages_cover_a_file_exactly() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let rig = runtime.block_on(rig());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(40));
    let cases = ("[a-zäß漢\n]{0,60}", 1..9_u64);
    let checked = runner.run(&cases, |(text, limit)| {
        rig.write("f", &text);
        let wanted: Vec<String> = text.lines().map(str::to_owned).collect();
        prop_assert_eq!(runtime.block_on(pages(&rig, limit)), wanted);
        Ok(())
    });
    checked.unwrap();
}

#[tokio::test]
async fn a_folder_is_listed() {
    let rig = rig().await;
    rig.write("b.txt", "12345");
    rig.write("a/x.rs", "");
    rig.write("a/deep/y.rs", "");
    rig.write(".dot", "");
    rig.write("..dots", "");
    std::fs::create_dir(rig.root.join("empty")).unwrap();
    std::os::unix::fs::symlink("b.txt", rig.root.join("link")).unwrap();
    let list = rig.data("file_list", json!({})).await;
    assert_eq!(paths(&list["entries"]), ["a", "b.txt", "empty", "link"]);
    let kinds: Vec<&Value> = (0..4).map(|i| &list["entries"][i]["type"]).collect();
    assert_eq!(kinds, ["folder", "file", "folder", "link"]);
    assert_eq!(
        (&list["entries"][1]["size"], &list["total"]),
        (&json!(5), &json!(4))
    );
    assert!(
        list["entries"][1]["modified"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert!(list["note"].as_str().unwrap().contains("show_hidden"));
    let all = rig
        .data("file_list", json!({"show_hidden": true, "recursive": true}))
        .await;
    let wanted = [
        "..dots",
        ".dot",
        "a",
        "a/deep",
        "a/deep/y.rs",
        "a/x.rs",
        "b.txt",
        "empty",
        "link",
    ];
    assert_eq!(paths(&all["entries"]), wanted);
    let args = json!({"recursive": true, "pattern": "*.rs"});
    assert_eq!(
        paths(&rig.data("file_list", args).await["entries"]),
        ["a/deep/y.rs", "a/x.rs"]
    );
    let args = json!({"recursive": true, "pattern": "a/*.rs"});
    assert_eq!(
        paths(&rig.data("file_list", args).await["entries"]),
        ["a/x.rs"]
    );
    let empty = rig.data("file_list", json!({"path": "empty"})).await;
    assert_eq!(
        (&empty["entries"], &empty["total"]),
        (&json!([]), &json!(0))
    );
    let first = rig.data("file_list", json!({"max_items": 3})).await;
    assert_eq!(
        (&first["truncated"], &first["next_offset"]),
        (&json!(true), &json!(3))
    );
    let rest = rig
        .data("file_list", json!({"max_items": 3, "offset": 3}))
        .await;
    assert_eq!(paths(&rest["entries"]), ["link"]);
}

#[tokio::test]
async fn files_are_found_by_name() {
    let rig = rig().await;
    for path in [
        "a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/d.ts",
        "out/e.rs",
        ".ci/f.rs",
    ] {
        rig.write(path, "x");
    }
    rig.write(".gitignore", "out/\n");
    rig.write(".git/g.rs", "x");
    for (args, wanted) in [
        (json!({"pattern": "**/g.rs", "hidden": true}), &[][..]),
        (json!({"pattern": "*.rs"}), &["a.rs"]),
        (
            json!({"pattern": "**/*.rs"}),
            &["a.rs", "src/b.rs", "src/deep/c.rs"],
        ),
        (
            json!({"pattern": "src/*.{rs,ts}"}),
            &["src/b.rs", "src/d.ts"],
        ),
        (json!({"pattern": "*.rs", "path": "src"}), &["src/b.rs"]),
        (
            json!({"pattern": "**/*.rs", "ignored": true}),
            &["a.rs", "out/e.rs", "src/b.rs", "src/deep/c.rs"],
        ),
        (json!({"pattern": ".ci/*"}), &[".ci/f.rs"]),
        (json!({"pattern": "**/*.py"}), &[]),
    ] {
        let found = rig.data("file_glob", args.clone()).await;
        assert_eq!(paths(&found["files"]), wanted, "{args}");
        assert_eq!(found["total"], wanted.len(), "{args}");
    }
    let found = rig
        .data("file_glob", json!({"pattern": "**/*.rs", "max_results": 1}))
        .await;
    assert_eq!(
        (&found["truncated"], &found["total"]),
        (&json!(true), &json!(3))
    );
    let none = rig.data("file_glob", json!({"pattern": "*.ts"})).await;
    assert!(
        none["note"].as_str().unwrap().contains("`**/*.ts`"),
        "{none}"
    );
}

/// A small tree is gone through by one thread, a larger one by several.
#[tokio::test]
async fn files_are_found_in_trees_of_any_size() {
    let rig = rig().await;
    rig.write(".gitignore", "skipped/\n");
    rig.write("skipped/s.rs", "needle");
    let mut there = 0;
    for (count, own) in [(1, 0), (31, 0), (70, 0), (400, 3), (480, 600), (900, 600)] {
        for n in there..count {
            rig.write(&format!("d{}/f{n}.rs", n % 7), "a needle\n");
        }
        there = count;
        for n in 0..own {
            rig.write(&format!(".git/objects/o{n}.rs"), "a needle\n");
        }
        for hidden in [false, true] {
            let args = json!({"pattern": "**/*.rs", "hidden": hidden, "max_results": 1});
            let found = rig.data("file_glob", args).await;
            assert_eq!(found["total"], count, "{hidden}");
        }
        let args = json!({"pattern": "needle", "max_results": 1});
        let found = rig.data("file_grep", args).await;
        assert_eq!(found["total"], count, "{found}");
    }
}

#[tokio::test]
async fn lines_are_found() {
    let rig = rig().await;
    rig.write("a.py", "one\ntwo needle\nthree\nfour\n");
    rig.write("b/c.txt", "Needle\n");
    rig.write("b/bin", b"needle\0\x01");
    rig.write("out/x.py", "needle\n");
    rig.write(".gitignore", "out/\n");
    let found = rig.data("file_grep", json!({"pattern": "n..dle"})).await;
    assert_eq!(paths(&found["matches"]), ["a.py"]);
    assert_eq!(
        found["matches"][0],
        json!({"path": "a.py", "line": 2, "column": 5, "text": "two needle"})
    );
    let args = json!({"pattern": "needle", "case_insensitive": true, "context_lines": 1});
    let found = rig.data("grep", args).await;
    assert_eq!(paths(&found["matches"]), ["a.py", "b/c.txt"]);
    assert_eq!(found["matches"][0]["before"], json!(["one"]));
    assert_eq!(found["matches"][0]["after"], json!(["three"]));
    let args = json!({"pattern": "needle", "file_pattern": "*.py", "ignored": true});
    assert_eq!(
        paths(&rig.data("grep", args).await["matches"]),
        ["a.py", "out/x.py"]
    );
    let args = json!({"pattern": "^t", "path": "a.py", "max_results": 1});
    let found = rig.data("grep", args).await;
    assert_eq!(
        (
            &found["total"],
            &found["truncated"],
            &found["matches"][0]["line"]
        ),
        (&json!(2), &json!(true), &json!(2))
    );
}

#[tokio::test]
async fn a_path_is_looked_at() {
    let rig = rig().await;
    rig.write("d/a.txt", "abc");
    let file = rig.data("file_stat", json!({"path": "d/a.txt"})).await;
    assert_eq!(
        (&file["type"], &file["size"], &file["mode"]),
        (&json!("file"), &json!(3), &json!("0644"))
    );
    assert_eq!(
        (&file["mime"], &file["encoding"]),
        (&json!("text/plain"), &json!("utf-8"))
    );
    let folder = rig.data("file_stat", json!({"path": "d"})).await;
    assert_eq!(
        (&folder["type"], &folder["entries"]),
        (&json!("folder"), &json!(1))
    );
}
