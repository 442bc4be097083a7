//! Searching and mapping code, through a kernel.

use serde_json::{Value, json};

use crate::testing::Rig;

async fn rig() -> Rig {
    Rig::new(super::toolset().unwrap()).await
}

fn places(found: &Value) -> Vec<String> {
    let matches = found["matches"].as_array().unwrap().iter();
    matches
        .map(|m| {
            format!(
                "{}:{}:{}",
                m["path"].as_str().unwrap(),
                m["line"],
                m["column"]
            )
        })
        .collect()
}

#[tokio::test]
async fn code_is_searched() {
    let rig = rig().await;
    rig.write("src/a.rs", "fn open_store() {}\nfn x() { open_store(); }\n");
    rig.write("src/b.py", "open_store()\nOPEN_STORE = 1\n# é open_store\n");
    rig.write("target/c.rs", "open_store\n");
    rig.write(".gitignore", "target/\n");
    rig.write(".helve/d.rs", "open_store\n");
    rig.write(".hidden/e.rs", "open_store\n");
    for (args, wanted) in [
        (
            json!({"query": "open_store"}),
            &[
                "src/a.rs:1:4",
                "src/a.rs:2:10",
                "src/b.py:1:1",
                "src/b.py:2:1",
                "src/b.py:3:5",
            ][..],
        ),
        (json!({"query": "OPEN"}), &["src/b.py:2:1"]),
        (
            json!({"query": "open_store", "case": "sensitive", "language": "python"}),
            &["src/b.py:1:1", "src/b.py:3:5"],
        ),
        (
            json!({"query": "OPEN_STORE", "case": "insensitive", "include": "*.rs"}),
            &["src/a.rs:1:4", "src/a.rs:2:10"],
        ),
        (
            json!({"query": "open_store("}),
            &["src/a.rs:1:4", "src/a.rs:2:10", "src/b.py:1:1"],
        ),
        (
            json!({"pattern": "^fn \\w+\\(", "regex": true}),
            &["src/a.rs:1:1", "src/a.rs:2:1"],
        ),
        (
            json!({"query": "open_store", "path": "src/b.py", "max_results": 1}),
            &["src/b.py:1:1"],
        ),
        (
            json!({"query": "store", "language": "rust", "ignored": true}),
            &["src/a.rs:1:9", "src/a.rs:2:15", "target/c.rs:1:6"],
        ),
        (
            json!({"query": "store", "language": "rust", "hidden": true}),
            &[".hidden/e.rs:1:6", "src/a.rs:1:9", "src/a.rs:2:15"],
        ),
        (json!({"query": "nowhere to be found"}), &[]),
    ] {
        for name in ["code_search", "search_code", "internal_code_search"] {
            let found = rig.data(name, args.clone()).await;
            assert_eq!(places(&found), wanted, "{args}");
        }
    }
    let found = rig
        .data(
            "code_search",
            json!({"query": "open_store", "max_results": 2, "context_lines": 1}),
        )
        .await;
    assert_eq!(
        (&found["total"], &found["files"], &found["truncated"]),
        (&json!(5), &json!(2), &json!(true))
    );
    assert!(
        found["note"].as_str().unwrap().contains("first 2 of 5"),
        "{found}"
    );
    rig.refuses(
        "code_search",
        &[
            (json!({}), "query"),
            (json!({"query": ""}), "validation"),
            (
                json!({"query": "(", "regex": true}),
                "validation: the pattern is no regular expression",
            ),
            (
                json!({"query": "x", "language": "klingon"}),
                "argument `language`: `klingon` is not known. for example rust",
            ),
            (
                json!({"query": "x", "path": "none"}),
                "not_found: there is no `none`",
            ),
            (json!({"query": "x", "path": "../"}), "permission"),
            (json!({"query": "x", "path": ".helve"}), "permission"),
            (
                json!({"query": "x", "include": "/etc/*"}),
                "leads out of its folder",
            ),
        ],
    )
    .await;
}

/// What is shown does not depend on which thread was quicker, and the counts are true.
#[tokio::test]
async fn the_same_search_gives_the_same_answer() {
    let rig = rig().await;
    for n in 0..300 {
        rig.write(
            &format!("d{}/f{n:03}.txt", n % 7),
            format!("x {n}\nx\n{}x\n", "y".repeat(n)),
        );
    }
    let args = json!({"query": "x", "max_results": 40});
    let first = rig.data("code_search", args.clone()).await;
    assert_eq!(
        (&first["total"], &first["files"], &first["searched"]),
        (&json!(900), &json!(300), &json!(300))
    );
    assert_eq!(first["matches"].as_array().unwrap().len(), 40);
    for _ in 0..5 {
        assert_eq!(rig.data("code_search", args.clone()).await, first);
    }
}

#[tokio::test]
async fn very_long_lines_are_shown_around_the_match() {
    let rig = rig().await;
    rig.write(
        "min.js",
        format!("{}needle{}\n", "a".repeat(90_000), "b".repeat(90_000)),
    );
    let found = rig.data("code_search", json!({"query": "needle"})).await;
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("needle") && text.chars().count() < 500,
        "{text}"
    );
    assert_eq!(found["matches"][0]["column"], 90_001);
}

#[cfg(feature = "code")]
mod mapping {
    use super::*;

    /// `kind name parent@line` of what a file defines.
    async fn outline(rig: &Rig, path: &str) -> Vec<String> {
        let map = rig.data("code_analyze", json!({"path": path})).await;
        let symbols = map["outline"][0]["symbols"].as_array().unwrap().iter();
        symbols
            .map(|s| {
                let parent = s["parent"].as_str().map(|p| format!(" in {p}"));
                format!(
                    "{} {}{}@{}",
                    s["kind"].as_str().unwrap(),
                    s["name"].as_str().unwrap(),
                    parent.unwrap_or_default(),
                    s["line"]
                )
            })
            .collect()
    }

