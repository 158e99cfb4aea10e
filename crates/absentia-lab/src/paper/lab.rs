//! Training and measuring for all parts of the report.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use absentia::evaluate::{
    Bootstrap, EvaluateOptions, Evaluation, History, Interval, Metric, TTest, TestSet,
    bootstrap_difference, evaluate, paired_t_test,
};
use absentia::fit::{
    Control, MemoryPlan, Observer, Run, Sizes, Sweep, Validation, default_threads, fit,
};
use absentia::memory::Stage;
use absentia::ranking::{Scorer, ranking_bytes};
use absentia::weights::{Scheme, Strength};
use absentia::{Interactions, Method, Model, Params};
use absentia_job::{Listener, while_held};
use absentia_report::format;
use anyhow::{Context as _, Result};

use super::data::{Set, Source};
use super::figure_four::Chosen;
use super::part::{Block, Finding};
use super::scale::Size;

/// Length of the measured lists, as in the paper.
pub(super) const TOP: usize = 100;
/// The two metrics; with one item held out, recall is the paper's hit ratio.
pub(super) const METRICS: [&str; 2] = ["recall@100", "ndcg@100"];
/// Ridge penalty of the paper's experiments.
pub(super) const LAMBDA: f32 = 0.01;
/// Differences that chance alone would give less often than this are called significant.
pub(super) const SIGNIFICANT: f64 = 0.05;

/// Seconds of a sweep that is timed once.
const LONG: f64 = 4.0;
/// A remark shown with all results of ii-SVD.
pub(super) const II_SVD: &str = "How ii-SVD normalises its neighbour scores is our choice, made by \
     looking at test rows of the Gowalla sample: its own paper does not give it in full, so its accuracy \
     is no fair test of the method, least of all on Gowalla.";

/// What every part of the report uses.
pub(super) struct Lab<'a> {
    pub(super) size: Size,
    pub(super) data: PathBuf,
    pub(super) yelp: Option<PathBuf>,
    pub(super) ratings: Option<PathBuf>,
    pub(super) threads: Option<usize>,
    pub(super) memory: &'a dyn Listener,
    /// Weights chosen so far, by set: a search is made once.
    pub(super) chosen: RefCell<HashMap<String, Chosen>>,
}

/// Settings of one run.
#[derive(Clone)]
pub(super) struct Setting {
    pub(super) scheme: Scheme,
    pub(super) params: Params,
}

/// A model after one sweep: J, the two metrics, and the seconds of training so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) objective: f64,
    pub(super) metrics: [f64; 2],
    pub(super) seconds: f64,
}

