//! The shapes of what runs changed.

use helve_kernel::ChangesState;
use serde_json::{Value, json};

use super::{any_object, hash, id, maybe, object, page, reference, text, texts, time, words};
use crate::api::changes::{FORMS, PATHS};
use crate::input::MOST;

pub(super) fn bodies() -> Vec<(&'static str, Value)> {
    let how = [
        (
            "paths?",
            json!({
                "type": ["array", "null"],
                "maxItems": PATHS,
                "items": {"type": "string", "minLength": 1, "pattern": r"^[^\u0000]+$"},
                "description": "Only these and what is beneath them; from the workspace, or absolute.",
            }),
        ),
        (
            "force?",
            json!({
                "type": ["boolean", "null"],
                "description": "Also what somebody has changed since.",
            }),
        ),
        (
            "dry_run?",
            json!({
                "type": ["boolean", "null"],
                "description": "Only to see what it would change.",
            }),
        ),
    ];
    let mut several = vec![
        (
            "runs?",
            json!({"type": ["array", "null"], "maxItems": MOST, "items": id("run")}),
        ),
        (
            "since?",
            json!({
                "type": ["string", "null"],
                "pattern": "^run_[0-9a-f]{32}$",
                "description": "This run, and all that were committed after it.",
            }),
        ),
    ];
    several.extend(how.clone());
    let mut undo = object(&several);
    undo["anyOf"] = json!([
        {"required": ["runs"], "properties": {"runs": {"type": "array", "minItems": 1}}},
        {"required": ["since"], "properties": {"since": {"type": "string"}}},
    ]);
    vec![
        ("UndoRun", object(&how)),
        ("Undo", undo),
        ("Nothing", object(&[])),
    ]
}

/// What a run changed, in what is told of the run.
pub(super) fn of_run() -> Value {
    let changes = object(&[
        ("id", hash()),
        ("state", reference("ChangesState")),
        ("paths", json!({"type": "integer"})),
        ("order", maybe("integer")),
        ("pinned", json!({"type": "boolean"})),
    ]);
    json!({"anyOf": [changes, {"type": "null"}]})
}

pub(super) fn answers() -> Vec<(&'static str, Value)> {
    let number = || json!({"type": "integer", "minimum": 0});
    let summary = object(&[
        ("paths", number()),
        ("created?", number()),
        ("changed?", number()),
        ("deleted?", number()),
        ("renamed?", number()),
    ]);
    let change = object(&[
        ("path", text()),
        ("path_bytes?", hex()),
        ("kind", text()),
        ("kinds", texts()),
        ("before", json!({})),
        ("after", json!({})),
        ("renamed_from?", text()),
        ("renamed_from_bytes?", hex()),
        ("binary?", json!({"type": "boolean"})),
        ("left_out?", text()),
        ("hunks?", json!({"type": "array", "items": any_object()})),
    ]);
    let line = object(&[
        ("run", reference("RunId")),
        ("path", text()),
        ("path_bytes?", hex()),
        ("kind", text()),
        ("order", number()),
        ("tool", text()),
        ("owner", text()),
        ("under", maybe("string")),
        ("at", time()),
        ("state", reference("RunState")),
    ]);
    vec![
        ("DiffFormat", words(FORMS.into_iter())),
        (
            "ChangesCursor",
            json!({"type": "string", "pattern": r"^[0-9]{1,18}\.[0-9]{1,6}$"}),
        ),
        (
            "ChangesState",
            words(ChangesState::ALL.iter().map(|s| s.as_str())),
        ),
        ("Summary", summary),
        (
            "Diff",
            object(&[
                ("id", hash()),
                ("totals", any_object()),
                ("changes", json!({"type": "array", "items": change})),
            ]),
        ),
        ("Changes", page(&line)),
        (
            "Pinned",
            object(&[
                ("run_id", reference("RunId")),
                ("pinned", json!({"type": "boolean"})),
                ("changed", json!({"type": "boolean"})),
            ]),
        ),
        (
            "Collected",
            object(&[
                (
                    "expired",
                    json!({"type": "array", "items": reference("RunId")}),
                ),
                ("bytes", number()),
            ]),
        ),
        (
            "Purged",
            object(&[
                ("run_id", reference("RunId")),
                ("records", number()),
                (
                    "expired",
                    json!({"type": "array", "items": reference("RunId")}),
                ),
            ]),
        ),
    ]
}

/// Bytes of a path that is no text.
fn hex() -> Value {
    json!({"type": "string", "pattern": "^([0-9a-f]{2})+$"})
}
