//! What the machine can do at best: a large product of `f32` matrices by numpy.

use anyhow::Result;

use crate::request::{Request, Task};
use crate::runner::Runner;

/// A peer whose environment has numpy.
const WITH_NUMPY: &str = "implicit";

/// Fused multiply-adds of the product, 4096³; `python/peers.py` makes it.
const PRODUCT: f64 = 4096.0 * 4096.0 * 4096.0;

/// Fused multiply-adds a second, the best of a few products; `None` without numpy.
pub(crate) fn measure(runner: &Runner) -> Result<Option<f64>> {
    if !runner.has(WITH_NUMPY) {
        return Ok(None);
    }
    let request = Request::new(Task::Peak, WITH_NUMPY, runner.threads);
    Ok(Some(PRODUCT / runner.run(&request)?.best()))
}

/// The larger of two values, if there are any.
pub(crate) fn higher(known: Option<f64>, found: Option<f64>) -> Option<f64> {
    match (known, found) {
        (Some(known), Some(found)) => Some(known.max(found)),
        (known, found) => known.or(found),
    }
}

/// How reports name it.
pub(crate) fn named(rate: f64) -> String {
    format!("{:.0} GFMA/s of a product of 4096² matrices", rate / 1e9)
}
