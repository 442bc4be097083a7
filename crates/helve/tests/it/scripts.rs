//! Tools in other languages, from files in folders to calls.

use serde_json::{Value, json};

use crate::hub::{BARE, both, says};
use crate::run::Folder;
use crate::server::{Server, until};

fn folder(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    folder.write("helve.toml", BARE);
    for (name, text) in files {
        folder.write(name, text);
    }
    folder
}

const UPPER: &str = "module.exports = {
  name: 'upper',
  description: 'Makes a text upper case. Use it to shout.',
  inputSchema: {type: 'object', properties: {text: {type: 'string', description: 'The text'}}, required: ['text']},
  handler: async (args, ctx) => ({content: [{type: 'text', text: args.text.toUpperCase()}]}),
}
";

const KEEP: &str = "from claude_agent_sdk import tool, create_sdk_mcp_server

@tool('keep', 'Keeps a thought. Use it when something must last.', {
    'content': str,  # what to keep
    'limit': int,    # how many
})
async def keep(args):
    return {'content': [{'type': 'text', 'text': args['content'] + str(args.get('limit', 5))}]}

server = create_sdk_mcp_server(name='mem', version='1.0.0', tools=[keep])
";

const ADD: &str = "def add(a: int, b: int = 2) -> int:
    \"\"\"Adds two numbers. Use it for sums.

    Args:
        a: The first
        b: The second
    \"\"\"
    return a + b
";

const WEATHER: &str = "-module(weather_tools).
-export([tool_info/0, tools/0, get/2]).
tool_info() -> #{description => <<\"Weather\">>, tags => [<<\"weather\">>]}.
tools() -> [#{name => <<\"get_weather\">>,
    description => <<\"Tells the weather of a city. Use it before going out.\">>,
    parameters => #{<<\"city\">> => #{type => string, required => true, description => <<\"City\">>}},
    handler => fun ?MODULE:get/2}].
