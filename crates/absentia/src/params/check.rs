//! The check that parameters pass before a run.

use super::error::ParamsError;
use super::method::{Baseline, Method, Solver};
use super::settings::Params;
use crate::linalg::LANES;

/// Most factors that are accepted.
pub const MAX_FACTORS: usize = 8192;

/// Most iterations that are accepted.
const MAX_ITERATIONS: usize = 1_000_000;

/// Most threads that are accepted.
const MAX_THREADS: usize = 1024;

impl Params {
    /// Yields the parameters as a set that can be run.
    ///
    /// # Errors
    /// Names the first parameter that is out of range.
    pub fn check(self) -> Result<CheckedParams, ParamsError> {
        whole("factors", self.factors, 1, MAX_FACTORS)?;
        whole("iterations", self.iterations, 1, MAX_ITERATIONS)?;
        if let Some(threads) = self.threads {
            whole("threads", threads, 1, MAX_THREADS)?;
        }
        real(
            "regularization",
            self.regularization,
            self.regularization >= 0.0,
            "at least 0",
        )?;
        real("reg_exponent", self.reg_exponent, true, "finite")?;
        real("post_scale", self.post_scale, true, "finite")?;
        if let Some(half_life) = self.post_scale_half_life {
            real(
                "post_scale_half_life",
                half_life as f32,
                half_life > 0.0,
                "above 0",
            )?;
        }
        real("init_std", self.init_std, self.init_std > 0.0, "above 0")?;
        real(
            "learning_rate",
            self.learning_rate,
            self.learning_rate > 0.0,
            "above 0",
        )?;
        if let Some(tolerance) = self.tolerance {
            real(
                "tolerance",
                tolerance as f32,
                tolerance >= 0.0,
                "at least 0",
            )?;
        }
        match self.solver {
            Method::Solver(Solver::Subspace { block }) => check_block(block)?,
            Method::Solver(Solver::AlsCg { steps }) => whole("steps", steps, 1, 1000)?,
            Method::Baseline(Baseline::ItemKnn { neighbours }) => {
                whole("neighbours", neighbours, 1, 100_000)?;
            }
            Method::Solver(Solver::Eals | Solver::EalsVanilla | Solver::Als)
            | Method::Baseline(
                Baseline::Svd
                | Baseline::Ials1
                | Baseline::Rcd
                | Baseline::IiSvd
                | Baseline::Bpr
                | Baseline::SgdObserved
                | Baseline::Popularity,
            ) => {}
        }
        Ok(CheckedParams(self))
    }
}

fn check_block(block: usize) -> Result<(), ParamsError> {
    let fits = block > 0
        && block <= MAX_FACTORS
        && (LANES.is_multiple_of(block) || block.is_multiple_of(LANES));
    if fits {
        Ok(())
    } else {
        Err(ParamsError::Block { got: block })
    }
}

fn whole(name: &'static str, got: usize, least: usize, most: usize) -> Result<(), ParamsError> {
    if (least..=most).contains(&got) {
        Ok(())
    } else {
        Err(ParamsError::Whole {
            name,
            got,
            least,
            most,
        })
    }
}

fn real(name: &'static str, got: f32, ok: bool, range: &'static str) -> Result<(), ParamsError> {
    if got.is_finite() && ok {
        Ok(())
    } else {
        Err(ParamsError::Real { name, got, range })
    }
}

/// Proof that [`Params::check`] succeeded; training accepts nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParams(Params);

impl std::ops::Deref for CheckedParams {
    type Target = Params;

    fn deref(&self) -> &Params {
        &self.0
    }
}
