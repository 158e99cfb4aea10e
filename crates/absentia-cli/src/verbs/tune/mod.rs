//! `tune`: a search for the settings with the best metric.

mod apart;
mod conditions;
mod folds;
mod page;
mod settings;
mod show;
mod study;

use std::path::{Path, PathBuf};
use std::time::Duration;

use absentia::data::Pick;
use absentia::fit::Cancel;
use absentia::relations::Relations;
use absentia_job::text::{ByteSize, RelationSpec, SplitRule};
use absentia_job::{Execution, Input, Job, Listener as _, defaults};
use absentia_search::{
    Budget, LogError, LogHeader, Scope, SearchOptions, SearchResult, StagedSearch, Study, Trial,
    TrialLog,
};
use anyhow::Result;

use crate::args::{DataArgs, parse_length, parse_span, warn_of_pick};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::measure;
use crate::store;
use crate::ui::Ui;
use crate::verbs::train::{Follow, end_on_interrupt};
use folds::{Folds, fold};
use show::Live;

const EXAMPLES: &str = "\
Examples:
  $ absentia tune ratings.csv --budget 10m
  $ absentia train --config tuned.toml --model movies.absentia
  $ absentia tune ratings.csv --trials 12 --metric ndcg@10 --max-factors 16 --out best.toml --report tune.html
  $ absentia tune ratings.csv --trials 20 --metric ndcg@10 --max-factors 16 --out best.toml --resume
  $ absentia tune train.csv --valid test.csv --trials 8 --search popularity --factors 8

The search covers the weights on missing entries (uniform, or by popularity, activity, age and their products),
regularization and its exponent, targets, confidence, post-scaling, solver, sweeps and the number of factors, and
strength, weights and targets of relations; weights by age and post-scaling by recent counts where the data has times.
The search has two phases. The first tries uniform weights alone, with the trials that --search uniform makes. It goes on
until nothing is gained, at most for half of the --budget or a quarter of the --trials. The second has the rest for the
whole search. With fewer than 80 --trials, or a --budget that is short for the data, there is no first phase. Each phase
tries many settings with few factors and few users first, then the best ones with more. Richer settings are kept only if
they are better than the best uniform weights, and than settings without times, by more than noise. The most popular
items are shown beside the best trials. Every trial is a line of the log; --resume continues from it. With --trials, the
same data and the same --seed give the same result.";

/// Find good settings by trying many, and write them as a configuration for `train`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tune {
    /// Time to spend on trials, such as 90s, 10m or 2h [default: 10m].
    #[arg(long, value_name = "TIME", value_parser = parse_span, conflicts_with = "trials")]
    budget: Option<f64>,
    /// Make this many trials, instead of a time budget.
    #[arg(long, value_name = "N", value_parser = parse_length)]
    trials: Option<usize>,
    /// Metric to raise.
    #[arg(long, value_name = "METRIC", default_value = defaults::TUNE_METRIC)]
    metric: String,
    /// Items that held-out ones are ranked among: all, or only items without training rows (new). Use new with
    /// --split cold-items to choose settings for new items.
    #[arg(long, value_name = "ITEMS", default_value = "all")]
    among: Among,
    /// What to search: all settings; popularity (weights by popularity, as in the paper) or uniform (one
    /// weight for all missing entries), each with regularization and its exponent alone.
    #[arg(long, value_name = "SCOPE", default_value = "all", value_parser = parse_scope)]
    search: Scope,
    /// Use exactly this many factors.
    #[arg(long, short = 'k', value_name = "K", conflicts_with = "max_factors", value_parser = parse_length)]
    factors: Option<usize>,
    /// The largest number of factors. Only the best settings are tried with more than 1024 factors, or
    /// with more than four sevenths of K.
    #[arg(long, value_name = "K", default_value_t = SearchOptions::default().max_factors, value_parser = parse_length)]
    max_factors: usize,
    /// Seed of the search and of its training runs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Instead of a full search, try the first settings and report how well choosing by held-out rows
    /// agrees with choosing by these test rows, by recall and by NDCG at the cut-off of --metric (20 if
    /// it has none). Those that are in the data are left out of it.
    #[arg(long, value_name = "FILE", num_args = 1, help_heading = "Validation")]
    #[arg(conflicts_with_all = ["model", "report"])]
    study: Vec<String>,
    /// Side information that is trained with every trial, as for train. Options strength=, weights= and targets= that are
    /// not given are searched. With --split cold-items:0.2, settings are chosen for new items.
    #[arg(long, value_name = "RELATION", num_args = 1)]
    relation: Vec<RelationSpec>,
    #[command(flatten)]
    held_out: HeldOutArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
}

