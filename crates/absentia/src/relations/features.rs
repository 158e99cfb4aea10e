//! Features: numbers for every column of a row, such as an embedding, all of them observed.
//!
//! Each entry weighs `strength / d` with d columns, observed as well as missing: what an entry adds to a row's
//! quadratic beyond its weight as a missing one is then nothing but `w x q`. So the caches hold all of `H`, and the
//! targets of all rows enter by one matrix product, at no cost per entry beyond it.

use std::ops::Range;

use crate::linalg::Dense;
use crate::row_sums::sum_rows;
use crate::sides::Sides;

/// How numbers become targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// Columns are centred and divided by one number for all, so that their mean variance is 1: for columns of
    /// one unit, such as those of an embedding.
    #[default]
    Together,
    /// Each column is centred and divided by its own standard deviation: for columns of different units.
    Columns,
    /// Numbers are targets as they are.
    Unscaled,
}

/// What a number is made into a target by, as a model keeps it.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FeatureRule {
    /// What is subtracted from each column.
    pub means: Vec<f32>,
    /// What each column is then divided by.
    pub scales: Vec<f32>,
}

impl FeatureRule {
    /// The target of a number in a column.
    #[must_use]
    pub fn target(&self, column: usize, value: f32) -> f32 {
        (value - self.means[column]) / self.scales[column]
    }

    /// Whether it has a finite mean and a scale above 0 for each of `columns` columns.
    pub(crate) fn is_for(&self, columns: usize) -> bool {
        let is_scale = |scale: &f32| scale.is_finite() && *scale > 0.0;
        self.means.len() == columns
            && self.scales.len() == columns
            && self.means.iter().all(|mean| mean.is_finite())
            && self.scales.iter().all(is_scale)
    }

    fn of(values: &Dense, known: &[bool], scaling: Scaling) -> Self {
        let columns = values.cols();
        let mut rule = Self {
            means: vec![0.0; columns],
            scales: vec![1.0; columns],
        };
        if scaling == Scaling::Unscaled {
            return rule;
        }
        let count = known.iter().filter(|known| **known).count() as f64;
        // The mean over the rows that have features, of each column.
        let mean = |number: &(dyn Fn(usize, f32) -> f64 + Sync)| -> Vec<f64> {
            let of_chunk = |rows: Range<usize>| {
                let mut sums = vec![0.0; columns];
                for row in rows.filter(|&row| known[row]) {
                    for (column, x) in values.row(row).iter().enumerate() {
                        sums[column] += number(column, *x) / count;
                    }
                }
                sums
            };
            sum_rows(values.rows(), of_chunk).unwrap_or_default()
        };
        let means = mean(&|_, x| f64::from(x));
        let variances = mean(&|column, x| (f64::from(x) - means[column]).powi(2));
        let mean_variance = variances.iter().sum::<f64>() / columns as f64;
        for column in 0..columns {
            let variance = match scaling {
                Scaling::Columns => variances[column],
                _ => mean_variance,
            };
            rule.means[column] = means[column] as f32;
            let scale = variance.sqrt() as f32;
            // A column that is the same for all rows is 0 once it is centred.
            rule.scales[column] = if scale > 0.0 { scale } else { 1.0 };
        }
        rule
    }
}

/// Why numbers cannot be features.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FeatureError {
    /// No column, or no row.
    #[error("there are no features")]
    Empty,
    /// A number that is not finite.
    #[error("row {row}, column {column}: {got} is not a finite number")]
    NotFinite {
        /// Its row, from 0.
        row: usize,
        /// Its column, from 0.
        column: usize,
        /// The number.
        got: f32,
    },
    /// Every target is 0.
    #[error("all rows have the same features, which say nothing about any of them")]
    Same,
}

/// The features of the rows of a type, as targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    targets: Dense,
    known: Vec<bool>,
    rule: FeatureRule,
}

impl Features {
    /// Takes numbers, a row for each of the type; `known` says which rows have features. The others have no weight.
    ///
    /// # Errors
    /// Numbers that are not finite, or that are the same for all rows.
    ///
    /// # Panics
    /// If `known` does not have a value for each row.
    pub fn new(values: &Dense, known: Vec<bool>, scaling: Scaling) -> Result<Self, FeatureError> {
        assert_eq!(known.len(), values.rows(), "known rows");
        if values.cols() == 0 || !known.contains(&true) {
            return Err(FeatureError::Empty);
        }
        for row in (0..values.rows()).filter(|&row| known[row]) {
            let numbers = values.row(row);
            if let Some(column) = numbers.iter().position(|x| !x.is_finite()) {
                let got = numbers[column];
                return Err(FeatureError::NotFinite { row, column, got });
            }
        }
        let rule = FeatureRule::of(values, &known, scaling);
        let targets = Dense::from_fn(values.rows(), values.cols(), |row, column| {
            if known[row] {
                rule.target(column, values.row(row)[column])
            } else {
                0.0
            }
        });
        if targets.as_slice().iter().all(|x| *x == 0.0) {
            return Err(FeatureError::Same);
        }
        Ok(Self {
            targets,
            known,
            rule,
        })
    }

