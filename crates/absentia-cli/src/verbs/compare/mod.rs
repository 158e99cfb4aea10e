//! `compare`: several weight schemes and solvers on the same split.

mod show;

use std::path::PathBuf;
use std::time::Instant;

use absentia::Method;
use absentia::data::Pick;
use absentia::evaluate::{EvaluateOptions, Evaluation, History, TestSet, evaluate};
use absentia::fit::{Cancel, StopReason};
use absentia::ranking::{PopularityScorer, Scorer};
use absentia::weights::SchemeSpec;
use absentia_io::time::TimeUnit;
use absentia_job::text::{RelationSpec, SplitRule};
use absentia_job::{
    Execution, ExposedEntries, GivenSettings, Input, Job, JobError, TrainingData,
    ValidationSettings,
};
use absentia_search::popularity_scorers;
use anyhow::{Context as _, Result};

use super::evaluate::{Difference, differences};
use super::train::{Follow, end_on_interrupt};
use crate::args::{DataArgs, flag, parse_length, warn_of_unused};
use crate::cli::Context;
use crate::cold::{self, Cold};
use crate::failure::Outcome;
use crate::guard::Files;
use crate::measure;

const EXAMPLES: &str = "\
Examples:
  $ absentia compare train.csv --test test.csv --weights uniform:0.01 --weights popularity:mean=0.1,alpha=0.4 --factors 16
  $ absentia compare ratings.csv --split leave-one-out --solver eals --solver als --factors 16 --at 5,10 --report compare.html

Every variant is trained on the same rows and measured on the same users. The first one is what the
others are tested against, user by user. The last lines rank items by their popularity, over all rows and, where
there are times, over the latest twentieth of them; a warning names every model that does worse.";

/// Train several variants on one split and compare them in one table.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Compare {
    /// Files of held-out interactions.
    #[arg(long, value_name = "FILE", num_args = 1, conflicts_with_all = ["split", "pick"])]
    test: Vec<String>,
    /// Hold rows out of the data instead: leave-one-out (one row of every user, the default without --test),
    /// last:N (N of them), ratio:SHARE (a share of them, rounded), share:SHARE (a share, but at least one), time:FROM
    /// (all rows from a time on), or time:SHARE, the latest of all rows.
    #[arg(long, value_name = "RULE")]
    split: Option<SplitRule>,
    /// Which rows --split holds out: latest, random, or drift, random rows that favour some kinds of items, as if
    /// demand had moved there [default: latest where there are times, or random].
    #[arg(long, value_name = "RULE")]
    pick: Option<Pick>,
    /// A weight scheme to compare; give it several times
    /// [default: popularity:mean=0.01,alpha=0.25; for a baseline, what it takes].
    #[arg(long, value_name = "SCHEME", num_args = 1)]
    weights: Vec<SchemeSpec>,
    /// A solver to compare; give it several times. Every scheme is trained by every solver, except
    /// the baselines that leave no choice of weights: these are trained once [default: eals].
    #[arg(
        long,
        value_name = "NAME",
        num_args = 1,
        default_value = "eals",
        hide_default_value = true
    )]
    solver: Vec<Method>,
    /// Side information, as for train. Every variant that can take it is trained without it and with it.
    #[arg(long, value_name = "RELATION", num_args = 1)]
    relation: Vec<RelationSpec>,
    #[command(flatten)]
    pub(crate) settings: GivenSettings,
    #[command(flatten)]
    pub(crate) exposed: ExposedEntries,
    /// Cut-offs, separated by commas [default: 20].
    #[arg(
        long,
        value_name = "K",
        value_delimiter = ',',
        default_value = "20",
        hide_default_value = true
    )]
    #[arg(help_heading = "Measuring", value_parser = parse_length)]
    at: Vec<usize>,
    /// Metrics, separated by commas: those of `evaluate` [default: recall,ndcg].
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "recall,ndcg",
        hide_default_value = true,
        help_heading = "Measuring"
    )]
    metrics: Vec<String>,
    /// Write a report with charts and tables, readable offline.
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// What is trained.
struct Variant {
    name: String,
    job: Job,
    /// Whether with the relations.
    is_related: bool,
}

/// One variant, trained and measured.
pub(super) struct Compared {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) iterations: usize,
    pub(super) objective: Option<f64>,
    pub(super) curve: Vec<f64>,
    /// Factors and regularization; nothing for what is not trained.
    pub(super) size: Option<String>,
    /// Settings of which the objective is a function: objectives with other ones cannot be compared. Nothing for
    /// what has no objective.
    pub(super) problem: Option<String>,
    pub(super) evaluation: Evaluation,
    /// Users and items without a training row, and the others, where relations are compared.
    pub(super) cold: Vec<Cold>,
    pub(super) differences: Vec<Difference>,
}

