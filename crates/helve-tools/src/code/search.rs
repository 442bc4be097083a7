//! Searching code.

use helve_kernel::{Ctx, ToolError, tool};

use crate::lines::{self, Case, Found, Pattern, Query};
use crate::walk::{Include, Wanted, types};

/// Searches code for a text or a regular expression. Use it when you look for a name, a call or a message.
///
/// As ripgrep searches, past what `.gitignore` leaves out and past binary files; all files are
/// searched, so the counts are true. Matches come by path. By default the query is a plain
/// text, and its case counts only if it has a capital letter.
#[tool(
    group = "code",
    title = "Search code",
    category = "Code",
    risk = "read",
    held,
    idempotent,
    output,
    timeout = "2m",
    paths = ["."],
    aliases = ["search_code"],
    triggers = ["When a function, a type or a message is looked for in code", "When every use of a name is needed"],
    related = [("file_grep", "searches any files by a regular expression"), ("file_read", "shows what is around a line"), ("code_analyze", "maps what is in the code")],
    example(scenario = "Where a function is called", params = {"query": "open_store(", "language": "rust"}, expected = "The lines, with path, line and column"),
    example(scenario = "A regular expression", params = {"query": "fn \\w+_test\\(", "regex": true, "context_lines": 1}, expected = "The lines, with one around each")
)]
#[expect(clippy::too_many_arguments, reason = "each is an argument of the tool")]
pub(super) async fn search(
    ctx: &Ctx,
    /// What is looked for: a text, or with `regex` a regular expression.
    #[schemars(length(min = 1, max = 10000), extend("x-aliases" = ["pattern"]))]
    query: String,
    /// The folder or file to search; `.` is the workspace.
    #[path]
    #[default(".")]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: String,
    /// Whether the query is a regular expression; false for a plain text.
    #[default(false)]
    regex: bool,
    /// Only files that match: `*.rs` a name, `src/**/*.rs` a path; empty for all.
    #[default("")]
    #[schemars(extend("x-aliases" = ["glob", "file_pattern"]))]
    include: String,
    /// Only files of this language, for example `rust` or `python`; empty for all.
    #[default("")]
    #[schemars(extend("x-aliases" = ["file_type"]))]
    language: String,
    /// How many lines to show before and after each; 0 for none.
    #[default(0)]
    #[schemars(range(max = 20))]
    context_lines: usize,
    /// Whether case counts: `smart` if the query has a capital letter, `sensitive` always, `insensitive` never.
    #[default("smart")]
    #[schemars(extend("enum" = ["smart", "sensitive", "insensitive"]))]
    case: String,
    /// How many matches to show at most.
    #[default(50)]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// Whether what `.gitignore` leaves out is searched; false leaves it out.
    #[default(false)]
    ignored: bool,
    /// Whether names that begin with a dot are searched; false leaves them out.
    #[default(false)]
    hidden: bool,
) -> Result<Found, ToolError> {
    let case = match case.as_str() {
        "sensitive" => Case::Told,
        "insensitive" => Case::Ignored,
        _ => Case::Smart,
    };
    let pattern = match regex {
        true => Pattern::Regex,
        false => Pattern::Literal,
    };
    let query = Query::new(&query, pattern, case, context_lines, max_results)?;
    let wanted = Wanted {
        hidden,
        ignored,
        include: Include::new(&include, "include")?,
        types: types(&language)?,
    };
    ctx.files()
        .work(path, move |desk| lines::search(desk, &query, &wanted))
        .await
}
