//! Weights estimated from the data: how likely a missing entry was seen and passed over.
//!
//! An entry can be observed only if its item was seen. Let `x_ui` say whether user u saw item i, with
//! rate `a_u · b_i` for non-negative `a_u, b_i ∈ R^Z`, so `μ_ui = P(x_ui = 1) = 1 − exp(−a_u · b_i)`;
//! what was seen answers `N(p_u·q_i, σ²)`, what was not answers nothing. That is the exposure model of
//! Liang, Charlin and others (*Modeling user exposure in recommendation*, 2016) with a prior
//! of low rank instead of one per item. Given P and Q, a missing entry was seen with probability
//!
//! ```text
//! γ_ui = μ_ui e_ui / (μ_ui e_ui + 1 − μ_ui),   e_ui = exp(−(p_u·q_i)² / 2σ²)
//! ```
//!
//! and an observed one with `γ_ui = 1`: an item that the model expects to be liked, and is missing, was
//! likely never seen. A and B then maximise the Poisson likelihood of the expected exposures,
//!
//! ```text
//! Σ_ui γ_ui ln(a_u · b_i) − a_u · b_i
//! ```
//!
//! by multiplicative steps that cost `O(|R| Z)`: γ of the missing entries is known for a sample of them,
//! as many for each user as there are interactions, each standing for its share. With observed entries
//! alone and Z = 1 the maximum is `n_u n_i / |R|`, popularity × activity. Fitting P and Q to the weights
//! and estimating the weights anew alternate for a number of rounds; the weight of a missing entry is
//!
//! ```text
//! w_ui = c Σ_t (a_ut b_it)^α
//! ```
//!
//! with c such that the mean over missing entries is the one asked for. α tempers the differences, as it
//! does in the paper's popularity formula.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::error::WeightsError;
use super::frozen::{Frozen, FrozenPart, PartKind};
use super::missing::{MissingWeights, column_sums};
use crate::data::{DataError, Duplicates, Entries, Interactions, Row, Triplets};
use crate::linalg::Dense;

/// Multiplicative steps of both sides for each estimate of the exposures.
const STEPS: usize = 15;
/// Exposures that a row is believed to have beside its own, spread as those of the mean row.
const PRIOR: f64 = 1.0;
/// Rows updated by one task.
const PIECE: usize = 256;
/// Draws after which the search for a missing entry is given up.
const TRIES: usize = 64;

/// What is asked of learned weights.
///
/// | Name | Symbol | Default | Range |
/// | --- | --- | --- | --- |
/// | `mean` | – | – | ≥ 0, mean weight over missing entries |
/// | `rank` | Z | 4 | 1 ..= 64 |
/// | `alpha` | α | 0.25 | `[0, 4]` |
/// | `rounds` | – | 2 | 0 ..= 100; 0 looks at observed entries only |
/// | `seed` | – | 0 | any |
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Learned {
    /// Mean weight over missing entries.
    pub mean: f32,
    /// Number of components Z.
    pub rank: usize,
    /// Exponent α of the exposure rates.
    pub alpha: f32,
    /// Estimates of the exposures with P and Q at hand.
    pub rounds: usize,
    /// Seed of the start and of the sample of missing entries.
    pub seed: u64,
}

impl Learned {
    /// The most components.
    pub const MAX_RANK: usize = 64;
    /// The most rounds.
    pub const MAX_ROUNDS: usize = 100;

    /// Yields the defaults for a mean weight.
    #[must_use]
    pub fn new(mean: f32) -> Self {
        Self {
            mean,
            rank: 4,
            alpha: 0.25,
            rounds: 2,
            seed: 0,
        }
    }

    /// # Errors
    /// Names the first parameter out of range.
    pub(crate) fn check(&self) -> Result<(), WeightsError> {
        let refused = |name, got: f64, range| WeightsError::Parameter {
            scheme: "learned",
            name,
            got,
            range,
        };
        if !(self.mean.is_finite() && self.mean >= 0.0) {
            let range = "finite and at least 0";
            return Err(refused("mean", f64::from(self.mean), range));
        }
        if !(0.0..=4.0).contains(&self.alpha) {
            return Err(refused("alpha", f64::from(self.alpha), "from 0 to 4"));
        }
        if !(1..=Self::MAX_RANK).contains(&self.rank) {
            return Err(refused("rank", self.rank as f64, "from 1 to 64"));
        }
        if self.rounds > Self::MAX_ROUNDS {
            return Err(refused("rounds", self.rounds as f64, "from 0 to 100"));
        }
        Ok(())
    }
}

/// Where the γ of an entry is.
#[derive(Clone, Copy)]
enum Gamma {
    /// Every entry was seen for sure.
    Ones,
    /// In the entry's target.
    Targets,
}

/// Estimated rates `a_u · b_i` at which users see items.
#[derive(Clone, Debug, PartialEq)]
pub struct Exposure {
    /// A, `(M, Z)`, no entry below 0.
    pub(crate) a: Dense,
    /// B, `(N, Z)`, no entry below 0.
    pub(crate) b: Dense,
}

