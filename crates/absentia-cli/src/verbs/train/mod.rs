//! `train`: from interactions to a model.

mod data;
mod finish;
mod follow;
mod plan;
mod settle;

use std::path::{Path, PathBuf};

use absentia::Params;
use absentia::data::Pick;
use absentia::fit::{Cancel, Checkpoint, Fitted, Run, Validation, fit};
use absentia::weights::{Scheme, SchemeSpec};
use absentia_search::Automatic;

use crate::args::{DataArgs, HyperArgs, SolverName, WeightArgs, parse_length, parse_pick};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::measure::{self, Validator};
use crate::store;
use crate::tables::Tables;
use crate::ui::Ui;
pub(crate) use data::{Held, Prepared, from_files, prepare};
pub(crate) use follow::{Follow, SweepLine, end_on_interrupt};
pub(crate) use plan::{check_memory, named_rows};
pub(crate) use settle::settled;

const EXAMPLES: &str = "\
Examples:
  $ absentia train ratings.csv --model movies.absentia
  $ absentia train ratings.csv --model movies.absentia --factors 32 --iterations 10 --weights uniform:0.01
  $ absentia train ratings.csv --model movies.absentia --valid-split leave-one-out --valid-metric ndcg@20 --patience 3
  $ absentia train ratings.csv --model movies.absentia --checkpoint run.ckpt --checkpoint-every 5 --resume
  $ absentia train ratings.csv --factors 128 --dry-run
  $ absentia inspect movies.absentia --print-config > run.toml
  $ absentia train --config run.toml

Weights on missing entries (--weights), joined by ` + `:
  uniform:W                            the same everywhere; 0 ignores missing entries
  popularity:c0=512,alpha=0.4          the paper's; mean=0.1 in place of c0 is the mean weight over
                                       missing entries
  activity:mean=0.1,alpha=0.5          by the user's number of interactions
  popularity*activity:mean=0.1,alpha=0.4,beta=0.5
  groups:table.csv,users.csv,items.csv a weight for each pair of segment and category
  lowrank:A.npy,B.npy                  given factors of the weights
  learned:mean=0.01,rank=4             estimated: how likely the item was seen and passed over
  dense:W.npy,rank=8                   every weight given, approximated

Ctrl-C ends the run and saves the model of the last complete sweep; pressing it again ends the
program at once.";

/// How validation goes when not told.
const DEFAULT_VALID_METRIC: &str = "ndcg@20";
const DEFAULT_VALID_EVERY: usize = 1;

/// Train a model.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Train {
    /// File to save the model in.
    #[arg(long, short, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    hyper: HyperArgs,
    /// How rows are improved.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "eals",
        help_heading = "Training"
    )]
    solver: SolverName,
    /// Weights on missing entries; see below for all of them [default:
    /// popularity:mean=0.01,alpha=0.25; a run that is told neither targets nor a penalty may find
    /// another mean to do better on a fifth of the rows held out; a baseline has one of its own].
    #[arg(long, value_name = "SCHEME", num_args = 1)]
    #[arg(help_heading = "Weights on missing entries")]
    weights: Vec<SchemeSpec>,
    #[command(flatten)]
    missing: WeightArgs,
    #[command(flatten)]
    validation: ValidationArgs,
    #[command(flatten)]
    running: RunningArgs,
    #[command(flatten)]
    data: DataArgs,
}

/// What chooses the best model, and may end the run.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Validation")]
pub(crate) struct ValidationArgs {
    /// Files of held-out rows to validate on.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 1,
        conflicts_with = "valid_split"
    )]
    pub(crate) valid: Vec<String>,
    /// Hold rows out of the data to validate on: leave-one-out, last:N, ratio:SHARE, time:FROM.
    #[arg(long, value_name = "RULE")]
    pub(crate) valid_split: Option<String>,
    /// Which rows --valid-split holds out: latest, random or drift [default: latest where there are
    /// times, or random].
    #[arg(long, value_name = "RULE", value_parser = parse_pick)]
    pub(crate) valid_pick: Option<Pick>,
    /// Metric that chooses the best model.
    #[arg(long, value_name = "METRIC", default_value = DEFAULT_VALID_METRIC)]
    pub(crate) valid_metric: String,
    /// Sweeps between measurements.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_VALID_EVERY, value_parser = parse_length)]
    pub(crate) valid_every: usize,
    /// Stop after this many measurements without improvement; never when not given.
    #[arg(long, value_name = "N", value_parser = parse_length)]
    pub(crate) patience: Option<usize>,
}

