//! The weight of every missing entry: `w_ui = a_u · b_i`, with A (M × Z) and B (N × Z).
//!
//! | scheme | A | B | Z |
//! | --- | --- | --- | --- |
//! | uniform w₀ | w₀ | 1 | 1 |
//! | popularity c₀, α | c₀ | `f_i^α / Σ_j f_j^α` | 1 |
//! | activity c₀, α | `c₀ f_u^α / Σ_v f_v^α` | 1 | 1 |
//! | popularity × activity | `c₀ f_u^β / Σ_v f_v^β` | `f_i^α / Σ_j f_j^α` | 1 |
//! | groups (segments × categories) | one-hot, or rows of the table | the other | the smaller side |
//! | given A, B | as given | as given | any |
//! | given dense W, or a function w(u, i) | truncated SVD or non-negative factors | | chosen |
//! | learned | `(a_u)^α`, scaled | `(b_i)^α`, rates at which items are seen | chosen |
//! | sum | side by side | side by side | added |
//!
//! A [`Scheme`] is a wish; [`Scheme::resolve`] turns it into [`MissingWeights`] for given data, with
//! everything that was learned from the data (counts, normalisers, errors of approximation) frozen.
//! [`SchemeSpec`] is the same wish as a line of text, with arrays named by path.
//!
//! A truncated SVD of a positive W can give **negative** weights, under which training can
//! diverge. [`Approximation::negatives`] counts them and [`MissingWeights::may_be_negative`] warns;
//! [`Method::NonNegative`] cannot fail this way.

mod approximate;
mod approximation;
mod error;
mod explain;
mod frozen;
mod function;
mod learned;
mod measure;
mod missing;
mod new_rows;
mod normaliser;
mod resolve;
mod scheme;
mod spec;
mod spec_display;
mod spec_error;
mod spec_near;
mod spec_parse;

pub use approximation::{Approximation, Measured, Negatives};
pub use error::WeightsError;
pub use explain::{Explanation, PartExplanation};
pub use frozen::{Frozen, FrozenGroups, FrozenPart, PartKind};
pub use function::{WeightFunction, WeightRule};
pub use learned::{Exposure, Learned};
pub use missing::MissingWeights;
pub use new_rows::NewRow;
pub use normaliser::Normaliser;
pub use scheme::{Groups, Method, Rank, Scheme, Strength};
pub use spec::{ArrayLoader, SchemeSpec};
pub use spec_error::SpecError;
