//! Finding lines in a tree of files, with the parts that ripgrep is made of.
//!
//! All files are searched, so the counts are true, and what is shown are the first matches
//! by path: the same call gives the same answer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use helve_kernel::{Desk, ToolError};
use schemars::JsonSchema;
use serde::Serialize;

use crate::file::{ROOM, json_length};
use crate::walk::{Walk, Wanted};

/// The most characters of a line that are shown.
const LONGEST_LINE: usize = 400;

/// No line is held that is longer.
const LARGEST_LINE: usize = 64 * 1024 * 1024;

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Match {
    /// The file, from the workspace.
    pub(crate) path: String,
    /// The number of the line, from 1.
    pub(crate) line: u64,
    /// The character at which the match begins, from 1.
    pub(crate) column: u64,
    /// The line; the part around the match, of a very long one.
    pub(crate) text: String,
    /// Lines before it, as far as they were not told already.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) before: Vec<String>,
    /// Lines after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) after: Vec<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Found {
    /// The first matches, by path and line.
    pub(crate) matches: Vec<Match>,
    /// How many lines match in all.
    pub(crate) total: u64,
    /// In how many files.
    pub(crate) files: u64,
    /// How many files were searched.
    pub(crate) searched: u64,
    /// Whether there are more matches than these.
    pub(crate) truncated: bool,
    /// What is worth knowing, and how to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// What is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    matcher: RegexMatcher,
    context: usize,
    most: usize,
}

/// Whether the case of letters counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Told,
    Ignored,
    /// Ignored, unless the pattern has a capital letter.
    Smart,
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    Regex,
    Literal,
}

impl Query {
    pub(crate) fn new(
        text: &str,
        pattern: Pattern,
        case: Case,
        context: usize,
        most: usize,
    ) -> Result<Self, ToolError> {
        if text.is_empty() {
            return Err(ToolError::validation(
                "the pattern is empty: every line would match",
            ));
        }
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .fixed_strings(pattern == Pattern::Literal)
            .case_insensitive(case == Case::Ignored)
            .case_smart(case == Case::Smart);
        let matcher = builder.build(text).map_err(|e| {
            let said = e.to_string();
            let said: Vec<&str> = said.lines().map(str::trim).collect();
            let error = ToolError::validation(format!(
                "the pattern is no regular expression: {}",
                said.join(" ")
            ));
            error.with_hint("lines are searched one by one; escape `\\ . * + ? ( ) [ ] { } ^ $ |` where they are meant as such")
        })?;
        Ok(Self {
            matcher,
            context,
            most,
        })
    }
}

#[derive(Default)]
struct Gathered {
    kept: Vec<(PathBuf, Vec<Match>)>,
    count: usize,
}

impl Gathered {
    /// Keeps the first by path, now and then: there may be millions.
    fn prune(&mut self, most: usize) {
        self.kept.sort_by(|a, b| a.0.cmp(&b.0));
        let mut count = 0;
        self.kept.retain(|(_, matches)| {
            let wanted = count < most;
            count += if wanted { matches.len() } else { 0 };
            wanted
        });
        self.count = count;
    }
}

/// Searches all that is wanted.
pub(crate) fn search(desk: &Desk<'_>, query: &Query, wanted: &Wanted) -> Result<Found, ToolError> {
    let walk = Walk::new(desk)?;
    let gathered = Mutex::new(Gathered::default());
    let (total, files, searched) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    walk.each(
        wanted,
        || searcher(query),
        |searcher, path| {
            let Ok(file) = walk.open(path) else {
                return;
            };
            searched.fetch_add(1, Ordering::Relaxed);
            let mut sink = Collect {
                query,
                kept: Vec::new(),
                count: 0,
                before: Vec::new(),
                room: ROOM,
            };
            // A file that cannot be read to its end has what was found until then.
            let _ = searcher.search_reader(&query.matcher, file, &mut sink);
            if sink.count > 0 {
                total.fetch_add(sink.count, Ordering::Relaxed);
                files.fetch_add(1, Ordering::Relaxed);
                let mut all = gathered.lock().unwrap_or_else(PoisonError::into_inner);
                all.count += sink.kept.len();
                all.kept.push((path.to_owned(), sink.kept));
                if all.count > 4 * query.most + 1_000 {
                    all.prune(query.most);
                }
            }
        },
    )?;
    let mut all = gathered
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    all.prune(query.most);
    let (total, files) = (total.into_inner(), files.into_inner());
    let matches = shown(desk, all.kept, query.most);
    let truncated = (matches.len() as u64) < total;
    Ok(Found {
        note: truncated.then(|| {
            format!(
                "These are the first {} of {total} matching lines in {files} files. Narrow it by `path`, `include` or the pattern, or raise `max_results`.",
                matches.len()
            )
        }),
        matches,
        total,
        files,
        searched: searched.into_inner(),
        truncated,
    })
}

fn searcher(query: &Query) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(query.context)
        .after_context(query.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LARGEST_LINE))
        .build()
}

/// As many as are wanted and there is room for.
fn shown(desk: &Desk<'_>, kept: Vec<(PathBuf, Vec<Match>)>, most: usize) -> Vec<Match> {
    let mut shown = Vec::new();
    let mut room = ROOM;
    for (path, matches) in kept {
        let path = desk.shown(Path::new(&path));
        for found in matches.into_iter().take(most.saturating_sub(shown.len())) {
            let needs = found.length() + json_length(&path);
            if needs > room {
                return shown;
            }
            room -= needs;
            let path = path.clone();
            shown.push(Match { path, ..found });
        }
    }
    shown
}

impl Match {
    fn length(&self) -> usize {
        let around = self.before.iter().chain(&self.after);
        let around: usize = around.map(|line| json_length(line) + 3).sum();
        80 + json_length(&self.text) + around
    }
}

/// The matches of one file.
struct Collect<'q> {
    query: &'q Query,
    kept: Vec<Match>,
    count: u64,
    before: Vec<String>,
    /// No more of one file than an answer can hold.
    room: usize,
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        if self.kept.len() >= self.query.most || self.room == 0 {
            return Ok(true);
        }
        let bytes = found.bytes();
        let start = match self.query.matcher.find(bytes) {
            Ok(Some(at)) => at.start(),
            _ => 0,
        };
        let column = String::from_utf8_lossy(&bytes[..start]).chars().count();
        let found = Match {
            path: String::new(),
            line: found.line_number().unwrap_or(0),
            column: column as u64 + 1,
            text: line(bytes, column),
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        };
        self.room = self.room.saturating_sub(found.length());
        self.kept.push(found);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.room > 0 && self.kept.len() < self.query.most + 1 {
            let text = line(context.bytes(), 0);
            // What comes after a match that is only counted belongs to none.
            let is_kept = self.count == self.kept.len() as u64;
            match (context.kind(), self.kept.last_mut()) {
                (SinkContextKind::Before, _) => self.before.push(text),
                (SinkContextKind::After, Some(last)) if is_kept => last.after.push(text),
                _ => {}
            }
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.before.clear();
        Ok(true)
    }
}

/// A line without its end; of a very long one, what is around a column.
fn line(bytes: &[u8], column: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= LONGEST_LINE || text.chars().count() <= LONGEST_LINE {
        return text.into_owned();
    }
    let from = column.saturating_sub(LONGEST_LINE / 4);
    let mut part: String = text.chars().skip(from).take(LONGEST_LINE).collect();
    if from > 0 {
        part.insert(0, '…');
    }
    if from + LONGEST_LINE < text.chars().count() {
        part.push('…');
    }
    part
}
