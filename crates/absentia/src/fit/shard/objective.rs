//! The objective from what the shards add to it.

use super::Caches;
use crate::fit::backend::{ObjectiveSums, Precision};
use crate::fit::sums::{FeatureSums, Missing, SumParts};
use crate::row_sums::RowSum;
use crate::sides::Sides;
use crate::solver::EntryLoss;
use crate::solver::in_double::DoubleCache;
use crate::solver::objective::size_of_all;

/// What the rows of a shard add to the objective.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ObjectiveShare {
    pub(super) loss: RowSum<EntryLoss>,
    pub(super) ridge: Sides<RowSum<f64>>,
    /// Sizes of the predictions of sampled entries, by the number of entries before them.
    pub(super) sizes: Vec<(usize, Vec<f64>)>,
    /// The loss of the missing entries, where every entry is visited.
    pub(super) missing: RowSum<f64>,
}

impl ObjectiveShare {
    /// What is left to know where the last half-sweep has summed the rest: the sizes of the predictions of the sample,
    /// in the order of its entries.
    #[must_use]
    pub fn of_sample(sizes: Vec<f64>) -> Self {
        Self {
            sizes: vec![(0, sizes)],
            ..Self::default()
        }
    }

    /// What the rows of both add.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.sizes.extend(other.sizes);
        Self {
            loss: self.loss.merge(other.loss),
            ridge: Sides {
                users: self.ridge.users.merge(other.ridge.users),
                items: self.ridge.items.merge(other.ridge.items),
            },
            sizes: self.sizes,
            missing: self.missing.merge(other.missing),
        }
    }
}

/// What is known of all rows together.
pub struct Totals<'a> {
    /// How exactly the objective is summed.
    pub precision: Precision,
    /// What the last half-sweep measured of the entries, if it did.
    pub measured: Option<EntryLoss>,
    /// `Σ λ|p|²` of each side, if its last half-sweep has summed it.
    pub ridge: Sides<Option<f64>>,
    /// The caches of both sides.
    pub caches: Sides<&'a Caches>,
    /// The caches in double precision, where the precision is that.
    pub double: Option<Sides<RowSum<Vec<f64>>>>,
    /// Number of observed entries.
    pub entries: usize,
    /// Number of factors.
    pub factors: usize,
    /// Rank of the weights on missing entries.
    pub rank: usize,
    /// Whether some weight on missing entries may be below zero.
    pub may_be_negative: bool,
}

impl Totals<'_> {
    /// The objective, from what all shards add to it.
    #[must_use]
    pub fn objective(self, share: ObjectiveShare) -> ObjectiveSums {
        let precision = self.precision;
        let measured = self.measured.filter(|_| precision == Precision::Fast);
        let ridge = |known: Option<f64>, sum: RowSum<f64>| match precision {
            Precision::Fast | Precision::Exact if known.is_some() => known.unwrap_or(0.0),
            _ => sum.total().unwrap_or(0.0),
        };
        let of_users = ridge(self.ridge.users, share.ridge.users);
        let regularization = of_users + ridge(self.ridge.items, share.ridge.items);
        let missing = match (precision, self.double) {
            (Precision::EveryEntry, _) => Missing::Known(share.missing.total().unwrap_or(0.0)),
            (Precision::Double, Some(sums)) => {
                let cache = |sums: RowSum<Vec<f64>>| {
                    DoubleCache::of_sums(self.factors, self.rank, sums.total().as_deref())
                };
                Missing::All(cache(sums.users).inner(&cache(sums.items)))
            }
            _ => Missing::All(self.caches.users.single.inner(&self.caches.items.single)),
        };
        let parts = SumParts {
            precision,
            is_measured: measured.is_some(),
            loss: measured.unwrap_or_else(|| share.loss.total().unwrap_or_default()),
            regularization,
            missing,
            // Shards are not given features.
            features: FeatureSums::default(),
            entries: self.entries,
            factors: self.factors,
            may_be_negative: self.may_be_negative,
        };
        let mut sizes = share.sizes;
        sizes.sort_by_key(|(before, _)| *before);
        let sizes: Vec<f64> = sizes.into_iter().flat_map(|(_, sizes)| sizes).collect();
        parts.objective(|| size_of_all(&sizes, self.entries))
    }
}
