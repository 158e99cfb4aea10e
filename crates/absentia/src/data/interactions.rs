//! R together with its transpose, and the entries that were shown but not taken.

use std::sync::Arc;

use super::entries::{Entries, Values};
use super::error::DataError;
use super::repeats::Duplicates;
use super::storage::Storage;
use super::whole::PartOf;
use super::{Triplets, exposed};
use crate::error::Axis;

/// The observed matrix R in both orientations.
///
/// Binary data costs 8 bytes an entry for both orientations together: targets and weights are
/// stored only when they vary. *Exposed entries* (pairs that were shown and not taken) are
/// entries with target 0 and their own weight; they count in the objective and nowhere else.
#[derive(Clone, Debug, PartialEq)]
pub struct Interactions<'a> {
    pub(super) by_user: Entries<'a>,
    pub(super) by_item: Entries<'a>,
    pub(super) exposed: Option<Arc<exposed::Marks>>,
    pub(super) times: Option<Storage<'a, i64>>,
    /// What is known of the whole matrix, if this is a part of one.
    pub(super) part: Option<Arc<PartOf>>,
}

impl<'a> Interactions<'a> {
    /// Yields the matrix of rows that were checked, with its transpose.
    pub(super) fn from_rows(by_user: Entries<'a>, times: Option<Vec<i64>>) -> Self {
        let by_item = by_user.transposed();
        Self {
            by_user,
            by_item,
            exposed: None,
            times: times.map(Into::into),
            part: None,
        }
    }

    /// Takes compressed rows as they are, without copying them; only the transpose is built.
    ///
    /// # Errors
    /// Offsets that are inconsistent, indices out of range or not rising strictly within a row
    /// (use [`Triplets`] for those), and values that are not finite, each named.
    pub fn from_csr(
        n_items: usize,
        offsets: impl Into<Storage<'a, u64>>,
        indices: impl Into<Storage<'a, u32>>,
        values: Values<'a>,
    ) -> Result<Self, DataError> {
        let (offsets, indices) = (offsets.into(), indices.into());
        check_rows(n_items, &offsets, &indices)?;
        if let Values::Constant(value) = &values {
            check_values(&[*value])?;
        }
        if let Values::Each(each) = &values {
            if each.len() != indices.len() {
                return Err(DataError::Length {
                    what: "values",
                    expected: indices.len(),
                    got: each.len(),
                });
            }
            check_values(each)?;
        }
        let by_user = Entries {
            cols: n_items,
            offsets,
            indices,
            r: values,
            c: Values::Constant(1.0),
        };
        Ok(Self::from_rows(by_user, None))
    }

    /// Yields the matrix with a weight `c_ui` for each entry, in the order of
    /// [`by_user`](Self::by_user); training uses them under
    /// [`Confidence::Column`](super::Confidence::Column).
    ///
    /// # Errors
    /// Not one weight per entry, and weights that are negative or not finite.
    pub fn with_weights(mut self, weights: Values<'a>) -> Result<Self, DataError> {
        match &weights {
            Values::Each(each) if each.len() != self.len() => {
                return Err(DataError::Length {
                    what: "weights",
                    expected: self.len(),
                    got: each.len(),
                });
            }
            Values::Each(each) => check_weights(each)?,
            Values::Constant(weight) => check_weights(&[*weight])?,
        }
        self.by_item.c = self
            .by_user
            .moved_to_transpose(&weights, self.by_item.offsets());
        self.by_user.c = weights;
        Ok(self)
    }

    /// Number of users M.
    #[must_use]
    pub fn n_users(&self) -> usize {
        self.by_user.rows()
    }

