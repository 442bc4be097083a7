//! The directions in which the rows spread most: a truncated singular value decomposition by
//! subspace iteration.
//!
//! A block of random directions is multiplied with `AᵀA` and made orthonormal again, a few times;
//! then the small problem within the block is solved exactly. `A` is never held as more than
//! counts.

use crate::corpus::{BuildError, Hook, Progress};
use crate::text::mix;

use super::rows::Rows;

/// Directions beyond those that are wanted, which make these come out sooner.
const SPARE: usize = 10;
const ROUNDS: u64 = 3;
/// How much of the singular values is taken out again: the first directions say what all talk
/// has in common.
const FLATTEN: f32 = 0.5;

/// Weights of the terms, a row for each term, and the dimensions that it has.
pub(super) fn basis(
    rows: &Rows,
    terms: usize,
    dims: usize,
    hook: Hook<'_>,
) -> Result<(Vec<f32>, Vec<f32>, usize), BuildError> {
    let weights = weights(rows, terms);
    let norms: Vec<f32> = (0..rows.len())
        .map(|n| {
            let square: f32 = rows
                .row(n)
                .map(|(t, c)| (local(c) * weights[t]).powi(2))
                .sum();
            if square > 0.0 {
                square.sqrt().recip()
            } else {
                0.0
            }
        })
        .collect();
    let dims = dims.min(terms / 2).min(rows.len()).max(1);
    let width = (dims + SPARE).min(terms.max(1));
    let mut block: Vec<f32> = (0..terms * width)
        .map(|n| ((mix(n as u64 + 1) >> 40) as f32 / (1u64 << 24) as f32) - 0.5)
        .collect();
    for done in 0..ROUNDS {
        let tell = Progress {
            stage: "directions",
            done,
            of: Some(ROUNDS),
        };
        if hook(tell).is_break() {
            return Err(BuildError::Cancelled);
        }
        orthonormal(&mut block, width);
        if done + 1 < ROUNDS {
            block = multiply(rows, &weights, &norms, &block, width);
        }
    }
    // Once more, for what the rounding of the first left.
    orthonormal(&mut block, width);
    let product = multiply(rows, &weights, &norms, &block, width);
    let small = inner(&block, &product, width);
    drop(product);
    let (values, vectors) = eigen(small, width);
    let mut found = vec![0.0; terms * dims];
    let scales: Vec<f32> = values[..dims.min(width)]
        .iter()
        .map(|&value| {
            let singular = (value.max(0.0) as f32).sqrt();
            if singular > 1e-6 {
                singular.powf(-FLATTEN)
            } else {
                0.0
            }
        })
        .collect();
    for (to, from) in found.chunks_mut(dims).zip(block.chunks(width)) {
        for (d, (to, scale)) in to.iter_mut().zip(&scales).enumerate() {
            let sum: f32 = from
                .iter()
                .enumerate()
                .map(|(j, x)| x * vectors[j * width + d] as f32)
                .sum();
            *to = sum * scale;
        }
    }
    Ok((weights, found, dims))
}

/// How much an occurrence counts where there are several.
fn local(count: u8) -> f32 {
    (1.0 + f32::from(count)).ln()
}

/// By entropy: a term that is spread evenly says little.
fn weights(rows: &Rows, terms: usize) -> Vec<f32> {
    let mut total = vec![0f64; terms];
    let mut spread = vec![0f64; terms];
    for (term, count) in (0..rows.len()).flat_map(|n| rows.row(n)) {
        let count = f64::from(count);
        total[term] += count;
        spread[term] += count * count.ln();
    }
    let all = (rows.len().max(2) as f64).ln();
    total
        .iter()
        .zip(&spread)
        .map(|(&total, &spread)| {
            if total == 0.0 {
                return 0.0;
            }
            let entropy = total.ln() - spread / total;
            (1.0 - entropy / all).max(0.01) as f32
        })
        .collect()
}

