//! Side information as further blocks of the one matrix that is factorised.
//!
//! Attributes of items become further *rows* under the users, attributes of users further *columns* beside the
//! items:
//!
//! ```text
//!               items   user attributes
//! users           R            U
//! item attr.      Iᵀ        weight 0
//! ```
//!
//! Each block is a [`Relation`] with its own targets, weights on observed entries and low-rank weights on missing
//! ones. Stacked with zeros, these are weights of low rank too: the ranks add up. So several relations are one
//! problem for every solver, and composing them is all there is to it: the blocks are stacked, and a [`Layout`]
//! says which rows of the result belong to whom. `docs/relations.md` has the mathematics.
//!
//! | file | concept |
//! | --- | --- |
//! | `arrange` | which side each type is on |
//! | `compose` | blocks, weights and counts as one problem |
//! | `features` | blocks whose entries are all observed |
//! | `layout` | where the rows of each type are |

mod arrange;
mod compose;
mod error;
mod features;
mod layout;

#[doc(hidden)]
pub use arrange::context_name;
pub use arrange::{Arrangement, TypePair};
pub(crate) use compose::{ComposedParts, Composition};
pub use error::RelationError;
pub(crate) use features::FeatureBlock;
#[doc(hidden)]
pub use features::FeatureRule;
pub use features::{FeatureError, Features, Scaling};
pub use layout::Layout;

use crate::data::{Confidence, FrozenTransform, Interactions, Targets};
use crate::error::Axis;
use crate::sides::Sides;
use crate::weights::{MissingWeights, Scheme};

/// The name of the rows of the main relation.
pub const USERS: &str = "users";
/// The name of its columns.
pub const ITEMS: &str = "items";

/// A kind of things that have factors: users, items, tags, towns.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Entity {
    /// What it is called.
    pub name: String,
    /// The side of the stacked matrix that it is on: rows, with the users, or columns, with the items.
    pub axis: Axis,
    /// How many there are.
    pub count: usize,
    /// The regularization λ of its factors; that of the run if not given.
    pub regularization: Option<f32>,
}

impl Entity {
    /// A type without rows.
    #[must_use]
    pub fn new(name: &str, axis: Axis) -> Self {
        Self {
            name: name.to_owned(),
            axis,
            count: 0,
            regularization: None,
        }
    }
}

/// A block of the matrix: what is known of one type by another.
#[derive(Clone, Debug)]
pub struct Relation<'a> {
    /// Number of the type of the rows of `data`.
    pub first: usize,
    /// Number of the type of its columns.
    pub second: usize,
    /// What it holds.
    pub content: Content<'a>,
    /// What all weights of the relation are multiplied by.
    pub strength: f32,
}

/// What a relation holds.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Some entries, the others missing.
    Entries(Box<RelationEntries<'a>>),
    /// Numbers for every column.
    Features(Features),
}

/// Entries of a relation, and what is made of them.
#[derive(Clone, Debug)]
pub struct RelationEntries<'a> {
    /// The entries, with their raw values.
    pub data: Interactions<'a>,
    /// The weights on missing entries.
    pub scheme: Scheme,
    /// How targets follow from raw values.
    pub targets: Targets,
    /// How weights of observed entries follow from raw values.
    pub confidence: Confidence,
}

impl Relation<'_> {
    /// Its entries, if it is not one of features.
    #[must_use]
    pub fn entries(&self) -> Option<&RelationEntries<'_>> {
        match &self.content {
            Content::Entries(entries) => Some(entries),
            Content::Features(_) => None,
        }
    }

    /// Number of rows and of columns.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        match &self.content {
            Content::Entries(entries) => (entries.data.n_users(), entries.data.n_items()),
            Content::Features(features) => (features.targets().rows(), features.targets().cols()),
        }
    }
}

/// The relations of a run beside the main one.
#[derive(Clone, Debug)]
pub struct Relations<'a> {
    /// All types: users and items first.
    pub entities: Vec<Entity>,
    /// The relations.
    pub relations: Vec<Relation<'a>>,
    /// Whether rows and columns without any entry in a relation have weights in it all the same. By default they
    /// have none: nobody refused what nobody was shown.
    pub weighs_empty: bool,
}

impl Relations<'_> {
    /// Relations of features.
    pub(crate) fn with_features(&self) -> impl Iterator<Item = &Relation<'_>> {
        let relations = self.relations.iter();
        relations.filter(|relation| relation.entries().is_none())
    }

    /// The name of a relation.
    #[must_use]
    pub fn name(&self, relation: &Relation<'_>) -> String {
        let name = |entity: usize| self.entities.get(entity).map_or("?", |e| &e.name);
        format!("{}-{}", name(relation.first), name(relation.second))
    }
}

/// What a model keeps of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct FrozenRelation {
    /// Number of the type of its rows.
    pub first: usize,
    /// Number of the type of its columns.
    pub second: usize,
    /// What all its weights are multiplied by.
    pub strength: f32,
    /// How targets and weights follow from raw values.
    pub transform: FrozenTransform,
    /// Weights on missing entries, before they are multiplied by the strength.
    pub weights: MissingWeights,
    /// Number of entries of each row and each column.
    pub counts: Sides<Vec<u32>>,
    /// How targets follow from features, if it has those.
    pub features: Option<FeatureRule>,
}

impl FrozenRelation {
    /// The side of the relation's own matrix that a type is on.
    #[must_use]
    pub fn side_of(&self, entity: usize) -> Option<Axis> {
        if entity == self.first {
            Some(Axis::User)
        } else {
            (entity == self.second).then_some(Axis::Item)
        }
    }

    /// The number of the other type.
    #[must_use]
    pub fn other(&self, entity: usize) -> usize {
        if entity == self.first {
            self.second
        } else {
            self.first
        }
    }
}
