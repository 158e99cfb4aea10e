//! Why an item was recommended: the score as a sum over the user's own entries.
//!
//! With the items fixed, a user's best factors are linear in their entries,
//! `p = H⁻¹ Σ_j c_j r_j q_j`, so the score of item i is `Σ_j c_j r_j q_iᵀ H⁻¹ q_j` (Hu, Koren and
//! Volinsky 2008, section 5, here with any weights on the missing entries).

use super::fold_in::{FoldIn, FoldedRow, NewEntry, RowEntries, RowWeights};
use super::{Model, ModelError};
use crate::error::Axis;
use crate::linalg::{LANES, spd};
use crate::solver::missing_weight;
use crate::solver::quadratic::Quadratic;

/// What one entry of the user adds to a score.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Contribution {
    /// The relation of the entry by its number; the main one if not given.
    pub relation: Option<usize>,
    /// The item the user interacted with, or the row of the relation's other type.
    pub item: u32,
    /// What it adds to the score.
    pub contribution: f64,
}

/// A score as a sum of contributions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The score as the model ranks by it.
    pub score: f64,
    /// What each entry adds, largest first.
    pub contributions: Vec<Contribution>,
    /// The score less the contributions: the difference between the model's factors and the exact
    /// minimiser for these entries.
    pub remainder: f64,
}

impl Explanation {
    /// Sorts contributions; without a score, theirs is the whole score.
    pub(crate) fn of(mut contributions: Vec<Contribution>, score: Option<f64>) -> Self {
        contributions.sort_by(|left, right| {
            right
                .contribution
                .total_cmp(&left.contribution)
                .then(left.relation.cmp(&right.relation))
                .then(left.item.cmp(&right.item))
        });
        let explained: f64 = contributions.iter().map(|part| part.contribution).sum();
        let score = score.unwrap_or(explained);
        Self {
            score,
            contributions,
            remainder: score - explained,
        }
    }

    /// What the contributions add that are not among the first `n`.
    #[must_use]
    pub fn others(&self, n: usize) -> f64 {
        let rest = self.contributions.iter().skip(n);
        // The sum of no numbers is -0.
        rest.map(|part| part.contribution).sum::<f64>() + 0.0
    }
}

impl FoldIn<'_> {
    /// Explains the score of `item` for a user with these entries.
    ///
    /// With `user`, the score is that of the model's factors for that user; without, that of the
    /// folded-in factors, and the remainder is 0.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), and an item or user the model does not have.
    pub fn explain(
        &self,
        user: Option<u32>,
        entries: &[NewEntry],
        weights: &RowWeights,
        item: u32,
    ) -> Result<Explanation, ModelError> {
        let main = RowEntries {
            relation: None,
            entries,
            weights,
        };
        self.explain_related(user, &[main], item)
    }

    /// Explains the score of `other` for a row with entries in several relations: that of an item for a user, or
    /// of a user for an item, depending on the side that is folded in.
    ///
    /// # Errors
    /// As [`explain`](Self::explain), and a relation that the row cannot be in.
    pub fn explain_related(
        &self,
        own: Option<u32>,
        known: &[RowEntries<'_>],
        other: u32,
    ) -> Result<Explanation, ModelError> {
        let model: &Model = self.model();
        let main = self.block(None)?;
        model.check(main.own.other(), other)?;
        let quadratic = self.quadratic(&self.row(known)?);
        let scale = match (main.own, own) {
            (Axis::User, _) => item_scale(model, other),
            (Axis::Item, Some(item)) => item_scale(model, item),
            (Axis::Item, None) => 1.0,
        };
        let mut direction: Vec<f64> = self
            .fixed_row(other)
            .iter()
            .map(|q| f64::from(*q) * scale)
            .collect();
        spd::solve(quadratic.h, &mut direction).ok_or(ModelError::NoMinimum)?;
        let entries = known.iter().flat_map(|given| {
            let entries = given.entries.iter();
            entries.map(move |entry| (given.relation, entry))
        });
        let mut contributions = Vec::new();
        for ((relation, entry), pull) in entries.zip(quadratic.pulls) {
            if entry.exposed {
                continue;
            }
            let at = self.block(relation)?.first_row + entry.index;
            let along = dot(self.fixed_row(at), &direction);
            contributions.push(Contribution {
                relation,
                item: entry.index,
                contribution: pull * along,
            });
        }
        let pair = own.map(|own| match main.own {
            Axis::User => (own, other),
            Axis::Item => (other, own),
        });
        let score = match pair {
            Some(pair) => Some(f64::from(model.scores(&[pair])?[0])),
            None => None,
        };
        Ok(Explanation::of(contributions, score))
    }

    /// The quadratic of a row; K² numbers, because contributions need all of H.
    pub(super) fn quadratic(&self, row: &FoldedRow) -> Quadratic {
        let k = self.model().n_factors();
        let mut quadratic = Quadratic::of_missing(self.missing_part(row), k);
        for &(index, r, c) in &row.entries {
            let missing = missing_weight(&row.a, self.fixed_weights(index));
            let entry = (f64::from(r), f64::from(c));
            quadratic.add(self.fixed_row(index), entry, missing);
        }
        quadratic.with_penalty(f64::from(row.lambda))
    }

    /// `Σ_t a_t S_t`, its lower triangle at least.
    fn missing_part(&self, row: &FoldedRow) -> Vec<f64> {
        let k = self.model().n_factors();
        if self.cancels(row) {
            return self.in_double().weighted(&row.a);
        }
        let mut h = vec![0.0; k * k];
        for (t, &a) in row.a.iter().enumerate() {
            for g in 0..k {
                let panel = self.cache().panel(g / LANES, t);
                for f in 0..k {
                    h[f * k + g] += f64::from(a) * f64::from(panel[f * LANES + g % LANES]);
                }
            }
        }
        h
    }
}

/// What a row of factors is along a direction.
pub(crate) fn dot(row: &[f32], direction: &[f64]) -> f64 {
    row.iter()
        .zip(direction)
        .map(|(q, x)| f64::from(*q) * x)
        .sum()
}

/// The post-scaling of an item, 1 where there is none.
fn item_scale(model: &Model, item: u32) -> f64 {
    let scale = model.item_scale();
    scale.map_or(1.0, |scale| f64::from(scale[item as usize]))
}
