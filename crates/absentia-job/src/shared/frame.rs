//! What a model has beside its factors.

use std::path::Path;

use absentia::data::FrozenTransform;
use absentia::fit::Sweep;
use absentia::fit::backend::Problem;
use absentia::model::{Factors, Model, ModelError, ModelParts};
use absentia::weights::MissingWeights;
use absentia::{Params, Sides};
use absentia_io::model::{FactorFiles, Ids, ModelHead, save_head};

/// A model without its factors and its history.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Ids of users and items.
    pub ids: Ids,
    /// The configuration that repeats the run.
    pub config: Option<String>,
    weights: MissingWeights,
    transform: FrozenTransform,
    counts: Sides<Vec<u32>>,
    params: Params,
}

impl Frame {
    pub(super) fn of(problem: &Problem<'_>, ids: Ids, config: Option<String>) -> Self {
        Self {
            ids,
            config,
            weights: problem.missing_weights().clone(),
            transform: *problem.transform(),
            counts: Sides {
                users: problem.data().user_counts(),
                items: problem.data().item_counts(),
            },
            params: problem.params().clone(),
        }
    }

    /// Makes a model of the files of factors in a folder, after these sweeps.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save_folder(
        &self,
        folder: &Path,
        files: &FactorFiles,
        ids: &Ids,
        history: &[Sweep],
    ) -> Result<(), absentia_io::Error> {
        let head = ModelHead {
            weights: &self.weights,
            transform: &self.transform,
            counts: &self.counts,
            params: &self.params,
            history,
            ids,
            config: self.config.as_deref(),
        };
        save_head(folder, &head, files)
    }

    /// The model with these factors, after these sweeps.
    ///
    /// # Errors
    /// Factors of another shape, or that are not finite.
    pub fn model(&self, factors: Sides<Factors>, history: Vec<Sweep>) -> Result<Model, ModelError> {
        Model::from_parts(ModelParts {
            user_factors: factors.users,
            item_factors: factors.items,
            related: None,
            weights: self.weights.clone(),
            transform: self.transform,
            user_counts: self.counts.users.clone(),
            item_counts: self.counts.items.clone(),
            recent_counts: None,
            params: self.params.clone(),
            history,
            neighbours: None,
        })
    }
}
