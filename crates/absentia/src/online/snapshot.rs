//! The whole state as plain data: what is saved beside the model.

use super::Online;
use super::error::OnlineError;
use super::observed::{Observed, UserEntry};
use super::operation::Settings;
use super::pair::{Histories, PairEntry, PairEvent, PairHistory};
use super::rule::WeightMode;
use super::start::check_scheme;
use super::targets::FrozenTargets;
use super::weights::{OnlineWeights, RestoredWeights};
use crate::data::Duplicates;
use crate::error::Axis;
use crate::linalg::Dense;
use crate::linalg::kernels::Kernels;
use crate::model::Model;
use crate::sides::Sides;
use crate::solver::RowScratch;
use crate::solver::growing::GrowingCache;
use crate::weights::Scheme;

/// The entries of all users, one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoredEntries {
    /// Where the entries of each user start, and the number of entries at the end.
    pub offsets: Vec<u64>,
    /// Item of each entry, rising within a user.
    pub items: Vec<u32>,
    /// Raw values, weights, times and boosts; the raw weight alone counts for an exposed entry.
    pub events: Vec<PairEvent>,
    /// Whether the entry is one that was shown and not taken.
    pub exposed: Vec<bool>,
    /// Targets.
    pub targets: Vec<f32>,
    /// Weights.
    pub weights: Vec<f32>,
    /// Whether entries have times.
    pub has_times: bool,
    /// Histories of pairs: user, item, and what their entry does not say.
    pub histories: Vec<(u32, u32, PairHistory)>,
}

/// Everything about an online model that its [`Model`] does not have.
///
/// [`Online::parts`] with [`Online::to_model`] is a snapshot; a model that is restored from it continues
/// with the same bits.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OnlineParts {
    /// Number of operations since the model was trained.
    pub sequence: u64,
    /// How events are learned.
    pub settings: Settings,
    /// Whether weights on missing entries follow the counts.
    pub mode: WeightMode,
    /// What becomes of several interactions of a pair; not [`Duplicates::Auto`].
    pub duplicates: Duplicates,
    /// The entries.
    pub entries: StoredEntries,
    /// The latest time of any interaction.
    pub latest: i64,
    /// The counts of rows without interactions at the last refit.
    pub typical_counts: Sides<u32>,
    /// Number of rows of the training data.
    pub trained_rows: Sides<u64>,
    /// Hashes of the rows that were added.
    pub hashes: Sides<Vec<u64>>,
    /// Weights of each side, without the scale of their column, Z numbers a row.
    pub weights: Sides<Vec<f32>>,
    /// Mean of the weights of each side at the last refit.
    pub mean_weights: Sides<Vec<f32>>,
    /// Weights of a row without interactions.
    pub idle_weights: Sides<Vec<f32>>,
    /// Rows that have the mean as soon as they have an interaction, and until then those weights.
    pub by_mean: Sides<Vec<bool>>,
    /// Sums of the weights of each side.
    pub weight_sums: Sides<Vec<f64>>,
    /// Sums of the products of the weights over observed entries.
    pub observed_sums: Vec<f64>,
    /// The caches in double precision: Z matrices K × K for each side.
    pub cache_sums: Sides<Vec<f64>>,
}

impl Online {
    /// What [`to_model`](Self::to_model) does not have of the state.
    #[must_use]
    pub fn parts(&self) -> OnlineParts {
        let weights = &self.weights;
        OnlineParts {
            sequence: self.sequence,
            settings: self.settings,
            mode: self.mode,
            duplicates: self.observed.histories.duplicates,
            entries: stored(&self.observed),
            latest: self.latest,
            typical_counts: self.targets.typical,
            trained_rows: self.trained_rows.map(|rows| rows as u64),
            hashes: self.hashes.clone(),
            weights: weights.v.as_ref().map(|v| v.as_slice().to_vec()),
            mean_weights: weights.means.clone(),
            idle_weights: weights.idle.clone(),
            by_mean: weights.by_mean.clone(),
            weight_sums: weights.sums.clone(),
            observed_sums: weights.observed.clone(),
            cache_sums: self.caches.as_ref().map(|cache| cache.sums().to_vec()),
        }
    }

