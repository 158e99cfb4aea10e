//! What a run minimises: entries, weights and penalties of both sides, frozen before the first sweep.

use std::borrow::Cow;

use super::error::FitError;
use crate::baselines;
use crate::data::{Entries, FrozenTransform, Interactions, Values};
use crate::error::Axis;
use crate::linalg::Dense;
use crate::params::{Method, Params, Solver};
use crate::relations::{ComposedParts, Composition, FeatureBlock, RelationError, Relations};
use crate::sides::Sides;
use crate::solver::penalty::{penalties, row_penalty};
use crate::weights::{MissingWeights, Scheme};

/// What a problem is made of.
pub struct ProblemParts<'a> {
    /// Targets and weights as they are trained on.
    pub data: Interactions<'a>,
    /// How they follow from raw values.
    pub transform: FrozenTransform,
    /// Low-rank weights on missing entries.
    pub weights: MissingWeights,
    /// A dense W, for the one solver that takes it as it is.
    pub dense: Option<&'a Dense>,
    /// Parameters of the run.
    pub params: Params,
}

/// The objective of a run: everything about it that no sweep changes.
pub struct Problem<'a> {
    data: Interactions<'a>,
    transform: FrozenTransform,
    weights: MissingWeights,
    /// W with a row per user, and with a row per item.
    dense: Option<Sides<Cow<'a, Dense>>>,
    penalty: Sides<Values<'static>>,
    may_be_negative: bool,
    params: Params,
    /// Blocks whose entries are all observed; they are not among those of `data`.
    features: Vec<FeatureBlock>,
    /// What belongs to whom, if there are several relations.
    composed: Option<ComposedParts>,
}

impl<'a> Problem<'a> {
    /// Yields the problem of these parts.
    ///
    /// # Errors
    /// Weights or data that the method does not support, and rows whose total weight is negative.
    pub fn new(parts: ProblemParts<'a>) -> Result<Self, FitError> {
        let ProblemParts {
            data,
            transform,
            weights,
            dense,
            params,
        } = parts;
        if let Method::Baseline(baseline) = params.solver {
            baselines::check(baseline, &data, &weights)?;
        }
        let dense = dense
            .filter(|_| params.solver == Method::Solver(Solver::EalsVanilla))
            .map(|w| Sides {
                users: Cow::Borrowed(w),
                items: Cow::Owned(transposed(w)),
            });
        let penalty = penalties_of(&data, &weights, dense.as_ref(), &params)?;
        Ok(Self {
            may_be_negative: weights.may_be_negative(),
            data,
            transform,
            weights,
            dense,
            penalty,
            params,
            features: Vec::new(),
            composed: None,
        })
    }

    /// Yields the problem of data with raw values, whose targets and weights follow from it by the parameters.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and data that does not allow the targets or weights.
    pub fn of_data(
        data: &Interactions<'a>,
        scheme: &Scheme,
        params: &Params,
    ) -> Result<Self, FitError> {
        let transform = data.freeze(params.targets, params.confidence)?;
        let data = data.apply(&transform)?;
        Self::new(ProblemParts {
            weights: scheme.resolve(&data)?,
            data,
            transform,
            dense: None,
            params: params.clone(),
        })
    }

    /// Yields the problem of these parts and of further relations, stacked.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and relations that do not fit each other.
    pub fn with_relations(
        parts: ProblemParts<'a>,
        relations: &Relations<'_>,
    ) -> Result<Self, FitError> {
        if let Method::Baseline(_) = parts.params.solver {
            return Err(RelationError::Method {
                solver: parts.params.solver.name(),
            }
            .into());
        }
        let is_vanilla = parts.params.solver == Method::Solver(Solver::EalsVanilla);
        if is_vanilla && parts.dense.is_some() {
            return Err(RelationError::DenseWeights.into());
        }
        let Composition {
            data,
            weights,
            features,
            parts: composed,
        } = Composition::new(&parts.data, &parts.weights, relations)?;
        let mut problem = Self::new(ProblemParts {
            data,
            weights,
            dense: None,
            ..parts
        })?;
        problem.set_penalties(&composed)?;
        problem.features = features;
        problem.composed = Some(composed);
        Ok(problem)
    }

    /// Gives the rows of types with a regularization of their own the penalties that follow from it.
    fn set_penalties(&mut self, composed: &ComposedParts) -> Result<(), FitError> {
        let entities = &composed.entities;
        if entities
            .iter()
            .all(|entity| entity.regularization.is_none())
        {
            return Ok(());
        }
        let lambda = self.params.regularization;
        let unit = Params {
            regularization: 1.0,
            ..self.params.clone()
        };
        let powers = penalties_of(&self.data, &self.weights, None, &unit)?;
        for axis in [Axis::User, Axis::Item] {
            let mut each = vec![0.0; composed.layout.total(axis)];
            let own = entities.iter().enumerate();
            for (at, entity) in own.filter(|(_, entity)| entity.axis == axis) {
                for row in composed.layout.rows(at) {
                    each[row] = entity.regularization.unwrap_or(lambda) * powers[axis].get(row);
                }
            }
            self.penalty[axis] = Values::from_vec(each);
        }
        Ok(())
    }

    /// Blocks whose entries are all observed.
    pub(crate) fn features(&self) -> &[FeatureBlock] {
        &self.features
    }

