//! Built-in data with a known truth: what each user was shown, and what they would have liked.
//!
//! An entry is observed only if it was *exposed* and *liked*, so for every missing entry it is
//! known whether it is a true negative (shown, not liked) or was simply never seen:
//!
//! ```text
//! item i is shown to user u     with probability π_g(i) ∝ popularity_i · affinity(g, category(i))   per draw, g = segment(u)
//! a shown item is liked         with probability (1 − noise) σ(taste · θ_u·β_i + bias) + noise · like_rate
//! user u is shown items until   quota_u of them were liked; quota_u follows a power law, Σ_u quota_u = entries
//! ```
//!
//! Taste (θ, β of a planted rank) is drawn independently of segments, categories and popularity:
//! what is shown does not depend on what is liked. Each user has a random stream of their own, so
//! users can be generated in any order, in parallel and as often as needed; memory is
//! `O(items · rank + segments · categories)` however many users and entries there are.
//!
//! The quota makes the number of entries exact without a counting pass. Its price: users who like
//! little of what they are shown are shown more, and `n_u` (the number of draws) is a stopping time.
//! By Wald's identity the expected number of times i is shown to u is still `E[n_u] · π_g(i)`.
//!
//! ```
//! use absentia_lab::generate::{Generator, GeneratorParams};
//!
//! let generator = Generator::new(GeneratorParams::new(1000, 500, 20_000))?;
//! let data = generator.interactions()?;
//! assert_eq!(data.len(), 20_000);
//! let feedback = generator.user(7).feedback();
//! assert_eq!(feedback.liked, data.by_user().row(7).indices);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod activity;
mod alias;
mod catalogue;
mod error;
mod generator;
mod held_out;
mod params;
mod permutation;
mod seen;
mod showing;
mod streams;
mod taste;
mod truth;
mod user;

pub use error::GenerateError;
pub use generator::Generator;
pub use held_out::TestItems;
pub use params::{ExposureModel, GeneratorParams};
pub use truth::ExpectedExposures;
pub use user::{Feedback, User};

#[cfg(test)]
mod tests;
