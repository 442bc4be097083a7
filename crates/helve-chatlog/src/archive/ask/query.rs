//! What a question asks for, once names and words that only ask are taken out.

use rust_stemmers::{Algorithm, Stemmer};

use super::stop;
use crate::archive::Question;
use crate::archive::normal::normalize;
use crate::archive::store::PersonRow;
use crate::archive::tokens::{Class, class, pairs, runs};
use crate::archive::view::View;

/// A question, taken apart.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) terms: Vec<Term>,
    /// The letters of scripts without blanks, each once.
    pub(super) letters: Vec<char>,
    /// Whom it names; who stands for them.
    pub(super) named: Vec<u32>,
}

/// Something that a message should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    /// A word in any of its forms.
    Stem(String),
    /// Two letters, in any of the ways to write them; or a picture.
    Pairs(Vec<String>),
    /// One letter that stands alone in the question.
    Letter(String),
}

pub(super) fn read(view: &View, question: &Question) -> Asked {
    let mut asked = Asked::default();
    let text = names(view, &normalize(&question.text), &mut asked.named);
    let stemmer = Stemmer::create(Algorithm::English);
    for (kind, run) in runs(&text) {
        let run = &text[run];
        match kind {
            Class::Word => {
                if !stop::is_word(run) {
                    asked.add(Term::Stem(stemmer.stem(run).into_owned()));
                }
            }
            Class::Symbol => asked.add(Term::Pairs(vec![run.to_owned()])),
            Class::Pair => stop::split(run, &mut |rest| asked.pairs(rest, question)),
            Class::Break => {}
        }
    }
    // Nothing but words that ask: then these are what is asked for.
    if asked.terms.is_empty() && asked.named.is_empty() {
        for (kind, run) in runs(&text) {
            let run = &text[run];
            match kind {
                Class::Word => asked.add(Term::Stem(stemmer.stem(run).into_owned())),
                Class::Pair => asked.pairs(run, question),
                _ => {}
            }
        }
    }
    asked
}

impl Asked {
    fn add(&mut self, term: Term) {
        if !self.terms.contains(&term) {
            self.terms.push(term);
        }
    }

    /// The pairs of a run, each with those at its place in other ways to write the run.
    fn pairs(&mut self, run: &str, question: &Question) {
        let others: Vec<String> = question
            .variants
            .map_or_else(Vec::new, |variants| variants(run))
            .iter()
            .map(|other| normalize(other))
            .filter(|other| other != run && other.chars().count() == run.chars().count())
            .collect();
        for letter in run.chars() {
            if !self.letters.contains(&letter) {
                self.letters.push(letter);
            }
        }
        if run.chars().nth(1).is_none() {
            return self.add(Term::Letter(run.to_owned()));
        }
        let mut all: Vec<Vec<String>> = pairs(run).map(|pair| vec![run[pair].to_owned()]).collect();
        for other in &others {
            for (ways, pair) in all.iter_mut().zip(pairs(other)) {
                let way = other[pair].to_owned();
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
        }
        all.into_iter().for_each(|ways| self.add(Term::Pairs(ways)));
    }
}

/// Takes names out of a question. Who is addressed writes no name, and who is spoken of is
/// not who speaks: a name leads to messages to somebody, rarely to theirs.
fn names(view: &View, text: &str, named: &mut Vec<u32>) -> String {
    let mut text = text.to_owned();
    for bearers in view.names().chunk_by(|a, b| a.0 == b.0) {
        let name = bearers[0].0.as_str();
        let (mut from, mut met) = (0, false);
        while let Some(at) = text[from..].find(name).map(|at| from + at) {
            let end = at + name.len();
            from = end;
            if is_whole(&text, at, end) {
                text.replace_range(at..end, " ");
                from = at + 1;
                met = true;
            }
        }
        if met {
            named.extend(bearers.iter().map(|(_, no)| view.stands_for(*no)));
        }
    }
    named.sort_unstable();
    named.dedup();
    text
}

/// The folded names that people go by, the longest first, so that a name within a name does
/// not break it; each with all who bear it.
pub(in crate::archive) fn bearers(people: &[PersonRow]) -> Vec<(String, u32)> {
    let mut known: Vec<(String, u32)> = Vec::new();
    for row in people.iter().filter(|row| row.no != 0) {
        let all = [&row.name, &row.id].into_iter().chain(&row.aliases);
        for name in all.map(|name| normalize(name)) {
            // A first name is a name as well.
            let parts = name.split(' ').filter(|part| part.chars().count() > 2);
            known.extend(parts.map(|part| (part.to_owned(), row.no)));
            known.push((name, row.no));
        }
    }
    known.retain(|(name, _)| is_name(name));
    known.sort_unstable_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    known.dedup();
    known
}

/// Whether a name can be told from a word.
fn is_name(name: &str) -> bool {
    name.chars().nth(1).is_some() && !stop::is_word(name)
}

/// Whether what stands there is no part of a longer word.
fn is_whole(text: &str, at: usize, end: usize) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| class(c) == Class::Word);
    let first = text[at..].chars().next();
    let last = text[..end].chars().next_back();
    let left = is_word(first) && is_word(text[..at].chars().next_back());
    let right = is_word(last) && is_word(text[end..].chars().next());
    !left && !right
}
