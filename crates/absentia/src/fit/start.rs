//! The factors that a run starts from, or is resumed with.

use super::error::FitError;
use super::init::{self, Init};
use super::observer::Sweep;
use super::problem::Problem;
use super::sketch::sketch;
use super::state::{Best, Checkpoint};
use super::sweeps::StartedFrom;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::model::Factors;
use crate::sides::Sides;
use crate::solver::objective::losses_at_zero;

/// Where a run starts.
pub(super) struct Start {
    /// Factors, padded.
    pub(super) factors: Sides<Dense>,
    /// Sweeps already made.
    pub(super) history: Vec<Sweep>,
    /// The best factors so far.
    pub(super) best: Option<Best>,
    /// What is known of the factors.
    pub(super) from: StartedFrom,
}

pub(super) fn start(
    problem: &Problem<'_>,
    init: Init,
    resume: Option<Checkpoint>,
) -> Result<Start, FitError> {
    let (data, params) = (problem.data(), problem.params());
    let (users, items, k) = (data.n_users(), data.n_items(), params.factors);
    if let Some(checkpoint) = resume {
        check_resume(&checkpoint, problem)?;
        let model = checkpoint.model;
        return Ok(Start {
            factors: Sides {
                users: given(problem, Axis::User, &model.stacked_factors(Axis::User))?,
                items: given(problem, Axis::Item, &model.stacked_factors(Axis::Item))?,
            },
            from: match model.history().last() {
                Some(sweep) => StartedFrom::Objective(sweep.objective),
                None => StartedFrom::Factors,
            },
            history: model.history().to_vec(),
            best: checkpoint.best,
        });
    }
    let from = match init {
        Init::Gaussian => StartedFrom::Random {
            at_zero: at_zero(problem),
        },
        Init::Sketch { .. } | Init::Given { .. } => StartedFrom::Factors,
    };
    let (users, items) = match init {
        Init::Gaussian => (
            init::gaussian(users, k, params.init_std, params.seed, 0),
            init::gaussian(items, k, params.init_std, params.seed, 1),
        ),
        Init::Sketch { passes } => sketch(data, params, passes),
        Init::Given { users: p, items: q } => (
            given(problem, Axis::User, &p)?,
            given(problem, Axis::Item, &q)?,
        ),
    };
    Ok(Start {
        factors: Sides { users, items },
        history: Vec::new(),
        best: None,
        from,
    })
}

/// `Σ_R c r²`, features included: the loss of factors that predict 0.
fn at_zero(problem: &Problem<'_>) -> f64 {
    let entries = losses_at_zero(problem.data().by_user(), 0);
    let features = problem.features().iter().map(|block| block.at_zero);
    entries.total().unwrap_or(0.0) + features.sum::<f64>()
}

/// Checks that a checkpoint has the parameters and weights of the run that is resumed from it.
fn check_resume(checkpoint: &Checkpoint, problem: &Problem<'_>) -> Result<(), FitError> {
    let changed = problem.params().changes_since(checkpoint.model.params());
    if !changed.is_empty() {
        return Err(FitError::ResumeParams { changed });
    }
    // A run that was cancelled before its first sweep may not have had its final weights yet.
    let (then, weights) = (checkpoint.model.weights(), problem.main_weights());
    let same_relations = match (checkpoint.model.related(), problem.composed()) {
        (Some(then), Some(now)) => then.entities == now.entities && then.relations == now.relations,
        (None, None) => true,
        _ => false,
    };
    let same = same_relations && then.a() == weights.a() && then.b() == weights.b();
    if checkpoint.iterations() > 0 && !same {
        return Err(FitError::ResumeWeights);
    }
    Ok(())
}

/// Rejects given factors that are not finite or not of this shape.
pub(super) fn check_given(
    axis: Axis,
    factors: &Factors,
    (expected_rows, expected_cols): (usize, usize),
) -> Result<(), FitError> {
    let (rows, cols) = (factors.rows(), factors.cols());
    if (rows, cols) != (expected_rows, expected_cols) {
        return Err(FitError::InitShape {
            axis,
            rows,
            cols,
            expected_rows,
            expected_cols,
        });
    }
    match (0..rows).find(|&row| factors.row(row).iter().any(|x| !x.is_finite())) {
        Some(row) => Err(FitError::InitNotFinite { axis, row }),
        None => Ok(()),
    }
}

/// The factors of one side. Those of users or items alone are followed by random ones for the types that relations
/// add.
fn given(problem: &Problem<'_>, axis: Axis, factors: &Factors) -> Result<Dense, FitError> {
    let (rows, cols) = (factors.rows(), factors.cols());
    let params = problem.params();
    let (expected_rows, expected_cols) = (problem.entries(axis).rows(), params.factors);
    let main_rows = match axis {
        Axis::User => problem.main_weights().n_users(),
        Axis::Item => problem.main_weights().n_items(),
    };
    if rows == main_rows {
        check_given(axis, factors, (main_rows, expected_cols))?;
    } else {
        check_given(axis, factors, (expected_rows, expected_cols))?;
    }
    if rows == expected_rows {
        return Ok(factors.to_padded());
    }
    let side = match axis {
        Axis::User => 0,
        Axis::Item => 1,
    };
    let mut all = init::gaussian(expected_rows, cols, params.init_std, params.seed, side);
    for row in 0..rows {
        all.row_mut(row).copy_from_slice(factors.row(row));
    }
    Ok(all)
}