/// Among which items held-out ones are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Among {
    All,
    New,
}

/// What settings are chosen by.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Validation")]
pub(crate) struct HeldOutArgs {
    /// Files of rows to choose settings by, instead of rows held out of the data.
    #[arg(long, value_name = "FILE", num_args = 1, conflicts_with_all = ["split", "pick", "splits"])]
    valid: Vec<String>,
    /// Rows to hold out: share:SHARE (of every user's rows, and at least one), leave-one-out (one row of every user),
    /// last:N (N of them), ratio:SHARE (a share, rounded), time:FROM (all rows from a time on), time:SHARE (the latest of
    /// all rows), or all rows of some items or users: cold-items:SHARE, cold-users:SHARE.
    #[arg(long, value_name = "RULE", default_value = "share:0.2")]
    split: SplitRule,
    /// Which rows of a user are held out: latest; random; or drift, random rows that favour some kinds
    /// of items, as if demand had moved there [default: latest if the data has times, else drift].
    #[arg(long, value_name = "RULE")]
    pick: Option<Pick>,
    /// Thin the held-out rows: keep a row with a probability proportional to this power of its item's
    /// number of interactions. Use a value above 0 if users will mostly be shown popular items.
    #[arg(long, value_name = "GAMMA", default_value_t = 0.0, allow_hyphen_values = true, value_parser = parse_tilt)]
    tilt: f64,
    /// Number of random ways to hold rows out; scores are averaged over them [default: 1, or up to 5
    /// if few users have a held-out row].
    #[arg(long, value_name = "N", value_parser = parse_length)]
    splits: Option<usize>,
}

/// What a search writes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// File to write the best settings to, for `absentia train --config`.
    #[arg(long, short, value_name = "FILE.toml", default_value = "tuned.toml")]
    out: PathBuf,
    /// File to log every trial to, one JSON object per line [default: --out with .jsonl].
    #[arg(long, value_name = "FILE.jsonl")]
    log: Option<PathBuf>,
    /// Continue from the log, or start if there is none yet.
    #[arg(long)]
    resume: bool,
    /// Also train a model with the best settings on all rows and save it here.
    #[arg(long, short, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Write a report with charts and tables, readable offline.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