    /// The columns of the weights on missing entries that are those of features.
    pub(super) fn feature_components(&self) -> Vec<usize> {
        self.features.iter().map(|block| block.component).collect()
    }

    /// Whether an entry is one of features.
    pub(super) fn is_feature(&self, user: usize, item: usize) -> bool {
        let has = |block: &FeatureBlock| {
            block.ranges.users.contains(&user) && block.ranges.items.contains(&item)
        };
        self.features.iter().any(has)
    }

    /// What belongs to whom, if there are several relations.
    pub(super) fn composed(&self) -> Option<&ComposedParts> {
        self.composed.as_ref()
    }

    /// The weights on missing entries of the main relation.
    pub(super) fn main_weights(&self) -> &MissingWeights {
        match &self.composed {
            Some(composed) => &composed.weights,
            None => &self.weights,
        }
    }

    /// The number of interactions of users and items in the main relation.
    pub(super) fn counts(&self) -> Sides<Vec<u32>> {
        match &self.composed {
            Some(composed) => composed.counts.clone(),
            None => Sides {
                users: self.data.user_counts(),
                items: self.data.item_counts(),
            },
        }
    }

    /// Targets and weights of the observed entries, as they are trained on.
    #[must_use]
    pub fn data(&self) -> &Interactions<'a> {
        &self.data
    }

    /// Number of users and of items.
    #[must_use]
    pub fn shape(&self) -> Sides<usize> {
        Sides::from_fn(|axis| self.entries(axis).rows())
    }

    /// The observed entries of the rows of one side.
    #[must_use]
    pub fn entries(&self, axis: Axis) -> &Entries<'a> {
        match axis {
            Axis::User => self.data.by_user(),
            Axis::Item => self.data.by_item(),
        }
    }

    /// The weight rows of one side: A of the users, B of the items.
    #[must_use]
    pub fn weights(&self, axis: Axis) -> &Dense {
        match axis {
            Axis::User => self.weights.a(),
            Axis::Item => self.weights.b(),
        }
    }

    /// The weights on missing entries.
    #[must_use]
    pub fn missing_weights(&self) -> &MissingWeights {
        &self.weights
    }

    /// A dense W with a row for each row of one side, where it is taken as it is.
    #[must_use]
    pub fn dense(&self, axis: Axis) -> Option<&Dense> {
        self.dense.as_ref().map(|dense| &*dense[axis])
    }

    /// The regularization `λ_u` of every row of one side.
    #[must_use]
    pub fn penalty(&self, axis: Axis) -> &Values<'static> {
        &self.penalty[axis]
    }

    /// Whether some weight on missing entries may be below zero.
    #[must_use]
    pub fn may_be_negative(&self) -> bool {
        self.may_be_negative
    }

    /// How targets and weights follow from raw values.
    #[must_use]
    pub fn transform(&self) -> &FrozenTransform {
        &self.transform
    }

    /// Parameters of the run.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }
}

/// Penalties of users and of items.
fn penalties_of(
    data: &Interactions<'_>,
    weights: &MissingWeights,
    dense: Option<&Sides<Cow<'_, Dense>>>,
    params: &Params,
) -> Result<Sides<Values<'static>>, FitError> {
    let side = |axis: Axis, observed: &Entries<'_>, own: &Dense, fixed: &Dense| {
        penalties(
            observed,
            own,
            fixed,
            params.regularization,
            params.reg_exponent,
        )
        .map_err(|bad| FitError::RowWeight {
            axis,
            row: bad.row,
            total: bad.total,
        })
    };
    if let Some(dense) = dense {
        return Ok(Sides {
            users: dense_penalties(Axis::User, data.by_user(), &dense.users, params)?,
            items: dense_penalties(Axis::Item, data.by_item(), &dense.items, params)?,
        });
    }
    Ok(Sides {
        users: side(Axis::User, data.by_user(), weights.a(), weights.b())?,
        items: side(Axis::Item, data.by_item(), weights.b(), weights.a())?,
    })
}

/// The penalties of rows whose weights on missing entries are the rows of `w`.
fn dense_penalties(
    axis: Axis,
    observed: &Entries<'_>,
    w: &Dense,
    params: &Params,
) -> Result<Values<'static>, FitError> {
    if params.reg_exponent == 0.0 || params.regularization == 0.0 {
        return Ok(Values::Constant(params.regularization));
    }
    let penalty = |row: usize| {
        let (entries, weights) = (observed.row(row), w.row(row));
        let mut total: f64 = weights.iter().map(|w| f64::from(*w)).sum();
        for (n, &column) in entries.indices.iter().enumerate() {
            total += f64::from(entries.c.get(n)) - f64::from(weights[column as usize]);
        }
        row_penalty(row, total, params.regularization, params.reg_exponent).map_err(|bad| {
            FitError::RowWeight {
                axis,
                row: bad.row,
                total: bad.total,
            }
        })
    };
    Ok(Values::from_vec(
        (0..observed.rows())
            .map(penalty)
            .collect::<Result<_, _>>()?,
    ))
}

fn transposed(w: &Dense) -> Dense {
    Dense::from_fn(w.cols(), w.rows(), |row, col| w.row(col)[row])
}
