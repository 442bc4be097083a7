//! Reading a file, a page at a time.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use base64::Engine as _;
use encoding_rs::CoderResult;
use helve_kernel::{Ctx, Desk, Illustrated, ToolError, tool};
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

fn page(desk: &Desk<'_>, wanted: Wanted, encoding: &str) -> Result<Illustrated<Page>, ToolError> {
    let path = desk.path();
    let looked = super::file(desk, path)?;
    let mut file = desk.open(path)?;
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
    let script = match encoding {
        "auto" | "" if known.is_some() => None,
        "auto" | "" => text::detect(&head, whole),
        named => Some(text::named(named, &head)?),
    };
    let Some(script) = script else {
        return described(desk, path, page, known);
    };
    file.seek(SeekFrom::Start(script.mark as u64))?;
    let lines = match script.has_plain_lines() {
        true => plain(desk, &mut file, looked.size, wanted, script)?,
        false => decoded(desk, &mut file, wanted, script)?,
    };
    Ok(Illustrated {
        data: told(page, &lines, wanted, script)?,
        content: Vec::new(),
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
#[derive(Debug, Default)]
struct Lines {
    kept: Vec<Vec<u8>>,
    /// How long each kept line really is, in bytes.
    lengths: Vec<usize>,
    total: u64,
    ends: u64,
    crlf: u64,
    /// The line that is not at its end yet.
    open: usize,
    last: Option<u8>,
}

impl Lines {
    /// No line is kept further than anything of it is shown.
    const KEPT: usize = LONGEST_LINE * 4;

    fn take(&mut self, mut bytes: &[u8], wanted: Wanted) {
        while !bytes.is_empty() {
            let number = self.ends + 1;
            let end = memchr::memchr(b'\n', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if number >= wanted.first && number - wanted.first < wanted.count {
                if self.open == 0 {
                    self.kept.push(Vec::new());
                    self.lengths.push(0);
                }
                if let (Some(line), Some(length)) = (self.kept.last_mut(), self.lengths.last_mut())
                {
                    let room = Self::KEPT.saturating_sub(line.len()).min(piece.len());
                    line.extend_from_slice(&piece[..room]);
                    *length += piece.len();
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
}

/// Lines of which each ends in a byte 10: nothing is decoded that is not shown.
fn plain(
    desk: &Desk<'_>,
    file: &mut File,
    size: u64,
    wanted: Wanted,
    script: Script,
) -> Result<Lines, ToolError> {
    let mut lines = Lines::default();
    let mut space = vec![0; room(size, 4 * HEAD)];
    loop {
        unless_stopped(desk)?;
        match file.read(&mut space)? {
            0 => break,
            length => lines.take(&space[..length], wanted),
        }
    }
    for line in &mut lines.kept {
        let (text, _) = script.encoding.decode_without_bom_handling(line);
        *line = text.into_owned().into_bytes();
    }
    Ok(lines)
}

/// Lines of a script in which a byte 10 can be anything.
fn decoded(
    desk: &Desk<'_>,
    file: &mut File,
    wanted: Wanted,
    script: Script,
) -> Result<Lines, ToolError> {
    let mut lines = Lines::default();
    let mut decoder = script.encoding.new_decoder_without_bom_handling();
    let mut space = vec![0; HEAD];
    let mut text = vec![0; 4 * HEAD];
    loop {
        unless_stopped(desk)?;
        let length = file.read(&mut space)?;
        let mut bytes = &space[..length];
        loop {
            let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut text, length == 0);
            lines.take(&text[..written], wanted);
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                break;
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
    for (line, length) in lines.kept.iter().zip(&lines.lengths) {
        let number = wanted.first + count;
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let (text, mut left) = cut(text, LONGEST_LINE);
        if *length > Lines::KEPT {
            left = left.max(length - LONGEST_LINE);
        }
        let mut line = match wanted.line_numbers {
            true => format!("{number}\t{text}"),
            false => text.to_owned(),
        };
        if left > 0 {
            line.push_str(" … [the line goes on]");
        }
        let needs = json_length(&line) + 2;
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
        content.push_str(&line);
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
