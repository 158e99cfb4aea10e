//! Three models on one generated data set, measured by what users would really like.

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
use rayon::prelude::*;

use super::weights::schemes;
use crate::generate::{ExposureModel, Generator, GeneratorParams};

/// Length of the measured lists.
const TOP: usize = 20;
/// Number of users whose missing entries explain the result.
const EXPLAINED_USERS: u32 = 200;
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
    /// Share of each user's list that they like.
    pub summary: Summary,
    /// Comparison with the first model, user by user.
    pub test: Option<TTest>,
    /// Seconds of training.
    pub seconds: f64,
    /// Mean weight of refused entries over that of entries never shown.
    pub weight_ratio: f64,
    per_user: Vec<f32>,
    model: Model,
}

/// Models with different weights on the same data.
pub struct Experiment {
    settings: DemoSettings,
    generator: Generator,
    data: Interactions<'static>,
    /// The models measured so far.
    pub measured: Vec<ModelResult>,
    /// Share of missing entries that were shown and refused.
    pub refused_share: f64,
}

impl Experiment {
    /// Generates the data.
    ///
    /// # Errors
    /// There are more entries than users could like.
    pub fn new(settings: &DemoSettings, exposure: ExposureModel) -> Result<Self> {
        let generator = Generator::new(GeneratorParams {
            exposure,
            seed: settings.seed,
            ..GeneratorParams::new(settings.users, settings.items, settings.entries)
        })?;
        let data = generator.interactions()?;
        let missing = (settings.users * settings.items) as f64 - data.len() as f64;
        let refused = generator
            .feedback(0..settings.users as u32)
            .map(|seen| seen.refused.len());
        Ok(Self {
            settings: settings.clone(),
            refused_share: refused.sum::<usize>() as f64 / missing,
            measured: Vec::new(),
            generator,
            data,
        })
    }

    /// The weights on missing entries to compare, with their names.
    #[must_use]
    pub fn schemes(&self) -> [(&'static str, Scheme); 3] {
        schemes(&self.generator)
    }

    /// Trains a model with the given weights and measures it.
    ///
    /// # Errors
    /// Training refuses the settings or fails.
    pub fn measure(
        &mut self,
        name: &'static str,
        scheme: &Scheme,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let params = self.params();
        let run = Run {
            observer: Some(observer),
            ..Run::default()
        };
        let start = Instant::now();
        let model = fit(&self.data, scheme, &params.check()?, run)?.model;
        let seconds = start.elapsed().as_secs_f64();
        let per_user = self.liked_of_top(&model)?;
        let values: Vec<f64> = per_user.iter().map(|&value| f64::from(value)).collect();
        let first = self.measured.first();
        let measured = ModelResult {
            name,
            summary: Summary::of(&values),
            test: first
                .map(|first| paired_t_test(&per_user, &first.per_user))
                .transpose()?,
            seconds,
            weight_ratio: self.weight_ratio(&model),
            per_user,
            model,
        };
        self.measured.push(measured);
        Ok(())
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
        let models = self.measured.iter().map(|found| &found.model);
        models.map(|model| 4 * numbers(model) as u64).sum()
    }

    /// What exposure-aware weights gain over uniform ones.
    #[must_use]
    pub fn advantage(&self) -> f64 {
        let last = self.measured.last().and_then(|measured| measured.test);
        last.map_or(0.0, |test| test.difference)
    }

    /// Share of each user's list that they like: nothing of what they refused, the rest with its
    /// true probability.
    fn liked_of_top(&self, model: &Model) -> Result<Vec<f32>> {
        let users: Vec<u32> = (0..model.n_users() as u32).collect();
        let lists = model.recommend(&RankRequest {
            users: &users,
            top: TOP,
            exclude: Some(&self.data),
            ..RankRequest::default()
        })?;
        let share = |(user, list): (u32, &Vec<Scored>)| {
            let liked: f64 = self
                .chances(user, list)
                .iter()
                .map(|(_, chance)| chance)
                .sum();
            (liked / TOP as f64) as f32
        };
        Ok(users.into_par_iter().zip(&lists).map(share).collect())
    }

    /// The true chance that a user likes each item of a list.
    fn chances(&self, user: u32, list: &[Scored]) -> Vec<(u32, f64)> {
        let user = self.generator.user(user);
        let refused = user.feedback().refused;
        let chance = |scored: &Scored| match refused.binary_search(&scored.item) {
            Ok(_) => (scored.item, 0.0),
            Err(_) => (scored.item, user.like_probability(scored.item)),
        };
        list.iter().map(chance).collect()
    }

    fn weight_ratio(&self, model: &Model) -> f64 {
        let (mut refused, mut never) = ((0.0, 0.0), (0.0, 0.0));
        for user in 0..EXPLAINED_USERS.min(model.n_users() as u32) {
            let seen = self.generator.user(user).feedback();
            for item in 0..model.n_items() as u32 {
                if seen.liked.binary_search(&item).is_ok() {
                    continue;
                }
                let weight = f64::from(model.weights().weight(user, item));
                let sum = match seen.refused.binary_search(&item) {
                    Ok(_) => &mut refused,
                    Err(_) => &mut never,
                };
                *sum = (sum.0 + weight, sum.1 + 1.0);
            }
        }
        (refused.0 / f64::max(refused.1, 1.0)) / (never.0 / f64::max(never.1, 1.0))
    }

    /// The user of median gain with the first items of the uniform and the exposure-aware model,
    /// each with the chance that it is liked.
    ///
    /// # Panics
    /// No model has been measured yet.
    #[must_use]
    pub fn lists_of_a_user(&self, n: usize) -> (u32, [Vec<(u32, f64)>; 2]) {
        let (first, last) = (&self.measured[0], &self.measured[self.measured.len() - 1]);
        let gain = |&user: &u32| last.per_user[user as usize] - first.per_user[user as usize];
        let mut users: Vec<u32> = (0..self.data.n_users() as u32).collect();
        users.sort_by(|left, right| gain(left).total_cmp(&gain(right)));
        let user = users[users.len() / 2];
        let request = RankRequest {
            users: &[user],
            top: n,
            exclude: Some(&self.data),
            ..RankRequest::default()
        };
        let list = |model: &Model| {
            let found = model.recommend(&request).unwrap_or_default();
            self.chances(user, &found.concat())
        };
        (user, [list(&first.model), list(&last.model)])
    }
}
