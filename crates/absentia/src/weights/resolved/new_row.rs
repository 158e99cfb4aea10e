//! Weights of users and items that were not in the training data.

use super::missing::MissingWeights;
use super::normaliser::Normaliser;
use crate::error::Axis;
use crate::weights::error::WeightsError;

/// What is known of a user or item that was not in the training data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NewRow<'r> {
    /// Its number of interactions.
    pub count: u32,
    /// The times of its interactions, in the unit of the training data; if there are none, weights by time take
    /// it to be of the last slice of time.
    pub times: &'r [i64],
    /// Its segment or category, one for each term by groups, in order.
    pub groups: &'r [u32],
    /// Its row of A or B, one for each term that is given by, or approximated by, factors, in order.
    pub rows: &'r [&'r [f32]],
}

impl MissingWeights {
    /// Yields the row of A or B of a new user or item.
    ///
    /// # Errors
    /// Names the term for which something is missing, or a group or row that does not fit.
    pub fn new_row(&self, axis: Axis, given: &NewRow<'_>) -> Result<Vec<f32>, WeightsError> {
        let mut values = NewRowValues {
            count: given.count,
            times: given.times,
            groups: given.groups.iter(),
            rows: given.rows.iter(),
            rank: 0,
        };
        let mut row = Vec::with_capacity(self.rank());
        for part in &self.frozen().parts {
            values.rank = part.rank;
            row.extend(part.kind.behaviour().new_row(axis, &mut values)?);
        }
        Ok(row)
    }
}

/// What is known of a new row; each term takes its part in turn.
pub(in crate::weights) struct NewRowValues<'r> {
    /// Its number of interactions.
    pub(in crate::weights) count: u32,
    /// Their times.
    pub(in crate::weights) times: &'r [i64],
    groups: std::slice::Iter<'r, u32>,
    rows: std::slice::Iter<'r, &'r [f32]>,
    /// Number of columns of the term.
    pub(in crate::weights) rank: usize,
}

impl NewRowValues<'_> {
    /// The group for the next term by groups.
    pub(in crate::weights) fn next_group(&mut self) -> Option<u32> {
        self.groups.next().copied()
    }

    /// The row for the next term that is given by, or approximated by, factors.
    pub(in crate::weights) fn next_row(
        &mut self,
        scheme: &'static str,
        axis: Axis,
    ) -> Result<Vec<f32>, WeightsError> {
        let needs = match axis {
            Axis::User => "its row of A",
            Axis::Item => "its row of B",
        };
        match self.rows.next() {
            Some(row) => check_new_row(row, self.rank, axis),
            None => Err(WeightsError::NewRow {
                scheme,
                axis,
                needs,
            }),
        }
    }

    /// The factor that follows from the number of interactions.
    pub(in crate::weights) fn share(
        &self,
        scheme: &'static str,
        axis: Axis,
        scale: f64,
        normaliser: &Normaliser,
    ) -> Result<f64, WeightsError> {
        let value = scale * normaliser.share(self.count);
        if (value as f32).is_finite() {
            return Ok(value);
        }
        Err(WeightsError::Power {
            scheme,
            axis,
            index: 0,
            count: self.count,
            exponent: normaliser.exponent,
        })
    }
}

/// Yields the row if it has `rank` finite numbers.
pub(in crate::weights) fn check_new_row(
    row: &[f32],
    rank: usize,
    axis: Axis,
) -> Result<Vec<f32>, WeightsError> {
    let what = match axis {
        Axis::User => "the new row of A",
        Axis::Item => "the new row of B",
    };
    if row.len() != rank {
        return Err(WeightsError::Parts {
            parts: rank,
            columns: row.len(),
        });
    }
    match row.iter().position(|value| !value.is_finite()) {
        Some(col) => Err(WeightsError::Value {
            what,
            row: 0,
            col,
            value: row[col],
            range: "finite",
        }),
        None => Ok(row.to_vec()),
    }
}
