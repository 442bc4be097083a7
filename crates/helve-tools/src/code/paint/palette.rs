//! What colours a language: a grammar, and the queries about it.

use std::sync::OnceLock;

use tree_sitter::{Query, QueryError};

use super::Paint;
use crate::code::parse::{self, Language};

/// The colours of a language, a row for each.
pub(in crate::code) struct Palette {
    pub(super) language: &'static Language,
    /// The grammar's own query first, then ours: the last one counts.
    queries: &'static [&'static str],
    ready: OnceLock<Option<Ready>>,
}

/// Queries that can be asked.
pub(super) struct Ready {
    pub(super) query: Query,
    /// What each name in them stands for; `None` for what has no say.
    pub(super) colours: Vec<Option<Colour>>,
}

/// What a query says of a piece: its paint, or that it is plain in spite of what is around it.
pub(super) type Colour = Option<Paint>;

pub(in crate::code) static RUST: Palette = Palette::new(
    &parse::RUST,
    &[tree_sitter_rust::HIGHLIGHTS_QUERY, include_str!("rust.scm")],
);

pub(in crate::code) static PYTHON: Palette = Palette::new(
    &parse::PYTHON,
    &[
        tree_sitter_python::HIGHLIGHTS_QUERY,
        include_str!("python.scm"),
    ],
);

/// The query of TypeScript counts on one of JavaScript, which is ours.
pub(in crate::code) static TYPESCRIPT: Palette = Palette::new(
    &parse::TYPESCRIPT,
    &[
        tree_sitter_typescript::HIGHLIGHTS_QUERY,
        include_str!("script.scm"),
    ],
);

pub(in crate::code) static TSX: Palette = Palette::new(
    &parse::TSX,
    &[
        tree_sitter_typescript::HIGHLIGHTS_QUERY,
        include_str!("script.scm"),
        include_str!("jsx.scm"),
    ],
);

pub(in crate::code) static GO: Palette = Palette::new(
    &parse::GO,
    &[tree_sitter_go::HIGHLIGHTS_QUERY, include_str!("go.scm")],
);

pub(in crate::code) static JAVA: Palette = Palette::new(
    &parse::JAVA,
    &[tree_sitter_java::HIGHLIGHTS_QUERY, include_str!("java.scm")],
);

/// The query of C++ counts on one of C, which is ours.
pub(in crate::code) static CPP: Palette = Palette::new(
    &parse::CPP,
    &[include_str!("c.scm"), tree_sitter_cpp::HIGHLIGHT_QUERY],
);

pub(in crate::code) static C_SHARP: Palette = Palette::new(
    &parse::C_SHARP,
    &[
        tree_sitter_c_sharp::HIGHLIGHTS_QUERY,
        include_str!("c_sharp.scm"),
    ],
);

pub(in crate::code) static RUBY: Palette =
    Palette::new(&parse::RUBY, &[tree_sitter_ruby::HIGHLIGHTS_QUERY]);

pub(in crate::code) static PHP: Palette = Palette::new(
    &parse::PHP,
    &[tree_sitter_php::HIGHLIGHTS_QUERY, include_str!("php.scm")],
);

/// Lines out of the middle of a file, where nothing says any more that it is PHP.
pub(in crate::code) static PHP_INSIDE: Palette = Palette::new(
    &parse::PHP_INSIDE,
    &[tree_sitter_php::HIGHLIGHTS_QUERY, include_str!("php.scm")],
);

pub(in crate::code) static BASH: Palette = Palette::new(
    &parse::BASH,
    &[tree_sitter_bash::HIGHLIGHT_QUERY, include_str!("bash.scm")],
);

impl Palette {
    const fn new(language: &'static Language, queries: &'static [&'static str]) -> Self {
        Self {
            language,
            queries,
            ready: OnceLock::new(),
        }
    }

    /// The queries, compiled the first time; `None` if they do not fit the grammar, which a
    /// test would have said.
    pub(super) fn ready(&self) -> Option<&Ready> {
        self.ready.get_or_init(|| self.compile().ok()).as_ref()
    }

    pub(super) fn compile(&self) -> Result<Ready, QueryError> {
        let language = (self.language.grammar)();
        let mut query = Query::new(&language, &self.queries.join("\n"))?;
        for pattern in 0..query.pattern_count() {
            // What depends on which names are local is known to nobody here.
            if !query.property_predicates(pattern).is_empty() {
                query.disable_pattern(pattern);
            }
        }
        let colours = query.capture_names().iter().map(|name| colour(name));
        Ok(Ready {
            colours: colours.collect(),
            query,
        })
    }
}

/// The names that grammars use are agreed on, more or less; the first part says enough.
fn colour(name: &str) -> Option<Colour> {
    let first = name.split('.').next().unwrap_or(name);
    Some(match first {
        "comment" => Some(Paint::Comment),
        "string" | "escape" => Some(Paint::String),
        "number" => Some(Paint::Number),
        "keyword" => Some(Paint::Keyword),
        "type" | "constructor" => Some(Paint::Type),
        "function" => Some(Paint::Function),
        "constant" => Some(Paint::Constant),
        "property" | "attribute" | "tag" => Some(Paint::Property),
        // `self` and `this` are words of the language; other variables are plain.
        "variable" if name == "variable.builtin" => Some(Paint::Keyword),
        // What stands in a text and is code again.
        "embedded" => None,
        _ => return None,
    })
}
