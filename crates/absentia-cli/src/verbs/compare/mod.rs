//! `compare`: several weight schemes and solvers on the same split.

mod show;

use std::path::PathBuf;
use std::time::Instant;

use absentia::data::Pick;
use absentia::evaluate::{
    EvaluateOptions, Evaluation, History, PopularityScorer, TestSet, evaluate,
};
use absentia::fit::{Cancel, Run, StopReason, fit};
use absentia::weights::SchemeSpec;
use anyhow::{Context as _, Result};

use super::evaluate::{Difference, differences};
use super::train::{
    Follow, Held, Prepared, check_memory, end_on_interrupt, named_rows, prepare, settled,
};
use crate::args::{DataArgs, HyperArgs, SolverName, WeightArgs, parse_pick};
use crate::cli::Context;
use crate::failure::Outcome;
use crate::measure;

const EXAMPLES: &str = "\
Examples:
  $ absentia compare train.csv --test test.csv --weights uniform:0.01 --weights popularity:mean=0.1,alpha=0.4 --factors 16
  $ absentia compare ratings.csv --split leave-one-out --solver eals --solver als --factors 16 --at 5,10 --report compare.html

Every variant is trained on the same rows and measured on the same users. The first one is what the
others are tested against, user by user.";

/// Train several variants on one split and compare them in one table.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Files of held-out interactions.
    #[arg(long, value_name = "FILE", num_args = 1, conflicts_with = "split")]
    test: Vec<String>,
    /// Hold rows out of the data instead: leave-one-out (the default without --test), last:N,
    /// ratio:SHARE, time:FROM.
    #[arg(long, value_name = "RULE")]
    split: Option<String>,
    /// Which rows --split holds out: latest, random or drift [default: latest where there are times,
    /// or random].
    #[arg(long, value_name = "RULE", value_parser = parse_pick)]
    pick: Option<Pick>,
    /// A weight scheme to compare; give it several times
    /// [default: popularity:mean=0.01,alpha=0.25; for a baseline, what it takes].
    #[arg(long, value_name = "SCHEME", num_args = 1)]
    weights: Vec<SchemeSpec>,
    /// A solver to compare; give it several times. Every scheme is trained by every solver, but for
    /// the baselines that leave no choice of weights: these are trained once.
    #[arg(long, value_name = "NAME", num_args = 1, default_value = "eals")]
    solver: Vec<SolverName>,
    #[command(flatten)]
    hyper: HyperArgs,
    #[command(flatten)]
    missing: WeightArgs,
    /// Cut-offs, separated by commas.
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "20")]
    at: Vec<usize>,
    /// Metrics, separated by commas.
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "recall,ndcg"
    )]
    metrics: Vec<String>,
    /// Also rank items by their popularity, as a floor.
    #[arg(long)]
    baseline: bool,
    /// Write a report with charts and tables, readable offline.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
}

/// One variant, trained and measured.
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) iterations: usize,
    pub(super) objective: Option<f64>,
    pub(super) curve: Vec<f64>,
    pub(super) evaluation: Evaluation,
    pub(super) differences: Vec<Difference>,
}

