//! Items that come and go: what did not exist yet was not refused.

use std::collections::HashSet;

use absentia::data::{Duplicates, Triplets};
use absentia::fit::Observer;
use absentia::ranking::Scored;
use absentia::weights::{Presence, Scheme, Strength, TimeFactor};
use anyhow::Result;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::comparison::{Comparison, DemoSettings};
use crate::generate::{ExposureModel, Generator, GeneratorParams, User};

/// Mean weight over missing entries, the same for all.
const MEAN: f32 = 0.1;
/// Time from the first row to the last.
const SPAN: f64 = 1e6;
/// Share of the time in which a user is active.
const VISIT: f64 = 0.1;
/// Share of the time after which an item gets a third of the attention that it had.
const FADING: f64 = 0.1;
/// Draws after which a user who likes too little of what is there gives up.
const PATIENCE: u64 = 1000;

/// Users who see what is there while they are active, the newest most; the last item that each of them
/// liked is held out.
///
/// ```text
/// item i appears at f_i, and user u comes at times t within a tenth of the whole time
/// an item is seen at t      with probability ∝ [f_i ≤ t] exp(−(t − f_i) / fading)
/// an item seen is liked     with the generator's probability, by taste alone
/// ```
pub struct Arrivals {
    /// The models.
    pub models: Comparison,
    held_out: Vec<Option<u32>>,
}

impl Arrivals {
    /// Generates the data.
    ///
    /// # Errors
    /// There are more entries than users could like.
    pub fn new(settings: &DemoSettings) -> Result<Self> {
        let generator = Generator::new(GeneratorParams {
            exposure: ExposureModel::Uniform,
            seed: settings.seed,
            ..GeneratorParams::new(settings.users, settings.items, settings.entries)
        })?;
        let mut random = ChaCha8Rng::seed_from_u64(settings.seed);
        let appears: Vec<f64> = (0..settings.items).map(|_| share(&mut random)).collect();
        let (mut users, mut items, mut times) = (Vec::new(), Vec::new(), Vec::new());
        let mut held_out = Vec::with_capacity(settings.users);
        for number in 0..settings.users as u32 {
            let mut rows = liked(&generator.user(number), &appears, &mut random);
            held_out.push(
                (rows.len() > 1)
                    .then(|| rows.pop())
                    .flatten()
                    .map(|row| row.0),
            );
            for (item, time) in rows {
                users.push(number);
                items.push(item);
                times.push((SPAN * time) as i64);
            }
        }
        let triplets = Triplets::new(&users, &items).times(&times);
        let data = triplets.build(settings.users, settings.items, Duplicates::Error)?;
        Ok(Self {
            models: Comparison::new(settings, data),
            held_out,
        })
    }

    /// The weights on missing entries to compare, with their names.
    #[must_use]
    pub fn schemes(&self) -> [(&'static str, Scheme); 3] {
        let mean = Strength::Mean(MEAN);
        [
            ("uniform", Scheme::uniform(MEAN)),
            ("popularity", Scheme::popularity(mean, 0.25)),
            ("age", Scheme::by_time(mean, Presence::new(TimeFactor::Age))),
        ]
    }

    /// Trains a model with the given weights and measures whether the held-out item of each user is
    /// among the first 20.
    ///
    /// # Errors
    /// Training refuses the settings or fails.
    pub fn measure(
        &mut self,
        name: &'static str,
        scheme: &Scheme,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let Self { models, held_out } = self;
        models.measure(name, scheme, observer, |lists| hits(lists, held_out))
    }
}

/// 1 for each user whose held-out item is in their list; users without one are left out.
fn hits(lists: &[Vec<Scored>], held_out: &[Option<u32>]) -> Vec<f32> {
    let hit = |(list, held_out): (&Vec<Scored>, &Option<u32>)| {
        let item = (*held_out)?;
        let found = list.iter().any(|scored| scored.item == item);
        Some(f32::from(u8::from(found)))
    };
    lists.iter().zip(held_out).filter_map(hit).collect()
}

/// The items that a user likes and when, in the order of time.
fn liked(user: &User<'_>, appears: &[f64], random: &mut ChaCha8Rng) -> Vec<(u32, f64)> {
    let quota = user.quota() as usize;
    let arrives = (1.0 - VISIT) * share(random);
    let (mut seen, mut rows) = (HashSet::new(), Vec::with_capacity(quota));
    for _ in 0..PATIENCE * quota as u64 {
        if rows.len() == quota {
            break;
        }
        let time = arrives + VISIT * share(random);
        let item = below(appears.len(), random);
        let age = time - appears[item as usize];
        let noticed = age >= 0.0 && share(random) < (-age / FADING).exp();
        if noticed && seen.insert(item) && share(random) < user.like_probability(item) {
            rows.push((item, time));
        }
    }
    rows.sort_by(|left, right| left.1.total_cmp(&right.1));
    rows
}

/// A number from 0 up to 1.
fn share(random: &mut ChaCha8Rng) -> f64 {
    f64::from(random.next_u32()) / 4_294_967_296.0
}

fn below(count: usize, random: &mut ChaCha8Rng) -> u32 {
    (share(random) * count as f64) as u32
}
