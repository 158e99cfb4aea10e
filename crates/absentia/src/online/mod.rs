//! Online learning: every event is learned at once, exactly, and can be undone.
//!
//! An [`Online`] model holds the factors of a trained model, its training rows in a form that can grow,
//! and the caches of both sides in double precision. Learning an event (u, i) moves the entry from the
//! missing part of the objective to the observed one and makes one coordinate pass on `p_u` and one on
//! `q_i`, by the solver that trains `eals`. Both caches follow by
//! `S^p_t += a'_ut p'p'ᵀ − a_ut p pᵀ`, so that an event costs `O(ZK² + (n_u + n_i)(K + Z))`, whatever the
//! size of the data. `docs/online.md` has the mathematics.
//!
//! | file | concept |
//! | --- | --- |
//! | `start` | an online model of a trained one |
//! | `operation` | what can happen, as data |
//! | `apply` | what each operation does |
//! | `rows`, `observed` | entries of both sides that can grow |
//! | `pair` | interactions of one pair, merged by the rule for repeated pairs |
//! | `targets` | targets and weights of entries, frozen until the next refit |
//! | `weights` | weights on missing entries, frozen or following the counts |
//! | `rule` | which columns of them follow the counts, and how |
//! | `step` | improving one row |
//! | `refit` | rebuilding the caches, training all rows |
//! | `drift` | how far the caches are from recomputed sums |
//! | `ranking` | the best items of a user |
//! | `single_row` | users that are not stored, and why an item has its score |
//! | `export` | the state as a model, and its objective |
//! | `memory` | what it takes, before it is made |
//! | `snapshot` | the whole state as plain data |

mod apply;
mod drift;
mod error;
mod export;
mod memory;
mod observed;
mod operation;
mod pair;
mod ranking;
mod refit;
mod rows;
mod rule;
mod single_row;
mod snapshot;
mod start;
mod step;
mod targets;
mod weights;

pub use drift::CacheCheck;
pub use error::{OnlineError, PairFault};
pub use operation::{Applied, Event, Operation, Settings};
#[doc(hidden)]
pub use pair::{MAX_EVENTS, PairEvent, PairHistory};
pub use refit::{REFIT_SWEEPS, TrainFrom};
pub use rule::WeightMode;
#[doc(hidden)]
pub use snapshot::{OnlineParts, StoredEntries};
pub use start::Options;

use crate::data::{Confidence, Duplicates};
use crate::error::Axis;
use crate::fit::Sweep;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::params::Params;
use crate::sides::Sides;
use crate::solver::RowScratch;
use crate::solver::growing::GrowingCache;
use crate::weights::{Frozen, Scheme};
use observed::Observed;
use targets::FrozenTargets;
use weights::OnlineWeights;

/// A model that learns from single events.
///
/// ```
/// use absentia::data::{Duplicates, Triplets};
/// use absentia::fit::{Run, fit};
/// use absentia::online::{Event, Online, Operation, Options};
/// use absentia::weights::Scheme;
/// use absentia::Params;
///
/// let data = Triplets::new(&[0, 0, 1, 1, 2], &[0, 1, 0, 1, 2]).build(3, 3, Duplicates::Error)?;
/// let params = Params::new().factors(2).iterations(30).init_std(0.1).check()?;
/// let model = fit(&data, &Scheme::uniform(0.1), &params, Run::default())?.model;
/// let mut online = Online::new(&model, &data, Options::default())?;
/// let before = online.score(2, 0);
/// online.apply(&Operation::Insert(Event::new(2, 0)))?;
/// assert!(online.score(2, 0) > before);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Online {
    params: Params,
    history: Vec<Sweep>,
    /// The meaning of the weights at the last refit.
    frozen: Frozen,
    scheme: Scheme,
    mode: WeightMode,
    settings: Settings,
    factors: Sides<Dense>,
    observed: Observed,
    targets: FrozenTargets,
    /// What items are rescaled by, if recent interactions count more; frozen at the last refit.
    recent_counts: Option<Vec<f32>>,
    weights: OnlineWeights,
    caches: Sides<GrowingCache>,
    /// Number of rows before the first one that was added, and the hashes of those that were.
    trained_rows: Sides<usize>,
    hashes: Sides<Vec<u64>>,
    sequence: u64,
    /// The latest time of any interaction.
    latest: i64,
    kernels: Kernels,
    scratch: RowScratch,
}

impl Online {
    /// Number of operations since the model was trained.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How events are learned.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// Whether weights on missing entries follow the counts.
    #[must_use]
    pub fn weight_mode(&self) -> WeightMode {
        self.mode
    }

