//! `train`: from interactions to a model.

mod dry_run;
mod finish;
mod follow;

use std::path::{Path, PathBuf};

use absentia::fit::{Cancel, Checkpoint, Fitted};
use absentia_job::text::{ByteSize, Count};
use absentia_job::{Execution, Fingerprint, Job, Training, defaults};

use crate::args::{flag, warn_of_unused, warn_without};
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::store;
use crate::ui::Ui;
pub(crate) use follow::{Follow, SweepLine, end_on_interrupt};

const EXAMPLES: &str = "\
Examples:
  $ absentia train ratings.csv --model movies.absentia
  $ absentia train ratings.csv --model movies.absentia --factors 32 --iterations 10 --weights uniform:0.01
  $ absentia train ratings.csv --model movies.absentia --valid-split leave-one-out --valid-metric ndcg@20 --patience 3
  $ absentia train ratings.csv --model movies.absentia --checkpoint run.ckpt --checkpoint-every 5 --resume
  $ absentia train ratings.csv --factors 128 --dry-run
  $ absentia train ratings.csv --model movies.absentia --relation items-tags:tags.csv,strength=0.3,weights=uniform:0.02
  $ absentia inspect movies.absentia --print-config > run.toml
  $ absentia train --config run.toml

Weights on missing entries (--weights), joined by ` + `:
  uniform:W                            the same everywhere; 0 ignores missing entries
  popularity:c0=512,alpha=0.4          the paper's; mean=0.1 in place of c0 is the mean weight over
                                       missing entries
  activity:mean=0.1,alpha=0.5          by the user's number of interactions
  popularity*activity:mean=0.1,alpha=0.4,beta=0.5
  age:mean=0.1                         by the share of time in which the item was there, judged by
                                       its first row; for data with times
    slices=20, or day, week, month, quarter, year: how time is divided
    sharpness=0.1: 0 takes items to have been there always, 1000 takes the first row as the first day
    withdrawn=0: the same for the time after the last row
    released=dates.csv: the day from which items were there, in a table of ids and dates
  available:mean=0.1                   by the share of the user's rows at times when the item was there
  popularity*age:mean=0.1,alpha=0.25   a product of any of popularity, activity, age, available
  groups:table.csv,users.csv,items.csv a weight for each pair of segment and category
  lowrank:A.npy,B.npy                  given factors of the weights
  learned:mean=0.01,rank=4             estimated: how likely the item was seen and passed over
  dense:W.npy,rank=8                   every weight given, approximated
  popularity:mean=0.1,alpha=0.4 * groups:table.csv,users.csv,items.csv
                                       the product with any scheme but a sum, not for available

Ctrl-C ends the run and saves the model of the last complete sweep; pressing it again ends the
program at once.";

/// Train a model.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Train {
    /// File to save the model in.
    #[arg(long, short, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) job: Job,
    #[command(flatten)]
    running: RunningArgs,
}

/// How the state of a run is saved and resumed, and what is reported.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "The run")]
pub(crate) struct RunningArgs {
    /// File that stores the state of the run, for --resume.
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Sweeps between checkpoints [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) checkpoint_every: Option<Count>,
    /// Continue from --checkpoint, or start if there is none yet; the result has the same bits either way.
    #[arg(long)]
    pub(crate) resume: bool,
    /// Print the memory and work that the run would need and whether it fits, and stop.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep what users have seen in the model, so that `recommend` needs no --train: 8 bytes for each
    /// interaction. Whoever has the model can then read it.
    #[arg(long)]
    pub(crate) keep_seen: bool,
    /// Write a report with curves and tables, readable offline.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
}