/// How a run is kept, resumed and reported.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The run")]
pub(crate) struct RunningArgs {
    /// File that keeps the state of the run, to go on with by --resume.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Sweeps between checkpoints.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = parse_length)]
    pub(crate) checkpoint_every: usize,
    /// Go on from --checkpoint, or start if there is none yet; ends in the same bits either way.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Say what the run would take and whether it fits, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Write a report with curves and tables, readable offline.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

impl ValidationArgs {
    /// Refuses a metric that is none, and says which arguments have no effect.
    fn check(&self, ui: &Ui) -> anyhow::Result<()> {
        measure::metric("--valid-metric", &self.valid_metric)?;
        if !self.valid.is_empty() || self.valid_split.is_some() {
            return Ok(());
        }
        let given = [
            ("--patience", self.patience.is_some()),
            ("--valid-every", self.valid_every != DEFAULT_VALID_EVERY),
            ("--valid-metric", self.valid_metric != DEFAULT_VALID_METRIC),
            ("--valid-pick", self.valid_pick.is_some()),
        ];
        for (flag, _) in given.into_iter().filter(|(_, given)| *given) {
            ui.warn(format!(
                "{flag} has no effect without validation; hold rows out with --valid FILE or \
                 --valid-split RULE"
            ));
        }
        Ok(())
    }
}

/// What a run is made of, once everything is settled.
struct Going<'a> {
    prepared: &'a Prepared,
    scheme: &'a Scheme,
    params: &'a Params,
    /// The arguments in force, those that were chosen included.
    effective: &'a toml::Table,
    cancel: Cancel,
}