get(#{<<\"city\">> := City}, _Ctx) -> {ok, #{city => City, temp => 25}}.
";

const LINES: &str = "#!/bin/sh
# ---
# name: text_lines
# description: Counts the lines of a text. Use it to know how long it is.
# risk: read
# input_schema:
#   type: object
#   properties:
#     text: {type: string, description: The text}
#   required: [text]
# ---
printf '%s' \"$ARG_TEXT\" | wc -l
";

const SELF: &str = "#!/usr/bin/python3
import json, sys
if sys.argv[1:] == ['--describe']:
    print(json.dumps({
        'name': 'any_double', 'risk': 'read',
        'description': 'Doubles a number. Use it for twice as much.',
        'input_schema': {'type': 'object', 'properties': {'n': {'type': 'integer', 'description': 'The number'}}, 'required': ['n']},
        'output_schema': {'type': 'object'},
    }))
else:
    print(json.dumps({'doubled': 2 * json.load(sys.stdin)['n']}))
";

fn program(folder: &Folder, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path().join(name);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn call(folder: &Folder, args: &[&str]) -> Value {
    let all: Vec<&str> = [&["call"], args, &["--json"]].concat();
    folder.helve(&all).ended(0).json()["data"].take()
}

#[test]
fn in_every_language_under_their_old_names() {
    let folder = folder(&[
        ("tools/text/upper.js", UPPER),
        (
            "tools/text/plain.mjs",
            &UPPER
                .replace("module.exports =", "export default")
                .replace("'upper'", "'loud'"),
        ),
        ("tools/mem/mem.py", KEEP),
        ("tools/math/add.py", ADD),
        ("tools/weather/weather_tools.erl", WEATHER),
        ("tools/text/lines.sh", LINES),
        ("tools/any/double", SELF),
    ]);
    program(&folder, "tools/text/lines.sh");
    program(&folder, "tools/any/double");
    for name in ["text_upper", "internal_text_upper"] {
        assert_eq!(call(&folder, &[name, "text=ab"]), "AB");
    }
    assert_eq!(call(&folder, &["text_loud", "text=ab"]), "AB");
    for name in ["keep", "mcp__mem__keep"] {
        assert_eq!(call(&folder, &[name, "content=x"]), "x5");
    }
    for name in ["math_add", "add"] {
        assert_eq!(call(&folder, &[name, "a=40"]), 42);
    }
    let weather = call(&folder, &["get_weather", "city=Oslo"]);
    assert_eq!(weather, json!({"city": "Oslo", "temp": 25}));
    assert_eq!(
        call(&folder, &["text_lines", "text=a\nb\n"])["stdout"],
        "2\n"
    );
    assert_eq!(
        call(&folder, &["any_double", "n=21"]),
        json!({"doubled": 42})
    );
    let tools = folder.json(&["tools", "--json"]);
    let tools = tools.as_array().unwrap();
    let of = |name: &str| tools.iter().find(|t| t["id"] == name).unwrap();
    assert_eq!(of("get_weather")["definition"]["tags"], json!(["weather"]));
    assert_eq!(of("text_upper")["source"], "tools/text/upper.js");
    assert_eq!(of("text_upper")["definition"]["risk"], "exec_low");
    let about = &of("keep")["definition"]["input_schema"]["properties"]["content"];
    assert_eq!(about["description"], "what to keep");
}

#[test]
fn one_broken_file_is_told_and_the_others_load() {
    let broken = UPPER.replace("name: 'upper'", "name: ");
    let folder = folder(&[
        ("tools/text/upper.js", UPPER),
        ("tools/text/broken.js", &broken),
        (
            "tools/text/words.js",
            "exports.word = 'for its neighbours'\n",
        ),
        ("tools/text/broken.py", "def f(:\n"),
        (
            "tools/text/noschema.js",
            "module.exports = {name: 'Bad-Name!', description: 'x', handler: () => 1}\n",
        ),
    ]);
    let ran = folder.helve(&["tools"]).ended(0);
    assert!(ran.out.contains("text_upper"), "{}", ran.out);
    says(
        &ran,
        &[
            "tools/text/broken.js:2:",
            "SyntaxError",
            "tools/text/broken.py:1:",
            "tools/text/noschema.js: ",
        ],
    );
    assert!(!ran.err.contains("words.js"), "{}", ran.err);
    assert_eq!(call(&folder, &["text_upper", "text=ab"]), "AB");
}

#[test]
fn what_was_found_is_kept_while_the_files_are_the_same() {
    let folder = folder(&[("tools/text/upper.js", UPPER)]);
    folder.helve(&["tools"]).ended(0);
    let kept = folder.path().join(".helve/scripts.json");
    let text = std::fs::read_to_string(&kept).unwrap();
    // As if it had said something else: what is kept is what counts.
    std::fs::write(&kept, text.replace("to shout", "to whisper")).unwrap();
    assert!(
        folder
            .json(&["tools", "--json"])
            .to_string()
            .contains("to whisper")
    );
    folder.write(
        "tools/text/upper.js",
        UPPER.replace("to shout", "to be loud"),
    );
    assert!(
        folder
            .json(&["tools", "--json"])
            .to_string()
            .contains("to be loud")
    );
}

#[test]
fn edited_files_reload() {
    let folder = folder(&[("tools/text/upper.js", UPPER)]);
    let server = Server::start(folder.path());
    assert_eq!(call(&folder, &["text_upper", "text=ab"]), "AB");
    folder.write(
        "tools/text/upper.js",
        UPPER.replace("toUpperCase()", "toUpperCase() + '!'"),
    );
    until("the new one answers", || {
        let ran = folder.helve(&["call", "text_upper", "text=ab", "--json"]);
        (ran.json()["data"] == "AB!").then_some(())
    });
    // A broken one leaves the tool as it was, and it is not run: it is not what was registered.
    folder.write("tools/text/upper.js", "module.exports = {");
    until("it is refused", || {
        let ran = folder.helve(&["call", "text_upper", "text=ab", "--json"]);
        (ran.json()["error"]["type"] == "conflict").then_some(())
    });
    std::fs::remove_file(folder.path().join("tools/text/upper.js")).unwrap();
    until("it is gone", || {
        let tools = folder.json(&["tools", "--json"]).to_string();
        (!tools.contains("text_upper")).then_some(())
    });
    server.stop(folder.path());
}

#[test]
fn what_a_folder_may_do_is_for_the_operator_to_say() {
    let put = "const fs = require('fs')
module.exports = {
  name: 'put', description: 'Keeps a text. Use it to write it down.',
  inputSchema: {type: 'object', properties: {text: {type: 'string', description: 'The text'}}, required: ['text']},
  handler: async ({text}) => { fs.writeFileSync('data/note', text + (process.env.SIGN || '') + (process.env.KEY || '')); return 'kept' },
}
";
    both(|folder| {
        folder.write(
            "helve.toml",
            format!(
                "{BARE}[secrets]\nkey = \"file:key.txt\"\n\
                 [scripts.folders.\"tools/note\"]\nallowed_paths = [\"data\"]\n\
                 env = {{ SIGN = \"!\" }}\nsecrets = {{ KEY = \"key\" }}\n\
                 [[policy]]\neffect = \"allow\"\ntool = \"note_put\"\n"
            ),
        );
        folder.write("key.txt", "s3cret\n");
        folder.write("data/.keep", "");
        folder.write("tools/note/put.js", put);
        until("the tool is there", || {
            let tools = folder.json(&["tools", "--json"]).to_string();
            tools.contains("note_put").then_some(())
        });
        let answer = folder.helve(&["call", "note_put", "text=a", "--json"]);
        let answer = answer.json();
        if answer["ok"] == true {
            let run = answer["meta"]["run_id"].as_str().unwrap();
            let kept = || std::fs::read_to_string(folder.path().join("data/note")).ok();
            // A hub that runs takes what is said of scripts at its next start.
            let kept_now = kept().unwrap();
            assert!(kept_now == "a!s3cret" || kept_now == "a", "{kept_now}");
            folder.helve(&["undo", run]).ended(0);
            assert_eq!(kept(), None);
        } else {
            panic!("{answer}");
        }
    });
}

#[test]
fn bad_words_about_scripts() {
    let folder = folder(&[("tools/text/upper.js", UPPER)]);
    let cases = [
        ("[scripts]\npool = 0\n", "`scripts.pool` must be at least 1"),
        ("[scripts]\nnod = \"x\"\n", "nod"),
        (
            "[scripts.folders.\"tools/text\"]\nrisk = \"none\"\n",
            "`none` is none of",
        ),
    ];
    for (text, wanted) in cases {
        folder.write("helve.toml", format!("{BARE}{text}"));
        says(&folder.helve(&["tools"]).ended(3), &[wanted]);
    }
    let missing = "[scripts.folders.\"tools/text\"]\nsecrets = { KEY = \"none\" }\n[scripts]\nnode = \"no-such-node\"\n";
    let (folders, scripts) = missing.split_once("[scripts]\n").unwrap();
    folder.write("helve.toml", format!("{BARE}[scripts]\n{scripts}{folders}"));
    let ran = folder.helve(&["tools"]).ended(0);
    says(
        &ran,
        &[
            "do without the secret `none`",
            "the program `no-such-node` was not found",
            "[scripts] node",
        ],
    );
}

#[test]
fn a_new_tool_works_and_has_a_test() {
    let folder = folder(&[]);
    for language in ["javascript", "python", "erlang", "shell"] {
        let name = format!("{language}_count");
        let ran = folder
            .helve(&["new", "tool", &name, "--language", language])
            .ended(0);
        says(&ran, &["made tools/", &format!("helve test {name}")]);
        let again = folder
            .helve(&["new", "tool", &name, "--language", language])
            .ended(4);
        says(&again, &["is there already"]);
        let counted = call(&folder, &[&name, "text=one two three"]);
        assert_eq!(
            (&counted["words"], &counted["letters"]),
            (&json!(3), &json!(11)),
            "{language}"
        );
    }
    let ran = folder.helve(&["test"]).ended(0);
    says(&ran, &["4 examples passed, 0 failed"]);
    // A test that can fail.
    let path = "tools/python/count.py";
    let text = std::fs::read_to_string(folder.path().join(path)).unwrap();
    folder.write(path, text.replace("\"letters\": 6", "\"letters\": 7"));
    let ran = folder.helve(&["test", "python_count"]).ended(1);
    says(
        &ran,
        &[
            "fail  python_count: Two words",
            "it must answer",
            "0 examples passed, 1 failed",
        ],
    );
    let tried = folder.helve(&["test", "--json"]).ended(1).json();
    assert_eq!(
        tried
            .as_array()
            .unwrap()
            .iter()
            .filter(|t| t["passed"] == true)
            .count(),
        3
    );
    says(
        &folder
            .helve(&["new", "tool", "Nope", "-l", "shell"])
            .ended(2),
        &["is no name of a tool"],
    );
    says(
        &folder.helve(&["new", "tool", "text_x"]).ended(2),
        &["there is nobody to ask", "--language"],
    );
}

#[test]
fn examples_change_nothing() {
    let put = "const fs = require('fs')
module.exports = {
  name: 'put', description: 'Keeps a text. Use it to write it down.', allowed_paths: ['data'],
  inputSchema: {type: 'object', properties: {text: {type: 'string', description: 'The text'}}, required: ['text']},
  examples: [
    {scenario: 'Kept', params: {text: 'a'}, expected: '\"kept\"'},
    {scenario: 'Nothing to keep', params: {text: ''}, expected: 'error: nothing'},
  ],
  handler: async ({text}) => { if (!text) throw new Error('nothing to keep'); fs.writeFileSync('data/note', text); return 'kept' },
}
";
    let folder = folder(&[("tools/note/put.js", put), ("data/.keep", "")]);
    says(
        &folder.helve(&["test", "note_put"]).ended(0),
        &["2 examples passed, 0 failed"],
    );
    assert!(!folder.path().join("data/note").exists());
}

#[test]
fn a_service_is_a_toolset_of_the_hub() {
    let peek = "module.exports = {
  name: 'peek', description: 'Looks at the note. Use it to see what it says.',
  handler: async (args, ctx) => {
    const read = await ctx.service.file.read({path: 'note.txt'})
    try { await ctx.service.file.read({path: '../outside'}) } catch (e) { return [read.content, e.type] }
  },
}
";
    let folder = Folder::new();
    folder.write("note.txt", "remember the milk\n");
    folder.write("tools/note/peek.js", peek);
    let said = call(&folder, &["note_peek"]);
    assert!(
        said[0].as_str().unwrap().contains("remember the milk"),
        "{said}"
    );
    assert_eq!(said[1], "permission", "{said}");
    // Each is on record.
    let runs = folder.json(&["runs", "--json"]);
    let of = |tool: &str| {
        let runs = runs.as_array().unwrap().iter();
        runs.filter(|run| run["tool"] == tool).count()
    };
    assert_eq!((of("note_peek"), of("file_read")), (1, 1));
}

/// Copies a folder of examples into a workspace.
fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(std::fs::copy(&path, &to).unwrap()),
        }
    }
}

