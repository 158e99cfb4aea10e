//! The battery on the plain dense backend: proof that the loop works with any hardware.
#![allow(
    clippy::duplicate_mod,
    reason = "the tests are the same for every device"
)]

#[path = "models.rs"]
mod models;
#[path = "runs.rs"]
mod runs;
#[path = "same_end.rs"]
mod same_end;
#[path = "symmetry.rs"]
mod symmetry;
#[path = "weighting.rs"]
mod weighting;

use absentia::data::Interactions;
use absentia::fit::{FitError, Fitted, Run, fit_on};
use absentia::weights::Scheme;
use absentia::{CheckedParams, Params};

use crate::dense::DenseDevice;

pub(crate) const DEVICE: DenseDevice = DenseDevice;

fn fit(
    data: &Interactions<'_>,
    scheme: &Scheme,
    params: &CheckedParams,
    run: Run<'_>,
) -> Result<Fitted, FitError> {
    fit_on(&DEVICE, data, scheme, params, run)
}

fn train(data: &Interactions<'_>, scheme: &Scheme, params: Params) -> Fitted {
    fit(data, scheme, &params.check().unwrap(), Run::default()).unwrap()
}
