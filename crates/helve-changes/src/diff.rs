//! A changeset as it is read: git's unified diff, a form for people, and JSON.
//!
//! [`patch`] is exact, and `git apply` takes it. [`unified`] is the same with every
//! hidden character made visible, for whoever decides. [`to_json`] carries exact text.
//! What is too large is named and left out, never cut in silence.

mod json;
mod lines;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::blobs::Blobs;
use crate::capture::Staged;
use crate::changeset::{Change, Kind};
use crate::error::{At, Error};
use crate::state::{FileState, State};
use crate::visible;
pub use json::to_json;
use lines::{Hunk, hunks};

/// How much is shown.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Files of which the lines are shown.
    pub files: usize,
    /// Bytes of a file of which the lines are shown.
    pub bytes: u64,
    /// Lines in all.
    pub lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 500,
            bytes: 1 << 20,
            lines: 20_000,
        }
    }
}

impl Limits {
    /// Everything; for [`patch`].
    pub const NONE: Self = Self {
        files: usize::MAX,
        bytes: u64::MAX,
        lines: usize::MAX,
    };
}

/// Lines around a change.
const CONTEXT: u32 = 3;

/// The diff for people: nothing in it is hidden, and what is left out is said. Names
/// begin at `base`.
pub fn unified(
    staged: &Staged,
    blobs: &Blobs,
    limits: &Limits,
    base: Option<&Path>,
) -> Result<String, Error> {
    let raw = render(staged, blobs, limits, base, Form::People)?;
    let lines = raw.split(|b| *b == b'\n').map(visible::line);
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// The lines of two texts that differ, with some around them: `-`, `+` or a blank, and the
/// line with its end.
pub fn of_texts(before: &str, after: &str, context: u32) -> Vec<(char, String)> {
    let hunks = lines::hunks(before.as_bytes(), after.as_bytes(), context);
    let all = hunks.into_iter().flat_map(|hunk| hunk.lines);
    all.map(|(sign, line)| {
        let line = String::from_utf8_lossy(&line).into_owned();
        (char::from(sign.byte()), line)
    })
    .collect()
}

/// The diff for programs, byte for byte: `git apply` takes it. Paths are relative to
/// the root. Folders, owners, attributes and binary contents have no place in it.
pub fn patch(staged: &Staged, blobs: &Blobs, base: Option<&Path>) -> Result<Vec<u8>, Error> {
    render(staged, blobs, &Limits::NONE, base, Form::Git)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    People,
    Git,
}

/// What stands between two states of a file.
enum Body {
    Hunks(Vec<Hunk>),
    Binary,
    LeftOut(&'static str),
    Nothing,
}

fn render(
    staged: &Staged,
    blobs: &Blobs,
    limits: &Limits,
    base: Option<&Path>,
    form: Form,
) -> Result<Vec<u8>, Error> {
    let mut out = Out {
        bytes: Vec::new(),
        base: base.map(Path::to_owned),
        form,
        budget: Budget::new(limits),
    };
    let given_up: HashSet<&Path> = staged
        .changeset
        .changes
        .iter()
        .filter_map(|c| c.renamed_from.as_deref())
        .collect();
    for change in &staged.changeset.changes {
        // The new name tells of both.
        if given_up.contains(change.path.as_path()) && !change.before.is_dir() {
            continue;
        }
        out.change(staged, blobs, change)?;
    }
    Ok(out.bytes)
}

struct Out {
    bytes: Vec<u8>,
    /// Where names begin; at the root that they are beneath if nothing is said.
    base: Option<PathBuf>,
    form: Form,
    budget: Budget,
}

impl Out {
    fn line(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.bytes.push(b'\n');
    }

    fn text(&mut self, text: &str) {
        self.line(&[text.as_bytes()]);
    }

    fn change(&mut self, staged: &Staged, blobs: &Blobs, change: &Change) -> Result<(), Error> {
        let (before, after) = (&change.before, &change.after);
        if before.is_dir()
            || after.is_dir()
            || matches!(after, State::Fifo(_))
            || matches!(before, State::Fifo(_))
        {
            self.other(change);
            if before.is_dir() == after.is_dir() || matches!(after, State::Fifo(_)) {
                return Ok(());
            }
        }
        let base = self.base.clone();
        let new = relative(staged, base.as_deref(), &change.path);
        let old = match &change.renamed_from {
            Some(from) => relative(staged, base.as_deref(), from),
            None => new.clone(),
        };
        let given_up = change
            .renamed_from
            .as_ref()
            .and_then(|from| staged.changeset.get(from));
        let before = given_up.map_or(before, |c| &c.before);
        let (a, b) = (quoted(b"a/", &old), quoted(b"b/", &new));
        match (mode(before), mode(after)) {
            (None, None) => return Ok(()),
            // Git knows no change of kind: one goes, the other comes.
            (Some(was), Some(is)) if was & 0o170_000 != is & 0o170_000 => {
                self.one(staged, blobs, change, (before, &State::Absent), &a, &b)?;
                return self.one(staged, blobs, change, (&State::Absent, after), &a, &b);
            }
            _ => {}
        }
        self.one(staged, blobs, change, (before, after), &a, &b)
    }

    fn one(
        &mut self,
        staged: &Staged,
        blobs: &Blobs,
        change: &Change,
        (before, after): (&State, &State),
        a: &[u8],
        b: &[u8],
    ) -> Result<(), Error> {
        let body = body(staged, blobs, change, (before, after), &mut self.budget)?;
        let (was, is) = (mode(before), mode(after));
        let renamed = change.renamed_from.is_some();
        let nothing = matches!(body, Body::Nothing);
        let same_mode = was == is;
        if self.form == Form::Git && nothing && same_mode && !renamed {
            return Ok(());
        }
        self.line(&[b"diff --git ", a, b" ", b]);
        match (was, is) {
            (None, Some(is)) => self.text(&format!("new file mode {is:o}")),
            (Some(was), None) => self.text(&format!("deleted file mode {was:o}")),
            (Some(was), Some(is)) if was != is => {
                self.text(&format!("old mode {was:o}"));
                self.text(&format!("new mode {is:o}"));
            }
            _ => {}
        }
        if renamed {
            let similar = if nothing { 100 } else { 50 };
            self.text(&format!("similarity index {similar}%"));
            let (from, to) = (without(a, b"a/"), without(b, b"b/"));
            self.line(&[b"rename from ", &from]);
            self.line(&[b"rename to ", &to]);
        }
        if self.form == Form::People {
            self.notes(change);
        }
        self.hunks(body, (before, after), a, b);
        Ok(())
    }

    fn hunks(&mut self, body: Body, (before, after): (&State, &State), a: &[u8], b: &[u8]) {
        match body {
            Body::Nothing => {}
            Body::LeftOut(why) => {
                self.text(&format!("(left out: {why}; {})", sizes(before, after)));
            }
            Body::Binary if self.form == Form::Git => {
                self.line(&[b"Binary files ", a, b" and ", b, b" differ"]);
            }
            Body::Binary => self.text(&format!("Binary files differ: {}", sizes(before, after))),
            Body::Hunks(hunks) => {
                let null: &[u8] = b"/dev/null";
                // Git wants a tab after a name with spaces.
                let end = |name: &[u8]| {
                    if name.contains(&b' ') {
                        &b"\t"[..]
                    } else {
                        b""
                    }
                };
                let from = if mode(before).is_none() { null } else { a };
                let to = if mode(after).is_none() { null } else { b };
                self.line(&[b"--- ", from, end(from)]);
                self.line(&[b"+++ ", to, end(to)]);
                for hunk in hunks {
                    let _ = self.bytes.write_all(&hunk.text());
                }
            }
        }
    }

    /// Owner, attributes and links, which a diff has no words for.
    fn notes(&mut self, change: &Change) {
        for kind in change.kinds() {
            match kind {
                Kind::Owner => {
                    let own = |s: &State| {
                        s.owner()
                            .map_or("-".to_owned(), |(u, g)| format!("{u}:{g}"))
                    };
                    self.text(&format!(
                        "owner {} -> {}",
                        own(&change.before),
                        own(&change.after)
                    ));
                }
                Kind::Xattr => self.text("extended attributes changed"),
                Kind::Links => {
                    let names = |s: &State| s.links().len().max(1);
                    self.text(&format!(
                        "names {} -> {}",
                        names(&change.before),
                        names(&change.after)
                    ));
                }
                _ => {}
            }
        }
    }

    /// Folders and pipes, which git does not know.
    fn other(&mut self, change: &Change) {
        if self.form == Form::Git {
            return;
        }
        let word = |s: &State| match s {
            State::Dir(meta) => format!("folder {:o}", meta.mode),
            State::Fifo(meta) => format!("pipe {:o}", meta.mode),
            State::File(_) => "file".to_owned(),
            State::Symlink(_) => "symlink".to_owned(),
            State::Absent => "nothing".to_owned(),
        };
        // Only what stands outside of where names begin is told from the root.
        let base = self.base.as_deref();
        let path = base.and_then(|base| change.path.strip_prefix(base).ok());
        let path = path.filter(|p| !p.as_os_str().is_empty());
        let shown = visible::line(path.unwrap_or(&change.path).as_os_str().as_bytes());
        self.text(&format!(
            "{shown}: {} -> {}",
            word(&change.before),
            word(&change.after)
        ));
        self.notes(change);
    }
}

/// What may still be shown.
struct Budget {
    limits: Limits,
    files: usize,
    lines: usize,
}

impl Budget {
    fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            files: 0,
            lines: 0,
        }
    }
}

