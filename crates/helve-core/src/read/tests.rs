//! Every reader on what it must take and what it must refuse.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;
use crate::node::Place;

fn value(text: &str, syntax: Syntax) -> Value {
    match read(text, syntax) {
        Ok(node) => node.to_value(),
        Err(e) => panic!("{}: {e} at {}\n{text}", syntax.name(), e.at),
    }
}

/// Reads what must be refused: the line, the column and the message.
fn refused(text: &str, syntax: Syntax) -> String {
    match read(text, syntax) {
        Ok(node) => panic!("{} took {text:?} for {}", syntax.name(), node.to_value()),
        Err(e) => {
            let place = Place::of(text, e.at);
            format!("{}:{} {}", place.line, place.column, e.problem)
        }
    }
}

fn check(syntax: Syntax, cases: &[(&str, Value)]) {
    for (text, wanted) in cases {
        assert_eq!(&value(text, syntax), wanted, "{}: {text}", syntax.name());
    }
}

fn check_refused(syntax: Syntax, cases: &[(&str, &str)]) {
    for (text, wanted) in cases {
        assert_eq!(&refused(text, syntax), wanted, "{}: {text}", syntax.name());
    }
}

#[test]
fn json() {
    check(
        Syntax::Json,
        &[
            (
                r#"{"b":1,"a":[true,null,"x\u00e9"]}"#,
                json!({"b": 1, "a": [true, null, "xé"]}),
            ),
            (" 18446744073709551615 ", json!(18446744073709551615u64)),
            ("-1.5e3", json!(-1500.0)),
        ],
    );
    check_refused(
        Syntax::Json,
        &[
            ("", "1:1 the text is empty"),
            (
                "{\"a\": [1, 2",
                "1:12 the text ends in the middle of a list; it looks truncated",
            ),
            (
                "{\"a\": \"x",
                "1:9 the text ends in the middle of a string; it looks truncated",
            ),
            (
                "{\n \"a\": 1,\n \"a\": 2\n}",
                "3:2 the key `a` is given twice; the first is on line 2",
            ),
            (
                "{\"a\": 123456789012345678901}",
                "1:7 the number `123456789012345678901` cannot be held exactly; write it as a string",
            ),
        ],
    );
    assert!(refused("{'a': 1}", Syntax::Json).starts_with("1:2 not JSON"));
    assert!(refused("[1] x", Syntax::Json).starts_with("1:5 not JSON"));
    assert!(refused("1e999", Syntax::Json).contains("cannot be held exactly"));
}

#[test]
fn json_keys_are_found_where_they_stand() {
    let text = "{\"one\": {\"t\\\"wo\": [0,\n  {\"three\": 3}]}}";
    let node = read(text, Syntax::Json).unwrap();
    let line = |pointer: &str| {
        let place = Place::of(text, node.locate(pointer));
        (place.line, place.column)
    };
    assert_eq!(line("/one"), (1, 2));
    assert_eq!(line("/one/t\"wo"), (1, 10));
    assert_eq!(line("/one/t\"wo/1/three"), (2, 4));
    // A part that is not there is looked for as deep as it goes.
    assert_eq!(line("/one/t\"wo/1/four/five"), (2, 3));
}

#[test]
fn a_key_among_thousands_is_still_given_once() {
    let keys: Vec<String> = (0..500).map(|i| format!("\"k{i}\": {i}")).collect();
    let good = format!("{{{}}}", keys.join(","));
    assert_eq!(value(&good, Syntax::Json).as_object().unwrap().len(), 500);
    let bad = format!("{{{},\"k3\": 0}}", keys.join(","));
    assert!(refused(&bad, Syntax::Json).contains("`k3` is given twice"));
}

#[test]
fn toml() {
    check(
        Syntax::Toml,
        &[(
            "b = 0x1F\na = 1.5\n[t]\nx = ['p', \"q\"]\n",
            json!({"b": 31, "a": 1.5, "t": {"x": ["p", "q"]}}),
        )],
    );
    assert!(refused("a = 1\na = 2", Syntax::Toml).starts_with("2:1"));
    assert!(refused("a = 1979-05-27", Syntax::Toml).contains("put it in quotes"));
    assert!(refused("a = nan", Syntax::Toml).contains("cannot be held exactly"));
    assert!(refused("a = [1, 2", Syntax::Toml).starts_with("1:"));
}

