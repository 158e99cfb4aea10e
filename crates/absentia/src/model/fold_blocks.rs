//! The relations that a row is folded into: each with its own targets, weights and counts.

use std::borrow::Cow;
use std::ops::Range;

use super::fold_in::{NewEntry, RowWeights};
use super::{Model, ModelError};
use crate::data::FrozenTransform;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::relations::FeatureRule;
use crate::weights::{self, MissingWeights};

/// A relation of the rows that are folded in.
pub(super) struct FoldBlock<'m> {
    /// Its number, or nothing for the main one.
    pub(super) relation: Option<usize>,
    /// The side of its matrix that the rows are on.
    pub(super) own: Axis,
    /// Number of the type on its other side.
    entity: usize,
    /// Where the rows of that type start among those that are held fixed, and how many there are.
    pub(super) first_row: u32,
    count: usize,
    /// The columns of the weights that are its own.
    pub(super) columns: Range<usize>,
    weights: &'m MissingWeights,
    transform: &'m FrozenTransform,
    /// Number of entries of each row of the other type.
    counts: &'m [u32],
    strength: f32,
    /// λ of the rows that are folded in.
    pub(super) regularization: f32,
    /// Whether a row without entries has no weight.
    ignores_empty: bool,
    /// How targets follow from features, if the entries are those.
    features: Option<&'m FeatureRule>,
}

impl<'m> FoldBlock<'m> {
    /// The relations of users, or of items: the main one first.
    pub(super) fn all(model: &'m Model, axis: Axis) -> Vec<Self> {
        let parts = model.parts();
        let (own_entity, other, count) = match axis {
            Axis::User => (0, 1, model.n_items()),
            Axis::Item => (1, 0, model.n_users()),
        };
        let related = model.related();
        let own_lambda = related.and_then(|related| related.entities[own_entity].regularization);
        let main = Self {
            relation: None,
            own: axis,
            entity: other,
            first_row: 0,
            count,
            columns: 0..parts.weights.rank(),
            weights: &parts.weights,
            transform: &parts.transform,
            counts: match axis {
                Axis::User => &parts.item_counts,
                Axis::Item => &parts.user_counts,
            },
            strength: 1.0,
            regularization: own_lambda.unwrap_or(parts.params.regularization),
            ignores_empty: related.is_some(),
            features: None,
        };
        let mut blocks = vec![main];
        let (mut first_row, mut column) = (count, parts.weights.rank());
        for (at, relation) in related.iter().flat_map(|r| r.relations.iter()).enumerate() {
            let Some(own) = relation.side_of(own_entity) else {
                continue;
            };
            let counts = &relation.counts[own.other()];
            let rank = relation.weights.rank();
            blocks.push(Self {
                relation: Some(at),
                own,
                entity: relation.other(own_entity),
                first_row: first_row as u32,
                count: counts.len(),
                columns: column..column + rank,
                weights: &relation.weights,
                transform: &relation.transform,
                counts,
                strength: relation.strength,
                regularization: blocks[0].regularization,
                ignores_empty: true,
                features: relation.features.as_ref(),
            });
            first_row += counts.len();
            column += rank;
        }
        blocks
    }

