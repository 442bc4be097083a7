//! Pages that are written to do harm, and anything at all.

use std::io::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::web::page::{self, Shape};
use crate::web::{charset, kind, pdf};

#[tokio::test]
async fn tags_that_nest_for_ever() {
    let (at, _) = serve(|path| {
        let piece = match path {
            "/div" => "<div>",
            "/b" => "<b>",
            "/table" => "<table><tr><td>",
            "/list" => "<ul><li>",
            "/quote" => "<blockquote></x>",
            "/svg" => "<svg><g>",
            _ => "<span><div></span>",
        };
        page(
            "text/html",
            format!("<html><body>{}WORDS at the bottom", piece.repeat(100_000)),
        )
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    for path in ["/div", "/b", "/table", "/list", "/quote", "/svg", "/span"] {
        let args = json!({"url": format!("http://{at}{path}"), "max_bytes": 5_000_000});
        let read = rig.data("web_fetch", args).await;
        assert_eq!(read["extractor"], "page", "{path}");
        assert!(
            path == "/svg" || read["text"] == "WORDS at the bottom",
            "{path} {read}"
        );
    }
}

#[tokio::test]
async fn what_unpacks_to_too_much() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..16 {
        packed.write_all(&vec![b'x'; 1 << 20]).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 200_000);
    let (at, asked) = serve(move |path| {
        let mut response = page("text/plain", packed.clone());
        let how = path.trim_start_matches('/').parse().unwrap();
        response.headers_mut().insert("content-encoding", how);
        response
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    let read = fetched(&rig, at, "/gzip").await;
    assert_eq!(
        (
            &read["truncated"],
            &read["truncated_by"],
            &read["total_chars"]
        ),
        (&json!(true), &json!("bytes"), &json!(200_000))
    );
    assert!(
        asked.all()[0].contains("accept-encoding=identity"),
        "{:?}",
        asked.all()
    );
    for (how, said) in [
        ("br", "packed its answer as `br`"),
        ("deflate", "it is not"),
    ] {
        let url = format!("http://{at}/{how}");
        rig.refuses("web_fetch", &[(json!({"url": url}), said)])
            .await;
    }
}

#[tokio::test]
async fn broken_pdfs_are_errors() {
    let good = super::pages::pdf("x");
    let mut bomb = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..40 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    let head = format!(
        "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n3 0 obj\n<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>\nendobj\n4 0 obj\n<< /Length {} /Filter /FlateDecode >>\nstream\n",
        bomb.len()
    );
    let tail = "\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF";
    let bomb = [head.as_bytes(), &bomb, tail.as_bytes()].concat();
    let loops = String::from_utf8(good.clone())
        .unwrap()
        .replace("/Kids [3 0 R]", "/Kids [2 0 R]");
    for body in [
        b"%PDF-1.7\ngarbage".to_vec(),
        good[..good.len() / 2].to_vec(),
        loops.into_bytes(),
        bomb,
        b"%PDF-".to_vec(),
    ] {
        // No panic, and not much of a text.
        let read = pdf::read(&body);
        assert!(
            read.as_ref().map_or(0, String::len) < 1_000,
            "{:?}",
            read.map(|t| t.len())
        );
    }
    let (at, _) = serve(|_| page("application/pdf", "%PDF-1.7\ngarbage")).await;
    let rig = rig(&[at], Settings::default()).await;
    let args = json!({"url": format!("http://{at}/")});
    rig.refuses(
        "web_fetch",
        &[(args, "dependency: it is a PDF, and it is broken")],
    )
    .await;
}

/// Whoever waits for what takes for ever is told so.
#[tokio::test(start_paused = true)]
async fn work_that_never_ends_is_not_waited_for() {
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    let done = crate::web::work::done(until, move || stopped.recv().is_ok()).await;
    let error = done.unwrap_err();
    assert!(
        error.message.contains("could not be taken apart in time"),
        "{}",
        error.message
    );
    drop(stop);
}

/// Bytes that look a little like a page.
fn pagelike() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        proptest::sample::select(vec![
            "<p>",
            "</p>",
            "<table>",
            "<tr>",
            "<td>",
            "</table>",
            "<b>",
            "</b>",
            "<a href='",
            "'>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "<svg>",
            "<math>",
            "<template>",
            "</template>",
            "<frameset>",
            "<title>",
            "&#x0;",
            "&amp",
            "&#xd800;",
            "<base href=':'>",
            "<article>",
            "word, word, word. ",
            "<meta charset=gbk>",
            "<select>",
            "<li>",
            "<![CDATA[",
            "<?xml",
            "<form>",
            "<img src=",
            "\0",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(body in pagelike(), said in "(text/html|text/plain|)(; charset=(utf-8|gbk|utf-16|x))?", whole: bool) {
        let _ = kind::of(&said, &body);
        let (text, _) = charset::decode(&body, kind::charset(&said), whole);
        // A panic inside would be caught, so the page is read here without the net.
        for shape in [Shape::Markdown, Shape::Text] {
            page::read_unguarded(&text, "http://a.example/b", shape);
        }
        let _ = pdf::read(&[b"%PDF-1.4\n", &body[..]].concat());
        let _ = kind::unpack(body, "gzip", 100);
    }
}

/// Pieces of which a page is made that is the same over and over.
const TAGS: [&str; 64] = [
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<b>",
    "</b>",
    "<a>",
    "</a>",
    "<i x=1>",
    "</i>",
    "<span>",
    "</span>",
    "<table>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<tbody>",
    "<caption>",
    "</caption>",
    "<ul>",
    "</ul>",
    "<li>",
    "</li>",
    "<dl>",
    "<dt>",
    "<dd>",
    "</dl>",
    "<svg>",
    "</svg>",
    "<g>",
    "</g>",
    "<foreignObject>",
    "</foreignObject>",
    "<math>",
    "<mi>",
    "</math>",
    "<button>",
    "</button>",
    "<form>",
    "</form>",
    "<select>",
    "<option>",
    "</select>",
    "<template>",
    "</template>",
    "<object>",
    "</object>",
    "<h1>",
    "</h1>",
    "<nobr>",
    "</nobr>",
    "<font color=x>",
    "</font>",
    "<section>",
    "</section>",
    "<x-y>",
    "</x-y>",
    "<ruby>",
    "<rt>",
    "</ruby>",
    "<br>",
    "text",
];

/// Reads a page on a thread with a sixteenth of the stack that pages are read with. One that is
/// too deep for it would take the whole test with it.
fn survives(html: String) {
    let thread = std::thread::Builder::new().stack_size(crate::web::work::STACK / 16);
    let read = thread.spawn(move || {
        for shape in [Shape::Markdown, Shape::Text] {
            page::read_unguarded(&html, "http://a.example/b", shape);
        }
    });
    read.unwrap().join().unwrap();
}

#[test]
fn depth_that_is_not_seen_at_once() {
    for unit in ["<dt><li><option>", "<li><div><li><section></div>"] {
        let html = unit.repeat(3_000);
        assert!(!crate::web::plain::is_deep(&html), "{unit}");
        let read = page::read_unguarded(&html, "http://a.example/b", Shape::Markdown);
        assert_eq!(read, None, "{unit}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_nesting_takes_all_of_the_stack(unit in proptest::collection::vec(proptest::sample::select(TAGS.to_vec()), 1..7)) {
        survives(unit.concat().repeat(600));
    }
}