fn body(
    staged: &Staged,
    blobs: &Blobs,
    change: &Change,
    (before, after): (&State, &State),
    budget: &mut Budget,
) -> Result<Body, Error> {
    if let (State::File(a), State::File(b)) = (before, after)
        && a.sha256 == b.sha256
    {
        return Ok(Body::Nothing);
    }
    let size = |s: &State| s.file().map_or(0, |f| f.size);
    if size(before).max(size(after)) > budget.limits.bytes {
        return Ok(Body::LeftOut("too large"));
    }
    if budget.files >= budget.limits.files {
        return Ok(Body::LeftOut("too many files"));
    }
    if budget.lines >= budget.limits.lines {
        return Ok(Body::LeftOut("too many lines"));
    }
    budget.files += 1;
    let old = bytes(before, |file| blobs.read_small(&file.sha256));
    let new = bytes(after, |file| staged.content(change, file, blobs));
    let (old, new) = match (old, new) {
        (Err(Error::Image { .. }), _) | (_, Err(Error::Image { .. })) if staged.past => {
            return Ok(Body::LeftOut("the content is no longer kept"));
        }
        (old, new) => (old?, new?),
    };
    if is_binary(&old) || is_binary(&new) {
        return Ok(Body::Binary);
    }
    let hunks = hunks(&old, &new, CONTEXT);
    let lines: usize = hunks.iter().map(|h| h.lines.len()).sum();
    if budget.lines.saturating_add(lines) > budget.limits.lines {
        budget.lines = budget.limits.lines;
        return Ok(Body::LeftOut("too many lines"));
    }
    budget.lines += lines;
    match hunks.is_empty() {
        true => Ok(Body::Nothing),
        false => Ok(Body::Hunks(hunks)),
    }
}

