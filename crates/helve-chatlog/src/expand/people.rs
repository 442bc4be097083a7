//! The people that a question names.

use schemars::JsonSchema;
use serde::Serialize;

use super::Source;
use crate::message::Person;
use crate::text;

/// Somebody whom a question names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Named {
    /// As [`Person::id`].
    pub id: String,
    /// As [`Person::name`].
    pub name: String,
    /// As the question has it.
    pub written: String,
    /// Whether others may be meant as well: the name is another's too, or only part of one.
    pub unsure: bool,
    /// Who found it.
    pub source: Source,
}

/// The people named in a text, and the text without their names. A full name or an alias counts
/// before a part of a name; a part only where no whole name stands there.
pub(crate) fn find(text: &str, people: &[Person]) -> (Vec<Named>, String) {
    let mut names: Vec<Name<'_>> = Vec::new();
    for person in people {
        for whole in std::iter::once(&person.name)
            .chain(&person.aliases)
            .chain([&person.id])
        {
            names.push(Name {
                folded: text::fold(whole),
                person,
                part: false,
            });
            let parts = parts(whole);
            names.extend(parts.into_iter().map(|part| Name {
                folded: text::fold(&part),
                person,
                part: true,
            }));
        }
    }
    // One letter names nobody for sure.
    names.retain(|name| name.folded.chars().count() > 1);
    names.sort_by_key(|name| (name.part, std::cmp::Reverse(name.folded.chars().count())));

    let letters: Vec<(usize, char)> = text.char_indices().collect();
    // Letter for letter, so that places in one are places in the other.
    let folded: Vec<char> = text
        .chars()
        .map(|c| crate::variants::simplified(text::fold_char(c)))
        .collect();
    let mut taken: Vec<Option<usize>> = vec![None; folded.len()];
    let mut hits: Vec<Hit<'_>> = Vec::new();
    for name in &names {
        let wanted: Vec<char> = name.folded.chars().collect();
        for at in 0..(folded.len() + 1).saturating_sub(wanted.len()) {
            let range = at..at + wanted.len();
            if folded[range.clone()] != wanted[..] || !is_whole(&folded, &range) {
                continue;
            }
            match taken[at] {
                None if taken[range.clone()].iter().all(Option::is_none) => {
                    taken[range.clone()].fill(Some(hits.len()));
                    hits.push(Hit {
                        range,
                        people: vec![name.person],
                        unsure: name.part,
                    });
                }
                // Another of the same name.
                Some(hit) if hits[hit].range == range && hits[hit].admits(name) => {
                    hits[hit].people.push(name.person);
                    hits[hit].unsure = true;
                }
                _ => {}
            }
        }
    }
    // What makes a name a possessive goes with it.
    for hit in &hits {
        if let [mark, 's', rest @ ..] = &folded[hit.range.end..]
            && matches!(mark, '\'' | '’')
            && !rest.first().is_some_and(|c| c.is_alphanumeric())
        {
            taken[hit.range.end..hit.range.end + 2].fill(Some(0));
        }
    }
    hits.sort_by_key(|hit| hit.range.start);
    let mut named: Vec<Named> = Vec::new();
    for hit in &hits {
        let written: String = letters[hit.range.clone()].iter().map(|(_, c)| c).collect();
        for person in &hit.people {
            if !named.iter().any(|there| there.id == person.id) {
                named.push(Named {
                    id: person.id.clone(),
                    name: person.name.clone(),
                    written: written.clone(),
                    unsure: hit.unsure,
                    source: Source::Offline,
                });
            }
        }
    }
    let rest = letters
        .iter()
        .zip(&taken)
        .map(|((_, c), taken)| if taken.is_some() { ' ' } else { *c })
        .collect();
    (named, rest)
}

struct Name<'p> {
    folded: String,
    person: &'p Person,
    part: bool,
}

struct Hit<'p> {
    range: std::ops::Range<usize>,
    people: Vec<&'p Person>,
    unsure: bool,
}

impl Hit<'_> {
    /// Whether this name means somebody else as well: a part of a name does not beside a whole.
    fn admits(&self, name: &Name<'_>) -> bool {
        (self.unsure || !name.part) && !self.people.iter().any(|p| p.id == name.person.id)
    }
}

/// What people are called by of a name: its words, or the given name of a Chinese one.
fn parts(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.trim().chars().collect();
    if letters.iter().all(|&c| text::is_han(c)) {
        return match letters.len() {
            3 => vec![letters[1..].iter().collect()],
            4 => vec![letters[2..].iter().collect()],
            _ => Vec::new(),
        };
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    if words.len() < 2 {
        return Vec::new();
    }
    words
        .into_iter()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.chars().count() > 2 && !crate::stop::is_plain(&word.to_lowercase()))
        .map(str::to_owned)
        .collect()
}

/// Whether it does not stand within a longer word.
fn is_whole(text: &[char], range: &std::ops::Range<usize>) -> bool {
    let spaced = |c: char| c.is_alphanumeric() && !text::is_cjk(c);
    let before = range.start > 0 && spaced(text[range.start - 1]) && spaced(text[range.start]);
    let after = range.end < text.len() && spaced(text[range.end]) && spaced(text[range.end - 1]);
    !before && !after
}
