//! Every language in its colours, and texts that nobody would write.

use proptest::prelude::*;

use super::Paint::{self, Comment, Constant, Function, Keyword, Number, Property, String, Type};
use super::{paint, palette};

/// A path for every grammar.
const PATHS: &[&str] = &[
    "a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a.java", "a.c", "a.cpp", "a.cs", "a.rb",
    "a.php", "a.sh",
];

#[test]
fn the_queries_fit_their_grammars() {
    for (name, palette) in [
        ("rust", &palette::RUST),
        ("python", &palette::PYTHON),
        ("typescript", &palette::TYPESCRIPT),
        ("tsx", &palette::TSX),
        ("go", &palette::GO),
        ("java", &palette::JAVA),
        ("c++", &palette::CPP),
        ("c#", &palette::C_SHARP),
        ("ruby", &palette::RUBY),
        ("php", &palette::PHP),
        ("php inside", &palette::PHP_INSIDE),
        ("bash", &palette::BASH),
    ] {
        let complaint = palette.compile().err().map(|e| e.to_string());
        assert_eq!(complaint, None, "{name}");
    }
}

/// The pieces, as they stand in the text.
fn check(path: &str, text: &str, wanted: &[(&str, Paint)]) {
    let pieces = paint(path, text);
    let found = pieces.iter().map(|(at, paint)| (&text[at.clone()], *paint));
    let found: Vec<(&str, Paint)> = found.collect();
    assert_eq!(found, wanted, "{path}: {text}");
}