    /// Restores a state from a snapshot; `scheme` is that of [`Options`](super::Options).
    ///
    /// # Errors
    /// Parts that do not fit each other or the model.
    pub fn restore(
        model: &Model,
        scheme: Option<Scheme>,
        parts: OnlineParts,
    ) -> Result<Self, OnlineError> {
        model.needs_objective("learn from events")?;
        parts.settings.check()?;
        let scheme = scheme.unwrap_or_else(|| model.weights().to_growing_scheme());
        check_scheme(model, &scheme)?;
        check_sizes(model, &parts)?;
        let observed = restored(&parts.entries, parts.duplicates, model.n_items())?;
        let (k, z) = (model.n_factors(), model.weights().rank());
        let v = parts.weights.as_ref();
        let v = Sides {
            users: Dense::from_slice(model.n_users(), z, v.users),
            items: Dense::from_slice(model.n_items(), z, v.items),
        };
        let (Some(users), Some(items)) = (v.users, v.items) else {
            return Err(wrong("weights", 0, 0));
        };
        let weights = RestoredWeights {
            v: Sides { users, items },
            means: parts.mean_weights,
            idle: parts.idle_weights,
            by_mean: parts.by_mean,
            sums: parts.weight_sums,
            observed: parts.observed_sums,
        };
        let weights =
            OnlineWeights::restored(model.weights(), &scheme, parts.mode, weights, &observed);
        let caches = parts
            .cache_sums
            .map(|sums| GrowingCache::from_sums(k, z, sums));
        let (Some(users), Some(items)) = (caches.users, caches.items) else {
            return Err(wrong("caches", (z * k * k) as u64, 0));
        };
        let counts = Sides {
            users: model.parts().user_counts.clone(),
            items: model.parts().item_counts.clone(),
        };
        Ok(Self {
            params: model.params().clone(),
            history: model.history().to_vec(),
            frozen: model.weights().frozen().clone(),
            scheme,
            mode: parts.mode,
            settings: parts.settings,
            factors: Sides {
                users: model.user_factors().to_padded(),
                items: model.item_factors().to_padded(),
            },
            observed,
            targets: FrozenTargets {
                transform: model.parts().transform,
                counts,
                typical: parts.typical_counts,
            },
            recent_counts: model.parts().recent_counts.clone(),
            weights,
            caches: Sides { users, items },
            trained_rows: parts.trained_rows.map(|rows| rows as usize),
            hashes: parts.hashes,
            sequence: parts.sequence,
            latest: parts.latest,
            kernels: Kernels::in_use(),
            scratch: RowScratch::default(),
        })
    }
}

fn stored(observed: &Observed) -> StoredEntries {
    let len = observed.len as usize;
    let mut stored = StoredEntries {
        has_times: observed.has_times(),
        offsets: vec![0],
        items: Vec::with_capacity(len),
        events: Vec::with_capacity(len),
        exposed: Vec::with_capacity(len),
        targets: Vec::with_capacity(len),
        weights: Vec::with_capacity(len),
        histories: Vec::new(),
    };
    for user in 0..observed.rows.users.len() as u32 {
        for entry in observed.entries_of(user) {
            stored.items.push(entry.item);
            stored.events.push(entry.pair.event());
            stored
                .exposed
                .push(matches!(entry.pair, PairEntry::Exposed(_)));
            stored.targets.push(entry.rc.0);
            stored.weights.push(entry.rc.1);
        }
        stored.offsets.push(stored.items.len() as u64);
    }
    let histories = observed.histories.pairs.iter();
    stored.histories = histories
        .map(|(&(user, item), history)| (user, item, history.clone()))
        .collect();
    stored
}

