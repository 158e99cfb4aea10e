//! The weights of missing entries, ready for the solver.

use std::sync::Arc;

use rayon::prelude::*;

use super::approximation::Approximation;
use super::error::WeightsError;
use super::frozen::{Frozen, PartKind};
use super::measure::dot;
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;

/// Users whose observed weights are added up by one task.
const PIECE: usize = 1024;

/// `w_ui = a_u · b_i` for every pair, with what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingWeights {
    // Shared: every checkpoint and every measured model holds the same ones.
    a: Arc<Dense>,
    b: Arc<Dense>,
    frozen: Arc<Frozen>,
}

impl MissingWeights {
    /// Puts together what was saved apart.
    ///
    /// # Errors
    /// Matrices and parts that do not fit each other, and numbers that are not finite.
    pub fn from_parts(a: Dense, b: Dense, frozen: Frozen) -> Result<Self, WeightsError> {
        if a.cols() != b.cols() || a.cols() == 0 {
            return Err(WeightsError::Columns {
                a: a.cols(),
                b: b.cols(),
            });
        }
        // Ranks may come from a file: they saturate rather than overflow.
        let ranks = frozen.parts.iter().map(|part| part.rank);
        let parts = ranks.fold(0, usize::saturating_add);
        if parts != a.cols() {
            return Err(WeightsError::Parts {
                parts,
                columns: a.cols(),
            });
        }
        check_finite("A", &a)?;
        check_finite("B", &b)?;
        check_groups(&frozen, a.rows(), b.rows())?;
        Ok(Self {
            a: Arc::new(a.into_compact()),
            b: Arc::new(b.into_compact()),
            frozen: Arc::new(frozen),
        })
    }

    /// Number of components Z.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.a.cols()
    }

    /// Number of users M.
    #[must_use]
    pub fn n_users(&self) -> usize {
        self.a.rows()
    }

    /// Number of items N.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.b.rows()
    }

    /// A, `(M, Z)`, compact.
    #[must_use]
    pub fn a(&self) -> &Dense {
        &self.a
    }

    /// B, `(N, Z)`, compact.
    #[must_use]
    pub fn b(&self) -> &Dense {
        &self.b
    }

    /// What the columns are and what was learned from data.
    #[must_use]
    pub fn frozen(&self) -> &Frozen {
        &self.frozen
    }

    /// The weight the pair has if its entry is missing.
    ///
    /// # Panics
    /// If the user or item is out of range.
    #[must_use]
    pub fn weight(&self, user: u32, item: u32) -> f32 {
        dot(self.a.row(user as usize), self.b.row(item as usize))
    }

    /// Approximations among the parts, each against the W of its own part.
    pub fn approximations(&self) -> impl Iterator<Item = &Approximation> {
        self.frozen
            .parts
            .iter()
            .filter_map(|part| part.kind.approximation())
    }

    /// The approximation with the largest error, if any part is one.
    #[must_use]
    pub fn approximation(&self) -> Option<&Approximation> {
        let error = |approximation: &&Approximation| approximation.relative_error;
        self.approximations()
            .max_by(|x, y| error(x).total_cmp(&error(y)))
    }

    /// Whether A or B has a negative entry: a sign, not a proof, that weights can be negative.
    ///
    /// Training with them may meet a row whose quadratic has no minimum;
    /// [`Method::NonNegative`](super::Method::NonNegative) cannot.
    #[must_use]
    pub fn may_be_negative(&self) -> bool {
        let below = |side: &Dense| side.as_slice().iter().any(|&x| x < 0.0);
        below(&self.a) || below(&self.b)
    }

    /// The mean weight over missing entries, exactly, in `O(|R| Z + (M + N) Z)`; 0 if there are none.
    #[must_use]
    pub fn mean_missing(&self, data: &Interactions<'_>) -> f64 {
        let missing = data.n_users() as u64 * data.n_items() as u64 - data.len() as u64;
        if missing == 0 {
            return 0.0;
        }
        let all = column_sums(&self.b);
        let users: Vec<usize> = (0..self.n_users()).collect();
        let parts: Vec<f64> = users
            .par_chunks(PIECE)
            .map(|piece| {
                piece
                    .iter()
                    .map(|&user| self.total_missing(data, user, &all))
                    .sum()
            })
            .collect();
        parts.iter().sum::<f64>() / missing as f64
    }

    /// The weights of a user's missing entries added up, `b_sum` being those of B.
    fn total_missing(&self, data: &Interactions<'_>, user: usize, b_sum: &[f64]) -> f64 {
        let mut rest = b_sum.to_vec();
        for &item in data.by_user().row(user).indices {
            let row = self.b.row(item as usize);
            rest.iter_mut()
                .zip(row)
                .for_each(|(sum, &b)| *sum -= f64::from(b));
        }
        let pairs = self.a.row(user).iter().zip(&rest);
        pairs.map(|(&a, sum)| f64::from(a) * sum).sum()
    }
}

/// Yields the sum of every column.
pub(super) fn column_sums(matrix: &Dense) -> Vec<f64> {
    let mut sums = vec![0.0; matrix.cols()];
    for row in 0..matrix.rows() {
        let values = matrix.row(row).iter();
        sums.iter_mut()
            .zip(values)
            .for_each(|(sum, &x)| *sum += f64::from(x));
    }
    sums
}

fn check_finite(what: &'static str, matrix: &Dense) -> Result<(), WeightsError> {
    for row in 0..matrix.rows() {
        let values = matrix.row(row);
        if let Some(col) = values.iter().position(|value| !value.is_finite()) {
            return Err(WeightsError::Value {
                what,
                row,
                col,
                value: values[col],
                range: "finite",
            });
        }
    }
    Ok(())
}

/// Saved groups come from outside, so they are checked as if new.
fn check_groups(frozen: &Frozen, n_users: usize, n_items: usize) -> Result<(), WeightsError> {
    for part in &frozen.parts {
        let PartKind::Groups(groups) = &part.kind else {
            continue;
        };
        if groups.rank() != part.rank
            || groups.segments.checked_mul(groups.categories) != Some(groups.table.len())
        {
            return Err(WeightsError::Parts {
                parts: groups.rank(),
                columns: part.rank,
            });
        }
        let sides = [
            (Axis::User, &groups.user_segment, n_users, groups.segments),
            (
                Axis::Item,
                &groups.item_category,
                n_items,
                groups.categories,
            ),
        ];
        for (axis, given, expected, count) in sides {
            super::resolve::check_groups(axis, given, expected, count)?;
        }
    }
    Ok(())
}
