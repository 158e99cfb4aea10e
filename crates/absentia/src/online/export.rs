//! The state as a model, as rows, and as an objective.

use super::Online;
use super::error::OnlineError;
use super::rule::{Rule, WeightMode, live_rule};
use crate::data::Interactions;
use crate::error::Axis;
use crate::fit::FitError;
use crate::fit::backend::{Backend, Cpu, Device, Precision, Problem, ProblemParts};
use crate::model::{Factors, Model, ModelParts};
use crate::params::Method;
use crate::solver::Objective;
use crate::weights::{Frozen, FrozenPart, GivenFactors, MissingWeights, Scheme, Term};

impl Online {
    /// The model as it is now; copies the factors.
    ///
    /// Its counts are those that targets and post-scaling are frozen at.
    ///
    /// # Errors
    /// Weights that cannot be resolved on the present rows.
    pub fn to_model(&self) -> Result<Model, OnlineError> {
        let factors = |axis: Axis| Factors::from(self.factors[axis].clone());
        Ok(Model::from_parts(ModelParts {
            related: None,
            user_factors: factors(Axis::User),
            item_factors: factors(Axis::Item),
            weights: self.missing_weights()?,
            transform: self.targets.transform,
            user_counts: self.targets.counts.users.clone(),
            item_counts: self.targets.counts.items.clone(),
            recent_counts: self.recent_counts.clone(),
            params: self.params.clone(),
            history: self.history.clone(),
            neighbours: None,
        })?)
    }

    /// The rows with raw values, as training takes them; exposed entries included.
    #[must_use]
    pub fn to_rows(&self) -> Interactions<'static> {
        self.observed.raw()
    }

    /// The rows with the targets and weights that are learned.
    #[must_use]
    pub fn to_trained_rows(&self) -> Interactions<'static> {
        self.observed.trained()
    }

    /// The weights on missing entries, as they are now.
    ///
    /// # Errors
    /// Weights by popularity or activity that cannot be resolved on the present rows.
    pub fn missing_weights(&self) -> Result<MissingWeights, OnlineError> {
        let live = self.live_columns()?;
        let side = |axis: Axis| {
            let mut columns = self.weights.v[axis].clone();
            for (t, weights) in &live {
                let from = match axis {
                    Axis::User => weights.a(),
                    Axis::Item => weights.b(),
                };
                for row in 0..columns.rows() {
                    columns.row_mut(row)[*t] = from.row(row)[0];
                }
            }
            columns
        };
        let (a, b) = (side(Axis::User), side(Axis::Item));
        let mut parts = self.frozen.parts.clone();
        let mut first = 0;
        for part in &mut parts {
            if let Some((_, weights)) = live.iter().find(|(t, _)| *t == first) {
                *part = weights.frozen().parts[0].clone();
            }
            first += part.rank;
        }
        let frozen = Frozen { parts };
        if let Ok(weights) = MissingWeights::from_parts(a.clone(), b.clone(), frozen.clone()) {
            return Ok(weights);
        }
        // Some know the rows of the training data only: with more rows they are given by A and B.
        let parts = frozen.parts.into_iter().map(|part| {
            if !part.kind.lists_rows() {
                return part;
            }
            FrozenPart {
                kind: Term::LowRank(GivenFactors),
                ..part
            }
        });
        let frozen = Frozen {
            parts: parts.collect(),
        };
        Ok(MissingWeights::from_parts(a, b, frozen)?)
    }

    /// The objective of the present factors at the present weights and regularization, in double
    /// precision, in `O(|R| K + (M + N) K²)`.
    ///
    /// # Errors
    /// Rows whose total weight is negative.
    pub fn objective(&self) -> Result<Objective, OnlineError> {
        let Method::Solver(solver) = self.params.solver else {
            return Ok(Objective::default());
        };
        let problem = Problem::new(ProblemParts {
            data: self.observed.trained(),
            transform: self.targets.transform,
            weights: self.missing_weights()?,
            dense: None,
            params: self.params.clone(),
        })?;
        let start = self.factors.clone();
        let mut backend = Cpu.backend(&problem, solver, start);
        let sums = backend.objective_sums(Precision::Double);
        Ok(sums.map_err(FitError::of_device)?.objective)
    }

    /// The columns that follow the counts, resolved on the present rows.
    fn live_columns(&self) -> Result<Vec<(usize, MissingWeights)>, OnlineError> {
        if self.mode == WeightMode::Frozen {
            return Ok(Vec::new());
        }
        let rows = self.observed.raw();
        let (mut live, mut first) = (Vec::new(), 0);
        for (term, part) in self.scheme.terms().iter().zip(&self.frozen.parts) {
            if matches!(live_rule(term), Some(Rule::Live { .. })) {
                live.push((first, Scheme::One(term.clone()).resolve(&rows)?));
            }
            first += part.rank;
        }
        Ok(live)
    }
}