    /// Number of items N.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.by_item.rows()
    }

    /// Number of entries of the objective, exposed ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_user.len()
    }

    /// Whether there is no entry at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_user.is_empty()
    }

    /// Number of interactions, exposed entries not counted.
    #[must_use]
    pub fn n_interactions(&self) -> usize {
        self.len() - self.exposed.as_ref().map_or(0, |marks| marks.count())
    }

    /// Rows by user.
    #[must_use]
    pub fn by_user(&self) -> &Entries<'a> {
        &self.by_user
    }

    /// Rows by item.
    #[must_use]
    pub fn by_item(&self) -> &Entries<'a> {
        &self.by_item
    }

    /// Time of each entry in the order of [`by_user`](Self::by_user), where times were given.
    #[must_use]
    pub fn times(&self) -> Option<&[i64]> {
        self.times.as_deref()
    }

    /// Number of interactions `n_u` of each user.
    #[must_use]
    pub fn user_counts(&self) -> Vec<u32> {
        if let Some(part) = &self.part {
            return part.whole.counts.users.clone();
        }
        if self.exposed.is_none() {
            return (0..self.n_users())
                .map(|user| self.by_user.row_len(user) as u32)
                .collect();
        }
        (0..self.n_users())
            .map(|user| self.seen(user as u32).count() as u32)
            .collect()
    }

    /// Number of interactions `n_i` of each item.
    #[must_use]
    pub fn item_counts(&self) -> Vec<u32> {
        if let Some(part) = &self.part {
            return part.whole.counts.items.clone();
        }
        if self.exposed.is_none() {
            return (0..self.n_items())
                .map(|item| self.by_item.row_len(item) as u32)
                .collect();
        }
        let mut counts = vec![0; self.n_items()];
        for user in 0..self.n_users() {
            for item in self.seen(user as u32) {
                counts[item as usize] += 1;
            }
        }
        counts
    }

    /// Items the user interacted with, rising, exposed entries left out.
    pub fn seen(&self, user: u32) -> impl Iterator<Item = u32> + '_ {
        let range = self.by_user.range(user as usize);
        let marks = self.exposed.as_deref();
        let indices = &self.by_user.indices()[range.clone()];
        range
            .zip(indices)
            .filter(move |(at, _)| !marks.is_some_and(|marks| marks.is_marked(*at)))
            .map(|(_, &item)| item)
    }

    /// Whether the entry at this position of [`by_user`](Self::by_user) is an exposed one.
    #[must_use]
    pub fn is_exposed(&self, at: usize) -> bool {
        self.exposed
            .as_ref()
            .is_some_and(|marks| marks.is_marked(at))
    }

    /// Bytes held by both orientations.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let times = self
            .times
            .as_ref()
            .map_or(0, |times| 8 * times.len() as u64);
        let marks = self.exposed.as_ref().map_or(0, |marks| marks.bytes());
        self.by_user.bytes() + self.by_item.bytes() + times + marks
    }

    /// Yields the matrix with users and items exchanged, times and exposed entries with it.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let offsets = self.by_item.offsets();
        let exposed = self.exposed.as_deref().map(|marks| {
            let each: Vec<bool> = (0..self.len()).map(|at| marks.is_marked(at)).collect();
            Arc::new(self.by_user.move_each(&each, offsets).into_iter().collect())
        });
        Self {
            by_user: self.by_item.clone(),
            by_item: self.by_user.clone(),
            exposed,
            times: self
                .times
                .as_ref()
                .map(|times| self.by_user.move_each(times, offsets).into()),
            part: None,
        }
    }

    /// Yields a matrix that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Interactions<'static> {
        Interactions {
            by_user: self.by_user.into_owned(),
            by_item: self.by_item.into_owned(),
            exposed: self.exposed,
            times: self.times.map(Storage::into_owned),
            part: self.part,
        }
    }

    /// Yields the matrix with entries added that were shown to the user and not taken.
    ///
    /// Each becomes an entry with target 0 and the given weight. One that is also an interaction
    /// is dropped, because the user took it. Repeats keep the largest weight.
    ///
    /// # Errors
    /// As [`Triplets::build`].
    pub fn with_exposed(
        &self,
        users: &[u32],
        items: &[u32],
        weights: &[f32],
    ) -> Result<Interactions<'static>, DataError> {
        let shown = Triplets::new(users, items)
            .values(weights)
            .weights(weights)
            .build(self.n_users(), self.n_items(), Duplicates::Max)?;
        Ok(exposed::merge(self, &shown))
    }
}

pub(super) fn check_shape(n_users: usize, n_items: usize) -> Result<(), DataError> {
    for (axis, count) in [(Axis::User, n_users), (Axis::Item, n_items)] {
        if count > u32::MAX as usize {
            return Err(DataError::TooMany {
                axis,
                count: count as u64,
            });
        }
    }
    Ok(())
}