#[test]
fn code_is_coloured() {
    check(
        "src/a.rs",
        "/// Häuser\n#[test]\npub const MAX: u32 = 3;\nimpl<'a> Open { fn go(&self) -> Self { call(self.x, \"ö\\n\", 'b'); Some(true) } }",
        &[
            ("/// Häuser\n", Comment),
            ("#[test]", Property),
            ("pub", Keyword),
            ("const", Keyword),
            ("MAX", Constant),
            ("u32", Type),
            ("3", Number),
            ("impl", Keyword),
            ("'a", Type),
            ("Open", Type),
            ("fn", Keyword),
            ("go", Function),
            ("self", Keyword),
            ("Self", Type),
            ("call", Function),
            ("self", Keyword),
            ("x", Property),
            ("\"ö\\n\"", String),
            ("'b'", String),
            ("Some", Function),
            ("true", Constant),
        ],
    );
    check(
        "a.PY",
        "# ü\n@cached\nclass House(Base):\n    def open(self, x=1.5) -> int:\n        return f\"é {x.key} \\n\" if x is None else MAX\n",
        &[
            ("# ü", Comment),
            ("@cached", Function),
            ("class", Keyword),
            ("House", Type),
            ("Base", Type),
            ("def", Keyword),
            ("open", Function),
            ("self", Keyword),
            ("1.5", Number),
            ("int", Type),
            ("return", Keyword),
            ("f\"é ", String),
            ("key", Property),
            (" \\n\"", String),
            ("if", Keyword),
            ("is", Keyword),
            ("None", Constant),
            ("else", Keyword),
            ("MAX", Constant),
        ],
    );
    check(
        "a.js",
        "// ä\nconst open = (x) => x?.key ?? `é ${x.go(1)} b`;\nclass A extends B { async get() { return null; } }\n/a+/g.test(x); <p id=\"b\">ü</p>;",
        &[
            ("// ä", Comment),
            ("const", Keyword),
            ("open", Function),
            ("key", Property),
            ("`é ", String),
            ("go", Function),
            ("1", Number),
            (" b`", String),
            ("class", Keyword),
            ("A", Type),
            ("extends", Keyword),
            ("B", Type),
            ("async", Keyword),
            ("get", Function),
            ("return", Keyword),
            ("null", Constant),
            ("/a+/g", String),
            ("test", Function),
            ("p", Property),
            ("id", Property),
            ("\"b\"", String),
            ("p", Property),
        ],
    );
    check(
        "a.ts",
        "export interface House<T> { readonly key: string; }\nfunction f(x: T): asserts x is House { return this.y as number; }",
        &[
            ("export", Keyword),
            ("interface", Keyword),
            ("House", Type),
            ("T", Type),
            ("readonly", Keyword),
            ("key", Property),
            ("string", Type),
            ("function", Keyword),
            ("f", Function),
            ("T", Type),
            ("asserts", Keyword),
            ("is", Keyword),
            ("House", Type),
            ("return", Keyword),
            ("this", Keyword),
            ("y", Property),
            ("as", Keyword),
            ("number", Type),
        ],
    );
    check(
        "a.tsx",
        "const A = <House key={MAX_SIZE} />;",
        &[
            ("const", Keyword),
            ("A", Type),
            ("House", Property),
            ("key", Property),
            ("MAX_SIZE", Constant),
        ],
    );
    check(
        "a.go",
        "package main\n// ö\nfunc (h *House) Open(n int) error { h.shut(len(\"a\\n\"), 0x1F, nil); return h.key }",
        &[
            ("package", Keyword),
            ("// ö", Comment),
            ("func", Keyword),
            ("House", Type),
            ("Open", Function),
            ("int", Type),
            ("error", Type),
            ("shut", Function),
            ("len", Function),
            ("\"a\\n\"", String),
            ("0x1F", Number),
            ("nil", Constant),
            ("return", Keyword),
            ("key", Property),
        ],
    );
    check(
        "A.java",
        "@Override /* ö */\npublic String open(int n) { return MAX + this.key.trim(\"a\", 'b', 1.5f, null); }",
        &[
            ("Override", Property),
            ("/* ö */", Comment),
            ("public", Keyword),
            ("String", Type),
            ("open", Function),
            ("int", Type),
            ("return", Keyword),
            ("MAX", Constant),
            ("this", Keyword),
            ("key", Property),
            ("trim", Function),
            ("\"a\"", String),
            ("'b'", String),
            ("1.5f", Number),
            ("null", Constant),
        ],
    );
    check(
        "a.c",
        "#include <stdio.h>\n#define MAX 3\n/* ö */ static struct house *open(const char *x) { return x->key ? printf(\"a\\n\") : NULL; }",
        &[
            ("#include", Keyword),
            ("<stdio.h>", String),
            ("#define", Keyword),
            ("MAX", Constant),
            ("/* ö */", Comment),
            ("static", Keyword),
            ("struct", Keyword),
            ("house", Type),
            ("open", Function),
            ("const", Keyword),
            ("char", Type),
            ("return", Keyword),
            ("key", Property),
            ("printf", Function),
            ("\"a\\n\"", String),
            ("NULL", Constant),
        ],
    );
    check(
        "a.cpp",
        "template <typename T> class House : public Base { virtual void open() override { std::move(this->key); throw nullptr; } };",
        &[
            ("template", Keyword),
            ("typename", Keyword),
            ("T", Type),
            ("class", Keyword),
            ("House", Type),
            ("public", Keyword),
            ("Base", Type),
            ("virtual", Keyword),
            ("void", Type),
            ("open", Function),
            ("override", Keyword),
            ("move", Function),
            ("this", Keyword),
            ("key", Property),
            ("throw", Keyword),
            ("nullptr", Constant),
        ],
    );
    check(
        "a.cs",
        "// ö\npublic class House { int Open(string x) { return Shut($\"a {x.Key} b\") + 3; } }",
        &[
            ("// ö", Comment),
            ("public", Keyword),
            ("class", Keyword),
            ("House", Type),
            ("int", Type),
            ("Open", Function),
            ("string", Type),
            ("return", Keyword),
            ("Shut", Function),
            ("$\"a ", String),
            ("Key", Property),
            (" b\"", String),
            ("3", Number),
        ],
    );
    check(
        "a.rb",
        "# ö\nclass House < Base\n  def open(x)\n    @key = \"a #{x.shut} b\"\n    :sym; nil; MAX_SIZE; 3\n  end\nend",
        &[
            ("# ö", Comment),
            ("class", Keyword),
            ("House", Type),
            ("Base", Type),
            ("def", Keyword),
            ("open", Function),
            ("@key", Property),
            ("\"a ", String),
            ("shut", Function),
            (" b\"", String),
            (":sym", String),
            ("nil", Constant),
            ("MAX_SIZE", Constant),
            ("3", Number),
            ("end", Keyword),
            ("end", Keyword),
        ],
    );
    // A heredoc is text, with its name and its end.
    check(
        "a.rb",
        "open(<<~SQL, 3)\n  select #{x} -- é\nSQL\nnil",
        &[
            ("open", Function),
            ("<<~SQL", String),
            ("3", Number),
            ("  select #{x} -- é\nSQL", String),
            ("nil", Constant),
        ],
    );
    check(
        "a.php",
        "<p><?php // ö\nclass House { public function open(int $x): ?string { return $this->key . strlen(\"a\") . MAX . 3; } }",
        &[
            ("<?php", Property),
            ("// ö", Comment),
            ("class", Keyword),
            ("House", Type),
            ("public", Keyword),
            ("function", Keyword),
            ("open", Function),
            ("int", Type),
            ("string", Type),
            ("return", Keyword),
            ("this", Keyword),
            ("key", Property),
            ("strlen", Function),
            ("\"a\"", String),
            ("MAX", Constant),
            ("3", Number),
        ],
    );
    check(
        "a.php",
        "return $this->open('a');",
        &[
            ("return", Keyword),
            ("this", Keyword),
            ("open", Function),
            ("'a'", String),
        ],
    );
    check(
        "a.sh",
        "# ö\nif [ -f \"$x\" ]; then local y=\"a $(ls -l)\"; fi\nopen() { echo 'b' 3; }",
        &[
            ("# ö", Comment),
            ("if", Keyword),
            ("\"$", String),
            ("x", Property),
            ("\"", String),
            ("then", Keyword),
            ("local", Keyword),
            ("y", Property),
            ("\"a ", String),
            ("ls", Function),
            ("-l", Constant),
            ("\"", String),
            ("fi", Keyword),
            ("open", Function),
            ("echo", Function),
            ("'b'", String),
            ("3", Number),
        ],
    );
}

