//! The weights on missing entries of a run that was given none.

use super::scheme::{Requested, Scheme};
use super::schemes::Strength;
use crate::params::{Baseline, Method};

/// The mean weight of a scheme that is named without its options.
pub(super) const MEAN: f32 = 0.01;
/// Its exponents of popularity and activity.
pub(super) const EXPONENT: f32 = 0.25;

impl<F: Requested> Scheme<F> {
    /// Yields the weights of a method for which none were given.
    ///
    /// The solvers have weights by popularity, baselines the weights they were published with.
    #[must_use]
    pub fn default_for(method: Method) -> Self {
        let baseline = match method {
            Method::Solver(_) => return Scheme::popularity(Strength::Mean(MEAN), EXPONENT),
            Method::Baseline(baseline) => baseline,
        };
        Scheme::uniform(match baseline {
            Baseline::Bpr => 1.0,
            Baseline::Ials1 | Baseline::Rcd => 0.01,
            Baseline::Svd
            | Baseline::IiSvd
            | Baseline::SgdObserved
            | Baseline::Popularity
            | Baseline::ItemKnn { .. } => baseline.only_weight().unwrap_or(0.0),
        })
    }

    /// Yields the only weights that a method accepts, where it leaves no choice.
    #[must_use]
    pub fn only_for(method: Method) -> Option<Self> {
        match method {
            Method::Solver(_) => None,
            Method::Baseline(baseline) => baseline.only_weight().map(Scheme::uniform),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::weights::SchemeSpec;

    #[test]
    fn every_method_has_its_default() {
        for (method, default, only) in [
            ("eals", "popularity:mean=0.01,alpha=0.25", false),
            ("als-cg", "popularity:mean=0.01,alpha=0.25", false),
            ("svd", "uniform:1", true),
            ("ials1", "uniform:0.01", false),
            ("rcd", "uniform:0.01", false),
            ("ii-svd", "uniform:0", true),
            ("bpr", "uniform:1", false),
            ("sgd-observed", "uniform:0", true),
            ("popularity", "uniform:0", true),
            ("itemknn", "uniform:0", true),
        ] {
            let method = method.parse().expect("a method");
            let scheme = SchemeSpec::default_for(method);
            assert_eq!(scheme.to_string(), default);
            assert_eq!(SchemeSpec::only_for(method), only.then_some(scheme));
        }
    }
}
