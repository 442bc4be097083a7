//! Which arguments a schema marks: as secret, or as paths.
//!
//! A mark counts wherever the schema could be speaking of a value: in every branch,
//! behind every reference. Marking too much hides a value for nothing; marking too
//! little shows a password.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::node::escape;
use crate::schema::{Schema, percent_decoded, walk};

/// What a schema can say about a value, beside its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `"x-secret": true`, `"writeOnly": true` or `"format": "password"`.
    Secret,
    /// `"format": "path"`.
    Path,
}

impl Mark {
    fn is_on(self, schema: &Map<String, Value>) -> bool {
        let format = schema.get("format").and_then(Value::as_str);
        let says = |key: &str| schema.get(key) == Some(&Value::Bool(true));
        match self {
            Mark::Secret => says("x-secret") || says("writeOnly") || format == Some("password"),
            Mark::Path => format == Some("path"),
        }
    }
}

/// A value that is marked. In a list or an object, all that is in it is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Marked<'v> {
    /// A JSON pointer into the arguments.
    pub pointer: String,
    /// What stands there.
    pub value: &'v Value,
}

impl<'v> Marked<'v> {
    /// The texts and the numbers in the value, however deep, as text.
    pub fn texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        texts(self.value, &mut found);
        found
    }
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => found.push(number.to_string()),
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|v| texts(v, found)),
        Value::Object(map) => map.values().for_each(|v| texts(v, found)),
    }
}

/// The arguments that `schema` marks, in their order. What stands inside a marked
/// value is not told again.
pub fn marked<'v>(schema: &Value, args: &'v Map<String, Value>, mark: Mark) -> Vec<Marked<'v>> {
    let mut search = Search::new(schema, mark);
    search.run(args);
    let mut found = Vec::new();
    for (name, value) in args {
        search.tell(value, format!("/{}", escape(name)), &mut found);
    }
    found
}

/// Whether a schema marks anything at all.
pub fn marks(schema: &Value, mark: Mark) -> bool {
    match schema {
        Value::Object(map) => mark.is_on(map) || map.values().any(|v| marks(v, mark)),
        Value::Array(items) => items.iter().any(|v| marks(v, mark)),
        _ => false,
    }
}

/// What a schema marks, found out once and not with every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marks {
    mark: Mark,
    /// The arguments that are marked, where that is all that there is to it.
    names: Option<Vec<String>>,
}

impl Marks {
    /// What a schema marks.
    pub fn of(schema: &Value, mark: Mark) -> Self {
        let names = plain(schema, mark);
        Self { mark, names }
    }

    /// Whether it marks nothing at all.
    pub fn is_empty(&self) -> bool {
        self.names.as_ref().is_some_and(Vec::is_empty)
    }

    /// As [`marked`], for the schema that this is of.
    pub fn find<'v>(&self, schema: &Value, args: &'v Map<String, Value>) -> Vec<Marked<'v>> {
        let Some(names) = &self.names else {
            return marked(schema, args, self.mark);
        };
        let found = args.iter().filter(|(name, _)| names.contains(name));
        let found = found.map(|(name, value)| Marked {
            pointer: format!("/{}", escape(name)),
            value,
        });
        found.collect()
    }
}

/// The names of the arguments that are marked, where marks stand nowhere but at the properties
/// themselves, and nothing refers to them from elsewhere.
fn plain(schema: &Value, mark: Mark) -> Option<Vec<String>> {
    if !marks(schema, mark) {
        return Some(Vec::new());
    }
    let whole = schema.as_object().filter(|_| !refers(schema))?;
    let apart = whole.iter().filter(|(key, _)| *key != "properties");
    if mark.is_on(whole) || apart.into_iter().any(|(_, v)| marks(v, mark)) {
        return None;
    }
    let mut names = Vec::new();
    for (name, property) in whole.get("properties")?.as_object()? {
        match property {
            Value::Object(map) if mark.is_on(map) => names.push(name.clone()),
            property if marks(property, mark) => return None,
            _ => {}
        }
    }
    Some(names)
}

/// Whether anything in it is, or looks like, a reference.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map
            .iter()
            .any(|(key, v)| key == "$ref" || key == "$dynamicRef" || refers(v)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// A value by where it lies, which tells equal ones apart.
type Address = *const Value;

/// What is still to be looked at. The arguments as a whole are a map, not a value.
#[derive(Clone, Copy)]
enum Spot<'v> {
    Whole(&'v Map<String, Value>),
    Part(&'v Value),
}

/// A list of what is to be done instead of recursion: references may lead in circles
/// or far down, and no schema is looked at twice for one value.
struct Search<'s, 'v> {
    mark: Mark,
    schema: &'s Value,
    /// Found when the first reference is met: most schemas have none.
    landmarks: Option<Landmarks<'s>>,
    patterns: HashMap<&'s str, Option<Schema>>,
    open: Vec<(&'s Value, Spot<'v>)>,
    seen: HashSet<(Address, Option<Address>)>,
    marked: HashSet<Address>,
}

/// Where references lead to.
struct Landmarks<'s> {
    /// The schema, and each inside it with an `$id`: a pointer may begin at any.
    resources: Vec<&'s Value>,
    anchors: HashMap<&'s str, Vec<&'s Value>>,
}

impl<'s> Landmarks<'s> {
    fn of(schema: &'s Value) -> Self {
        let mut resources = vec![schema];
        let mut anchors: HashMap<&str, Vec<&Value>> = HashMap::new();
        walk::subschemas(schema, &mut |at, sub| {
            let names = ["$anchor", "$dynamicAnchor"].iter();
            let names: Vec<&str> = names.filter_map(|key| sub.get(*key)?.as_str()).collect();
            if names.is_empty() && !sub.contains_key("$id") {
                return;
            }
            if let Some(here) = schema.pointer(at) {
                resources.push(here);
                for name in names {
                    anchors.entry(name).or_default().push(here);
                }
            }
        });
        Self { resources, anchors }
    }

    fn targets(&self, reference: &str) -> Vec<&'s Value> {
        let fragment = reference.split_once('#').map_or("", |(_, f)| f);
        let fragment = percent_decoded(fragment);
        match self.anchors.get(fragment.as_str()) {
            Some(found) => found.clone(),
            None => {
                let resources = self.resources.iter();
                resources.filter_map(|r| r.pointer(&fragment)).collect()
            }
        }
    }
}