impl Compare {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads_data(&self.data)
            .reads_exposed(&self.exposed)
            .reads("--init", self.settings.init_files())
            .reads("--test", &self.test)
            .reads("--weights", self.weights.iter().flat_map(|w| w.paths()))
            .reads_relations(&self.relation)
            .writes("--report", &self.report)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let job = self.job(context)?;
        for &method in &self.solver {
            let params = job.settings.params(method, None, TimeUnit::default());
            params.check()?;
        }
        let ui = &context.ui;
        let own_flag = |key: &str| flag(key.strip_prefix("valid-").unwrap_or(key));
        warn_of_unused(&job, &self.solver, &own_flag, ui);
        let prepared = job.read(ui)?;
        let options = measure::options(&self.metrics, &self.at)?;
        measure::warn_of_full_lists(&options, prepared.data.n_items(), ui);
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let mut variants: Vec<Compared> = Vec::new();
        for variant in self.variants(&job) {
            let Some(compared) = variant.train(&prepared, &options, &cancel, context)? else {
                context
                    .ui
                    .warn("interrupted: the comparison is of what was complete");
                break;
            };
            push(&mut variants, compared)?;
            show::line(variants.last(), context)?;
        }
        let trained = variants.len();
        if !cancel.is_cancelled() {
            for (name, scorer) in popularity_scorers(&prepared.data) {
                push(&mut variants, floor(name, &scorer, &prepared, &options)?)?;
                show::line(variants.last(), context)?;
            }
        }
        if !variants.is_empty() {
            show::tables(&variants, context)?;
        }
        for text in show::below_popularity(&variants, trained) {
            context.ui.warn(text);
        }
        if let Some(path) = &self.report {
            let setting = self.setting(&job, prepared.data.times().is_some());
            show::report(path, &variants, &prepared, &setting)?;
        }
        Ok(Outcome::interrupted_if(cancel.is_cancelled()))
    }

    /// The files and how rows were held out, in words.
    fn setting(&self, job: &Job, has_times: bool) -> String {
        let usual = Pick::usual(has_times);
        let held_out = match job.validation.valid_split {
            Some(rule) => measure::held_out_by(rule, job.validation.valid_pick.unwrap_or(usual)),
            None => format!("tested on {}", self.test.join(", ")),
        };
        format!("{}, {held_out}", self.data.data.join(", "))
    }

    /// What all variants share, with the schemes to compare.
    fn job(&self, context: &Context) -> Result<Job, JobError> {
        let DataArgs {
            data,
            read,
            prepare,
        } = self.data.clone();
        let without_test = self.test.is_empty().then_some(SplitRule::LEAVE_ONE_OUT);
        let job = Job {
            data,
            reading: read,
            preparation: prepare,
            exposed: self.exposed.clone(),
            relation: self.relation.clone(),
            settings: self.settings.clone(),
            validation: ValidationSettings {
                valid: self.test.clone(),
                valid_split: self.split.or(without_test),
                valid_pick: self.pick,
                ..ValidationSettings::default()
            },
            weights: self.weights.clone(),
            threads: context.threads,
            ..Job::default()
        };
        job.with_preset()
    }

    fn variants(&self, job: &Job) -> Vec<Variant> {
        let mut variants = Vec::new();
        for &method in &self.solver {
            match (SchemeSpec::only_for(method), &job.weights[..]) {
                (Some(own), _) => variants.push((own, method)),
                (None, []) => variants.push((SchemeSpec::default_for(method), method)),
                (None, given) => {
                    variants.extend(given.iter().map(|weights| (weights.clone(), method)));
                }
            }
        }
        // Schemes first, so that one scheme's solvers are listed together.
        let place = |weights: &SchemeSpec| job.weights.iter().position(|given| given == weights);
        variants.sort_by_key(|(weights, _)| place(weights).unwrap_or(usize::MAX));
        let both = |(weights, method): (SchemeSpec, Method)| {
            let can = !self.relation.is_empty() && method.minimises_objective();
            let variant = |is_related| self.variant(job, (&weights, method), is_related);
            [Some(variant(false)), can.then(|| variant(true))]
        };
        variants.into_iter().flat_map(both).flatten().collect()
    }

    fn variant(&self, job: &Job, own: (&SchemeSpec, Method), is_related: bool) -> Variant {
        let (weights, method) = own;
        let short = method.name();
        let mut name = match (job.weights.len(), self.solver.len()) {
            _ if SchemeSpec::only_for(method).is_some() => short.to_owned(),
            (_, 1) => weights.to_string(),
            (0 | 1, _) => short.to_owned(),
            _ => format!("{weights}, {short}"),
        };
        if is_related {
            let relations = self.relation.iter().map(RelationSpec::name);
            name = format!("{name}, {}", relations.collect::<Vec<_>>().join(", "));
        }
        Variant {
            name,
            job: Job {
                weights: vec![weights.clone()],
                solver: Some(method),
                ..job.clone()
            },
            is_related,
        }
    }
}