#[test]
fn what_is_not_known_or_too_long_is_plain() {
    for path in ["a.txt", "a.json", "a.md", "rs", "", "a.rs/b"] {
        check(path, "fn main() {}", &[]);
    }
    check("a.rs", "", &[]);
    let long = "fn a() {}\n".repeat(30_000);
    check("a.rs", &long, &[]);
    // An error of this width would keep a query busy for minutes.
    check("a.rs", &"(".repeat(100_000), &[]);
}

#[test]
fn a_fragment_is_coloured_as_far_as_it_goes() {
    check(
        "a.rs",
        "    }\n    let x = 3; // so\n} else {",
        &[
            ("let", Keyword),
            ("3", Number),
            ("// so", Comment),
            ("else", Keyword),
        ],
    );
    check(
        "a.py",
        "        return 3\n\n    def shut(self):",
        &[
            ("return", Keyword),
            ("3", Number),
            ("def", Keyword),
            ("shut", Function),
            ("self", Keyword),
        ],
    );
    check(
        "a.ts",
        "  return x;\n}\n\nexport class House {",
        &[
            ("return", Keyword),
            ("export", Keyword),
            ("class", Keyword),
            ("House", Type),
        ],
    );
}

/// In order, apart, and on whole characters.
fn sound(path: &str, text: &str) {
    let mut until = 0;
    for (at, paint) in paint(path, text) {
        assert!(until <= at.start && at.start < at.end, "{path}: {at:?}");
        assert!(text.get(at.clone()).is_some(), "{path}: {at:?} {paint:?}");
        until = at.end;
    }
}

/// What code is made of, in no order.
fn scraps() -> impl Strategy<Value = std::string::String> {
    let scrap = prop_oneof![
        "[a-zA-Z_]{1,6}",
        "[\"'`#$@{}()\\[\\]<>/*\\\\=.,:;!?&|+-]{1,4}",
        "(fn|class|def|if|end|func|<\\?php|\\$\\{|#\\{|\\$\\(|<<A|/\\*|f\"|r#\"|'''|\\?>)",
        "[0-9]{1,3}",
        "[ \n\t]{1,3}",
        ".",
        "[é中🦀\u{301}\0]",
    ];
    proptest::collection::vec(scrap, 0..40).prop_map(|scraps| scraps.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_gives_sound_pieces(any in any::<std::string::String>(), scraps in scraps()) {
        for path in PATHS {
            sound(path, &any);
            sound(path, &scraps);
        }
    }
}
