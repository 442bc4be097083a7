//! New words: sequences of letters that stand together more often than chance would have it,
//! and next to many different letters.
//!
//! Level by level: a sequence of n letters is only counted where both of its parts of n-1 letters
//! are frequent, so that the tables stay small.

use std::ops::ControlFlow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::count::Counter;
use crate::{stop, text};

/// The longest word that is looked for.
pub(super) const LONGEST: usize = 8;
/// Bits by which the letters must attract each other, at the weakest joint.
const LEAST_PMI: f64 = 3.0;
/// How free both sides must be, in nats.
const LEAST_ENTROPY: f64 = 0.9;
/// The letters that are held at most: past them every second stretch is left out.
const MOST_LETTERS: usize = 16 << 20;
/// The kinds of sequences that are counted at once.
const MOST_KINDS: usize = 1_800_000;

/// Stretches of text, a letter in two bytes; 0 stands between them.
#[derive(Default)]
pub(super) struct Letters {
    ids: Vec<u16>,
    alphabet: Vec<char>,
    of: FxHashMap<char, u16>,
    stretches: u64,
    stride: u64,
}

impl Letters {
    pub(super) fn add(&mut self, run: &str) {
        self.stretches += 1;
        if self.stride > 1 && !self.stretches.is_multiple_of(self.stride) {
            return;
        }
        if self.ids.len() + run.len() > MOST_LETTERS {
            self.thin();
        }
        self.ids.push(0);
        for c in run.chars() {
            let next = self.alphabet.len() + 1;
            let id = match (self.of.get(&c), u16::try_from(next)) {
                (Some(&id), _) => id,
                (None, Ok(id)) => {
                    self.alphabet.push(c);
                    self.of.insert(c, id);
                    id
                }
                // More letters than any script has.
                (None, Err(_)) => 0,
            };
            self.ids.push(id);
        }
    }

    fn thin(&mut self) {
        self.stride = self.stride.max(1) * 2;
        let mut kept = Vec::with_capacity(self.ids.len() / 2);
        for (n, stretch) in self.ids.split(|&id| id == 0).enumerate() {
            if n % 2 == 0 && kept.len() + stretch.len() < MOST_LETTERS / 2 {
                kept.push(0);
                kept.extend_from_slice(stretch);
            }
        }
        self.ids = kept;
    }
}

