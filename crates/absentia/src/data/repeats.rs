//! Rows of the same user and item: which of them counts, or what they add up to.
//!
//! This is the one place of the rule: logs are merged by it before they are split, and triplets when
//! their matrix is built. Its result depends on the order of the rows under [`Merging::LastRow`] alone.

use std::fmt;

use super::error::DataError;

/// What to do with a pair that occurs more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Duplicates {
    /// [`Last`](Self::Last) where entries have values; where they have none, [`Sum`](Self::Sum): the
    /// number of occurrences becomes the value.
    #[default]
    Auto,
    /// Adds values and weights (an entry without a value counts 1) and keeps the latest time.
    Sum,
    /// Keeps the latest occurrence: among those of one time the one with the largest value, then the
    /// one with the largest weight. Without times, keeps the one that comes last in the input.
    Last,
    /// Keeps the occurrence with the largest value: among equals the latest, then the one with the
    /// largest weight.
    Max,
    /// Rejects the data, naming the pair.
    Error,
}

/// How the rows of a repeated pair become one: [`Duplicates`] for the columns that the data has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merging {
    /// The latest row counts.
    Latest,
    /// The row that comes last in the data counts.
    LastRow,
    /// The number of rows is the value.
    Count,
    /// Values are added.
    Sum,
    /// The row with the largest value counts.
    Largest,
    /// Repeats are rejected.
    Reject,
}

impl Duplicates {
    /// The rule without [`Auto`](Self::Auto), for data with or without values.
    #[must_use]
    pub fn resolved(self, has_values: bool) -> Self {
        match (self, has_values) {
            (Self::Auto, true) => Self::Last,
            (Self::Auto, false) => Self::Sum,
            (given, _) => given,
        }
    }

    /// How rows are merged, for data with or without values and times.
    #[must_use]
    pub fn merging(self, has_values: bool, has_times: bool) -> Merging {
        match self.resolved(has_values) {
            Self::Error => Merging::Reject,
            Self::Max => Merging::Largest,
            Self::Last if has_times => Merging::Latest,
            Self::Last => Merging::LastRow,
            _ if has_values => Merging::Sum,
            _ => Merging::Count,
        }
    }
}

/// Says what became of the rows of a pair.
impl fmt::Display for Merging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latest => "the latest row of a pair counts",
            Self::LastRow => {
                "the row of a pair that comes last in the data counts, as there are no times"
            }
            Self::Count => "the number of rows of a pair is its rating",
            Self::Sum => "the ratings of a pair are added",
            Self::Largest => "the row of a pair with the largest rating counts",
            Self::Reject => "repeated pairs are rejected",
        })
    }
}

/// The columns of rows that are merged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowColumns<'c> {
    pub(crate) values: Option<&'c [f32]>,
    pub(crate) weights: Option<&'c [f32]>,
    pub(crate) times: Option<&'c [i64]>,
}

/// What the rows of a pair became.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergedRow {
    /// The row that represents the others.
    pub(crate) kept: u32,
    pub(crate) value: f32,
    pub(crate) weight: f32,
    /// Zero where there are no times.
    pub(crate) time: i64,
}

impl RowColumns<'_> {
    /// How repeats are merged.
    pub(super) fn merging(&self, duplicates: Duplicates) -> Merging {
        duplicates.merging(self.values.is_some(), self.times.is_some())
    }

    /// Merges the rows of one pair, which are given in the order of the data.
    pub(crate) fn merge(&self, rows: &[u32], merging: Merging) -> Result<MergedRow, DataError> {
        let late = |row: &u32| (self.time(*row), self.value_key(*row), self.weight_key(*row));
        let large = |row: &u32| (self.value_key(*row), self.time(*row), self.weight_key(*row));
        let kept = match merging {
            Merging::LastRow => rows.last().copied(),
            Merging::Largest => rows.iter().copied().max_by_key(large),
            _ => rows.iter().copied().max_by_key(late),
        };
        let kept = kept.unwrap_or_default();
        let mut merged = MergedRow {
            kept,
            value: self.values.map_or(1.0, |values| values[kept as usize]),
            weight: self.weights.map_or(1.0, |weights| weights[kept as usize]),
            time: self.time(kept),
        };
        if rows.len() > 1 && matches!(merging, Merging::Count | Merging::Sum) {
            let total = |column: &[f32]| sum(rows.iter().map(|&row| column[row as usize]));
            merged.value = self.values.map_or(rows.len() as f32, total);
            merged.weight = self.weights.map_or(1.0, total);
            merged.check()?;
        }
        Ok(merged)
    }

    fn time(&self, row: u32) -> i64 {
        self.times.map_or(0, |times| times[row as usize])
    }

    fn value_key(&self, row: u32) -> u32 {
        self.values
            .map_or(0, |values| ordered(values[row as usize]))
    }

    fn weight_key(&self, row: u32) -> u32 {
        let weights = self.weights;
        weights.map_or(0, |weights| ordered(weights[row as usize]))
    }
}

