//! Definitions for tests: a full one, and random ones.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::ToolDef;

/// A definition with every field.
pub(crate) fn full() -> ToolDef {
    let value = json!({
        "name": "notes_backup", "title": "Back up", "description": "Packs notes. Use before large changes.",
        "category": "notes", "tags": ["a", "b"], "aliases": ["backup_notes"], "version": "1.2.3", "enabled": false,
        "risk": "write", "reversible": {"compensate": "notes_restore"},
        "input_schema": {
            "type": "object",
            "properties": {
                "source": {"type": "string", "description": "From where", "minLength": 1, "format": "path"},
                "level": {"type": "integer", "minimum": 1, "maximum": 9, "default": 6},
                "mode": {"enum": ["fast", "small"], "type": "string"},
                "deep": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}, "required": ["x"]},
                "list": {"type": "array", "items": {"type": "number"}, "uniqueItems": true},
                "any": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "required": ["source"],
        },
        "output_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
        "detail": "Long.\n\n## More\n\n- a\n- b", "triggers": ["When asked", "Before changes"],
        "prerequisites": ["Space is left", {"condition": "It is readable", "check_tool": "file_read", "action_if_not_met": "Ask"}],
        "warnings": ["Overwrites"], "examples": [{"scenario": "All", "params": {"source": "n"}, "expected": "A path"}, {"params": {"source": "m"}}],
        "related_tools": [{"name": "notes_restore", "relation": "undoes"}, {"name": "file_read"}],
        "workflow": {"name": "Change", "steps": [{"step": 1, "action": "Back up", "tool": "notes_backup"}, {"action": "Try", "tools": ["a", "b"], "condition": "if so"}]},
        "executor": {"type": "docker", "image": "busybox", "command": ["sh", "/app/x.sh"], "cwd": "/w", "env": {"TZ": "UTC"}, "network": true, "cpus": 0.5},
        "allowed_paths": [{"path": "notes", "access": "read"}, "backups"], "timeout": "1500ms",
        "retry": {"max": 3, "delay_ms": 250}, "idempotent": true, "serial": true, "sensitive": true, "return_direct": true,
        "metadata": {"owner": "ops", "labels": {"tier": 1}},
    });
    ToolDef::from_value(&value).expect("a sound definition")
}

