//! Three models on one generated data set, measured by what users would really like.

use absentia::Model;
use absentia::fit::Observer;
use absentia::ranking::Scored;
use absentia::weights::Scheme;
use anyhow::Result;
use rayon::prelude::*;

use super::comparison::{Comparison, DemoSettings, TOP};
use super::weights::schemes;
use crate::generate::{ExposureModel, Generator, GeneratorParams};

/// Number of users whose missing entries explain the result.
const EXPLAINED_USERS: u32 = 200;

/// Models with different weights on data of which it is known what was shown to whom.
pub struct Experiment {
    generator: Generator,
    /// The models.
    pub models: Comparison,
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
            refused_share: refused.sum::<usize>() as f64 / missing,
            models: Comparison::new(settings, data),
            generator,
        })
    }

    /// The weights on missing entries to compare, with their names.
    #[must_use]
    pub fn schemes(&self) -> [(&'static str, Scheme); 3] {
        schemes(&self.generator)
    }

    /// Trains a model with the given weights and measures the share of each user's list that they like.
    ///
    /// # Errors
    /// Training refuses the settings or fails.
    pub fn measure(
        &mut self,
        name: &'static str,
        scheme: &Scheme,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Self {
            models, generator, ..
        } = self;
        models.measure(name, scheme, observer, |lists| {
            liked_of_top(generator, lists)
        })
    }

    /// Mean weight of refused entries over that of entries never shown, of a model that was measured.
    ///
    /// # Panics
    /// There is no such model.
    #[must_use]
    pub fn weight_ratio(&self, at: usize) -> f64 {
        let model = &self.models.measured[at].model;
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
        let measured = &self.models.measured;
        let (first, last) = (&measured[0], &measured[measured.len() - 1]);
        let gain = |&user: &u32| last.per_user[user as usize] - first.per_user[user as usize];
        let mut users: Vec<u32> = (0..self.models.data.n_users() as u32).collect();
        users.sort_by(|left, right| gain(left).total_cmp(&gain(right)));
        let user = users[users.len() / 2];
        let list = |model: &Model| {
            let lists = self.models.lists(model, &[user], n).unwrap_or_default();
            chances(&self.generator, user, &lists.concat())
        };
        (user, [list(&first.model), list(&last.model)])
    }
}

/// Share of each user's list that they like: nothing of what they refused, the rest with its
/// true probability.
fn liked_of_top(generator: &Generator, lists: &[Vec<Scored>]) -> Vec<f32> {
    let share = |(user, list): (usize, &Vec<Scored>)| {
        let liked = chances(generator, user as u32, list).into_iter();
        (liked.map(|(_, chance)| chance).sum::<f64>() / TOP as f64) as f32
    };
    lists.par_iter().enumerate().map(share).collect()
}

/// The true chance that a user likes each item of a list.
fn chances(generator: &Generator, user: u32, list: &[Scored]) -> Vec<(u32, f64)> {
    let user = generator.user(user);
    let refused = user.feedback().refused;
    let chance = |scored: &Scored| match refused.binary_search(&scored.item) {
        Ok(_) => (scored.item, 0.0),
        Err(_) => (scored.item, user.like_probability(scored.item)),
    };
    list.iter().map(chance).collect()
}