impl Lab<'_> {
    /// Does something with a set, which is in memory meanwhile.
    pub(super) fn with_set<T>(
        &self,
        source: &Source,
        work: impl FnOnce(&Set) -> Result<T>,
    ) -> Result<T> {
        if let Some(stage) = source.reading() {
            self.memory.enter(stage)?;
        }
        let set = source.load(self.size)?;
        while_held(self.memory, set.bytes(), || work(&set))
    }

    /// Trains a model, if that and ranking for its users fit into memory.
    fn fit(&self, data: &Interactions<'_>, setting: &Setting, run: Run<'_>) -> Result<Model> {
        let sizes = Sizes::of(data, &setting.scheme, &setting.params, false);
        let plan = MemoryPlan::new(&sizes, &setting.params);
        let ranking = ranking_bytes(data.n_users(), data.n_items(), TOP);
        let stage = Stage::new("training and ranking").with_all(plan.parts);
        self.memory.enter(stage.with("ranking", ranking))?;
        let params = setting.params.clone().check()?;
        Ok(fit(data, &setting.scheme, &params, run)?.model)
    }

    pub(super) fn n_threads(&self) -> usize {
        self.threads.unwrap_or_else(default_threads)
    }

    /// The paper's settings: one λ for all rows, a start of N(0, 0.01²).
    pub(super) fn params(&self, factors: usize, iterations: usize) -> Params {
        Params {
            threads: self.threads,
            ..Params::new()
                .factors(factors)
                .iterations(iterations)
                .regularization(LAMBDA)
                .reg_exponent(0.0)
        }
    }

    pub(super) fn train(&self, data: &Interactions<'_>, setting: &Setting) -> Result<Model> {
        self.fit(data, setting, Run::default())
    }

    /// Trains on a set and measures on its test rows.
    pub(super) fn tested(&self, set: &Set, setting: &Setting) -> Result<(Model, Evaluation)> {
        let model = self.train(&set.train, setting)?;
        let found = measured(&model.scorer(), &set.train, &set.test, true)?;
        Ok((model, found))
    }

    /// Trains, measuring after every sweep on some of the users.
    pub(super) fn followed(
        &self,
        data: &Interactions<'_>,
        test: &TestSet,
        setting: &Setting,
    ) -> Result<(Model, Vec<Moment>)> {
        let seen = RefCell::new(Vec::new());
        let some = some_users(test, self.size.curve_users())?;
        let measure = |model: &Model| {
            let found = measured(&model.scorer(), data, &some, true);
            let both = found.map_or([f64::NAN; 2], |found| {
                METRICS.map(|name| mean(&found, name))
            });
            seen.borrow_mut().push(both);
            // Later models win, so that the last one comes out.
            seen.borrow().len() as f64
        };
        let run = Run {
            validation: Some(Validation {
                metric: Box::new(measure),
                every: 1,
                patience: None,
            }),
            ..Run::default()
        };
        let model = self.fit(data, setting, run)?;
        let mut seconds = 0.0;
        let moments = model.history().iter().zip(seen.into_inner());
        let moments = moments
            .map(|(sweep, metrics)| {
                seconds += sweep.seconds;
                Moment {
                    objective: sweep.objective.total(),
                    metrics,
                    seconds,
                }
            })
            .collect();
        Ok((model, moments))
    }

    /// Seconds of the fastest sweep.
    pub(super) fn timed(&self, data: &Interactions<'_>, setting: &Setting) -> Result<f64> {
        let mut setting = setting.clone();
        setting.params.iterations = self.size.repeats();
        let run = Run {
            observer: Some(&mut OnceIfLong),
            ..Run::default()
        };
        let model = self.fit(data, &setting, run)?;
        let fastest = model.history().iter().map(|sweep| sweep.seconds);
        Ok(fastest.fold(f64::INFINITY, f64::min))
    }
}

/// Ends a timing after one sweep if sweeps are long: a second one would add little.
struct OnceIfLong;

impl Observer for OnceIfLong {
    fn swept(&mut self, sweep: &Sweep) -> Control {
        if sweep.seconds > LONG {
            Control::Stop
        } else {
            Control::Continue
        }
    }
}

/// At most `most` users, spread evenly.
fn some_users(test: &TestSet, most: usize) -> Result<TestSet> {
    let every = test.users().len().div_ceil(most).max(1);
    let (mut users, mut items) = (Vec::new(), Vec::new());
    for &user in test.users().iter().step_by(every) {
        let own = test.get(user).unwrap_or_default();
        users.resize(users.len() + own.len(), user);
        items.extend_from_slice(own);
    }
    Ok(TestSet::from_pairs(&users, &items)?)
}

/// The two metrics of a scorer for every user with a test item.
pub(super) fn measured(
    scorer: &dyn Scorer,
    train: &Interactions<'_>,
    test: &TestSet,
    exclude_seen: bool,
) -> Result<Evaluation> {
    let options = EvaluateOptions {
        cutoffs: vec![TOP],
        metrics: vec![Metric::Recall, Metric::Ndcg],
        exclude_seen,
        ..EvaluateOptions::default()
    };
    let history = History::of(train);
    Ok(evaluate(scorer, &history, test, &options, &|_, _| {})?)
}

