//! Matrix factorisation for implicit feedback in which **every missing entry has its own weight**,
//! at a cost that does not grow with the number of missing entries.
//!
//! Given M users, N items and a set R of observed entries, the engine finds P (M × K) and Q (N × K)
//! that minimise
//!
//! ```text
//! J = Σ_{(u,i)∈R} c_ui (r_ui − p_u·q_i)²  +  Σ_{(u,i)∉R} (a_u·b_i) (p_u·q_i)²  +  Σ_u λ_u|p_u|² + Σ_i λ_i|q_i|²
//! ```
//!
//! | symbol | meaning | where |
//! | --- | --- | --- |
//! | `r_ui`, `c_ui` | target and weight of an observed entry | [`data`] |
//! | `a_u`, `b_i` (length Z) | low-rank weight on missing entries | [`weights`] |
//! | `S_t = Σ_i b_it q_i q_iᵀ` | the caches, the only data that rows share | `solver` |
//! | `λ_u = λ m_u^ν` | regularization of a row, `m_u` its total weight | `solver` |
//! | `p_u`, `q_i` (length K) | factors | [`model`] |
//!
//! The method is that of He, Tang, Du, Hong, Ren and Chua, *Fast Matrix Factorization with
//! Non-Uniform Weights on Missing Data*; `ARCHITECTURE.md` maps its equations to folders.

pub mod baselines;
pub mod data;
pub mod error;
pub mod evaluate;
pub mod fit;
mod linalg;
pub mod memory;
pub mod model;
pub mod online;
mod params;
pub mod ranking;
pub mod relations;
mod row_sums;
mod sides;
mod solver;
pub mod suggest;
#[cfg(test)]
mod testing;
pub mod weights;

pub use data::{Interactions, Triplets};
pub use error::{Axis, Fault};
pub use fit::{Run, fit};
pub use linalg::kernels::pages::return_freed_memory;
pub use linalg::{DecompositionError, Dense, InstructionSet, InstructionSetError};
pub use model::Model;
pub use params::{Baseline, CheckedParams, MAX_FACTORS, Method, Params, ParamsError, Solver};
pub use sides::Sides;
pub use solver::Objective;

/// Internals that tests and benchmarks use. They may change in any version, as may all items that are hidden in the
/// documentation: the other crates of this repository use those.
#[doc(hidden)]
pub mod internals {
    pub use crate::linalg::{
        LinearOperator, RowBlocks, RowOperator, Svd, SvdParams, TallMatrix, bench, truncated_svd,
    };
}
