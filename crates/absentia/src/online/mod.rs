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
//! | `operation` | what can happen, as data |
//! | `apply` | what each operation does |
//! | `rows`, `observed` | entries of both sides that can grow |
//! | `pair` | interactions of one pair, merged by the rule for repeated pairs |
//! | `targets` | targets and weights of entries, frozen until the next refit |
//! | `weights` | weights on missing entries, frozen or following the counts |
//! | `step` | improving one row |
//! | `refit` | rebuilding the caches, training all rows |
//! | `export` | the state as a model, and its objective |
//! | `snapshot` | the whole state as plain data |

mod apply;
mod error;
mod export;
mod observed;
mod operation;
mod pair;
mod refit;
mod rows;
mod snapshot;
mod step;
mod targets;
mod weights;

pub use error::OnlineError;
pub use operation::{Applied, Event, MAX_STEPS, Operation, Settings};
pub use pair::{History, MAX_EVENTS, PairEvent};
pub use snapshot::{OnlineParts, StoredEntries};
pub use weights::WeightMode;

use crate::data::{Duplicates, Interactions};
use crate::error::Axis;
use crate::fit::Sweep;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Model;
use crate::params::Params;
use crate::sides::Sides;
use crate::solver::RowScratch;
use crate::solver::growing::GrowingCache;
use crate::weights::{Frozen, Scheme};
use observed::{Observed, UserEntry};
use pair::{Histories, Pair, PairEvent as RawEvent};
use targets::FrozenTargets;
use weights::OnlineWeights;

/// How an online model treats weights and repeated pairs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The scheme that the model was trained with. Without it, the scheme is that of the model's
    /// weights, in which c0 is fixed also where a mean was requested.
    pub scheme: Option<Scheme>,
    /// Whether weights on missing entries follow the counts.
    pub weights: WeightMode,
    /// What becomes of several interactions of a pair.
    pub duplicates: Duplicates,
    /// How events are learned.
    pub settings: Settings,
}

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
    /// Makes a trained model learn from events. `rows` are the raw rows that it was trained on.
    ///
    /// # Errors
    /// A model that does not minimise the objective, rows of another shape than the model's, and a
    /// scheme with other terms than the model's weights.
    pub fn new(
        model: &Model,
        rows: &Interactions<'_>,
        options: Options,
    ) -> Result<Self, OnlineError> {
        model.needs_objective("learn from events")?;
        check_settings(options.settings)?;
        let shapes = [
            ("users", model.n_users(), rows.n_users()),
            ("items", model.n_items(), rows.n_items()),
        ];
        for (what, expected, got) in shapes {
            if expected != got {
                return Err(OnlineError::OtherRows {
                    what,
                    expected: expected as u64,
                    got: got as u64,
                });
            }
        }
        let scheme = options
            .scheme
            .unwrap_or_else(|| model.weights().to_scheme());
        let parts = model.parts();
        let counts = Sides {
            users: parts.user_counts.clone(),
            items: parts.item_counts.clone(),
        };
        let targets = FrozenTargets::new(parts.transform, &counts);
        let histories = Histories {
            duplicates: options.duplicates,
            ..Histories::default()
        };
        let observed = observed_of(rows, &targets, histories)?;
        check_scheme(model, &scheme)?;
        let weights = OnlineWeights::new(model.weights(), &scheme, options.weights, &observed);
        let factors = Sides {
            users: model.user_factors().to_padded(),
            items: model.item_factors().to_padded(),
        };
        let caches = Sides::from_fn(|axis| GrowingCache::new(&factors[axis], &weights.v[axis]));
        Ok(Self {
            params: model.params().clone(),
            history: model.history().to_vec(),
            frozen: model.weights().frozen().clone(),
            scheme,
            mode: options.weights,
            settings: options.settings,
            trained_rows: factors.as_ref().map(Dense::rows),
            factors,
            latest: rows
                .times()
                .and_then(|times| times.iter().copied().max())
                .unwrap_or(0),
            observed,
            targets,
            weights,
            caches,
            hashes: Sides::default(),
            sequence: 0,
            kernels: Kernels::in_use(),
            scratch: RowScratch::default(),
        })
    }

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
        f64::from(self.targets.counts.items[item].max(1)).powf(f64::from(rho)) as f32
    }
}

impl std::fmt::Debug for Online {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (users, items) = (self.n_rows(Axis::User), self.n_rows(Axis::Item));
        write!(f, "Online({users} × {items}, {} operations)", self.sequence)
    }
}

/// The rows with their targets and weights.
fn observed_of(
    rows: &Interactions<'_>,
    targets: &FrozenTargets,
    histories: Histories,
) -> Result<Observed, OnlineError> {
    let mut users = Vec::with_capacity(rows.n_users());
    for user in 0..rows.n_users() {
        let (range, row) = (rows.by_user().range(user), rows.by_user().row(user));
        let entry = |(at, &item): (usize, &u32)| {
            let position = range.start + at;
            let pair = if rows.is_exposed(position) {
                Pair::Exposed(row.c.get(at))
            } else {
                Pair::Taken(RawEvent {
                    value: row.r.get(at),
                    weight: row.c.get(at),
                    time: rows.times().map_or(0, |times| times[position]),
                    boost: 1.0,
                })
            };
            let rc = targets.of_pair((user as u32, item), pair)?;
            Ok(UserEntry { item, pair, rc })
        };
        let entries: Result<Vec<_>, OnlineError> =
            row.indices.iter().enumerate().map(entry).collect();
        users.push(entries?);
    }
    let has_times = rows.times().is_some();
    Ok(Observed::new(
        rows.n_items(),
        users.into_iter(),
        histories,
        has_times,
    ))
}

/// Rejects a scheme whose terms are not those of the model.
fn check_scheme(model: &Model, scheme: &Scheme) -> Result<(), OnlineError> {
    let (expected, got) = (model.weights().frozen().parts.len(), scheme.terms().len());
    if expected == got {
        return Ok(());
    }
    Err(OnlineError::OtherScheme { expected, got })
}

fn check_settings(settings: Settings) -> Result<(), OnlineError> {
    if settings.steps > MAX_STEPS {
        return Err(OnlineError::Setting {
            name: "steps",
            got: settings.steps.into(),
            range: "at most 1000",
        });
    }
    let weight = settings.weight_of_new;
    if !(weight.is_finite() && weight >= 0.0) {
        return Err(OnlineError::Setting {
            name: "weight of new entries",
            got: weight.into(),
            range: "finite and at least 0",
        });
    }
    Ok(())
}