#[test]
fn yaml() {
    check(
        Syntax::Yaml,
        &[
            (
                "a: no\nb: on\nc: ~\nd: 0x1f\ne: 1_000\nf: .5\n",
                json!({"a": "no", "b": "on", "c": null, "d": 31, "e": "1_000", "f": 0.5}),
            ),
            ("- &x {p: 1}\n- *x\n", json!([{"p": 1}, {"p": 1}])),
            ("a: !!str 5\n", json!({"a": "5"})),
            ("---\na: 1\n---\nb: 2\n", json!([{"a": 1}, {"b": 2}])),
            ("中: |\n  文\n", json!({"中": "文\n"})),
        ],
    );
    assert!(refused("a: 1\na: 2\n", Syntax::Yaml).starts_with("2:1 the key `a` is given twice"));
    assert!(refused("a: {<<: *b}", Syntax::Yaml).starts_with("1:"));
    assert!(refused("<<: {a: 1}", Syntax::Yaml).contains("merge keys"));
    assert!(refused("a: .inf", Syntax::Yaml).contains("cannot be held exactly"));
    assert!(refused("a: !secret x", Syntax::Yaml).contains("!secret"));
    assert!(refused("中文: {a: 1", Syntax::Yaml).starts_with("1:"));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..10 {
        let row: Vec<String> = (0..9).map(|_| format!("*a{}", i - 1)).collect();
        bomb.push_str(&format!("a{i}: &a{i} [{}]\n", row.join(", ")));
    }
    assert!(refused(&bomb, Syntax::Yaml).contains("too many values"));
}

#[test]
fn python() {
    check(
        Syntax::Python,
        &[
            (
                "TOOLS = [\n  {'name': \"a\" 'b', 'description': r'\\d', 'parameters': {}, 'n': 0x_ff, 't': (1, True, None,)},  # c\n]\n",
                json!([{"name": "ab", "description": "\\d", "parameters": {}, "n": 255, "t": [1, true, null]}]),
            ),
            (
                "TEXT = '''two\nlines'''\nT = {'name': 'x', 'description': TEXT + \"!\", 'input_schema': {}}",
                json!([{"name": "x", "description": "two\nlines!", "input_schema": {}}]),
            ),
            (
                "{'a': -1.5e3, 'b': '\\u4e2d\\x41\\101\\n'}",
                json!({"a": -1500.0, "b": "中AA\n"}),
            ),
            (
                "import os\n\ndef f(x):\n    return {'name': x}\n\nT = {'name': 'x', 'parameters': {}}\n",
                json!([{"name": "x", "parameters": {}}]),
            ),
        ],
    );
    check_refused(
        Syntax::Python,
        &[
            (
                "T = [{'name': 'x', 'description': make()}]",
                "1:35 `make` is not a literal; write its value out",
            ),
            (
                "T = [{'name': f'x{y}', 'description': 'd'}]",
                "1:15 a string with the prefix `f` is not a plain literal",
            ),
            (
                "T = {'name': 'x', 'description': 'd', 'name': 'y'}",
                "1:39 the key `name` is given twice; the first is on line 1",
            ),
        ],
    );
    assert!(refused("x = 1", Syntax::Python).starts_with("1:1 no tool here"));
    assert!(refused("T = [{'name': 'x', 'description': 'd'", Syntax::Python).contains("truncated"));
    assert!(
        refused("T = {'name': 'x', 'description': 'd\n'}", Syntax::Python).contains("not closed")
    );
}

