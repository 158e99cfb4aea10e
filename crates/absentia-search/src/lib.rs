//! Settings that give a model the best score on held-out rows.
//!
//! Two strategies share one kind of [`Trial`]: a model is trained with some settings and measured on
//! rows held out of the data ([`Fold`]). Post-scaling is chosen on the trained factors.
//!
//! - [`StagedSearch`] searches a whole [`Space`] of settings, in two phases: uniform weights alone, then all settings. The
//!   trials of a phase are made on rungs: many with few factors and few users measured, the best of them with more, and
//!   the last rung with as many factors as the budget affords, trained exactly as the final model will be. The next trial
//!   depends on the trials so far and nothing else, so that a search can be resumed from its [`TrialLog`].
//! - [`choose_settings`] changes a few settings of one run, one after the other.
//!
//! | file | concept |
//! | --- | --- |
//! | `space/` | which settings there are, and what a point of the space stands for |
//! | `staged/` | the search of `tune` |
//! | `automatic/` | settings that a run was not given |
//! | `fold`, `evaluator`, `post_scale`, `trial_runner` | one trial: held-out rows, training, measuring |
//! | `user_scores` | whether a model is better than a simpler one by more than noise |
//! | `trial`, `session`, `log` | the trials so far |
//! | `sensitivity`, `study`, `correlation` | which settings matter, and how well held-out rows predict the test |
//!
//! ```
//! use absentia::data::{Duplicates, Triplets};
//! use absentia::evaluate::TestSet;
//! use absentia_search::{Budget, Fold, SearchOptions, StagedSearch};
//!
//! let train = Triplets::new(&[0, 0, 1, 1, 2, 3], &[0, 1, 0, 2, 2, 0]).build(4, 3, Duplicates::Error)?;
//! let held_out = TestSet::from_pairs(&[2, 3], &[0, 1])?;
//! let options = SearchOptions { budget: Budget::Trials(4), max_factors: 2, ..SearchOptions::default() };
//! let search = StagedSearch::new(vec![Fold { train, held_out }], options)?;
//! let result = search.search(Vec::new(), &Default::default(), &mut |_| true)?;
//! assert_eq!(result.trials.len(), 4);
//! assert!(result.best().score.is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod automatic;
mod correlation;
mod error;
mod evaluator;
mod fold;
mod log;
mod post_scale;
mod sensitivity;
mod session;
mod space;
mod staged;
mod study;
#[cfg(test)]
mod testing;
mod trial;
mod trial_runner;
mod user_scores;

pub use automatic::{Automatic, ChosenSettings, choose_settings};
pub use error::SearchError;
pub use evaluator::{SingleMetric, popularity_scorers};
pub use fold::{Fold, HoldOut};
pub use log::{LogError, LogHeader, SearchedData, TrialLog};
pub use sensitivity::{Sensitivity, sensitivity};
pub use space::{Dimension, Range, RelationSettings, Scope, SearchedRelation, Settings, Space};
pub use staged::{Baseline, Budget, Rung, Schedule, SearchOptions, SearchResult, StagedSearch};
pub use study::{Agreement, StudiedSetting, Study};
pub use trial::{Measurement, Origin, Trial};
