//! The description of a run.

// Comments on fields are help texts as well, in which brackets mark what can be left out.
#![allow(rustdoc::broken_intra_doc_links)]

use absentia::suggest::similar;
use absentia::weights::SchemeSpec;
use absentia::{Baseline, Method, Params, Solver};
use absentia_io::time::TimeUnit;
use absentia_search::Automatic;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use crate::error::JobError;
use crate::exposed_entries::ExposedEntries;
use crate::fingerprint::Fingerprint;
use crate::keys::{Field as _, Keys as _};
use crate::listener::Listener;
use crate::preparation::Preparation;
use crate::reading::Reading;
use crate::settings::GivenSettings;
use crate::start::scheme;
use crate::training::{Measuring, Training};
use crate::training_data::{Input, TrainingData};
use crate::validation::ValidationSettings;
use crate::validator::metric_name;

/// A run: where its data comes from and how it is prepared, its weights and parameters, what is left to
/// be chosen automatically, and its limits.
///
/// It is written as keys and values, by [`set`](Self::set), [`table`](Self::table) and serde.
///
/// ```
/// use absentia_job::Job;
///
/// let job: Job = toml::from_str("data = 'ratings.csv'\nfactors = 8\nconfidence = 'decay:30d'")?;
/// assert_eq!(job.settings.factors, Some(8));
/// assert_eq!(toml::from_str::<Job>(&toml::to_string(&job)?)?, job);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Job {
    /// The settings.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub settings: GivenSettings,
    /// What trains the factors. Solvers of the objective: eals (element-wise, fast: the paper's
    /// Algorithm 2), eals-vanilla (element-wise over every entry, Algorithm 1: slow, exact for a dense W),
    /// subspace[:BLOCK] (exact for each block of factors, iALS++), als (exact for each row),
    /// als-cg[:STEPS] (a few conjugate-gradient steps for each row). Baselines: svd (truncated SVD:
    /// weights 1 everywhere), ials1 and rcd (uniform weights), bpr (negatives drawn by the weights of
    /// items), ii-svd, sgd-observed, popularity and itemknn[:NEIGHBOURS] (no weights) [default: eals].
    #[cfg_attr(
        feature = "clap",
        arg(long, value_name = "NAME", help_heading = "Training")
    )]
    pub solver: Option<Method>,
    /// Weights on missing entries; see below for all of them [default:
    /// popularity:mean=0.01,alpha=0.25; without --targets and --regularization, another mean is used if
    /// it does better on a held-out fifth of the rows; a baseline has its own].
    #[cfg_attr(feature = "clap", arg(long, value_name = "SCHEME", num_args = 1))]
    #[cfg_attr(feature = "clap", arg(help_heading = "Weights on missing entries"))]
    pub weights: Vec<SchemeSpec>,
    /// Exposed entries.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub exposed: ExposedEntries,
    /// What chooses the best model.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub validation: ValidationSettings,
    /// Interaction files or globs, read as one data set: CSV, TSV or any separator, .dat, .rating,
    /// .inter, adjacency lists, JSON lines, parquet, arrow, MatrixMarket, scipy .npz; gzip and zstd
    /// are decompressed.
    #[cfg_attr(feature = "clap", arg(required = true, value_name = "DATA"))]
    pub data: Vec<String>,
    /// How files are read.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub reading: Reading,
    /// Which rows are used.
    #[cfg_attr(feature = "clap", command(flatten))]
    pub preparation: Preparation,
    /// Number of threads; what the machine or container allows when not given.
    #[cfg_attr(feature = "clap", arg(skip))]
    pub threads: Option<usize>,
}

