//! Following a stream: every event is predicted, measured and then learned.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use absentia::Model;
use absentia::online::{Settings, WeightMode};
use absentia_online::{Learner, Measured, Prequential, Record, Trained};
use anyhow::Result;

use super::popular::Popular;
use crate::paper::data::{DUPLICATES, EventStream, StreamEvent};
use crate::paper::lab::TOP;

/// Points of a curve.
const POINTS: usize = 25;
/// Histories of this length and longer ones are one group.
pub(super) const LONG: usize = 10;

/// How a model learns from the stream.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    /// Whether events are learned at all.
    pub(super) learns: bool,
    pub(super) settings: Settings,
    pub(super) weights: WeightMode,
    /// Number of events between refits, and their sweeps.
    pub(super) refit: Option<(usize, u32)>,
}

/// Predicts events and learns from them.
pub(super) enum Predictor {
    Model(Box<Learner>, Variant),
    Popular(Popular),
}

/// What came of a stream.
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) means: Measured,
    /// Events so far, and the hit rate over them.
    pub(super) curve: Vec<(f64, f64)>,
    /// The same by the number of interactions that the user had.
    pub(super) by_length: Vec<Measured>,
    /// Mean microseconds of learning an event, refits included.
    pub(super) microseconds: Option<f64>,
}

impl Predictor {
    pub(super) fn of_model(model: &Model, stream: &EventStream, variant: Variant) -> Result<Self> {
        let trained = Trained {
            model,
            ids: stream.ids.clone(),
            config: None,
            rows: &stream.train,
            duplicates: DUPLICATES,
        };
        let learner = Learner::start(trained, variant.weights, variant.settings)?;
        Ok(Self::Model(Box::new(learner), variant))
    }

    /// Follows a stream from its first event to its last.
    pub(super) fn follow(mut self, stream: &EventStream, name: &str) -> Result<Outcome> {
        let cutoff = TOP as u32;
        let mut all = Prequential::new(cutoff);
        let mut by_length = vec![Prequential::new(cutoff); LONG + 1];
        let mut lengths = lengths(stream);
        let every = stream.events.len().div_ceil(POINTS).max(1);
        let (mut curve, mut spent) = (Vec::new(), Duration::ZERO);
        for (number, event) in (1..).zip(&stream.events) {
            let rank = match &self {
                Self::Model(learner, _) => all.measure(learner, &event.user, &event.item)?,
                Self::Popular(popular) => {
                    let rank = popular.rank(event);
                    all.add(rank);
                    rank
                }
            };
            let length = lengths.entry(&event.user).or_insert(0);
            by_length[(*length).min(LONG)].add(rank);
            *length += 1;
            let start = Instant::now();
            self.learn(event, number)?;
            spent += start.elapsed();
            if number % every == 0 || number == stream.events.len() {
                curve.push((number as f64, all.means().hit_rate));
            }
        }
        let learns = matches!(&self, Self::Model(_, variant) if variant.learns);
        let mean = 1e6 * spent.as_secs_f64() / stream.events.len().max(1) as f64;
        Ok(Outcome {
            name: name.to_owned(),
            means: all.means(),
            curve,
            by_length: by_length.iter().map(Prequential::means).collect(),
            microseconds: learns.then_some(mean),
        })
    }

    fn learn(&mut self, event: &StreamEvent, number: usize) -> Result<()> {
        match self {
            Self::Popular(popular) => popular.learn(event),
            Self::Model(_, variant) if !variant.learns => {}
            Self::Model(learner, variant) => {
                learner.apply(&Record::Insert {
                    user: event.user.clone(),
                    item: event.item.clone(),
                    value: 1.0,
                    weight: 1.0,
                    time: Some(event.time),
                })?;
                if let Some((every, sweeps)) = variant.refit
                    && number.is_multiple_of(every)
                {
                    learner.apply(&Record::Refit { sweeps })?;
                }
            }
        }
        Ok(())
    }
}

/// Number of interactions of each user before the stream.
fn lengths(stream: &EventStream) -> HashMap<&str, usize> {
    let events = stream.events.iter();
    events
        .filter_map(|event| {
            let row = stream.ids.users.get(&event.user)? as usize;
            Some((&event.user[..], stream.train.by_user().row(row).len()))
        })
        .collect()
}
