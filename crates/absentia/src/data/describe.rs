//! What a data set looks like: sizes, degrees, concentration, span, and its long tail.

use super::prepare::{EventLog, RowGroups};
use crate::error::Axis;

/// Order statistics of some numbers; each is one of the numbers (nearest rank).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Quantiles {
    /// The smallest.
    pub min: f64,
    /// A quarter is at most this.
    pub p25: f64,
    /// Half is at most this.
    pub median: f64,
    /// Three quarters are at most this.
    pub p75: f64,
    /// Nine tenths are at most this.
    pub p90: f64,
    /// All but one in a hundred are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Quantiles {
    /// Yields the quantiles of some numbers, or `None` if there are none.
    #[must_use]
    pub fn of(mut values: Vec<f32>) -> Option<Self> {
        values.sort_unstable_by(f32::total_cmp);
        let last = values.len().checked_sub(1)?;
        let n = values.len() as f64;
        let at = |share: f64| {
            let rank = (share * n).ceil() as usize;
            f64::from(values[rank.saturating_sub(1).min(last)])
        };
        Some(Self {
            min: at(0.0),
            p25: at(0.25),
            median: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            max: at(1.0),
            mean: values.iter().map(|&value| f64::from(value)).sum::<f64>() / n,
        })
    }
}

/// A stretch of the items ordered by popularity, stretches growing geometrically.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct TailBin {
    /// Rank of the most popular item of the bin; 1 is the most popular of all.
    pub first_rank: usize,
    /// Rank of the least popular item of the bin.
    pub last_rank: usize,
    /// Mean number of rows of its items.
    pub mean_count: f64,
    /// Share of all rows that fall on the bin.
    pub share: f64,
}

/// Statistics of a log.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Description {
    /// Users that occur.
    pub users: usize,
    /// Items that occur.
    pub items: usize,
    /// Rows.
    pub rows: usize,
    /// Rows that repeat the pair of an earlier one.
    pub duplicates: usize,
    /// Distinct pairs over users × items.
    pub density: f64,
    /// Rows of a user.
    pub user_rows: Quantiles,
    /// Rows of an item.
    pub item_rows: Quantiles,
    /// Gini coefficient of the rows of items: 0 is even.
    pub item_gini: f64,
    /// Share of rows on the most popular hundredth of the items (at least one item).
    pub top_1_percent: f64,
    /// Share of rows on the most popular tenth of the items (at least one item).
    pub top_10_percent: f64,
    /// First and last time, where times are given.
    pub span: Option<(i64, i64)>,
    /// Values, where given.
    pub values: Option<Quantiles>,
    /// Items by popularity, in bins that grow geometrically.
    pub tail: Vec<TailBin>,
}

/// Bins of the long tail a factor of ten.
const BINS_A_DECADE: f64 = 8.0;

impl EventLog {
    /// Yields statistics of the log.
    #[must_use]
    pub fn describe(&self) -> Description {
        let (users, mut items) = (self.degrees(Axis::User), self.degrees(Axis::Item));
        items.sort_unstable_by(|a, b| b.cmp(a));
        let duplicates = self.count_duplicates();
        let cells = users.len() as f64 * items.len() as f64;
        let tenth = |parts: usize| top_share(&items, items.len().div_ceil(parts));
        Description {
            users: users.len(),
            items: items.len(),
            rows: self.len(),
            duplicates,
            density: (self.len() - duplicates) as f64 / cells.max(1.0),
            item_rows: counts_quantiles(&items),
            top_1_percent: tenth(100),
            top_10_percent: tenth(10),
            span: self.span(),
            values: self.value().and_then(|value| Quantiles::of(value.to_vec())),
            tail: tail(&items),
            user_rows: counts_quantiles(&users),
            item_gini: gini(items),
        }
    }

    /// Rows of each user or item that has any.
    fn degrees(&self, axis: Axis) -> Vec<u32> {
        let mut counts = self.counts(axis);
        counts.retain(|&count| count > 0);
        counts
    }

    fn count_duplicates(&self) -> usize {
        let groups = RowGroups::new(&self.user).sort_by_key(|row| self.item[row as usize]);
        let same = |pair: &&[u32]| self.item[pair[0] as usize] == self.item[pair[1] as usize];
        let repeats = |rows: &[u32]| rows.windows(2).filter(same).count();
        groups.iter().map(repeats).sum()
    }

