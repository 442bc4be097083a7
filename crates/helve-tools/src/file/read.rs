//! Reading a file, a page at a time.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom};
use std::path::Path;

use base64::Engine as _;
use encoding_rs::{CoderResult, Encoding, UTF_8};
use helve_kernel::{Ctx, Desk, Glance, Illustrated, ToolError, tool};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::image::{self, Known};
use super::text::{self, Script};
use super::{ROOM, cut, json_length};

/// How much of a file tells what it is.
const HEAD: usize = 64 * 1024;

/// The most characters of a line that are shown.
const LONGEST_LINE: usize = 2_000;

/// The most lines of a page.
const MOST_LINES: u64 = 5_000;

/// The largest file that is read at once, where it is in memory: whoever else waits does so
/// meanwhile.
const GLANCED: usize = 128 * 1024;

/// The largest image that is shown.
const LARGEST_IMAGE: u64 = 4 * 1024 * 1024;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The file, from the workspace.
    path: String,
    /// `text`, `image` or `binary`.
    kind: &'static str,
    /// Bytes of the whole file.
    size: u64,
    /// The lines, of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    /// The number of the first line that is here; 0 if none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_line: Option<u64>,
    /// The number of the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<u64>,
    /// How many there are in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// Where to go on; not there at the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
    /// How the characters are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
    /// `lf`, `crlf` or `mixed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ends: Option<&'static str>,
    /// Lines that are longer than what is shown of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_lines: Vec<u64>,
    /// What it is, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<&'static str>,
    /// Of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u32>,
    /// Of an image.
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    /// What is worth knowing, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Reads a text file, or shows an image. Use it when you know which file; a long one comes in pages.
///
/// Lines are counted from 1, and come without their line ends. `next_offset` says where to go
/// on. The encoding is found out by itself. An image is shown, any other binary file only
/// described. To find where something stands, `file_grep` and `code_search` are quicker.
#[tool(
    group = "file",
    title = "Read a file",
    category = "File",
    risk = "read",
    held,
    idempotent,
    output,
    paths = ["."],
    aliases = ["read_file"],
    triggers = ["When the content of a file is needed", "Before a file is edited", "When an image is to be looked at"],
    related = [("file_grep", "finds lines by a pattern"), ("file_edit", "changes what was read"), ("file_list", "shows which files there are")],
    example(scenario = "The beginning of a file", params = {"path": "src/main.rs"}, expected = "The first 300 lines, and where to go on"),
    example(scenario = "Some lines", params = {"path": "src/main.rs", "offset": 120, "end_line": 180}, expected = "Lines 120 to 180")
)]
pub(super) async fn read(
    ctx: &Ctx,
    /// The file.
    #[path]
    #[schemars(extend("x-aliases" = ["file_path", "filename"]))]
    path: String,
    /// The first line; 1 is the first of the file.
    #[default(1)]
    #[schemars(range(min = 1), extend("x-aliases" = ["start_line"]))]
    offset: u64,
    /// How many lines at most, where there is no `end_line`.
    #[default(300)]
    #[schemars(range(min = 1, max = 5000))]
    limit: u64,
    /// The last line; 0 for as many as `limit` says.
    #[default(0)]
    end_line: u64,
    /// How the characters are written, for example `gbk`; `auto` finds it out.
    #[default("auto")]
    encoding: String,
    /// Whether each line begins with its number and a tab; false for the lines as they are.
    #[default(false)]
    line_numbers: bool,
) -> Result<Illustrated<Page>, ToolError> {
    if end_line > 0 && end_line < offset {
        return Err(ToolError::validation(format!(
            "`end_line` {end_line} is before `offset` {offset}"
        )));
    }
    let count = match end_line {
        0 => limit,
        last => (last - offset + 1).min(MOST_LINES),
    };
    let wanted = Wanted {
        first: offset,
        count,
        line_numbers,
    };
    if let Some(seen) = ctx.files().glance(&path, GLANCED)
        && let Some(page) = at_once(seen, wanted, &encoding)?
    {
        return Ok(page);
    }
    ctx.files()
        .work(path, move |desk| page(desk, wanted, &encoding))
        .await
}

#[derive(Debug, Clone, Copy)]
struct Wanted {
    first: u64,
    count: u64,
    line_numbers: bool,
}

/// A page of a small file, if it is a text.
fn at_once(
    seen: Glance,
    wanted: Wanted,
    encoding: &str,
) -> Result<Option<Illustrated<Page>>, ToolError> {
    let head = &seen.bytes[..seen.bytes.len().min(HEAD)];
    let whole = head.len() == seen.bytes.len();
    let Some(script) = script(head, whole, encoding, image::known(head))? else {
        return Ok(None);
    };
    let page = Page {
        path: seen.shown,
        size: seen.looked.size,
        ..Page::default()
    };
    let lines = lines(
        &mut &seen.bytes[script.mark..],
        seen.bytes.len(),
        wanted,
        script,
        || Ok(()),
    )?;
    Ok(Some(Illustrated {
        data: told(page, &lines, wanted, script)?,
        content: Vec::new(),
    }))
}