/// The entries of a snapshot, checked: it may come from a file.
fn restored(
    stored: &StoredEntries,
    duplicates: Duplicates,
    n_items: usize,
) -> Result<Observed, OnlineError> {
    let n_users = stored.offsets.len().saturating_sub(1);
    let mut lengths = vec![0; n_items];
    for &item in &stored.items {
        if let Some(length) = lengths.get_mut(item as usize) {
            *length += 1;
        }
    }
    let of_user = |ends: &[u64]| {
        let (start, end) = (ends[0] as usize, ends[1] as usize);
        let mut entries: Vec<UserEntry> = Vec::with_capacity(end.saturating_sub(start));
        for at in start..end {
            let item = stored.items[at];
            let rises = entries.last().is_none_or(|before| before.item < item);
            if !rises || item as usize >= n_items {
                return Err(wrong("items", n_items as u64, item.into()));
            }
            let event = stored.events[at];
            let pair = if stored.exposed[at] {
                PairEntry::Exposed(event.weight)
            } else {
                PairEntry::Taken(event)
            };
            let rc = (stored.targets[at], stored.weights[at]);
            entries.push(UserEntry { item, pair, rc });
        }
        Ok(entries)
    };
    let pairs = stored.histories.iter();
    let pairs: std::collections::BTreeMap<_, _> = pairs
        .map(|(user, item, history)| ((*user, *item), history.clone()))
        .collect();
    let has_times = stored.has_times;
    let histories = Histories {
        duplicates,
        has_times,
        pairs,
    };
    let users = stored.offsets.windows(2).map(of_user);
    let observed = Observed::new(&lengths, users, histories, has_times)?;
    for (&(user, item), history) in &observed.histories.pairs {
        let is_known = (user as usize) < n_users
            && (item as usize) < n_items
            && matches!(observed.pair((user, item)), Some(PairEntry::Taken(_)));
        if !is_known || history.events.is_empty() {
            return Err(wrong("histories", n_users as u64, user.into()));
        }
    }
    Ok(observed)
}

fn check_sizes(model: &Model, parts: &OnlineParts) -> Result<(), OnlineError> {
    let entries = &parts.entries;
    let z = model.weights().rank();
    let rows = Sides {
        users: model.n_users(),
        items: model.n_items(),
    };
    let n = entries.items.len();
    let mut sizes = vec![
        ("offsets", rows.users + 1, entries.offsets.len()),
        ("events", n, entries.events.len()),
        ("exposed entries", n, entries.exposed.len()),
        ("targets", n, entries.targets.len()),
        ("weights of entries", n, entries.weights.len()),
        ("observed sums", z, parts.observed_sums.len()),
    ];
    for axis in [Axis::User, Axis::Item] {
        let added = rows[axis].saturating_sub(parts.trained_rows[axis] as usize);
        sizes.extend([
            ("weights", rows[axis] * z, parts.weights[axis].len()),
            ("mean weights", z, parts.mean_weights[axis].len()),
            (
                "weights without interactions",
                z,
                parts.idle_weights[axis].len(),
            ),
            (
                "rows with mean weights",
                rows[axis],
                parts.by_mean[axis].len(),
            ),
            ("sums of weights", z, parts.weight_sums[axis].len()),
            ("hashes", added, parts.hashes[axis].len()),
        ]);
    }
    for (what, expected, got) in sizes {
        if expected != got {
            return Err(wrong(what, expected as u64, got as u64));
        }
    }
    let ends = &entries.offsets;
    let rising = ends.first() == Some(&0) && ends.windows(2).all(|ends| ends[0] <= ends[1]);
    if !rising || ends.last() != Some(&(n as u64)) {
        return Err(wrong(
            "offsets",
            n as u64,
            ends.last().copied().unwrap_or(0),
        ));
    }
    let floats = entries.targets.iter().chain(&entries.weights);
    if floats
        .chain(&parts.weights.users)
        .chain(&parts.weights.items)
        .any(|x| !x.is_finite())
    {
        return Err(wrong("finite numbers", 1, 0));
    }
    Ok(())
}

fn wrong(what: &'static str, expected: u64, got: u64) -> OnlineError {
    OnlineError::Snapshot {
        what,
        expected,
        got,
    }
}
