//! What a query asks for: words with weights, in clauses.
//!
//! A person asks in sentences, of which few words name the tool: the rest is
//! politeness, and values for its arguments. So words are weighed before they are
//! looked up, and a word brings its relatives with it, at less weight.

use super::lexicon::lexicon;
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
    /// As it is shown to whoever asked.
    pub(super) text: Box<str>,
    /// How much it says.
    pub(super) weight: f32,
    /// The clauses that have it, a bit each.
    pub(super) clauses: u16,
    /// What to look up, by number, and how much a hit counts; itself first.
    pub(super) terms: Vec<(u32, f32)>,
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
}

impl Plan {
    /// Reads a query against the words that documents have.
    pub(super) fn of(text: &str, store: &Store) -> Self {
        let mut reader = Reader {
            store,
            asked: Vec::new(),
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
        let bits = reader.asked.iter().fold(0u16, |bits, a| bits | a.clauses);
        Self {
            asked: reader.asked,
            clauses: (u16::BITS - bits.leading_zeros()).max(1) as usize,
        }
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
    asked: Vec<Asked>,
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
        let terms = self.relatives(&stem);
        self.ask(word, weight, terms, Kind::Word);
    }

    /// A word and what may stand for it.
    fn relatives(&mut self, stem: &str) -> Vec<(u32, f32)> {
        let known = self.store.number(stem);
        let mut terms: Vec<(u32, f32)> = known.map(|n| (n, 1.0)).into_iter().collect();
        let weight = match known {
            Some(_) => SYNONYM,
            None => SYNONYM_OF_UNKNOWN,
        };
        self.add(lexicon().synonyms(stem), weight, &mut terms);
        if self.store.unspaced() > 0 {
            for chinese in lexicon().chinese(stem) {
                self.pairs(chinese, &mut terms);
            }
        }
        if terms.is_empty() && self.slips < MAX_SLIPS {
            self.slips += 1;
            terms = self.store.alike(stem);
        }
        terms
    }

    fn add(&self, words: &[Box<str>], weight: f32, terms: &mut Vec<(u32, f32)>) {
        for word in words {
            if let Some(number) = self.store.number(word) {
                terms.push((number, weight));
            }
        }
    }

    /// The pairs of a Chinese word; together they count as one word.
    fn pairs(&self, chinese: &str, terms: &mut Vec<(u32, f32)>) {
        let count = chinese.chars().count().saturating_sub(1).max(1);
        words::grams(chinese, |gram| {
            if is_pair(gram)
                && let Some(number) = self.store.number(gram)
            {
                terms.push((number, CHINESE / count as f32));
            }
        });
    }

    fn whole(&mut self, word: &str) {
        if let Some(number) = self.store.number(word) {
            self.ask(word, self.quoted(), vec![(number, 1.0)], Kind::Word);
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
            let terms = self.store.number(gram).map(|n| (n, 1.0));
            self.ask(gram, weight, terms.into_iter().collect(), Kind::Gram);
        });
        lexicon().english(run, |chinese, english| {
            let Some(first) = english.first() else {
                return;
            };
            let mut weight = quoted * TRANSLATED;
            if OPENINGS.binary_search(&&**first).is_ok() {
                weight *= OPENING;
            }
            let mut terms = Vec::new();
            for (i, word) in english.iter().enumerate() {
                let share = if i == 0 { 1.0 } else { SECOND_TRANSLATION };
                self.add(std::slice::from_ref(word), share, &mut terms);
                self.add(lexicon().synonyms(word), SYNONYM_OF_TRANSLATION, &mut terms);
            }
            self.ask(chinese, weight, terms, Kind::Word);
        });
    }

    fn ask(&mut self, text: &str, weight: f32, mut terms: Vec<(u32, f32)>, kind: Kind) {
        let bit = 1 << self.clause;
        let own = terms.first().map(|t| t.0);
        let known = self.asked.iter_mut().find(|asked| {
            asked.kind == kind
                && match own {
                    Some(number) => asked.terms.first().is_some_and(|t| t.0 == number),
                    None => asked.terms.is_empty() && *asked.text == *text,
                }
        });
        if let Some(known) = known {
            known.clauses |= bit;
            known.weight = known.weight.max(weight);
            return;
        }
        if self.asked.len() >= MAX_ASKED {
            return;
        }
        for i in (1..terms.len()).rev() {
            if terms[..i].iter().any(|t| t.0 == terms[i].0) {
                terms.remove(i);
            }
        }
        self.asked.push(Asked {
            text: text.into(),
            weight,
            clauses: bit,
            terms,
            kind,
        });
    }
}

fn is_pair(gram: &str) -> bool {
    gram.chars().nth(1).is_some()
}

#[cfg(test)]
mod tests;
