//! From a W given in full, or as a rule, to A and B.

use rayon::prelude::*;

use super::measure::{Probe, SAMPLE};
use super::rule::{RuleRows, SampledColumns, SampledRows, WeightRule, draw_indices};
use super::{Approximation, Decomposition, Rank};
use crate::data::Interactions;
use crate::linalg::{
    Dense, LinearOperator, NmfParams, RowBlocks, RowOperator, SvdParams, TallMatrix,
    least_squares_rows, nonnegative_factors, nonnegative_rows, truncated_svd,
};
use crate::weights::error::WeightsError;

/// Pairs up to which W is stored (200 MB) and the error is measured over all of them.
const STORED: u64 = 50_000_000;
/// Pairs up to which the factors use all of a rule; every product evaluates all pairs again.
const VISITED: u64 = 2_000_000_000;
/// Sampled users and items for each component, for the factors of a still larger rule.
const PER_COMPONENT: usize = 16;
/// The least number of sampled users and items.
const LEAST_SAMPLED: usize = 256;

/// Rows checked by one task.
const ROWS_PER_TASK: usize = 64;
/// Entries of a singular vector below this share of its largest one are rounding errors.
const ROUNDING: f64 = 1e-9;
/// What a rule is called in errors.
const RULE: &str = "the weight function";

/// A, B and their error.
pub(in crate::weights) struct ApproximateFactors {
    pub(in crate::weights) a: Dense,
    pub(in crate::weights) b: Dense,
    pub(in crate::weights) approximation: Approximation,
}

/// Approximates a W that is stored.
pub(in crate::weights) fn approximate_dense(
    w: &Dense,
    data: &Interactions<'_>,
    rank: Rank,
    method: Decomposition,
) -> Result<ApproximateFactors, WeightsError> {
    let (n_users, n_items) = (data.n_users(), data.n_items());
    if (w.rows(), w.cols()) != (n_users, n_items) {
        return Err(WeightsError::Shape {
            rows: w.rows(),
            cols: w.cols(),
            n_users,
            n_items,
        });
    }
    check_weights("W", w)?;
    let probe = Probe::All { w, data };
    let search = RankSearch::new(&probe, data, rank, method)?;
    search.run(|rank| factors(&RowOperator(w), rank, method))
}

/// Approximates a W that is a rule.
pub(in crate::weights) fn approximate_rule(
    rule: &dyn WeightRule,
    data: &Interactions<'_>,
    rank: Rank,
    method: Decomposition,
) -> Result<ApproximateFactors, WeightsError> {
    let (n_users, n_items) = (data.n_users(), data.n_items());
    let rows = RuleRows {
        rule,
        n_users,
        n_items,
    };
    let pairs = n_users as u64 * n_items as u64;
    if pairs <= STORED {
        let mut w = Dense::zeros(n_users, n_items);
        rows.fill(0..n_users, w.as_mut_slice());
        return approximate_dense(&w, data, rank, method);
    }
    let probe = Probe::sample(rule, data, SAMPLE);
    check_sample(&probe)?;
    if pairs <= VISITED {
        check_weights(RULE, &rows)?;
    }
    let search = RankSearch::new(&probe, data, rank, method)?;
    search.run(|rank| {
        if pairs <= VISITED {
            factors(&RowOperator(&rows), rank, method)
        } else {
            factors_of_sample(&rows, rank, method)
        }
    })
}

/// Factors in single precision.
struct WeightFactors {
    a: Dense,
    b: Dense,
    converged: bool,
}

impl WeightFactors {
    fn first(self, rank: usize) -> Self {
        let cut = |of: &Dense| Dense::from_fn(of.rows(), rank, |row, t| of.row(row)[t]);
        Self {
            a: cut(&self.a),
            b: cut(&self.b),
            ..self
        }
    }
}