fn page(desk: &Desk<'_>, wanted: Wanted, encoding: &str) -> Result<Illustrated<Page>, ToolError> {
    let path = desk.path();
    let (mut file, looked) = super::opened(desk, path)?;
    let mut head = vec![0; room(looked.size, HEAD)];
    let length = fill(&mut file, &mut head)?;
    head.truncate(length);
    let whole = (length as u64) >= looked.size;
    let page = Page {
        path: desk.shown(path),
        size: looked.size,
        ..Page::default()
    };
    let known = image::known(&head);
    let Some(script) = script(&head, whole, encoding, known)? else {
        return described(desk, path, page, known);
    };
    file.seek(SeekFrom::Start(script.mark as u64))?;
    let piece = room(looked.size, 4 * HEAD);
    let lines = lines(&mut file, piece, wanted, script, || unless_stopped(desk))?;
    Ok(Illustrated {
        data: told(page, &lines, wanted, script)?,
        content: Vec::new(),
    })
}

/// How the characters of a file are written; none if it is no text.
fn script(
    head: &[u8],
    whole: bool,
    encoding: &str,
    known: Option<Known>,
) -> Result<Option<Script>, ToolError> {
    Ok(match encoding {
        "auto" | "" if known.is_some() => None,
        "auto" | "" => text::detect(head, whole),
        named => Some(text::named(named, head)?),
    })
}

/// What is said of a file that is no text.
fn described(
    desk: &Desk<'_>,
    path: &Path,
    page: Page,
    known: Option<Known>,
) -> Result<Illustrated<Page>, ToolError> {
    let image = known.filter(|k| k.is_image());
    let mut page = Page {
        kind: if image.is_some() { "image" } else { "binary" },
        mime: Some(known.map_or("application/octet-stream", |k| k.mime)),
        width: image.and_then(|k| k.size).map(|s| s.0),
        height: image.and_then(|k| k.size).map(|s| s.1),
        ..page
    };
    let content = match image {
        Some(known) if page.size <= LARGEST_IMAGE => vec![shown(desk, path, known)?],
        _ => Vec::new(),
    };
    page.note = match (page.kind, content.is_empty()) {
        ("image", true) => Some(format!(
            "The image is too large to be shown: more than {LARGEST_IMAGE} bytes."
        )),
        ("image", false) => None,
        _ => Some("It is no text, so its content is not shown.".to_owned()),
    };
    Ok(Illustrated {
        data: page,
        content,
    })
}

/// An image as the Model Context Protocol shows it.
fn shown(desk: &Desk<'_>, path: &Path, known: Known) -> Result<Value, ToolError> {
    let bytes = desk.read(path)?;
    let data = base64::engine::general_purpose::STANDARD.encode(bytes);
    Ok(json!({"type": "image", "data": data, "mimeType": known.mime}))
}

/// How much to read at once of a file that is so large: to make room for more than there is
/// takes longer than to read it. One byte more, to see that it has not grown.
fn room(size: u64, most: usize) -> usize {
    usize::try_from(size).map_or(most, |size| size.saturating_add(1).min(most))
}

