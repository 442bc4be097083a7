//! What is replaced, what is refused, and what is said of it.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::new(crate::file::toolset().unwrap()).await
}

fn change(old: &str, new: &str, all: bool) -> Change {
    Change {
        old: old.to_owned(),
        new: new.to_owned(),
        all,
    }
}

#[tokio::test]
async fn exactly_that_is_replaced() {
    let rig = rig().await;
    for (before, old, new, wanted) in [
        (&b"a b c\n"[..], "b", "x", &b"a x c\n"[..]),
        (
            b"a\r\nb\r\nc\r\n",
            "a\nb",
            "x\ny\nz",
            b"x\r\ny\r\nz\r\nc\r\n",
        ),
        (b"a\r\nb\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\n", "b", "x", b"a\r\nx\n"),
        (b"\xEF\xBB\xBFab", "b", "x", b"\xEF\xBB\xBFax"),
        (b"\xFF\xFEa\0b\0", "b", "xy", b"\xFF\xFEa\0x\0y\0"),
        (b"ab", "b", "", b"a"),
        (b"", "", "new", b"new"),
    ] {
        rig.write("f", before);
        rig.data(
            "file_edit",
            json!({"path": "f", "old_string": old, "new_string": new}),
        )
        .await;
        let after = std::fs::read(rig.root.join("f")).unwrap();
        assert_eq!(
            after,
            wanted,
            "{old:?} in {:?}",
            String::from_utf8_lossy(before)
        );
    }
    let args = json!({"path": "new/f", "old_string": "", "new_string": "made"});
    rig.data("edit_file", args).await;
    assert_eq!(rig.read("new/f"), "made");
    rig.write("f", "a\na\nb\na\n");
    let args =
        json!({"path": "f", "old_string": "a\n", "new_string": "x\ny\n", "replace_all": true});
    let done = rig.data("file_edit", args).await;
    assert_eq!(
        (&done["replacements"], &done["lines"]),
        (&json!(3), &json!([1, 3, 6]))
    );
}

#[tokio::test]
async fn what_is_not_exact_is_refused_with_the_way_out() {
    let rig = rig().await;
    let text = "fn main() {\n    let x = 1;\n    let y = 2;\n}\n\nfn other() {\n\tlet x = 1;\n}\n";
    rig.write("a.rs", text);
    let call = |old: &str, new: &str| json!({"path": "a.rs", "old_string": old, "new_string": new});
    rig.refuses(
        "file_edit",
        &[
            (call("let x = 1;", "z"), "conflict: `old_string` stands 2 times in `a.rs`, at lines 2, 7"),
            (call("  let x = 1;\n  let y = 2;", "z"), "line 2 of the file is `    let x = 1;`, where `old_string` has `  let x = 1;`: it differs only in spaces"),
            (call("    let x = 1;\n    let y = 3;", "z"), "line 3 of the file is `    let y = 2;`, where `old_string` has `    let y = 3;`: it comes nearest"),
            (call("nothing like it at all, really", "z"), "not_found: `old_string` does not stand in `a.rs`. `file_read` shows"),
            (call("x", "x"), "validation: `old_string` and `new_string` are the same"),
            (call("", "z"), "validation: `old_string` is empty, and `a.rs` is not"),
            (call("let y = 2;", "let y = 2;\n// ... rest of the code unchanged ..."), "line 2 of `new_string` stands for a text that was left out"),
        ],
    )
    .await;
    rig.write("mixed.txt", b"ok \xC3\xA9 \xFF\xFE\xE9 broken\n");
    rig.write("bin", b"a\0b\x01\x02");
    let args = json!({"path": "bin", "old_string": "a", "new_string": "b"});
    let said = rig.refused("file_edit", args).await;
    assert!(said.starts_with("validation: `bin` is no text"), "{said}");
    assert_eq!(rig.read("a.rs"), text);
}

proptest! {
    #[test]
    fn everywhere_is_as_the_standard_library_does_it(
        text in "[ab\n]{0,30}",
        old in "[ab\n]{1,3}",
        new in "[abc\n]{0,3}",
    ) {
        let found = replaced(&text, &change(&old, &new, true), "f");
        match text.contains(&old) {
            false => prop_assert!(found.is_err()),
            true => {
                let (after, lines) = found.unwrap();
                prop_assert_eq!(&after, &text.replace(&old, &new));
                prop_assert_eq!(lines.len(), text.matches(&old).count());
            }
        }
        let once = replaced(&text, &change(&old, &new, false), "f");
        prop_assert_eq!(once.is_ok(), text.matches(&old).count() == 1);
    }
}
