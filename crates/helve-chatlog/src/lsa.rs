//! Meaning without a model: latent semantic analysis of the corpus itself.
//!
//! Words that stand in the same talks get near one another, so that a question finds messages
//! that share no word with it. It knows only what the corpus shows.
//!
//! - *The messages are not held*: three passes, and a table of which terms stand together.
//! - *The same corpus gives the same vectors.*

mod rows;
mod svd;
mod terms;

use std::collections::VecDeque;
use std::path::Path;

use roaring::RoaringTreemap;
use rustc_hash::FxHashMap;

use crate::corpus::{BuildError, Corpus, Hook, pass};
use crate::derived::{self, Bad, FileError, Format};
use crate::vectors::Vectors;
use rows::Rows;
use terms::Cutter;

const FORMAT: Format = Format {
    magic: *b"HLVLSAVC",
    version: 1,
};

/// How much of its neighbours at ±1 and ±2 a message's vector takes: a short one says little
/// alone.
const SHARES: [f32; 2] = [0.3, 0.15];

/// How it is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LsaOptions {
    /// The dimensions, where they must not be chosen by the number of messages.
    pub dims: Option<usize>,
}

/// What the corpus's terms mean, and a vector for each message.
#[derive(Debug, Clone, PartialEq)]
pub struct Lsa {
    /// Of the archive from which this was made: the caller's number.
    pub generation: u64,
    /// Which row of the basis is of which term.
    terms: FxHashMap<u64, u16>,
    /// How much each term says.
    weights: Vec<f32>,
    /// A row for each term.
    basis: Vec<f32>,
    vectors: Vectors,
}

impl Lsa {
    /// Makes it.
    pub fn build(
        corpus: &dyn Corpus,
        options: LsaOptions,
        hook: Hook<'_>,
    ) -> Result<Self, BuildError> {
        let cutter = Cutter::default();
        let mut vocabulary = terms::Survey::default();
        let messages = pass(corpus, "terms", None, hook, &mut |entry| {
            vocabulary.take(&cutter, entry.text);
        })?;
        let terms = vocabulary.finish(messages);
        let mut rows = Rows::new(messages);
        pass(corpus, "windows", Some(messages), hook, &mut |entry| {
            rows.take(&cutter, &terms, entry.session, entry.text);
        })?;
        rows.finish();
        let dims = options.dims.unwrap_or_else(|| default_dims(messages));
        let (weights, basis, dims) = svd::basis(&rows, terms.len(), dims, hook)?;
        drop(rows);
        let mut lsa = Self {
            generation: 0,
            terms,
            weights,
            basis,
            vectors: Vectors::new(dims),
        };
        let mut context = Context {
            session: None,
            window: VecDeque::new(),
            next: 0,
        };
        let mut vectors = Vectors::new(dims);
        pass(corpus, "vectors", Some(messages), hook, &mut |entry| {
            if context.session != Some(entry.session) {
                context.flush(&mut vectors);
                context.session = Some(entry.session);
            }
            context.push(
                entry.line,
                lsa.embed_with(&cutter, entry.text),
                &mut vectors,
            );
        })?;
        context.flush(&mut vectors);
        lsa.vectors = vectors;
        Ok(lsa)
    }

    /// The lines nearest in meaning to a text, with the cosine, best first; none where the
    /// corpus knows no term of it.
    #[must_use]
    pub fn nearest(
        &self,
        text: &str,
        k: usize,
        allowed: Option<&RoaringTreemap>,
    ) -> Vec<(u64, f32)> {
        self.vectors.nearest(&self.embed(text), k, allowed)
    }

