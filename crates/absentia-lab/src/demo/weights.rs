//! The three ways to weight missing entries that are compared, all with the same mean.

use absentia::Dense;
use absentia::weights::{Scheme, Strength};

use crate::generate::Generator;

/// Mean weight over missing entries, the same for all.
const MEAN: f32 = 0.01;

/// Yields the schemes with their names.
pub(super) fn schemes(generator: &Generator) -> [(&'static str, Scheme); 3] {
    let truth = generator.expected_exposures();
    [
        ("uniform", Scheme::uniform(MEAN)),
        ("popularity", Scheme::popularity(Strength::Mean(MEAN), 1.0)),
        ("exposure-aware", with_mean(truth.users, truth.items)),
    ]
}

/// Weights `a_u · b_i` proportional to how often a user was shown an item, scaled to the same total for
/// every user: if all items are shown equally often, these are uniform weights.
fn with_mean(mut a: Dense, b: Dense) -> Scheme {
    let shown: Vec<f64> = (0..b.cols())
        .map(|t| (0..b.rows()).map(|item| f64::from(b.row(item)[t])).sum())
        .collect();
    let wanted = f64::from(MEAN) * b.rows() as f64;
    for user in 0..a.rows() {
        let row = a.row_mut(user);
        let total: f64 = row
            .iter()
            .zip(&shown)
            .map(|(x, sum)| f64::from(*x) * sum)
            .sum();
        for x in row {
            *x = (f64::from(*x) * wanted / total) as f32;
        }
    }
    Scheme::low_rank(a, b)
}
