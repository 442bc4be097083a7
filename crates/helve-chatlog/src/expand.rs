//! What a question asks for, in words that messages may have.
//!
//! - *Names are no keywords*: whoever speaks *to* Caroline writes "Caroline", she does not. They
//!   are taken out, and told apart.
//! - *Nothing that is found here is dropped* for what a model adds: [`union`] only adds, and
//!   everything says where it comes from.

mod people;

use jiff::tz::TimeZone;
use rustc_hash::FxHashSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use people::Named;
pub(crate) use people::find as find_people;

use crate::dates::{DateSpan, Now, dates};
use crate::message::Person;
use crate::text::{self, Run};
use crate::topics::Topics;
use crate::{stop, variants};

/// The most topics that are added because they go with others.
const MOST_RELATED: usize = 5;
/// The most topics that are taken because the question names them.
const MOST_TOPICS: usize = 10;

/// Who found something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It was found here.
    Offline,
    /// A model.
    Llm,
}

/// Why something is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The question has it.
    Written,
    /// It goes with what the question has.
    Related,
    /// It is another spelling of that.
    Variant,
    /// A model thinks so.
    Suggested,
}

/// Something to look for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Term {
    /// As it is looked for.
    pub text: String,
    /// Why.
    pub reason: Reason,
    /// Who found it.
    pub source: Source,
}

/// A question, taken apart.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Expanded {
    /// The question.
    pub question: String,
    /// What is left of it without names and dates: for a search by meaning.
    pub rest: String,
    /// Words to look for, as they are written.
    pub keywords: Vec<Term>,
    /// Topics that the archive has.
    pub topics: Vec<Term>,
    /// People that it names.
    pub people: Vec<Named>,
    /// The times that it names.
    pub dates: Vec<DateSpan>,
    /// From when on, in milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// Until when, which no longer belongs to it.
    pub until: Option<i64>,
    /// Who found the time.
    pub time_source: Option<Source>,
    /// The keywords in the other Chinese script.
    pub variants: Vec<Term>,
}

/// What a model makes of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LlmExpansion {
    /// Words to look for.
    pub keywords: Vec<String>,
    /// Topics.
    pub topics: Vec<String>,
    /// Names.
    pub people: Vec<String>,
    /// From when on, in milliseconds since 1970, UTC.
    pub since: Option<i64>,
    /// Until when.
    pub until: Option<i64>,
}

/// Takes a question apart, with no model.
#[must_use]
pub fn expand(question: &str, people: &[Person], now: &Now, topics: &Topics) -> Expanded {
    let spans = dates(question, now);
    let mut rest = question.to_owned();
    for span in spans.iter().rev() {
        rest.replace_range(span.at.clone(), " ");
    }
    let (named, rest) = find_people(&rest, people);
    let written = |text| Term {
        text,
        reason: Reason::Written,
        source: Source::Offline,
    };
    let keywords: Vec<Term> = keywords(&rest).into_iter().map(written).collect();
    let words: Vec<String> = keywords.iter().map(|word| word.text.clone()).collect();

    let mut found: Vec<Term> = Vec::new();
    let mut known = FxHashSet::default();
    let exact = words.iter().flat_map(|word| topics.named(word));
    for tag in topics
        .written_in(&rest, MOST_TOPICS)
        .into_iter()
        .chain(exact)
    {
        if found.len() < MOST_TOPICS && known.insert(text::fold(&tag)) {
            found.push(written(tag));
        }
    }
    let tags: Vec<String> = found.iter().map(|tag| tag.text.clone()).collect();
    for (tag, _) in topics.related(&tags, MOST_RELATED) {
        if known.insert(text::fold(&tag)) {
            found.push(Term {
                text: tag,
                reason: Reason::Related,
                source: Source::Offline,
            });
        }
    }
    let (since, until) = range(&spans, &now.zone);
    let mut expanded = Expanded {
        question: question.to_owned(),
        rest: rest.split_whitespace().collect::<Vec<_>>().join(" "),
        variants: Vec::new(),
        keywords,
        topics: found,
        people: named,
        time_source: (!spans.is_empty()).then_some(Source::Offline),
        dates: spans,
        since,
        until,
    };
    expanded.add_variants(Source::Offline);
    expanded
}

/// Adds what a model found. What was found offline stays as it is: a time that was read in the
/// question is not replaced by a model's.
#[must_use]
pub fn union(mut offline: Expanded, llm: &LlmExpansion, people: &[Person]) -> Expanded {
    add(&mut offline.keywords, &llm.keywords);
    add(&mut offline.topics, &llm.topics);
    for name in &llm.people {
        for person in find_people(name, people).0 {
            if !offline.people.iter().any(|there| there.id == person.id) {
                offline.people.push(Named {
                    source: Source::Llm,
                    ..person
                });
            }
        }
    }
    if offline.time_source.is_none() && (llm.since.is_some() || llm.until.is_some()) {
        (offline.since, offline.until) = (llm.since, llm.until);
        offline.time_source = Some(Source::Llm);
    }
    offline.add_variants(Source::Llm);
    offline
}