/// `AᵀA` times the block.
fn multiply(rows: &Rows, weights: &[f32], norms: &[f32], block: &[f32], width: usize) -> Vec<f32> {
    let mut product = vec![0.0; block.len()];
    let mut sum = vec![0.0; width];
    for (n, norm) in norms.iter().enumerate() {
        sum.fill(0.0);
        for (term, count) in rows.row(n) {
            let value = local(count) * weights[term] * norm;
            add(&mut sum, &block[term * width..(term + 1) * width], value);
        }
        for (term, count) in rows.row(n) {
            let value = local(count) * weights[term] * norm;
            add(&mut product[term * width..(term + 1) * width], &sum, value);
        }
    }
    product
}

fn add(to: &mut [f32], from: &[f32], times: f32) {
    to.iter_mut().zip(from).for_each(|(to, x)| *to += times * x);
}

/// `AᵀB` of two tall blocks.
fn inner(a: &[f32], b: &[f32], width: usize) -> Vec<f64> {
    let mut sums = vec![0f64; width * width];
    let mut part = vec![0f32; width * width];
    // In parts, so that a sum of many small numbers keeps them.
    for (a, b) in a.chunks(width * 512).zip(b.chunks(width * 512)) {
        part.fill(0.0);
        for (a, b) in a.chunks(width).zip(b.chunks(width)) {
            for (i, &x) in a.iter().enumerate() {
                add(&mut part[i * width..(i + 1) * width], b, x);
            }
        }
        sums.iter_mut()
            .zip(&part)
            .for_each(|(to, x)| *to += f64::from(*x));
    }
    sums
}

/// Below which share of its length squared a column is held to depend on those before it.
const DEPENDENT: f64 = 1e-6;

/// Makes the columns of a tall block orthonormal, through the Cholesky factor of `BᵀB`.
fn orthonormal(block: &mut [f32], width: usize) {
    let mut factor = inner(block, block, width);
    for i in 0..width {
        for j in 0..=i {
            let dot: f64 = (0..j)
                .map(|k| factor[i * width + k] * factor[j * width + k])
                .sum();
            let rest = factor[i * width + j] - dot;
            factor[i * width + j] = if i != j {
                rest / factor[j * width + j]
            } else if rest > factor[i * width + i] * DEPENDENT {
                rest.sqrt()
            } else {
                // What is left of it is rounding: divided by this, nothing is.
                f64::INFINITY
            };
        }
    }
    let factor: Vec<f32> = factor.into_iter().map(|x| x as f32).collect();
    for row in block.chunks_mut(width) {
        for i in 0..width {
            let (before, at) = row.split_at_mut(i);
            let dot: f32 = before
                .iter()
                .zip(&factor[i * width..])
                .map(|(x, l)| x * l)
                .sum();
            at[0] = (at[0] - dot) / factor[i * width + i];
        }
    }
}

/// Eigenvalues of a symmetric matrix, the largest first, with the vectors as columns: by
/// Jacobi's rotations.
fn eigen(mut a: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut vectors = vec![0f64; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _ in 0..12 {
        let off: f64 = (0..n)
            .flat_map(|i| (0..i).map(move |j| (i, j)))
            .map(|(i, j)| a[i * n + j].powi(2))
            .sum();
        let all: f64 = a.iter().map(|x| x * x).sum();
        if off <= all * 1e-14 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let apq = (a[p * n + q] + a[q * n + p]) / 2.0;
                if apq.abs() < 1e-15 {
                    continue;
                }
                let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = (t * t + 1.0).sqrt().recip();
                let s = t * c;
                rotate(&mut a, n, p, q, c, s);
                for k in 0..n {
                    let (x, y) = (vectors[k * n + p], vectors[k * n + q]);
                    vectors[k * n + p] = c * x - s * y;
                    vectors[k * n + q] = s * x + c * y;
                }
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[j * n + j].total_cmp(&a[i * n + i]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    let mut sorted = vec![0.0; n * n];
    for (to, &from) in order.iter().enumerate() {
        (0..n).for_each(|k| sorted[k * n + to] = vectors[k * n + from]);
    }
    (values, sorted)
}

fn rotate(a: &mut [f64], n: usize, p: usize, q: usize, c: f64, s: f64) {
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
}