/// Finds the words. They are given by the keys of their letters.
pub(super) fn discover(
    letters: Letters,
    tell: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Option<FxHashSet<u64>> {
    let Letters {
        mut ids, alphabet, ..
    } = letters;
    ids.push(0);
    let total = ids.iter().filter(|&&id| id != 0).count();
    // One more for every doubling past a hundred thousand letters.
    let least = 3 + (total / 100_000).checked_ilog2().unwrap_or(0);
    let edges: Vec<bool> = std::iter::once(true)
        .chain(alphabet.iter().map(|&c| stop::is_particle(c)))
        .collect();

    let mut single = vec![0u32; alphabet.len() + 1];
    ids.iter().for_each(|&id| single[usize::from(id)] += 1);
    single[0] = 0;
    let mut levels: Vec<FxHashMap<u64, u32>> = vec![
        (1u16..)
            .zip(&single[1..])
            .map(|(id, &count)| (key(&[id]), count))
            .collect(),
    ];
    // Whether a frequent sequence of the level before begins here.
    let mut alive: Vec<bool> = ids
        .iter()
        .map(|&id| single[usize::from(id)] >= least)
        .collect();
    let mut words = FxHashSet::default();

    for n in 2..=LONGEST {
        if tell(n as u64).is_break() {
            return None;
        }
        let mut counter = Counter::new(MOST_KINDS);
        let possible =
            |alive: &[bool], at: usize| at + n <= ids.len() && alive[at] && alive[at + 1];
        for at in 0..ids.len() {
            if possible(&alive, at) {
                counter.add(key(&ids[at..at + n]));
            }
        }
        let frequent = counter.drop_below(least);
        let mut candidates: FxHashMap<u64, u32> = FxHashMap::default();
        let mut first_at: Vec<u32> = Vec::new();
        for at in 0..ids.len() {
            let there = possible(&alive, at) && {
                let sequence = &ids[at..at + n];
                let key = key(sequence);
                let count = frequent.get(&key).copied();
                if let Some(count) = count
                    && !candidates.contains_key(&key)
                    && !edges[usize::from(sequence[0])]
                    && !edges[usize::from(sequence[n - 1])]
                    && pmi(sequence, count, total, &levels) > LEAST_PMI
                {
                    let next = u32::try_from(first_at.len()).unwrap_or(u32::MAX);
                    candidates.insert(key, next);
                    first_at.push(u32::try_from(at).unwrap_or(u32::MAX));
                }
                count.is_some()
            };
            alive[at] = there;
        }
        let (free_left, inside_left) = entropies(&ids, n, &alive, &candidates, |at| ids[at - 1]);
        let (free_right, inside_right) = entropies(&ids, n, &alive, &candidates, |at| ids[at + n]);
        for (candidate, &at) in first_at.iter().enumerate() {
            // What only stands alone is a whole message that was sent several times.
            let inside = inside_left[candidate] || inside_right[candidate];
            if inside && free_left[candidate].min(free_right[candidate]) > LEAST_ENTROPY {
                let word = &ids[at as usize..at as usize + n];
                if word.iter().any(|&id| id != word[0]) {
                    let letters = word.iter().map(|&id| alphabet[usize::from(id) - 1]);
                    words.insert(text::key(0, letters));
                }
            }
        }
        let nothing_left = frequent.is_empty();
        levels.push(frequent);
        if nothing_left {
            break;
        }
    }
    Some(words)
}

fn key(ids: &[u16]) -> u64 {
    // Up to four letters the key is the letters themselves.
    if ids.len() <= 4 {
        return ids.iter().fold(0, |key, &id| key << 16 | u64::from(id));
    }
    ids.iter()
        .fold(ids.len() as u64, |key, &id| text::mix(key ^ u64::from(id)))
}

/// How much more often than by chance the two sides of the weakest joint stand together.
fn pmi(sequence: &[u16], count: u32, total: usize, levels: &[FxHashMap<u64, u32>]) -> f64 {
    let count_of =
        |part: &[u16]| f64::from(levels[part.len() - 1].get(&key(part)).copied().unwrap_or(1));
    (1..sequence.len())
        .map(|joint| {
            let (left, right) = sequence.split_at(joint);
            (f64::from(count) * total as f64 / (count_of(left) * count_of(right))).log2()
        })
        .fold(f64::INFINITY, f64::min)
}

/// How freely the letters on one side of each candidate change, and whether there ever are any.
fn entropies(
    ids: &[u16],
    n: usize,
    alive: &[bool],
    candidates: &FxHashMap<u64, u32>,
    neighbour: impl Fn(usize) -> u16,
) -> (Vec<f64>, Vec<bool>) {
    let mut pairs: Vec<u64> = Vec::new();
    let mut seen = vec![0u32; candidates.len()];
    let mut edges = vec![0u32; candidates.len()];
    // A 0 stands first and last, so that every sequence has neighbours.
    for at in (0..ids.len()).filter(|&at| alive[at]) {
        if let Some(&candidate) = candidates.get(&key(&ids[at..at + n])) {
            seen[candidate as usize] += 1;
            match neighbour(at) {
                // The end of a stretch is a neighbour of its own each time: nothing follows.
                0 => edges[candidate as usize] += 1,
                id => pairs.push(u64::from(candidate) << 16 | u64::from(id)),
            }
        }
    }
    pairs.sort_unstable();
    let mut found = vec![0.0; candidates.len()];
    let share = |count: u32, of: u32| {
        let p = f64::from(count) / f64::from(of);
        -p * p.ln()
    };
    for same in pairs.chunk_by(|a, b| a == b) {
        let candidate = (same[0] >> 16) as usize;
        found[candidate] += share(
            u32::try_from(same.len()).unwrap_or(u32::MAX),
            seen[candidate],
        );
    }
    let inside = seen
        .iter()
        .zip(&edges)
        .map(|(seen, edges)| seen > edges)
        .collect();
    for (candidate, &edges) in edges.iter().enumerate().filter(|(_, edges)| **edges > 0) {
        found[candidate] += f64::from(edges) * share(1, seen[candidate]);
    }
    (found, inside)
}
