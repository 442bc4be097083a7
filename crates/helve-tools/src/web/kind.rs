//! What came: a page, a text, a PDF, or something that is nothing to read.
//!
//! A server says what it is, and is often wrong. Bytes that cannot be a text are none, whatever
//! is said of them.

use std::io::Read as _;

use crate::file::text;

/// What a body is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    /// JSON, XML, plain text.
    Text,
    Pdf,
    /// Nothing to read; its type.
    Binary(String),
}

/// What a body is, by what is said of it and by how it begins.
pub(super) fn of(said: &str, body: &[u8]) -> Kind {
    let essence = essence(said);
    if body.starts_with(b"%PDF-") {
        return Kind::Pdf;
    }
    if let Some(kind) = magic(body) {
        return Kind::Binary(kind.to_owned());
    }
    let html = matches!(essence.as_str(), "text/html" | "application/xhtml+xml");
    let textual = html
        || essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || essence.ends_with("/json")
        || essence.ends_with("/xml")
        || essence.contains("javascript")
        || essence.contains("yaml")
        || matches!(
            essence.as_str(),
            "application/x-ndjson" | "application/toml" | "application/sql" | "application/rtf"
        );
    let unknown = matches!(
        essence.as_str(),
        "" | "application/octet-stream" | "unknown/unknown"
    );
    if !body.is_empty() && (textual || unknown) && !is_text(body) {
        let shown = if essence.is_empty() {
            "of no type that is told"
        } else {
            &essence
        };
        return Kind::Binary(format!("{shown}, and no text"));
    }
    match () {
        () if html => Kind::Html,
        () if unknown && looks_html(body) => Kind::Html,
        () if textual || unknown => Kind::Text,
        () if essence == "application/pdf" => Kind::Pdf,
        () => Kind::Binary(essence),
    }
}

/// `text/html` of `Text/HTML; charset=x`.
pub(super) fn essence(said: &str) -> String {
    let essence = said.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// The `charset` of a type.
pub(super) fn charset(said: &str) -> Option<&str> {
    let parts = said
        .split(';')
        .skip(1)
        .filter_map(|part| part.split_once('='));
    let mut named = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    named
        .next()
        .map(|(_, value)| value.trim().trim_matches(['"', '\'']))
}

fn magic(body: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 12] = [
        (b"\x89PNG\r\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b", "application/gzip"),
        (b"\x7fELF", "a program"),
        (b"MZ\x90", "a program"),
        (b"OggS", "audio/ogg"),
        (b"ID3", "audio/mpeg"),
        (b"7z\xbc\xaf", "application/x-7z-compressed"),
        (b"BZh", "application/x-bzip2"),
        (b"\0asm", "application/wasm"),
    ];
    let found = KNOWN.iter().find(|(mark, _)| body.starts_with(mark));
    found.map(|(_, kind)| *kind)
}

/// Whether bytes can be a text. The end may be cut.
fn is_text(body: &[u8]) -> bool {
    let body = &body[..body.len().min(64 * 1024)];
    if text::detect(body, false).is_none() {
        return false;
    }
    let odd = |b: &&u8| **b < 32 && !b"\t\n\r\x0c\x1b\0".contains(b);
    body.iter().filter(odd).count() * 50 <= body.len()
}

fn looks_html(body: &[u8]) -> bool {
    let head = &body[..body.len().min(512)];
    // Every other byte of UTF-16 is 0.
    let head: Vec<u8> = head
        .iter()
        .copied()
        .filter(|b| *b != 0 && b.is_ascii())
        .collect();
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let head = head.trim_start();
    [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<title",
        "<script",
        "<meta",
    ]
    .iter()
    .any(|mark| head.starts_with(mark))
}

/// A body as it was before it was packed, up to a limit; whether there is more.
///
/// Nothing packed was asked for, and some servers send it all the same.
pub(super) fn unpack(body: Vec<u8>, packed: &str, most: u64) -> Result<(Vec<u8>, bool), String> {
    let mut out = Vec::new();
    let read = match packed.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => return Ok((body, false)),
        "gzip" | "x-gzip" => flate2::read::MultiGzDecoder::new(&body[..])
            .take(most + 1)
            .read_to_end(&mut out),
        // Both are sent under this name.
        "deflate" if body.first().is_some_and(|b| b & 0x0f == 8) => {
            flate2::read::ZlibDecoder::new(&body[..])
                .take(most + 1)
                .read_to_end(&mut out)
        }
        "deflate" => flate2::read::DeflateDecoder::new(&body[..])
            .take(most + 1)
            .read_to_end(&mut out),
        other => {
            let other: String = other.escape_debug().take(40).collect();
            return Err(format!(
                "the server packed its answer as `{other}`, which was not asked for"
            ));
        }
    };
    // What was cut ends in the middle; what came before it is good.
    if read.is_err() && out.is_empty() && !body.is_empty() {
        return Err("the server says that its answer is packed, and it is not".to_owned());
    }
    let more = out.len() as u64 > most;
    out.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok((out, more || read.is_err()))
}
