//! The best items for users, known or folded in.

use super::{Factors, Model, ModelError};
use crate::baselines::Neighbours;
use crate::ranking::{
    FactorRows, FactorScorer, RankRequest, SMALL_BATCH, ScoreBlock, Scored, Scorer, rank,
    screening_pays,
};

/// Scores of a model, by its factors or its neighbours.
enum ModelScorer<'a> {
    Factors(FactorScorer<'a>),
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

impl Model {
    /// Yields scores of every user for every item, as rankings and evaluations take them.
    #[must_use]
    pub fn scorer(&self) -> impl Scorer + '_ {
        self.model_scorer()
    }

    fn model_scorer(&self) -> ModelScorer<'_> {
        match self.neighbours() {
            Some(neighbours) => ModelScorer::Neighbours(neighbours),
            None => ModelScorer::Factors(FactorScorer::of_model(
                self.user_factors().into(),
                self.item_factors().into(),
                self.item_scale(),
            )),
        }
    }

    /// Yields the best items of each user of a request, largest score first, equal scores by item.
    ///
    /// A user gets the same list, with the same bits, alone or in a batch.
    ///
    /// # Errors
    /// Users or items that the model does not have, and lists of items that are not in ascending order.
    pub fn recommend(&self, request: &RankRequest<'_>) -> Result<Vec<Vec<Scored>>, ModelError> {
        match self.model_scorer() {
            ModelScorer::Factors(scorer) => best(&self.indexed(scorer, request), request),
            ModelScorer::Neighbours(neighbours) => best(neighbours, request),
        }
    }

    /// The scorer with the index of items, where that pays: for requests of a few users.
    fn indexed<'a>(
        &'a self,
        scorer: FactorScorer<'a>,
        request: &RankRequest<'_>,
    ) -> FactorScorer<'a> {
        let (users, top) = (request.users.len(), request.top);
        let is_served = request.allow.is_none() && screening_pays(&scorer, top);
        if users == 0 || users > SMALL_BATCH || !is_served {
            return scorer;
        }
        scorer.with_index(self.index.get(&scorer))
    }

    /// Yields the best items for rows of factors, for example of users who were folded in.
    ///
    /// The users of the request, and of the items it excludes, are numbers of these rows.
    ///
    /// # Errors
    /// Factors of the wrong length, rows that are not there, items that the model does not have, and
    /// lists of items that are not in ascending order.
    pub fn recommend_rows(
        &self,
        rows: &Factors,
        request: &RankRequest<'_>,
    ) -> Result<Vec<Vec<Scored>>, ModelError> {
        if self.neighbours().is_some() {
            return Err(ModelError::NotOfThisMethod {
                solver: self.params().solver.name(),
                what: "score factors because it has none",
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
        best(&self.indexed(scorer, request), request)
    }
}

/// The lists of a ranking without the ranks of targets.
pub(super) fn best(
    scorer: &dyn Scorer,
    request: &RankRequest<'_>,
) -> Result<Vec<Vec<Scored>>, ModelError> {
    let request = RankRequest {
        targets: None,
        ..*request
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