impl Exposure {
    /// Yields the rates that explain the observed entries alone.
    pub(crate) fn of_observed(data: &Interactions<'_>, rank: usize, seed: u64) -> Self {
        let total = data.len().max(1) as f64;
        let mut exposure = Self {
            a: start(&data.user_counts(), rank, 1.0, seed),
            b: start(&data.item_counts(), rank, rank as f64 / total, seed ^ 1),
        };
        exposure.explain(data, Gamma::Ones);
        exposure
    }

    /// Moves the rates towards those of the given exposures.
    fn explain(&mut self, seen: &Interactions<'_>, gamma: Gamma) {
        for _ in 0..STEPS {
            multiply(&mut self.a, &self.b, seen.by_user(), gamma);
            multiply(&mut self.b, &self.a, seen.by_item(), gamma);
        }
    }

    /// Estimates the rates anew, from the observed entries and a sample of the missing ones, whose
    /// predictions `score` tells.
    ///
    /// # Errors
    /// More entries than can be held.
    pub(crate) fn estimate(
        &mut self,
        data: &Interactions<'_>,
        score: impl Fn(u32, u32) -> f32 + Sync,
        seed: u64,
    ) -> Result<(), DataError> {
        let variance = self.variance(data, &score, seed);
        let seen = self.expected(data, &score, variance, seed)?;
        self.explain(&seen, Gamma::Targets);
        Ok(())
    }

    /// σ²: mean square of what predictions of seen entries are off by.
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
            let (items, stands_for) = missing_sample(data, user, seed);
            for item in items {
                let seen = stands_for * self.chance(user, item);
                squares += seen * f64::from(score(user, item)).powi(2);
                weight += seen;
            }
            (squares, weight)
        };
        let rows: Vec<(f64, f64)> = (0..data.n_users() as u32)
            .into_par_iter()
            .map(row)
            .collect();
        let add = |sum: (f64, f64), row: &(f64, f64)| (sum.0 + row.0, sum.1 + row.1);
        let (squares, weight) = rows.iter().fold((0.0, 0.0), add);
        (squares / weight.max(1.0)).max(1e-6)
    }

    /// γ of the observed entries and of the sample, times what each stands for.
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
            let (items, stands_for) = missing_sample(data, user, seed);
            let sampled = items.into_iter().map(|item| {
                let answer = (-f64::from(score(user, item)).powi(2) / (2.0 * variance)).exp();
                let prior = self.chance(user, item);
                let seen = prior * answer / (prior * answer + 1.0 - prior).max(f64::MIN_POSITIVE);
                (item, (stands_for * seen) as f32)
            });
            observed.chain(sampled).collect()
        };
        let rows: Vec<Vec<(u32, f32)>> = (0..data.n_users() as u32)
            .into_par_iter()
            .map(row)
            .collect();
        // No more than is needed: this is the peak of the estimate, and counted before it starts.
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

    /// Yields A and B of the weights: rates to the power α, with the mean asked for.
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
        let frozen = Frozen {
            parts: vec![FrozenPart {
                rank: a.cols(),
                kind: PartKind::LowRank,
            }],
        };
        let raw = MissingWeights::from_parts(a, b, frozen)?;
        let mean = raw.mean_missing(data);
        if learned.mean > 0.0 && mean <= 0.0 {
            return Err(WeightsError::NoMean {
                scheme: "learned",
                missing: data.n_users() as u64 * data.n_items() as u64 - data.len() as u64,
                mean: learned.mean,
            });
        }
        let scale = f64::from(learned.mean) / mean.max(f64::MIN_POSITIVE);
        let a = Dense::from_fn(raw.n_users(), raw.rank(), |user, t| {
            (scale * f64::from(raw.a().row(user)[t])) as f32
        });
        Ok((a, raw.b().clone()))
    }
}

/// Rates by counts, each component moved a little at random: equal ones would stay equal for ever.
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
    let (sums, means) = (column_sums(fixed), column_sums(free));
    let means: Vec<f64> = means.iter().map(|sum| sum / n).collect();
    let expected: f64 = means.iter().zip(&sums).map(|(m, s)| m * s).sum();
    let shares: Vec<f64> = means.iter().zip(&sums).map(|(m, s)| m * s).collect();
    let stride = free.stride();
    let rows = free.as_mut_slice().par_chunks_mut(PIECE * stride);
    rows.enumerate().for_each(|(piece, rows)| {
        let mut pulled = vec![0.0_f64; z];
        for (at, x) in rows.chunks_exact_mut(stride).enumerate() {
            let x = &mut x[..z];
            pull(x, fixed, &seen.row(piece * PIECE + at), gamma, &mut pulled);
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

/// Some missing entries of a user, and how many each stands for.
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
    let stands_for = missing as f64 / items.len().max(1) as f64;
    (items, stands_for)
}
