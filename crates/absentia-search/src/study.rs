//! Whether settings that win on held-out rows also win on test rows: the same settings measured on both.
//!
//! The settings are those a search tries first. Each is trained on all of the data, and once more for
//! every way of holding rows out of it; the order that each way gives the settings is compared with
//! the order on the test. All is measured by recall and by NDCG: the metric to raise is not always the
//! metric that chooses best.

use absentia::data::{EventLog, Interactions, Pick, Split};
use absentia::evaluate::{EvaluateOptions, History, Metric, MetricName, TestSet, evaluate};
use absentia::fit::{FitError, Run, fit};
use absentia::{Model, Params};

use crate::correlation::spearman;
use crate::error::SearchError;
use crate::fold::{Fold, every_nth_user, hashed_unit, tilted};
use crate::trial::Trial;

/// The largest number of users measured, on the test and on held-out rows.
const USERS: usize = 4000;
/// Each setting is also measured with more and with less post-scaling.
const POST_SCALE_CHANGES: [f32; 3] = [-0.15, 0.0, 0.15];
/// Powers of item counts that held-out rows are thinned by.
const TILTS: [f64; 3] = [0.25, 0.5, 1.0];
/// What all is measured by.
const METRICS: [Metric; 2] = [Metric::Recall, Metric::Ndcg];
/// Number of random thirds of the settings that choices are made from: a single choice from all of
/// them depends much on luck.
const DRAWS: u32 = 200;

/// A column of scores for each metric, one score per setting.
type Scores = [Vec<f64>; METRICS.len()];

/// One way of choosing: a name, and rows held out of training rows.
struct Way {
    name: String,
    /// Place of the matrix that is trained on.
    trained: usize,
    held_out: TestSet,
}

/// One setting, measured in every way.
#[derive(Clone, Debug, PartialEq)]
pub struct StudiedSetting<'t> {
    /// The trial that it is from.
    pub trial: &'t Trial,
    /// Its post-scaling.
    pub post_scale: f32,
    /// For every way of holding rows out, its name, and the metrics with their names.
    pub scores: Vec<(String, Vec<(String, f64)>)>,
}

/// How far one way of choosing agrees with the test.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The way of holding rows out.
    pub chosen_by: String,
    /// The metric on the held-out rows.
    pub measured_by: String,
    /// Number of settings.
    pub settings: usize,
    /// Rank correlation with the test.
    pub rank_correlation: f64,
    /// The same among the settings that are better than the median on the test.
    pub rank_correlation_better_half: f64,
    /// For each metric, the test score of the chosen setting as a share of the best.
    pub share_of_best: [f64; 2],
}

/// Compares choices by held-out rows with choices by test rows.
pub struct Study<'s> {
    /// The test rows.
    pub test: TestSet,
    /// The rows of the data.
    pub log: &'s EventLog,
    /// The same as a matrix.
    pub data: &'s Interactions<'static>,
    /// Places of a list that count.
    pub cutoff: usize,
}

