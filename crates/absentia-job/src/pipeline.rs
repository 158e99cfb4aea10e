//! The one way from a job to a model: read, prepare, and the run on what is ready.

use absentia::fit::Init;
use absentia::memory::Stage;
use absentia::weights::{Scheme, SchemeSpec};
use absentia::{Interactions, Params};
use absentia_io::Unknown;
use absentia_io::model::Ids;
use absentia_io::time::TimeUnit;
use absentia_search::Automatic;

use crate::error::JobError;
use crate::files::{read_files, read_further};
use crate::fingerprint::Fingerprint;
use crate::held_out::{ExposedPairs, not_to_train};
use crate::job::Job;
use crate::listener::{Event, Listener};
use crate::related::RelationRows;
use crate::rows::Rows;
use crate::start::{scheme, start};
use crate::text::Count;
use crate::training::{Measuring, Training};
use crate::training_data::{Input, TrainingData};
use crate::validator::metric_name;

impl Job {
    /// Reads and prepares the files of the job.
    ///
    /// # Errors
    /// Files that cannot be read, data that does not allow what was given.
    pub fn read(&self, listener: &dyn Listener) -> Result<TrainingData, JobError> {
        let rows = Rows::new(read_files(&self.data, &self.reading, listener)?)?;
        self.prepare(rows, listener)
    }

    /// Prepares rows that are in memory, as those of files are.
    ///
    /// # Errors
    /// Rows that do not allow what was given.
    pub fn prepare(&self, rows: Rows, listener: &dyn Listener) -> Result<TrainingData, JobError> {
        self.prepare_with(rows, Vec::new(), listener)
    }

    /// Prepares rows that are in memory, with relations that are in memory besides those of files.
    ///
    /// # Errors
    /// Rows that do not allow what was given, relations that do not fit them or each other.
    pub fn prepare_with(
        &self,
        rows: Rows,
        in_memory: Vec<RelationRows>,
        listener: &dyn Listener,
    ) -> Result<TrainingData, JobError> {
        let mut given = self.read_relations(listener)?;
        given.extend(in_memory);
        let mut rows = rows.prepared(&self.reading, &self.preparation, listener)?;
        let related = rows.relate(given, listener)?;
        let mut data = TrainingData::of_rows(rows, self, listener)?;
        if let Some(related) = related {
            data.ids.related.clone_from(&related.ids);
            data.related = Some(related.relations);
        }
        let has = (data.has_ratings, data.has_weights);
        self.settings.check_columns(has, listener)?;
        Ok(data)
    }

    /// Reads the files of the job as more data of users and items that are known, without preparing it;
    /// rows of others are left out or get new ids.
    ///
    /// # Errors
    /// Files that cannot be read, or of which no row is left.
    pub fn read_further(
        &self,
        ids: Ids,
        unknown: Unknown,
        listener: &dyn Listener,
    ) -> Result<TrainingData, JobError> {
        let ids = (ids.users, ids.items);
        let dataset = read_further(&self.data, &self.reading, ids, unknown, listener)?;
        self.further(Rows::new(dataset)?, listener)
    }

    /// Takes rows in memory as more data, without preparing them.
    ///
    /// # Errors
    /// Times that cannot be, pairs that occur more than once where those are rejected.
    pub fn further(&self, rows: Rows, listener: &dyn Listener) -> Result<TrainingData, JobError> {
        rows.report_times(&self.reading, listener)?;
        TrainingData::new(rows, &self.preparation, listener)
    }