fn add(to: &mut Vec<Term>, from: &[String]) {
    let mut known: FxHashSet<String> = to.iter().map(|term| text::fold(&term.text)).collect();
    for term in from.iter().map(|term| term.trim()) {
        if !term.is_empty() && known.insert(text::fold(term)) {
            to.push(Term {
                text: term.to_owned(),
                reason: Reason::Suggested,
                source: Source::Llm,
            });
        }
    }
}

impl Expanded {
    /// Other spellings of the keywords and topics that came from there.
    fn add_variants(&mut self, source: Source) {
        let mut known: FxHashSet<String> = self.variants.iter().map(|v| v.text.clone()).collect();
        known.extend(self.keywords.iter().map(|word| word.text.clone()));
        for term in self
            .keywords
            .iter()
            .chain(&self.topics)
            .filter(|term| term.source == source)
        {
            for text in variants::spellings(&term.text) {
                if known.insert(text.clone()) {
                    self.variants.push(Term {
                        text,
                        reason: Reason::Variant,
                        source,
                    });
                }
            }
        }
    }
}

/// From the first to the last time that is named; open where one of them is.
pub(crate) fn range(spans: &[DateSpan], zone: &TimeZone) -> (Option<i64>, Option<i64>) {
    let since: Option<Vec<i64>> = spans.iter().map(|span| span.since(zone)).collect();
    let until: Option<Vec<i64>> = spans.iter().map(|span| span.until(zone)).collect();
    (
        since.and_then(|all| all.into_iter().min()),
        until.and_then(|all| all.into_iter().max()),
    )
}

/// The words of a text that say something, as they are written and in its order.
pub(crate) fn keywords(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut known = FxHashSet::default();
    let mut keep = |word: &str| {
        if known.insert(text::fold(word)) {
            found.push(word.to_owned());
        }
    };
    quoted(text, &mut keep);
    text::runs(text, |run| match run {
        Run::Cjk(run) => chinese_words(run, &mut keep),
        Run::Word { word, .. } => {
            let folded: String = word.chars().map(text::fold_char).collect();
            let bare = folded.strip_suffix("'s").unwrap_or(&folded);
            if !stop::is_stop(&folded) && !stop::is_stop(bare) && !ASKING.contains(&bare) {
                keep(
                    word.get(..word.len() - (folded.len() - bare.len()))
                        .unwrap_or(word),
                );
            }
        }
    });
    found
}

/// Words that ask, and are in no answer.
const ASKING: [&str; 12] = [
    "tell",
    "said",
    "say",
    "says",
    "mention",
    "mentioned",
    "talk",
    "talked",
    "please",
    "summarize",
    "find",
    "list",
];

/// What stands in quotes is looked for as a whole.
fn quoted(text: &str, keep: &mut impl FnMut(&str)) {
    let pairs = [
        ('"', '"'),
        ('“', '”'),
        ('「', '」'),
        ('『', '』'),
        ('《', '》'),
    ];
    for (open, close) in pairs {
        let mut rest = text;
        while let Some(at) = rest.find(open) {
            let inner = &rest[at + open.len_utf8()..];
            let Some(end) = inner.find(close) else { break };
            if (1..=60).contains(&inner[..end].trim().chars().count()) {
                keep(inner[..end].trim());
            }
            rest = &inner[end + close.len_utf8()..];
        }
    }
}

/// What is left of Chinese when the words that say nothing are taken out. A letter that may also
/// end a word (会 of 开会) is only taken out before one; in a long stretch, what stands between
/// such letters is kept beside the whole.
fn chinese_words(run: &str, keep: &mut impl FnMut(&str)) {
    let letters: Vec<char> = run.chars().collect();
    // The tables are letter for letter, so both can be cut at the same letters.
    let simple: Vec<char> = letters.iter().map(|&c| variants::simplified(c)).collect();
    let mut emit = |from: usize, to: usize| {
        let part = |from: usize, to: usize| letters[from..to].iter().collect::<String>();
        if from < to {
            keep(&part(from, to));
        }
        if to - from > 4 {
            let mut start = from;
            for piece in simple[from..to].split(|&c| stop::is_edge(c)) {
                if (2..to - from).contains(&piece.len()) {
                    keep(&part(start, start + piece.len()));
                }
                start += piece.len() + 1;
            }
        }
    };
    let (mut start, mut at) = (0, 0);
    while at < simple.len() {
        match stop_word(&simple[at..]) {
            Some(1) if at > start && !stop::is_particle(simple[at]) => at += 1,
            Some(n) => {
                emit(start, at);
                at += n;
                start = at;
            }
            None => at += 1,
        }
    }
    emit(start, at);
}

/// How long the word that says nothing is that stands here.
fn stop_word(letters: &[char]) -> Option<usize> {
    let starts = |word: &str| {
        let mut here = letters.iter();
        word.chars().all(|c| here.next() == Some(&c))
    };
    stop::chinese()
        .iter()
        .find(|word| starts(word))
        .map(|word| word.chars().count())
}

#[cfg(test)]
mod tests;
