//! What a query asks for: words with weights, in clauses.
//!
//! A person asks in sentences, of which few words name the tool: the rest is
//! politeness, and values for its arguments. So words are weighed before they are
//! looked up, and a word brings its relatives with it, at less weight.

use std::ops::Range;

use super::lexicon::{is_pair, lexicon};
use super::store::{Store, start_of};
use super::words::{self, Piece};

/// How much of a query is read. An agent's whole task fits; a file pasted in does not.
const MAX_QUERY: usize = 8 * 1024;
/// How many different words are looked up.
const MAX_ASKED: usize = 256;
/// How many clauses are told apart.
pub(super) const MAX_CLAUSES: usize = 12;
/// How many words a clause has before it can end.
const LEAST_CLAUSE: usize = 2;
/// How many words that no tool has are looked up as slips.
const MAX_SLIPS: usize = 4;

// What a word says, against a plain one. All found by trying, on several public sets.
const NUMBER: f32 = 0.3;
const OPENING: f32 = 0.5;
const PROPER_NAME: f32 = 0.9;
const LETTER: f32 = 0.5;
const QUOTED: f32 = 0.7;
const SINGLE_CHARACTER: f32 = 0.3;
const TRANSLATED: f32 = 0.6;

// What a relative of a word counts, against the word itself.
const SYNONYM: f32 = 0.15;
const SYNONYM_OF_UNKNOWN: f32 = 0.5;
const SECOND_TRANSLATION: f32 = 0.7;
const SYNONYM_OF_TRANSLATION: f32 = 0.2;
const CHINESE: f32 = 0.3;

/// One word of the query.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// Where it stands in the plan's texts.
    text: Range<usize>,
    /// Where it stands in the plan's terms.
    terms: Range<usize>,
    /// How much it says.
    pub(super) weight: f32,
    /// The clauses that have it, a bit each.
    pub(super) clauses: u16,
    /// How it was written.
    pub(super) kind: Kind,
}

/// How a word of a query was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// With spaces, or a word of the lexicon.
    Word,
    /// Characters out of a script without spaces.
    Gram,
}

/// A query, ready to be looked up.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) asked: Vec<Asked>,
    pub(super) clauses: usize,
    texts: String,
    terms: Vec<(u32, f32)>,
}

impl Plan {
    /// Reads a query against the words that documents have.
    pub(super) fn of(text: &str, store: &Store) -> Self {
        let mut reader = Reader {
            store,
            plan: Self::default(),
            clause: 0,
            filled: 0,
            opening: true,
            quote: None,
            slips: 0,
        };
        let text = words::normal(start_of(text, MAX_QUERY));
        words::cut(&text, |piece| match piece {
            Piece::Word { text, capital } => reader.word(text, capital),
            Piece::Whole(text) => reader.whole(text),
            Piece::Run(run) => reader.run(run),
            Piece::Mark(mark) => reader.mark(mark),
        });
        // A full stop at the end begins a clause that has nothing.
        let mut plan = reader.plan;
        let bits = plan.asked.iter().fold(0u16, |bits, a| bits | a.clauses);
        plan.clauses = (u16::BITS - bits.leading_zeros()).max(1) as usize;
        plan
    }

    /// A word as it is shown to whoever asked.
    pub(super) fn text(&self, asked: &Asked) -> &str {
        &self.texts[asked.text.clone()]
    }

    /// What to look up for a word, by number, and how much a hit counts; itself first.
    pub(super) fn terms(&self, asked: &Asked) -> &[(u32, f32)] {
        &self.terms[asked.terms.clone()]
    }
}

/// Words with which requests open; they seldom name the tool. Stemmed, sorted.
const OPENINGS: &[&str] = &[
    "additional",
    "appreciat",
    "assist",
    "assistanc",
    "aware",
    "base",
    "best",
    "correct",
    "curious",
    "current",
    "currently",
    "detail",
    "differ",
    "ensur",
    "exact",
    "experienc",
    "explor",
    "first",
    "focus",
    "follow",
    "get",
    "giv",
    "go",
    "good",
    "great",
    "happen",
    "hello",
    "help",
    "hey",
    "hi",
    "id",
    "includ",
    "inform",
    "informat",
    "interest",
    "keep",
    "kind",
    "know",
    "latest",
    "lik",
    "look",
    "mak",
    "nam",
    "need",
    "new",
    "now",
    "obtain",
    "possibl",
    "provid",
    "recent",
    "regard",
    "request",
    "requir",
    "retriev",
    "see",
    "set",
    "show",
    "specif",
    "start",
    "tak",
    "tell",
    "thank",
    "thing",
    "today",
    "try",
    "us",
    "use",
    "user",
    "valu",
    "want",
    "way",
    "wonder",
    "work",
];

/// Words that begin another step.
const STEPS: &[&str] = &[
    "additionally",
    "afterward",
    "afterwards",
    "also",
    "finally",
    "furthermore",
    "lastly",
    "moreover",
    "next",
    "secondly",
    "then",
    "thirdly",
];

struct Reader<'s> {
    store: &'s Store,
    plan: Plan,
    clause: usize,
    /// Words of weight in the clause so far.
    filled: usize,
    /// Nothing was said in the sentence yet, so a capital means nothing.
    opening: bool,
    /// What ends the quotation.
    quote: Option<char>,
    /// How many unknown words were looked up as slips.
    slips: usize,
}

