//! New users and items: the exact minimiser of one row's quadratic, the other side held fixed.

use super::{Model, ModelError};
use crate::data::DataError;
use crate::error::Axis;
use crate::linalg::kernels::Kernels;
use crate::linalg::{Dense, LANES, spd};
use crate::solver::cache::GramCache;
use crate::solver::penalty::{column_sums, row_penalty};

/// An entry of a row that is folded in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewEntry {
    /// Item (for a user) or user (for an item).
    pub index: u32,
    /// Raw value, treated as the training data's were.
    pub value: f32,
    /// Weight column, for models trained with one.
    pub weight: f32,
    /// Time, for models trained with decaying weights; the latest of training when not given.
    pub time: Option<i64>,
    /// Whether it was only shown: then its target is 0 and `weight` its weight.
    pub exposed: bool,
}

impl NewEntry {
    /// Yields an interaction of value and weight 1.
    #[must_use]
    pub fn new(index: u32) -> Self {
        Self {
            index,
            value: 1.0,
            weight: 1.0,
            time: None,
            exposed: false,
        }
    }

    /// Sets the raw value.
    #[must_use]
    pub fn value(mut self, value: f32) -> Self {
        self.value = value;
        self
    }
}

/// Where the weights on a row's missing entries come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowWeights {
    /// From the scheme with its normalisers frozen, as for a row with this many entries.
    #[default]
    Frozen,
    /// Those of a row the model knows.
    Like(u32),
    /// Given: Z numbers.
    Given(Vec<f32>),
}

/// One side of a model made ready for folding in rows of the other.
pub struct FoldIn<'m> {
    model: &'m Model,
    axis: Axis,
    fixed_weights: &'m Dense,
    cache: GramCache,
    sums: Vec<f64>,
}

/// The quadratic `pᵀ H p − 2 pᵀ y` of a row, and the coefficients `c r` of its entries.
pub(super) struct Quadratic {
    pub(super) h: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) pulls: Vec<f64>,
}

impl Model {
    /// Makes the model ready for folding in rows of one side; costs one pass over the other.
    #[must_use]
    pub fn fold_in(&self, axis: Axis) -> FoldIn<'_> {
        let (fixed, fixed_weights) = match axis {
            Axis::User => (self.item_factors(), self.weights().b()),
            Axis::Item => (self.user_factors(), self.weights().a()),
        };
        let cache = GramCache::new(&fixed.to_padded(), fixed_weights, Kernels::in_use());
        FoldIn {
            model: self,
            axis,
            fixed_weights,
            cache,
            sums: column_sums(fixed_weights),
        }
    }
}

