//! The weight of every missing entry: `w_ui = a_u · b_i`, with A (M × Z) and B (N × Z).
//!
//! | scheme | A | B | Z |
//! | --- | --- | --- | --- |
//! | uniform w₀ | w₀ | 1 | 1 |
//! | popularity c₀, α | c₀ | `f_i^α / Σ_j f_j^α` | 1 |
//! | activity c₀, α | `c₀ f_u^α / Σ_v f_v^α` | 1 | 1 |
//! | popularity × activity | `c₀ f_u^β / Σ_v f_v^β` | `f_i^α / Σ_j f_j^α` | 1 |
//! | age | c0 | the share of time in which the item was there | 1 |
//! | available | c0 times the shares of the user's rows in T slices of time | the chances that the item was there in them | T |
//! | groups (segments × categories) | one-hot, or rows of the table | the other | the smaller side |
//! | a product of popularity, activity, age, and one of the others | rows multiplied | rows multiplied | that of the other |
//! | given A, B | as given | as given | any |
//! | given dense W, or a function w(u, i) | truncated SVD or non-negative factors | | chosen |
//! | learned | `(a_u)^α`, scaled | `(b_i)^α`, rates at which items are seen | chosen |
//! | sum | columns joined | columns joined | added |
//!
//! A [`Scheme`] is what was requested; [`Scheme::resolve`] turns it into [`MissingWeights`] for given data
//! and freezes everything that was learned from the data (counts, normalisers, errors of approximation).
//! [`SchemeSpec`] is the same scheme as a line of text, with arrays named by path:
//!
//! ```text
//! uniform:0.01
//! popularity:c0=512,alpha=0.4
//! popularity:mean=0.1,alpha=0.25
//! activity:mean=0.1,alpha=0.5
//! popularity*activity:mean=0.1,alpha=0.4,beta=0.5
//! age:mean=0.1,slices=20,sharpness=0.1
//! available:mean=0.1,slices=month
//! popularity*age:mean=0.1,alpha=0.25,released=dates.csv
//! groups:table.csv,users=segments.csv,items=categories.csv
//! lowrank:A.npy,B.npy
//! dense:W.npy,rank=8,method=nonnegative
//! dense:W.npy,error=0.05,max_rank=32
//! learned:mean=0.01,rank=4,alpha=0.25,rounds=2,seed=0
//! uniform:0.01 + popularity:mean=0.1,alpha=0.4
//! popularity:mean=0.1,alpha=0.4 * groups:table.csv,users=segments.csv,items=categories.csv
//! ```
//!
//! A truncated SVD of a positive W can yield **negative** weights. A row whose weights are negative
//! enough has no minimum, and training then ends with an error. [`Approximation::negatives`] counts them and [`MissingWeights::may_be_negative`] warns;
//! [`Decomposition::NonNegative`] cannot fail this way.

mod approximation;
mod default;
mod error;
mod resolved;
mod scheme;
mod schemes;
mod sums;
mod text;

pub use approximation::{
    Approximation, Decomposition, Measured, Negatives, Rank, WeightFunction, WeightRule,
};
pub use error::WeightsError;
#[doc(hidden)]
pub use resolved::{Frozen, FrozenPart, Normaliser};
pub use resolved::{MissingWeights, NewRow, TermExplanation, WeightExplanation};
#[doc(hidden)]
pub use scheme::Resolved;
pub use scheme::{ArrayLoader, ByPath, InMemory, Requested, Scheme, SchemeForm, SchemeSpec, Term};
pub use schemes::{
    Approximated, GroupPaths, Groups, Learned, LowRank, Period, Presence, Product, Slices,
    Strength, TimeFactor, Uniform,
};
#[doc(hidden)]
pub use schemes::{
    ExposureRates, GivenFactors, ItemHistory, LearnedWeights, ResolvedFunction, ResolvedGroups,
    ResolvedLearned, ResolvedPresence, ResolvedProduct,
};
pub use text::{SpecError, SpecErrorKind};
