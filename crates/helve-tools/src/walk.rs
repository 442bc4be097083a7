//! Going through a tree of files, as ripgrep does: by all cores, past what git ignores.
//!
//! The walk goes by path, and a link swapped in meanwhile may lead it astray; so whatever
//! it comes to counts only once it was opened or looked at beneath the root
//! ([`Beneath`]). The hub's own state is passed by.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::GlobBuilder;
use helve_kernel::helve_changes::Beneath;
use helve_kernel::{Desk, ToolError};
use ignore::types::{Types, TypesBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

/// Which files are looked at.
#[derive(Debug, Default, Clone)]
pub(crate) struct Wanted {
    /// Also names that begin with a dot.
    pub(crate) hidden: bool,
    /// Also what `.gitignore` and `.ignore` leave out.
    pub(crate) ignored: bool,
    /// Only what matches.
    pub(crate) include: Option<Include>,
    /// Only these types.
    pub(crate) types: Option<Types>,
}

/// A pattern for files.
#[derive(Debug, Clone)]
pub(crate) struct Include {
    matcher: Glob,
    /// Held against the path, and not the name alone.
    by_path: bool,
}

impl Include {
    /// None if nothing is asked for.
    pub(crate) fn new(pattern: &str, argument: &str) -> Result<Option<Self>, ToolError> {
        if pattern.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            matcher: glob(pattern, argument)?,
            by_path: pattern.contains('/'),
        }))
    }

    /// One that is always held against the path.
    pub(crate) fn of_path(pattern: &str, argument: &str) -> Result<Self, ToolError> {
        Ok(Self {
            matcher: glob(pattern, argument)?,
            by_path: true,
        })
    }

    fn takes(&self, path: &Path, top: &Path) -> bool {
        match (self.by_path, path.file_name()) {
            (false, Some(name)) => self.matcher.is_match(Path::new(name)),
            // The file itself was named.
            (true, Some(name)) if path == top => self.matcher.is_match(Path::new(name)),
            _ => self
                .matcher
                .is_match(path.strip_prefix(top).unwrap_or(path)),
        }
    }
}

/// A glob pattern, ready to be held against paths.
#[derive(Debug, Clone)]
pub(crate) struct Glob(Regex);

impl Glob {
    pub(crate) fn is_match(&self, path: &Path) -> bool {
        self.0.is_match(path.as_os_str().as_encoded_bytes())
    }
}

/// A glob pattern, which is no path: it never leaves its folder.
pub(crate) fn glob(pattern: &str, argument: &str) -> Result<Glob, ToolError> {
    let refused = |why: String| ToolError::validation(format!("argument `{argument}`: {why}"));
    let path = Path::new(pattern);
    let leaves = |c: Component<'_>| !matches!(c, Component::Normal(_) | Component::CurDir);
    if path.components().any(leaves) {
        return Err(refused(format!(
            "the pattern `{pattern}` leads out of its folder; give the folder as `path`, and a pattern beneath it"
        )));
    }
    if pattern.len() > 1_000 || pattern.contains('\0') {
        return Err(refused(
            "the pattern is too long, or has a NUL in it".to_owned(),
        ));
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob =
        glob.map_err(|e| refused(format!("`{pattern}` is no glob pattern: {}", e.kind())))?;
    // As globset makes it, but without all of its states worked out beforehand: that takes
    // longer than to hold it against a thousand paths.
    let syntax = syntax::Config::new().utf8(false).dot_matches_new_line(true);
    let lazy = Regex::config().utf8_empty(false).dfa(false).onepass(false);
    let mut builder = Regex::builder();
    let regex = builder.syntax(syntax).configure(lazy).build(glob.regex());
    regex
        .map(Glob)
        .map_err(|e| refused(format!("`{pattern}` is no glob pattern: {e}")))
}

/// Names by which languages are known, beside those of ripgrep's types.
const LANGUAGES: &[(&str, &str)] = &[
    ("bash", "sh"),
    ("c#", "csharp"),
    ("c++", "cpp"),
    ("golang", "go"),
    ("javascript", "js"),
    ("python", "py"),
    ("rs", "rust"),
    ("shell", "sh"),
    ("typescript", "ts"),
    ("yml", "yaml"),
];

/// The file types of a language; none if none is asked for.
pub(crate) fn types(language: &str) -> Result<Option<Types>, ToolError> {
    let language = language.trim().to_lowercase();
    if language.is_empty() {
        return Ok(None);
    }
    let known = LANGUAGES.iter().find(|(name, _)| *name == language);
    let name = known.map_or(language.as_str(), |(_, kind)| kind);
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    builder.build().map(Some).map_err(|_| {
        ToolError::validation(format!("argument `language`: `{language}` is not known"))
            .with_hint("for example rust, python, javascript, typescript, go, java, c, cpp; or use `include` with a pattern such as `*.xyz`")
    })
}

/// A file that is read as long as somebody waits for it.
pub(crate) struct Open<'d> {
    file: File,
    desk: Desk<'d>,
}

impl io::Read for Open<'_> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self.desk.is_stopped() {
            true => Err(io::Error::other("nobody waits any more")),
            false => self.file.read(space),
        }
    }
}

/// Where a walk is.
pub(crate) struct Walk<'d> {
    desk: Desk<'d>,
    /// Where it begins: real.
    pub(crate) top: PathBuf,
    pub(crate) beneath: Beneath<'d>,
}

