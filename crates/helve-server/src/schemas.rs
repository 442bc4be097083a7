//! The shapes of requests and answers, as JSON Schema.

mod changes;
mod upstreams;

use helve_core::dialect::DIALECTS;
use helve_kernel::{ApprovalState, Permission, RunState};
use serde_json::{Map, Value, json};

use crate::api::tokens::NAME;
use crate::api::tools::WHY;

const RISKS: [&str; 4] = ["read", "exec_low", "exec_high", "write"];

/// Whether a body of this schema must be there.
pub(crate) fn needed(schema: &str) -> bool {
    !matches!(schema, "Reason" | "ToolCall" | "UndoRun" | "Nothing")
}

fn words<'w>(words: impl Iterator<Item = &'w str>) -> Value {
    json!({"type": "string", "enum": words.collect::<Vec<_>>()})
}

/// The same, or null, which counts as absent.
fn maybe_words(words: &[&str]) -> Value {
    let mut all: Vec<Value> = words.iter().map(|w| (*w).into()).collect();
    all.push(Value::Null);
    json!({"type": ["string", "null"], "enum": all})
}

/// Text of one line.
const LINE: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";

fn line(most: usize) -> Value {
    json!({"type": "string", "maxLength": most, "pattern": LINE})
}

fn maybe_line(most: usize) -> Value {
    json!({"type": ["string", "null"], "maxLength": most, "pattern": LINE})
}

/// A name that is not blank.
fn named(most: usize) -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": most,
        "allOf": [{"pattern": LINE}, {"pattern": r"\S"}],
    })
}

/// What the kernel makes of such a prefix.
fn id(prefix: &str) -> Value {
    json!({"type": "string", "pattern": format!("^{prefix}_[0-9a-f]{{32}}$")})
}

