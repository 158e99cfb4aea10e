//! Which settings the metric depends on.

use crate::space::{PENALTY, Space};
use crate::trial::{Trial, first_rung};

/// The smallest number of trials for which sensitivities are computed.
const FEWEST: usize = 8;
/// Number of parts an axis is divided into.
const PARTS: usize = 4;

/// How the metric depends on one setting.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sensitivity {
    /// Name of the setting.
    pub name: String,
    /// Its share of what all settings explain of the metric: of the variance that each explains alone,
    /// corrected for chance (adjusted R² over four parts of the axis of equal size, or its options). Shares
    /// add up to 1, unless no setting explains anything.
    pub share: f64,
    /// Lower end of the part of the axis with the best mean metric.
    pub best_from: String,
    /// Upper end of that part.
    pub best_to: String,
}

/// How much the trials of the first rung that searched a space depend on each setting, the most decisive first.
///
/// The worst quarter is left out: far from any good settings everything matters.
#[must_use]
pub fn sensitivity(space: &Space, trials: &[Trial]) -> Vec<Sensitivity> {
    let mut trials = first_rung(space, trials);
    trials.truncate(trials.len() - trials.len() / 4);
    if trials.len() < FEWEST {
        return Vec::new();
    }
    let dimensions = 0..space.dimensions().len();
    let mut found: Vec<Sensitivity> = dimensions.map(|at| of(space, &trials, at)).collect();
    let all: f64 = found.iter().map(|one| one.share).sum();
    if all > 0.0 {
        for one in &mut found {
            one.share /= all;
        }
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

fn of(space: &Space, trials: &[&Trial], at: usize) -> Sensitivity {
    let dimension = &space.dimensions()[at];
    let mut order: Vec<&&Trial> = trials.iter().collect();
    order.sort_by(|a, b| a.point[at].total_cmp(&b.point[at]));
    let groups: Vec<&[&&Trial]> = if dimension.options().is_empty() {
        order.chunks(order.len().div_ceil(PARTS)).collect()
    } else {
        let same =
            |a: &&&Trial, b: &&&Trial| dimension.text(a.point[at]) == dimension.text(b.point[at]);
        order.chunk_by(same).collect()
    };
    let score = |trial: &&&Trial| trial.score.unwrap_or(0.0);
    let mean = |group: &[&&Trial]| group.iter().map(score).sum::<f64>() / group.len() as f64;
    let (n, all) = (order.len() as f64, mean(&order));
    let total: f64 = order.iter().map(|trial| (score(trial) - all).powi(2)).sum();
    let within: f64 = groups
        .iter()
        .map(|group| {
            let own = mean(group);
            group
                .iter()
                .map(|trial| (score(trial) - own).powi(2))
                .sum::<f64>()
        })
        .sum();
    let free = n - groups.len() as f64;
    let share = if total > 0.0 && free > 0.0 {
        (1.0 - (within / free) / (total / (n - 1.0))).max(0.0)
    } else {
        0.0
    };
    let best = groups.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let end = |trial: Option<&&&Trial>| {
        trial.map_or_else(String::new, |trial| dimension.text(trial.point[at]))
    };
    let (best_from, best_to) = if dimension.name == PENALTY {
        // The axis is the penalty in relation to the weights; people set λ.
        let lambdas = best.into_iter().flat_map(|group| group.iter());
        let mut lambdas: Vec<f32> = lambdas.map(|trial| trial.params.regularization).collect();
        lambdas.sort_unstable_by(f32::total_cmp);
        let text = |lambda: Option<&f32>| lambda.map_or_else(String::new, f32::to_string);
        (text(lambdas.first()), text(lambdas.last()))
    } else {
        let (first, last) = best.map_or((None, None), |group| (group.first(), group.last()));
        (end(first), end(last))
    };
    Sensitivity {
        name: dimension.label().to_owned(),
        share,
        best_from,
        best_to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::staged::propose::Proposer;
    use crate::{Scope, testing};

    #[test]
    fn the_setting_that_decides_is_found() {
        let data = testing::blocks();
        let space = Space::of(&data, Scope::All);
        let proposer = Proposer::new(&space, 1);
        let trials: Vec<Trial> = (0..80)
            .map(|number| {
                let point = proposer.random(number);
                let score = 0.2 - 0.1 * (point[2] - 0.4).powi(2) + 0.001 * point[0];
                testing::trial(number, point, score)
            })
            .collect();
        let found = sensitivity(&space, &trials);
        let total: f64 = found.iter().map(|one| one.share).sum();
        assert!((total - 1.0).abs() < 1e-12, "{total}");
        assert_eq!(found[0].name, space.dimensions()[2].label());
        assert!(found[0].share > 0.5 && found[1].share < 0.3, "{found:?}");
        assert!(sensitivity(&space, &trials[..4]).is_empty());
    }
}