    #[tokio::test]
    async fn every_language_tells_what_it_defines() {
        let rig = rig().await;
        for (path, code, wanted) in [
            (
                "a.rs",
                "use std::fs;\nstruct S;\nimpl S {\n    fn m(&self) {}\n}\nfn f() {}\nmod t { const C: u8 = 1; }\n",
                &[
                    "struct S@2",
                    "impl S@3",
                    "method m in S@4",
                    "function f@6",
                    "module t@7",
                    "constant C in t@7",
                ][..],
            ),
            (
                "a.py",
                "import os\nclass A:\n    def m(self):\n        def inner(): pass\nasync def f(): pass\n",
                &[
                    "class A@2",
                    "method m in A@3",
                    "function inner in m@4",
                    "function f@5",
                ],
            ),
            (
                "a.js",
                "import x from 'y';\nfunction f() {}\nclass A { m() {} }\nconst g = () => 1;\nconst n = 1;\n",
                &[
                    "function f@2",
                    "class A@3",
                    "method m in A@3",
                    "function g@4",
                ],
            ),
            (
                "a.tsx",
                "interface I { a: string }\ntype T = string;\nenum E { A }\nexport const C = () => <div/>;\n",
                &["interface I@1", "type T@2", "enum E@3", "function C@4"],
            ),
            (
                "a.go",
                "package a\nimport \"fmt\"\ntype S struct{}\nfunc (s *S) M() {}\nfunc F() {}\n",
                &["type S@3", "method M in S@4", "function F@5"],
            ),
            (
                "A.java",
                "import java.util.List;\nclass A {\n  A() {}\n  void m() {}\n}\ninterface I {}\n",
                &[
                    "class A@2",
                    "method A in A@3",
                    "method m in A@4",
                    "interface I@6",
                ],
            ),
            (
                "a.c",
                "#include <stdio.h>\nstruct S { int a; };\nstatic int *f(int a) { return 0; }\ntypedef int T;\n",
                &["struct S@2", "function f@3", "type T@4"],
            ),
            (
                "a.cpp",
                "namespace n {\nclass A {\n  void m() {}\n};\n}\nvoid n::A::g() {}\n",
                &[
                    "module n@1",
                    "class A in n@2",
                    "method m in A@3",
                    "function n::A::g@6",
                ],
            ),
            (
                "a.cs",
                "using System;\nnamespace N {\nclass A { void M() {} }\n}\n",
                &["module N@2", "class A in N@3", "method M in A@3"],
            ),
            (
                "a.rb",
                "require 'x'\nmodule M\n  class A\n    def m; end\n  end\nend\n",
                &["module M@2", "class A in M@3", "method m in A@4"],
            ),
            (
                "a.php",
                "<?php\nuse A\\B;\nfunction f() {}\nclass C { function m() {} }\n",
                &["function f@3", "class C@4", "method m in C@4"],
            ),
            ("a.sh", "f() {\n  echo\n}\n", &["function f@1"]),
            (
                "a.md",
                "# One\n```\n# no\n```\n## Two ##\n",
                &["h1 One@1", "h2 Two@5"],
            ),
        ] {
            rig.write(path, code);
            assert_eq!(outline(&rig, path).await, wanted, "{path}");
        }
        for (path, imports) in [
            ("a.rs", json!(["use std::fs"])),
            ("a.py", json!(["import os"])),
            ("a.js", json!(["import x from 'y'"])),
            ("a.go", json!(["\"fmt\""])),
            ("A.java", json!(["import java.util.List"])),
            ("a.c", json!(["#include <stdio.h>"])),
            ("a.cs", json!(["using System"])),
            ("a.rb", json!(["require 'x'"])),
            ("a.php", json!(["use A\\B"])),
        ] {
            let map = rig.data("analyze_code", json!({"path": path})).await;
            assert_eq!(map["outline"][0]["imports"], imports, "{path}");
        }
    }

    #[tokio::test]
    async fn a_tree_is_counted_and_mapped() {
        let rig = rig().await;
        for n in 0..5 {
            rig.write(&format!("src/f{n}.rs"), format!("fn f{n}() {{}}\n"));
        }
        rig.write("conf.toml", "a = 1\nb = 2\n");
        rig.write("blob.xyz", b"\0\0\0");
        rig.write("broken.py", "def (:\n");
        rig.write("target/x.rs", "fn hidden() {}\n");
        rig.write(".gitignore", "target/\n");
        rig.write(".helve/x.rs", "fn state() {}\n");
        let map = rig.data("code_analyze", json!({"max_files": 3})).await;
        assert_eq!((&map["files"], &map["lines"]), (&json!(8), &json!(8)));
        assert_eq!(
            map["languages"][0],
            json!({"language": "rust", "files": 5, "lines": 5, "bytes": 55})
        );
        let shown: Vec<&Value> = (0..3).map(|i| &map["outline"][i]["path"]).collect();
        assert_eq!(shown, ["broken.py", "src/f0.rs", "src/f1.rs"]);
        assert_eq!(map["outline"][0]["has_errors"], true);
        assert!(
            map["note"].as_str().unwrap().contains("3 more files"),
            "{map}"
        );
        let map = rig.data("code_analyze", json!({"symbols": false})).await;
        assert_eq!(
            (&map["outline"], &map["truncated"]),
            (&json!([]), &json!(false))
        );
        assert!(
            !rig.data("code_analyze", json!({}))
                .await
                .to_string()
                .contains("helve")
        );
        let said = rig.refused("code_analyze", json!({"path": "none"})).await;
        assert!(said.contains("not_found: there is no `none`"), "{said}");
    }
}