impl Study<'_> {
    /// The largest number of users measured.
    pub const MAX_USERS: usize = USERS;
    /// Number of choices that shares of the best are means over.
    pub const CHOICES: u32 = DRAWS;

    /// The names of the metrics.
    #[must_use]
    pub fn metrics(&self) -> [String; 2] {
        METRICS.map(|metric| self.name(metric))
    }

    /// Measures the settings of some trials in every way, and says how far each way agrees with the
    /// test. `observer` gets every setting, and after those of a trial the number of trials done.
    ///
    /// # Errors
    /// Settings that cannot be trained, or whatever the observer reports.
    pub fn run<E: From<SearchError>>(
        &self,
        trials: &[Trial],
        observer: &mut dyn FnMut(&StudiedSetting<'_>) -> Result<(), E>,
        advance: &mut dyn FnMut(),
    ) -> Result<Vec<Agreement>, E> {
        let (trains, ways) = self.ways()?;
        let mut scores = vec![Scores::default(); ways.len()];
        for trial in trials {
            let models = trains.iter().map(|train| trained(train, trial));
            let models: Vec<Model> = models.collect::<Result<_, _>>()?;
            for change in POST_SCALE_CHANGES {
                let mut setting = StudiedSetting {
                    trial,
                    post_scale: trial.params.post_scale + change,
                    scores: Vec::with_capacity(ways.len()),
                };
                for (way, scores) in ways.iter().zip(&mut scores) {
                    let model = models[way.trained].clone();
                    let model = model.with_post_scale(setting.post_scale);
                    let measured = self.score(&model, &trains[way.trained], &way.held_out)?;
                    let named = self.metrics().into_iter().zip(measured).collect();
                    setting.scores.push((way.name.clone(), named));
                    for (column, score) in scores.iter_mut().zip(measured) {
                        column.push(score);
                    }
                }
                observer(&setting)?;
            }
            advance();
        }
        Ok(self.agreements(&ways, &scores))
    }

    /// All ways of holding rows out, the test being the first.
    fn ways(&self) -> Result<(Vec<Interactions<'static>>, Vec<Way>), SearchError> {
        let shape = (self.data.n_users(), self.data.n_items());
        let mut trains = vec![self.data.clone()];
        let mut ways = vec![Way {
            name: "test".to_owned(),
            trained: 0,
            held_out: every_nth_user(&self.test, USERS),
        }];
        for (name, rule) in rules(self.log.time().is_some()) {
            let Fold { train, held_out } = Fold::of_log(self.log, shape, &rule, 0)?;
            let trained = trains.len();
            let mut add = |name: String, held_out: &TestSet| {
                ways.push(Way {
                    name,
                    trained,
                    held_out: every_nth_user(held_out, USERS),
                });
            };
            if trained == 1 {
                for power in TILTS {
                    let tilted = tilted(&held_out, &train.item_counts(), power)?;
                    add(format!("{name}, tilted to popularity^{power}"), &tilted);
                }
            }
            add(name.to_owned(), &held_out);
            trains.push(train);
        }
        Ok((trains, ways))
    }

    fn name(&self, metric: Metric) -> String {
        let cutoff = Some(self.cutoff);
        MetricName { metric, cutoff }.to_string()
    }

    fn score(
        &self,
        model: &Model,
        train: &Interactions<'_>,
        test: &TestSet,
    ) -> Result<[f64; METRICS.len()], SearchError> {
        let options = EvaluateOptions {
            cutoffs: vec![self.cutoff],
            metrics: METRICS.to_vec(),
            ..EvaluateOptions::default()
        };
        let history = History::of(train);
        let evaluation = evaluate(&model.scorer(), &history, test, &options, &|_, _| {})?;
        Ok(METRICS.map(|metric| {
            let result = evaluation.get(&self.name(metric));
            result.map_or(f64::NAN, |result| result.summary.mean)
        }))
    }

    fn agreements(&self, ways: &[Way], scores: &[Scores]) -> Vec<Agreement> {
        let Some((test, scores)) = scores.split_first() else {
            return Vec::new();
        };
        let names = ways[1..].iter().map(|way| way.name.clone());
        let mut rows: Vec<(String, Scores)> = names.zip(scores.iter().cloned()).collect();
        let ((plain, whole), (_, tilted)) = (rows[TILTS.len()].clone(), &rows[1]);
        let mean = std::array::from_fn(|at| {
            let pairs = whole[at].iter().zip(&tilted[at]);
            pairs.map(|(x, y)| f64::midpoint(*x, *y)).collect()
        });
        let name = format!("mean of {plain} and its tilt to popularity^{}", TILTS[1]);
        rows.push((name, mean));
        let mut agreements = Vec::new();
        for (name, scores) in rows {
            for (at, metric) in METRICS.into_iter().enumerate() {
                let column = &scores[at];
                agreements.push(Agreement {
                    chosen_by: name.clone(),
                    measured_by: self.name(metric),
                    settings: column.len(),
                    rank_correlation: spearman(column, &test[at]).unwrap_or(f64::NAN),
                    rank_correlation_better_half: better_half(column, &test[at])
                        .unwrap_or(f64::NAN),
                    share_of_best: [0, 1].map(|on_test| share_of_best(column, &test[on_test])),
                });
            }
        }
        agreements
    }
}

