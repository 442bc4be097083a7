//! Names: the canonical form, and how foreign names become it.
//!
//! Nothing here splits a name to find out what it means: which tool answers to
//! which name is an explicit map, kept by whoever holds the tools.

use std::fmt;

use unicode_security::confusable_detection::skeleton;

/// A canonical name: `^[a-z][a-z0-9_]*$`, at most 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName(String);

/// The most characters that a name may have.
pub const MAX_NAME: usize = 64;

/// Why a text is not a canonical name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing there.
    #[error("the name is empty")]
    Empty,
    /// Too many characters.
    #[error("the name has {0} characters, more than the {MAX_NAME} allowed")]
    TooLong(usize),
    /// A character from another script that looks like a letter.
    #[error("the name `{name}` has `{found}` (U+{code:04X}), which only looks like `{like}`")]
    LookAlike {
        /// The name.
        name: String,
        /// The character.
        found: char,
        /// Its code point.
        code: u32,
        /// What it looks like.
        like: String,
    },
    /// A character that no name may have.
    #[error("the name `{name}` has {}", describe(*.found))]
    BadCharacter {
        /// The name.
        name: String,
        /// The character.
        found: char,
    },
    /// It does not begin with a letter.
    #[error("the name `{0}` must begin with a small letter")]
    BadStart(String),
}

fn describe(c: char) -> String {
    match c {
        ' '..='~' => format!("`{c}`; only small letters, digits and underscores are allowed"),
        _ => format!(
            "`{}` (U+{:04X}); only small letters, digits and underscores are allowed",
            c.escape_default(),
            u32::from(c)
        ),
    }
}

impl ToolName {
    /// Takes a name that is canonical already.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        let length = name.chars().count();
        if length == 0 {
            return Err(NameError::Empty);
        }
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if let Some(found) = name.chars().find(|c| !allowed(*c)) {
            let like: String = skeleton(&found.to_string()).collect();
            let like = like.to_ascii_lowercase();
            let letters = !like.is_empty() && like.chars().all(|c| c.is_ascii_alphanumeric());
            return Err(match !found.is_ascii() && letters {
                true => NameError::LookAlike {
                    name,
                    found,
                    code: u32::from(found),
                    like,
                },
                false => NameError::BadCharacter { name, found },
            });
        }
        if length > MAX_NAME {
            return Err(NameError::TooLong(length));
        }
        match name.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => Ok(Self(name)),
            false => Err(NameError::BadStart(name)),
        }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first part, by which the catalog and the folders group: `file` of
    /// `file_read`. A name of one word has none.
    pub fn group(&self) -> Option<&str> {
        self.0
            .split_once('_')
            .filter(|(group, action)| !group.is_empty() && !action.is_empty())
            .map(|(group, _)| group)
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The full name of a tool in a group's folder, which may give just its action.
pub fn in_group(group: &str, name: &str) -> String {
    let full = name.strip_prefix(group).is_some_and(|r| r.starts_with('_'));
    match full || group.is_empty() {
        true => name.to_owned(),
        false => format!("{group}_{name}"),
    }
}

/// The canonical spelling of a foreign name (`getWeather`, `web-search`,
/// `disk.clean`), where one can be had without guessing at letters.
pub fn canonical(foreign: &str) -> Option<String> {
    ToolName::new(spelled(foreign)?).ok().map(|n| n.0)
}

/// The same of a part of a name: it may be longer than a name, or begin with a digit.
pub fn spelled(foreign: &str) -> Option<String> {
    let mut out = String::with_capacity(foreign.len() + 4);
    let mut last = '_';
    for c in foreign.chars() {
        match c {
            'A'..='Z' => {
                if last.is_ascii_lowercase() || last.is_ascii_digit() {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' | '_' => out.push(c),
            '-' | '.' | ':' | '/' | ' ' => out.push('_'),
            _ => return None,
        }
        last = c;
    }
    Some(out)
}

/// Whether every vendor of the kind could have given this name: what an alias may be.
pub fn is_foreign(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.:/-".contains(&b))
}

/// Up to `most` of `known` that are near `name`, nearest first.
pub fn nearest<'k>(
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
    most: usize,
) -> Vec<&'k str> {
    // Nothing is called that; and to compare a name of a megabyte with thousands takes hours.
    if name.len() > 256 {
        return Vec::new();
    }
    let wanted = name.to_ascii_lowercase();
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&wanted, &k.to_ascii_lowercase()), k))
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.dedup_by(|a, b| a.1 == b.1);
    scored.into_iter().take(most).map(|(_, k)| k).collect()
}

#[cfg(test)]
mod tests;
