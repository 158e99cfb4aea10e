//! Several relations as one problem: stacked entries, stacked weights, and what belongs to whom.

use std::ops::Range;

use super::{
    Content, Entity, FeatureBlock, Features, FrozenRelation, Layout, Relation, RelationEntries,
    RelationError, Relations,
};
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
    /// Blocks whose entries are all observed; they are not among the entries.
    pub(crate) features: Vec<FeatureBlock>,
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
        let named = |source| RelationError::Weights {
            relation: format!("{}-{}", super::USERS, super::ITEMS),
            source,
        };
        let main_weights = masked(weights.clone(), main, relations).map_err(named)?;
        let mut blocks = vec![Block {
            rows: layout.rows(0),
            columns: layout.rows(1),
            data: main.clone(),
            strength: 1.0,
        }];
        let mut frozen: Vec<FrozenRelation> = Vec::with_capacity(relations.relations.len());
        let mut features = Vec::new();
        let mut component = main_weights.rank();
        for relation in &relations.relations {
            let is_upright = relations.entities[relation.first].axis == Axis::User;
            let ends = (relation.first, relation.second);
            let (row_type, column_type) = if is_upright { ends } else { (ends.1, ends.0) };
            let (rows, columns) = (layout.rows(row_type), layout.rows(column_type));
            match &relation.content {
                Content::Entries(entries) => {
                    let (data, parts) = entries_of(relation, entries, relations)?;
                    blocks.push(Block {
                        rows,
                        columns,
                        data: if is_upright { data } else { data.transposed() },
                        strength: relation.strength,
                    });
                    frozen.push(parts);
                }
                Content::Features(numbers) => {
                    let ranges = Sides {
                        users: rows,
                        items: columns,
                    };
                    let place = (relation.strength, component);
                    features.push(FeatureBlock::new(numbers, is_upright, ranges, place));
                    frozen.push(features_of(relation, numbers, relations)?);
                }
            }
            component += frozen.last().map_or(0, |parts| parts.weights.rank());
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
            features,
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

/// The entries of a relation as they are trained on, and what a model keeps of it.
fn entries_of<'a>(
    relation: &Relation<'_>,
    entries: &RelationEntries<'a>,
    relations: &Relations<'_>,
) -> Result<(Interactions<'a>, FrozenRelation), RelationError> {
    let transformed = || {
        let transform = entries.data.freeze(entries.targets, entries.confidence)?;
        Ok((entries.data.apply(&transform)?, transform))
    };
    let (data, transform) = transformed().map_err(|source| RelationError::Data {
        relation: relations.name(relation),
        source,
    })?;
    let weights = entries.scheme.resolve(&data);
    let weights = weights
        .and_then(|weights| masked(weights, &data, relations))
        .map_err(|source| RelationError::Weights {
            relation: relations.name(relation),
            source,
        })?;
    let frozen = FrozenRelation {
        first: relation.first,
        second: relation.second,
        strength: relation.strength,
        transform,
        weights,
        counts: Sides {
            users: data.user_counts(),
            items: data.item_counts(),
        },
        features: None,
    };
    Ok((data, frozen))
}

/// What a model keeps of features. Rows without any have no weight; the others have that of an observed entry on all.
fn features_of(
    relation: &Relation<'_>,
    features: &Features,
    relations: &Relations<'_>,
) -> Result<FrozenRelation, RelationError> {
    let (known, columns) = (features.known(), features.targets().cols());
    let weights = MissingWeights::from_parts(
        Dense::from_fn(known.len(), 1, |row, _| f32::from(u8::from(known[row]))),
        Dense::from_fn(columns, 1, |_, _| features.weight()),
        given_weights(1),
    );
    let with = known.iter().filter(|known| **known).count();
    let of_row = |known: &bool| if *known { columns as u32 } else { 0 };
    Ok(FrozenRelation {
        first: relation.first,
        second: relation.second,
        strength: relation.strength,
        transform: FrozenTransform::default(),
        weights: weights.map_err(|source| RelationError::Weights {
            relation: relations.name(relation),
            source,
        })?,
        counts: Sides {
            users: known.iter().map(of_row).collect(),
            items: vec![with as u32; columns],
        },
        features: Some(features.rule().clone()),
    })
}

/// The weights of a relation, with zeros for what has no entry in it unless that is to be weighed all the same.
fn masked(
    weights: MissingWeights,
    data: &Interactions<'_>,
    relations: &Relations<'_>,
) -> Result<MissingWeights, WeightsError> {
    if relations.weighs_empty {
        Ok(weights)
    } else {
        without_empty(&weights, data)
    }
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
    let shape = (main.n_users(), main.n_items());
    fits("users-items", shape, entities, (0, 1))?;
    for (at, relation) in relations.relations.iter().enumerate() {
        let name = relations.name(relation);
        let pair = (relation.first, relation.second);
        fits(&name, relation.shape(), entities, pair)?;
        let same = |other: &Relation<'_>| {
            let other = (other.first, other.second);
            other == pair || other == (pair.1, pair.0)
        };
        let is_main = pair == (0, 1) || pair == (1, 0);
        if is_main || relations.relations[..at].iter().any(same) {
            return Err(RelationError::Twice { relation: name });
        }
        let got = relation.strength;
        if !(got.is_finite() && got >= 0.0) {
            let relation = name;
            return Err(RelationError::Strength { relation, got });
        }
        let Some(entries) = relation.entries() else {
            continue;
        };
        if entries.data.n_interactions() == 0 {
            return Err(RelationError::Empty { relation: name });
        }
        if entries.scheme.rank_to_estimate() > 0 {
            return Err(RelationError::Learned { relation: name });
        }
    }
    Ok(())
}

/// Rejects a matrix of another shape than its types have, and types of one side.
fn fits(
    name: &str,
    shape: (usize, usize),
    entities: &[Entity],
    (first, second): (usize, usize),
) -> Result<(), RelationError> {
    let missing = Entity::new("?", Axis::User);
    let of = |at: usize| entities.get(at).unwrap_or(&missing);
    for (entity, got) in [(of(first), shape.0), (of(second), shape.1)] {
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
    MissingWeights::from_parts(sides.users, sides.items, given_weights(rank))
}

/// The description of weights that are given.
fn given_weights(rank: usize) -> Frozen {
    Frozen {
        parts: vec![FrozenPart {
            rank,
            kind: Term::LowRank(GivenFactors),
        }],
    }
}
