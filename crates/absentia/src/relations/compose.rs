//! Several relations as one problem: stacked entries, stacked weights, and what belongs to whom.

use std::ops::Range;

use super::{Entity, FrozenRelation, Layout, Relation, RelationError, Relations};
use crate::data::{FrozenTransform, Interactions, Placed};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::sides::Sides;
use crate::weights::{Frozen, FrozenPart, GivenFactors, MissingWeights, Term, WeightsError};

/// The stacked problem, and what a model keeps of its parts.
pub(crate) struct Composition {
    /// All entries, with their final targets and weights.
    pub(crate) data: Interactions<'static>,
    /// Weights on missing entries, of the rank of all relations together.
    pub(crate) weights: MissingWeights,
    /// What the model keeps.
    pub(crate) parts: ComposedParts,
}

/// What belongs to whom.
#[derive(Clone, Debug)]
pub(crate) struct ComposedParts {
    pub(crate) entities: Vec<Entity>,
    pub(crate) layout: Layout,
    /// Weights of the main relation.
    pub(crate) weights: MissingWeights,
    /// Interactions of users and items in the main relation.
    pub(crate) counts: Sides<Vec<u32>>,
    pub(crate) relations: Vec<FrozenRelation>,
}

/// A relation as it is stacked.
struct Block<'b> {
    rows: Range<usize>,
    columns: Range<usize>,
    data: Interactions<'b>,
    strength: f32,
}

impl Composition {
    /// Composes the main relation, whose targets and weights are final, with others.
    pub(crate) fn new(
        main: &Interactions<'_>,
        weights: &MissingWeights,
        relations: &Relations<'_>,
    ) -> Result<Self, RelationError> {
        check(main, relations)?;
        let layout = Layout::of(&relations.entities);
        let masked = |weights: MissingWeights, data: &Interactions<'_>| {
            if relations.weighs_empty {
                Ok(weights)
            } else {
                without_empty(&weights, data)
            }
        };
        let named = |source| RelationError::Weights {
            relation: format!("{}-{}", super::USERS, super::ITEMS),
            source,
        };
        let main_weights = masked(weights.clone(), main).map_err(named)?;
        let mut blocks = vec![Block {
            rows: layout.rows(0),
            columns: layout.rows(1),
            data: main.clone(),
            strength: 1.0,
        }];
        let mut frozen = Vec::with_capacity(relations.relations.len());
        for relation in &relations.relations {
            let name = || relations.name(relation);
            let (data, transform) =
                transformed(relation).map_err(|source| RelationError::Data {
                    relation: name(),
                    source,
                })?;
            let weights = relation.scheme.resolve(&data);
            let weights = weights
                .and_then(|weights| masked(weights, &data))
                .map_err(|source| RelationError::Weights {
                    relation: name(),
                    source,
                })?;
            frozen.push(FrozenRelation {
                first: relation.first,
                second: relation.second,
                strength: relation.strength,
                transform,
                weights,
                counts: Sides {
                    users: data.user_counts(),
                    items: data.item_counts(),
                },
            });
            let is_upright = relations.entities[relation.first].axis == Axis::User;
            let (row_type, column_type) = if is_upright {
                (relation.first, relation.second)
            } else {
                (relation.second, relation.first)
            };
            blocks.push(Block {
                rows: layout.rows(row_type),
                columns: layout.rows(column_type),
                data: if is_upright { data } else { data.transposed() },
                strength: relation.strength,
            });
        }
        let placed: Vec<Placed<'_, '_>> = blocks.iter().map(Block::placed).collect();
        let (rows, columns) = (layout.total(Axis::User), layout.total(Axis::Item));
        let data = Interactions::stacked(rows, columns, &placed).map_err(|source| {
            let relation = "the relations together".to_owned();
            RelationError::Data { relation, source }
        })?;
        let stacked = stacked_weights(&layout, &relations.entities, &main_weights, &frozen);
        Ok(Self {
            data,
            weights: stacked.map_err(named)?,
            parts: ComposedParts {
                entities: relations.entities.clone(),
                layout,
                weights: main_weights,
                counts: Sides {
                    users: main.user_counts(),
                    items: main.item_counts(),
                },
                relations: frozen,
            },
        })
    }
}

impl<'b> Block<'b> {
    fn placed(&self) -> Placed<'_, 'b> {
        Placed {
            data: &self.data,
            first_row: self.rows.start,
            first_column: self.columns.start,
            strength: self.strength,
        }
    }
}

