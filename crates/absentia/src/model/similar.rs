//! Similar items and similar users, by their factors.

use super::recommend::best;
use super::{Factors, Model, ModelError};
use crate::error::{Axis, named};
use crate::linalg::Dense;
use crate::ranking::{FactorRows, FactorScorer, RankRequest, Scored};

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

named!(
    Similarity,
    "cosine or inner-product",
    Cosine = "cosine",
    InnerProduct = "inner-product"
);

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
        similar_rows(factors.into(), rows, n, by)
    }
}

impl Model {
    /// Yields, for each of `rows` of one type, the `n` rows of another type that are most similar to it: items near
    /// a tag, tags near a user. Types are numbered as in [`RelatedParts`](super::RelatedParts).
    ///
    /// # Errors
    /// Names a type or row that the model does not have.
    pub fn similar_across(
        &self,
        (from, to): (usize, usize),
        rows: &[u32],
        n: usize,
        by: Similarity,
    ) -> Result<Vec<Vec<Scored>>, ModelError> {
        let factors = |entity: usize| {
            let unknown = || ModelError::UnknownRow {
                entity: "types".to_owned(),
                index: entity as u32,
                count: self.related().map_or(2, |related| related.entities.len()),
            };
            self.entity_factors(entity).ok_or_else(unknown)
        };
        let (own, other) = (factors(from)?, factors(to)?);
        if let Some(&index) = rows.iter().find(|&&row| row as usize >= own.rows()) {
            let name = |related: &super::RelatedParts| related.entities[from].name.clone();
            return Err(ModelError::UnknownRow {
                entity: self.related().map(name).unwrap_or_default(),
                index,
                count: own.rows(),
            });
        }
        let unit = |factors: &Factors| match by {
            Similarity::Cosine => Factors::from(normalized(factors.into())),
            Similarity::InnerProduct => factors.clone(),
        };
        let (own, other) = (unit(own), unit(other));
        let scorer = FactorScorer::of_model((&own).into(), (&other).into(), None);
        let top = n.saturating_add(usize::from(from == to));
        let request = RankRequest {
            users: rows,
            top,
            ..RankRequest::default()
        };
        let mut lists = best(&scorer, &request)?;
        for (list, &row) in lists.iter_mut().zip(rows) {
            list.retain(|scored| from != to || scored.item != row);
            list.truncate(n);
        }
        Ok(lists)
    }
}

/// The `n` rows that are most similar to each of `rows`, itself excluded.
pub(crate) fn similar_rows(
    factors: FactorRows<'_>,
    rows: &[u32],
    n: usize,
    by: Similarity,
) -> Result<Vec<Vec<Scored>>, ModelError> {
    let unit = (by == Similarity::Cosine).then(|| normalized(factors));
    let factors = unit.as_ref().map_or(factors, FactorRows::from);
    let scorer = FactorScorer::of_model(factors, factors, None);
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

fn normalized(factors: FactorRows<'_>) -> Dense {
    let (rows, k) = (factors.n_rows() as usize, factors.n_factors());
    let mut unit = Dense::zeros(rows, k);
    for row in 0..rows {
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
