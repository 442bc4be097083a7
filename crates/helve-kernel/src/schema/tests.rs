//! What a decorator cannot say about an argument, and a function here can.

use std::collections::BTreeMap;
use std::path::PathBuf;

use helve_core::schema::Schema as Compiled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::tool;
use crate::tool::tests::sound;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// A place on the map.
#[derive(Deserialize, JsonSchema)]
struct Place {
    /// North of the equator.
    lat: f64,
    /// East of Greenwich.
    lon: f64,
    /// What people call it.
    name: Option<String>,
}

/// Tells the weather. Use it before going out.
#[tool]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
async fn weather(
    /// Where.
    place: Place,
    /// Where else.
    other: Option<Place>,
    /// Of the temperature.
    unit: Unit,
    /// Of the wind.
    #[default(Unit::Celsius)]
    chill: Unit,
    /// Of the water.
    water: Option<Unit>,
    /// How many days.
    #[default(3)]
    #[schemars(range(min = 1, max = 14))]
    days: u8,
    /// How sure.
    #[schemars(range(min = 0.0, max = 1.0))]
    sure: Option<f32>,
    /// In which language.
    #[default("en")]
    #[schemars(length(min = 2, max = 5), regex(pattern = "^[a-z]+$"))]
    language: String,
    /// What to leave out.
    #[serde(rename = "without", default)]
    left_out: Vec<Option<String>>,
    /// Who asks.
    #[secret]
    token: Option<String>,
    /// Where to keep it.
    #[path]
    file: Option<PathBuf>,
    /// Where else to keep it.
    #[path]
    #[default(Vec::new())]
    files: Vec<PathBuf>,
    /// Where to keep each.
    #[path]
    by_day: BTreeMap<String, PathBuf>,
) -> usize {
    drop((place.lat, place.lon, place.name, other, unit, chill));
    drop((water, sure, language, token, file, files, by_day));
    left_out.len() + usize::from(days)
}

