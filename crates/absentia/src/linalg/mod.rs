//! Dense algebra on `f32` rows: the only module that knows about instruction sets.

mod dense;
pub(crate) mod kernels;
mod nmf;
mod operator;
mod orthogonal;
mod small;
pub(crate) mod spd;
mod svd;
mod tall;

pub use dense::Dense;
pub use kernels::{InstructionSet, InstructionSetError, bench};
pub use operator::{LinearOperator, RowBlocks, RowOperator};
pub use svd::{DecompositionError, Svd, SvdParams, truncated_svd};
pub use tall::TallMatrix;

pub(crate) use dense::{Buffer, LANES};
pub(crate) use nmf::{NmfParams, nonnegative_factors, nonnegative_rows};
pub(crate) use small::{least_squares_rows, symmetric_eigen};
