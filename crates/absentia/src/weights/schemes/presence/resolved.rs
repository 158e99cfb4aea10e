//! When items were there, on data.

use super::{Presence, Slices, TimeFactor};
use crate::data::{Interactions, units_per_second};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::weights::error::WeightsError;

/// [`Presence`] on data.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ResolvedPresence {
    /// What it is used for.
    pub factor: TimeFactor,
    /// How time was divided.
    pub slices: Slices,
    /// How surely an item was not there before its first row.
    pub sharpness: f32,
    /// How surely an item was not there after its last row.
    pub withdrawn: f32,
    /// The time at which each slice starts, rising, in the unit of the data.
    pub starts: Vec<i64>,
    /// When each item was seen.
    pub items: Vec<ItemHistory>,
    /// The day of release of each item in unix seconds, where it is known.
    #[cfg_attr(
        feature = "serde",
        serde(default, skip_serializing_if = "Option::is_none")
    )]
    pub released: Option<Vec<Option<i64>>>,
}

/// When an item was seen; slices are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(from = "(u32, u32, u32)", into = "(u32, u32, u32)")
)]
#[non_exhaustive]
pub struct ItemHistory {
    /// Slice of its first row, or of its release if that is earlier; 0 if neither is known.
    pub first: u32,
    /// Slice of its last row; 0 without rows.
    pub last: u32,
    /// Number of rows.
    pub rows: u32,
}

impl From<(u32, u32, u32)> for ItemHistory {
    fn from((first, last, rows): (u32, u32, u32)) -> Self {
        Self { first, last, rows }
    }
}

impl From<ItemHistory> for (u32, u32, u32) {
    fn from(item: ItemHistory) -> Self {
        (item.first, item.last, item.rows)
    }
}

impl ItemHistory {
    const UNSEEN: Self = Self {
        first: 0,
        last: 0,
        rows: 0,
    };

    fn add(&mut self, slice: usize) {
        let slice = slice as u32;
        self.first = if self.rows == 0 {
            slice
        } else {
            self.first.min(slice)
        };
        self.last = self.last.max(slice);
        self.rows += 1;
    }
}

impl Presence<Vec<Option<i64>>> {
    /// Yields what is known of every item, in `O(|R| log T + N)`.
    pub(in crate::weights::schemes) fn resolve(
        &self,
        scheme: &str,
        data: &Interactions<'_>,
    ) -> Result<ResolvedPresence, WeightsError> {
        self.check(scheme)?;
        let scheme = scheme.to_owned();
        if data.times().is_none() {
            return Err(WeightsError::NoTimes { scheme });
        }
        let starts = self.slices.starts(&scheme, data)?;
        let mut resolved = ResolvedPresence {
            factor: self.factor,
            slices: self.slices,
            sharpness: self.sharpness,
            withdrawn: self.withdrawn,
            starts,
            items: vec![ItemHistory::UNSEEN; data.n_items()],
            released: self.released.clone(),
        };
        let mut latest = i64::MIN;
        for (_, item, time) in data.dated_rows() {
            let slice = resolved.slice(time);
            resolved.items[item].add(slice);
            latest = latest.max(time);
        }
        resolved.check(data.n_items())?;
        let per_second = units_per_second(latest);
        for (item, day) in self.released.iter().flatten().enumerate() {
            if let Some(day) = day {
                let slice = resolved.slice(day.saturating_mul(per_second)) as u32;
                let history = &mut resolved.items[item];
                let is_seen = history.rows > 0;
                history.first = if is_seen {
                    history.first.min(slice)
                } else {
                    slice
                };
            }
        }
        Ok(resolved)
    }
}

impl ResolvedPresence {
    /// What was requested.
    #[must_use]
    pub fn requested(&self) -> Presence<Vec<Option<i64>>> {
        Presence {
            factor: self.factor,
            slices: self.slices,
            sharpness: self.sharpness,
            withdrawn: self.withdrawn,
            released: self.released.clone(),
        }
    }

    /// Number of slices T.
    #[must_use]
    pub fn n_slices(&self) -> usize {
        self.starts.len()
    }

    /// The slice of a time; times before the first slice are in it, those after the last one in the last.
    #[must_use]
    pub fn slice(&self, time: i64) -> usize {
        let later = self.starts.partition_point(|&start| start <= time);
        later.saturating_sub(1)
    }

    /// `e_i(t)`, the chance that an item was there in slice t.
    fn chance(&self, item: ItemHistory, is_dated: bool, t: usize) -> f64 {
        let ItemHistory { first, last, rows } = item;
        let (first, last, rows) = (first as usize, last as usize, f64::from(rows));
        if t < first {
            if is_dated {
                return 0.0;
            }
            let since = (self.n_slices() - first) as f64;
            return (-f64::from(self.sharpness) * rows * (first - t) as f64 / since).exp();
        }
        if t > last && rows > 0.0 {
            let until = (last + 1) as f64;
            return (-f64::from(self.withdrawn) * rows * (t - last) as f64 / until).exp();
        }
        1.0
    }

    fn is_dated(&self, item: usize) -> bool {
        let dates = self.released.as_ref();
        dates.is_some_and(|dates| dates.get(item).is_some_and(Option::is_some))
    }