    /// Weights of the type on the other side, before they are multiplied by the strength.
    fn other_weights(&self) -> &'m Dense {
        match self.own {
            Axis::User => self.weights.b(),
            Axis::Item => self.weights.a(),
        }
    }

    /// Rejects entries that are not all of a row's features.
    pub(super) fn check_features(&self, entries: &[NewEntry]) -> Result<(), ModelError> {
        let (expected, got) = (self.count, entries.len());
        if self.features.is_none() || got == 0 || got == expected {
            return Ok(());
        }
        Err(ModelError::Features { expected, got })
    }

    pub(super) fn check_index(&self, model: &Model, index: u32) -> Result<(), ModelError> {
        if (index as usize) < self.count {
            return Ok(());
        }
        if self.relation.is_none() {
            return model.check(self.own.other(), index);
        }
        let related = model.related();
        Err(ModelError::UnknownRow {
            entity: related.map_or_else(String::new, |r| r.entities[self.entity].name.clone()),
            index,
            count: self.count,
        })
    }

    /// Target and weight of an entry of a row with `n_own` interactions in this relation.
    pub(super) fn target_and_weight(&self, entry: &NewEntry, n_own: u32) -> (f32, f32) {
        if let Some(rule) = self.features {
            // Exactly the weight that the entry has as a missing one, so that nothing is left of the difference.
            let weight = self.other_weights().row(entry.index as usize)[0];
            let target = rule.target(entry.index as usize, entry.value);
            return (target, self.strength * weight);
        }
        if entry.exposed {
            return (0.0, self.strength * entry.weight);
        }
        let other = self.counts[entry.index as usize];
        let (n_user, n_item) = match self.own {
            Axis::User => (n_own, other),
            Axis::Item => (other, n_own),
        };
        let time = entry.time.unwrap_or(self.transform.now);
        let weight = self.transform.weight(entry.value, entry.weight, time);
        (
            self.transform.target(entry.value, n_user, n_item),
            self.strength * weight,
        )
    }

    /// The row's weights on missing entries in this relation.
    pub(super) fn row_weights(
        &self,
        weights: &RowWeights,
        times: &[i64],
        is_empty: bool,
    ) -> Result<Vec<f32>, ModelError> {
        let missing = self.weights;
        match weights {
            RowWeights::Given(given) if given.len() != missing.rank() => Err(ModelError::Shape {
                what: "weights of the row",
                expected: missing.rank(),
                got: given.len(),
            }),
            RowWeights::Given(given) => match given.iter().position(|x| !x.is_finite()) {
                Some(at) => Err(ModelError::RowWeight { at, got: given[at] }),
                None => Ok(given.clone()),
            },
            RowWeights::Like(row) => {
                let known = match self.own {
                    Axis::User => missing.a(),
                    Axis::Item => missing.b(),
                };
                if *row as usize >= known.rows() {
                    return Err(ModelError::Unknown {
                        axis: self.own,
                        index: *row,
                        count: known.rows(),
                    });
                }
                Ok(known.row(*row as usize).to_vec())
            }
            RowWeights::Frozen if is_empty && self.ignores_empty => Ok(vec![0.0; missing.rank()]),
            RowWeights::Frozen if self.features.is_some() => Ok(vec![1.0]),
            RowWeights::Frozen => {
                let row = weights::NewRow {
                    count: times.len() as u32,
                    times,
                    ..weights::NewRow::default()
                };
                Ok(missing.new_row(self.own, &row)?)
            }
        }
    }
}

/// Factors and weights of the side that is held fixed: the types of the blocks, one after the other.
pub(super) fn fixed_side<'m>(
    model: &'m Model,
    blocks: &[FoldBlock<'m>],
) -> (Dense, Cow<'m, Dense>) {
    let factors = |block: &FoldBlock<'_>| model.entity_factors(block.entity);
    if let [main] = blocks {
        let fixed = factors(main).map(super::Factors::to_padded);
        return (
            fixed.unwrap_or_else(|| Dense::padded(0, model.n_factors())),
            Cow::Borrowed(main.other_weights()),
        );
    }
    let rows = blocks.iter().map(|block| block.count).sum();
    let rank = blocks.iter().map(|block| block.columns.len()).sum();
    let mut fixed = Dense::padded(rows, model.n_factors());
    let mut weights = Dense::zeros(rows, rank);
    for block in blocks {
        let (own, first) = (block.other_weights(), block.first_row as usize);
        for row in 0..block.count {
            if let Some(factors) = factors(block) {
                fixed.row_mut(first + row).copy_from_slice(factors.row(row));
            }
            let to = &mut weights.row_mut(first + row)[block.columns.clone()];
            for (to, from) in to.iter_mut().zip(own.row(row)) {
                *to = block.strength * from;
            }
        }
    }
    (fixed, Cow::Owned(weights))
}