/// The rules that rows are held out by, with their names.
fn rules(has_times: bool) -> Vec<(&'static str, Split)> {
    let at_least_one = |test, pick| Split::Share { test, pick };
    let tenth = Split::Ratio {
        test: 0.1,
        valid: 0.0,
        pick: Pick::Random,
    };
    let one = |pick| Split::leave_one_out(pick, false);
    let mut rules = vec![
        (
            "random tenth, at least one row",
            at_least_one(0.1, Pick::Random),
        ),
        ("random fifth", at_least_one(0.2, Pick::Random)),
        ("drifting fifth", at_least_one(0.2, Pick::Drift)),
        ("random tenth", tenth),
        ("one random row a user", one(Pick::Random)),
    ];
    if has_times {
        rules.extend([
            (
                "latest tenth, at least one row",
                at_least_one(0.1, Pick::Latest),
            ),
            ("latest fifth", at_least_one(0.2, Pick::Latest)),
            ("latest row a user", one(Pick::Latest)),
        ]);
    }
    rules
}

/// The test score of the setting that a column chooses, as a share of the best: the mean over choices
/// from a third of the settings, drawn with a fixed seed.
fn share_of_best(column: &[f64], test: &[f64]) -> f64 {
    let trials = column.len() / POST_SCALE_CHANGES.len();
    let third = trials.div_ceil(3);
    let share = |draw: u32| {
        let mut order: Vec<usize> = (0..trials).collect();
        let place = |trial: &usize| hashed_unit(draw, *trial as u32);
        order.sort_by(|a, b| place(a).total_cmp(&place(b)));
        let drawn = order[..third].iter().flat_map(|trial| {
            (0..POST_SCALE_CHANGES.len()).map(move |n| trial * POST_SCALE_CHANGES.len() + n)
        });
        let drawn: Vec<usize> = drawn.collect();
        let chosen = drawn
            .iter()
            .max_by(|a, b| column[**a].total_cmp(&column[**b]));
        let best = drawn.iter().map(|&at| test[at]).fold(f64::MIN, f64::max);
        let share = chosen.map_or(f64::NAN, |&chosen| test[chosen] / best);
        // Where no setting scores, any choice is as good as the best.
        if best > 0.0 { share } else { 1.0 }
    };
    (0..DRAWS).map(share).sum::<f64>() / f64::from(DRAWS)
}

/// The rank correlation among the settings that are better than the median on the test.
fn better_half(column: &[f64], test: &[f64]) -> Option<f64> {
    let mut sorted = test.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2)?;
    let pairs = column.iter().zip(test).filter(|(_, test)| **test >= median);
    let (column, test): (Vec<f64>, Vec<f64>) = pairs.unzip();
    spearman(&column, &test)
}

fn trained(train: &Interactions<'_>, trial: &Trial) -> Result<Model, SearchError> {
    let scheme = trial.scheme().ok_or(SearchError::WeightsNeedFiles)?;
    let params: Params = trial.params.clone();
    let params = params.check().map_err(FitError::from)?;
    Ok(fit(train, &scheme, &params, Run::default())?.model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_orders_as_the_test_does_chooses_the_best_of_every_draw() {
        let test: Vec<f64> = (0..36).map(|at| 1.0 + f64::from(at * 7 % 36)).collect();
        assert!((share_of_best(&test, &test) - 1.0).abs() < 1e-12);
        let upside_down: Vec<f64> = test.iter().map(|score| -score).collect();
        let worst = share_of_best(&upside_down, &test);
        assert!(worst > 0.0 && worst < 0.5, "{worst}");
        assert!((share_of_best(&test, &[0.0; 36]) - 1.0).abs() < 1e-12);
    }
}