fn factors(
    w: &dyn LinearOperator,
    rank: usize,
    method: Decomposition,
) -> Result<WeightFactors, WeightsError> {
    let (a, b, converged) = match method {
        Decomposition::Svd => {
            let mut svd = truncated_svd(w, &SvdParams::new(rank))?;
            let roots: Vec<f64> = svd.sigma.iter().map(|sigma| sigma.sqrt()).collect();
            for side in [&mut svd.u, &mut svd.v] {
                side.scale_columns(&roots);
                clear_rounding(side);
            }
            (svd.u, svd.v, svd.converged)
        }
        Decomposition::NonNegative => {
            let found = nonnegative_factors(w, &NmfParams::new(rank))?;
            (found.a, found.b, found.converged)
        }
    };
    Ok(WeightFactors {
        a: a.to_dense(),
        b: b.to_dense(),
        converged,
    })
}

/// Sets rounding errors to 0, so that users and items without weight get exactly 0 instead of a tiny
/// number of either sign.
fn clear_rounding(side: &mut TallMatrix) {
    for t in 0..side.cols() {
        let largest = (0..side.rows()).fold(0.0, |most, row| side.get(row, t).abs().max(most));
        for row in 0..side.rows() {
            if side.get(row, t).abs() < ROUNDING * largest {
                side.set(row, t, 0.0);
            }
        }
    }
}

/// Factors of a rule over more pairs than can be evaluated: A from a sample of the items, then each
/// item's `b_i` by least squares over a sample of the users. Their error is measured like any other.
fn factors_of_sample(
    w: &RuleRows<'_>,
    rank: usize,
    method: Decomposition,
) -> Result<WeightFactors, WeightsError> {
    let size = (PER_COMPONENT * rank).max(LEAST_SAMPLED);
    let items = draw_indices(w.n_items, size, 1);
    let users = draw_indices(w.n_users, size, 2);
    let columns = SampledColumns {
        rule: w.rule,
        n_users: w.n_users,
        items: &items,
    };
    let found = factors(&RowOperator(&columns), rank, method)?;
    let rows = SampledRows { w, users: &users };
    let own = TallMatrix::from_fn(users.len(), rank, |at, t| {
        f64::from(found.a.row(users[at] as usize)[t])
    });
    let product = RowOperator(&rows).apply_transposed(&own);
    let b = match method {
        Decomposition::Svd => least_squares_rows(&product, &own)?,
        Decomposition::NonNegative => nonnegative_rows(&product, &own),
    };
    Ok(WeightFactors {
        b: b.to_dense(),
        ..found
    })
}

/// The search for the rank.
struct RankSearch<'a> {
    probe: &'a Probe<'a>,
    rank: Rank,
    method: Decomposition,
    cap: usize,
}

impl<'a> RankSearch<'a> {
    fn new(
        probe: &'a Probe<'a>,
        data: &Interactions<'_>,
        rank: Rank,
        method: Decomposition,
    ) -> Result<Self, WeightsError> {
        let (n_users, n_items) = (data.n_users(), data.n_items());
        let least = n_users.min(n_items);
        let (requested, cap) = match rank {
            Rank::Fixed(z) => (z, z),
            Rank::Error { target, max_rank } => {
                check_target(target)?;
                (max_rank.min(least), max_rank.min(least))
            }
        };
        if requested == 0 || requested > least {
            return Err(WeightsError::Rank {
                rank: requested,
                n_users,
                n_items,
            });
        }
        Ok(Self {
            probe,
            rank,
            method,
            cap,
        })
    }

    fn run(
        &self,
        factorise: impl Fn(usize) -> Result<WeightFactors, WeightsError>,
    ) -> Result<ApproximateFactors, WeightsError> {
        let found = match (self.rank, self.method) {
            (Rank::Fixed(z), _) => factorise(z)?,
            (Rank::Error { target, .. }, Decomposition::Svd) => {
                self.nested(f64::from(target), factorise)?
            }
            (Rank::Error { target, .. }, Decomposition::NonNegative) => {
                self.one_by_one(f64::from(target), factorise)?
            }
        };
        let WeightFactors { a, b, converged } = found;
        let measured = self.probe.measure(&a, &b);
        let approximation = Approximation {
            rank: a.cols(),
            method: self.method,
            relative_error: measured.relative_error,
            measured: measured.measured,
            negatives: measured.negatives,
            converged,
        };
        Ok(ApproximateFactors {
            a,
            b,
            approximation,
        })
    }

