//! The factors a run starts from, or goes on with.

use super::error::FitError;
use super::init::{self, Init};
use super::observer::Sweep;
use super::sketch::sketch;
use super::state::{Best, Checkpoint};
use crate::data::Interactions;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::model::Factors;
use crate::params::{CheckedParams, Params};
use crate::weights::MissingWeights;

/// Factors of users and items, the sweeps made, and the best so far.
type Start = (Dense, Dense, Vec<Sweep>, Option<Best>);

pub(super) fn start(
    data: &Interactions<'_>,
    weights: &MissingWeights,
    params: &CheckedParams,
    init: Init,
    resume: Option<Checkpoint>,
) -> Result<Start, FitError> {
    let (users, items, k) = (data.n_users(), data.n_items(), params.factors);
    if let Some(checkpoint) = resume {
        check_resume(&checkpoint, weights, params)?;
        let model = checkpoint.model;
        let p = given(Axis::User, model.user_factors(), users, k)?;
        let q = given(Axis::Item, model.item_factors(), items, k)?;
        return Ok((p, q, model.history().to_vec(), checkpoint.best));
    }
    let (p, q) = match init {
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
    Ok((p, q, Vec::new(), None))
}

/// A checkpoint goes on only under the settings that decide its bits.
fn check_resume(
    checkpoint: &Checkpoint,
    weights: &MissingWeights,
    params: &Params,
) -> Result<(), FitError> {
    let changed = params.changes_since(checkpoint.model.params());
    if !changed.is_empty() {
        return Err(FitError::ResumeParams { changed });
    }
    let then = checkpoint.model.weights();
    if then.a() != weights.a() || then.b() != weights.b() {
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
