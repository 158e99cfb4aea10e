//! The battery on the processor's cores, and what is true of them alone.
#![allow(
    clippy::duplicate_mod,
    reason = "the tests are the same for every device"
)]

#[path = "long_rows.rs"]
mod long_rows;
#[path = "models.rs"]
mod models;
#[path = "runs.rs"]
mod runs;
#[path = "same_end.rs"]
mod same_end;
#[path = "symmetry.rs"]
mod symmetry;
#[path = "table_two.rs"]
mod table_two;
#[path = "weighting.rs"]
mod weighting;

use absentia::data::Interactions;
use absentia::fit::backend::Cpu;
use absentia::fit::{FitError, Fitted, Run, fit_on};
use absentia::weights::Scheme;
use absentia::{CheckedParams, Params};

pub(crate) const DEVICE: Cpu = Cpu;

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