impl Variant {
    /// Trains and measures it; nothing if it was interrupted.
    fn train(
        self,
        prepared: &TrainingData,
        options: &EvaluateOptions,
        cancel: &Cancel,
        context: &Context,
    ) -> Result<Option<Compared>> {
        let Self {
            name,
            job,
            is_related,
        } = self;
        // The held-out rows are for measuring the finished model: they choose no sweep.
        let mut training = job.training(Input {
            held_out: None,
            related: prepared.related.as_ref().filter(|_| is_related),
            ..prepared.input()
        })?;
        training.check_memory(&context.ui)?;
        if job.settings.regularization.is_none() {
            context.ui.note(format!("{name}:"));
        }
        match training.choose(cancel, &context.ui) {
            Err(_) if cancel.is_cancelled() => return Ok(None),
            chosen => chosen.with_context(|| name.clone())?,
        }
        let mut follow = Follow::new(&context.ui, training.params.iterations).without_lines();
        let execution = Execution {
            init: job.start(&training)?,
            observer: Some(&mut follow),
            cancel: cancel.clone(),
            ..Execution::default()
        };
        let start = Instant::now();
        let fitted = training.fit(execution).with_context(|| name.clone())?;
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
        let params = model.params();
        let related = if is_related { ", with relations" } else { "" };
        let size = format!("K = {}, λ = {}", params.factors, params.regularization);
        let problem = format!(
            "{size} (exponent {}), weights {}, targets {}{related}",
            params.reg_exponent,
            job.weights
                .first()
                .map_or_else(String::new, ToString::to_string),
            params.targets
        );
        Ok(Some(Compared {
            size: Some(size),
            problem: job
                .solver
                .is_some_and(Method::minimises_objective)
                .then_some(problem),
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
            cold: cold_of(&model.scorer(), prepared, options)?,
            differences: Vec::new(),
        }))
    }
}

fn push(variants: &mut Vec<Compared>, mut compared: Compared) -> Result<()> {
    if let Some(first) = variants.first() {
        compared.differences = differences(&compared.evaluation, &first.evaluation)?;
    }
    variants.push(compared);
    Ok(())
}

fn held_out(prepared: &TrainingData) -> Result<&TestSet> {
    prepared.held_out.as_ref().context("rows were held out")
}

/// A ranking that is the same for every user, measured.
fn floor(
    name: &str,
    scorer: &PopularityScorer,
    prepared: &TrainingData,
    options: &EvaluateOptions,
) -> Result<Compared> {
    let start = Instant::now();
    let history = History::of(&prepared.data);
    Ok(Compared {
        name: name.to_owned(),
        evaluation: evaluate(scorer, &history, held_out(prepared)?, options, &|_, _| {})?,
        seconds: start.elapsed().as_secs_f64(),
        iterations: 0,
        objective: None,
        curve: Vec::new(),
        size: None,
        problem: None,
        cold: cold_of(scorer, prepared, options)?,
        differences: Vec::new(),
    })
}

/// Measures users and items without a training row apart, where relations may tell something of them.
fn cold_of(
    scorer: &dyn Scorer,
    prepared: &TrainingData,
    options: &EvaluateOptions,
) -> Result<Vec<Cold>> {
    if prepared.related.is_none() {
        return Ok(Vec::new());
    }
    let (users, items) = (prepared.data.user_counts(), prepared.data.item_counts());
    let history = History::of(&prepared.data);
    cold::measure(
        held_out(prepared)?,
        (&users, &items),
        &|test, candidates| {
            let options = EvaluateOptions {
                candidates,
                ..options.clone()
            };
            Ok(evaluate(scorer, &history, test, &options, &|_, _| {})?)
        },
    )
}