impl Tune {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads_data(&self.data)
            .reads("--valid", &self.held_out.valid)
            .reads("--study", &self.study)
            .reads_relations(&self.relation)
            .writes("--out", [&self.output.out])
            .writes("--log", [self.log_path()])
            .writes("--log", self.old_log())
            .writes("--model", &self.output.model)
            .writes("--report", &self.output.report)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let options = self.options(context)?;
        self.check_writable()?;
        let HeldOutArgs { pick, split, .. } = self.held_out;
        warn_of_pick(pick, split, &context.ui);
        let data = (&self.data, &self.relation[..]);
        let mut folds = fold(data, &self.held_out, &self.study, &context.ui)?;
        if let Some(text) = measure::says_nothing(&options.metric, folds.all.n_items()) {
            context.ui.warn(text);
        }
        let described = folds.described(&self.held_out);
        let relations = folds.related.as_ref().map(|one| one.relations.clone());
        let searched = self.relation.iter().map(settings::searched).collect();
        let staged = StagedSearch::new(folds.take(), options)?.with_relations(relations, searched);
        context.ui.enter(staged.stage())?;
        let header = LogHeader::new(&staged, &described);
        let log_path = self.log_path();
        let logged = if self.output.resume {
            TrialLog::read(&log_path, &header).map_err(refused_log)?
        } else {
            set_aside(&log_path, &context.ui)?;
            Vec::new()
        };
        if !logged.is_empty() {
            let made = logged.len();
            context.ui.note(format!(
                "continuing after {made} trials of {}",
                log_path.display()
            ));
        }
        let mut log = TrialLog::create(&log_path, &header, &logged).map_err(refused_log)?;
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let live = Live::new(&staged, &logged, &folds, context);
        let result = search((&staged, live), logged, &cancel, &mut log, &context.ui)?;
        if let Some(test) = folds.test.take() {
            let study = Study {
                test,
                log: &folds.loaded.log,
                data: &folds.all,
                cutoff: staged.options().metric.cutoff.unwrap_or(20),
            };
            study::show(&study, &result.trials, folds.unit, context)?;
            return Ok(Outcome::interrupted_if(result.interrupted));
        }
        self.finish(&staged, &result, &folds, &cancel, context)
    }

    fn options(&self, context: &Context) -> Result<SearchOptions> {
        let budget = match (self.trials, self.budget) {
            (Some(trials), _) => Budget::Trials(trials),
            (None, seconds) => Budget::Time(Duration::from_secs_f64(seconds.unwrap_or(600.0))),
        };
        Ok(SearchOptions {
            metric: measure::metric("metric", &self.metric)?,
            scope: self.search,
            budget,
            max_factors: self.factors.unwrap_or(self.max_factors),
            first_rung_only: !self.study.is_empty(),
            may_shrink: self.factors.is_none(),
            among_new: self.among == Among::New,
            seed: self.seed,
            threads: context.threads,
            memory_limit: context.ui.memory().limit(),
        })
    }

    fn log_path(&self) -> PathBuf {
        match &self.output.log {
            Some(path) => path.clone(),
            None => self.output.out.with_extension("jsonl"),
        }
    }

    /// Where the log of an earlier search goes, if there is one and this search does not continue it.
    fn old_log(&self) -> Option<PathBuf> {
        let log = self.log_path();
        let is_renamed = !self.output.resume && log.is_file();
        is_renamed.then(|| TrialLog::old_path(&log))
    }

    /// Checks before a long search that its results can be written.
    fn check_writable(&self) -> Result<()> {
        let (out, log) = (&self.output.out, &self.log_path());
        let others = [&self.output.model, &self.output.report];
        [out, log]
            .into_iter()
            .chain(others.into_iter().flatten())
            .try_for_each(|path| store::check_writable(path))
    }

    /// Writes and shows the result.
    fn finish(
        &self,
        staged: &StagedSearch<'_>,
        result: &SearchResult,
        folds: &Folds,
        cancel: &Cancel,
        context: &Context,
    ) -> Result<Outcome> {
        let mut job = settings::job(result.best(), folds.unit, &self.data);
        job.relation = settings::relations(result.best(), &self.relation);
        let text = settings::text(result, &staged.options().metric, &job)?;
        store::write_text(&self.output.out, &text)?;
        let relations = staged.relations(&result.best().relations);
        let options = measure::options(std::slice::from_ref(&self.metric), &[])?;
        let chosen = Job {
            threads: context.threads,
            ..job.clone()
        };
        let cold = (folds, relations.as_ref());
        let cold = apart::measured(&chosen, cold, &options, cancel, context)?;
        if let Some(path) = &self.output.report {
            let setting = format!("{}, {}", self.data.data.join(", "), folds.rule);
            page::write(path, staged, (result, &cold), folds, (&setting, &text))?;
        }
        let result_and_cold = (result, &cold[..]);
        show::result(
            staged,
            result_and_cold,
            (&self.output.out, folds.unit),
            context,
        )?;
        if result.interrupted {
            context.ui.warn(format!(
                "interrupted after {} trials; --resume continues from {}",
                result.trials.len(),
                self.log_path().display()
            ));
        }
        if let Some(path) = &self.output.model {
            if cancel.is_cancelled() {
                context.ui.warn("interrupted: no model was trained");
            } else {
                train(path, &job, (folds, relations.as_ref()), cancel, context)?;
            }
        }
        Ok(Outcome::interrupted_if(result.interrupted))
    }
}

