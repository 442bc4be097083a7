//! Hostile inputs that are too large to keep: what a fuzzer's few kilobytes cannot
//! show, because it takes many levels to overflow a stack and many repetitions to
//! tell quadratic time from linear.

/// How many levels, or repetitions.
const MANY: usize = 30_000;

/// Target, what it is, and the input.
pub(crate) fn inputs() -> Vec<(&'static str, &'static str, String)> {
    let r = |text: &str| text.repeat(MANY);
    let named = |line: fn(usize) -> String| (1..MANY / 10).map(line).collect::<String>();
    vec![
        ("json", "lists", r("[")),
        ("json", "objects", r("{\"a\":")),
        ("json", "closed lists", r("[") + &r("]")),
        (
            "json",
            "backslashes in a key",
            format!("{{\"{}\":1}}", r("\\\\")),
        ),
        (
            "json",
            "quotes in a key",
            format!("{{\"{}\":1}}", r("\\\"")),
        ),
        ("toml", "lists", format!("a={}", r("["))),
        ("toml", "inline tables", format!("a={}", r("{a="))),
        ("toml", "a dotted key", format!("{}a=1", r("a."))),
        ("toml", "a dotted header", format!("[{}a]", r("a."))),
        ("toml", "a dotted list header", format!("[[{}a]]", r("a."))),
        ("toml", "headers", named(|i| format!("[t{i}.a.b]\nc=1\n"))),
        ("yaml", "flow lists", r("[")),
        ("yaml", "flow maps", r("{a: ")),
        ("yaml", "block lists", r("- ")),
        ("yaml", "questions", r("? ")),
        ("yaml", "anchors", named(|i| format!("- &a{i} x\n"))),
        ("yaml", "aliases", format!("- &a x\n{}", r("- *a\n"))),
        ("yaml", "named lists", named(|i| format!("&a{i} ["))),
        ("yaml", "documents", r("--- a\n")),
        ("yaml", "non-ASCII keys", named(|i| format!("é{i}: 1\n"))),
        (
            "yaml",
            "aliases of a long text",
            format!("- &a {}\n{}", r("x"), r("- *a\n")),
        ),
        ("python", "lists", format!("A = {}", r("["))),
        ("python", "tuples", format!("A = {}", r("("))),
        ("python", "dicts", r("{'a':")),
        ("python", "types", format!("{{'a': {}", r("list["))),
        ("python", "unclosed lists", r("A = [\n")),
        ("python", "unclosed strings", r("A = ['\n")),
        (
            "python",
            "decorators",
            r("@tool('a', 'b', {})\ndef f(): pass\n"),
        ),
        (
            "python",
            "servers",
            named(|i| {
                format!(
                    "@tool('a', 'b', {{}})\ndef f{i}(): pass\ncreate_sdk_mcp_server('s', tools=[f{i}])\n"
                )
            }),
        ),
        (
            "python",
            "names",
            named(|i| format!("A{i} = [A{}]\n", i - 1)),
        ),
        ("python", "strings in a row", format!("A = [{}]", r("'a' "))),
        ("python", "tuples of one", format!("[{}]", r("(1,),"))),
        ("erlang", "maps", r("#{a => ")),
        ("erlang", "lists", r("[")),
        ("erlang", "tuples", format!("[{}", r("{"))),
        ("erlang", "funs", format!("[{}", r("fun() -> "))),
        (
            "erlang",
            "module macros",
            format!("-module(m).\n[{}x].", r("?MODULE, ")),
        ),
        ("erlang", "dots", r(". ")),
        ("javascript", "lists", format!("export default {}", r("["))),
        (
            "javascript",
            "objects",
            format!("export default {}", r("{a:")),
        ),
        ("javascript", "calls", r("f(")),
        ("javascript", "templates", r("`${")),
        (
            "javascript",
            "sums",
            format!("export default [{}'a']", r("'a' + ")),
        ),
        ("javascript", "constants", r("const a = {b: \n")),
        ("javascript", "open templates", r("const a = {b: `${\n")),
        ("javascript", "divisions", r("a / b\n")),
        ("javascript", "slashes", r(" /")),
        ("javascript", "exports", r("module.exports = {};\n")),
        ("skill", "rules", format!("---\na: 1\n---\n{}", r("---\n"))),
        ("skill", "lists", format!("---\na: {}\n---\n", r("["))),
        ("pattern", "groups", r("(")),
        ("pattern", "closed groups", r("(") + &r(")*")),
        ("pattern", "alternatives", r("a|")),
        ("pattern", "optional", "a?".repeat(MANY / 10)),
        (
            "pattern",
            "a class",
            format!("((([{}]{{8}}){{8}}){{8}})*", "ab-c".repeat(MANY / 10)),
        ),
    ]
}
