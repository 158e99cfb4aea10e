//! The model behind [`Learned`] weights: the rates at which users see items, estimated from the data.
//!
//! An entry can be observed only if its item was seen. Let `x_ui` say whether user u saw item i, with
//! rate `a_u · b_i` for non-negative `a_u, b_i ∈ R^Z`, so `μ_ui = P(x_ui = 1) = 1 − exp(−a_u · b_i)`;
//! a seen item has a response of `N(p_u·q_i, σ²)`, an unseen one has none. That is the exposure model of
//! Liang, Charlin and others (*Modeling user exposure in recommendation*, 2016) with a prior
//! of low rank instead of one per item. Given P and Q, a missing entry was seen with probability
//!
//! ```text
//! γ_ui = μ_ui e_ui / (μ_ui e_ui + 1 − μ_ui),   e_ui = exp(−(p_u·q_i)² / 2σ²)
//! ```
//!
//! and an observed one with `γ_ui = 1`: an item that the model expects to be liked but that is missing was
//! probably never seen. A and B then maximise the Poisson likelihood of the expected exposures,
//!
//! ```text
//! Σ_ui γ_ui ln(a_u · b_i) − a_u · b_i
//! ```
//!
//! by multiplicative steps that cost `O(|R| Z)`: γ of the missing entries is computed for a sample of them,
//! for each user as many as the user has interactions, each representing its share of the missing entries.
//! With observed entries alone and Z = 1 the maximum is `n_u n_i / |R|`, popularity × activity. The caller
//! alternates between fitting P and Q and [`ExposureRates::estimate`]; the weight of a missing entry is
//!
//! ```text
//! w_ui = c Σ_t (a_ut b_it)^α
//! ```
//!
//! with c such that the mean over missing entries is the requested one. α tempers the differences, as it
//! does in the paper's popularity formula.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::learned::{Learned, NAME};
use crate::data::{DataError, Duplicates, Entries, Interactions, Row, Triplets};
use crate::linalg::Dense;
use crate::weights::error::WeightsError;
use crate::weights::sums::{mean_over_missing, missing_entries, weighted_mean_square};

/// Multiplicative steps of both sides for each estimate of the exposures.
const STEPS: usize = 15;
/// Exposures that every row is assumed to have besides its own, distributed like those of the mean row.
const PRIOR: f64 = 1.0;
/// Rows updated by one task.
const ROWS_PER_TASK: usize = 256;
/// Draws after which the search for a missing entry is given up.
const TRIES: usize = 64;

/// Where the γ of an entry is.
#[derive(Clone, Copy)]
enum Gamma {
    /// Every entry was certainly seen.
    Ones,
    /// In the entry's target.
    Targets,
}

/// Estimated rates `a_u · b_i` at which users see items.
#[derive(Clone, Debug, PartialEq)]
pub struct ExposureRates {
    /// A, `(M, Z)`, no entry below 0.
    pub(crate) a: Dense,
    /// B, `(N, Z)`, no entry below 0.
    pub(crate) b: Dense,
}

impl ExposureRates {
    /// Yields the rates that explain the observed entries alone. The estimate stops early if `keep_going`,
    /// which is called before every step, yields `false`.
    pub(crate) fn of_observed(
        data: &Interactions<'_>,
        rank: usize,
        seed: u64,
        keep_going: impl Fn() -> bool,
    ) -> Self {
        let total = data.len().max(1) as f64;
        let mut exposure = Self {
            a: start(&data.user_counts(), rank, 1.0, seed),
            b: start(&data.item_counts(), rank, rank as f64 / total, seed ^ 1),
        };
        exposure.explain(data, Gamma::Ones, keep_going);
        exposure
    }

    /// Moves the rates towards those of the given exposures; they are valid after any step.
    fn explain(&mut self, seen: &Interactions<'_>, gamma: Gamma, keep_going: impl Fn() -> bool) {
        for _ in 0..STEPS {
            if !keep_going() {
                return;
            }
            multiply(&mut self.a, &self.b, seen.by_user(), gamma);
            multiply(&mut self.b, &self.a, seen.by_item(), gamma);
        }
    }

