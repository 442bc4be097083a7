//! A definition on its way: out of a foreign shape, or into one.

use serde_json::{Map, Value};

use super::{Decoded, EncodeError, Encoded, Loss};
use crate::def::{FIELDS, ToolDef};
use crate::lint::{Issue, rules};
use crate::name::{ToolName, canonical};
use crate::node::escape;

/// A tool being read: its fields under their canonical names, and where each of
/// them stood.
#[derive(Debug)]
pub struct Draft {
    dialect: &'static str,
    rest: Map<String, Value>,
    fields: Map<String, Value>,
    places: Vec<(String, String)>,
    losses: Vec<Loss>,
}

impl Draft {
    /// Begins with a foreign object.
    pub(super) fn of(dialect: &'static str, value: &Value) -> Result<Self, Issue> {
        let Value::Object(map) = value else {
            let message = format!(
                "a tool must be an object, not {}",
                crate::def::kind_of(value)
            );
            return Err(Issue::new(&rules::WRONG_TYPE, "", message));
        };
        Ok(Self {
            dialect,
            rest: map.clone(),
            fields: Map::new(),
            places: Vec::new(),
            losses: Vec::new(),
        })
    }

    /// Steps into the object under `key`; what stood beside it is carried along.
    pub(super) fn enter(mut self, key: &str) -> Result<Self, Issue> {
        let inner = self.rest.shift_remove(key).unwrap_or(Value::Null);
        let mut draft = Self::of(self.dialect, &inner).map_err(|i| Issue {
            pointer: format!("/{}", escape(key)),
            ..i
        })?;
        if !self.rest.is_empty() {
            draft.carry("$outer", Value::Object(self.rest));
        }
        let names = FIELDS.iter().map(|f| f.name);
        let places = names.map(|name| (format!("/{name}"), format!("/{}/{name}", escape(key))));
        draft.places = std::iter::once((String::new(), format!("/{}", escape(key))))
            .chain(places)
            .collect();
        Ok(draft)
    }

    /// Takes a foreign key away.
    pub(super) fn remove(&mut self, key: &str) -> Option<Value> {
        self.rest.shift_remove(key)
    }

    /// Looks at a foreign key.
    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.rest.get(key)
    }

    /// Moves the foreign `from` to the canonical `to`.
    pub(super) fn take(&mut self, from: &str, to: &str) {
        if let Some(value) = self.remove(from) {
            self.set(to, value, from);
        }
    }

    /// Moves the fields that have the same name in both.
    pub(super) fn take_same(&mut self, names: &[&str]) {
        for name in names {
            self.take(name, name);
        }
    }

    /// Sets a canonical field that came from the foreign key `from`.
    pub(super) fn set(&mut self, to: &str, value: Value, from: &str) {
        self.fields.insert(to.to_owned(), value);
        let base = self.base();
        self.place(format!("/{to}"), format!("{base}/{}", escape(from)));
    }

    /// Remembers that a canonical pointer stood at a foreign one.
    pub(super) fn place(&mut self, def: String, source: String) {
        self.places.retain(|(d, _)| *d != def);
        self.places.push((def, source));
    }

    fn base(&self) -> String {
        let root = self.places.iter().find(|(def, _)| def.is_empty());
        root.map(|(_, source)| source.clone()).unwrap_or_default()
    }

    /// A field that was already taken over.
    pub(super) fn field(&mut self, name: &str) -> Option<&mut Value> {
        self.fields.get_mut(name)
    }

    /// Records that something was not carried over.
    pub(super) fn lose(&mut self, loss: Loss) {
        self.losses.push(loss);
    }

    /// Puts something that only this dialect knows under `metadata.<dialect>`.
    pub(super) fn carry(&mut self, key: &str, value: Value) {
        let metadata = self
            .fields
            .entry("metadata")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            let own = metadata
                .entry(self.dialect)
                .or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(own) = own {
                own.insert(key.to_owned(), value);
            }
        }
    }

    /// Carries along whatever is left.
    pub(super) fn carry_rest(&mut self) {
        for (key, value) in std::mem::take(&mut self.rest) {
            self.carry(&key, value);
        }
    }

    /// Leaves what is left to be refused as unknown fields.
    pub(super) fn refuse_rest(&mut self) {
        self.fields.extend(std::mem::take(&mut self.rest));
    }

    /// Spells a foreign name in the canonical way; the old one stays an alias.
    pub(super) fn adopt_name(&mut self) {
        let Some(Value::String(name)) = self.fields.get("name") else {
            return;
        };
        let name = name.clone();
        if ToolName::new(name.clone()).is_ok() {
            return;
        }
        let Some(better) = canonical(&name) else {
            return;
        };
        let reason = format!("`{name}` is spelled `{better}` here; the old name stays an alias");
        self.lose(Loss::changed("/name", reason));
        self.fields.insert("name".to_owned(), Value::from(better));
        self.add_alias(&name);
        self.carry("name", Value::from(name));
    }

    /// Adds another name that the tool answers to.
    pub(super) fn add_alias(&mut self, alias: &str) {
        let aliases = self
            .fields
            .entry("aliases")
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(aliases) = aliases
            && !aliases.iter().any(|a| a == alias)
        {
            aliases.push(Value::from(alias));
        }
    }

    /// A tool without a schema takes no arguments.
    pub(super) fn schema_or_empty(&mut self) {
        let given = self
            .fields
            .get("input_schema")
            .is_some_and(|s| !s.is_null());
        if !given {
            self.fields
                .insert("input_schema".to_owned(), crate::def::empty_schema());
        }
    }

    /// Where the dialect can do without a description, another field stands in.
    pub(super) fn description_or(&mut self, others: &[&str]) {
        let given = self.fields.get("description").and_then(Value::as_str);
        if given.is_some_and(|d| !d.trim().is_empty()) {
            return;
        }
        let stand_in = others
            .iter()
            .find_map(|o| Some((*o, self.fields.get(*o)?.clone())));
        if let Some((other, text)) = stand_in {
            self.fields.insert("description".to_owned(), text);
            let reason = format!("there is none; the {other} stands in for it");
            self.lose(Loss::changed("/description", reason));
        }
    }

    /// Checks the fields. Issues point into the foreign shape.
    pub(super) fn finish(self) -> Result<Decoded, Vec<Issue>> {
        let places = Places(self.places);
        match ToolDef::from_value(&Value::Object(self.fields)) {
            Ok(def) => Ok(Decoded {
                def,
                losses: self.losses,
                places,
            }),
            Err(issues) => Err(issues.into_iter().map(|i| places.of_issue(i)).collect()),
        }
    }
}

