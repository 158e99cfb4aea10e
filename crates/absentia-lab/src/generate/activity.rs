//! How many entries each user has: a power law whose sum is exact.

use super::params::GeneratorParams;

/// Shares `entries` out over ranks `0..users` with density ∝ (rank + shift)^−s.
///
/// The number of entries of all ranks below r is a closed formula, rounded down. A rank's quota is
/// the difference of two of these, so the quotas add up exactly without being listed.
#[derive(Clone, Debug)]
pub(super) struct Activity {
    users: u64,
    entries: u64,
    exponent: f64,
    shift: f64,
}

impl Activity {
    /// Takes checked parameters; the shift is the smallest that keeps the top rank within what a
    /// user can find.
    pub(super) fn new(params: &GeneratorParams) -> Self {
        let mut activity = Self {
            users: params.users as u64,
            entries: params.entries,
            exponent: f64::from(params.activity_exponent),
            shift: 1.0,
        };
        let most = params.most_per_user() as f64;
        let (mut low, mut high) = (0.0, (1e6 * params.users as f64).ln());
        if activity.fits(most) {
            return activity;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            activity.shift = middle.exp();
            if activity.fits(most) {
                high = middle;
            } else {
                low = middle;
            }
        }
        activity.shift = high.exp();
        activity
    }

    fn fits(&self, most: f64) -> bool {
        self.entries as f64 * self.share(1.0) <= most
    }

    /// Share of the entries that ranks below `rank` have.
    fn share(&self, rank: f64) -> f64 {
        self.mass(rank) / self.mass(self.users as f64)
    }

    /// ∫ (x + shift)^−s from 0 to `rank`, up to a factor.
    fn mass(&self, rank: f64) -> f64 {
        // `exp_m1(e ln(1 + r/shift)) / e`, which has the logarithm as its limit at e = 0.
        let log = (rank / self.shift).ln_1p();
        let e = 1.0 - self.exponent;
        if e.abs() < 1e-9 {
            log
        } else {
            (e * log).exp_m1() / e
        }
    }

    /// Number of entries of all ranks below `rank`.
    fn below(&self, rank: u64) -> u64 {
        if rank == self.users {
            return self.entries;
        }
        ((self.entries as f64 * self.share(rank as f64)) as u64).min(self.entries)
    }

    /// Number of entries of the user with this rank of activity.
    pub(super) fn quota(&self, rank: u64) -> u64 {
        self.below(rank + 1).saturating_sub(self.below(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_add_up_and_fall_with_rank() {
        for exponent in [0.0, 0.6, 1.0, 1.7] {
            for entries in [1, 999, 30_001] {
                let mut params = GeneratorParams::new(1000, 2000, entries);
                params.activity_exponent = exponent;
                let activity = Activity::new(&params);
                let quotas: Vec<u64> = (0..1000).map(|rank| activity.quota(rank)).collect();
                assert_eq!(quotas.iter().sum::<u64>(), entries);
                assert!(quotas.windows(2).all(|pair| pair[1] <= pair[0] + 1));
                assert!(quotas[0] <= params.most_per_user() + 1);
            }
        }
    }

    #[test]
    fn a_full_matrix_is_shared_out_evenly() {
        let mut params = GeneratorParams::new(100, 1000, 1);
        params.entries = 100 * params.most_per_user();
        let activity = Activity::new(&params);
        assert!((0..100).all(|rank| activity.quota(rank).abs_diff(80) <= 1));
    }
}
