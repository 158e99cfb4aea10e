//! The methods that the paper compares with, and simple lower bounds, in the same run as the
//! solvers: chosen by [`Baseline`], trained by [`fit`](crate::fit()), saved and measured as models.
//!
//! | method | minimises | a pass costs | weights on missing entries | file |
//! | --- | --- | --- | --- | --- |
//! | `svd` | J, exactly | `O(\|R\|K + (M+N)K²)` a product | 1 everywhere | `svd` |
//! | `ials1` | J | `O(K³ + (M+N)K² + \|R\|K)` | one for all | `ials1` |
//! | `rcd` | J | `O((M+N)K² + \|R\|K)` | one for all | `rcd` |
//! | `ii-svd` | `‖S − PQᵀ‖²` of neighbour scores S | `O(\|R\|K + (M+N)K²)` a product | none | `ii_svd` |
//! | `bpr` | `−Σ ln σ(p_u·(q_i − q_j))` | `O(\|R\|K)` | by item: how samples are drawn | `bpr` |
//! | `sgd-observed` | J | `O(\|R\|K)` | 0 everywhere | `sgd_observed` |
//! | `popularity` | – | `O(\|R\|)` | none | `popularity` |
//! | `itemknn` | – | `O(Σ_u n_u²)` | none | `item_knn` |
//!
//! A pass depends on the factors before it, the seed and its number only, so a run that is resumed
//! ends in the same bits; what is random is drawn in one order on one thread.

pub(crate) mod bpr;
mod check;
mod error;
pub(crate) mod ials1;
pub(crate) mod ii_svd;
pub(crate) mod item_knn;
pub(crate) mod popularity;
pub(crate) mod random;
pub(crate) mod rcd;
pub(crate) mod sgd_observed;
pub(crate) mod svd;

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use check::check;
pub use error::BaselineError;
pub use item_knn::Neighbours;

use crate::data::{Interactions, Values};
use crate::fit::{Sizes, default_threads};
use crate::linalg::Dense;
use crate::linalg::kernels::{Gathered, Kernels};
use crate::params::{Baseline, CheckedParams, Method, Params, ParamsError};
use crate::sides::Sides;
use crate::solver::Objective;
use crate::weights::MissingWeights;

/// What a pass reads.
pub(crate) struct PassInput<'a> {
    /// Targets and weights as they are trained on.
    pub(crate) data: &'a Interactions<'a>,
    pub(crate) weights: &'a MissingWeights,
    /// `λ_u` and `λ_i`.
    pub(crate) penalty: Sides<&'a Values<'static>>,
    pub(crate) params: &'a Params,
    pub(crate) kernels: Kernels,
    pub(crate) cancelled: &'a AtomicBool,
}

impl PassInput<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The one weight of all missing entries; the methods that need one were checked for it.
    fn uniform_weight(&self) -> f32 {
        check::uniform_weight(self.weights).unwrap_or(0.0)
    }
}

/// How a pass ended.
pub(crate) enum Pass {
    /// J of the factors it left is what it minimises.
    Objective,
    /// It minimises something else, or nothing at all.
    Own(Objective),
    /// It was cut short, and its factors are to be thrown away.
    Cancelled,
}

/// Makes one pass over the data.
pub(crate) fn pass(
    baseline: Baseline,
    input: &PassInput<'_>,
    iteration: usize,
    p: &mut Dense,
    q: &mut Dense,
) -> Result<Pass, BaselineError> {
    match baseline {
        Baseline::Svd => svd::pass(input, p, q),
        Baseline::Ials1 => Ok(ials1::pass(input, p, q)),
        Baseline::Rcd => Ok(rcd::pass(input, iteration, p, q)),
        Baseline::IiSvd => ii_svd::pass(input, p, q),
        Baseline::Bpr => Ok(bpr::pass(input, iteration, p, q)),
        Baseline::SgdObserved => Ok(sgd_observed::pass(input, iteration, p, q)),
        Baseline::Popularity => Ok(popularity::pass(input, p, q)),
        // Its neighbours are computed when the run starts.
        Baseline::ItemKnn { .. } => Ok(Pass::Own(Objective::default())),
    }
}

/// Yields the parameters with the number of factors that the method has: 1 for those without factors.
pub(crate) fn shaped(params: &CheckedParams) -> Result<CheckedParams, ParamsError> {
    let factors = n_factors(params);
    if factors == params.factors {
        Ok(params.clone())
    } else {
        (**params).clone().factors(factors).check()
    }
}

/// The number of factors that the method has: 1 for those without factors.
pub(crate) fn n_factors(params: &Params) -> usize {
    match params.solver {
        Method::Baseline(Baseline::Popularity | Baseline::ItemKnn { .. }) => 1,
        Method::Solver(_)
        | Method::Baseline(
            Baseline::Svd
            | Baseline::Ials1
            | Baseline::Rcd
            | Baseline::IiSvd
            | Baseline::Bpr
            | Baseline::SgdObserved,
        ) => params.factors,
    }
}

/// Most neighbours that `itemknn` can find, of all items together; 0 for other methods.
pub(crate) fn most_neighbours(data: &Interactions<'_>, method: Method) -> u64 {
    match method {
        Method::Baseline(Baseline::ItemKnn { neighbours }) => item_knn::most(data, neighbours),
        Method::Baseline(_) | Method::Solver(_) => 0,
    }
}

/// Bytes of scratch memory a pass takes beside factors and caches.
pub(crate) fn bytes(baseline: Baseline, sizes: &Sizes, params: &Params) -> u64 {
    let (rows, k) = ((sizes.users + sizes.items) as u64, params.factors as u64);
    let entries = sizes.entries as u64;
    match baseline {
        Baseline::Svd | Baseline::IiSvd => svd::bytes(sizes, k),
        // The factors of the larger side in `f64`, to be summed.
        Baseline::Ials1 => 8 * sizes.users.max(sizes.items) as u64 * k,
        Baseline::Rcd => rows * 16 + 8 * k * k,
        Baseline::SgdObserved | Baseline::Bpr => 8 * entries,
        // The neighbours, which move from one array to another part by part; a copy of what users took;
        // and what each thread counts in.
        Baseline::ItemKnn { .. } => {
            let threads = params.threads.unwrap_or_else(default_threads) as u64;
            9 * sizes.neighbours + 4 * entries + 8 * rows + 16 * threads * sizes.items as u64
        }
        Baseline::Popularity => 0,
    }
}

/// `Σ_n x_n y_n` of two rows that fill whole lanes.
pub(crate) fn dot(kernels: Kernels, x: &[f32], y: &[f32]) -> f32 {
    let one = Gathered {
        matrix: y,
        stride: y.len(),
        indices: &[0],
    };
    let mut sum = [0.0];
    kernels.predict(x, one, &mut sum);
    sum[0]
}

#[cfg(test)]
mod tests;
