//! Weights on missing entries as counts change.
//!
//! The weight of a missing entry is `Σ_t s_t v_ut v_it` with a number `s_t` for each column. A column that
//! is frozen has its columns of A and B as v, and s = 1. A column that follows the counts has
//! `v_u = n_u^β` and `v_i = n_i^α`, and `s = c0 / (Σ_u n_u^β Σ_i n_i^α)`, a sum being left out where its
//! side has no exponent. An event hence changes v of two rows and s, and no other row.
//!
//! For `mean=`, c0 follows from the mean weight over missing entries:
//!
//! ```text
//! mean = (1 / (MN − |R|)) Σ_{(u,i)∉R} s v_u v_i = s (Σ_u v_u Σ_i v_i − E) / (MN − |R|),   E = Σ_{(u,i)∈R} v_u v_i
//! ```
//!
//! so `s = mean (MN − |R|) / (Σ_u v_u Σ_i v_i − E)`, R having the exposed entries too. With popularity alone,
//! `v_u = 1` and this is `c0 = s N_α = mean (MN − |R|) / (M − E / N_α)` with `E = Σ_i (n_i + e_i) n_i^α`.

use super::observed::Observed;
use super::rule::{Rule, WeightMode, power, rules};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::model::{ModelError, RowWeights};
use crate::sides::Sides;
use crate::weights::{MissingWeights, Scheme, Strength};

/// The weights on missing entries of an online model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnlineWeights {
    /// `v` of each side, a row of Z for each user or item.
    pub(super) v: Sides<Dense>,
    pub(super) rules: Vec<Rule>,
    /// Mean row of each side at the last refit.
    pub(super) means: Sides<Vec<f32>>,
    /// The row of a user or item without interactions: 0, or the number that all rows have.
    pub(super) idle: Sides<Vec<f32>>,
    /// Rows without weights of their own: frozen columns are those of `idle` until the first interaction,
    /// then those of `means`.
    pub(super) by_mean: Sides<Vec<bool>>,
    /// `Σ v` of each column.
    pub(super) sums: Sides<Vec<f64>>,
    /// `E` of each column.
    pub(super) observed: Vec<f64>,
    /// `s` of each column.
    scales: Vec<f64>,
    may_be_negative: bool,
}

impl OnlineWeights {
    /// Weights as a run resolved them.
    pub(super) fn new(
        weights: &MissingWeights,
        scheme: &Scheme,
        mode: WeightMode,
        observed: &Observed,
    ) -> Self {
        let rules = rules(weights, scheme, mode);
        let v = Sides {
            users: weights.a().clone(),
            items: weights.b().clone(),
        };
        let typical = v.as_ref().map(typical_rows);
        let idle = typical.as_ref().map(|(idle, _)| idle.clone());
        let by_mean = Sides::from_fn(|axis| {
            let is_idle = |row: usize| v[axis].row(row) == idle[axis];
            let counts = observed.counts[axis].iter().enumerate();
            counts
                .map(|(row, &count)| count == 0 && is_idle(row))
                .collect()
        });
        let mut new = Self {
            v,
            means: typical.map(|(_, means)| means),
            idle,
            by_mean,
            sums: Sides::default(),
            observed: Vec::new(),
            scales: Vec::new(),
            may_be_negative: false,
            rules,
        };
        for axis in [Axis::User, Axis::Item] {
            for (row, &count) in observed.counts[axis].iter().enumerate() {
                let next = new.row_at(axis, row, count);
                new.v[axis].row_mut(row).copy_from_slice(&next);
            }
        }
        new.sum(observed);
        new
    }

    /// Weights as a snapshot has them.
    pub(super) fn restored(
        weights: &MissingWeights,
        scheme: &Scheme,
        mode: WeightMode,
        parts: RestoredWeights,
        observed: &Observed,
    ) -> Self {
        let mut new = Self {
            v: parts.v,
            rules: rules(weights, scheme, mode),
            means: parts.means,
            idle: parts.idle,
            by_mean: parts.by_mean,
            sums: parts.sums,
            observed: parts.observed,
            scales: Vec::new(),
            may_be_negative: false,
        };
        new.look_for_negatives();
        new.rescale(observed);
        new
    }

