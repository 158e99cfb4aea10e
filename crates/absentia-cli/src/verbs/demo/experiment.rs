//! Three models on one generated data set, judged by what users would really like.

use std::time::Instant;

use absentia::Interactions;
use absentia::Model;
use absentia::evaluate::{Scored, Summary, TTest, paired_t_test};
use absentia::fit::{Run, fit};
use absentia::generate::{Exposure, Generator, Params};
use absentia::model::Filter;
use absentia::{Params as TrainingParams, Solver};
use anyhow::Result;
use rayon::prelude::*;

use super::Demo;
use super::weights::schemes;
use crate::cli::Context;
use crate::verbs::train::Follow;

/// Length of the lists that are judged.
const TOP: usize = 20;
/// Users whose missing entries are looked through for the reason.
const LOOKED_AT: u32 = 200;
/// Ridge penalty of all models; it grows with a row's total weight.
const LAMBDA: f32 = 0.03;

/// How good one model is.
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) summary: Summary,
    /// Against the first model, user by user.
    pub(super) test: Option<TTest>,
    pub(super) seconds: f64,
    /// Mean weight of refused entries over that of entries never shown.
    pub(super) weight_ratio: f64,
    per_user: Vec<f32>,
    model: Model,
}

/// Three models on the same data.
pub(super) struct Experiment {
    generator: Generator,
    data: Interactions<'static>,
    pub(super) measured: Vec<Measured>,
    /// Share of missing entries that were shown and refused.
    pub(super) refused_share: f64,
}

impl Experiment {
    pub(super) fn run(demo: &Demo, exposure: Exposure, context: &Context) -> Result<Self> {
        let generator = Generator::new(Params {
            exposure,
            seed: demo.seed,
            ..Params::new(demo.users, demo.items, demo.entries)
        })?;
        let data = generator.interactions()?;
        let missing = (demo.users * demo.items) as f64 - data.len() as f64;
        let refused = generator
            .feedback(0..demo.users as u32)
            .map(|seen| seen.refused.len());
        let mut experiment = Self {
            refused_share: refused.sum::<usize>() as f64 / missing,
            measured: Vec::new(),
            generator,
            data,
        };
        for (name, scheme) in schemes(&experiment.generator) {
            let measured = experiment.measure(name, &scheme, demo, context)?;
            experiment.measured.push(measured);
        }
        Ok(experiment)
    }

    fn measure(
        &self,
        name: &'static str,
        scheme: &absentia::weights::Scheme,
        demo: &Demo,
        context: &Context,
    ) -> Result<Measured> {
        let params = TrainingParams::new()
            .factors(demo.factors)
            .iterations(demo.iterations)
            .regularization(LAMBDA)
            .reg_exponent(1.0)
            .solver(Solver::Als)
            .init_std(0.1)
            .seed(demo.seed);
        let params = TrainingParams {
            threads: context.threads,
            ..params
        };
        let mut follow = Follow::new(&context.ui, demo.iterations).without_lines();
        let run = Run {
            observer: Some(&mut follow),
            ..Run::default()
        };
        let start = Instant::now();
        let model = fit(&self.data, scheme, &params.check()?, run)?.model;
        let seconds = start.elapsed().as_secs_f64();
        follow.finish();
        let per_user = self.liked_of_top(&model)?;
        let values: Vec<f64> = per_user.iter().map(|&value| f64::from(value)).collect();
        let first = self.measured.first();
        Ok(Measured {
            name,
            summary: Summary::of(&values),
            test: first
                .map(|first| paired_t_test(&per_user, &first.per_user))
                .transpose()?,
            seconds,
            weight_ratio: self.weight_ratio(&model),
            per_user,
            model,
        })
    }

    /// What exposure-aware weights gain over uniform ones.
    pub(super) fn advantage(&self) -> f64 {
        let last = self.measured.last().and_then(|measured| measured.test);
        last.map_or(0.0, |test| test.difference)
    }

    /// Share of each user's list that they like: nothing of what they refused, the rest with its
    /// true probability.
    fn liked_of_top(&self, model: &Model) -> Result<Vec<f32>> {
        let users: Vec<u32> = (0..model.n_users() as u32).collect();
        let filter = Filter {
            exclude: Some(&self.data),
            ..Filter::default()
        };
        let lists = model.recommend(&users, TOP, &filter)?;
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
        for user in 0..LOOKED_AT.min(model.n_users() as u32) {
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
    pub(super) fn lists_of_a_user(&self, n: usize) -> (u32, [Vec<(u32, f64)>; 2]) {
        let (first, last) = (&self.measured[0], &self.measured[self.measured.len() - 1]);
        let gain = |&user: &u32| last.per_user[user as usize] - first.per_user[user as usize];
        let mut users: Vec<u32> = (0..self.data.n_users() as u32).collect();
        users.sort_by(|left, right| gain(left).total_cmp(&gain(right)));
        let user = users[users.len() / 2];
        let filter = Filter {
            exclude: Some(&self.data),
            ..Filter::default()
        };
        let list = |model: &Model| {
            let found = model.recommend(&[user], n, &filter).unwrap_or_default();
            self.chances(user, &found.concat())
        };
        (user, [list(&first.model), list(&last.model)])
    }
}
