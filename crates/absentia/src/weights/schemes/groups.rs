//! A weight for each pair of user segment and item category.

use std::path::PathBuf;

use super::{ResolvedTerm, SchemeTerm, TermColumns};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::approximation::check_weights;
use crate::weights::error::WeightsError;
use crate::weights::resolved::{NewRowValues, Pair};
use crate::weights::scheme::{Scheme, Term};
use crate::weights::text::{Syntax, Vocabulary};

pub(super) const NAME: &str = "groups";

/// A table of weights for groups of users and items; 0 marks pairs that cannot be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// Weights, segments × categories, each at least 0.
    pub table: Dense,
    /// Segment of each user, a row of the table.
    pub user_segment: Vec<u32>,
    /// Category of each item, a column of the table.
    pub item_category: Vec<u32>,
}

/// Where the parts of [`Groups`] are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPaths {
    /// The table.
    pub table: PathBuf,
    /// The segments of users.
    pub users: PathBuf,
    /// The categories of items.
    pub items: PathBuf,
}

/// A table of weights with the groups of the users and items it was made for.
///
/// The side with fewer groups is one-hot, the other has the rows of the table.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ResolvedGroups {
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

pub(in crate::weights) const SYNTAX: Syntax = Syntax {
    words: Vocabulary {
        name: NAME,
        accepted: "the paths of a table, of users (or users=) and of items (or items=)",
        options: &["table", "users", "items"],
    },
    strength: None,
    read: |options| {
        Ok(Term::Groups(GroupPaths {
            table: options.path("table")?,
            users: options.path("users")?,
            items: options.path("items")?,
        }))
    },
};

impl std::fmt::Display for GroupPaths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (table, users) = (self.table.display(), self.users.display());
        write!(
            f,
            "{NAME}:{table},users={users},items={}",
            self.items.display()
        )
    }
}

impl SchemeTerm for Groups {
    fn resolve(&self, data: &Interactions<'_>) -> Result<TermColumns, WeightsError> {
        let table = &self.table;
        check_weights("the table of groups", table)?;
        check_groups(Axis::User, &self.user_segment, data.n_users(), table.rows())?;
        check_groups(
            Axis::Item,
            &self.item_category,
            data.n_items(),
            table.cols(),
        )?;
        let weights = (0..table.rows()).flat_map(|segment| table.row(segment));
        let resolved = ResolvedGroups {
            segments: table.rows(),
            categories: table.cols(),
            table: weights.copied().collect(),
            user_segment: self.user_segment.clone(),
            item_category: self.item_category.clone(),
        };
        let row_of_each = |groups: &[u32], axis: Axis, count: usize| {
            let rows: Vec<_> = (0..count as u32).map(|g| resolved.row(axis, g)).collect();
            Dense::from_fn(groups.len(), resolved.rank(), |row, t| {
                rows[groups[row] as usize][t]
            })
        };
        Ok(TermColumns {
            a: row_of_each(&self.user_segment, Axis::User, resolved.segments),
            b: row_of_each(&self.item_category, Axis::Item, resolved.categories),
            term: Term::Groups(resolved),
        })
    }
}

impl ResolvedGroups {
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

    /// The row `a_u` of a user in a segment, or `b_i` of an item in a category.
    fn row(&self, axis: Axis, group: u32) -> Vec<f32> {
        match axis {
            Axis::User if self.segments <= self.categories => one_hot(group, self.segments),
            Axis::User => (0..self.categories as u32)
                .map(|category| self.weight(group, category))
                .collect(),
            Axis::Item if self.segments > self.categories => one_hot(group, self.categories),
            Axis::Item => (0..self.segments as u32)
                .map(|segment| self.weight(segment, group))
                .collect(),
        }
    }
}

impl ResolvedTerm for ResolvedGroups {
    fn reason(&self, pair: &Pair<'_>) -> String {
        let segment = self.user_segment[pair.user as usize];
        let category = self.item_category[pair.item as usize];
        format!(
            "{} in the table for user segment {segment} and item category {category}",
            self.weight(segment, category)
        )
    }

    fn new_row(&self, axis: Axis, given: &mut NewRowValues<'_>) -> Result<Vec<f32>, WeightsError> {
        let (needs, count, index) = match axis {
            Axis::User => ("its segment", self.segments, self.user_segment.len()),
            Axis::Item => ("its category", self.categories, self.item_category.len()),
        };
        let group = given.next_group().ok_or(WeightsError::NewRow {
            scheme: NAME,
            axis,
            needs,
        })?;
        if group as usize >= count {
            return Err(WeightsError::Group {
                axis,
                index,
                group,
                count,
            });
        }
        Ok(self.row(axis, group))
    }

    fn scheme(&self) -> Option<Scheme> {
        let table = Dense::from_fn(self.segments, self.categories, |segment, category| {
            self.weight(segment as u32, category as u32)
        });
        Some(Scheme::groups(Groups {
            table,
            user_segment: self.user_segment.clone(),
            item_category: self.item_category.clone(),
        }))
    }

    /// Saved groups come from outside and are checked as if new.
    fn check(&self, rank: usize, n_users: usize, n_items: usize) -> Result<(), WeightsError> {
        let cells = self.segments.checked_mul(self.categories);
        if self.rank() != rank || cells != Some(self.table.len()) {
            return Err(WeightsError::Parts {
                parts: self.rank(),
                columns: rank,
            });
        }
        check_groups(Axis::User, &self.user_segment, n_users, self.segments)?;
        check_groups(Axis::Item, &self.item_category, n_items, self.categories)
    }
}

fn check_groups(
    axis: Axis,
    groups: &[u32],
    expected: usize,
    count: usize,
) -> Result<(), WeightsError> {
    if groups.len() != expected {
        let what = match axis {
            Axis::User => "user_segment",
            Axis::Item => "item_category",
        };
        return Err(WeightsError::Rows {
            what,
            axis,
            expected,
            got: groups.len(),
        });
    }
    match groups.iter().position(|&group| group as usize >= count) {
        Some(index) => Err(WeightsError::Group {
            axis,
            index,
            group: groups[index],
            count,
        }),
        None => Ok(()),
    }
}

fn one_hot(at: u32, len: usize) -> Vec<f32> {
    (0..len)
        .map(|index| if index == at as usize { 1.0 } else { 0.0 })
        .collect()
}