/// Mean of a metric over users.
pub(super) fn mean(evaluation: &Evaluation, name: &str) -> f64 {
    evaluation
        .get(name)
        .map_or(f64::NAN, |found| found.summary.mean)
}

/// Mean with half of its 95 % interval.
pub(super) fn mean_text(evaluation: &Evaluation, name: &str) -> String {
    evaluation.get(name).map_or_else(String::new, |found| {
        let (low, high) = found.summary.interval();
        format::mean(found.summary.mean, (high - low) / 2.0)
    })
}

/// The difference of two models, user by user.
pub(super) struct Difference {
    pub(super) test: TTest,
    pub(super) interval: Interval,
    base: f64,
}

/// How a difference came out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Better,
    Worse,
    Neither,
}

impl Difference {
    pub(super) fn of(new: &Evaluation, old: &Evaluation, name: &str) -> Result<Self> {
        let (a, b) = new.paired(old, name)?;
        Ok(Self {
            test: paired_t_test(a, b)?,
            interval: bootstrap_difference(a, b, Bootstrap::default())?,
            base: mean(old, name),
        })
    }

    fn words(&self) -> &'static str {
        match self.verdict() {
            Verdict::Better => "significantly better",
            Verdict::Worse => "significantly worse",
            Verdict::Neither => "no significant difference",
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        if self.test.p >= SIGNIFICANT || self.test.p.is_nan() {
            Verdict::Neither
        } else if self.test.difference > 0.0 {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }

    /// `+0.0012 (+3.1 %), 95 % interval +0.0007 to +0.0018, p < 1e-4 over 2,000 users`.
    pub(super) fn text(&self) -> String {
        let share = if self.base > 0.0 {
            format!(" ({:+.1} %)", 100.0 * self.test.difference / self.base)
        } else {
            String::new()
        };
        format!(
            "{}{share}, 95 % interval {} to {}, {} over {} users",
            format::signed(self.test.difference),
            format::signed(self.interval.low),
            format::signed(self.interval.high),
            format::p_value(self.test.p),
            format::count(self.test.n as u64)
        )
    }
}

/// What both metrics say of one model against another, in one sentence each.
pub(super) fn statement(what: &str, new: &Evaluation, old: &Evaluation) -> Result<String> {
    let mut parts = Vec::new();
    for name in METRICS {
        let difference = Difference::of(new, old, name)?;
        let verdict = difference.words();
        parts.push(format!("`{name}` {} ({verdict})", difference.text()));
    }
    Ok(format!("{what}: {}.", parts.join("; ")))
}

/// The same for the summary.
pub(super) fn findings(
    claim: &str,
    set: &Set,
    new: &Evaluation,
    old: &Evaluation,
) -> Result<Vec<Block>> {
    let finding = |name: &str| {
        let found = Difference::of(new, old, name)?;
        Ok(Block::Finding(Finding {
            claim: claim.to_owned(),
            set: set.name.clone(),
            metric: name.to_owned(),
            difference: found.test.difference,
            low: found.interval.low,
            high: found.interval.high,
            p: found.test.p,
            verdict: found.words().to_owned(),
        }))
    };
    METRICS.into_iter().map(finding).collect()
}

/// Popularity weights with the paper's c0 and α.
pub(super) fn popularity(c0: f32, alpha: f32) -> Scheme {
    Scheme::popularity(Strength::C0(c0), alpha)
}

/// The weights each baseline leaves no choice of, or one weight on all missing entries.
pub(super) fn weights_of(method: impl Into<Method>, weight: f32) -> Scheme {
    let only = match method.into() {
        Method::Solver(_) => None,
        Method::Baseline(baseline) => baseline.only_weight(),
    };
    Scheme::uniform(only.unwrap_or(weight))
}

/// The last value of a list that cannot be empty.
pub(super) fn last<T: Copy>(values: &[T]) -> Result<T> {
    values.last().copied().context("nothing was measured")
}