#[test]
fn each_argument_says_all_that_its_type_does() {
    let place = json!({
        "description": "Where.",
        "type": "object",
        "properties": {
            "lat": {"description": "North of the equator.", "type": "number"},
            "lon": {"description": "East of Greenwich.", "type": "number"},
            "name": {"description": "What people call it.", "type": "string"},
        },
        "required": ["lat", "lon"],
    });
    let mut other = place.clone();
    other["description"] = json!("Where else.");
    let rows = [
        ("place", place),
        ("other", other),
        (
            "unit",
            json!({"description": "Of the temperature.", "type": "string", "enum": ["celsius", "fahrenheit"]}),
        ),
        (
            "chill",
            json!({"description": "Of the wind.", "type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}),
        ),
        (
            "water",
            json!({"description": "Of the water.", "type": "string", "enum": ["celsius", "fahrenheit"]}),
        ),
        (
            "days",
            json!({"description": "How many days.", "type": "integer", "minimum": 1, "maximum": 14, "default": 3}),
        ),
        (
            "sure",
            json!({"description": "How sure.", "type": "number", "minimum": 0.0, "maximum": 1.0}),
        ),
        (
            "language",
            json!({"description": "In which language.", "type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$", "default": "en"}),
        ),
        (
            "without",
            json!({"description": "What to leave out.", "type": "array", "items": {"type": ["string", "null"]}, "default": []}),
        ),
        (
            "token",
            json!({"description": "Who asks.", "type": "string", "writeOnly": true}),
        ),
        (
            "file",
            json!({"description": "Where to keep it.", "type": "string", "format": "path"}),
        ),
        (
            "files",
            json!({"description": "Where else to keep it.", "type": "array", "items": {"type": "string", "format": "path"}, "default": []}),
        ),
        (
            "by_day",
            json!({"description": "Where to keep each.", "type": "object", "additionalProperties": {"type": "string", "format": "path"}}),
        ),
    ];
    let schema = sound::<weather>().input_schema;
    for (name, wanted) in &rows {
        assert_eq!(&schema["properties"][name], wanted, "{name}");
    }
    let names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
    let given: Vec<&String> = schema["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    assert_eq!(given, names);
    assert_eq!(schema["required"], json!(["place", "unit", "by_day"]));
    let keys: Vec<&String> = schema.as_object().expect("an object").keys().collect();
    assert_eq!(
        keys,
        ["type", "additionalProperties", "properties", "required"]
    );
}

#[test]
fn the_schema_takes_what_the_function_takes() {
    let schema = Compiled::compile(&sound::<weather>().input_schema).expect("a schema");
    let least = json!({"place": {"lat": 1, "lon": 2}, "unit": "celsius", "by_day": {}});
    let with = |name: &str, value: Value| {
        let mut args = least.clone();
        args[name] = value;
        schema.accepts(&args)
    };
    assert!(schema.accepts(&least));
    assert!(with("days", json!(14)) && !with("days", json!(15)));
    assert!(with("water", json!("celsius")) && !with("water", json!("kelvin")));
    assert!(!with("unknown", json!(1)));
    assert!(!with("place", json!({"lat": 1})));
}

/// A folder, and those in it.
#[derive(Deserialize, JsonSchema)]
struct Folder {
    /// What it is called.
    name: String,
    /// Those in it.
    inner: Vec<Folder>,
    /// The one shown first.
    first: Option<Box<Folder>>,
}

/// Counts folders. Use it to know how many.
#[tool]
async fn count(
    /// The outermost.
    folder: Folder,
) -> usize {
    fn of(folder: &Folder) -> usize {
        let first = folder.first.as_deref().map_or(0, of);
        folder.name.len().min(1) + first + folder.inner.iter().map(of).sum::<usize>()
    }
    of(&folder)
}

#[test]
fn a_type_within_itself_refers_to_itself() {
    let schema = sound::<count>().input_schema;
    let compiled = Compiled::compile(&schema).expect("a schema");
    let leaf = json!({"name": "a", "inner": []});
    let accepts = |inner: Value| {
        compiled.accepts(&json!({"folder": {"name": "b", "inner": [inner], "first": leaf}}))
    };
    assert!(accepts(leaf.clone()), "{schema}");
    assert!(!accepts(json!({"name": "a"})));
}

/// Waits. Use it to wait.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wait {
    /// How long.
    #[serde(default)]
    seconds: Option<u64>,
    /// Must be said, and may be nothing.
    #[schemars(required)]
    until: Option<String>,
}

/// Waits. Use it to wait.
#[tool]
async fn wait(args: Wait) -> bool {
    args.seconds.is_some() || args.until.is_some()
}

#[test]
fn only_what_can_be_left_out_loses_its_null() {
    let wanted = json!({
        "seconds": {"description": "How long.", "type": "integer", "minimum": 0},
        "until": {"description": "Must be said, and may be nothing.", "type": "string"},
    });
    let schema = sound::<wait>().input_schema;
    assert_eq!(schema["properties"], wanted);
    assert_eq!(schema["required"], json!(["until"]));
    assert_eq!(schema["title"], Value::Null);
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
enum Change {
    /// Puts it there.
    Add {
        /// What.
        text: String,
    },
    /// Takes it away.
    Remove,
}

/// Changes a note. Use it to change one.
#[tool]
async fn change(args: Change) -> usize {
    match args {
        Change::Add { text } => text.len(),
        Change::Remove => 0,
    }
}

/// Takes what comes. Use it when nothing is known.
#[tool]
async fn take(args: Value) -> Value {
    args
}

#[test]
fn arguments_are_an_object_whatever_reads_them() {
    let schema = sound::<change>().input_schema;
    assert_eq!(schema["type"], "object");
    let compiled = Compiled::compile(&schema).expect("a schema");
    assert!(compiled.accepts(&json!({"action": "add", "text": "a"})));
    assert!(!compiled.accepts(&json!({"action": "add"})));
    let wanted = json!({"type": "object", "properties": {}});
    assert_eq!(sound::<take>().input_schema, wanted);
}