/// From pointers into a definition to pointers into what it was read from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Places(Vec<(String, String)>);

impl Places {
    /// Where `pointer` stood.
    pub(crate) fn of(&self, pointer: &str) -> String {
        let longest = self
            .0
            .iter()
            .filter(|(def, _)| {
                pointer
                    .strip_prefix(def.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .max_by_key(|(def, _)| def.len());
        match longest {
            Some((def, source)) => format!("{source}{}", &pointer[def.len()..]),
            None => pointer.to_owned(),
        }
    }

    pub(crate) fn of_issue(&self, issue: Issue) -> Issue {
        Issue {
            pointer: self.of(&issue.pointer),
            ..issue
        }
    }
}

/// A tool being written.
pub(super) struct Outline {
    pub dialect: &'static str,
    pub out: Map<String, Value>,
    pub losses: Vec<Loss>,
    /// The canonical fields that have not been placed yet.
    fields: Map<String, Value>,
}

impl Outline {
    pub(super) fn of(dialect: &'static str, def: &ToolDef) -> Self {
        let fields = match def.to_value() {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self {
            dialect,
            out: Map::new(),
            losses: Vec::new(),
            fields,
        }
    }

    /// Takes a canonical field away to place it by hand.
    pub(super) fn remove(&mut self, name: &str) -> Option<Value> {
        self.fields.shift_remove(name)
    }

    /// Moves the canonical `from` to the foreign `to`.
    pub(super) fn take(&mut self, from: &str, to: &str) {
        if let Some(value) = self.remove(from) {
            self.out.insert(to.to_owned(), value);
        }
    }

    /// Moves the fields that have the same name in both.
    pub(super) fn take_same(&mut self, names: &[&str]) {
        for name in names {
            self.take(name, name);
        }
    }

    /// Sets a foreign key.
    pub(super) fn set(&mut self, to: &str, value: impl Into<Value>) {
        self.out.insert(to.to_owned(), value.into());
    }

    /// What this dialect left in the metadata when the tool was read.
    pub(super) fn carried(&mut self) -> Map<String, Value> {
        let Some(Value::Object(metadata)) = self.fields.get_mut("metadata") else {
            return Map::new();
        };
        let own = match metadata.get(self.dialect) {
            Some(Value::Object(_)) => metadata.shift_remove(self.dialect),
            _ => None,
        };
        if metadata.is_empty() {
            self.fields.shift_remove("metadata");
        }
        match own {
            Some(Value::Object(own)) => own,
            _ => Map::new(),
        }
    }

    /// Puts what was carried back, never over what is there; a foreign name comes
    /// back if it still is a spelling of the tool's.
    pub(super) fn restore(&mut self, mut carried: Map<String, Value>, name_key: &str) {
        if let Some(Value::String(old)) = carried.shift_remove("name")
            && canonical(&old).as_deref() == self.out.get(name_key).and_then(Value::as_str)
        {
            // The alias that kept it is the name again.
            if let Some(Value::Array(aliases)) = self.fields.get_mut("aliases") {
                aliases.retain(|a| *a != old);
                if aliases.is_empty() {
                    self.fields.shift_remove("aliases");
                }
            }
            self.out.insert(name_key.to_owned(), Value::from(old));
        }
        for (key, value) in carried {
            if key != "$outer" {
                self.out.entry(key).or_insert(value);
            }
        }
    }

    /// Everything that was not placed is lost, and said so.
    pub(super) fn finish(mut self) -> Result<Encoded, EncodeError> {
        let (value, losses) = {
            let dialect = self.dialect;
            for (name, value) in std::mem::take(&mut self.fields) {
                let reason = format!("`{dialect}` has no place for it");
                match value {
                    Value::Object(map) if name == "metadata" => {
                        for key in map.keys() {
                            let field = format!("/metadata/{}", escape(key));
                            self.losses.push(Loss::dropped(field, reason.clone()));
                        }
                    }
                    _ => self.losses.push(Loss::dropped(format!("/{name}"), reason)),
                }
            }
            (Value::Object(self.out), self.losses)
        };
        Ok(Encoded { value, losses })
    }
}
