//! Weights of users and items that were not there in training.

use super::error::WeightsError;
use super::frozen::{FrozenGroups, FrozenPart, PartKind};
use super::missing::MissingWeights;
use crate::error::Axis;

/// What is known of a user or item that was not there in training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NewRow<'r> {
    /// Its interactions.
    pub count: u32,
    /// Its segment or category, one for each part by groups, in order.
    pub groups: &'r [u32],
    /// Its row of A or B, one for each part given as or approximated by factors, in order.
    pub rows: &'r [&'r [f32]],
}

impl MissingWeights {
    /// Yields the row `a_u` of a new user with `n_u` interactions, normalisers as in training.
    ///
    /// # Errors
    /// Parts whose weights do not follow from a number of interactions: groups, given or
    /// approximated factors; see [`new_row`](Self::new_row).
    pub fn new_user(&self, n_u: u32) -> Result<Vec<f32>, WeightsError> {
        let row = NewRow {
            count: n_u,
            ..NewRow::default()
        };
        self.new_row(Axis::User, &row)
    }

    /// Yields the row `b_i` of a new item with `n_i` interactions, normalisers as in training.
    ///
    /// # Errors
    /// As for [`new_user`](Self::new_user).
    pub fn new_item(&self, n_i: u32) -> Result<Vec<f32>, WeightsError> {
        let row = NewRow {
            count: n_i,
            ..NewRow::default()
        };
        self.new_row(Axis::Item, &row)
    }

    /// Yields the row `a_u` of a new user in a segment.
    ///
    /// # Errors
    /// A segment outside the table, and parts that need more than one; see
    /// [`new_row`](Self::new_row).
    pub fn new_user_in_segment(&self, n_u: u32, segment: u32) -> Result<Vec<f32>, WeightsError> {
        let row = NewRow {
            count: n_u,
            groups: &[segment],
            rows: &[],
        };
        self.new_row(Axis::User, &row)
    }

    /// Yields the row `b_i` of a new item in a category.
    ///
    /// # Errors
    /// A category outside the table, and parts that need more than one; see
    /// [`new_row`](Self::new_row).
    pub fn new_item_in_category(&self, n_i: u32, category: u32) -> Result<Vec<f32>, WeightsError> {
        let row = NewRow {
            count: n_i,
            groups: &[category],
            rows: &[],
        };
        self.new_row(Axis::Item, &row)
    }

    /// Yields the row of A or B of a new user or item.
    ///
    /// # Errors
    /// Names the part for which something is missing, or a group or row that does not fit.
    pub fn new_row(&self, axis: Axis, given: &NewRow<'_>) -> Result<Vec<f32>, WeightsError> {
        let (mut groups, mut rows) = (given.groups.iter(), given.rows.iter());
        let mut row = Vec::with_capacity(self.rank());
        for part in &self.frozen().parts {
            match &part.kind {
                PartKind::Groups(table) => {
                    let group = groups.next().ok_or(needs(part, axis))?;
                    row.extend(group_row(table, axis, *group)?);
                }
                PartKind::LowRank | PartKind::Dense(_) | PartKind::Function(_) => {
                    let given = rows.next().ok_or(needs(part, axis))?;
                    row.extend(checked_row(given, part, axis)?);
                }
                PartKind::Learned {
                    user_mean,
                    item_mean,
                    ..
                } => {
                    let mean = match axis {
                        Axis::User => user_mean,
                        Axis::Item => item_mean,
                    };
                    row.extend(checked_row(mean, part, axis)?);
                }
                kind => row.push(counted(kind, axis, given.count)?),
            }
        }
        Ok(row)
    }
}

fn needs(part: &FrozenPart, axis: Axis) -> WeightsError {
    let needs = match (&part.kind, axis) {
        (PartKind::Groups(_), Axis::User) => "its segment",
        (PartKind::Groups(_), Axis::Item) => "its category",
        (_, Axis::User) => "its row of A",
        (_, Axis::Item) => "its row of B",
    };
    WeightsError::NewRow {
        scheme: part.kind.name(),
        axis,
        needs,
    }
}

/// The one number of a part that is known from a number of interactions.
fn counted(kind: &PartKind, axis: Axis, count: u32) -> Result<f32, WeightsError> {
    let (scale, normaliser) = match (kind, axis) {
        (PartKind::Uniform { weight }, Axis::User) => return Ok(*weight),
        (PartKind::Popularity { c0, .. }, Axis::User) => return Ok(*c0 as f32),
        (
            PartKind::Activity { c0, users } | PartKind::PopularityActivity { c0, users, .. },
            Axis::User,
        ) => (*c0, users),
        (
            PartKind::Popularity { items, .. } | PartKind::PopularityActivity { items, .. },
            Axis::Item,
        ) => (1.0, items),
        _ => return Ok(1.0),
    };
    let value = (scale * normaliser.share(count)) as f32;
    if value.is_finite() {
        return Ok(value);
    }
    Err(WeightsError::Power {
        scheme: kind.name(),
        axis,
        index: 0,
        count,
        exponent: normaliser.exponent,
    })
}

fn group_row(table: &FrozenGroups, axis: Axis, group: u32) -> Result<Vec<f32>, WeightsError> {
    let (count, new) = match axis {
        Axis::User => (table.segments, table.user_segment.len()),
        Axis::Item => (table.categories, table.item_category.len()),
    };
    if group as usize >= count {
        return Err(WeightsError::Group {
            axis,
            index: new,
            group,
            count,
        });
    }
    Ok(match axis {
        Axis::User => table.user_row(group),
        Axis::Item => table.item_row(group),
    })
}

fn checked_row<'r>(
    given: &'r [f32],
    part: &FrozenPart,
    axis: Axis,
) -> Result<&'r [f32], WeightsError> {
    let what = match axis {
        Axis::User => "the new row of A",
        Axis::Item => "the new row of B",
    };
    if given.len() != part.rank {
        return Err(WeightsError::Parts {
            parts: part.rank,
            columns: given.len(),
        });
    }
    match given.iter().position(|value| !value.is_finite()) {
        Some(col) => Err(WeightsError::Value {
            what,
            row: 0,
            col,
            value: given[col],
            range: "finite",
        }),
        None => Ok(given),
    }
}
