//! IALS1: coordinate steps on synthetic examples (Pilászy, Zibriczky and Tikk 2010).
//!
//! With one weight w₀ on all missing entries, what they say to a user is `w₀ QᵀQ`, and any K vectors
//! with that Gram matrix say the same. From the eigendecomposition `w₀ QᵀQ = V E Vᵀ` the K
//! *synthetic examples* are `x_m = √e_m v_m`, each with target 0 and weight 1. A user then has
//! `n_u + K` examples in place of N, their own with what the synthetic ones count too much taken
//! off (weight `d_ui = c_ui − w₀`, target `c_ui r_ui / d_ui`), and one pass of coordinate-wise ridge
//! regression (RR1) over them is
//!
//! ```text
//! p_f += (Σ_i (c_ui r_ui − d_ui p·q_i) q_if − Σ_m (p·x_m) x_mf − λ_u p_f) / (Σ_i d_ui q_if² + Σ_m x_mf² + λ_u)
//! ```
//!
//! f = 1..K: `O(K(n_u + K))` a row, `O(K³)` a side for the examples. In exact arithmetic this is the
//! step of element-wise ALS with uniform weights, reached another way.

use rayon::prelude::*;

use super::{Pass, PassInput, dot};
use crate::data::{Entries, Values};
use crate::linalg::kernels::{Gathered, Kernels};
use crate::linalg::{Dense, LANES, TallMatrix, symmetric_eigen};

/// One pass over both sides.
pub(super) fn pass(input: &PassInput<'_>, p: &mut Dense, q: &mut Dense) -> Pass {
    let (users, items) = (input.data.by_user(), input.data.by_item());
    half(input, users, input.penalty.users, p, q);
    if input.is_cancelled() {
        return Pass::Cancelled;
    }
    half(input, items, input.penalty.items, q, p);
    if input.is_cancelled() {
        return Pass::Cancelled;
    }
    Pass::Objective
}

fn half(
    input: &PassInput<'_>,
    observed: &Entries<'_>,
    penalty: &Values<'_>,
    free: &mut Dense,
    fixed: &Dense,
) {
    let side = ExampleSide {
        observed,
        penalty,
        fixed,
        weight: input.uniform_weight(),
        examples: synthetic_examples(fixed, input.uniform_weight()),
        kernels: input.kernels,
    };
    let stride = free.stride();
    free.as_mut_slice()
        .par_chunks_mut(stride)
        .enumerate()
        .with_min_len(16)
        .for_each_init(Ials1Scratch::default, |scratch, (row, factors)| {
            if !input.is_cancelled() {
                side.regress(row, factors, scratch);
            }
        });
}

/// What the rows of a side share.
struct ExampleSide<'a> {
    observed: &'a Entries<'a>,
    penalty: &'a Values<'a>,
    fixed: &'a Dense,
    weight: f32,
    /// Line f holds `x_mf` for all m, padded.
    examples: Dense,
    kernels: Kernels,
}

#[derive(Default)]
struct Ials1Scratch {
    /// Line f holds `q_if` of the row's items, padded.
    columns: Vec<f32>,
    /// `d_i q_if` of one f.
    weighted: Vec<f32>,
    d: Vec<f32>,
    /// `c r − d p·q` of the row's items.
    errors: Vec<f32>,
    /// `p·x_m`.
    synthetic: Vec<f32>,
}

