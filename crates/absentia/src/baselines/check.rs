//! Which weights and data each baseline supports.

use super::BaselineError;
use crate::data::{Interactions, Values};
use crate::linalg::Dense;
use crate::params::Baseline;
use crate::weights::MissingWeights;

/// Rejects weights and data that the method would have to ignore.
pub(crate) fn check(
    baseline: Baseline,
    data: &Interactions<'_>,
    weights: &MissingWeights,
) -> Result<(), BaselineError> {
    let (is_supported, requested, takes) = match baseline {
        Baseline::Ials1 | Baseline::Rcd => (
            uniform_weight(weights).is_some(),
            "non-uniform weights on missing entries",
            "it takes one weight for all of them (uniform:W); eals, als and subspace take any",
        ),
        Baseline::Svd => (
            uniform_weight(weights) == baseline.only_weight(),
            "weights on missing entries other than 1",
            "it weighs all entries alike (uniform:1)",
        ),
        Baseline::Bpr => (
            item_weights(weights).is_some(),
            "weights that differ from user to user, or are negative or all 0",
            "its samples are drawn by weights of items (uniform:W with W above 0, or popularity:...)",
        ),
        Baseline::IiSvd
        | Baseline::SgdObserved
        | Baseline::Popularity
        | Baseline::ItemKnn { .. } => (
            uniform_weight(weights) == baseline.only_weight(),
            "weights on missing entries",
            "it looks at observed entries alone (uniform:0)",
        ),
    };
    if is_supported {
        check_entries(baseline, data)
    } else {
        refuse(baseline, requested, takes)
    }
}

fn check_entries(baseline: Baseline, data: &Interactions<'_>) -> Result<(), BaselineError> {
    match baseline {
        Baseline::Svd if *data.by_user().weights() != Values::Constant(1.0) => refuse(
            baseline,
            "weights of observed entries other than 1",
            "it weighs all entries alike (confidence 1, no exposed entries)",
        ),
        Baseline::Svd | Baseline::Ials1 | Baseline::Rcd | Baseline::SgdObserved => Ok(()),
        Baseline::IiSvd | Baseline::Bpr | Baseline::Popularity | Baseline::ItemKnn { .. } => {
            check_alike(baseline, data)
        }
    }
}

/// Rejects data that distinguishes its interactions.
fn check_alike(baseline: Baseline, data: &Interactions<'_>) -> Result<(), BaselineError> {
    if data.n_interactions() != data.len() {
        return refuse(
            baseline,
            "entries that were shown and not taken",
            "it knows interactions alone; eals, als and subspace take both",
        );
    }
    let is_constant = |values: &Values<'_>| matches!(values, Values::Constant(_));
    let (weights, targets) = (data.by_user().weights(), data.by_user().targets());
    // Popularity adds up the weights.
    let takes_weights = baseline == Baseline::Popularity;
    if (takes_weights || is_constant(weights)) && is_constant(targets) {
        return Ok(());
    }
    if takes_weights {
        return refuse(
            baseline,
            "targets of observed entries that vary",
            "it counts interactions by their confidence alone",
        );
    }
    refuse(
        baseline,
        "targets or weights of observed entries that vary",
        "it takes every interaction alike",
    )
}

fn refuse(
    baseline: Baseline,
    requested: &'static str,
    takes: &'static str,
) -> Result<(), BaselineError> {
    Err(BaselineError::Unsupported {
        solver: baseline.name(),
        requested,
        takes,
    })
}

/// The one weight of all missing entries, if there is one.
pub(super) fn uniform_weight(weights: &MissingWeights) -> Option<f32> {
    let first = weights.n_users() > 0 && weights.n_items() > 0;
    (first && rows_are_equal(weights.a()) && rows_are_equal(weights.b()))
        .then(|| weights.weight(0, 0))
}

/// The weight of each item's missing entries, if it is the same for all users, never negative and
/// not 0 for all.
pub(super) fn item_weights(weights: &MissingWeights) -> Option<Vec<f32>> {
    if weights.n_users() == 0 || !rows_are_equal(weights.a()) {
        return None;
    }
    let each: Vec<f32> = (0..weights.n_items() as u32)
        .map(|item| weights.weight(0, item))
        .collect();
    let usable = each.iter().all(|&w| w >= 0.0) && each.iter().any(|&w| w > 0.0);
    usable.then_some(each)
}

fn rows_are_equal(matrix: &Dense) -> bool {
    (1..matrix.rows()).all(|row| matrix.row(row) == matrix.row(0))
}
