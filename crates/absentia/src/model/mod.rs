//! A trained model: factors, the weights they were trained with, and what it can answer.

mod error;
mod explain;
mod factors;
mod fold_blocks;
mod fold_in;
mod recommend;
mod related;
mod similar;

pub use error::ModelError;
pub(crate) use explain::dot;
pub use explain::{Contribution, Explanation};
pub use factors::Factors;
pub use fold_in::{FoldIn, NewEntry, RowEntries, RowWeights};
#[doc(hidden)]
pub use related::RelatedParts;
pub use similar::Similarity;
pub(crate) use similar::similar_rows;

use std::sync::Arc;

use crate::baselines::Neighbours;
use crate::data::FrozenTransform;
use crate::error::Axis;
use crate::fit::Sweep;
use crate::linalg::kernels::Kernels;
use crate::params::{Baseline, Method, Params};
use crate::ranking::{FactorScorer, LazyIndex, rank_among, rank_by_factors};
use crate::weights::MissingWeights;

/// Everything a model consists of; how it is saved and loaded.
#[derive(Clone, Debug)]
pub struct ModelParts {
    /// P, as trained.
    pub user_factors: Factors,
    /// Q, as trained.
    pub item_factors: Factors,
    /// Weights on missing entries, normalisers frozen.
    pub weights: MissingWeights,
    /// How targets and weights of observed entries follow from raw values, with the statistics of the
    /// training data.
    pub transform: FrozenTransform,
    /// Number of interactions of each user.
    pub user_counts: Vec<u32>,
    /// Number of interactions of each item.
    pub item_counts: Vec<u32>,
    /// What items are rescaled by instead, if recent interactions count more
    /// ([`Interactions::recent_item_counts`](crate::data::Interactions::recent_item_counts)): there if and only if
    /// the parameters have a half-life.
    pub recent_counts: Option<Vec<f32>>,
    /// Parameters of the run.
    pub params: Params,
    /// Every sweep of the run.
    pub history: Vec<Sweep>,
    /// What an `itemknn` model scores by instead of factors.
    pub neighbours: Option<Arc<Neighbours>>,
    /// Relations beside the main one that the model was trained with, and the factors of their types.
    pub related: Option<Arc<RelatedParts>>,
}

/// A trained model.
///
/// Scores are `p_u · q_i · n_i^ρ`, `n_i` being the number of interactions of an item, or a count in which recent
/// ones count more. Factors are stored as trained, because folding in and explaining
/// need them unscaled, and the post-scaling is stored beside them.
#[derive(Clone, Debug)]
pub struct Model {
    parts: ModelParts,
    item_scale: Option<Vec<f32>>,
    /// Shared by clones, which have the same factors.
    index: Arc<LazyIndex>,
}

impl Model {
    /// Yields a model of parts that fit each other.
    pub(crate) fn new(parts: ModelParts) -> Self {
        let rho = parts.params.post_scale;
        let power = |count: f64| count.powf(f64::from(rho)) as f32;
        let item_scale = (rho != 0.0).then(|| {
            if let Some(recent) = &parts.recent_counts {
                return recent.iter().map(|&m| power(f64::from(m))).collect();
            }
            let counts = parts.item_counts.iter();
            counts.map(|&n| power(f64::from(n.max(1)))).collect()
        });
        Self {
            parts,
            item_scale,
            index: Arc::default(),
        }
    }

    /// Yields a model of parts that were loaded or made outside of a run.
    ///
    /// # Errors
    /// Parts whose shapes do not fit each other, and factors that are not finite.
    pub fn from_parts(parts: ModelParts) -> Result<Self, ModelError> {
        let (users, items) = (parts.user_factors.rows(), parts.item_factors.rows());
        let k = parts.user_factors.cols();
        let shapes = [
            ("columns of the item factors", k, parts.item_factors.cols()),
            ("factors of the parameters", k, parts.params.factors),
            ("user weights", users, parts.weights.a().rows()),
            ("item weights", items, parts.weights.b().rows()),
            ("user counts", users, parts.user_counts.len()),
            ("item counts", items, parts.item_counts.len()),
            (
                "recent item counts",
                parts.params.post_scale_half_life.map_or(0, |_| items),
                parts.recent_counts.as_ref().map_or(0, Vec::len),
            ),
        ];
        for (what, expected, got) in shapes {
            if expected != got {
                return Err(ModelError::Shape {
                    what,
                    expected,
                    got,
                });
            }
        }
        parts.params.clone().check()?;
        let is_knn = matches!(
            parts.params.solver,
            Method::Baseline(Baseline::ItemKnn { .. })
        );
        if is_knn != parts.neighbours.is_some() {
            return Err(ModelError::Shape {
                what: "sets of neighbours",
                expected: usize::from(is_knn),
                got: usize::from(parts.neighbours.is_some()),
            });
        }
        if let Some(neighbours) = &parts.neighbours {
            for (what, expected, got) in [
                ("users with neighbours", users, neighbours.n_users()),
                ("items with neighbours", items, neighbours.n_items()),
            ] {
                if expected != got {
                    return Err(ModelError::Shape {
                        what,
                        expected,
                        got,
                    });
                }
            }
        }
        if let Some(related) = &parts.related {
            related.check(users, items, k)?;
        }
        let is_count = |m: &f32| m.is_finite() && *m > 0.0;
        let mut recent = parts.recent_counts.iter().flatten();
        if let Some(row) = recent.position(|m| !is_count(m)) {
            return Err(ModelError::RecentCount { row });
        }
        for (axis, factors) in [
            (Axis::User, &parts.user_factors),
            (Axis::Item, &parts.item_factors),
        ] {
            if let Some(row) =
                (0..factors.rows()).find(|&row| factors.row(row).iter().any(|x| !x.is_finite()))
            {
                return Err(ModelError::NotFinite { axis, row });
            }
        }
        Ok(Self::new(parts))
    }

