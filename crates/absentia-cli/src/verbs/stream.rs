//! `stream`: a model learns from events one by one, and is measured on each before.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use absentia::fit::Cancel;
use absentia::online::{OnlineError, REFIT_SWEEPS, Settings, WeightMode};
use absentia_job::{Listener as _, Reading, read_files};
use absentia_online::{
    LearnError, Learner, LearningSettings, Log, Measured, Opening, Prequential, Record, events_of,
    open, record_bytes,
};
use absentia_report::format;
use absentia_report::terminal::{Cell, Column, Table};
use anyhow::{Context as _, Result};
use serde::Serialize;

use crate::args::warn_without;
use crate::cli::Context;
use crate::failure::{Outcome, Refusal};
use crate::guard::Files;
use crate::store;
use crate::verbs::train::end_on_interrupt;

const EXAMPLES: &str = "\
Examples:
  $ absentia stream movies.absentia test.csv --train train.csv --out learned.absentia
  $ absentia stream learned.absentia test.csv --log events.log --out later.absentia
  $ absentia stream movies.absentia test.csv --train train.csv --steps 3 --weight-of-new 4

Each event is first predicted and then learned: all items are ranked for its user, and the rank of its
item is measured. Learning an event improves the factors of its user and its item; all other rows stay
as they are until a refit. Events are learned in the order of their times; events of equal time, and
events without times, in the order of the file.";

/// How many events are made safe together.
const SYNC_EVERY: u64 = 1000;

/// Learn from events one by one, measuring how well each was predicted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Stream {
    /// The model: a trained one, or one that this command saved.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Files of events: user, item, and value and time if there are any.
    #[arg(value_name = "EVENTS", required = true)]
    events: Vec<String>,
    /// Files that the model was trained on; those named in the model if not given. A model that this
    /// command saved has them.
    #[arg(long, value_name = "FILE", num_args = 1)]
    train: Vec<String>,
    /// File to save the model in after the last event.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Save the model after every N events as well.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    save_every: Option<u64>,
    /// File that every event is recorded in. Records of an earlier run that come after the state of the
    /// model are learned first.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Continue an interrupted run: events that the log has already are not learned again.
    #[arg(long, requires = "log")]
    resume: bool,
    /// Passes over the factors of the user and the item for each event [default: 1, or as saved].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    steps: Option<u32>,
    /// What the weight of an entry is multiplied by if an event made it, until the next refit
    /// [default: 1, or as saved].
    #[arg(long, value_name = "W", allow_negative_numbers = true)]
    weight_of_new: Option<f32>,
    /// Let weights by popularity and activity follow the counts, instead of staying as at training. A
    /// model that this command saved continues as it was.
    #[arg(long)]
    live: bool,
    /// Refit all rows after every N events, starting from the current factors.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    refit_every: Option<u64>,
    /// Sweeps of such a refit.
    #[arg(long, value_name = "N", default_value_t = REFIT_SWEEPS)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    refit_sweeps: u32,
    /// Length of the lists that are measured.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    top: u32,
    /// Learn without measuring, which is faster.
    #[arg(long)]
    no_metrics: bool,
    #[command(flatten)]
    pub(crate) read: Reading,
}

/// The result of the run.
#[derive(Serialize)]
struct Summary {
    events: u64,
    /// Operations since the model was trained.
    sequence: u64,
    events_per_second: f64,
    microseconds_per_event: f64,
    users: usize,
    items: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<Measured>,
    interrupted: bool,
}

impl Stream {
    /// Every file that the command reads or writes.
    pub(crate) fn files(&self) -> Files {
        Files::default()
            .reads("MODEL", [&self.model])
            .reads("EVENTS", &self.events)
            .reads("--train", &self.train)
            .writes("--log", &self.log)
            .writes("--out", &self.out)
    }