    /// The vector of a text.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vec<f32> {
        self.embed_with(&Cutter::default(), text)
    }

    /// The messages' vectors.
    #[must_use]
    pub fn vectors(&self) -> &Vectors {
        &self.vectors
    }

    /// How many terms it knows.
    #[must_use]
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    fn embed_with(&self, cutter: &Cutter, text: &str) -> Vec<f32> {
        let dims = self.vectors.dims();
        let mut found: Vec<u16> = Vec::new();
        cutter.each(text, |key| found.extend(self.terms.get(&key)));
        found.sort_unstable();
        let mut vector = vec![0.0; dims];
        for same in found.chunk_by(|a, b| a == b) {
            let term = usize::from(same[0]);
            let weight = (1.0 + same.len() as f32).ln() * self.weights[term];
            let row = &self.basis[term * dims..(term + 1) * dims];
            vector
                .iter_mut()
                .zip(row)
                .for_each(|(to, x)| *to += weight * x);
        }
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm > 0.0 {
            vector.iter_mut().for_each(|x| *x /= norm);
        }
        vector
    }

    /// Writes it, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        derived::save(path, FORMAT, self.generation, |out| {
            let mut terms: Vec<(u64, u16)> = self.terms.iter().map(|(k, v)| (*k, *v)).collect();
            terms.sort_unstable_by_key(|(_, row)| *row);
            out.list(&terms, |(key, _)| key.to_le_bytes())?;
            out.list(&self.weights, f32::to_le_bytes)?;
            out.list(&self.basis, f32::to_le_bytes)?;
            self.vectors.write(out)
        })
    }

    /// Reads it. Whatever does not fit is an error, so that the caller makes it again.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let (generation, lsa) = derived::load(path, FORMAT, |input| {
            let keys: Vec<u64> = input.list(u64::from_le_bytes)?;
            let weights: Vec<f32> = input.list(f32::from_le_bytes)?;
            let basis: Vec<f32> = input.list(f32::from_le_bytes)?;
            let vectors = Vectors::read(input)?;
            let terms: FxHashMap<u64, u16> = keys.iter().copied().zip(0u16..).collect();
            let fits = terms.len() == keys.len()
                && weights.len() == keys.len()
                && keys.len().checked_mul(vectors.dims()) == Some(basis.len());
            if !fits {
                return Err(Bad::Shape("its tables do not fit"));
            }
            Ok(Self {
                generation: 0,
                terms,
                weights,
                basis,
                vectors,
            })
        })?;
        Ok(Self { generation, ..lsa })
    }
}

/// More messages show more, but each dimension of a million costs a megabyte.
fn default_dims(messages: u64) -> usize {
    match messages {
        0..2_000 => 128,
        2_000..200_000 => 256,
        _ => 128,
    }
}

/// Gives each message a share of its neighbours, within its session.
struct Context {
    session: Option<u64>,
    /// What was read: at most two before the next one to be written, and all after it.
    window: VecDeque<(u64, Vec<f32>)>,
    /// Which of the window is to be written next.
    next: usize,
}

impl Context {
    fn push(&mut self, line: u64, vector: Vec<f32>, to: &mut Vectors) {
        self.window.push_back((line, vector));
        if self.window.len() > self.next + SHARES.len() {
            self.write(to);
        }
    }

    fn flush(&mut self, to: &mut Vectors) {
        while self.next < self.window.len() {
            self.write(to);
        }
        self.window.clear();
        self.next = 0;
    }

    fn write(&mut self, to: &mut Vectors) {
        let (line, own) = &self.window[self.next];
        let mut vector = own.clone();
        for (distance, share) in (1..).zip(SHARES) {
            let before = self
                .next
                .checked_sub(distance)
                .and_then(|at| self.window.get(at));
            for (_, other) in before
                .into_iter()
                .chain(self.window.get(self.next + distance))
            {
                vector
                    .iter_mut()
                    .zip(other)
                    .for_each(|(x, y)| *x += share * y);
            }
        }
        // The size is the one it was made with, and the values are sums of finite ones.
        let _ = to.push(*line, &vector);
        if self.next == SHARES.len() {
            self.window.pop_front();
        } else {
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests;
