//! A search for the settings that serve a metric best.
//!
//! Settings are points of a [`Space`]; a trial trains a model at a point and measures it on rows held
//! out of the data. Trials climb rungs: many with few factors and few users measured, the best of them
//! with more, and the last rung with as many factors as the budget affords, trained exactly as
//! training will be; the best may be tried with more factors still. Post-scaling is chosen on the trained factors, sweeps by measuring on the way.
//!
//! | file | concept |
//! | --- | --- |
//! | `dimension`, `space` | what is searched, and what a point stands for |
//! | `propose`, `ladder`, `plan`, `vary` | which trial comes next, from the trials so far alone |
//! | `judge`, `run` | one trial: training, warm starts, measuring |
//! | `search` | the loop, its budget and its log |
//! | `settle`, `typical` | penalty, post-scaling and recipe of a run that was not told them |
//! | `sensitivity`, `correlation` | what the trials say about each setting |
//!
//! ```
//! use absentia::data::{Duplicates, Triplets};
//! use absentia::evaluate::TestSet;
//! use absentia_search::{Budget, Fold, Options, Tuner};
//!
//! let train = Triplets::new(&[0, 0, 1, 1, 2, 3], &[0, 1, 0, 2, 2, 0]).build(4, 3, Duplicates::Error)?;
//! let held_out = TestSet::from_pairs(&[2, 3], &[0, 1])?;
//! let options = Options { budget: Budget::Trials(4), max_factors: 2, ..Options::default() };
//! let tuner = Tuner::new(vec![Fold { train, held_out }], options)?;
//! let found = tuner.search(Vec::new(), &Default::default(), &mut |_| true)?;
//! assert_eq!(found.trials.len(), 4);
//! assert!(found.best().score.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod correlation;
mod dimension;
mod error;
mod judge;
mod ladder;
mod options;
mod plan;
mod propose;
mod run;
mod search;
mod sensitivity;
mod settle;
mod space;
#[cfg(test)]
mod testing;
mod trial;
mod typical;
mod vary;

pub use correlation::spearman;
pub use dimension::{Dimension, Range};
pub use error::TuneError;
pub use ladder::{Ladder, Rung};
pub use options::{Budget, Options};
pub use run::Fold;
pub use search::{Found, Tuner};
pub use sensitivity::{Sensitivity, sensitivity};
pub use settle::{Open, Settled, settle};
pub use space::{Scope, Settings, Space};
pub use trial::{Measurement, Origin, Trial};