    /// Number of sweeps that the settings of the model ask for.
    #[must_use]
    pub fn sweeps(&self) -> usize {
        self.params.iterations
    }

    /// How the weights of entries follow from the values and weights of events.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.targets.transform.confidence
    }

    /// What becomes of several interactions of a pair.
    #[must_use]
    pub fn duplicates(&self) -> Duplicates {
        self.observed.histories.duplicates
    }

    /// The latest time of any interaction; 0 if there are no times.
    #[must_use]
    pub fn latest(&self) -> i64 {
        self.latest
    }

    /// Number of users or items.
    #[must_use]
    pub fn n_rows(&self, axis: Axis) -> usize {
        self.factors[axis].rows()
    }

    /// Number of entries of the objective, exposed ones included.
    #[must_use]
    pub fn n_entries(&self) -> u64 {
        self.observed.len
    }

    /// Number of interactions of each user or item, as it is now.
    #[must_use]
    pub fn counts(&self, axis: Axis) -> &[u32] {
        &self.observed.counts[axis]
    }

    /// The factors of one side, as they are now.
    #[must_use]
    pub fn factors(&self, axis: Axis) -> &Dense {
        &self.factors[axis]
    }

    /// The columns of a row's entries, exposed ones included, rising.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn columns(&self, axis: Axis, row: u32) -> &[u32] {
        self.observed.rows[axis][row as usize].indices()
    }

    /// Items that the user interacted with, rising.
    ///
    /// # Panics
    /// If there is no such user.
    pub fn seen(&self, user: u32) -> impl Iterator<Item = u32> + '_ {
        let items = self.columns(Axis::User, user).iter().copied();
        items.filter(move |&item| !self.observed.is_exposed(user, item))
    }

    /// Whether the user interacted with an item.
    ///
    /// # Panics
    /// If there is no such user.
    #[must_use]
    pub fn has_seen(&self, user: u32, item: u32) -> bool {
        let items = self.columns(Axis::User, user);
        items.binary_search(&item).is_ok() && !self.observed.is_exposed(user, item)
    }

    /// The score of a pair, post-scaling included.
    ///
    /// # Panics
    /// If there is no such user or item.
    #[must_use]
    pub fn score(&self, user: u32, item: u32) -> f32 {
        let (p, q) = (&self.factors.users, &self.factors.items);
        let scale = self.item_scale(item as usize);
        self.kernels
            .score(p.row(user as usize), q.row(item as usize), scale)
    }

    /// The scores of all items for a user, post-scaling included.
    ///
    /// # Panics
    /// If there is no such user.
    #[must_use]
    pub fn scores(&self, user: u32) -> Vec<f32> {
        (0..self.n_rows(Axis::Item) as u32)
            .map(|item| self.score(user, item))
            .collect()
    }

    /// The caches `S_t = Σ_i v_it q_i q_iᵀ` of one side in double precision: Z matrices K × K, row by
    /// row, of which the lower triangle counts. `v` are the weights of the side without the scale of
    /// their column.
    #[must_use]
    pub fn cache_sums(&self, axis: Axis) -> &[f64] {
        self.caches[axis].sums()
    }

    /// The weights of one side without the scale of their column, and these scales: the weight of a
    /// missing entry is `Σ_t s_t v_ut v_it`.
    #[must_use]
    pub fn missing_parts(&self, axis: Axis) -> (&Dense, &[f64]) {
        (&self.weights.v[axis], self.weights.scales())
    }

    /// Bytes that entries, factors, caches and weights take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_axis = |axis: Axis| {
            let (factors, v) = (&self.factors[axis], &self.weights.v[axis]);
            let floats = factors.as_slice().len() + v.as_slice().len();
            4 * floats as u64 + 8 * self.caches[axis].sums().len() as u64
        };
        self.observed.bytes() + of_axis(Axis::User) + of_axis(Axis::Item)
    }

    /// Sets the number of threads that a refit uses; the result does not depend on it.
    pub fn set_threads(&mut self, threads: Option<usize>) {
        self.params.threads = threads;
    }

    /// The post-scaling of an item.
    fn item_scale(&self, item: usize) -> f32 {
        let rho = self.params.post_scale;
        if rho == 0.0 {
            return 1.0;
        }
        let count = match &self.recent_counts {
            Some(recent) => f64::from(recent[item]),
            None => f64::from(self.targets.counts.items[item].max(1)),
        };
        count.powf(f64::from(rho)) as f32
    }
}

impl std::fmt::Debug for Online {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (users, items) = (self.n_rows(Axis::User), self.n_rows(Axis::Item));
        write!(f, "Online({users} × {items}, {} operations)", self.sequence)
    }
}