/// Text that has broken a writer somewhere.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9 ,.:]{1,30}",
        2 => "[\\PC]{0,20}",
        1 => "[ \\t\\n\"'\\\\`#{}\\[\\]<>|*_:;,-]{0,12}",
        1 => select(vec![
            "no", "true", "null", "~", "1.0", "0x1f", "- a", "? b", "---", "...", "%x", "@y", "\u{feff}x", "a: b",
            " lead", "trail ", "two\nlines", "two\n\nparas", "tab\tx", "cr\rlf\r\n", "\u{85}", "\u{2028}", "\"\"\"", "'''",
            "<<\"x\">>", "\\u0041", "中文：说明。", "ünïcödé", "🦀", "\u{0}", "\u{1b}[31m", "{{x}}", "${x}", "```", "## H", "=", "<<",
        ]).prop_map(str::to_owned),
    ]
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![6 => "[a-z][a-z0-9_]{0,9}", 1 => "[a-zA-Z0-9_./~ -]{1,8}", 1 => select(vec!["type", "properties", "required", "items", "中", "$ref", "name", "default"]).prop_map(str::to_owned)]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9]{0,7}(_[a-z0-9]{1,6}){0,3}",
        "[a-z][a-z0-9_]{0,63}",
        select(vec!["class", "import", "end", "tool"]).prop_map(str::to_owned)
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        select(vec![0.1, 1e300, 5e-324, 1.0, -0.5, 1e21, 123456789.125]).prop_map(Value::from),
        text().prop_map(Value::from),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(word(), inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Schemas with all sorts of keywords, some of them nonsense beside each other.
fn schema() -> impl Strategy<Value = Value> {
    let kind = select(vec![
        "string", "integer", "number", "boolean", "array", "object", "null",
    ]);
    let leaf = (
        option::weighted(0.8, kind),
        option::of(text()),
        option::weighted(0.2, scalar()),
        option::weighted(0.2, vec(scalar(), 1..4)),
        vec(
            select(vec![
                ("minLength", json!(1)),
                ("maxLength", json!(9)),
                ("pattern", json!("^a$")),
                ("format", json!("email")),
                ("format", json!("path")),
                ("minimum", json!(1)),
                ("maximum", json!(2.5)),
                ("exclusiveMinimum", json!(0)),
                ("multipleOf", json!(2)),
                ("uniqueItems", json!(true)),
                ("minItems", json!(2)),
                ("maxItems", json!(3)),
                ("title", json!("T")),
                ("const", json!(5)),
                ("$comment", json!("c")),
                ("deprecated", json!(true)),
                ("examples", json!([1])),
                ("x-own", json!({"a": 1})),
                ("not", json!({"type": "null"})),
                ("writeOnly", json!(true)),
                ("required", json!(["zz"])),
                ("additionalProperties", json!(false)),
                ("additionalProperties", json!({"type": "string"})),
            ]),
            0..3,
        ),
    )
        .prop_map(|(kind, description, default, values, more)| {
            let mut map = Map::new();
            if let Some(kind) = kind {
                map.insert("type".into(), json!(kind));
            }
            if let Some(description) = description {
                map.insert("description".into(), json!(description));
            }
            if let Some(default) = default {
                map.insert("default".into(), default);
            }
            if let Some(values) = values {
                map.insert("enum".into(), json!(values));
            }
            for (key, value) in more {
                map.insert(key.into(), value);
            }
            Value::Object(map)
        });
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            object(inner.clone()),
            (inner.clone(), option::of(text())).prop_map(|(items, d)| {
                let mut schema = json!({"type": "array", "items": items});
                if let Some(d) = d {
                    schema["description"] = json!(d);
                }
                schema
            }),
            (
                select(vec!["anyOf", "oneOf", "allOf"]),
                vec(inner.clone(), 1..3)
            )
                .prop_map(|(key, list)| json!({key: list})),
            (inner, any::<bool>()).prop_map(|(s, null)| match null {
                true => json!({"type": ["string", "null"], "prefixItems": [s]}),
                false => json!({"type": "object", "patternProperties": {"^a": s}}),
            }),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    (
        btree_map(word(), (inner, any::<bool>()), 0..4),
        any::<bool>(),
    )
        .prop_map(|(properties, closed)| {
            let required: Vec<String> = properties
                .iter()
                .filter(|(_, (_, r))| *r)
                .map(|(k, _)| k.clone())
                .collect();
            let properties: Map<String, Value> =
                properties.into_iter().map(|(k, (s, _))| (k, s)).collect();
            let mut schema = json!({"type": "object", "properties": properties});
            if !required.is_empty() {
                schema["required"] = json!(required);
            }
            if closed {
                schema["additionalProperties"] = json!(false);
            }
            schema
        })
}

fn input_schema() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => object(schema()),
        1 => Just(json!({"type": "object"})),
        1 => object(schema()).prop_map(|mut s| {
            s["$schema"] = json!(crate::schema::DRAFT);
            s["$defs"] = json!({"p": {"type": "string"}});
            if let Some(p) = s["properties"].as_object_mut() {
                p.insert("p".into(), json!({"$ref": "#/$defs/p", "description": "by reference"}));
            }
            s
        }),
    ]
}

fn object_value<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Value {
    let pairs = pairs
        .into_iter()
        .filter_map(|(k, v)| Some((k.to_owned(), v?)));
    Value::Object(pairs.collect())
}

fn maybe_text() -> impl Strategy<Value = Option<Value>> {
    option::of(text().prop_map(Value::from))
}

fn example() -> impl Strategy<Value = Value> {
    (maybe_text(), btree_map(word(), value(), 0..3), maybe_text()).prop_map(
        |(scenario, params, expected)| {
            let params: Map<String, Value> = params.into_iter().collect();
            object_value([
                ("scenario", scenario),
                ("params", Some(Value::Object(params))),
                ("expected", expected),
            ])
        },
    )
}

fn executor() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("builtin")),
        Just(json!("docker")),
        (vec(text(), 1..4), maybe_text(), option::of(any::<bool>())).prop_map(
            |(command, cwd, network)| {
                object_value([
                    ("type", Some(json!("host"))),
                    ("command", Some(json!(command))),
                    ("cwd", cwd),
                    ("network", network.map(Value::from)),
                ])
            }
        ),
        (text(), maybe_text()).prop_map(|(server, tool)| object_value([
            ("type", Some(json!("mcp"))),
            ("server", Some(json!(server))),
            ("tool", tool)
        ])),
        (text(), option::of(value())).prop_map(|(url, body)| {
            let body = body.filter(|b| !b.is_null());
            object_value([
                ("type", Some(json!("http"))),
                ("url", Some(json!(url))),
                ("body", body),
            ])
        }),
    ]
}