impl<'s, 'v> Search<'s, 'v> {
    fn new(schema: &'s Value, mark: Mark) -> Self {
        Self {
            mark,
            schema,
            landmarks: None,
            patterns: HashMap::new(),
            open: Vec::new(),
            seen: HashSet::new(),
            marked: HashSet::new(),
        }
    }

    fn run(&mut self, args: &'v Map<String, Value>) {
        self.open.push((self.schema, Spot::Whole(args)));
        while let Some((schema, spot)) = self.open.pop() {
            let address = match spot {
                Spot::Whole(_) => None,
                Spot::Part(value) => Some(std::ptr::from_ref(value)),
            };
            if !self.seen.insert((std::ptr::from_ref(schema), address)) {
                continue;
            }
            let Value::Object(schema) = schema else {
                continue;
            };
            if self.mark.is_on(schema) {
                match spot {
                    Spot::Whole(map) => self.marked.extend(map.values().map(std::ptr::from_ref)),
                    Spot::Part(value) => drop(self.marked.insert(value)),
                }
                continue;
            }
            self.same_value(schema, spot);
            match spot {
                Spot::Whole(map) | Spot::Part(Value::Object(map)) => self.members(schema, map),
                Spot::Part(Value::Array(items)) => self.items(schema, items),
                Spot::Part(_) => {}
            }
        }
    }

    /// The schemas that speak of the same value.
    fn same_value(&mut self, schema: &'s Map<String, Value>, spot: Spot<'v>) {
        for key in ["if", "then", "else", "not"] {
            self.open.extend(schema.get(key).map(|s| (s, spot)));
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            let list = schema.get(key).and_then(Value::as_array);
            self.open
                .extend(list.into_iter().flatten().map(|s| (s, spot)));
        }
        for key in ["dependentSchemas", "dependencies"] {
            let named = schema.get(key).and_then(Value::as_object);
            let named = named.into_iter().flat_map(Map::values);
            self.open.extend(named.map(|s| (s, spot)));
        }
        for key in ["$ref", "$dynamicRef"] {
            if let Some(reference) = schema.get(key).and_then(Value::as_str) {
                let whole = self.schema;
                let landmarks = self.landmarks.get_or_insert_with(|| Landmarks::of(whole));
                let targets = landmarks.targets(reference);
                self.open.extend(targets.into_iter().map(|s| (s, spot)));
            }
        }
    }

    fn members(&mut self, schema: &'s Map<String, Value>, map: &'v Map<String, Value>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        for (name, value) in map {
            let spot = Spot::Part(value);
            let mut named = false;
            if let Some(property) = properties.and_then(|p| p.get(name)) {
                named = true;
                self.open.push((property, spot));
            }
            for (pattern, sub) in patterns.into_iter().flatten() {
                if self.fits(pattern, name) {
                    named = true;
                    self.open.push((sub, spot));
                }
            }
            if !named {
                let rest = ["additionalProperties", "unevaluatedProperties"].iter();
                let rest = rest.filter_map(|key| schema.get(*key));
                self.open.extend(rest.map(|s| (s, spot)));
            }
        }
    }

    /// A pattern that cannot be read fits everything.
    fn fits(&mut self, pattern: &'s str, name: &str) -> bool {
        let compiled = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| Schema::compile(&json!({"pattern": pattern})).ok());
        compiled
            .as_ref()
            .is_none_or(|schema| schema.accepts(&Value::from(name)))
    }

    fn items(&mut self, schema: &'s Map<String, Value>, items: &'v [Value]) {
        // A list of `items` is how `prefixItems` used to be written.
        let first = ["prefixItems", "items"].iter();
        let first = first.filter_map(|key| schema.get(*key)?.as_array());
        let first: Vec<&Value> = first.flatten().collect();
        for (i, item) in items.iter().enumerate() {
            let spot = Spot::Part(item);
            match first.get(i) {
                Some(schema) => self.open.push((schema, spot)),
                None => {
                    let rest = ["items", "additionalItems", "unevaluatedItems"].iter();
                    let rest = rest.filter_map(|key| schema.get(*key));
                    self.open.extend(rest.map(|s| (s, spot)));
                }
            }
            self.open.extend(schema.get("contains").map(|s| (s, spot)));
        }
    }

    fn tell(&self, value: &'v Value, pointer: String, found: &mut Vec<Marked<'v>>) {
        if self.marked.contains(&std::ptr::from_ref(value)) {
            found.push(Marked { pointer, value });
            return;
        }
        match value {
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.tell(item, format!("{pointer}/{i}"), found);
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self.tell(value, format!("{pointer}/{}", escape(name)), found);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
