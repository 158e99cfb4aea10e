//! Whether a model is better than a simpler one by more than noise.
//!
//! The best of many trials is partly the luckiest: on held-out rows of a few thousand users, scores of models that
//! are equally good differ by a percent or more. A richer model, with weights or settings that a simpler one does not
//! have, is therefore kept only if the same users get more from it and the difference is larger than chance.

use std::collections::BTreeMap;

use absentia::evaluate::{Evaluation, Metric, MetricName, paired_t_test};

/// The difference of two means over users must be this many times its standard error.
const LEAST_ERRORS: f64 = 1.96;

/// The metric of each user, and their NDCG at the same cut-off.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UserScores {
    users: Vec<u32>,
    metric: Vec<f32>,
    /// Empty if the metric has no cut-off.
    ndcg: Vec<f32>,
}

/// NDCG at the cut-off of a metric.
pub(crate) fn ndcg_beside(name: MetricName) -> Option<MetricName> {
    let metric = Metric::Ndcg;
    name.cutoff.map(|cutoff| MetricName {
        metric,
        cutoff: Some(cutoff),
    })
}

impl UserScores {
    /// Bytes of each user.
    pub(crate) const BYTES: usize = 12;

    /// The same metric and NDCG for users 0, 1 and so on.
    #[cfg(test)]
    pub(crate) fn made_up(values: &[f32]) -> Self {
        Self {
            users: (0..values.len() as u32).collect(),
            metric: values.to_vec(),
            ndcg: values.to_vec(),
        }
    }

    /// Takes the values of an evaluation.
    pub(crate) fn of(evaluation: &Evaluation, name: MetricName) -> Self {
        let values = |name: MetricName| {
            let mut results = evaluation.metrics.iter();
            let found = results.find(|result| result.name == name);
            found.map_or_else(Vec::new, |result| result.per_user.clone())
        };
        Self {
            users: evaluation.users.clone(),
            metric: values(name),
            ndcg: ndcg_beside(name).map(values).unwrap_or_default(),
        }
    }

    /// The means of each user over the folds that measure the user: folds hold out different rows of the same users,
    /// so that their values are not independent of each other.
    pub(crate) fn mean_of(mut folds: Vec<Self>) -> Self {
        if folds.len() == 1 {
            return folds.remove(0);
        }
        let mut sums: BTreeMap<u32, (f32, f32, f32)> = BTreeMap::new();
        for fold in &folds {
            for (at, &user) in fold.users.iter().enumerate() {
                let sum = sums.entry(user).or_default();
                sum.0 += fold.metric.get(at).copied().unwrap_or_default();
                sum.1 += fold.ndcg.get(at).copied().unwrap_or_default();
                sum.2 += 1.0;
            }
        }
        let has_ndcg = folds.iter().any(|fold| !fold.ndcg.is_empty());
        let ndcg = sums.values().map(|(_, ndcg, count)| ndcg / count);
        Self {
            users: sums.keys().copied().collect(),
            metric: sums
                .values()
                .map(|(metric, _, count)| metric / count)
                .collect(),
            ndcg: if has_ndcg { ndcg.collect() } else { Vec::new() },
        }
    }

    /// The mean NDCG over users, where it is known.
    pub(crate) fn mean_ndcg(&self) -> Option<f64> {
        let sum: f64 = self.ndcg.iter().map(|&ndcg| f64::from(ndcg)).sum();
        (!self.ndcg.is_empty()).then(|| sum / self.ndcg.len() as f64)
    }

    /// Whether the metric is higher than that of a simpler model by more than noise, and NDCG is not lower. The 95 %
    /// interval of the difference, paired over users, must be above 0. Values of other users say nothing.
    pub(crate) fn beats(&self, simpler: &Self) -> bool {
        if self.users != simpler.users {
            return false;
        }
        let Ok(gain) = paired_t_test(&self.metric, &simpler.metric) else {
            return false;
        };
        let keeps_ndcg = match paired_t_test(&self.ndcg, &simpler.ndcg) {
            Ok(ndcg) => ndcg.difference >= 0.0,
            Err(_) => self.ndcg.is_empty(),
        };
        keeps_ndcg && gain.difference > LEAST_ERRORS * gain.stderr
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(metric: &[f32], ndcg: &[f32]) -> UserScores {
        UserScores {
            users: (0..metric.len() as u32).collect(),
            metric: metric.to_vec(),
            ndcg: ndcg.to_vec(),
        }
    }

    /// Values of a hundred users that differ by `gain` and by noise of up to `noise` in either direction.
    fn pair(gain: f32, noise: f32) -> (UserScores, UserScores) {
        let of = |sign: f32| -> Vec<f32> {
            let value = |at: u8| {
                0.5 + sign * (gain / 2.0 + noise * f32::from(at % 11) / 10.0 - noise / 2.0)
            };
            (0..100).map(value).collect()
        };
        let (more, less) = (of(1.0), of(-1.0));
        (scores(&more, &more), scores(&less, &less))
    }

    #[test]
    fn a_gain_counts_if_it_is_larger_than_noise() {
        let (more, less) = pair(0.1, 0.2);
        assert!(more.beats(&less) && !less.beats(&more));
        let (more, less) = pair(0.01, 0.2);
        assert!(!more.beats(&less) && !less.beats(&more));
        assert!(!more.beats(&more));
    }

    #[test]
    fn a_gain_at_the_cost_of_ndcg_does_not_count() {
        let (mut more, less) = pair(0.1, 0.2);
        more.ndcg = less.ndcg.iter().map(|ndcg| ndcg - 0.01).collect();
        assert!(!more.beats(&less));
        (more.ndcg, more.metric) = (Vec::new(), more.metric);
        let without = UserScores {
            ndcg: Vec::new(),
            ..less
        };
        assert!(more.beats(&without));
    }

    #[test]
    fn folds_count_once_for_each_user() {
        let one = scores(&[0.0, 1.0], &[0.0, 0.5]);
        let other = UserScores {
            users: vec![1, 2],
            metric: vec![0.0, 1.0],
            ndcg: vec![0.0, 0.5],
        };
        let mean = UserScores::mean_of(vec![one.clone(), other]);
        assert_eq!(mean.users, [0, 1, 2]);
        assert_eq!(
            (mean.metric, mean.ndcg),
            (vec![0.0, 0.5, 1.0], vec![0.0, 0.25, 0.5])
        );
        assert_eq!(UserScores::mean_of(vec![one.clone()]), one);
        assert!(!one.beats(&scores(&[0.0], &[0.0])));
    }
}