    /// Estimates the rates again, from the observed entries and a sample of the missing ones; `score`
    /// yields the prediction of a pair, and `keep_going` is called before every step.
    ///
    /// # Errors
    /// More entries than can be held.
    pub(crate) fn estimate(
        &mut self,
        data: &Interactions<'_>,
        score: impl Fn(u32, u32) -> f32 + Sync,
        seed: u64,
        keep_going: impl Fn() -> bool,
    ) -> Result<(), DataError> {
        let variance = self.variance(data, &score, seed);
        let seen = self.expected(data, &score, variance, seed)?;
        self.explain(&seen, Gamma::Targets, keep_going);
        Ok(())
    }

    /// σ²: mean squared error of the predictions of seen entries.
    fn variance(
        &self,
        data: &Interactions<'_>,
        score: &(impl Fn(u32, u32) -> f32 + Sync),
        seed: u64,
    ) -> f64 {
        let row = |user: u32| -> (f64, f64) {
            let observed = data.by_user().row(user as usize);
            let (mut squares, mut weight) = (0.0, 0.0);
            for (n, &item) in observed.indices.iter().enumerate() {
                squares += f64::from(observed.r.get(n) - score(user, item)).powi(2);
                weight += 1.0;
            }
            let (items, represents) = missing_sample(data, user, seed);
            for item in items {
                let seen = represents * self.chance(user, item);
                squares += seen * f64::from(score(user, item)).powi(2);
                weight += seen;
            }
            (squares, weight)
        };
        weighted_mean_square(data.n_users(), row).max(1e-6)
    }

    /// γ of the observed entries and of the sample, times the number of entries each represents.
    fn expected(
        &self,
        data: &Interactions<'_>,
        score: &(impl Fn(u32, u32) -> f32 + Sync),
        variance: f64,
        seed: u64,
    ) -> Result<Interactions<'static>, DataError> {
        let row = |user: u32| -> Vec<(u32, f32)> {
            // An entry known to have been shown and not taken was seen as well.
            let observed = data.by_user().row(user as usize).indices.iter();
            let observed = observed.map(|&item| (item, 1.0));
            let (items, represents) = missing_sample(data, user, seed);
            let sampled = items.into_iter().map(|item| {
                let answer = (-f64::from(score(user, item)).powi(2) / (2.0 * variance)).exp();
                let prior = self.chance(user, item);
                let seen = prior * answer / (prior * answer + 1.0 - prior).max(f64::MIN_POSITIVE);
                (item, (represents * seen) as f32)
            });
            observed.chain(sampled).collect()
        };
        let rows: Vec<Vec<(u32, f32)>> = (0..data.n_users() as u32)
            .into_par_iter()
            .map(row)
            .collect();
        // Allocated exactly: this is the peak of the estimate, which the memory check accounts for.
        let len = rows.iter().map(Vec::len).sum();
        let (mut users, mut items) = (Vec::with_capacity(len), Vec::with_capacity(len));
        let mut values = Vec::with_capacity(len);
        for (user, row) in rows.into_iter().enumerate() {
            for (item, value) in row {
                users.push(user as u32);
                items.push(item);
                values.push(value);
            }
        }
        Triplets::new(&users, &items).values(&values).build(
            data.n_users(),
            data.n_items(),
            Duplicates::Sum,
        )
    }

    /// `μ_ui`, the chance that the item was seen.
    fn chance(&self, user: u32, item: u32) -> f64 {
        let pairs = self.a.row(user as usize).iter();
        let pairs = pairs.zip(self.b.row(item as usize));
        let rate: f64 = pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        1.0 - (-rate).exp()
    }

    /// Yields A and B of the weights: rates to the power α, scaled to the requested mean.
    pub(super) fn weights(
        &self,
        learned: &Learned,
        data: &Interactions<'_>,
    ) -> Result<(Dense, Dense), WeightsError> {
        let tempered = |side: &Dense| {
            Dense::from_fn(side.rows(), side.cols(), |row, t| {
                f64::from(side.row(row)[t]).powf(f64::from(learned.alpha)) as f32
            })
        };
        let (a, b) = (tempered(&self.a), tempered(&self.b));
        let mean = mean_over_missing(data, &a, &b);
        if learned.mean > 0.0 && mean <= 0.0 {
            return Err(WeightsError::NoMean {
                scheme: NAME.to_owned(),
                missing: missing_entries(data),
                mean: learned.mean,
            });
        }
        let scale = f64::from(learned.mean) / mean.max(f64::MIN_POSITIVE);
        let a = Dense::from_fn(a.rows(), a.cols(), |user, t| {
            (scale * f64::from(a.row(user)[t])) as f32
        });
        Ok((a, b))
    }
}