fn maybe_id(prefix: &str) -> Value {
    json!({"type": ["string", "null"], "pattern": format!("^{prefix}_[0-9a-f]{{32}}$")})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object with these properties and no others. Those marked with `?` may be absent.
fn object(properties: &[(&str, Value)]) -> Value {
    let mut all = Map::new();
    let mut required = Vec::new();
    for (name, schema) in properties {
        let plain = name.trim_end_matches('?');
        if plain == *name {
            required.push(plain);
        }
        all.insert(plain.to_owned(), schema.clone());
    }
    json!({
        "type": "object",
        "properties": all,
        "required": required,
        "additionalProperties": false,
    })
}

fn page(item: &Value) -> Value {
    object(&[
        ("items", json!({"type": "array", "items": item})),
        ("next", maybe("string")),
    ])
}

fn maybe(kind: &str) -> Value {
    json!({"type": [kind, "null"]})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn maybe_time() -> Value {
    json!({"type": ["string", "null"], "format": "date-time"})
}

fn hash() -> Value {
    json!({"type": "string", "pattern": "^[0-9a-f]{64}$"})
}

fn any_object() -> Value {
    json!({"type": "object"})
}

/// All schemas, by name.
pub(crate) fn all() -> Map<String, Value> {
    let mut all = Map::new();
    let bodies = bodies()
        .into_iter()
        .chain(changes::bodies())
        .chain(upstreams::bodies());
    for (name, schema) in simple().into_iter().chain(bodies).chain(answers()) {
        all.insert(name.to_owned(), schema);
    }
    all
}

fn simple() -> Vec<(&'static str, Value)> {
    let states = RunState::ALL.iter().map(|s| s.as_str());
    let approvals = ApprovalState::ALL.iter().map(|s| s.as_str());
    vec![
        ("Text", text()),
        ("Name", json!({"type": "string", "minLength": 1})),
        ("RunId", id("run")),
        ("ApprovalId", id("apr")),
        ("QuestionId", id("qst")),
        ("TokenId", id("tok")),
        ("Why", line(WHY)),
        (
            "Budget",
            json!({"type": "integer", "minimum": 1, "maximum": 1_000_000, "default": 4000}),
        ),
        ("Time", json!({"type": "string", "format": "date-time"})),
        (
            "Number",
            json!({"type": "integer", "minimum": 0, "maximum": i64::MAX}),
        ),
        (
            "Limit",
            json!({"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
        ),
        ("Flag", json!({"type": "boolean"})),
        ("Anything", any_object()),
        ("RunState", words(states)),
        ("ApprovalState", words(approvals)),
        (
            "Permission",
            words(Permission::ALL.iter().map(|p| p.as_str())),
        ),
        ("Risk", words(RISKS.into_iter())),
        ("Dialect", words(DIALECTS.iter().map(|d| d.name))),
    ]
}

fn bodies() -> Vec<(&'static str, Value)> {
    let call: Vec<(&str, Value)> = vec![
        (
            "args?",
            json!({"type": ["object", "string", "null"], "description": "The arguments, by name."}),
        ),
        (
            "arguments?",
            json!({"type": ["object", "string", "null"], "description": "The same as `args`."}),
        ),
        ("wait?", maybe_words(&["nothing", "run", "decision"])),
        ("agent_id?", maybe_line(128)),
        ("context?", maybe("object")),
        (
            "dry_run?",
            json!({"type": ["boolean", "null"], "description": "Only to see what it would change."}),
        ),
    ];
    let both = json!({"required": ["args", "arguments"]});
    let mut call_of = object(&call);
    call_of["not"] = both.clone();
    let mut by_name = vec![("tool_id?", text()), ("tool?", text())];
    by_name.extend(call);
    let mut run_of = object(&by_name);
    run_of["not"] = both;
    run_of["oneOf"] = json!([{"required": ["tool_id"]}, {"required": ["tool"]}]);
    vec![
        (
            "Search",
            object(&[
                (
                    "queries",
                    json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 32}),
                ),
                ("group?", maybe("string")),
                (
                    "tags?",
                    json!({"type": ["array", "null"], "items": {"type": "string"}}),
                ),
                (
                    "risk?",
                    maybe_words(&["read", "exec_low", "exec_high", "write"]),
                ),
                (
                    "limit?",
                    json!({"type": ["integer", "null"], "minimum": 1, "maximum": 100}),
                ),
            ]),
        ),
        (
            "Definition",
            json!({
                "type": "object",
                "description": "A tool: Helve's own fields, or those of any other dialect.",
                "examples": [{
                    "id": "backup_notes",
                    "name": "Back up notes",
                    "description": "Copies the notes. Use it before a change.",
                    "risk_level": "write",
                    "executor": "docker",
                    "args_schema": {"type": "object", "properties": {"source": {"type": "string"}}},
                    "command": ["python", "/app/scripts/backup_notes.py"],
                }],
            }),
        ),
        (
            "Patch",
            json!({"type": "object", "description": "A JSON merge patch (RFC 7396)."}),
        ),
        (
            "Rollback",
            object(&[("version", semver()), ("why?", maybe_line(WHY))]),
        ),
        ("ToolCall", call_of),
        ("RunCall", run_of),
        (
            "QuestionAnswer",
            object(&[(
                "answer",
                json!({"description": "What is said, as the question's `form` wants it."}),
            )]),
        ),
        (
            "Reason",
            object(&[(
                "reason?",
                json!({"type": ["string", "null"], "maxLength": 1000}),
            )]),
        ),
        (
            "NewToken",
            json!({"anyOf": [new_token("person"), new_token("agent")]}),
        ),
        (
            "Explain",
            object(&[
                ("tool", text()),
                ("args?", maybe("object")),
                ("principal?", maybe_line(128)),
            ]),
        ),
    ]
}

/// A token to be. A person's names its owner; an agent's decides nothing.
fn new_token(kind: &str) -> Value {
    let person = kind == "person";
    let rights = Permission::ALL
        .iter()
        .filter(|p| person || **p != Permission::ApprovalDecide);
    let rights = words(rights.map(|p| p.as_str()));
    let (kind, owner, owner_is) = match person {
        true => ("kind", "owner", named(128)),
        false => (
            "kind?",
            "owner?",
            json!({"anyOf": [named(128), {"type": "null"}]}),
        ),
    };
    let kind_is = match person {
        true => words(["person"].into_iter()),
        false => maybe_words(&["agent"]),
    };
    object(&[
        ("name", named(NAME)),
        (kind, kind_is),
        (owner, owner_is),
        (
            "permissions?",
            json!({"type": ["array", "null"], "items": rights}),
        ),
        (
            "scopes?",
            json!({"type": ["array", "null"], "items": {"type": "string"}}),
        ),
        ("max_risk?", maybe_words(&RISKS)),
        (
            "expires_in?",
            json!({"type": ["integer", "null"], "minimum": 1, "maximum": 316_224_000}),
        ),
    ])
}

fn semver() -> Value {
    let number = "(0|[1-9][0-9]{0,17})";
    let word = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
    let before = format!(r"(-{word}(\.{word})*)?");
    let build = r"(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?";
    json!({"type": "string", "pattern": format!(r"^{number}\.{number}\.{number}{before}{build}$")})
}

fn answers() -> Vec<(&'static str, Value)> {
    let mut all = registry();
    all.extend(runs());
    all.extend(changes::answers());
    all.extend(upstreams::answers());
    all.extend(governance());
    all
}

fn registry() -> Vec<(&'static str, Value)> {
    let version = object(&[
        ("version", text()),
        ("hash", hash()),
        ("by", text()),
        ("at", time()),
        ("why", maybe("string")),
        ("current", json!({"type": "boolean"})),
        ("definition", any_object()),
    ]);
    vec![
        (
            "Problem",
            json!({
                "type": "object",
                "description": "RFC 9457 problem details.",
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                    "hint": {"type": "string"},
                    "errors": {"type": "array", "items": {"type": "object"}},
                },
                "required": ["type", "title", "status", "detail"],
            }),
        ),
        (
            "Tool",
            object(&[
                ("id", text()),
                ("version", semver()),
                ("hash", hash()),
                ("enabled", json!({"type": "boolean"})),
                ("source", text()),
                ("definition", any_object()),
            ]),
        ),
        // With `dialect`, a tool has that vendor's shape.
        (
            "AnyTool",
            json!({"anyOf": [reference("Tool"), {"type": "object"}]}),
        ),
        ("Tools", page(&reference("AnyTool"))),
        (
            "Registered",
            object(&[
                ("tool", reference("Tool")),
                ("changed", json!({"type": "boolean"})),
                ("warnings", texts()),
            ]),
        ),
        ("Versions", page(&version)),
        (
            "Found",
            object(&[
                (
                    "hits",
                    json!({"type": "array", "items": {"type": "object"}}),
                ),
                ("fit", words(["nothing", "weak", "good"].into_iter())),
                (
                    "fits",
                    json!({"type": "array", "items": words(["nothing", "weak", "good"].into_iter())}),
                ),
            ]),
        ),
        (
            "Catalog",
            object(&[
                ("text", text()),
                ("detail", text()),
                ("tokens", json!({"type": "integer"})),
                ("tools", json!({"type": "integer"})),
            ]),
        ),
        (
            "Policy",
            object(&[
                ("rules", json!({"type": "integer"})),
                ("table", any_object()),
                ("text", text()),
            ]),
        ),
        (
            "Explanation",
            object(&[
                ("tool", text()),
                ("risk", maybe("string")),
                ("principal", text()),
                ("effect", words(["allow", "ask", "deny"].into_iter())),
                ("rule", maybe("integer")),
                ("reason", text()),
                ("approvals", json!({"type": "integer"})),
                ("rules", json!({"type": "array", "items": any_object()})),
            ]),
        ),
    ]
}

fn runs() -> Vec<(&'static str, Value)> {
    let error = object(&[
        ("type", text()),
        ("message", text()),
        ("hint", maybe("string")),
        ("retryable", json!({"type": "boolean"})),
    ]);
    let artifact = object(&[("name", text()), ("bytes", json!({"type": "integer"}))]);
    let mut meta = object(&[
        ("run_id?", reference("RunId")),
        ("tool", text()),
        ("version?", text()),
        ("state?", reference("RunState")),
        ("timing_ms", json!({"type": "number"})),
        ("coerced?", json!({"type": "array", "items": any_object()})),
        ("approval_id?", reference("ApprovalId")),
        ("return_direct?", json!({"type": "boolean"})),
        ("attempts?", json!({"type": "integer"})),
        ("exit_code?", json!({"type": "integer"})),
        ("artifacts?", json!({"type": "array", "items": artifact})),
        ("changes?", reference("Summary")),
        ("dry_run?", json!({"type": "boolean"})),
        ("diff?", text()),
    ]);
    // A tool that was upgraded may have answered with more.
    meta["additionalProperties"] = true.into();
    let answer = object(&[
        ("ok", json!({"type": "boolean"})),
        ("data?", json!({})),
        ("error?", error),
        ("meta", meta),
        ("content", json!({"type": "array", "items": any_object()})),
    ]);
    let run: Vec<(&str, Value)> = vec![
        ("id", reference("RunId")),
        ("tool", text()),
        ("version", text()),
        ("owner", text()),
        ("under", maybe("string")),
        ("agent", maybe("string")),
        ("state", reference("RunState")),
        ("args", any_object()),
        ("created", time()),
        ("started", maybe_time()),
        ("ended", maybe_time()),
        ("approval_id", maybe_id("apr")),
        ("exit_code", maybe("integer")),
    ];
    let mut whole = run.clone();
    whole.push((
        "answer",
        json!({"anyOf": [reference("Answer"), {"type": "null"}]}),
    ));
    whole.push(("changes", changes::of_run()));
    let report = object(&[
        ("done", json!({"type": "integer"})),
        ("total", maybe("integer")),
        ("message", text()),
    ]);
    whole.push(("progress", json!({"anyOf": [report, {"type": "null"}]})));
    let chunk = object(&[
        ("seq", json!({"type": "integer"})),
        ("stream", words(["stdout", "stderr"].into_iter())),
        ("at", time()),
        ("text", text()),
    ]);
    vec![
        ("Answer", answer),
        ("Runs", page(&object(&run))),
        ("Run", object(&whole)),
        ("Logs", page(&chunk)),
        ("LogEvent", log_event()),
        (
            "Cancelled",
            object(&[
                ("run_id", reference("RunId")),
                ("state", reference("RunState")),
            ]),
        ),
    ]
}

/// One server-sent event; `data` is JSON, that of a chunk in `stdout` and `stderr`.
fn log_event() -> Value {
    let names = [
        "stdout", "stderr", "staged", "end", "so_far", "revoked", "error",
    ];
    object(&[
        ("event", words(names.into_iter())),
        ("data", text()),
        ("id?", json!({"type": "string", "pattern": "^[0-9]+$"})),
    ])
}

fn question() -> Value {
    object(&[
        ("id", reference("QuestionId")),
        ("run_id", maybe_id("run")),
        ("owner", text()),
        ("under", maybe("string")),
        ("question", text()),
        ("context", text()),
        ("form", any_object()),
        ("asked", time()),
        ("until", time()),
    ])
}

fn governance() -> Vec<(&'static str, Value)> {
    let decision = object(&[
        ("by", text()),
        ("verdict", words(["approve", "deny"].into_iter())),
        ("reason", maybe("string")),
        ("at", time()),
    ]);
    let approval = object(&[
        ("id", reference("ApprovalId")),
        ("run_id", reference("RunId")),
        ("state", reference("ApprovalState")),
        ("tool", text()),
        ("version", text()),
        ("args", any_object()),
        ("requester", text()),
        ("under", maybe("string")),
        ("reason", text()),
        ("needed", json!({"type": "integer"})),
        ("decisions", json!({"type": "array", "items": decision})),
        ("created", time()),
        ("expires", time()),
        ("bound", hash()),
        (
            "notice",
            object(&[("state", text()), ("why", maybe("string"))]),
        ),
        (
            "changes",
            json!({"anyOf": [reference("Summary"), {"type": "null"}]}),
        ),
        ("diff", maybe("string")),
    ]);
    let entry = object(&[
        ("seq", json!({"type": "integer"})),
        ("hash", hash()),
        ("record", any_object()),
    ]);
    let permissions = json!({"type": "array", "items": reference("Permission")});
    let token: Vec<(&str, Value)> = vec![
        ("id", reference("TokenId")),
        ("name", text()),
        ("kind", text()),
        ("owner", text()),
        ("under", maybe("string")),
        ("permissions", permissions.clone()),
        ("scopes", texts()),
        ("max_risk", reference("Risk")),
        ("created", time()),
        ("created_by", text()),
        ("expires", maybe_time()),
        ("revoked", maybe_time()),
    ];
    let mut created = token.clone();
    created.push(("secret", text()));
    vec![
        ("Approval", approval),
        ("Approvals", page(&reference("Approval"))),
        ("Question", question()),
        ("Questions", page(&reference("Question"))),
        ("Entries", page(&entry)),
        ("Token", object(&token)),
        ("Tokens", page(&reference("Token"))),
        ("TokenCreated", object(&created)),
        ("SignInLink", object(&[("path", text()), ("url", text())])),
        (
            "Me",
            object(&[
                ("owner", text()),
                ("kind", text()),
                ("under", maybe("string")),
                ("token_id", maybe_id("tok")),
                ("permissions", permissions),
                ("scopes", texts()),
                ("max_risk", reference("Risk")),
            ]),
        ),
        (
            "ProtectedResource",
            object(&[
                ("resource", text()),
                ("authorization_servers", texts()),
                ("bearer_methods_supported", texts()),
                ("scopes_supported", texts()),
            ]),
        ),
        (
            "Health",
            object(&[("status", text()), ("store", text()), ("version", text())]),
        ),
    ]
}
