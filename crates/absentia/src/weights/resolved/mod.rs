//! Weights resolved on data: A and B, what was learned from the data, new rows, explanations.

mod explanation;
mod frozen;
mod missing;
mod new_row;
mod normaliser;

pub(super) use explanation::Pair;
pub use explanation::{TermExplanation, WeightExplanation};
pub use frozen::{Frozen, FrozenPart};
pub use missing::MissingWeights;
pub use new_row::NewRow;
pub(super) use new_row::{NewRowValues, check_new_row};
pub use normaliser::Normaliser;
