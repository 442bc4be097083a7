//! Names: of the group, of tools, of arguments.

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::hex::Hex;
use crate::name::MAX_NAME;

/// Names that are given, each with the number that the next of the same name may get.
pub(super) type Taken = HashMap<String, usize>;

/// Words of titles that name nothing.
const EMPTY: &[&str] = &[
    "a",
    "an",
    "the",
    "api",
    "apis",
    "rest",
    "restful",
    "http",
    "swagger",
    "openapi",
    "service",
    "services",
    "web",
    "public",
    "v1",
    "v2",
    "v3",
    "spec",
    "specification",
    "documentation",
    "docs",
    "for",
    "of",
];

/// The group of all tools: the one that is asked for, or one word of the title.
pub(super) fn group(root: &Value, wanted: Option<&str>) -> String {
    if let Some(wanted) = wanted {
        return snake(wanted).trim_matches('_').to_owned();
    }
    let title = root.pointer("/info/title").and_then(Value::as_str);
    let words = title
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    let named = |w: &&String| {
        (2..=20).contains(&w.len())
            && !EMPTY.contains(&w.as_str())
            && w.starts_with(|c: char| c.is_ascii_lowercase())
    };
    words
        .iter()
        .find(named)
        .cloned()
        .unwrap_or_else(|| "api".to_owned())
}

/// The name of an operation, of which there is no other yet.
pub(super) fn tool(
    group: &str,
    id: Option<&str>,
    method: &str,
    path: &str,
    taken: &mut Taken,
) -> String {
    let action = id
        .map(snake)
        .filter(|s| s.chars().any(|c| c.is_ascii_alphanumeric()));
    let action = action.unwrap_or_else(|| snake(&format!("{method} {path}")));
    let action = action.trim_matches('_');
    let full = match action
        .strip_prefix(group)
        .is_some_and(|r| r.starts_with('_'))
        || group.is_empty()
    {
        true => action.to_owned(),
        false => format!("{group}_{action}"),
    };
    let full = match full.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => full,
        false => format!("api_{full}"),
    };
    let whole = match full.len() > MAX_NAME {
        false => full,
        true => {
            // Cut, and told apart from others that begin alike.
            let hash = Hex(&Sha256::digest(full.as_bytes())[..3]).to_string();
            format!("{}_{hash}", full[..MAX_NAME - 7].trim_end_matches('_'))
        }
    };
    unique(&whole, MAX_NAME, taken)
}

/// The name of an argument: as it is where every vendor takes it.
pub(super) fn argument(name: &str, place: &str, taken: &mut Taken) -> String {
    const MOST: usize = 64;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut own: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    if own != name {
        own = squeeze(&own).trim_matches('_').to_owned();
    }
    own.truncate(MOST - place.len() - 1);
    if own.is_empty() {
        own = "argument".to_owned();
    }
    if !taken.contains_key(&own) {
        return unique(&own, MOST, taken);
    }
    unique(&format!("{own}_{place}"), MOST, taken)
}

/// The same, or with the first number that nobody has.
fn unique(name: &str, most: usize, taken: &mut Taken) -> String {
    let Some(next) = taken.get(name).copied() else {
        taken.insert(name.to_owned(), 2);
        return name.to_owned();
    };
    let free = (next..).find_map(|number| {
        let end = format!("_{number}");
        let cut = name.len().min(most - end.len());
        let tried = format!("{}{end}", &name[..cut]);
        (!taken.contains_key(&tried)).then_some((number, tried))
    });
    let (number, found) = free.unwrap_or_default();
    taken.insert(name.to_owned(), number + 1);
    taken.insert(found.clone(), 2);
    found
}

/// `getPetById`, `pets/get-by-id`, `/pets/{id}` as small letters with underscores.
pub(super) fn snake(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let letters: Vec<char> = text.chars().take(400).collect();
    for (i, c) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|b| letters[b]);
        let after = letters.get(i + 1);
        match c {
            'A'..='Z' => {
                let word = before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                    || before.is_some_and(|b| b.is_ascii_uppercase())
                        && after.is_some_and(char::is_ascii_lowercase);
                if word {
                    out.push('_');
                }
                out.push(c.to_ascii_lowercase());
            }
            'a'..='z' | '0'..='9' => out.push(*c),
            _ => out.push('_'),
        }
    }
    squeeze(&out)
}

fn squeeze(text: &str) -> String {
    let parts: Vec<&str> = text.split('_').filter(|p| !p.is_empty()).collect();
    parts.join("_")
}