/// Rates by counts, each component perturbed at random: equal components would stay equal.
fn start(counts: &[u32], rank: usize, scale: f64, seed: u64) -> Dense {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut unit = move || f64::from(random.next_u32()) / 4_294_967_296.0;
    Dense::from_fn(counts.len(), rank, |row, _| {
        let moved = if rank == 1 { 1.0 } else { 0.5 + unit() };
        ((f64::from(counts[row]) + 0.1) * scale * moved / rank as f64) as f32
    })
}

/// One multiplicative step of every row of `free`: `x_t ← x_t Σ_j (γ_j / x·y_j) y_jt / Σ y_t`, over the
/// row's exposures and those of the prior.
fn multiply(free: &mut Dense, fixed: &Dense, seen: &Entries<'_>, gamma: Gamma) {
    let (z, n) = (free.cols(), free.rows().max(1) as f64);
    let (sums, means) = (fixed.column_sums(), free.column_sums());
    let means: Vec<f64> = means.iter().map(|sum| sum / n).collect();
    let expected: f64 = means.iter().zip(&sums).map(|(m, s)| m * s).sum();
    let shares: Vec<f64> = means.iter().zip(&sums).map(|(m, s)| m * s).collect();
    let stride = free.stride();
    let rows = free.as_mut_slice().par_chunks_mut(ROWS_PER_TASK * stride);
    rows.enumerate().for_each(|(task, rows)| {
        let mut pulled = vec![0.0_f64; z];
        for (at, x) in rows.chunks_exact_mut(stride).enumerate() {
            let x = &mut x[..z];
            pull(
                x,
                fixed,
                &seen.row(task * ROWS_PER_TASK + at),
                gamma,
                &mut pulled,
            );
            for t in 0..z {
                // The prior is PRIOR exposures at the rates of the mean row.
                let prior = PRIOR * shares[t] / expected.max(f64::MIN_POSITIVE);
                let under = sums[t] + prior / means[t].max(f64::MIN_POSITIVE);
                let over = f64::from(x[t]) * pulled[t] + prior;
                x[t] = (over / under.max(f64::MIN_POSITIVE)) as f32;
            }
        }
    });
}

/// `Σ_j (γ_j / x·y_j) y_j` over the exposures of a row.
fn pull(x: &[f32], fixed: &Dense, seen: &Row<'_>, gamma: Gamma, out: &mut [f64]) {
    out.fill(0.0);
    for (n, &column) in seen.indices.iter().enumerate() {
        let y = fixed.row(column as usize);
        let rate: f64 = x
            .iter()
            .zip(y)
            .map(|(x, y)| f64::from(*x) * f64::from(*y))
            .sum();
        if rate > 0.0 {
            let gamma = match gamma {
                Gamma::Ones => 1.0,
                Gamma::Targets => f64::from(seen.r.get(n)),
            };
            let ratio = gamma / rate;
            for (slot, y) in out.iter_mut().zip(y) {
                *slot += ratio * f64::from(*y);
            }
        }
    }
}

/// Some missing entries of a user, and the number of missing entries each represents.
fn missing_sample(data: &Interactions<'_>, user: u32, seed: u64) -> (Vec<u32>, f64) {
    let taken = data.by_user().row(user as usize).indices;
    let missing = data.n_items() - taken.len();
    let size = taken.len().min(missing);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(u64::from(user));
    let mut draw = || ((u64::from(random.next_u32()) * data.n_items() as u64) >> 32) as u32;
    let mut items = Vec::with_capacity(size);
    for _ in 0..size {
        let found = (0..TRIES)
            .map(|_| draw())
            .find(|item| taken.binary_search(item).is_err());
        items.extend(found);
    }
    let represents = missing as f64 / items.len().max(1) as f64;
    (items, represents)
}