impl Train {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let path = self.target()?;
        // What is wrong with the arguments is found before anything is read.
        self.hyper.params(self.solver, context.threads).check()?;
        let mut weights = self.weights()?;
        self.validation.check(&context.ui)?;
        self.hyper.warn_of_unused(&[self.solver], &context.ui);
        self.missing
            .warn_of_unused(&self.data.read, self.hyper.confidence, &context.ui);
        if !self.running.dry_run {
            self.check_writable(path)?;
        }
        let prepared = prepare(
            &self.data,
            &self.missing,
            &Held::Validation(&self.validation),
            &context.ui,
        )?;
        prepared.check_rules(&self.hyper, &context.ui)?;
        let (mut params, open) = (self.params(&prepared, context), self.open());
        let mut scheme = prepared.tables().scheme(&weights)?;
        if self.running.dry_run {
            plan::show(&prepared, &scheme, &params, open, &context.ui)?;
            return Ok(Outcome::Done);
        }
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let resume = match &self.running.checkpoint {
            Some(path) if self.running.resume => {
                store::resume(path, &prepared.ids, &mut params, &mut weights, open)?
            }
            _ => None,
        };
        if resume.is_some() {
            scheme = prepared.tables().scheme(&weights)?;
            check_memory(&prepared, &scheme, &params, Automatic::default())?;
        } else {
            check_memory(&prepared, &scheme, &params, open)?;
            let found = settled(params, open, &prepared, &scheme, &cancel, &context.ui)?;
            weights = found.weights().unwrap_or(weights);
            scheme = found.scheme.unwrap_or(scheme);
            params = found.params;
        }
        let effective = settle::in_force(&context.effective, &params, &weights, open);
        let started = std::time::Instant::now();
        let going = Going {
            prepared: &prepared,
            scheme: &scheme,
            params: &params,
            effective: &effective,
            cancel,
        };
        let (fitted, trouble) = self.fit(&going, resume, context)?;
        let finished = finish::Finished {
            fitted: &fitted,
            prepared: &prepared,
            weights: &weights,
            metric: &self.validation.valid_metric,
            effective: &effective,
            seconds: started.elapsed().as_secs_f64(),
        };
        let outcome = finished.save(path, &self.running, context)?;
        match trouble {
            Some(error) => Err(error),
            None => Ok(outcome),
        }
    }

    /// The file to save in, once the arguments make sense together; clap cannot ask for one that
    /// may come from a configuration.
    fn target(&self) -> Result<&Path, Refusal> {
        if self.running.resume && self.running.checkpoint.is_none() {
            let refusal = Refusal::usage("--resume has nothing to go on from");
            return Err(refusal.hint("name the file with --checkpoint FILE"));
        }
        match &self.model {
            Some(path) => Ok(path),
            None if self.running.dry_run => Ok(Path::new("")),
            None => {
                let refusal = Refusal::usage("there is no file to save the model in");
                Err(refusal.hint("pass --model FILE, or --dry-run"))
            }
        }
    }

    /// What is left to be settled: a run that is told nothing of what it learns from finds a recipe.
    fn open(&self) -> Automatic {
        let open = self.hyper.open();
        let told = !self.weights.is_empty() || self.hyper.targets.is_some();
        Automatic {
            recipe: open.regularization && !told,
            ..open
        }
    }

    /// The one weight scheme of the run.
    fn weights(&self) -> Result<SchemeSpec, Refusal> {
        match &self.weights[..] {
            [] => Ok(self.solver.default_weights()),
            [weights] => Ok(weights.clone()),
            several => {
                let refusal = Refusal::usage(format!(
                    "--weights is given {} times, and a model has one scheme",
                    several.len()
                ));
                let hint = "add schemes up with ' + ' inside one --weights, or weigh them against \
                            each other with `absentia compare`";
                Err(refusal.hint(hint))
            }
        }
    }

    /// Finds out before a long run that what it makes can be written.
    fn check_writable(&self, model: &Path) -> anyhow::Result<()> {
        let others = [&self.running.checkpoint, &self.running.report];
        for path in others.into_iter().flatten().map(PathBuf::as_path) {
            store::check_writable(path, &self.data.data)?;
        }
        store::check_writable(model, &self.data.data)
    }

    fn params(&self, prepared: &Prepared, context: &Context) -> Params {
        let mut params = self.hyper.params(self.solver, context.threads);
        params.confidence = prepared.confidence(params.confidence);
        params
    }

    /// Trains; a checkpoint that could not be written does not end the run, but is told at the end.
    fn fit(
        &self,
        going: &Going<'_>,
        resume: Option<Checkpoint>,
        context: &Context,
    ) -> anyhow::Result<(Fitted, Option<anyhow::Error>)> {
        let (prepared, params) = (going.prepared, going.params);
        let checked = params.clone().check()?;
        let validator = match &prepared.held_out {
            Some(test) => {
                let metric = &self.validation.valid_metric;
                Some(Validator::new(&prepared.data, test, metric)?)
            }
            None => None,
        };
        let mut follow = Follow::new(&context.ui, params.iterations);
        if validator.is_some() {
            follow = follow.metric(&self.validation.valid_metric);
        }
        if let Some(path) = &self.running.checkpoint {
            follow = follow.checkpoints(path, prepared, going.effective);
        }
        let run = Run {
            init: self.init(&prepared.tables())?,
            resume,
            validation: validator.as_ref().map(|validator| Validation {
                metric: Box::new(|model| validator.measure(model)),
                every: self.validation.valid_every,
                patience: self.validation.patience,
            }),
            observer: Some(&mut follow),
            cancel: going.cancel.clone(),
            checkpoint_every: self
                .running
                .checkpoint
                .is_some()
                .then_some(self.running.checkpoint_every),
        };
        let fitted = fit(&prepared.data, going.scheme, &checked, run)
            .map_err(|error| named_rows(error, prepared))?;
        Ok((fitted, follow.finish()))
    }

    fn init(&self, tables: &Tables<'_>) -> anyhow::Result<absentia::fit::Init> {
        tables.init(&self.missing.init, self.hyper.factors)
    }
}