impl Train {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads_job(&self.job)
            .writes("--model", &self.model)
            .writes("--checkpoint", &self.running.checkpoint)
            .writes("--report", &self.running.report)
    }

    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<Outcome> {
        let path = self.target()?;
        let mut job = self.job.clone().with_preset()?;
        job.threads = context.threads;
        job.settings.memory_limit = context.ui.memory().given_limit().map(ByteSize);
        // What is wrong with the arguments is found before anything is read.
        job.check()?;
        self.warn(&job, &context.ui);
        if !self.running.dry_run {
            self.check_writable(path)?;
        }
        let data = job.read(&context.ui)?;
        let mut training = job.training(data.input())?;
        if self.running.dry_run {
            dry_run::show(&training, &context.ui)?;
            return Ok(Outcome::Done);
        }
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let fingerprint = match &self.running.checkpoint {
            Some(_) => Some(job.fingerprint(&training.input)?),
            None => None,
        };
        let resume = match self.running.checkpoint.as_ref().zip(fingerprint.as_ref()) {
            Some((path, own)) if self.running.resume => training.resume(path, own)?,
            _ => None,
        };
        if resume.is_none() {
            training.choose(&cancel, &context.ui)?;
        }
        let config = self.config(&job, &training);
        let started = std::time::Instant::now();
        let stored = (&config, fingerprint.as_ref());
        let (fitted, trouble) =
            self.fit(&job, &mut training, (&cancel, stored), resume, context)?;
        let finished = finish::Finished {
            fitted: &fitted,
            training: &training,
            metric: job.validation.metric(),
            config: &config,
            fingerprint: fingerprint.as_ref(),
            seconds: started.elapsed().as_secs_f64(),
        };
        let outcome = finished.save(path, &self.running, context)?;
        match trouble {
            Some(error) => Err(error),
            None => Ok(outcome),
        }
    }

    /// The file to save in. Clap cannot require it, because it may come from a configuration.
    fn target(&self) -> Result<&Path, Refusal> {
        if self.running.resume && self.running.checkpoint.is_none() {
            let refusal = Refusal::flag("resume", "has nothing to continue from");
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

    /// Warns of arguments that have no effect.
    fn warn(&self, job: &Job, ui: &Ui) {
        warn_of_unused(job, &[job.method()], &flag, ui);
        let is_unused = self.running.checkpoint.is_none()
            && self.checkpoint_every() != defaults::CHECKPOINT_EVERY;
        warn_without(is_unused, "--checkpoint-every", "--checkpoint", ui);
    }

    /// Checks before a long run that its results can be written.
    fn check_writable(&self, model: &Path) -> anyhow::Result<()> {
        let others = [&self.running.checkpoint, &self.running.report];
        for path in others.into_iter().flatten().map(PathBuf::as_path) {
            store::check_writable(path)?;
        }
        store::check_writable(model)
    }

    fn checkpoint_every(&self) -> usize {
        let every = self.running.checkpoint_every;
        every.map_or(defaults::CHECKPOINT_EVERY, Count::get)
    }

    /// The configuration that repeats the run without choosing anything again.
    fn config(&self, job: &Job, training: &Training<'_>) -> toml::Table {
        let mut table = job.as_run(training).table();
        let every = i64::try_from(self.checkpoint_every()).unwrap_or(i64::MAX);
        table.insert("checkpoint-every".to_owned(), every.into());
        let files = [
            ("model", &self.model),
            ("checkpoint", &self.running.checkpoint),
            ("report", &self.running.report),
        ];
        for (key, path) in files {
            if let Some(path) = path {
                table.insert(key.to_owned(), path.to_string_lossy().into_owned().into());
            }
        }
        table
    }

    /// Trains; a checkpoint that could not be written does not end the run, but is reported at the end.
    fn fit(
        &self,
        job: &Job,
        training: &mut Training<'_>,
        (cancel, (config, fingerprint)): (&Cancel, (&toml::Table, Option<&Fingerprint>)),
        resume: Option<Checkpoint>,
        context: &Context,
    ) -> anyhow::Result<(Fitted, Option<anyhow::Error>)> {
        let mut follow = Follow::new(&context.ui, training.params.iterations);
        if training.input.held_out.is_some() {
            follow = follow.metric(job.validation.metric());
        }
        if let Some((path, fingerprint)) = self.running.checkpoint.as_ref().zip(fingerprint) {
            follow = follow.checkpoints(path, training.input.ids, (config, fingerprint));
        }
        let every = self.checkpoint_every();
        let execution = Execution {
            init: job.start(training)?,
            resume,
            measuring: Some(job.measuring()?),
            observer: Some(&mut follow),
            cancel: cancel.clone(),
            checkpoint_every: self.running.checkpoint.is_some().then_some(every),
        };
        let fitted = training.fit(execution)?;
        Ok((fitted, follow.finish()))
    }
}
