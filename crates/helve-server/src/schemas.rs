//! The shapes of requests and answers, as JSON Schema.

use helve_core::dialect::DIALECTS;
use helve_kernel::{ApprovalState, Permission, RunState};
use serde_json::{Map, Value, json};

/// Whether a body of this schema must be there.
pub(crate) fn needed(schema: &str) -> bool {
    !matches!(schema, "Reason" | "ToolCall")
}

fn words<'w>(words: impl Iterator<Item = &'w str>) -> Value {
    json!({"type": "string", "enum": words.collect::<Vec<_>>()})
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
    for (name, schema) in simple().into_iter().chain(bodies()).chain(answers()) {
        all.insert(name.to_owned(), schema);
    }
    all
}

fn simple() -> Vec<(&'static str, Value)> {
    let states = RunState::ALL.iter().map(|s| s.as_str());
    let approvals = ApprovalState::ALL.iter().map(|s| s.as_str());
    vec![
        ("Text", text()),
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
        (
            "Risk",
            words(["read", "exec_low", "exec_high", "write"].into_iter()),
        ),
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
        ("wait?", words(["nothing", "run", "decision"].into_iter())),
        ("agent_id?", text()),
        ("context?", any_object()),
    ];
    let mut named = vec![("tool_id?", text()), ("tool?", text())];
    named.extend(call.clone());
    vec![
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
            object(&[("version", text()), ("why?", maybe("string"))]),
        ),
        ("ToolCall", object(&call)),
        ("RunCall", object(&named)),
        (
            "Reason",
            object(&[(
                "reason?",
                json!({"type": ["string", "null"], "maxLength": 1000}),
            )]),
        ),
        (
            "NewToken",
            object(&[
                (
                    "name",
                    json!({"type": "string", "minLength": 1, "maxLength": 128}),
                ),
                ("kind?", words(["person", "agent"].into_iter())),
                (
                    "owner?",
                    json!({"type": "string", "minLength": 1, "maxLength": 128}),
                ),
                (
                    "permissions?",
                    json!({"type": "array", "items": reference("Permission")}),
                ),
                ("scopes?", texts()),
                ("max_risk?", reference("Risk")),
                (
                    "expires_in?",
                    json!({"type": "integer", "minimum": 1, "maximum": 316_224_000}),
                ),
            ]),
        ),
        (
            "Explain",
            object(&[
                ("tool", text()),
                ("args?", any_object()),
                ("principal?", text()),
            ]),
        ),
    ]
}

fn answers() -> Vec<(&'static str, Value)> {
    let mut all = registry();
    all.extend(runs());
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
        // With `dialect`, a tool has that vendor's shape.
        ("Tool", any_object()),
        ("Tools", page(&reference("Tool"))),
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
    let answer = object(&[
        ("ok", json!({"type": "boolean"})),
        ("data?", json!({})),
        ("error?", error),
        ("meta", any_object()),
        ("content", json!({"type": "array", "items": any_object()})),
    ]);
    let run: Vec<(&str, Value)> = vec![
        ("id", text()),
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
        ("approval_id", maybe("string")),
        ("exit_code", maybe("integer")),
    ];
    let mut whole = run.clone();
    whole.push((
        "answer",
        json!({"anyOf": [reference("Answer"), {"type": "null"}]}),
    ));
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
        (
            "Cancelled",
            object(&[("run_id", text()), ("state", reference("RunState"))]),
        ),
    ]
}

fn governance() -> Vec<(&'static str, Value)> {
    let decision = object(&[
        ("by", text()),
        ("verdict", words(["approve", "deny"].into_iter())),
        ("reason", maybe("string")),
        ("at", time()),
    ]);
    let approval = object(&[
        ("id", text()),
        ("run_id", text()),
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
    ]);
    let entry = object(&[
        ("seq", json!({"type": "integer"})),
        ("hash", hash()),
        ("record", any_object()),
    ]);
    let permissions = json!({"type": "array", "items": reference("Permission")});
    let token: Vec<(&str, Value)> = vec![
        ("id", text()),
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
        ("Entries", page(&entry)),
        ("Token", object(&token)),
        ("Tokens", page(&reference("Token"))),
        ("TokenCreated", object(&created)),
        (
            "Me",
            object(&[
                ("owner", text()),
                ("kind", text()),
                ("under", maybe("string")),
                ("token_id", maybe("string")),
                ("permissions", permissions),
                ("scopes", texts()),
                ("max_risk", reference("Risk")),
            ]),
        ),
        (
            "Health",
            object(&[("status", text()), ("store", text()), ("version", text())]),
        ),
    ]
}
