//! What weights on missing entries can be asked for.

use super::function::{WeightFunction, WeightRule};
use super::learned::{Exposure, Learned};
use crate::data::Interactions;
use crate::linalg::Dense;

/// A way to weight missing entries, before it meets data.
///
/// ```
/// use absentia::weights::{Scheme, Strength};
/// use absentia::data::{Duplicates, Triplets};
///
/// let data = Triplets::new(&[0, 0, 1], &[0, 1, 0]).build(2, 3, Duplicates::Error)?;
/// let scheme = Scheme::Popularity { strength: Strength::C0(6.0), alpha: 1.0 };
/// let weights = scheme.resolve(&data)?;
/// assert_eq!(weights.weight(1, 1), 2.0); // f_1 = 1/3 of all interactions, times 6
/// assert_eq!(weights.weight(1, 2), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Scheme {
    /// The same weight everywhere (Hu, Koren and Volinsky 2008).
    Uniform {
        /// w₀ ≥ 0.
        weight: f32,
    },
    /// `w_ui = c0 f_i^α / Σ_j f_j^α`, `f_i` the item's share of all interactions (the paper's).
    Popularity {
        /// c0, or the mean weight it should lead to.
        strength: Strength,
        /// Exponent α; 0 is uniform.
        alpha: f32,
    },
    /// `w_ui = c0 f_u^α / Σ_v f_v^α`, `f_u` the user's share of all interactions.
    Activity {
        /// c0, or the mean weight it should lead to.
        strength: Strength,
        /// Exponent α; 0 is uniform.
        alpha: f32,
    },
    /// `w_ui = c0 (f_u^β / Σ_v f_v^β) (f_i^α / Σ_j f_j^α)`.
    PopularityActivity {
        /// c0, or the mean weight it should lead to.
        strength: Strength,
        /// Exponent α of items.
        alpha: f32,
        /// Exponent β of users.
        beta: f32,
    },
    /// A weight for each pair of user segment and item category.
    Groups(Groups),
    /// `w_ui = a_u · b_i` with both given; negative numbers are allowed, and warned about by
    /// [`may_be_negative`](super::MissingWeights::may_be_negative).
    LowRank {
        /// A, `(M, Z)`.
        a: Dense,
        /// B, `(N, Z)`.
        b: Dense,
    },
    /// Every weight given, `(M, N)`, all at least 0; approximated.
    Dense {
        /// W, `(M, N)`.
        w: Dense,
        /// How close.
        rank: Rank,
        /// By what.
        method: Method,
    },
    /// Every weight given by a rule; approximated without storing more than a few rows of it when
    /// it is large. Up to 2·10⁹ pairs are all looked at, several times; of more, a few thousand
    /// users and items are.
    Function {
        /// The rule.
        function: WeightFunction,
        /// How close.
        rank: Rank,
        /// By what.
        method: Method,
    },
    /// Estimated from the data: the chance that a missing entry was seen, see [`Learned`].
    ///
    /// Training alternates with the estimate; [`resolve`](Self::resolve) on its own looks at the
    /// observed entries only.
    Learned {
        /// What is asked for.
        learned: Learned,
        /// The estimate, once there is one.
        exposure: Option<Exposure>,
    },
    /// All of these added up.
    Sum(Vec<Scheme>),
}

impl Scheme {
    /// Yields the weights of a rule `(user, item) -> weight` at a given rank, by truncated SVD.
    #[must_use]
    pub fn from_rule(rule: impl WeightRule + 'static, rank: Rank) -> Self {
        Scheme::Function {
            function: WeightFunction::new(rule),
            rank,
            method: Method::Svd,
        }
    }

    /// The most components Z the weights of this scheme can have on `data`.
    #[must_use]
    pub fn rank_bound(&self, data: &Interactions<'_>) -> usize {
        match self {
            Scheme::Groups(Groups { table, .. }) => table.rows().min(table.cols()),
            Scheme::LowRank { a, .. } => a.cols(),
            Scheme::Dense { rank, .. } | Scheme::Function { rank, .. } => match rank {
                // Larger ranks are refused by name when the scheme is resolved.
                Rank::Fixed(rank) | Rank::Error { max_rank: rank, .. } => {
                    (*rank).min(data.n_users().min(data.n_items()))
                }
            },
            Scheme::Learned { learned, .. } => learned.rank,
            Scheme::Sum(terms) => terms.iter().map(|term| term.rank_bound(data)).sum(),
            _ => 1,
        }
    }

    /// The most components of a part that training has yet to estimate from the data, 0 if none.
    #[must_use]
    pub fn rank_to_estimate(&self) -> usize {
        match self {
            Scheme::Learned {
                learned,
                exposure: None,
            } if learned.rounds > 0 => learned.rank,
            Scheme::Sum(terms) => terms.iter().map(Self::rank_to_estimate).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The weights as given in full, where they are: what an approximation stands for.
    #[must_use]
    pub fn dense(&self) -> Option<&Dense> {
        match self {
            Scheme::Dense { w, .. } => Some(w),
            _ => None,
        }
    }
}

/// How strong a scheme is overall.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Strength {
    /// The paper's c0: the sum of the weights over the normalised side.
    C0(f32),
    /// The mean weight over missing entries, whatever the size of the data.
    Mean(f32),
}

/// A table of weights for groups of users and items; zeros say "cannot be seen".
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// Weights, segments × categories, each at least 0.
    pub table: Dense,
    /// Segment of each user, a row of the table.
    pub user_segment: Vec<u32>,
    /// Category of each item, a column of the table.
    pub item_category: Vec<u32>,
}

/// How many components an approximation of W has.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Rank {
    /// Exactly this many.
    Fixed(usize),
    /// As few as give this relative error over missing entries.
    Error {
        /// Relative error to reach.
        target: f32,
        /// Rank above which to give up.
        max_rank: usize,
    },
}

impl Rank {
    /// Rank above which [`Rank::error`] gives up.
    pub const DEFAULT_MAX: usize = 64;

    /// Yields the smallest rank with this relative error, up to [`Rank::DEFAULT_MAX`].
    #[must_use]
    pub fn error(target: f32) -> Self {
        Rank::Error {
            target,
            max_rank: Self::DEFAULT_MAX,
        }
    }
}

/// How W is approximated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Method {
    /// Truncated singular value decomposition: closest, but weights can come out negative.
    #[default]
    Svd,
    /// Non-negative factors: never a negative weight.
    NonNegative,
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Method::Svd => "svd",
            Method::NonNegative => "nonnegative",
        })
    }
}