impl MergedRow {
    fn check(&self) -> Result<(), DataError> {
        for (what, value) in [
            ("sum of values", self.value),
            ("sum of weights", self.weight),
        ] {
            if !value.is_finite() {
                return Err(DataError::NotFinite {
                    entry: self.kept.into(),
                    what,
                    value,
                });
            }
        }
        Ok(())
    }
}

/// The sum of numbers in any order.
fn sum(numbers: impl Iterator<Item = f32>) -> f32 {
    let mut numbers: Vec<f32> = numbers.collect();
    numbers.sort_unstable_by(f32::total_cmp);
    numbers.into_iter().map(f64::from).sum::<f64>() as f32
}

/// Bits of a finite float that order as the float does.
pub(super) fn ordered(value: f32) -> u32 {
    // Minus zero is zero.
    let bits = (value + 0.0).to_bits();
    if bits >> 31 == 0 {
        bits | 1 << 31
    } else {
        !bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [f32; 4] = [3.0, 5.0, 1.0, 5.0];
    const WEIGHTS: [f32; 4] = [1.0, 2.0, 9.0, 4.0];
    const TIMES: [i64; 4] = [7, 7, 2, 7];

    fn columns(has_values: bool, has_times: bool) -> RowColumns<'static> {
        RowColumns {
            values: has_values.then_some(&VALUES),
            weights: Some(&WEIGHTS),
            times: has_times.then_some(&TIMES),
        }
    }

    fn kept(columns: &RowColumns<'_>, rows: &[u32], duplicates: Duplicates) -> u32 {
        let merging = columns.merging(duplicates);
        columns.merge(rows, merging).unwrap().kept
    }

    #[test]
    fn the_latest_row_counts_then_the_largest_value_then_the_largest_weight() {
        for rows in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]] {
            for duplicates in [Duplicates::Auto, Duplicates::Last] {
                assert_eq!(kept(&columns(true, true), &rows, duplicates), 3);
            }
            assert_eq!(
                kept(&columns(true, true), &rows[..3], Duplicates::Max) % 2,
                1
            );
            assert_eq!(kept(&columns(true, false), &rows, Duplicates::Max), 3);
        }
        assert_eq!(kept(&columns(true, true), &[0, 2], Duplicates::Last), 0);
        assert_eq!(kept(&columns(true, false), &[3, 0], Duplicates::Auto), 0);
    }

    #[test]
    fn rows_without_values_are_counted() {
        let columns = columns(false, true);
        assert_eq!(columns.merging(Duplicates::Auto), Merging::Count);
        let merged = columns.merge(&[2, 0, 1], Merging::Count).unwrap();
        assert_eq!(
            [merged.value, merged.weight].map(f32::to_bits),
            [3.0_f32, 12.0].map(f32::to_bits)
        );
        assert_eq!(merged.time, 7);
    }

    #[test]
    fn sums_do_not_depend_on_the_order_of_the_rows() {
        let values = [1e8, 1.0, -1e8, 3e-3, 7.0];
        let columns = RowColumns {
            values: Some(&values),
            weights: None,
            times: None,
        };
        let sum = |rows: &[u32]| columns.merge(rows, Merging::Sum).unwrap().value.to_bits();
        let first = sum(&[0, 1, 2, 3, 4]);
        assert_eq!(first, 8.003_f32.to_bits());
        for rows in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3]] {
            assert_eq!(sum(&rows), first);
        }
    }
}