impl Reader<'_> {
    fn mark(&mut self, mark: char) {
        if self.quote == Some(mark) {
            self.quote = None;
            return;
        }
        match mark {
            '.' | '!' | '?' | ';' | '。' | '\n' => {
                self.opening = true;
                self.quote = None;
                self.step();
            }
            '"' | '`' => self.quote = Some(mark),
            '“' => self.quote = Some('”'),
            '「' => self.quote = Some('」'),
            _ => {}
        }
    }

    fn step(&mut self) {
        if self.filled >= LEAST_CLAUSE && self.clause + 1 < MAX_CLAUSES {
            self.clause += 1;
            self.filled = 0;
        }
    }

    fn quoted(&self) -> f32 {
        if self.quote.is_some() { QUOTED } else { 1.0 }
    }

    fn word(&mut self, word: &str, capital: bool) {
        let opening = std::mem::take(&mut self.opening);
        if STEPS.binary_search(&word).is_ok() {
            self.step();
        }
        if words::is_stop(word) {
            return;
        }
        let stem = words::stem(word);
        let mut weight = self.quoted();
        if word.bytes().all(|b| b.is_ascii_digit()) {
            weight *= NUMBER;
        } else if OPENINGS.binary_search(&&*stem).is_ok() {
            weight *= OPENING;
        } else if capital && !opening {
            weight *= PROPER_NAME;
        }
        if word.len() == 1 {
            weight *= LETTER;
        }
        if weight > 0.5 {
            self.filled += 1;
        }
        let start = self.plan.terms.len();
        self.relatives(&stem);
        self.ask(word, weight, start, Kind::Word);
    }

    /// Looks up a word and what may stand for it.
    fn relatives(&mut self, stem: &str) {
        let start = self.plan.terms.len();
        let known = self.store.known(stem);
        let weight = match known.filter(|n| self.store.is_used(*n)) {
            Some(number) => {
                self.plan.terms.push((number, 1.0));
                SYNONYM
            }
            None => SYNONYM_OF_UNKNOWN,
        };
        if let Some(number) = known {
            self.add(lexicon().synonyms(number), weight);
            if self.store.unspaced() > 0 {
                // The pairs of a Chinese word count together as one word.
                for (pair, count) in lexicon().pairs(number) {
                    self.add(&[*pair], CHINESE / *count as f32);
                }
            }
        }
        if self.plan.terms.len() == start && self.slips < MAX_SLIPS {
            self.slips += 1;
            self.plan.terms.extend(self.store.alike(stem));
        }
    }

    fn add(&mut self, words: &[u32], weight: f32) {
        let used = words.iter().filter(|n| self.store.is_used(**n));
        self.plan.terms.extend(used.map(|n| (*n, weight)));
    }

    fn whole(&mut self, word: &str) {
        if let Some(number) = self.store.number(word) {
            let start = self.plan.terms.len();
            self.plan.terms.push((number, 1.0));
            self.ask(word, self.quoted(), start, Kind::Word);
        }
    }

    fn run(&mut self, run: &str) {
        self.opening = false;
        self.filled += run.chars().count() / 2;
        let quoted = self.quoted();
        words::grams(run, |gram| {
            let weight = if is_pair(gram) {
                quoted
            } else {
                quoted * SINGLE_CHARACTER
            };
            let start = self.plan.terms.len();
            let number = self.store.number(gram);
            self.plan.terms.extend(number.map(|n| (n, 1.0)));
            self.ask(gram, weight, start, Kind::Gram);
        });
        lexicon().english(run, |chinese, english| {
            let Some(first) = english.first() else {
                return;
            };
            let mut weight = quoted * TRANSLATED;
            if self.store.is_text_in(*first, OPENINGS) {
                weight *= OPENING;
            }
            let start = self.plan.terms.len();
            for (i, word) in english.iter().enumerate() {
                let share = if i == 0 { 1.0 } else { SECOND_TRANSLATION };
                self.add(&[*word], share);
                self.add(lexicon().synonyms(*word), SYNONYM_OF_TRANSLATION);
            }
            self.ask(chinese, weight, start, Kind::Word);
        });
    }

    /// Asks for a word whose terms are those from `start`.
    fn ask(&mut self, text: &str, weight: f32, start: usize, kind: Kind) {
        let bit = 1 << self.clause;
        let Plan {
            asked,
            texts,
            terms,
            ..
        } = &mut self.plan;
        let own = terms.get(start).map(|t| t.0);
        let known = asked.iter_mut().find(|asked| {
            asked.kind == kind
                && match own {
                    Some(number) => terms[asked.terms.clone()]
                        .first()
                        .is_some_and(|t| t.0 == number),
                    None => asked.terms.is_empty() && texts[asked.text.clone()] == *text,
                }
        });
        if let Some(known) = known {
            known.clauses |= bit;
            known.weight = known.weight.max(weight);
            terms.truncate(start);
            return;
        }
        if asked.len() >= MAX_ASKED {
            terms.truncate(start);
            return;
        }
        for i in (start + 1..terms.len()).rev() {
            if terms[start..i].iter().any(|t| t.0 == terms[i].0) {
                terms.remove(i);
            }
        }
        let from = texts.len();
        texts.push_str(text);
        asked.push(Asked {
            text: from..texts.len(),
            terms: start..terms.len(),
            weight,
            clauses: bit,
            kind,
        });
    }
}

#[cfg(test)]
mod tests;