    pub(crate) fn run(&self, context: &Context) -> Result<Outcome> {
        let ui = &context.ui;
        warn_without(
            self.save_every.is_some() && self.out.is_none(),
            "--save-every",
            "--out",
            ui,
        );
        if let Some(out) = &self.out {
            store::check_writable(out)?;
        }
        if self.out.is_none() && self.log.is_none() {
            ui.note("nothing is saved: pass --out to save the model, --log to record the events");
        }
        let opening = Opening {
            train: self.train.clone(),
            weights: if self.live {
                WeightMode::Live
            } else {
                WeightMode::Frozen
            },
            // Settings that were given are a record, so that the log alone says how its events were learned.
            settings: Settings::default(),
            weighted_events: false,
        };
        let settings = self.settings(Settings::default());
        settings.check().map_err(LearnError::from)?;
        let mut learner = open(&self.model, &opening, ui)?;
        learner.set_threads(context.threads);
        let mut journal = self.journal(&mut learner, context)?;
        let settings = self.settings(learner.online().settings());
        if learner.online().settings() != settings {
            journal.learn(&mut learner, &Record::Settings(settings))?;
        }
        let table = read_files(&self.events, &self.read, ui)?;
        let events = events_of(&table, &learner)?;
        drop(table);
        ui.memory().keep(record_bytes(&events));
        ui.enter(learner.learning_stage(&events, self.out.is_some()))?;
        let done = self.already_learned(&events, &journal.earlier)?;
        let stream = (&events[..], done);
        // Inside of the pool no event waits for another thread to wake up.
        let learn = |_: &_| self.learn(&mut learner, &mut journal, stream, context);
        let summary = rayon::scope(learn)?;
        ui.json(&summary)?;
        if !ui.is_json() {
            ui.table(&summary.table(self.top))?;
        }
        Ok(Outcome::interrupted_if(summary.interrupted))
    }

    /// The settings that were given, and the others as they are.
    fn settings(&self, present: Settings) -> Settings {
        let given = LearningSettings {
            steps: self.steps,
            weight_of_new: self.weight_of_new,
        };
        given.or(present)
    }

    /// Opens the log and learns what it has and the model does not.
    fn journal(&self, learner: &mut Learner, context: &Context) -> Result<Journal> {
        let Some(path) = &self.log else {
            return Ok(Journal::default());
        };
        let (log, records) = Log::open(path, learner.online().weight_mode())?;
        let replayed = learner.replay(path, &records)?;
        if replayed > 0 {
            context.ui.note(format!(
                "{}: learned {} that the model did not have",
                path.display(),
                format::counted(replayed, "record")
            ));
        }
        let earlier: Vec<Record> = records.into_iter().map(|(_, record)| record).collect();
        context.ui.memory().keep(record_bytes(&earlier));
        Ok(Journal {
            log: Some(log),
            earlier,
        })
    }

    /// Number of events that an interrupted run has learned.
    fn already_learned(&self, events: &[Record], earlier: &[Record]) -> Result<usize> {
        if !self.resume {
            return Ok(0);
        }
        let learned = earlier
            .iter()
            .filter(|record| matches!(record, Record::Insert { .. }));
        let mut done = 0;
        for old in learned {
            if events.get(done) != Some(old) {
                let message = "the events of the log are not the first ones of this stream";
                let hint = "without --resume, these events are learned after those of the log";
                return Err(Refusal::data(message).hint(hint).into());
            }
            done += 1;
        }
        Ok(done)
    }

    fn learn(
        &self,
        learner: &mut Learner,
        journal: &mut Journal,
        (events, done): (&[Record], usize),
        context: &Context,
    ) -> Result<Summary> {
        let cancel = Cancel::new();
        end_on_interrupt(&cancel)?;
        let progress = context.ui.progress();
        let bar = progress.count("learning", (events.len() - done) as u64, "events");
        let mut measured = (!self.no_metrics).then(|| Prequential::new(self.top));
        let (mut learned, mut spent) = (0, Duration::ZERO);
        if !journal.ends_with_refit() {
            // The run was interrupted between an event and its refit.
            self.refit_after(done as u64, learner, journal, &cancel)?;
        }
        for (event, number) in events[done..].iter().zip(done as u64 + 1..) {
            if cancel.is_cancelled() {
                break;
            }
            if let (Some(measured), Record::Insert { user, item, .. }) = (&mut measured, event) {
                measured.measure(learner, user, item)?;
            }
            let start = Instant::now();
            let place = || format!("event {number} of {}", events.len());
            journal.learn(learner, event).with_context(place)?;
            learned += 1;
            self.refit_after(number, learner, journal, &cancel)?;
            spent += start.elapsed();
            if learned % SYNC_EVERY == 0 {
                journal.sync()?;
            }
            if let (Some(every), Some(out)) = (self.save_every, &self.out)
                && learned % every == 0
            {
                journal.sync()?;
                learner.save(out)?;
            }
            bar.advance(1);
        }
        bar.finish();
        journal.sync()?;
        if let Some(out) = &self.out {
            learner.save(out)?;
        }
        let seconds = spent.as_secs_f64();
        Ok(Summary {
            events: learned,
            sequence: learner.sequence(),
            events_per_second: learned as f64 / seconds.max(1e-9),
            microseconds_per_event: 1e6 * seconds / (learned.max(1) as f64),
            users: learner.ids().users.len(),
            items: learner.ids().items.len(),
            measured: measured.map(|measured| measured.means()),
            interrupted: cancel.is_cancelled(),
        })
    }
}

