//! Vectors of messages, a byte for each dimension, and which are nearest.
//!
//! Every vector is looked at: at a million messages that takes tens of milliseconds, and misses
//! nothing. Where the vectors come from does not matter here.

mod file;

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use roaring::RoaringTreemap;

pub use file::{BatchError, VectorFile};

/// Vectors of one size, each of a line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Vectors {
    dims: usize,
    lines: Vec<u64>,
    /// One after the other, `dims` each.
    bytes: Vec<i8>,
    /// What makes each of length one.
    scales: Vec<f32>,
    present: RoaringTreemap,
    /// Whether the lines ascend, so that one can be looked up.
    ascending: bool,
}

/// Why a vector is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    /// It has another size.
    #[error("a vector has {found} dimensions, not {wanted}")]
    Dims {
        /// Its size.
        found: usize,
        /// The size of the others.
        wanted: usize,
    },
    /// It holds what is no number.
    #[error("a vector holds a value that is no number")]
    NotFinite,
}

impl Vectors {
    /// None yet, of this size.
    #[must_use]
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            ascending: true,
            ..Self::default()
        }
    }

    /// How many dimensions each has.
    #[must_use]
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The lines that have one: what is missing is still to be made.
    #[must_use]
    pub fn lines(&self) -> &RoaringTreemap {
        &self.present
    }

    /// Adds one. A line that has one keeps it; says whether it was taken.
    pub fn push(&mut self, line: u64, vector: &[f32]) -> Result<bool, VectorError> {
        self.check(vector)?;
        if !self.present.insert(line) {
            return Ok(false);
        }
        let (bytes, scale) = quantize(vector);
        self.push_raw(line, bytes, scale);
        Ok(true)
    }

    /// The lines whose vectors point most nearly the same way, with the cosine, best first.
    #[must_use]
    pub fn nearest(
        &self,
        query: &[f32],
        k: usize,
        allowed: Option<&RoaringTreemap>,
    ) -> Vec<(u64, f32)> {
        if k == 0 || self.check(query).is_err() {
            return Vec::new();
        }
        let (bytes, scale) = quantize(query);
        if scale == 0.0 {
            return Vec::new();
        }
        let query: Vec<i16> = bytes.map(i16::from).collect();
        let mut best = Best {
            k,
            floor: f32::NEG_INFINITY,
            heap: BinaryHeap::with_capacity(k.min(self.len()) + 1),
        };
        let mut look = |row: usize| {
            let at = row * self.dims;
            let dot = dot(&self.bytes[at..at + self.dims], &query);
            best.offer(dot as f32 * self.scales[row], self.lines[row]);
        };
        match allowed {
            None => (0..self.len()).for_each(&mut look),
            Some(few) if self.ascending && few.len() < self.len() as u64 / 16 => {
                few.iter()
                    .filter_map(|line| self.lines.binary_search(&line).ok())
                    .for_each(look);
            }
            Some(allowed) => (0..self.len())
                .filter(|&row| allowed.contains(self.lines[row]))
                .for_each(&mut look),
        }
        best.finish(scale)
    }

    fn check(&self, vector: &[f32]) -> Result<(), VectorError> {
        if vector.len() != self.dims {
            return Err(VectorError::Dims {
                found: vector.len(),
                wanted: self.dims,
            });
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(VectorError::NotFinite);
        }
        Ok(())
    }

    fn push_raw(&mut self, line: u64, bytes: impl Iterator<Item = i8>, scale: f32) {
        self.ascending &= self.lines.last().is_none_or(|&last| last < line);
        self.lines.push(line);
        self.bytes.extend(bytes);
        self.scales.push(scale);
    }
}

/// A byte for each dimension, so that the largest is 127, and what makes their vector of length
/// one; 0 for a vector that points nowhere.
fn quantize(vector: &[f32]) -> (impl Iterator<Item = i8> + '_, f32) {
    let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
    let step = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    // A step past what fits would make 0 × ∞ of a dimension that is 0.
    let step = if step.is_finite() { step } else { 0.0 };
    let byte = move |x: &f32| (x * step).round() as i8;
    let square: f32 = vector.iter().map(|x| f32::from(byte(x)).powi(2)).sum();
    let scale = if square > 0.0 {
        square.sqrt().recip()
    } else {
        0.0
    };
    (vector.iter().map(byte), scale)
}

/// Written so that the compiler takes many dimensions at once: two products of bytes fit in 16
/// bits, and are summed in 32.
fn dot(a: &[i8], b: &[i16]) -> i32 {
    let (whole, rest) = a.as_chunks::<16>();
    let (whole_b, rest_b) = b.as_chunks::<16>();
    let mut sums = [0i32; 8];
    for (a, b) in whole.iter().zip(whole_b) {
        let mut products = [0i16; 16];
        for n in 0..16 {
            products[n] = i16::from(a[n]).wrapping_mul(b[n]);
        }
        for n in 0..8 {
            sums[n] += i32::from(products[n].wrapping_add(products[n + 8]));
        }
    }
    let rest = rest
        .iter()
        .zip(rest_b)
        .map(|(&a, &b)| i32::from(a) * i32::from(b));
    sums.iter().sum::<i32>() + rest.sum::<i32>()
}

/// The best so far; the worst of them is on top.
struct Best {
    k: usize,
    /// What a score must reach once there are enough.
    floor: f32,
    heap: BinaryHeap<Hit>,
}

struct Hit {
    score: f32,
    line: u64,
}

impl Best {
    #[inline]
    fn offer(&mut self, score: f32, line: u64) {
        // Almost all end here.
        if score >= self.floor {
            self.take(Hit { score, line });
        }
    }

    fn take(&mut self, hit: Hit) {
        if self.heap.len() < self.k {
            self.heap.push(hit);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && hit < *worst
        {
            *worst = hit;
        }
        if self.heap.len() == self.k
            && let Some(worst) = self.heap.peek()
        {
            self.floor = worst.score;
        }
    }

    fn finish(self, scale: f32) -> Vec<(u64, f32)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|hit| (hit.line, hit.score * scale))
            .collect()
    }
}

impl Ord for Hit {
    /// Less is better: the higher score, and of equal ones the earlier line.
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.line.cmp(&other.line))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hit {}

#[cfg(test)]
mod tests;
