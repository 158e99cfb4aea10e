//! Interactions of some users or items that are a part of a larger matrix.
//!
//! A part has the shape of the whole matrix, and rows for its own users or items alone. What is computed from it
//! depends on the whole by counts, which it knows, and by sums over users. A part knows the sums of the whole that
//! it was [given](WholeMatrix::totals). Where one is missing it keeps [its own share](Interactions::missing_sum),
//! and what is computed from it is of no use: when the shares of all parts are merged, the same is computed again.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::interactions::Interactions;
use crate::row_sums::{CHUNK_ROWS, RowSum, sum_rows};
use crate::sides::Sides;

/// What a part knows of the whole matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct WholeMatrix {
    /// Interactions of every user and item.
    pub counts: Sides<Vec<u32>>,
    /// Number of entries.
    pub entries: usize,
    /// Sums over all users, in the order in which they are needed.
    pub totals: Vec<f64>,
    /// Chunks of [`CHUNK_ROWS`](crate::fit::backend::CHUNK_ROWS) users whose rows are in the part; none in a part
    /// by items.
    pub users: Range<usize>,
}

/// A part of a matrix, with the sums that were needed so far.
#[derive(Debug)]
pub(super) struct PartOf {
    pub(super) whole: WholeMatrix,
    needed: AtomicUsize,
    missing: Mutex<Option<RowSum<f64>>>,
}

impl PartialEq for PartOf {
    fn eq(&self, other: &Self) -> bool {
        self.whole == other.whole
    }
}

impl Interactions<'_> {
    /// Yields the same entries as a part of a larger matrix of the same shape.
    #[must_use]
    pub fn part_of(mut self, whole: WholeMatrix) -> Self {
        self.part = Some(Arc::new(PartOf {
            whole,
            needed: AtomicUsize::new(0),
            missing: Mutex::default(),
        }));
        self
    }

    /// The first sum over users that was needed and not known, as far as the users of this part add to it.
    #[must_use]
    pub fn missing_sum(&self) -> Option<RowSum<f64>> {
        let part = self.part.as_ref()?;
        let missing = part.missing.lock();
        missing.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of entries of the whole matrix.
    pub(crate) fn whole_len(&self) -> usize {
        match &self.part {
            Some(part) => part.whole.entries,
            None => self.len(),
        }
    }

    /// The sum of a number for every user.
    pub(crate) fn sum_over_users(&self, of_user: impl Fn(usize) -> f64 + Sync) -> f64 {
        let of_chunk = |users: Range<usize>| users.map(&of_user).sum();
        let Some(part) = &self.part else {
            return sum_rows(self.n_users(), of_chunk).unwrap_or(0.0);
        };
        let at = part.needed.fetch_add(1, Ordering::Relaxed);
        if let Some(total) = part.whole.totals.get(at) {
            return *total;
        }
        let mut missing = part.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.is_none() {
            let chunks = part.whole.users.clone();
            *missing = Some(RowSum::over(self.n_users(), chunks, 1, &of_chunk));
        }
        0.0
    }

    /// The rows of the users that are in this part; all if it is no part.
    #[must_use]
    pub fn own_users(&self) -> Range<usize> {
        let row_of = |chunk: usize| (chunk * CHUNK_ROWS).min(self.n_users());
        match &self.part {
            Some(part) => row_of(part.whole.users.start)..row_of(part.whole.users.end),
            None => 0..self.n_users(),
        }
    }
}
