//! What a model is worth on held-out rows, and which post-scaling serves it best.

use crate::error::SearchError;
use absentia::data::Interactions;
use absentia::evaluate::{EvaluateOptions, History, MetricName, TestSet, evaluate};
use absentia::model::Model;

/// Post-scalings that are considered.
const RHO: (f64, f64) = (-0.3, 1.2);

/// First step of the search for the best post-scaling; it goes on in halves of it down to its least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Steps {
    first: f64,
    least: f64,
}

impl Steps {
    /// Where the guess may be far off.
    pub(crate) const WIDE: Self = Self {
        first: 0.15,
        least: 0.06,
    };
    /// Where it is that of a like model.
    pub(crate) const NEAR: Self = Self {
        first: 0.075,
        least: 0.06,
    };
    /// Where it was found for the same model, by fewer users.
    pub(crate) const FINE: Self = Self {
        first: 0.04,
        least: 0.03,
    };
}

/// A mean over users and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) score: f64,
    pub(crate) stderr: f64,
}

/// Measures models on samples of the held-out users, each a part of the next.
pub(crate) struct Evaluator<'d> {
    history: History<'d>,
    samples: Vec<TestSet>,
    name: MetricName,
    options: EvaluateOptions,
}

impl<'d> Evaluator<'d> {
    /// Takes the matrix trained on, the rows held out of it and how many users each rung measures.
    pub(crate) fn new(
        train: &'d Interactions<'_>,
        held_out: &TestSet,
        name: MetricName,
        sizes: &[usize],
        seed: u64,
    ) -> Result<Self, SearchError> {
        if held_out.users().is_empty() {
            return Err(SearchError::NothingHeldOut);
        }
        Ok(Self {
            history: History::of(train),
            samples: sizes
                .iter()
                .map(|&size| sample(held_out, size, seed))
                .collect(),
            name,
            options: EvaluateOptions {
                cutoffs: name.cutoff.into_iter().collect(),
                metrics: vec![name.metric],
                ..EvaluateOptions::default()
            },
        })
    }

    /// The metric of a model on the sample of a rung.
    pub(crate) fn measure(&self, model: &Model, rung: usize) -> Result<Measured, SearchError> {
        let test = &self.samples[rung.min(self.samples.len() - 1)];
        let found = evaluate(
            &model.scorer(),
            &self.history,
            test,
            &self.options,
            &|_, _| {},
        )?;
        let result = found.get(&self.name.to_string());
        let summary = result.map(|result| result.summary).unwrap_or_default();
        Ok(Measured {
            score: summary.mean,
            stderr: summary.stderr(),
        })
    }
}

/// The best post-scaling by a measure, near a guess: up the slope in steps, then in half steps.
pub(crate) fn best_post_scale(
    guess: f32,
    steps: Steps,
    measure: impl Fn(f32) -> Result<f64, SearchError>,
) -> Result<f32, SearchError> {
    let mut tried: Vec<(f64, f64)> = Vec::new();
    let mut score = |rho: f64| -> Result<f64, SearchError> {
        if let Some((_, known)) = tried.iter().find(|(at, _)| (at - rho).abs() < 1e-6) {
            return Ok(*known);
        }
        let found = measure(rho as f32)?;
        tried.push((rho, found));
        Ok(found)
    };
    let mut best = f64::from(guess).clamp(RHO.0, RHO.1);
    let mut step = steps.first;
    while step >= steps.least {
        let here = score(best)?;
        let sides = [best + step, best - step];
        let mut moved = false;
        for side in sides
            .into_iter()
            .filter(|rho| (RHO.0..=RHO.1).contains(rho))
        {
            if score(side)? > here {
                (best, moved) = (side, true);
                break;
            }
        }
        if !moved {
            step /= 2.0;
        }
    }
    Ok(((best * 100.0).round() / 100.0) as f32)
}

/// Up to `size` users with their held-out items, chosen by a hash of the user.
fn sample(held_out: &TestSet, size: usize, seed: u64) -> TestSet {
    if held_out.users().len() <= size {
        return held_out.clone();
    }
    let mut order: Vec<(u64, usize)> = (0..held_out.users().len())
        .map(|row| (hash(seed, held_out.users()[row]), row))
        .collect();
    order.sort_unstable();
    let mut rows: Vec<usize> = order[..size].iter().map(|(_, row)| *row).collect();
    rows.sort_unstable();
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for row in rows {
        for &item in held_out.lists().row(row) {
            users.push(held_out.users()[row]);
            items.push(item);
        }
    }
    // The columns have one length, which is all that could be wrong with them.
    TestSet::from_pairs(&users, &items).unwrap_or_default()
}

fn hash(seed: u64, user: u32) -> u64 {
    absentia::data::mix(seed, u64::from(user), 0x7475_6e65)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_parts_of_one_another_and_keep_whole_users() {
        let users: Vec<u32> = (0..600).map(|at| at / 3).collect();
        let items: Vec<u32> = (0..600).map(|at| at % 50).collect();
        let all = TestSet::from_pairs(&users, &items).unwrap();
        let (small, large) = (sample(&all, 20, 1), sample(&all, 60, 1));
        assert_eq!((small.users().len(), large.users().len()), (20, 60));
        for &user in small.users() {
            assert_eq!(large.get(user), all.get(user));
            assert_eq!(small.get(user), all.get(user));
        }
        assert_ne!(sample(&all, 20, 2), small);
        assert_eq!(sample(&all, 200, 2), all);
    }
}