fn transformed<'a>(
    relation: &Relation<'a>,
) -> Result<(Interactions<'a>, FrozenTransform), crate::data::DataError> {
    let transform = relation
        .data
        .freeze(relation.targets, relation.confidence)?;
    Ok((relation.data.apply(&transform)?, transform))
}

/// Rejects relations that do not fit each other.
fn check(main: &Interactions<'_>, relations: &Relations<'_>) -> Result<(), RelationError> {
    let entities = &relations.entities;
    for entity in entities {
        let lambda = entity.regularization.unwrap_or(0.0);
        if !(lambda.is_finite() && lambda >= 0.0) {
            return Err(RelationError::Regularization {
                entity: entity.name.clone(),
                got: lambda,
            });
        }
    }
    fits("users-items", main, entities, (0, 1))?;
    for (at, relation) in relations.relations.iter().enumerate() {
        let name = relations.name(relation);
        let pair = (relation.first, relation.second);
        fits(&name, &relation.data, entities, pair)?;
        let same = |other: &Relation<'_>| {
            let other = (other.first, other.second);
            other == pair || other == (pair.1, pair.0)
        };
        let is_main = pair == (0, 1) || pair == (1, 0);
        if is_main || relations.relations[..at].iter().any(same) {
            return Err(RelationError::Twice { relation: name });
        }
        if relation.data.n_interactions() == 0 {
            return Err(RelationError::Empty { relation: name });
        }
        let got = relation.strength;
        if !(got.is_finite() && got >= 0.0) {
            let relation = name;
            return Err(RelationError::Strength { relation, got });
        }
        if relation.scheme.rank_to_estimate() > 0 {
            return Err(RelationError::Learned { relation: name });
        }
    }
    Ok(())
}

/// Rejects a matrix of another shape than its types have, and types of one side.
fn fits(
    name: &str,
    data: &Interactions<'_>,
    entities: &[Entity],
    (first, second): (usize, usize),
) -> Result<(), RelationError> {
    let missing = Entity::new("?", Axis::User);
    let of = |at: usize| entities.get(at).unwrap_or(&missing);
    for (entity, got) in [(of(first), data.n_users()), (of(second), data.n_items())] {
        if entity.count != got {
            return Err(RelationError::Shape {
                relation: name.to_owned(),
                entity: entity.name.clone(),
                expected: entity.count,
                got,
            });
        }
    }
    if of(first).axis == of(second).axis {
        return Err(RelationError::SameSide {
            relation: name.to_owned(),
            first: of(first).name.clone(),
            second: of(second).name.clone(),
        });
    }
    Ok(())
}

/// The weights with zeros for the rows and columns that have no entry at all.
fn without_empty(
    weights: &MissingWeights,
    data: &Interactions<'_>,
) -> Result<MissingWeights, WeightsError> {
    let masked = |side: &Dense, entries: &crate::data::Entries<'_>| {
        let mut masked = side.clone();
        for row in 0..side.rows() {
            if entries.row_len(row) == 0 {
                masked.row_mut(row).fill(0.0);
            }
        }
        masked
    };
    MissingWeights::from_parts(
        masked(weights.a(), data.by_user()),
        masked(weights.b(), data.by_item()),
        weights.frozen().clone(),
    )
}

/// Weights whose columns are those of each relation in turn, with zeros for the types that are not in it.
fn stacked_weights(
    layout: &Layout,
    entities: &[Entity],
    main: &MissingWeights,
    relations: &[FrozenRelation],
) -> Result<MissingWeights, WeightsError> {
    let rank = main.rank() + relations.iter().map(|r| r.weights.rank()).sum::<usize>();
    let mut sides = Sides::from_fn(|axis| Dense::zeros(layout.total(axis), rank));
    let mut copy = |entity: usize, from: &Dense, column: usize, factor: f32| {
        let to = &mut sides[entities[entity].axis];
        for (row, at) in layout.rows(entity).enumerate() {
            let to = &mut to.row_mut(at)[column..column + from.cols()];
            for (to, from) in to.iter_mut().zip(from.row(row)) {
                *to = factor * from;
            }
        }
    };
    copy(0, main.a(), 0, 1.0);
    copy(1, main.b(), 0, 1.0);
    let mut column = main.rank();
    for relation in relations {
        copy(
            relation.first,
            relation.weights.a(),
            column,
            relation.strength,
        );
        copy(relation.second, relation.weights.b(), column, 1.0);
        column += relation.weights.rank();
    }
    let frozen = Frozen {
        parts: vec![FrozenPart {
            rank,
            kind: Term::LowRank(GivenFactors),
        }],
    };
    MissingWeights::from_parts(sides.users, sides.items, frozen)
}
