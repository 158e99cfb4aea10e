//! When items were there.

mod resolved;
mod slices;
mod text;

pub use resolved::{ItemHistory, ResolvedPresence};
pub use slices::{Period, Slices};
pub(super) use text::OPTIONS;

use crate::weights::error::WeightsError;

/// Which factor of a product follows from when items were there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum TimeFactor {
    /// The share of time in which the item was there; rank 1.
    Age,
    /// The share of the user's rows at times when the item was there; rank T.
    Available,
    /// The product of both.
    Both,
}

impl TimeFactor {
    /// Whether the age is a factor.
    #[must_use]
    pub fn is_age(self) -> bool {
        self != Self::Available
    }

    /// Whether availability is a factor.
    #[must_use]
    pub fn is_available(self) -> bool {
        self != Self::Age
    }
}

/// When items were there: what did not exist yet was not refused. `D` holds the days of their release.
///
/// Time is divided into T slices, by default 20 with equally many rows. An item has n rows, the first in slice
/// f and the last in slice l, counted from 0. From its first row on it had `n / (T − f)` rows a slice. Suppose
/// that an item which is there, but has not been seen yet, is seen at c times this rate. Then g slices without
/// a row have the probability `exp(−c n g / (T − f))`, and item i was there in slice t with probability
///
/// ```text
///          exp(−c n (f − t) / (T − f))   for t < f
/// e_i(t) = 1                             for f ≤ t ≤ l
///          exp(−d n (t − l) / (l + 1))   for t > l
/// ```
///
/// c is the option `sharpness`: 0 says nothing about when an item was there, and a large number, such as 1000,
/// takes the first row as the first day. d is the option `withdrawn`, for items that are taken away: by the same
/// reasoning with time reversed, n rows in the `l + 1` slices up to the last. By default it is 0: items stay.
/// An item without rows counts as always there. If the day of its release is known (`released`), an item is not
/// there before the slice of that day, or of its first row if that is earlier, and there from then on.
///
/// | factor | | rank |
/// | --- | --- | --- |
/// | `age` | `e_i`, the mean of `e_i(t)` over all slices | 1 |
/// | `available` | `Σ_t s_u(t) e_i(t)`, `s_u(t)` the share of the user's rows in slice t; 1/T without rows | T |
///
/// Both are 1 for an item that was always there, so c0 is the weight of such an item if there are no other
/// factors. Times are those of the training rows alone: rows that are held out, or of later, say nothing about
/// when an item was there. Exposed entries have no times and do not count.
///
/// A new row has the times that are given for it. Without times, it is of the last slice: a new user was active
/// then, and a new item was first seen then.
///
/// | Name | Symbol | Default | Range |
/// | --- | --- | --- | --- |
/// | `slices` | T | 20 | 1 ..= 1000, or a period of the calendar |
/// | `sharpness` | c | 0.1 | ≥ 0 |
/// | `withdrawn` | d | 0 | ≥ 0 |
/// | `released` | – | none | – |
#[derive(Clone, Debug, PartialEq)]
pub struct Presence<D> {
    /// What it is used for.
    pub factor: TimeFactor,
    /// How time is divided.
    pub slices: Slices,
    /// How surely an item was not there before its first row.
    pub sharpness: f32,
    /// How surely an item was not there after its last row.
    pub withdrawn: f32,
    /// The day from which each item was there, where it is known.
    pub released: Option<D>,
}

impl<D> Presence<D> {
    /// Yields the defaults.
    #[must_use]
    pub const fn new(factor: TimeFactor) -> Self {
        Self {
            factor,
            slices: Slices::EqualCounts(20),
            sharpness: 0.1,
            withdrawn: 0.0,
            released: None,
        }
    }

    /// Yields the same with the days of release replaced.
    ///
    /// # Errors
    /// Those of `replace`.
    pub(in crate::weights) fn try_map<G, E>(
        &self,
        replace: impl FnOnce(&D) -> Result<G, E>,
    ) -> Result<Presence<G>, E> {
        Ok(Presence {
            factor: self.factor,
            slices: self.slices,
            sharpness: self.sharpness,
            withdrawn: self.withdrawn,
            released: self.released.as_ref().map(replace).transpose()?,
        })
    }

    fn check(&self, scheme: &str) -> Result<(), WeightsError> {
        super::check_at_least_zero(scheme, "sharpness", self.sharpness)?;
        super::check_at_least_zero(scheme, "withdrawn", self.withdrawn)?;
        self.slices.check(scheme)
    }
}