impl<'d> Walk<'d> {
    /// A walk from the path of a piece of work, which must be there.
    pub(crate) fn new(desk: &Desk<'d>) -> Result<Self, ToolError> {
        let path = desk.path();
        if desk.look(path)?.is_none() {
            let shown = desk.shown(path);
            return Err(ToolError::not_found(format!("there is no `{shown}`"))
                .with_hint("`file_list` shows what is there"));
        }
        let (top, beneath) = desk.beneath(path)?;
        Ok(Self {
            desk: *desk,
            top,
            beneath,
        })
    }

    /// A file that the walk came to. It ends early when nobody waits any more.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Open<'d>> {
        let file = self.beneath.open(path)?;
        let desk = self.desk;
        Ok(Open { file, desk })
    }

    /// Calls with every file that is wanted, from several threads where there are many. Each
    /// thread has a state of its own, which `begin` makes.
    pub(crate) fn each<'s, S: Send + 's>(
        &'s self,
        wanted: &'s Wanted,
        begin: impl Fn() -> S,
        visit: impl Fn(&mut S, &Path) + Sync + 's,
    ) -> Result<(), ToolError> {
        let mut builder = WalkBuilder::new(&self.top);
        builder
            .hidden(!wanted.hidden)
            .ignore(!wanted.ignored)
            .git_ignore(!wanted.ignored)
            .git_exclude(!wanted.ignored)
            .parents(!wanted.ignored)
            .git_global(false)
            .require_git(false)
            .follow_links(false);
        if let Some(types) = &wanted.types {
            builder.types(types.clone());
        }
        match self.few(&builder, wanted) {
            Some(files) => self.one_by_one(&files, begin, &visit),
            None => self.by_all_cores(&builder, wanted, begin, &visit),
        }
        match self.desk.is_stopped() {
            true => Err(ToolError::timeout(
                "it took too long to go through the files",
            )),
            false => Ok(()),
        }
    }

    /// The files of a small tree; `None` of a larger one. To begin threads and to wait for
    /// them takes longer than to go through some hundred names.
    fn few(&self, builder: &WalkBuilder, wanted: &Wanted) -> Option<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut skipped: Option<PathBuf> = None;
        let mut walk = builder.build();
        for _ in 0..FEW {
            let Some(entry) = walk.next() else {
                return Some(files);
            };
            let path = entry.as_ref().map_or(Path::new(""), DirEntry::path);
            if skipped.as_ref().is_some_and(|s| path.starts_with(s)) {
                continue;
            }
            let here = path.to_owned();
            match self.met(entry, wanted) {
                Met::File(path) => files.push(path),
                Met::Skip => skipped = Some(here),
                Met::Nothing => {}
                Met::Stop => return Some(Vec::new()),
            }
        }
        None
    }

    /// What the tree has, by as many threads as that is worth.
    fn one_by_one<S: Send>(
        &self,
        files: &[PathBuf],
        begin: impl Fn() -> S,
        visit: &(impl Fn(&mut S, &Path) + Sync),
    ) {
        let next = AtomicUsize::new(0);
        let work = |mut state: S| {
            while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed))
                && !self.desk.is_stopped()
            {
                visit(&mut state, path);
            }
        };
        let helpers = match files.len() / SHARE {
            0 => 0,
            worth => worth.min(std::thread::available_parallelism().map_or(0, |n| n.get() - 1)),
        };
        std::thread::scope(|scope| {
            for state in (0..helpers).map(|_| begin()) {
                scope.spawn(|| work(state));
            }
            work(begin());
        });
    }

    fn by_all_cores<'s, S: Send + 's>(
        &'s self,
        builder: &WalkBuilder,
        wanted: &'s Wanted,
        begin: impl Fn() -> S,
        visit: &'s (impl Fn(&mut S, &Path) + Sync),
    ) {
        builder.build_parallel().run(|| {
            let mut state = begin();
            Box::new(move |entry| match self.met(entry, wanted) {
                Met::File(path) => {
                    visit(&mut state, &path);
                    WalkState::Continue
                }
                Met::Skip => WalkState::Skip,
                Met::Nothing => WalkState::Continue,
                Met::Stop => WalkState::Quit,
            })
        });
    }

    fn met(&self, entry: Result<DirEntry, ignore::Error>, wanted: &Wanted) -> Met {
        if self.desk.is_stopped() {
            return Met::Stop;
        }
        // What cannot be read is passed by.
        let Ok(entry) = entry else {
            return Met::Nothing;
        };
        let path = entry.path();
        // What git keeps for itself is nobody's text.
        let of_git = entry.depth() > 0 && !wanted.ignored && entry.file_name() == ".git";
        if of_git || self.beneath.is_hidden(path) {
            return Met::Skip;
        }
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let include = wanted.include.as_ref();
        match is_file && include.is_none_or(|include| include.takes(path, &self.top)) {
            true => Met::File(entry.into_path()),
            false => Met::Nothing,
        }
    }
}

/// What a walk came to.
enum Met {
    /// A file that is wanted.
    File(PathBuf),
    /// Something with all that is in it that is not.
    Skip,
    /// Something that is not.
    Nothing,
    /// Nobody waits any more.
    Stop,
}

/// How many names make a tree large.
const FEW: usize = 512;

/// How many files are worth a thread.
const SHARE: usize = 32;

#[cfg(test)]
mod tests;