    /// Adds pairs that were shown and not taken to the matrix of some data, except those that are held out
    /// or excluded.
    ///
    /// # Errors
    /// Files of excluded pairs that cannot be read, weights that are not.
    pub fn with_exposed(
        &self,
        input: &Input<'_>,
        mut pairs: ExposedPairs,
        listener: &dyn Listener,
    ) -> Result<Interactions<'static>, JobError> {
        let (shown, entries) = (pairs.users.len() as u64, input.data.len() as u64);
        let times = 8 * u64::from(input.data.times().is_some());
        // Weights are stored where they differ: of the pairs, and of all entries.
        let is_same = pairs
            .weights
            .windows(2)
            .all(|two| two[0].to_bits() == two[1].to_bits());
        let (of_pair, of_entry) = if is_same { (20, 16) } else { (36, 24) };
        listener.enter(
            Stage::new("adding exposed pairs")
                .with("matrix", input.data.bytes())
                .with("ids and held-out rows", input.bytes_beside_data())
                .with("exposed pairs", of_pair * shown)
                .with("matrix of both", (shown + entries) * (of_entry + times)),
        )?;
        let not_to_train = not_to_train(input, &self.reading, &self.preparation)?;
        let dropped = pairs.drop_pairs(&not_to_train);
        let (users, items, weights) = (&pairs.users, &pairs.items, &pairs.weights);
        let merged = input.data.with_exposed(users, items, weights)?;
        let pairs = merged.len() - merged.n_interactions();
        listener.event(&Event::Exposed { pairs, dropped });
        Ok(merged)
    }

    /// The weights on missing entries, with their files read.
    ///
    /// # Errors
    /// Several weight schemes, files of weights that cannot be read.
    pub fn scheme(&self, ids: &Ids) -> Result<Scheme, JobError> {
        scheme(&self.weights()?, ids)
    }

    /// The run on data that is ready.
    ///
    /// # Errors
    /// Several weight schemes, files of weights that cannot be read.
    pub fn training<'d>(&self, input: Input<'d>) -> Result<Training<'d>, JobError> {
        let weights = self.weights()?;
        let scheme = scheme(&weights, input.ids)?;
        let mut training = self.training_with(input, scheme);
        training.weights = Some(weights);
        training.automatic = self.automatic();
        Ok(training)
    }

    /// The run on data that is ready, with weights on missing entries that may have no text.
    #[must_use]
    pub fn training_with<'d>(&self, input: Input<'d>, scheme: Scheme) -> Training<'d> {
        let automatic = Automatic {
            recipe: false,
            by_time: false,
            ..self.automatic()
        };
        let params = self.params(input.unit());
        let device = self.device.unwrap_or_default();
        Training::new(input, params, scheme, automatic, device)
    }

    /// The factors that the run starts from.
    ///
    /// # Errors
    /// Files that cannot be read, or of another number of factors.
    pub fn start(&self, training: &Training<'_>) -> Result<Init, JobError> {
        let files: Vec<&str> = self.settings.init_files().collect();
        start(&files, training.input.ids, training.params.factors)
    }

    /// How the models of the run are measured; not at all where no rows are held out.
    ///
    /// # Errors
    /// An unknown metric.
    pub fn measuring(&self) -> Result<Measuring, JobError> {
        Ok(Measuring {
            metric: metric_name(self.validation.metric())?,
            every: self.validation.every(),
            patience: self.validation.patience.map(Count::get),
        })
    }

    /// What the run is made on, by which its checkpoint is known again.
    ///
    /// # Errors
    /// An unknown metric.
    pub fn fingerprint(&self, input: &Input<'_>) -> Result<Fingerprint, JobError> {
        let measuring = self.measuring()?;
        let files: Vec<String> = self.settings.init_files().map(str::to_owned).collect();
        Ok(Fingerprint::of(input, Some(&measuring), &files))
    }

    /// The job of a finished run: chosen values and defaults are written out, so that it can be repeated
    /// without choosing again.
    #[must_use]
    pub fn as_run(&self, training: &Training<'_>) -> Self {
        let unit = training.input.unit();
        self.as_run_with(&training.params, unit, training.weights.as_ref())
    }

    /// The same for a run with these parameters and weights, on data whose times have this unit. What says how much of a
    /// machine may be used is left out: it changes no result, and equal runs give equal files.
    pub(crate) fn as_run_with(
        &self,
        params: &Params,
        unit: TimeUnit,
        weights: Option<&SchemeSpec>,
    ) -> Self {
        let mut job = self.clone();
        job.settings.fix(params, unit);
        if self.settings.post_scale.is_none() && !self.settings.automatic().post_scale {
            // It is 0 wherever the regularization is given.
            job.settings.post_scale = None;
        }
        job.validation.spell_out();
        job.reading.spell_out();
        job.preparation.spell_out();
        job.threads = None;
        job.settings.memory_limit = None;
        job.solver = Some(params.solver);
        job.weights = weights.into_iter().cloned().collect();
        job
    }
}
