//! The best items for users, known or folded in.

use super::{Factors, Model, ModelError};
use crate::baselines::Neighbours;
use crate::ranking::{
    FactorRows, FactorScorer, RankRequest, SMALL_BATCH, ScoreBlock, Scored, Scorer, SeenItems,
    rank, screening_pays,
};

/// Scores of a model, by whatever it scores with.
#[derive(Clone, Copy, Debug)]
pub enum ModelScorer<'a> {
    /// Inner products of factors.
    Factors(FactorScorer<'a>),
    /// Similarities of items.
    Neighbours(&'a Neighbours),
}

impl ModelScorer<'_> {
    fn inner(&self) -> &dyn Scorer {
        match self {
            ModelScorer::Factors(scorer) => scorer,
            ModelScorer::Neighbours(neighbours) => *neighbours,
        }
    }
}

impl Scorer for ModelScorer<'_> {
    fn n_users(&self) -> usize {
        self.inner().n_users()
    }

    fn n_items(&self) -> usize {
        self.inner().n_items()
    }

    fn block<'s>(&'s self, items: &'s [u32]) -> Box<dyn ScoreBlock + 's> {
        self.inner().block(items)
    }

    fn item_bounds(&self) -> Option<Vec<f64>> {
        self.inner().item_bounds()
    }

    fn user_bound(&self, user: u32) -> f64 {
        self.inner().user_bound(user)
    }

    fn as_factors(&self) -> Option<&FactorScorer<'_>> {
        self.inner().as_factors()
    }

    fn block_items(&self) -> usize {
        self.inner().block_items()
    }
}

/// Which items may be recommended to whom.
#[derive(Clone, Copy, Default)]
pub struct Filter<'a> {
    /// Items left out for each user; those seen, as a rule. The training matrix is one such source.
    pub exclude: Option<&'a dyn SeenItems>,
    /// The only items recommended, rising; all if not given.
    pub allow: Option<&'a [u32]>,
    /// Items never recommended, rising.
    pub deny: &'a [u32],
}

impl Model {
    /// Yields scores of every user for every item, as rankings and evaluations take them.
    #[must_use]
    pub fn scorer(&self) -> ModelScorer<'_> {
        match self.neighbours() {
            Some(neighbours) => ModelScorer::Neighbours(neighbours),
            None => ModelScorer::Factors(FactorScorer::of_model(
                self.user_factors().into(),
                self.item_factors().into(),
                self.item_scale(),
            )),
        }
    }

    /// Yields the `n` best items of each user, largest score first, equal scores by item.
    ///
    /// A user alone and among others gets the same list with the same bits.
    ///
    /// # Errors
    /// Users or items that the model does not have, and lists that do not rise.
    pub fn recommend(
        &self,
        users: &[u32],
        n: usize,
        filter: &Filter<'_>,
    ) -> Result<Vec<Vec<Scored>>, ModelError> {
        match self.scorer() {
            ModelScorer::Factors(scorer) => {
                best(&self.indexed(scorer, users, n, filter), users, n, filter)
            }
            ModelScorer::Neighbours(neighbours) => best(neighbours, users, n, filter),
        }
    }

    /// Items made ready before, for a few users of many that are asked for one after another.
    fn indexed<'a>(
        &'a self,
        scorer: FactorScorer<'a>,
        users: &[u32],
        n: usize,
        filter: &Filter<'_>,
    ) -> FactorScorer<'a> {
        let is_served = filter.allow.is_none() && screening_pays(&scorer, n);
        if users.is_empty() || users.len() > SMALL_BATCH || !is_served {
            return scorer;
        }
        scorer.with_index(self.index.get(&scorer))
    }

    /// Yields the `n` best items for rows of factors, for example of users who were folded in.
    ///
    /// Row numbers take the place of users in the filter.
    ///
    /// # Errors
    /// Factors of the wrong length, items that the model does not have, and lists that do not rise.
    pub fn recommend_rows(
        &self,
        rows: &Factors,
        n: usize,
        filter: &Filter<'_>,
    ) -> Result<Vec<Vec<Scored>>, ModelError> {
        if self.neighbours().is_some() {
            return Err(ModelError::NotOfThisMethod {
                solver: self.params().solver.name(),
                what: "score factors, for it has none",
            });
        }
        let (expected, got) = (self.n_factors(), rows.cols());
        if expected != got {
            return Err(ModelError::Shape {
                what: "columns of the rows",
                expected,
                got,
            });
        }
        let scorer =
            FactorScorer::of_model(rows.into(), self.item_factors().into(), self.item_scale());
        let users: Vec<u32> = (0..rows.rows() as u32).collect();
        best(&self.indexed(scorer, &users, n, filter), &users, n, filter)
    }
}

pub(super) fn best(
    scorer: &dyn Scorer,
    users: &[u32],
    n: usize,
    filter: &Filter<'_>,
) -> Result<Vec<Vec<Scored>>, ModelError> {
    let request = RankRequest {
        users,
        top: n,
        exclude: filter.exclude,
        allow: filter.allow,
        deny: filter.deny,
        targets: None,
    };
    Ok(rank(scorer, &request)?
        .into_iter()
        .map(|ranking| ranking.top)
        .collect())
}

impl<'a> From<&'a Factors> for FactorRows<'a> {
    fn from(factors: &'a Factors) -> Self {
        FactorRows::of_model(
            factors.as_slice(),
            factors.rows(),
            factors.cols(),
            factors.stride(),
        )
    }
}