    fn span(&self) -> Option<(i64, i64)> {
        let time = self.time()?;
        Some((*time.iter().min()?, *time.iter().max()?))
    }
}

fn counts_quantiles(counts: &[u32]) -> Quantiles {
    let values = counts.iter().map(|&count| count as f32).collect();
    Quantiles::of(values).unwrap_or_default()
}

/// Share of the largest `n` of falling counts.
fn top_share(falling: &[u32], n: usize) -> f64 {
    let total = total(falling);
    total_of(falling, 0, n) / total.max(1.0)
}

fn total(counts: &[u32]) -> f64 {
    counts.iter().map(|&count| f64::from(count)).sum()
}

fn total_of(counts: &[u32], first: usize, end: usize) -> f64 {
    total(&counts[first..end.min(counts.len())])
}

fn tail(falling: &[u32]) -> Vec<TailBin> {
    let (all, mut bins, mut first) = (total(falling).max(1.0), Vec::new(), 0);
    let mut edge = 1.0_f64;
    while first < falling.len() {
        edge *= 10_f64.powf(1.0 / BINS_A_DECADE);
        let end = (edge.round() as usize).min(falling.len());
        if end > first {
            let rows = total_of(falling, first, end);
            bins.push(TailBin {
                first_rank: first + 1,
                last_rank: end,
                mean_count: rows / (end - first) as f64,
                share: rows / all,
            });
            first = end;
        }
    }
    bins
}

/// Yields the Gini coefficient of some counts: 0 if all are equal, near 1 if one has everything.
///
/// `Σ_j (2j − n − 1) x_j / (n Σ x)` over the counts in rising order.
#[must_use]
pub(crate) fn gini(mut counts: Vec<u32>) -> f64 {
    counts.sort_unstable();
    let n = counts.len() as f64;
    let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
    if total == 0.0 {
        return 0.0;
    }
    let ranked = counts.iter().enumerate();
    let spread: f64 = ranked
        .map(|(at, &count)| (2.0 * (at as f64 + 1.0) - n - 1.0) * f64::from(count))
        .sum();
    spread / (n * total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_log_is_described_by_hand() {
        // Item 5 has four rows (one repeated), item 0 one; users 0 and 9.
        let log = EventLog::new(vec![0, 9, 9, 0, 9], vec![5, 5, 5, 0, 5])
            .unwrap()
            .times(vec![3, 1, 7, 2, 5])
            .unwrap()
            .values(vec![1.0, 2.0, 3.0, 4.0, 5.0])
            .unwrap();
        let found = log.describe();
        assert_eq!((found.users, found.items, found.rows), (2, 2, 5));
        assert_eq!(found.duplicates, 2);
        assert!((found.density - 0.75).abs() < 1e-12);
        assert_eq!(found.span, Some((1, 7)));
        assert!((found.top_10_percent - 0.8).abs() < 1e-12);
        let values = found.values.unwrap();
        assert_eq!((values.min, values.median, values.max), (1.0, 3.0, 5.0));
        assert_eq!((found.user_rows.min, found.user_rows.max), (2.0, 3.0));
        assert_eq!((found.tail[0].first_rank, found.tail[0].last_rank), (1, 1));
    }

    #[test]
    fn gini_spans_even_to_concentrated() {
        assert!(gini(vec![3; 10]).abs() < 1e-15);
        assert!((gini(vec![0, 0, 0, 5]) - 0.75).abs() < 1e-15);
        assert!(gini(vec![]).abs() < 1e-15);
    }

    #[test]
    fn the_tail_covers_every_item_once() {
        let counts: Vec<u32> = (1..=12_345).rev().collect();
        let bins = tail(&counts);
        assert_eq!(bins[0].first_rank, 1);
        assert_eq!(bins[bins.len() - 1].last_rank, counts.len());
        let adjacent = |pair: &[TailBin]| pair[0].last_rank + 1 == pair[1].first_rank;
        assert!(bins.windows(2).all(adjacent));
        let shares: f64 = bins.iter().map(|bin| bin.share).sum();
        assert!((shares - 1.0).abs() < 1e-9 && bins.len() < 40);
    }

    #[test]
    fn an_empty_log_has_an_empty_description() {
        assert_eq!(EventLog::default().describe(), Description::default());
    }
}
