//! Finding lines in files.

use helve_kernel::{Ctx, ToolError, tool};

use crate::lines::{Case, Found, Pattern, Query, search};
use crate::walk::{Include, Wanted};

/// Finds lines that match a regular expression. Use it when you know what a file says, not which file.
///
/// The lines of all text files beneath `path` are searched one by one; `path` can be a file.
/// What `.gitignore` leaves out is not searched, unless `ignored` says so. In code,
/// `code_search` knows languages as well.
#[tool(
    group = "file",
    title = "Find lines in files",
    category = "File",
    risk = "read",
    held,
    idempotent,
    output,
    timeout = "2m",
    paths = ["."],
    aliases = ["grep", "search_file_content"],
    triggers = ["When it is known what a file says, but not which", "When every place of a word is needed"],
    related = [("code_search", "searches code by language"), ("file_glob", "finds files by name"), ("file_read", "shows what is around a line")],
    example(scenario = "Where something is called", params = {"pattern": "connect\\(", "include": "*.py", "context_lines": 2}, expected = "The lines, with two around each")
)]
#[expect(clippy::too_many_arguments, reason = "each is an argument of the tool")]
pub(super) async fn grep(
    ctx: &Ctx,
    /// The regular expression.
    #[schemars(length(min = 1, max = 10000), extend("x-aliases" = ["query", "regex"]))]
    pattern: String,
    /// The folder or file to search; `.` is the workspace.
    #[path]
    #[default(".")]
    #[schemars(extend("x-aliases" = ["directory", "dir", "folder"]))]
    path: String,
    /// Only files that match: `*.rs` a name, `src/**/*.rs` a path; empty for all.
    #[default("")]
    #[schemars(extend("x-aliases" = ["file_pattern", "glob"]))]
    include: String,
    /// How many lines to show before and after each; 0 for none.
    #[default(0)]
    #[schemars(range(max = 20))]
    context_lines: usize,
    /// How many matches to show at most.
    #[default(50)]
    #[schemars(range(min = 1, max = 1000))]
    max_results: usize,
    /// Whether `a` also finds `A`; false tells them apart.
    #[default(false)]
    #[schemars(extend("x-aliases" = ["ignore_case"]))]
    case_insensitive: bool,
    /// Whether what `.gitignore` leaves out is searched; false leaves it out.
    #[default(false)]
    ignored: bool,
    /// Whether names that begin with a dot are searched; false leaves them out.
    #[default(false)]
    hidden: bool,
) -> Result<Found, ToolError> {
    let case = match case_insensitive {
        true => Case::Ignored,
        false => Case::Told,
    };
    let query = Query::new(&pattern, Pattern::Regex, case, context_lines, max_results)?;
    let wanted = Wanted {
        hidden,
        ignored,
        include: Include::new(&include, "include")?,
        types: None,
    };
    ctx.files()
        .work(path, move |desk| search(desk, &query, &wanted))
        .await
}