    fn chances(&self, item: ItemHistory, is_dated: bool) -> impl Iterator<Item = f64> {
        (0..self.n_slices()).map(move |t| self.chance(item, is_dated, t))
    }

    fn mean_chance(&self, item: ItemHistory, is_dated: bool) -> f64 {
        self.chances(item, is_dated).sum::<f64>() / self.n_slices() as f64
    }

    /// The share of time in which an item was there.
    ///
    /// # Panics
    /// If the item is out of range.
    #[must_use]
    pub fn age(&self, item: usize) -> f64 {
        self.mean_chance(self.items[item], self.is_dated(item))
    }

    /// `s_u(t)` for every user, `(M, T)`, and `e_i(t)` for every item, `(N, T)`.
    pub(in crate::weights::schemes) fn columns(&self, data: &Interactions<'_>) -> (Dense, Dense) {
        let slices = self.n_slices();
        let mut a = Dense::zeros(data.n_users(), slices);
        for (user, _, time) in data.dated_rows() {
            a.row_mut(user)[self.slice(time)] += 1.0;
        }
        for (user, &count) in data.user_counts().iter().enumerate() {
            for share in a.row_mut(user) {
                *share = match count {
                    0 => 1.0 / slices as f32,
                    count => *share / count as f32,
                };
            }
        }
        let mut b = Dense::zeros(data.n_items(), slices);
        for (item, &history) in self.items.iter().enumerate() {
            let chances = self.chances(history, self.is_dated(item));
            for (slot, chance) in b.row_mut(item).iter_mut().zip(chances) {
                *slot = chance as f32;
            }
        }
        (a, b)
    }

    /// The slices of the rows of a new user or item: those of its times, or the last one.
    fn new_slices(&self, count: u32, times: &[i64]) -> Vec<usize> {
        if times.is_empty() {
            return vec![self.n_slices() - 1; count as usize];
        }
        times.iter().map(|&time| self.slice(time)).collect()
    }

    /// The age of a new item with these rows.
    pub(in crate::weights::schemes) fn new_age(&self, count: u32, times: &[i64]) -> f64 {
        self.mean_chance(self.new_item(count, times), false)
    }

    fn new_item(&self, count: u32, times: &[i64]) -> ItemHistory {
        let mut history = ItemHistory::UNSEEN;
        for slice in self.new_slices(count, times) {
            history.add(slice);
        }
        history
    }

    /// `s_u(t)` of a new user, or `e_i(t)` of a new item, with these rows.
    pub(in crate::weights::schemes) fn new_row(
        &self,
        axis: Axis,
        count: u32,
        times: &[i64],
    ) -> Vec<f32> {
        let slices = self.n_slices();
        match axis {
            Axis::Item => {
                let chances = self.chances(self.new_item(count, times), false);
                chances.map(|chance| chance as f32).collect()
            }
            Axis::User if count == 0 => vec![1.0 / slices as f32; slices],
            Axis::User => {
                let rows = self.new_slices(count, times);
                let mut shares = vec![0.0; slices];
                for &slice in &rows {
                    shares[slice] += 1.0;
                }
                for share in &mut shares {
                    *share /= rows.len() as f32;
                }
                shares
            }
        }
    }

    /// `Σ_t s_u(t) e_i(t)`, from the user's row of A, which is proportional to `s_u`.
    pub(in crate::weights::schemes) fn available(&self, item: usize, a_u: &[f32]) -> f64 {
        let chances = self.chances(self.items[item], self.is_dated(item));
        let pairs = a_u.iter().zip(chances);
        let total = a_u.iter().map(|&a| f64::from(a)).sum::<f64>();
        let total = total.max(f64::MIN_POSITIVE);
        pairs.map(|(&a, chance)| f64::from(a) * chance).sum::<f64>() / total
    }

    /// What is known of when an item was there.
    pub(in crate::weights::schemes) fn reason(&self, item: usize) -> String {
        let ItemHistory { first, last, rows } = self.items[item];
        let slices = self.n_slices();
        let from = match (self.is_dated(item), rows) {
            (true, _) => format!("there from slice {} of {slices} on", first + 1),
            (false, 0) => return "never seen".to_owned(),
            (false, _) => format!("first seen in slice {} of {slices}", first + 1),
        };
        let until = if self.withdrawn > 0.0 && rows > 0 {
            format!(", last in slice {}", last + 1)
        } else {
            String::new()
        };
        format!("{from}{until}, {rows} rows")
    }

    /// Rejects what does not fit the number of items; saved slices come from outside.
    pub(in crate::weights::schemes) fn check(&self, n_items: usize) -> Result<(), WeightsError> {
        let slices = self.n_slices() as u32;
        let is_outside = |item: &ItemHistory| item.first >= slices || item.last >= slices;
        let rising = self.starts.windows(2).all(|pair| pair[0] < pair[1]);
        if slices == 0 || !rising || self.items.iter().any(is_outside) {
            return Err(WeightsError::SavedSlices);
        }
        let dates = self.released.as_ref().map(Vec::len);
        let lengths = [
            ("the history of items", Some(self.items.len())),
            ("released", dates),
        ];
        for (what, length) in lengths {
            if let Some(got) = length.filter(|got| *got != n_items) {
                return Err(WeightsError::Rows {
                    what,
                    axis: Axis::Item,
                    expected: n_items,
                    got,
                });
            }
        }
        Ok(())
    }
}
