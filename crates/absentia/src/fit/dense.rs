//! A dense W taken as it is, for the one solver that does, and the penalties of either kind.

use std::borrow::Cow;

use super::error::FitError;
use crate::data::{Entries, Interactions, Values};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::params::Params;
use crate::solver::penalty::{penalties, row_penalty};
use crate::weights::MissingWeights;

/// W and its transpose.
pub(super) type DensePair<'a> = (Cow<'a, Dense>, Dense);

/// Penalties of users and of items.
pub(super) fn penalties_of(
    data: &Interactions<'_>,
    weights: &MissingWeights,
    dense: Option<&DensePair<'_>>,
    params: &Params,
) -> Result<(Values<'static>, Values<'static>), FitError> {
    let side = |axis: Axis, observed: &Entries<'_>, own: &Dense, fixed: &Dense| {
        penalties(
            observed,
            own,
            fixed,
            params.regularization,
            params.reg_exponent,
        )
        .map_err(|bad| FitError::RowWeight {
            axis,
            row: bad.row,
            total: bad.total,
        })
    };
    if let Some((w, transposed)) = dense {
        return Ok((
            dense_penalties(Axis::User, data.by_user(), w, params)?,
            dense_penalties(Axis::Item, data.by_item(), transposed, params)?,
        ));
    }
    Ok((
        side(Axis::User, data.by_user(), weights.a(), weights.b())?,
        side(Axis::Item, data.by_item(), weights.b(), weights.a())?,
    ))
}

/// The penalties of rows whose weights on missing entries are the rows of `w`.
fn dense_penalties(
    axis: Axis,
    observed: &Entries<'_>,
    w: &Dense,
    params: &Params,
) -> Result<Values<'static>, FitError> {
    if params.reg_exponent == 0.0 || params.regularization == 0.0 {
        return Ok(Values::Constant(params.regularization));
    }
    let penalty = |row: usize| {
        let (entries, weights) = (observed.row(row), w.row(row));
        let mut total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        for (n, &column) in entries.indices.iter().enumerate() {
            total += f64::from(entries.c.get(n)) - f64::from(weights[column as usize]);
        }
        row_penalty(row, total, params.regularization, params.reg_exponent).map_err(|bad| {
            FitError::RowWeight {
                axis,
                row: bad.row,
                total: bad.total,
            }
        })
    };
    Ok(Values::from_vec(
        (0..observed.rows())
            .map(penalty)
            .collect::<Result<_, _>>()?,
    ))
}

pub(super) fn transposed(w: &Dense) -> Dense {
    Dense::from_fn(w.cols(), w.rows(), |row, col| w.row(col)[row])
}

/// `Σ_{(u,i)∉R} w_ui (p_u·q_i)²` entry by entry, for a W that is not factorised.
pub(super) fn missing_by_hand(data: &Interactions<'_>, w: &Dense, p: &Dense, q: &Dense) -> f64 {
    let mut total = 0.0;
    for user in 0..data.n_users() {
        let mut observed = data.by_user().row(user).indices.iter().peekable();
        for item in 0..data.n_items() {
            if observed.next_if(|&&seen| seen as usize == item).is_none() {
                let predicted: f64 = p
                    .row(user)
                    .iter()
                    .zip(q.row(item))
                    .map(|(p, q)| f64::from(*p) * f64::from(*q))
                    .sum();
                total += f64::from(w.row(user)[item]) * predicted * predicted;
            }
        }
    }
    total
}
