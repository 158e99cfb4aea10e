//! Making an online model of a trained one.

use super::Online;
use super::apply::of_pair;
use super::error::OnlineError;
use super::observed::{Observed, UserEntry};
use super::operation::Settings;
use super::pair::{Histories, PairEntry, PairEvent};
use super::rule::WeightMode;
use super::targets::FrozenTargets;
use super::weights::OnlineWeights;
use crate::data::{Duplicates, Interactions};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::{Model, ModelError};
use crate::sides::Sides;
use crate::solver::RowScratch;
use crate::solver::growing::GrowingCache;
use crate::weights::Scheme;

/// How an online model treats weights and repeated pairs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The scheme that the model was trained with, which a refit resolves again. Without it, the scheme is
    /// that of the model's weights: c0 is fixed also where a mean was requested, and weights by time, learned
    /// ones and given ones stay as they are.
    pub scheme: Option<Scheme>,
    /// Whether weights on missing entries follow the counts.
    pub weights: WeightMode,
    /// What becomes of several interactions of a pair. [`Duplicates::Auto`] is [`Duplicates::Last`] if the
    /// values of the training rows vary, and [`Duplicates::Sum`] otherwise.
    pub duplicates: Duplicates,
    /// How events are learned.
    pub settings: Settings,
}

impl Online {
    /// Makes a trained model learn from events. `rows` are the raw rows that it was trained on.
    ///
    /// # Errors
    /// A model that does not minimise the objective, rows that cannot be those that it was trained on
    /// (another shape, other counts, another latest time), and a scheme with other terms than the model's
    /// weights.
    pub fn new(
        model: &Model,
        rows: &Interactions<'_>,
        options: Options,
    ) -> Result<Self, OnlineError> {
        model.needs_objective("learn from events")?;
        if model.related().is_some() {
            return Err(ModelError::Relations {
                what: "learn from events",
            }
            .into());
        }
        options.settings.check()?;
        check_rows(model, rows)?;
        let scheme = options
            .scheme
            .unwrap_or_else(|| model.weights().to_growing_scheme());
        let parts = model.parts();
        let counts = Sides {
            users: parts.user_counts.clone(),
            items: parts.item_counts.clone(),
        };
        let targets = FrozenTargets::new(parts.transform, &counts);
        let histories = Histories {
            duplicates: options.duplicates.resolved(has_values(rows)),
            has_times: rows.times().is_some(),
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
            recent_counts: parts.recent_counts.clone(),
            weights,
            caches,
            hashes: Sides::default(),
            sequence: 0,
            kernels: Kernels::in_use(),
            scratch: RowScratch::default(),
        })
    }
}

/// Rejects rows that cannot be those of the model, as far as the model tells: it has the number of
/// interactions of every row, unless it was imported, and the latest time if its weights decay.
fn check_rows(model: &Model, rows: &Interactions<'_>) -> Result<(), OnlineError> {
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
    let parts = model.parts();
    let counts = [
        (Axis::User, &parts.user_counts, rows.user_counts()),
        (Axis::Item, &parts.item_counts, rows.item_counts()),
    ];
    for (axis, expected, got) in counts {
        let is_known = expected.iter().any(|&count| count > 0);
        let differs = expected.iter().zip(&got).position(|(x, y)| x != y);
        if let Some(row) = differs.filter(|_| is_known) {
            return Err(OnlineError::OtherCounts {
                axis,
                row: row as u32,
                expected: expected[row],
                got: got[row],
            });
        }
    }
    let transform = &parts.transform;
    let frozen = rows.freeze(transform.targets, transform.confidence)?;
    if frozen.now != transform.now {
        return Err(OnlineError::OtherTimes {
            expected: transform.now,
            got: frozen.now,
        });
    }
    Ok(())
}

/// Whether the values of interactions vary.
fn has_values(rows: &Interactions<'_>) -> bool {
    let values = rows.by_user().targets();
    let mut taken = (0..rows.len()).filter(|&at| !rows.is_exposed(at));
    let first = taken.next().map(|at| values.get(at).to_bits());
    taken.any(|at| Some(values.get(at).to_bits()) != first)
}

/// The rows with their targets and weights.
pub(super) fn observed_of(
    rows: &Interactions<'_>,
    targets: &FrozenTargets,
    histories: Histories,
) -> Result<Observed, OnlineError> {
    let of_user = |user: usize| {
        let (range, row) = (rows.by_user().range(user), rows.by_user().row(user));
        let entry = |(at, &item): (usize, &u32)| {
            let position = range.start + at;
            let pair = if rows.is_exposed(position) {
                PairEntry::Exposed(row.c.get(at))
            } else {
                PairEntry::Taken(PairEvent {
                    value: row.r.get(at),
                    weight: row.c.get(at),
                    time: rows.times().map_or(0, |times| times[position]),
                    boost: 1.0,
                })
            };
            let at = (user as u32, item);
            let rc = targets.of_pair(at, pair);
            let rc = rc.map_err(|fault| of_pair(at, fault))?;
            Ok(UserEntry { item, pair, rc })
        };
        row.indices.iter().enumerate().map(entry).collect()
    };
    let has_times = rows.times().is_some();
    let lengths: Vec<usize> = (0..rows.n_items())
        .map(|item| rows.by_item().row_len(item))
        .collect();
    let users = (0..rows.n_users()).map(of_user);
    Observed::new(&lengths, users, histories, has_times)
}

/// Rejects a scheme whose terms are not those of the model.
pub(super) fn check_scheme(model: &Model, scheme: &Scheme) -> Result<(), OnlineError> {
    let (expected, got) = (model.weights().frozen().parts.len(), scheme.terms().len());
    if expected == got {
        return Ok(());
    }
    Err(OnlineError::OtherScheme { expected, got })
}