    /// The targets, a row for each of the type; 0 where it has no features.
    #[must_use]
    pub fn targets(&self) -> &Dense {
        &self.targets
    }

    /// Which rows have features.
    #[must_use]
    pub fn known(&self) -> &[bool] {
        &self.known
    }

    /// What the targets were made by.
    #[must_use]
    pub fn rule(&self) -> &FeatureRule {
        &self.rule
    }

    /// The weight of each entry before it is multiplied by the strength: those of a row weigh 1 together.
    #[must_use]
    pub fn weight(&self) -> f32 {
        1.0 / self.targets.cols() as f32
    }

    /// Bytes of the targets, with a row for each row and, transposed, for each column.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        8 * self.targets.as_slice().len() as u64
    }
}

/// Features as a block of the stacked matrix.
#[derive(Clone, Debug)]
pub(crate) struct FeatureBlock {
    /// The rows that it takes up of each side.
    pub(crate) ranges: Sides<Range<usize>>,
    /// Targets, with a row for each row of one side.
    pub(crate) targets: Sides<Dense>,
    /// The weight of each entry of a row that has features.
    pub(crate) weight: f32,
    /// The column of the weights on missing entries that is the block's alone.
    pub(crate) component: usize,
    /// `Σ w x²`.
    pub(crate) at_zero: f64,
}

impl FeatureBlock {
    /// Places features whose rows are on the side of the users if `is_upright`.
    pub(crate) fn new(
        features: &Features,
        is_upright: bool,
        ranges: Sides<Range<usize>>,
        (strength, component): (f32, usize),
    ) -> Self {
        let own = features.targets.clone();
        let across = Dense::from_fn(own.cols(), own.rows(), |row, column| own.row(column)[row]);
        let weight = strength * features.weight();
        let of_row = |row: usize| {
            own.row(row)
                .iter()
                .map(|x| f64::from(*x).powi(2))
                .sum::<f64>()
        };
        let squares = sum_rows(own.rows(), |rows| rows.map(of_row).sum::<f64>()).unwrap_or(0.0);
        Self {
            ranges,
            weight,
            component,
            at_zero: f64::from(weight) * squares,
            targets: if is_upright {
                Sides {
                    users: own,
                    items: across,
                }
            } else {
                Sides {
                    users: across,
                    items: own,
                }
            },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn values() -> Dense {
        Dense::from_slice(
            4,
            3,
            &[
                1.0, 10.0, 5.0, 3.0, 30.0, 5.0, 9.0, 9.0, 9.0, 5.0, 20.0, 5.0,
            ],
        )
        .unwrap()
    }

    /// The third row has no features: it takes no part in means, and its targets are 0.
    #[test]
    fn columns_are_centred_and_scaled_over_the_rows_that_have_features() {
        let known = vec![true, true, false, true];
        let columns = Features::new(&values(), known.clone(), Scaling::Columns).unwrap();
        let together = Features::new(&values(), known.clone(), Scaling::Together).unwrap();
        assert_eq!(columns.rule().means, [3.0, 20.0, 5.0]);
        let close = |got: &[f32], want: [f32; 3]| {
            got.iter()
                .zip(want)
                .all(|(got, want)| (got - want).abs() < 1e-6)
        };
        let (first, second) = ((8.0_f32 / 3.0).sqrt(), (200.0_f32 / 3.0).sqrt());
        assert!(close(&columns.rule().scales, [first, second, 1.0]));
        let all = (208.0_f32 / 9.0).sqrt();
        assert!(close(&together.rule().scales, [all, all, all]));
        assert!(close(columns.targets().row(1), [0.0, 10.0 / second, 0.0]));
        assert_eq!(columns.targets().row(2), [0.0; 3]);
        assert!(close(&[columns.weight(); 3], [1.0 / 3.0; 3]));
        let plain = Features::new(&values(), known, Scaling::Unscaled).unwrap();
        assert_eq!(plain.targets().row(3), [5.0, 20.0, 5.0]);
    }

    #[test]
    fn what_cannot_be_features_is_refused() {
        let error = |values: &Dense, known: [bool; 4]| {
            Features::new(values, known.to_vec(), Scaling::Columns).unwrap_err()
        };
        assert_eq!(error(&values(), [false; 4]), FeatureError::Empty);
        assert_eq!(error(&Dense::zeros(4, 0), [true; 4]), FeatureError::Empty);
        let same = Dense::from_fn(4, 2, |_, column| column as f32);
        assert_eq!(error(&same, [true; 4]), FeatureError::Same);
        let mut bad = values();
        bad.row_mut(3)[1] = f32::INFINITY;
        let known = [true, true, true, false];
        assert!(Features::new(&bad, known.to_vec(), Scaling::Columns).is_ok());
        let expected = FeatureError::NotFinite {
            row: 3,
            column: 1,
            got: f32::INFINITY,
        };
        assert_eq!(error(&bad, [true; 4]), expected);
    }
}
