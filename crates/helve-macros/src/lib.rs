//! `#[tool]`: a tool out of an `async fn`.
//!
//! All that can be wrong is said when the tool is compiled, at the place where it
//! is wrong, all of it at once, and with what to write instead. What is written
//! out is small: the work is done by the kernel's `__private` module.
//!
//! This crate knows the kernel only by the paths in the code that it writes. Where
//! it repeats a rule of the definition (names, times), a test compares the two.

mod docs;
mod emit;
mod errors;
mod function;
mod parameter;
mod settings;
mod words;

use proc_macro::TokenStream;

/// Makes a tool of an `async fn`.
///
/// The function stays callable as it is. Beside it stands a hidden type of the same
/// name, so that `toolset!` can take the function's path and `use` brings both.
///
/// # The function
///
/// ```
/// # use helve_kernel::{Ctx, ToolError, tool};
/// /// Reads lines of a text file. Use it when you know which file.
/// ///
/// /// Lines are numbered from 1.
/// #[tool(group = "file", risk = "read", idempotent)]
/// async fn read(
///     _ctx: &Ctx,
///     /// The file, from the workspace's root.
///     #[path]
///     path: String,
///     /// How many lines at most.
///     #[default(200)]
///     #[schemars(range(min = 1, max = 2000))]
///     count: usize,
///     /// The first line.
///     first: Option<usize>,
/// ) -> Result<String, ToolError> {
///     let text = std::fs::read_to_string(path)?;
///     let lines = text.lines().skip(first.map_or(0, |f| f - 1)).take(count);
///     Ok(lines.collect::<Vec<_>>().join("\n"))
/// }
/// ```
///
/// - The first paragraph of the doc comment is the description, the rest the detail.
/// - `ctx: &Ctx` comes first, if at all. One parameter that is called `args` is a
///   struct with all arguments (`Deserialize` and `JsonSchema`); any others are an
///   argument each, whose doc comment is its description.
/// - An argument can have `#[default(expr)]`, `#[secret]` (`writeOnly` in the
///   schema), `#[path]` (`format: path`), and what `#[schemars(…)]` and
///   `#[serde(…)]` know of a field. In a struct, `#[schemars(extend("writeOnly" =
///   true))]` and `extend("format" = "path")` say the same.
/// - It gives back something that is `Serialize`, or a `Result` of it with an error
///   that becomes a `ToolError`.
///
/// # The attribute
///
/// | setting | |
/// |---|---|
/// | `group = "file"` | the tool is `file_<function>` |
/// | `name = "file_read"` | the whole name, instead |
/// | `title`, `description`, `category` | text |
/// | `tags`, `aliases`, `triggers`, `warnings` | lists of text |
/// | `risk` | `"read"`, `"exec_low"`, `"exec_high"`, `"write"` |
/// | `timeout` | seconds (`30`), or with a unit (`"500ms"`, `"2m"`) |
/// | `retry`, `retry(max = 3, delay_ms = 200)` | after a transient error |
/// | `idempotent`, `serial`, `sensitive`, `return_direct` | as they are |
/// | `paths = ["."]` | what it may touch of the workspace: its `allowed_paths` |
/// | `held` | all that it does to the world goes through `ctx.files()` and `ctx.records()`, so it can be shown first |
/// | `reversible` | `"yes"` or `"no"`; `compensate = "tool"` names what undoes it |
/// | `version = "1.0.0"` | of the definition |
/// | `prerequisites` | a list of text and `{condition = "…", check_tool = "…", action_if_not_met = "…"}` |
/// | `related` | a list of `"name"` and `("name", "relation")` |
/// | `example(scenario = "…", params = {"a": 1}, expected = "…")` | as many as you like |
/// | `output` | the schema of the result is taken from its type |
#[proc_macro_attribute]
pub fn tool(settings: TokenStream, item: TokenStream) -> TokenStream {
    emit::expand(settings.into(), &item.into()).into()
}