    /// Number of columns Z.
    pub(super) fn rank(&self) -> usize {
        self.rules.len()
    }

    /// Whether some weight may be below zero.
    pub(super) fn may_be_negative(&self) -> bool {
        self.may_be_negative
    }

    /// `s` of each column.
    pub(super) fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// `s_t v_t` of a row: with `v` of the other side, the weights of its missing entries.
    pub(super) fn scaled(&self, axis: Axis, row: usize) -> Dense {
        let v = self.v[axis].row(row);
        Dense::from_fn(1, self.rank(), |_, t| {
            (self.scales[t] * f64::from(v[t])) as f32
        })
    }

    /// Recomputes everything.
    pub(super) fn sum(&mut self, observed: &Observed) {
        self.sums = self.v.as_ref().map(Dense::column_sums);
        self.observed = (0..self.rank())
            .map(|t| {
                if !self.needs_observed(t) {
                    return 0.0;
                }
                let rows = observed.rows.users.iter().enumerate();
                rows.map(|(user, row)| {
                    let v_u = f64::from(self.v.users.row(user)[t]);
                    v_u * self.sum_over(Axis::Item, row.indices(), t)
                })
                .sum()
            })
            .collect();
        self.look_for_negatives();
        self.rescale(observed);
    }

    /// Adds a row without entries.
    pub(super) fn add(&mut self, axis: Axis, given: &RowWeights) -> Result<(), ModelError> {
        let rank = self.rank();
        let row = match given {
            RowWeights::Frozen => None,
            RowWeights::Like(row) => {
                let count = self.v[axis].rows();
                if *row as usize >= count {
                    return Err(ModelError::Unknown {
                        axis,
                        index: *row,
                        count,
                    });
                }
                Some(self.v[axis].row(*row as usize).to_vec())
            }
            RowWeights::Given(given) if given.len() != rank => {
                return Err(ModelError::Shape {
                    what: "weights of the row",
                    expected: rank,
                    got: given.len(),
                });
            }
            RowWeights::Given(given) => match given.iter().position(|x| !x.is_finite()) {
                Some(at) => return Err(ModelError::RowWeight { at, got: given[at] }),
                None => Some(given.clone()),
            },
        };
        self.by_mean[axis].push(row.is_none());
        self.v[axis].push_row(&row.unwrap_or_else(|| vec![0.0; rank]));
        let at = self.v[axis].rows() - 1;
        let next = self.row_at(axis, at, 0);
        for (sum, v) in self.sums[axis].iter_mut().zip(&next) {
            *sum += f64::from(*v);
        }
        self.may_be_negative |= next.iter().any(|&x| x < 0.0);
        self.v[axis].row_mut(at).copy_from_slice(&next);
        Ok(())
    }

    /// Follows an entry that was added (`sign` is 1) or removed (−1).
    pub(super) fn entry(&mut self, (user, item): (u32, u32), sign: i32) {
        for t in 0..self.rank() {
            if self.needs_observed(t) {
                let v_u = f64::from(self.v.users.row(user as usize)[t]);
                let v_i = f64::from(self.v.items.row(item as usize)[t]);
                self.observed[t] += f64::from(sign) * v_u * v_i;
            }
        }
    }

    /// Follows the count of a row whose entries are `columns`; yields the old `v` if it changed.
    pub(super) fn count(
        &mut self,
        axis: Axis,
        row: usize,
        count: u32,
        columns: &[u32],
    ) -> Option<Vec<f32>> {
        let next = self.row_at(axis, row, count);
        let before = self.v[axis].row(row).to_vec();
        if before == next {
            return None;
        }
        for t in 0..self.rank() {
            let more = f64::from(next[t]) - f64::from(before[t]);
            self.sums[axis][t] += more;
            if self.needs_observed(t) && more != 0.0 {
                self.observed[t] += more * self.sum_over(axis.other(), columns, t);
            }
        }
        self.v[axis].row_mut(row).copy_from_slice(&next);
        Some(before)
    }

    /// Takes a row's own weights from it.
    pub(super) fn forget(&mut self, axis: Axis, row: usize) {
        self.by_mean[axis][row] = true;
    }

