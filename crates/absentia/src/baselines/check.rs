//! Which weights and data each baseline can honour.

use super::BaselineError;
use crate::data::{Interactions, Values};
use crate::linalg::Dense;
use crate::params::Solver;
use crate::weights::MissingWeights;

/// Refuses weights and data that the method would have to ignore.
pub(crate) fn check(
    solver: Solver,
    data: &Interactions<'_>,
    weights: &MissingWeights,
) -> Result<(), BaselineError> {
    if !solver.is_baseline() {
        return Ok(());
    }
    let refuse = |asked, takes| {
        Err(BaselineError::Unsupported {
            solver: solver.name(),
            asked,
            takes,
        })
    };
    let uniform = uniform_weight(weights);
    match (solver, uniform) {
        (Solver::Ials1 | Solver::Rcd, None) => {
            return refuse(
                "non-uniform weights on missing entries",
                "it takes one weight for all of them (uniform:W); eals, als and subspace take any",
            );
        }
        (Solver::Svd, weight) if weight != Some(1.0) => {
            return refuse(
                "weights on missing entries other than 1",
                "it weighs all entries alike (uniform:1)",
            );
        }
        (Solver::Bpr, _) if item_weights(weights).is_none() => {
            return refuse(
                "weights that differ from user to user, or are negative or all 0",
                "its samples are drawn by weights of items (uniform:W with W above 0, or popularity:...)",
            );
        }
        (
            Solver::IiSvd | Solver::SgdObserved | Solver::Popularity | Solver::ItemKnn { .. },
            weight,
        ) if weight != Some(0.0) => {
            return refuse(
                "weights on missing entries",
                "it looks at observed entries alone (uniform:0)",
            );
        }
        _ => {}
    }
    check_entries(solver, data)
}

fn check_entries(solver: Solver, data: &Interactions<'_>) -> Result<(), BaselineError> {
    let refuse = |asked, takes| {
        Err(BaselineError::Unsupported {
            solver: solver.name(),
            asked,
            takes,
        })
    };
    match solver {
        Solver::Svd if *data.by_user().weights() != Values::Constant(1.0) => refuse(
            "weights of observed entries other than 1",
            "it weighs all entries alike (confidence 1, no exposed entries)",
        ),
        Solver::Svd | Solver::Ials1 | Solver::Rcd | Solver::SgdObserved => Ok(()),
        _ if data.n_interactions() != data.len() => refuse(
            "entries that were shown and not taken",
            "it knows interactions alone; eals, als and subspace take both",
        ),
        _ if [data.by_user().weights(), data.by_user().targets()]
            .iter()
            .any(|values| !matches!(values, Values::Constant(_))) =>
        {
            refuse(
                "targets or weights of observed entries that vary",
                "it takes every interaction alike",
            )
        }
        _ => Ok(()),
    }
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