/// Random definitions that are sound, if seldom sensible.
pub(crate) fn tool_def() -> impl Strategy<Value = ToolDef> {
    let texts = || vec(text(), 0..3).prop_map(|t| (!t.is_empty()).then(|| json!(t)));
    let list =
        |s: BoxedStrategy<Value>| vec(s, 0..3).prop_map(|t| (!t.is_empty()).then(|| json!(t)));
    let flag = || option::weighted(0.2, Just(json!(true)));
    let words = (
        name().prop_map(Value::from),
        text()
            .prop_filter("a description is not empty", |t| !t.trim().is_empty())
            .prop_map(Value::from),
        input_schema(),
        maybe_text(),
        option::of(object(schema())),
        maybe_text(),
        texts(),
        list(
            prop_oneof![
                text().prop_map(Value::from),
                (text(), maybe_text(), maybe_text()).prop_map(|(c, t, a)| object_value([
                    ("condition", Some(json!(c))),
                    ("check_tool", t),
                    ("action_if_not_met", a)
                ]))
            ]
            .boxed(),
        ),
        list(example().boxed()),
        texts(),
    );
    let more = (
        list(
            (text(), maybe_text())
                .prop_map(|(n, r)| object_value([("name", Some(json!(n))), ("relation", r)]))
                .boxed(),
        ),
        option::weighted(
            0.3,
            (
                maybe_text(),
                vec(
                    (option::of(0u64..9), text(), maybe_text(), maybe_text()),
                    0..3,
                ),
            )
                .prop_map(|(name, steps)| {
                    let steps: Vec<Value> = steps
                        .into_iter()
                        .map(|(n, a, t, c)| {
                            object_value([
                                ("step", n.map(Value::from)),
                                ("action", Some(json!(a))),
                                ("tool", t),
                                ("condition", c),
                            ])
                        })
                        .collect();
                    object_value([("name", name), ("steps", Some(json!(steps)))])
                }),
        ),
        maybe_text(),
        texts(),
        vec("[a-zA-Z0-9_.-]{1,20}", 0..3).prop_map(|t| (!t.is_empty()).then(|| json!(t))),
        btree_map(word(), value(), 0..3).prop_map(|m| {
            let map: Map<String, Value> = m.into_iter().collect();
            (!map.is_empty()).then_some(Value::Object(map))
        }),
        option::of(select(vec!["read", "exec_low", "exec_high", "write"]).prop_map(Value::from)),
        option::of(executor()),
        list(
            prop_oneof![
                text().prop_map(Value::from),
                (text(), select(vec!["read", "write"]))
                    .prop_map(|(p, a)| json!({"path": p, "access": a}))
            ]
            .boxed(),
        ),
    );
    let last = (
        option::of((1u64..100_000).prop_map(|ms| json!(format!("{ms}ms")))),
        option::of((0u32..9, 0u64..5000).prop_map(|(m, d)| json!({"max": m, "delay_ms": d}))),
        flag(),
        flag(),
        flag(),
        flag(),
        option::of(prop_oneof![
            Just(json!("no")),
            text().prop_map(|t| json!({"compensate": t}))
        ]),
        option::of((0u64..9, 0u64..9, 0u64..9).prop_map(|(a, b, c)| json!(format!("{a}.{b}.{c}")))),
        option::weighted(0.1, Just(json!(false))),
    );
    (words, more, last).prop_map(|(w, m, l)| {
        let value = object_value([
            ("name", Some(w.0)),
            ("description", Some(w.1)),
            ("input_schema", Some(w.2)),
            ("title", w.3),
            ("output_schema", w.4),
            ("detail", w.5),
            ("triggers", w.6),
            ("prerequisites", w.7),
            ("examples", w.8),
            ("warnings", w.9),
            ("related_tools", m.0),
            ("workflow", m.1),
            ("category", m.2),
            ("tags", m.3),
            ("aliases", m.4),
            ("metadata", m.5),
            ("risk", m.6),
            ("executor", m.7),
            ("allowed_paths", m.8),
            ("timeout", l.0),
            ("retry", l.1),
            ("idempotent", l.2),
            ("serial", l.3),
            ("sensitive", l.4),
            ("return_direct", l.5),
            ("reversible", l.6),
            ("version", l.7),
            ("enabled", l.8),
        ]);
        ToolDef::from_value(&value)
            .unwrap_or_else(|e| panic!("the generator made {e:?} of {value:#}"))
    })
}