impl ExampleSide<'_> {
    /// One pass of RR1 over a row's own and the synthetic examples.
    fn regress(&self, row: usize, factors: &mut [f32], scratch: &mut Ials1Scratch) {
        let n = self.load(row, factors, scratch);
        let lambda = self.penalty.get(row);
        for (f, factor) in factors[..self.fixed.cols()].iter_mut().enumerate() {
            let column = &scratch.columns[f * n..(f + 1) * n];
            let pairs = scratch.d.iter().zip(column);
            for (slot, (d, q)) in scratch.weighted.iter_mut().zip(pairs) {
                *slot = d * q;
            }
            let example = self.examples.padded_row(f);
            let pull = dot(self.kernels, &scratch.errors, column)
                - dot(self.kernels, &scratch.synthetic, example)
                - lambda * *factor;
            let curvature = dot(self.kernels, &scratch.weighted, column)
                + dot(self.kernels, example, example)
                + lambda;
            if curvature > 0.0 {
                let step = pull / curvature;
                *factor += step;
                self.kernels
                    .axpy(-step, &scratch.weighted, &mut scratch.errors);
                self.kernels.axpy(step, example, &mut scratch.synthetic);
            }
        }
    }

    /// Gathers the row's examples and yields their padded number.
    fn load(&self, row: usize, factors: &[f32], scratch: &mut Ials1Scratch) -> usize {
        let (entries, k) = (self.observed.row(row), self.fixed.cols());
        let n = entries.len().next_multiple_of(LANES).max(LANES);
        let own = Gathered {
            matrix: self.fixed.as_slice(),
            stride: self.fixed.stride(),
            indices: entries.indices,
        };
        for buffer in [&mut scratch.errors, &mut scratch.d, &mut scratch.weighted] {
            buffer.clear();
            buffer.resize(n, 0.0);
        }
        let predicted = &mut scratch.errors[..entries.len()];
        self.kernels.predict(factors, own, predicted);
        scratch.columns.clear();
        scratch.columns.resize(n * k, 0.0);
        for (at, &index) in entries.indices.iter().enumerate() {
            let c = entries.c.get(at);
            scratch.d[at] = c - self.weight;
            scratch.errors[at] = c * entries.r.get(at) - scratch.d[at] * scratch.errors[at];
            for (f, q) in self.fixed.row(index as usize).iter().enumerate() {
                scratch.columns[f * n + at] = *q;
            }
        }
        scratch.synthetic.clear();
        scratch.synthetic.resize(self.examples.stride(), 0.0);
        for (f, &p_f) in factors[..k].iter().enumerate() {
            let example = self.examples.padded_row(f);
            self.kernels.axpy(p_f, example, &mut scratch.synthetic);
        }
        n
    }
}

/// Yields `X` with `XᵀX = w₀ QᵀQ`, transposed: line f holds `x_mf` of every example m.
fn synthetic_examples(fixed: &Dense, weight: f32) -> Dense {
    let k = fixed.cols();
    let as_block = TallMatrix::from_fn(fixed.rows(), k, |row, col| f64::from(fixed.row(row)[col]));
    let mut gram = as_block.inner(&as_block);
    gram.scale_columns(&vec![f64::from(weight); k]);
    let mut examples = Dense::padded(k, k);
    // A Gram matrix that is not finite has no examples; J then is not finite either, and says so.
    if let Some((values, vectors)) = symmetric_eigen(&gram) {
        for f in 0..k {
            for (m, slot) in examples.row_mut(f).iter_mut().enumerate() {
                *slot = (values[m].max(0.0).sqrt() * vectors.get(f, m)) as f32;
            }
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_examples_have_the_gram_matrix_they_stand_for() {
        let fixed =
            Dense::from_fn(37, 5, |row, col| ((row * 7 + col * 3) % 11) as f32 - 4.0).into_padded();
        let examples = synthetic_examples(&fixed, 0.3);
        for f in 0..5 {
            for g in 0..5 {
                let want: f32 = (0..37)
                    .map(|row| 0.3 * fixed.row(row)[f] * fixed.row(row)[g])
                    .sum();
                let pairs = examples.row(f).iter().zip(examples.row(g));
                let got: f32 = pairs.map(|(x, y)| x * y).sum();
                assert!(
                    (got - want).abs() < 1e-3 * want.abs().max(1.0),
                    "{got} {want}"
                );
            }
        }
    }
}