impl Compare {
    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let held = match &self.split {
            Some(rule) => Held::Split(rule, self.pick),
            None if self.test.is_empty() => Held::Split("leave-one-out", self.pick),
            None => Held::Files(&self.test),
        };
        for &solver in &self.solver {
            self.hyper.params(solver, context.threads).check()?;
        }
        self.hyper.warn_of_unused(&self.solver, &context.ui);
        self.missing
            .warn_of_unused(&self.data.read, self.hyper.confidence, &context.ui);
        let prepared = prepare(&self.data, &self.missing, &held, &context.ui)?;
        prepared.check_rules(&self.hyper, &context.ui)?;
        let options = measure::options(&self.metrics, &self.at)?;
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let mut found: Vec<Compared> = Vec::new();
        for (weights, solver) in self.variants() {
            let Some(compared) =
                self.variant(&prepared, &weights, solver, &options, &cancel, context)?
            else {
                context
                    .ui
                    .warn("interrupted: the comparison is of what was complete");
                break;
            };
            push(&mut found, compared)?;
            show::line(found.last(), context)?;
        }
        if self.baseline && !cancel.is_cancelled() {
            push(&mut found, floor(&prepared, &options)?)?;
            show::line(found.last(), context)?;
        }
        if !found.is_empty() {
            show::tables(&found, context)?;
        }
        if let Some(path) = &self.report {
            show::report(path, &found, &prepared)?;
        }
        Ok(Outcome::interrupted_if(cancel.is_cancelled()))
    }

    fn variants(&self) -> Vec<(SchemeSpec, SolverName)> {
        let mut variants = Vec::new();
        for &solver in &self.solver {
            match (solver.own_weights(), &self.weights[..]) {
                (Some(own), _) => variants.push((own, solver)),
                (None, []) => variants.push((solver.default_weights(), solver)),
                (None, given) => {
                    variants.extend(given.iter().map(|weights| (weights.clone(), solver)));
                }
            }
        }
        // Schemes first, so that one scheme's solvers stand together.
        let place = |weights: &SchemeSpec| self.weights.iter().position(|given| given == weights);
        variants.sort_by_key(|(weights, _)| place(weights).unwrap_or(usize::MAX));
        variants
    }

    /// Trains and measures one variant; nothing if it was interrupted.
    fn variant(
        &self,
        prepared: &Prepared,
        weights: &SchemeSpec,
        solver: SolverName,
        options: &EvaluateOptions,
        cancel: &Cancel,
        context: &Context,
    ) -> Result<Option<Compared>> {
        let mut params = self.hyper.params(solver, context.threads);
        params.confidence = prepared.confidence(params.confidence);
        let (scheme, open) = (prepared.tables().scheme(weights)?, self.hyper.open());
        let name = self.name(weights, solver, params.solver.name());
        check_memory(prepared, &scheme, &params, open)?;
        if self.hyper.regularization.is_none() {
            context.ui.note(format!("{name}:"));
        }
        let params = match settled(params, open, prepared, &scheme, cancel, &context.ui) {
            Err(_) if cancel.is_cancelled() => return Ok(None),
            settled => settled.with_context(|| name.clone())?.params,
        };
        let mut follow = Follow::new(&context.ui, params.iterations).without_lines();
        let run = Run {
            init: prepared
                .tables()
                .init(&self.missing.init, self.hyper.factors)?,
            observer: Some(&mut follow),
            cancel: cancel.clone(),
            ..Run::default()
        };
        let start = Instant::now();
        let fitted = fit(&prepared.data, &scheme, &params.check()?, run)
            .map_err(|error| named_rows(error, prepared))
            .with_context(|| name.clone())?;
        let seconds = start.elapsed().as_secs_f64();
        follow.finish();
        if fitted.reason == StopReason::Cancelled {
            return Ok(None);
        }
        let history = History::of(&prepared.data);
        let model = &fitted.model;
        let evaluation = evaluate(
            &model.scorer(),
            &history,
            held_out(prepared)?,
            options,
            &|_, _| {},
        )?;
        Ok(Some(Compared {
            name,
            seconds,
            iterations: fitted.chosen_iteration,
            objective: model.history().last().map(|sweep| sweep.objective.total()),
            curve: model
                .history()
                .iter()
                .map(|sweep| sweep.objective.total())
                .collect(),
            evaluation,
            differences: Vec::new(),
        }))
    }

    /// What tells a variant from the others.
    fn name(&self, weights: &SchemeSpec, solver: SolverName, name: &str) -> String {
        match (self.weights.len(), self.solver.len()) {
            _ if solver.own_weights().is_some() => name.to_owned(),
            (_, 1) => weights.to_string(),
            (0 | 1, _) => name.to_owned(),
            _ => format!("{weights}, {name}"),
        }
    }
}

fn push(found: &mut Vec<Compared>, mut compared: Compared) -> Result<()> {
    if let Some(first) = found.first() {
        compared.differences = differences(&compared.evaluation, &first.evaluation)?;
    }
    found.push(compared);
    Ok(())
}

fn held_out(prepared: &Prepared) -> Result<&TestSet> {
    prepared.held_out.as_ref().context("rows were held out")
}

fn floor(prepared: &Prepared, options: &EvaluateOptions) -> Result<Compared> {
    let start = Instant::now();
    let data = &prepared.data;
    let scorer = PopularityScorer::new(data.n_users(), &data.item_counts());
    let history = History::of(data);
    Ok(Compared {
        name: "most popular".to_owned(),
        evaluation: evaluate(&scorer, &history, held_out(prepared)?, options, &|_, _| {})?,
        seconds: start.elapsed().as_secs_f64(),
        iterations: 0,
        objective: None,
        curve: Vec::new(),
        differences: Vec::new(),
    })
}