    /// A truncated SVD contains those of all lower ranks: one of a high enough rank is enough to choose from.
    fn nested(
        &self,
        target: f64,
        factorise: impl Fn(usize) -> Result<WeightFactors, WeightsError>,
    ) -> Result<WeightFactors, WeightsError> {
        let mut rank = self.cap.min(4);
        loop {
            let found = factorise(rank)?;
            let errors = self.probe.errors_by_rank(&found.a, &found.b);
            if let Some(enough) = errors[1..].iter().position(|error| *error <= target) {
                return Ok(found.first(enough + 1));
            }
            if rank == self.cap {
                return Err(self.unreachable(target, errors[rank]));
            }
            rank = (4 * rank).min(self.cap);
        }
    }

    /// Doubles the rank until it is enough, then halves the gap to the last that was not.
    fn one_by_one(
        &self,
        target: f64,
        factorise: impl Fn(usize) -> Result<WeightFactors, WeightsError>,
    ) -> Result<WeightFactors, WeightsError> {
        let error_of =
            |found: &WeightFactors| self.probe.measure(&found.a, &found.b).relative_error;
        let (mut below, mut rank) = (0, 1);
        let mut best = loop {
            let found = factorise(rank)?;
            let error = error_of(&found);
            if error <= target {
                break found;
            }
            if rank == self.cap {
                return Err(self.unreachable(target, error));
            }
            (below, rank) = (rank, (2 * rank).min(self.cap));
        };
        while best.a.cols() - below > 1 {
            let middle = usize::midpoint(below, best.a.cols());
            let found = factorise(middle)?;
            if error_of(&found) <= target {
                best = found;
            } else {
                below = middle;
            }
        }
        Ok(best)
    }

    fn unreachable(&self, target: f64, reached: f64) -> WeightsError {
        WeightsError::Unreachable {
            target,
            reached,
            max_rank: self.cap,
        }
    }
}

fn check_target(target: f32) -> Result<(), WeightsError> {
    if target.is_finite() && target > 0.0 {
        return Ok(());
    }
    Err(WeightsError::Parameter {
        scheme: "dense".to_owned(),
        name: "error",
        got: f64::from(target),
        range: "finite and above 0",
    })
}

/// Rejects numbers that cannot be weights, naming the first.
pub(in crate::weights) fn check_weights(
    what: &'static str,
    w: &dyn RowBlocks,
) -> Result<(), WeightsError> {
    let (m, n) = (w.rows(), w.cols().max(1));
    let found = (0..m.div_ceil(ROWS_PER_TASK))
        .into_par_iter()
        .map_init(Vec::new, |buffer, task| {
            let rows = task * ROWS_PER_TASK..m.min((task + 1) * ROWS_PER_TASK);
            buffer.resize(rows.len() * w.cols(), 0.0);
            w.fill(rows, buffer);
            let bad = buffer.iter().position(|value| !is_weight(*value))?;
            Some((task * ROWS_PER_TASK + bad / n, bad % n, buffer[bad]))
        })
        .find_map_first(|bad| bad);
    match found {
        Some((row, col, value)) => Err(bad_weight(what, row, col, value)),
        None => Ok(()),
    }
}

fn is_weight(value: f32) -> bool {
    value.is_finite() && value >= 0.0
}

fn check_sample(probe: &Probe<'_>) -> Result<(), WeightsError> {
    let Probe::Sample(pairs) = probe else {
        return Ok(());
    };
    match pairs.iter().find(|(_, _, w)| !is_weight(*w)) {
        Some(&(u, i, w)) => Err(bad_weight(RULE, u as usize, i as usize, w)),
        None => Ok(()),
    }
}

fn bad_weight(what: &'static str, row: usize, col: usize, value: f32) -> WeightsError {
    WeightsError::Value {
        what,
        row,
        col,
        value,
        range: "finite and at least 0",
    }
}