#[test]
fn python_decorators() {
    let text = r#"
from claude_agent_sdk import tool, create_sdk_mcp_server

@tool(
    "search",
    "Looks " "things up",
    {
        "query": str,          # what to look for
        "limit": int,
        "tags": list[str],     # all of them
        "kind": Annotated[str, "which"],
    },
    annotations=ToolAnnotations(readOnlyHint=True),
)
async def search(args):
    text = "@tool('not', 'one', {})"
    return {}

@tool(name="ping", description="d", input_schema={})
def ping_it(args): ...

@other
def no(): ...

def make():
    return create_sdk_mcp_server(name="web", version="1.0.0", tools=[
        search,  # ping_it is not here
    ])
"#;
    let wanted = json!([
        {
            "name": "search",
            "description": "Looks things up",
            "input_schema": {
                "query": "Annotated[str, \"what to look for\"]",
                "limit": "int",
                "tags": "Annotated[list[str], \"all of them\"]",
                "kind": "Annotated[str, \"which\"]",
            },
            "annotations": {"readOnlyHint": true},
            "server": "web",
        },
        {"name": "ping", "description": "d", "input_schema": {}},
    ]);
    assert_eq!(value(text, Syntax::Python), wanted);
}

#[test]
fn erlang() {
    check(
        Syntax::Erlang,
        &[
            (
                "#{name => <<\"a\">>, 'quoted key' => \"s\" \"t\", n => 16#1F, f => 1.5e3, c => $A, l => [true, undefined, atom]}.",
                json!({"name": "a", "quoted key": "st", "n": 31, "f": 1500.0, "c": 65, "l": [true, null, "atom"]}),
            ),
            (
                "%% c\nT = #{name => <<\"中文\"/utf8>>}.\nU = #{name => <<\"b\" \"c\">>}.",
                json!([{"name": "中文"}, {"name": "bc"}]),
            ),
            (
                "beamai_tool:new(<<\"x\">>, fun handle/1, #{timeout => 5}).",
                json!({"name": "x", "handler": {"$erlang": "fun handle/1"}, "timeout": 5}),
            ),
            (
                "#{name => <<\"x\">>, handler => fun(A, _) -> case A of #{end_ := 1} -> fun() -> \"end\" end; _ -> ok end end, k => 1}",
                json!({"name": "x", "handler": {"$erlang": "fun(A, _) -> case A of #{end_ := 1} -> fun() -> \"end\" end; _ -> ok end end"}, "k": 1}),
            ),
            (
                "-module(m).\n-export([tools/0]).\ntool_info() -> #{tags => [<<\"t\">>]}.\ntools() -> [#{name => <<\"x\">>, handler => fun ?MODULE:h/2}].\nh(_, _) -> {ok, 1.5}.\n",
                json!({"tool_info": {"tags": ["t"]}, "tools": [{"name": "x", "handler": {"$erlang": "fun m:h/2"}}]}),
            ),
        ],
    );
    check_refused(
        Syntax::Erlang,
        &[
            (
                "#{a => 1, a => 2}.",
                "1:11 the key `a` is given twice; the first is on line 1",
            ),
            (
                "#{a => <<\"x",
                "1:10 the text ends in the middle of a string; it looks truncated",
            ),
            (
                "#{a => fun() -> x",
                "1:11 the text ends in the middle of a fun; it looks truncated",
            ),
            ("#{a -> 1}.", "1:5 expected `=>` in a map, found `-`"),
        ],
    );
    assert!(refused("hello() -> world.", Syntax::Erlang).contains("no tool here"));
}

#[test]
fn javascript() {
    check(
        Syntax::JavaScript,
        &[
            (
                "const fs = require('fs')\n/* c */\nconst tool = {\n  name: 'read', // n\n  'description': \"a\" + `b`,\n  inputSchema: { type: 'object', required: ['x'], n: -1.5, },\n  handler: async (args, ctx) => { if (/[}\"]/.test(args.x)) { return `${args.x}}` } },\n}\nmodule.exports = tool\n",
                json!({
                    "name": "read", "description": "ab",
                    "inputSchema": {"type": "object", "required": ["x"], "n": -1.5},
                    "handler": {"$javascript": "async (args, ctx) => { if (/[}\"]/.test(args.x)) { return `${args.x}}` } }"},
                }),
            ),
            (
                "export default { name: 'x', async handler(args) { return 1 }, on: true, none: undefined }",
                json!({"name": "x", "handler": {"$javascript": "async handler(args) { return 1 }"}, "on": true, "none": null}),
            ),
            (
                "const a = { ...b }\nmodule.exports = { name: 'x' }",
                json!({"name": "x"}),
            ),
        ],
    );
    assert!(refused("const a = 1", Syntax::JavaScript).contains("no tool here"));
    assert!(
        refused("module.exports = { ...base }", Syntax::JavaScript).contains("write the keys out")
    );
    assert!(refused("module.exports = { name: 'x", Syntax::JavaScript).contains("truncated"));
    assert!(refused("module.exports = nothing", Syntax::JavaScript).contains("`nothing`"));
}

