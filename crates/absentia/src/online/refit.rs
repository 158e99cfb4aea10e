//! Rebuilding the caches, and training all rows from where they are.

use super::Online;
use super::error::OnlineError;
use super::start::observed_of;
use super::targets::FrozenTargets;
use super::weights::OnlineWeights;
use crate::error::Axis;
use crate::fit::{Cancel, Init, Observer, Run, StopReason, fit};
use crate::linalg::Dense;
use crate::model::{Factors, Model};
use crate::sides::Sides;
use crate::solver::growing::GrowingCache;
use crate::weights::Scheme;

/// Sweeps of a training from the present factors, if their number is not given.
pub const REFIT_SWEEPS: u32 = 5;

/// The factors that training all rows starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainFrom {
    /// The present ones.
    Present,
    /// Random ones, by the seed of the model: the result does not depend on the present factors.
    Random,
}

impl Online {
    /// Recomputes caches and weights.
    pub(super) fn rebuild(&mut self) {
        self.weights.sum(&self.observed);
        self.sum_caches();
    }

    fn sum_caches(&mut self) {
        self.caches =
            Sides::from_fn(|axis| GrowingCache::new(&self.factors[axis], &self.weights.v[axis]));
    }

    /// Trains all rows by ordinary sweeps, on everything that was observed so far; what is frozen between
    /// trainings is resolved again. `sweeps` are those that the model was trained with if not given.
    ///
    /// # Errors
    /// Weights that cannot be resolved, a training that fails or is cancelled: nothing has changed then.
    pub fn train(
        &mut self,
        from: TrainFrom,
        sweeps: Option<usize>,
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<(), OnlineError> {
        let rows = self.observed.raw();
        let scheme = self.scheme_of_refit();
        let mut params = self.params.clone();
        params.iterations = sweeps.unwrap_or(params.iterations);
        let params = params.check().map_err(crate::fit::FitError::from)?;
        let run = Run {
            init: match from {
                TrainFrom::Present => Init::Given {
                    users: Factors::from(self.factors.users.clone()),
                    items: Factors::from(self.started_items()),
                },
                TrainFrom::Random => Init::Gaussian,
            },
            observer: Some(observer),
            cancel: cancel.clone(),
            ..Run::default()
        };
        let fitted = fit(&rows, &scheme, &params, run)?;
        if fitted.reason == StopReason::Cancelled {
            return Err(OnlineError::Cancelled);
        }
        self.adopt(&fitted.model, scheme, &rows)
    }

    /// The present factors of the items. Those that are 0 and that only users whose factors are 0 interacted
    /// with get the start that an event would give them: sweeps would leave both sides at 0.
    fn started_items(&self) -> Dense {
        let mut items = self.factors.items.clone();
        for item in 0..items.rows() as u32 {
            let users = self.columns(Axis::Item, item);
            let is_stuck = self.counts(Axis::Item)[item as usize] > 0
                && self.is_blank(Axis::Item, item)
                && users.iter().all(|&user| self.is_blank(Axis::User, user));
            if is_stuck {
                let start = self.start_of(Axis::Item, item);
                items.row_mut(item as usize).copy_from_slice(&start);
            }
        }
        items
    }

    /// Takes over what a refit found, and freezes everything again.
    fn adopt(
        &mut self,
        model: &Model,
        scheme: Scheme,
        rows: &crate::data::Interactions<'_>,
    ) -> Result<(), OnlineError> {
        let targets = FrozenTargets::new(model.parts().transform, &self.observed.counts);
        let mut histories = self.observed.histories.clone();
        histories.end_boosts();
        let observed = observed_of(rows, &targets, histories)?;
        self.weights = OnlineWeights::new(model.weights(), &scheme, self.mode, &observed);
        self.observed = observed;
        self.targets = targets;
        self.recent_counts.clone_from(&model.parts().recent_counts);
        self.frozen = model.weights().frozen().clone();
        self.history = model.history().to_vec();
        self.scheme = scheme;
        self.factors = Sides {
            users: model.user_factors().to_padded(),
            items: model.item_factors().to_padded(),
        };
        self.sum_caches();
        Ok(())
    }

    /// The scheme with terms that hold arrays replaced by the present weights: the arrays lack the rows
    /// that were added.
    fn scheme_of_refit(&self) -> Scheme {
        let mut first = 0;
        let terms = self.scheme.terms().iter().zip(&self.frozen.parts);
        let terms = terms.map(|(term, part)| {
            let columns = first..first + part.rank;
            first = columns.end;
            let term = Scheme::One(term.clone());
            if term.spec().is_some() {
                return term;
            }
            let side = |side: &Dense| {
                Dense::from_fn(side.rows(), part.rank, |row, t| {
                    side.row(row)[columns.start + t]
                })
            };
            Scheme::low_rank(side(&self.weights.v.users), side(&self.weights.v.items))
        });
        Scheme::sum(terms.collect::<Vec<_>>())
    }
}
