//! Points that a search starts from (`docs/accuracy.md`).

use super::{AGE, ALPHA, HALF_LIFE, PENALTY, Space, TARGET_EXPONENT, WEIGHT};

/// Values of some settings; the others are switched off.
type Recipe = &'static [(&'static str, f64)];

/// The defaults of training.
const DEFAULTS: Recipe = &[(WEIGHT, 0.01), (ALPHA, 0.25), (PENALTY, 0.1)];

/// Weights by age with and without recent counts, for data with times: what `train` chooses on held-out rows of
/// `MovieTweetings`, rounded, and a softer one.
const BY_TIME: [Recipe; 2] = [
    &[
        (WEIGHT, 0.01),
        (ALPHA, 0.25),
        (PENALTY, 0.4),
        (AGE, 10.0),
        (HALF_LIFE, 0.06),
    ],
    &[(WEIGHT, 0.05), (PENALTY, 0.4), (AGE, 0.1)],
];

/// What did best on `Amazon-book`, `MovieTweetings` and `KuaiRec` among random settings, rounded.
const OTHERS: [Recipe; 3] = [
    &[
        (WEIGHT, 0.05),
        (ALPHA, 0.4),
        (PENALTY, 0.15),
        (TARGET_EXPONENT, 0.2),
    ],
    &[
        (WEIGHT, 0.02),
        (ALPHA, 0.4),
        (PENALTY, 0.5),
        (TARGET_EXPONENT, 0.15),
    ],
    &[(WEIGHT, 0.01), (ALPHA, 0.2), (PENALTY, 0.25)],
];

impl Space {
    /// Points that a search starts from (`docs/accuracy.md`).
    #[must_use]
    pub fn recipes(&self) -> Vec<Vec<f64>> {
        let by_time = BY_TIME.iter().filter(|_| self.has(AGE));
        let recipes = std::iter::once(&DEFAULTS).chain(by_time).chain(&OTHERS);
        recipes.map(|recipe| self.point(recipe)).collect()
    }
}