    /// What the model consists of.
    #[must_use]
    pub fn parts(&self) -> &ModelParts {
        &self.parts
    }

    /// Number of users M.
    #[must_use]
    pub fn n_users(&self) -> usize {
        self.parts.user_factors.rows()
    }

    /// Number of items N.
    #[must_use]
    pub fn n_items(&self) -> usize {
        self.parts.item_factors.rows()
    }

    /// Number of factors K.
    #[must_use]
    pub fn n_factors(&self) -> usize {
        self.parts.user_factors.cols()
    }

    /// P, as trained (M × K).
    #[must_use]
    pub fn user_factors(&self) -> &Factors {
        &self.parts.user_factors
    }

    /// Q, as trained (N × K).
    #[must_use]
    pub fn item_factors(&self) -> &Factors {
        &self.parts.item_factors
    }

    /// The post-scaling `n_i^ρ` of each item, where there is one.
    #[must_use]
    pub fn item_scale(&self) -> Option<&[f32]> {
        self.item_scale.as_deref()
    }

    /// Weights on missing entries.
    #[must_use]
    pub fn weights(&self) -> &MissingWeights {
        &self.parts.weights
    }

    /// Parameters of the run.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.parts.params
    }

    /// What an `itemknn` model scores by instead of factors.
    #[must_use]
    pub fn neighbours(&self) -> Option<&Neighbours> {
        self.parts.neighbours.as_deref()
    }

    /// Rejects requests that only factors that minimise J can answer.
    pub(crate) fn needs_objective(&self, what: &'static str) -> Result<(), ModelError> {
        let solver = self.params().solver;
        if solver.minimises_objective() {
            Ok(())
        } else {
            Err(ModelError::NotOfThisMethod {
                solver: solver.name(),
                what,
            })
        }
    }

    /// Every sweep of the run.
    #[must_use]
    pub fn history(&self) -> &[Sweep] {
        &self.parts.history
    }

    /// Yields the model with another post-scaling; nothing is trained again.
    #[must_use]
    pub fn with_post_scale(mut self, rho: f32) -> Self {
        self.parts.params.post_scale = rho;
        Self::new(self.parts)
    }

    /// Scores of given pairs of user and item.
    ///
    /// # Errors
    /// Names a user or item that the model does not have.
    pub fn scores(&self, pairs: &[(u32, u32)]) -> Result<Vec<f32>, ModelError> {
        pairs
            .iter()
            .map(|&(user, item)| {
                self.check(Axis::User, user)?;
                self.check(Axis::Item, item)?;
                if let Some(neighbours) = &self.parts.neighbours {
                    return Ok(neighbours.score(user, item));
                }
                Ok(self.score_row(self.user_factors().row(user as usize), item))
            })
            .collect()
    }

    /// The rank of an item among all items for a user, from 1; an item of equal score and smaller row
    /// comes before it.
    ///
    /// # Errors
    /// Names a user or item that the model does not have.
    pub fn rank_of(&self, user: u32, item: u32) -> Result<u32, ModelError> {
        self.check(Axis::User, user)?;
        self.check(Axis::Item, item)?;
        let items = self.n_items() as u32;
        if let Some(neighbours) = &self.parts.neighbours {
            return Ok(rank_among(items, item, |item| neighbours.score(user, item)));
        }
        let (users, factors) = (self.user_factors(), self.item_factors());
        let scorer = FactorScorer::of_model(users.into(), factors.into(), self.item_scale());
        Ok(rank_by_factors(&scorer, user, item))
    }

    fn score_row(&self, p: &[f32], item: u32) -> f32 {
        let scale = self.item_scale().map_or(1.0, |scale| scale[item as usize]);
        Kernels::in_use().score(p, self.item_factors().row(item as usize), scale)
    }

    pub(crate) fn check(&self, axis: Axis, index: u32) -> Result<(), ModelError> {
        let count = match axis {
            Axis::User => self.n_users(),
            Axis::Item => self.n_items(),
        };
        if (index as usize) < count {
            Ok(())
        } else {
            Err(ModelError::Unknown { axis, index, count })
        }
    }
}
