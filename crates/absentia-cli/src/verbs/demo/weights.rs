//! The three ways to weight missing entries that are compared, all with the same mean.

use absentia::generate::Generator;
use absentia::linalg::Dense;
use absentia::weights::{Scheme, Strength};

/// Mean weight over missing entries, the same for all.
const MEAN: f32 = 0.01;

/// Yields the schemes with their names.
pub(super) fn schemes(generator: &Generator) -> [(&'static str, Scheme); 3] {
    let truth = generator.expected_exposures();
    [
        ("uniform", Scheme::Uniform { weight: MEAN }),
        (
            "popularity",
            Scheme::Popularity {
                strength: Strength::Mean(MEAN),
                alpha: 1.0,
            },
        ),
        ("exposure-aware", with_mean(truth.users, truth.items)),
    ]
}

/// Weights `a_u · b_i` scaled to the mean.
fn with_mean(mut a: Dense, b: Dense) -> Scheme {
    let sum = |side: &Dense, t: usize| -> f64 {
        (0..side.rows())
            .map(|row| f64::from(side.row(row)[t]))
            .sum()
    };
    let total: f64 = (0..b.cols()).map(|t| sum(&a, t) * sum(&b, t)).sum();
    let scale = f64::from(MEAN) * (a.rows() * b.rows()) as f64 / total;
    for row in 0..a.rows() {
        for x in a.row_mut(row) {
            *x = (f64::from(*x) * scale) as f32;
        }
    }
    Scheme::LowRank { a, b }
}
