//! A search for the settings that serve a metric best.
//!
//! Settings are points of a [`Space`]; a trial trains a model at a point and measures it on rows held
//! out of the data. Trials climb rungs: many with few factors and few users measured, the best of them
//! with more, and the last rung with as many factors as the budget affords, trained exactly as
//! training will be; the best may be tried with more factors still. Post-scaling is chosen on the trained factors, sweeps by measuring on the way.
//!
//! | file | concept |
//! | --- | --- |
//! | `space/` | what is searched, and what a point stands for |
//! | `staged/` | the search of `tune`: which trial comes next, from the trials so far alone |
//! | `automatic/` | regularization, post-scaling, targets and weights of a run that was not given them |
//! | `trial_runner`, `evaluator` | one trial: training, warm starts, measuring |
//! | `sensitivity`, `correlation` | what the trials say about each setting |
//!
//! ```
//! use absentia::data::{Duplicates, Triplets};
//! use absentia::evaluate::TestSet;
//! use absentia_search::{Budget, Fold, SearchOptions, StagedSearch};
//!
//! let train = Triplets::new(&[0, 0, 1, 1, 2, 3], &[0, 1, 0, 2, 2, 0]).build(4, 3, Duplicates::Error)?;
//! let held_out = TestSet::from_pairs(&[2, 3], &[0, 1])?;
//! let options = SearchOptions { budget: Budget::Trials(4), max_factors: 2, ..SearchOptions::default() };
//! let tuner = StagedSearch::new(vec![Fold { train, held_out }], options)?;
//! let found = tuner.search(Vec::new(), &Default::default(), &mut |_| true)?;
//! assert_eq!(found.trials.len(), 4);
//! assert!(found.best().score.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod automatic;
mod correlation;
mod error;
mod evaluator;
mod sensitivity;
mod space;
mod staged;
#[cfg(test)]
mod testing;
mod trial;
mod trial_runner;

pub use automatic::{Automatic, ChosenSettings, choose_settings};
pub use correlation::spearman;
pub use error::SearchError;
pub use sensitivity::{Sensitivity, sensitivity};
pub use space::{Dimension, Range, Scope, Settings, Space};
pub use staged::{Budget, Rung, Schedule, SearchOptions, SearchResult, StagedSearch};
pub use trial::{Measurement, Origin, Trial};
pub use trial_runner::Fold;