/// Trains a model with the best settings on all rows.
fn train(
    path: &Path,
    best: &Job,
    (folds, relations): (&Folds, Option<&Relations<'_>>),
    cancel: &Cancel,
    context: &Context,
) -> Result<()> {
    let mut job = best.clone();
    job.threads = context.threads;
    job.settings.memory_limit = context.ui.memory().given_limit().map(ByteSize);
    let ids = folds.ids();
    let mut training = job.training(Input {
        data: &folds.all,
        ids: &ids,
        held_out: None,
        related: relations,
    })?;
    training.check_memory(&context.ui)?;
    let mut follow = Follow::new(&context.ui, training.params.iterations).without_lines();
    let fitted = training.fit(Execution {
        observer: Some(&mut follow),
        cancel: cancel.clone(),
        ..Execution::default()
    })?;
    follow.finish();
    store::save(path, &fitted.model, &ids, &best.table(), None)?;
    context.ui.note(format!(
        "saved a model with these settings to {}",
        path.display()
    ));
    Ok(())
}

/// Makes the search, showing and logging every trial.
fn search(
    (staged, mut live): (&StagedSearch<'_>, Live<'_>),
    logged: Vec<Trial>,
    cancel: &Cancel,
    log: &mut TrialLog,
    ui: &Ui,
) -> Result<SearchResult> {
    let mut trouble = None;
    enter_larger(staged, &logged, ui)?;
    let result = staged.search(logged, cancel, &mut |trials| {
        let Some(trial) = trials.last() else {
            return true;
        };
        let written = log.add(trial).map_err(refused_log);
        let shown = written.and_then(|()| live.show(trials));
        trouble = shown.and_then(|()| enter_larger(staged, trials, ui)).err();
        trouble.is_none()
    });
    live.finish();
    match trouble {
        Some(error) => Err(error),
        None => Ok(result?),
    }
}

/// Enters the memory of the next trial if it has more factors than any before. One that does not fit fails by itself,
/// as a trial without a score.
fn enter_larger(staged: &StagedSearch<'_>, trials: &[Trial], ui: &Ui) -> Result<()> {
    match staged.larger_stage(trials) {
        Some(stage) if ui.memory().check(&stage).is_ok() => Ok(ui.enter(stage)?),
        _ => Ok(()),
    }
}

/// Renames the log of an earlier search, so that a search without `--resume` does not overwrite it.
fn set_aside(log: &Path, ui: &Ui) -> Result<()> {
    if let Some(aside) = TrialLog::set_aside(log).map_err(refused_log)? {
        ui.note(format!(
            "the log of an earlier search is now {}; --resume would have continued it",
            aside.display()
        ));
    }
    Ok(())
}

/// Says which flag to change.
fn refused_log(error: LogError) -> anyhow::Error {
    match error {
        LogError::File(error) => error.into(),
        error => Refusal::data(error.to_string())
            .hint("leave out --resume, or log to another file with --log")
            .into(),
    }
}

fn parse_tilt(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|tilt| tilt.is_finite());
    number.ok_or_else(|| "expected a number".to_owned())
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    let scopes = [Scope::All, Scope::Popularity, Scope::Uniform];
    let named = scopes.into_iter().find(|scope| scope.name() == text);
    named.ok_or_else(|| "expected all, popularity or uniform".to_owned())
}
