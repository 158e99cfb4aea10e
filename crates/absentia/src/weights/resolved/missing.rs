//! The weights of missing entries, ready for the solver.

use std::sync::Arc;

use super::frozen::{Frozen, FrozenPart};
use crate::data::Interactions;
use crate::linalg::Dense;
use crate::weights::approximation::{Approximation, dot};
use crate::weights::error::WeightsError;
use crate::weights::scheme::{Resolved, Scheme, Term};
use crate::weights::schemes::Uniform;
use crate::weights::sums::mean_over_missing;

/// `w_ui = a_u · b_i` for every pair, with the scheme it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingWeights {
    // Shared: every checkpoint and every measured model holds the same ones.
    a: Arc<Dense>,
    b: Arc<Dense>,
    frozen: Arc<Frozen>,
}

impl MissingWeights {
    /// Yields what [`Scheme::uniform`] resolves to for any data of this size.
    ///
    /// # Errors
    /// A weight that is not finite.
    pub fn uniform(n_users: usize, n_items: usize, weight: f32) -> Result<Self, WeightsError> {
        let frozen = Frozen {
            parts: vec![FrozenPart {
                rank: 1,
                kind: Term::Uniform(Uniform { weight }),
            }],
        };
        let a = Dense::from_fn(n_users, 1, |_, _| weight);
        let b = Dense::from_fn(n_items, 1, |_, _| 1.0);
        Self::from_parts(a, b, frozen)
    }

    /// Assembles weights from what was saved.
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
        for part in &frozen.parts {
            part.kind.behaviour().check(part.rank, a.rows(), b.rows())?;
        }
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

    /// The meaning of the columns, and what was learned from data.
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
            .filter_map(|part| part.kind.behaviour().approximation())
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
    /// [`Decomposition::NonNegative`](crate::weights::Decomposition::NonNegative) cannot.
    #[must_use]
    pub fn may_be_negative(&self) -> bool {
        let below = |side: &Dense| side.as_slice().iter().any(|&x| x < 0.0);
        below(&self.a) || below(&self.b)
    }

    /// The mean weight over missing entries, exactly, in `O(|R| Z + (M + N) Z)`; 0 if there are none.
    #[must_use]
    pub fn mean_missing(&self, data: &Interactions<'_>) -> f64 {
        mean_over_missing(data, &self.a, &self.b)
    }

    /// Yields a scheme that gives the same weights on the same data; a part that was approximated or
    /// estimated is given by its A and B.
    #[must_use]
    pub fn to_scheme(&self) -> Scheme {
        self.scheme_by_columns(|_| false)
    }

    /// Yields the scheme of weights that rows are added to: a part that lists the rows of the training data is
    /// given by its A and B as well.
    #[must_use]
    pub fn to_growing_scheme(&self) -> Scheme {
        self.scheme_by_columns(Term::lists_rows)
    }

    /// The scheme, in which parts of some kinds are given by their A and B.
    fn scheme_by_columns(&self, is_given: fn(&Term<Resolved>) -> bool) -> Scheme {
        let mut start = 0;
        let parts = self.frozen.parts.iter().map(|part| {
            let columns = start..start + part.rank;
            start = columns.end;
            let cut = |side: &Dense| {
                Dense::from_fn(side.rows(), part.rank, |row, t| {
                    side.row(row)[columns.start + t]
                })
            };
            let by_rule = if is_given(&part.kind) {
                None
            } else {
                part.kind.behaviour().scheme()
            };
            by_rule.unwrap_or_else(|| Scheme::low_rank(cut(&self.a), cut(&self.b)))
        });
        Scheme::sum(parts)
    }
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
