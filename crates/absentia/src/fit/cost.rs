//! The estimated cost of a sweep.

use super::memory::Sizes;
use crate::params::{Baseline, Method, Solver};

/// The size of a problem, as far as the time of a sweep depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProblemSize {
    /// Number of users M.
    pub users: f64,
    /// Number of items N.
    pub items: f64,
    /// Number of entries |R|.
    pub entries: f64,
    /// Rank Z of the weights on missing entries.
    pub rank: f64,
}

impl From<&Sizes> for ProblemSize {
    fn from(sizes: &Sizes) -> Self {
        Self {
            users: sizes.users as f64,
            items: sizes.items as f64,
            entries: sizes.entries as f64,
            rank: sizes.rank as f64,
        }
    }
}

impl ProblemSize {
    /// Multiply-adds of one sweep over both sides with K factors, leading terms only.
    #[must_use]
    pub fn sweep_cost(&self, method: Method, factors: usize) -> f64 {
        let k = factors as f64;
        match method {
            Method::Solver(solver) => self.solver_cost(solver, k),
            Method::Baseline(baseline) => self.baseline_cost(baseline, k),
        }
    }

    fn solver_cost(&self, solver: Solver, k: f64) -> f64 {
        let (rows, entries) = (self.users + self.items, 2.0 * self.entries);
        let caches = rows * self.rank * k * k;
        match solver {
            Solver::Eals => caches * 2.0 + entries * k * (16.0 + 2.0),
            Solver::EalsVanilla => 4.0 * self.users * self.items * k,
            Solver::Subspace { block } => {
                let block = (block as f64).min(k).max(16.0);
                caches * 2.0 + entries * k * (block + 2.0) + rows * k * block * block / 6.0
            }
            Solver::Als => caches * 2.0 + entries * k * k / 2.0 + rows * k * k * k / 6.0,
            Solver::AlsCg { steps } => {
                caches + steps as f64 * (rows * self.rank * k * k + 2.0 * entries * k)
            }
        }
    }

    fn baseline_cost(&self, baseline: Baseline, k: f64) -> f64 {
        let (rows, entries) = (self.users + self.items, 2.0 * self.entries);
        match baseline {
            Baseline::Ials1 => rows * k * k * 3.0 + entries * k * 4.0,
            Baseline::Rcd => rows * k * k * 4.0 + entries * k * 3.0,
            Baseline::Bpr | Baseline::SgdObserved => entries * k * 3.0,
            // A few dozen products with a block a quarter wider than the rank.
            Baseline::Svd | Baseline::IiSvd => 40.0 * 1.25 * (entries * k + rows * k * k * 4.0),
            Baseline::Popularity | Baseline::ItemKnn { .. } => entries,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_costs_more_on_more_entries() {
        let small = ProblemSize {
            users: 1e3,
            items: 2e3,
            entries: 1e5,
            rank: 2.0,
        };
        let large = ProblemSize {
            users: 2e3,
            entries: 2e5,
            ..small
        };
        for method in Method::ALL {
            let (less, more) = (small.sweep_cost(method, 32), large.sweep_cost(method, 32));
            assert!(less > 0.0 && more > less, "{method}: {less}, {more}");
        }
    }
}