fn fill(file: &mut File, space: &mut [u8]) -> Result<usize, ToolError> {
    let mut length = 0;
    while length < space.len() {
        match file.read(&mut space[length..])? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// The lines of a file of which some are kept.
#[derive(Debug)]
struct Lines {
    /// Those that are kept, one behind the other.
    text: Vec<u8>,
    /// How they are written.
    encoding: &'static Encoding,
    kept: Vec<Line>,
    total: u64,
    ends: u64,
    crlf: u64,
    /// The line that is not at its end yet.
    open: usize,
    last: Option<u8>,
}

/// A line that is kept.
#[derive(Debug)]
struct Line {
    /// Where it begins in the text.
    start: usize,
    /// How long it really is, in bytes.
    length: usize,
}

impl Lines {
    /// No line is kept further than anything of it is shown.
    const KEPT: usize = LONGEST_LINE * 4;

    fn new(encoding: &'static Encoding) -> Self {
        Self {
            text: Vec::new(),
            encoding,
            kept: Vec::new(),
            total: 0,
            ends: 0,
            crlf: 0,
            open: 0,
            last: None,
        }
    }

    fn take(&mut self, mut bytes: &[u8], wanted: Wanted) {
        while !bytes.is_empty() {
            let number = self.ends + 1;
            let end = memchr::memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if number >= wanted.first && number - wanted.first < wanted.count {
                if self.open == 0 {
                    let start = self.text.len();
                    self.kept.push(Line { start, length: 0 });
                }
                if let Some(line) = self.kept.last_mut() {
                    let has = self.text.len() - line.start;
                    let room = Self::KEPT.saturating_sub(has).min(piece.len());
                    self.text.extend_from_slice(&piece[..room]);
                    line.length += piece.len();
                }
            }
            self.open += piece.len() + 1;
            if let Some(end) = end {
                let before = piece.last().copied().or(self.last);
                self.crlf += u64::from(before == Some(b'\r'));
                self.ends += 1;
                self.open = 0;
                bytes = &bytes[end + 1..];
                self.last = Some(b'\n');
            } else {
                self.last = piece.last().copied();
                bytes = &[];
            }
        }
        self.total = self.ends + u64::from(self.open > 0);
    }

    /// The lines that are kept, each with how long it really is.
    fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
        let ends = self.kept.iter().skip(1).map(|next| next.start);
        let ends = ends.chain([self.text.len()]);
        self.kept.iter().zip(ends).map(|(line, end)| {
            let bytes = &self.text[line.start..end];
            let (text, _) = self.encoding.decode_without_bom_handling(bytes);
            (text, line.length)
        })
    }
}

/// The lines of a text, read in pieces of that size.
fn lines(
    from: &mut impl Read,
    piece: usize,
    wanted: Wanted,
    script: Script,
    unless_stopped: impl Fn() -> Result<(), ToolError>,
) -> Result<Lines, ToolError> {
    // Where each line ends in a byte 10, nothing is decoded that is not shown.
    let plain = script.has_plain_lines();
    let mut lines = Lines::new(if plain { script.encoding } else { UTF_8 });
    let mut decoder = script.encoding.new_decoder_without_bom_handling();
    let mut text = vec![0; if plain { 0 } else { 4 * HEAD }];
    let mut space = vec![0; piece];
    loop {
        unless_stopped()?;
        let length = from.read(&mut space)?;
        let mut bytes = &space[..length];
        if plain {
            lines.take(bytes, wanted);
        } else {
            loop {
                let last = length == 0;
                let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut text, last);
                lines.take(&text[..written], wanted);
                bytes = &bytes[read..];
                if result == CoderResult::InputEmpty {
                    break;
                }
            }
        }
        if length == 0 {
            return Ok(lines);
        }
    }
}

fn unless_stopped(desk: &Desk<'_>) -> Result<(), ToolError> {
    match desk.is_stopped() {
        true => Err(ToolError::timeout("it took too long to read")),
        false => Ok(()),
    }
}

/// The page with its lines, as many as there is room for.
fn told(page: Page, lines: &Lines, wanted: Wanted, script: Script) -> Result<Page, ToolError> {
    let total = lines.total;
    if wanted.first > total.max(1) {
        return Err(ToolError::validation(format!(
            "`{}` has {total} lines; `offset` {} is past its end",
            page.path, wanted.first
        )));
    }
    let mut content = String::new();
    let mut cut_lines = Vec::new();
    let mut room = ROOM;
    let mut count = 0;
    for (text, length) in lines.iter() {
        let number = wanted.first + count;
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let (text, mut left) = cut(text, LONGEST_LINE);
        if length > Lines::KEPT {
            left = left.max(length - LONGEST_LINE);
        }
        let before = match wanted.line_numbers {
            true => format!("{number}\t"),
            false => String::new(),
        };
        let after = if left > 0 {
            " … [the line goes on]"
        } else {
            ""
        };
        let needs = [&before, text, after].map(json_length);
        let needs = needs.iter().sum::<usize>() + 2;
        if needs > room {
            break;
        }
        room -= needs;
        if left > 0 {
            cut_lines.push(number);
        }
        if count > 0 {
            content.push('\n');
        }
        content.extend([&before, text, after]);
        count += 1;
    }
    let last = (wanted.first + count).saturating_sub(1);
    let next = (last < total).then_some(last + 1);
    let ends = match (lines.crlf, lines.ends) {
        (_, 0) => None,
        (0, _) => Some("lf"),
        (crlf, ends) if crlf == ends => Some("crlf"),
        _ => Some("mixed"),
    };
    let note = match (total, next) {
        (0, _) => Some("The file is empty.".to_owned()),
        (_, None) => None,
        (_, Some(next)) => Some(format!(
            "These are lines {} to {last} of {total}. Call it again with offset {next} for what follows.",
            wanted.first
        )),
    };
    Ok(Page {
        kind: "text",
        content: Some(content),
        first_line: Some(if count == 0 { 0 } else { wanted.first }),
        last_line: Some(if count == 0 { 0 } else { last }),
        total_lines: Some(total),
        next_offset: next,
        encoding: Some(script.name()),
        line_ends: ends,
        cut_lines,
        note,
        ..page
    })
}

#[cfg(test)]
mod tests;