#[test]
fn the_tools_of_the_documents_run_as_they_are() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = examples.join("../helve-exec/hosts/examples");
    let folder = folder(&[("data/.keep", "")]);
    for (from, to) in [
        ("javascript/internal-tools", "internal-tools"),
        ("python", "python"),
        ("erlang", "erlang"),
    ] {
        copy(&examples.join(from), &folder.path().join(to));
    }
    folder.write(
        "helve.toml",
        format!(
            "tools = [\"internal-tools\", \"python\", \"erlang\"]\n{BARE}\
             [scripts.folders.\"internal-tools\"]\nallowed_paths = [\"data\"]\n\
             [scripts.folders.python]\nallowed_paths = [\"data\"]\n\
             env = {{ MEMORY_FILE = \"data/memory.json\", CHATLOG_FILE = \"data/chat.jsonl\" }}\n\
             [[policy]]\neffect = \"allow\"\ntool = \"*\"\n"
        ),
    );
    let tools = folder.json(&["tools", "--json"]);
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|t| {
            let aliases = t["definition"]["aliases"].as_array().into_iter().flatten();
            std::iter::once(&t["id"])
                .chain(aliases)
                .filter_map(Value::as_str)
        })
        .collect();
    for name in [
        "internal_file_read",
        "internal_file_write",
        "internal_file_list",
        "internal_file_delete",
        "internal_file_mkdir",
        "internal_file_move",
        "internal_file_copy",
        "internal_code_search",
        "internal_system_execute",
        "mcp__web__web_search",
        "mcp__web__web_fetch",
        "mcp__memory__recall_memory",
        "mcp__memory__remember",
        "mcp__memory__get_user_profile",
        "mcp__memory__list_memories",
        "mcp__memory__forget",
        "mcp__chatlog__get_chatlog_stats",
        "mcp__chatlog__search_person",
        "mcp__chatlog__list_topics",
        "mcp__chatlog__search_by_topics",
        "mcp__chatlog__search_by_keywords",
        "mcp__chatlog__load_messages",
        "mcp__chatlog__expand_query",
        "mcp__chatlog__search_semantic",
        "mcp__chatlog__filter_by_person",
        "mcp__chatlog__format_messages",
        "get_weather",
    ] {
        assert!(names.contains(&name), "no `{name}` in {names:?}");
    }
    call(
        &folder,
        &["internal_file_write", "path=data/a.txt", "content=hello"],
    );
    assert_eq!(
        call(&folder, &["internal_file_read", "path=data/a.txt"]),
        "hello"
    );
    let found = call(&folder, &["internal_code_search", "query=hello"]);
    assert!(found.to_string().contains("a.txt"), "{found}");
    let ran = folder
        .helve(&["call", "internal_file_delete", "path=data/a.txt", "--json"])
        .ended(0);
    assert!(!folder.path().join("data/a.txt").exists());
    let run = ran.json()["meta"]["run_id"].as_str().unwrap().to_owned();
    folder.helve(&["undo", &run]).ended(0);
    assert_eq!(
        std::fs::read_to_string(folder.path().join("data/a.txt")).unwrap(),
        "hello"
    );
    call(
        &folder,
        &[
            "mcp__memory__remember",
            "category=fact",
            "content=likes tea",
        ],
    );
    let found = call(&folder, &["recall_memory", "topic=tea"]);
    assert!(found.to_string().contains("likes tea"), "{found}");
    let weather = call(&folder, &["get_weather", "city=Oslo"]);
    assert_eq!(weather["city"], "Oslo");
}
