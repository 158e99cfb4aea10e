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

pub use dense::{Dense, LANES};
#[doc(hidden)]
pub use kernels::bench;
pub use kernels::{InstructionSet, InstructionSetError};
pub use nmf::{Nmf, NmfParams, nonnegative_factors};
pub use operator::{LinearOperator, RowBlocks, RowOperator};
pub(crate) use small::symmetric_eigen;
pub use svd::{DecompositionError, Svd, SvdParams, truncated_svd};
pub use tall::TallMatrix;

pub(crate) use dense::Buffer;
pub(crate) use nmf::nonnegative_rows;
pub(crate) use small::least_squares_rows;
