//! Whether what wins on held-out rows wins on the test: the same settings measured on both.
//!
//! Settings are those a search tries first. Each is trained on the data without some of its rows, once
//! for every way of holding rows out, and once on all of it; the order that each way gives the settings
//! is compared with the order on the test. All is measured by recall and by NDCG: what should be raised
//! is not always what chooses best.

use absentia::data::{Interactions, Pick, Split};
use absentia::evaluate::{EvaluateOptions, History, Metric, MetricName, TestSet, evaluate};
use absentia::fit::{Run, fit};
use absentia::{Model, Params};
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use absentia_search::{Fold, Trial, spearman};
use anyhow::Result;
use serde_json::{Map, json};

use super::folds::{part, sampled};
use super::show::brief;
use super::tilt::{even, tilted};
use crate::cli::Context;
use crate::failure::Refusal;
use crate::loading::Rows;

/// Users measured at the most, on the test and on held-out rows alike.
const USERS: usize = 4000;
/// Each setting is also measured with more and with less post-scaling.
const RESCALED: [f32; 3] = [-0.15, 0.0, 0.15];

/// How far held-out rows are tilted to popular items.
const TILTS: [f64; 3] = [0.25, 0.5, 1.0];

/// What all is measured by.
const METRICS: [Metric; 2] = [Metric::Recall, Metric::Ndcg];

/// Draws of a third of the settings that choices are made from: the one choice from all of them is
/// much a matter of luck.
const DRAWS: u32 = 200;

/// A column of scores for each metric.
type Columns = [Vec<f64>; METRICS.len()];

/// One way of choosing: a name, and rows held out of training rows.
struct Way {
    name: String,
    /// Place of the matrix that is trained on.
    trained: usize,
    held_out: TestSet,
}

/// What settings are measured by.
pub(super) struct Study<'a> {
    pub(super) test: TestSet,
    pub(super) loaded: &'a Rows,
    /// Places of a list that count.
    pub(super) cutoff: usize,
    pub(super) context: &'a Context,
}