impl Stream {
    /// Refits all rows, if it is time after this number of events. A refit that is interrupted is not
    /// made: a run that is resumed makes it.
    fn refit_after(
        &self,
        events: u64,
        learner: &mut Learner,
        journal: &mut Journal,
        cancel: &Cancel,
    ) -> Result<()> {
        let is_due = |every: u64| events > 0 && events.is_multiple_of(every);
        if !self.refit_every.is_some_and(is_due) {
            return Ok(());
        }
        let refit = Record::Refit {
            sweeps: self.refit_sweeps,
        };
        let made = journal.learn_unless(learner, &refit, cancel);
        match made {
            Err(error) if cancel.is_cancelled() && is_cancelled(&error) => Ok(()),
            made => made,
        }
    }
}

/// Whether an error says that a refit was interrupted.
fn is_cancelled(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(LearnError::Online(OnlineError::Cancelled))
    )
}

/// The log of a run, if there is one, and what it had before.
#[derive(Default)]
struct Journal {
    log: Option<Log>,
    earlier: Vec<Record>,
}

impl Journal {
    /// Whether nothing but settings came after the last refit.
    fn ends_with_refit(&self) -> bool {
        let mut latest = self.earlier.iter().rev();
        let last = latest.find(|record| !matches!(record, Record::Settings(_)));
        matches!(last, Some(Record::Refit { .. }))
    }

    /// Learns a record and appends it; one that is rejected is not appended.
    fn learn(&mut self, learner: &mut Learner, record: &Record) -> Result<()> {
        self.learn_unless(learner, record, &Cancel::new())
    }

    /// [`learn`](Self::learn), in which a refit looks at a flag.
    fn learn_unless(
        &mut self,
        learner: &mut Learner,
        record: &Record,
        cancel: &Cancel,
    ) -> Result<()> {
        let applied = learner.apply_unless(record, cancel)?;
        if let Some(log) = &mut self.log {
            log.append(applied.sequence, record)?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        if let Some(log) = &mut self.log {
            log.sync()?;
        }
        Ok(())
    }
}

impl Summary {
    fn table(&self, top: u32) -> Table {
        let mut table = Table::new([Column::left(""), Column::right("")]);
        let mut row = |name: String, cell: Cell| {
            table.row([Cell::text(name), cell]);
        };
        row("events learned".into(), Cell::count(self.events));
        row(
            "events a second".into(),
            Cell::count(self.events_per_second as u64),
        );
        row(
            "microseconds an event".into(),
            Cell::number(
                self.microseconds_per_event,
                format!("{:.1}", self.microseconds_per_event),
            ),
        );
        if let Some(measured) = &self.measured {
            row(format!("hit rate@{top}"), Cell::metric(measured.hit_rate));
            row(format!("NDCG@{top}"), Cell::metric(measured.ndcg));
            row("MRR".into(), Cell::metric(measured.mrr));
            row(
                "events of new users".into(),
                Cell::count(measured.new_users),
            );
            row(
                "events on new items".into(),
                Cell::count(measured.new_items),
            );
        }
        row("users now".into(), Cell::count(self.users as u64));
        row("items now".into(), Cell::count(self.items as u64));
        table
    }
}