impl Job {
    /// Sets the value of a key, and replaces any earlier value.
    ///
    /// # Errors
    /// A key that no job has, a value that cannot be read.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), JobError> {
        // `header = false` is `no-header = true`.
        if *value == Value::Boolean(false) {
            let opposite = format!("no-{key}");
            if Self::keys().contains(&opposite.as_str()) {
                return self.set(&opposite, &Value::Boolean(true));
            }
        }
        match key {
            "data" => self.data.read(key, value)?,
            "solver" => self.solver.read(key, value)?,
            "weights" => self.weights.read(key, value)?,
            "threads" => self.threads.read(key, value)?,
            key => {
                let known = self.settings.read(key, value)?
                    || self.exposed.read(key, value)?
                    || self.validation.read(key, value)?
                    || self.reading.read(key, value)?
                    || self.preparation.read(key, value)?;
                if !known {
                    return Err(JobError::UnknownKey {
                        key: key.to_owned(),
                        similar: similar(key, Self::keys())
                            .into_iter()
                            .map(str::to_owned)
                            .collect(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The keys that were given, with their values.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        let own = [
            ("data", self.data.written()),
            ("solver", self.written_solver()),
            ("weights", self.weights.written()),
            ("threads", self.threads.written()),
        ];
        for (key, value) in own {
            if let Some(value) = value {
                table.insert(key.to_owned(), value);
            }
        }
        self.settings.write(&mut table);
        self.exposed.write(&mut table);
        self.validation.write(&mut table);
        self.reading.write(&mut table);
        self.preparation.write(&mut table);
        table
    }

    /// The solver, by its name alone where its number has a key of its own.
    fn written_solver(&self) -> Option<Value> {
        let has_key = match self.solver? {
            Method::Solver(Solver::Subspace { .. }) => self.settings.block.is_some(),
            Method::Solver(Solver::AlsCg { .. }) => self.settings.cg_steps.is_some(),
            Method::Baseline(Baseline::ItemKnn { .. }) => self.settings.neighbours.is_some(),
            _ => false,
        };
        if has_key {
            self.solver.map(|method| method.name().into())
        } else {
            self.solver.written()
        }
    }

    /// A job on the given data, with defaults for everything else.
    #[must_use]
    pub fn of_data(data: &[String], reading: &Reading, preparation: &Preparation) -> Self {
        let mut job = Self {
            data: data.to_vec(),
            reading: reading.clone(),
            preparation: preparation.clone(),
            ..Self::default()
        };
        job.reading.spell_out();
        job.preparation.spell_out();
        job
    }

    /// Every key that a job has.
    #[must_use]
    pub fn keys() -> Vec<&'static str> {
        let mut keys = vec!["data", "solver", "weights", "threads"];
        keys.extend(GivenSettings::names());
        keys.extend(ExposedEntries::names());
        keys.extend(ValidationSettings::names());
        keys.extend(Reading::names());
        keys.extend(Preparation::names());
        keys
    }

    /// Takes the values of a preset where none were given, and of the engine for the method.
    ///
    /// # Errors
    /// None, unless a preset has a key that no job has.
    pub fn with_preset(mut self) -> Result<Self, JobError> {
        let Some(preset) = self.settings.preset else {
            return Ok(self);
        };
        let given = self.table();
        for (key, value) in preset.table() {
            if !given.contains_key(&key) {
                self.set(&key, &value)?;
            }
        }
        Ok(self)
    }

    /// What trains the factors.
    #[must_use]
    pub fn method(&self) -> Method {
        self.settings.method(self.solver.unwrap_or_default())
    }

    /// The one weight scheme of the run.
    ///
    /// # Errors
    /// Several were given.
    pub fn weights(&self) -> Result<SchemeSpec, JobError> {
        match &self.weights[..] {
            [] => Ok(SchemeSpec::default_for(self.method())),
            [weights] => Ok(weights.clone()),
            several => Err(JobError::SeveralWeights {
                count: several.len(),
            }),
        }
    }

    /// What is chosen automatically on held-out rows: targets and weights too, if neither they nor the
    /// regularization were given.
    #[must_use]
    pub fn automatic(&self) -> Automatic {
        let automatic = self.settings.automatic();
        let given = !self.weights.is_empty() || self.settings.targets.is_some();
        Automatic {
            recipe: automatic.regularization && !given,
            ..automatic
        }
    }

    /// The parameters of the run on data whose times have this unit.
    #[must_use]
    pub fn params(&self, unit: TimeUnit) -> Params {
        self.settings.params(self.method(), self.threads, unit)
    }

    /// Finds what is wrong with the values before anything is read.
    ///
    /// # Errors
    /// Parameters out of range, several weight schemes, a metric that is none.
    pub fn check(&self) -> Result<(), JobError> {
        self.params(TimeUnit::default()).check()?;
        self.weights()?;
        metric_name(self.validation.metric())?;
        Ok(())
    }

    /// Reads and prepares the data.
    ///
    /// # Errors
    /// Files that cannot be read, data that does not allow what was given.
    pub fn read(&self, listener: &dyn Listener) -> Result<TrainingData, JobError> {
        let data = TrainingData::read(
            &self.data,
            &self.reading,
            &self.preparation,
            &self.exposed,
            &self.validation.held_out(),
            listener,
        )?;
        data.check_rules(&self.settings, listener)?;
        Ok(data)
    }

    /// The run on data that is ready.
    ///
    /// # Errors
    /// Several weight schemes, files of weights that cannot be read.
    pub fn training<'d>(&self, input: Input<'d>) -> Result<Training<'d>, JobError> {
        let weights = self.weights()?;
        let scheme = scheme(&weights, input.ids)?;
        Ok(Training::new(
            input,
            self.params(input.unit()),
            Some(weights),
            scheme,
            self.automatic(),
        ))
    }

    /// How the models of the run are measured; not at all where no rows are held out.
    ///
    /// # Errors
    /// A metric that is none.
    pub fn measuring(&self) -> Result<Measuring, JobError> {
        Ok(Measuring {
            metric: metric_name(self.validation.metric())?,
            every: self.validation.every(),
            patience: self.validation.patience.map(crate::text::Count::get),
        })
    }

    /// What the run is made on, by which its checkpoint is known again.
    ///
    /// # Errors
    /// A metric that is none.
    pub fn fingerprint(&self, input: &Input<'_>) -> Result<Fingerprint, JobError> {
        let measuring = self.measuring()?;
        Ok(Fingerprint::of(
            input,
            Some(&measuring),
            &self.settings.init,
        ))
    }

    /// The job of a finished run: chosen values and defaults are written out, so that it can be repeated
    /// without choosing again.
    #[must_use]
    pub fn as_run(&self, training: &Training<'_>) -> Self {
        let mut job = self.clone();
        job.settings.fix(&training.params, training.input.unit());
        if self.settings.post_scale.is_none() && !self.settings.automatic().post_scale {
            // It is 0 wherever the regularization is given.
            job.settings.post_scale = None;
        }
        job.validation.spell_out();
        job.reading.spell_out();
        job.preparation.spell_out();
        job.solver = Some(training.params.solver);
        job.weights = training.weights.iter().cloned().collect();
        job
    }
}

impl Serialize for Job {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Job {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut job = Self::default();
        for (key, value) in Table::deserialize(deserializer)? {
            job.set(&key, &value).map_err(D::Error::custom)?;
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: &str = "\
data = ['a.csv', 'b.csv']
solver = 'subspace:32'
weights = ['popularity:mean=0.02,alpha=0.25']
threads = 2
factors = 8
regularization = 0.05
targets = 'normalized:0.1,0.1'
confidence = 'decay:30d'
memory-limit = '8GiB'
exposed = ['shown.csv']
exposed-weight = 0.5
valid-split = 'leave-one-out'
valid-every = 2
no-header = true
user-col = 'who'
item-col = 2
shape = '10,20'
since = '2020-01-31'
sample = 'users:0.1'
k-core = 5
";

    #[test]
    fn what_is_written_reads_back() {
        let job: Job = toml::from_str(EVERYTHING).expect("a job");
        let table: Table = EVERYTHING.parse().expect("a table");
        assert_eq!(job.table(), table);
        let json = serde_json::to_string(&job).expect("written");
        assert_eq!(serde_json::from_str::<Job>(&json).expect("read"), job);
    }

    #[test]
    fn every_key_can_be_set() {
        assert!(Job::keys().iter().all(|key| {
            let unknown = Job::default().set(key, &Value::Array(Vec::new()));
            !matches!(unknown, Err(JobError::UnknownKey { .. }))
        }));
        let unknown = Job::default().set("factor", &Value::Integer(8));
        assert!(matches!(unknown, Err(JobError::UnknownKey { .. })));
    }

    #[test]
    fn a_header_that_is_not_there_is_a_flag() {
        let job: Job = toml::from_str("header = false").expect("a job");
        assert!(job.reading.no_header && !job.reading.header);
    }

    #[test]
    fn presets_give_way_to_what_was_given() {
        let text = "preset = 'plays'\nweights = 'uniform:0.1'";
        let job: Job = toml::from_str(text).expect("a job");
        let job = job.with_preset().expect("a preset");
        assert_eq!(job.weights().expect("one").to_string(), "uniform:0.1");
        assert_eq!(
            job.settings.confidence.map(|c| c.to_string()).as_deref(),
            Some("log:0.5,1")
        );
    }

    #[test]
    fn nothing_given_leaves_all_to_be_chosen() {
        let automatic = Job::default().automatic();
        assert!(automatic.regularization && automatic.post_scale && automatic.recipe);
        let given: Job = toml::from_str("targets = 'binary'").expect("a job");
        assert!(given.automatic().regularization && !given.automatic().recipe);
    }
}