    /// Computes `s` from the sums.
    pub(super) fn rescale(&mut self, observed: &Observed) {
        let [users, items] =
            [&observed.rows.users, &observed.rows.items].map(|rows| rows.len() as f64);
        let missing = users * items - observed.len as f64;
        let scale = |t: usize, rule: &Rule| {
            let Rule::Live {
                exponents,
                strength,
            } = rule
            else {
                return 1.0;
            };
            let (all_users, all_items) = (self.sums.users[t], self.sums.items[t]);
            let (above, below) = match *strength {
                Strength::C0(c0) => {
                    let users = exponents.users.map_or(1.0, |_| all_users);
                    (
                        f64::from(c0),
                        users * exponents.items.map_or(1.0, |_| all_items),
                    )
                }
                Strength::Mean(mean) => {
                    let all = all_users * all_items;
                    let rest = all - self.observed[t];
                    // What rounding leaves if no missing entry has a weight.
                    let rest = if rest <= 1e-12 * all { 0.0 } else { rest };
                    (f64::from(mean) * missing, rest)
                }
            };
            if below > 0.0 { above / below } else { 0.0 }
        };
        self.scales = self
            .rules
            .iter()
            .enumerate()
            .map(|(t, rule)| scale(t, rule))
            .collect();
    }

    /// `s_t v_t` of a row that has no weights of its own, with this many interactions.
    pub(super) fn of_new_row(&self, axis: Axis, count: u32) -> Vec<f32> {
        let of_column = |(t, rule): (usize, &Rule)| {
            let v = match rule {
                Rule::Live { exponents, .. } => exponents[axis].map_or(1.0, |x| power(count, x)),
                Rule::Frozen if count > 0 => self.means[axis][t],
                Rule::Frozen => self.idle[axis][t],
            };
            (self.scales[t] * f64::from(v)) as f32
        };
        self.rules.iter().enumerate().map(of_column).collect()
    }

    /// `v` that a row has with this many interactions.
    fn row_at(&self, axis: Axis, row: usize, count: u32) -> Vec<f32> {
        let own = self.v[axis].row(row);
        let of_column = |(t, rule): (usize, &Rule)| match rule {
            Rule::Live { exponents, .. } => exponents[axis].map_or(1.0, |x| power(count, x)),
            Rule::Frozen if !self.by_mean[axis][row] => own[t],
            Rule::Frozen if count > 0 => self.means[axis][t],
            Rule::Frozen => self.idle[axis][t],
        };
        self.rules.iter().enumerate().map(of_column).collect()
    }

    fn needs_observed(&self, t: usize) -> bool {
        let rule = &self.rules[t];
        matches!(
            rule,
            Rule::Live {
                strength: Strength::Mean(_),
                ..
            }
        )
    }

    fn sum_over(&self, axis: Axis, rows: &[u32], t: usize) -> f64 {
        let v = &self.v[axis];
        rows.iter()
            .map(|&row| f64::from(v.row(row as usize)[t]))
            .sum()
    }

    fn look_for_negatives(&mut self) {
        let below = |side: &Dense| side.as_slice().iter().any(|&x| x < 0.0);
        self.may_be_negative = below(&self.v.users) || below(&self.v.items);
    }
}

/// What a snapshot has of the weights.
pub(super) struct RestoredWeights {
    pub(super) v: Sides<Dense>,
    pub(super) means: Sides<Vec<f32>>,
    pub(super) idle: Sides<Vec<f32>>,
    pub(super) by_mean: Sides<Vec<bool>>,
    pub(super) sums: Sides<Vec<f64>>,
    pub(super) observed: Vec<f64>,
}

/// The row of a user or item without interactions, and the mean row.
fn typical_rows(side: &Dense) -> (Vec<f32>, Vec<f32>) {
    let rows = side.rows().max(1) as f64;
    let of_column = |(t, sum): (usize, f64)| {
        let first = if side.rows() > 0 { side.row(0)[t] } else { 0.0 };
        let is_constant = (0..side.rows()).all(|row| side.row(row)[t].to_bits() == first.to_bits());
        if is_constant {
            (first, first)
        } else {
            (0.0, (sum / rows) as f32)
        }
    };
    side.column_sums()
        .into_iter()
        .enumerate()
        .map(of_column)
        .unzip()
}
