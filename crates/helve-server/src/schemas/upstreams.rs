//! The shapes of what is told of MCP servers behind the hub.

use serde_json::{Value, json};

use super::{any_object, maybe, named, object, page, reference, text, texts, words};

pub(super) fn bodies() -> Vec<(&'static str, Value)> {
    vec![(
        "Accept",
        object(&[
            ("server", named(256)),
            (
                "tool?",
                json!({
                    "type": ["string", "null"],
                    "description": "Its name there, or here; all that wait if nothing is said.",
                }),
            ),
            (
                "seen?",
                json!({
                    "type": ["string", "null"],
                    "description": "What was looked at; refused if it is something else by now.",
                }),
            ),
        ]),
    )]
}

pub(super) fn answers() -> Vec<(&'static str, Value)> {
    let flag = object(&[("pointer", text()), ("kind", text()), ("says", text())]);
    let anything = json!({});
    let server = object(&[
        ("name", text()),
        ("type", words(["stdio", "http", "sse"].into_iter())),
        ("place?", text()),
        (
            "state",
            words(["idle", "starting", "running", "failed"].into_iter()),
        ),
        ("why?", maybe("string")),
        ("again_in", maybe("number")),
        ("wants_login", json!({"type": "boolean"})),
        ("logged_in", json!({"type": "boolean"})),
        ("login", maybe("string")),
        ("era", maybe("string")),
        ("protocol", maybe("string")),
        ("capabilities", anything.clone()),
        ("server_info", anything),
        ("instructions", maybe("string")),
        ("tools", texts()),
        ("waiting", texts()),
        ("problems?", texts()),
        ("stderr?", text()),
    ]);
    let looked = object(&[
        ("tools", json!({"type": "integer"})),
        ("registered", texts()),
        ("waiting", texts()),
        ("gone", texts()),
        ("problems", texts()),
    ]);
    let pending = object(&[
        ("server", text()),
        ("tool", text()),
        ("before", json!({"anyOf": [any_object(), {"type": "null"}]})),
        ("after", json!({"anyOf": [any_object(), {"type": "null"}]})),
        ("flags", json!({"type": "array", "items": flag})),
        ("seen", text()),
    ]);
    vec![
        ("Upstream", server),
        ("Upstreams", page(&reference("Upstream"))),
        (
            "UpstreamTest",
            object(&[
                ("server", reference("Upstream")),
                ("looked", looked),
                ("round_trip_ms", json!({"type": "number"})),
            ]),
        ),
        ("Quarantine", page(&pending)),
        ("Accepted", object(&[("accepted", texts())])),
        ("LoginBegun", object(&[("url", text())])),
        ("Reloaded", object(&[("problems", texts())])),
    ]
}
