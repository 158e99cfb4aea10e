//! Similar items and similar users, by their factors.

use super::recommend::best;
use super::{Factors, Model, ModelError};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::ranking::{FactorScorer, RankRequest, Scored};

/// How similarity is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Similarity {
    /// Cosine of the angle between factors; 0 for a row of zeros.
    #[default]
    Cosine,
    /// Inner product of the factors.
    InnerProduct,
}

impl Model {
    /// Yields, for each of `rows`, the `n` rows of the same side that are most similar to it, itself
    /// excluded. `Scored::item` is the row number on that side.
    ///
    /// Factors are used as trained: post-scaling changes their lengths, not their directions, and is for
    /// recommendations only.
    ///
    /// # Errors
    /// Names a row that the model does not have.
    pub fn similar(
        &self,
        axis: Axis,
        rows: &[u32],
        n: usize,
        by: Similarity,
    ) -> Result<Vec<Vec<Scored>>, ModelError> {
        if self.neighbours().is_some() {
            return Err(ModelError::NotOfThisMethod {
                solver: self.params().solver.name(),
                what: "compare factors because it has none",
            });
        }
        for &row in rows {
            self.check(axis, row)?;
        }
        let factors = match axis {
            Axis::User => self.user_factors(),
            Axis::Item => self.item_factors(),
        };
        let unit = (by == Similarity::Cosine).then(|| Factors::from(normalized(factors)));
        let factors = unit.as_ref().unwrap_or(factors);
        let scorer = FactorScorer::of_model(factors.into(), factors.into(), None);
        let request = RankRequest {
            users: rows,
            top: n.saturating_add(1),
            ..RankRequest::default()
        };
        let mut lists = best(&scorer, &request)?;
        for (list, &row) in lists.iter_mut().zip(rows) {
            list.retain(|scored| scored.item != row);
            list.truncate(n);
        }
        Ok(lists)
    }
}

fn normalized(factors: &Factors) -> Dense {
    let mut unit = Dense::zeros(factors.rows(), factors.cols());
    for row in 0..factors.rows() {
        let from = factors.row(row);
        let length = from
            .iter()
            .map(|x| f64::from(*x) * f64::from(*x))
            .sum::<f64>()
            .sqrt();
        if length > 0.0 {
            for (slot, x) in unit.row_mut(row).iter_mut().zip(from) {
                *slot = (f64::from(*x) / length) as f32;
            }
        }
    }
    unit
}
