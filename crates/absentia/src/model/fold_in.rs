//! New users and items: the exact minimiser of one row's quadratic, the other side held fixed.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use super::fold_blocks::{FoldBlock, fixed_side};
use super::{Model, ModelError};
use crate::data::{DataError, Entries, Values};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::solver::cache::GramCache;
use crate::solver::in_double::{DoubleCache, solve_exactly_in_double};
use crate::solver::penalty::row_penalty;
use crate::solver::{Side, missing_weight, solve_exactly};

/// An entry of a row that is folded in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewEntry {
    /// Item (for a user) or user (for an item).
    pub index: u32,
    /// Raw value, treated as the training data's were.
    pub value: f32,
    /// Weight column, for models trained with one.
    pub weight: f32,
    /// Time, for models trained with decaying weights or weights by time; the latest of training when not given.
    pub time: Option<i64>,
    /// Whether it is an exposed entry, shown and not taken: its target is 0 and `weight` its weight.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RowWeights {
    /// From the scheme with its normalisers frozen, as for a row with this many entries.
    #[default]
    Frozen,
    /// Those of a row the model knows.
    Like(u32),
    /// Given: Z numbers.
    Given(Vec<f32>),
}

/// What is known of a row in one relation.
#[derive(Clone, Copy, Debug)]
pub struct RowEntries<'e> {
    /// The relation by its number; the main one if not given.
    pub relation: Option<usize>,
    /// Its entries there: `index` is a row of the relation's other type.
    pub entries: &'e [NewEntry],
    /// Where its weights there come from.
    pub weights: &'e RowWeights,
}

/// One side of a model, prepared for folding in rows of the other side.
pub struct FoldIn<'m> {
    model: &'m Model,
    /// The relations that the rows are in, the main one first.
    blocks: Vec<FoldBlock<'m>>,
    /// Factors of the side that is held fixed, padded: of all types that the rows are related to.
    fixed: Dense,
    fixed_weights: Cow<'m, Dense>,
    cache: GramCache,
    /// The same caches in double precision, summed for the first row that needs them.
    in_double: OnceLock<DoubleCache>,
    /// `Σ_i b_i` over the fixed side.
    sums: Vec<f64>,
    kernels: Kernels,
}

/// A row as it enters the objective.
pub(super) struct FoldedRow {
    /// Index, target and weight of each entry, in the order given.
    pub(super) entries: Vec<(u32, f32, f32)>,
    /// The row's weights on missing entries.
    pub(super) a: Vec<f32>,
    /// Its regularization.
    pub(super) lambda: f32,
}

impl Model {
    /// Prepares the model for folding in rows of one side; costs one pass over the other side.
    #[must_use]
    pub fn fold_in(&self, axis: Axis) -> FoldIn<'_> {
        let blocks = FoldBlock::all(self, axis);
        let (fixed, fixed_weights) = fixed_side(self, &blocks);
        let kernels = Kernels::in_use();
        FoldIn {
            model: self,
            blocks,
            cache: GramCache::new(&fixed, &fixed_weights, kernels),
            in_double: OnceLock::new(),
            sums: fixed_weights.column_sums(),
            fixed,
            fixed_weights,
            kernels,
        }
    }
}

