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
                users: given(Axis::User, model.user_factors(), users, k)?,
                items: given(Axis::Item, model.item_factors(), items, k)?,
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
        Init::Gaussian => StartedFrom::Random,
        Init::Sketch { .. } | Init::Given { .. } => StartedFrom::Factors,
    };
    let (users, items) = match init {
        Init::Gaussian => (
            init::gaussian(users, k, params.init_std, params.seed, 0),
            init::gaussian(items, k, params.init_std, params.seed, 1),
        ),
        Init::Sketch { passes } => sketch(data, params, passes),
        Init::Given { users: p, items: q } => (
            given(Axis::User, &p, users, k)?,
            given(Axis::Item, &q, items, k)?,
        ),
    };
    Ok(Start {
        factors: Sides { users, items },
        history: Vec::new(),
        best: None,
        from,
    })
}

/// Checks that a checkpoint has the parameters and weights of the run that is resumed from it.
fn check_resume(checkpoint: &Checkpoint, problem: &Problem<'_>) -> Result<(), FitError> {
    let changed = problem.params().changes_since(checkpoint.model.params());
    if !changed.is_empty() {
        return Err(FitError::ResumeParams { changed });
    }
    // A run that was cancelled before its first sweep may not have had its final weights yet.
    let (then, weights) = (checkpoint.model.weights(), problem.missing_weights());
    let same = then.a() == weights.a() && then.b() == weights.b();
    if checkpoint.iterations() > 0 && !same {
        return Err(FitError::ResumeWeights);
    }
    Ok(())
}

fn given(
    axis: Axis,
    factors: &Factors,
    expected_rows: usize,
    expected_cols: usize,
) -> Result<Dense, FitError> {
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
    if let Some(row) = (0..rows).find(|&row| factors.row(row).iter().any(|x| !x.is_finite())) {
        return Err(FitError::InitNotFinite { axis, row });
    }
    Ok(factors.to_padded())
}