#[test]
fn skill() {
    let text = "---\nname: a-b\ndescription: x\n---\n\n# Body\n---\n";
    let wanted =
        json!({"frontmatter": {"name": "a-b", "description": "x"}, "body": "\n# Body\n---\n"});
    assert_eq!(value(text, Syntax::Skill), wanted);
    check_refused(
        Syntax::Skill,
        &[
            (
                "# no front",
                "1:1 a skill begins with `---` and its frontmatter",
            ),
            (
                "---\nname: x\n",
                "3:1 the text ends in the middle of the frontmatter; it looks truncated",
            ),
            (
                "---\nname: x\nname: y\n---\n",
                "3:1 the key `name` is given twice; the first is on line 1",
            ),
        ],
    );
}

#[test]
fn nothing_nests_a_thousand_deep() {
    let open = |o: &str, c: &str| format!("{}{}", o.repeat(1000), c.repeat(1000));
    let cases = [
        (Syntax::Json, open("[", "]")),
        (
            Syntax::Json,
            open("{\"a\":", "}").replace("{\"a\":}", "{\"a\":1}"),
        ),
        (Syntax::Toml, format!("a = {}", open("[", "]"))),
        (Syntax::Yaml, open("[", "]")),
        (
            Syntax::Yaml,
            (0..1000)
                .map(|i| format!("{}a:\n", " ".repeat(i)))
                .collect(),
        ),
        (Syntax::Python, open("[", "]")),
        (Syntax::Python, format!("[{}]", "(".repeat(1000))),
        (Syntax::Erlang, format!("{}.", open("[", "]"))),
        (
            Syntax::JavaScript,
            format!("module.exports = {}", open("[", "]")),
        ),
        (
            Syntax::JavaScript,
            format!("module.exports = [{}]", "`${".repeat(1000)),
        ),
        (Syntax::Skill, format!("---\na: {}\n---\n", open("[", "]"))),
    ];
    for (syntax, text) in cases {
        let message = refused(&text, syntax);
        assert!(
            message.contains("nested too deep"),
            "{}: {message}",
            syntax.name()
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = text(b"{\"a\": \"\xff\"}").unwrap_err();
    assert_eq!((error.at, error.problem), (7, Problem::NotUtf8(0xff)));
    let large = vec![b' '; MAX_BYTES + 1];
    assert_eq!(text(&large).unwrap_err().problem, Problem::TooLarge);
    assert_eq!(text("\u{feff}{}".as_bytes()), Ok("{}"));
}

#[test]
fn a_syntax_is_guessed_from_a_text() {
    let cases = [
        ("{\"a\": 1}", Syntax::Json),
        (" [1]", Syntax::Json),
        ("name = \"x\"", Syntax::Toml),
        ("[tool]\na = 1", Syntax::Toml),
        ("name: x", Syntax::Yaml),
        ("---\nname: x\n---\nbody", Syntax::Skill),
        ("#{name => <<\"x\">>}.", Syntax::Erlang),
        ("-module(x).", Syntax::Erlang),
        ("TOOLS = [\n  {}\n]", Syntax::Python),
        ("@tool('a', 'b', {})\ndef f(): ...", Syntax::Python),
        ("module.exports = {}", Syntax::JavaScript),
    ];
    for (text, wanted) in cases {
        assert_eq!(Syntax::guess(text), wanted, "{text}");
    }
}