impl FoldIn<'_> {
    /// Yields the factors of a row with these entries: the minimiser of its part of the objective, by
    /// the exact solve of `als`, whatever trained the model.
    ///
    /// # Errors
    /// An entry that is unknown, repeated or not finite; weights that cannot be derived; a row
    /// without a minimum.
    pub fn solve(
        &self,
        entries: &[NewEntry],
        weights: &RowWeights,
    ) -> Result<Vec<f32>, ModelError> {
        self.solve_related(&[RowEntries {
            relation: None,
            entries,
            weights,
        }])
    }

    /// Yields the factors of a row with entries in several relations; in those that are not given it has no
    /// weight.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and a relation that the row cannot be in.
    pub fn solve_related(&self, known: &[RowEntries<'_>]) -> Result<Vec<f32>, ModelError> {
        let mut row = self.row(known)?;
        row.entries.sort_unstable_by_key(|&(index, ..)| index);
        let column = |value: fn(&(u32, f32, f32)) -> f32| {
            Values::from_vec(row.entries.iter().map(value).collect())
        };
        let indices: Vec<u32> = row.entries.iter().map(|&(index, ..)| index).collect();
        let observed = Entries::of_row(
            self.fixed.rows(),
            indices,
            column(|&(_, r, _)| r),
            column(|&(.., c)| c),
        );
        let may_be_negative =
            self.model.weights().may_be_negative() || row.a.iter().any(|&a| a < 0.0);
        let side = Side {
            observed: &observed,
            own_weights: &Dense::from_fn(1, row.a.len(), |_, t| row.a[t]),
            fixed_weights: &self.fixed_weights,
            fixed: &self.fixed,
            cache: &self.cache,
            penalty: &Values::Constant(row.lambda),
            features: &[],
            may_be_negative,
            wants_loss: false,
            kernels: self.kernels,
            cancelled: &AtomicBool::new(false),
        };
        let mut solved = solve_exactly(&side).map_err(|_| ModelError::NoMinimum)?;
        if self.cancels(&row) {
            solve_exactly_in_double(&side, self.in_double(), solved.row_mut(0));
        }
        if solved.row(0).iter().all(|x| x.is_finite()) {
            Ok(solved.row(0).to_vec())
        } else {
            Err(ModelError::NoMinimum)
        }
    }

    /// The model rows are folded into.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.model
    }

    pub(super) fn fixed_row(&self, index: u32) -> &[f32] {
        self.fixed.row(index as usize)
    }

    /// Weights of missing entries of the fixed side's row `index`.
    pub(super) fn fixed_weights(&self, index: u32) -> &[f32] {
        self.fixed_weights.row(index as usize)
    }

    pub(super) fn cache(&self) -> &GramCache {
        &self.cache
    }

    pub(super) fn in_double(&self) -> &DoubleCache {
        let sum = || DoubleCache::new(&self.fixed, &self.fixed_weights);
        self.in_double.get_or_init(sum)
    }

    /// Whether single precision may leave little of the row's curvature: what entries take away from that
    /// of the missing ones cancels, or nothing keeps it above 0.
    pub(super) fn cancels(&self, row: &FoldedRow) -> bool {
        let is_less = |&(index, _, c): &(u32, f32, f32)| {
            f64::from(c) < missing_weight(&row.a, self.fixed_weights(index))
        };
        row.lambda == 0.0 || row.entries.iter().any(is_less)
    }

    /// The block of a relation.
    pub(super) fn block(&self, relation: Option<usize>) -> Result<&FoldBlock<'_>, ModelError> {
        let mut blocks = self.blocks.iter();
        let found = blocks.find(|block| block.relation == relation);
        found.ok_or(ModelError::Unrelated {
            axis: self.blocks[0].own,
            relation: relation.unwrap_or_default(),
        })
    }

    /// The row with its targets, weights and regularization.
    pub(super) fn row(&self, known: &[RowEntries<'_>]) -> Result<FoldedRow, ModelError> {
        self.model.needs_objective("fold in or explain rows")?;
        let mut a = vec![0.0; self.fixed_weights.cols()];
        let mut weighed = Vec::new();
        for given in known {
            let block = self.block(given.relation)?;
            self.check(block, given.entries)?;
            block.check_features(given.entries)?;
            let taken = given.entries.iter().filter(|entry| !entry.exposed);
            // An entry without a time is of the latest time.
            let times: Vec<i64> = taken.map(|entry| entry.time.unwrap_or(i64::MAX)).collect();
            let own = block.row_weights(given.weights, &times, given.entries.is_empty())?;
            a[block.columns.clone()].copy_from_slice(&own);
            for entry in given.entries {
                let (r, c) = block.target_and_weight(entry, times.len() as u32);
                weighed.push((block.first_row + entry.index, r, c));
            }
        }
        let pairs = a.iter().zip(&self.sums);
        let mut total: f64 = pairs.map(|(a, sum)| f64::from(*a) * sum).sum();
        for &(index, _, c) in &weighed {
            total += f64::from(c) - missing_weight(&a, self.fixed_weights(index));
        }
        let params = self.model.params();
        let lambda = self.blocks[0].regularization;
        let lambda = if params.reg_exponent == 0.0 {
            lambda
        } else {
            row_penalty(0, total, lambda, params.reg_exponent).map_err(|_| ModelError::NoMinimum)?
        };
        Ok(FoldedRow {
            entries: weighed,
            a,
            lambda,
        })
    }

    fn check(&self, block: &FoldBlock<'_>, entries: &[NewEntry]) -> Result<(), ModelError> {
        let mut indices = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            block.check_index(self.model, entry.index)?;
            let (entry_at, (r, c)) = (at as u64, block.target_and_weight(entry, 1));
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
                axis: block.own.other(),
                index: pair[0],
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Confidence, Targets};
    use crate::fit::{Run, fit};
    use crate::linalg::spd;
    use crate::model::Factors;
    use crate::params::Params;
    use crate::weights::{Scheme, Strength};

    fn model(factors: usize) -> Model {
        let data = crate::testing::generated(200, 120, 1500);
        let scheme = Scheme::sum([
            Scheme::uniform(0.02),
            Scheme::popularity(Strength::Mean(0.1), 0.5),
        ]);
        let params = Params::new()
            .factors(factors)
            .iterations(4)
            .targets(Targets::Raw)
            .confidence(Confidence::Linear { alpha: 0.5 })
            .check()
            .unwrap();
        fit(&data, &scheme, &params, Run::default()).unwrap().model
    }

    fn entries(count: u32) -> Vec<NewEntry> {
        let entry = |n: u32| NewEntry::new(n * 7 % 120).value(1.0 + (n % 3) as f32);
        (0..count).map(entry).collect()
    }

    #[test]
    fn rows_are_the_minimisers_that_double_precision_finds() {
        for factors in [3, 16, 24, 64] {
            let model = model(factors);
            let fold = model.fold_in(Axis::User);
            for count in [0, 1, 5, 100] {
                let entries = entries(count);
                let found = fold.solve(&entries, &RowWeights::Frozen).unwrap();
                let known = RowEntries {
                    relation: None,
                    entries: &entries,
                    weights: &RowWeights::Frozen,
                };
                let row = fold.row(&[known]).unwrap();
                let quadratic = fold.quadratic(&row);
                let mut exact = quadratic.y;
                spd::solve(quadratic.h, &mut exact).unwrap();
                let off: f64 = found
                    .iter()
                    .zip(&exact)
                    .map(|(x, y)| (f64::from(*x) - y).powi(2))
                    .sum();
                let size: f64 = exact.iter().map(|x| x * x).sum();
                assert!(
                    off <= 1e-8 * size,
                    "K = {factors}, {count} entries: {off} of {size}"
                );
            }
        }
    }

    /// A user who has almost all items: what is left of the weights on missing entries, which are a
    /// million times as large, decides the row.
    #[test]
    fn rows_are_minimisers_where_entries_weigh_less_than_missing_ones() {
        let data = crate::testing::generated(200, 120, 1500);
        for (lambda, c, left_out) in [(1e-9, 1e-6, 0), (0.0, 1e-6, 0), (0.0, 1e-2, 3)] {
            let params = Params::new()
                .factors(8)
                .iterations(3)
                .regularization(lambda)
                .reg_exponent(0.0)
                .confidence(Confidence::Constant { weight: c })
                .check()
                .unwrap();
            let scheme = Scheme::uniform(1.0);
            let mut model = fit(&data, &scheme, &params, Run::default()).unwrap().model;
            let q = Dense::from_fn(120, 8, |i, f| ((i * 29 + f * 31) % 17) as f32 - 8.0);
            let mut parts = model.parts().clone();
            parts.item_factors = Factors::from(q.clone());
            model = Model::new(parts);
            let entries: Vec<NewEntry> = (left_out..120).map(NewEntry::new).collect();
            let fold = model.fold_in(Axis::User);
            let found = fold.solve(&entries, &RowWeights::Frozen).unwrap();
            let cell = |item: u32| {
                if item < left_out {
                    (1.0, 0.0)
                } else {
                    (f64::from(c), 1.0)
                }
            };
            let (mut h, mut exact) = (vec![0.0; 64], vec![0.0; 8]);
            for item in 0..120 {
                let (w, r) = cell(item);
                let q = q.row(item as usize);
                for f in 0..8 {
                    exact[f] += w * r * f64::from(q[f]);
                    for g in 0..8 {
                        h[f * 8 + g] += w * f64::from(q[f]) * f64::from(q[g]);
                    }
                }
            }
            (0..8).for_each(|f| h[f * 8 + f] += f64::from(lambda));
            spd::solve(h, &mut exact).unwrap();
            let loss = |p: &[f64]| -> f64 {
                let of_item = |item: u32| {
                    let ((w, r), q) = (cell(item), q.row(item as usize));
                    let score: f64 = p.iter().zip(q).map(|(p, q)| p * f64::from(*q)).sum();
                    w * (r - score).powi(2)
                };
                (0..120).map(of_item).sum()
            };
            let found: Vec<f64> = found.into_iter().map(f64::from).collect();
            let (found, best) = (loss(&found), loss(&exact));
            assert!(
                found <= best * (1.0 + 1e-5),
                "λ {lambda}, c {c}: {found} instead of {best}"
            );
            let explained = fold
                .explain(None, &entries, &RowWeights::Frozen, 7)
                .unwrap();
            let score: f64 = exact
                .iter()
                .zip(q.row(7))
                .map(|(p, q)| p * f64::from(*q))
                .sum();
            assert!(
                (explained.score - score).abs() <= 1e-5 * score.abs(),
                "{} instead of {score}",
                explained.score
            );
        }
    }

    #[test]
    fn the_order_of_the_entries_changes_nothing() {
        let model = model(24);
        let fold = model.fold_in(Axis::User);
        let mut entries = entries(40);
        let one = fold.solve(&entries, &RowWeights::Frozen).unwrap();
        entries.reverse();
        assert_eq!(one, fold.solve(&entries, &RowWeights::Frozen).unwrap());
    }
}
