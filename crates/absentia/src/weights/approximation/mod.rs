//! A and B that approximate a W given in full or as a rule, and their measured error.

mod factors;
mod measure;
mod rule;

pub(super) use factors::{approximate_dense, approximate_rule, check_weights};
pub(super) use measure::dot;
pub use rule::{WeightFunction, WeightRule};

use super::SpecError;
use super::text::SchemeOptions;
use crate::data::Interactions;

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
        /// The highest rank to try.
        max_rank: usize,
    },
}

impl Rank {
    /// The highest rank that [`Rank::error`] tries.
    pub const DEFAULT_MAX: usize = 64;

    /// Yields the smallest rank with this relative error, up to [`Rank::DEFAULT_MAX`].
    #[must_use]
    pub fn error(target: f32) -> Self {
        Rank::Error {
            target,
            max_rank: Self::DEFAULT_MAX,
        }
    }

    /// The most components on `data`; larger ranks are rejected when the scheme is resolved.
    pub(super) fn bound(&self, data: &Interactions<'_>) -> usize {
        let (Rank::Fixed(rank) | Rank::Error { max_rank: rank, .. }) = self;
        (*rank).min(data.n_users().min(data.n_items()))
    }

    /// Reads `rank=`, or `error=` with or without `max_rank=`.
    pub(super) fn read(options: &mut SchemeOptions<'_>) -> Result<Self, SpecError> {
        let max_rank = match options.named("max_rank") {
            Some(text) => Some((text, options.whole("max_rank", text)?)),
            None => None,
        };
        match (options.named("rank"), options.named("error"), max_rank) {
            (Some(_), Some(error), _) => Err(options.conflict("error", error)),
            (Some(_), None, Some((text, _))) => Err(options.conflict("max_rank", text)),
            (Some(rank), None, None) => Ok(Rank::Fixed(options.whole("rank", rank)?)),
            (None, Some(error), max_rank) => Ok(Rank::Error {
                target: options.value_at_least_zero("error", error)?,
                max_rank: max_rank.map_or(Rank::DEFAULT_MAX, |(_, max_rank)| max_rank),
            }),
            (None, None, _) => Err(options.missing("rank or error")),
        }
    }
}

impl std::fmt::Display for Rank {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rank::Fixed(rank) => write!(f, "rank={rank}"),
            Rank::Error { target, max_rank } => write!(f, "error={target},max_rank={max_rank}"),
        }
    }
}

/// Which factors approximate W.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Decomposition {
    /// Truncated singular value decomposition: the closest, but weights can become negative.
    #[default]
    Svd,
    /// Non-negative factors: never a negative weight.
    NonNegative,
}

impl Decomposition {
    /// Reads `method=`.
    pub(super) fn read(options: &mut SchemeOptions<'_>) -> Result<Self, SpecError> {
        match options.named("method") {
            None | Some("svd") => Ok(Decomposition::Svd),
            Some("nonnegative") => Ok(Decomposition::NonNegative),
            Some(other) => Err(options.bad_value("method", other, "svd or nonnegative")),
        }
    }
}

impl std::fmt::Display for Decomposition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Decomposition::Svd => "svd",
            Decomposition::NonNegative => "nonnegative",
        })
    }
}

/// How well `A Bᵀ` approximates a W that was given in full or as a rule.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Approximation {
    /// Number of components Z.
    pub rank: usize,
    /// Which factors they are.
    pub method: Decomposition,
    /// `‖W − A Bᵀ‖_F / ‖W‖_F`, both over missing entries only (0 where W is 0 on all of them and
    /// so is its approximation).
    pub relative_error: f64,
    /// What the error was measured on.
    pub measured: Measured,
    /// Approximated weights below zero.
    pub negatives: Negatives,
    /// Whether the factorisation ran to convergence; the error is the true one either way.
    pub converged: bool,
}

/// Which missing entries an error was measured on.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Measured {
    /// All of them.
    All {
        /// How many there are.
        entries: u64,
    },
    /// A random sample, drawn uniformly with replacement.
    Sample {
        /// How many were drawn.
        entries: u64,
        /// Lower end of the 95% confidence interval of the relative error.
        low: f64,
        /// Upper end of the 95% confidence interval of the relative error.
        high: f64,
    },
}

impl Measured {
    /// Number of missing entries it was measured on.
    #[must_use]
    pub fn entries(&self) -> u64 {
        match *self {
            Measured::All { entries } | Measured::Sample { entries, .. } => entries,
        }
    }
}

/// Negative weights among the missing entries it was measured on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Negatives {
    /// How many there are, including those that are 0 but for rounding.
    pub count: u64,
    /// The most negative weight with its user and item.
    pub worst: Option<(u32, u32, f32)>,
}

impl Negatives {
    /// Adds those of another part; of equal worst weights the first is kept.
    fn merge(&mut self, other: Negatives) {
        self.count += other.count;
        let worst = |of: &Negatives| of.worst.map_or(0.0, |(_, _, weight)| weight);
        if worst(&other) < worst(self) {
            self.worst = other.worst;
        }
    }

    /// Counts a weight if it is negative.
    fn add(&mut self, user: u32, item: u32, weight: f32) {
        if weight < 0.0 {
            self.merge(Negatives {
                count: 1,
                worst: Some((user, item, weight)),
            });
        }
    }
}

impl std::fmt::Display for Approximation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rank, method, .. } = self;
        write!(
            f,
            "rank {rank} ({method}), relative error {:.4}",
            self.relative_error
        )?;
        match self.measured {
            Measured::All { entries } => write!(f, " over all {entries} missing entries")?,
            Measured::Sample { entries, low, high } => write!(
                f,
                " (95% interval {low:.4} to {high:.4}) on {entries} sampled missing entries"
            )?,
        }
        if let Some((user, item, weight)) = self.negatives.worst {
            write!(
                f,
                "; {} weights are negative, the lowest {weight} at user {user}, item {item}: \
                 method nonnegative avoids this",
                self.negatives.count
            )?;
        }
        if !self.converged {
            f.write_str("; the factorisation did not converge")?;
        }
        Ok(())
    }
}
