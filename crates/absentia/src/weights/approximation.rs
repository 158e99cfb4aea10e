//! How far an approximated W is from the one that was asked for.

use super::scheme::Method;

/// How well `A Bᵀ` stands for a W that was given in full or as a rule.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Approximation {
    /// Number of components Z.
    pub rank: usize,
    /// How the factors were found.
    pub method: Method,
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
    /// Number of missing entries looked at.
    #[must_use]
    pub fn entries(&self) -> u64 {
        match *self {
            Measured::All { entries } | Measured::Sample { entries, .. } => entries,
        }
    }
}

/// Negative weights among the missing entries that were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Negatives {
    /// How many there are, those that are rounding of 0 included.
    pub count: u64,
    /// The most negative weight with its user and item.
    pub worst: Option<(u32, u32, f32)>,
}

impl Negatives {
    /// Adds another part's findings; the first of equals stays.
    pub(super) fn merge(&mut self, other: Negatives) {
        self.count += other.count;
        let worst = |found: &Negatives| found.worst.map_or(0.0, |(_, _, weight)| weight);
        if worst(&other) < worst(self) {
            self.worst = other.worst;
        }
    }

    pub(super) fn see(&mut self, user: u32, item: u32, weight: f32) {
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
