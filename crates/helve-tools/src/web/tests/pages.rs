//! Awkward pages, and what is read of them.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, SHIFT_JIS, WINDOWS_1251};

use super::*;

const CHINESE: &str = "人工智能正在改变我们的生活方式，许多城市已经开始使用新的技术来管理交通。";
const TAIWAN: &str = "這是一個測試檔案，內容是繁體中文，請檢查編碼是否正確，謝謝大家的幫忙。";
const JAPANESE: &str = "これは日本語の文章です。文字コードが正しく判定されることを確認します。";
const KOREAN: &str = "이것은 한국어 문장입니다. 문자 인코딩이 올바르게 감지되는지 확인합니다.";
const RUSSIAN: &str =
    "Это русский текст, который записан в старой кодировке и должен читаться правильно.";

fn html(head: &str, body: &str) -> String {
    format!(
        "<!doctype html><html><head>{head}<title>T</title></head><body><p>{body}</p></body></html>"
    )
}

fn written(encoding: &'static Encoding, head: &str, body: &str) -> Vec<u8> {
    encoding.encode(&html(head, &body.repeat(3))).0.into_owned()
}

fn wide(text: &str, mark: bool) -> Vec<u8> {
    let units = mark
        .then_some(0xfeff)
        .into_iter()
        .chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// A small PDF with one line of text.
pub(super) fn pdf(line: &str) -> Vec<u8> {
    let content = format!("BT /F1 24 Tf 72 700 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
    ];
    let mut out = "%PDF-1.4\n".to_owned();
    let mut places = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        places.push(out.len());
        out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let start = out.len();
    out.push_str(&format!(
        "xref\n0 {}\n0000000000 65535 f \n",
        objects.len() + 1
    ));
    for place in places {
        out.push_str(&format!("{place:010} 00000 n \n"));
    }
    out.push_str(&format!(
        "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1
    ));
    out.into_bytes()
}

fn article() -> String {
    let text = "A paragraph of the story, with commas, with many words, and with something to say about the matter at hand. ".repeat(3);
    format!(
        "<html><head><base href='/base/'><title>The story - Site</title></head><body>\
         <nav><ul><li><a href=/a>MENUONE</a><li><a href=/b>MENUTWO</a></ul></nav>\
         <div class=sidebar>ADVERT buy now</div>\
         <article><h1>The story</h1><p>{text}</p><p>{text}</p>\
         <p hidden>HIDDENATTR {text}</p><p style='DISPLAY : none'>HIDDENSTYLE {text}</p>\
         <p style='font-size:0px'>HIDDENSIZE</p><p style='opacity:0.9'>SEEN</p>\
         <p>{text} zero\u{200b}width <a href='rel/x?y=1'>relative</a> \
         <a href='javascript:alert(1)'>runs</a> <a href='data:text/html,x'>holds</a> \
         <img src='pic.png' alt='picture'><img src='data:image/png;base64,AAAA' alt='inline'></p>\
         <p>{text}</p></article><footer>FOOTERWORDS</footer></body></html>"
    )
}

/// What is served: the path, the type, the bytes. Then the extractor, what must be there, and
/// what must not.
type Row = (
    &'static str,
    &'static str,
    Vec<u8>,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

fn table() -> Vec<Row> {
    let listed: String = (0..40)
        .map(|n| format!("<li><a href='/i/{n}'>Item {n}</a></li>"))
        .collect();
    // Something that reads like an article, and is a scrap of the page.
    let blurb = "Here is a box, with a few sentences about this site, which somebody wrote long ago, and which says little. ".repeat(8);
    let teasers: String = (0..300)
        .map(|n| {
            format!(
                "<div class='sidebar'><a href='/n/{n}'>Headline number {n} of the portal</a></div>"
            )
        })
        .collect();
    let portal = format!("<html><body><div>{teasers}</div><div><p>{blurb}</p></div></body></html>");
    let declared = "<meta charset=gb2312>";
    let old = "<meta http-equiv='Content-Type' content='text/html; charset=Shift_JIS'>";
    vec![
        ("/utf8", "text/html; charset=utf-8", html("", "grün 中文").into_bytes(), "page", &["grün 中文"], &[]),
        ("/utf8-none", "text/html", html("", "grün 中文").into_bytes(), "page", &["grün 中文"], &[]),
        ("/utf8-bom", "text/html; charset=gbk", [b"\xef\xbb\xbf", html("", "grün 中文").as_bytes()].concat(), "page", &["grün 中文"], &["\u{feff}"]),
        ("/utf16-bom", "text/html", wide(&html("", "grün 中文"), true), "page", &["grün 中文"], &[]),
        ("/utf16-header", "text/html; charset=utf-16le", wide(&html("", "plain words"), false), "page", &["plain words"], &[]),
        ("/gbk-header", "text/html; charset=GBK", written(GBK, "", CHINESE), "page", &[CHINESE], &[]),
        ("/gb2312-meta", "text/html", written(GBK, declared, CHINESE), "page", &[CHINESE], &[]),
        ("/gbk-neither", "text/html", written(GBK, "", CHINESE), "page", &[CHINESE], &[]),
        ("/gbk-lies-utf8", "text/html; charset=utf-8", written(GBK, "", CHINESE), "page", &[CHINESE], &[]),
        ("/gbk-lies-latin", "text/html; charset=iso-8859-1", written(GBK, "", CHINESE), "page", &[CHINESE], &[]),
        ("/utf8-lies-gbk", "text/html; charset=gbk", html("", CHINESE).into_bytes(), "page", &[CHINESE], &[]),
        ("/utf8-lies-latin", "text/html; charset=iso-8859-1", html("", "grün, schön").into_bytes(), "page", &["grün, schön"], &[]),
        ("/gb18030", "text/html; charset=gb2312", written(GB18030, "", "中文😀字"), "page", &["中文😀字"], &[]),
        ("/big5-header", "text/html; charset=big5", written(BIG5, "", TAIWAN), "page", &[TAIWAN], &[]),
        ("/big5-neither", "text/html", written(BIG5, "", TAIWAN), "page", &[TAIWAN], &[]),
        ("/sjis-meta", "text/html", written(SHIFT_JIS, old, JAPANESE), "page", &[JAPANESE], &[]),
        ("/sjis-neither", "text/html", written(SHIFT_JIS, "", JAPANESE), "page", &[JAPANESE], &[]),
        ("/eucjp-header", "text/html; charset=\"EUC-JP\"", written(EUC_JP, "", JAPANESE), "page", &[JAPANESE], &[]),
        ("/euckr-header", "text/html;charset=euc-kr", written(EUC_KR, "", KOREAN), "page", &[KOREAN], &[]),
        ("/euckr-neither", "text/html", written(EUC_KR, "", KOREAN), "page", &[KOREAN], &[]),
        ("/cp1251-neither", "text/html", written(WINDOWS_1251, "", RUSSIAN), "article", &[RUSSIAN], &[]),
        ("/latin", "text/html; charset=iso-8859-1", b"<p>caf\xe9 cr\xe8me</p>".to_vec(), "page", &["café crème"], &[]),
        ("/empty", "text/html", Vec::new(), "page", &[], &[]),
        ("/scripts", "text/html", b"<html><script>var SECRET = '<p>x</p>'</script><style>p{}</style></html>".to_vec(), "page", &[], &["SECRET"]),
        ("/tables", "text/html", b"<table><tr><td>outer<table><tr><td>inner</td></tr></table></td><td>beside</td></tr></table>".to_vec(), "page", &["outer", "inner", "beside"], &[]),
        ("/head", "text/html", format!("<html><head>{}</head><body>after the head</body></html>", "<meta name=x content=y>".repeat(3000)).into_bytes(), "page", &["after the head"], &[]),
        ("/unclosed", "text/html", b"<div><p>one<p>two<b>three<ul><li>four<li>five".to_vec(), "page", &["one", "two", "three", "four", "five"], &[]),
        ("/article", "text/html", article().into_bytes(), "article", &["A paragraph of the story", "SEEN", "zerowidth", "/base/rel/x?y=1)", "runs", "holds"], &["MENUONE", "ADVERT", "FOOTERWORDS", "HIDDEN", "javascript:", "data:"]),
        ("/list", "text/html", format!("<html><body><ul>{listed}</ul></body></html>").into_bytes(), "article", &["Item 0", "Item 39"], &[]),
        (
            "/portal",
            "text/html",
            portal.into_bytes(),
            "page",
            &["Headline number 0", "Headline number 299", "Here is a box"],
            &[],
        ),
        ("/relative", "text/html", b"<p><a href='../up'>up</a> <a href='//other.example/x'>other</a> <a href='JaVaScRiPt:x'>bad</a>".to_vec(), "page", &["/up)", "(http://other.example/x)", "bad"], &["x)bad", "JaVa"]),
        ("/json", "application/json", br#"{"a":[1,{"b":"x"}]}"#.to_vec(), "plain", &["\"a\": ["], &[]),
        ("/rss", "application/rss+xml", b"<?xml version='1.0' encoding='iso-8859-1'?><rss><title>caf\xe9</title></rss>".to_vec(), "plain", &["<title>café</title>"], &[]),
        ("/text", "text/plain; charset=utf-8", b"just <b>text</b>".to_vec(), "plain", &["just <b>text</b>"], &[]),
        ("/notype", "", b"<!DOCTYPE html><p>no type</p>".to_vec(), "page", &["no type"], &["<p>"]),
        ("/notype-text", "", b"no type and no tags".to_vec(), "plain", &["no type and no tags"], &[]),
        ("/pdf", "application/pdf", pdf("Hello from a PDF"), "pdf", &["Hello from a PDF"], &[]),
        ("/pdf-octets", "application/octet-stream", pdf("Hello again"), "pdf", &["Hello again"], &[]),
    ]
}

#[tokio::test]
async fn pages_are_read_as_they_were_meant() {
    let served = table();
    let pages = Arc::new(table());
    let (at, _) = serve(move |path| {
        let row = pages.iter().find(|row| row.0 == path).unwrap();
        page(row.1, row.2.clone())
    })
    .await;
    let rig = rig(&[at], Settings::default()).await;
    let mut wrong = Vec::new();
    for (path, _, _, extractor, there, absent) in &served {
        let read = fetched(&rig, at, path).await;
        let text = read["text"].as_str().unwrap();
        if read["extractor"] != *extractor {
            wrong.push(format!("{path}: extractor {}", read["extractor"]));
        }
        let missing = there.iter().filter(|t| !text.contains(**t));
        wrong.extend(
            missing.map(|t| format!("{path}: {t:?} is missing in {text:?} ({})", read["charset"])),
        );
        let seen = absent.iter().filter(|t| text.contains(**t));
        wrong.extend(seen.map(|t| format!("{path}: {t:?} is in {text:?}")));
        assert_eq!(
            (&read["truncated"], &read["status"]),
            (&json!(false), &json!(200)),
            "{path}"
        );
        assert!(
            read["note"].as_str().unwrap().contains("strangers"),
            "{path}"
        );
    }
    assert!(served.len() >= 30);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_other_formats() {
    let (at, _) = serve(|_| page("text/html", article())).await;
    let rig = rig(&[at], Settings::default()).await;
    let url = format!("http://{at}/");
    let text = rig
        .data("fetch", json!({"url": url, "format": "text"}))
        .await;
    assert_eq!(text["extractor"], "article");
    assert!(!text["text"].as_str().unwrap().contains("]("), "{text}");
    let raw = rig
        .data(
            "mcp__web__web_fetch",
            json!({"url": url, "format": "raw", "max_chars": 1_000_000}),
        )
        .await;
    assert_eq!(
        (&raw["extractor"], &raw["text"]),
        (&json!("raw"), &json!(article()))
    );
    let whole = rig
        .data("web_fetch", json!({"url": url, "main_only": false}))
        .await;
    assert_eq!(whole["extractor"], "page");
    let shown = whole["text"].as_str().unwrap();
    assert!(
        shown.contains("MENUONE") && !shown.contains("HIDDEN"),
        "{shown}"
    );
    assert_eq!(whole["title"], "The story - Site");
}

#[tokio::test]
async fn a_long_page_comes_in_parts() {
    let long: String = (0..5_000).map(|n| format!("第{n}。")).collect();
    let kept = long.clone();
    let (at, _) = serve(move |_| page("text/plain; charset=utf-8", kept.clone())).await;
    let rig = rig(&[at], Settings::default()).await;
    let (mut whole, mut next, mut calls) = (String::new(), json!(0), 0);
    while next != Value::Null {
        let args = json!({"url": format!("http://{at}/"), "start_index": next, "max_chars": 7_001});
        let part = rig.data("web_fetch", args).await;
        assert_eq!(part["total_chars"], long.chars().count());
        whole.push_str(part["text"].as_str().unwrap());
        next = part["next_start_index"].clone();
        calls += 1;
    }
    assert_eq!((whole, calls), (long, 5));
    let args = json!({"url": format!("http://{at}/"), "start_index": 99_999_999});
    rig.refuses(
        "web_fetch",
        &[(args, "validation: `start_index` is 99999999")],
    )
    .await;
}
