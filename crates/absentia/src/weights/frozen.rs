//! What weights remember of the data they were made for.

use super::approximation::Approximation;
use super::learned::Learned;
use super::normaliser::Normaliser;

/// What the columns of A and B are, part by part, with everything learned from data frozen.
///
/// Together with A and B this is all there is to save.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frozen {
    /// The schemes that were added up, in the order of their columns.
    pub parts: Vec<FrozenPart>,
}

/// One scheme and the number of columns it has.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrozenPart {
    /// Number of columns of A and B.
    pub rank: usize,
    /// What they are.
    pub kind: PartKind,
}

/// Where the columns of a part come from.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum PartKind {
    /// The same weight everywhere.
    Uniform {
        /// w₀.
        weight: f32,
    },
    /// By popularity of items.
    Popularity {
        /// c0, also where a mean was asked for.
        c0: f64,
        /// Of the items.
        items: Normaliser,
    },
    /// By activity of users.
    Activity {
        /// c0, also where a mean was asked for.
        c0: f64,
        /// Of the users.
        users: Normaliser,
    },
    /// By both.
    PopularityActivity {
        /// c0, also where a mean was asked for.
        c0: f64,
        /// Of the items.
        items: Normaliser,
        /// Of the users.
        users: Normaliser,
    },
    /// By user segment and item category.
    Groups(FrozenGroups),
    /// A and B as given.
    LowRank,
    /// Approximation of a W given in full.
    Dense(Approximation),
    /// Approximation of a rule.
    Function(Approximation),
    /// Estimated from the data.
    Learned {
        /// What was asked for.
        learned: Learned,
        /// Mean row of A, which a new user gets.
        user_mean: Vec<f32>,
        /// Mean row of B, which a new item gets.
        item_mean: Vec<f32>,
    },
}

impl PartKind {
    /// Name of the scheme.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PartKind::Uniform { .. } => "uniform",
            PartKind::Popularity { .. } => "popularity",
            PartKind::Activity { .. } => "activity",
            PartKind::PopularityActivity { .. } => "popularity*activity",
            PartKind::Groups(_) => "groups",
            PartKind::LowRank => "lowrank",
            PartKind::Dense(_) => "dense",
            PartKind::Function(_) => "function",
            PartKind::Learned { .. } => "learned",
        }
    }

    /// How well an approximated part stands for what was asked for.
    #[must_use]
    pub fn approximation(&self) -> Option<&Approximation> {
        match self {
            PartKind::Dense(approximation) | PartKind::Function(approximation) => {
                Some(approximation)
            }
            _ => None,
        }
    }
}

/// A table of weights with the groups of the users and items it was made for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrozenGroups {
    /// Number of user segments.
    pub segments: usize,
    /// Number of item categories.
    pub categories: usize,
    /// Weights, segment by segment.
    pub table: Vec<f32>,
    /// Segment of each user.
    pub user_segment: Vec<u32>,
    /// Category of each item.
    pub item_category: Vec<u32>,
}

impl FrozenGroups {
    /// Number of columns: one for each group of the side with fewer.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.segments.min(self.categories)
    }

    /// The weight of a pair of groups.
    #[must_use]
    pub fn weight(&self, segment: u32, category: u32) -> f32 {
        self.table[segment as usize * self.categories + category as usize]
    }

    /// The row `a_u` of a user in a segment.
    pub(super) fn user_row(&self, segment: u32) -> Vec<f32> {
        if self.segments <= self.categories {
            return one_hot(segment, self.segments);
        }
        (0..self.categories as u32)
            .map(|category| self.weight(segment, category))
            .collect()
    }

    /// The row `b_i` of an item in a category.
    pub(super) fn item_row(&self, category: u32) -> Vec<f32> {
        if self.segments > self.categories {
            return one_hot(category, self.categories);
        }
        (0..self.segments as u32)
            .map(|segment| self.weight(segment, category))
            .collect()
    }
}

fn one_hot(at: u32, len: usize) -> Vec<f32> {
    (0..len)
        .map(|index| if index == at as usize { 1.0 } else { 0.0 })
        .collect()
}
