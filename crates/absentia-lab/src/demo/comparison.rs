//! Models with different weights on the same data, one after the other.

use std::time::Instant;

use absentia::Interactions;
use absentia::Model;
use absentia::evaluate::{Summary, TTest, paired_t_test};
use absentia::fit::{MemoryPlan, Observer, Run, Sizes, fit};
use absentia::memory::Stage;
use absentia::ranking::{RankRequest, Scored, ranking_bytes};
use absentia::weights::Scheme;
use absentia::{Params, Solver};
use anyhow::Result;

/// Length of the measured lists.
pub(super) const TOP: usize = 20;
/// Ridge penalty of all models; it grows with a row's total weight.
const LAMBDA: f32 = 0.03;

/// Size of the data and of the models.
#[derive(Clone, Debug)]
pub struct DemoSettings {
    /// Number of users.
    pub users: usize,
    /// Number of items.
    pub items: usize,
    /// Number of interactions.
    pub entries: u64,
    /// Number of factors of every model.
    pub factors: usize,
    /// Sweeps of every model.
    pub iterations: usize,
    /// Seed of the data and of the start.
    pub seed: u64,
    /// Number of threads; what the machine allows if `None`.
    pub threads: Option<usize>,
}

/// How good one model is.
pub struct ModelResult {
    /// Name of its weights on missing entries.
    pub name: &'static str,
    /// Mean of what is measured, over users.
    pub summary: Summary,
    /// Comparison with the first model, user by user.
    pub test: Option<TTest>,
    /// Seconds of training.
    pub seconds: f64,
    pub(super) per_user: Vec<f32>,
    pub(super) model: Model,
}

/// Models with different weights on the same data.
pub struct Comparison {
    settings: DemoSettings,
    pub(super) data: Interactions<'static>,
    /// The models measured so far.
    pub measured: Vec<ModelResult>,
}

impl Comparison {
    pub(super) fn new(settings: &DemoSettings, data: Interactions<'static>) -> Self {
        Self {
            settings: settings.clone(),
            data,
            measured: Vec::new(),
        }
    }

    /// Trains a model with the given weights; `score` measures each user's list.
    pub(super) fn measure(
        &mut self,
        name: &'static str,
        scheme: &Scheme,
        observer: &mut dyn Observer,
        score: impl FnOnce(&[Vec<Scored>]) -> Vec<f32>,
    ) -> Result<()> {
        let run = Run {
            observer: Some(observer),
            ..Run::default()
        };
        let start = Instant::now();
        let model = fit(&self.data, scheme, &self.params().check()?, run)?.model;
        let seconds = start.elapsed().as_secs_f64();
        let users: Vec<u32> = (0..model.n_users() as u32).collect();
        let per_user = score(&self.lists(&model, &users, TOP)?);
        let values: Vec<f64> = per_user.iter().map(|&value| f64::from(value)).collect();
        let first = self.measured.first();
        let test = first
            .map(|first| paired_t_test(&per_user, &first.per_user))
            .transpose()?;
        self.measured.push(ModelResult {
            name,
            summary: Summary::of(&values),
            test,
            seconds,
            per_user,
            model,
        });
        Ok(())
    }

    /// The first items that a model recommends to users, without those of the data.
    pub(super) fn lists(
        &self,
        model: &Model,
        users: &[u32],
        top: usize,
    ) -> Result<Vec<Vec<Scored>>> {
        Ok(model.recommend(&RankRequest {
            users,
            top,
            exclude: Some(&self.data),
            ..RankRequest::default()
        })?)
    }

    fn params(&self) -> Params {
        let params = Params::new()
            .factors(self.settings.factors)
            .iterations(self.settings.iterations)
            .regularization(LAMBDA)
            .reg_exponent(1.0)
            .solver(Solver::Als)
            .init_std(0.1)
            .seed(self.settings.seed);
        Params {
            threads: self.settings.threads,
            ..params
        }
    }

    /// The memory of training a model with the given weights and of measuring it, beside those that were
    /// measured.
    #[must_use]
    pub fn stage(&self, scheme: &Scheme) -> Stage {
        let params = self.params();
        let plan = MemoryPlan::new(&Sizes::of(&self.data, scheme, &params, false), &params);
        let DemoSettings { users, items, .. } = self.settings;
        // As much as while it is ranked: the allocator keeps the rest of a list that was cut.
        let lists = users * (40 * TOP + size_of::<Vec<Scored>>());
        Stage::new("training")
            .with_all(plan.parts)
            .with("ranking", ranking_bytes(users, items, TOP))
            .with("lists", lists as u64)
            .with("models", self.bytes_of_models())
    }

    /// Bytes that it keeps: the data and the models.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.data.bytes() + self.bytes_of_models()
    }

    fn bytes_of_models(&self) -> u64 {
        let numbers = |model: &Model| (model.n_users() + model.n_items()) * model.n_factors();
        let models = self.measured.iter().map(|measured| &measured.model);
        models.map(|model| 4 * numbers(model) as u64).sum()
    }

    /// What the last model gains over the first.
    #[must_use]
    pub fn advantage(&self) -> f64 {
        let last = self.measured.last().and_then(|measured| measured.test);
        last.map_or(0.0, |test| test.difference)
    }
}
