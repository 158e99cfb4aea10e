//! Whether what wins on held-out rows wins on the test: the same settings measured on both.
//!
//! Settings are those a search tries first. Each is trained on the data without some of its rows, once
//! for every way of holding rows out, and once on all of it; the order that each way gives the settings
//! is compared with the order on the test.

use absentia::data::{Interactions, Pick, Split};
use absentia::evaluate::{EvaluateOptions, History, MetricName, TestSet, evaluate};
use absentia::fit::{Run, fit};
use absentia::tune::{Fold, Trial, spearman};
use absentia::{Model, Params};
use absentia_cli::terminal::{Cell, Column, Table, format};
use anyhow::Result;
use serde_json::{Map, json};

use super::folds::{part, sampled};
use super::show::brief;
use super::tilt::tilted;
use crate::cli::Context;
use crate::failure::Refusal;
use crate::loading::Loaded;

/// Users measured at the most, on the test and on held-out rows alike.
const USERS: usize = 4000;
/// Each setting is also measured with more and with less post-scaling.
const RESCALED: [f32; 3] = [-0.15, 0.0, 0.15];

/// How far held-out rows are tilted to popular items.
const TILTS: [f64; 3] = [0.25, 0.5, 1.0];

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
    pub(super) loaded: &'a Loaded,
    pub(super) metric: MetricName,
    pub(super) context: &'a Context,
}

impl Study<'_> {
    /// Measures the settings of some trials in every way, and says how far each agrees with the test.
    pub(super) fn run(&self, trials: &[Trial], all: &Interactions<'static>) -> Result<()> {
        let (trains, ways) = self.ways(all)?;
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); ways.len()];
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
                for (way, column) in ways.iter().zip(&mut columns) {
                    let model = models[way.trained].clone().with_post_scale(rho);
                    let score = self.score(&model, &trains[way.trained], &way.held_out)?;
                    scores.insert(way.name.clone(), json!(score));
                    column.push(score);
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

    fn score(&self, model: &Model, train: &Interactions<'_>, test: &TestSet) -> Result<f64> {
        let options = EvaluateOptions {
            cutoffs: self.metric.cutoff.into_iter().collect(),
            metrics: vec![self.metric.metric],
            ..EvaluateOptions::default()
        };
        let found = evaluate(
            &model.scorer(),
            &History::of(train),
            test,
            &options,
            &|_, _| {},
        )?;
        let result = found.get(&self.metric.to_string());
        Ok(result.map_or(f64::NAN, |result| result.summary.mean))
    }

    fn show(&self, ways: &[Way], columns: &[Vec<f64>]) -> Result<()> {
        let test = &columns[0];
        let mut table = Table::new([
            Column::left("chosen by"),
            Column::right("rank correlation"),
            Column::right("of the better half"),
            Column::right("test of the choice").highest_is_best(),
            Column::right("of the best possible"),
        ]);
        let mut rows: Vec<(String, Vec<f64>)> = ways
            .iter()
            .zip(columns)
            .skip(1)
            .map(|(way, column)| (way.name.clone(), column.clone()))
            .collect();
        let ((plain, whole), (_, tilted)) = (rows[TILTS.len()].clone(), &rows[1]);
        let mean = whole.iter().zip(tilted).map(|(x, y)| f64::midpoint(*x, *y));
        rows.push((
            format!("mean of {plain} and its tilt to popularity^{}", TILTS[1]),
            mean.collect(),
        ));
        let most = test.iter().copied().fold(f64::MIN, f64::max);
        for (name, column) in rows {
            let chosen = column.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
            let chosen = chosen.map_or(f64::NAN, |(at, _)| test[at]);
            let all = spearman(&column, test).unwrap_or(f64::NAN);
            let half = better_half(&column, test).unwrap_or(f64::NAN);
            self.context.ui.json(&json!({
                "chosen_by": name,
                "settings": test.len(),
                "rank_correlation": all,
                "rank_correlation_better_half": half,
                "test_of_choice": chosen,
                "best_test": most,
            }))?;
            table.row([
                Cell::text(name),
                Cell::number(all, format!("{all:.3}")),
                Cell::number(half, format!("{half:.3}")),
                Cell::metric(chosen),
                Cell::number(chosen / most, format::percent(chosen / most)),
            ]);
        }
        self.context.ui.table(&table)?;
        Ok(self.context.ui.say(format!(
            "{} settings, {} users measured at the most; best on the test {}",
            test.len(),
            format::count(USERS as u64),
            format::metric(most)
        ))?)
    }
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