impl FoldIn<'_> {
    /// Yields the factors of a row with these entries: the minimiser of its part of the objective.
    ///
    /// # Errors
    /// An entry that is unknown, repeated or not finite; weights that cannot be derived; a row
    /// without a minimum.
    pub fn solve(
        &self,
        entries: &[NewEntry],
        weights: &RowWeights,
    ) -> Result<Vec<f32>, ModelError> {
        let quadratic = self.quadratic(entries, weights)?;
        let mut factors = quadratic.y;
        spd::solve(quadratic.h, &mut factors).ok_or(ModelError::NoMinimum)?;
        Ok(factors.into_iter().map(|x| x as f32).collect())
    }

    /// The model rows are folded into.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.model
    }

    pub(super) fn fixed_row(&self, index: u32) -> &[f32] {
        match self.axis {
            Axis::User => self.model.item_factors().row(index as usize),
            Axis::Item => self.model.user_factors().row(index as usize),
        }
    }

    pub(super) fn quadratic(
        &self,
        entries: &[NewEntry],
        weights: &RowWeights,
    ) -> Result<Quadratic, ModelError> {
        self.model.needs_objective("fold in or explain rows")?;
        self.check(entries)?;
        let n_own = entries.iter().filter(|entry| !entry.exposed).count() as u32;
        let a = self.row_weights(weights, n_own)?;
        let k = self.model.n_factors();
        let (mut h, mut y) = (self.missing_part(&a), vec![0.0; k]);
        let mut pulls = Vec::with_capacity(entries.len());
        let mut total: f64 = a
            .iter()
            .zip(&self.sums)
            .map(|(a, sum)| f64::from(*a) * sum)
            .sum();
        for entry in entries {
            let (r, c) = self.target_and_weight(entry, n_own);
            let b = self.fixed_weights.row(entry.index as usize);
            let missing: f64 = a
                .iter()
                .zip(b)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum();
            let (d, pull) = (f64::from(c) - missing, f64::from(c) * f64::from(r));
            total += d;
            let q = self.fixed_row(entry.index);
            for f in 0..k {
                y[f] += pull * f64::from(q[f]);
                for g in 0..k {
                    h[f * k + g] += d * f64::from(q[f]) * f64::from(q[g]);
                }
            }
            pulls.push(pull);
        }
        let params = self.model.params();
        let lambda = if params.reg_exponent == 0.0 {
            params.regularization
        } else {
            row_penalty(0, total, params.regularization, params.reg_exponent)
                .map_err(|_| ModelError::NoMinimum)?
        };
        for f in 0..k {
            h[f * k + f] += f64::from(lambda);
        }
        Ok(Quadratic { h, y, pulls })
    }

    fn check(&self, entries: &[NewEntry]) -> Result<(), ModelError> {
        let other = match self.axis {
            Axis::User => Axis::Item,
            Axis::Item => Axis::User,
        };
        let mut indices = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            self.model.check(other, entry.index)?;
            let (entry_at, (r, c)) = (at as u64, self.target_and_weight(entry, 1));
            if !(entry.value.is_finite() && r.is_finite()) {
                return Err(DataError::NotFinite {
                    entry: entry_at,
                    what: "value",
                    value: entry.value,
                }
                .into());
            }
            if !c.is_finite() {
                return Err(DataError::NotFinite {
                    entry: entry_at,
                    what: "weight",
                    value: c,
                }
                .into());
            }
            if c < 0.0 {
                return Err(DataError::NegativeWeight {
                    entry: entry_at,
                    value: c,
                }
                .into());
            }
            indices.push(entry.index);
        }
        indices.sort_unstable();
        match indices.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ModelError::Repeated {
                axis: other,
                index: pair[0],
            }),
            None => Ok(()),
        }
    }

    fn target_and_weight(&self, entry: &NewEntry, n_own: u32) -> (f32, f32) {
        if entry.exposed {
            return (0.0, entry.weight);
        }
        let parts = self.model.parts();
        let (n_user, n_item) = match self.axis {
            Axis::User => (n_own, parts.item_counts[entry.index as usize]),
            Axis::Item => (parts.user_counts[entry.index as usize], n_own),
        };
        let r = parts.transform.target(entry.value, n_user, n_item);
        (
            r,
            parts.transform.weight(
                entry.value,
                entry.weight,
                entry.time.unwrap_or(parts.transform.now),
            ),
        )
    }

    fn row_weights(&self, weights: &RowWeights, n_own: u32) -> Result<Vec<f32>, ModelError> {
        let missing = self.model.weights();
        match (weights, self.axis) {
            (RowWeights::Given(given), _) if given.len() != missing.rank() => {
                Err(ModelError::Shape {
                    what: "weights of the row",
                    expected: missing.rank(),
                    got: given.len(),
                })
            }
            (RowWeights::Given(given), _) => match given.iter().position(|x| !x.is_finite()) {
                Some(at) => Err(ModelError::RowWeight { at, got: given[at] }),
                None => Ok(given.clone()),
            },
            (RowWeights::Like(row), axis) => {
                self.model.check(axis, *row)?;
                let known = if axis == Axis::User {
                    missing.a()
                } else {
                    missing.b()
                };
                Ok(known.row(*row as usize).to_vec())
            }
            (RowWeights::Frozen, Axis::User) => Ok(missing.new_user(n_own)?),
            (RowWeights::Frozen, Axis::Item) => Ok(missing.new_item(n_own)?),
        }
    }

    /// `Σ_t a_t S_t`, full.
    fn missing_part(&self, a: &[f32]) -> Vec<f64> {
        let k = self.model.n_factors();
        let mut h = vec![0.0; k * k];
        for (t, &a) in a.iter().enumerate() {
            for g in 0..k {
                let panel = self.cache.panel(g / LANES, t);
                for f in 0..k {
                    h[f * k + g] += f64::from(a) * f64::from(panel[f * LANES + g % LANES]);
                }
            }
        }
        h
    }
}