pub(super) fn check_values(values: &[f32]) -> Result<(), DataError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(entry) => Err(DataError::NotFinite {
            entry: entry as u64,
            what: "value",
            value: values[entry],
        }),
        None => Ok(()),
    }
}

pub(super) fn check_weights(weights: &[f32]) -> Result<(), DataError> {
    match weights
        .iter()
        .position(|weight| !(weight.is_finite() && *weight >= 0.0))
    {
        Some(at) if weights[at].is_finite() => Err(DataError::NegativeWeight {
            entry: at as u64,
            value: weights[at],
        }),
        Some(at) => Err(DataError::NotFinite {
            entry: at as u64,
            what: "weight",
            value: weights[at],
        }),
        None => Ok(()),
    }
}

fn check_rows(n_items: usize, offsets: &[u64], indices: &[u32]) -> Result<(), DataError> {
    let Some(n_users) = offsets.len().checked_sub(1) else {
        return Err(DataError::Offsets { row: 0 });
    };
    check_shape(n_users, n_items)?;
    if offsets[0] != 0 {
        return Err(DataError::Offsets { row: 0 });
    }
    if let Some(row) = offsets
        .windows(2)
        .position(|ends| ends[1] < ends[0] || ends[1] > indices.len() as u64)
    {
        return Err(DataError::Offsets { row: row as u64 });
    }
    if offsets[n_users] != indices.len() as u64 {
        return Err(DataError::Offsets {
            row: n_users as u64,
        });
    }
    if let Some(entry) = indices.iter().position(|&item| item as usize >= n_items) {
        return Err(DataError::OutOfRange {
            entry: entry as u64,
            axis: Axis::Item,
            index: indices[entry].into(),
            count: n_items as u64,
        });
    }
    for (row, ends) in offsets.windows(2).enumerate() {
        let row_indices = &indices[ends[0] as usize..ends[1] as usize];
        if let Some(at) = row_indices.windows(2).position(|pair| pair[1] <= pair[0]) {
            return Err(DataError::Unsorted {
                row: row as u64,
                entry: ends[0] + at as u64 + 1,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three users, three items: (0,0) (0,2) (1,1) (2,0).
    fn matrix() -> Interactions<'static> {
        let rows = (vec![0, 2, 3, 4], vec![0, 2, 1, 0]);
        Interactions::from_csr(3, rows.0, rows.1, Values::Constant(1.0)).unwrap()
    }

    #[test]
    fn weights_go_with_their_entries_on_both_sides() {
        let weights = Values::Each(vec![1.0, 2.0, 3.0, 4.0].into());
        let data = matrix().with_weights(weights).unwrap();
        for (user, item, weight) in [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0), (2, 0, 4.0)] {
            for (entries, row, column) in
                [(data.by_user(), user, item), (data.by_item(), item, user)]
            {
                let row = entries.row(row as usize);
                let at = row.indices.iter().position(|&index| index == column);
                assert_eq!(row.c.get(at.unwrap()).to_bits(), f32::to_bits(weight));
            }
        }
        let same = matrix().with_weights(Values::Constant(0.5)).unwrap();
        assert_eq!(same.by_item().row(0).c.get(1).to_bits(), 0.5_f32.to_bits());
        assert_eq!(same.bytes(), matrix().bytes());
    }

    #[test]
    fn weights_that_cannot_be_are_refused_by_entry() {
        let given = |weights: Vec<f32>| matrix().with_weights(Values::Each(weights.into()));
        assert_eq!(
            given(vec![1.0; 3]).unwrap_err(),
            DataError::Length {
                what: "weights",
                expected: 4,
                got: 3
            }
        );
        assert_eq!(
            given(vec![1.0, 1.0, -2.0, 1.0]).unwrap_err(),
            DataError::NegativeWeight {
                entry: 2,
                value: -2.0
            }
        );
        let refused = given(vec![1.0, f32::NAN, 1.0, 1.0]).unwrap_err();
        assert!(matches!(refused, DataError::NotFinite { entry: 1, .. }));
        let refused = matrix().with_weights(Values::Constant(f32::INFINITY));
        assert!(matches!(
            refused,
            Err(DataError::NotFinite { entry: 0, .. })
        ));
    }
}