fn bytes(
    state: &State,
    file: impl FnOnce(&FileState) -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    match state {
        State::File(found) => file(found),
        State::Symlink(link) => Ok(link.target.as_os_str().as_bytes().to_vec()),
        _ => Ok(Vec::new()),
    }
}

impl Staged {
    /// A new content, checked against the manifest.
    pub(crate) fn content(
        &self,
        change: &Change,
        file: &FileState,
        blobs: &Blobs,
    ) -> Result<Vec<u8>, Error> {
        let at = self.sources.binary_search_by(|s| s.path.cmp(&change.path));
        let Ok(at) = at else {
            return match self.past.then(|| put(change, file)).flatten() {
                Some(bytes) => Ok(bytes),
                None => blobs.read_small(&file.sha256),
            };
        };
        let source = &self.sources[at].file;
        let bytes = std::fs::read(source).at("read", source)?;
        match helve_core::audit::Hash::of(&bytes) == file.sha256 {
            true => Ok(bytes),
            false => Err(Error::StageChanged {
                path: change.path.clone(),
            }),
        }
    }
}

/// A content where it was put, if nobody has touched it since.
fn put(change: &Change, file: &FileState) -> Option<Vec<u8>> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(&change.path, flags, Mode::empty()).ok()?;
    let mut opened = std::fs::File::from(opened);
    let meta = opened.metadata().ok()?;
    if !meta.is_file() || meta.len() != file.size {
        return None;
    }
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut opened, &mut bytes).ok()?;
    (helve_core::audit::Hash::of(&bytes) == file.sha256).then_some(bytes)
}

/// Git's rule: a NUL in the first 8000 bytes.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8000)].contains(&0)
}

/// Git's idea of a mode.
fn mode(state: &State) -> Option<u32> {
    match state {
        State::File(file) if file.meta.mode & 0o111 != 0 => Some(0o100_755),
        State::File(_) => Some(0o100_644),
        State::Symlink(_) => Some(0o120_000),
        State::Absent | State::Dir(_) | State::Fifo(_) => None,
    }
}

fn sizes(before: &State, after: &State) -> String {
    let one = |s: &State| match s {
        State::File(file) => format!("{} bytes sha256:{}", file.size, file.sha256),
        State::Absent => "nothing".to_owned(),
        _ => "no file".to_owned(),
    };
    format!("{} -> {}", one(before), one(after))
}

fn relative(staged: &Staged, base: Option<&Path>, path: &Path) -> Vec<u8> {
    let whole = || path.strip_prefix("/").unwrap_or(path);
    let rel = match base {
        Some(base) => path.strip_prefix(base).unwrap_or_else(|_| whole()),
        None => staged.changeset.root_of(path).map_or(path, |(_, rel)| rel),
    };
    rel.as_os_str().as_bytes().to_vec()
}

/// A name as git writes it: in quotes, with escapes, if it has to be.
fn quoted(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    let plain = name
        .iter()
        .all(|b| (0x20..0x7f).contains(b) && *b != b'"' && *b != b'\\');
    if plain {
        return [prefix, name].concat();
    }
    let mut out = b"\"".to_vec();
    for byte in prefix.iter().chain(name) {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            0x20..0x7f => out.push(*byte),
            _ => out.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    out.push(b'"');
    out
}

/// The same without its `a/` or `b/`.
fn without(name: &[u8], prefix: &[u8]) -> Vec<u8> {
    match name.strip_prefix(b"\"") {
        Some(quoted) => [b"\"", &quoted[prefix.len()..]].concat(),
        None => name[prefix.len()..].to_vec(),
    }
}