impl Study<'_> {
    /// Measures the settings of some trials in every way, and says how far each agrees with the test.
    pub(super) fn run(&self, trials: &[Trial], all: &Interactions<'static>) -> Result<()> {
        let (trains, ways) = self.ways(all)?;
        let mut columns = vec![Columns::default(); ways.len()];
        let bar = self
            .context
            .ui
            .progress()
            .count("study", trials.len() as u64, "settings");
        for trial in trials {
            let mut models = Vec::with_capacity(trains.len());
            for train in &trains {
                models.push(trained(train, trial)?);
            }
            for change in RESCALED {
                let rho = trial.params.post_scale + change;
                let mut scores = Map::new();
                for (way, columns) in ways.iter().zip(&mut columns) {
                    let model = models[way.trained].clone().with_post_scale(rho);
                    let found = self.score(&model, &trains[way.trained], &way.held_out)?;
                    let mut said = Map::new();
                    for ((metric, score), column) in METRICS.into_iter().zip(found).zip(columns) {
                        said.insert(self.name(metric), json!(score));
                        column.push(score);
                    }
                    scores.insert(way.name.clone(), json!(said));
                }
                let setting = format!("{} with post-scaling {rho:.2}", brief(trial));
                self.context
                    .ui
                    .json(&json!({"setting": setting, "scores": scores}))?;
            }
            bar.advance(1);
        }
        bar.finish();
        self.show(&ways, &columns)
    }

    /// All ways of holding rows out, the test being the first.
    fn ways(&self, all: &Interactions<'static>) -> Result<(Vec<Interactions<'static>>, Vec<Way>)> {
        let mut trains = vec![all.clone()];
        let mut ways = vec![Way {
            name: "test".to_owned(),
            trained: 0,
            held_out: sampled(&self.test, USERS),
        }];
        let share = |pick| Split::Ratio {
            test: 0.1,
            valid: 0.0,
            pick,
        };
        let at_least_one = |test, pick| Split::Share { test, pick };
        let mut rules = vec![
            (
                "random tenth, at least one row",
                at_least_one(0.1, Pick::Random),
                0,
            ),
            ("random fifth", at_least_one(0.2, Pick::Random), 0),
            ("drifting fifth", at_least_one(0.2, Pick::Drift), 0),
            ("random tenth", share(Pick::Random), 0),
            (
                "one random row a user",
                Split::leave_one_out(Pick::Random, false),
                0,
            ),
        ];
        if self.loaded.log.time().is_some() {
            rules.push((
                "latest tenth, at least one row",
                at_least_one(0.1, Pick::Latest),
                0,
            ));
            rules.push(("latest fifth", at_least_one(0.2, Pick::Latest), 0));
            rules.push((
                "latest row a user",
                Split::leave_one_out(Pick::Latest, false),
                0,
            ));
        }
        for (name, rule, seed) in rules {
            let Fold { train, held_out } = part(self.loaded, &rule, seed)?;
            let trained = trains.len();
            let mut add = |name: String, held_out: TestSet| {
                ways.push(Way {
                    name,
                    trained,
                    held_out: sampled(&held_out, USERS),
                });
            };
            if trained == 1 {
                for gamma in TILTS {
                    let tilted = tilted(&held_out, &train.item_counts(), gamma)?;
                    add(format!("{name}, tilted to popularity^{gamma}"), tilted);
                }
            }
            add(name.to_owned(), held_out);
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
    ) -> Result<[f64; METRICS.len()]> {
        let options = EvaluateOptions {
            cutoffs: vec![self.cutoff],
            metrics: METRICS.to_vec(),
            ..EvaluateOptions::default()
        };
        let found = evaluate(
            &model.scorer(),
            &History::of(train),
            test,
            &options,
            &|_, _| {},
        )?;
        Ok(METRICS.map(|metric| {
            let result = found.get(&self.name(metric));
            result.map_or(f64::NAN, |result| result.summary.mean)
        }))
    }

    fn show(&self, ways: &[Way], columns: &[Columns]) -> Result<()> {
        let Some((test, columns)) = columns.split_first() else {
            return Ok(());
        };
        let of_best = METRICS.map(|metric| format!("{} of the best", self.name(metric)));
        let mut table = Table::new([
            Column::left("chosen by"),
            Column::left("measured by"),
            Column::right("rank correlation"),
            Column::right("of the better half"),
            Column::right(of_best[0].clone()).highest_is_best(),
            Column::right(of_best[1].clone()).highest_is_best(),
        ]);
        let mut rows: Vec<(String, Columns)> = ways[1..]
            .iter()
            .map(|way| way.name.clone())
            .zip(columns.iter().cloned())
            .collect();
        let ((plain, whole), (_, tilted)) = (rows[TILTS.len()].clone(), &rows[1]);
        let mean = std::array::from_fn(|at| {
            let pairs = whole[at].iter().zip(&tilted[at]);
            pairs.map(|(x, y)| f64::midpoint(*x, *y)).collect()
        });
        let name = format!("mean of {plain} and its tilt to popularity^{}", TILTS[1]);
        rows.push((name, mean));
        for (name, columns) in rows {
            for (at, metric) in METRICS.into_iter().enumerate() {
                let column = &columns[at];
                let all = spearman(column, &test[at]).unwrap_or(f64::NAN);
                let half = better_half(column, &test[at]).unwrap_or(f64::NAN);
                let shares = [0, 1].map(|on_test| share_of_best(column, &test[on_test]));
                self.context.ui.json(&json!({
                    "chosen_by": name,
                    "measured_by": self.name(metric),
                    "settings": column.len(),
                    "rank_correlation": all,
                    "rank_correlation_better_half": half,
                    "of_the_best": {
                        (self.name(METRICS[0])): shares[0],
                        (self.name(METRICS[1])): shares[1],
                    },
                }))?;
                table.row([
                    Cell::text(name.clone()),
                    Cell::text(self.name(metric)),
                    Cell::number(all, format!("{all:.3}")),
                    Cell::number(half, format!("{half:.3}")),
                    Cell::number(shares[0], format::percent(shares[0])),
                    Cell::number(shares[1], format::percent(shares[1])),
                ]);
            }
        }
        self.context.ui.table(&table)?;
        Ok(self.context.ui.say(format!(
            "{} settings, {} users measured at the most; the last columns are means over {DRAWS} \
             choices from a third of the settings, measured on the test",
            test[0].len(),
            format::count(USERS as u64),
        ))?)
    }
}

/// The test score of the setting that a column chooses, as a share of the best: the mean over choices
/// from a third of the settings, drawn with a fixed seed.
fn share_of_best(column: &[f64], test: &[f64]) -> f64 {
    let trials = column.len() / RESCALED.len();
    let third = trials.div_ceil(3);
    let share = |draw: u32| {
        let mut order: Vec<usize> = (0..trials).collect();
        let place = |trial: &usize| even(draw, *trial as u32);
        order.sort_by(|a, b| place(a).total_cmp(&place(b)));
        let drawn = order[..third]
            .iter()
            .flat_map(|trial| (0..RESCALED.len()).map(move |n| trial * RESCALED.len() + n));
        let drawn: Vec<usize> = drawn.collect();
        let chosen = drawn
            .iter()
            .max_by(|a, b| column[**a].total_cmp(&column[**b]));
        let best = drawn.iter().map(|&at| test[at]).fold(f64::MIN, f64::max);
        let share = chosen.map_or(f64::NAN, |&chosen| test[chosen] / best);
        // Where nobody hits anything, any choice is as good as the best.
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

fn trained(train: &Interactions<'_>, trial: &Trial) -> Result<Model> {
    let Some(scheme) = trial.weights.scheme() else {
        return Err(Refusal::data("weights that need files cannot be studied").into());
    };
    let params: Params = trial.params.clone();
    Ok(fit(train, &scheme, &params.check()?, Run::default())?.model)
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
